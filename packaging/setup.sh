# SPDX-License-Identifier: Apache-2.0
# Sourced by run, check and .ci/run: installs what is missing and configures a build folder. Needs $root; with_tests=1 takes
# the packages of the tests too.

say() { printf '%s\n' "$*" >&2; }

# Column $1 of the package list: 1 Debian, 2 Fedora, 3 Arch.
packages() { awk -v c="$1" -v t="${with_tests:-0}" '!/^#/ && NF >= 3 && $c != "-" && (t || $4 != "tests") { print $c }' "$root/packaging/packages"; }

missing_debian() {
  for p in $(packages 1); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || printf '%s ' "$p"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo "$@"
  elif command -v pkexec >/dev/null 2>&1; then pkexec "$@"
  else say "Run this as root, then try again:  $*"; return 1
  fi
}

install_packages() {
  if command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
    missing=$(missing_debian)
    [ -z "$missing" ] && return 0
    say "Installing: $missing"
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -q update >/dev/null && apt-get -q -y install --no-install-recommends "$@" >/dev/null' sh $missing && return 0
    say "The package manager could not install all of it: see its message above."
    return 1
  fi
  # Elsewhere nothing is installed behind the user's back; what is there is good enough if pkg-config finds it.
  if command -v meson >/dev/null 2>&1 && pkg-config --exists glib-2.0 gio-unix-2.0 json-glib-1.0 sqlite3 zlib 2>/dev/null; then
    return 0
  fi
  say "Tenon needs these packages. Fedora:"
  say "  sudo dnf install $(packages 2 | tr '\n' ' ')"
  say "Arch:"
  say "  sudo pacman -S --needed $(packages 3 | tr '\n' ' ')"
  return 1
}

# configure FOLDER [meson options]: makes the folder, or changes the options of one that is there.
configure() {
  folder=$1; shift
  if [ -f "$folder/build.ninja" ]; then
    [ $# -eq 0 ] || meson configure "$folder" "$@" >/dev/null || return 1
  else
    say "Configuring $folder ..."
    meson setup "$folder" "$root" "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; return 1; }
    rm -f "$folder.log"
  fi
}

build() {
  if ! ninja -C "$1" -n 2>/dev/null | grep -q 'no work to do'; then say "Building in $1 (the first time takes some minutes) ..."; fi
  ninja -C "$1" ${2:+"$2"} >"$1/build.log" 2>&1 || { tail -n 40 "$1/build.log" >&2; return 1; }
}

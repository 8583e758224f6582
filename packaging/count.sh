# SPDX-License-Identifier: Apache-2.0
# Sourced by check and .ci/run: run_tests FOLDER [meson test options] runs the tests and counts their single TAP lines.

run_tests() {
  folder=$1; shift
  echo "Testing in $folder ..." >&2
  meson test -C "$folder" --print-errorlogs "$@" >"$folder/check.log" 2>&1
  status=$?
  grep -E '^ *[0-9]+/[0-9]+ |^Summary|^not ok|^# compared' "$folder/check.log" | grep -vE ' OK ' || true
  log=$folder/meson-logs/testlog.txt
  passed=$(grep -cE '^ok [0-9]+' "$log"); failed=$(grep -cE '^not ok [0-9]+' "$log")
  skipped=$(grep -ciE '^ok [0-9]+.*# *skip' "$log"); passed=$((passed - skipped))
  # A program that died counts as one failure more than its own lines tell.
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  if [ "$failed" -gt 0 ] || [ "$status" -ne 0 ]; then
    grep -E '^not ok|ERROR:|^==[0-9]+==' "$log" | head -n 60
    tail -n 60 "$folder/check.log"
  fi
  grep -hE '^# (compared|measured)' "$log" | sed 's/^# //' || true
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$status" -eq 0 ] && [ "$passed" -gt 0 ]
}

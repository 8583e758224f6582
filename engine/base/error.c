/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>

G_DEFINE_QUARK (tn-error-quark, tn_error)

const char *
tn_error_code_name (int code)
{
  static const char *const names[] = {
    [TN_ERROR_INVALID_ARGUMENT] = "invalid-argument",
    [TN_ERROR_SHAPE] = "shape",
    [TN_ERROR_DTYPE] = "dtype",
    [TN_ERROR_PARSE] = "parse",
    [TN_ERROR_FORMAT] = "format",
    [TN_ERROR_IO] = "io",
    [TN_ERROR_NO_SPACE] = "no-space",
    [TN_ERROR_MEMORY] = "memory",
    [TN_ERROR_NOT_FOUND] = "not-found",
    [TN_ERROR_EXISTS] = "exists",
    [TN_ERROR_BUSY] = "busy",
    [TN_ERROR_STATE] = "state",
    [TN_ERROR_NUMERIC] = "numeric",
    [TN_ERROR_CANCELLED] = "cancelled",
    [TN_ERROR_UNSUPPORTED] = "unsupported",
    [TN_ERROR_INTERNAL] = "internal",
  };
  return code >= 0 && code < (int) G_N_ELEMENTS (names) ? names[code] : "unknown";
}

static TnError
code_of_errno (int errno_value)
{
  switch (errno_value)
    {
    case ENOSPC:
    case EFBIG: /* a limit on files (ulimit -f) is met as a full disk is */
    case EDQUOT:
      return TN_ERROR_NO_SPACE;
    case ENOENT:
      return TN_ERROR_NOT_FOUND;
    case EEXIST:
      return TN_ERROR_EXISTS;
    case ENOMEM:
      return TN_ERROR_MEMORY;
    default:
      return TN_ERROR_IO;
    }
}

static const char *
advice_for_errno (int errno_value)
{
  switch (errno_value)
    {
    case ENOSPC:
      return _("Free space on that disk or choose another folder.");
    case EDQUOT:
      return _("Your quota is used up: remove files or choose another folder.");
    case EROFS:
      return _("The disk is mounted read-only: choose another folder.");
    case EACCES:
    case EPERM:
      return _("Check who owns the file and its folder, or choose another folder.");
    case ENOENT:
      return _("Check that the name is right and the folder still exists.");
    case EEXIST:
      return _("Choose another name or remove it first.");
    case EMFILE:
    case ENFILE:
      return _("Too many files are open: close other programs or raise the limit (ulimit -n).");
    case EFBIG:
      return _("The file is larger than the disk's format or a limit (ulimit -f) allows.");
    case ENAMETOOLONG:
      return _("Choose a shorter name.");
    case EISDIR:
      return _("A folder of that name is there: choose another name or remove it first.");
    case ENOTDIR:
      return _("A part of the path is a file, not a folder: check the name.");
    case ENXIO:
    case EINVAL:
      return _("It is no ordinary file: name a file.");
    case EIO:
      return _("The disk reports an error: check its health and copy what matters elsewhere.");
    default:
      return _("Check the disk and try again.");
    }
}

void
tn_error_set_errno (GError **error, int errno_value, const char *verb, const char *path)
{
  /* Translators: 1: a verb ("write"), 2: a file, 3: the system's reason, 4: a sentence of advice. */
  g_set_error (error, TN_ERROR, code_of_errno (errno_value), _("Cannot %s “%s”: %s. %s"), verb, path,
               g_strerror (errno_value), advice_for_errno (errno_value));
}

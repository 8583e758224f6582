/* SPDX-License-Identifier: Apache-2.0 */
#include "train/project.h"
#include <inttypes.h>

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/durable.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/json.h"
#include "train/file-lock.h"

#define PROJECT_FILE "project.json"
#define PROJECT_FORMAT "tenon-project"
#define MAX_PROJECT_BYTES (64u << 20)
#define SAVE_WAIT_MS 1000

struct _TnProject
{
  GObject parent_instance;
  char *path, *name;
  TnSettings *settings;
  JsonNode *network; /* or NULL */
  guint64 generation;
  guint32 crc; /* of project.json as it was read or written last */
};

G_DEFINE_FINAL_TYPE (TnProject, tn_project, G_TYPE_OBJECT)

static const char *const own_members[] = { "format", "version", "name", "network", NULL };

static char *
file_in (const char *folder, const char *name)
{
  return g_build_filename (folder, name, NULL);
}

/* What lies in project.json. */

static gboolean
take_object (TnProject *self, JsonObject *object, const char *file, GError **error)
{
  const char *format = "", *name = "";
  gint64 version = 0;
  if (!tn_json_get_string (object, "format", &format, "", NULL) || strcmp (format, PROJECT_FORMAT) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” is not a project of Tenon: it has no \"format\": \"%s\"."), file,
                   PROJECT_FORMAT);
      return FALSE;
    }
  if (!tn_json_get_int (object, "version", 1, G_MAXINT, &version, "", error))
    return FALSE;
  if (version > TN_PROJECT_VERSION)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _("“%s” was written by a newer Tenon (project version %d, this one reads up to %d). Use that one."), file,
                   (int) version, TN_PROJECT_VERSION);
      return FALSE;
    }
  if (!tn_json_opt_string (object, "name", &name, "", error))
    return FALSE;
  JsonNode *network = json_object_get_member (object, "network");
  if (network != NULL && !JSON_NODE_HOLDS_OBJECT (network))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("“%s”: \"network\" must be an object."), file);
      return FALSE;
    }
  if (!tn_settings_from_json (self->settings, object, own_members, error))
    {
      g_prefix_error (error, "“%s”: ", file);
      return FALSE;
    }
  g_clear_pointer (&self->network, json_node_unref);
  self->network = network != NULL ? json_node_copy (network) : NULL;
  if (*name != '\0')
    tn_project_set_name (self, name);
  return TRUE;
}

static char *
to_text (TnProject *self)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_string_member (object, "format", PROJECT_FORMAT);
  json_object_set_int_member (object, "version", TN_PROJECT_VERSION);
  json_object_set_string_member (object, "name", self->name);
  g_autoptr (JsonObject) settings = tn_settings_to_json (self->settings, FALSE);
  g_autoptr (GList) groups = json_object_get_members (settings);
  for (GList *l = groups; l != NULL; l = l->next)
    json_object_set_member (object, l->data, json_node_copy (json_object_get_member (settings, l->data)));
  if (self->network != NULL)
    json_object_set_member (object, "network", json_node_copy (self->network));
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  return tn_json_to_text (node, 2);
}

static gboolean
read_file (const char *file, char **text, gsize *n, GError **error)
{
  GStatBuf info;
  g_autoptr (GError) failure = NULL;
  if (g_stat (file, &info) != 0)
    {
      tn_error_set_errno (error, errno, _("read"), file);
      return FALSE;
    }
  if (!S_ISREG (info.st_mode) || info.st_size > MAX_PROJECT_BYTES)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” is not a project of Tenon: it is no file, or too large."), file);
      return FALSE;
    }
  if (g_file_get_contents (file, text, n, &failure))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_IO, _("Cannot read “%s”: %s."), file, failure->message);
  return FALSE;
}

static gboolean
load (TnProject *self, GError **error)
{
  g_autofree char *file = file_in (self->path, PROJECT_FILE);
  g_autofree char *lock = file_in (self->path, "lock");
  g_autofree char *text = NULL;
  gsize n;
  if (!read_file (file, &text, &n, error))
    return FALSE;
  g_autoptr (JsonNode) node = tn_json_parse (text, (gssize) n, error);
  if (node == NULL)
    {
      g_prefix_error (error, "“%s”: ", file);
      return FALSE;
    }
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” is not a project of Tenon: it is no JSON object."), file);
      return FALSE;
    }
  if (!take_object (self, json_node_get_object (node), file, error))
    return FALSE;
  self->crc = tn_crc32c (0, text, n);
  g_autofree char *generation = NULL;
  if (g_file_test (lock, G_FILE_TEST_IS_REGULAR) && g_file_get_contents (lock, &generation, NULL, NULL))
    self->generation = g_ascii_strtoull (generation, NULL, 10);
  return TRUE;
}

/* Saving. */

/* Whether project.json is still what this object read. */
static gboolean
check_unchanged (TnProject *self, const char *file, GError **error)
{
  g_autofree char *text = NULL;
  gsize n;
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    return TRUE; /* a new project, or one whose file was removed: ours is better than none */
  if (!read_file (file, &text, &n, error))
    return FALSE;
  if (tn_crc32c (0, text, n) == self->crc)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_STATE,
               _("“%s” was changed by somebody else since it was opened. Open the project again."), file);
  return FALSE;
}

static gboolean
write_locked (TnProject *self, const char *file, int lock_fd, const char *lock, GError **error)
{
  if (!check_unchanged (self, file, error))
    return FALSE;
  g_autofree char *text = to_text (self);
  if (!tn_durable_write (file, text, strlen (text), error))
    return FALSE;
  self->crc = tn_crc32c (0, text, strlen (text));

  /* A hint for other windows, no more: project.json itself is compared before it is overwritten. */
  char before[32] = { 0 };
  if (pread (lock_fd, before, sizeof before - 1, 0) > 0)
    self->generation = MAX (self->generation, g_ascii_strtoull (before, NULL, 10));
  g_autofree char *line = g_strdup_printf ("%" PRIu64 "\n", ++self->generation);
  return tn_file_lock_set_text (lock_fd, lock, line, error);
}

gboolean
tn_project_save (TnProject *self, GError **error)
{
  g_return_val_if_fail (TN_IS_PROJECT (self), FALSE);
  g_autofree char *file = file_in (self->path, PROJECT_FILE);
  g_autofree char *lock = file_in (self->path, "lock");
  int fd = tn_file_lock_take (lock, SAVE_WAIT_MS, error);
  if (fd < 0)
    return FALSE;
  gboolean ok = write_locked (self, file, fd, lock, error);
  close (fd);
  return ok;
}

/* Creating and opening. */

static TnProject *
new_project (const char *path)
{
  TnProject *self = g_object_new (TN_TYPE_PROJECT, NULL);
  self->path = g_canonicalize_filename (path, NULL);
  self->name = g_path_get_basename (self->path);
  return self;
}

static gboolean
is_empty_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  return dir != NULL && g_dir_read_name (dir) == NULL;
}

TnProject *
tn_project_create (const char *path, const TnSettings *settings, JsonNode *network, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);
  if (!g_utf8_validate (path, -1, NULL)) /* it will stand in JSON files, which are UTF-8 */
    {
      g_autofree char *shown = g_utf8_make_valid (path, -1);
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("“%s” is not written in UTF-8. Choose another name for the project."), shown);
      return NULL;
    }
  g_autoptr (TnProject) self = new_project (path);
  if (settings != NULL)
    {
      tn_settings_free (self->settings);
      self->settings = tn_settings_copy (settings);
    }
  tn_project_set_network (self, network);
  if (g_file_test (self->path, G_FILE_TEST_EXISTS) && !is_empty_folder (self->path))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_EXISTS,
                   _("“%s” exists and is not an empty folder. Choose another name for the project."), self->path);
      return NULL;
    }
  g_autoptr (TnModel) model = tn_project_load_model (self, NULL, error);
  if (model == NULL)
    return NULL;
  if (g_mkdir_with_parents (self->path, 0755) != 0)
    {
      tn_error_set_errno (error, errno, _("create folder"), self->path);
      return NULL;
    }
  g_autofree char *parent = g_path_get_dirname (self->path);
  if (!tn_project_save (self, error) || !tn_durable_sync_dir (parent, error))
    return NULL;
  return g_steal_pointer (&self);
}

TnProject *
tn_project_open (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);
  g_autofree char *folder = g_str_has_suffix (path, "/" PROJECT_FILE) ? g_path_get_dirname (path) : g_strdup (path);
  if (strcmp (folder, PROJECT_FILE) == 0)
    *folder = '.', folder[1] = '\0';
  g_autoptr (TnProject) self = new_project (folder);
  g_autofree char *file = file_in (self->path, PROJECT_FILE);
  if (!g_file_test (self->path, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no folder “%s”. “tenon-cli new” makes a project."),
                   self->path);
      return NULL;
    }
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND,
                   _("“%s” is not a project: it has no %s. “tenon-cli new” makes a project."), self->path, PROJECT_FILE);
      return NULL;
    }
  return load (self, error) ? g_steal_pointer (&self) : NULL;
}

static void
tn_project_finalize (GObject *object)
{
  TnProject *self = TN_PROJECT (object);
  g_free (self->path);
  g_free (self->name);
  tn_settings_free (self->settings);
  g_clear_pointer (&self->network, json_node_unref);
  G_OBJECT_CLASS (tn_project_parent_class)->finalize (object);
}

static void
tn_project_class_init (TnProjectClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tn_project_finalize;
}

static void
tn_project_init (TnProject *self)
{
  self->settings = tn_settings_new ();
}

const char *
tn_project_path (TnProject *self)
{
  return self->path;
}

const char *
tn_project_name (TnProject *self)
{
  return self->name;
}

void
tn_project_set_name (TnProject *self, const char *name)
{
  char *copy = g_strdup (name);
  g_free (self->name);
  self->name = copy;
}

TnSettings *
tn_project_settings (TnProject *self)
{
  return self->settings;
}

JsonNode *
tn_project_network (TnProject *self)
{
  return self->network;
}

void
tn_project_set_network (TnProject *self, JsonNode *network)
{
  JsonNode *copy = network != NULL ? json_node_copy (network) : NULL;
  g_clear_pointer (&self->network, json_node_unref);
  self->network = copy;
}

guint64
tn_project_generation (TnProject *self)
{
  return self->generation;
}

char *
tn_project_resolve (const char *folder, const char *path)
{
  g_autofree char *inside = g_canonicalize_filename (path, folder);
  if (g_path_is_absolute (path) || g_file_test (inside, G_FILE_TEST_EXISTS) || !g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&inside);
  return g_canonicalize_filename (path, NULL);
}

/* The model. */

static TnModel *
find_model (TnProject *self, const TnSettings *settings, GError **error)
{
  const char *file = tn_settings_get_string (settings, "model.file");
  if (self->network != NULL)
    {
      g_autofree char *text = tn_json_to_text (self->network, 2);
      return tn_model_from_json (text, -1, error);
    }
  if (*file == '\0')
    return tn_model_new_preset (tn_settings_get_string (settings, "model.preset"), error);
  g_autofree char *path = tn_project_resolve (self->path, file);
  return tn_model_load (path, error);
}

TnModel *
tn_project_load_model (TnProject *self, const TnSettings *settings, GError **error)
{
  const TnSettings *used = settings != NULL ? settings : self->settings;
  TnModel *model = find_model (self, used, error);
  if (model == NULL)
    return NULL;
  if (tn_settings_is_set (used, "init.preset")
      && !tn_model_set_init (model, tn_settings_get_string (used, "init.preset"), error))
    {
      tn_model_unref (model);
      return NULL;
    }
  if (tn_settings_is_set (used, "train.freeze"))
    tn_model_set_freeze (model, tn_settings_get_string (used, "train.freeze"));
  return model;
}

char *
tn_project_model_name (TnProject *self, const TnSettings *settings, TnModel *model)
{
  const TnSettings *used = settings != NULL ? settings : self->settings;
  if (self->network == NULL && *tn_settings_get_string (used, "model.file") == '\0')
    return g_strdup (tn_settings_get_string (used, "model.preset"));
  return g_strdup (tn_model_name (model));
}

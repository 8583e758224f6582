/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect.h"
#include "cli/cli.h"
#include "base/error.h"
#include "base/json.h"
#include <stdio.h>

/* inspect: what a file or folder is and holds. */

#define MOST_TOLD 200

JsonObject *
tn_inspection_new (const char *kind, const char *path)
{
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "kind", kind);
  json_object_set_string_member (object, "path", path);
  return object;
}

JsonObject *
tn_inspection_add_item (JsonObject *object, const char *name)
{
  if (!json_object_has_member (object, "items"))
    json_object_set_array_member (object, "items", json_array_new ());
  JsonObject *item = json_object_new ();
  g_autofree char *valid = g_utf8_make_valid (name, -1);
  json_object_set_string_member (item, "name", valid);
  json_array_add_object_element (json_object_get_array_member (object, "items"), item);
  return item;
}

void
tn_inspection_set_shape (JsonObject *object, const int64_t *dims, int n_dims)
{
  JsonArray *array = json_array_new ();
  for (int i = 0; i < n_dims; i++)
    json_array_add_int_element (array, dims[i]);
  json_object_set_array_member (object, "shape", array);
}

static char *
value_text (JsonNode *node)
{
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    return tn_cli_printable (json_node_get_string (node));
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_DOUBLE)
    return g_strdup_printf ("%.6g", json_node_get_double (node));
  g_autofree char *text = tn_json_to_text (node, 0);
  return tn_cli_printable (text);
}

static void
print_item (JsonObject *item)
{
  g_autofree char *name = tn_cli_printable (json_object_get_string_member (item, "name"));
  g_autoptr (GList) members = json_object_get_members (item);
  printf (members->next != NULL ? "  %-40s" : "  %s", name);
  for (GList *member = members; member != NULL; member = member->next)
    {
      g_autofree char *value = value_text (json_object_get_member (item, member->data));
      if (g_strcmp0 (member->data, "name") != 0)
        printf ("  %s %s", (const char *) member->data, value);
    }
  putchar ('\n');
}

static void
print_people (JsonObject *object)
{
  g_autoptr (GList) members = json_object_get_members (object);
  for (GList *member = members; member != NULL; member = member->next)
    {
      if (g_strcmp0 (member->data, "items") == 0)
        continue;
      g_autofree char *value = value_text (json_object_get_member (object, member->data));
      printf ("%-16s %s\n", (const char *) member->data, value);
    }
  if (!json_object_has_member (object, "items"))
    return;
  JsonArray *items = json_object_get_array_member (object, "items");
  guint n = json_array_get_length (items);
  printf ("%-16s %u\n", "items", n);
  for (guint i = 0; i < MIN (n, MOST_TOLD); i++)
    print_item (json_array_get_object_element (items, i));
  if (n > MOST_TOLD)
    printf (_ ("  ... and %u more (--json has all)\n"), n - MOST_TOLD);
}

/* Whether a part of it could not be read. */
static gboolean
is_damaged (JsonObject *object)
{
  gboolean damage = json_object_has_member (object, "damage");
  JsonArray *items = json_object_has_member (object, "items") ? json_object_get_array_member (object, "items") : NULL;
  for (guint i = 0; items != NULL && !damage && i < json_array_get_length (items); i++)
    damage = json_object_has_member (json_array_get_object_element (items, i), "error");
  return damage;
}

/* One that cannot be read does not hide the others. */
static gboolean
inspect (const char *path, gboolean json)
{
  g_autoptr (GError) error = NULL;
  JsonObject *object = g_file_test (path, G_FILE_TEST_IS_DIR) ? tn_inspect_folder (path, &error) : tn_inspect_file (path, &error);
  if (object == NULL)
    {
      fflush (stdout);
      tn_cli_fail (error, json);
      return FALSE;
    }
  gboolean whole = !is_damaged (object);
  if (json)
    {
      tn_cli_print_json (object);
      return whole;
    }
  print_people (object);
  json_object_unref (object);
  return whole;
}

int
tn_command_inspect (int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("All of it, one JSON object a file"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("inspect", entries, &argc, &argv, 1, G_MAXINT - 1, _ ("name files or folders")))
    return TN_EXIT_USAGE;
  int status = TN_EXIT_DONE;
  for (int i = 1; i < argc; i++)
    {
      if (i > 1 && !json)
        putchar ('\n');
      if (!inspect (argv[i], json))
        status = TN_EXIT_FAILED;
    }
  return status;
}

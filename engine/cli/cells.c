/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "nn/cell.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* cells: what a model file can be made of, from the cell table, and how such a file looks. */

static const char example[] = "{\n"
                              "  \"name\": \"tiny\",\n"
                              "  \"input\": {\"shape\": [1, 28, 28], \"mean\": 0.1307, \"std\": 0.3081},\n"
                              "  \"cells\": [\n"
                              "    {\"type\": \"Conv2d\", \"name\": \"conv1\", \"out_channels\": 8, \"kernel\": 3, \"has_bias\": true},\n"
                              "    {\"type\": \"ReLU\"},\n"
                              "    {\"type\": \"MaxPool2d\", \"kernel\": 2, \"stride\": 2},\n"
                              "    {\"type\": \"Flatten\"},\n"
                              "    {\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 10}\n"
                              "  ]\n"
                              "}\n";

static const char *
type_name (const TnOption *option)
{
  static const char *const names[] = {
    [TN_OPTION_INT] = "int",     [TN_OPTION_FLOAT] = "float", [TN_OPTION_BOOL] = "bool",  [TN_OPTION_TEXT] = "text",
    [TN_OPTION_CHOICE] = "word", [TN_OPTION_INIT] = "initializer", [TN_OPTION_INTS] = "ints", [TN_OPTION_CELLS] = "cells",
  };
  return names[option->type];
}

/* The default as it would stand in JSON; NULL where there is none. */
static char *
default_text (const TnOption *option)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  if (option->required)
    return NULL;
  if (option->text != NULL)
    return g_strdup_printf ("\"%s\"", option->text);
  switch (option->type)
    {
    case TN_OPTION_CHOICE:
      return option->choices != NULL ? g_strdup_printf ("\"%.*s\"", (int) strcspn (option->choices, "|"), option->choices) : NULL;
    case TN_OPTION_BOOL:
      return g_strdup (option->number != 0 ? "true" : "false");
    case TN_OPTION_INT:
    case TN_OPTION_FLOAT:
    case TN_OPTION_INTS:
      /* One whose least value lies above its default has none: it comes from the input. */
      if (isnan (option->number) || ((option->min != 0 || option->max != 0) && option->number < option->min))
        return NULL;
      return g_strdup (g_ascii_formatd (number, sizeof number, "%.12g", option->number));
    default:
      return NULL;
    }
}

/* "1..10", "at least 1", "same|valid", or "". */
static char *
range_text (const TnOption *option)
{
  char min[G_ASCII_DTOSTR_BUF_SIZE], max[G_ASCII_DTOSTR_BUF_SIZE];
  if (option->choices != NULL)
    return g_strdup (option->choices);
  if (option->min == 0 && option->max == 0)
    return g_strdup ("");
  g_ascii_formatd (min, sizeof min, "%.12g", option->min);
  g_ascii_formatd (max, sizeof max, "%.12g", option->max);
  if (option->max < G_MAXINT32)
    return g_strdup_printf ("%s..%s", min, max);
  return option->min > -G_MAXINT32 ? g_strdup_printf (_ ("at least %s"), min) : g_strdup ("");
}

static void
print_class (const TnCellClass *klass)
{
  printf ("%s   ", klass->name);
  if (klass->max_inputs < 0)
    printf (_ ("(%d or more inputs)\n"), klass->min_inputs);
  else if (klass->min_inputs == 1 && klass->max_inputs == 1)
    printf (_ ("(1 input)\n"));
  else
    printf (_ ("(%d to %d inputs)\n"), klass->min_inputs, klass->max_inputs);
  if (klass->doc != NULL)
    printf ("    %s\n", _ (klass->doc));
  for (const TnOption *option = klass->options; option != NULL && option->name != NULL; option++)
    {
      g_autofree char *value = default_text (option), *range = range_text (option);
      printf ("    %s", option->name);
      if (value != NULL)
        printf (" = %s", value);
      printf ("   (%s%s%s%s)\n", type_name (option), *range != '\0' ? ": " : "", range, option->required ? _ ("; required") : "");
    }
}

static void
print_class_json (const TnCellClass *klass)
{
  JsonObject *object = json_object_new ();
  JsonArray *options = json_array_new ();
  json_object_set_string_member (object, "type", klass->name);
  json_object_set_string_member (object, "doc", klass->doc != NULL ? klass->doc : "");
  json_object_set_int_member (object, "min_inputs", klass->min_inputs);
  json_object_set_int_member (object, "max_inputs", klass->max_inputs);
  for (const TnOption *option = klass->options; option != NULL && option->name != NULL; option++)
    {
      JsonObject *row = json_object_new ();
      g_autofree char *value = default_text (option), *range = range_text (option);
      json_object_set_string_member (row, "name", option->name);
      json_object_set_string_member (row, "type", type_name (option));
      json_object_set_boolean_member (row, "required", option->required);
      if (value != NULL)
        json_object_set_member (row, "default", json_from_string (value, NULL));
      json_object_set_string_member (row, "range", range);
      json_array_add_object_element (options, row);
    }
  json_object_set_array_member (object, "options", options);
  tn_cli_print_json (object);
}

static int
tell_unknown (const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (int i = 0; tn_cell_class_at (i) != NULL; i++)
    g_ptr_array_add (names, (gpointer) tn_cell_class_at (i)->name);
  g_ptr_array_add (names, NULL);
  g_autofree char *suggestion = tn_cli_suggestion (name, (const char *const *) names->pdata);
  return tn_cli_usage ("cells", _ ("there is no cell “%s”%s"), name, suggestion);
}

static void
print_help (void)
{
  printf (_ ("\nEvery cell may also have \"name\" (its place in parameter names) and \"inputs\" (names of\n"
             "earlier cells; without it, the one before). A whole model:\n\n%s\n"), example);
  printf (_ ("%s new DIR --model FILE.json --data SOURCE takes it.\n"), tn_cli_program ());
}

int
tn_command_cells (int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a cell"), NULL },
    { 0 },
  };
  if (!tn_cli_parse ("cells", entries, &argc, &argv))
    return TN_EXIT_USAGE;
  for (int i = 1; i < argc; i++)
    if (tn_cell_class_find (argv[i]) == NULL)
      return tell_unknown (argv[i]);
  void (*print) (const TnCellClass *klass) = json ? print_class_json : print_class;
  for (int i = 1; i < argc; i++)
    print (tn_cell_class_find (argv[i]));
  for (int i = 0; argc < 2 && tn_cell_class_at (i) != NULL; i++)
    print (tn_cell_class_at (i));
  if (!json)
    print_help ();
  return TN_EXIT_DONE;
}

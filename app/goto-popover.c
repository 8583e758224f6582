/* SPDX-License-Identifier: Apache-2.0 */
#include "goto-popover.h"

#include <glib/gi18n.h>
#include <string.h>

#include "accelerators.h"
#include "project-facts.h"
#include "setting-titles.h"
#include "train/run-folder.h"

#define MAX_SHOWN 60
#define MAX_NODES 20000

/* One thing to go to. */
typedef struct
{
  const char *kind; /* translated */
  char *title, *detail, *folded;
  char *action; /* detailed */
  TnSelectionPart part; /* selected first, to @value */
  char *value;
} Item;

typedef struct
{
  TnWindow *window;
  GtkWidget *dialog, *entry, *list;
  GPtrArray *items;
} Goto;

static void
item_free (Item *item)
{
  g_free (item->title);
  g_free (item->detail);
  g_free (item->folded);
  g_free (item->action);
  g_free (item->value);
  g_free (item);
}

static Item *
add (GPtrArray *items, const char *kind, const char *title, const char *detail, const char *extra, char *action)
{
  Item *item = g_new0 (Item, 1);
  item->kind = kind;
  item->title = g_strdup (title);
  item->detail = g_strdup (detail);
  item->action = action;
  g_autofree char *all = g_strjoin (" ", title, detail != NULL ? detail : "", extra != NULL ? extra : "", NULL);
  item->folded = g_utf8_casefold (all, -1);
  g_ptr_array_add (items, item);
  return item;
}

static void
add_static (Goto *self)
{
  GPtrArray *items = self->items;
  gboolean project = tn_window_document (self->window) != NULL;
  for (const TnPageInfo *info = tn_pages; project && info->id != NULL; info++)
    add (items, _("Page"), _(info->title), NULL, info->id, g_strdup_printf ("win.page('%s')", info->id));
  for (const TnAccelerator *row = tn_accelerators; row->action != NULL; row++)
    if (!g_str_equal (row->action, "win.goto"))
      {
        g_auto (GStrv) keys = row->accelerator != NULL ? g_strsplit (row->accelerator, " ", -1) : NULL;
        guint key;
        GdkModifierType mask;
        g_autofree char *label = keys != NULL && gtk_accelerator_parse (keys[0], &key, &mask) ? gtk_accelerator_get_label (key, mask) : NULL;
        add (items, _("Action"), _(row->title), label, NULL, g_strdup (row->action));
      }
  for (const TnSetting *row = tn_settings; project && row->name != NULL; row++)
    if (!g_str_has_prefix (row->name, "data.") && !g_str_has_prefix (row->name, "model."))
      add (items, _("Setting"), tn_setting_title (row->name), row->name, row->aliases, g_strdup_printf ("win.setting('%s')", row->name));
}

/* Runs, nodes and parameters come from a worker. */

typedef struct
{
  char *project;
  GPtrArray *runs;
  TnProjectFacts *facts;
} Found;

static void
found_free (Found *found)
{
  g_free (found->project);
  g_clear_pointer (&found->runs, g_ptr_array_unref);
  g_clear_pointer (&found->facts, tn_project_facts_unref);
  g_free (found);
}

static void
find_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Found *found = data;
  found->runs = tn_run_folder_list (found->project, NULL);
  found->facts = tn_project_facts_new (found->project);
  g_task_return_boolean (task, TRUE);
}

static void
add_selected (GPtrArray *items, const char *kind, const char *title, const char *detail, const char *value, TnSelectionPart part)
{
  Item *item = add (items, kind, title, detail, value, NULL);
  item->part = part;
  item->value = g_strdup (value);
}

static void
add_nodes (GPtrArray *items, const TnProjectFacts *facts)
{
  for (guint i = 0; facts->model != NULL && i < facts->model->cells->len; i++)
    {
      const TnCellReport *cell = g_ptr_array_index (facts->model->cells, i);
      if (cell->scope != NULL)
        add_selected (items, _("Node"), cell->name, cell->type, cell->scope, TN_SELECTION_NODE);
    }
  for (int i = 0; facts->graph != NULL && i < MIN (facts->graph->n_items, MAX_NODES); i++)
    {
      const TnGraphItem *item = &facts->graph->items[i];
      if (item->kind != TN_ITEM_OPERATOR)
        continue;
      g_autofree char *title = g_strdup_printf ("%s/%s", item->scope >= 0 ? facts->graph->scopes[item->scope].label : "", item->label);
      add_selected (items, _("Node"), title, item->shape, item->name, TN_SELECTION_NODE);
    }
}

static void refill (Goto *self);

static void
found_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Goto *self = g_object_get_data (source, "tn-goto");
  Found *found = g_task_get_task_data (G_TASK (result));
  if (self == NULL)
    return;
  for (guint i = 0; found->runs != NULL && i < found->runs->len; i++)
    {
      const char *path = g_ptr_array_index (found->runs, found->runs->len - 1 - i);
      g_autofree char *name = g_path_get_basename (path);
      g_autoptr (GVariant) target = g_variant_ref_sink (g_variant_new_string (path));
      add (self->items, _("Run"), name, NULL, NULL, g_action_print_detailed_name ("win.run", target));
    }
  for (guint i = 0; found->facts->model != NULL && i < found->facts->model->parameters->len; i++)
    {
      const char *name = g_array_index (found->facts->model->parameters, TnParameterReport, i).name;
      add_selected (self->items, _("Parameter"), name, NULL, name, TN_SELECTION_PARAMETER);
    }
  add_nodes (self->items, found->facts);
  refill (self);
}

static GtkWidget *
item_row (const Item *item)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *title = gtk_label_new (item->title), *detail = gtk_label_new (item->detail), *kind = gtk_label_new (item->kind);
  gtk_label_set_xalign (GTK_LABEL (title), 0);
  gtk_label_set_ellipsize (GTK_LABEL (title), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (title, TRUE);
  gtk_widget_add_css_class (detail, "dim-label");
  gtk_widget_add_css_class (kind, "dim-label");
  gtk_widget_add_css_class (kind, "caption");
  gtk_box_append (GTK_BOX (box), title);
  gtk_box_append (GTK_BOX (box), detail);
  gtk_box_append (GTK_BOX (box), kind);
  gtk_widget_set_margin_top (box, 8);
  gtk_widget_set_margin_bottom (box, 8);
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 6);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, item->title, -1);
  g_object_set_data (G_OBJECT (row), "tn-item", (gpointer) item);
  return row;
}

/* A typed "@1200" or "r3". */
static void
add_typed (Goto *self, const char *text)
{
  static Item *typed;
  gint64 number;
  gboolean step = text[0] == '@', rank = text[0] == 'r' || text[0] == 'R';
  if ((!step && !rank) || !g_ascii_string_to_signed (text + 1, 10, 0, G_MAXINT64, &number, NULL))
    return;
  g_clear_pointer (&typed, item_free);
  typed = g_new0 (Item, 1);
  typed->kind = step ? _("Step") : _("Rank");
  typed->title = g_strdup_printf (step ? _("Step %s") : _("Rank %s"), text + 1);
  typed->part = step ? TN_SELECTION_STEPS : TN_SELECTION_RANK;
  typed->value = g_strdup (text + 1);
  gtk_list_box_append (GTK_LIST_BOX (self->list), item_row (typed));
}

/* 0 where the title is the text, 1 where it begins with it, else 2. */
static int
rank_of (const Item *item, const char *folded)
{
  size_t n = strlen (folded);
  if (!g_str_has_prefix (item->folded, folded))
    return 2;
  return n > 0 && (item->folded[n] == '\0' || item->folded[n] == ' ') ? 0 : 1;
}

/* Every typed word occurs. */
static gboolean
matches (const Item *item, char **words)
{
  for (; *words != NULL; words++)
    if (strstr (item->folded, *words) == NULL)
      return FALSE;
  return TRUE;
}

static void
refill (Goto *self)
{
  GtkListBoxRow *row;
  while ((row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), GTK_WIDGET (row));
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  g_autofree char *folded = g_utf8_casefold (text, -1);
  g_auto (GStrv) words = g_strsplit_set (g_strstrip (folded), " ", -1);
  add_typed (self, text);
  int shown = 0;
  for (int pass = 0; pass < 3; pass++)
    for (guint i = 0; i < self->items->len && shown < MAX_SHOWN; i++)
      {
        const Item *item = g_ptr_array_index (self->items, i);
        if (!matches (item, words) || rank_of (item, folded) != pass)
          continue;
        gtk_list_box_append (GTK_LIST_BOX (self->list), item_row (item));
        shown++;
      }
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), 0));
}

static void
perform (Goto *self, const Item *item)
{
  TnWindow *window = self->window;
  g_autofree char *action = g_strdup (item->action), *value = g_strdup (item->value);
  TnSelectionPart part = item->part;
  gtk_window_destroy (GTK_WINDOW (self->dialog)); /* frees the items */
  if (part == TN_SELECTION_STEPS || part == TN_SELECTION_RANK)
    tn_selection_set_range (tn_window_selection (window), part, g_ascii_strtoll (value, NULL, 10), g_ascii_strtoll (value, NULL, 10));
  else if (part != 0)
    tn_selection_set_text (tn_window_selection (window), part, value);
  if (part == TN_SELECTION_PARAMETER)
    tn_window_show_page (window, "model");
  else if (part == TN_SELECTION_NODE)
    tn_window_show_page (window, "graph");
  else if (part == TN_SELECTION_STEPS)
    tn_window_show_page (window, "train");
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;
  if (action != NULL && g_action_parse_detailed_name (action, &name, &target, NULL))
    gtk_widget_activate_action_variant (GTK_WIDGET (window), name, target);
}

static void
activated_cb (GtkListBox *list, GtkListBoxRow *row, Goto *self)
{
  perform (self, g_object_get_data (G_OBJECT (row), "tn-item"));
}

static void
entered_cb (GtkSearchEntry *entry, Goto *self)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));
  if (row != NULL)
    perform (self, g_object_get_data (G_OBJECT (row), "tn-item"));
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Goto *self)
{
  if (key == GDK_KEY_Escape)
    {
      gtk_window_destroy (GTK_WINDOW (self->dialog));
      return TRUE;
    }
  if (key != GDK_KEY_Down && key != GDK_KEY_Up)
    return FALSE;
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));
  int at = row != NULL ? gtk_list_box_row_get_index (row) : -1;
  GtkListBoxRow *next = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), MAX (0, at + (key == GDK_KEY_Down ? 1 : -1)));
  if (next != NULL)
    {
      gtk_list_box_select_row (GTK_LIST_BOX (self->list), next);
      gtk_widget_grab_focus (GTK_WIDGET (next));
      gtk_widget_grab_focus (self->entry);
    }
  return TRUE;
}

static void
goto_free (Goto *self)
{
  g_ptr_array_unref (self->items);
  g_free (self);
}

void
tn_goto_present (TnWindow *window)
{
  Goto *self = g_new0 (Goto, 1);
  self->window = window;
  self->items = g_ptr_array_new_with_free_func ((GDestroyNotify) item_free);
  self->dialog = adw_window_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new ();
  self->entry = gtk_search_entry_new ();
  gtk_widget_add_css_class (self->entry, "goto-entry");
  gtk_widget_set_name (self->entry, "root_goto_entry");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Go to"), -1);
  g_object_set (self->entry, "placeholder-text", _("Page, setting, action, run, node, parameter, @step …"), NULL);
  gtk_widget_set_margin_top (self->entry, 12);
  gtk_widget_set_margin_bottom (self->entry, 12);
  gtk_widget_set_margin_start (self->entry, 12);
  gtk_widget_set_margin_end (self->entry, 12);
  self->list = gtk_list_box_new ();
  gtk_widget_set_name (self->list, "root_goto_list");
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_list_box_set_placeholder (GTK_LIST_BOX (self->list), gtk_label_new (_("Nothing of that name")));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->list);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (box), scroller);
  adw_window_set_content (ADW_WINDOW (self->dialog), box);
  g_object_set_data_full (G_OBJECT (self->dialog), "tn-goto", self, (GDestroyNotify) goto_free);
  gtk_widget_set_name (self->dialog, "root_goto_dialog");
  gtk_window_set_title (GTK_WINDOW (self->dialog), _("Go to"));
  gtk_window_set_default_size (GTK_WINDOW (self->dialog), MIN (560, gtk_widget_get_width (GTK_WIDGET (window)) - 24), 440);
  gtk_window_set_modal (GTK_WINDOW (self->dialog), TRUE);
  gtk_window_set_transient_for (GTK_WINDOW (self->dialog), GTK_WINDOW (window));

  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (self->dialog, keys);
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (refill), self);
  g_signal_connect (self->entry, "activate", G_CALLBACK (entered_cb), self);
  g_signal_connect (self->list, "row-activated", G_CALLBACK (activated_cb), self);
  add_static (self);
  refill (self);
  TnDocument *document = tn_window_document (window);
  if (document != NULL)
    {
      Found *found = g_new0 (Found, 1);
      found->project = g_strdup (tn_document_path (document));
      g_autoptr (GTask) task = g_task_new (self->dialog, NULL, found_cb, NULL);
      g_task_set_task_data (task, found, (GDestroyNotify) found_free);
      g_task_run_in_thread (task, find_thread);
    }
  gtk_window_present (GTK_WINDOW (self->dialog));
  gtk_widget_grab_focus (self->entry);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model-tree.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "format.h"
#include "nn/cell.h"

/* One row. */
#define TN_TYPE_LAYER_ITEM (tn_layer_item_get_type ())
G_DECLARE_FINAL_TYPE (TnLayerItem, tn_layer_item, TN, LAYER_ITEM, GObject)

struct _TnLayerItem
{
  GObject parent_instance;
  char *path, *name, *type;
  GListStore *children; /* NULL for none */
};

G_DEFINE_FINAL_TYPE (TnLayerItem, tn_layer_item, G_TYPE_OBJECT)

static void
tn_layer_item_finalize (GObject *object)
{
  TnLayerItem *self = TN_LAYER_ITEM (object);
  g_free (self->path);
  g_free (self->name);
  g_free (self->type);
  g_clear_object (&self->children);
  G_OBJECT_CLASS (tn_layer_item_parent_class)->finalize (object);
}

static void
tn_layer_item_class_init (TnLayerItemClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_layer_item_finalize;
}

static void
tn_layer_item_init (TnLayerItem *self)
{
}

typedef enum
{
  NAME,
  KIND,
  OUTPUT,
  PARAMETERS,
  BYTES,
  N_COLUMNS
} Column;

struct _TnModelTree
{
  GtkWidget parent_instance;
  GtkWidget *scroller, *view;
  GtkColumnViewColumn *columns[N_COLUMNS];
  GtkTreeListModel *tree;
  GtkSingleSelection *selection;
  TnModelReport *report;
  char *selected;
  gboolean filling;
  GHashTable *bound; /* GtkListItem -> Column + 1 */
};

enum
{
  SELECTED,
  OPENED,
  FIX,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnModelTree, tn_model_tree, GTK_TYPE_WIDGET)

static GListStore *
make_items (JsonArray *array, const char *path)
{
  GListStore *store = g_list_store_new (TN_TYPE_LAYER_ITEM);
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      if (!JSON_NODE_HOLDS_OBJECT (node))
        continue;
      JsonObject *object = json_node_get_object (node);
      g_autoptr (TnLayerItem) item = g_object_new (TN_TYPE_LAYER_ITEM, NULL);
      item->path = tn_json_path_element (path, i);
      item->type = g_strdup (json_object_get_string_member_with_default (object, "type", "?"));
      const char *name = json_object_get_string_member_with_default (object, "name", NULL);
      item->name = name != NULL ? g_strdup (name) : g_strdup_printf ("%u", i);
      const TnCellClass *klass = tn_cell_class_find (item->type);
      for (const TnOption *option = klass != NULL ? klass->options : NULL; option != NULL && option->name != NULL; option++)
        {
          JsonNode *member = option->type == TN_OPTION_CELLS ? json_object_get_member (object, option->name) : NULL;
          if (member == NULL || !JSON_NODE_HOLDS_ARRAY (member))
            continue;
          g_autofree char *member_path = tn_json_path_member (item->path, option->name);
          g_autoptr (GListStore) inner = make_items (json_node_get_array (member), member_path);
          if (item->children == NULL)
            item->children = g_list_store_new (TN_TYPE_LAYER_ITEM);
          for (guint k = 0; k < g_list_model_get_n_items (G_LIST_MODEL (inner)); k++)
            {
              g_autoptr (TnLayerItem) child = g_list_model_get_item (G_LIST_MODEL (inner), k);
              g_list_store_append (item->children, child);
            }
        }
      g_list_store_append (store, item);
    }
  return store;
}

static GListModel *
children_cb (gpointer item, gpointer data)
{
  GListStore *children = TN_LAYER_ITEM (item)->children;
  return children != NULL ? G_LIST_MODEL (g_object_ref (children)) : NULL;
}

/* Cells. */

static void
fix_cb (TnModelTree *self)
{
  g_signal_emit (self, signals[FIX], 0);
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnModelTree *self)
{
  Column column = GPOINTER_TO_INT (g_object_get_data (G_OBJECT (factory), "column"));
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (label), column >= PARAMETERS ? 1 : 0);
  gtk_widget_add_css_class (label, "tn-tabular");
  if (column != NAME)
    {
      gtk_list_item_set_child (item, label);
      return;
    }
  GtkWidget *expander = gtk_tree_expander_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2), *trouble = gtk_box_new (GTK_ORIENTATION_VERTICAL, 4);
  GtkWidget *error = gtk_label_new (NULL), *fix = gtk_button_new ();
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_wrap (GTK_LABEL (error), TRUE);
  gtk_label_set_xalign (GTK_LABEL (error), 0);
  gtk_label_set_max_width_chars (GTK_LABEL (error), 36);
  gtk_widget_add_css_class (error, "error");
  gtk_widget_add_css_class (error, "caption");
  gtk_widget_set_name (fix, "model_fix_button");
  gtk_widget_set_halign (fix, GTK_ALIGN_START);
  g_signal_connect_swapped (fix, "clicked", G_CALLBACK (fix_cb), self);
  gtk_box_append (GTK_BOX (trouble), error);
  gtk_box_append (GTK_BOX (trouble), fix);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), trouble);
  gtk_tree_expander_set_child (GTK_TREE_EXPANDER (expander), box);
  g_object_set_data (G_OBJECT (expander), "label", label);
  g_object_set_data (G_OBJECT (expander), "trouble", trouble);
  g_object_set_data (G_OBJECT (expander), "error", error);
  g_object_set_data (G_OBJECT (expander), "fix", fix);
  gtk_list_item_set_child (item, expander);
}

static char *
cell_text (TnModelTree *self, const TnLayerItem *layer, Column column)
{
  const TnCellReport *cell = self->report != NULL ? tn_model_report_cell (self->report, layer->path) : NULL;
  if (column == NAME)
    return g_strdup (layer->name);
  if (column == KIND)
    return g_strdup (layer->type);
  if (cell == NULL || !cell->built)
    return g_strdup ("—");
  if (column == OUTPUT)
    return tn_model_shape_text (&cell->output);
  if (column == PARAMETERS)
    return tn_format_count (cell->parameters);
  return cell->bytes > 0 ? tn_format_size ((double) cell->bytes) : g_strdup ("–");
}

static void
show_error (TnModelTree *self, GtkWidget *expander, const TnLayerItem *layer)
{
  const TnModelReport *report = self->report;
  gboolean here = report != NULL && report->error != NULL && g_strcmp0 (report->error_path, layer->path) == 0;
  GtkWidget *error = g_object_get_data (G_OBJECT (expander), "error"), *fix = g_object_get_data (G_OBJECT (expander), "fix");
  gtk_widget_set_visible (g_object_get_data (G_OBJECT (expander), "trouble"), here);
  if (!here)
    return;
  gtk_label_set_text (GTK_LABEL (error), report->error);
  gtk_widget_set_visible (fix, report->fix_option != NULL);
  if (report->fix_option == NULL)
    return;
  g_autofree char *label = g_strdup_printf (_ ("Make %s %" PRId64), layer->name, report->fix_value);
  gtk_button_set_label (GTK_BUTTON (fix), label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (fix), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

/* 4.8 has no names of rows: level and open state go into the text. */
static void
name_row (TnModelTree *self, GtkListItem *item, const TnLayerItem *layer)
{
  GtkWidget *cell = gtk_widget_get_parent (gtk_list_item_get_child (item)), *line = cell != NULL ? gtk_widget_get_parent (cell) : NULL;
  GtkTreeListRow *row = gtk_list_item_get_item (item);
  g_autofree char *shape = cell_text (self, layer, OUTPUT), *count = cell_text (self, layer, PARAMETERS);
  g_autofree char *name = g_strdup_printf (_ ("%s, %s, output %s, %s parameters, level %u%s"), layer->name, layer->type, shape, count,
                                           gtk_tree_list_row_get_depth (row) + 1,
                                           !gtk_tree_list_row_is_expandable (row) ? ""
                                           : gtk_tree_list_row_get_expanded (row) ? _ (", open")
                                                                                  : _ (", closed"));
  if (line != NULL)
    gtk_accessible_update_property (GTK_ACCESSIBLE (line), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

static void
show_cell (TnModelTree *self, GtkListItem *item, Column column)
{
  GtkTreeListRow *row = gtk_list_item_get_item (item);
  g_autoptr (TnLayerItem) layer = gtk_tree_list_row_get_item (row);
  g_autofree char *text = cell_text (self, layer, column);
  GtkWidget *child = gtk_list_item_get_child (item), *cell = gtk_widget_get_parent (child);
  if (column == NAME)
    {
      gtk_tree_expander_set_list_row (GTK_TREE_EXPANDER (child), row);
      gtk_label_set_text (g_object_get_data (G_OBJECT (child), "label"), text);
      show_error (self, child, layer);
      name_row (self, item, layer);
    }
  else
    gtk_label_set_text (GTK_LABEL (child), text);
  if (cell != NULL)
    gtk_accessible_update_property (GTK_ACCESSIBLE (cell), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnModelTree *self)
{
  Column column = GPOINTER_TO_INT (g_object_get_data (G_OBJECT (factory), "column"));
  g_hash_table_insert (self->bound, item, GINT_TO_POINTER (column + 1));
  show_cell (self, item, column);
}

static void
unbind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnModelTree *self)
{
  g_hash_table_remove (self->bound, item);
}

/* Selection. */

static TnLayerItem *
layer_at (TnModelTree *self, guint position)
{
  g_autoptr (GtkTreeListRow) row = g_list_model_get_item (G_LIST_MODEL (self->tree), position);
  return row != NULL ? gtk_tree_list_row_get_item (row) : NULL;
}

static void
selected_cb (TnModelTree *self)
{
  if (self->filling)
    return;
  g_autoptr (TnLayerItem) layer = layer_at (self, gtk_single_selection_get_selected (self->selection));
  g_free (self->selected);
  self->selected = layer != NULL ? g_strdup (layer->path) : NULL;
  g_signal_emit (self, signals[SELECTED], 0, self->selected);
}

static void
activate_cb (GtkColumnView *view, guint position, TnModelTree *self)
{
  g_autoptr (TnLayerItem) layer = layer_at (self, position);
  if (layer != NULL)
    g_signal_emit (self, signals[OPENED], 0, layer->path);
}

void
tn_model_tree_select (TnModelTree *self, const char *path)
{
  g_return_if_fail (TN_IS_MODEL_TREE (self));
  for (guint i = 0; self->tree != NULL && i < g_list_model_get_n_items (G_LIST_MODEL (self->tree)); i++)
    {
      g_autoptr (TnLayerItem) layer = layer_at (self, i);
      if (g_strcmp0 (layer->path, path) != 0)
        continue;
      gtk_single_selection_set_selected (self->selection, i);
      gtk_widget_activate_action (gtk_widget_get_last_child (self->view), "list.scroll-to-item", "u", i);
      return;
    }
}

const char *
tn_model_tree_get_selected (TnModelTree *self)
{
  g_return_val_if_fail (TN_IS_MODEL_TREE (self), NULL);
  return self->selected;
}

static void
note_closed (TnModelTree *self, GHashTable *closed)
{
  for (guint i = 0; self->tree != NULL && i < g_list_model_get_n_items (G_LIST_MODEL (self->tree)); i++)
    {
      g_autoptr (GtkTreeListRow) row = g_list_model_get_item (G_LIST_MODEL (self->tree), i);
      g_autoptr (TnLayerItem) layer = gtk_tree_list_row_get_item (row);
      if (gtk_tree_list_row_is_expandable (row) && !gtk_tree_list_row_get_expanded (row))
        g_hash_table_add (closed, g_strdup (layer->path));
    }
}

static void
close_again (TnModelTree *self, GHashTable *closed)
{
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->tree)); i++)
    {
      g_autoptr (GtkTreeListRow) row = g_list_model_get_item (G_LIST_MODEL (self->tree), i);
      g_autoptr (TnLayerItem) layer = gtk_tree_list_row_get_item (row);
      if (g_hash_table_contains (closed, layer->path))
        gtk_tree_list_row_set_expanded (row, FALSE);
    }
}

void
tn_model_tree_set_model (TnModelTree *self, JsonNode *root)
{
  g_return_if_fail (TN_IS_MODEL_TREE (self));
  g_autoptr (GHashTable) closed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  note_closed (self, closed);
  JsonNode *cells = root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_object_get_member (json_node_get_object (root), "cells") : NULL;
  GListStore *items = cells != NULL && JSON_NODE_HOLDS_ARRAY (cells) ? make_items (json_node_get_array (cells), "cells")
                                                                     : g_list_store_new (TN_TYPE_LAYER_ITEM);
  g_autofree char *selected = g_strdup (self->selected);
  self->filling = TRUE;
  g_clear_object (&self->tree);
  self->tree = gtk_tree_list_model_new (G_LIST_MODEL (items), FALSE, TRUE, children_cb, NULL, NULL);
  close_again (self, closed);
  gtk_single_selection_set_model (self->selection, G_LIST_MODEL (self->tree));
  tn_model_tree_select (self, selected);
  self->filling = FALSE;
  selected_cb (self);
}

void
tn_model_tree_set_report (TnModelTree *self, TnModelReport *report)
{
  g_return_if_fail (TN_IS_MODEL_TREE (self));
  if (report != NULL)
    tn_model_report_ref (report);
  g_clear_pointer (&self->report, tn_model_report_unref);
  self->report = report;
  GHashTableIter iter;
  gpointer item, column;
  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, &column))
    show_cell (self, item, GPOINTER_TO_INT (column) - 1);
}

void
tn_model_tree_set_narrow (TnModelTree *self, gboolean narrow)
{
  g_return_if_fail (TN_IS_MODEL_TREE (self));
  gtk_column_view_column_set_visible (self->columns[KIND], !narrow);
  gtk_column_view_column_set_visible (self->columns[BYTES], !narrow);
}

/* Class. */

static void
tn_model_tree_dispose (GObject *object)
{
  TnModelTree *self = TN_MODEL_TREE (object);
  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  g_clear_object (&self->selection);
  g_clear_object (&self->tree);
  g_clear_pointer (&self->report, tn_model_report_unref);
  G_OBJECT_CLASS (tn_model_tree_parent_class)->dispose (object);
}

static void
tn_model_tree_finalize (GObject *object)
{
  TnModelTree *self = TN_MODEL_TREE (object);
  g_free (self->selected);
  g_hash_table_unref (self->bound);
  G_OBJECT_CLASS (tn_model_tree_parent_class)->finalize (object);
}

static void
tn_model_tree_class_init (TnModelTreeClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_model_tree_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_model_tree_finalize;
  /* Here and not on the page: Delete on a row of the form must not remove the layer. */
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Delete, 0, "page.remove", NULL);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Insert, 0, "page.choose", NULL);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Up, GDK_ALT_MASK, "page.move", "i", -1);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_Down, GDK_ALT_MASK, "page.move", "i", 1);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_d, GDK_CONTROL_MASK, "page.duplicate", NULL);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_F2, 0, "page.rename", NULL);
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  GType type = G_TYPE_FROM_CLASS (klass);
  signals[SELECTED] = g_signal_new ("selected", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[OPENED] = g_signal_new ("opened", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[FIX] = g_signal_new ("fix", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_model_tree_init (TnModelTree *self)
{
  const char *const titles[N_COLUMNS] = { _ ("Layer"), _ ("Kind"), _ ("Output"), _ ("Parameters"), _ ("Memory a Sample") };
  self->bound = g_hash_table_new (NULL, NULL);
  self->selection = gtk_single_selection_new (NULL);
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (selected_cb), self, G_CONNECT_SWAPPED);
  self->view = gtk_column_view_new (g_object_ref (GTK_SELECTION_MODEL (self->selection)));
  gtk_widget_set_name (self->view, "model_layer_tree");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Layers"), -1);
  for (int i = 0; i < N_COLUMNS; i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      g_object_set_data (G_OBJECT (factory), "column", GINT_TO_POINTER (i));
      g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), self);
      g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
      g_signal_connect_object (factory, "unbind", G_CALLBACK (unbind_cb), self, 0);
      self->columns[i] = gtk_column_view_column_new (titles[i], factory);
      gtk_column_view_column_set_resizable (self->columns[i], TRUE);
      gtk_column_view_column_set_expand (self->columns[i], i == NAME);
      gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), self->columns[i]);
      g_object_unref (self->columns[i]);
    }
  g_signal_connect (self->view, "activate", G_CALLBACK (activate_cb), self);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->view);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
}

GtkWidget *
tn_model_tree_new (void)
{
  return g_object_new (TN_TYPE_MODEL_TREE, NULL);
}

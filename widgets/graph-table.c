/* SPDX-License-Identifier: Apache-2.0 */
#include "graph-table.h"
#include <glib/gi18n.h>
#include <math.h>

/* ---- rows ---- */

#define TN_TYPE_GRAPH_ROW (tn_graph_row_get_type ())
G_DECLARE_FINAL_TYPE (TnGraphRow, tn_graph_row, TN, GRAPH_ROW, GObject)

struct _TnGraphRow
{
  GObject parent_instance;
  int item, scope;
};

G_DEFINE_FINAL_TYPE (TnGraphRow, tn_graph_row, G_TYPE_OBJECT)

static void
tn_graph_row_class_init (TnGraphRowClass *class)
{
}

static void
tn_graph_row_init (TnGraphRow *self)
{
}

/* ---- table ---- */

typedef enum
{
  COLUMN_NAME,
  COLUMN_TYPE,
  COLUMN_PHASE,
  COLUMN_SHAPE,
  COLUMN_BYTES,
  COLUMN_INPUTS,
  COLUMN_OUTPUTS,
  COLUMN_OVERLAY,
  N_COLUMNS
} Column;

struct _TnGraphTable
{
  GtkWidget parent_instance;
  GtkWidget *scroller, *view;
  TnGraphDocument *document;
  const TnGraphOverlay *overlay;
  double *sums; /* of the overlay by scope */
  GtkSingleSelection *selection;
  GtkColumnViewColumn *columns[N_COLUMNS];
  int *first_child, *next, *first_item, *next_item;
  gboolean quiet;
};

enum
{
  PICKED,
  ACTIVATED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnGraphTable, tn_graph_table, GTK_TYPE_WIDGET)

static void
index_tree (TnGraphTable *self)
{
  const TnGraphDocument *document = self->document;
  int n = document->n_scopes;
  self->first_child = g_new (int, n + 1);
  self->next = g_new (int, n + 1);
  self->first_item = g_new (int, n + 1);
  self->next_item = g_new (int, document->n_items + 1);
  for (int s = 0; s <= n; s++)
    self->first_child[s] = self->first_item[s] = self->next[s] = -1;
  for (int s = n - 1; s >= 0; s--)
    {
      int parent = document->scopes[s].parent >= 0 ? document->scopes[s].parent : n;
      self->next[s] = self->first_child[parent];
      self->first_child[parent] = s;
    }
  for (int i = document->n_items - 1; i >= 0; i--)
    {
      int parent = document->items[i].scope >= 0 ? document->items[i].scope : n;
      self->next_item[i] = self->first_item[parent];
      self->first_item[parent] = i;
    }
}

static void
drop_tree (TnGraphTable *self)
{
  g_clear_pointer (&self->first_child, g_free);
  g_clear_pointer (&self->next, g_free);
  g_clear_pointer (&self->first_item, g_free);
  g_clear_pointer (&self->next_item, g_free);
  g_clear_pointer (&self->sums, g_free);
}

static GListModel *
rows_below (TnGraphTable *self, int scope)
{
  GListStore *store = g_list_store_new (TN_TYPE_GRAPH_ROW);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_object_unref);
  for (int s = self->first_child[scope]; s >= 0; s = self->next[s])
    {
      TnGraphRow *row = g_object_new (TN_TYPE_GRAPH_ROW, NULL);
      row->item = -1;
      row->scope = s;
      g_ptr_array_add (rows, row);
    }
  for (int i = self->first_item[scope]; i >= 0; i = self->next_item[i])
    {
      TnGraphRow *row = g_object_new (TN_TYPE_GRAPH_ROW, NULL);
      row->item = i;
      row->scope = -1;
      g_ptr_array_add (rows, row);
    }
  g_list_store_splice (store, 0, 0, rows->pdata, rows->len);
  return G_LIST_MODEL (store);
}

static GListModel *
children_cb (gpointer object, gpointer user_data)
{
  TnGraphRow *row = object;
  TnGraphTable *self = user_data;
  return row->scope >= 0 && self->document != NULL ? rows_below (self, row->scope) : NULL;
}

/* ---- cells ---- */

static double
overlay_value (TnGraphTable *self, const TnGraphRow *row)
{
  if (self->overlay == NULL || self->overlay->kind == TN_OVERLAY_DTYPE)
    return NAN;
  return row->item >= 0 ? self->overlay->values[row->item] : self->sums[row->scope];
}

static char *
cell_text (TnGraphTable *self, const TnGraphRow *row, Column column)
{
  const TnGraphDocument *d = self->document;
  const TnGraphItem *item = row->item >= 0 ? &d->items[row->item] : NULL;
  const TnGraphScope *scope = row->scope >= 0 ? &d->scopes[row->scope] : NULL;
  switch (column)
    {
    case COLUMN_NAME:
      return g_strdup (item != NULL ? item->label : scope->label);
    case COLUMN_TYPE:
      return g_strdup (item != NULL ? item->op : scope->type);
    case COLUMN_PHASE:
      return g_strdup (item != NULL && d->has_phases ? tn_phase_name (item->phase) : "");
    case COLUMN_SHAPE:
      return item != NULL ? g_strdup (item->shape) : g_strdup_printf (g_dngettext ("tenon", "%d op", "%d ops", (gulong) scope->n_items), scope->n_items);
    case COLUMN_BYTES:
      return item != NULL && item->output_bytes > 0 ? g_format_size_full ((guint64) item->output_bytes, G_FORMAT_SIZE_IEC_UNITS) : g_strdup ("");
    case COLUMN_INPUTS:
      return item != NULL ? g_strdup_printf ("%d", d->in_first[row->item + 1] - d->in_first[row->item]) : g_strdup ("");
    case COLUMN_OUTPUTS:
      return item != NULL ? g_strdup_printf ("%d", d->out_first[row->item + 1] - d->out_first[row->item]) : g_strdup ("");
    default:
      {
        double value = overlay_value (self, row);
        if (!isfinite (value) || self->overlay->total <= 0)
          return g_strdup ("");
        return g_strdup_printf ("%.1f %%", 100 * value / self->overlay->total);
      }
    }
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user_data)
{
  Column column = (Column) GPOINTER_TO_INT (g_object_get_data (G_OBJECT (factory), "column"));
  GtkWidget *label = gtk_label_new (NULL);
  gboolean number = column == COLUMN_BYTES || column >= COLUMN_INPUTS;
  gtk_label_set_xalign (GTK_LABEL (label), number ? 1 : 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), number ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_END);
  if (number)
    gtk_widget_add_css_class (label, "numeric");
  if (column == COLUMN_NAME)
    {
      GtkWidget *expander = gtk_tree_expander_new ();
      gtk_tree_expander_set_child (GTK_TREE_EXPANDER (expander), label);
      gtk_list_item_set_child (item, expander);
    }
  else
    gtk_list_item_set_child (item, label);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user_data)
{
  TnGraphTable *self = user_data;
  Column column = (Column) GPOINTER_TO_INT (g_object_get_data (G_OBJECT (factory), "column"));
  GtkTreeListRow *tree_row = gtk_list_item_get_item (item);
  g_autoptr (TnGraphRow) row = gtk_tree_list_row_get_item (tree_row);
  GtkWidget *child = gtk_list_item_get_child (item), *label = child;
  g_autofree char *text = cell_text (self, row, column);
  if (column == COLUMN_NAME)
    {
      label = gtk_tree_expander_get_child (GTK_TREE_EXPANDER (child));
      gtk_tree_expander_set_list_row (GTK_TREE_EXPANDER (child), tree_row);
      /* Translators: a row of a tree for a screen reader: name, level */
      g_autofree char *name = g_strdup_printf (_ ("%s, level %u"), text, gtk_tree_list_row_get_depth (tree_row) + 1);
      gtk_accessible_update_property (GTK_ACCESSIBLE (child), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
      gtk_widget_set_tooltip_text (child, row->item >= 0 ? self->document->items[row->item].name : self->document->scopes[row->scope].path);
    }
  gtk_label_set_text (GTK_LABEL (label), text);
}

static void
unbind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user_data)
{
  GtkWidget *child = gtk_list_item_get_child (item);
  if (GTK_IS_TREE_EXPANDER (child))
    gtk_tree_expander_set_list_row (GTK_TREE_EXPANDER (child), NULL);
}

/* ---- selection ---- */

static void
emit (TnGraphTable *self, guint which, guint position)
{
  g_autoptr (GtkTreeListRow) tree_row = g_list_model_get_item (G_LIST_MODEL (self->selection), position);
  g_autoptr (TnGraphRow) row = tree_row != NULL ? gtk_tree_list_row_get_item (tree_row) : NULL;
  if (row != NULL)
    g_signal_emit (self, signals[which], 0, row->item, row->scope);
}

static void
selected_cb (TnGraphTable *self)
{
  guint position = gtk_single_selection_get_selected (self->selection);
  if (!self->quiet && position != GTK_INVALID_LIST_POSITION)
    emit (self, PICKED, position);
}

static void
activate_cb (TnGraphTable *self, guint position)
{
  emit (self, ACTIVATED, position);
}

/* Place of the row of a scope or item among what is open now. */
static guint
find_row (TnGraphTable *self, int item, int scope)
{
  GListModel *model = G_LIST_MODEL (self->selection);
  for (guint i = 0; i < g_list_model_get_n_items (model); i++)
    {
      g_autoptr (GtkTreeListRow) tree_row = g_list_model_get_item (model, i);
      g_autoptr (TnGraphRow) row = gtk_tree_list_row_get_item (tree_row);
      if (row->item == item && row->scope == scope)
        return i;
    }
  return GTK_INVALID_LIST_POSITION;
}

static void
open_to (TnGraphTable *self, int scope)
{
  if (scope < 0)
    return;
  open_to (self, self->document->scopes[scope].parent);
  guint at = find_row (self, -1, scope);
  g_autoptr (GtkTreeListRow) row = at != GTK_INVALID_LIST_POSITION ? g_list_model_get_item (G_LIST_MODEL (self->selection), at) : NULL;
  if (row != NULL)
    gtk_tree_list_row_set_expanded (row, TRUE);
}

void
tn_graph_table_show (TnGraphTable *self, int item, int scope)
{
  if (self->document == NULL || self->selection == NULL)
    return;
  self->quiet = TRUE;
  if (item >= 0)
    open_to (self, self->document->items[item].scope);
  else if (scope >= 0)
    open_to (self, self->document->scopes[scope].parent);
  guint at = item >= 0 || scope >= 0 ? find_row (self, item, item >= 0 ? -1 : scope) : GTK_INVALID_LIST_POSITION;
  gtk_single_selection_set_selected (self->selection, at);
  if (at != GTK_INVALID_LIST_POSITION)
    gtk_widget_activate_action (self->view, "list.scroll-to-item", "u", at);
  self->quiet = FALSE;
}

/* ---- contents ---- */

void
tn_graph_table_set_document (TnGraphTable *self, TnGraphDocument *document)
{
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->view), NULL);
  g_clear_object (&self->selection);
  drop_tree (self);
  g_clear_pointer (&self->document, tn_graph_document_unref);
  self->overlay = NULL;
  if (document == NULL)
    return;
  self->document = tn_graph_document_ref (document);
  index_tree (self);
  GtkTreeListModel *tree = gtk_tree_list_model_new (rows_below (self, document->n_scopes), FALSE, FALSE, children_cb, self, NULL);
  self->selection = gtk_single_selection_new (G_LIST_MODEL (tree));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  gtk_single_selection_set_can_unselect (self->selection, TRUE);
  gtk_single_selection_set_selected (self->selection, GTK_INVALID_LIST_POSITION);
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (selected_cb), self, G_CONNECT_SWAPPED);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->view), GTK_SELECTION_MODEL (self->selection));
  /* What lies around everything is opened: the layers are what one looks for. */
  for (int s = 0; s < document->n_scopes && s < 2; s++)
    if (document->scopes[s].depth < 2)
      open_to (self, s);
}

void
tn_graph_table_set_overlay (TnGraphTable *self, const TnGraphOverlay *overlay)
{
  self->overlay = overlay;
  g_clear_pointer (&self->sums, g_free);
  gtk_column_view_column_set_visible (self->columns[COLUMN_OVERLAY], overlay != NULL);
  if (overlay == NULL || self->document == NULL)
    return;
  gtk_column_view_column_set_title (self->columns[COLUMN_OVERLAY], tn_overlay_kind_title (overlay->kind));
  self->sums = g_new0 (double, self->document->n_scopes + 1);
  for (int i = 0; i < self->document->n_items; i++)
    if (isfinite (overlay->values[i]))
      for (int s = self->document->items[i].scope; s >= 0; s = self->document->scopes[s].parent)
        self->sums[s] += overlay->values[i];
}

void
tn_graph_table_set_narrow (TnGraphTable *self, gboolean narrow)
{
  for (int c = COLUMN_TYPE; c < COLUMN_OVERLAY; c++)
    gtk_column_view_column_set_visible (self->columns[c], !narrow || c == COLUMN_SHAPE);
}

/* ---- widget ---- */

static void
tn_graph_table_dispose (GObject *object)
{
  TnGraphTable *self = TN_GRAPH_TABLE (object);
  if (self->view != NULL)
    tn_graph_table_set_document (self, NULL);
  self->view = NULL;
  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_graph_table_parent_class)->dispose (object);
}

static void
tn_graph_table_class_init (TnGraphTableClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_graph_table_dispose;
  signals[PICKED] = g_signal_new ("picked", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_INT, G_TYPE_INT);
  signals[ACTIVATED] = g_signal_new ("activated", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_INT, G_TYPE_INT);
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (class), GTK_TYPE_BIN_LAYOUT);
}

static void
add_column (TnGraphTable *self, Column column, const char *title)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_object_set_data (G_OBJECT (factory), "column", GINT_TO_POINTER ((int) column));
  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
  g_signal_connect (factory, "unbind", G_CALLBACK (unbind_cb), NULL);
  self->columns[column] = gtk_column_view_column_new (title, factory);
  gtk_column_view_column_set_resizable (self->columns[column], TRUE);
  gtk_column_view_column_set_expand (self->columns[column], column == COLUMN_NAME);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), self->columns[column]);
  g_object_unref (self->columns[column]); /* the view keeps it */
}

static void
tn_graph_table_init (TnGraphTable *self)
{
  static const char *const titles[] = { N_ ("Name"), N_ ("Type"), N_ ("Phase"), N_ ("Shape"), N_ ("Bytes"), N_ ("Inputs"), N_ ("Outputs"), N_ ("Share") };
  self->view = gtk_column_view_new (NULL);
  self->scroller = gtk_scrolled_window_new ();
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->view);
  gtk_widget_add_css_class (self->view, "data-table");
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  for (int c = 0; c < N_COLUMNS; c++)
    add_column (self, (Column) c, _ (titles[c]));
  gtk_column_view_column_set_visible (self->columns[COLUMN_OVERLAY], FALSE);
  g_signal_connect_object (self->view, "activate", G_CALLBACK (activate_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_graph_table_new (void)
{
  return g_object_new (TN_TYPE_GRAPH_TABLE, NULL);
}

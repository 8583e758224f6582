/* SPDX-License-Identifier: Apache-2.0 */
#include "data-preview.h"

#include <glib/gi18n.h>
#include <math.h>

#include "draw/sample-image.h"
#include "table.h"

#define CACHE_BYTES (64u << 20)
#define MAX_FEATURES 32

enum
{
  COLUMN_SAMPLE,
  COLUMN_LABEL,
  COLUMN_SET,
  COLUMN_CLASS,
  N_COLUMNS
};

struct _TnDataPreview
{
  GtkWidget parent_instance;
  GtkWidget *box, *bar, *class_drop, *set_drop, *size_drop, *filter, *filter_error, *holder, *grid, *table, *drops;
  TnDataScan *scan;
  TnTableModel *model;
  GtkMultiSelection *selection; /* of the grid */
  GHashTable *textures;         /* id + 1 -> GdkTexture */
  gsize texture_bytes;
  GHashTable *bound;            /* GtkListItem that show a sample now */
  int tile;
};

enum
{
  SELECTED,
  OPENED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];
static const int tiles[] = { 96, 128, 192 };

G_DEFINE_FINAL_TYPE (TnDataPreview, tn_data_preview, GTK_TYPE_WIDGET)

/* The rows. */

static guint
n_samples (gpointer data)
{
  TnDataPreview *self = data;
  return self->scan != NULL ? (guint) MIN (self->scan->dataset->n_samples, G_MAXUINT32 - 1) : 0;
}

static double
number_of (gpointer data, guint row, guint column)
{
  TnDataPreview *self = data;
  const TnDataset *dataset = self->scan->dataset;
  if (column == COLUMN_SAMPLE)
    return row;
  if (column == COLUMN_CLASS)
    return dataset->labels != NULL ? dataset->labels[row] : NAN;
  if (column < N_COLUMNS)
    return NAN;
  g_autofree void *scratch = g_malloc (dataset->sample_bytes);
  const void *sample = tn_dataset_sample (self->scan->dataset, row, scratch);
  guint feature = column - N_COLUMNS;
  return dataset->dtype == TN_DTYPE_U8 ? ((const uint8_t *) sample)[feature] : (double) ((const float *) sample)[feature];
}

static char *
text_of (gpointer data, guint row, guint column)
{
  TnDataPreview *self = data;
  switch (column)
    {
    case COLUMN_LABEL:
      return tn_data_scan_label (self->scan, row);
    case COLUMN_SET:
      return g_strdup (tn_sample_side_name (self->scan->sides[row]));
    default:
      return column < N_COLUMNS ? g_strdup_printf ("%.0f", number_of (data, row, column))
                                : g_strdup_printf ("%.4g", number_of (data, row, column));
    }
}

static TnTableModel *
make_model (TnDataPreview *self)
{
  static const TnTableFuncs funcs = { n_samples, text_of, number_of };
  TnTableColumn columns[N_COLUMNS + MAX_FEATURES] = {
    { "sample", _ ("Sample"), TN_COLUMN_NUMBER },
    { "label", self->scan->dataset->n_classes > 0 ? _ ("Class") : _ ("Target"), TN_COLUMN_TEXT, .expand = TRUE },
    { "set", _ ("Set"), TN_COLUMN_TEXT, .width = 110 },
    { "class", _ ("Class Number"), TN_COLUMN_NUMBER, .hidden = TRUE },
  };
  char ids[MAX_FEATURES][8];
  guint n = N_COLUMNS;
  if (!tn_shape_is_picture (&self->scan->dataset->sample_shape))
    for (gsize i = 0; i < MIN (self->scan->dataset->sample_elements, MAX_FEATURES); i++)
      {
        g_snprintf (ids[i], sizeof ids[i], "x%d", (int) i + 1);
        columns[n++] = (TnTableColumn) { ids[i], ids[i], TN_COLUMN_NUMBER };
      }
  return tn_table_model_new (columns, n, &funcs, self, NULL);
}

/* Tiles. */

static GdkTexture *
texture_of (TnDataPreview *self, gint64 id)
{
  gpointer key = GSIZE_TO_POINTER ((gsize) id + 1);
  GdkTexture *texture = g_hash_table_lookup (self->textures, key);
  if (texture != NULL)
    return texture;
  int width, height;
  uint8_t *pixels = tn_sample_image (self->scan->dataset, id, self->tile * gtk_widget_get_scale_factor (GTK_WIDGET (self)), &width, &height);
  if (pixels == NULL)
    return NULL;
  gsize n = (gsize) width * (gsize) height * 4;
  if (self->texture_bytes + n > CACHE_BYTES)
    {
      g_hash_table_remove_all (self->textures);
      self->texture_bytes = 0;
    }
  self->texture_bytes += n;
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, n);
  texture = gdk_memory_texture_new (width, height, GDK_MEMORY_DEFAULT, bytes, (gsize) width * 4);
  g_hash_table_insert (self->textures, key, texture);
  return texture;
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnDataPreview *self)
{
  GtkWidget *tile = gtk_box_new (GTK_ORIENTATION_VERTICAL, 4), *overlay = gtk_overlay_new (), *picture = gtk_picture_new ();
  gtk_widget_add_css_class (tile, "tn-tile");
  gtk_picture_set_content_fit (GTK_PICTURE (picture), GTK_CONTENT_FIT_CONTAIN);
  gtk_overlay_set_child (GTK_OVERLAY (overlay), picture);
  GtkWidget *mark = gtk_image_new_from_icon_name ("action-unavailable-symbolic");
  gtk_image_set_pixel_size (GTK_IMAGE (mark), 24);
  gtk_widget_set_halign (mark, GTK_ALIGN_END);
  gtk_widget_set_valign (mark, GTK_ALIGN_START);
  gtk_widget_add_css_class (mark, "tn-tile-mark");
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), mark);
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 10);
  gtk_box_append (GTK_BOX (tile), overlay);
  gtk_box_append (GTK_BOX (tile), label);
  g_object_set_data (G_OBJECT (tile), "picture", picture);
  g_object_set_data (G_OBJECT (tile), "mark", mark);
  g_object_set_data (G_OBJECT (tile), "label", label);
  gtk_list_item_set_child (item, tile);
}

static void
show_sample (TnDataPreview *self, GtkListItem *item)
{
  GtkWidget *tile = gtk_list_item_get_child (item), *cell = gtk_widget_get_parent (tile);
  GtkWidget *picture = g_object_get_data (G_OBJECT (tile), "picture");
  guint id = tn_table_row_index (gtk_list_item_get_item (item));
  TnSampleSide side = self->scan->sides[id];
  g_autofree char *label = tn_data_scan_label (self->scan, id);
  gtk_widget_set_size_request (picture, self->tile, self->tile);
  gtk_picture_set_paintable (GTK_PICTURE (picture), GDK_PAINTABLE (texture_of (self, id)));
  gtk_widget_set_opacity (picture, side == TN_SIDE_EXCLUDED ? 0.3 : 1);
  gtk_widget_set_visible (g_object_get_data (G_OBJECT (tile), "mark"), side == TN_SIDE_EXCLUDED);
  gtk_label_set_text (g_object_get_data (G_OBJECT (tile), "label"), label);
  g_autofree char *name = g_strdup_printf (_ ("%s, sample %u, %s"), label, id, tn_sample_side_name (side));
  gtk_widget_set_tooltip_text (tile, name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (cell != NULL ? cell : tile), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (picture), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnDataPreview *self)
{
  g_hash_table_add (self->bound, item);
  show_sample (self, item);
}

static void
unbind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnDataPreview *self)
{
  g_hash_table_remove (self->bound, item);
}

static gint64
first_selected (TnDataPreview *self)
{
  g_autoptr (GArray) ids = tn_data_preview_selected (self);
  return ids->len > 0 ? g_array_index (ids, gint64, 0) : -1;
}

static void
selection_cb (TnDataPreview *self)
{
  g_signal_emit (self, signals[SELECTED], 0, first_selected (self));
}

static void
activate_cb (GtkGridView *grid, guint position, TnDataPreview *self)
{
  g_signal_emit (self, signals[OPENED], 0, (gint64) tn_table_model_row_at (self->model, position));
}

static void
row_activated_cb (TnTable *table, guint row, TnDataPreview *self)
{
  g_signal_emit (self, signals[OPENED], 0, (gint64) row);
}

static void
make_grid (TnDataPreview *self)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), self);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
  g_signal_connect_object (factory, "unbind", G_CALLBACK (unbind_cb), self, 0);
  self->selection = gtk_multi_selection_new (g_object_ref (G_LIST_MODEL (self->model)));
  g_signal_connect_object (self->selection, "selection-changed", G_CALLBACK (selection_cb), self, G_CONNECT_SWAPPED);
  self->grid = gtk_grid_view_new (g_object_ref (GTK_SELECTION_MODEL (self->selection)), factory);
  gtk_grid_view_set_max_columns (GTK_GRID_VIEW (self->grid), 40);
  gtk_grid_view_set_enable_rubberband (GTK_GRID_VIEW (self->grid), TRUE);
  gtk_widget_set_name (self->grid, "data_sample_grid");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->grid), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Samples"), -1);
  g_signal_connect (self->grid, "activate", G_CALLBACK (activate_cb), self);
  GtkWidget *scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->grid);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (self->holder), scroller);
}

static void
make_table (TnDataPreview *self)
{
  self->table = tn_table_new (self->model, "data_preview_table", _ ("Samples"));
  tn_table_set_toolbar_visible (TN_TABLE (self->table), FALSE);
  gtk_widget_set_vexpand (self->table, TRUE);
  g_signal_connect (self->table, "row-activated", G_CALLBACK (row_activated_cb), self);
  g_signal_connect_swapped (self->table, "selection-changed", G_CALLBACK (selection_cb), self);
  gtk_box_append (GTK_BOX (self->holder), self->table);
}

/* Class, set and words all become one filter. */
static void
filter_cb (TnDataPreview *self)
{
  if (self->model == NULL)
    return;
  g_autoptr (GString) filter = g_string_new (gtk_editable_get_text (GTK_EDITABLE (self->filter)));
  guint class = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->class_drop));
  guint set = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->set_drop));
  if (class > 0 && class != GTK_INVALID_LIST_POSITION)
    g_string_append_printf (filter, " class=%u", class - 1);
  if (set > 0 && set != GTK_INVALID_LIST_POSITION)
    g_string_append_printf (filter, " set:\"%s\"", tn_sample_side_name (set - 1));
  g_autofree char *error = NULL;
  tn_table_model_set_filter (self->model, filter->str, &error);
  gtk_label_set_text (GTK_LABEL (self->filter_error), error != NULL ? error : "");
  gtk_widget_set_visible (self->filter_error, error != NULL);
  gtk_accessible_update_state (GTK_ACCESSIBLE (self->filter), GTK_ACCESSIBLE_STATE_INVALID,
                               error != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
}

static void
size_cb (TnDataPreview *self)
{
  self->tile = tiles[MIN (gtk_drop_down_get_selected (GTK_DROP_DOWN (self->size_drop)), G_N_ELEMENTS (tiles) - 1)];
  g_hash_table_remove_all (self->textures);
  self->texture_bytes = 0;
  if (self->model != NULL)
    tn_table_model_changed (self->model);
}

static GtkWidget *
make_drop (TnDataPreview *self, const char *const *names, const char *id, const char *label, GCallback changed)
{
  GtkWidget *drop = gtk_drop_down_new_from_strings (names);
  gtk_widget_set_name (drop, id);
  gtk_widget_set_tooltip_text (drop, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (drop), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_signal_connect_swapped (drop, "notify::selected", changed, self);
  return drop;
}

static void
tn_data_preview_dispose (GObject *object)
{
  TnDataPreview *self = TN_DATA_PREVIEW (object);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_object (&self->selection);
  g_clear_object (&self->model);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  g_clear_pointer (&self->textures, g_hash_table_unref);
  G_OBJECT_CLASS (tn_data_preview_parent_class)->dispose (object);
}

static void
tn_data_preview_finalize (GObject *object)
{
  g_hash_table_unref (TN_DATA_PREVIEW (object)->bound);
  G_OBJECT_CLASS (tn_data_preview_parent_class)->finalize (object);
}

static void
tn_data_preview_class_init (TnDataPreviewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_data_preview_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_data_preview_finalize;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (klass), GDK_KEY_Delete, 0, "page.exclude", NULL);
  signals[SELECTED] = g_signal_new ("selected", TN_TYPE_DATA_PREVIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT64);
  signals[OPENED] = g_signal_new ("opened", TN_TYPE_DATA_PREVIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT64);
}

static void
tn_data_preview_init (TnDataPreview *self)
{
  self->tile = tiles[0];
  self->textures = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  self->bound = g_hash_table_new (NULL, NULL);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_add_css_class (bar, "tn-table-bar");
  self->filter = gtk_search_entry_new ();
  gtk_widget_set_name (self->filter, "data_filter_entry");
  g_object_set (self->filter, "placeholder-text", _ ("Filter"), NULL);
  gtk_widget_set_hexpand (self->filter, TRUE);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->filter), 6);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->filter), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Filter samples"), -1);
  gtk_widget_set_tooltip_text (self->filter, _ ("Words, or conditions such as label:7 sample<100"));
  g_signal_connect_swapped (self->filter, "search-changed", G_CALLBACK (filter_cb), self);
  self->class_drop = make_drop (self, (const char *const[]) { _ ("All classes"), NULL }, "data_class_drop", _ ("Class shown"), G_CALLBACK (filter_cb));
  self->set_drop = make_drop (self, (const char *const[]) { _ ("All sets"), _ ("Training"), _ ("Held out"), _ ("Left out"), NULL },
                              "data_set_drop", _ ("Set shown"), G_CALLBACK (filter_cb));
  self->size_drop = make_drop (self, (const char *const[]) { _ ("Small"), _ ("Medium"), _ ("Large"), NULL }, "data_size_drop",
                               _ ("Size of pictures"), G_CALLBACK (size_cb));
  GtkWidget *drops = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_box_append (GTK_BOX (bar), self->filter);
  gtk_box_append (GTK_BOX (bar), drops);
  gtk_box_append (GTK_BOX (drops), self->class_drop);
  gtk_box_append (GTK_BOX (drops), self->set_drop);
  gtk_box_append (GTK_BOX (drops), self->size_drop);
  self->bar = bar;
  self->drops = drops;
  self->filter_error = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->filter_error, "error");
  gtk_label_set_xalign (GTK_LABEL (self->filter_error), 0);
  gtk_label_set_wrap (GTK_LABEL (self->filter_error), TRUE);
  gtk_widget_set_margin_start (self->filter_error, 12);
  gtk_widget_set_visible (self->filter_error, FALSE);
  self->holder = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_vexpand (self->holder, TRUE);
  gtk_box_append (GTK_BOX (self->box), bar);
  gtk_box_append (GTK_BOX (self->box), self->filter_error);
  gtk_box_append (GTK_BOX (self->box), self->holder);
}

GtkWidget *
tn_data_preview_new (void)
{
  return g_object_new (TN_TYPE_DATA_PREVIEW, NULL);
}

static void
clear_view (TnDataPreview *self)
{
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (self->holder)) != NULL)
    gtk_box_remove (GTK_BOX (self->holder), child);
  self->grid = self->table = NULL;
  g_clear_object (&self->selection);
  g_clear_object (&self->model);
  g_hash_table_remove_all (self->textures);
  self->texture_bytes = 0;
}

static void
fill_classes (TnDataPreview *self)
{
  guint selected = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->class_drop));
  GtkStringList *names = gtk_string_list_new ((const char *const[]) { _ ("All classes"), NULL });
  for (int i = 0; self->scan->class_names != NULL && i < MIN (self->scan->dataset->n_classes, 1000); i++)
    gtk_string_list_append (names, self->scan->class_names[i]);
  g_signal_handlers_block_by_func (self->class_drop, filter_cb, self);
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->class_drop), G_LIST_MODEL (names));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->class_drop), selected < g_list_model_get_n_items (G_LIST_MODEL (names)) ? selected : 0);
  g_signal_handlers_unblock_by_func (self->class_drop, filter_cb, self);
  gtk_widget_set_visible (self->class_drop, self->scan->dataset->n_classes > 0);
  g_object_unref (names);
}

/* The same samples on other sides: what is selected and scrolled to stays, unless rows come or go by it. */
static void
show_again (TnDataPreview *self)
{
  gboolean filtered = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->set_drop)) > 0
                      || *gtk_editable_get_text (GTK_EDITABLE (self->filter)) != '\0';
  if (filtered || self->table != NULL)
    {
      tn_table_model_changed (self->model);
      return;
    }
  GHashTableIter iter;
  gpointer item;
  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    show_sample (self, item);
}

void
tn_data_preview_set_scan (TnDataPreview *self, TnDataScan *scan)
{
  g_return_if_fail (TN_IS_DATA_PREVIEW (self));
  gboolean same = self->scan != NULL && scan != NULL && self->scan->dataset == scan->dataset;
  if (!same)
    clear_view (self);
  if (scan != NULL)
    tn_data_scan_ref (scan);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  self->scan = scan;
  if (scan == NULL)
    return;
  fill_classes (self);
  if (same)
    {
      show_again (self);
      return;
    }
  self->model = make_model (self);
  gboolean pictures = tn_shape_is_picture (&scan->dataset->sample_shape);
  gtk_widget_set_visible (self->size_drop, pictures);
  if (pictures)
    make_grid (self);
  else
    make_table (self);
  filter_cb (self);
}

TnTableModel *
tn_data_preview_model (TnDataPreview *self)
{
  g_return_val_if_fail (TN_IS_DATA_PREVIEW (self), NULL);
  return self->model;
}

GArray *
tn_data_preview_selected (TnDataPreview *self)
{
  g_return_val_if_fail (TN_IS_DATA_PREVIEW (self), NULL);
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (self->table != NULL)
    {
      g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
      for (guint i = 0; i < rows->len; i++)
        {
          gint64 id = g_array_index (rows, guint, i);
          g_array_append_val (ids, id);
        }
    }
  if (self->selection == NULL)
    return ids;
  g_autoptr (GtkBitset) set = gtk_selection_model_get_selection (GTK_SELECTION_MODEL (self->selection));
  GtkBitsetIter iter;
  guint position;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, set, &position); more; more = gtk_bitset_iter_next (&iter, &position))
    {
      gint64 id = tn_table_model_row_at (self->model, position);
      g_array_append_val (ids, id);
    }
  return ids;
}

void
tn_data_preview_select (TnDataPreview *self, gint64 id)
{
  g_return_if_fail (TN_IS_DATA_PREVIEW (self));
  if (self->table != NULL)
    tn_table_select_row (TN_TABLE (self->table), (guint) id);
  gint64 position = self->selection != NULL ? tn_table_model_position_of (self->model, (guint) id) : -1;
  if (position < 0 || gtk_selection_model_is_selected (GTK_SELECTION_MODEL (self->selection), (guint) position))
    return;
  gtk_selection_model_select_item (GTK_SELECTION_MODEL (self->selection), (guint) position, TRUE);
  gtk_widget_activate_action (self->grid, "list.scroll-to-item", "u", (guint) position);
}

void
tn_data_preview_show_class (TnDataPreview *self, int index)
{
  g_return_if_fail (TN_IS_DATA_PREVIEW (self));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->class_drop), (guint) (index + 1));
}

void
tn_data_preview_focus_filter (TnDataPreview *self)
{
  g_return_if_fail (TN_IS_DATA_PREVIEW (self));
  gtk_widget_grab_focus (self->filter);
}

void
tn_data_preview_set_narrow (TnDataPreview *self, gboolean narrow)
{
  g_return_if_fail (TN_IS_DATA_PREVIEW (self));
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->bar), narrow ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
  gtk_box_set_spacing (GTK_BOX (self->drops), narrow ? 3 : 6);
  for (GtkWidget *drop = gtk_widget_get_first_child (self->drops); drop != NULL; drop = gtk_widget_get_next_sibling (drop))
    if (narrow)
      gtk_widget_add_css_class (drop, "tight");
    else
      gtk_widget_remove_css_class (drop, "tight");
}

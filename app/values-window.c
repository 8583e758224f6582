/* SPDX-License-Identifier: Apache-2.0 */
#include "values-window.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "base/durable.h"
#include "draw-layer.h"
#include "draw/bars.h"
#include "draw/canvas-cairo.h"
#include "format.h"
#include "formats/npy.h"
#include "segmented.h"
#include "state-pane.h"
#include "table.h"

#define HEAT_SIZE 480
#define KERNEL_SIZE 720

struct _TnValuesWindow
{
  AdwWindow parent_instance;
  TnWindow *window; /* the one it stands over and goes with */
  char *parameter, *run_path;
  TnParameterValues *values;
  GCancellable *cancellable;
  gint64 step; /* wanted; -1: the newest */
  gboolean filling;
  int64_t index[TN_MAX_DIMS];
  GtkWidget *steps, *views, *stack, *pane, *histogram, *heat, *heat_range, *kernels, *kernel_note, *facts, *toasts;
  GtkWidget *rows, *columns, *others, *export_button;
  TnTableModel *model;
};

G_DEFINE_FINAL_TYPE (TnValuesWindow, tn_values_window, ADW_TYPE_WINDOW)

GdkTexture *
tn_values_texture (uint8_t *pixels, int width, int height)
{
  if (pixels == NULL)
    return NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, (gsize) width * (gsize) height * 4);
  return gdk_memory_texture_new (width, height, GDK_MEMORY_DEFAULT, bytes, (gsize) width * 4);
}

/* ---- the views ---- */

static void
draw_histogram (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer data)
{
  TnValuesWindow *self = data;
  if (self->values != NULL && isfinite (self->values->mean))
    tn_histogram_draw (canvas, width, height, palette, self->values->bins, TN_VALUES_BINS, self->values->low, self->values->high);
}

static void
set_picture (GtkWidget *picture, GdkTexture *texture, const char *text)
{
  gtk_picture_set_paintable (GTK_PICTURE (picture), texture != NULL ? GDK_PAINTABLE (texture) : NULL);
  gtk_picture_set_alternative_text (GTK_PICTURE (picture), text);
  g_clear_object (&texture);
}

static int
chosen_dim (GtkWidget *drop)
{
  guint place = gtk_drop_down_get_selected (GTK_DROP_DOWN (drop));
  return place == GTK_INVALID_LIST_POSITION ? -1 : (int) place;
}

static void
show_heat (TnValuesWindow *self)
{
  const TnShape *shape = &self->values->tensor->shape;
  int width = 0, height = 0, rows = chosen_dim (self->rows), columns = chosen_dim (self->columns);
  if (shape->n_dims == 1)
    rows = -1, columns = 0;
  uint8_t *pixels = tn_parameter_values_heat_map (self->values, rows, columns, self->index, HEAT_SIZE, &width, &height);
  g_autofree char *low = tn_format_loss (self->values->least), *high = tn_format_loss (self->values->most);
  g_autofree char *range = g_strdup_printf (_ ("Black is %s, white is %s, red is no number."), low, high);
  gtk_label_set_text (GTK_LABEL (self->heat_range), range);
  set_picture (self->heat, tn_values_texture (pixels, width, height), range);
}

static void
show_kernels (TnValuesWindow *self)
{
  int width = 0, height = 0, shown = 0;
  gint64 outputs = self->values->tensor->shape.n_dims == 4 ? self->values->tensor->shape.dims[0] : 0;
  uint8_t *pixels = tn_parameter_values_kernels (self->values, KERNEL_SIZE, &width, &height, &shown);
  g_autofree char *text = shown < outputs ? g_strdup_printf (_ ("The first %d of %d outputs; black is the least value, white the greatest."), shown, (int) outputs)
                                          : g_strdup_printf (_ ("%d outputs; black is the least value, white the greatest."), shown);
  gtk_label_set_text (GTK_LABEL (self->kernel_note), text);
  set_picture (self->kernels, tn_values_texture (pixels, width, height), text);
}

static guint
n_rows (gpointer data)
{
  TnValuesWindow *self = data;
  return self->values != NULL ? (guint) MIN (self->values->count, G_MAXUINT) : 0;
}

static double
number_of (gpointer data, guint row, guint column)
{
  return column == 1 ? tn_tensor_get (((TnValuesWindow *) data)->values->tensor, row) : row;
}

static char *
text_of (gpointer data, guint row, guint column)
{
  TnValuesWindow *self = data;
  return column == 1 ? g_strdup_printf ("%.6g", tn_tensor_get (self->values->tensor, row)) : tn_parameter_values_index_text (self->values, row);
}

/* ---- facts ---- */

static void
add_fact (TnValuesWindow *self, const char *name, char *value)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2), *title = gtk_label_new (name), *label = gtk_label_new (value);
  gtk_widget_add_css_class (title, "caption");
  gtk_widget_add_css_class (title, "dim-label");
  gtk_widget_add_css_class (label, "numeric");
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_box_append (GTK_BOX (box), title);
  gtk_box_append (GTK_BOX (box), label);
  gtk_flow_box_append (GTK_FLOW_BOX (self->facts), box);
  gtk_widget_set_focusable (gtk_widget_get_parent (box), FALSE);
  g_free (value);
}

static void
show_facts (TnValuesWindow *self)
{
  const TnParameterValues *values = self->values;
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (self->facts)) != NULL)
    gtk_flow_box_remove (GTK_FLOW_BOX (self->facts), child);
  add_fact (self, _ ("Step"), tn_format_count_exact (values->step));
  add_fact (self, _ ("Values"), tn_format_count_exact (values->count));
  add_fact (self, _ ("Least"), tn_format_loss (values->least));
  add_fact (self, _ ("Greatest"), tn_format_loss (values->most));
  add_fact (self, _ ("Mean"), tn_format_loss (values->mean));
  add_fact (self, _ ("Deviation"), tn_format_loss (values->deviation));
  add_fact (self, _ ("Zeros"), tn_format_count_exact (values->zeros));
  add_fact (self, _ ("NaN"), tn_format_count_exact (values->nans));
  if (values->infinities > 0)
    add_fact (self, _ ("Infinite"), tn_format_count_exact (values->infinities));
}

/* ---- which values ---- */

static void start (TnValuesWindow *self);

static void
fill_steps (TnValuesWindow *self)
{
  GtkStringList *names = gtk_string_list_new ((const char *const[]) { _ ("Newest Checkpoint"), NULL });
  guint selected = 0;
  for (guint i = 0; self->values->steps != NULL && i < self->values->steps->len; i++)
    {
      gint64 step = g_array_index (self->values->steps, gint64, i);
      g_autofree char *number = tn_format_count_exact (step), *name = g_strdup_printf (_ ("Step %s"), number);
      gtk_string_list_append (names, name);
      if (step == self->step)
        selected = i + 1;
    }
  self->filling = TRUE;
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->steps), G_LIST_MODEL (names));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->steps), selected);
  self->filling = FALSE;
  g_object_unref (names);
}

static void
step_cb (TnValuesWindow *self)
{
  guint place = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->steps));
  if (self->filling || self->values == NULL || place == GTK_INVALID_LIST_POSITION)
    return;
  self->step = place > 0 ? g_array_index (self->values->steps, gint64, place - 1) : -1;
  start (self);
}

static void
index_cb (GtkSpinButton *button, TnValuesWindow *self)
{
  self->index[GPOINTER_TO_INT (g_object_get_data (G_OBJECT (button), "tn-dim"))] = gtk_spin_button_get_value_as_int (button);
  show_heat (self);
}

/* A number for each dimension that is neither of the two shown. */
static void
fill_others (TnValuesWindow *self)
{
  const TnShape *shape = &self->values->tensor->shape;
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (self->others)) != NULL)
    gtk_box_remove (GTK_BOX (self->others), child);
  for (int i = 0; i < shape->n_dims; i++)
    {
      if (i == chosen_dim (self->rows) || i == chosen_dim (self->columns) || shape->dims[i] < 2 || shape->n_dims < 2)
        continue;
      GtkWidget *spin = gtk_spin_button_new_with_range (0, (double) (shape->dims[i] - 1), 1);
      g_autofree char *name = g_strdup_printf (_ ("Dimension %d"), i + 1), *id = g_strdup_printf ("model_value_index_spin:%d", i);
      gtk_widget_set_name (spin, id);
      gtk_widget_set_tooltip_text (spin, name);
      gtk_accessible_update_property (GTK_ACCESSIBLE (spin), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
      gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), (double) self->index[i]);
      g_object_set_data (G_OBJECT (spin), "tn-dim", GINT_TO_POINTER (i));
      g_signal_connect (spin, "value-changed", G_CALLBACK (index_cb), self);
      gtk_box_append (GTK_BOX (self->others), spin);
    }
}

static void
dims_cb (TnValuesWindow *self)
{
  if (self->filling || self->values == NULL)
    return;
  fill_others (self);
  show_heat (self);
}

static void
fill_dims (TnValuesWindow *self)
{
  const TnShape *shape = &self->values->tensor->shape;
  g_autoptr (GtkStringList) down = gtk_string_list_new (NULL), right = gtk_string_list_new (NULL);
  for (int i = 0; i < shape->n_dims; i++)
    {
      g_autofree char *row = g_strdup_printf (_ ("Down: %d (%d)"), i + 1, (int) shape->dims[i]);
      g_autofree char *column = g_strdup_printf (_ ("Right: %d (%d)"), i + 1, (int) shape->dims[i]);
      gtk_string_list_append (down, row);
      gtk_string_list_append (right, column);
    }
  self->filling = TRUE;
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->rows), G_LIST_MODEL (down));
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->columns), G_LIST_MODEL (right));
  if (shape->n_dims >= 2)
    {
      gboolean kernels = tn_parameter_values_has_kernels (self->values);
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->rows), kernels ? 2 : 0);
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->columns), kernels ? 3 : 1);
    }
  gtk_widget_set_visible (gtk_widget_get_parent (self->rows), shape->n_dims >= 2);
  self->filling = FALSE;
  fill_others (self);
}

static void
take_values (TnValuesWindow *self, TnParameterValues *values)
{
  gboolean first = self->values == NULL || !tn_shape_equal (&self->values->tensor->shape, &values->tensor->shape);
  g_clear_pointer (&self->values, tn_parameter_values_unref);
  self->values = values;
  fill_steps (self);
  if (first)
    fill_dims (self);
  if (first && tn_parameter_values_has_kernels (values))
    tn_segmented_add (TN_SEGMENTED (self->views), "kernels", _ ("Kernels"));
  show_facts (self);
  show_heat (self);
  if (tn_parameter_values_has_kernels (values))
    show_kernels (self);
  gtk_widget_queue_draw (self->histogram);
  tn_table_model_changed (self->model);
  gtk_widget_set_sensitive (self->export_button, TRUE);
  tn_state_pane_set_content (TN_STATE_PANE (self->pane));
}

static void
loaded_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnValuesWindow) self = data;
  g_autoptr (GError) error = NULL;
  TnParameterValues *values = tn_parameter_values_load_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  if (values != NULL)
    take_values (self, values);
  else if (self->values == NULL)
    tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _ ("The values could not be read"), error->message, NULL, NULL);
  else
    adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->toasts), adw_toast_new (error->message));
}

static void
start (TnValuesWindow *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  if (self->values == NULL)
    tn_state_pane_set_loading (TN_STATE_PANE (self->pane), _ ("Reading the checkpoint"), -1);
  self->cancellable = g_cancellable_new ();
  tn_parameter_values_load_async (self->run_path, self->step, self->parameter, self->cancellable, loaded_cb, g_object_ref (self));
}

static void
checkpointed_cb (TnRunControl *control, gint64 step, TnValuesWindow *self)
{
  if (self->step < 0 && g_strcmp0 (tn_run_control_path (control), self->run_path) == 0)
    start (self);
}

/* ---- export ---- */

typedef struct
{
  TnParameterValues *values;
  GdkTexture *texture; /* NULL: the histogram */
  char *path;
} Export;

static void
export_free (Export *export)
{
  tn_parameter_values_unref (export->values);
  g_clear_object (&export->texture);
  g_free (export->path);
  g_free (export);
}

static void
paint_histogram (TnCanvas *canvas, double width, double height, gpointer data)
{
  const TnParameterValues *values = data;
  const TnPalette *palette = tn_palette_get (TN_PALETTE_LIGHT);
  tn_canvas_rect (canvas, &(TnRect){ 0, 0, width, height }, palette->background);
  tn_histogram_draw (canvas, width, height, palette, values->bins, TN_VALUES_BINS, values->low, values->high);
}

static gboolean
write_export (const Export *export, GError **error)
{
  if (g_str_has_suffix (export->path, ".csv"))
    {
      g_autofree char *text = tn_parameter_values_to_csv (export->values);
      return tn_durable_write (export->path, text, strlen (text), error);
    }
  if (g_str_has_suffix (export->path, ".npy"))
    return tn_npy_write (export->path, export->values->tensor, error);
  if (export->texture == NULL)
    return tn_picture_write (export->path, TN_PICTURE_PNG, &(TnPictureSize){ 720, 400, 2 }, paint_histogram, export->values, error);
  g_autoptr (GBytes) bytes = gdk_texture_save_to_png_bytes (export->texture);
  return tn_picture_write_bytes (export->path, bytes, error);
}

static void
export_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  GError *error = NULL;
  if (write_export (data, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
exported_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnValuesWindow *self = TN_VALUES_WINDOW (source);
  g_autoptr (GError) error = NULL;
  const Export *export = g_task_get_task_data (G_TASK (result));
  g_autofree char *name = g_path_get_basename (export->path), *saved = g_strdup_printf (_ ("Saved as %s"), name);
  gboolean done = g_task_propagate_boolean (G_TASK (result), &error);
  g_autofree char *text = g_markup_escape_text (done ? saved : error->message, -1);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->toasts), adw_toast_new (text));
}

static void
save_response_cb (TnValuesWindow *self, int response, GtkNativeDialog *dialog)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog)) : NULL;
  char *path = file != NULL ? g_file_get_path (file) : NULL;
  if (path != NULL)
    {
      const char *view = tn_segmented_get_active_id (TN_SEGMENTED (self->views));
      GtkWidget *picture = g_strcmp0 (view, "kernels") == 0 ? self->kernels : g_strcmp0 (view, "histogram") == 0 ? NULL : self->heat;
      GdkPaintable *paintable = picture != NULL ? gtk_picture_get_paintable (GTK_PICTURE (picture)) : NULL;
      Export *export = g_new0 (Export, 1);
      *export = (Export){ tn_parameter_values_ref (self->values), paintable != NULL ? GDK_TEXTURE (g_object_ref (paintable)) : NULL, path };
      g_autoptr (GTask) task = g_task_new (self, NULL, exported_cb, NULL);
      g_task_set_task_data (task, export, (GDestroyNotify) export_free);
      g_task_run_in_thread (task, export_thread);
    }
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

static void
export_action (GtkWidget *widget, const char *action, GVariant *target)
{
  TnValuesWindow *self = TN_VALUES_WINDOW (widget);
  if (self->values == NULL)
    return;
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (_ ("Export the Values"), GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_SAVE, _ ("_Export"), NULL);
  g_autofree char *name = g_strdup_printf ("%s.%s", self->parameter, g_variant_get_string (target, NULL));
  g_strdelimit (name, "/", '_');
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), name);
  g_signal_connect_object (dialog, "response", G_CALLBACK (save_response_cb), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* ---- building ---- */

static void
tn_values_window_dispose (GObject *object)
{
  TnValuesWindow *self = TN_VALUES_WINDOW (object);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  G_OBJECT_CLASS (tn_values_window_parent_class)->dispose (object);
}

static void
tn_values_window_finalize (GObject *object)
{
  TnValuesWindow *self = TN_VALUES_WINDOW (object);
  g_clear_object (&self->model);
  g_clear_pointer (&self->values, tn_parameter_values_unref);
  g_free (self->parameter);
  g_free (self->run_path);
  G_OBJECT_CLASS (tn_values_window_parent_class)->finalize (object);
}

static void
tn_values_window_class_init (TnValuesWindowClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_values_window_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_values_window_finalize;
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (klass), "values.export", "s", export_action);
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (klass), GDK_KEY_Escape, 0, "window.close", NULL);
}

static GtkWidget *
make_drop (TnValuesWindow *self, const char *id, const char *label, GCallback callback)
{
  GtkWidget *drop = gtk_drop_down_new (NULL, NULL);
  gtk_widget_set_name (drop, id);
  gtk_widget_set_tooltip_text (drop, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (drop), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_signal_connect_swapped (drop, "notify::selected", callback, self);
  return drop;
}

static GtkWidget *
make_picture (const char *id)
{
  GtkWidget *picture = gtk_picture_new ();
  gtk_widget_set_name (picture, id);
  gtk_picture_set_content_fit (GTK_PICTURE (picture), GTK_CONTENT_FIT_SCALE_DOWN);
  gtk_widget_set_vexpand (picture, TRUE);
  return picture;
}

static GtkWidget *
make_note (void)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (label, "caption");
  return label;
}

static GtkWidget *
make_box (GtkWidget *first, GtkWidget *second)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  gtk_box_append (GTK_BOX (box), first);
  gtk_box_append (GTK_BOX (box), second);
  gtk_widget_set_margin_start (box, 12);
  gtk_widget_set_margin_end (box, 12);
  return box;
}

static GtkWidget *
make_heat (TnValuesWindow *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *box;
  self->rows = make_drop (self, "model_value_row_drop", _ ("Dimension shown downwards"), G_CALLBACK (dims_cb));
  self->columns = make_drop (self, "model_value_column_drop", _ ("Dimension shown to the right"), G_CALLBACK (dims_cb));
  self->others = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_box_append (GTK_BOX (bar), self->rows);
  gtk_box_append (GTK_BOX (bar), self->columns);
  gtk_box_append (GTK_BOX (bar), self->others);
  gtk_widget_set_halign (bar, GTK_ALIGN_CENTER);
  self->heat = make_picture ("model_value_heat_picture");
  self->heat_range = make_note ();
  box = make_box (bar, self->heat);
  gtk_box_append (GTK_BOX (box), self->heat_range);
  return box;
}

static GtkWidget *
make_table (TnValuesWindow *self)
{
  static const TnTableFuncs funcs = { n_rows, text_of, number_of };
  const TnTableColumn columns[] = {
    { "index", _ ("Index"), TN_COLUMN_TEXT, .expand = TRUE },
    { "value", _ ("Value"), TN_COLUMN_NUMBER, .width = 160 },
  };
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &funcs, self, NULL);
  return tn_table_new (self->model, "model_value_table", _ ("Values table"));
}

static GtkWidget *
make_export_button (TnValuesWindow *self)
{
  g_autoptr (GMenu) menu = g_menu_new ();
  g_menu_append (menu, _ ("NPY: All Values"), "values.export('npy')");
  g_menu_append (menu, _ ("CSV: All Values"), "values.export('csv')");
  g_menu_append (menu, _ ("PNG: The Picture"), "values.export('png')");
  GtkWidget *button = gtk_menu_button_new ();
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "document-save-symbolic");
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_widget_set_name (button, "model_value_export_button");
  gtk_widget_set_tooltip_text (button, _ ("Export the Values"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Export the Values"), -1);
  gtk_widget_set_sensitive (button, FALSE);
  return button;
}

static void
make_stack (TnValuesWindow *self)
{
  self->views = tn_segmented_new (_ ("View"));
  gtk_widget_set_name (self->views, "model_value_view_buttons");
  tn_segmented_add (TN_SEGMENTED (self->views), "histogram", _ ("Histogram"));
  tn_segmented_add (TN_SEGMENTED (self->views), "heat", _ ("Heat Map"));
  tn_segmented_add (TN_SEGMENTED (self->views), "table", _ ("Table"));
  gtk_widget_set_halign (self->views, GTK_ALIGN_CENTER);
  self->histogram = tn_draw_layer_new (draw_histogram, self);
  gtk_widget_set_name (self->histogram, "model_value_histogram");
  gtk_widget_set_vexpand (self->histogram, TRUE);
  self->kernels = make_picture ("model_value_kernel_picture");
  self->kernel_note = make_note ();
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), make_box (self->histogram, make_note ()), "histogram");
  gtk_stack_add_named (GTK_STACK (self->stack), make_heat (self), "heat");
  gtk_stack_add_named (GTK_STACK (self->stack), make_table (self), "table");
  gtk_stack_add_named (GTK_STACK (self->stack), make_box (self->kernels, self->kernel_note), "kernels");
  g_object_bind_property (self->views, "active-id", self->stack, "visible-child-name", G_BINDING_SYNC_CREATE);
}

static void
tn_values_window_init (TnValuesWindow *self)
{
  GtkWidget *outer = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *inner = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12), *bar = adw_header_bar_new ();
  self->step = -1;
  make_stack (self);
  self->facts = gtk_flow_box_new ();
  gtk_widget_set_name (self->facts, "model_value_facts");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->facts), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Facts"), -1);
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (self->facts), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (self->facts), 9);
  gtk_flow_box_set_min_children_per_line (GTK_FLOW_BOX (self->facts), 3);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (self->facts), 12);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (self->facts), 6);
  gtk_widget_set_margin_start (self->facts, 12);
  gtk_widget_set_margin_end (self->facts, 12);
  gtk_widget_set_margin_bottom (self->facts, 12);
  gtk_widget_set_margin_top (inner, 12);
  gtk_widget_set_vexpand (self->stack, TRUE);
  gtk_box_append (GTK_BOX (inner), self->views);
  gtk_box_append (GTK_BOX (inner), self->stack);
  gtk_box_append (GTK_BOX (inner), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (inner), self->facts);
  self->pane = tn_state_pane_new (inner);
  gtk_widget_set_vexpand (self->pane, TRUE);
  self->toasts = adw_toast_overlay_new ();
  adw_toast_overlay_set_child (ADW_TOAST_OVERLAY (self->toasts), self->pane);
  self->steps = make_drop (self, "model_value_step_drop", _ ("Checkpoint"), G_CALLBACK (step_cb));
  self->export_button = make_export_button (self);
  adw_header_bar_pack_start (ADW_HEADER_BAR (bar), self->steps);
  adw_header_bar_pack_end (ADW_HEADER_BAR (bar), self->export_button);
  gtk_box_append (GTK_BOX (outer), bar);
  gtk_box_append (GTK_BOX (outer), self->toasts);
  adw_window_set_content (ADW_WINDOW (self), outer);
  gtk_widget_set_name (GTK_WIDGET (self), "model_value_window");
  gtk_window_set_default_size (GTK_WINDOW (self), 760, 620);
}

void
tn_values_present (TnWindow *window, const char *parameter)
{
  g_return_if_fail (TN_IS_WINDOW (window) && parameter != NULL);
  TnValuesWindow *self = g_object_new (TN_TYPE_VALUES_WINDOW, "transient-for", window, "destroy-with-parent", TRUE, "title", parameter, NULL);
  TnRunControl *control = tn_window_control (window);
  self->window = window;
  self->parameter = g_strdup (parameter);
  self->run_path = g_strdup (tn_run_control_path (control));
  g_signal_connect_object (control, "checkpointed", G_CALLBACK (checkpointed_cb), self, 0);
  gtk_window_present (GTK_WINDOW (self));
  if (self->run_path != NULL)
    start (self);
  else
    tn_state_pane_set_empty (TN_STATE_PANE (self->pane), "tn-model-symbolic", _ ("No values yet"),
                             _ ("Values are read from the checkpoints of a run: train first."), NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <glib/gi18n.h>
#include <string.h>

#include "style.h"

struct _TnTable
{
  GtkWidget parent_instance;
  GtkWidget *box, *bar, *filter, *filter_error, *sort_button, *columns_button, *count, *scroller, *view, *menu;
  TnTableModel *model;
  GtkMultiSelection *selection;
  GPtrArray *view_columns; /* GtkColumnViewColumn, places as in the model */
  GSimpleActionGroup *actions;
  GtkFileChooserNative *dialog;
  guint pressed_column;
  gboolean narrow;
};

enum
{
  ROW_ACTIVATED,
  SELECTION_CHANGED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnTable, tn_table, GTK_TYPE_WIDGET)

/* Cells. */

static void
pressed_cb (GtkGestureClick *gesture, int n, double x, double y, TnTable *self)
{
  GtkWidget *cell = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture));
  self->pressed_column = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (cell), "tn-column"));
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnTable *self)
{
  guint n, column = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (factory), "tn-column"));
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (label), columns[column].kind == TN_COLUMN_TEXT ? PANGO_ELLIPSIZE_MIDDLE : PANGO_ELLIPSIZE_NONE);
  gtk_label_set_xalign (GTK_LABEL (label), columns[column].kind == TN_COLUMN_TEXT ? 0 : 1);
  gtk_label_set_single_line_mode (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "tn-tabular");
  g_object_set_data (G_OBJECT (label), "tn-column", GUINT_TO_POINTER (column));
  GtkGesture *press = gtk_gesture_click_new ();
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (press), 0);
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (press), GTK_PHASE_CAPTURE);
  g_signal_connect (press, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (label, GTK_EVENT_CONTROLLER (press));
  gtk_list_item_set_child (item, label);
}

static char *
row_name (TnTable *self, guint row)
{
  guint n;
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  g_autoptr (GString) name = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    {
      if (!gtk_column_view_column_get_visible (self->view_columns->pdata[i]))
        continue;
      g_autofree char *text = tn_table_model_text (self->model, row, i);
      g_string_append_printf (name, "%s%s %s", name->len > 0 ? ", " : "", columns[i].title, text != NULL ? text : "");
    }
  return g_string_free (g_steal_pointer (&name), FALSE);
}

/* GTK 4.8 would call them GtkListItemWidget. */
static void
name_cell (TnTable *self, GtkWidget *label, guint row, const char *title, const char *text)
{
  GtkWidget *cell = gtk_widget_get_parent (label), *line = cell != NULL ? gtk_widget_get_parent (cell) : NULL;
  g_autofree char *cell_name = g_strdup_printf ("%s: %s", title, text);
  if (cell != NULL)
    gtk_accessible_update_property (GTK_ACCESSIBLE (cell), GTK_ACCESSIBLE_PROPERTY_LABEL, cell_name, -1);
  if (line != NULL)
    {
      g_autofree char *name = row_name (self, row);
      gtk_accessible_update_property (GTK_ACCESSIBLE (line), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
    }
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnTable *self)
{
  guint n, column = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (factory), "tn-column"));
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  guint row = tn_table_row_index (gtk_list_item_get_item (item));
  g_autofree char *text = tn_table_model_text (self->model, row, column);
  GtkWidget *label = gtk_list_item_get_child (item);
  gtk_label_set_text (GTK_LABEL (label), text != NULL ? text : "—");
  if (columns[column].kind == TN_COLUMN_TEXT)
    gtk_widget_set_tooltip_text (label, text != NULL && g_utf8_strlen (text, -1) > 24 ? text : NULL);
  name_cell (self, label, row, columns[column].title, text != NULL ? text : "—");
}

/* Toolbar. */

static void
update_count (TnTable *self)
{
  guint shown = g_list_model_get_n_items (G_LIST_MODEL (self->model)), all = tn_table_model_n_rows (self->model);
  g_autofree char *text = g_strdup_printf (_ ("%'u of %'u"), shown, all);
  gtk_label_set_text (GTK_LABEL (self->count), text);
  gtk_widget_set_visible (self->count, shown != all);
}

static void
filter_cb (TnTable *self)
{
  g_autofree char *error = NULL;
  tn_table_model_set_filter (self->model, gtk_editable_get_text (GTK_EDITABLE (self->filter)), &error);
  gtk_label_set_text (GTK_LABEL (self->filter_error), error != NULL ? error : "");
  gtk_widget_set_visible (self->filter_error, error != NULL);
  if (error != NULL)
    gtk_widget_add_css_class (self->filter, "error");
  else
    gtk_widget_remove_css_class (self->filter, "error");
  gtk_accessible_update_state (GTK_ACCESSIBLE (self->filter), GTK_ACCESSIBLE_STATE_INVALID,
                               error != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->filter), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, error != NULL ? error : "", -1);
  update_count (self);
}

static void
show_sort (TnTable *self)
{
  gboolean descending;
  const char *id = tn_table_model_sort_column (self->model, &descending);
  g_autofree char *text = NULL;
  if (id == NULL)
    text = g_strdup (_ ("Sort"));
  else
    {
      guint n;
      const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
      const char *title = columns[tn_table_model_find_column (self->model, id)].title;
      text = g_strdup_printf (descending ? _ ("Sorted by %s, largest first") : _ ("Sorted by %s"), title);
    }
  gtk_widget_set_tooltip_text (self->sort_button, text);
  if (self->narrow)
    gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (self->sort_button), "view-sort-descending-symbolic");
  else
    gtk_menu_button_set_label (GTK_MENU_BUTTON (self->sort_button), text);
}

static void
sort_action (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnTable *self = data;
  const char *id = g_variant_get_string (value, NULL);
  g_simple_action_set_state (action, value);
  tn_table_model_set_sort (self->model, *id == '\0' ? NULL : *id == '-' ? id + 1 : id, *id == '-');
  show_sort (self);
}

static GMenuModel *
make_sort_menu (TnTable *self)
{
  guint n;
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  GMenu *menu = g_menu_new ();
  g_menu_append (menu, _ ("As It Comes"), "table.sort('')");
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GMenu) section = g_menu_new ();
      gboolean text = columns[i].kind == TN_COLUMN_TEXT;
      g_autofree char *up = g_strdup_printf (text ? _ ("%s, A to Z") : _ ("%s, Smallest First"), columns[i].title);
      g_autofree char *down = g_strdup_printf (text ? _ ("%s, Z to A") : _ ("%s, Largest First"), columns[i].title);
      g_autofree char *up_action = g_strdup_printf ("table.sort('%s')", columns[i].id);
      g_autofree char *down_action = g_strdup_printf ("table.sort('-%s')", columns[i].id);
      g_menu_append (section, up, up_action);
      g_menu_append (section, down, down_action);
      g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
    }
  return G_MENU_MODEL (menu);
}

static GMenuModel *
make_columns_menu (TnTable *self)
{
  guint n;
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  GMenu *menu = g_menu_new ();
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *action = g_strdup_printf ("table.column-%s", columns[i].id);
      g_menu_append (menu, columns[i].title, action);
      GPropertyAction *toggle = g_property_action_new (action + strlen ("table."), self->view_columns->pdata[i], "visible");
      g_action_map_add_action (G_ACTION_MAP (self->actions), G_ACTION (toggle));
      g_object_unref (toggle);
    }
  return G_MENU_MODEL (menu);
}

/* Copying. */

static GArray *
selected_positions (TnTable *self)
{
  GArray *positions = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GtkBitset) set = gtk_selection_model_get_selection (GTK_SELECTION_MODEL (self->selection));
  GtkBitsetIter iter;
  guint position;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, set, &position); more; more = gtk_bitset_iter_next (&iter, &position))
    g_array_append_val (positions, position);
  return positions;
}

static GArray *
visible_columns (TnTable *self)
{
  GArray *columns = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < self->view_columns->len; i++)
    if (gtk_column_view_column_get_visible (self->view_columns->pdata[i]))
      g_array_append_val (columns, i);
  return columns;
}

char *
tn_table_copy_text (TnTable *self, char separator)
{
  g_return_val_if_fail (TN_IS_TABLE (self), NULL);
  g_autoptr (GArray) positions = selected_positions (self), columns = visible_columns (self);
  return tn_table_model_to_csv (self->model, positions->len > 0 ? (guint *) positions->data : NULL, positions->len,
                                (guint *) columns->data, columns->len, separator);
}

static void
put_on_clipboard (TnTable *self, char *csv, char *tabbed)
{
  g_autoptr (GBytes) csv_bytes = g_bytes_new_take (csv, strlen (csv)), tabbed_bytes = g_bytes_new_take (tabbed, strlen (tabbed));
  GdkContentProvider *parts[] = { gdk_content_provider_new_for_bytes ("text/csv", csv_bytes),
                                  gdk_content_provider_new_for_bytes ("text/plain;charset=utf-8", tabbed_bytes),
                                  gdk_content_provider_new_for_bytes ("text/plain", tabbed_bytes) };
  g_autoptr (GdkContentProvider) all = gdk_content_provider_new_union (parts, G_N_ELEMENTS (parts));
  gdk_clipboard_set_content (gtk_widget_get_clipboard (GTK_WIDGET (self)), all);
}

static void
copy_action (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnTable *self = data;
  put_on_clipboard (self, tn_table_copy_text (self, ','), tn_table_copy_text (self, '\t'));
}

static void
copy_column_action (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnTable *self = data;
  guint column = self->pressed_column;
  put_on_clipboard (self, tn_table_model_to_csv (self->model, NULL, 0, &column, 1, ','),
                    tn_table_model_to_csv (self->model, NULL, 0, &column, 1, '\t'));
}

static void
replaced_cb (GObject *file, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnTable) self = data;
  g_autoptr (GError) error = NULL;
  if (g_file_replace_contents_finish (G_FILE (file), result, NULL, &error))
    return;
  g_autofree char *path = g_file_get_path (G_FILE (file));
  g_autofree char *text = g_strdup_printf (_ ("The table could not be written to “%s”: %s"), path != NULL ? path : "", error->message);
  gtk_label_set_text (GTK_LABEL (self->filter_error), text);
  gtk_widget_set_visible (self->filter_error, TRUE);
}

static void
save_response_cb (GtkNativeDialog *dialog, int response, TnTable *self)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog)) : NULL;
  g_clear_object (&self->dialog);
  if (file == NULL)
    return;
  g_autoptr (GArray) columns = visible_columns (self);
  char *csv = tn_table_model_to_csv (self->model, NULL, 0, (guint *) columns->data, columns->len, ',');
  g_autoptr (GBytes) bytes = g_bytes_new_take (csv, strlen (csv));
  g_file_replace_contents_bytes_async (file, bytes, NULL, FALSE, G_FILE_CREATE_NONE, NULL, replaced_cb, g_object_ref (self));
}

static void
export_action (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnTable *self = data;
  if (self->dialog != NULL)
    return;
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  self->dialog = gtk_file_chooser_native_new (_ ("Export Table"), GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL,
                                              GTK_FILE_CHOOSER_ACTION_SAVE, NULL, NULL);
  g_autofree char *name = g_strdup_printf ("%s.csv", gtk_widget_get_name (self->view));
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (self->dialog), name);
  g_signal_connect_object (self->dialog, "response", G_CALLBACK (save_response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->dialog));
}

/* Rows. */

static void
activate_cb (GtkColumnView *view, guint position, TnTable *self)
{
  g_signal_emit (self, signals[ROW_ACTIVATED], 0, tn_table_model_row_at (self->model, position));
}

static void
selection_cb (TnTable *self)
{
  g_signal_emit (self, signals[SELECTION_CHANGED], 0);
}

static void
popup_menu (TnTable *self, double x, double y)
{
  if (self->menu == NULL)
    return;
  gtk_popover_set_pointing_to (GTK_POPOVER (self->menu), &(GdkRectangle) { (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->menu));
}

static void
right_cb (GtkGestureClick *gesture, int n, double x, double y, TnTable *self)
{
  popup_menu (self, x, y);
}

static gboolean
menu_key_cb (GtkWidget *widget, GVariant *args, gpointer data)
{
  popup_menu (TN_TABLE (widget), 24, 48);
  return TN_TABLE (widget)->menu != NULL;
}

static void
tn_table_dispose (GObject *object)
{
  TnTable *self = TN_TABLE (object);
  if (self->dialog != NULL)
    gtk_native_dialog_destroy (GTK_NATIVE_DIALOG (self->dialog));
  g_clear_object (&self->dialog);
  g_clear_pointer (&self->menu, gtk_widget_unparent);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_object (&self->selection);
  g_clear_object (&self->model);
  g_clear_object (&self->actions);
  g_clear_pointer (&self->view_columns, g_ptr_array_unref);
  G_OBJECT_CLASS (tn_table_parent_class)->dispose (object);
}

static void
tn_table_class_init (TnTableClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_table_dispose;
  signals[ROW_ACTIVATED] = g_signal_new ("row-activated", TN_TYPE_TABLE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
  signals[SELECTION_CHANGED] = g_signal_new ("selection-changed", TN_TYPE_TABLE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_c, GDK_CONTROL_MASK, "table.copy", NULL);
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_l, GDK_CONTROL_MASK | GDK_SHIFT_MASK, "table.copy-column", NULL);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_F10, GDK_SHIFT_MASK, menu_key_cb, NULL);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Menu, 0, menu_key_cb, NULL);
}

static GtkWidget *
icon_button (const char *icon, const char *name, const char *action)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  gtk_widget_set_tooltip_text (button, name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static void
make_bar (TnTable *self)
{
  self->bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_add_css_class (self->bar, "tn-table-bar");
  self->filter = gtk_search_entry_new ();
  gtk_widget_set_hexpand (self->filter, TRUE);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->filter), 8);
  g_object_set (self->filter, "placeholder-text", _ ("Filter"), NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->filter), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Filter"), -1);
  gtk_widget_set_tooltip_text (self->filter, _ ("Words, or conditions such as name~conv bytes>1MiB rank:3"));
  g_signal_connect_swapped (self->filter, "search-changed", G_CALLBACK (filter_cb), self);
  self->count = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->count, "dim-label");
  gtk_widget_add_css_class (self->count, "tn-tabular");
  self->sort_button = gtk_menu_button_new ();
  gtk_widget_add_css_class (self->sort_button, "flat");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->sort_button), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Sort"), -1);
  self->columns_button = gtk_menu_button_new ();
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (self->columns_button), "view-more-symbolic");
  gtk_widget_add_css_class (self->columns_button, "flat");
  gtk_widget_set_tooltip_text (self->columns_button, _ ("Columns"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->columns_button), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Columns"), -1);
  gtk_box_append (GTK_BOX (self->bar), self->filter);
  gtk_box_append (GTK_BOX (self->bar), self->count);
  gtk_box_append (GTK_BOX (self->bar), self->sort_button);
  gtk_box_append (GTK_BOX (self->bar), icon_button ("edit-copy-symbolic", _ ("Copy Rows"), "table.copy"));
  gtk_box_append (GTK_BOX (self->bar), icon_button ("document-save-symbolic", _ ("Export Table"), "table.export"));
  gtk_box_append (GTK_BOX (self->bar), self->columns_button);
}

static void
tn_table_init (TnTable *self)
{
  tn_style_ensure ();
  self->view_columns = g_ptr_array_new_with_free_func (g_object_unref);
  self->actions = g_simple_action_group_new ();
  gtk_widget_insert_action_group (GTK_WIDGET (self), "table", G_ACTION_GROUP (self->actions));
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
  make_bar (self);
  self->filter_error = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->filter_error), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->filter_error), 0);
  gtk_widget_add_css_class (self->filter_error, "error");
  gtk_widget_set_margin_start (self->filter_error, 12);
  gtk_widget_set_margin_end (self->filter_error, 12);
  gtk_widget_set_visible (self->filter_error, FALSE);
  self->scroller = gtk_scrolled_window_new ();
  gtk_widget_set_vexpand (self->scroller, TRUE);
  gtk_box_append (GTK_BOX (self->box), self->bar);
  gtk_box_append (GTK_BOX (self->box), self->filter_error);
  gtk_box_append (GTK_BOX (self->box), self->scroller);
  GtkGesture *right = gtk_gesture_click_new ();
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (right), GDK_BUTTON_SECONDARY);
  g_signal_connect (right, "pressed", G_CALLBACK (right_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (right));
}

static void
add_columns (TnTable *self)
{
  guint n;
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  for (guint i = 0; i < n; i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      g_object_set_data (G_OBJECT (factory), "tn-column", GUINT_TO_POINTER (i));
      g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), self);
      g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
      GtkColumnViewColumn *column = gtk_column_view_column_new (columns[i].title, factory);
      gtk_column_view_column_set_resizable (column, TRUE);
      gtk_column_view_column_set_expand (column, columns[i].expand);
      gtk_column_view_column_set_visible (column, !columns[i].hidden);
      if (columns[i].width > 0)
        gtk_column_view_column_set_fixed_width (column, columns[i].width);
      gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), column);
      g_ptr_array_add (self->view_columns, column);
    }
}

GtkWidget *
tn_table_new (TnTableModel *model, const char *id, const char *label)
{
  TnTable *self = g_object_new (TN_TYPE_TABLE, NULL);
  self->model = g_object_ref (model);
  self->selection = gtk_multi_selection_new (g_object_ref (G_LIST_MODEL (model)));
  self->view = gtk_column_view_new (g_object_ref (GTK_SELECTION_MODEL (self->selection)));
  gtk_widget_set_name (self->view, id);
  gtk_widget_add_css_class (self->view, "data-table");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->view);
  add_columns (self);
  static const GActionEntry entries[] = { { .name = "copy", .activate = copy_action },
                                          { .name = "copy-column", .activate = copy_column_action },
                                          { .name = "export", .activate = export_action },
                                          { .name = "sort", .parameter_type = "s", .state = "''", .change_state = sort_action } };
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries), self);
  g_autoptr (GMenuModel) sort = make_sort_menu (self), shown = make_columns_menu (self);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->sort_button), sort);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->columns_button), shown);
  show_sort (self);
  update_count (self);
  g_signal_connect (self->view, "activate", G_CALLBACK (activate_cb), self);
  g_signal_connect_object (self->selection, "selection-changed", G_CALLBACK (selection_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (model, "items-changed", G_CALLBACK (update_count), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET (self);
}

TnTableModel *
tn_table_get_model (TnTable *self)
{
  g_return_val_if_fail (TN_IS_TABLE (self), NULL);
  return self->model;
}

GArray *
tn_table_get_selected (TnTable *self)
{
  g_return_val_if_fail (TN_IS_TABLE (self), NULL);
  GArray *rows = selected_positions (self);
  for (guint i = 0; i < rows->len; i++)
    g_array_index (rows, guint, i) = tn_table_model_row_at (self->model, g_array_index (rows, guint, i));
  return rows;
}

void
tn_table_select_row (TnTable *self, guint row)
{
  g_return_if_fail (TN_IS_TABLE (self));
  gint64 position = tn_table_model_position_of (self->model, row);
  if (position < 0)
    return;
  gtk_selection_model_select_item (GTK_SELECTION_MODEL (self->selection), (guint) position, TRUE);
  gtk_widget_activate_action (gtk_widget_get_last_child (self->view), "list.scroll-to-item", "u", (guint) position);
}

void
tn_table_select_rows (TnTable *self, GArray *rows)
{
  g_return_if_fail (TN_IS_TABLE (self));
  g_autoptr (GtkBitset) selected = gtk_bitset_new_empty (), mask = gtk_bitset_new_range (0, g_list_model_get_n_items (G_LIST_MODEL (self->model)));
  for (guint i = 0; i < rows->len; i++)
    {
      gint64 position = tn_table_model_position_of (self->model, g_array_index (rows, guint, i));
      if (position >= 0)
        gtk_bitset_add (selected, (guint) position);
    }
  gtk_selection_model_set_selection (GTK_SELECTION_MODEL (self->selection), selected, mask);
}

void
tn_table_set_row_menu (TnTable *self, GMenuModel *menu)
{
  g_return_if_fail (TN_IS_TABLE (self));
  g_clear_pointer (&self->menu, gtk_widget_unparent);
  if (menu == NULL)
    return;
  self->menu = gtk_popover_menu_new_from_model (menu);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->menu), FALSE);
  gtk_widget_set_halign (self->menu, GTK_ALIGN_START);
  gtk_widget_set_parent (self->menu, GTK_WIDGET (self));
}

void
tn_table_add_tool (TnTable *self, GtkWidget *tool)
{
  g_return_if_fail (TN_IS_TABLE (self));
  gtk_box_append (GTK_BOX (self->bar), tool);
}

void
tn_table_set_toolbar_visible (TnTable *self, gboolean visible)
{
  g_return_if_fail (TN_IS_TABLE (self));
  gtk_widget_set_visible (self->bar, visible);
}

void
tn_table_set_narrow (TnTable *self, gboolean narrow)
{
  g_return_if_fail (TN_IS_TABLE (self));
  self->narrow = narrow;
  gtk_editable_set_width_chars (GTK_EDITABLE (self->filter), narrow ? 3 : 8);
  gtk_box_set_spacing (GTK_BOX (self->bar), narrow ? 0 : 6);
  show_sort (self);
}

void
tn_table_focus_filter (TnTable *self)
{
  g_return_if_fail (TN_IS_TABLE (self));
  gtk_widget_grab_focus (self->filter);
}

char *
tn_table_get_state (TnTable *self)
{
  g_return_val_if_fail (TN_IS_TABLE (self), NULL);
  guint n;
  gboolean descending;
  const TnTableColumn *columns = tn_table_model_columns (self->model, &n);
  const char *sort = tn_table_model_sort_column (self->model, &descending);
  g_autoptr (GString) state = g_string_new (NULL);
  g_string_append_printf (state, "sort=%s%s", sort != NULL && descending ? "-" : "", sort != NULL ? sort : "");
  for (guint i = 0; i < n; i++)
    {
      gboolean hidden = !gtk_column_view_column_get_visible (self->view_columns->pdata[i]);
      if (hidden != columns[i].hidden)
        g_string_append_printf (state, ";%s=%s", hidden ? "hide" : "show", columns[i].id);
    }
  return g_string_free (g_steal_pointer (&state), FALSE);
}

void
tn_table_set_state (TnTable *self, const char *state)
{
  g_return_if_fail (TN_IS_TABLE (self));
  g_auto (GStrv) parts = g_strsplit (state, ";", -1);
  for (char **part = parts; *part != NULL; part++)
    {
      const char *value = strchr (*part, '=');
      if (value == NULL)
        continue;
      value++;
      int column = tn_table_model_find_column (self->model, *value == '-' ? value + 1 : value);
      if (g_str_has_prefix (*part, "sort=") && (column >= 0 || *value == '\0'))
        g_action_group_change_action_state (G_ACTION_GROUP (self->actions), "sort", g_variant_new_string (value));
      else if (column >= 0)
        gtk_column_view_column_set_visible (self->view_columns->pdata[column], g_str_has_prefix (*part, "show="));
    }
}

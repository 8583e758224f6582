/* SPDX-License-Identifier: Apache-2.0 */
#include "page-shard.h"

#include <glib/gi18n.h>
#include <string.h>

#include "base/durable.h"
#include "format.h"
#include "picture-view.h"
#include "segmented.h"
#include "shard-export.h"
#include "shard-tensors.h"
#include "shard-whatif.h"
#include "state-pane.h"
#include "table.h"

/* The views of the page, in the order of the buttons. */
static const struct
{
  const char *id, *title;
  GtkWidget *(*make) (void);
} views[] = {
  { "tensors", N_("Tensors"), tn_shard_tensors_new },
  { "ranks", N_("Ranks"), tn_shard_ranks_new },
  { "traffic", N_("Traffic"), tn_shard_traffic_new },
  { "mesh", N_("Mesh"), tn_shard_mesh_new },
  { "whatif", N_("What-if"), tn_shard_whatif_new },
};
#define N_VIEWS G_N_ELEMENTS (views)

struct _TnPageShard
{
  TnPage parent_instance;
  GtkWidget *segmented, *view_drop, *source_drop, *compare_drop, *menu_button, *pane, *stack, *note;
  TnShardView *shown[N_VIEWS];
  GtkStringList *sources, *compares;
  GPtrArray *files; /* of char: paths opened by hand */
  GSimpleActionGroup *actions;
  TnShardPlan *plan, *other;
  GCancellable *loading, *comparing;
  gboolean filling, stale;
};

G_DEFINE_FINAL_TYPE (TnPageShard, tn_page_shard, TN_TYPE_PAGE)

static int
view_at (TnPageShard *self)
{
  const char *id = tn_segmented_get_active_id (TN_SEGMENTED (self->segmented));
  for (gsize i = 0; i < N_VIEWS; i++)
    if (g_strcmp0 (views[i].id, id) == 0)
      return (int) i;
  return 0;
}

static TnShardView *
view_of (TnPageShard *self)
{
  return self->shown[view_at (self)];
}

TnShardPlan *
tn_page_shard_plan (TnPageShard *self)
{
  return self->plan;
}

/* ---- showing ---- */

static void
tn_page_shard_selection_changed (TnPage *page, guint mask)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  TnSelection *selection = tn_page_selection (page);
  gint64 first = -1, last;
  const char *name = tn_selection_get_text (selection, TN_SELECTION_PARAMETER);
  int item = self->plan != NULL && name != NULL ? tn_shard_plan_find (self->plan, name) : -1;
  tn_selection_get_range (selection, TN_SELECTION_RANK, &first, &last);
  for (gsize i = 0; i < N_VIEWS; i++)
    if (self->shown[i] != NULL)
      tn_shard_view_set_selected (self->shown[i], item, first);
}

static gboolean
is_alone (TnPageShard *self)
{
  return self->plan != NULL && self->plan->planned && self->plan->mesh->n_ranks == 1;
}

/* One rank has nothing to show but the way to more. */
static void
show_state (TnPageShard *self)
{
  TnStatePane *pane = TN_STATE_PANE (self->pane);
  if (self->plan != NULL && (!is_alone (self) || g_strcmp0 (views[view_at (self)].id, "whatif") == 0))
    tn_state_pane_set_content (pane);
  else if (self->plan != NULL)
    {
      g_autofree char *size = tn_format_size ((double) self->plan->forecast.total);
      g_autofree char *text = g_strdup_printf (_("One rank holds everything (%s). See what more ranks would hold and send."), size);
      tn_state_pane_set_empty (pane, "tn-shard-symbolic", _("One rank"), text, _("What-if"), "shard.whatif");
    }
  else if (self->loading == NULL && tn_page_document (TN_PAGE (self)) == NULL && self->files->len == 0)
    tn_state_pane_set_empty (pane, "tn-shard-symbolic", _("No strategy"), _("The bytes of every rank appear when a project is open. A strategy file of another program can be opened too."),
                             _("Open…"), "shard.open");
}

static void
show_notes (TnPageShard *self)
{
  guint n = self->plan != NULL ? self->plan->notes->len : 0;
  g_autofree char *text = n == 0 ? NULL : n == 1 ? g_strdup (self->plan->notes->pdata[0])
                          : g_strdup_printf (g_dngettext (NULL, "%s And %u more remark.", "%s And %u more remarks.", n - 1), (const char *) self->plan->notes->pdata[0], n - 1);
  g_autoptr (GString) all = g_string_new (NULL);
  for (guint i = 0; i < MIN (n, 8); i++)
    g_string_append_printf (all, "%s%s", i > 0 ? "\n" : "", (const char *) self->plan->notes->pdata[i]);
  gtk_label_set_text (GTK_LABEL (self->note), text != NULL ? text : "");
  gtk_widget_set_tooltip_text (self->note, n > 1 ? all->str : NULL);
  gtk_widget_set_visible (self->note, n > 0);
}

/* Only the visible view follows at once; the others when they are shown. */
static void
show_plan (TnPageShard *self)
{
  int at = view_at (self);
  if (self->shown[at] == NULL)
    return;
  tn_shard_view_set_plan (self->shown[at], self->plan, self->other);
  for (gsize i = 0; i < N_VIEWS; i++)
    if (self->shown[i] != NULL && (int) i != at)
      g_object_set_data (G_OBJECT (self->shown[i]), "stale", GINT_TO_POINTER (TRUE));
  tn_page_shard_selection_changed (TN_PAGE (self), 0);
  show_notes (self);
  show_state (self);
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
make_view (TnPageShard *self, int at)
{
  GtkWidget *view = views[at].make ();
  self->shown[at] = TN_SHARD_VIEW (view);
  tn_shard_view_set_selection (self->shown[at], tn_page_selection (TN_PAGE (self)));
  tn_shard_view_set_width (self->shown[at], tn_page_width (TN_PAGE (self)));
  g_object_set_data (G_OBJECT (view), "stale", GINT_TO_POINTER (TRUE));
  gtk_stack_add_named (GTK_STACK (self->stack), view, views[at].id);
  if (TN_IS_SHARD_TENSORS (view))
    tn_shard_layout_set_document (tn_shard_tensors_editor (TN_SHARD_TENSORS (view)), tn_page_document (TN_PAGE (self)));
  if (TN_IS_SHARD_WHATIF (view))
    tn_shard_whatif_set_document (TN_SHARD_WHATIF (view), tn_page_document (TN_PAGE (self)));
}

static void
view_cb (TnPageShard *self)
{
  int at = view_at (self);
  if (self->shown[at] == NULL)
    make_view (self, at);
  gtk_stack_set_visible_child (GTK_STACK (self->stack), GTK_WIDGET (self->shown[at]));
  if (g_object_get_data (G_OBJECT (self->shown[at]), "stale") != NULL)
    {
      g_object_set_data (G_OBJECT (self->shown[at]), "stale", NULL);
      tn_shard_view_set_plan (self->shown[at], self->plan, self->other);
      tn_page_shard_selection_changed (TN_PAGE (self), 0);
    }
  self->filling = TRUE;
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->view_drop), (guint) at);
  self->filling = FALSE;
  show_state (self);
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
view_drop_cb (TnPageShard *self)
{
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->view_drop));
  if (!self->filling && at < N_VIEWS)
    tn_segmented_set_active_id (TN_SEGMENTED (self->segmented), views[at].id);
}

/* ---- loading ---- */

typedef struct
{
  GWeakRef page;
  GCancellable *cancellable;
  gboolean is_other;
} Loading;

static void
loaded_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Loading *loading = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnShardPlan) plan = tn_shard_plan_finish (result, &error);
  g_autoptr (TnPageShard) self = g_weak_ref_get (&loading->page);
  GCancellable **mine = self == NULL ? NULL : loading->is_other ? &self->comparing : &self->loading;
  if (self != NULL && *mine == loading->cancellable)
    {
      g_clear_object (mine);
      TnShardPlan **place = loading->is_other ? &self->other : &self->plan;
      if (plan != NULL || !loading->is_other)
        {
          g_clear_pointer (place, tn_shard_plan_unref);
          *place = g_steal_pointer (&plan);
        }
      if (error != NULL && loading->is_other)
        tn_page_toast (TN_PAGE (self), error->message);
      show_plan (self);
      if (error != NULL && !loading->is_other)
        tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _("This cannot be laid out"), error->message, _("Open…"), "shard.open");
    }
  g_weak_ref_clear (&loading->page);
  g_object_unref (loading->cancellable);
  g_free (loading);
}

/* @at: of the sources: the project where there is one, then the files. NULL: nothing there. */
static TnShardRequest *
request_at (TnPageShard *self, guint at)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  if (document != NULL && at == 0)
    return tn_shard_request_for (document);
  at -= document != NULL ? 1 : 0;
  if (at >= self->files->len)
    return NULL;
  TnShardRequest *request = tn_shard_request_new ();
  request->path = g_strdup (self->files->pdata[at]);
  request->is_file = TRUE;
  request->shapes = self->plan != NULL && self->plan->planned ? tn_shard_plan_ref (self->plan) : NULL;
  return request;
}

static void
load (TnPageShard *self, guint at, gboolean is_other)
{
  GCancellable **mine = is_other ? &self->comparing : &self->loading;
  TnShardRequest *request = request_at (self, at);
  if (*mine != NULL)
    g_cancellable_cancel (*mine);
  g_clear_object (mine);
  if (request == NULL)
    {
      g_clear_pointer (is_other ? &self->other : &self->plan, tn_shard_plan_unref);
      show_plan (self);
      return;
    }
  *mine = g_cancellable_new ();
  Loading *loading = g_new0 (Loading, 1);
  g_weak_ref_init (&loading->page, self);
  loading->cancellable = g_object_ref (*mine);
  loading->is_other = is_other;
  if (self->plan == NULL)
    tn_state_pane_set_loading (TN_STATE_PANE (self->pane), _("Laying out"), -1);
  tn_shard_plan_async (request, *mine, loaded_cb, loading);
}

static void
clear_list (GtkStringList *list)
{
  gtk_string_list_splice (list, 0, g_list_model_get_n_items (G_LIST_MODEL (list)), NULL);
}

static void
fill_sources (TnPageShard *self, guint chosen)
{
  self->filling = TRUE;
  clear_list (self->sources);
  clear_list (self->compares);
  gtk_string_list_append (self->compares, _("No comparison"));
  if (tn_page_document (TN_PAGE (self)) != NULL)
    {
      gtk_string_list_append (self->sources, _("Project"));
      gtk_string_list_append (self->compares, _("With the project"));
    }
  for (guint i = 0; i < self->files->len; i++)
    {
      g_autofree char *name = g_path_get_basename (self->files->pdata[i]), *with = g_strdup_printf (_("With %s"), name);
      gtk_string_list_append (self->sources, name);
      gtk_string_list_append (self->compares, with);
    }
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->sources));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->source_drop), chosen < n ? chosen : n > 0 ? 0 : GTK_INVALID_LIST_POSITION);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->compare_drop), 0);
  gtk_widget_set_visible (self->source_drop, n > 1 && tn_page_width (TN_PAGE (self)) > TN_WIDTH_COMPACT);
  gtk_widget_set_visible (self->compare_drop, n > 1 && tn_page_width (TN_PAGE (self)) > TN_WIDTH_MEDIUM);
  self->filling = FALSE;
  g_clear_pointer (&self->other, tn_shard_plan_unref);
  load (self, chosen < n ? chosen : 0, FALSE);
}

static void
source_cb (TnPageShard *self)
{
  if (!self->filling)
    load (self, gtk_drop_down_get_selected (GTK_DROP_DOWN (self->source_drop)), FALSE);
}

static void
compare_cb (TnPageShard *self)
{
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->compare_drop));
  if (self->filling)
    return;
  if (self->shown[0] != NULL)
    {
      g_autofree char *state = NULL;
      gtk_widget_activate_action (tn_shard_view_table (self->shown[0]), "table.column-change", NULL);
    }
  load (self, at > 0 ? at - 1 : G_MAXUINT, TRUE);
}

void
tn_page_shard_open_file (TnPageShard *self, const char *path)
{
  guint first = tn_page_document (TN_PAGE (self)) != NULL ? 1 : 0;
  g_ptr_array_add (self->files, g_strdup (path));
  fill_sources (self, first + self->files->len - 1);
}

/* ---- files ---- */

static GtkFileChooserNative *
choose (TnPageShard *self, const char *title, GtkFileChooserAction action, const char *accept, const char *const *patterns, const char *name)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (title, GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), action, accept, NULL);
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  gtk_file_filter_set_name (filter, name);
  for (int i = 0; patterns[i] != NULL; i++)
    gtk_file_filter_add_pattern (filter, patterns[i]);
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), filter);
  return dialog;
}

static char *
chosen_path (GtkNativeDialog *dialog, int response)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog)) : NULL;
  char *path = file != NULL ? g_file_get_path (file) : NULL;
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
  return path;
}

static void
open_cb (TnPageShard *self, int response, GtkNativeDialog *dialog)
{
  g_autofree char *path = chosen_path (dialog, response);
  if (path != NULL)
    tn_page_shard_open_file (self, path);
}

static void
open_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  static const char *const patterns[] = { "*.ckpt", "*.pb", "*.json", NULL };
  GtkFileChooserNative *dialog = choose (data, _("Open a Strategy"), GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"), patterns, _("Strategies (.ckpt, .pb, .json)"));
  g_signal_connect_object (dialog, "response", G_CALLBACK (open_cb), data, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
open_folder_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (_("Open a Folder of Strategies"), GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (data))), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _("_Open"), NULL);
  g_signal_connect_object (dialog, "response", G_CALLBACK (open_cb), data, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
paint (TnCanvas *canvas, double width, double height, gpointer data)
{
  const TnPalette *palette = tn_palette_get (TN_PALETTE_LIGHT);
  tn_canvas_rect (canvas, &(TnRect){ 0, 0, width, height }, palette->background);
  tn_shard_view_paint (data, canvas, width, height);
}

static gboolean
write_text (const char *path, char *text, GError **error)
{
  gboolean done = tn_durable_write (path, text, strlen (text), error);
  g_free (text);
  return done;
}

gboolean
tn_page_shard_export (TnPageShard *self, const char *path, GError **error)
{
  TnPictureFormat format;
  if (g_str_has_suffix (path, ".json"))
    return write_text (path, tn_shard_plan_to_json (self->plan), error);
  if (g_str_has_suffix (path, ".csv"))
    {
      GtkWidget *table = view_at (self) != 1 ? tn_shard_view_table (view_of (self)) : NULL;
      return write_text (path, table != NULL ? tn_table_model_to_csv (tn_table_get_model (TN_TABLE (table)), NULL, 0, NULL, 0, ',') : tn_shard_plan_ranks_csv (self->plan), error);
    }
  if (!tn_picture_format_from_path (path, &format, error))
    return FALSE;
  TnShardView *view = tn_shard_view_can_paint (view_of (self)) ? view_of (self) : self->shown[0];
  return tn_picture_write (path, format, &(TnPictureSize){ 960, 640, format == TN_PICTURE_PNG ? 2 : 1 }, paint, view, error);
}

static void
say_saved (TnPageShard *self, const char *path, GError *error)
{
  g_autofree char *name = g_path_get_basename (path), *text = error == NULL ? g_strdup_printf (_("Saved as %s"), name) : NULL;
  tn_page_toast (TN_PAGE (self), error != NULL ? error->message : text);
}

static void
export_cb (TnPageShard *self, int response, GtkNativeDialog *dialog)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = chosen_path (dialog, response);
  if (path == NULL || self->plan == NULL)
    return;
  tn_page_shard_export (self, path, &error);
  say_saved (self, path, error);
}

static void
export_plan (TnPageShard *self)
{
  static const char *const patterns[] = { "*.json", "*.csv", "*.svg", "*.pdf", "*.png", NULL };
  GtkFileChooserNative *dialog = choose (self, _("Export the Layout"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Export"), patterns, _("JSON, CSV, SVG, PDF, PNG"));
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), "sharding.json");
  g_signal_connect_object (dialog, "response", G_CALLBACK (export_cb), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
save_cb (TnPageShard *self, int response, GtkNativeDialog *dialog)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = chosen_path (dialog, response);
  if (path == NULL || self->plan == NULL || self->plan->file == NULL)
    return;
  tn_strategy_file_save (self->plan->file, path, &error);
  say_saved (self, path, error);
}

static void
save_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  static const char *const patterns[] = { "*.ckpt", "*.json", NULL };
  TnPageShard *self = data;
  if (self->plan == NULL || self->plan->file == NULL)
    return;
  GtkFileChooserNative *dialog = choose (self, _("Save the Strategy"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), patterns, _("Strategies (.ckpt, .json)"));
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), "strategy.ckpt");
  g_signal_connect_object (dialog, "response", G_CALLBACK (save_cb), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
copy_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnPageShard *self = data;
  int at = self->plan == NULL ? -1 : tn_shard_plan_find (self->plan, tn_selection_get_text (tn_page_selection (data), TN_SELECTION_PARAMETER));
  const TnShardItem *item = at >= 0 ? tn_shard_plan_item (self->plan, (guint) at) : NULL;
  if (item == NULL || item->layout == NULL)
    {
      tn_page_toast (TN_PAGE (self), _("Choose a parameter first"));
      return;
    }
  g_autofree char *python = tn_layout_to_python (item->layout);
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), python);
}

static void
whatif_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_segmented_set_active_id (TN_SEGMENTED (TN_PAGE_SHARD (data)->segmented), "whatif");
}

static void
export_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  if (TN_PAGE_SHARD (data)->plan != NULL)
    export_plan (data);
}

/* ---- page ---- */

static void
tn_page_shard_document_changed (TnPage *page)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  TnDocument *document = tn_page_document (page);
  if (self->shown[0] != NULL)
    tn_shard_layout_set_document (tn_shard_tensors_editor (TN_SHARD_TENSORS (self->shown[0])), document);
  if (self->shown[4] != NULL)
    tn_shard_whatif_set_document (TN_SHARD_WHATIF (self->shown[4]), document);
  g_clear_pointer (&self->plan, tn_shard_plan_unref);
  fill_sources (self, 0);
}

static gboolean
reload_cb (gpointer data)
{
  TnPageShard *self = data;
  self->stale = FALSE;
  if (tn_page_document (TN_PAGE (self)) != NULL && gtk_drop_down_get_selected (GTK_DROP_DOWN (self->source_drop)) == 0)
    load (self, 0, FALSE);
  g_object_unref (self);
  return G_SOURCE_REMOVE;
}

/* Several edits that come together are one new plan. */
static void
tn_page_shard_edited (TnPage *page, const char *kind, const char *key)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  if (self->stale || g_strcmp0 (kind, "name") == 0 || g_strcmp0 (kind, "live") == 0)
    return;
  self->stale = TRUE;
  g_idle_add (reload_cb, g_object_ref (self));
}

static void
tn_page_shard_width_changed (TnPage *page, TnWidthClass width)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  gboolean many = g_list_model_get_n_items (G_LIST_MODEL (self->sources)) > 1;
  gtk_widget_set_visible (self->segmented, width > TN_WIDTH_COMPACT);
  gtk_widget_set_visible (self->view_drop, width == TN_WIDTH_COMPACT);
  gtk_widget_set_visible (self->source_drop, many && width > TN_WIDTH_COMPACT);
  gtk_widget_set_visible (self->compare_drop, many && width > TN_WIDTH_MEDIUM);
  for (gsize i = 0; i < N_VIEWS; i++)
    if (self->shown[i] != NULL)
      tn_shard_view_set_width (self->shown[i], width);
}

static guint
tn_page_shard_verbs (TnPage *page)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  guint verbs = 1 << TN_PAGE_RELOAD | 1 << TN_PAGE_NEXT_VIEW | 1 << TN_PAGE_PREVIOUS_VIEW;
  TnShardView *view = view_of (self);
  if (self->plan == NULL || view == NULL)
    return verbs;
  verbs |= 1 << TN_PAGE_EXPORT | 1 << TN_PAGE_COPY;
  if (tn_shard_view_table (view) != NULL)
    verbs |= 1 << TN_PAGE_FIND | 1 << TN_PAGE_TABLE_TWIN;
  if (tn_shard_view_canvas (view) != NULL)
    verbs |= 1 << TN_PAGE_ZOOM_IN | 1 << TN_PAGE_ZOOM_OUT | 1 << TN_PAGE_ZOOM_FIT | 1 << TN_PAGE_COPY_PICTURE;
  return verbs;
}

static gboolean
copy_picture (TnPageShard *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = tn_picture_bytes (TN_PICTURE_PNG, &(TnPictureSize){ 960, 640, 2 }, paint, view_of (self), &error);
  g_autoptr (GdkTexture) texture = bytes != NULL ? gdk_texture_new_from_bytes (bytes, &error) : NULL;
  if (texture == NULL)
    tn_page_toast (TN_PAGE (self), error->message);
  else
    gdk_clipboard_set_texture (gtk_widget_get_clipboard (GTK_WIDGET (self)), texture);
  return TRUE;
}

static gboolean
tn_page_shard_perform (TnPage *page, TnPageVerb verb)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  TnShardView *view = view_of (self);
  GtkWidget *canvas = view != NULL ? tn_shard_view_canvas (view) : NULL, *table = view != NULL ? tn_shard_view_table (view) : NULL;
  switch ((int) verb)
    {
    case TN_PAGE_EXPORT:
      export_plan (self);
      return TRUE;
    case TN_PAGE_COPY:
      copy_action (NULL, NULL, self);
      return TRUE;
    case TN_PAGE_COPY_PICTURE:
      return tn_shard_view_can_paint (view) && copy_picture (self);
    case TN_PAGE_FIND:
      if (table != NULL)
        tn_table_focus_filter (TN_TABLE (table));
      return table != NULL;
    case TN_PAGE_TABLE_TWIN:
      return table != NULL && canvas != NULL && gtk_widget_child_focus (gtk_widget_get_focus_child (table) != NULL ? gtk_widget_get_parent (canvas) : table, GTK_DIR_TAB_FORWARD);
    case TN_PAGE_ZOOM_IN:
    case TN_PAGE_ZOOM_OUT:
    case TN_PAGE_ZOOM_FIT:
      if (canvas != NULL)
        tn_picture_view_zoom (TN_PICTURE_VIEW (canvas), verb == TN_PAGE_ZOOM_IN ? 1.25 : verb == TN_PAGE_ZOOM_OUT ? 0.8 : 0);
      return canvas != NULL;
    case TN_PAGE_RELOAD:
      load (self, gtk_drop_down_get_selected (GTK_DROP_DOWN (self->source_drop)), FALSE);
      return TRUE;
    case TN_PAGE_NEXT_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->segmented), 1);
    case TN_PAGE_PREVIOUS_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->segmented), -1);
    default:
      return FALSE;
    }
}

static const char *
tn_page_shard_state (TnPage *page)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  return self->loading != NULL || self->stale ? "loading" : tn_state_pane_get_state (TN_STATE_PANE (self->pane));
}

static GMenuModel *
strategy_menu (void)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) files = g_menu_new ();
  g_autoptr (GMenu) other = g_menu_new ();
  g_menu_append (files, _("Open…"), "shard.open");
  g_menu_append (files, _("Open Folder…"), "shard.open-folder");
  g_menu_append (files, _("Save Strategy…"), "shard.save");
  g_menu_append (other, _("Export…"), "shard.export");
  g_menu_append (other, _("Copy Layout"), "shard.copy");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (files));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (other));
  return G_MENU_MODEL (menu);
}

static void
build_tools (TnPageShard *self)
{
  static const GActionEntry entries[] = {
    { "open", open_action, NULL, NULL, NULL, { 0 } },     { "open-folder", open_folder_action, NULL, NULL, NULL, { 0 } }, { "save", save_action, NULL, NULL, NULL, { 0 } },
    { "export", export_action, NULL, NULL, NULL, { 0 } }, { "copy", copy_action, NULL, NULL, NULL, { 0 } },               { "whatif", whatif_action, NULL, NULL, NULL, { 0 } },
  };
  g_autoptr (GMenuModel) menu = strategy_menu ();
  GtkStringList *titles = gtk_string_list_new (NULL);
  self->actions = g_simple_action_group_new ();
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries), self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "shard", G_ACTION_GROUP (self->actions));
  self->segmented = tn_segmented_new (_("View"));
  gtk_widget_set_name (self->segmented, "shard_view_box");
  for (gsize i = 0; i < N_VIEWS; i++)
    {
      g_autofree char *id = g_strdup_printf ("shard_%s_toggle", views[i].id);
      gtk_widget_set_name (tn_segmented_add (TN_SEGMENTED (self->segmented), views[i].id, _(views[i].title)), id);
      gtk_string_list_append (titles, _(views[i].title));
    }
  self->view_drop = tn_shard_named (gtk_drop_down_new (G_LIST_MODEL (titles), NULL), "shard_view_drop", _("View"));
  gtk_widget_set_visible (self->view_drop, FALSE);
  self->sources = gtk_string_list_new (NULL);
  self->compares = gtk_string_list_new (NULL);
  self->source_drop = tn_shard_named (gtk_drop_down_new (G_LIST_MODEL (self->sources), NULL), "shard_source_drop", _("Strategy shown"));
  self->compare_drop = tn_shard_named (gtk_drop_down_new (G_LIST_MODEL (self->compares), NULL), "shard_compare_drop", _("Strategy to compare with"));
  self->menu_button = tn_shard_named (gtk_menu_button_new (), "shard_strategy_menu", _("Strategy files and export"));
  gtk_menu_button_set_label (GTK_MENU_BUTTON (self->menu_button), _("Strategy"));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->menu_button), menu);
  GtkWidget *spacer = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (spacer, TRUE);
  GtkWidget *tools[] = { self->segmented, self->view_drop, self->source_drop, self->compare_drop, spacer, self->menu_button };
  for (gsize i = 0; i < G_N_ELEMENTS (tools); i++)
    tn_page_add_tool (TN_PAGE (self), tools[i]);
  g_signal_connect_object (self->segmented, "notify::active-id", G_CALLBACK (view_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->view_drop, "notify::selected", G_CALLBACK (view_drop_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->source_drop, "notify::selected", G_CALLBACK (source_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->compare_drop, "notify::selected", G_CALLBACK (compare_cb), self, G_CONNECT_SWAPPED);
}

static void
tn_page_shard_build (TnPage *page)
{
  TnPageShard *self = TN_PAGE_SHARD (page);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  build_tools (self);
  self->stack = gtk_stack_new ();
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  GtkWidget *scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->stack);
  self->pane = tn_state_pane_new (scroller);
  gtk_widget_set_vexpand (self->pane, TRUE);
  self->note = gtk_label_new (NULL);
  gtk_widget_set_name (self->note, "shard_note_label");
  gtk_label_set_wrap (GTK_LABEL (self->note), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->note), 0);
  gtk_label_set_lines (GTK_LABEL (self->note), 2);
  gtk_label_set_ellipsize (GTK_LABEL (self->note), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->note, "dim-label");
  g_object_set (self->note, "margin-start", 12, "margin-end", 12, "margin-top", 4, "margin-bottom", 4, "visible", FALSE, NULL);
  gtk_box_append (GTK_BOX (box), self->note);
  gtk_box_append (GTK_BOX (box), self->pane);
  tn_page_set_content (page, box);
  view_cb (self);
}

static void
tn_page_shard_dispose (GObject *object)
{
  TnPageShard *self = TN_PAGE_SHARD (object);
  if (self->loading != NULL)
    g_cancellable_cancel (self->loading);
  if (self->comparing != NULL)
    g_cancellable_cancel (self->comparing);
  g_clear_object (&self->loading);
  g_clear_object (&self->comparing);
  G_OBJECT_CLASS (tn_page_shard_parent_class)->dispose (object);
}

static void
tn_page_shard_finalize (GObject *object)
{
  TnPageShard *self = TN_PAGE_SHARD (object);
  g_clear_pointer (&self->plan, tn_shard_plan_unref);
  g_clear_pointer (&self->other, tn_shard_plan_unref);
  g_ptr_array_unref (self->files);
  g_clear_object (&self->actions);
  G_OBJECT_CLASS (tn_page_shard_parent_class)->finalize (object);
}

static void
tn_page_shard_class_init (TnPageShardClass *klass)
{
  TnPageClass *page_class = TN_PAGE_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_page_shard_dispose;
  G_OBJECT_CLASS (klass)->finalize = tn_page_shard_finalize;
  page_class->build = tn_page_shard_build;
  page_class->document_changed = tn_page_shard_document_changed;
  page_class->edited = tn_page_shard_edited;
  page_class->selection_changed = tn_page_shard_selection_changed;
  page_class->width_changed = tn_page_shard_width_changed;
  page_class->verbs = tn_page_shard_verbs;
  page_class->perform = tn_page_shard_perform;
  page_class->state = tn_page_shard_state;
}

static void
tn_page_shard_init (TnPageShard *self)
{
  self->files = g_ptr_array_new_with_free_func (g_free);
}

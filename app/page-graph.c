/* SPDX-License-Identifier: Apache-2.0 */
#include "page-graph.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>

#include "application.h"
#include "base/durable.h"
#include "draw/graph-export.h"
#include "graph-source.h"
#include "graph-table.h"
#include "graph-view.h"
#include "ir/ir-writer.h"
#include "segmented.h"
#include "state-pane.h"

#define TREE_WIDTH 210
#define MAX_HITS 60

struct _TnPageGraph
{
  TnPage parent_instance;
  GtkWidget *source_drop, *phases, *overlay_drop, *find, *hits, *hit_list, *hit_none, *compare_drop, *menu_button, *context_menu;
  GtkWidget *view, *table, *table_pane, *separator, *pane;
  GtkStringList *source_names, *compare_names;
  GPtrArray *sources, *files; /* TnGraphSource; files: opened by hand, kept */
  GSimpleActionGroup *actions;
  TnLoadedGraph *loaded;
  GCancellable *cancellable;
  TnRun *watched; /* asked for times */
  GArray *found;
  guint found_at;
  gboolean filling;
  char *pending_node;
};

G_DEFINE_FINAL_TYPE (TnPageGraph, tn_page_graph, TN_TYPE_PAGE)

static TnGraphView *
view_of (TnPageGraph *self)
{
  return TN_GRAPH_VIEW (self->view);
}

/* ---- what is shown ---- */

static void
apply_settings (TnPageGraph *self)
{
  TnGraphFolds *folds = tn_graph_view_folds (view_of (self));
  GSettings *settings = tn_application_settings ();
  if (folds == NULL)
    return;
  folds->show.max_boxes = (int) g_settings_get_uint (settings, "graph-max-boxes");
  folds->show.to_right = g_settings_get_enum (settings, "graph-direction") != 0;
  folds->show.parameters = g_settings_get_boolean (settings, "graph-show-parameters");
  tn_graph_view_set_seconds (view_of (self), (int) g_settings_get_uint (settings, "graph-layout-seconds"));
}

static TnGraphPhases
chosen_phases (TnPageGraph *self)
{
  const char *id = tn_segmented_get_active_id (TN_SEGMENTED (self->phases));
  return g_strcmp0 (id, "forward") == 0 ? TN_SHOW_FORWARD : g_strcmp0 (id, "backward") == 0 ? TN_SHOW_BACKWARD : TN_SHOW_ALL;
}

static void
phases_cb (TnPageGraph *self)
{
  TnGraphFolds *folds = tn_graph_view_folds (view_of (self));
  if (folds == NULL)
    return;
  folds->show.phases = chosen_phases (self);
  tn_graph_view_update (view_of (self));
}

static TnOverlayKind
chosen_overlay (TnPageGraph *self)
{
  static const TnOverlayKind kinds[] = { TN_OVERLAY_NONE, TN_OVERLAY_TIME, TN_OVERLAY_MEMORY, TN_OVERLAY_FLOPS, TN_OVERLAY_DTYPE };
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->overlay_drop));
  return at < G_N_ELEMENTS (kinds) ? kinds[at] : TN_OVERLAY_NONE;
}

static const TnGraphSource *
shown_source (TnPageGraph *self)
{
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->source_drop));
  return at < self->sources->len ? self->sources->pdata[at] : NULL;
}

/* Means over 20 steps by the trainer; its ids are those of the graph as the passes left it. */
static void
node_times_cb (TnPageGraph *self, TnNodeTimesReport *report)
{
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  const TnGraphSource *source = shown_source (self);
  if (document == NULL || source == NULL || source->kind == TN_GRAPH_SOURCE_FILE || !source->optimized || chosen_overlay (self) != TN_OVERLAY_TIME)
    return;
  g_autofree double *values = g_new (double, document->n_items + 1);
  for (int i = 0; i < document->n_items; i++)
    values[i] = NAN;
  for (guint k = 0; k < report->n; k++)
    if (report->ids[k] < (guint32) document->n_items && document->items[report->ids[k]].order == (int) report->ids[k])
      values[report->ids[k]] = report->mean_ns[k];
  g_autofree char *when = g_strdup_printf (_ ("measured up to step %" PRId64), report->step);
  tn_graph_table_set_overlay (TN_GRAPH_TABLE (self->table), NULL);
  tn_graph_view_set_overlay (view_of (self), tn_graph_overlay_new_times (document, values, when));
  tn_graph_table_set_overlay (TN_GRAPH_TABLE (self->table), tn_graph_view_overlay (view_of (self)));
}

static void
watch_times (TnPageGraph *self, gboolean on)
{
  TnRun *run = on ? tn_page_run (TN_PAGE (self)) : NULL;
  if (self->watched == run)
    return;
  if (self->watched != NULL)
    {
      g_signal_handlers_disconnect_by_func (self->watched, node_times_cb, self);
      if (tn_run_is_connected (self->watched))
        tn_run_call_async (self->watched, "WatchTimes", g_variant_new ("(b)", FALSE), NULL, NULL, NULL);
    }
  g_set_object (&self->watched, run);
  if (run == NULL)
    return;
  g_signal_connect_object (run, "node-times", G_CALLBACK (node_times_cb), self, G_CONNECT_SWAPPED);
  if (tn_run_is_connected (run))
    tn_run_call_async (run, "WatchTimes", g_variant_new ("(b)", TRUE), NULL, NULL, NULL);
}

static void
overlay_cb (TnPageGraph *self)
{
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  gboolean time = chosen_overlay (self) == TN_OVERLAY_TIME;
  TnRun *run = tn_page_run (TN_PAGE (self));
  watch_times (self, time);
  if (time && (run == NULL || !tn_run_is_connected (run)))
    tn_page_toast (TN_PAGE (self), _ ("Times appear while a run trains"));
  tn_graph_table_set_overlay (TN_GRAPH_TABLE (self->table), NULL);
  tn_graph_view_set_overlay (view_of (self), document != NULL ? tn_graph_overlay_new (document, chosen_overlay (self)) : NULL);
  tn_graph_table_set_overlay (TN_GRAPH_TABLE (self->table), tn_graph_view_overlay (view_of (self)));
}

/* In a narrow window the keys do it. */
static void
show_phases (TnPageGraph *self)
{
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  gtk_widget_set_visible (self->phases, document != NULL && document->has_phases && tn_page_width (TN_PAGE (self)) != TN_WIDTH_COMPACT);
}

static void
show_document (TnPageGraph *self, TnGraphDocument *document, const guint8 *changes)
{
  tn_graph_table_set_document (TN_GRAPH_TABLE (self->table), document);
  tn_graph_view_set_document (view_of (self), document, changes);
  show_phases (self);
  if (document == NULL)
    return;
  apply_settings (self);
  TnGraphFolds *folds = tn_graph_view_folds (view_of (self));
  folds->show.phases = document->has_phases ? chosen_phases (self) : TN_SHOW_ALL;
  tn_graph_folds_reset (folds);
  tn_graph_view_update (view_of (self));
  overlay_cb (self);
  tn_state_pane_set_content (TN_STATE_PANE (self->pane));
  if (document->note != NULL)
    tn_page_toast (TN_PAGE (self), document->note);
  if (self->pending_node != NULL)
    {
      int item = tn_graph_document_find (document, self->pending_node);
      if (item >= 0)
        tn_graph_view_reveal (view_of (self), item);
      g_clear_pointer (&self->pending_node, g_free);
    }
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
show_empty (TnPageGraph *self)
{
  show_document (self, NULL, NULL);
  tn_state_pane_set_empty (TN_STATE_PANE (self->pane), "tn-graph-symbolic", _ ("No graph"),
                           _ ("The graph appears when a project is open. A graph of another program can be opened too."), _ ("Open…"), "graphpage.open");
}

/* ---- loading ---- */

typedef struct
{
  GWeakRef page;
  GCancellable *cancellable;
  gboolean is_other; /* to compare with */
} Loading;

static void
loading_free (Loading *loading)
{
  g_weak_ref_clear (&loading->page);
  g_object_unref (loading->cancellable);
  g_free (loading);
}

static void
show_comparison (TnPageGraph *self, TnGraphDocument *other)
{
  g_autoptr (TnGraphComparison) comparison = tn_graph_compare (self->loaded->document, other);
  show_document (self, comparison->document, comparison->changes);
  g_autofree char *text = g_strdup_printf (_ ("%d added, %d removed, %d changed"), comparison->n_added, comparison->n_removed, comparison->n_changed);
  tn_page_toast (TN_PAGE (self), text);
}

static void
loaded_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Loading *loading = user_data;
  g_autoptr (GError) error = NULL;
  TnLoadedGraph *loaded = tn_graph_source_load_finish (result, &error);
  g_autoptr (TnPageGraph) self = g_weak_ref_get (&loading->page);
  gboolean current = self != NULL && self->cancellable == loading->cancellable;
  if (current)
    g_clear_object (&self->cancellable);
  if (current && loaded == NULL)
    {
      if (loading->is_other)
        tn_page_toast (TN_PAGE (self), error->message);
      else
        tn_state_pane_set_failed (TN_STATE_PANE (self->pane), _ ("There is no graph to show"), error->message, _ ("Open…"), "graphpage.open");
    }
  else if (current && loading->is_other && self->loaded != NULL)
    show_comparison (self, loaded->document);
  else if (current)
    {
      g_clear_pointer (&self->loaded, tn_loaded_graph_free);
      self->loaded = g_steal_pointer (&loaded);
      show_document (self, self->loaded->document, NULL);
    }
  if (loaded != NULL)
    tn_loaded_graph_free (loaded);
  loading_free (loading);
}

static void
begin_loading (TnPageGraph *self, const TnGraphSource *source, gboolean is_other)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  self->cancellable = g_cancellable_new ();
  Loading *loading = g_new0 (Loading, 1);
  g_weak_ref_init (&loading->page, self);
  loading->cancellable = g_object_ref (self->cancellable);
  loading->is_other = is_other;
  if (tn_graph_view_document (view_of (self)) == NULL)
    tn_state_pane_set_loading (TN_STATE_PANE (self->pane), _ ("Building the graph"), -1);
  tn_graph_source_load_async (source, self->cancellable, loaded_cb, loading);
}

static void
load_source (TnPageGraph *self, guint at)
{
  if (at >= self->sources->len)
    {
      show_empty (self);
      return;
    }
  begin_loading (self, self->sources->pdata[at], FALSE);
}

/* ---- sources ---- */

static void
add_source (TnPageGraph *self, TnGraphSource *source)
{
  g_ptr_array_add (self->sources, source);
  gtk_string_list_append (self->source_names, source->title);
  gtk_string_list_append (self->compare_names, source->title);
}

static void
clear_list (GtkStringList *list)
{
  gtk_string_list_splice (list, 0, g_list_model_get_n_items (G_LIST_MODEL (list)), NULL);
}

static void
fill_sources (TnPageGraph *self)
{
  TnDocument *document = tn_page_document (TN_PAGE (self));
  const char *run = tn_run_control_path (tn_page_control (TN_PAGE (self)));
  g_autofree char *was = NULL;
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->source_drop));
  if (at < self->sources->len)
    was = g_strdup (((TnGraphSource *) self->sources->pdata[at])->path);
  self->filling = TRUE;
  g_ptr_array_set_size (self->sources, 0);
  clear_list (self->source_names);
  clear_list (self->compare_names);
  gtk_string_list_append (self->compare_names, _ ("No comparison"));
  if (document != NULL)
    {
      add_source (self, tn_graph_source_new (TN_GRAPH_SOURCE_PROJECT, tn_document_path (document), TRUE, _ ("Project, optimized")));
      add_source (self, tn_graph_source_new (TN_GRAPH_SOURCE_PROJECT, tn_document_path (document), FALSE, _ ("Project, as built")));
    }
  if (run != NULL)
    {
      g_autofree char *name = g_path_get_basename (run);
      g_autofree char *folder = g_build_filename (run, "graphs", NULL);
      add_source (self, tn_graph_source_new (TN_GRAPH_SOURCE_RUN, run, TRUE, name));
      g_autoptr (GPtrArray) dumps = tn_graph_sources_in (folder);
      for (guint i = 0; i < dumps->len; i++)
        {
          const TnGraphSource *dump = dumps->pdata[i];
          add_source (self, tn_graph_source_new (dump->kind, dump->path, FALSE, dump->title));
        }
    }
  for (guint i = 0; i < self->files->len; i++)
    {
      const TnGraphSource *file = self->files->pdata[i];
      add_source (self, tn_graph_source_new (file->kind, file->path, FALSE, file->title));
    }
  guint chosen = 0;
  for (guint i = 0; i < self->sources->len && was != NULL; i++)
    if (g_strcmp0 (((TnGraphSource *) self->sources->pdata[i])->path, was) == 0)
      {
        chosen = i;
        break;
      }
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->source_drop), self->sources->len > 0 ? chosen : GTK_INVALID_LIST_POSITION);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->compare_drop), 0);
  self->filling = FALSE;
  load_source (self, chosen);
}

static void
source_cb (TnPageGraph *self)
{
  if (!self->filling)
    load_source (self, gtk_drop_down_get_selected (GTK_DROP_DOWN (self->source_drop)));
}

static void
compare_cb (TnPageGraph *self)
{
  guint at = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->compare_drop));
  if (self->filling || self->loaded == NULL)
    return;
  if (at == 0 || at > self->sources->len)
    show_document (self, self->loaded->document, NULL);
  else
    begin_loading (self, self->sources->pdata[at - 1], TRUE);
}

void
tn_page_graph_open_file (TnPageGraph *self, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_ptr_array_add (self->files, tn_graph_source_new (TN_GRAPH_SOURCE_FILE, path, FALSE, name));
  self->filling = TRUE;
  add_source (self, tn_graph_source_new (TN_GRAPH_SOURCE_FILE, path, FALSE, name));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->source_drop), self->sources->len - 1);
  self->filling = FALSE;
  load_source (self, self->sources->len - 1);
}

/* ---- search ---- */

static void
hide_hits (TnPageGraph *self)
{
  gtk_popover_popdown (GTK_POPOVER (self->hits));
}

static GtkWidget *
hit_row (const TnGraphDocument *document, int item)
{
  const TnGraphItem *it = &document->items[item];
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *name = gtk_label_new (it->label), *where = gtk_label_new (NULL);
  g_autofree char *text = g_strdup_printf ("%s  %s  %s", it->op, it->shape, it->scope >= 0 ? document->scopes[it->scope].path : "");
  gtk_label_set_text (GTK_LABEL (where), text);
  gtk_label_set_xalign (GTK_LABEL (name), 0);
  gtk_label_set_xalign (GTK_LABEL (where), 0);
  gtk_label_set_ellipsize (GTK_LABEL (where), PANGO_ELLIPSIZE_START);
  gtk_label_set_max_width_chars (GTK_LABEL (where), 46);
  gtk_widget_add_css_class (where, "dim-label");
  gtk_widget_add_css_class (where, "caption");
  gtk_box_append (GTK_BOX (box), name);
  gtk_box_append (GTK_BOX (box), where);
  return box;
}

static void
search_cb (TnPageGraph *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->find));
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  for (GtkWidget *row; (row = gtk_widget_get_first_child (self->hit_list)) != NULL;)
    gtk_list_box_remove (GTK_LIST_BOX (self->hit_list), row);
  g_clear_pointer (&self->found, g_array_unref);
  self->found_at = 0;
  if (document == NULL || text[0] == '\0')
    {
      hide_hits (self);
      return;
    }
  int all = 0;
  self->found = tn_graph_search (document, text, MAX_HITS, &all);
  for (guint i = 0; i < self->found->len; i++)
    gtk_list_box_append (GTK_LIST_BOX (self->hit_list), hit_row (document, g_array_index (self->found, int, i)));
  g_autofree char *note = all == 0 ? g_strdup_printf (_ ("Nothing named “%s”"), text)
                          : all > MAX_HITS ? g_strdup_printf (_ ("%d of %d shown"), MAX_HITS, all) : NULL;
  gtk_label_set_text (GTK_LABEL (self->hit_none), note != NULL ? note : "");
  gtk_widget_set_visible (self->hit_none, note != NULL);
  gtk_popover_popup (GTK_POPOVER (self->hits));
}

static gboolean
go_to_hit (TnPageGraph *self, guint at)
{
  if (self->found == NULL || self->found->len == 0)
    return FALSE;
  self->found_at = at % self->found->len;
  hide_hits (self);
  tn_graph_view_reveal (view_of (self), g_array_index (self->found, int, self->found_at));
  return TRUE;
}

static void
find_activate_cb (TnPageGraph *self)
{
  if (go_to_hit (self, 0))
    gtk_widget_grab_focus (self->view);
}

static void
hit_activated_cb (TnPageGraph *self, GtkListBoxRow *row)
{
  go_to_hit (self, (guint) gtk_list_box_row_get_index (row));
  gtk_widget_grab_focus (self->view);
}

/* ---- selection ---- */

static void
selected_cb (TnPageGraph *self)
{
  int scope, item = tn_graph_view_selected (view_of (self), &scope);
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  TnSelection *selection = tn_page_selection (TN_PAGE (self));
  tn_graph_table_show (TN_GRAPH_TABLE (self->table), item, scope);
  if (item >= 0 && document->items[item].kind == TN_ITEM_PARAMETER)
    tn_selection_set_text (selection, TN_SELECTION_PARAMETER, document->items[item].name);
  else if (item >= 0)
    tn_selection_set_text (selection, TN_SELECTION_NODE, document->items[item].name);
  else
    tn_selection_set_text (selection, TN_SELECTION_NODE, scope >= 0 ? document->scopes[scope].path : NULL);
  tn_page_verbs_changed (TN_PAGE (self));
}

static void
picked_cb (TnPageGraph *self, int item, int scope)
{
  if (item >= 0)
    tn_graph_view_reveal (view_of (self), item);
  else
    tn_graph_view_select_scope (view_of (self), scope, TRUE);
}

static void
activated_cb (TnPageGraph *self, int item, int scope)
{
  if (scope >= 0)
    {
      tn_graph_folds_open (tn_graph_view_folds (view_of (self)), scope);
      tn_graph_view_update (view_of (self));
    }
  gtk_widget_grab_focus (self->view);
}

static void
tn_page_graph_selection_changed (TnPage *page, guint mask)
{
  TnPageGraph *self = TN_PAGE_GRAPH (page);
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  const char *node = tn_selection_get_text (tn_page_selection (page), TN_SELECTION_NODE);
  const char *parameter = tn_selection_get_text (tn_page_selection (page), TN_SELECTION_PARAMETER);
  const char *name = mask & TN_SELECTION_PARAMETER && parameter != NULL ? parameter : mask & TN_SELECTION_NODE ? node : NULL;
  int scope, item = tn_graph_view_selected (view_of (self), &scope);
  if (name == NULL || (document != NULL && item >= 0 && g_strcmp0 (document->items[item].name, name) == 0)
      || (document != NULL && item < 0 && scope >= 0 && g_strcmp0 (document->scopes[scope].path, name) == 0))
    return;
  int found = document != NULL ? tn_graph_document_find (document, name) : -1;
  if (found >= 0)
    tn_graph_view_reveal (view_of (self), found);
  else if (document == NULL)
    {
      g_free (self->pending_node);
      self->pending_node = g_strdup (name);
    }
}

static void
said_cb (TnPageGraph *self, const char *text)
{
  tn_page_toast (TN_PAGE (self), text);
}

static void
menu_cb (TnPageGraph *self, double x, double y)
{
  gtk_popover_set_pointing_to (GTK_POPOVER (self->context_menu), &(GdkRectangle){ (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->context_menu));
}

/* ---- files ---- */

static void
set_filters (GtkFileChooser *chooser, const char *const *patterns, const char *name)
{
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  gtk_file_filter_set_name (filter, name);
  for (int i = 0; patterns[i] != NULL; i++)
    gtk_file_filter_add_pattern (filter, patterns[i]);
  gtk_file_chooser_add_filter (chooser, filter);
}

static void
open_response_cb (TnPageGraph *self, int response, GtkNativeDialog *dialog)
{
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
      if (path != NULL)
        tn_page_graph_open_file (self, path);
    }
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

static void
open_action (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  TnPageGraph *self = user_data;
  static const char *const patterns[] = { "*.ir", "*.dot", "*.gv", "*.onnx", NULL };
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (_ ("Open a Graph"), GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), GTK_FILE_CHOOSER_ACTION_OPEN, _ ("_Open"), NULL);
  set_filters (GTK_FILE_CHOOSER (dialog), patterns, _ ("Graphs (.ir, .dot, .onnx)"));
  g_signal_connect_object (dialog, "response", G_CALLBACK (open_response_cb), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static gboolean
write_text (const char *path, char *text, GError **error)
{
  gboolean done = tn_durable_write (path, text, strlen (text), error);
  g_free (text);
  return done;
}

/* By the ending of the name: text has the whole graph, pictures what is open now. */
static gboolean
export_to (TnPageGraph *self, const char *path, GError **error)
{
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  if (g_str_has_suffix (path, ".dot"))
    return write_text (path, tn_graph_document_to_dot (document), error);
  if (g_str_has_suffix (path, ".csv"))
    return write_text (path, tn_graph_document_to_csv (document), error);
  if (g_str_has_suffix (path, ".json"))
    return write_text (path, tn_graph_document_to_json (document), error);
  if (g_str_has_suffix (path, ".ir") && self->loaded != NULL && self->loaded->graph != NULL)
    return tn_ir_write (self->loaded->graph, path, error);
  TnPictureFormat format;
  if (!tn_picture_format_from_path (path, &format, error))
    return FALSE;
  TnGraphPicture picture = tn_graph_view_picture (view_of (self));
  return tn_graph_export_picture (&picture, tn_palette_get (TN_PALETTE_LIGHT), format, 2, path, error);
}

static void
save_response_cb (TnPageGraph *self, int response, GtkNativeDialog *dialog)
{
  if (response == GTK_RESPONSE_ACCEPT && tn_graph_view_cut (view_of (self)) != NULL)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
      if (path != NULL && !export_to (self, path, &error))
        tn_page_toast (TN_PAGE (self), error->message);
      else if (path != NULL)
        {
          g_autofree char *name = g_path_get_basename (path);
          g_autofree char *text = g_strdup_printf (_ ("Saved as %s"), name);
          tn_page_toast (TN_PAGE (self), text);
        }
    }
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

static void
export_graph (TnPageGraph *self)
{
  static const char *const patterns[] = { "*.svg", "*.pdf", "*.png", "*.dot", "*.ir", "*.csv", "*.json", NULL };
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (_ ("Export the Graph"), GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), GTK_FILE_CHOOSER_ACTION_SAVE, _ ("_Export"), NULL);
  g_autofree char *name = g_strconcat (tn_graph_view_document (view_of (self))->name, ".svg", NULL);
  g_strdelimit (name, "/", '_');
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), name);
  set_filters (GTK_FILE_CHOOSER (dialog), patterns, _ ("SVG, PDF, PNG, .dot, .ir, CSV, JSON"));
  g_signal_connect_object (dialog, "response", G_CALLBACK (save_response_cb), self, G_CONNECT_SWAPPED);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* ---- copying ---- */

static void
copy_text (TnPageGraph *self, gboolean as_json)
{
  TnGraphDocument *document = tn_graph_view_document (view_of (self));
  int scope, item = tn_graph_view_selected (view_of (self), &scope);
  g_autofree char *json = as_json && item >= 0 ? tn_graph_document_item_json (document, item) : NULL;
  const char *text = json != NULL ? json : item >= 0 ? document->items[item].name : scope >= 0 ? document->scopes[scope].path : NULL;
  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), text);
}

static void
copy_picture (TnPageGraph *self)
{
  TnGraphPicture picture = tn_graph_view_picture (view_of (self));
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = tn_graph_export_bytes (&picture, tn_palette_get (TN_PALETTE_LIGHT), TN_PICTURE_PNG, 2, &error);
  g_autoptr (GdkTexture) texture = bytes != NULL ? gdk_texture_new_from_bytes (bytes, &error) : NULL;
  if (texture != NULL)
    gdk_clipboard_set_texture (gtk_widget_get_clipboard (GTK_WIDGET (self)), texture);
  else
    tn_page_toast (TN_PAGE (self), error->message);
}

static void
copy_action (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  copy_text (user_data, g_strcmp0 (g_action_get_name (G_ACTION (action)), "copy-json") == 0);
}

static void
copy_picture_action (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  copy_picture (user_data);
}

/* ---- the View menu ---- */

/* The canvas has these actions; menus outside of it reach them by the page. */
static void
canvas_action (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  g_autofree char *name = g_strconcat ("graph.", g_action_get_name (G_ACTION (action)), NULL);
  gtk_widget_activate_action (TN_PAGE_GRAPH (user_data)->view, name, NULL);
}

static gboolean *
flag_of (TnPageGraph *self, const char *name)
{
  TnGraphFolds *folds = tn_graph_view_folds (view_of (self));
  if (folds == NULL)
    return NULL;
  return g_strcmp0 (name, "parameters") == 0  ? &folds->show.parameters
         : g_strcmp0 (name, "constants") == 0 ? &folds->show.constants
         : g_strcmp0 (name, "control") == 0   ? &folds->show.control
         : g_strcmp0 (name, "tunnels") == 0   ? &folds->show.tunnels
         : g_strcmp0 (name, "fold") == 0      ? &folds->show.fold
                                              : &folds->show.to_right;
}

static void
flag_changed_cb (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  TnPageGraph *self = user_data;
  const char *name = g_action_get_name (G_ACTION (action));
  gboolean on = g_variant_get_boolean (value), *flag = flag_of (self, name);
  g_simple_action_set_state (action, value);
  if (g_strcmp0 (name, "parameters") == 0)
    g_settings_set_boolean (tn_application_settings (), "graph-show-parameters", on);
  else if (g_strcmp0 (name, "right") == 0)
    g_settings_set_enum (tn_application_settings (), "graph-direction", on ? 1 : 0);
  if (g_strcmp0 (name, "minimap") == 0)
    tn_graph_view_set_minimap (view_of (self), on);
  else if (flag != NULL)
    {
      *flag = on;
      tn_graph_view_update (view_of (self));
    }
}

static void
toggle_parameters (TnPageGraph *self)
{
  g_action_group_activate_action (G_ACTION_GROUP (self->actions), "parameters", NULL);
}

static void
add_flag (TnPageGraph *self, const char *name, gboolean on)
{
  g_autoptr (GSimpleAction) action = g_simple_action_new_stateful (name, NULL, g_variant_new_boolean (on));
  g_signal_connect (action, "change-state", G_CALLBACK (flag_changed_cb), self);
  g_action_map_add_action (G_ACTION_MAP (self->actions), G_ACTION (action));
}

static void
add_actions (TnPageGraph *self)
{
  static const GActionEntry entries[] = {
    { "open", open_action, NULL, NULL, NULL, { 0 } },
    { "copy-name", copy_action, NULL, NULL, NULL, { 0 } },
    { "copy-json", copy_action, NULL, NULL, NULL, { 0 } },
    { "copy-picture", copy_picture_action, NULL, NULL, NULL, { 0 } },
    { "expand-all", canvas_action, NULL, NULL, NULL, { 0 } },
    { "collapse-all", canvas_action, NULL, NULL, NULL, { 0 } },
    { "reset", canvas_action, NULL, NULL, NULL, { 0 } },
  };
  GSettings *settings = tn_application_settings ();
  self->actions = g_simple_action_group_new ();
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries), self);
  add_flag (self, "parameters", g_settings_get_boolean (settings, "graph-show-parameters"));
  add_flag (self, "constants", FALSE);
  add_flag (self, "control", FALSE);
  add_flag (self, "tunnels", TRUE);
  add_flag (self, "fold", TRUE);
  add_flag (self, "minimap", TRUE);
  add_flag (self, "right", g_settings_get_enum (settings, "graph-direction") != 0);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "graphpage", G_ACTION_GROUP (self->actions));
}

static GMenuModel *
view_menu (void)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) show = g_menu_new ();
  g_autoptr (GMenu) how = g_menu_new ();
  g_autoptr (GMenu) open = g_menu_new ();
  g_autoptr (GMenu) compare = g_menu_new ();
  g_autoptr (GMenuItem) other = g_menu_item_new (NULL, NULL);
  g_menu_item_set_attribute (other, "custom", "s", "compare");
  g_menu_append_item (compare, other);
  g_menu_append (show, _ ("Parameters"), "graphpage.parameters");
  g_menu_append (show, _ ("Constants"), "graphpage.constants");
  g_menu_append (show, _ ("Order-Only Links"), "graphpage.control");
  g_menu_append (show, _ ("Tunnels"), "graphpage.tunnels");
  g_menu_append (how, _ ("Fold Repeats"), "graphpage.fold");
  g_menu_append (how, _ ("Left to Right"), "graphpage.right");
  g_menu_append (how, _ ("Minimap"), "graphpage.minimap");
  g_menu_append (open, _ ("Expand All"), "graphpage.expand-all");
  g_menu_append (open, _ ("Collapse All"), "graphpage.collapse-all");
  g_menu_append (open, _ ("As at First"), "graphpage.reset");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (show));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (how));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (open));
  g_menu_append_section (menu, _ ("Compare With"), G_MENU_MODEL (compare));
  return G_MENU_MODEL (menu);
}

static GMenuModel *
node_menu (void)
{
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) walk = g_menu_new ();
  g_autoptr (GMenu) trace = g_menu_new ();
  g_autoptr (GMenu) copy = g_menu_new ();
  g_menu_append (walk, _ ("Expand"), "graph.open(false)");
  g_menu_append (walk, _ ("Only This"), "graph.only");
  g_menu_append (trace, _ ("Inputs Of"), "graph.inputs");
  g_menu_append (trace, _ ("Outputs Of"), "graph.outputs");
  g_menu_append (trace, _ ("Path Between Two"), "graph.path");
  g_menu_append (copy, _ ("Copy Name"), "graphpage.copy-name");
  g_menu_append (copy, _ ("Copy as JSON"), "graphpage.copy-json");
  g_menu_append (copy, _ ("Copy Picture"), "graphpage.copy-picture");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (walk));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (trace));
  g_menu_append_section (menu, NULL, G_MENU_MODEL (copy));
  return G_MENU_MODEL (menu);
}

/* ---- page ---- */

static void
tn_page_graph_document_changed (TnPage *page)
{
  fill_sources (TN_PAGE_GRAPH (page));
}

static void
tn_page_graph_run_changed (TnPage *page)
{
  fill_sources (TN_PAGE_GRAPH (page));
}

static void
tn_page_graph_width_changed (TnPage *page, TnWidthClass width)
{
  TnPageGraph *self = TN_PAGE_GRAPH (page);
  gboolean wide = width > TN_WIDTH_MEDIUM;
  gtk_widget_set_visible (self->table_pane, wide);
  gtk_widget_set_visible (self->separator, wide);
  gtk_widget_set_size_request (self->find, width == TN_WIDTH_HUGE ? 220 : 80, -1);
  show_phases (self);
}

static guint
tn_page_graph_verbs (TnPage *page)
{
  TnPageGraph *self = TN_PAGE_GRAPH (page);
  guint verbs = 1 << TN_PAGE_FIND | 1 << TN_PAGE_RELOAD | 1 << TN_PAGE_NEXT_VIEW | 1 << TN_PAGE_PREVIOUS_VIEW;
  if (tn_graph_view_document (view_of (self)) != NULL)
    verbs |= 1 << TN_PAGE_EXPORT | 1 << TN_PAGE_COPY_PICTURE | 1 << TN_PAGE_COPY | 1 << TN_PAGE_ZOOM_IN | 1 << TN_PAGE_ZOOM_OUT | 1 << TN_PAGE_ZOOM_FIT
             | 1 << TN_PAGE_ZOOM_ACTUAL | 1 << TN_PAGE_FIT_SELECTION | 1 << TN_PAGE_FIND_NEXT | 1 << TN_PAGE_FIND_PREVIOUS | 1 << TN_PAGE_TABLE_TWIN;
  return verbs;
}

/* Shows the table where the window is too narrow for it, and goes there. */
static gboolean
go_to_table (TnPageGraph *self)
{
  gboolean in_table = gtk_widget_get_focus_child (self->table_pane) != NULL;
  gtk_widget_set_visible (self->table_pane, TRUE);
  return gtk_widget_child_focus (in_table ? self->view : self->table_pane, GTK_DIR_TAB_FORWARD);
}

static gboolean
tn_page_graph_perform (TnPage *page, TnPageVerb verb)
{
  TnPageGraph *self = TN_PAGE_GRAPH (page);
  TnGraphView *view = view_of (self);
  switch ((int) verb)
    {
    case TN_PAGE_FIND:
      return gtk_widget_grab_focus (self->find);
    case TN_PAGE_FIND_NEXT:
      return go_to_hit (self, self->found_at + 1);
    case TN_PAGE_FIND_PREVIOUS:
      return go_to_hit (self, self->found != NULL && self->found_at == 0 ? self->found->len - 1 : self->found_at - 1);
    case TN_PAGE_EXPORT:
      export_graph (self);
      return TRUE;
    case TN_PAGE_COPY:
      copy_text (self, FALSE);
      return TRUE;
    case TN_PAGE_COPY_PICTURE:
      copy_picture (self);
      return TRUE;
    case TN_PAGE_TABLE_TWIN:
      return go_to_table (self);
    case TN_PAGE_ZOOM_IN:
      tn_graph_view_zoom (view, 1.25);
      return TRUE;
    case TN_PAGE_ZOOM_OUT:
      tn_graph_view_zoom (view, 0.8);
      return TRUE;
    case TN_PAGE_ZOOM_FIT:
      tn_graph_view_fit (view);
      return TRUE;
    case TN_PAGE_ZOOM_ACTUAL:
      tn_graph_view_zoom (view, 0);
      return TRUE;
    case TN_PAGE_FIT_SELECTION:
      tn_graph_view_fit_selection (view);
      return TRUE;
    case TN_PAGE_RELOAD:
      fill_sources (self);
      return TRUE;
    case TN_PAGE_NEXT_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->phases), 1);
    case TN_PAGE_PREVIOUS_VIEW:
      return tn_segmented_move (TN_SEGMENTED (self->phases), -1);
    default:
      return FALSE;
    }
}

static const char *
tn_page_graph_state (TnPage *page)
{
  TnPageGraph *self = TN_PAGE_GRAPH (page);
  if (self->cancellable != NULL || tn_graph_view_is_busy (view_of (self)))
    return "loading";
  return tn_state_pane_get_state (TN_STATE_PANE (self->pane));
}

static GtkWidget *
named (GtkWidget *widget, const char *id, const char *label)
{
  gtk_widget_set_name (widget, id);
  gtk_widget_set_tooltip_text (widget, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return widget;
}

static void
build_search (TnPageGraph *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *scroller = gtk_scrolled_window_new ();
  self->find = named (gtk_search_entry_new (), "graph_find_entry", _ ("Find operators"));
  g_object_set (self->find, "placeholder-text", _ ("Find"), NULL);
  gtk_editable_set_width_chars (GTK_EDITABLE (self->find), 7);
  self->hits = gtk_popover_new ();
  gtk_widget_set_name (self->hits, "graph_find_popover");
  self->hit_list = gtk_list_box_new ();
  self->hit_none = gtk_label_new (NULL);
  gtk_popover_set_autohide (GTK_POPOVER (self->hits), FALSE);
  gtk_widget_set_parent (self->hits, self->find);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->hit_list);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scroller), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroller), 320);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_box_append (GTK_BOX (box), self->hit_none);
  gtk_popover_set_child (GTK_POPOVER (self->hits), box);
  g_signal_connect_object (self->find, "search-changed", G_CALLBACK (search_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->find, "activate", G_CALLBACK (find_activate_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->find, "stop-search", G_CALLBACK (hide_hits), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->hit_list, "row-activated", G_CALLBACK (hit_activated_cb), self, G_CONNECT_SWAPPED);
}

/* Names of files may be long: the list is as wide as it must, the button is not. */
static void
name_setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 24);
  gtk_list_item_set_child (item, label);
}

static void
name_bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkLabel *label = GTK_LABEL (gtk_list_item_get_child (item));
  const char *name = gtk_string_object_get_string (gtk_list_item_get_item (item));
  gtk_label_set_text (label, name);
  gtk_label_set_width_chars (label, (int) MIN (g_utf8_strlen (name, -1), 20)); /* the shorter ones are whole */
}

static void
shorten_names (GtkWidget *drop)
{
  g_autoptr (GtkListItemFactory) factory = gtk_signal_list_item_factory_new (), list_factory = NULL;
  list_factory = g_object_ref (gtk_drop_down_get_factory (GTK_DROP_DOWN (drop)));
  g_signal_connect (factory, "setup", G_CALLBACK (name_setup_cb), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (name_bind_cb), NULL);
  gtk_drop_down_set_factory (GTK_DROP_DOWN (drop), factory);
  gtk_drop_down_set_list_factory (GTK_DROP_DOWN (drop), list_factory);
}

static void
build_tools (TnPageGraph *self)
{
  TnPage *page = TN_PAGE (self);
  const char *overlays[] = { tn_overlay_kind_title (TN_OVERLAY_NONE), tn_overlay_kind_title (TN_OVERLAY_TIME), tn_overlay_kind_title (TN_OVERLAY_MEMORY), tn_overlay_kind_title (TN_OVERLAY_FLOPS),
                             tn_overlay_kind_title (TN_OVERLAY_DTYPE), NULL };
  g_autoptr (GMenuModel) menu = view_menu ();
  self->source_names = gtk_string_list_new (NULL);
  self->compare_names = gtk_string_list_new (NULL);
  self->source_drop = named (gtk_drop_down_new (G_LIST_MODEL (self->source_names), NULL), "graph_source_drop", _ ("Graph"));
  shorten_names (self->source_drop);
  GtkWidget *open = named (gtk_button_new_from_icon_name ("document-open-symbolic"), "graph_open_button", _ ("Open a graph of another program"));
  gtk_actionable_set_action_name (GTK_ACTIONABLE (open), "graphpage.open");
  self->phases = tn_segmented_new (_ ("Phases"));
  gtk_widget_set_name (self->phases, "graph_phase_drop");
  tn_segmented_add (TN_SEGMENTED (self->phases), "forward", _ ("Forward"));
  tn_segmented_add (TN_SEGMENTED (self->phases), "backward", _ ("+ Backward"));
  tn_segmented_add (TN_SEGMENTED (self->phases), "all", _ ("All"));
  tn_segmented_set_active_id (TN_SEGMENTED (self->phases), "backward");
  self->overlay_drop = named (gtk_drop_down_new_from_strings (overlays), "graph_overlay_drop", _ ("Overlay"));
  self->compare_drop = named (gtk_drop_down_new (G_LIST_MODEL (self->compare_names), NULL), "graph_compare_drop", _ ("Compare with"));
  build_search (self);
  self->menu_button = named (gtk_menu_button_new (), "graph_view_menu", _ ("What the graph shows"));
  gtk_menu_button_set_label (GTK_MENU_BUTTON (self->menu_button), _ ("View"));
  GtkWidget *popover = gtk_popover_menu_new_from_model (menu);
  gtk_popover_menu_add_child (GTK_POPOVER_MENU (popover), self->compare_drop, "compare");
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (self->menu_button), popover);
  GtkWidget *spacer = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_hexpand (spacer, TRUE);
  GtkWidget *tools[] = { self->source_drop, open, self->phases, self->overlay_drop, spacer, self->find, self->menu_button };
  for (gsize i = 0; i < G_N_ELEMENTS (tools); i++)
    tn_page_add_tool (page, tools[i]);
  g_signal_connect_object (self->source_drop, "notify::selected", G_CALLBACK (source_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->compare_drop, "notify::selected", G_CALLBACK (compare_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->overlay_drop, "notify::selected", G_CALLBACK (overlay_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->phases, "notify::active-id", G_CALLBACK (phases_cb), self, G_CONNECT_SWAPPED);
}

static gboolean
parameters_key_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  toggle_parameters (TN_PAGE_GRAPH (user_data));
  return TRUE;
}

static gboolean
phases_key_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPageGraph *self = TN_PAGE_GRAPH (user_data);
  static const char *const ids[] = { "forward", "backward", "all" };
  tn_segmented_set_active_id (TN_SEGMENTED (self->phases), ids[(chosen_phases (self) + 1) % 3]);
  return TRUE;
}

static void
add_keys (TnPageGraph *self)
{
  GtkEventController *keys = gtk_shortcut_controller_new ();
  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (keys),
                                        gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_d, GDK_CONTROL_MASK), gtk_callback_action_new (parameters_key_cb, self, NULL)));
  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (keys), gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_f, GDK_CONTROL_MASK | GDK_SHIFT_MASK),
                                                                                         gtk_callback_action_new (phases_key_cb, self, NULL)));
  gtk_widget_add_controller (self->view, keys);
}

static void
tn_page_graph_build (TnPage *page)
{
  TnPageGraph *self = TN_PAGE_GRAPH (page);
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  g_autoptr (GMenuModel) menu = node_menu ();
  add_actions (self);
  self->view = tn_graph_view_new ();
  gtk_widget_set_name (self->view, "graph_canvas");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Graph canvas"), -1);
  self->table = tn_graph_table_new ();
  named (self->table, "graph_table", _ ("Graph table"));
  gtk_widget_set_tooltip_text (self->table, NULL);
  tn_graph_table_set_narrow (TN_GRAPH_TABLE (self->table), TRUE);
  self->table_pane = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_size_request (self->table_pane, TREE_WIDTH, -1);
  gtk_box_append (GTK_BOX (self->table_pane), self->table);
  self->separator = gtk_separator_new (GTK_ORIENTATION_VERTICAL);
  self->pane = tn_state_pane_new (self->view);
  gtk_widget_set_hexpand (self->pane, TRUE);
  gtk_box_append (GTK_BOX (content), self->table_pane);
  gtk_box_append (GTK_BOX (content), self->separator);
  gtk_box_append (GTK_BOX (content), self->pane);
  build_tools (self);
  self->context_menu = gtk_popover_menu_new_from_model (menu);
  gtk_widget_set_parent (self->context_menu, self->view);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->context_menu), FALSE);
  gtk_widget_set_halign (self->context_menu, GTK_ALIGN_START);
  add_keys (self);
  g_signal_connect_object (self->view, "selected", G_CALLBACK (selected_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->view, "said", G_CALLBACK (said_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->view, "menu", G_CALLBACK (menu_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->table, "picked", G_CALLBACK (picked_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->table, "activated", G_CALLBACK (activated_cb), self, G_CONNECT_SWAPPED);
  tn_page_set_content (page, content);
}

static void
tn_page_graph_dispose (GObject *object)
{
  TnPageGraph *self = TN_PAGE_GRAPH (object);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  if (self->watched != NULL)
    watch_times (self, FALSE);
  g_clear_pointer (&self->hits, gtk_widget_unparent);
  g_clear_pointer (&self->context_menu, gtk_widget_unparent);
  g_clear_pointer (&self->loaded, tn_loaded_graph_free);
  G_OBJECT_CLASS (tn_page_graph_parent_class)->dispose (object);
}

static void
tn_page_graph_finalize (GObject *object)
{
  TnPageGraph *self = TN_PAGE_GRAPH (object);
  g_clear_pointer (&self->found, g_array_unref);
  g_ptr_array_unref (self->sources);
  g_ptr_array_unref (self->files);
  g_clear_object (&self->actions);
  g_free (self->pending_node);
  G_OBJECT_CLASS (tn_page_graph_parent_class)->finalize (object);
}

static void
tn_page_graph_class_init (TnPageGraphClass *class)
{
  TnPageClass *page_class = TN_PAGE_CLASS (class);
  G_OBJECT_CLASS (class)->dispose = tn_page_graph_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_page_graph_finalize;
  page_class->build = tn_page_graph_build;
  page_class->document_changed = tn_page_graph_document_changed;
  page_class->run_changed = tn_page_graph_run_changed;
  page_class->selection_changed = tn_page_graph_selection_changed;
  page_class->width_changed = tn_page_graph_width_changed;
  page_class->verbs = tn_page_graph_verbs;
  page_class->perform = tn_page_graph_perform;
  page_class->state = tn_page_graph_state;
}

static void
tn_page_graph_init (TnPageGraph *self)
{
  self->sources = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_graph_source_free);
  self->files = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_graph_source_free);
}

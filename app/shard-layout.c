/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-layout.h"
#include <inttypes.h>

#include <glib/gi18n.h>
#include <string.h>

#include "base/json.h"
#include "parallel/shard-graph.h"
#include "format.h"
#include "shard-view.h"

#define MAX_AXES 6
#define MAX_CHOICES 64

struct _TnShardLayout
{
  AdwBin parent_instance;
  GtkWidget *box, *axes, *add, *dims, *level_drop, *verdict, *apply, *revert, *form, *told;
  GPtrArray *map_drops; /* GtkDropDown, one a dimension */
  TnDocument *document;
  TnShardPlan *plan;
  int item;
  GCancellable *checking;
  guint wait;
  gboolean filling, legal;
  char *mesh, *strategy; /* what Apply sets */
};

G_DEFINE_FINAL_TYPE (TnShardLayout, tn_shard_layout, ADW_TYPE_BIN)

TnShardRequest *
tn_shard_request_for (TnDocument *document)
{
  TnShardRequest *request = tn_shard_request_new ();
  g_autoptr (JsonNode) node = json_node_alloc ();
  JsonNode *network = tn_document_network (document);
  json_node_init_object (node, tn_settings_to_json (tn_document_settings (document), FALSE));
  json_object_unref (json_node_get_object (node));
  request->path = g_strdup (tn_document_path (document));
  request->settings = tn_json_to_text (node, 0);
  request->network = network != NULL ? tn_json_to_text (network, 0) : NULL;
  return request;
}

static const TnShardItem *
item_of (TnShardLayout *self)
{
  const TnShardItem *item = self->plan != NULL && self->item >= 0 ? tn_shard_plan_item (self->plan, (guint) self->item) : NULL;
  return item != NULL && item->cell != NULL ? item : NULL;
}

static void
say (TnShardLayout *self, const char *text, gboolean wrong)
{
  tn_shard_say (self->verdict, text);
  if (wrong)
    gtk_widget_add_css_class (self->verdict, "error");
  else
    gtk_widget_remove_css_class (self->verdict, "error");
  gtk_accessible_update_state (GTK_ACCESSIBLE (self->axes), GTK_ACCESSIBLE_STATE_INVALID, wrong ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
}

static void
set_legal (TnShardLayout *self, gboolean legal)
{
  self->legal = legal;
  gtk_widget_set_sensitive (self->apply, legal && self->document != NULL && !tn_document_is_read_only (self->document));
}

/* ---- what is in the form ---- */

static char *
mesh_text (TnShardLayout *self)
{
  GString *text = g_string_new (NULL);
  for (GtkWidget *row = gtk_widget_get_first_child (self->axes); row != NULL; row = gtk_widget_get_next_sibling (row))
    {
      GtkWidget *chip = gtk_flow_box_child_get_child (GTK_FLOW_BOX_CHILD (row)), *name = gtk_widget_get_first_child (chip), *size = gtk_widget_get_next_sibling (name);
      g_string_append_printf (text, "%s%s=%d", text->len > 0 ? "," : "", gtk_editable_get_text (GTK_EDITABLE (name)), gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (size)));
    }
  return g_string_free (text, FALSE);
}

/* The choices of a dimension: nothing, every axis, every pair in both orders; the same for drop-down and layout. */
static int
choices (const TnMesh *mesh, TnDimMap out[MAX_CHOICES])
{
  int n = 0;
  out[n++] = (TnDimMap){ 0 };
  for (int a = 0; a < mesh->n_axes && n < MAX_CHOICES; a++)
    out[n++] = (TnDimMap){ .n = 1, .axes = { (int8_t) a } };
  for (int a = 0; a < mesh->n_axes; a++)
    for (int b = 0; b < mesh->n_axes && n < MAX_CHOICES; b++)
      if (a != b)
        out[n++] = (TnDimMap){ .n = 2, .tuple = TRUE, .axes = { (int8_t) a, (int8_t) b } };
  return n;
}

static TnMesh *
read_mesh (TnShardLayout *self, GError **error)
{
  g_autofree char *text = mesh_text (self);
  TnMesh *mesh = tn_mesh_parse (text, -1, error);
  if (mesh != NULL && mesh->n_ranks > 16384)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_SIZE, _("%" PRId64 " ranks are more than 16384."), mesh->n_ranks);
      g_clear_pointer (&mesh, tn_mesh_unref);
    }
  return mesh;
}

static TnLayout *
read_layout (TnShardLayout *self, TnMesh *mesh, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 }, all[MAX_CHOICES];
  const TnShardItem *item = item_of (self);
  int n = choices (mesh, all);
  TnShape local;
  for (guint d = 0; d < self->map_drops->len && d < TN_MAX_DIMS; d++)
    {
      guint at = gtk_drop_down_get_selected (self->map_drops->pdata[d]);
      dims[d] = at < (guint) n ? all[at] : all[0];
    }
  TnLayout *layout = tn_layout_new (mesh, (int) self->map_drops->len, dims, 0, TN_PARTIAL_NONE, error);
  if (layout != NULL && !tn_layout_local_shape (layout, &item->shape, &local, error))
    {
      g_prefix_error (error, "%s: ", item->name);
      g_clear_pointer (&layout, tn_layout_unref);
    }
  return layout;
}

/* ---- checking ---- */

typedef struct
{
  GWeakRef self;
  GCancellable *cancellable;
} Check;

static void
checked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Check *check = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnShardPlan) plan = tn_shard_plan_finish (result, &error);
  g_autoptr (TnShardLayout) self = g_weak_ref_get (&check->self);
  if (self != NULL && self->checking == check->cancellable)
    {
      g_clear_object (&self->checking);
      if (plan == NULL)
        say (self, error->message, TRUE);
      else
        {
          g_autofree char *now = tn_format_size ((double) self->plan->forecast.total), *then = tn_format_size ((double) plan->forecast.total);
          g_autofree char *sent = tn_format_size (self->plan->traffic), *sends = tn_format_size (plan->traffic);
          g_autofree char *text = g_strdup_printf (_("✔ Legal. A rank holds %s → %s and receives %s → %s a step."), now, then, sent, sends);
          say (self, text, FALSE);
        }
      set_legal (self, plan != NULL);
    }
  g_weak_ref_clear (&check->self);
  g_object_unref (check->cancellable);
  g_free (check);
}

static gboolean
check_in_worker_cb (gpointer data)
{
  TnShardLayout *self = data;
  self->wait = 0;
  if (self->document == NULL)
    return G_SOURCE_REMOVE;
  TnShardRequest *request = tn_shard_request_for (self->document);
  request->mesh = g_strdup (self->mesh);
  request->strategy = g_strdup (self->strategy);
  g_autoptr (TnMesh) mesh = tn_mesh_parse (self->mesh, -1, NULL);
  request->ranks = mesh != NULL ? mesh->n_ranks : -1;
  request->optimizer_level = (int) gtk_drop_down_get_selected (GTK_DROP_DOWN (self->level_drop));
  Check *check = g_new0 (Check, 1);
  g_weak_ref_init (&check->self, self);
  self->checking = g_cancellable_new ();
  check->cancellable = g_object_ref (self->checking);
  tn_shard_plan_async (request, self->checking, checked_cb, check);
  return G_SOURCE_REMOVE;
}

static void
stop_checking (TnShardLayout *self)
{
  g_clear_handle_id (&self->wait, g_source_remove);
  if (self->checking != NULL)
    g_cancellable_cancel (self->checking);
  g_clear_object (&self->checking);
}

static void
check (TnShardLayout *self)
{
  g_autoptr (GError) error = NULL;
  stop_checking (self);
  set_legal (self, FALSE);
  g_clear_pointer (&self->mesh, g_free);
  g_clear_pointer (&self->strategy, g_free);
  g_autoptr (TnMesh) mesh = read_mesh (self, &error);
  g_autoptr (TnLayout) layout = mesh != NULL && item_of (self) != NULL ? read_layout (self, mesh, &error) : NULL;
  if (error == NULL && layout != NULL && self->document != NULL)
    {
      /* A layout that is the one in force needs no strategy: default rules may have chosen it. */
      const char *current = tn_settings_get_string (tn_document_settings (self->document), "parallel.strategy");
      g_autofree char *was = tn_layout_to_string (item_of (self)->layout), *is = tn_layout_to_string (layout);
      self->strategy = strcmp (was, is) != 0 ? tn_shard_plan_strategy (self->plan, (guint) self->item, layout, current, &error) : g_strdup (current);
    }
  if (error != NULL)
    {
      say (self, error->message, TRUE);
      return;
    }
  self->mesh = mesh_text (self);
  say (self, _("Checking…"), FALSE);
  self->wait = g_timeout_add (120, check_in_worker_cb, self);
}

static void
edited_cb (TnShardLayout *self)
{
  if (!self->filling)
    check (self);
}

/* ---- filling ---- */

static void fill_dims (TnShardLayout *self, const TnMesh *mesh, const TnLayout *layout);

/* The axes changed: the drop-downs offer the new ones, and keep what has the same name. */
static void
axes_edited_cb (TnShardLayout *self)
{
  if (self->filling)
    return;
  g_autoptr (TnMesh) mesh = read_mesh (self, NULL);
  if (mesh != NULL && item_of (self) != NULL)
    {
      TnDimMap dims[TN_MAX_DIMS] = { 0 };
      for (guint d = 0; d < self->map_drops->len && d < TN_MAX_DIMS; d++)
        {
          GObject *chosen = gtk_drop_down_get_selected_item (self->map_drops->pdata[d]);
          g_auto (GStrv) names = g_strsplit (chosen != NULL ? gtk_string_object_get_string (GTK_STRING_OBJECT (chosen)) : "", " ", 2);
          for (int i = 0; names[i] != NULL; i++)
            if (tn_mesh_axis (mesh, names[i]) >= 0)
              dims[d].axes[dims[d].n++] = (int8_t) tn_mesh_axis (mesh, names[i]);
        }
      g_autoptr (TnLayout) layout = tn_layout_new (mesh, (int) self->map_drops->len, dims, 0, TN_PARTIAL_NONE, NULL);
      self->filling = TRUE;
      fill_dims (self, mesh, layout);
      self->filling = FALSE;
    }
  check (self);
}

static void
remove_axis_cb (TnShardLayout *self, GtkWidget *button)
{
  GtkWidget *row = gtk_widget_get_ancestor (button, GTK_TYPE_FLOW_BOX_CHILD);
  if (gtk_widget_get_next_sibling (gtk_widget_get_first_child (self->axes)) == NULL)
    return; /* the last one stays */
  gtk_flow_box_remove (GTK_FLOW_BOX (self->axes), row);
  gtk_widget_set_sensitive (self->add, TRUE);
  axes_edited_cb (self);
}

static void
add_axis (TnShardLayout *self, const char *name, gint64 size)
{
  GtkWidget *chip = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0), *entry = gtk_entry_new (), *spin = gtk_spin_button_new_with_range (1, 16384, 1);
  GtkWidget *remove = gtk_button_new_from_icon_name ("list-remove-symbolic");
  g_autofree char *id = g_strdup_printf ("shard_axis_entry:%s", name), *spin_id = g_strdup_printf ("shard_axis_spin:%s", name);
  g_autofree char *size_label = g_strdup_printf (_("Ranks along %s"), name), *remove_label = g_strdup_printf (_("Remove axis %s"), name);
  g_autofree char *name_label = g_strdup_printf (_("Name of axis %s"), name);
  gtk_widget_add_css_class (chip, "linked");
  gtk_editable_set_text (GTK_EDITABLE (entry), name);
  gtk_editable_set_width_chars (GTK_EDITABLE (entry), 3);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (entry), 5);
  gtk_editable_set_width_chars (GTK_EDITABLE (spin), 4);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), (double) size);
  tn_shard_named (entry, id, name_label);
  tn_shard_named (spin, spin_id, size_label);
  tn_shard_named (remove, "shard_axis_remove_button", remove_label);
  gtk_box_append (GTK_BOX (chip), entry);
  gtk_box_append (GTK_BOX (chip), spin);
  gtk_box_append (GTK_BOX (chip), remove);
  gtk_flow_box_append (GTK_FLOW_BOX (self->axes), chip);
  gtk_widget_set_focusable (gtk_widget_get_parent (chip), FALSE);
  gtk_widget_set_sensitive (self->add, gtk_flow_box_get_child_at_index (GTK_FLOW_BOX (self->axes), MAX_AXES - 1) == NULL);
  g_signal_connect_object (entry, "changed", G_CALLBACK (axes_edited_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (spin, "value-changed", G_CALLBACK (axes_edited_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (remove, "clicked", G_CALLBACK (remove_axis_cb), self, G_CONNECT_SWAPPED);
}

static void
add_axis_cb (TnShardLayout *self)
{
  static const char *const names[] = { "dp", "tp", "sp", "ep", "cp", "x" };
  g_autoptr (TnMesh) mesh = read_mesh (self, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (mesh == NULL || tn_mesh_axis (mesh, names[i]) < 0)
      {
        add_axis (self, names[i], 1);
        break;
      }
  axes_edited_cb (self);
}

static void
fill_dims (TnShardLayout *self, const TnMesh *mesh, const TnLayout *layout)
{
  const TnShardItem *item = item_of (self);
  TnDimMap all[MAX_CHOICES];
  int n = choices (mesh, all);
  g_ptr_array_set_size (self->map_drops, 0);
  for (GtkWidget *child; (child = gtk_widget_get_first_child (self->dims)) != NULL;)
    gtk_flow_box_remove (GTK_FLOW_BOX (self->dims), child);
  for (int d = 0; item != NULL && d < item->shape.n_dims; d++)
    {
      GtkStringList *names = gtk_string_list_new (NULL);
      guint chosen = 0;
      for (int i = 0; i < n; i++)
        {
          g_autofree char *text = all[i].n == 0 ? g_strdup (_("None"))
                                  : all[i].n == 1 ? g_strdup (mesh->names[(int) all[i].axes[0]])
                                                  : g_strdup_printf ("%s %s", mesh->names[(int) all[i].axes[0]], mesh->names[(int) all[i].axes[1]]);
          gtk_string_list_append (names, text);
          if (layout != NULL && d < layout->n_dims && layout->dims[d].n == all[i].n && all[i].n > 0 && memcmp (layout->dims[d].axes, all[i].axes, (size_t) all[i].n) == 0)
            chosen = (guint) i;
        }
      g_autofree char *id = g_strdup_printf ("shard_map_drop:%d", d), *text = g_strdup_printf (_("dim %d (%" PRId64 ")"), d, item->shape.dims[d]);
      g_autofree char *label = g_strdup_printf (_("What splits dimension %d"), d);
      GtkWidget *pair = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *drop = tn_shard_named (gtk_drop_down_new (G_LIST_MODEL (names), NULL), id, label);
      gtk_drop_down_set_selected (GTK_DROP_DOWN (drop), chosen);
      gtk_box_append (GTK_BOX (pair), gtk_label_new (text));
      gtk_box_append (GTK_BOX (pair), drop);
      gtk_flow_box_append (GTK_FLOW_BOX (self->dims), pair);
      gtk_widget_set_focusable (gtk_widget_get_parent (pair), FALSE);
      g_ptr_array_add (self->map_drops, g_object_ref (drop));
      g_signal_connect_object (drop, "notify::selected", G_CALLBACK (edited_cb), self, G_CONNECT_SWAPPED);
    }
}

static void
tell (TnShardLayout *self)
{
  const TnShardItem *item = self->plan != NULL && self->item >= 0 ? tn_shard_plan_item (self->plan, (guint) self->item) : NULL;
  gboolean can = self->plan != NULL && self->plan->planned;
  g_autofree char *layout = item != NULL && item->layout != NULL ? tn_layout_to_python (item->layout) : NULL;
  g_autofree char *text = item == NULL || layout == NULL ? g_strdup ("")
                          : !can ? g_strdup_printf (_("From a file, to look at: %s"), layout)
                          : item->cell == NULL ? g_strdup (_("Its layout follows from the weights that it goes with; only the mesh can be changed here."))
                                               : g_strdup ("");
  gtk_label_set_text (GTK_LABEL (self->told), text);
  gtk_widget_set_visible (self->told, *text != '\0');
  gtk_widget_set_visible (self->form, can);
}

static void
fill (TnShardLayout *self)
{
  const TnShardItem *item = item_of (self);
  stop_checking (self);
  tell (self);
  set_legal (self, FALSE);
  say (self, _("This is in force. A change is checked before it is applied."), FALSE);
  if (self->plan == NULL || !self->plan->planned || self->document == NULL)
    return;
  self->filling = TRUE;
  for (GtkWidget *child; (child = gtk_widget_get_first_child (self->axes)) != NULL;)
    gtk_flow_box_remove (GTK_FLOW_BOX (self->axes), child);
  /* The mesh as the user wrote it: the plan's may be finer. */
  const TnSettings *settings = tn_document_settings (self->document);
  const char *text = tn_settings_get_string (settings, "parallel.mesh");
  g_autoptr (TnMesh) own = *text != '\0' ? tn_mesh_parse (text, -1, NULL) : NULL;
  const TnMesh *mesh = own != NULL && own->n_ranks == self->plan->mesh->n_ranks ? own : self->plan->mesh;
  for (int i = 0; i < mesh->n_axes; i++)
    add_axis (self, mesh->names[i], mesh->sizes[i]);
  fill_dims (self, mesh, item != NULL ? item->layout : NULL);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->level_drop),
                              tn_settings_get_bool (settings, "parallel.optimizer") ? (guint) tn_settings_get_int (settings, "parallel.optimizer_level") : 0);
  self->filling = FALSE;
}

void
tn_shard_layout_set_item (TnShardLayout *self, TnShardPlan *plan, int item)
{
  if (self->plan == plan && self->item == item)
    return;
  TnShardPlan *old = self->plan;
  self->plan = plan != NULL ? tn_shard_plan_ref (plan) : NULL;
  self->item = item;
  fill (self);
  tn_shard_plan_unref (old);
}

void
tn_shard_layout_set_document (TnShardLayout *self, TnDocument *document)
{
  if (g_set_object (&self->document, document))
    fill (self);
}

/* ---- applying ---- */

static gboolean
edit (TnShardLayout *self, const char *key, const char *value)
{
  g_autoptr (GError) error = NULL;
  if (g_strcmp0 (tn_settings_get_text (tn_document_settings (self->document), key), value) == 0 || tn_document_edit (self->document, "setting", key, value, &error))
    return TRUE;
  say (self, error->message, TRUE);
  return FALSE;
}

/* A project that trained alone gets the mode that its mesh means. */
static const char *
mode_for (const TnMesh *mesh, const char *strategy)
{
  for (int i = 0; i < mesh->n_axes; i++)
    if (mesh->sizes[i] > 1 && tn_axis_role (mesh->names[i]) != TN_AXIS_BATCH)
      return "semi_auto_parallel";
  return *strategy != '\0' ? "semi_auto_parallel" : "data_parallel";
}

gboolean
tn_shard_layout_apply (TnShardLayout *self)
{
  if (!self->legal || self->document == NULL)
    return FALSE;
  g_autofree char *mesh_string = g_strdup (self->mesh), *strategy = g_strdup (self->strategy != NULL ? self->strategy : "");
  g_autoptr (TnMesh) mesh = tn_mesh_parse (mesh_string, -1, NULL);
  g_autofree char *ranks = g_strdup_printf ("%" PRId64, mesh->n_ranks), *level_text = NULL;
  const TnSettings *settings = tn_document_settings (self->document);
  guint level = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->level_drop));
  gboolean alone = tn_settings_enum_is (settings, "parallel.mode", "stand_alone");
  level_text = g_strdup_printf ("%u", MAX (level, 1));
  set_legal (self, FALSE);
  return (!alone || mesh->n_ranks == 1 || edit (self, "parallel.mode", mode_for (mesh, strategy))) && edit (self, "parallel.ranks", ranks)
         && edit (self, "parallel.mesh", mesh_string) && (item_of (self) == NULL || edit (self, "parallel.strategy", strategy))
         && edit (self, "parallel.optimizer", level > 0 ? "true" : "false") && (level == 0 || edit (self, "parallel.optimizer_level", level_text));
}

/* ---- class ---- */

static void
tn_shard_layout_dispose (GObject *object)
{
  TnShardLayout *self = TN_SHARD_LAYOUT (object);
  stop_checking (self);
  g_clear_object (&self->document);
  g_clear_pointer (&self->plan, tn_shard_plan_unref);
  g_clear_pointer (&self->map_drops, g_ptr_array_unref);
  g_clear_pointer (&self->mesh, g_free);
  g_clear_pointer (&self->strategy, g_free);
  G_OBJECT_CLASS (tn_shard_layout_parent_class)->dispose (object);
}

static void
tn_shard_layout_class_init (TnShardLayoutClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_shard_layout_dispose;
}

static GtkWidget *
flow (const char *id, const char *label)
{
  GtkWidget *box = gtk_flow_box_new ();
  gtk_widget_set_name (box, id);
  gtk_accessible_update_property (GTK_ACCESSIBLE (box), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (box), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (box), 4);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (box), 6);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (box), 6);
  gtk_widget_set_hexpand (box, TRUE);
  return box;
}

static GtkWidget *
label_of (const char *text)
{
  GtkWidget *label = gtk_label_new (text);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  return label;
}

static void
tn_shard_layout_init (TnShardLayout *self)
{
  const char *levels[] = { _("Optimizer whole"), _("Optimizer cut, level 1"), _("Optimizer cut, level 2"), _("Optimizer cut, level 3"), NULL };
  GtkWidget *heading = label_of (_("Layout")), *mesh_line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->item = -1;
  self->map_drops = g_ptr_array_new_with_free_func (g_object_unref);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  self->form = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  g_object_set (self->box, "margin-start", 12, "margin-end", 12, "margin-top", 6, "margin-bottom", 10, NULL);
  gtk_widget_add_css_class (heading, "heading");
  self->axes = flow ("shard_matrix_list", _("Axes of the mesh"));
  self->dims = flow ("shard_map_list", _("What splits each dimension"));
  self->add = tn_shard_named (gtk_button_new_from_icon_name ("list-add-symbolic"), "shard_axis_add_button", _("Add an axis"));
  gtk_widget_set_valign (self->add, GTK_ALIGN_START);
  self->level_drop = tn_shard_named (gtk_drop_down_new_from_strings (levels), "shard_level_drop", _("Optimizer parallel level"));
  gtk_widget_set_halign (self->level_drop, GTK_ALIGN_START);
  self->verdict = label_of (NULL);
  gtk_widget_set_name (self->verdict, "shard_verdict_label");
  self->told = label_of (NULL);
  gtk_widget_add_css_class (self->told, "dim-label");
  gtk_label_set_selectable (GTK_LABEL (self->told), TRUE);
  self->apply = gtk_button_new_with_mnemonic (_("_Apply"));
  gtk_widget_set_name (self->apply, "shard_apply_button");
  gtk_widget_add_css_class (self->apply, "suggested-action");
  self->revert = gtk_button_new_with_mnemonic (_("Re_vert"));
  gtk_widget_set_name (self->revert, "shard_revert_button");
  gtk_box_append (GTK_BOX (mesh_line), self->axes);
  gtk_box_append (GTK_BOX (mesh_line), self->add);
  gtk_box_append (GTK_BOX (buttons), self->apply);
  gtk_box_append (GTK_BOX (buttons), self->revert);
  GtkWidget *form[] = { heading, mesh_line, self->dims, self->level_drop, self->verdict, buttons };
  for (gsize i = 0; i < G_N_ELEMENTS (form); i++)
    gtk_box_append (GTK_BOX (self->form), form[i]);
  gtk_box_append (GTK_BOX (self->box), self->told);
  gtk_box_append (GTK_BOX (self->box), self->form);
  adw_bin_set_child (ADW_BIN (self), self->box);
  set_legal (self, FALSE);
  g_signal_connect_object (self->add, "clicked", G_CALLBACK (add_axis_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->apply, "clicked", G_CALLBACK (tn_shard_layout_apply), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->revert, "clicked", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->level_drop, "notify::selected", G_CALLBACK (edited_cb), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_shard_layout_new (void)
{
  return g_object_new (TN_TYPE_SHARD_LAYOUT, NULL);
}

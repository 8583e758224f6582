/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"
#include <inttypes.h>

#include <glib/gi18n.h>

#include "format.h"

#define N_PARTS (TN_SELECTION_N_PARTS + 1)

struct _TnSelection
{
  GObject parent_instance;
  guint parts, pending, idle;
  guint64 order[N_PARTS], clock; /* when each part was set */
  char *texts[N_PARTS];
  gint64 first[N_PARTS], last[N_PARTS];
  GStrv runs;
};

static guint changed_signal;

/* Name in variants; whether it is text or a range. */
static const struct
{
  TnSelectionPart part;
  const char *name;
  gboolean is_text;
} rows[] = {
  { TN_SELECTION_RUN, "run", TRUE },        { TN_SELECTION_RUNS, "runs", FALSE },
  { TN_SELECTION_STEPS, "steps", FALSE },   { TN_SELECTION_TIME, "time", FALSE },
  { TN_SELECTION_RANK, "rank", FALSE },     { TN_SELECTION_NODE, "node", TRUE },
  { TN_SELECTION_PARAMETER, "parameter", TRUE }, { TN_SELECTION_SAMPLE, "sample", TRUE },
};

G_DEFINE_FINAL_TYPE (TnSelection, tn_selection, G_TYPE_OBJECT)

static int
place_of (TnSelectionPart part)
{
  return g_bit_nth_lsf (part, -1);
}

static gboolean
emit_idle (gpointer data)
{
  g_autoptr (TnSelection) self = g_object_ref (TN_SELECTION (data));
  guint mask = self->pending;
  self->pending = 0;
  self->idle = 0;
  g_signal_emit (self, changed_signal, 0, mask);
  return G_SOURCE_REMOVE;
}

static void
mark (TnSelection *self, TnSelectionPart part, gboolean set)
{
  self->parts = set ? self->parts | part : self->parts & ~part;
  self->order[place_of (part)] = set ? ++self->clock : 0;
  self->pending |= part;
  if (self->idle == 0)
    self->idle = g_idle_add_full (G_PRIORITY_HIGH_IDLE, emit_idle, self, NULL); /* before the next frame is drawn */
}

static void
tn_selection_finalize (GObject *object)
{
  TnSelection *self = TN_SELECTION (object);
  g_clear_handle_id (&self->idle, g_source_remove);
  for (int i = 0; i < N_PARTS; i++)
    g_free (self->texts[i]);
  g_strfreev (self->runs);
  G_OBJECT_CLASS (tn_selection_parent_class)->finalize (object);
}

static void
tn_selection_class_init (TnSelectionClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tn_selection_finalize;
  changed_signal = g_signal_new ("changed", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                                 G_TYPE_UINT);
}

static void
tn_selection_init (TnSelection *self)
{
}

TnSelection *
tn_selection_new (void)
{
  return g_object_new (TN_TYPE_SELECTION, NULL);
}

guint
tn_selection_parts (TnSelection *self)
{
  return self->parts & ~TN_SELECTION_HOVER;
}

TnSelectionPart
tn_selection_latest (TnSelection *self)
{
  int best = -1;
  for (int i = 0; i < TN_SELECTION_N_PARTS; i++)
    if (self->parts & (1u << i) && (best < 0 || self->order[i] > self->order[best]))
      best = i;
  return best < 0 ? 0 : (TnSelectionPart) (1u << best);
}

void
tn_selection_clear (TnSelection *self, guint mask)
{
  g_return_if_fail (TN_IS_SELECTION (self));
  for (int i = 0; i < N_PARTS; i++)
    if (self->parts & mask & (1u << i))
      {
        g_clear_pointer (&self->texts[i], g_free);
        if (i == place_of (TN_SELECTION_RUNS))
          g_clear_pointer (&self->runs, g_strfreev);
        mark (self, (TnSelectionPart) (1u << i), FALSE);
      }
}

void
tn_selection_clear_all (TnSelection *self)
{
  tn_selection_clear (self, G_MAXUINT);
}

const char *
tn_selection_get_text (TnSelection *self, TnSelectionPart part)
{
  return self->parts & part ? self->texts[place_of (part)] : NULL;
}

void
tn_selection_set_text (TnSelection *self, TnSelectionPart part, const char *text)
{
  g_return_if_fail (TN_IS_SELECTION (self));
  int i = place_of (part);
  if (text == NULL)
    tn_selection_clear (self, part);
  else if (g_strcmp0 (self->texts[i], text) != 0)
    {
      g_free (self->texts[i]);
      self->texts[i] = g_strdup (text);
      mark (self, part, TRUE);
    }
}

gboolean
tn_selection_get_range (TnSelection *self, TnSelectionPart part, gint64 *first, gint64 *last)
{
  int i = place_of (part);
  if ((self->parts & part) == 0)
    return FALSE;
  if (first != NULL)
    *first = self->first[i];
  if (last != NULL)
    *last = self->last[i];
  return TRUE;
}

void
tn_selection_set_range (TnSelection *self, TnSelectionPart part, gint64 first, gint64 last)
{
  g_return_if_fail (TN_IS_SELECTION (self));
  int i = place_of (part);
  if (self->parts & part && self->first[i] == MIN (first, last) && self->last[i] == MAX (first, last))
    return;
  self->first[i] = MIN (first, last);
  self->last[i] = MAX (first, last);
  mark (self, part, TRUE);
}

const char *const *
tn_selection_get_runs (TnSelection *self)
{
  return (const char *const *) self->runs;
}

void
tn_selection_set_runs (TnSelection *self, const char *const *runs)
{
  g_return_if_fail (TN_IS_SELECTION (self));
  if (runs == NULL || runs[0] == NULL)
    {
      tn_selection_clear (self, TN_SELECTION_RUNS);
      return;
    }
  if (self->runs != NULL && g_strv_equal ((const char *const *) self->runs, runs))
    return;
  g_strfreev (self->runs);
  self->runs = g_strdupv ((GStrv) runs);
  mark (self, TN_SELECTION_RUNS, TRUE);
}

static char *
describe_range (TnSelection *self, int i, const char *one, const char *many)
{
  g_autofree char *first = tn_format_count (self->first[i]), *last = tn_format_count (self->last[i]);
  if (self->first[i] == self->last[i])
    return g_strdup_printf ("%s %s", one, first);
  return g_strdup_printf ("%s %s–%s", many, first, last);
}

char *
tn_selection_describe (TnSelection *self, TnSelectionPart part)
{
  int i = place_of (part);
  if ((self->parts & part) == 0)
    return NULL;
  switch ((int) part)
    {
    case TN_SELECTION_RUN:
      {
        g_autofree char *name = g_path_get_basename (self->texts[i]);
        return g_strdup_printf (_("run %s"), name);
      }
    case TN_SELECTION_RUNS:
      return g_strdup_printf (ngettext ("%u run compared", "%u runs compared", g_strv_length (self->runs)), g_strv_length (self->runs));
    case TN_SELECTION_STEPS:
      return describe_range (self, i, _("step"), _("steps"));
    case TN_SELECTION_RANK:
      return describe_range (self, i, _("rank"), _("ranks"));
    case TN_SELECTION_TIME:
      {
        g_autofree char *from = tn_format_time_ns (self->first[i]), *to = tn_format_time_ns (self->last[i]);
        return g_strdup_printf ("%s–%s", from, to);
      }
    case TN_SELECTION_SAMPLE:
      return g_strdup_printf (_("sample %s"), self->texts[i]);
    default:
      return g_strdup (self->texts[i]);
    }
}

char *
tn_selection_value (TnSelection *self, TnSelectionPart part)
{
  int i = place_of (part);
  if ((self->parts & part) == 0)
    return NULL;
  if (part == TN_SELECTION_RUNS)
    return g_strjoinv ("\n", self->runs);
  if (self->texts[i] != NULL)
    return g_strdup (self->texts[i]);
  if (self->first[i] == self->last[i])
    return g_strdup_printf ("%" PRId64, self->first[i]);
  return g_strdup_printf ("%" PRId64 "-%" PRId64, self->first[i], self->last[i]);
}

GVariant *
tn_selection_to_variant (TnSelection *self)
{
  GVariantDict dict;
  g_variant_dict_init (&dict, NULL);
  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    {
      int i = place_of (rows[r].part);
      if ((self->parts & rows[r].part) == 0)
        continue;
      if (rows[r].is_text)
        g_variant_dict_insert (&dict, rows[r].name, "s", self->texts[i]);
      else if (rows[r].part == TN_SELECTION_RUNS)
        g_variant_dict_insert (&dict, rows[r].name, "^as", self->runs);
      else
        g_variant_dict_insert (&dict, rows[r].name, "(xx)", self->first[i], self->last[i]);
    }
  return g_variant_dict_end (&dict);
}

void
tn_selection_from_variant (TnSelection *self, GVariant *variant)
{
  g_return_if_fail (TN_IS_SELECTION (self));
  for (guint r = 0; variant != NULL && r < G_N_ELEMENTS (rows); r++)
    {
      const char *text;
      gint64 first, last;
      g_autofree const char **runs = NULL;
      if (rows[r].is_text && g_variant_lookup (variant, rows[r].name, "&s", &text))
        tn_selection_set_text (self, rows[r].part, text);
      else if (rows[r].part == TN_SELECTION_RUNS && g_variant_lookup (variant, rows[r].name, "^a&s", &runs))
        tn_selection_set_runs (self, runs);
      else if (!rows[r].is_text && g_variant_lookup (variant, rows[r].name, "(xx)", &first, &last))
        tn_selection_set_range (self, rows[r].part, first, last);
    }
}

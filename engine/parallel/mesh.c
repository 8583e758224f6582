/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/mesh.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"

G_DEFINE_QUARK (tn-layout-error-quark, tn_layout_error)

const char *
tn_layout_error_exception (int code)
{
  return code == TN_LAYOUT_ERROR_TYPE ? "TypeError" : "ValueError";
}

/* ---- checks ---- */

static gboolean
fail (GError **error, int code, const char *format, ...) G_GNUC_PRINTF (3, 4);

static gboolean
fail (GError **error, int code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, TN_LAYOUT_ERROR, code, message);
  return FALSE;
}

static gboolean
check_names (int n_axes, const char *const *names, GError **error)
{
  for (int i = 0; i < n_axes; i++)
    {
      if (names[i][0] == '\0')
        return fail (error, TN_LAYOUT_ERROR_EMPTY_NAME, _ ("Axis %d of the mesh has an empty name: give it one."), i + 1);
      if (strcmp (names[i], "None") == 0)
        return fail (error, TN_LAYOUT_ERROR_NONE_NAME, _ ("Axis %d is called “None”, which means “not split”: take another name."), i + 1);
    }
  for (int i = 0; i < n_axes; i++)
    for (int k = 0; k < i; k++)
      if (strcmp (names[i], names[k]) == 0)
        return fail (error, TN_LAYOUT_ERROR_NAME_TWICE, _ ("Two axes of the mesh are called “%s”: names must differ."), names[i]);
  for (int i = 0; i + 1 < n_axes; i++)
    if (strcmp (names[i], TN_MESH_INTERLEAVED) == 0)
      return fail (error, TN_LAYOUT_ERROR_INTERLEAVED, _ ("“%s” must be the last axis: it is axis %d of %d."), names[i], i + 1, n_axes);
  return TRUE;
}

static gboolean
check_sizes (int n_axes, const int64_t *sizes, const char *const *names, int64_t *product, GError **error)
{
  *product = 1;
  for (int i = 0; i < n_axes; i++)
    {
      if (sizes[i] < 1)
        return fail (error, TN_LAYOUT_ERROR_SIZE, _ ("Axis “%s” has size %" PRId64 ": sizes start at 1."), names[i], sizes[i]);
      if (sizes[i] > TN_MESH_MAX_RANKS || *product * sizes[i] > TN_MESH_MAX_RANKS)
        return fail (error, TN_LAYOUT_ERROR_SIZE, _ ("The mesh has more than %d ranks at axis “%s”: take smaller sizes."), TN_MESH_MAX_RANKS, names[i]);
      *product *= sizes[i];
    }
  return TRUE;
}

static gboolean
check_ranks (TnMesh *self, int64_t n_ranks, const int64_t *ranks, GError **error)
{
  if (n_ranks != self->n_ranks)
    return fail (error, TN_LAYOUT_ERROR_RANK_COUNT, _ ("The rank list has %" PRId64 " ranks, the axes make %" PRId64 ": both must agree."),
                 n_ranks, self->n_ranks);
  for (int64_t i = 0; i < n_ranks; i++)
    {
      if (ranks[i] < 0 || ranks[i] > G_MAXINT32)
        return fail (error, TN_LAYOUT_ERROR_RANK, _ ("The rank list has %" PRId64 ": ranks start at 0."), ranks[i]);
      self->plain &= ranks[i] == i;
    }
  self->ranks = g_memdup2 (ranks, sizeof *ranks * (size_t) n_ranks);
  if (self->plain)
    return TRUE;
  self->places = g_hash_table_new (g_direct_hash, g_direct_equal);
  for (int64_t i = 0; i < n_ranks; i++)
    if (!g_hash_table_insert (self->places, GSIZE_TO_POINTER ((gsize) ranks[i] + 1), GSIZE_TO_POINTER ((gsize) i + 1)))
      return fail (error, TN_LAYOUT_ERROR_RANK_TWICE, _ ("Rank %" PRId64 " stands twice in the rank list."), ranks[i]);
  return TRUE;
}

TnMesh *
tn_mesh_new (int n_axes, const int64_t *sizes, const char *const *names, int64_t n_ranks, const int64_t *ranks, GError **error)
{
  static const char letters[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p";
  const char *made[TN_MESH_MAX_AXES];
  if (n_axes < 1 || n_axes > TN_MESH_MAX_AXES)
    {
      fail (error, TN_LAYOUT_ERROR_TYPE, _ ("A mesh has 1 to %d axes, not %d."), TN_MESH_MAX_AXES, n_axes);
      return NULL;
    }
  for (int i = 0; i < n_axes; i++)
    made[i] = letters + 2 * i;
  const char *const *used = names != NULL ? names : made;
  g_autoptr (TnMesh) self = g_new0 (TnMesh, 1);
  self->ref_count = 1;
  self->plain = TRUE;
  if (!check_names (n_axes, used, error) || !check_sizes (n_axes, sizes, used, &self->n_ranks, error))
    return NULL;
  self->n_axes = n_axes;
  self->interleaved = strcmp (used[n_axes - 1], TN_MESH_INTERLEAVED) == 0;
  int64_t stride = 1;
  for (int i = n_axes - 1; i >= 0; i--)
    {
      self->sizes[i] = sizes[i];
      self->strides[i] = stride;
      self->names[i] = g_strdup (used[i]);
      stride *= sizes[i];
    }
  if (ranks != NULL)
    return check_ranks (self, n_ranks, ranks, error) ? g_steal_pointer (&self) : NULL;
  self->ranks = g_new (int64_t, self->n_ranks);
  for (int64_t i = 0; i < self->n_ranks; i++)
    self->ranks[i] = i;
  return g_steal_pointer (&self);
}

TnMesh *
tn_mesh_ref (TnMesh *self)
{
  g_atomic_int_inc (&self->ref_count);
  return self;
}

void
tn_mesh_unref (TnMesh *self)
{
  if (self == NULL || !g_atomic_int_dec_and_test (&self->ref_count))
    return;
  for (int i = 0; i < TN_MESH_MAX_AXES; i++)
    g_free (self->names[i]);
  g_free (self->ranks);
  g_clear_pointer (&self->places, g_hash_table_unref);
  g_free (self);
}

/* ---- text ---- */

/* One "name=size"; *size is 0 for "?". */
static gboolean
parse_axis (const char *item, char **name, int64_t *size, GError **error)
{
  const char *equals = strchr (item, '=');
  *size = 0;
  *name = equals != NULL ? g_strndup (item, (gsize) (equals - item)) : g_strdup (item);
  g_strstrip (*name);
  g_autofree char *number = equals != NULL ? g_strstrip (g_strdup (equals + 1)) : NULL;
  if (number != NULL && strcmp (number, "?") == 0)
    return TRUE;
  if (number != NULL && g_ascii_string_to_signed (number, 10, G_MININT32, G_MAXINT32, size, NULL))
    return TRUE;
  return fail (error, TN_LAYOUT_ERROR_TYPE, _ ("“%s” is no axis: write name=size, like dp=4."), item);
}

static gboolean
fill_open_axis (int n, int64_t *sizes, const char *open, int64_t n_ranks, GError **error)
{
  int64_t known = 1;
  for (int i = 0; i < n; i++)
    known *= sizes[i] > 0 && known <= TN_MESH_MAX_RANKS ? sizes[i] : 1;
  if (n_ranks < 1 || n_ranks % known != 0)
    return fail (error, TN_LAYOUT_ERROR_SIZE, _ ("The other axes make %" PRId64 " ranks, which does not divide %" PRId64 ": give “%s” a size."),
                 known, n_ranks, open);
  for (int i = 0; i < n; i++)
    if (sizes[i] == 0)
      sizes[i] = n_ranks / known;
  return TRUE;
}

TnMesh *
tn_mesh_parse (const char *text, int64_t n_ranks, GError **error)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  int64_t sizes[TN_MESH_MAX_AXES];
  const char *open = NULL;
  for (int i = 0; items[i] != NULL; i++)
    {
      char *name = NULL;
      if (i >= TN_MESH_MAX_AXES)
        {
          fail (error, TN_LAYOUT_ERROR_SIZE, _ ("A mesh has 1 to %d axes."), TN_MESH_MAX_AXES);
          return NULL;
        }
      gboolean ok = parse_axis (items[i], &name, &sizes[i], error);
      g_ptr_array_add (names, name);
      gboolean is_open = ok && sizes[i] == 0 && strchr (items[i], '?') != NULL;
      if (is_open && open != NULL)
        ok = fail (error, TN_LAYOUT_ERROR_SIZE, _ ("Only one axis may be left open, “%s” and “%s” are."), open, name);
      if (!ok)
        return NULL;
      open = is_open ? name : open;
    }
  if (open != NULL && !fill_open_axis ((int) names->len, sizes, open, n_ranks, error))
    return NULL;
  g_autoptr (TnMesh) mesh = tn_mesh_new ((int) names->len, sizes, (const char *const *) names->pdata, -1, NULL, error);
  if (mesh == NULL || n_ranks < 0 || mesh->n_ranks == n_ranks)
    return g_steal_pointer (&mesh);
  int64_t others = mesh->n_ranks / mesh->sizes[mesh->n_axes - 1];
  if (n_ranks % others == 0)
    fail (error, TN_LAYOUT_ERROR_RANK_COUNT, _ ("The mesh %s makes %" PRId64 " ranks, not %" PRId64 ": “%s” would have to be %" PRId64 "."), text,
          mesh->n_ranks, n_ranks, mesh->names[mesh->n_axes - 1], n_ranks / others);
  else
    fail (error, TN_LAYOUT_ERROR_RANK_COUNT, _ ("The mesh %s makes %" PRId64 " ranks, not %" PRId64 "."), text, mesh->n_ranks, n_ranks);
  return NULL;
}

char *
tn_mesh_to_string (const TnMesh *self)
{
  GString *text = g_string_new (NULL);
  for (int i = 0; i < self->n_axes; i++)
    g_string_append_printf (text, "%s%s=%" PRId64, i > 0 ? "," : "", self->names[i], self->sizes[i]);
  return g_string_free (text, FALSE);
}

gboolean
tn_mesh_same_ranks (const TnMesh *a, const TnMesh *b)
{
  return a == b || (a->n_ranks == b->n_ranks && ((a->plain && b->plain) || memcmp (a->ranks, b->ranks, sizeof *a->ranks * (size_t) a->n_ranks) == 0));
}

gboolean
tn_mesh_equal (const TnMesh *a, const TnMesh *b)
{
  if (a == b)
    return TRUE;
  if (a->n_axes != b->n_axes || !tn_mesh_same_ranks (a, b))
    return FALSE;
  for (int i = 0; i < a->n_axes; i++)
    if (a->sizes[i] != b->sizes[i] || strcmp (a->names[i], b->names[i]) != 0)
      return FALSE;
  return TRUE;
}

/* ---- ranks ---- */

int
tn_mesh_axis (const TnMesh *self, const char *name)
{
  for (int i = 0; i < self->n_axes; i++)
    if (strcmp (self->names[i], name) == 0)
      return i;
  return -1;
}

int64_t
tn_mesh_place (const TnMesh *self, int64_t rank)
{
  if (self->plain)
    return rank >= 0 && rank < self->n_ranks ? rank : -1;
  return (int64_t) GPOINTER_TO_SIZE (g_hash_table_lookup (self->places, GSIZE_TO_POINTER ((gsize) rank + 1))) - 1;
}

int64_t
tn_mesh_span (const TnMesh *self, uint32_t axes)
{
  int64_t n = 1;
  for (int i = 0; i < self->n_axes; i++)
    if (axes >> i & 1)
      n *= self->sizes[i];
  return n;
}

int64_t *
tn_mesh_group (const TnMesh *self, uint32_t axes, int64_t rank, int64_t *index)
{
  int64_t place = tn_mesh_place (self, rank), n = tn_mesh_span (self, axes);
  if (place < 0)
    return NULL;
  int64_t base = place;
  for (int i = 0; i < self->n_axes; i++)
    if (axes >> i & 1)
      base -= tn_mesh_coordinate (self, place, i) * self->strides[i];
  int64_t *group = g_new (int64_t, n);
  for (int64_t k = 0; k < n; k++)
    {
      int64_t rest = k, at = base;
      for (int i = self->n_axes - 1; i >= 0; i--)
        if (axes >> i & 1)
          {
            at += rest % self->sizes[i] * self->strides[i];
            rest /= self->sizes[i];
          }
      group[k] = self->ranks[at];
      if (at == place && index != NULL)
        *index = k;
    }
  return group;
}

/* ---- refinement ---- */

/* The name of the piece of @mesh that has strides [from, to). */
static char *
piece_name (const TnMesh *mesh, int64_t from, int64_t to)
{
  for (int i = 0; i < mesh->n_axes; i++)
    {
      int64_t lo = mesh->strides[i], hi = lo * mesh->sizes[i];
      if (lo == from && hi == to)
        return g_strdup (mesh->names[i]);
      if (lo <= from && hi >= to)
        return g_strdup_printf ("%s_%" PRId64, mesh->names[i], hi / to);
    }
  return g_strdup_printf ("x%" PRId64, from);
}

static int
compare_int64 (const void *a, const void *b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
  return (x > y) - (x < y);
}

/* The cumulative products of both, ascending, without repeats. */
static int
join_strides (const TnMesh *a, const TnMesh *b, int64_t *joined)
{
  int n = 0, kept = 0;
  joined[n++] = 1;
  for (int i = 0; i < a->n_axes; i++)
    joined[n++] = a->strides[i] * a->sizes[i];
  for (int i = 0; i < b->n_axes; i++)
    joined[n++] = b->strides[i] * b->sizes[i];
  qsort (joined, (size_t) n, sizeof *joined, compare_int64);
  for (int i = 0; i < n; i++)
    if (kept == 0 || joined[kept - 1] != joined[i])
      joined[kept++] = joined[i];
  return kept;
}

TnMesh *
tn_mesh_refine (const TnMesh *a, const TnMesh *b, GError **error)
{
  int64_t joined[2 * TN_MESH_MAX_AXES + 1], sizes[TN_MESH_MAX_AXES];
  int n = join_strides (a, b, joined), n_axes = 0;
  gboolean fits = tn_mesh_same_ranks (a, b) && n - 1 <= TN_MESH_MAX_AXES;
  for (int i = 0; i + 1 < n; i++)
    fits &= joined[i + 1] % joined[i] == 0;
  if (!fits)
    {
      g_autofree char *left = tn_mesh_to_string (a), *right = tn_mesh_to_string (b);
      fail (error, TN_LAYOUT_ERROR_MESH, _ ("The meshes %s and %s have no common refinement: order their axes so that the sizes of one can be cut from those of the other."), left, right);
      return NULL;
    }
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (int i = n - 1; i > 0; i--)
    {
      sizes[n_axes++] = joined[i] / joined[i - 1];
      g_ptr_array_add (names, piece_name (a, joined[i - 1], joined[i]));
    }
  if (n_axes == 0)
    {
      sizes[n_axes++] = 1;
      g_ptr_array_add (names, g_strdup (a->names[0]));
    }
  return tn_mesh_new (n_axes, sizes, (const char *const *) names->pdata, a->n_ranks, a->plain ? NULL : a->ranks, error);
}

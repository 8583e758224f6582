/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/layout.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"

static const char *const partial_names[] = { "none", "sum", "mean", "max", "min", "prod" };

const char *
tn_partial_name (TnPartial partial)
{
  return partial_names[partial];
}

/* ---- boxes ---- */

int64_t
tn_box_count (const TnBox *box)
{
  int64_t n = 1;
  for (int d = 0; d < box->n_dims; d++)
    n *= box->hi[d] - box->lo[d];
  return n;
}

gboolean
tn_box_equal (const TnBox *a, const TnBox *b)
{
  gboolean same = a->n_dims == b->n_dims;
  for (int d = 0; same && d < a->n_dims; d++)
    same = a->lo[d] == b->lo[d] && a->hi[d] == b->hi[d];
  return same;
}

gboolean
tn_box_intersect (const TnBox *a, const TnBox *b, TnBox *out)
{
  out->n_dims = a->n_dims;
  for (int d = 0; d < a->n_dims; d++)
    {
      out->lo[d] = MAX (a->lo[d], b->lo[d]);
      out->hi[d] = MIN (a->hi[d], b->hi[d]);
      if (out->lo[d] >= out->hi[d])
        return FALSE;
    }
  return TRUE;
}

char *
tn_box_to_string (const TnBox *box)
{
  GString *text = g_string_new ("[");
  for (int d = 0; d < box->n_dims; d++)
    g_string_append_printf (text, "%s%" PRId64 ":%" PRId64, d > 0 ? ", " : "", box->lo[d], box->hi[d]);
  return g_string_free (g_string_append_c (text, ']'), FALSE);
}

/* ---- making ---- */

static gboolean
check_dim (const TnMesh *mesh, int d, const TnDimMap *dim, uint32_t *used, GError **error)
{
  for (int k = 0; k < dim->n; k++)
    {
      int axis = dim->axes[k];
      if (axis >= mesh->n_axes || axis < -1)
        {
          g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("Dimension %d is split by axis %d, the mesh has %d axes."), d, axis, mesh->n_axes);
          return FALSE;
        }
      if (axis >= 0 && (*used >> axis & 1))
        {
          g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS_TWICE, _ ("Axis “%s” is used twice (dimension %d): an axis splits one dimension."), mesh->names[axis], d);
          return FALSE;
        }
      *used |= axis >= 0 ? 1u << axis : 0;
    }
  return TRUE;
}

TnLayout *
tn_layout_new (TnMesh *mesh, int n_dims, const TnDimMap *dims, uint32_t partial, TnPartial op, GError **error)
{
  if (n_dims < 0 || n_dims > TN_MAX_DIMS)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_DIMS, _ ("A layout has up to %d dimensions, not %d."), TN_MAX_DIMS, n_dims);
      return NULL;
    }
  uint32_t used = 0;
  for (int d = 0; d < n_dims; d++)
    if (!check_dim (mesh, d, &dims[d], &used, error))
      return NULL;
  if ((partial & used) != 0 || (partial != 0 && op == TN_PARTIAL_NONE) || partial >> mesh->n_axes != 0)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_PARTIAL, _ ("An axis cannot split a dimension and be partial as well."));
      return NULL;
    }
  TnLayout *self = g_new0 (TnLayout, 1);
  *self = (TnLayout){ .ref_count = 1, .mesh = tn_mesh_ref (mesh), .n_dims = n_dims, .used = used, .partial = partial,
                      .op = partial != 0 ? op : TN_PARTIAL_NONE };
  for (int d = 0; d < n_dims; d++)
    self->dims[d] = dims[d];
  return self;
}

TnLayout *
tn_layout_new_replicated (TnMesh *mesh, int n_dims)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  return tn_layout_new (mesh, n_dims, dims, 0, TN_PARTIAL_NONE, NULL);
}

TnLayout *
tn_layout_new_from_map (TnMesh *mesh, int n_dims, const int64_t *map, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (int d = 0; d < MIN (n_dims, TN_MAX_DIMS); d++)
    {
      if (map[d] < -1 || map[d] >= mesh->n_axes)
        {
          g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("Dimension %d has %" PRId64 " in the tensor map, the mesh has %d axes."), d, map[d], mesh->n_axes);
          return NULL;
        }
      if (map[d] >= 0)
        dims[d] = (TnDimMap){ .n = 1, .axes = { (int8_t) (mesh->n_axes - 1 - map[d]) } };
    }
  return tn_layout_new (mesh, n_dims, dims, 0, TN_PARTIAL_NONE, error);
}

TnLayout *
tn_layout_with_partial (TnLayout *self, uint32_t axes, TnPartial op)
{
  g_return_val_if_fail ((axes & self->used) == 0, NULL);
  if (axes == self->partial && (axes == 0 || op == self->op))
    return tn_layout_ref (self);
  return tn_layout_new (self->mesh, self->n_dims, self->dims, axes, op, NULL);
}

TnLayout *
tn_layout_ref (TnLayout *self)
{
  g_atomic_int_inc (&self->ref_count);
  return self;
}

void
tn_layout_unref (TnLayout *self)
{
  if (self == NULL || !g_atomic_int_dec_and_test (&self->ref_count))
    return;
  tn_mesh_unref (self->mesh);
  g_free (self);
}

/* ---- text ---- */

/* The axes of one dimension: "dp", "None", "(dp, tp)". */
static gboolean
parse_dim (const TnMesh *mesh, int d, const char *text, TnDimMap *dim, GError **error)
{
  g_autofree char *copy = g_strstrip (g_strdup (text));
  size_t n = strlen (copy);
  *dim = (TnDimMap){ 0 };
  if (n >= 2 && copy[0] == '(' && copy[n - 1] == ')')
    {
      dim->tuple = TRUE;
      copy[n - 1] = '\0';
      memmove (copy, copy + 1, n - 1);
    }
  g_auto (GStrv) names = g_strsplit (copy, ",", -1);
  for (int k = 0; names[k] != NULL; k++)
    {
      const char *name = g_strstrip (names[k]);
      gboolean none = strcmp (name, "None") == 0 || strcmp (name, "-") == 0;
      int axis = none ? -1 : tn_mesh_axis (mesh, name);
      if (*name == '\0' && dim->tuple && names[k + 1] == NULL) /* "(dp,)" and "()" */
        continue;
      if (!none && axis < 0)
        {
          g_autofree char *known = tn_mesh_to_string (mesh);
          g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("Dimension %d is split by “%s”, which is no axis of the mesh %s."), d, name, known);
          return FALSE;
        }
      if (dim->n == TN_MESH_MAX_AXES)
        {
          g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS_TWICE, _ ("Dimension %d is split by more axes than there are."), d);
          return FALSE;
        }
      if (dim->tuple || axis >= 0)
        dim->axes[dim->n++] = (int8_t) axis;
    }
  return TRUE;
}

/* Cuts at commas outside parentheses, in place. */
static GPtrArray *
split_outside (char *text)
{
  GPtrArray *parts = g_ptr_array_new ();
  int depth = 0;
  char *start = text;
  for (char *at = text;; at++)
    {
      depth += (*at == '(') - (*at == ')');
      if (*at != '\0' && (*at != ',' || depth != 0))
        continue;
      gboolean end = *at == '\0';
      *at = '\0';
      if (!end || *g_strstrip (start) != '\0')
        g_ptr_array_add (parts, start);
      if (end)
        return parts;
      start = at + 1;
    }
}

TnLayout *
tn_layout_parse (TnMesh *mesh, const char *text, GError **error)
{
  g_autofree char *copy = g_strstrip (g_strdup (text));
  size_t n = strlen (copy);
  char *inside = copy;
  int depth = 0, closed_at = -1; /* whether the first parenthesis encloses all */
  for (size_t i = 0; i < n && closed_at < 0; i++)
    {
      depth += (copy[i] == '(') - (copy[i] == ')');
      if (copy[0] == '(' && depth == 0)
        closed_at = (int) i;
    }
  if (closed_at >= 0 && closed_at == (int) n - 1)
    {
      copy[n - 1] = '\0';
      inside = copy + 1;
    }
  g_autoptr (GPtrArray) parts = split_outside (inside);
  TnDimMap dims[TN_MAX_DIMS];
  for (guint d = 0; d < parts->len && d < TN_MAX_DIMS; d++)
    if (!parse_dim (mesh, (int) d, parts->pdata[d], &dims[d], error))
      return NULL;
  return tn_layout_new (mesh, (int) parts->len, dims, 0, TN_PARTIAL_NONE, error);
}

static void
append_dim (const TnLayout *self, int d, GString *text)
{
  const TnDimMap *dim = &self->dims[d];
  gboolean tuple = dim->tuple || dim->n > 1;
  if (dim->n == 0 && !tuple)
    g_string_append (text, "None");
  else if (tuple)
    g_string_append_c (text, '(');
  for (int k = 0; k < dim->n; k++)
    g_string_append_printf (text, "%s%s", k > 0 ? ", " : "", dim->axes[k] >= 0 ? self->mesh->names[dim->axes[k]] : "None");
  if (tuple)
    g_string_append (text, dim->n == 1 ? ",)" : ")");
}

char *
tn_layout_to_string (const TnLayout *self)
{
  GString *text = g_string_new ("(");
  for (int d = 0; d < self->n_dims; d++)
    {
      g_string_append (text, d > 0 ? ", " : "");
      append_dim (self, d, text);
    }
  g_string_append_c (text, ')');
  if (self->partial != 0)
    g_string_append_printf (text, " %s over", tn_partial_name (self->op));
  for (int i = 0; i < self->mesh->n_axes; i++)
    if (self->partial >> i & 1)
      g_string_append_printf (text, " %s", self->mesh->names[i]);
  return g_string_free (text, FALSE);
}

static gboolean
dim_equal (const TnDimMap *a, const TnDimMap *b)
{
  int i = 0, k = 0;
  for (;;)
    {
      while (i < a->n && a->axes[i] < 0)
        i++;
      while (k < b->n && b->axes[k] < 0)
        k++;
      if (i == a->n || k == b->n)
        return i == a->n && k == b->n;
      if (a->axes[i++] != b->axes[k++])
        return FALSE;
    }
}

gboolean
tn_layout_equal (const TnLayout *a, const TnLayout *b)
{
  if (a == b)
    return TRUE;
  if (a->n_dims != b->n_dims || a->used != b->used || a->partial != b->partial || a->op != b->op || !tn_mesh_equal (a->mesh, b->mesh))
    return FALSE;
  for (int d = 0; d < a->n_dims; d++)
    if (!dim_equal (&a->dims[d], &b->dims[d]))
      return FALSE;
  return TRUE;
}

/* ---- slices ---- */

int64_t
tn_layout_shards (const TnLayout *self, int dim)
{
  int64_t n = 1;
  for (int k = 0; k < self->dims[dim].n; k++)
    if (self->dims[dim].axes[k] >= 0)
      n *= self->mesh->sizes[self->dims[dim].axes[k]];
  return n;
}

/* "1, 2, 3, 4, 6, 7": divisors of @size that some mesh of up to @most ranks has. */
static char *
divisors (int64_t size, int64_t most)
{
  GString *text = g_string_new (NULL);
  for (int64_t n = 1; n <= MIN (size, most) && text->len < 120; n++)
    if (size % n == 0)
      g_string_append_printf (text, "%s%" PRId64, n > 1 ? ", " : "", n);
  return g_string_free (text, FALSE);
}

gboolean
tn_layout_local_shape (const TnLayout *self, const TnShape *shape, TnShape *local, GError **error)
{
  if (shape->n_dims != self->n_dims)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_DIMS, _ ("The layout has %d dimensions, the tensor %d."), self->n_dims, shape->n_dims);
      return FALSE;
    }
  local->n_dims = shape->n_dims;
  for (int d = 0; d < shape->n_dims; d++)
    {
      int64_t n = tn_layout_shards (self, d);
      local->dims[d] = shape->dims[d] / n;
      if (shape->dims[d] % n == 0)
        continue;
      g_autofree char *legal = divisors (shape->dims[d], self->mesh->n_ranks), *text = tn_layout_to_string (self);
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNEVEN, _ ("Dimension %d has size %" PRId64 ", which does not divide by %" PRId64 " (layout %s); legal: %s."), d,
                   shape->dims[d], n, text, legal);
      return FALSE;
    }
  return TRUE;
}

/* Which piece of dimension @d lies at @place, of *n. */
static int64_t
piece_at (const TnLayout *self, int d, int64_t place, int64_t *n)
{
  int64_t id = 0, count = 1;
  for (int k = 0; k < self->dims[d].n; k++)
    {
      int axis = self->dims[d].axes[k];
      if (axis < 0)
        continue;
      id = id * self->mesh->sizes[axis] + tn_mesh_coordinate (self->mesh, place, axis);
      count *= self->mesh->sizes[axis];
    }
  *n = count;
  return id;
}

gboolean
tn_layout_slice (const TnLayout *self, const TnShape *shape, int64_t rank, TnBox *box, GError **error)
{
  int64_t place = tn_mesh_place (self->mesh, rank), n;
  TnShape local;
  if (place < 0)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_RANK, _ ("Rank %" PRId64 " is not in the mesh, which has %" PRId64 " ranks."), rank, self->mesh->n_ranks);
      return FALSE;
    }
  if (!tn_layout_local_shape (self, shape, &local, error))
    return FALSE;
  box->n_dims = shape->n_dims;
  for (int d = 0; d < shape->n_dims; d++)
    {
      box->lo[d] = piece_at (self, d, place, &n) * local.dims[d];
      box->hi[d] = box->lo[d] + local.dims[d];
    }
  return TRUE;
}

int64_t
tn_layout_slice_index (const TnLayout *self, int64_t place)
{
  int64_t index = 0, n;
  for (int d = 0; d < self->n_dims; d++)
    {
      int64_t piece = piece_at (self, d, place, &n);
      index = index * n + piece;
    }
  return index;
}

int64_t
tn_layout_n_slices (const TnLayout *self)
{
  return tn_mesh_span (self->mesh, self->used);
}

uint32_t
tn_layout_replica_axes (const TnLayout *self)
{
  return ((1u << self->mesh->n_axes) - 1) & ~(self->used | self->partial);
}

int64_t
tn_layout_replica (const TnLayout *self, int64_t place)
{
  int64_t index = 0;
  uint32_t axes = tn_layout_replica_axes (self);
  for (int i = 0; i < self->mesh->n_axes; i++)
    if (axes >> i & 1)
      index = index * self->mesh->sizes[i] + tn_mesh_coordinate (self->mesh, place, i);
  return index;
}

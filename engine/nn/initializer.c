/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/initializer.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "base/philox.h"

#define MAX_ARGS 4
#define CHUNK 1024 /* elements drawn at a time */

typedef enum
{
  INIT_CONSTANT,
  INIT_NORMAL,
  INIT_TRUNCATED_NORMAL,
  INIT_UNIFORM,
  INIT_XAVIER_UNIFORM,
  INIT_XAVIER_NORMAL,
  INIT_HE_UNIFORM,
  INIT_HE_NORMAL,
  INIT_VARIANCE_SCALING,
  INIT_UNIFORM_FAN_IN,
  INIT_SPARSE,
  INIT_IDENTITY,
  INIT_DIRAC,
  INIT_ORTHOGONAL
} InitKind;

typedef struct
{
  const char *name;
  double number;     /* default; of words: which */
  const char *words; /* "fan_in|fan_out": not a number */
} InitArg;

typedef struct
{
  const char *name;
  InitKind kind;
  InitArg args[MAX_ARGS];
} InitRow;

#define HE_ARGS                                                                                                                 \
  { { "negative_slope", 0 }, { "mode", 0, "fan_in|fan_out" }, { "nonlinearity", 0, "leaky_relu|relu|tanh|linear|sigmoid|conv" } }

static const InitRow rows[] = {
  { "zeros", INIT_CONSTANT, { { NULL, 0 } } },
  { "ones", INIT_CONSTANT, { { NULL, 1 } } },
  { "constant", INIT_CONSTANT, { { "value", 0 } } },
  { "normal", INIT_NORMAL, { { "sigma", 0.01 }, { "mean", 0 } } },
  { "truncated_normal", INIT_TRUNCATED_NORMAL, { { "sigma", 0.01 }, { "mean", 0 }, { "a", -2 }, { "b", 2 } } },
  { "uniform", INIT_UNIFORM, { { "scale", 0.07 } } },
  { "xavier_uniform", INIT_XAVIER_UNIFORM, { { "gain", 1 } } },
  { "xavier_normal", INIT_XAVIER_NORMAL, { { "gain", 1 } } },
  { "he_uniform", INIT_HE_UNIFORM, HE_ARGS },
  { "he_normal", INIT_HE_NORMAL, HE_ARGS },
  { "variance_scaling", INIT_VARIANCE_SCALING,
    { { "scale", 1 }, { "mode", 0, "fan_in|fan_out|fan_avg" }, { "distribution", 0, "truncated_normal|untruncated_normal|uniform" } } },
  { "uniform_fan_in", INIT_UNIFORM_FAN_IN, { { 0 } } },
  { "sparse", INIT_SPARSE, { { "sparsity", 0.1 }, { "sigma", 0.01 } } },
  { "identity", INIT_IDENTITY, { { 0 } } },
  { "dirac", INIT_DIRAC, { { "groups", 1 } } },
  { "orthogonal", INIT_ORTHOGONAL, { { "gain", 1 } } },
};

/* A text that was read. */
typedef struct
{
  const InitRow *row;
  double n[MAX_ARGS];
} Init;

/* ---- reading the text ---- */

static char *
normal_name (const char *text, gsize n)
{
  GString *name = g_string_new (NULL);
  for (gsize i = 0; i < n; i++)
    if (text[i] != '_' && !g_ascii_isspace (text[i]))
      g_string_append_c (name, g_ascii_tolower (text[i]));
  return g_string_free (name, FALSE);
}

static const InitRow *
find_row (const char *text, gsize n, GError **error)
{
  const char *known[G_N_ELEMENTS (rows) + 1] = { NULL };
  g_autofree char *name = normal_name (text, n);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *candidate = normal_name (rows[i].name, strlen (rows[i].name));
      known[i] = rows[i].name;
      if (strcmp (candidate, name) == 0)
        return &rows[i];
    }
  const char *near = tn_did_you_mean (name, known);
  g_autofree char *list = g_strjoinv (", ", (char **) known);
  if (near != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no initializer “%.*s”: did you mean “%s”?"), (int) n, text, near);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no initializer “%.*s”: it is one of %s"), (int) n, text, list);
  return NULL;
}

static gboolean
parse_number (const char *text, double *out)
{
  if (strcmp (text, "sqrt5") == 0 || strcmp (text, "sqrt(5)") == 0)
    {
      *out = sqrt (5);
      return TRUE;
    }
  char *end;
  *out = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*out);
}

static gboolean
parse_word (const char *text, const char *words, double *out)
{
  g_auto (GStrv) list = g_strsplit (words, "|", -1);
  for (int i = 0; list[i] != NULL; i++)
    if (g_ascii_strcasecmp (list[i], text) == 0)
      {
        *out = i;
        return TRUE;
      }
  return FALSE;
}

static gboolean
arg_error (const InitRow *row, const char *text, GError **error)
{
  g_autoptr (GString) takes = g_string_new (NULL);
  for (int i = 0; i < MAX_ARGS && row->args[i].name != NULL; i++)
    {
      g_string_append_printf (takes, "%s%s", i > 0 ? ", " : "", row->args[i].name);
      if (row->args[i].words != NULL)
        g_string_append_printf (takes, " (%s)", row->args[i].words);
    }
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("initializer %s: “%s” is not understood; it takes %s"), row->name, text,
               takes->len > 0 ? takes->str : _ ("no arguments"));
  return FALSE;
}

/* "0.02" at place @index, or "mean=0.5". */
static gboolean
take_arg (Init *init, int index, char *text, GError **error)
{
  const InitArg *args = init->row->args;
  char *equals = strchr (text, '=');
  const char *value = text;
  if (equals != NULL)
    {
      value = equals + 1;
      g_autofree char *name = g_strstrip (g_strndup (text, (gsize) (equals - text)));
      for (index = 0; index < MAX_ARGS && g_strcmp0 (args[index].name, name) != 0;)
        index++;
    }
  g_autofree char *bare = g_strstrip (g_strdup (value));
  if (index >= MAX_ARGS || args[index].name == NULL)
    return arg_error (init->row, text, error);
  gboolean ok = args[index].words != NULL ? parse_word (bare, args[index].words, &init->n[index]) : parse_number (bare, &init->n[index]);
  return ok || arg_error (init->row, text, error);
}

static gboolean
check_values (const Init *init, GError **error)
{
  const double *n = init->n;
  const char *wrong = NULL;
  switch (init->row->kind)
    {
    case INIT_NORMAL: wrong = n[0] < 0 ? _ ("sigma must be 0 or more") : NULL; break;
    case INIT_TRUNCATED_NORMAL: wrong = n[0] <= 0 || n[2] >= n[3] ? _ ("sigma must be above 0 and a below b") : NULL; break;
    case INIT_UNIFORM: wrong = n[0] < 0 ? _ ("scale must be 0 or more") : NULL; break;
    case INIT_VARIANCE_SCALING: wrong = n[0] <= 0 ? _ ("scale must be above 0") : NULL; break;
    case INIT_SPARSE: wrong = n[0] < 0 || n[0] > 1 || n[1] < 0 ? _ ("sparsity must be from 0 to 1 and sigma 0 or more") : NULL; break;
    case INIT_DIRAC: wrong = n[0] < 1 || n[0] != floor (n[0]) ? _ ("groups must be a whole number from 1 up") : NULL; break;
    default: break;
    }
  if (wrong == NULL)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, "%s: %s", init->row->name, wrong);
  return FALSE;
}

static gboolean
parse (const char *text, Init *init, GError **error)
{
  static const InitRow number = { "constant", INIT_CONSTANT, { { "value", 0 } } };
  g_autofree char *copy = g_strstrip (g_strdup (text != NULL ? text : ""));
  *init = (Init){ .row = &number };
  if (parse_number (copy, &init->n[0]))
    return TRUE;
  gsize name_length = strcspn (copy, "(");
  init->row = find_row (copy, name_length, error);
  if (init->row == NULL)
    return FALSE;
  for (int i = 0; i < MAX_ARGS; i++)
    init->n[i] = init->row->args[i].number;
  if (copy[name_length] == '\0')
    return TRUE;
  gsize length = strlen (copy);
  if (copy[length - 1] != ')')
    return arg_error (init->row, copy + name_length, error);
  copy[length - 1] = '\0';
  g_auto (GStrv) parts = g_strsplit (copy + name_length + 1, ",", -1);
  for (int i = 0; parts[i] != NULL; i++)
    if (!(i == 0 && parts[1] == NULL && g_strstrip (parts[0])[0] == '\0') && !take_arg (init, i, parts[i], error))
      return FALSE;
  return check_values (init, error);
}

gboolean
tn_initializer_check (const char *text, GError **error)
{
  Init init;
  return parse (text, &init, error);
}

/* ---- shapes ---- */

void
tn_initializer_fans (const TnShape *shape, double *fan_in, double *fan_out)
{
  double field = 1;
  for (int d = 2; d < shape->n_dims; d++)
    field *= (double) shape->dims[d];
  *fan_in = shape->n_dims > 1 ? (double) shape->dims[1] * field : 1;
  *fan_out = shape->n_dims > 0 ? (double) shape->dims[0] * field : 1;
}

static gboolean
check_shape (const Init *init, const TnShape *shape, GError **error)
{
  int low = 0, high = TN_MAX_DIMS;
  switch (init->row->kind)
    {
    case INIT_XAVIER_UNIFORM:
    case INIT_XAVIER_NORMAL:
    case INIT_HE_UNIFORM:
    case INIT_HE_NORMAL:
    case INIT_VARIANCE_SCALING:
    case INIT_UNIFORM_FAN_IN:
    case INIT_ORTHOGONAL: low = 2; break;
    case INIT_IDENTITY:
    case INIT_SPARSE: low = high = 2; break;
    case INIT_DIRAC:
      low = 3;
      high = 5;
      break;
    default: break;
    }
  g_autofree char *text = tn_shape_to_string (shape);
  if (shape->n_dims < low || shape->n_dims > high)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("initializer %s cannot make shape %s: it needs %d to %d dimensions"),
                   init->row->name, text, low, high);
      return FALSE;
    }
  if (init->row->kind == INIT_DIRAC && shape->dims[0] % (int64_t) init->n[0] != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("initializer dirac cannot make shape %s: %g groups do not divide dimension 0"),
                   text, init->n[0]);
      return FALSE;
    }
  return TRUE;
}

gboolean
tn_initializer_check_shape (const char *text, const TnShape *shape, GError **error)
{
  Init init;
  return parse (text, &init, error) && check_shape (&init, shape, error);
}

/* ---- distributions ---- */

/* Wichura's AS 241 (PPND16): inverse of the normal distribution, relative accuracy 1e-16. */
static double
inverse_normal (double p)
{
  double q = p - 0.5;
  if (fabs (q) <= 0.425)
    {
      double r = 0.180625 - q * q;
      return q
             * (((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r + 45921.953931549871457) * r
                   + 13731.693765509461125)
                      * r
                  + 1971.5909503065514427)
                     * r
                 + 133.14166789178437745)
                    * r
                + 3.387132872796366608)
             / (((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r + 21213.794301586595867) * r
                   + 5394.1960214247511077)
                      * r
                  + 687.1870074920579083)
                     * r
                 + 42.313330701600911252)
                    * r
                + 1.0);
    }
  double r = sqrt (-log (q < 0 ? MAX (p, 1e-300) : MAX (1 - p, 1e-300))), value;
  if (r <= 5)
    {
      r -= 1.6;
      value = (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r + 1.27045825245236838258) * r
                  + 3.64784832476320460504)
                     * r
                 + 5.7694972214606914055)
                    * r
                + 4.6303378461565452959)
                   * r
               + 1.42343711074968357734)
              / (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r + 0.14810397642748007459) * r
                    + 0.68976733498510000455)
                       * r
                   + 1.6763848301838038494)
                      * r
                  + 2.05319162663775882187)
                     * r
                 + 1.0);
    }
  else
    {
      r -= 5;
      value = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r + 0.026532189526576123093) * r
                  + 0.29656057182850489123)
                     * r
                 + 1.7848265399172913358)
                    * r
                + 5.4637849111641143699)
                   * r
               + 6.6579046435011037772)
              / (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r + 7.868691311456132591e-4) * r
                    + 0.0148753612908506148525)
                       * r
                   + 0.13692988092273580531)
                      * r
                  + 0.59983220655588793769)
                     * r
                 + 1.0);
    }
  return q < 0 ? -value : value;
}

static double
normal_cdf (double x)
{
  return 0.5 * erfc (-x * G_SQRT2 / 2);
}

typedef enum
{
  DRAW_CONSTANT,
  DRAW_NORMAL,
  DRAW_TRUNCATED,
  DRAW_UNIFORM
} Draw;

/* What every element is drawn from. */
typedef struct
{
  Draw draw;
  double centre, spread; /* mean and sigma; uniform: +- spread */
  double low, high;      /* probabilities that a truncated normal lies between */
} Distribution;

static Distribution
truncated (double mean, double sigma, double low, double high)
{
  return (Distribution){ DRAW_TRUNCATED, mean, sigma, normal_cdf ((low - mean) / sigma), normal_cdf ((high - mean) / sigma) };
}

static double
he_gain (const Init *init)
{
  switch ((int) init->n[2])
    {
    case 0: return sqrt (2 / (1 + init->n[0] * init->n[0]));
    case 1: return G_SQRT2;
    case 2: return 5.0 / 3;
    default: return 1;
    }
}

static Distribution
find_distribution (const Init *init, const TnShape *shape)
{
  const double *n = init->n;
  double fan_in, fan_out;
  tn_initializer_fans (shape, &fan_in, &fan_out);
  fan_in = MAX (fan_in, 1);
  fan_out = MAX (fan_out, 1);
  double he_fan = n[1] == 0 ? fan_in : fan_out;
  double scale_fan = n[1] == 0 ? fan_in : n[1] == 1 ? fan_out : (fan_in + fan_out) / 2;
  switch (init->row->kind)
    {
    case INIT_NORMAL: return (Distribution){ DRAW_NORMAL, n[1], n[0] };
    case INIT_TRUNCATED_NORMAL: return truncated (n[1], n[0], n[2], n[3]); /* a and b are values, not sigmas */
    case INIT_UNIFORM: return (Distribution){ DRAW_UNIFORM, 0, n[0] };
    case INIT_XAVIER_UNIFORM: return (Distribution){ DRAW_UNIFORM, 0, n[0] * sqrt (6 / (fan_in + fan_out)) };
    case INIT_XAVIER_NORMAL: return (Distribution){ DRAW_NORMAL, 0, n[0] * sqrt (2 / (fan_in + fan_out)) };
    case INIT_HE_UNIFORM: return (Distribution){ DRAW_UNIFORM, 0, he_gain (init) * sqrt (3 / he_fan) };
    case INIT_HE_NORMAL: return (Distribution){ DRAW_NORMAL, 0, he_gain (init) / sqrt (he_fan) };
    case INIT_UNIFORM_FAN_IN: return (Distribution){ DRAW_UNIFORM, 0, 1 / sqrt (fan_in) };
    case INIT_VARIANCE_SCALING:
      {
        double sigma = sqrt (n[0] / scale_fan);
        if (n[2] == 2)
          return (Distribution){ DRAW_UNIFORM, 0, sigma * sqrt (3) };
        if (n[2] == 1)
          return (Distribution){ DRAW_NORMAL, 0, sigma };
        sigma /= 0.87962566103423978; /* standard deviation of a normal cut at 2 sigma */
        return truncated (0, sigma, -2 * sigma, 2 * sigma);
      }
    default: return (Distribution){ DRAW_CONSTANT, n[0], 0 };
    }
}

/* Elements [first, first + n) of the stream. */
static void
draw_run (const Distribution *d, uint64_t key, uint64_t first, size_t n, double *out)
{
  if (d->draw == DRAW_NORMAL)
    tn_philox_normal_f64 (key, 0, first, n, out);
  else if (d->draw != DRAW_CONSTANT)
    tn_philox_uniform_f64 (key, 0, first, n, out);
  for (size_t i = 0; i < n; i++)
    switch (d->draw)
      {
      case DRAW_CONSTANT: out[i] = d->centre; break;
      case DRAW_NORMAL: out[i] = d->centre + d->spread * out[i]; break;
      case DRAW_UNIFORM: out[i] = d->spread * (2 * out[i] - 1); break;
      case DRAW_TRUNCATED: out[i] = d->centre + d->spread * inverse_normal (d->low + out[i] * (d->high - d->low)); break;
      }
}

/* ---- whole matrices ---- */

/* Rows (or columns, where there are fewer) orthonormal, from a normal matrix: Gram-Schmidt, each vector twice, which is the
 * QR decomposition with positive diagonal. Returns [rows][columns], or NULL without memory. */
static double *
make_orthogonal (const TnShape *shape, uint64_t key, double gain)
{
  size_t n_rows = (size_t) shape->dims[0], n_columns = (size_t) tn_shape_span (shape, 1, shape->n_dims);
  size_t n = MIN (n_rows, n_columns), length = MAX (n_rows, n_columns);
  double *a = g_try_new (double, MAX (n * length, 1)), *out = g_try_new (double, MAX (n * length, 1));
  if (a == NULL || out == NULL)
    {
      g_free (a);
      g_free (out);
      return NULL;
    }
  tn_philox_normal_f64 (key, 0, 0, n * length, a);
  for (size_t i = 0; i < n; i++)
    {
      double *row = a + i * length;
      for (size_t k = 0; k < 2 * i; k++)
        {
          const double *other = a + (k % i) * length;
          double dot = 0;
          for (size_t j = 0; j < length; j++)
            dot += row[j] * other[j];
          for (size_t j = 0; j < length; j++)
            row[j] -= dot * other[j];
        }
      double norm = 0;
      for (size_t j = 0; j < length; j++)
        norm += row[j] * row[j];
      for (size_t j = 0; j < length; j++)
        row[j] /= sqrt (norm);
    }
  for (size_t i = 0; i < n_rows; i++)
    for (size_t j = 0; j < n_columns; j++)
      out[i * n_columns + j] = gain * (n_rows <= n_columns ? a[i * length + j] : a[j * length + i]);
  g_free (a);
  return out;
}

/* In every column the first share of a permutation of the rows is 0. */
static double *
make_sparse (const TnShape *shape, uint64_t key, uint64_t zeros_key, double sparsity, double sigma)
{
  size_t n_rows = (size_t) shape->dims[0], n_columns = (size_t) shape->dims[1];
  double *out = g_try_new (double, MAX (n_rows * n_columns, 1));
  g_autofree int64_t *order = g_try_new (int64_t, MAX (n_rows, 1));
  if (out == NULL || order == NULL)
    {
      g_free (out);
      return NULL;
    }
  tn_philox_normal_f64 (key, 0, 0, n_rows * n_columns, out);
  for (size_t i = 0; i < n_rows * n_columns; i++)
    out[i] *= sigma;
  size_t n_zeros = (size_t) ceil (sparsity * (double) n_rows);
  for (size_t j = 0; j < n_columns; j++)
    {
      tn_philox_shuffle (zeros_key, j, (int64_t) n_rows, order);
      for (size_t k = 0; k < n_zeros; k++)
        out[(size_t) order[k] * n_columns + j] = 0;
    }
  return out;
}

/* identity and dirac: 1 where the index says so. */
static double
unit_element (const Init *init, const TnShape *shape, const int64_t *index)
{
  if (init->row->kind == INIT_IDENTITY)
    return index[0] == index[1];
  int64_t group_size = shape->dims[0] / (int64_t) init->n[0];
  gboolean one = index[0] % group_size == index[1];
  for (int d = 2; d < shape->n_dims; d++)
    one &= index[d] == shape->dims[d] / 2;
  return one;
}

/* ---- filling ---- */

static void
store_run (TnTensor *out, int64_t first, int n, const double *values)
{
  if (out->dtype == TN_DTYPE_F32)
    for (int i = 0; i < n; i++)
      ((float *) tn_tensor_data (out))[first + i] = (float) values[i];
  else
    for (int i = 0; i < n; i++)
      tn_tensor_set (out, first + i, values[i]);
}

/* What one fill works with. */
typedef struct
{
  const Init *init;
  const TnShape *whole;
  Distribution distribution;
  uint64_t key;
  double *matrix; /* the whole, or NULL */
} Source;

/* Elements of the last dimension from @index on. */
static void
source_run (const Source *self, const int64_t *index, int64_t flat, int n, double *out)
{
  if (self->matrix != NULL)
    memcpy (out, self->matrix + flat, sizeof (double) * (size_t) n);
  else if (self->init->row->kind == INIT_IDENTITY || self->init->row->kind == INIT_DIRAC)
    {
      int64_t at[TN_MAX_DIMS];
      memcpy (at, index, sizeof at);
      for (int i = 0; i < n; i++, at[self->whole->n_dims - 1]++)
        out[i] = unit_element (self->init, self->whole, at);
    }
  else
    draw_run (&self->distribution, self->key, (uint64_t) flat, (size_t) n, out);
}

static void
fill_from (const Source *source, const int64_t *start, TnTensor *out)
{
  const TnShape *whole = source->whole, *box = &out->shape;
  int last = box->n_dims - 1;
  int64_t strides[TN_MAX_DIMS], index[TN_MAX_DIMS] = { 0 }, place = 0, count = tn_shape_count (box);
  int64_t row = last >= 0 ? box->dims[last] : 1;
  double values[CHUNK];
  tn_shape_strides (whole, strides);
  while (place < count)
    {
      int64_t rest = place, flat = 0;
      for (int d = last; d >= 0; d--)
        {
          index[d] = start[d] + rest % box->dims[d];
          rest /= box->dims[d];
          flat += index[d] * strides[d];
        }
      int n = (int) MIN (row - place % row, CHUNK);
      source_run (source, index, flat, n, values);
      store_run (out, place, n, values);
      place += n;
    }
}

static gboolean
check_box (const TnShape *whole, const int64_t *start, const TnTensor *out, GError **error)
{
  gboolean inside = whole->n_dims == out->shape.n_dims && tn_tensor_is_contiguous (out);
  for (int d = 0; inside && d < whole->n_dims; d++)
    inside = start[d] >= 0 && out->shape.dims[d] >= 0 && start[d] <= whole->dims[d] - out->shape.dims[d];
  if (inside)
    return TRUE;
  g_autofree char *box = tn_shape_to_string (&out->shape), *shape = tn_shape_to_string (whole);
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("a box of shape %s does not lie inside a parameter of shape %s"), box, shape);
  return FALSE;
}

gboolean
tn_initializer_fill_box (const char *text, const char *parameter_name, uint64_t seed, const TnShape *whole, const int64_t *start,
                         TnTensor *out, GError **error)
{
  Init init;
  size_t bytes;
  if (!parse (text, &init, error) || !check_shape (&init, whole, error) || !tn_shape_bytes (whole, sizeof (double), &bytes, error)
      || !check_box (whole, start, out, error))
    {
      g_prefix_error (error, "%s: ", parameter_name);
      return FALSE;
    }
  Source source = { &init, whole, find_distribution (&init, whole), tn_philox_key (seed, parameter_name, 0), NULL };
  gboolean needs_matrix = init.row->kind == INIT_ORTHOGONAL || init.row->kind == INIT_SPARSE;
  if (init.row->kind == INIT_ORTHOGONAL)
    source.matrix = make_orthogonal (whole, source.key, init.n[0]);
  else if (init.row->kind == INIT_SPARSE)
    source.matrix = make_sparse (whole, source.key, tn_philox_key (seed, parameter_name, 1), init.n[0], init.n[1]);
  if (needs_matrix && source.matrix == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("%s: no memory for the whole matrix that initializer %s needs"), parameter_name,
                   init.row->name);
      return FALSE;
    }
  fill_from (&source, start, out);
  g_free (source.matrix);
  return TRUE;
}

gboolean
tn_initializer_fill (const char *text, const char *parameter_name, uint64_t seed, TnTensor *out, GError **error)
{
  static const int64_t origin[TN_MAX_DIMS] = { 0 };
  TnShape shape = out->shape;
  return tn_initializer_fill_box (text, parameter_name, seed, &shape, origin, out, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/dnnl-conv.h"
#include <dlfcn.h>
#include <dnnl.h>
#include <inttypes.h>
#include <string.h>
#include "base/error.h"

/* What a run binds its arrays to. Kept and handed out again, so that running allocates nothing of ours. */
typedef struct
{
  dnnl_memory_t x, w, y, scratch;
} Seat;

struct _TnDnnlConv
{
  TnDnnlKind kind;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  size_t scratch;
  const char *implementation;
  GMutex mutex;
  GPtrArray *free_seats;
};

/* ---- the process ---- */

static dnnl_engine_t
the_engine (void)
{
  static gsize ready = 0;
  static dnnl_engine_t engine;
  if (g_once_init_enter (&ready))
    {
      dnnl_engine_create (&engine, dnnl_cpu, 0);
      g_once_init_leave (&ready, 1);
    }
  return engine;
}

/* A CPU stream holds nothing that two threads could disturb, but each has its own all the same. */
typedef struct
{
  dnnl_stream_t stream;
} Thread;

static void
free_thread (gpointer data)
{
  Thread *thread = data;
  dnnl_stream_destroy (thread->stream);
  g_free (thread);
}

static GPrivate threads = G_PRIVATE_INIT (free_thread);

/* oneDNN would share a primitive's work among OpenMP threads, and cut it by their number. The OpenMP library is the one
 * that libdnnl brought along, whichever that is. */
static Thread *
enter_thread (void)
{
  Thread *thread = g_private_get (&threads);
  if (thread != NULL)
    return thread;
  void (*set_threads) (int) = (void (*) (int)) dlsym (RTLD_DEFAULT, "omp_set_num_threads");
  if (set_threads != NULL)
    set_threads (1);
  thread = g_new0 (Thread, 1);
  dnnl_status_t status = dnnl_stream_create (&thread->stream, the_engine (), dnnl_stream_default_flags);
  g_assert (status == dnnl_success);
  g_private_set (&threads, thread);
  return thread;
}

const char *
tn_dnnl_version (void)
{
  static char text[40];
  static gsize ready = 0;
  if (g_once_init_enter (&ready))
    {
      const dnnl_version_t *version = dnnl_version ();
      g_snprintf (text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
      g_once_init_leave (&ready, 1);
    }
  return text;
}

/* ---- memory descriptors and primitive descriptors: where versions 2 and 3 differ ---- */

typedef struct
{
  dnnl_dims_t x_dims, w_dims, y_dims, strides, dilates, pads_before, pads_after;
  dnnl_format_tag_t x_tag, w_tag, y_tag;
  dnnl_prop_kind_t prop;
  dnnl_alg_kind_t algorithm;
} Request;

static Request
make_request (const TnDnnlConvShape *s)
{
  gboolean wide = s->block == 16, few = s->c <= TN_DNNL_FEW_CHANNELS;
  Request request = { .x_dims = { s->n, s->c, s->h, s->w }, .w_dims = { s->o, s->c, s->kh, s->kw }, .y_dims = { s->n, s->o, s->oh, s->ow },
                      .strides = { s->stride_h, s->stride_w }, .pads_before = { s->pad_top, s->pad_left },
                      .pads_after = { s->pad_bottom, s->pad_right } };
  request.y_tag = wide ? dnnl_nChw16c : dnnl_nChw8c;
  request.x_tag = few ? dnnl_nchw : request.y_tag;
  if (s->kind == TN_DNNL_BACKWARD_DATA)
    request.w_tag = wide ? dnnl_OIhw16o16i : dnnl_OIhw8o8i;
  else if (few)
    request.w_tag = wide ? dnnl_Ohwi16o : dnnl_Ohwi8o;
  else
    request.w_tag = wide ? dnnl_OIhw16i16o : dnnl_OIhw8i8o;
  return request;
}

#if DNNL_VERSION_MAJOR < 3

typedef dnnl_memory_desc_t MemoryDesc;
typedef const dnnl_memory_desc_t *QueriedDesc;

static dnnl_status_t
init_desc (MemoryDesc *md, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
  return dnnl_memory_desc_init_by_tag (md, 4, dims, dnnl_f32, tag);
}

static void
clear_desc (MemoryDesc *md)
{
}

static dnnl_status_t
create_desc (dnnl_primitive_desc_t *desc, TnDnnlKind kind, const Request *r, const MemoryDesc *x, const MemoryDesc *w,
             const MemoryDesc *y, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  dnnl_convolution_desc_t op;
  dnnl_status_t status
      = kind == TN_DNNL_FORWARD
            ? dnnl_convolution_forward_desc_init (&op, dnnl_forward_training, r->algorithm, x, w, NULL, y, r->strides, r->pads_before,
                                                  r->pads_after)
        : kind == TN_DNNL_BACKWARD_DATA
            ? dnnl_convolution_backward_data_desc_init (&op, r->algorithm, x, w, y, r->strides, r->pads_before, r->pads_after)
            : dnnl_convolution_backward_weights_desc_init (&op, r->algorithm, x, w, NULL, y, r->strides, r->pads_before, r->pads_after);
  return status == dnnl_success ? dnnl_primitive_desc_create (desc, &op, attr, the_engine (), hint) : status;
}

#else

typedef dnnl_memory_desc_t MemoryDesc;
typedef const_dnnl_memory_desc_t QueriedDesc;

static dnnl_status_t
init_desc (MemoryDesc *md, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
  return dnnl_memory_desc_create_with_tag (md, 4, dims, dnnl_f32, tag);
}

static void
clear_desc (MemoryDesc *md)
{
  if (*md != NULL)
    dnnl_memory_desc_destroy (*md);
}

static dnnl_status_t
create_desc (dnnl_primitive_desc_t *desc, TnDnnlKind kind, const Request *r, const MemoryDesc *x, const MemoryDesc *w,
             const MemoryDesc *y, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  if (kind == TN_DNNL_FORWARD)
    return dnnl_convolution_forward_primitive_desc_create (desc, the_engine (), dnnl_forward_training, r->algorithm, *x, *w, NULL, *y,
                                                           r->strides, r->dilates, r->pads_before, r->pads_after, attr);
  if (kind == TN_DNNL_BACKWARD_DATA)
    return dnnl_convolution_backward_data_primitive_desc_create (desc, the_engine (), r->algorithm, *x, *w, *y, r->strides, r->dilates,
                                                                 r->pads_before, r->pads_after, hint, attr);
  return dnnl_convolution_backward_weights_primitive_desc_create (desc, the_engine (), r->algorithm, *x, *w, NULL, *y, r->strides,
                                                                  r->dilates, r->pads_before, r->pads_after, hint, attr);
}

#endif

/* The backward descriptors want the forward one as a hint, with weights as it likes them: its memory is never made. */
static dnnl_status_t
create_with_hint (dnnl_primitive_desc_t *desc, TnDnnlKind kind, Request *request, const_dnnl_primitive_attr_t attr)
{
  MemoryDesc x = { 0 }, w = { 0 }, y = { 0 }, any = { 0 };
  dnnl_primitive_desc_t hint = NULL;
  dnnl_status_t status = init_desc (&x, request->x_dims, request->x_tag);
  if (status == dnnl_success)
    status = init_desc (&w, request->w_dims, request->w_tag);
  if (status == dnnl_success)
    status = init_desc (&y, request->y_dims, request->y_tag);
  if (status == dnnl_success && kind != TN_DNNL_FORWARD)
    {
      status = init_desc (&any, request->w_dims, dnnl_format_tag_any);
      if (status == dnnl_success)
        status = create_desc (&hint, TN_DNNL_FORWARD, request, &x, &any, &y, NULL, attr);
    }
  if (status == dnnl_success)
    status = create_desc (desc, kind, request, &x, &w, &y, hint, attr);
  if (hint != NULL)
    dnnl_primitive_desc_destroy (hint);
  clear_desc (&x);
  clear_desc (&w);
  clear_desc (&y);
  clear_desc (&any);
  return status;
}

/* ---- the primitive ---- */

static QueriedDesc
query_desc (const TnDnnlConv *self, dnnl_query_t what)
{
  return dnnl_primitive_desc_query_md (self->desc, what, 0);
}

TnDnnlConv *
tn_dnnl_conv_new (const TnDnnlConvShape *shape, GError **error)
{
  g_autoptr (TnDnnlConv) self = g_new0 (TnDnnlConv, 1);
  g_mutex_init (&self->mutex);
  self->free_seats = g_ptr_array_new ();
  self->kind = shape->kind;
  enter_thread (); /* some kernels are laid out for the number of threads at creation */
  Request request = make_request (shape);
  dnnl_primitive_attr_t attr = NULL;
  dnnl_status_t status = dnnl_primitive_attr_create (&attr);
  if (status == dnnl_success)
    status = dnnl_primitive_attr_set_scratchpad_mode (attr, dnnl_scratchpad_mode_user);
  request.algorithm = shape->winograd ? dnnl_convolution_auto : dnnl_convolution_direct;
  if (status == dnnl_success)
    status = create_with_hint (&self->desc, shape->kind, &request, attr);
  if (status != dnnl_success && shape->winograd)
    {
      request.algorithm = dnnl_convolution_direct;
      status = create_with_hint (&self->desc, shape->kind, &request, attr);
    }
  if (attr != NULL)
    dnnl_primitive_attr_destroy (attr);
  if (status == dnnl_success)
    status = dnnl_primitive_create (&self->primitive, self->desc);
  if (status != dnnl_success)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED,
                   _ ("oneDNN %s refuses a convolution of %" PRId64 " to %" PRId64 " channels, kernel %" PRId64
                      " x %" PRId64 " (status %d)"),
                   tn_dnnl_version (), (gint64) shape->c, (gint64) shape->o, (gint64) shape->kh, (gint64) shape->kw, (int) status);
      return NULL;
    }
  self->scratch = dnnl_memory_desc_get_size (query_desc (self, dnnl_query_scratchpad_md));
  dnnl_primitive_desc_query (self->desc, dnnl_query_impl_info_str, 0, &self->implementation);
  return g_steal_pointer (&self);
}

static void
free_seat (Seat *seat)
{
  dnnl_memory_destroy (seat->x);
  dnnl_memory_destroy (seat->w);
  dnnl_memory_destroy (seat->y);
  dnnl_memory_destroy (seat->scratch);
  g_free (seat);
}

void
tn_dnnl_conv_free (TnDnnlConv *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->free_seats->len; i++)
    free_seat (self->free_seats->pdata[i]);
  g_ptr_array_unref (self->free_seats);
  if (self->primitive != NULL)
    dnnl_primitive_destroy (self->primitive);
  if (self->desc != NULL)
    dnnl_primitive_desc_destroy (self->desc);
  g_mutex_clear (&self->mutex);
  g_free (self);
}

size_t
tn_dnnl_conv_scratch (const TnDnnlConv *self)
{
  return self->scratch;
}

const char *
tn_dnnl_conv_implementation (const TnDnnlConv *self)
{
  return self->implementation;
}

/* The queries by which each kind names x, w and y, and the arguments of its run. */
static const struct
{
  dnnl_query_t x, w, y;
  int x_arg, w_arg, y_arg;
} roles[] = {
  [TN_DNNL_FORWARD] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
  [TN_DNNL_BACKWARD_DATA] = { dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md, DNNL_ARG_DIFF_SRC,
                              DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST },
  [TN_DNNL_BACKWARD_WEIGHTS] = { dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md, DNNL_ARG_SRC,
                                 DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST },
};

static void
make_memory (dnnl_memory_t *memory, QueriedDesc md)
{
  dnnl_status_t status = dnnl_memory_create (memory, md, the_engine (), DNNL_MEMORY_NONE);
  g_assert (status == dnnl_success); /* as g_new(): it fails where memory does */
}

static Seat *
take_seat (TnDnnlConv *self)
{
  g_mutex_lock (&self->mutex);
  Seat *seat = self->free_seats->len > 0 ? g_ptr_array_steal_index_fast (self->free_seats, self->free_seats->len - 1) : NULL;
  g_mutex_unlock (&self->mutex);
  if (seat != NULL)
    return seat;
  seat = g_new0 (Seat, 1);
  make_memory (&seat->x, query_desc (self, roles[self->kind].x));
  make_memory (&seat->w, query_desc (self, roles[self->kind].w));
  make_memory (&seat->y, query_desc (self, roles[self->kind].y));
  make_memory (&seat->scratch, query_desc (self, dnnl_query_scratchpad_md));
  return seat;
}

static void
give_seat (TnDnnlConv *self, Seat *seat)
{
  g_mutex_lock (&self->mutex);
  g_ptr_array_add (self->free_seats, seat);
  g_mutex_unlock (&self->mutex);
}

void
tn_dnnl_conv_run (TnDnnlConv *self, const float *x, const float *w, const float *y, void *scratch)
{
  Thread *thread = enter_thread ();
  Seat *seat = take_seat (self);
  dnnl_memory_set_data_handle (seat->x, (void *) x);
  dnnl_memory_set_data_handle (seat->w, (void *) w);
  dnnl_memory_set_data_handle (seat->y, (void *) y);
  dnnl_memory_set_data_handle (seat->scratch, scratch);
  const dnnl_exec_arg_t args[] = { { roles[self->kind].x_arg, seat->x },
                                   { roles[self->kind].w_arg, seat->w },
                                   { roles[self->kind].y_arg, seat->y },
                                   { DNNL_ARG_SCRATCHPAD, seat->scratch } };
  dnnl_status_t status = dnnl_primitive_execute (self->primitive, thread->stream, G_N_ELEMENTS (args), args);
  g_assert (status == dnnl_success);
  give_seat (self, seat);
}

/* ---- what is fast ---- */

#define KEY_LENGTH 18

static guint
hash_key (gconstpointer key)
{
  const int64_t *numbers = key;
  uint64_t hash = 0;
  for (int i = 0; i < KEY_LENGTH; i++)
    hash = (hash ^ (uint64_t) numbers[i]) * 0x9e3779b97f4a7c15u;
  return (guint) (hash >> 32);
}

static gboolean
equal_keys (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, KEY_LENGTH * sizeof (int64_t)) == 0;
}

gboolean
tn_dnnl_conv_is_fast (const TnDnnlConvShape *s)
{
  static GMutex mutex;
  static GHashTable *known;
  const int64_t key[KEY_LENGTH] = { s->kind, s->n, s->c, s->h, s->w, s->o, s->oh, s->ow, s->kh, s->kw, s->stride_h, s->stride_w, s->pad_top,
                                    s->pad_left, s->pad_bottom, s->pad_right, s->block, s->winograd };
  g_mutex_lock (&mutex);
  if (known == NULL)
    known = g_hash_table_new_full (hash_key, equal_keys, g_free, NULL);
  gpointer answer;
  if (!g_hash_table_lookup_extended (known, key, NULL, &answer))
    {
      g_autoptr (TnDnnlConv) conv = tn_dnnl_conv_new (s, NULL);
      answer = GINT_TO_POINTER (conv != NULL && g_str_has_prefix (conv->implementation, "jit"));
      g_hash_table_insert (known, g_memdup2 (key, sizeof key), answer);
    }
  g_mutex_unlock (&mutex);
  return GPOINTER_TO_INT (answer);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "base/error.h"
#include "formats/dcp.h"
#include "formats/pickle.h"
#include "ops/truth.h"

/* Folders that torch.distributed.checkpoint wrote (truth folder torch/models, dcp_*.tensors.json). */

static char *
dcp_path (const char *name)
{
  g_autofree char *folder = truth_folder (), *path = folder != NULL ? g_build_filename (folder, "torch/models", name, NULL) : NULL;
  return path != NULL && g_file_test (path, G_FILE_TEST_EXISTS) ? g_steal_pointer (&path) : NULL;
}

static const char *const folders[] = { "dcp_fsdp_4ranks", "dcp_tp2_fsdp2" };

static TnDcpTensor *
find (const TnDcp *dcp, const char *name)
{
  for (guint i = 0; i < dcp->tensors->len; i++)
    if (strcmp (((TnDcpTensor *) dcp->tensors->pdata[i])->name, name) == 0)
      return dcp->tensors->pdata[i];
  g_error ("%s is missing", name);
}

static gboolean
same (const int64_t *values, int n, JsonArray *want)
{
  gboolean ok = (guint) n == json_array_get_length (want);
  for (int i = 0; ok && i < n; i++)
    ok = values[i] == json_array_get_int_element (want, (guint) i);
  return ok;
}

static int checked_pieces;

static void
check_storage (const TnDcp *dcp, JsonArray *storage)
{
  for (guint i = 0; i < json_array_get_length (storage); i++)
    {
      JsonObject *item = json_array_get_object_element (storage, i);
      if (!json_object_has_member (item, "offset_in_tensor") || json_object_get_null_member (item, "offset_in_tensor"))
        continue;
      TnDcpTensor *tensor = find (dcp, json_object_get_string_member (item, "fqn"));
      gboolean found = FALSE;
      for (guint k = 0; k < tensor->pieces->len && !found; k++)
        {
          const TnDcpPiece *piece = &g_array_index (tensor->pieces, TnDcpPiece, k);
          found = same (piece->lo, tensor->shape.n_dims, json_object_get_array_member (item, "offset_in_tensor")) && g_strcmp0 (piece->file, json_object_get_string_member (item, "file")) == 0
                  && piece->offset == (uint64_t) json_object_get_int_member (item, "byte_offset") && piece->length == (uint64_t) json_object_get_int_member (item, "byte_length");
        }
      g_assert_true (found);
      checked_pieces++;
    }
}

static void
test_truth (void)
{
  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = dcp_path (folders[f]), *list_name = g_strdup_printf ("%s.tensors.json", folders[f]), *list = dcp_path (list_name);
      if (path == NULL)
        {
          g_test_skip ("no truth folder");
          return;
        }
      g_autoptr (TnDcp) dcp = tn_dcp_load (path, &error);
      g_assert_no_error (error);
      g_autoptr (JsonNode) root = truth_load (list);
      JsonObject *want = json_node_get_object (root), *tensors = json_object_get_object_member (want, "tensors"), *chunks = json_object_get_object_member (want, "chunks");
      g_assert_cmpuint (dcp->tensors->len, ==, json_object_get_size (tensors));
      g_assert_cmpuint (dcp->others->len, ==, json_array_get_length (json_object_get_array_member (want, "not_tensors")));
      g_autoptr (GList) names = json_object_get_members (tensors);
      for (GList *l = names; l != NULL; l = l->next)
        {
          const TnDcpTensor *tensor = find (dcp, l->data);
          JsonObject *described = json_object_get_object_member (tensors, l->data);
          TnDType dtype;
          g_assert_true (tn_dtype_parse (json_object_get_string_member (described, "dtype"), &dtype) && dtype == tensor->dtype);
          g_assert_true (same (tensor->shape.dims, tensor->shape.n_dims, json_object_get_array_member (described, "shape")));
          if (!json_object_has_member (chunks, l->data))
            continue;
          JsonArray *pieces = json_object_get_array_member (chunks, l->data);
          g_assert_cmpuint (tensor->pieces->len, ==, json_array_get_length (pieces));
          for (guint k = 0; k < tensor->pieces->len; k++)
            {
              JsonObject *piece = json_array_get_object_element (pieces, k);
              g_assert_true (same (g_array_index (tensor->pieces, TnDcpPiece, k).lo, tensor->shape.n_dims, json_object_get_array_member (piece, "offsets")));
              g_assert_true (same (g_array_index (tensor->pieces, TnDcpPiece, k).sizes, tensor->shape.n_dims, json_object_get_array_member (piece, "sizes")));
            }
        }
      check_storage (dcp, json_object_get_array_member (want, "storage"));
    }
  g_test_message ("%d pieces where torch put them", checked_pieces);
}

/* Nothing is called: a pickle that would run a command is a note about a call, or refused. */
static void
test_runs_nothing (void)
{
  static const char text[] = "cos\nsystem\n(X\x0e\0\0\0touch /tmp/bad" "tR.";
  g_autoptr (GError) error = NULL;
  g_autoptr (TnPickle) pickle = tn_pickle_parse (text, sizeof text - 1, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_pickle_root (pickle)->kind, ==, TN_PICKLE_OBJECT);
  g_assert_cmpstr (tn_pickle_root (pickle)->callee->text, ==, "os.system");
  g_assert_null (tn_dcp_parse (text, sizeof text - 1, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
}

static void
test_damage (void)
{
  int refused = 0, read = 0;
  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *path = dcp_path (folders[f]), *file = path != NULL ? g_build_filename (path, ".metadata", NULL) : NULL, *data = NULL;
      gsize n;
      if (path == NULL)
        {
          g_test_skip ("no truth folder");
          return;
        }
      g_assert_true (g_file_get_contents (file, &data, &n, NULL));
      for (gsize cut = 0; cut < n; cut += 16)
        {
          g_autofree char *part = g_memdup2 (data, MAX (cut, 1)); /* as long as it is: a reader that goes on is seen */
          g_autoptr (GError) error = NULL;
          g_autoptr (TnDcp) dcp = tn_dcp_parse (part, cut, &error);
          g_assert_null (dcp);
          g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
        }
      for (int i = 0; i < 1000; i++)
        {
          g_autofree char *part = g_memdup2 (data, n);
          g_autoptr (GError) error = NULL;
          part[g_test_rand_int_range (0, (gint32) n)] ^= (char) (1 << g_test_rand_int_range (0, 8));
          g_autoptr (TnDcp) dcp = tn_dcp_parse (part, n, &error);
          g_assert_true ((dcp != NULL) == (error == NULL));
          refused += dcp == NULL;
          read += dcp != NULL;
          for (guint k = 0; dcp != NULL && k < dcp->tensors->len; k++)
            {
              g_autofree char *cut = tn_dcp_tensor_cut (dcp->tensors->pdata[k]);
              g_assert_nonnull (cut);
            }
        }
    }
  g_test_message ("%d flipped files refused, %d read (a flip in a name or number)", refused, read);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/dcp/says-what-torch-wrote", test_truth);
  g_test_add_func ("/formats/dcp/runs-nothing", test_runs_nothing);
  g_test_add_func ("/formats/dcp/damaged-metadata-is-refused", test_damage);
  return g_test_run ();
}

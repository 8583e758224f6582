/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <glib/gi18n.h>

#include "page-data.h"
#include "page-graph.h"
#include "page-model.h"
#include "page-shard.h"
#include "page-runs.h"
#include "page-train.h"

/* The destinations, in the order of the sidebar. A new page is one row here and its own file. */
const TnPageInfo tn_pages[] = {
  { "data", N_("Data"), "tn-data-symbolic", TN_PAGE_BUILD, tn_page_data_get_type,
    N_("Here stands what the network learns from. Choose a file or folder, look at the samples, and say how many are held out to measure "
       "accuracy on. Delete leaves a selected sample out; undo takes it in again.") },
  { "model", N_("Model"), "tn-model-symbolic", TN_PAGE_BUILD, tn_page_model_get_type,
    N_("Here the network is made of layers, from the top down. Select one to change its options: the shapes behind it follow at once, and what does "
       "not fit is said at its row. Under Parameters any number of weights can be frozen together.") },
  { "train", N_("Train"), "tn-train-symbolic", TN_PAGE_BUILD, tn_page_train_get_type,
    N_("Here the network learns. Press Train: the curves grow while the weights change, and the settings on the left say how. Change one, "
       "press Train again, and the new curve is drawn over the old one.") },
  { "graph", N_("Graph"), "tn-graph-symbolic", TN_PAGE_INSIDE, tn_page_graph_get_type,
    N_("Here is what one training step computes: forward on the left, backward beside it, the optimizer below. A double click opens a layer, "
       "a number in a tag leads to its other end. Find an operator by any part of its name, type or shape.") },
  { "shard", N_("Sharding"), "tn-shard-symbolic", TN_PAGE_INSIDE, tn_page_shard_get_type,
    N_("Here stands which rank holds and sends which bytes, before anything runs. Press a tile to choose its rank, change how a parameter is cut beside "
       "it, or ask under What-if what other numbers of devices would need. Strategy files of other programs open here too.") },
  { "runs", N_("Runs"), "view-list-symbolic", TN_PAGE_KEEP, tn_page_runs_get_type,
    N_("Here every training of the project is kept, with its state, its last numbers and what it set otherwise. Select some and press Compare: "
       "their losses are drawn over each other. Remove moves runs aside, and Removed brings them back.") },
  { NULL },
};

const TnPageInfo *
tn_page_info_find (const char *id)
{
  for (const TnPageInfo *info = tn_pages; info->id != NULL; info++)
    if (g_strcmp0 (info->id, id) == 0)
      return info;
  return NULL;
}

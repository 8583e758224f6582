/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

/* TnAdaptiveBin: lets a window be as small as 360 x 294 whatever is inside, and says how wide it is.
 *
 * It reports that minimum, gives its child at least the child's own minimum and clips what is too much. The width class
 * follows the allocated width; "width-class" is notified in one idle, so that nobody changes the tree inside an allocation. */
typedef enum
{
  TN_WIDTH_COMPACT, /* under 600 */
  TN_WIDTH_MEDIUM,  /* 600 to 1099 */
  TN_WIDTH_WIDE,    /* 1100 to 1899 */
  TN_WIDTH_HUGE
} TnWidthClass;

#define TN_ADAPTIVE_MIN_WIDTH 360
#define TN_ADAPTIVE_MIN_HEIGHT 294
#define TN_ADAPTIVE_ROOMY_WIDTH 1400

#define TN_TYPE_ADAPTIVE_BIN (tn_adaptive_bin_get_type ())
G_DECLARE_FINAL_TYPE (TnAdaptiveBin, tn_adaptive_bin, TN, ADAPTIVE_BIN, GtkWidget)

GtkWidget *tn_adaptive_bin_new (void);
void tn_adaptive_bin_set_child (TnAdaptiveBin *self, GtkWidget *child);
TnWidthClass tn_adaptive_bin_get_width_class (TnAdaptiveBin *self);
/** Whether there is room for a page between two panes: %TN_ADAPTIVE_ROOMY_WIDTH and more. Notified as "width-class". */
gboolean tn_adaptive_bin_is_roomy (TnAdaptiveBin *self);
/** The class of a width in logical pixels. */
TnWidthClass tn_width_class_of (int width);

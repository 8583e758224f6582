/* SPDX-License-Identifier: Apache-2.0 */
#include "test-faults.h"

#include <adwaita.h>

#define MARGIN 12

typedef struct
{
  GtkWidget *window;
  GPtrArray *faults;
} Search;

/* Id of the nearest thing that has one, and the type. */
static char *
place_of (GtkWidget *widget)
{
  for (GtkWidget *at = widget; at != NULL; at = gtk_widget_get_parent (at))
    {
      const char *name = gtk_widget_get_name (at);
      if (name != NULL && g_ascii_islower (*name) && strchr (name, '_') != NULL)
        return at == widget ? g_strdup (name) : g_strdup_printf ("%s > %s", name, G_OBJECT_TYPE_NAME (widget));
    }
  return g_strdup (G_OBJECT_TYPE_NAME (widget));
}

static void
add (Search *search, const char *kind, GtkWidget *widget, const char *text)
{
  g_autofree char *place = place_of (widget);
  g_ptr_array_add (search->faults, g_strdup_printf ("%s: %s: %s", kind, place, text != NULL ? text : ""));
}

static gboolean
has_text (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget) && *gtk_label_get_text (GTK_LABEL (widget)) != '\0')
    return TRUE;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    if (!GTK_IS_POPOVER (child) && has_text (child))
      return TRUE;
  return FALSE;
}

/* Roles whose name is their content, as GTK computes it. */
static gboolean
is_named_by_content (GtkWidget *widget)
{
  switch ((int) gtk_accessible_get_accessible_role (GTK_ACCESSIBLE (widget)))
    {
    case GTK_ACCESSIBLE_ROLE_BUTTON:
    case GTK_ACCESSIBLE_ROLE_CHECKBOX:
    case GTK_ACCESSIBLE_ROLE_RADIO:
    case GTK_ACCESSIBLE_ROLE_LINK:
    case GTK_ACCESSIBLE_ROLE_TAB:
    case GTK_ACCESSIBLE_ROLE_LABEL:
    case GTK_ACCESSIBLE_ROLE_LIST_ITEM:
    case GTK_ACCESSIBLE_ROLE_ROW:
    case GTK_ACCESSIBLE_ROLE_MENU_ITEM:
    case GTK_ACCESSIBLE_ROLE_COLUMN_HEADER:
      return TRUE;
    default:
      return FALSE;
    }
}

/* The focus of a list is on its rows. */
static gboolean
is_list (GtkWidget *widget)
{
  const char *type = G_OBJECT_TYPE_NAME (widget);
  return gtk_widget_get_first_child (widget) != NULL
         && (GTK_IS_LIST_BOX (widget) || GTK_IS_LIST_VIEW (widget) || GTK_IS_GRID_VIEW (widget) || g_str_equal (type, "GtkColumnListView"));
}

/* Inner parts answer for the widget that a person meets: the text inside an entry, the button inside a menu button. */
static gboolean
is_part (GtkWidget *widget)
{
  GtkWidget *parent = gtk_widget_get_parent (widget);
  return parent == NULL || GTK_IS_TEXT (widget) || GTK_IS_MENU_BUTTON (parent) || ADW_IS_SPLIT_BUTTON (parent) || GTK_IS_SPIN_BUTTON (parent)
         || (!GTK_IS_DROP_DOWN (widget) && gtk_widget_get_ancestor (widget, GTK_TYPE_DROP_DOWN) != NULL) || GTK_IS_SCROLLED_WINDOW (widget) || GTK_IS_VIEWPORT (widget) || GTK_IS_WINDOW (widget)
         || (GTK_IS_WIDGET (gtk_widget_get_parent (parent)) && ADW_IS_SPLIT_BUTTON (gtk_widget_get_parent (parent)));
}

static gboolean
has_name (GtkWidget *widget)
{
  GtkAccessible *accessible = GTK_ACCESSIBLE (widget);
  if (gtk_test_accessible_has_property (accessible, GTK_ACCESSIBLE_PROPERTY_LABEL)
      || gtk_test_accessible_has_relation (accessible, GTK_ACCESSIBLE_RELATION_LABELLED_BY))
    return TRUE;
  if (ADW_IS_PREFERENCES_ROW (widget) && *adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)) != '\0')
    return TRUE;
  return (is_named_by_content (widget) || GTK_IS_MENU_BUTTON (widget)) && has_text (widget);
}

/* The deepest widgets that ask for more than the window has, on hidden pages too: they force it to be wider. */
static gboolean
check_minimum (Search *search, GtkWidget *widget)
{
  int least = 0;
  gboolean found = FALSE;
  if (!gtk_widget_get_visible (widget) || GTK_IS_NATIVE (widget))
    return FALSE;
  gtk_widget_measure (widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
  if (least <= gtk_widget_get_width (search->window))
    return FALSE;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    found = check_minimum (search, child) || found;
  g_autofree char *text = found ? NULL : g_strdup_printf ("needs %d px", least);
  if (text != NULL)
    add (search, "too wide", widget, text);
  return TRUE;
}

/* A title or the text of a button; values and paths may be shortened, they have a tooltip. */
static gboolean
must_be_whole (GtkWidget *label)
{
  for (GtkWidget *at = label; at != NULL; at = gtk_widget_get_parent (at))
    if (GTK_IS_BUTTON (at) || gtk_widget_has_css_class (at, "heading") || gtk_widget_has_css_class (at, "title") || gtk_widget_has_css_class (at, "title-1")
        || gtk_widget_has_css_class (at, "title-2") || gtk_widget_has_css_class (at, "title-4"))
      return TRUE;
  return FALSE;
}

/* Tables and toolbars may be wider than their view. */
static gboolean
is_scrolled (GtkWidget *widget)
{
  for (GtkWidget *at = gtk_widget_get_parent (widget); at != NULL; at = gtk_widget_get_parent (at))
    {
      GtkPolicyType policy = GTK_POLICY_NEVER;
      if (GTK_IS_SCROLLED_WINDOW (at))
        gtk_scrolled_window_get_policy (GTK_SCROLLED_WINDOW (at), &policy, NULL);
      if (policy != GTK_POLICY_NEVER)
        return TRUE;
    }
  return FALSE;
}

static void
check_place (Search *search, GtkWidget *widget)
{
  graphene_rect_t bounds;
  float width = (float) gtk_widget_get_width (search->window);
  if (!gtk_widget_compute_bounds (widget, search->window, &bounds) || bounds.size.width < 1)
    return;
  if (GTK_IS_LABEL (widget)) /* where its letters are */
    {
      int x, y, letters;
      gtk_label_get_layout_offsets (GTK_LABEL (widget), &x, &y);
      pango_layout_get_pixel_size (gtk_label_get_layout (GTK_LABEL (widget)), &letters, NULL);
      if (x >= 0 && letters < (int) bounds.size.width)
        {
          bounds.origin.x += (float) x;
          bounds.size.width = (float) letters;
        }
    }
  g_autofree char *where = g_strdup_printf ("from %.0f to %.0f of %.0f px", bounds.origin.x, bounds.origin.x + bounds.size.width, width);
  gboolean text = GTK_IS_LABEL (widget) && *gtk_label_get_text (GTK_LABEL (widget)) != '\0';
  if (is_scrolled (widget))
    return;
  if (bounds.origin.x < -1 || bounds.origin.x + bounds.size.width > width + 1)
    add (search, "cut off", widget, where);
  else if (text && !GTK_IS_BUTTON (gtk_widget_get_parent (widget))
           && ((int) bounds.origin.x < MARGIN || (int) (bounds.origin.x + bounds.size.width) > (int) width - MARGIN))
    add (search, "margin", widget, where);
}

static void
check (GtkWidget *widget, Search *search)
{
  if (!gtk_widget_get_mapped (widget))
    return;
  if (GTK_IS_LABEL (widget) && must_be_whole (widget) && pango_layout_is_ellipsized (gtk_label_get_layout (GTK_LABEL (widget))))
    add (search, "shortened", widget, gtk_label_get_text (GTK_LABEL (widget)));
  if (GTK_IS_LABEL (widget) || GTK_IS_BUTTON (widget) || GTK_IS_MENU_BUTTON (widget) || GTK_IS_EDITABLE (widget))
    check_place (search, widget);
  if (gtk_widget_get_focusable (widget) && gtk_widget_is_sensitive (widget) && !is_part (widget) && !is_list (widget) && !has_name (widget))
    add (search, "no name", widget, G_OBJECT_TYPE_NAME (widget));
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL; child = gtk_widget_get_next_sibling (child))
    check (child, search);
}

char **
tn_test_faults (GtkWidget *window)
{
  Search search = { window, g_ptr_array_new () };
  check (window, &search);
  GtkWidget *content = ADW_IS_APPLICATION_WINDOW (window) ? adw_application_window_get_content (ADW_APPLICATION_WINDOW (window)) : NULL;
  if (content != NULL && gtk_widget_get_first_child (content) != NULL) /* inside the bin that reports 360 px */
    check_minimum (&search, gtk_widget_get_first_child (content));
  g_ptr_array_add (search.faults, NULL);
  return (char **) g_ptr_array_free (search.faults, FALSE);
}

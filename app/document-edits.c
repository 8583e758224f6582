/* SPDX-License-Identifier: Apache-2.0 */
#include "document.h"

#include <glib/gi18n.h>

#include "base/error.h"
#include "base/json.h"
#include "setting-titles.h"

/* The kinds of edit. Undo, redo and the tests of both are made from this table. */

static char *
get_setting (TnDocument *self, const char *key)
{
  const TnSettings *settings = tn_document_settings (self);
  return tn_settings_is_set (settings, key) ? g_strdup (tn_settings_get_text (settings, key)) : NULL;
}

static gboolean
set_setting (TnDocument *self, const char *key, const char *value, GError **error)
{
  if (tn_setting_require (key, error) == NULL)
    return FALSE;
  if (value != NULL)
    return tn_settings_set (tn_document_settings_mutable (self), key, value, error);
  tn_settings_reset (tn_document_settings_mutable (self), key);
  return TRUE;
}

static char *
title_of_setting (const char *key)
{
  return g_strdup_printf (_("change of %s"), tn_setting_title (key));
}

static char *
get_network (TnDocument *self, const char *key)
{
  JsonNode *network = tn_document_network (self);
  return network != NULL ? tn_json_to_text (network, 0) : NULL;
}

static gboolean
set_network (TnDocument *self, const char *key, const char *value, GError **error)
{
  JsonNode *network = value != NULL ? tn_json_parse (value, -1, error) : NULL;
  if (value != NULL && network == NULL)
    return FALSE;
  tn_document_take_network (self, network);
  return TRUE;
}

static char *
title_of_network (const char *key)
{
  return g_strdup (_("change of the model"));
}

static char *
get_name (TnDocument *self, const char *key)
{
  return g_strdup (tn_document_name (self));
}

static gboolean
set_name (TnDocument *self, const char *key, const char *value, GError **error)
{
  if (value == NULL || *value == '\0')
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("A project needs a name."));
      return FALSE;
    }
  tn_document_take_name (self, value);
  return TRUE;
}

static char *
title_of_name (const char *key)
{
  return g_strdup (_("renaming"));
}

static char *
get_live (TnDocument *self, const char *key)
{
  return NULL;
}

static gboolean
set_live (TnDocument *self, const char *key, const char *value, GError **error)
{
  g_signal_emit_by_name (self, "command", key, value);
  return TRUE;
}

static char *
title_of_live (const char *key)
{
  return g_strdup_printf (_("change of %s in the running training"), tn_setting_title (key));
}

const TnEditKind tn_edit_kinds[] = {
  { "setting", get_setting, set_setting, title_of_setting },
  { "network", get_network, set_network, title_of_network },
  { "name", get_name, set_name, title_of_name },
  { "live", get_live, set_live, title_of_live },
  { NULL },
};

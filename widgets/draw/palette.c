/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/palette.h"
#include <math.h>

#define RGB(hex) { ((hex) >> 16 & 255) / 255.f, ((hex) >> 8 & 255) / 255.f, ((hex) & 255) / 255.f, 1 }

/* The table of ui.md 1.15: each at least 4.5:1 on the background of its kind. */
#define LIGHT_SERIES { RGB (0x1a5fb4), RGB (0xc64600), RGB (0x0b7285), RGB (0x813d9c), RGB (0xc01c28), \
                       RGB (0x8f6a00), RGB (0x1f7a4d), RGB (0xb5308a), RGB (0x63452c), RGB (0x5e5c64) }
#define DARK_SERIES { RGB (0x78aeed), RGB (0xffa348), RGB (0x66d9e8), RGB (0xdc8add), RGB (0xff7b63), \
                      RGB (0xf8e45c), RGB (0x57e389), RGB (0xf7a8d8), RGB (0xcdab8f), RGB (0x9a9996) }

#define LIGHT_MEANINGS \
  .error = RGB (0xc01c28), .warning = RGB (0x8f6a00), .success = RGB (0x1f7a4d), .series = LIGHT_SERIES, \
  .compute = RGB (0x1a5fb4), .communication = RGB (0xc64600), .wait = RGB (0x5e5c64), .data = RGB (0x0b7285), \
  .optimizer = RGB (0x813d9c), .checkpoint = RGB (0x63452c), .forward = RGB (0x1a5fb4), .backward = RGB (0xc64600)
#define DARK_MEANINGS \
  .error = RGB (0xff7b63), .warning = RGB (0xf8e45c), .success = RGB (0x57e389), .series = DARK_SERIES, \
  .compute = RGB (0x78aeed), .communication = RGB (0xffa348), .wait = RGB (0x9a9996), .data = RGB (0x66d9e8), \
  .optimizer = RGB (0xdc8add), .checkpoint = RGB (0xcdab8f), .forward = RGB (0x78aeed), .backward = RGB (0xffa348)

static const TnPalette palettes[] = {
  [TN_PALETTE_LIGHT] = { .name = "light", .background = RGB (0xffffff), .box = RGB (0xfafafa), .border = RGB (0xc0bfbc),
                         .grid = RGB (0xe6e5e3), .text = RGB (0x2e2e33), .dim_text = RGB (0x5e5c64), .accent = RGB (0x1a5fb4),
                         .selection = RGB (0x3584e4), .line_width = 1.5, LIGHT_MEANINGS },
  [TN_PALETTE_DARK] = { .name = "dark", .background = RGB (0x1e1e1e), .box = RGB (0x2a2a2a), .border = RGB (0x54545a),
                        .grid = RGB (0x383838), .text = RGB (0xf2f2f2), .dim_text = RGB (0xb4b4b8), .accent = RGB (0x78aeed),
                        .selection = RGB (0x62a0ea), .line_width = 1.5, DARK_MEANINGS },
  [TN_PALETTE_LIGHT_CONTRAST] = { .name = "light-contrast", .background = RGB (0xffffff), .box = RGB (0xffffff), .border = RGB (0x000000),
                                  .grid = RGB (0xb0b0b0), .text = RGB (0x000000), .dim_text = RGB (0x2e2e33), .accent = RGB (0x1a5fb4),
                                  .selection = RGB (0x1a5fb4), .line_width = 3, .high_contrast = TRUE, LIGHT_MEANINGS },
  [TN_PALETTE_DARK_CONTRAST] = { .name = "dark-contrast", .background = RGB (0x000000), .box = RGB (0x000000), .border = RGB (0xffffff),
                                 .grid = RGB (0x606060), .text = RGB (0xffffff), .dim_text = RGB (0xdadada), .accent = RGB (0x78aeed),
                                 .selection = RGB (0x78aeed), .line_width = 3, .high_contrast = TRUE, DARK_MEANINGS },
};

const TnPalette *
tn_palette_get (TnPaletteKind kind)
{
  return &palettes[kind];
}

const double *
tn_palette_dash (unsigned i, int *n)
{
  static const double dashes[TN_PALETTE_N_DASHES][4] = { { 0 }, { 6, 3 }, { 2, 2 }, { 8, 2, 2, 2 } };
  static const int counts[TN_PALETTE_N_DASHES] = { 0, 2, 2, 4 };
  *n = counts[i % TN_PALETTE_N_DASHES];
  return *n > 0 ? dashes[i % TN_PALETTE_N_DASHES] : NULL;
}

unsigned
tn_palette_series_of (const char *run_id)
{
  return g_str_hash (run_id) % TN_PALETTE_N_SERIES;
}

static double
linear (float value)
{
  return value <= 0.04045f ? value / 12.92 : pow ((value + 0.055) / 1.055, 2.4);
}

static double
luminance (TnColor color)
{
  return 0.2126 * linear (color.red) + 0.7152 * linear (color.green) + 0.0722 * linear (color.blue);
}

double
tn_color_contrast (TnColor a, TnColor b)
{
  double la = luminance (a), lb = luminance (b);
  return (fmax (la, lb) + 0.05) / (fmin (la, lb) + 0.05);
}

char *
tn_color_hex (TnColor color)
{
  return g_strdup_printf ("#%02x%02x%02x", (int) lround (color.red * 255), (int) lround (color.green * 255), (int) lround (color.blue * 255));
}

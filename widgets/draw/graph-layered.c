/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-layout.h"
#include <math.h>
#include <string.h>

/* The layered layout.
 *
 * Every frame is a container of its own: its children (boxes and inner frames) get rows, an order in the row, and places.
 * Frames are laid out from the innermost, so an outer one sees them as boxes of known size. An edge between two containers
 * becomes a lane in each container on its way: from the box down to the frame's edge, between children of the common container,
 * and from the other frame's edge to the box. A lane takes a place in every row that it passes, so it runs around boxes.
 *
 * A frame on the backward side is laid out together with its twin on the forward side: their rows are the same rows. The backward
 * side runs upwards. */

#define GAP_X 22
#define GAP_LANE 9
#define GAP_Y 26
#define PAD 14
#define FRAME_HEAD 24
#define COLUMN_GAP 72
#define MAX_LANE_CELLS 60000
#define TAG_ROOM 26 /* beside a box for the tags of its tunnels */

typedef enum
{
  CELL_BOX,
  CELL_FRAME,
  CELL_LANE,
  CELL_IN,  /* where lanes from outside come in */
  CELL_OUT
} CellKind;

typedef struct
{
  CellKind kind;
  int ref;  /* box or frame */
  int row;  /* -1: the row of lanes that come in from above; rows: that below */
  int unit;
  double x, y, w, h; /* centre, in the container */
  double off_up, off_down; /* where lanes reach a frame, from its centre */
  gboolean is_light; /* an input: it follows what reads it, not the other way round */
  double wish;
  GArray *up, *down; /* int: cells in the rows beside */
} Cell;

typedef struct
{
  int upper, lower; /* cells */
  int n_between, *between;
} Lane;

typedef struct
{
  int parent;   /* container; -1 */
  int twin;     /* container on the other side; -1 */
  int frame;    /* -1: a side's root */
  int depth;
  gboolean up;  /* edges run upwards: backward */
  GArray *cells, *lanes; /* Cell, Lane */
  GHashTable *lane_index; /* (from child, to child) -> lane + 1 */
  int cell_in, cell_out; /* -1 */
  int rows;
  double width, height;
  double x, y; /* of the upper left corner, absolute */
  gboolean done;
} Container;

typedef struct
{
  const TnGraphCut *cut;
  int n_containers;
  Container *containers; /* frames first, then three roots */
  int *cell_of_box, *cell_of_frame; /* in their container */
  double *row_y, *row_h;
  int lane_cells;
} Maker;

static Cell *
cell_at (Container *c, int i)
{
  return &g_array_index (c->cells, Cell, i);
}

static int
container_of_box (const Maker *self, int b)
{
  const TnGraphBox *box = &self->cut->boxes[b];
  return box->frame >= 0 ? box->frame : self->cut->n_frames + (int) box->side;
}

static int
add_cell (Container *c, CellKind kind, int ref, double w, double h)
{
  Cell cell = { .kind = kind, .ref = ref, .w = w, .h = h, .row = 0, .unit = -1 };
  g_array_append_val (c->cells, cell);
  return (int) c->cells->len - 1;
}

/* ---- containers ---- */

static void
init_containers (Maker *self)
{
  const TnGraphCut *cut = self->cut;
  self->n_containers = cut->n_frames + 3;
  self->containers = g_new0 (Container, self->n_containers);
  self->cell_of_box = g_new0 (int, cut->n_boxes + 1);
  self->cell_of_frame = g_new0 (int, cut->n_frames + 1);
  for (int i = 0; i < self->n_containers; i++)
    {
      Container *c = &self->containers[i];
      gboolean root = i >= cut->n_frames;
      TnGraphSide side = root ? (TnGraphSide) (i - cut->n_frames) : cut->frames[i].side;
      c->frame = root ? -1 : i;
      c->parent = root ? -1 : cut->frames[i].frame >= 0 ? cut->frames[i].frame : cut->n_frames + (int) side;
      c->depth = root ? 0 : self->containers[c->parent].depth + 1;
      c->twin = -1;
      c->up = side == TN_SIDE_BACKWARD;
      c->cells = g_array_new (FALSE, TRUE, sizeof (Cell));
      c->lanes = g_array_new (FALSE, TRUE, sizeof (Lane));
      c->lane_index = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
      c->cell_in = c->cell_out = -1;
    }
  /* Roots come last, so depths of frames at the top were taken from a root not yet begun: it is 0 there too. */
  self->containers[cut->n_frames].twin = cut->n_frames + 1;
  self->containers[cut->n_frames + 1].twin = cut->n_frames;
  for (int f = 0; f < cut->n_frames; f++)
    if (cut->frames[f].match >= 0)
      {
        /* Twins only where what they lie in are twins as well. */
        int m = cut->frames[f].match;
        if (self->containers[self->containers[f].parent].twin == self->containers[m].parent)
          {
            self->containers[f].twin = m;
            self->containers[m].twin = f;
          }
      }
  for (int b = 0; b < cut->n_boxes; b++)
    self->cell_of_box[b] = add_cell (&self->containers[container_of_box (self, b)], CELL_BOX, b, cut->boxes[b].width, cut->boxes[b].height);
  for (int b = 0; b < cut->n_boxes; b++)
    cell_at (&self->containers[container_of_box (self, b)], self->cell_of_box[b])->is_light = cut->boxes[b].is_input || cut->boxes[b].kind >= TN_BOX_TAG;
  for (int f = 0; f < cut->n_frames; f++)
    self->cell_of_frame[f] = add_cell (&self->containers[self->containers[f].parent], CELL_FRAME, f, 0, 0);
}

/* ---- lanes ---- */

static void
add_lane (Container *c, int from, int to)
{
  gint64 key = (gint64) from << 32 | (guint32) to;
  if (from == to || g_hash_table_contains (c->lane_index, &key))
    return;
  Lane lane = { .upper = c->up ? to : from, .lower = c->up ? from : to };
  g_array_append_val (c->lanes, lane);
  g_hash_table_insert (c->lane_index, g_memdup2 (&key, sizeof key), GINT_TO_POINTER ((int) c->lanes->len));
}

static int
port (Container *c, gboolean in)
{
  int *cell = in ? &c->cell_in : &c->cell_out;
  if (*cell < 0)
    *cell = add_cell (c, in ? CELL_IN : CELL_OUT, -1, 4, 0);
  return *cell;
}

/* Whether an edge is drawn through the rows of its side; others go straight or along the common line. */
static gboolean
is_laned (const Maker *self, const TnGraphEdge *edge)
{
  return edge->kind <= TN_EDGE_COMMUNICATION && self->cut->boxes[edge->from].side == self->cut->boxes[edge->to].side;
}

/* Climbs from both ends to the container that holds both, with a lane in each on the way. */
static void
lay_lanes (Maker *self)
{
  for (int e = 0; e < self->cut->n_edges; e++)
    {
      const TnGraphEdge *edge = &self->cut->edges[e];
      if (!is_laned (self, edge))
        continue;
      int a = container_of_box (self, edge->from), b = container_of_box (self, edge->to);
      int cell_a = self->cell_of_box[edge->from], cell_b = self->cell_of_box[edge->to];
      while (a != b)
        {
          Container *ca = &self->containers[a], *cb = &self->containers[b];
          if (ca->depth >= cb->depth)
            {
              add_lane (ca, cell_a, port (ca, FALSE));
              cell_a = self->cell_of_frame[ca->frame];
              a = ca->parent;
            }
          else
            {
              add_lane (cb, port (cb, TRUE), cell_b);
              cell_b = self->cell_of_frame[cb->frame];
              b = cb->parent;
            }
        }
      add_lane (&self->containers[a], cell_a, cell_b);
    }
}

/* ---- rows ---- */

typedef struct
{
  int to, weight;
} Arc;

typedef struct
{
  GArray **arcs; /* by unit */
  int *row, *state, n;
} Rows;

/* Longest way by depth first, without recursion; an arc back to a unit on the present way is left out. */
static void
order_units (Rows *rows, GArray *order)
{
  typedef struct
  {
    int unit;
    guint at;
  } Step;
  g_autoptr (GArray) way = g_array_new (FALSE, FALSE, sizeof (Step));
  for (int start = 0; start < rows->n; start++)
    {
      if (rows->state[start] != 0)
        continue;
      Step first = { start, 0 };
      rows->state[start] = 1;
      g_array_append_val (way, first);
      while (way->len > 0)
        {
          Step *step = &g_array_index (way, Step, way->len - 1);
          GArray *arcs = rows->arcs[step->unit];
          if (arcs == NULL || step->at >= arcs->len)
            {
              rows->state[step->unit] = 2;
              g_array_append_val (order, step->unit);
              g_array_set_size (way, way->len - 1);
              continue;
            }
          Arc *arc = &g_array_index (arcs, Arc, step->at++);
          if (rows->state[arc->to] == 1)
            arc->weight = G_MININT; /* closes a circle */
          else if (rows->state[arc->to] == 0)
            {
              Step next = { arc->to, 0 };
              rows->state[arc->to] = 1;
              g_array_append_val (way, next);
            }
        }
    }
}

static void
add_arc (Rows *rows, int from, int to, int weight)
{
  if (from == to)
    return;
  if (rows->arcs[from] == NULL)
    rows->arcs[from] = g_array_new (FALSE, FALSE, sizeof (Arc));
  Arc arc = { to, weight };
  g_array_append_val (rows->arcs[from], arc);
}

static gboolean
is_port (const Cell *cell)
{
  return cell->kind == CELL_IN || cell->kind == CELL_OUT;
}

/* The forward cell that a backward one stands beside, or -1. */
static int
partner (Maker *self, const Container *other, const Cell *cell)
{
  if (cell->kind == CELL_FRAME)
    {
      int twin = self->containers[cell->ref].twin;
      return twin >= 0 && &self->containers[self->containers[twin].parent] == other ? self->cell_of_frame[twin] : -1;
    }
  if (cell->kind != CELL_BOX)
    return -1;
  int match = self->cut->boxes[cell->ref].match;
  if (match < 0)
    return -1;
  for (int c = container_of_box (self, match), cell_at_c = self->cell_of_box[match]; c >= 0;)
    {
      if (&self->containers[c] == other)
        return cell_at_c;
      if (self->containers[c].frame < 0)
        return -1;
      cell_at_c = self->cell_of_frame[self->containers[c].frame];
      c = self->containers[c].parent;
    }
  return -1;
}

static void
set_rows (Maker *self, Container *forward, Container *backward)
{
  Container *both[2] = { forward, backward };
  int n = 0;
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    for (guint i = 0; i < both[k]->cells->len; i++)
      if (!is_port (cell_at (both[k], (int) i)))
        cell_at (both[k], (int) i)->unit = n++;
  Rows rows = { .arcs = g_new0 (GArray *, n + 1), .row = g_new0 (int, n + 1), .state = g_new0 (int, n + 1), .n = n };
  g_autofree gboolean *taken = g_new0 (gboolean, n + 1);
  for (guint i = 0; backward != NULL && i < backward->cells->len; i++)
    {
      Cell *cell = cell_at (backward, (int) i);
      int beside = is_port (cell) ? -1 : partner (self, forward, cell);
      if (beside < 0)
        continue;
      int unit = cell_at (forward, beside)->unit;
      if (!taken[unit] && cell->kind == cell_at (forward, beside)->kind)
        {
          taken[unit] = TRUE;
          cell->unit = unit; /* one row for both */
        }
      else
        add_arc (&rows, unit, cell->unit, 0);
    }
  g_autofree gboolean *has_upper = g_new0 (gboolean, n + 1);
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    for (guint i = 0; i < both[k]->lanes->len; i++)
      {
        const Lane *lane = &g_array_index (both[k]->lanes, Lane, i);
        const Cell *upper = cell_at (both[k], lane->upper), *lower = cell_at (both[k], lane->lower);
        if (is_port (lower))
          continue;
        has_upper[lower->unit] = TRUE;
        if (!is_port (upper))
          add_arc (&rows, upper->unit, lower->unit, 1);
      }
  g_autoptr (GArray) order = g_array_new (FALSE, FALSE, sizeof (int));
  order_units (&rows, order);
  for (int i = (int) order->len - 1; i >= 0; i--)
    {
      int unit = g_array_index (order, int, i);
      for (guint k = 0; rows.arcs[unit] != NULL && k < rows.arcs[unit]->len; k++)
        {
          Arc *arc = &g_array_index (rows.arcs[unit], Arc, k);
          if (arc->weight >= 0)
            rows.row[arc->to] = MAX (rows.row[arc->to], rows.row[unit] + arc->weight);
        }
    }
  /* What nothing stands above comes down to just above what reads it. */
  for (guint i = 0; i < order->len; i++)
    {
      int unit = g_array_index (order, int, i), lowest = G_MAXINT;
      if (has_upper[unit] || taken[unit] || rows.arcs[unit] == NULL)
        continue;
      for (guint k = 0; k < rows.arcs[unit]->len; k++)
        {
          Arc *arc = &g_array_index (rows.arcs[unit], Arc, k);
          if (arc->weight >= 0)
            lowest = MIN (lowest, rows.row[arc->to] - arc->weight);
        }
      if (lowest != G_MAXINT)
        rows.row[unit] = MAX (rows.row[unit], lowest);
    }
  int last = 0;
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    for (guint i = 0; i < both[k]->cells->len; i++)
      {
        Cell *cell = cell_at (both[k], (int) i);
        if (!is_port (cell))
          last = MAX (last, cell->row = rows.row[cell->unit]);
      }
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    {
      Container *c = both[k];
      c->rows = last + 1;
      /* Lanes that come in do so from above on the forward side, from below on the backward one. */
      if (c->cell_in >= 0)
        cell_at (c, c->cell_in)->row = c->up ? c->rows : -1;
      if (c->cell_out >= 0)
        cell_at (c, c->cell_out)->row = c->up ? -1 : c->rows;
    }
  for (int u = 0; u < n; u++)
    if (rows.arcs[u] != NULL)
      g_array_unref (rows.arcs[u]);
  g_free (rows.arcs);
  g_free (rows.row);
  g_free (rows.state);
}

/* ---- one container ---- */

static void
link_cells (Container *c, int upper, int lower)
{
  Cell *u = cell_at (c, upper), *l = cell_at (c, lower);
  if (u->down == NULL)
    u->down = g_array_new (FALSE, FALSE, sizeof (int));
  if (l->up == NULL)
    l->up = g_array_new (FALSE, FALSE, sizeof (int));
  g_array_append_val (u->down, lower);
  g_array_append_val (l->up, upper);
}

/* Lanes get their places in the rows between. */
static void
fill_lanes (Maker *self, Container *c)
{
  for (guint i = 0; i < c->lanes->len; i++)
    {
      Lane *lane = &g_array_index (c->lanes, Lane, i);
      int upper = lane->upper, lower = lane->lower, from = cell_at (c, upper)->row, to = cell_at (c, lower)->row;
      if (from > to)
        {
          int swap = upper;
          upper = lower;
          lower = swap;
          swap = from;
          from = to;
          to = swap;
        }
      int between = to - from - 1;
      if (between <= 0 || self->lane_cells + between > MAX_LANE_CELLS)
        {
          if (from != to)
            link_cells (c, upper, lower);
          continue;
        }
      self->lane_cells += between;
      lane->n_between = between;
      lane->between = g_new (int, between);
      int before = upper;
      for (int r = from + 1; r < to; r++)
        {
          int cell = add_cell (c, CELL_LANE, (int) i, 3, 0);
          cell_at (c, cell)->row = r;
          cell_at (c, cell)->is_light = cell_at (c, upper)->is_light;
          link_cells (c, before, cell);
          lane->between[r - from - 1] = cell;
          before = cell;
        }
      link_cells (c, before, lower);
    }
}

typedef struct
{
  GArray **cells; /* by row + 1: int */
  int n;
} RowSets;

static int
compare_wish (gconstpointer a, gconstpointer b, gpointer container)
{
  int i = *(const int *) a, k = *(const int *) b;
  double x = cell_at (container, i)->wish, y = cell_at (container, k)->wish;
  return x < y ? -1 : x > y ? 1 : i - k;
}

static double
mean_place (const GArray *cells, const double *place)
{
  double sum = 0;
  for (guint i = 0; i < cells->len; i++)
    sum += place[g_array_index (cells, int, i)];
  return sum / cells->len;
}

static void
sweep (Container *c, RowSets *sets, double *place, gboolean down)
{
  for (int k = 1; k < sets->n; k++)
    {
      GArray *row = sets->cells[down ? k : sets->n - 1 - k];
      for (guint i = 0; i < row->len; i++)
        {
          Cell *cell = cell_at (c, g_array_index (row, int, i));
          const GArray *beside = down ? cell->up : cell->down;
          cell->wish = beside != NULL ? mean_place (beside, place) : place[g_array_index (row, int, i)];
        }
      g_array_sort_with_data (row, compare_wish, c);
      for (guint i = 0; i < row->len; i++)
        place[g_array_index (row, int, i)] = i - (row->len - 1) / 2.0;
    }
}

static double
room_between (const Maker *self, const Cell *left, const Cell *right)
{
  double gap = left->kind >= CELL_LANE || right->kind >= CELL_LANE ? GAP_LANE : GAP_X;
  if (left->kind == CELL_BOX && self->cut->n_tunnels > 0)
    gap += TAG_ROOM;
  else if (right->kind == CELL_BOX && self->cut->n_tunnels > 0)
    gap += TAG_ROOM / 2.0;
  return gap + (left->w + right->w) / 2;
}

/* Places nearest to the wishes with the room that is needed: neighbours that would touch move as one to their mean. */
static void
place_row (Maker *self, Container *c, const GArray *row)
{
  typedef struct
  {
    double sum, weight;
    guint first;
  } Block;
  g_autofree Block *blocks = g_new (Block, row->len + 1);
  g_autofree double *offset = g_new0 (double, row->len + 1);
  guint n = 0;
  for (guint i = 0; i < row->len; i++)
    {
      Cell *cell = cell_at (c, g_array_index (row, int, i));
      if (i > 0)
        offset[i] = offset[i - 1] + room_between (self, cell_at (c, g_array_index (row, int, i - 1)), cell);
      double weight = cell->kind >= CELL_LANE ? 3 : cell->is_light ? 0.05 : 1;
      blocks[n] = (Block){ (cell->wish - offset[i]) * weight, weight, i };
      for (n++; n > 1 && blocks[n - 2].sum / blocks[n - 2].weight > blocks[n - 1].sum / blocks[n - 1].weight; n--)
        {
          blocks[n - 2].sum += blocks[n - 1].sum;
          blocks[n - 2].weight += blocks[n - 1].weight;
        }
    }
  for (guint b = 0; b < n; b++)
    for (guint i = blocks[b].first; i < (b + 1 < n ? blocks[b + 1].first : row->len); i++)
      cell_at (c, g_array_index (row, int, i))->x = blocks[b].sum / blocks[b].weight + offset[i];
}

static void
set_places (Maker *self, Container *c, RowSets *sets)
{
  for (int r = 0; r < sets->n; r++)
    {
      for (guint i = 0; i < sets->cells[r]->len; i++)
        cell_at (c, g_array_index (sets->cells[r], int, i))->wish = 0;
      place_row (self, c, sets->cells[r]);
    }
  for (int round = 0; round < 10; round++)
    for (int k = 0; k < sets->n; k++)
      {
        GArray *row = sets->cells[round % 2 == 0 ? k : sets->n - 1 - k];
        for (guint i = 0; i < row->len; i++)
          {
            Cell *cell = cell_at (c, g_array_index (row, int, i));
            double sum = 0, weight = 0;
            for (int side = 0; side < 2; side++)
              {
                const GArray *beside = side == 0 ? cell->up : cell->down;
                gboolean counts = round >= 8 || (round % 2 == 0) == (side == 0);
                for (guint n = 0; beside != NULL && counts && n < beside->len; n++)
                  {
                    const Cell *other = cell_at (c, g_array_index (beside, int, n));
                    double pull = cell->kind >= CELL_LANE && other->kind >= CELL_LANE ? 4 : other->is_light ? 0.02 : 1;
                    double off = side == 0 ? other->off_down - cell->off_up : other->off_up - cell->off_down;
                    sum += (other->x + off) * pull;
                    weight += pull;
                  }
              }
            cell->wish = weight > 0 ? sum / weight : cell->x;
          }
        place_row (self, c, row);
      }
}

static void
lay_container (Maker *self, Container *c)
{
  fill_lanes (self, c);
  RowSets sets = { .n = c->rows + 2 };
  sets.cells = g_new0 (GArray *, sets.n);
  for (int r = 0; r < sets.n; r++)
    sets.cells[r] = g_array_new (FALSE, FALSE, sizeof (int));
  g_autofree double *place = g_new0 (double, c->cells->len + 1);
  for (int i = 0; i < (int) c->cells->len; i++)
    {
      GArray *row = sets.cells[cell_at (c, i)->row + 1];
      g_array_append_val (row, i);
      place[i] = row->len;
    }
  for (int k = 0; k < 4; k++)
    sweep (c, &sets, place, k % 2 == 0);
  set_places (self, c, &sets);
  double left = G_MAXDOUBLE, right = -G_MAXDOUBLE;
  for (guint i = 0; i < c->cells->len; i++)
    {
      Cell *cell = cell_at (c, (int) i);
      left = MIN (left, cell->x - cell->w / 2);
      right = MAX (right, cell->x + cell->w / 2);
    }
  double tags = self->cut->n_tunnels > 0 ? TAG_ROOM : 0;
  if (c->cells->len == 0)
    left = right = 0;
  for (guint i = 0; i < c->cells->len; i++)
    cell_at (c, (int) i)->x += PAD + tags - left;
  c->width = right - left + 2 * (PAD + tags);
  const char *title = c->frame >= 0 ? self->cut->frames[c->frame].title : "";
  double least = ceil (tn_graph_text_width (title, 12, TRUE)) + 48;
  if (c->width < least && c->frame >= 0)
    {
      for (guint i = 0; i < c->cells->len; i++)
        cell_at (c, (int) i)->x += (least - c->width) / 2;
      c->width = least;
    }
  for (int r = 0; r < sets.n; r++)
    g_array_unref (sets.cells[r]);
  g_free (sets.cells);
}

/* Heights of rows that two containers share. */
static void
set_heights (Container *a, Container *b)
{
  Container *both[2] = { a, b };
  g_autofree double *height = g_new0 (double, a->rows + 3);
  g_autofree double *y = g_new0 (double, a->rows + 3);
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    for (guint i = 0; i < both[k]->cells->len; i++)
      {
        const Cell *cell = cell_at (both[k], (int) i);
        height[cell->row + 1] = MAX (height[cell->row + 1], cell->h);
      }
  double at = a->frame >= 0 ? FRAME_HEAD : PAD;
  y[0] = at;
  at += a->frame >= 0 ? 8 : 0;
  for (int r = 1; r <= a->rows; r++)
    {
      y[r] = at + height[r] / 2;
      at += height[r] + (r < a->rows ? GAP_Y : 0);
    }
  y[a->rows + 1] = at + PAD;
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    {
      for (guint i = 0; i < both[k]->cells->len; i++)
        {
          Cell *cell = cell_at (both[k], (int) i);
          cell->y = y[cell->row + 1];
          if (cell->is_light && cell->up == NULL && cell->kind == CELL_BOX) /* beside a tall frame: near to what reads it */
            cell->y += (height[cell->row + 1] - cell->h) / 2;
        }
      both[k]->height = at + PAD;
      if (both[k]->cell_in >= 0)
        cell_at (both[k], both[k]->cell_in)->y = both[k]->up ? both[k]->height : 0;
      if (both[k]->cell_out >= 0)
        cell_at (both[k], both[k]->cell_out)->y = both[k]->up ? 0 : both[k]->height;
    }
}

static void
lay_pair (Maker *self, int i) /* as deep as frames may lie in each other */
{
  Container *c = &self->containers[i];
  if (c->done)
    return;
  Container *twin = c->twin >= 0 ? &self->containers[c->twin] : NULL;
  Container *forward = c->up && twin != NULL ? twin : c, *backward = c->up && twin != NULL ? c : twin;
  Container *both[2] = { forward, backward };
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    for (guint n = 0; n < both[k]->cells->len; n++)
      {
        Cell *cell = cell_at (both[k], (int) n);
        if (cell->kind == CELL_FRAME)
          {
            lay_pair (self, cell->ref);
            Container *inner = &self->containers[cell->ref];
            cell->w = inner->width;
            cell->h = inner->height;
            double in = inner->cell_in >= 0 ? cell_at (inner, inner->cell_in)->x - inner->width / 2 : 0;
            double out = inner->cell_out >= 0 ? cell_at (inner, inner->cell_out)->x - inner->width / 2 : 0;
            cell->off_up = inner->up ? out : in;
            cell->off_down = inner->up ? in : out;
          }
      }
  set_rows (self, forward, backward);
  for (int k = 0; k < 2 && both[k] != NULL; k++)
    {
      lay_container (self, both[k]);
      both[k]->done = TRUE;
    }
  set_heights (forward, backward);
}

/* ---- everything together ---- */

static void
place_all (Maker *self, TnGraphLayout *layout)
{
  const TnGraphCut *cut = self->cut;
  Container *roots = &self->containers[cut->n_frames];
  double x = 0, height = 0;
  double head = cut->has_columns ? 30 : 0;
  for (int side = 0; side < 2; side++)
    {
      if (roots[side].cells->len == 0)
        continue;
      roots[side].x = x;
      roots[side].y = head;
      x += roots[side].width + COLUMN_GAP - 2 * PAD;
      height = MAX (height, roots[side].height);
      layout->columns[side] = (TnRect){ roots[side].x, 0, roots[side].width, roots[side].height + head };
    }
  double width = x > 0 ? x - COLUMN_GAP + 2 * PAD : 0;
  if (roots[2].cells->len > 0)
    {
      double room = height > 0 ? height + head + 34 : 0;
      roots[2].x = MAX (0, (width - roots[2].width) / 2);
      roots[2].y = room + 30;
      layout->columns[2] = (TnRect){ roots[2].x, room, roots[2].width, roots[2].height + 30 };
      width = MAX (width, roots[2].width);
      height = roots[2].y + roots[2].height;
    }
  else
    height += head;
  layout->width = width + (layout->columns[2].width > 0 && layout->columns[1].width > 0 ? 44 : 0);
  layout->height = height;
  for (int f = 0; f < cut->n_frames; f++)
    {
      Container *c = &self->containers[f], *parent = &self->containers[c->parent];
      Cell *cell = cell_at (parent, self->cell_of_frame[f]);
      c->x = parent->x + cell->x - cell->w / 2;
      c->y = parent->y + cell->y - cell->h / 2;
      layout->frames[f] = (TnRect){ c->x, c->y, cell->w, cell->h };
    }
  for (int b = 0; b < cut->n_boxes; b++)
    {
      Container *c = &self->containers[container_of_box (self, b)];
      Cell *cell = cell_at (c, self->cell_of_box[b]);
      layout->boxes[b] = (TnRect){ c->x + cell->x - cell->w / 2, c->y + cell->y - cell->h / 2, cell->w, cell->h };
    }
}

static void
append (GArray *points, double x, double y)
{
  if (points->len > 0)
    {
      TnPoint last = g_array_index (points, TnPoint, points->len - 1);
      if (fabs (last.x - x) < 0.01 && fabs (last.y - y) < 0.01)
        return;
    }
  TnPoint point = { x, y };
  g_array_append_val (points, point);
}

/* The lane's way from one child to another; through a row it keeps its x from the row's top to its bottom. */
static void
append_lane (Maker *self, Container *c, int from, int to, GArray *points)
{
  gint64 key = (gint64) from << 32 | (guint32) to;
  int found = GPOINTER_TO_INT (g_hash_table_lookup (c->lane_index, &key)) - 1;
  if (found < 0)
    return;
  const Lane *lane = &g_array_index (c->lanes, Lane, found);
  gboolean down = cell_at (c, from)->row < cell_at (c, to)->row;
  for (int k = 0; k < lane->n_between; k++)
    {
      const Cell *cell = cell_at (c, lane->between[down ? k : lane->n_between - 1 - k]);
      double half = 0;
      for (guint i = 0; i < c->cells->len && c->cells->len < 400; i++)
        if (cell_at (c, (int) i)->row == cell->row)
          half = MAX (half, cell_at (c, (int) i)->h / 2);
      append (points, c->x + cell->x, c->y + cell->y + (down ? -half : half));
      append (points, c->x + cell->x, c->y + cell->y + (down ? half : -half));
    }
}

static void
append_port (Container *c, gboolean in, GArray *points)
{
  const Cell *cell = cell_at (c, in ? c->cell_in : c->cell_out);
  append (points, c->x + cell->x, c->y + cell->y);
}

/* Leaves or enters a box at the top, bottom or side that faces @toward. */
static TnPoint
box_end (const TnRect *box, TnPoint toward)
{
  double cx = box->x + box->width / 2, cy = box->y + box->height / 2;
  if (toward.y >= box->y + box->height)
    return (TnPoint){ cx, box->y + box->height };
  if (toward.y <= box->y)
    return (TnPoint){ cx, box->y };
  return (TnPoint){ toward.x > cx ? box->x + box->width : box->x, cy };
}

static void
append_laned (Maker *self, const TnGraphEdge *edge, const TnGraphLayout *layout, GArray *points)
{
  g_autoptr (GArray) middle = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  g_autoptr (GArray) tail = g_array_new (FALSE, FALSE, sizeof (int)); /* containers on the way down, the innermost first */
  int a = container_of_box (self, edge->from), b = container_of_box (self, edge->to);
  int cell_a = self->cell_of_box[edge->from], cell_b = self->cell_of_box[edge->to];
  while (a != b)
    {
      Container *ca = &self->containers[a], *cb = &self->containers[b];
      if (ca->depth >= cb->depth)
        {
          append_lane (self, ca, cell_a, ca->cell_out, middle);
          append_port (ca, FALSE, middle);
          cell_a = self->cell_of_frame[ca->frame];
          a = ca->parent;
        }
      else
        {
          g_array_append_val (tail, b);
          g_array_append_val (tail, cell_b);
          cell_b = self->cell_of_frame[cb->frame];
          b = cb->parent;
        }
    }
  append_lane (self, &self->containers[a], cell_a, cell_b, middle);
  for (int k = (int) tail->len - 2; k >= 0; k -= 2)
    {
      Container *c = &self->containers[g_array_index (tail, int, k)];
      append_port (c, TRUE, middle);
      append_lane (self, c, c->cell_in, g_array_index (tail, int, k + 1), middle);
    }
  const TnRect *from = &layout->boxes[edge->from], *to = &layout->boxes[edge->to];
  TnPoint centre = { to->x + to->width / 2, to->y + to->height / 2 };
  TnPoint first = middle->len > 0 ? g_array_index (middle, TnPoint, 0) : centre;
  TnPoint start = box_end (from, first);
  TnPoint end = box_end (to, middle->len > 0 ? g_array_index (middle, TnPoint, middle->len - 1) : start);
  append (points, start.x, start.y);
  for (guint i = 0; i < middle->len; i++)
    append (points, g_array_index (middle, TnPoint, i).x, g_array_index (middle, TnPoint, i).y);
  append (points, end.x, end.y);
}

/* From the loss over to the backward side: out at the side, over, in at the side. */
static void
append_turn (const TnGraphEdge *edge, const TnGraphLayout *layout, GArray *points)
{
  const TnRect *from = &layout->boxes[edge->from], *to = &layout->boxes[edge->to];
  gboolean right = to->x > from->x + from->width;
  double x0 = right ? from->x + from->width : from->x + from->width / 2, y0 = from->y + from->height / 2, y1 = to->y + to->height / 2;
  if (!right)
    {
      append (points, x0, from->y + from->height);
      append (points, to->x + to->width / 2, to->y > from->y ? to->y : to->y + to->height);
      return;
    }
  double middle = layout->columns[1].width > 0 ? layout->columns[1].x - COLUMN_GAP / 2.0 + PAD : (x0 + to->x) / 2;
  middle = CLAMP (middle, x0, to->x);
  append (points, x0, y0);
  if (fabs (y0 - y1) > 1)
    {
      append (points, middle, y0);
      append (points, middle, y1);
    }
  append (points, to->x, y1);
}

static gboolean
hits_a_box (const TnGraphLayout *layout, double x0, double x1, double y, int but)
{
  for (int b = 0; b < layout->n_boxes; b++)
    {
      const TnRect *box = &layout->boxes[b];
      if (b != but && y > box->y - 2 && y < box->y + box->height + 2 && x1 > box->x && x0 < box->x + box->width)
        return TRUE;
    }
  return FALSE;
}

/* All gradients run down one line at the right to the optimizer. */
static void
append_gradient (const TnGraphEdge *edge, const TnGraphLayout *layout, GArray *points)
{
  const TnRect *from = &layout->boxes[edge->from], *to = &layout->boxes[edge->to];
  double trunk = layout->columns[1].x + layout->columns[1].width + 14, y = from->y + from->height / 2, x = from->x + from->width;
  double over = to->y - 14;
  append (points, x, y);
  if (hits_a_box (layout, x + 1, trunk, y, edge->from))
    {
      double below = from->y + from->height + 9;
      append (points, x + 7, y);
      append (points, x + 7, below);
      y = below;
    }
  append (points, trunk, y);
  append (points, trunk, over);
  append (points, to->x + to->width / 2, over);
  append (points, to->x + to->width / 2, to->y);
}

static void
free_containers (Maker *self)
{
  for (int i = 0; i < self->n_containers; i++)
    {
      Container *c = &self->containers[i];
      for (guint k = 0; k < c->cells->len; k++)
        {
          g_clear_pointer (&cell_at (c, (int) k)->up, g_array_unref);
          g_clear_pointer (&cell_at (c, (int) k)->down, g_array_unref);
        }
      for (guint k = 0; k < c->lanes->len; k++)
        g_free (g_array_index (c->lanes, Lane, k).between);
      g_array_unref (c->cells);
      g_array_unref (c->lanes);
      g_hash_table_unref (c->lane_index);
    }
  g_free (self->containers);
  g_free (self->cell_of_box);
  g_free (self->cell_of_frame);
}

/* Drawn to the right: everything was laid out with widths and heights exchanged, and is turned back. */
static void
turn_layout (TnGraphLayout *layout)
{
  for (int b = 0; b < layout->n_boxes; b++)
    {
      TnRect r = layout->boxes[b];
      layout->boxes[b] = (TnRect){ r.y, r.x, r.height, r.width };
    }
  for (int f = 0; f < layout->n_frames; f++)
    {
      TnRect r = layout->frames[f];
      layout->frames[f] = (TnRect){ r.y, r.x, r.height, r.width };
    }
  for (int p = 0; p < layout->first_point[layout->n_edges]; p++)
    layout->points[p] = (TnPoint){ layout->points[p].y, layout->points[p].x };
  for (int k = 0; k < 3; k++)
    {
      TnRect r = layout->columns[k];
      layout->columns[k] = (TnRect){ r.y, r.x, r.height, r.width };
    }
  double width = layout->width;
  layout->width = layout->height;
  layout->height = width;
}

TnGraphLayout *
tn_graph_layout_layered (const TnGraphCut *cut)
{
  TnGraphLayout *layout = g_new0 (TnGraphLayout, 1);
  g_autofree TnGraphBox *turned = NULL;
  TnGraphCut view = *cut;
  if (cut->show.to_right)
    {
      turned = g_memdup2 (cut->boxes, sizeof (TnGraphBox) * (gsize) MAX (cut->n_boxes, 1));
      for (int b = 0; b < cut->n_boxes; b++)
        {
          turned[b].width = cut->boxes[b].height;
          turned[b].height = cut->boxes[b].width;
        }
      view.boxes = turned;
    }
  Maker self = { .cut = &view };
  *layout = (TnGraphLayout){ .refs = 1, .n_boxes = cut->n_boxes, .n_frames = cut->n_frames, .n_edges = cut->n_edges, .maker = "layered" };
  layout->boxes = g_new0 (TnRect, cut->n_boxes + 1);
  layout->frames = g_new0 (TnRect, cut->n_frames + 1);
  layout->first_point = g_new0 (int, cut->n_edges + 1);
  init_containers (&self);
  lay_lanes (&self);
  for (int side = 0; side < 3; side++)
    lay_pair (&self, cut->n_frames + side);
  place_all (&self, layout);
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  g_autoptr (GArray) line = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  for (int e = 0; e < cut->n_edges; e++)
    {
      const TnGraphEdge *edge = &cut->edges[e];
      layout->first_point[e] = (int) points->len;
      g_array_set_size (line, 0);
      if (is_laned (&self, edge))
        append_laned (&self, edge, layout, line);
      else if (edge->kind == TN_EDGE_GRADIENT)
        append_gradient (edge, layout, line);
      else if (edge->kind != TN_EDGE_TUNNEL)
        append_turn (edge, layout, line);
      g_array_append_vals (points, line->data, line->len);
    }
  layout->first_point[cut->n_edges] = (int) points->len;
  layout->points = g_memdup2 (points->data, sizeof (TnPoint) * MAX (points->len, 1u));
  free_containers (&self);
  if (cut->show.to_right)
    turn_layout (layout);
  return layout;
}

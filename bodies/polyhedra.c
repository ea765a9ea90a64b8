/* What of two convex polyhedra touches: a vertex and a face, whose gap is n . (v - p), or two edges, whose gap is that of their lines,
 * n . (x_b - x_a) with n = e_a x e_b / |e_a x e_b|. Both are smooth, and have either sign. They are gaps of the polyhedra where the vertex is
 * over the face, or the nearest points of the lines are within both edges, and where n is a normal of both polyhedra there. */
#include "polyhedra.h"
#include "elements.h"

#include <stdlib.h>
#include <string.h>

/* A feature beside whose normal a polyhedron ends, by this sine at most, is still one: where polyhedra touch, normals fit exactly, and the
 * polyhedra may rock a little before the feature is given up. It decides when features are looked for again, and not which forces act. */
static const sunrealtype rocking = SUN_RCONST(0.1);
/* Edges of which e_a x e_b is below this have no normal that is exact enough: half of the digits of the sine are left. */
static const sunrealtype parallel = SUN_RCONST(1e-8);

/* ---- in place ---- */

/* Without the care of hypot, which takes most of the time otherwise: no length has a square that overflows. */
static sunrealtype norm3(const sunrealtype *x) { return sqrt(dot3(x, x)); }

Placed polyhedronPlaced(const Polyhedron *p, const Side *side, const Pose *pose) {
  Placed at = {.is = p};
  sunrealtype axis[3];
  toSpace(pose, side->point, at.x);
  add3(1, pose->r, at.x);
  for (int k = 0; k < 3; k++) {
    toSpace(pose, side->axis[k], axis);
    for (int i = 0; i < 3; i++) at.R[i][k] = axis[i];
  }
  return at;
}

static void turned(const Placed *p, const sunrealtype *own, sunrealtype *d) {
  for (int i = 0; i < 3; i++)
    d[i] = p->R[i][0] * own[0] + p->R[i][1] * own[1] + p->R[i][2] * own[2];
}

static void turnedBack(const Placed *p, const sunrealtype *d, sunrealtype *own) {
  for (int k = 0; k < 3; k++) own[k] = p->R[0][k] * d[0] + p->R[1][k] * d[1] + p->R[2][k] * d[2];
}

static void placed(const Placed *p, const sunrealtype *own, sunrealtype *x) {
  turned(p, own, x);
  add3(1, p->x, x);
}

/* An edge in place: its middle, its unit direction and half its length */
typedef struct {
  sunrealtype x[3], e[3], half;
} Line;

static Line placedLine(const Placed *p, int i) {
  const PolyEdge *edge = &p->is->edge[i];
  Line line            = {.half = edge->half};
  placed(p, edge->x, line.x);
  turned(p, edge->e, line.e);
  return line;
}

/* The place on a line that is nearest to x, within the edge */
static sunrealtype onEdge(const Line *line, const sunrealtype *x) {
  const sunrealtype at = dot3(line->e, x) - dot3(line->e, line->x);
  return fmax(-line->half, fmin(line->half, at));
}

/* d: out, from the point of a line at this place to x. Returns its length. */
static sunrealtype fromEdge(const Line *line, sunrealtype at, const sunrealtype *x, sunrealtype *d) {
  for (int k = 0; k < 3; k++) d[k] = x[k] - line->x[k] - at * line->e[k];
  return norm3(d);
}

/* The height of face i of a polyhedron in place along its normal n */
static sunrealtype heightOf(const Placed *p, int i, const sunrealtype *n) {
  return p->is->face[i].height + dot3(n, p->x);
}

/* The least of n . v over the vertices v */
static sunrealtype least(const Placed *p, const sunrealtype *n) {
  sunrealtype low = INFINITY, own[3];
  turnedBack(p, n, own);
  for (int v = 0; v < p->is->nvertices; v++) { /* Calls of fmin would take most of the time. */
    const sunrealtype height = dot3(own, p->is->vertex[v]);
    if (height < low) low = height;
  }
  return low + dot3(n, p->x);
}

/* The sense of e x e_2 in which it is a normal of a polyhedron at its edge with the direction e, or 0: normals there are between those of
 * both faces, n_0 on the left and n_1 on the right, and e_2 . n_0 > 0 > e_2 . n_1 if they are along e x e_2. Without faces both senses
 * are, which is 2. e_2 is in the axes of the polyhedron. */
static int sideOf(const Polyhedron *p, const PolyEdge *edge, const sunrealtype *e_2) {
  sunrealtype at[2];
  if (edge->face[0] == NONE) return 2;
  for (int k = 0; k < 2; k++) at[k] = dot3(p->face[edge->face[k]].normal, e_2);
  return at[0] > 0 && at[1] < 0 ? 1 : at[0] < 0 && at[1] > 0 ? -1 : 0;
}

/* The largest separation across two edges, where a normal of A and minus a normal of B are across both: the edges of the difference of
 * both polyhedra (D. Gregorius, Game Developers Conference 2013). along [3]: out, its unit normal, from A to B, if it is larger than most */
static sunrealtype acrossEdges(const Placed p[2], sunrealtype most, sunrealtype *along) {
  sunrealtype e[2][3], in_a[3], in_b[3], n[3], w[3], x[2][3];
  for (int i = 0; i < p[0].is->nedges; i++) {
    const PolyEdge *a = &p[0].is->edge[i];
    turned(&p[0], a->e, e[0]), placed(&p[0], a->x, x[0]), turnedBack(&p[1], e[0], in_b);
    for (int j = 0; j < p[1].is->nedges; j++) {
      const PolyEdge *b = &p[1].is->edge[j];
      /* e_a x e_b with the sense of A, and -(e_b x e_a) with that of B, which turns nothing and leaves few edges */
      const int other = sideOf(p[1].is, b, in_b);
      if (!other) continue;
      turned(&p[1], b->e, e[1]), turnedBack(&p[0], e[1], in_a);
      const int own = sideOf(p[0].is, a, in_a);
      if (!own || (own != other && own != 2 && other != 2)) continue;
      cross3(e[0], e[1], n);
      const sunrealtype sine = norm3(n);
      if (!(sine > parallel)) continue; /* Normals of faces are as good there. */
      placed(&p[1], b->x, x[1]);
      for (int k = 0; k < 3; k++) w[k] = x[1][k] - x[0][k];
      const sunrealtype across = dot3(n, w);
      const int sense          = own != 2 ? own : other != 2 ? other : across < 0 ? -1 : 1;
      if (!(sense * across / sine > most)) continue;
      most = sense * across / sine;
      for (int k = 0; k < 3; k++) along[k] = sense * n[k] / sine;
    }
  }
  return most;
}

/* The distance of two cores that are apart, whose nearest points are those of two of their features */
static sunrealtype distance(const Placed p[2]);

sunrealtype polyhedraSeparation(const Placed p[2], sunrealtype *along) {
  sunrealtype most = -INFINITY, n[3], best[3] = {0, 0, 0};
  for (int side = 0; side < 2; side++)
    for (int f = 0; f < p[side].is->nfaces && p[!side].is->nvertices > 0; f++) {
      turned(&p[side], p[side].is->face[f].normal, n);
      const sunrealtype gap = least(&p[!side], n) - heightOf(&p[side], f, n);
      if (!(gap > most)) continue;
      most = gap;
      for (int k = 0; k < 3; k++) best[k] = side ? -n[k] : n[k];
    }
  /* Hulls of files have thousands of edges, and most pairs are apart. */
  if (!(most > 0)) most = acrossEdges(p, most, best);
  if (along) memcpy(along, best, sizeof best);
  const sunrealtype skin = p[0].is->skin + p[1].is->skin;
  return (most > 0 && skin > 0 ? distance(p) : most) - skin;
}

/* ---- features ---- */

/* How far a point is within the edges of face i, negative beyond them. n, gap: out, the face's normal, and the distance along it */
static sunrealtype withinFace(const Placed *of, int i, const sunrealtype *x, sunrealtype *n,
                              sunrealtype *gap) {
  const PolyFace *face = &of->is->face[i];
  const int *corner    = of->is->corner + face->first;
  sunrealtype from[3], to[3], in[3], within = INFINITY;
  turned(of, face->normal, n);
  *gap = dot3(n, x) - heightOf(of, i, n);
  if (face->count > 0) placed(of, of->is->vertex[corner[0]], from);
  for (int k = 0; k < face->count; k++) {
    placed(of, of->is->vertex[corner[(k + 1) % face->count]], to);
    const sunrealtype along[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    cross3(n, along, in);
    within = fmin(within, (dot3(in, x) - dot3(in, from)) / norm3(along));
    memcpy(from, to, sizeof from);
  }
  return within;
}

/* Adds to the margin of a polyhedron whose vertex is at v and touches along n, which leads towards it, how far all edges of the vertex lead
 * away. */
static void withinVertex(const Placed *p, int vertex, const sunrealtype *v, const sunrealtype *n,
                         sunrealtype *margin) {
  const Polyhedron *is = p->is;
  sunrealtype next[3];
  for (int k = is->start[vertex]; k < is->start[vertex + 1]; k++) {
    placed(p, is->vertex[is->neighbour[k]], next);
    const sunrealtype along[3] = {next[0] - v[0], next[1] - v[1], next[2] - v[2]};
    *margin                    = fmin(*margin, dot3(n, along) + rocking * norm3(along));
  }
}

static void faceAndVertex(const Placed *of, const Placed *other, const Touch *touch,
                          sunrealtype *gap, sunrealtype *margin, sunrealtype *v, sunrealtype *n) {
  placed(other, other->is->vertex[touch->j], v);
  *margin = withinFace(of, touch->i, v, n, gap);
  withinVertex(other, touch->j, v, n, margin);
}

/* Of a vertex and an edge whose nearest point is within it, where no face is nearer */
static void edgeAndVertex(const Placed *of, const Placed *other, const Touch *touch,
                          sunrealtype *gap, sunrealtype *margin, sunrealtype *v, sunrealtype *n) {
  const PolyEdge *edge = &of->is->edge[touch->i];
  const Line line      = placedLine(of, touch->i);
  sunrealtype normal[3], in[3];
  placed(other, other->is->vertex[touch->j], v);
  const sunrealtype at = dot3(line.e, v) - dot3(line.e, line.x);
  *gap = fromEdge(&line, at, v, n), *margin = line.half - fabs(at);
  for (int side = 0; side < 2 && edge->face[0] != NONE; side++) {
    turned(of, of->is->face[edge->face[side]].normal, normal);
    cross3(normal, line.e, in);
    *margin = fmin(*margin, (side ? 1 : -1) * dot3(in, n));
  }
  if (!(*gap > 0)) *margin = -INFINITY;
  for (int k = 0; k < 3 && *gap > 0; k++) n[k] /= *gap;
  withinVertex(other, touch->j, v, n, margin);
}

static void vertexAndVertex(const Placed p[2], const Touch *touch, sunrealtype *gap,
                            sunrealtype *margin, sunrealtype *v, sunrealtype *n) {
  sunrealtype from[3], back[3];
  placed(&p[0], p[0].is->vertex[touch->i], from), placed(&p[1], p[1].is->vertex[touch->j], v);
  for (int k = 0; k < 3; k++) n[k] = v[k] - from[k];
  *gap    = norm3(n);
  *margin = *gap > 0 ? INFINITY : -INFINITY;
  for (int k = 0; k < 3 && *gap > 0; k++) n[k] /= *gap, back[k] = -n[k];
  if (!(*gap > 0)) return;
  withinVertex(&p[0], touch->i, from, back, margin);
  withinVertex(&p[1], touch->j, v, n, margin);
}

/* Adds to the margin how far `n` leads out of the faces at an edge. */
static void withinCone(const Placed *p, int edge, const Line *line, const sunrealtype *n,
                       sunrealtype *margin) {
  for (int side = 0; side < 2 && p->is->edge[edge].face[0] != NONE; side++) {
    sunrealtype normal[3], in[3];
    turned(p, p->is->face[p->is->edge[edge].face[side]].normal, normal);
    cross3(normal, line->e, in); /* into face[0]; out of face[1] */
    *margin = fmin(*margin, line->half * (rocking - (side ? -1 : 1) * dot3(n, in)));
  }
}

/* n: out, e_a x e_b; w: out, from the middle of edge a to that of b; lambda: out, the places of the nearest points on both. Returns
 * |e_a x e_b|. */
static sunrealtype nearestOnLines(const Line *a, const Line *b, sunrealtype *n, sunrealtype *w,
                                  sunrealtype *lambda) {
  sunrealtype c[3];
  cross3(a->e, b->e, n);
  const sunrealtype square = dot3(n, n);
  for (int k = 0; k < 3; k++) w[k] = b->x[k] - a->x[k];
  cross3(w, b->e, c);
  lambda[0] = dot3(c, n) / square;
  cross3(w, a->e, c);
  lambda[1] = dot3(c, n) / square;
  return sqrt(square);
}

static void edgeAndEdge(const Placed p[2], const Touch *touch, sunrealtype *gap,
                        sunrealtype *margin, sunrealtype *point) {
  const Line a = placedLine(&p[0], touch->i), b = placedLine(&p[1], touch->j);
  sunrealtype n[3], w[3], lambda[2], back[3];
  const sunrealtype sine = nearestOnLines(&a, &b, n, w, lambda);
  /* However short the edges are: rounding is a part of the sizes of polyhedra. */
  *margin = (p[0].is->size + p[1].is->size) * (sine - parallel), *gap = 0;
  memcpy(point, b.x, sizeof b.x);
  if (!(sine > parallel / 2)) return;
  for (int k = 0; k < 3; k++) n[k] *= touch->sense / sine, back[k] = -n[k];
  add3(lambda[1], b.e, point);
  *gap    = dot3(n, w);
  *margin = fmin(*margin, fmin(a.half - fabs(lambda[0]), b.half - fabs(lambda[1])));
  withinCone(&p[0], touch->i, &a, n, margin);
  withinCone(&p[1], touch->j, &b, back, margin);
}

void polyhedraTouch(const Placed p[2], const Touch *touch, sunrealtype *gap, sunrealtype *margin,
                    sunrealtype *point) {
  const int side = touch->kind == FACE_OF_B || touch->kind == EDGE_OF_B;
  sunrealtype n[3];
  switch (touch->kind) {
  case EDGES: edgeAndEdge(p, touch, gap, margin, point); break;
  case VERTICES: vertexAndVertex(p, touch, gap, margin, point, n); break;
  case FACE_OF_A:
  case FACE_OF_B: faceAndVertex(&p[side], &p[!side], touch, gap, margin, point, n); break;
  default: edgeAndVertex(&p[side], &p[!side], touch, gap, margin, point, n);
  }
  if (side) add3(-*gap, n, point); /* from a vertex of A to the core of B */
  *gap -= p[0].is->skin + p[1].is->skin;
}

/* ---- candidates ---- */

/* Is vertex j of the other polyhedron not farther than reach from face i of this one, measured along its normal and beyond its edges? */
static int isNearFace(const Placed *of, const Placed *other, int i, int j, sunrealtype reach) {
  sunrealtype n[3], v[3], gap;
  placed(other, other->is->vertex[j], v);
  turned(of, of->is->face[i].normal, n);
  gap = dot3(n, v) - heightOf(of, i, n) - of->is->skin - other->is->skin;
  return fabs(gap) <= reach && withinFace(of, i, v, n, &gap) >= -reach;
}

/* The distance of two edges: that of their lines if its points are within them, or that of an end of one of them from the other one */
static sunrealtype betweenEdges(const Line *a, const Line *b) {
  sunrealtype n[3], w[3], lambda[2], best = INFINITY;
  const sunrealtype sine = nearestOnLines(a, b, n, w, lambda);
  if (sine > parallel && fabs(lambda[0]) <= a->half && fabs(lambda[1]) <= b->half)
    return fabs(dot3(n, w)) / sine;
  for (int i = 0; i < 4; i++) {
    const Line *of = i < 2 ? a : b, *other = i < 2 ? b : a;
    sunrealtype x[3] = {of->x[0], of->x[1], of->x[2]}, d[3];
    add3(i % 2 ? of->half : -of->half, of->e, x);
    best = fmin(best, fromEdge(other, onEdge(other, x), x, d));
  }
  return best;
}

static sunrealtype fromVertex(const Line *line, const Placed *other, int vertex) {
  sunrealtype v[3], d[3];
  placed(other, other->is->vertex[vertex], v);
  return fromEdge(line, onEdge(line, v), v, d);
}

static sunrealtype betweenVertices(const Placed p[2], int i, int j) {
  sunrealtype v[2][3];
  placed(&p[0], p[0].is->vertex[i], v[0]), placed(&p[1], p[1].is->vertex[j], v[1]);
  add3(-1, v[0], v[1]);
  return norm3(v[1]);
}

static sunrealtype distance(const Placed p[2]) {
  sunrealtype best = INFINITY, n[3], v[3], gap;
  for (int side = 0; side < 2; side++)
    for (int j = 0; j < p[!side].is->nvertices; j++) {
      placed(&p[!side], p[!side].is->vertex[j], v);
      for (int i = 0; i < p[side].is->nfaces; i++)
        if (withinFace(&p[side], i, v, n, &gap) >= 0 && gap >= 0) best = fmin(best, gap);
      if (p[!side].is->nedges > 0) continue; /* The ends of edges are those of the next loop. */
      for (int i = 0; i < p[side].is->nedges; i++) {
        const Line line = placedLine(&p[side], i);
        best            = fmin(best, fromVertex(&line, &p[!side], j));
      }
    }
  for (int i = 0; i < p[0].is->nedges; i++) {
    const Line a = placedLine(&p[0], i);
    for (int j = 0; j < p[1].is->nedges; j++) {
      const Line b = placedLine(&p[1], j);
      best         = fmin(best, betweenEdges(&a, &b));
    }
  }
  return best;
}

/* The sense in which e_a x e_b leads out of polyhedron A; if that is a segment, into B */
static int senseOf(const Placed p[2], int i, int j, const Line *a, const Line *b) {
  const int of         = p[0].is->edge[i].face[0] == NONE;
  const PolyEdge *edge = &p[of].is->edge[of ? j : i];
  sunrealtype n[3], out[3] = {0, 0, 0}, normal[3];
  cross3(a->e, b->e, n);
  for (int side = 0; side < 2; side++)
    turned(&p[of], p[of].is->face[edge->face[side]].normal, normal), add3(of ? -1 : 1, normal, out);
  return dot3(n, out) > 0 ? 1 : -1;
}

/* The candidates that have been found; room < 0: there is no memory */
typedef struct {
  Touch *touch;
  int n, room;
} Found;

static void take(Found *found, FeatureKind kind, int i, int j, int sense) {
  if (found->room < 0) return;
  if (found->n == found->room) {
    const int room = 2 * found->room + 16;
    Touch *more    = realloc(found->touch, (size_t)room * sizeof *more);
    if (more) found->touch = more;
    found->room = more ? room : -1;
    if (!more) return;
  }
  found->touch[found->n++] = (Touch){kind, i, j, sense};
}

/* A box along the axes of space */
typedef struct {
  sunrealtype low[3], high[3];
} Bounds;

/* That around the vertices of a polyhedron, which has some */
static Bounds boundsOf(const Placed *p) {
  Bounds b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
  sunrealtype x[3];
  for (int v = 0; v < p->is->nvertices; v++) {
    placed(p, p->is->vertex[v], x);
    for (int k = 0; k < 3; k++) b.low[k] = fmin(b.low[k], x[k]), b.high[k] = fmax(b.high[k], x[k]);
  }
  return b;
}

/* Does a line come within `reach` of a box? Some that do not pass as well. */
static int isBeside(const Line *line, const Bounds *b, sunrealtype reach) {
  for (int k = 0; k < 3; k++) {
    const sunrealtype half = fabs(line->e[k]) * line->half + reach;
    if (!(line->x[k] + half >= b->low[k] && line->x[k] - half <= b->high[k])) return 0;
  }
  return 1;
}

/* An edge in place, and its number */
typedef struct {
  Line line;
  int i;
} Beside;

/* list [nedges]: out, the edges of a polyhedron within `reach` of the box around the other one. Returns their number. */
static int listEdges(const Placed *p, const Placed *other, sunrealtype reach, Beside *list) {
  const Bounds b = boundsOf(other);
  int n          = 0;
  for (int i = 0; i < p->is->nedges; i++) {
    list[n] = (Beside){placedLine(p, i), i};
    n += isBeside(&list[n].line, &b, reach);
  }
  return n;
}

/* Hulls of files have thousands of edges, most of which are far from the other polyhedron. */
static void findEdges(const Placed p[2], sunrealtype reach, Found *found) {
  const int most = p[0].is->nedges + p[1].is->nedges;
  if (p[0].is->nedges == 0 || p[1].is->nedges == 0 || found->room < 0) return;
  Beside *a = malloc((size_t)most * sizeof *a), *b = a ? a + p[0].is->nedges : NULL;
  if (!a) {
    found->room = -1;
    return;
  }
  const int na = listEdges(&p[0], &p[1], reach, a), nb = listEdges(&p[1], &p[0], reach, b);
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++) {
      const Line *own = &a[i].line, *other = &b[j].line;
      const sunrealtype d[3] = {other->x[0] - own->x[0], other->x[1] - own->x[1],
                                other->x[2] - own->x[2]};
      if (norm3(d) > own->half + other->half + reach) continue;
      if (betweenEdges(own, other) <= reach)
        take(found, EDGES, a[i].i, b[j].i, senseOf(p, a[i].i, b[j].i, own, other));
    }
  free(a);
}

/* Those of edges and vertices, and of two vertices, which have normals of their own where there is a skin */
static void findRound(const Placed p[2], sunrealtype reach, Found *found) {
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < p[side].is->nedges; i++) {
      const Line line = placedLine(&p[side], i);
      for (int j = 0; j < p[!side].is->nvertices; j++)
        if (fromVertex(&line, &p[!side], j) <= reach)
          take(found, side ? EDGE_OF_B : EDGE_OF_A, i, j, 0);
    }
  for (int i = 0; i < p[0].is->nvertices; i++)
    for (int j = 0; j < p[1].is->nvertices; j++)
      if (betweenVertices(p, i, j) <= reach) take(found, VERTICES, i, j, 0);
}

int polyhedraCandidates(const Placed p[2], sunrealtype reach, Touch **touch, int *room) {
  const sunrealtype skin = p[0].is->skin + p[1].is->skin;
  Found found            = {*touch, 0, *room};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < p[side].is->nfaces; i++)
      for (int j = 0; j < p[!side].is->nvertices; j++)
        if (isNearFace(&p[side], &p[!side], i, j, reach))
          take(&found, side ? FACE_OF_B : FACE_OF_A, i, j, 0);
  findEdges(p, reach + skin, &found);
  if (skin > 0) findRound(p, reach + skin, &found);
  *touch = found.touch;
  if (found.room >= 0) *room = found.room;
  return found.room < 0 ? NONE : found.n;
}

/* ---- solids ---- */

/* A side at a point, and with the axis z along d, both in the axes of the shape */
static Side sideAt(const Side *own, const sunrealtype *x, const sunrealtype *d) {
  Side side       = *own;
  CPMarker marker = {.axis = {0, 0, 0}};
  for (int k = 0; k < 3; k++) add3(x[k], own->axis[k], side.point);
  for (int k = 0; k < 3 && d; k++) add3(d[k], own->axis[k], marker.axis);
  if (d) bodiesAxes(3, 0, &marker, side.axis);
  return side;
}

void polyhedraPair(const Polyhedron *const is[2], const Touch *touch, const Side *const own[2],
                   Pair *pair) {
  const int of_b = touch->kind == FACE_OF_B || touch->kind == EDGE_OF_B;
  for (int side = 0; side < 2; side++) {
    const Polyhedron *p = is[side];
    const int first     = touch->kind == EDGES || touch->kind == VERTICES ? !side : side == of_b,
              index     = first ? touch->i : touch->j;
    Solid *solid        = &pair->solid[side];
    if (touch->kind == VERTICES || (!first && touch->kind != EDGES)) {
      pair->side[side] = sideAt(own[side], p->vertex[index], NULL);
      *solid           = (Solid){POINT_CORE, {0}, p->skin};
    } else if (touch->kind == FACE_OF_A || touch->kind == FACE_OF_B) {
      const PolyFace *face = &p->face[index];
      sunrealtype x[3]     = {0, 0, 0};
      add3(face->height, face->normal, x);
      pair->side[side] = sideAt(own[side], x, face->normal);
      *solid           = (Solid){HALF_SPACE, {0}, p->skin};
    } else {
      const PolyEdge *edge = &p->edge[index];
      sunrealtype d[3]     = {0, 0, 0};
      add3(side && touch->kind == EDGES ? touch->sense : 1, edge->e, d);
      pair->side[side] = sideAt(own[side], edge->x, d);
      *solid           = (Solid){LINE, {0, 0, edge->half}, p->skin};
    }
  }
}

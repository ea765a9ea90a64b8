/* What of two convex polyhedra touches: a vertex and a face, whose gap is n . (v - p), or two edges, whose gap is that of their lines,
 * n . (x_b - x_a) with n = e_a x e_b / |e_a x e_b|. Both are smooth, and have either sign. They are gaps of the polyhedra where the vertex is
 * over the face, or the nearest points of the lines are within both edges, and where n is a normal of both polyhedra there. */
#include "polyhedra.h"
#include "elements.h"

#include <string.h>

/* A feature beside whose normal a polyhedron ends, by this sine at most, is still one: where polyhedra touch, normals fit exactly, and the
 * polyhedra may rock a little before the feature is given up. It decides when features are looked for again, and not which forces act. */
static const sunrealtype rocking = SUN_RCONST(0.1);
/* Edges of which e_a x e_b is below this have no normal that is exact enough: half of the digits of the sine are left. */
static const sunrealtype parallel = SUN_RCONST(1e-8);

/* ---- the polyhedron ---- */

/* Finds the edges, each of which two faces have in opposite senses. */
static void findEdges(Polyhedron *p) {
  for (int f = 0; f < p->nfaces; f++)
    for (int k = 0; k < p->face[f].count; k++) {
      const int *corner = p->corner + p->face[f].first, from = corner[k],
                to = corner[(k + 1) % p->face[f].count];
      if (from < to) p->edge[p->nedges++] = (PolyEdge){{from, to}, {f, NONE}};
    }
  for (int f = 0; f < p->nfaces; f++)
    for (int k = 0; k < p->face[f].count; k++) {
      const int *corner = p->corner + p->face[f].first, from = corner[k],
                to = corner[(k + 1) % p->face[f].count];
      for (int e = 0; e < p->nedges && from > to; e++)
        if (p->edge[e].vertex[0] == to && p->edge[e].vertex[1] == from) p->edge[e].face[1] = f;
    }
}

/* Vertex 0 ... 7 has the bits of its number as ends of the axes; faces 2 k and 2 k + 1 are those at both ends of axis k. */
Polyhedron polyhedronOf(const Shape *shape) {
  const sunrealtype *half = shape->half;
  Polyhedron p            = {.nvertices = 8, .nfaces = 6, .ndirections = 3};
  for (int v = 0; v < 8; v++)
    for (int k = 0; k < 3; k++) p.vertex[v][k] = (v >> k & 1 ? 1 : -1) * half[k];
  for (int f = 0; f < 6; f++) {
    const int k = f / 2, i = 1 << (k + 1) % 3, j = 1 << (k + 2) % 3, at = f % 2 << k;
    const int up[4]     = {at, at | i, at | i | j, at | j};
    p.face[f]           = (PolyFace){.first = 4 * f, .count = 4};
    p.face[f].normal[k] = f % 2 ? 1 : -1;
    for (int c = 0; c < 4; c++) p.corner[4 * f + c] = up[f % 2 ? c : 3 - c];
  }
  for (int k = 0; k < 3; k++) p.direction[k][k] = 1;
  p.radius = length3(half), p.inner = fmin(half[0], fmin(half[1], half[2]));
  findEdges(&p);
  return p;
}

/* ---- in place ---- */

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

static void placed(const Placed *p, const sunrealtype *own, sunrealtype *x) {
  turned(p, own, x);
  add3(1, p->x, x);
}

/* An edge in place: its middle, its unit direction and half its length */
typedef struct {
  sunrealtype x[3], e[3], half;
} Line;

static Line lineOf(const Polyhedron *is, int i) {
  const PolyEdge *edge = &is->edge[i];
  Line line            = {.half = 0};
  add3(SUN_RCONST(0.5), is->vertex[edge->vertex[0]], line.x);
  add3(SUN_RCONST(0.5), is->vertex[edge->vertex[1]], line.x);
  memcpy(line.e, is->vertex[edge->vertex[1]], sizeof line.e);
  add3(-1, is->vertex[edge->vertex[0]], line.e);
  const sunrealtype length = length3(line.e);
  for (int k = 0; k < 3; k++) line.e[k] /= length;
  line.half = length / 2;
  return line;
}

static Line placedLine(const Placed *p, int i) {
  const Line own = lineOf(p->is, i);
  Line line      = own;
  placed(p, own.x, line.x);
  turned(p, own.e, line.e);
  return line;
}

/* The least of n . v over the vertices v */
static sunrealtype least(const Placed *p, const sunrealtype *n) {
  sunrealtype low = INFINITY, own[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) add3(n[i], p->R[i], own);
  for (int v = 0; v < p->is->nvertices; v++) low = fmin(low, dot3(own, p->is->vertex[v]));
  return low + dot3(n, p->x);
}

sunrealtype polyhedraSeparation(const Placed p[2]) {
  sunrealtype most = -INFINITY, n[3], back[3], d[2][3], point[3];
  for (int side = 0; side < 2; side++)
    for (int f = 0; f < p[side].is->nfaces; f++) {
      const PolyFace *face = &p[side].is->face[f];
      turned(&p[side], face->normal, n);
      placed(&p[side], p[side].is->vertex[p[side].is->corner[face->first]], point);
      most = fmax(most, least(&p[!side], n) - dot3(n, point));
    }
  for (int i = 0; i < p[0].is->ndirections; i++)
    for (int j = 0; j < p[1].is->ndirections; j++) {
      turned(&p[0], p[0].is->direction[i], d[0]), turned(&p[1], p[1].is->direction[j], d[1]);
      cross3(d[0], d[1], n);
      const sunrealtype length = length3(n);
      if (!(length > parallel)) continue; /* Normals of faces are as good there. */
      for (int k = 0; k < 3; k++) n[k] /= length, back[k] = -n[k];
      most = fmax(most,
                  fmax(least(&p[1], n) + least(&p[0], back), least(&p[1], back) + least(&p[0], n)));
    }
  return most;
}

/* ---- features ---- */

/* How far a point is within the edges of face i, negative beyond them. n, gap: out, the face's normal, and the distance along it */
static sunrealtype withinFace(const Placed *of, int i, const sunrealtype *x, sunrealtype *n,
                              sunrealtype *gap) {
  const PolyFace *face = &of->is->face[i];
  sunrealtype corner[3], next[3], in[3], within = INFINITY;
  turned(of, face->normal, n);
  placed(of, of->is->vertex[of->is->corner[face->first]], corner);
  *gap = dot3(n, x) - dot3(n, corner);
  for (int k = 0; k < face->count; k++) {
    placed(of, of->is->vertex[of->is->corner[face->first + (k + 1) % face->count]], next);
    const sunrealtype along[3] = {next[0] - corner[0], next[1] - corner[1], next[2] - corner[2]};
    cross3(n, along, in);
    within = fmin(within, (dot3(in, x) - dot3(in, corner)) / length3(along));
    memcpy(corner, next, sizeof corner);
  }
  return within;
}

static void faceAndVertex(const Placed *of, const Placed *other, const Touch *touch,
                          sunrealtype *gap, sunrealtype *margin, sunrealtype *v) {
  const Polyhedron *its = other->is;
  sunrealtype n[3], next[3];
  placed(other, its->vertex[touch->j], v);
  *margin = withinFace(of, touch->i, v, n, gap);
  for (int e = 0; e < its->nedges; e++) {
    const int *end = its->edge[e].vertex;
    if (end[0] != touch->j && end[1] != touch->j) continue;
    placed(other, its->vertex[end[end[0] == touch->j]], next);
    const sunrealtype along[3] = {next[0] - v[0], next[1] - v[1], next[2] - v[2]};
    *margin                    = fmin(*margin, dot3(n, along) + rocking * length3(along));
  }
}

/* Adds to the margin how far `n` leads out of the faces at an edge. */
static void withinCone(const Placed *p, int edge, const Line *line, const sunrealtype *n,
                       sunrealtype *margin) {
  for (int side = 0; side < 2; side++) {
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
  const sunrealtype sine = nearestOnLines(&a, &b, n, w, lambda), half = fmin(a.half, b.half);
  *margin = half * (sine - parallel), *gap = 0;
  memcpy(point, b.x, sizeof b.x);
  if (!(*margin > 0)) return;
  for (int k = 0; k < 3; k++) n[k] *= touch->sense / sine, back[k] = -n[k];
  add3(lambda[1], b.e, point);
  *gap    = dot3(n, w);
  *margin = fmin(*margin, fmin(a.half - fabs(lambda[0]), b.half - fabs(lambda[1])));
  withinCone(&p[0], touch->i, &a, n, margin);
  withinCone(&p[1], touch->j, &b, back, margin);
}

void polyhedraTouch(const Placed p[2], const Touch *touch, sunrealtype *gap, sunrealtype *margin,
                    sunrealtype *point) {
  if (touch->kind == EDGES) edgeAndEdge(p, touch, gap, margin, point);
  else faceAndVertex(&p[touch->kind], &p[!touch->kind], touch, gap, margin, point);
}

/* ---- candidates ---- */

/* Is vertex j of the other polyhedron not farther than reach from face i of this one, measured along its normal and beyond its edges? */
static int isNearFace(const Placed *of, const Placed *other, int i, int j, sunrealtype reach) {
  sunrealtype n[3], v[3], gap;
  placed(other, other->is->vertex[j], v);
  return withinFace(of, i, v, n, &gap) >= -reach && fabs(gap) <= reach;
}

/* The place on a line that is nearest to x, within the edge */
static sunrealtype onEdge(const Line *line, const sunrealtype *x) {
  const sunrealtype at = dot3(line->e, x) - dot3(line->e, line->x);
  return fmax(-line->half, fmin(line->half, at));
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
    const sunrealtype at = onEdge(other, x);
    for (int k = 0; k < 3; k++) d[k] = other->x[k] + at * other->e[k] - x[k];
    best = fmin(best, length3(d));
  }
  return best;
}

/* The sense in which e_a x e_b leads out of polyhedron a */
static int senseOf(const Placed p[2], int i, const Line *a, const Line *b) {
  const PolyEdge *edge = &p[0].is->edge[i];
  sunrealtype n[3], out[3] = {0, 0, 0}, normal[3];
  cross3(a->e, b->e, n);
  for (int side = 0; side < 2; side++)
    turned(&p[0], p[0].is->face[edge->face[side]].normal, normal), add3(1, normal, out);
  return dot3(n, out) > 0 ? 1 : -1;
}

int polyhedraMost(const Polyhedron *a, const Polyhedron *b) {
  return a->nfaces * b->nvertices + b->nfaces * a->nvertices + a->nedges * b->nedges;
}

int polyhedraCandidates(const Placed p[2], sunrealtype reach, Touch *touch) {
  int n = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < p[side].is->nfaces; i++)
      for (int j = 0; j < p[!side].is->nvertices; j++)
        if (isNearFace(&p[side], &p[!side], i, j, reach))
          touch[n++] = (Touch){side ? FACE_OF_B : FACE_OF_A, i, j, 0};
  for (int i = 0; i < p[0].is->nedges; i++) {
    const Line a = placedLine(&p[0], i);
    for (int j = 0; j < p[1].is->nedges; j++) {
      const Line b = placedLine(&p[1], j);
      if (betweenEdges(&a, &b) <= reach) touch[n++] = (Touch){EDGES, i, j, senseOf(p, i, &a, &b)};
    }
  }
  return n;
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
  for (int side = 0; side < 2; side++) {
    const Polyhedron *p = is[side];
    if (touch->kind == EDGES) {
      const Line line  = lineOf(p, side ? touch->j : touch->i);
      sunrealtype d[3] = {0, 0, 0};
      add3(side ? touch->sense : 1, line.e, d);
      pair->side[side]  = sideAt(own[side], line.x, d);
      pair->solid[side] = (Solid){LINE, {0, 0, line.half}, 0};
    } else if (side == (int)touch->kind) {
      const PolyFace *face = &p->face[touch->i];
      pair->side[side]     = sideAt(own[side], p->vertex[p->corner[face->first]], face->normal);
      pair->solid[side]    = (Solid){HALF_SPACE, {0}, 0};
    } else {
      pair->side[side]  = sideAt(own[side], p->vertex[touch->j], NULL);
      pair->solid[side] = (Solid){POINT_CORE, {0}, 0};
    }
  }
}

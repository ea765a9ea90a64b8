/* The polyhedron of a shape: vertices, and faces whose corners are listed around them, from which edges and neighbours follow. Faces of
 * a convex hull are made of its triangles, where these lie in one plane. */
#include "elements.h"
#include "hull.h"
#include "polyhedra.h"

#include <stdlib.h>
#include <string.h>

void polyhedronFree(Polyhedron *p) {
  void *owned[] = {p->vertex, p->face, p->edge, p->corner, p->start, p->neighbour};
  for (size_t i = 0; i < sizeof owned / sizeof *owned && !p->shared; i++) free(owned[i]);
  *p = (Polyhedron){0};
}

/* Allocates for these numbers. ncorners: of all faces together, or twice the number of edges. Returns 1 if out of memory. */
static int allocate(Polyhedron *p, int nvertices, int nfaces, int ncorners) {
  p->nvertices = nvertices, p->nfaces = nfaces;
  p->vertex    = calloc((size_t)nvertices + 1, sizeof *p->vertex);
  p->face      = calloc((size_t)nfaces + 1, sizeof *p->face);
  p->corner    = calloc((size_t)ncorners + 1, sizeof *p->corner);
  p->edge      = calloc((size_t)ncorners / 2 + 1, sizeof *p->edge);
  p->neighbour = calloc((size_t)ncorners + 1, sizeof *p->neighbour);
  p->start     = calloc((size_t)nvertices + 2, sizeof *p->start);
  return !p->vertex || !p->face || !p->corner || !p->edge || !p->neighbour || !p->start;
}

static void addEdge(Polyhedron *p, int from, int to, int left, int right) {
  PolyEdge *edge = &p->edge[p->nedges++];
  *edge          = (PolyEdge){.vertex = {from, to}, .face = {left, right}};
  add3(SUN_RCONST(0.5), p->vertex[from], edge->x);
  add3(SUN_RCONST(0.5), p->vertex[to], edge->x);
  memcpy(edge->e, p->vertex[to], sizeof edge->e);
  add3(-1, p->vertex[from], edge->e);
  const sunrealtype length = length3(edge->e);
  for (int k = 0; k < 3; k++) edge->e[k] /= length;
  edge->half = length / 2;
}

/* Corner k of element i of a polyhedron or a hull: of a face, an edge or a triangle; NONE after its last one */
typedef int Corner(const void *of, int i, int k);

static int cornerOfFace(const void *of, int i, int k) {
  const Polyhedron *p = of;
  return k < p->face[i].count ? p->corner[p->face[i].first + k] : NONE;
}

static int cornerOfEdge(const void *of, int i, int k) {
  return k < 2 ? ((const Polyhedron *)of)->edge[i].vertex[k] : NONE;
}

static int cornerOfTriangle(const void *of, int i, int k) {
  return k < 3 ? ((const Hull *)of)->triangle[i][k] : NONE;
}

/* at [start[v] ... start[v + 1] - 1] <- the elements with corner v, in the order of their numbers. start [nvertices + 2] */
static void listByCorner(Corner *corner, const void *of, int n, int nvertices, int *start, int *at) {
  int v;
  memset(start, 0, ((size_t)nvertices + 2) * sizeof *start);
  for (int i = 0; i < n; i++)
    for (int k = 0; (v = corner(of, i, k)) != NONE; k++) start[v + 2]++;
  for (v = 0; v < nvertices; v++) start[v + 1] += start[v];
  for (int i = 0; i < n; i++) /* start [v + 1] moves from the begin of the list of v to its end. */
    for (int k = 0; (v = corner(of, i, k)) != NONE; k++) at[start[v + 1]++] = i;
}

/* The element beside the edge from vertex a to vertex b, which has it from b to a, or NONE. start, at: those of listByCorner */
static int acrossEdge(Corner *corner, const void *of, const int *start, const int *at, int a, int b) {
  for (int l = start[b]; l < start[b + 1]; l++)
    for (int k = 0, from; (from = corner(of, at[l], k)) != NONE; k++) {
      const int next = corner(of, at[l], k + 1), to = next != NONE ? next : corner(of, at[l], 0);
      if (from == b && to == a) return at[l];
    }
  return NONE;
}

/* Finds the edges, each of which two faces have in opposite senses. Returns 1 if one has a single face. */
static int findEdges(Polyhedron *p) {
  int open = 0;
  listByCorner(cornerOfFace, p, p->nfaces, p->nvertices, p->start, p->neighbour);
  for (int f = 0; f < p->nfaces; f++)
    for (int k = 0; k < p->face[f].count; k++) {
      const int *corner = p->corner + p->face[f].first, from = corner[k],
                to    = corner[(k + 1) % p->face[f].count],
                other = acrossEdge(cornerOfFace, p, p->start, p->neighbour, from, to);
      open |= other == NONE;
      if (from < to && other != NONE) addEdge(p, from, to, f, other);
    }
  return open;
}

/* Finds the neighbours of vertices, and all sizes. */
static void finish(Polyhedron *p) {
  sunrealtype middle[3] = {0, 0, 0};
  listByCorner(cornerOfEdge, p, p->nedges, p->nvertices, p->start, p->neighbour);
  for (int v = 0; v < p->nvertices; v++)
    for (int l = p->start[v]; l < p->start[v + 1]; l++) { /* the other end of each edge at v */
      const int *end  = p->edge[p->neighbour[l]].vertex;
      p->neighbour[l] = end[end[0] == v];
    }
  for (int v = 0; v < p->nvertices; v++) {
    p->size = fmax(p->size, length3(p->vertex[v]) + p->skin);
    add3((sunrealtype)1 / p->nvertices, p->vertex[v], middle);
  }
  p->inner = p->nvertices > 0 && p->nfaces == 0 ? 0 : INFINITY;
  for (int f = 0; f < p->nfaces && p->nvertices > 0; f++)
    p->inner = fmin(p->inner, p->face[f].height - dot3(p->face[f].normal, middle));
  p->inner += p->skin;
  p->radius = p->nvertices > 0 ? p->size : INFINITY;
}

/* Vertex 0 ... 7 has the bits of its number as ends of the axes; faces 2 k and 2 k + 1 are those at both ends of axis k. */
static int makeBox(const sunrealtype *half, Polyhedron *p) {
  if (allocate(p, 8, 6, 24)) return 1;
  for (int v = 0; v < 8; v++)
    for (int k = 0; k < 3; k++) p->vertex[v][k] = (v >> k & 1 ? 1 : -1) * half[k];
  for (int f = 0; f < 6; f++) {
    const int k = f / 2, i = 1 << (k + 1) % 3, j = 1 << (k + 2) % 3, at = f % 2 << k;
    const int up[4]      = {at, at | i, at | i | j, at | j};
    p->face[f]           = (PolyFace){.height = half[k], .first = 4 * f, .count = 4};
    p->face[f].normal[k] = f % 2 ? 1 : -1;
    for (int c = 0; c < 4; c++) p->corner[4 * f + c] = up[f % 2 ? c : 3 - c];
  }
  findEdges(p);
  return 0;
}

/* ---- hulls ---- */

/* A triangle, and twice its area */
typedef struct {
  sunrealtype area;
  int triangle;
} Ranked;

/* A hull whose triangles are put together to faces. Each has the plane of its largest triangle. */
typedef struct {
  sunrealtype (*corner)[3]; /* [n] */
  Hull hull;
  sunrealtype extent, *area; /* area: [ntriangles] twice that of each */
  sunrealtype (*normal)[3];  /* [ntriangles] outwards, of length 1 */
  /* of [ntriangles]: the face of a triangle; vertex [n]: the number of a corner as a vertex; next [n]: the next corner around a face;
   * beside [ntriangles]: the triangles across the edges from corner k to k + 1; member [ntriangles]: the triangles of face f from
   * first[f] to first[f + 1] - 1, where the largest one is first */
  int *of, *vertex, *next, (*beside)[3], *member, *first;
  Ranked *ranked; /* [ntriangles] from the largest on */
  int n, nfaces;
} Merge;

static void freeMerge(Merge *w) {
  free(w->hull.triangle), free(w->corner), free(w->area), free(w->normal);
  free(w->of), free(w->vertex), free(w->next), free(w->beside), free(w->member), free(w->first);
  free(w->ranked);
}

/* Are all corners of a triangle within `plane` of the plane of another one, and does it face the same side? */
static int isIn(const Merge *w, int triangle, int seed, sunrealtype plane) {
  const int *own = w->hull.triangle[triangle], *its = w->hull.triangle[seed];
  for (int k = 0; k < 3; k++) {
    sunrealtype d[3] = {w->corner[own[k]][0], w->corner[own[k]][1], w->corner[own[k]][2]};
    add3(-1, w->corner[its[0]], d);
    if (!(fabs(dot3(w->normal[seed], d)) <= plane)) return 0;
  }
  /* Those on the other side of a thin plate are large; those that rounding has left within the plane have any normal. */
  return dot3(w->normal[triangle], w->normal[seed]) > 0 || w->area[triangle] <= plane * w->extent;
}

/* Puts triangles together to faces, from the largest one on, to their neighbours in the same plane. */
static void findFaces(Merge *w, sunrealtype plane) {
  const int n = w->hull.ntriangles;
  int end     = 0;
  w->nfaces   = 0;
  for (int t = 0; t < n; t++) w->of[t] = NONE;
  for (int i = 0; i < n; i++) {
    const int seed = w->ranked[i].triangle;
    if (w->of[seed] != NONE) continue;
    w->first[w->nfaces] = end;
    w->of[seed]         = w->nfaces;
    w->member[end++]    = seed;
    for (int at = end - 1; at < end; at++)
      for (int k = 0; k < 3; k++) {
        const int t = w->beside[w->member[at]][k];
        if (t == NONE || w->of[t] != NONE || !isIn(w, t, seed, plane)) continue;
        w->of[t]         = w->nfaces;
        w->member[end++] = t;
      }
    w->first[++w->nfaces] = end;
  }
}

/* next [n]: in, NONE; out, the corner after each one around face f, or NONE; from: out, the one of the least number, or NONE. Returns the
 * number of corners. */
static int around(const Merge *w, int f, int *from) {
  int count = 0;
  *from     = NONE;
  for (int i = w->first[f]; i < w->first[f + 1]; i++)
    for (int k = 0; k < 3; k++) {
      const int t = w->member[i], other = w->beside[t][k], a = w->hull.triangle[t][k];
      if (other != NONE && w->of[other] == f) continue;
      w->next[a] = w->hull.triangle[t][(k + 1) % 3], count++;
      if (*from == NONE || a < *from) *from = a;
    }
  return count;
}

/* Makes the faces of p, whose vertices are all points, with the plane that `plane` allows for. Returns 0; 1 if out of memory; or NONE if the
 * faces do not fit to each other. */
static int makeFaces(Merge *w, sunrealtype plane, Polyhedron *p) {
  const int n = w->n;
  findFaces(w, plane);
  if (allocate(p, n, w->nfaces, 3 * w->hull.ntriangles)) return 1;
  memcpy(p->vertex, w->corner, (size_t)n * sizeof *p->vertex);
  for (int i = 0; i < n; i++) w->next[i] = NONE;
  for (int f = 0, first = 0; f < w->nfaces; f++) {
    PolyFace *face = &p->face[f];
    int from;
    const int count = around(w, f, &from);
    memcpy(face->normal, w->normal[w->member[w->first[f]]], sizeof face->normal);
    face->first = first, face->height = -INFINITY;
    for (int i = from; from != NONE && face->count < count; i = w->next[i]) {
      if (i == NONE || (i == from && face->count > 0)) return NONE; /* more than one border */
      p->corner[first + face->count++] = i;
      face->height                     = fmax(face->height, dot3(face->normal, w->corner[i]));
    }
    for (int k = 0; k < face->count; k++) w->next[p->corner[first + k]] = NONE;
    first += face->count;
    if (face->count < 3) return NONE;
  }
  return findEdges(p) ? NONE : 0;
}

/* Keeps those points that are corners of at least three faces, and so ends of three edges; others are within faces or edges, or inside. */
static void dropPoints(Merge *w, Polyhedron *p) {
  const int n = w->n;
  for (int i = 0; i < n; i++) w->vertex[i] = 0;
  for (int f = 0; f < p->nfaces; f++)
    for (int k = 0; k < p->face[f].count; k++) w->vertex[p->corner[p->face[f].first + k]]++;
  p->nvertices = 0;
  for (int i = 0; i < n; i++) {
    if (w->vertex[i] >= 3) memcpy(p->vertex[p->nvertices], w->corner[i], sizeof *p->vertex);
    w->vertex[i] = w->vertex[i] >= 3 ? p->nvertices++ : NONE;
  }
  for (int f = 0, at = 0; f < p->nfaces; f++) {
    PolyFace *face = &p->face[f];
    const int from = face->first, count = face->count;
    face->first = at;
    for (int k = 0; k < count; k++)
      if (w->vertex[p->corner[from + k]] != NONE) p->corner[at++] = w->vertex[p->corner[from + k]];
    face->count = at - face->first;
  }
  p->nedges = 0;
  findEdges(p);
}

/* Finds the triangles beside each other. Returns 1 if out of memory. */
static int findNeighbours(Merge *w) {
  const int n  = w->hull.ntriangles;
  int *start   = malloc(((size_t)w->n + 2) * sizeof *start);
  int *at      = malloc(3 * (size_t)n * sizeof *at); /* the triangles at each corner */
  const int ok = start && at;
  if (ok) listByCorner(cornerOfTriangle, &w->hull, n, w->n, start, at);
  for (int t = 0; t < n && ok; t++)
    for (int k = 0; k < 3; k++) {
      const int a = w->hull.triangle[t][k], b = w->hull.triangle[t][(k + 1) % 3];
      w->beside[t][k] = acrossEdge(cornerOfTriangle, &w->hull, start, at, a, b);
    }
  free(start), free(at);
  return !ok;
}

static int byArea(const void *a, const void *b) {
  const Ranked *x = a, *y = b;
  return x->area != y->area ? (x->area < y->area) - (x->area > y->area)
                            : (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

static int prepare(Merge *w) {
  const size_t nt = (size_t)w->hull.ntriangles, n = (size_t)w->n;
  w->area = malloc(nt * sizeof *w->area), w->normal = malloc(nt * sizeof *w->normal);
  w->of = malloc(nt * sizeof *w->of), w->vertex = malloc(n * sizeof *w->vertex);
  w->next = malloc(n * sizeof *w->next), w->beside = malloc(nt * sizeof *w->beside);
  w->member = malloc(nt * sizeof *w->member), w->first = malloc((nt + 1) * sizeof *w->first);
  w->ranked = malloc(nt * sizeof *w->ranked);
  if (!w->area || !w->normal || !w->of || !w->vertex || !w->next || !w->beside || !w->member ||
      !w->first || !w->ranked || findNeighbours(w))
    return 1;
  for (int t = 0; t < w->hull.ntriangles; t++) {
    const int *c = w->hull.triangle[t];
    sunrealtype d[2][3];
    for (int k = 0; k < 2; k++) {
      memcpy(d[k], w->corner[c[k + 1]], sizeof d[k]);
      add3(-1, w->corner[c[0]], d[k]);
      w->extent = fmax(w->extent, length3(d[k]));
    }
    cross3(d[0], d[1], w->normal[t]);
    w->area[t] = length3(w->normal[t]);
    for (int k = 0; k < 3 && w->area[t] > 0; k++) w->normal[t][k] /= w->area[t];
  }
  for (int t = 0; t < w->hull.ntriangles; t++) w->ranked[t] = (Ranked){w->area[t], t};
  qsort(w->ranked, nt, sizeof *w->ranked, byArea);
  return 0;
}

/* Leaves those points that are corners of the hull, in `corner` [hull.ncorners]. Returns 1 if out of memory. */
static int keepCorners(Merge *w, const sunrealtype (*x)[3], int n) {
  int count   = 0;
  int *number = malloc((size_t)n * sizeof *number);
  w->corner   = malloc((size_t)w->hull.ncorners * sizeof *w->corner);
  if (!number || !w->corner) return free(number), 1;
  for (int i = 0; i < n; i++) number[i] = NONE;
  for (int t = 0; t < w->hull.ntriangles; t++)
    for (int k = 0; k < 3; k++) {
      int *corner = &w->hull.triangle[t][k], *own = &number[*corner];
      if (*own == NONE) memcpy(w->corner[ *own = count++], x[*corner], sizeof *w->corner);
      *corner = *own;
    }
  w->n = count;
  free(number);
  return 0;
}

/* p: out, the convex hull of points; empty if something is wrong with them */
static const char *makeHull(const sunrealtype (*x)[3], int n, Polyhedron *p) {
  /* Files of triangles have numbers of single precision; then smaller ones, until faces fit to each other, at the latest where each
   * triangle is one. */
  static const sunrealtype planes[] = {SUN_RCONST(1e-6), SUN_RCONST(1e-9), SUN_RCONST(1e-12), -1};
  enum { TRIALS = sizeof planes / sizeof *planes };
  Merge w           = {0};
  int found         = NONE;
  const char *wrong = hullOf(x, n, 0, &w.hull);
  if (!wrong && (keepCorners(&w, x, n) || prepare(&w))) wrong = hull_no_memory;
  for (int i = 0; i < TRIALS && !wrong && found == NONE; i++) {
    polyhedronFree(p);
    found = makeFaces(&w, planes[i] * w.extent, p);
    if (found == 1) wrong = hull_no_memory;
  }
  if (!wrong && found == NONE) wrong = "has a convex hull that rounding spoils";
  if (!wrong) dropPoints(&w, p);
  if (wrong) polyhedronFree(p);
  freeMerge(&w);
  return wrong;
}

/* ---- meshes ---- */

/* Moves the origin to the middle of the extents along the axes. centre, half [3]: out, where that was, and half of the extents */
static void recentre(Polyhedron *p, sunrealtype *centre, sunrealtype *half) {
  for (int k = 0; k < 3; k++) {
    sunrealtype low = INFINITY, high = -INFINITY;
    for (int v = 0; v < p->nvertices; v++)
      low = fmin(low, p->vertex[v][k]), high = fmax(high, p->vertex[v][k]);
    centre[k] = (low + high) / 2, half[k] = (high - low) / 2;
  }
  for (int v = 0; v < p->nvertices; v++) add3(-1, centre, p->vertex[v]);
  for (int e = 0; e < p->nedges; e++) add3(-1, centre, p->edge[e].x);
  for (int f = 0; f < p->nfaces; f++) p->face[f].height -= dot3(p->face[f].normal, centre);
}

const char *polyhedronMesh(const sunrealtype *point, int n, Mesh **mesh, sunrealtype *centre,
                           sunrealtype *half) {
  Mesh *new = malloc(sizeof *new);
  *mesh     = NULL;
  if (!new) return hull_no_memory;
  *new              = (Mesh){.owners = 1};
  const char *wrong = makeHull((const sunrealtype(*)[3])point, n, &new->is);
  if (!wrong && !(new->ends = malloc(2 * (size_t) new->is.nedges * sizeof *new->ends)))
    wrong = hull_no_memory;
  if (wrong) return polyhedronRelease(new), wrong;
  for (int e = 0; e < new->is.nedges; e++)
    memcpy(new->ends + 2 * e, new->is.edge[e].vertex, 2 * sizeof *new->ends);
  recentre(&new->is, centre, half);
  finish(&new->is);
  new->is.shared = 1;
  *mesh          = new;
  return NULL;
}

void polyhedronShare(Mesh *mesh) {
  if (mesh) atomic_fetch_add(&mesh->owners, 1);
}

void polyhedronRelease(Mesh *mesh) {
  if (!mesh || atomic_fetch_sub(&mesh->owners, 1) > 1) return;
  mesh->is.shared = 0;
  polyhedronFree(&mesh->is);
  free(mesh->ends);
  free(mesh);
}

int polyhedronOf(const Shape *shape, Polyhedron *p) {
  const int n = shape->kind == CP_SHAPE_CAPSULE ? 2 : 1;
  int failed  = 0;
  *p          = (Polyhedron){0};
  switch (shape->kind) {
  case CP_SHAPE_MESH: *p = shape->mesh->is; return 0;
  case CP_SHAPE_BOX: failed = makeBox(shape->half, p); break;
  case CP_SHAPE_PLANE:
    failed = allocate(p, 0, 1, 0);
    if (!failed) p->face[0].normal[2] = 1;
    break;
  default: /* a capsule or a sphere */
    if ((failed = allocate(p, n, 0, 2))) break;
    p->skin = shape->half[0];
    for (int v = 0; v < n && n > 1; v++) p->vertex[v][2] = (v ? 1 : -1) * shape->half[2];
    if (n > 1) addEdge(p, 0, 1, NONE, NONE);
  }
  if (failed) polyhedronFree(p);
  else finish(p);
  return failed;
}

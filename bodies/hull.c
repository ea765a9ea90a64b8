/* The convex hull of points, by the algorithm of C. B. Barber, D. P. Dobkin and H. Huhdanpaa (ACM Trans. Math. Softw. 22, 1996) without
 * its merging: from a tetrahedron on, the point that is farthest outside of a triangle replaces all triangles that it sees by those from
 * the edges around them to the point. Each point that is still outside is in the list of one triangle that it sees, from which the others
 * that it sees are found as their neighbours, so that their number counts, not that of all triangles.
 *
 * What a point sees is one piece only if each triangle is judged by the same points: the normal of a narrow triangle, in doubles, may be
 * wrong by more than the distance. There the sign of the volume in twice the digits decides. */
#include "hull.h"
#include "elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char hull_no_memory[] = "needs more memory than there is";

typedef struct {
  int corner[3], dead;
  int next[3];           /* the facet on the other side of the edge from corner k to the next one */
  sunrealtype normal[3]; /* outwards, of length 1; of a triangle without an area 0 */
  sunrealtype error;     /* bound of that of distances from it */
} Facet;

typedef struct {
  int point, facet;
  sunrealtype far; /* from the facet */
} Outside;

typedef struct {
  const sunrealtype (*x)[3];
  sunrealtype extent, rounding;
  Facet *facet;
  Outside *outside;
  int (*edge)[3]; /* around what a point sees: its ends, and the facet beyond it */
  int *seen,
      *first; /* the facets that a point sees; [n] the facet of the newest edge that begins at each point */
  int nfacets, noutside, nedges, nseen;
} Work;

static void between(const Work *w, int from, int to, sunrealtype *d) {
  for (int k = 0; k < 3; k++) d[k] = w->x[to][k] - w->x[from][k];
}

/* The distance of a point from the plane of a facet */
static sunrealtype above(const Work *w, int facet, int point) {
  sunrealtype d[3];
  between(w, w->facet[facet].corner[0], point, d);
  return dot3(w->facet[facet].normal, d);
}

/* ---- twice the digits (T. J. Dekker, Numer. Math. 18, 1971) ---- */

typedef struct {
  sunrealtype high, low;
} Twice;

static Twice sum(sunrealtype a, sunrealtype b) {
  const sunrealtype s = a + b, part = s - a;
  return (Twice){s, (a - (s - part)) + (b - part)};
}

static Twice plus(Twice a, Twice b) {
  const Twice s = sum(a.high, b.high);
  return sum(s.high, s.low + (a.low + b.low));
}

static Twice times(Twice a, Twice b) {
  const sunrealtype p = a.high * b.high;
  return sum(p, fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high));
}

static Twice minus(Twice a) { return (Twice){-a.high, -a.low}; }

/* Six times the volume of the tetrahedron of a facet and a point above it, up to some 1e-30 of the product of three of its edges */
static sunrealtype volume(const Work *w, const Facet *f, int point) {
  const sunrealtype *from = w->x[f->corner[0]],
                    *to[] = {w->x[f->corner[1]], w->x[f->corner[2]], w->x[point]};
  Twice d[3][3], all = {0, 0};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) d[i][k] = sum(to[i][k], -from[k]);
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const Twice area = plus(times(d[0][i], d[1][j]), minus(times(d[0][j], d[1][i])));
    all              = plus(all, times(area, d[2][k]));
  }
  return all.high;
}

/* ---- facets ---- */

/* n: out, the normal of the triangle, of the length of twice its area */
static void areaOf(const Work *w, int a, int b, int c, sunrealtype *n) {
  sunrealtype p[3], q[3];
  between(w, a, b, p), between(w, a, c, q);
  cross3(p, q, n);
}

static int addFacet(Work *w, int a, int b, int c) {
  if (ROOM(w->facet, w->nfacets, 1)) return 1;
  Facet *f = &w->facet[w->nfacets++];
  *f       = (Facet){.corner = {a, b, c}, .next = {w->nfacets - 1, w->nfacets - 1, w->nfacets - 1}};
  areaOf(w, a, b, c, f->normal);
  const sunrealtype size = length3(f->normal), margin = 16 * SUN_UNIT_ROUNDOFF;
  sunrealtype p[3], q[3];
  between(w, a, b, p), between(w, a, c, q);
  for (int k = 0; k < 3; k++) f->normal[k] = size > 0 ? f->normal[k] / size : 0;
  f->error = size > 0 ? margin * w->extent * length3(p) * length3(q) / size : INFINITY;
  return 0;
}

/* Is the point above the plane of the facet? Points in it, but for the roundoff of volume(), are not. */
static int sees(const Work *w, int facet, int point) {
  static const sunrealtype roundoff = SUN_RCONST(1e-28);
  const sunrealtype far             = above(w, facet, point);
  if (fabs(far) > w->facet[facet].error) return far > 0;
  return volume(w, &w->facet[facet], point) > roundoff * w->extent * w->extent * w->extent;
}

/* corner [4]: out, the farthest points from a point, from a line, and from a plane. Returns the extent of the points, or 0 if they lie in
 * one plane. */
static sunrealtype farthest(const Work *w, int n, int *corner) {
  sunrealtype extent = 0, normal[3];
  corner[0]          = 0;
  for (int k = 1; k < 4; k++) {
    sunrealtype most = 0;
    if (k == 3) areaOf(w, corner[0], corner[1], corner[2], normal);
    for (int i = 0; i < n; i++) {
      sunrealtype d[3], area[3];
      between(w, corner[0], i, d);
      if (k == 2) areaOf(w, corner[0], corner[1], i, area);
      const sunrealtype size = k == 1 ? length3(d) : k == 2 ? length3(area) : fabs(dot3(normal, d));
      if (size > most) most = size, corner[k] = i;
    }
    if (k == 1) extent = most;
    if (!(most > pow(extent, k) * SUN_RCONST(1e-12)) || !isfinite(most)) return 0;
  }
  return extent;
}

/* Puts a point into the list of the facet, from `first` on, that it is farthest from, if it is outside of one. */
static void place(Work *w, int first, int point) {
  Outside best = {.point = point, .far = w->rounding};
  int found    = 0;
  for (int f = first; f < w->nfacets; f++) {
    const sunrealtype far = above(w, f, point);
    if (far > best.far && sees(w, f, point)) best.far = far, best.facet = f, found = 1;
  }
  if (found) w->outside[w->noutside++] = best;
}

/* Lists the facets that a point sees, of which one is given, as dead, and the edges around them. Returns 1 if out of memory. */
static int look(Work *w, int point, int facet) {
  w->nedges = w->nseen = 0;
  if (ROOM(w->seen, w->nseen, 1)) return 1;
  w->seen[w->nseen++]  = facet;
  w->facet[facet].dead = 1;
  for (int i = 0; i < w->nseen; i++)
    for (int k = 0; k < 3; k++) {
      const Facet *own = &w->facet[w->seen[i]];
      const int next   = own->next[k];
      if (w->facet[next].dead) continue;
      if (sees(w, next, point)) {
        if (ROOM(w->seen, w->nseen, 1)) return 1;
        w->seen[w->nseen++] = next;
        w->facet[next].dead = 1;
      } else {
        if (ROOM(w->edge, w->nedges, 1)) return 1;
        int *edge = w->edge[w->nedges++];
        edge[0] = own->corner[k], edge[1] = own->corner[(k + 1) % 3], edge[2] = next;
      }
    }
  return 0;
}

/* Makes facet `to` the neighbour of `facet` beyond the edge that begins at a corner. */
static void join(Work *w, int facet, int corner, int to) {
  for (int k = 0; k < 3; k++)
    if (w->facet[facet].corner[k] == corner) w->facet[facet].next[k] = to;
}

/* Makes a point a corner. facet: one that it sees. Returns 1 if out of memory. */
static int takePoint(Work *w, int point, int facet) {
  const int first = w->nfacets, before = w->noutside;
  if (look(w, point, facet)) return 1;
  for (int e = 0; e < w->nedges; e++) {
    const int *edge = w->edge[e];
    if (addFacet(w, edge[0], edge[1], point)) return 1;
    join(w, first + e, edge[0], edge[2]);
    join(w, edge[2], edge[1], first + e);
    w->first[edge[0]] = first + e;
  }
  for (int e = 0; e < w->nedges; e++) {
    const int end = w->edge[e][1], next = w->first[end];
    join(w, first + e, end, next);
    join(w, next, point, first + e);
  }
  w->noutside = 0;
  for (int i = 0; i < before; i++) {
    const Outside own = w->outside[i];
    if (!w->facet[own.facet].dead) w->outside[w->noutside++] = own;
    else if (own.point != point) place(w, first, own.point);
  }
  return 0;
}

static int build(Work *w, int n, int most, const int *start, int *ncorners) {
  static const int faces[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}};
  sunrealtype normal[3], d[3];
  areaOf(w, start[0], start[1], start[2], normal);
  between(w, start[0], start[3], d);
  const int flip = dot3(normal, d) > 0; /* the triangle 0, 1, 2 has corner 3 inside */
  for (int f = 0; f < 4; f++)
    if (addFacet(w, start[faces[f][0]], start[faces[f][flip ? 2 : 1]], start[faces[f][flip ? 1 : 2]]))
      return 1;
  for (int f = 0; f < 4; f++) /* The neighbour beyond an edge has it the other way round. */
    for (int g = 0; g < 4; g++)
      for (int k = 0; k < 9; k++)
        if (w->facet[f].corner[k / 3] == w->facet[g].corner[(k + 1) % 3] &&
            w->facet[f].corner[(k / 3 + 1) % 3] == w->facet[g].corner[k % 3])
          w->facet[f].next[k / 3] = g;
  for (int i = 0; i < n; i++) place(w, 0, i);
  for (*ncorners = 4; w->noutside > 0 && (most == 0 || *ncorners < most); ++*ncorners) {
    const Outside *farthest = &w->outside[0];
    for (int i = 1; i < w->noutside; i++)
      if (w->outside[i].far > farthest->far) farthest = &w->outside[i];
    if (takePoint(w, farthest->point, farthest->facet)) return 1;
  }
  return 0;
}

const char *hullOf(const sunrealtype (*x)[3], int n, int most, Hull *hull) {
  Work w = {.x = x};
  int start[4];
  *hull = (Hull){0};
  if (n < 4) return "has less than four points";
  const sunrealtype extent = farthest(&w, n, start);
  if (!(extent > 0)) return "encloses no volume";
  w.extent   = extent;
  w.rounding = SUN_RCONST(1e-12) * extent;
  w.outside  = malloc((size_t)n * sizeof *w.outside);
  w.first    = malloc((size_t)n * sizeof *w.first);
  int failed = !w.outside || !w.first || build(&w, n, most, start, &hull->ncorners);
  for (int f = 0; f < w.nfacets && !failed; f++) {
    if (w.facet[f].dead) continue;
    if ((failed = ROOM(hull->triangle, hull->ntriangles, 1))) break;
    memcpy(hull->triangle[hull->ntriangles++], w.facet[f].corner, sizeof *hull->triangle);
  }
  if (failed) free(hull->triangle), *hull = (Hull){0};
  free(w.facet), free(w.outside), free(w.edge), free(w.seen), free(w.first);
  return failed ? hull_no_memory : NULL;
}

/* Convex polyhedra, with a skin, and their features that may touch (polyhedron.c, polyhedra.c) */
#ifndef CPODES_BODIES_POLYHEDRA_H
#define CPODES_BODIES_POLYHEDRA_H

#include "bodies_impl.h"

#include <stdatomic.h>

struct CPEventSource_;

/* The plane normal . x = height. Corners are those from `first` on in Polyhedron.corner, counter-clockwise as seen from outside; without
 * corners the face has no end. */
typedef struct {
  sunrealtype normal[3], height;
  int first, count;
} PolyFace;

/* From vertex[0] to vertex[1], with its middle x, unit direction e and half its length; face[0] is on its left as seen from outside,
 * face[1] on its right. Both are NONE if there are no faces. */
typedef struct {
  int vertex[2], face[2];
  sunrealtype x[3], e[3], half;
} PolyEdge;

/* What is not farther than `skin` from a core: from a polyhedron, a segment (two vertices and an edge), a point (a vertex), or from what
 * is below a plane (a face). All are in the axes of the shape, with its centre as the origin. neighbour [start[v] ... start[v + 1] - 1]:
 * the other ends of the edges at vertex v */
typedef struct {
  int nvertices, nfaces, nedges;
  sunrealtype (*vertex)[3];
  PolyFace *face;
  PolyEdge *edge;
  int *corner, *start, *neighbour;
  /* of the ball around it, and of a ball within it, which of what is below a plane are infinite; an extent for rounding */
  sunrealtype skin, radius, inner, size;
  int shared; /* 1: its arrays are those of a mesh */
} Polyhedron;

/* A polyhedron at x, with the axes in the columns of R */
typedef struct {
  const Polyhedron *is;
  sunrealtype x[3], R[3][3];
} Placed;

/* What may touch: face or edge i of polyhedron A or B and vertex j of the other one; or edge i or vertex i of A and edge j or vertex j of
 * B. sense: of two edges, whose normal is sense e_i x e_j. Without a skin only the faces and EDGES may touch. */
typedef enum { FACE_OF_A, FACE_OF_B, EDGE_OF_A, EDGE_OF_B, EDGES, VERTICES } FeatureKind;
typedef struct {
  FeatureKind kind;
  int i, j, sense;
} Touch;

/* The hull of a shape, which all mechanisms with that shape share */
typedef struct Mesh_ {
  atomic_int owners;
  Polyhedron is;
  int *ends; /* [2 nedges] the vertices of edges, for drawings */
} Mesh;

/* mesh: out, with one owner, the convex hull of points [3 n]; corners within faces and edges that are plane up to rounding of single
 * precision are left out. centre, half [3]: out, the middle of its extents along the axes, which becomes its origin, and half of them.
 * Returns NULL, or what is wrong. */
const char *polyhedronMesh(const sunrealtype *point, int n, Mesh **mesh, sunrealtype *centre,
                           sunrealtype *half);
/* Adds an owner, and takes one away; mesh may be NULL. */
void polyhedronShare(Mesh *mesh);
void polyhedronRelease(Mesh *mesh);
/* p: out, the polyhedron of a shape: of a box or mesh, a plane, a capsule, or a sphere. Returns 0, or 1 if out of memory, when p is empty. */
int polyhedronOf(const Shape *shape, Polyhedron *p);
void polyhedronFree(Polyhedron *p);
/* The place of a polyhedron, whose shape has this side, on a body at this pose */
Placed polyhedronPlaced(const Polyhedron *p, const Side *side, const Pose *pose);
/* The largest separation of two polyhedra along a normal of a face, or, if that is not positive, across two edges: at most their distance;
 * below 0, minus their depth (the theorem of separating axes). With skins that are apart, their distance. along [3]: out, or NULL, the
 * unit normal of the largest separation, from A to B */
sunrealtype polyhedraSeparation(const Placed p[2], sunrealtype *along);
/* touch [*room], which is made larger where necessary: out, what may touch if points move by less than `reach`. Returns the number, or
 * NONE if out of memory. */
int polyhedraCandidates(const Placed p[2], sunrealtype reach, Touch **touch, int *room);
/* gap: out, along the normal. margin: out, a length that is not negative while the two are nearest within their faces and edges, and the
 * normal leads away from both polyhedra; point [3]: out, of the core of B */
void polyhedraTouch(const Placed p[2], const Touch *touch, sunrealtype *gap, sunrealtype *margin,
                    sunrealtype *point);
/* pair: out, the solids of a feature with their places in the bodies, those of the shapes being own[2] */
void polyhedraPair(const Polyhedron *const is[2], const Touch *touch, const Side *const own[2],
                   Pair *pair);

/* touching.c: the event source of all contacts of polyhedra in a run. Returns 0 or CP_MEM_FAIL. */
int touchingSource(Mechanism *m, struct CPEventSource_ *source);
void touchingFree(Mechanism *m);

#endif

/* Convex polyhedra and their features that may touch (polyhedra.c) */
#ifndef CPODES_BODIES_POLYHEDRA_H
#define CPODES_BODIES_POLYHEDRA_H

#include "bodies_impl.h"

struct CPEventSource_;

/* Corners of a face: those from `first` on in Polyhedron.corner, counter-clockwise as seen from outside */
typedef struct {
  sunrealtype normal[3];
  int first, count;
} PolyFace;

/* From vertex[0] to vertex[1]; face[0] is on its left as seen from outside, face[1] on its right. */
typedef struct {
  int vertex[2], face[2];
} PolyEdge;

/* direction [ndirections]: those of edges, without parallel ones. All are in the axes of the shape, with its centre as the origin. */
typedef struct {
  int nvertices, nfaces, nedges, ndirections;
  sunrealtype vertex[8][3], direction[3][3]; /* There are boxes only. */
  PolyFace face[6];
  PolyEdge edge[12];
  int corner[24];
  sunrealtype radius, inner; /* of the balls around it and within it */
} Polyhedron;

/* A polyhedron at x, with the axes in the columns of R */
typedef struct {
  const Polyhedron *is;
  sunrealtype x[3], R[3][3];
} Placed;

/* What may touch: face i of polyhedron `kind` = 0 or 1 and vertex j of the other one; or edge i of polyhedron 0 and edge j of
 * polyhedron 1, with the normal `sense` e_i x e_j */
typedef enum { FACE_OF_A, FACE_OF_B, EDGES } FeatureKind;
typedef struct {
  FeatureKind kind;
  int i, j, sense;
} Touch;

/* The polyhedron of a shape, a box */
Polyhedron polyhedronOf(const Shape *shape);
/* The place of a polyhedron, whose shape has this side, on a body at this pose */
Placed polyhedronPlaced(const Polyhedron *p, const Side *side, const Pose *pose);
/* The largest separation of two polyhedra along a normal of a face or across two edges: at most their distance; below 0, minus their
 * depth (the theorem of separating axes) */
sunrealtype polyhedraSeparation(const Placed p[2]);
/* touch: out, what may touch if points move by less than `reach`. Returns the number, at most polyhedraMost(). */
int polyhedraCandidates(const Placed p[2], sunrealtype reach, Touch *touch);
int polyhedraMost(const Polyhedron *a, const Polyhedron *b);
/* gap: out, along the normal. margin: out, a length that is not negative while the two are nearest within their faces and edges, and the
 * normal leads away from both polyhedra; point [3]: out. */
void polyhedraTouch(const Placed p[2], const Touch *touch, sunrealtype *gap, sunrealtype *margin,
                    sunrealtype *point);
/* pair: out, the solids of a feature with their places in the bodies, those of the shapes being own[2] */
void polyhedraPair(const Polyhedron *const is[2], const Touch *touch, const Side *const own[2],
                   Pair *pair);

/* touching.c: the event source of all contacts of polyhedra in a run. Returns 0 or CP_MEM_FAIL. */
int touchingSource(Mechanism *m, struct CPEventSource_ *source);
void touchingFree(Mechanism *m);

#endif

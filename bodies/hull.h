/* The convex hull of points (hull.c), and of meshes in files (solids.c) */
#ifndef CPODES_BODIES_HULL_H
#define CPODES_BODIES_HULL_H

#include <stddef.h>
#include <sundials/sundials_types.h>

typedef struct {
  int (*triangle)[3]; /* [ntriangles] indices of corners, counter-clockwise as seen from outside; owned by the caller */
  int ntriangles, ncorners;
} Hull;

/* hull: out, that of the points x [n], with `most` corners at most, those that are farthest out; 0: with all of them. Points that are
 * 1e-12 of the extent outside of a triangle are in its plane. Returns NULL, or what is wrong with the points, such as hull_no_memory;
 * then the hull has no triangles. */
const char *hullOf(const sunrealtype (*x)[3], int n, int most, Hull *hull);
extern const char hull_no_memory[];

/* The convex hull of a mesh: its corners [3 npoints]. is_concave: 1 if the mesh is within it somewhere */
typedef struct {
  sunrealtype *point;
  int npoints, is_concave;
} MeshHull;

/* A mesh from a file, STL, OBJ, MSH or DAE according to the extension of its name, or from lists: point [3 npoints], and face [3 nfaces], the
 * indices of corners; without faces it is the convex hull. Its points are displaced by -refpos, turned back by refquat, and scaled. */
typedef struct {
  const char *name, *data; /* data: NULL for lists */
  size_t size;
  const sunrealtype *point, *face;
  int npoints, nfaces;
  sunrealtype scale[3], refpos[3], refquat[4];
} MeshSource;
/* hull: out, owned by the caller, with at most `most` corners, or all for 0. Returns NULL, or what is wrong; then it has none. */
const char *meshHull(const MeshSource *from, int most, MeshHull *hull);

#endif

/* Masses of solids: boxes, ellipsoids and similar shapes, and the interior of a mesh of triangles. */
#include "collada.h"
#include "hull.h"
#include "robot_impl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const int row_of[6] = {0, 1, 2, 0, 0, 1}, col_of[6] = {0, 1, 2, 1, 2, 2};

/* J += m (|d|^2 1 - d d^T) */
static void addOffset(sunrealtype m, const sunrealtype *d, sunrealtype *J) {
  for (int k = 0; k < 6; k++) J[k] += m * ((k < 3 ? dot3(d, d) : 0) - d[row_of[k]] * d[col_of[k]]);
}

/* The offset term is m_1 m_2 / (m_1 + m_2) |c_1 - c_2|^2, without a common origin, so that small
 * parts far away keep their digits. */
void addMass(const Mass *more, Mass *mass) {
  const sunrealtype sum = mass->mass + more->mass;
  sunrealtype d[3]      = {0, 0, 0};
  for (int k = 0; k < 6; k++) mass->J[k] += more->J[k];
  if (!(sum > 0)) return;
  add3(1, more->centre, d);
  add3(-1, mass->centre, d);
  addOffset(mass->mass * more->mass / sum, d, mass->J);
  add3(more->mass / sum, d, mass->centre);
  mass->mass = sum;
}

void moveMass(const Pose *pose, Mass *mass) {
  sunrealtype J[3][3], moved[6] = {0}, centre[3];
  for (int k = 0; k < 6; k++) J[row_of[k]][col_of[k]] = J[col_of[k]][row_of[k]] = mass->J[k];
  for (int k = 0; k < 6; k++) /* R J R^T */
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        moved[k] += pose->axis[i][row_of[k]] * J[i][j] * pose->axis[j][col_of[k]];
  memcpy(mass->J, moved, sizeof moved);
  toSpace(pose, mass->centre, centre);
  add3(1, pose->r, centre);
  memcpy(mass->centre, centre, sizeof centre);
}

void principalInertia(const sunrealtype *J, sunrealtype *value, sunrealtype axis[3][3]) {
  sunrealtype A[3][3];
  for (int k = 0; k < 6; k++) A[row_of[k]][col_of[k]] = A[col_of[k]][row_of[k]] = J[k];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) axis[i][j] = i == j;
  enum { MOST_SWEEPS = 30 }; /* Convergence is quadratic: some five sweeps are enough. */
  for (int sweep = 0; sweep < MOST_SWEEPS; sweep++)
    for (int k = 3; k < 6; k++) {
      const int p = row_of[k], q = col_of[k];
      if (A[p][q] == 0) continue;
      const sunrealtype theta = (A[q][q] - A[p][p]) / (2 * A[p][q]),
                        t     = copysign(1, theta) / (fabs(theta) + hypot(1, theta)),
                        c = 1 / hypot(1, t), sine = t * c;
      for (int i = 0; i < 3; i++) { /* A <- A G, then G^T A */
        const sunrealtype x = A[i][p], y = A[i][q], u = axis[i][p], v = axis[i][q];
        A[i][p] = c * x - sine * y, A[i][q] = sine * x + c * y;
        axis[i][p] = c * u - sine * v, axis[i][q] = sine * u + c * v;
      }
      for (int i = 0; i < 3; i++) {
        const sunrealtype x = A[p][i], y = A[q][i];
        A[p][i] = c * x - sine * y, A[q][i] = sine * x + c * y;
      }
      A[p][q] = A[q][p] = 0;
    }
  for (int i = 0; i < 3; i++) value[i] = A[i][i];
}

void composeInertia(const sunrealtype *value, sunrealtype axis[3][3], sunrealtype *J) {
  for (int k = 0; k < 6; k++) {
    J[k] = 0;
    for (int l = 0; l < 3; l++) J[k] += value[l] * axis[row_of[k]][l] * axis[col_of[k]][l];
  }
}

void solidMass(SolidKind shape, const sunrealtype *size, Mass *mass) {
  const sunrealtype pi = 4 * atan(SUN_RCONST(1.0)), a = size[0], b = size[1], c = size[2];
  *mass = (Mass){0};
  switch (shape) {
  case SPHERE: {
    const sunrealtype m = 4 * pi * a * a * a / 3, J = 2 * m * a * a / 5;
    *mass = (Mass){m, {0}, {J, J, J}};
    break;
  }
  case ELLIPSOID: {
    const sunrealtype m = 4 * pi * a * b * c / 3;
    *mass =
        (Mass){m, {0}, {m * (b * b + c * c) / 5, m * (a * a + c * c) / 5, m * (a * a + b * b) / 5}};
    break;
  }
  case BOX: {
    const sunrealtype m = 8 * a * b * c;
    *mass =
        (Mass){m, {0}, {m * (b * b + c * c) / 3, m * (a * a + c * c) / 3, m * (a * a + b * b) / 3}};
    break;
  }
  case CYLINDER:
  case CAPSULE: {
    const sunrealtype m = 2 * pi * a * a * b, across = m * (a * a / 4 + b * b / 3);
    *mass = (Mass){m, {0}, {across, across, m * a * a / 2}};
    if (shape == CYLINDER) break;
    /* Two half spheres, whose centres of mass are 3 a / 8 further out. */
    const sunrealtype ends = 4 * pi * a * a * a / 3,
                      J    = ends * (2 * a * a / 5 + b * b + 3 * a * b / 4);
    addMass(&(Mass){ends, {0}, {J, J, 2 * ends * a * a / 5}}, mass);
    break;
  }
  default: break;
  }
}

/* ---------------------------------------------------------------------------------- meshes -- */

typedef sunrealtype Triangle[3][3]; /* its corners */

typedef struct {
  Triangle *triangle;
  sunrealtype (*point)[3]; /* those of a file, or of a list */
  int ntriangles, npoints;
} Mesh;

static int addTriangle(Mesh *m, sunrealtype corner[3][3]) {
  if (ROOM(m->triangle, m->ntriangles, 1)) return 1;
  memcpy(m->triangle[m->ntriangles++], corner, sizeof(Triangle));
  return 0;
}

/* The 32 bits of a little-endian number */
static uint32_t wordAt(const char *data) {
  const unsigned char *at = (const unsigned char *)data;
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static sunrealtype floatAt(const char *data) {
  const uint32_t word = wordAt(data);
  float x;
  memcpy(&x, &word, sizeof x);
  return x;
}

/* Binary STL: 80 bytes, the number of triangles, and 50 bytes per triangle: the normal, the corners
 * and two unused bytes. */
static const char *readBinary(const char *data, size_t size, Mesh *m) {
  enum { HEAD = 84, EACH = 50, NORMAL = 12 };
  if (size < HEAD) return "is shorter than the head of an STL file";
  const size_t count = wordAt(data + 80);
  if ((size - HEAD) / EACH < count) return "is shorter than its number of triangles requires";
  for (size_t i = 0; i < count; i++) {
    sunrealtype corner[3][3];
    for (int k = 0; k < 9; k++)
      corner[k / 3][k % 3] = floatAt(data + HEAD + i * EACH + NORMAL + 4 * (size_t)k);
    if (addTriangle(m, corner)) return hull_no_memory;
  }
  return NULL;
}

/* MSH of MuJoCo: the numbers of points, normals, texture coordinates and triangles; the points, the normals, the texture coordinates, as
 * floats; and the corners of each triangle, counted from 0. Without triangles it is the convex hull. */
static const char *readMsh(const char *data, size_t size, Mesh *m) {
  enum { HEAD = 16, EACH = 12, TEXTURE = 8 };
  static const char is_short[] =
      "has not the size that its numbers of points and triangles require";
  size_t count[4], left = size - HEAD;
  if (size < HEAD) return "is shorter than the head of an MSH file";
  for (int k = 0; k < 4; k++) {
    const size_t each = k == 2 ? TEXTURE : EACH;
    count[k]          = wordAt(data + 4 * k);
    if (left / each < count[k]) return is_short;
    left -= count[k] * each;
  }
  if (left != 0) return is_short;
  for (size_t i = 0; i < count[0]; i++) {
    if (ROOM(m->point, m->npoints, 1)) return hull_no_memory;
    for (size_t k = 0; k < 3; k++) m->point[i][k] = floatAt(data + HEAD + i * EACH + 4 * k);
    m->npoints++;
  }
  const char *faces = data + size - count[3] * EACH;
  for (size_t i = 0; i < 3 * count[3]; i += 3) {
    Triangle t;
    for (size_t l = 0; l < 3; l++) {
      const size_t corner = wordAt(faces + 4 * (i + l));
      if (corner >= count[0]) return "has a face with an undefined corner";
      memcpy(t[l], m->point[corner], sizeof t[l]);
    }
    if (addTriangle(m, t)) return hull_no_memory;
  }
  return NULL;
}

static const char *readNumbers(const char **at, int count, sunrealtype *x) {
  for (int k = 0; k < count; k++) {
    char *end;
    x[k] = strtod(*at, &end);
    if (end == *at) return "has a corner without three numbers";
    *at = end;
  }
  return NULL;
}

/* ASCII STL: "vertex x y z", three times per triangle. */
static const char *readAscii(const char *data, Mesh *m) {
  sunrealtype corner[3][3];
  int count = 0;
  for (const char *at = data; (at = strstr(at, "vertex")); count++) {
    at += strlen("vertex");
    const char *wrong = readNumbers(&at, 3, corner[count % 3]);
    if (wrong) return wrong;
    if (count % 3 == 2 && addTriangle(m, corner)) return hull_no_memory;
  }
  return count % 3 ? "ends within a triangle" : NULL;
}

/* OBJ: "v x y z" is a point, "f i j k ..." a face, whose corners are i, i/t, i//n or i/t/n, counted
 * from 1, or from -1 backwards. */
static const char *readObj(const char *data, Mesh *m) {
  const char *wrong = NULL;
  for (const char *line = data; line && !wrong;) {
    if (!strncmp(line, "v ", 2)) {
      const char *at = line + 2;
      if (ROOM(m->point, m->npoints, 1)) wrong = hull_no_memory;
      else wrong = readNumbers(&at, 3, m->point[m->npoints++]);
    } else if (!strncmp(line, "f ", 2)) {
      const size_t length = strcspn(line, "\n");
      sunrealtype corner[3][3];
      int count = 0;
      for (const char *at = line + 1; at < line + length && !wrong;) {
        char *end;
        const long i = strtol(at, &end, 10), k = i < 0 ? m->npoints + i : i - 1;
        if (end == at || end > line + length) break;
        if (k < 0 || k >= m->npoints) {
          wrong = "has a face with an undefined corner";
          break;
        }
        memcpy(corner[count < 2 ? count : 2], m->point[k], sizeof *m->point);
        if (++count >= 3) { /* A face becomes a fan of triangles from its first corner. */
          if (addTriangle(m, corner)) wrong = hull_no_memory;
          memcpy(corner[1], corner[2], sizeof *corner);
        }
        at = end + strcspn(end, " \t\r\n");
      }
    }
    if ((line = strchr(line, '\n'))) line++;
  }
  return wrong;
}

/* area: out, the normal with the length of the area; centre: out. Returns the area. */
static sunrealtype areaOf(sunrealtype corner[3][3], sunrealtype *area, sunrealtype *centre) {
  sunrealtype p[3], q[3];
  for (int k = 0; k < 3; k++) {
    p[k]      = corner[1][k] - corner[0][k];
    q[k]      = corner[2][k] - corner[0][k];
    centre[k] = (corner[0][k] + corner[1][k] + corner[2][k]) / 3;
  }
  cross3(p, q, area);
  for (int k = 0; k < 3; k++) area[k] /= 2;
  return length3(area);
}

/* Replaces the triangles by those of the convex hull of all corners and points. */
static const char *makeHull(Mesh *m) {
  const sunrealtype(*x)[3] = (const sunrealtype(*)[3])m->point;
  int n                    = m->npoints;
  Hull hull;
  if (m->ntriangles > 0) x = (const sunrealtype(*)[3])m->triangle, n = 3 * m->ntriangles;
  const char *wrong  = hullOf(x, n, 0, &hull);
  Triangle *triangle = wrong ? NULL : malloc((size_t)hull.ntriangles * sizeof *triangle);
  if (!wrong && !triangle) wrong = hull_no_memory;
  for (int f = 0; f < hull.ntriangles && triangle; f++)
    for (int l = 0; l < 3; l++) memcpy(triangle[f][l], x[hull.triangle[f][l]], sizeof *x);
  free(hull.triangle);
  if (wrong) return wrong;
  free(m->triangle);
  m->triangle = triangle, m->ntriangles = hull.ntriangles;
  return NULL;
}

/* The mass of what a mesh of unit density encloses, or of its surface. As MuJoCo does: the centre of mass is that of the cones from the
 * centroid of the surface, and volume and moments are those of the cones from there, all counted as positive if `way` is MESH_LEGACY. */
static const char *sumMesh(const Mesh *m, MeshWay way, Mass *mass) {
  sunrealtype middle[3] = {0, 0, 0}, whole = 0, second[6] = {0}, sum[3] = {0, 0, 0};
  *mass = (Mass){0};
  for (int i = 0; i < m->ntriangles; i++) {
    sunrealtype area[3], centre[3];
    const sunrealtype size = areaOf(m->triangle[i], area, centre);
    add3(size, centre, middle);
    add3(1, area, sum);
    whole += size;
  }
  if (!(whole > 0) || !isfinite(whole)) return "encloses no volume";
  for (int k = 0; k < 3; k++) middle[k] /= whole;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) {
      if (!(fabs(mass->mass) > 0) || !isfinite(mass->mass)) return "encloses no volume";
      if (mass->mass < 0) return "has triangles that point inwards";
      for (int k = 0; k < 3; k++) mass->centre[k] = middle[k] + mass->centre[k] / mass->mass;
      mass->mass = 0;
    }
    for (int i = 0; i < m->ntriangles; i++) {
      sunrealtype area[3], centre[3], height[3], x[3][3], all[3] = {0, 0, 0};
      const sunrealtype size  = areaOf(m->triangle[i], area, centre);
      const sunrealtype *from = pass ? mass->centre : middle;
      for (int k = 0; k < 3; k++) height[k] = centre[k] - from[k];
      sunrealtype v = way == MESH_SHELL ? size : dot3(height, area) / 3;
      if (way == MESH_LEGACY) v = fabs(v);
      mass->mass += v;
      if (pass == 0) {
        add3(way == MESH_SHELL ? v : v * 3 / 4, height, mass->centre); /* relative to the middle */
        continue;
      }
      for (int l = 0; l < 3; l++)
        for (int k = 0; k < 3; k++) all[k] += x[l][k] = m->triangle[i][l][k] - from[k];
      for (int k = 0; k < 6; k++) {
        sunrealtype part = all[row_of[k]] * all[col_of[k]];
        for (int l = 0; l < 3; l++) part += x[l][row_of[k]] * x[l][col_of[k]];
        second[k] += v * part / (way == MESH_SHELL ? 12 : 20);
      }
    }
  }
  const sunrealtype trace = second[0] + second[1] + second[2];
  for (int k = 0; k < 6; k++) mass->J[k] = (k < 3 ? trace : 0) - second[k];
  return length3(sum) > SUN_RCONST(1e-6) * whole && way != MESH_SHELL ? mesh_is_open : NULL;
}

const char mesh_is_open[] = "is open";

static int takeTriangle(void *mesh, sunrealtype corner[3][3]) { return addTriangle(mesh, corner); }

/* m: out, owned by the caller, what a file or lists contain */
static const char *readSource(const MeshSource *from, Mesh *m) {
  const char *wrong = NULL, *data = from->data, *name = from->name;
  if (data) {
    if (bodiesEndsWith(name, ".obj")) return readObj(data, m);
    if (bodiesEndsWith(name, ".msh")) return readMsh(data, from->size, m);
    if (bodiesEndsWith(name, ".dae")) return colladaRead(data, from->size, takeTriangle, m);
    if (!bodiesEndsWith(name, ".stl")) return "is no STL, OBJ, MSH or DAE file";
    if (from->size > 5 && !strncmp(data, "solid", 5) && strstr(data, "facet"))
      return readAscii(data, m);
    return readBinary(data, from->size, m);
  }
  for (int i = 0; i < from->npoints && !wrong; i++)
    if (ROOM(m->point, i, 1)) wrong = hull_no_memory;
    else memcpy(m->point[m->npoints++], from->point + 3 * i, sizeof *m->point);
  for (int i = 0; i < from->nfaces && !wrong; i++) {
    Triangle t;
    for (int l = 0; l < 3 && !wrong; l++) {
      const sunrealtype corner = from->face[3 * i + l];
      if (!(corner >= 0 && corner < m->npoints)) wrong = "has a face with an undefined corner";
      else memcpy(t[l], m->point[(int)corner], sizeof t[l]);
    }
    if (!wrong && addTriangle(m, t)) wrong = hull_no_memory;
  }
  return wrong;
}

/* x [n] <- scale (R^T (x - refpos)) */
static void placePoints(const MeshSource *from, int n, sunrealtype (*x)[3]) {
  const Place place = {.q = {from->refpos[0], from->refpos[1], from->refpos[2], from->refquat[0],
                             from->refquat[1], from->refquat[2], from->refquat[3]}};
  Pose pose;
  robotPose(&place, &pose);
  for (int i = 0; i < n; i++) {
    sunrealtype arm[3] = {x[i][0], x[i][1], x[i][2]};
    add3(-1, pose.r, arm);
    toBody(&pose, arm, x[i]);
    for (int k = 0; k < 3; k++) x[i][k] *= from->scale[k];
  }
}

const char *meshMass(const MeshSource *from, MeshWay way, Mass *mass) {
  Mesh m               = {0};
  const sunrealtype *s = from->scale;
  const char *wrong    = readSource(from, &m);
  if (!wrong && (way == MESH_CONVEX || (m.ntriangles == 0 && m.npoints > 0))) wrong = makeHull(&m);
  if (!wrong) placePoints(from, 3 * m.ntriangles, (sunrealtype(*)[3])m.triangle);
  for (int i = 0; i < m.ntriangles && !wrong && s[0] * s[1] * s[2] < 0; i++) { /* mirrored */
    Triangle t;
    memcpy(t, m.triangle[i], sizeof t);
    memcpy(m.triangle[i][1], t[2], sizeof t[2]);
    memcpy(m.triangle[i][2], t[1], sizeof t[1]);
  }
  if (!wrong) wrong = sumMesh(&m, way, mass);
  free(m.triangle);
  free(m.point);
  return wrong;
}

/* A face of a hull: its normal with the length of its area, which is size, and area . x of its points */
typedef struct {
  sunrealtype area[3], size, height;
} HullFace;

/* is_concave: out, 1 if the middle of a triangle of the mesh is farther within the hull than rounding of files in single precision
 * explains: then it has a hollow, which its hull fills. Returns NULL or hull_no_memory. */
static const char *findHollow(const Mesh *m, const Hull *hull, const sunrealtype (*x)[3],
                              int *is_concave) {
  static const sunrealtype single = SUN_RCONST(1e-6); /* some eight units of its last digit */
  sunrealtype low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY},
              extent = 0, area[3], centre[3];
  HullFace *face     = malloc((size_t)hull->ntriangles * sizeof *face);
  if (!face) return hull_no_memory;
  for (int f = 0; f < hull->ntriangles; f++) {
    Triangle corner;
    for (int l = 0; l < 3; l++) memcpy(corner[l], x[hull->triangle[f][l]], sizeof corner[l]);
    face[f].size   = areaOf(corner, face[f].area, centre);
    face[f].height = dot3(face[f].area, centre);
    for (int k = 0; k < 3; k++) {
      low[k]  = fmin(low[k], corner[0][k]);
      high[k] = fmax(high[k], corner[0][k]);
      extent  = fmax(extent, high[k] - low[k]);
    }
  }
  for (int t = 0; t < m->ntriangles && !*is_concave; t++) {
    sunrealtype depth = INFINITY;
    areaOf(m->triangle[t], area, centre);
    for (int f = 0; f < hull->ntriangles && depth > single * extent; f++)
      if (face[f].size > 0)
        depth = fmin(depth, (face[f].height - dot3(face[f].area, centre)) / face[f].size);
    *is_concave = depth > single * extent;
  }
  free(face);
  return NULL;
}

const char *meshHull(const MeshSource *from, int most, MeshHull *out) {
  Mesh m            = {0};
  Hull hull         = {0};
  char *is_corner   = NULL;
  const char *wrong = readSource(from, &m);
  const int n       = m.ntriangles > 0 ? 3 * m.ntriangles : m.npoints;
  /* Faces of files without triangles have corners, and their points may have others, which belong to no face. */
  sunrealtype(*x)[3] = m.ntriangles > 0 ? (sunrealtype(*)[3])m.triangle : m.point;
  *out               = (MeshHull){0};
  if (!wrong) placePoints(from, n, x);
  if (!wrong) wrong = hullOf((const sunrealtype(*)[3])x, n, most, &hull);
  if (!wrong && (!(is_corner = calloc((size_t)n, 1)) ||
                 !(out->point = malloc(3 * (size_t)hull.ncorners * sizeof *out->point))))
    wrong = hull_no_memory;
  for (int f = 0; f < hull.ntriangles && !wrong; f++)
    for (int l = 0; l < 3; l++) is_corner[hull.triangle[f][l]] = 1;
  for (int i = 0; i < n && !wrong; i++)
    if (is_corner[i]) memcpy(out->point + 3 * out->npoints++, x[i], sizeof *x);
  if (!wrong) wrong = findHollow(&m, &hull, (const sunrealtype(*)[3])x, &out->is_concave);
  if (wrong) free(out->point), *out = (MeshHull){0};
  free(hull.triangle), free(m.triangle), free(m.point), free(is_corner);
  return wrong;
}

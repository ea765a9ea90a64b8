/* Masses of solids: boxes, ellipsoids and similar shapes, and the interior of a mesh of triangles. */
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

static const char no_memory[] = "needs more memory than there is";

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
    if (addTriangle(m, corner)) return no_memory;
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
    if (ROOM(m->point, m->npoints, 1)) return no_memory;
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
    if (addTriangle(m, t)) return no_memory;
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
    if (count % 3 == 2 && addTriangle(m, corner)) return no_memory;
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
      if (ROOM(m->point, m->npoints, 1)) wrong = no_memory;
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
          if (addTriangle(m, corner)) wrong = no_memory;
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

/* The distance of a point from the plane of a triangle, in which it has the area of the triangle as a factor */
static sunrealtype above(sunrealtype corner[3][3], const sunrealtype *x) {
  sunrealtype area[3], centre[3], d[3] = {x[0], x[1], x[2]};
  areaOf(corner, area, centre);
  add3(-1, corner[0], d);
  return dot3(area, d);
}

/* Replaces the triangles by those of the convex hull of all corners and points, which is built point by point: what a new point sees
 * is replaced by triangles from the edges around it to the point. */
static const char *makeHull(Mesh *m) {
  enum { MOST = 20000 };
  sunrealtype(*x)[3] = m->point, extent = 0;
  const char *wrong = NULL;
  int n = m->npoints, start[4] = {0, 0, 0, 0};
  if (m->ntriangles > 0) x = (sunrealtype(*)[3])m->triangle, n = 3 * m->ntriangles;
  if (n < 4) return "has less than four points";
  if (n > MOST) return "has too many points for a convex hull";
  Mesh hull = {0};
  for (int k = 1; k < 4;
       k++) { /* the simplex: the farthest points from a point, from a line, and from a plane */
    sunrealtype most = 0;
    for (int i = 0; i < n; i++) {
      Triangle t;
      sunrealtype area[3], centre[3], d[3] = {x[i][0], x[i][1], x[i][2]}, size;
      for (int l = 0; l < 3; l++)
        memcpy(t[l], x[l == k - 1 ? i : start[l < k ? l : 0]], sizeof t[l]);
      add3(-1, x[start[0]], d);
      if (k == 1) size = length3(d);
      else if (k == 2)
        memcpy(t[2], x[i], sizeof t[2]), memcpy(t[1], x[start[1]], sizeof t[1]),
            size = areaOf(t, area, centre);
      else {
        for (int l = 0; l < 3; l++) memcpy(t[l], x[start[l]], sizeof t[l]);
        size = fabs(above(t, x[i]));
      }
      if (size > most) most = size, start[k] = i;
    }
    if (k == 1) extent = most;
    if (!(most > pow(extent, k) * SUN_RCONST(1e-12))) return "encloses no volume";
  }
  static const int faces[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}};
  for (int f = 0; f < 4 && !wrong; f++) {
    Triangle t;
    for (int l = 0; l < 3; l++) memcpy(t[l], x[start[faces[f][l]]], sizeof t[l]);
    if (above(t, x[start[6 - faces[f][0] - faces[f][1] - faces[f][2]]]) > 0) { /* inside out */
      memcpy(t[1], x[start[faces[f][2]]], sizeof t[1]);
      memcpy(t[2], x[start[faces[f][1]]], sizeof t[2]);
    }
    if (addTriangle(&hull, t)) wrong = no_memory;
  }
  for (int i = 0; i < n && !wrong; i++) {
    int kept = 0, nedges = 0;
    sunrealtype(*edge)[2][3] = NULL;
    for (int f = 0; f < hull.ntriangles && !wrong; f++) {
      Triangle t;
      sunrealtype area[3], centre[3];
      memcpy(t, hull.triangle[f], sizeof t);
      if (!(above(t, x[i]) > SUN_RCONST(1e-12) * extent * areaOf(t, area, centre))) {
        memcpy(hull.triangle[kept++], t, sizeof t);
        continue;
      }
      for (int k = 0; k < 3 && !wrong; k++) { /* Edges of two triangles that are seen cancel. */
        const sunrealtype *p = t[k], *q = t[(k + 1) % 3];
        int e = 0;
        while (e < nedges &&
               (memcmp(edge[e][0], q, sizeof *edge[e]) || memcmp(edge[e][1], p, sizeof *edge[e])))
          e++;
        if (e < nedges) memcpy(edge[e], edge[--nedges], sizeof *edge);
        else if (ROOM(edge, nedges, 1)) wrong = no_memory;
        else {
          memcpy(edge[nedges][0], p, sizeof *edge[0]);
          memcpy(edge[nedges++][1], q, sizeof *edge[0]);
        }
      }
    }
    hull.ntriangles = kept;
    for (int e = 0; e < nedges && !wrong; e++) {
      Triangle t;
      memcpy(t, edge[e], sizeof *edge);
      memcpy(t[2], x[i], sizeof t[2]);
      if (addTriangle(&hull, t)) wrong = no_memory;
    }
    free(edge);
  }
  free(m->triangle);
  m->triangle   = hull.triangle;
  m->ntriangles = hull.ntriangles;
  return wrong;
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

const char *meshMass(const MeshSource *from, MeshWay way, Mass *mass) {
  Mesh m            = {0};
  const char *wrong = NULL, *data = from->data, *name = from->name;
  const sunrealtype *s = from->scale;
  const Place place    = {.q = {from->refpos[0], from->refpos[1], from->refpos[2], from->refquat[0],
                                from->refquat[1], from->refquat[2], from->refquat[3]}};
  Pose pose;
  if (!data) { /* lists */
    for (int i = 0; i < from->npoints && !wrong; i++)
      if (ROOM(m.point, i, 1)) wrong = no_memory;
      else memcpy(m.point[m.npoints++], from->point + 3 * i, sizeof *m.point);
    for (int i = 0; i < from->nfaces && !wrong; i++) {
      Triangle t;
      for (int l = 0; l < 3 && !wrong; l++) {
        const sunrealtype corner = from->face[3 * i + l];
        if (!(corner >= 0 && corner < m.npoints)) wrong = "has a face with an undefined corner";
        else memcpy(t[l], m.point[(int)corner], sizeof t[l]);
      }
      if (!wrong && addTriangle(&m, t)) wrong = no_memory;
    }
  } else if (bodiesEndsWith(name, ".obj")) wrong = readObj(data, &m);
  else if (bodiesEndsWith(name, ".msh")) wrong = readMsh(data, from->size, &m);
  else if (!bodiesEndsWith(name, ".stl")) wrong = "is no STL, OBJ or MSH file";
  else if (from->size > 5 && !strncmp(data, "solid", 5) && strstr(data, "facet"))
    wrong = readAscii(data, &m);
  else wrong = readBinary(data, from->size, &m);
  if (!wrong && (way == MESH_CONVEX || (m.ntriangles == 0 && m.npoints > 0))) wrong = makeHull(&m);
  robotPose(&place, &pose);
  for (int i = 0; i < m.ntriangles && !wrong; i++)
    for (int l = 0; l < 3; l++) { /* x <- scale (R^T (x - refpos)) */
      sunrealtype arm[3] = {m.triangle[i][l][0], m.triangle[i][l][1], m.triangle[i][l][2]};
      add3(-1, pose.r, arm);
      toBody(&pose, arm, m.triangle[i][l]);
      for (int k = 0; k < 3; k++) m.triangle[i][l][k] *= s[k];
    }
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

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

/* Integrals over the tetrahedra (0, a, b, c): volume, first and second moments. */
typedef struct {
  sunrealtype volume, first[3], second[6];
  const sunrealtype *scale;
} Solid;

static void addTriangle(Solid *s, sunrealtype corner[3][3]) {
  sunrealtype sum[3] = {0, 0, 0}, n[3];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) sum[k] += corner[i][k] *= s->scale[k];
  cross3(corner[1], corner[2], n);
  const sunrealtype v = dot3(corner[0], n) / 6;
  s->volume += v;
  add3(v / 4, sum, s->first);
  for (int k = 0; k < 6; k++) {
    sunrealtype part = sum[row_of[k]] * sum[col_of[k]];
    for (int i = 0; i < 3; i++) part += corner[i][row_of[k]] * corner[i][col_of[k]];
    s->second[k] += v * part / 20;
  }
}

/* Binary STL: 80 bytes, the number of triangles, and 50 bytes per triangle: the normal, the corners
 * and two unused bytes. */
static const char *readBinary(const char *data, size_t size, Solid *s) {
  enum { HEAD = 84, EACH = 50, NORMAL = 12 };
  const unsigned char *bytes = (const unsigned char *)data;
  if (size < HEAD) return "is shorter than the head of an STL file";
  const size_t count =
      bytes[80] | (size_t)bytes[81] << 8 | (size_t)bytes[82] << 16 | (size_t)bytes[83] << 24;
  if ((size - HEAD) / EACH < count) return "is shorter than its number of triangles requires";
  for (size_t i = 0; i < count; i++) {
    sunrealtype corner[3][3];
    for (int k = 0; k < 9; k++) {
      const unsigned char *at = bytes + HEAD + i * EACH + NORMAL + 4 * k;
      const uint32_t word =
          at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
      float x;
      memcpy(&x, &word, sizeof x);
      corner[k / 3][k % 3] = x;
    }
    addTriangle(s, corner);
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
static const char *readAscii(const char *data, Solid *s) {
  sunrealtype corner[3][3];
  int count = 0;
  for (const char *at = data; (at = strstr(at, "vertex")); count++) {
    at += strlen("vertex");
    const char *wrong = readNumbers(&at, 3, corner[count % 3]);
    if (wrong) return wrong;
    if (count % 3 == 2) addTriangle(s, corner);
  }
  return count % 3 ? "ends within a triangle" : NULL;
}

/* OBJ: "v x y z" is a point, "f i j k ..." a face, whose corners are i, i/t, i//n or i/t/n, counted
 * from 1, or from -1 backwards. */
static const char *readObj(const char *data, Solid *s) {
  sunrealtype(*point)[3] = NULL;
  int npoints            = 0;
  const char *wrong      = NULL;
  for (const char *line = data; line && !wrong;) {
    if (!strncmp(line, "v ", 2)) {
      const char *at = line + 2;
      if (ROOM(point, npoints, 1)) wrong = "needs more memory than there is";
      else wrong = readNumbers(&at, 3, point[npoints++]);
    } else if (!strncmp(line, "f ", 2)) {
      const size_t length = strcspn(line, "\n");
      sunrealtype corner[3][3], triangle[3][3];
      int count = 0;
      for (const char *at = line + 1; at < line + length && !wrong;) {
        char *end;
        const long i = strtol(at, &end, 10), k = i < 0 ? npoints + i : i - 1;
        if (end == at || end > line + length) break;
        if (k < 0 || k >= npoints) {
          wrong = "has a face with an undefined corner";
          break;
        }
        memcpy(corner[count < 2 ? count : 2], point[k], sizeof *point);
        if (++count >= 3) { /* A face becomes a fan of triangles from its first corner. */
          memcpy(triangle, corner, sizeof triangle);
          addTriangle(s, triangle);
          memcpy(corner[1], corner[2], sizeof *corner);
        }
        at = end + strcspn(end, " \t\r\n");
      }
    }
    if ((line = strchr(line, '\n'))) line++;
  }
  free(point);
  return wrong;
}

static int endsWith(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  if (n < m) return 0;
  for (size_t i = 0; i < m; i++)
    if ((name[n - m + i] | 0x20) != (end[i] | 0x20)) return 0;
  return 1;
}

const char *meshMass(const char *name, const char *data, size_t size, const sunrealtype *scale,
                     Mass *mass) {
  Solid s           = {.scale = scale};
  const char *wrong = NULL;
  if (endsWith(name, ".obj")) wrong = readObj(data, &s);
  else if (!endsWith(name, ".stl")) return "is no STL or OBJ file";
  else if (size > 5 && !strncmp(data, "solid", 5) && strstr(data, "facet"))
    wrong = readAscii(data, &s);
  else wrong = readBinary(data, size, &s);
  if (wrong) return wrong;
  const sunrealtype v = s.volume;
  if (!(fabs(v) > 0) || !isfinite(v)) return "encloses no volume";
  *mass = (Mass){.mass = fabs(v)}; /* v is negative if the triangles or the scale are mirrored */
  sunrealtype second[6];
  for (int k = 0; k < 3; k++) mass->centre[k] = s.first[k] / v;
  for (int k = 0; k < 6; k++)
    second[k] = fabs(v) * (s.second[k] / v - mass->centre[row_of[k]] * mass->centre[col_of[k]]);
  const sunrealtype trace = second[0] + second[1] + second[2];
  for (int k = 0; k < 6; k++) mass->J[k] = (k < 3 ? trace : 0) - second[k];
  return NULL;
}

/* Springs and dampers of joints by time constant T and damping ratio zeta (springdamper of MJCF): with the inertia 1 / (M^-1)_kk that a
 * joint moves in the reference pose, while all others are free, the stiffness is that / (T zeta)^2 and the damping 2 that / T. Of a
 * ball joint (M^-1)_kk is the average of its three. */
#include "robot_impl.h"

#include <stdlib.h>
#include <string.h>

/* Freedoms of a joint: their velocities at the origin, v and w, by rows; returns their number. */
static int freedoms(const RobotJoint *j, const Link *link, sunrealtype (*twist)[6]) {
  const int n = j->type == BALL ? 3 : j->type == PLANE ? 3 : j->type == FREE ? 6 : 1;
  for (int k = 0; k < n; k++) {
    sunrealtype axis[3]      = {0, 0, 0};
    const int slides         = j->type == SLIDE || (j->type == FREE && k < 3);
    const sunrealtype *point = j->type == FREE ? link->place.q : j->point;
    memset(twist[k], 0, sizeof twist[k]);
    if (n > 1) axis[k % 3] = 1; /* Any three axes will do. */
    else memcpy(axis, j->axis, sizeof axis);
    if (slides) memcpy(twist[k], axis, sizeof axis);
    else {
      memcpy(twist[k] + 3, axis, sizeof axis);
      cross3(point, axis, twist[k]);
    }
  }
  return n;
}

/* The momentum of a mass with this twist, about the origin */
static void momentum(const Mass *mass, const sunrealtype *twist, sunrealtype *p) {
  const sunrealtype *w = twist + 3, *J = mass->J;
  sunrealtype swing[3], moment[3];
  cross3(w, mass->centre, swing);
  for (int k = 0; k < 3; k++) p[k] = mass->mass * (twist[k] + swing[k]);
  cross3(mass->centre, p, moment);
  p[3] = moment[0] + J[0] * w[0] + J[3] * w[1] + J[4] * w[2];
  p[4] = moment[1] + J[3] * w[0] + J[1] * w[1] + J[5] * w[2];
  p[5] = moment[2] + J[4] * w[0] + J[5] * w[1] + J[2] * w[2];
}

/* M [n n] += J^T I J of one link, whose joints, and those of the links below it, move it */
static void addLink(const Robot *r, int i, const int *first, sunrealtype (*twist)[6], int n,
                    int *path, sunrealtype *M) {
  int length = 0;
  for (int at = i; at != GROUND; at = r->link[at].place.link)
    for (int k = first[r->link[at].first]; k < first[r->link[at].first + r->link[at].njoints]; k++)
      path[length++] = k;
  for (int a = 0; a < length; a++) {
    sunrealtype p[6];
    momentum(&r->link[i].mass, twist[path[a]], p);
    for (int b = 0; b < length; b++)
      for (int k = 0; k < 6; k++) M[(size_t)n * path[a] + path[b]] += twist[path[b]][k] * p[k];
  }
}

/* M = L L^T. Returns 0, or 1 if M is not definite. */
static int factor(sunrealtype *M, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      sunrealtype sum = M[(size_t)n * i + j];
      for (int k = 0; k < j; k++) sum -= M[(size_t)n * i + k] * M[(size_t)n * j + k];
      if (i == j && !(sum > 0)) return 1;
      M[(size_t)n * i + j] = i == j ? sqrt(sum) : sum / M[(size_t)n * j + j];
    }
  return 0;
}

/* (M^-1)_kk = |L^-1 e_k|^2. x [n]: workspace */
static sunrealtype inverse(const sunrealtype *L, int n, int k, sunrealtype *x) {
  sunrealtype sum = 0;
  for (int i = k; i < n; i++) {
    x[i] = i == k;
    for (int j = k; j < i; j++) x[i] -= L[(size_t)n * i + j] * x[j];
    x[i] /= L[(size_t)n * i + i];
    sum += x[i] * x[i];
  }
  return sum;
}

int robotSprings(Robot *r) {
  enum { MOST = 2000 }; /* of a dense matrix, whose factors cost their cube */
  const xmlNode *at = NULL;
  for (int i = 0; i < r->njoints; i++)
    if (r->joint[i].springdamper[0] > 0 && r->joint[i].springdamper[1] > 0) at = r->joint[i].node;
  if (!at) return 0;
  int n = 0, failed = 0, *first = malloc(((size_t)r->njoints + 1) * 7 * sizeof *first);
  sunrealtype(*twist)[6] = malloc(((size_t)r->njoints + 1) * 6 * sizeof *twist), *M = NULL;
  for (int i = 0; i < r->nlinks && first && twist; i++)
    for (int k = r->link[i].first; k < r->link[i].first + r->link[i].njoints; k++) {
      first[k] = n;
      n += freedoms(&r->joint[k], &r->link[i], twist + n);
    }
  if (n > MOST) failed = robotWrong(r, at, "springdamper is for %d freedoms at most", MOST);
  else M = calloc((size_t)n * (size_t)(n + 1), sizeof *M);
  if (!failed && (!first || !twist || !M)) failed = robotWrong(r, at, "no memory");
  if (!failed) {
    first[r->njoints] = n;
    for (int i = 0; i < r->nlinks; i++) addLink(r, i, first, twist, n, first + r->njoints + 1, M);
    for (int k = 0; k < r->njoints; k++)
      for (int l = first[k]; l < first[k + 1]; l++) M[(size_t)(n + 1) * l] += r->joint[k].armature;
    if (factor(M, n)) failed = robotWrong(r, at, "springdamper needs mass on all joints");
  }
  for (int i = 0; i < r->njoints && !failed; i++) {
    RobotJoint *j       = &r->joint[i];
    const sunrealtype T = j->springdamper[0], zeta = j->springdamper[1];
    sunrealtype sum = 0;
    if (!(T > 0 && zeta > 0)) continue;
    for (int k = first[i]; k < first[i + 1]; k++) sum += inverse(M, n, k, M + (size_t)n * n);
    sum /= first[i + 1] - first[i];
    j->stiffness = 1 / (sum * T * T * zeta * zeta);
    j->damping   = 2 / (sum * T);
  }
  free(first);
  free(twist);
  free(M);
  return failed;
}

#include "joint_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ---- room, [3 n] each but for r [3 n + 3], dense [n n], column [n], S [9], mu [3] ---- */

typedef struct {
  double *e, *w, *r;           /* axes of the rods and of the joints, positions of the joints */
  double *omega, *alpha, *acc; /* angular velocity and acceleration; acceleration of joint i + 1 */
  double *dense, *column, *rows;
} Room;

static Room roomOf(const JointLoop *c) {
  const size_t v = 3 * (size_t)c->n, n = (size_t)c->n;
  double *x = c->room;
  Room s    = {.e = x, .w = x + v, .r = x + 2 * v, .omega = x + 3 * v + 3};
  s.alpha = s.omega + v, s.acc = s.alpha + v, s.dense = s.acc + v;
  s.column = s.dense + n * n, s.rows = s.column + n;
  return s;
}

JointLoop *joint_loop_create(int n) {
  JointLoop *c   = calloc(1, sizeof *c);
  const size_t k = (size_t)n;
  if (!c) return NULL;
  *c      = (JointLoop){.n   = n,
                        .l   = 1.0 / n,
                        .m   = 1.0 / n,
                        .k   = 0.02,
                        .d   = 1.0e-3,
                        .g   = {0.0, -9.81, 1.0},
                        .pin = {0.6, 0.0, 0.1}};
  c->room = calloc(18 * k + 3 + k * k + k + 3 * k, sizeof *c->room);
  if (!c->room) joint_loop_free(&c);
  return c;
}

void joint_loop_free(JointLoop **loop) {
  if (*loop) free((*loop)->room);
  free(*loop);
  *loop = NULL;
}

/* ---- vectors ---- */

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* y += f a x b */
static void addCross(double f, const double *a, const double *b, double *y) {
  y[0] += f * (a[1] * b[2] - a[2] * b[1]);
  y[1] += f * (a[2] * b[0] - a[0] * b[2]);
  y[2] += f * (a[0] * b[1] - a[1] * b[0]);
}

/* ---- positions ---- */

static Room place(JointLoop *c, const double *q) {
  const Room s   = roomOf(c);
  double R[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}; /* columns: axes of the rod */
  c->recursions++;
  memset(s.r, 0, 3 * sizeof *s.r);
  for (int i = 0; i < c->n; i++) {
    const int axis = i % 2 ? 1 : 2, a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double cosine = cos(q[i]), sine = sin(q[i]);
    for (int d = 0; d < 3; d++) {
      const double x = R[a][d], y = R[b][d];
      R[a][d]            = cosine * x + sine * y;
      R[b][d]            = cosine * y - sine * x;
      s.e[3 * i + d]     = R[0][d];
      s.w[3 * i + d]     = R[axis][d];
      s.r[3 * i + 3 + d] = s.r[3 * i + d] + c->l * R[0][d];
    }
  }
  return s;
}

static int position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  JointLoop *c = data;
  const Room s = place(c, q);
  (void)t;
  for (int d = 0; d < 3; d++) p[d] = s.r[3 * c->n + d] - c->pin[d];
  return 0;
}

/* arm <- w_i x (r_n - r_i), the velocity of the tip per u_i */
static void armOf(const JointLoop *c, const Room *s, int i, double arm[3]) {
  double way[3];
  for (int d = 0; d < 3; d++) way[d] = s->r[3 * c->n + d] - s->r[3 * i + d], arm[d] = 0.0;
  addCross(1.0, s->w + 3 * i, way, arm);
}

static int timesA(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                  void *data) {
  JointLoop *c = data;
  const Room s = place(c, q);
  double arm[3];
  (void)t;
  for (int i = 0; i < c->n; i++) {
    armOf(c, &s, i, arm);
    for (int d = 0; d < 3; d++) y[d] += arm[d] * x[i];
  }
  return 0;
}

static int timesATransposed(sunrealtype t, const sunrealtype *q, const sunrealtype *x,
                            sunrealtype *y, void *data) {
  JointLoop *c = data;
  const Room s = place(c, q);
  double arm[3];
  (void)t;
  for (int i = 0; i < c->n; i++) armOf(c, &s, i, arm), y[i] = dot(arm, x);
  return 0;
}

static int velocity(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                    void *data) {
  return timesA(t, q, u, v, data);
}

/* ---- the recursion of Newton and Euler ---- */

/* omega, alpha and acc for u and a; if a is NULL, it is 0. base: acceleration of the origin */
static void accelerate(const JointLoop *c, const Room *s, const double *u, const double *a,
                       const double base[3]) {
  for (int i = 0; i < c->n; i++) {
    const double *e = s->e + 3 * i, *w = s->w + 3 * i, *before = i ? s->acc + 3 * i - 3 : base;
    double *omega = s->omega + 3 * i, *alpha = s->alpha + 3 * i, *acc = s->acc + 3 * i,
           turn[3] = {0};
    for (int d = 0; d < 3; d++) {
      omega[d] = i ? omega[d - 3] : 0.0;
      alpha[d] = (i ? alpha[d - 3] : 0.0) + (a ? a[i] : 0.0) * w[d];
      acc[d]   = before[d];
    }
    addCross(u[i], omega, w, alpha);
    for (int d = 0; d < 3; d++) omega[d] += u[i] * w[d];
    addCross(c->l, alpha, e, acc);
    addCross(c->l, omega, e, turn);
    addCross(1.0, omega, turn, acc);
  }
}

static int inverse(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *a, sunrealtype *r, void *data) {
  JointLoop *c      = data;
  const Room s      = place(c, q);
  const double up[] = {-c->g[0], -c->g[1], -c->g[2]}, across = c->m * c->l * c->l / 12.0;
  const double along = 0.01 * across;
  double force[3] = {0}, moment[3] = {0}; /* of rod i on its joint, about r_i */
  (void)t, (void)z;
  accelerate(c, &s, u, a, up);
  for (int i = c->n - 1; i >= 0; i--) {
    const double *e = s.e + 3 * i, *omega = s.omega + 3 * i, *alpha = s.alpha + 3 * i;
    const double *before = i ? s.acc + 3 * i - 3 : up;
    double own[3], spin[3];
    /* J = across (1 - e e^T) + along e e^T */
    const double part = along - across, alpha_e = dot(alpha, e), omega_e = dot(omega, e);
    addCross(c->l, e, force, moment); /* the force of rod i + 1 acts at r_{i+1} */
    for (int d = 0; d < 3; d++) {
      own[d]  = 0.5 * c->m * (before[d] + s.acc[3 * i + d]); /* the centre is half way */
      spin[d] = part * omega_e * e[d];                       /* J omega - across omega */
      moment[d] += across * alpha[d] + part * alpha_e * e[d];
      force[d] += own[d];
    }
    addCross(1.0, omega, spin, moment);
    addCross(0.5 * c->l, e, own, moment);
    r[i] = dot(s.w + 3 * i, moment) + c->k * q[i] + c->d * u[i];
  }
  r[0] -= c->tau;
  return 0;
}

/* A u' = b: the acceleration of the tip with u' = 0 */
static int bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *data) {
  JointLoop *c = data;
  const Room s = place(c, q);
  (void)t;
  accelerate(c, &s, u, NULL, (const double[3]){0});
  for (int d = 0; d < 3; d++) b[d] = -s.acc[3 * c->n - 3 + d];
  return 0;
}

/* ---- matrices ---- */

/* M_ij = w_i . (J_j w_j + ...), i <= j, from mass, centre and inertia of the rods j ... n - 1, about r_j */
static void fillMass(JointLoop *c, const double *q, double *M) {
  const Room s        = place(c, q);
  const double across = c->m * c->l * c->l / 12.0, part = 0.01 * across - across;
  const size_t n = (size_t)c->n;
  double mass = 0.0, first[3] = {0}, J[3][3] = {{0}}; /* sum m c, inertia: both about the origin */
  for (int j = c->n - 1; j >= 0; j--) {
    const double *e = s.e + 3 * j, *w = s.w + 3 * j, *r = s.r + 3 * j;
    double centre[3], linear[3] = {0}, angular[3] = {0}, from[3];
    for (int d = 0; d < 3; d++) centre[d] = r[d] + 0.5 * c->l * e[d];
    const double square = dot(centre, centre);
    mass += c->m;
    for (int d = 0; d < 3; d++) {
      first[d] += c->m * centre[d];
      J[d][d] += across + c->m * square;
      for (int k = 0; k < 3; k++) J[d][k] += part * e[d] * e[k] - c->m * centre[d] * centre[k];
    }
    /* momentum of the rods beyond joint j if they turn about w through r_j at the rate 1; about the origin */
    double at_r[3] = {0};
    addCross(-1.0, w, r, at_r); /* velocity of the point of the body in the origin */
    for (int d = 0; d < 3; d++) linear[d] = mass * at_r[d], angular[d] = dot(J[d], w);
    addCross(1.0, w, first, linear);
    addCross(1.0, first, at_r, angular);
    for (int i = 0; i <= j; i++) {
      for (int d = 0; d < 3; d++) from[d] = angular[d];
      addCross(-1.0, s.r + 3 * i, linear, from);
      M[(size_t)i + n * (size_t)j] = M[(size_t)j + n * (size_t)i] = dot(s.w + 3 * i, from);
    }
  }
}

static int massMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t;
  fillMass(data, q, SUNDenseMatrix_Data(M));
  return 0;
}

static int constraintMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  JointLoop *c = data;
  const Room s = place(c, q);
  (void)t;
  for (int i = 0; i < c->n; i++) armOf(c, &s, i, SUNDenseMatrix_Column(A, i));
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  JointLoop *c   = data;
  double *column = roomOf(c).column;
  memset(column, 0, (size_t)c->n * sizeof *column);
  inverse(t, q, u, z, column, f, data);
  for (int i = 0; i < c->n; i++) f[i] = -f[i];
  return 0;
}

/* ---- u' and lambda by elimination: M = L L^T, S = (L^-1 A^T)^T (L^-1 A^T) ---- */

/* x <- L^-1 x, or L^-T x; L in the lower triangle [n n] by columns */
static void substitute(int n, const double *L, int transposed, double *x) {
  for (int k = 0; k < n; k++) {
    const int j       = transposed ? n - 1 - k : k;
    const double *col = L + (size_t)n * (size_t)j;
    if (transposed)
      for (int i = j + 1; i < n; i++) x[j] -= col[i] * x[i];
    x[j] /= col[j];
    if (!transposed)
      for (int i = j + 1; i < n; i++) x[i] -= col[i] * x[j];
  }
}

static int cholesky(int n, double *L) {
  for (int j = 0; j < n; j++) {
    double *col = L + (size_t)n * (size_t)j;
    for (int k = 0; k < j; k++) {
      const double *before = L + (size_t)n * (size_t)k, f = before[j];
      for (int i = j; i < n; i++) col[i] -= f * before[i];
    }
    if (!(col[j] > 0.0)) return 1;
    const double root = sqrt(col[j]);
    for (int i = j; i < n; i++) col[i] /= root;
  }
  return 0;
}

static int udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *a, sunrealtype *lambda, void *data) {
  JointLoop *c = data;
  const Room s = roomOf(c);
  const int n  = c->n;
  double S[9], arm[3];
  forces(t, q, u, z, a, data);
  bias(t, q, u, lambda, data);
  fillMass(c, q, s.dense);
  if (cholesky(n, s.dense)) return 1;
  for (int i = 0; i < n; i++) {
    armOf(c, &s, i, arm);
    for (int d = 0; d < 3; d++) s.rows[d * n + i] = arm[d];
  }
  substitute(n, s.dense, 0, a);
  for (int d = 0; d < 3; d++) substitute(n, s.dense, 0, s.rows + d * n);
  for (int d = 0; d < 3; d++) { /* S lambda = A M^-1 f - b */
    lambda[d] = -lambda[d];
    for (int i = 0; i < n; i++) lambda[d] += s.rows[d * n + i] * a[i];
    for (int k = 0; k < 3; k++) {
      S[d + 3 * k] = 0.0;
      for (int i = 0; i < n; i++) S[d + 3 * k] += s.rows[d * n + i] * s.rows[k * n + i];
    }
  }
  if (cholesky(3, S)) return 1;
  substitute(3, S, 0, lambda);
  substitute(3, S, 1, lambda);
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++) a[i] -= s.rows[d * n + i] * lambda[d];
  substitute(n, s.dense, 1, a);
  return 0;
}

/* ---- the model ---- */

CPEquations joint_loop_model(const JointLoop *loop, JointLoopForm form) {
  CPEquations m = {CP_SIZED(CPEquations), .nu = loop->n, .np = 3,
                   .p = position,         .v = velocity, .b = bias};
  if (form == JOINT_LOOP_MATRICES) m.M = massMatrix, m.A = constraintMatrix, m.f = forces;
  else m.Au = timesA, m.ATl = timesATransposed;
  if (form == JOINT_LOOP_INVERSE) m.inverse = inverse;
  if (form == JOINT_LOOP_UDOT) m.udot = udot;
  return m;
}

/* The axes e_z bend the loop in the plane of x and y: a half circle, and a little out of that plane */
void joint_loop_guess(const JointLoop *loop, N_Vector y) {
  sunrealtype *q    = N_VGetArrayPointer(y);
  const int n       = loop->n;
  const double turn = 4.0 / ((n + 1) / 2);
  for (int i = 0; i < 2 * n; i++) q[i] = 0.0;
  for (int i = 0; i < n; i++) q[i] = i % 2 ? 0.1 / n : i ? -turn : 2.0 - 0.5 * turn;
}

sunrealtype joint_loop_energy(JointLoop *loop, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + loop->n;
  const int n   = loop->n;
  const Room s  = roomOf(loop);
  double energy = 0.0;
  fillMass(loop, q, s.dense);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) energy += 0.5 * u[i] * s.dense[i + n * j] * u[j];
    for (int d = 0; d < 3; d++)
      energy -= 0.5 * loop->m * loop->g[d] * (s.r[3 * i + d] + s.r[3 * i + 3 + d]);
    energy += 0.5 * loop->k * q[i] * q[i];
  }
  return energy;
}

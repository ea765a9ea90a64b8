/* Minimal coordinates: the attitude e_i and the angular velocity w_i in space of each rod; x_i its axis. From
 * the origin,
 *
 *   r_b = sum_i a_bi x_i,   a_bi = l for i < b, l / 2 for i = b, 0 for i > b,   S_ij = m sum_b a_bi a_bj
 *
 * d'Alembert's principle for the virtual rotation of rod i gives the angular accelerations,
 *
 *   J_i w_i' + sum_j S_ij x_i x (w_j' x x_j) = -sum_j S_ij x_i x (w_j x (w_j x x_j)) - w_i x J_i w_i
 *       - m g sum_b a_bi x_i x e_y + sum over neighbours o (k x_i x x_o - d (w_i - w_o)),
 *
 * and e_i' = (0, w_i) o e_i / 2. There are no constraints and no projection; |e_i| = 1 is an invariant. Joint
 * forces follow from Newton's law for rod b and those below it.
 */
#include "extrapolation.h"
#include "rigid_body_impl.h"
#include "spatial_chain.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>

/* Cholesky's method, LAPACK */
void dposv_(const char *uplo, const int *n, const int *nrhs, double *A, const int *lda, double *B,
            const int *ldb, int *info);

typedef struct {
  const SpatialChain *chain;
  int n;
  sunrealtype (*x)[3]; /* work [n]: axes of the rods */
  sunrealtype *M;      /* work [3 n x 3 n] */
} Rods;                /* state z = (e_1, ..., e_n, w_1, ..., w_n) */

static const sunrealtype *attitude(const sunrealtype *z, int i) { return z + 4 * i; }
static const sunrealtype *rate_of(const Rods *s, const sunrealtype *z, int i) {
  return z + 4 * s->n + 3 * i;
}

/* S_ij; sum_b a_bi */
static sunrealtype coupling(const Rods *s, int i, int j) {
  const SpatialChainData *c = &s->chain->data;
  const int last            = i > j ? i : j;
  return c->m * c->l * c->l * (s->n - 1 - last + (i == j ? SUN_RCONST(0.25) : SUN_RCONST(0.5)));
}
static sunrealtype arms(const Rods *s, int i) {
  return s->chain->data.l * (s->n - 1 - i + SUN_RCONST(0.5));
}

/* R(e) (1, 0, 0) */
static void axis_of(const sunrealtype *e, sunrealtype x[3]) {
  const sunrealtype square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3];
  x[0]                     = (e[0] * e[0] + e[1] * e[1] - e[2] * e[2] - e[3] * e[3]) / square;
  x[1]                     = 2 * (e[1] * e[2] + e[0] * e[3]) / square;
  x[2]                     = 2 * (e[1] * e[3] - e[0] * e[2]) / square;
}

/* c = w x (w x x) */
static void centripetal(const sunrealtype w[3], const sunrealtype x[3], sunrealtype c[3]) {
  sunrealtype wx[3];
  cross3(w, x, wx);
  cross3(w, wx, c);
}

/* Torque of the spring-damper between rod i and its neighbour o, if there is one, added to that on i */
static void add_bending(const Rods *s, const sunrealtype *z, int i, int o, sunrealtype *torque) {
  if (o < 0 || o >= s->n) return;
  sunrealtype c[3];
  cross3(s->x[i], s->x[o], c);
  for (int k = 0; k < 3; k++)
    torque[k] +=
        s->chain->data.k * c[k] - s->chain->data.d * (rate_of(s, z, i)[k] - rate_of(s, z, o)[k]);
}

/* Right-hand side of rod i: torque [3]: out */
static void torque_on(const Rods *s, const sunrealtype *z, int i, sunrealtype *torque) {
  const SpatialChainData *c = &s->chain->data;
  const sunrealtype *J = s->chain->body[i].J, *x = s->x[i], *w = rate_of(s, z, i);
  sunrealtype force[3] = {0, -c->m * c->g * arms(s, i), 0}, acc[3], spin[3], gyro[3];
  for (int j = 0; j < s->n; j++) {
    centripetal(rate_of(s, z, j), s->x[j], acc);
    for (int k = 0; k < 3; k++) force[k] -= coupling(s, i, j) * acc[k];
  }
  for (int k = 0; k < 3; k++) spin[k] = J[1] * w[k] + (J[0] - J[1]) * dot3(x, w) * x[k];
  cross3(w, spin, gyro);
  cross3(x, force, torque);
  for (int k = 0; k < 3; k++) torque[k] -= gyro[k];
  add_bending(s, z, i, i - 1, torque);
  add_bending(s, z, i, i + 1, torque);
}

/* Block (i, j) of M: J_i if i = j, and S_ij (x_i . x_j 1 - x_j x_i^T), for x_i x (w x x_j) is that times w */
static void put_block(const Rods *s, int i, int j) {
  const sunrealtype *J = s->chain->body[i].J, *x = s->x[i], *y = s->x[j];
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 3; l++) {
      sunrealtype entry = coupling(s, i, j) * ((k == l) * dot3(x, y) - y[k] * x[l]);
      if (i == j) entry += (k == l) * J[1] + (J[0] - J[1]) * x[k] * x[l];
      s->M[(3 * j + l) * 3 * s->n + 3 * i + k] = entry;
    }
}

static int rods_rhs(sunrealtype t, N_Vector state, N_Vector rate, void *user_data) {
  (void)t;
  const Rods *s        = user_data;
  const sunrealtype *z = N_VGetArrayPointer(state);
  sunrealtype *zdot = N_VGetArrayPointer(rate), *acc = zdot + 4 * s->n;
  for (int i = 0; i < s->n; i++) axis_of(attitude(z, i), s->x[i]);
  for (int i = 0; i < s->n; i++, zdot += 4) {
    const sunrealtype *e = attitude(z, i), *w = rate_of(s, z, i);
    sunrealtype c[3];
    cross3(w, e + 1, c);
    zdot[0] = -dot3(w, e + 1) / 2;
    for (int k = 0; k < 3; k++) zdot[k + 1] = (e[0] * w[k] + c[k]) / 2;
    for (int j = 0; j <= i; j++) put_block(s, i, j);
    torque_on(s, z, i, acc + 3 * i);
  }
  const int order = 3 * s->n, one = 1;
  int info = 0;
  dposv_("L", &order, &one, s->M, &order, acc, &order, &info);
  return info ? -1 : 0;
}

/* The state in the chain's form, y [13 n]: out */
static void to_bodies(const Rods *s, const sunrealtype *z, N_Vector y) {
  const sunrealtype l = s->chain->data.l;
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + 7 * s->n, x[3], turned[3];
  sunrealtype end[3] = {0, 0, 0}, end_rate[3] = {0, 0, 0};
  for (int i = 0; i < s->n; i++) {
    const sunrealtype *w = rate_of(s, z, i);
    axis_of(attitude(z, i), x);
    cross3(w, x, turned);
    for (int k = 0; k < 3; k++) {
      q[7 * i + k] = end[k] + l / 2 * x[k];
      u[6 * i + k] = end_rate[k] + l / 2 * turned[k];
      end[k] += l * x[k];
      end_rate[k] += l * turned[k];
    }
    for (int k = 0; k < 4; k++) q[7 * i + 3 + k] = attitude(z, i)[k];
    const Pose pose = rigid_body_pose(&s->chain->bodies, i, q, NULL);
    to_body(&pose, w, u + 6 * i + 3);
  }
}

/* lambda [3 n]: out, the forces on each rod b at its joint, sum m (r'' + g e_y) over this rod and those below. zdot: rate of z */
static void joint_forces(const Rods *s, const sunrealtype *z, const sunrealtype *zdot,
                         sunrealtype *lambda) {
  const SpatialChainData *c = &s->chain->data;
  sunrealtype end[3]        = {0, 0, 0}, x[3], tangential[3], normal[3];
  for (int i = 0; i < s->n; i++) {
    axis_of(attitude(z, i), x);
    cross3(rate_of(s, zdot, i), x, tangential);
    centripetal(rate_of(s, z, i), x, normal);
    for (int k = 0; k < 3; k++) {
      const sunrealtype along = c->l * (tangential[k] + normal[k]);
      lambda[3 * i + k]       = c->m * (end[k] + along / 2 + (k == 1) * c->g);
      end[k] += along;
    }
  }
  for (int i = s->n - 2; i >= 0; i--)
    for (int k = 0; k < 3; k++) lambda[3 * i + k] += lambda[3 * i + 3 + k];
}

static void start(const Rods *s, sunrealtype angle, sunrealtype spin, sunrealtype *z) {
  for (int i = 0; i < s->n; i++) {
    sunrealtype *e = z + 4 * i, *w = z + 4 * s->n + 3 * i;
    e[0] = cos(angle / 2);
    e[1] = e[2] = w[0] = w[2] = 0;
    e[3]                      = sin(angle / 2);
    w[1]                      = spin;
  }
}

static int integrate(Rods *s, const SpatialChainStart *from, sunrealtype t, int nsteps, N_Vector z,
                     N_Vector y) {
  start(s, from->angle, from->spin, N_VGetArrayPointer(z));
  if (t > 0 && extrapolate(rods_rhs, s, 0, t, nsteps, z)) return -1;
  to_bodies(s, N_VGetArrayPointer(z), y);
  return 0;
}

int spatial_chain_reference(const SpatialChain *chain, const SpatialChainStart *from, sunrealtype t,
                            int nsteps, N_Vector y, sunrealtype *lambda, sunrealtype *error) {
  const int n     = chain->bodies.nbodies;
  Rods s          = {.chain = chain, .n = n};
  N_Vector z      = N_VNew_Serial(7 * (sunindextype)n, y->sunctx);
  N_Vector coarse = N_VClone(y), rate = z ? N_VClone(z) : NULL;
  s.x      = malloc((size_t)n * sizeof *s.x);
  s.M      = malloc(9 * (size_t)n * (size_t)n * sizeof *s.M);
  int flag = !z || !coarse || !rate || !s.x || !s.M ? -1 : 0;
  if (!flag) flag = integrate(&s, from, t, (nsteps + 1) / 2, z, coarse);
  if (!flag) flag = integrate(&s, from, t, nsteps, z, y);
  if (!flag) flag = rods_rhs(t, z, rate, &s);
  if (!flag) {
    if (lambda) joint_forces(&s, N_VGetArrayPointer(z), N_VGetArrayPointer(rate), lambda);
    N_VLinearSum(1, y, -1, coarse, coarse);
    *error = N_VMaxNorm(coarse);
  }
  if (rate) N_VDestroy(rate);
  if (coarse) N_VDestroy(coarse);
  if (z) N_VDestroy(z);
  free(s.M);
  free(s.x);
  return flag;
}

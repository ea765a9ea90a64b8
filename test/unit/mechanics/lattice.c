#include "lattice.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "support/mech_run.h"
#include "support/support.h"

enum { NU = LATTICE_NU };

int lattice_rows(const Lattice *l) { return LATTICE_ROWS + l->redundant; }

static int coordinates(const Lattice *l) { return NU + l->quaternions; }

/* ---- features ---- */

/* The quaternion with velocity j; -1: none. */
static int quaternion_of(const Lattice *l, int j) {
  if (l->quaternions > 0 && j >= 2 && j < 5) return 0;
  if (l->quaternions > 1 && j >= 5 && j < 8) return 1;
  return -1;
}

static void features(const Lattice *l, const sunrealtype *q, double x[NU]) {
  int i = 0;
  for (int j = 0; j < NU; j++) {
    if (quaternion_of(l, j) < 0) {
      x[j] = q[i++];
      continue;
    }
    const double a = q[i], b = q[i + 1], c = q[i + 2], d = q[i + 3];
    const double square = a * a + b * b + c * c + d * d;
    x[j]                = 2.0 * (b * c - a * d) / square;
    x[j + 1]            = 2.0 * (c * d - a * b) / square;
    x[j + 2]            = 2.0 * (b * d - a * c) / square;
    i += 4;
    j += 2;
  }
}

/* ---- matrices ---- */

static void put(SUNMatrix S, int i, int j, double value) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) {
    SM_ELEMENT_D(S, i, j) += value;
    return;
  }
  for (sunindextype k = SM_INDEXPTRS_S(S)[j]; k < SM_INDEXPTRS_S(S)[j + 1]; k++)
    if (SM_INDEXVALS_S(S)[k] == i) SM_DATA_S(S)[k] += value;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  double x[NU];
  (void)t;
  features(data, q, x);
  for (int j = 0; j < NU; j++) put(M, j, j, 3.0 + sin(x[j]));
  for (int j = 0; j + 1 < NU; j++) {
    put(M, j, j + 1, 0.4 * cos(x[j] - x[j + 1]));
    put(M, j + 1, j, 0.4 * cos(x[j] - x[j + 1]));
  }
  return 0;
}

/* Row i and, if it exists, the redundant row get an entry. */
static void put_row(const Lattice *l, SUNMatrix S, int i, int j, double value) {
  put(S, i, j, value);
  if (l->redundant && i < 2) put(S, LATTICE_ROWS, j, value);
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  double x[NU];
  (void)t;
  features(data, q, x);
  for (int i = 0; i < LATTICE_ROWS; i++) {
    put_row(data, A, i, 2 * i, 1.0 + 0.3 * sin(x[2 * i]));
    put_row(data, A, i, 2 * i + 1, 0.5 * cos(x[2 * i + 1]));
  }
  return 0;
}

/* ---- vectors ---- */

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  const Lattice *l = data;
  double x[NU];
  features(l, q, x);
  for (int j = 0; j < NU; j++) {
    f[j] = -4.0 * x[j] * x[j] * x[j] - 0.5 * u[j] - 0.7 * u[j] * u[j] * u[j] + cos(2.0 * t);
    if (j > 0 && j + 1 < NU) f[j] += x[j - 1] * x[j + 1];
    if (l->nz) f[j] += sin(z[0]) * (j + 1) / 8.0;
  }
  return 0;
}

static int friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)z, (void)data;
  for (int i = 0; i < LATTICE_ROWS; i++)
    f[2 * i] = -0.2 * sqrt(1.0 + lambda[i] * lambda[i]) * u[2 * i] / (1.0 + u[2 * i] * u[2 * i]);
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *data) {
  const Lattice *l = data;
  double x[NU];
  features(l, q, x);
  for (int i = 0; i < LATTICE_ROWS; i++)
    v[i] = (1.0 + 0.3 * sin(x[2 * i])) * u[2 * i] + 0.5 * cos(x[2 * i + 1]) * u[2 * i + 1] -
           0.1 * sin(t);
  if (l->redundant) v[LATTICE_ROWS] = v[0] + v[1];
  return 0;
}

static int right_hand_side(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           sunrealtype *b, void *data) {
  const Lattice *l = data;
  for (int i = 0; i < LATTICE_ROWS; i++) {
    const int j = 2 * i, k = j + 1;
    b[i] = -0.3 * cos(q[j]) * u[j] * u[j] + 0.5 * sin(q[k]) * u[k] * u[k] + 0.1 * cos(t);
  }
  if (l->redundant) b[LATTICE_ROWS] = b[0] + b[1];
  return 0;
}

static int auxiliary(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                     const sunrealtype *lambda, sunrealtype *zdot, void *data) {
  const Lattice *l = data;
  double x[NU];
  (void)t;
  features(l, q, x);
  zdot[0] = -z[0] + x[1] * u[2] + 0.5 * tanh(lambda[0]);
  zdot[1] =
      l->nquad ? sin(z[0]) * u[1] + x[3] * x[3] + 0.5 * tanh(lambda[1]) : sin(z[0]) * z[1] + x[3];
  return 0;
}

/* ---- derivatives, for q' = u ---- */

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *a, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  const Lattice *l = data;
  (void)t;
  for (int j = 0; j < NU; j++) {
    put(K, j, j, -12.0 * q[j] * q[j] - cos(q[j]) * a[j]);
    put(C, j, j, -0.5 - 2.1 * u[j] * u[j]);
    if (l->nz) put(Fz, j, 0, cos(z[0]) * (j + 1) / 8.0);
    if (j == 0 || j + 1 == NU) continue;
    put(K, j, j - 1, q[j + 1]);
    put(K, j, j + 1, q[j - 1]);
  }
  for (int j = 0; j + 1 < NU; j++) { /* 0.4 cos(q_j - q_k) a_k in row j, a_j in row k */
    const int k    = j + 1;
    const double s = 0.4 * sin(q[j] - q[k]);
    put(K, j, j, s * a[k]);
    put(K, j, k, -s * a[k]);
    put(K, k, j, s * a[j]);
    put(K, k, k, -s * a[j]);
  }
  for (int i = 0; i < LATTICE_ROWS; i++) {
    const double sum = lambda[i] + (l->redundant && i < 2 ? lambda[LATTICE_ROWS] : 0.0);
    put(K, 2 * i, 2 * i, -0.3 * cos(q[2 * i]) * sum);
    put(K, 2 * i + 1, 2 * i + 1, 0.5 * sin(q[2 * i + 1]) * sum);
    if (!l->friction) continue;
    const double w = u[2 * i], d = 1.0 + w * w;
    put(C, 2 * i, 2 * i, -0.2 * sqrt(1.0 + lambda[i] * lambda[i]) * (1.0 - w * w) / (d * d));
  }
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *a, SUNMatrix Bq, SUNMatrix Bu, void *data) {
  (void)t;
  for (int i = 0; i < LATTICE_ROWS; i++) {
    const int j = 2 * i, k = j + 1;
    put_row(data, Bq, i, j, 0.3 * sin(q[j]) * u[j] * u[j] - 0.3 * cos(q[j]) * a[j]);
    put_row(data, Bq, i, k, 0.5 * cos(q[k]) * u[k] * u[k] + 0.5 * sin(q[k]) * a[k]);
    put_row(data, Bu, i, j, -0.6 * cos(q[j]) * u[j]);
    put_row(data, Bu, i, k, sin(q[k]) * u[k]);
  }
  return 0;
}

static int auxiliary_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq,
                         SUNMatrix Zu, SUNMatrix Zz, void *data) {
  (void)t, (void)lambda, (void)data;
  put(Zq, 0, 1, u[2]);
  put(Zq, 1, 3, 1.0);
  put(Zu, 0, 2, q[1]);
  put(Zz, 0, 0, -1.0);
  put(Zz, 1, 0, cos(z[0]) * z[1]);
  put(Zz, 1, 1, sin(z[0]));
  return 0;
}

static int lambda_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *data) {
  (void)t, (void)q, (void)z, (void)data;
  for (int i = 0; i < LATTICE_ROWS; i++)
    put(Fl, 2 * i, i,
        -0.2 * lambda[i] / sqrt(1.0 + lambda[i] * lambda[i]) * u[2 * i] /
            (1.0 + u[2 * i] * u[2 * i]));
  return 0;
}

/* ---- templates ---- */

/* Entries with |i - j| <= width */
static SUNMatrix band(int width, SUNContext ctx) {
  SUNMatrix S    = SUNSparseMatrix(NU, NU, NU * NU, CSC_MAT, ctx);
  sunindextype k = 0;
  for (int j = 0; j < NU; j++) {
    SM_INDEXPTRS_S(S)[j] = k;
    for (int i = 0; i < NU; i++)
      if (i - j <= width && j - i <= width) SM_INDEXVALS_S(S)[k++] = i;
  }
  SM_INDEXPTRS_S(S)[NU] = k;
  return S;
}

static SUNMatrix rows_pattern(const Lattice *l, SUNContext ctx) {
  SUNMatrix S    = SUNSparseMatrix(lattice_rows(l), NU, 4 * NU, CSC_MAT, ctx);
  sunindextype k = 0;
  for (int j = 0; j < NU; j++) {
    SM_INDEXPTRS_S(S)[j] = k;
    if (j / 2 < LATTICE_ROWS) SM_INDEXVALS_S(S)[k++] = j / 2;
    if (j / 2 < 2 && l->redundant) SM_INDEXVALS_S(S)[k++] = LATTICE_ROWS;
  }
  SM_INDEXPTRS_S(S)[NU] = k;
  return S;
}

static void create_templates(const Lattice *l, SUNContext ctx, CPEquations *model) {
  model->M_tmpl = band(1, ctx);
  model->A_tmpl = rows_pattern(l, ctx);
  if (l->dynamics) model->K_tmpl = band(1, ctx);
  if (l->constraints) {
    model->Bq_tmpl = rows_pattern(l, ctx);
    model->Bu_tmpl = rows_pattern(l, ctx);
  }
}

static void destroy_templates(CPEquations *model) {
  SUNMatrix all[] = {model->M_tmpl, model->A_tmpl, model->K_tmpl, model->Bq_tmpl, model->Bu_tmpl};
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
    if (all[k]) SUNMatDestroy(all[k]);
}

/* ---- the object ---- */

static int sine(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = 0.5 * sin(t);
  return 0;
}

static int set_options(Lattice *l, CPMech mech) {
  const int mask[LATTICE_ROWS + 1] = {1, 0, 1, 1};
  int flag                         = CPMechSetUserData(mech, l);
  if (!flag && l->off) flag = CPMechSetActive(mech, mask);
  if (!flag) flag = CPMechSetNewton(mech, l->newton);
  return flag;
}

CPMech lattice_create(Lattice *l, SUNContext ctx) {
  static const CPQuaternion quaternions[] = {{2, 2, CP_FRAME_BODY}, {6, 5, CP_FRAME_WORLD}};
  CPMotion motion[2];
  int nmotions = 0;
  if (l->full)
    motion[nmotions++] = (CPMotion){
        .coordinate = coordinates(l) - 2, .kind = CP_MOTION_FULL, .g = sine, .step = 1e-3};
  if (l->direct)
    motion[nmotions++] = (CPMotion){
        .coordinate = coordinates(l) - 1, .kind = CP_MOTION_DIRECT, .g = sine, .step = 1e-3};
  N_Vector y        = lattice_state(l);
  CPEquations model = {CP_SIZED(CPEquations),
                       .nu             = NU,
                       .nq             = coordinates(l),
                       .nz             = l->nz,
                       .nquad          = l->nquad,
                       .nv             = lattice_rows(l),
                       .M              = mass,
                       .A              = constraint_matrix,
                       .f              = forces,
                       .f_lambda       = l->friction ? friction : NULL,
                       .v              = velocities,
                       .b              = l->b_by_differences ? NULL : right_hand_side,
                       .zdot           = l->nz ? auxiliary : NULL,
                       .dynamics_jac   = l->dynamics ? dynamics_jac : NULL,
                       .constraint_jac = l->constraints ? constraint_jac : NULL,
                       .auxiliary_jac  = l->auxiliary ? auxiliary_jac : NULL,
                       .lambda_jac     = l->lambda_jac ? lambda_jac : NULL,
                       .quaternions    = quaternions,
                       .nquaternions   = l->quaternions,
                       .motions        = motion,
                       .nmotions       = nmotions};
  if (l->sparse) create_templates(l, ctx, &model);
  CPMech mech = create_mech(&model, y, ctx);
  destroy_templates(&model);
  N_VDestroy(y);
  if (mech && set_options(l, mech)) CPMechFree(&mech);
  return mech;
}

N_Vector lattice_state(const Lattice *l) {
  const int nq = coordinates(l);
  N_Vector y   = vector_of(nq + NU + l->nz, NULL);
  for (int i = 0; i < nq; i++) entries(y)[i] = 0.4 * sin(3.0 * i + 1.0);
  for (int j = 0; j < NU; j++) entries(y)[nq + j] = 0.6 * cos(5.0 * j + 2.0);
  for (int k = 0; k < l->nz; k++) entries(y)[nq + NU + k] = 0.3 + 0.4 * k;
  for (int k = 0; k < l->quaternions; k++) {
    sunrealtype *p    = entries(y) + 2 + 4 * k;
    const double norm = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
    for (int d = 0; d < 4; d++) p[d] /= norm;
  }
  return y;
}

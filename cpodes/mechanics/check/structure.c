/* What must hold without differences: transposes, inverses, symmetry. Products that no matrix stands
 * behind are compared with a vector at random: x.N e_j with (N^T x)_j. */
#include "check_impl.h"

#include <math.h>
#include <string.h>

static void fillAtRandom(double *x, int length, unsigned seed) {
  unsigned state = seed;
  for (int i = 0; i < length; i++) x[i] = cpUniformAwayFromZero(&state);
}

static void setUnit(double *e, int length, int j) {
  memset(e, 0, (size_t)length * sizeof *e);
  e[j] = 1.0;
}

/* ---- kinematics ---- */

static int N(CPCheck *check, CPMechKinematics what, const double *x, double *y) {
  return cpMechKinematics(check->mech, check->s.q, what, x, y);
}

static int inverseOfN(CPCheck *check) {
  const int nu            = check->mech->nu;
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, "N: the product of CP_N_INVERSE and CP_N",
                             "must be", 0};
  int flag                = CP_SUCCESS;
  cpCompareBegin(check, nu);
  for (int j = 0; !flag && j < nu; j++) {
    setUnit(check->e, nu, j);
    flag = N(check, CP_N, check->e, check->w);
    if (!flag) flag = N(check, CP_N_INVERSE, check->w, check->column);
    for (int i = 0; !flag && i < nu; i++) cpCompareEntry(check, i, j, check->column[i], i == j);
  }
  if (!flag) cpCompareEnd(check, nu, &verdict, &check->report->N, NULL, NULL);
  return flag;
}

/* (B^T x)_j, x at random, against x.B e_j: B is rows x cols. */
static int transposeOfN(CPCheck *check, CPMechKinematics B, CPMechKinematics BT, int rows, int cols,
                        const char *given, const char *expected) {
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, given, expected, 1};
  fillAtRandom(check->x, rows, 1u);
  int flag = N(check, BT, check->x, check->column);
  cpCompareBegin(check, cols);
  for (int j = 0; !flag && j < cols; j++) {
    setUnit(check->e, cols, j);
    flag = N(check, B, check->e, check->w);
    if (!flag) cpCompareEntry(check, j, 0, check->column[j], cpDot(check->x, check->w, rows));
  }
  if (!flag) cpCompareEnd(check, cols, &verdict, &check->report->N, NULL, NULL);
  return flag;
}

int cpCheckKinematics(CPCheck *check) {
  const CPMech mech = check->mech;
  if (!mech->model.N) return CP_SUCCESS;
  int flag = inverseOfN(check);
  if (!flag)
    flag = transposeOfN(check, CP_N, CP_N_TRANSPOSE, mech->nq, mech->nu,
                        "N: of CP_N_TRANSPOSE, entry ", "by CP_N it is");
  if (!flag)
    flag = transposeOfN(check, CP_N_INVERSE, CP_N_INVERSE_TRANSPOSE, mech->nu, mech->nq,
                        "N: of CP_N_INVERSE_TRANSPOSE, entry ", "by CP_N_INVERSE it is");
  return flag;
}

/* ---- mass ---- */

/* e_j^T M e_j is twice a kinetic energy. It may be 0: bodies without mass. */
static void negativeMass(CPCheck *check, const char *name, int j, double entry) {
  if (!(entry < 0.0) || check->code) return;
  check->code = CP_MASS_INDEFINITE;
  cpWrite(check->text, "at t = %.15g: %s(%d, %d) is %.10g: a kinetic energy must not be negative",
          check->s.t, name, j, j, entry);
}

static int massMatrix(CPCheck *check) {
  const CPMech mech       = check->mech;
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, "M is not symmetric: M", "its mirror image", 0};
  const int flag          = cpMechMass(mech, check->s.t, check->s.q);
  if (flag) return flag;
  cpCompareBegin(check, mech->nu);
  for (int j = 0; j < mech->nu; j++) {
    cpColumnOf(&mech->userM.A, j, check->column);
    for (int i = 0; i < mech->nu; i++) {
      const double *mirror = check->column[i] != 0.0 ? cpMatAt(&mech->userM.A, j, i) : NULL;
      if (check->column[i] != 0.0)
        cpCompareEntry(check, i, j, check->column[i], mirror ? *mirror : 0.0);
    }
  }
  cpCompareEnd(check, mech->nu, &verdict, &check->report->M, NULL, NULL);
  for (int j = 0; j < mech->nu; j++) {
    const double *entry = cpMatAt(&mech->userM.A, j, j);
    if (entry) negativeMass(check, "M", j, *entry);
  }
  return CP_SUCCESS;
}

static int times(CPCheck *check, CPMechTimesFn function, const char *name, const double *x,
                 double *y) {
  return cpMechOperator(check->mech, function, name, check->s.t, check->s.q, x, y, check->mech->nu);
}

/* (B x)_j, x at random, against x.B e_j */
static int symmetric(CPCheck *check, CPMechTimesFn B, const char *name, const char *given) {
  const int nu            = check->mech->nu;
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, given, "by its transpose it is", 1};
  fillAtRandom(check->x, nu, 2u);
  int flag = times(check, B, name, check->x, check->column);
  cpCompareBegin(check, nu);
  for (int j = 0; !flag && j < nu; j++) {
    setUnit(check->e, nu, j);
    flag = times(check, B, name, check->e, check->w);
    if (!flag) cpCompareEntry(check, j, 0, check->column[j], cpDot(check->x, check->w, nu));
    if (!flag) negativeMass(check, name, j, check->w[j]);
  }
  if (!flag) cpCompareEnd(check, nu, &verdict, &check->report->M, NULL, NULL);
  return flag;
}

static int inverseOfM(CPCheck *check) {
  const CPMechModel *model = &check->mech->model;
  const int nu             = check->mech->nu;
  const CPVerdict verdict  = {CP_MECH_DERIV_WRONG, "Minv: of M^{-1} M x, entry ", "x has there", 1};
  fillAtRandom(check->x, nu, 3u);
  int flag = times(check, model->Mu, "Mu", check->x, check->w);
  if (!flag) flag = times(check, model->Minv, "Minv", check->w, check->column);
  cpCompareBegin(check, nu);
  for (int j = 0; !flag && j < nu; j++) cpCompareEntry(check, j, 0, check->column[j], check->x[j]);
  if (!flag) cpCompareEnd(check, nu, &verdict, &check->report->ATl, NULL, NULL);
  return flag;
}

int cpCheckMass(CPCheck *check) {
  const CPMechModel *model = &check->mech->model;
  int flag                 = CP_SUCCESS;
  if (!check->mech->operators) return massMatrix(check);
  if (model->Mu) flag = symmetric(check, model->Mu, "Mu", "Mu is not symmetric: of M x, entry ");
  if (!flag && model->Minv)
    flag = symmetric(check, model->Minv, "Minv", "Minv is not symmetric: of M^{-1} x, entry ");
  return !flag && model->Mu && model->Minv ? inverseOfM(check) : flag;
}

/* ---- udot ---- */

static void compare(CPCheck *check, int length, const double *given, const double *expected,
                    const char *name) {
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, name, "by M, A, f and b it is", 1};
  cpCompareBegin(check, length);
  for (int i = 0; i < length; i++) cpCompareEntry(check, i, 0, given[i], expected[i]);
  cpCompareEnd(check, length, &verdict, &check->report->udot, NULL, NULL);
}

/* Multipliers are compared where they are unique. */
int cpCheckUdot(CPCheck *check) {
  const CPMech mech = check->mech;
  if (!cpMechKnowsUdot(mech)) return CP_SUCCESS;
  const int flag = cpMechUdot(mech, &check->s, check->column, check->lambda2);
  if (flag) return flag;
  compare(check, mech->nu, check->column, check->a, "udot: u'");
  if (mech->kkt->dependent < 0)
    compare(check, mech->m, check->lambda2, check->lambda, "udot: lambda");
  return CP_SUCCESS;
}

/* ---- A and its transpose ---- */

int cpCheckTransposed(CPCheck *check) {
  const CPMech mech       = check->mech;
  const CPVerdict verdict = {CP_MECH_A_WRONG, "Au: of A x, entry ", "by ATl it is", 1};
  if (!mech->operators || mech->m == 0) return CP_SUCCESS;
  fillAtRandom(check->x, mech->nu, 4u);
  int flag = cpMechATimes(mech, check->s.t, check->s.q, check->x, check->column);
  cpCompareBegin(check, mech->m);
  for (int i = 0; !flag && i < mech->m; i++) {
    setUnit(check->e, mech->m, i);
    flag = cpMechATransposedTimes(mech, check->s.t, check->s.q, check->e, check->w);
    if (!flag) cpCompareEntry(check, i, 0, check->column[i], cpDot(check->x, check->w, mech->nu));
  }
  if (!flag) cpCompareEnd(check, mech->m, &verdict, &check->report->ATl, NULL, NULL);
  return flag;
}

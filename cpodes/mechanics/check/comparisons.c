/* The comparisons of CPMechCheck. */
#include "check_impl.h"
#include "cpodes/base/differences.h"
#include "cpodes/base/random.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"
#include "cpodes/mechanics/newton/newton_impl.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- what must hold without differences ---- */

/* e_j^T M e_j is twice a kinetic energy, which may be 0 for bodies without mass. */
static void negativeMass(CPCheck *check, const char *name, int j, double entry) {
  if (!(entry < 0.0) || check->code) return;
  check->code = CP_MASS_INDEFINITE;
  cpWrite(check->text, "at t = %.10g: %s(%d, %d) is %.10g: a kinetic energy must not be negative",
          check->at.t, name, j, j, entry);
}

/* Linear operators */
typedef enum { N, N_INVERSE, N_TRANSPOSE, N_INVERSE_TRANSPOSE, MU, MINV, AU, ATL } Product;

static int product(CPCheck *check, Product B, const double *x, double *y) {
  const CPMech mech = check->mech;
  const double t = check->at.t, *q = check->at.q;
  switch (B) {
  case N: return cpMechKinematics(mech, q, CP_N, x, y);
  case N_INVERSE: return cpMechKinematics(mech, q, CP_N_INVERSE, x, y);
  case N_TRANSPOSE: return cpMechKinematics(mech, q, CP_N_TRANSPOSE, x, y);
  case N_INVERSE_TRANSPOSE: return cpMechKinematics(mech, q, CP_N_INVERSE_TRANSPOSE, x, y);
  case MU: return cpMechOperator(mech, mech->eq->Mu, "Mu", t, q, x, y, mech->nu);
  case MINV: return cpMechOperator(mech, mech->eq->Minv, "Minv", t, q, x, y, mech->nu);
  case AU: return cpMechTimes(mech, t, q, 0, x, y);
  default: return cpMechTimes(mech, t, q, 1, x, y); /* ATL */
  }
}

/* Two operators and a random vector x. If C should be B^T, C x is compared with the products
 * x . B e_j; if C should be the inverse of B, C B x is compared with x. */
typedef struct {
  int applies, is_inverse;
  int length, rows; /* lengths of x and of the vectors that are compared */
  Product B, C;
  int code;
  const char *given, *expected;
  sunrealtype *result;
} Pair;

static int comparePair(CPCheck *check, const Pair *p) {
  double *x = check->x, *e = check->e, *w = check->w, *expected = check->expected;
  unsigned state       = 1u;
  int flag             = CP_SUCCESS;
  const CPComparison c = {.given           = p->given,
                          .expected        = p->expected,
                          .code            = p->code,
                          .rows            = p->rows,
                          .given_vector    = check->given,
                          .expected_vector = expected,
                          .result          = p->result};
  for (int i = 0; i < p->length; i++) x[i] = cpUniformAwayFromZero(&state);
  if (p->is_inverse) {
    memcpy(expected, x, (size_t)p->rows * sizeof *x);
    flag = product(check, p->B, x, w);
    if (!flag) flag = product(check, p->C, w, check->given);
    return flag ? flag : cpCompare(check, &c, NULL);
  }
  flag = product(check, p->C, x, check->given);
  memset(e, 0, (size_t)p->rows * sizeof *e);
  for (int j = 0; !flag && j < p->rows; j++) {
    e[j]        = 1.0;
    flag        = product(check, p->B, e, w);
    e[j]        = 0.0;
    expected[j] = cpDot(x, w, p->length);
    if (!flag && p->B == p->C) negativeMass(check, p->B == MU ? "Mu" : "Minv", j, w[j]);
  }
  return flag ? flag : cpCompare(check, &c, NULL);
}

static int compareMass(CPCheck *check) {
  const CPMech mech    = check->mech;
  const CPComparison c = {.given        = "M is not symmetric: M",
                          .expected     = "its mirror image",
                          .code         = CP_MECH_DERIV_WRONG,
                          .rows         = mech->nu,
                          .cols         = mech->nu,
                          .matrix       = &mech->userM.A,
                          .is_symmetric = 1,
                          .result       = &check->report->M};
  int flag             = cpMechMass(mech, check->at.t, check->at.q);
  if (!flag) flag = cpCompare(check, &c, NULL);
  for (int j = 0; !flag && j < mech->nu; j++)
    negativeMass(check, "M", j, cpMatEntry(&mech->userM.A, j, j));
  return flag;
}

/* inverse at a = x and a = 0 against M x, with M at rest: is it affine in a, and M independent of u? */
static int compareInverse(CPCheck *check) {
  const CPMech mech   = check->mech;
  const CPMechState s = cpCheckStateOf(&check->at);
  double *x = check->x, *difference = check->w;
  unsigned state       = 1u;
  const CPComparison c = {.given        = "inverse: of the difference at a = x and a = 0, entry ",
                          .expected     = "by M x it is",
                          .code         = CP_MECH_DERIV_WRONG,
                          .rows         = mech->nu,
                          .given_vector = difference,
                          .expected_vector = check->given,
                          .result          = &check->report->inverse};
  for (int j = 0; j < mech->nu; j++) x[j] = cpUniformAwayFromZero(&state);
  int flag = cpMechMass(mech, s.t, s.q);
  if (!flag) cpMatTimes(&mech->userM.A, 1.0, x, 0.0, check->given);
  if (!flag) flag = cpMechInverse(mech, &s, x, difference);
  if (!flag) flag = cpMechInverse(mech, &s, mech->room.unit, check->e);
  for (int j = 0; j < mech->nu; j++) difference[j] -= check->e[j];
  return flag ? flag : cpCompare(check, &c, NULL);
}

int cpCheckStructure(CPCheck *check) {
  const CPMech mech        = check->mech;
  const CPEquations *model = mech->eq;
  CPMechReport *r          = check->report;
  const int nq = mech->nq, nu = mech->nu, own_N = model->N != NULL, operators = mech->operators,
            A = cpMechMultiplies(mech) && mech->m > 0, Mu = operators && model->Mu,
            Minv     = operators && model->Minv;
  const Pair pairs[] = {
      {own_N, 1, nu, nu, N, N_INVERSE, CP_MECH_DERIV_WRONG,
       "N: of the product of CP_N_INVERSE and CP_N with x, entry ", "x has there", &r->N},
      {own_N, 0, nq, nu, N, N_TRANSPOSE, CP_MECH_DERIV_WRONG, "N: of CP_N_TRANSPOSE, entry ",
       "by CP_N it is", &r->N},
      {own_N, 0, nu, nq, N_INVERSE, N_INVERSE_TRANSPOSE, CP_MECH_DERIV_WRONG,
       "N: of CP_N_INVERSE_TRANSPOSE, entry ", "by CP_N_INVERSE it is", &r->N},
      {A, 0, nu, mech->m, ATL, AU, CP_MECH_A_WRONG, "Au: of A x, entry ", "by ATl it is", &r->ATl},
      {Mu, 0, nu, nu, MU, MU, CP_MECH_DERIV_WRONG, "Mu is not symmetric: of M x, entry ",
       "by its transpose it is", &r->M},
      {Minv, 0, nu, nu, MINV, MINV, CP_MECH_DERIV_WRONG,
       "Minv is not symmetric: of M^{-1} x, entry ", "by its transpose it is", &r->M},
      {Mu && Minv, 1, nu, nu, MU, MINV, CP_MECH_DERIV_WRONG, "Minv: of M^{-1} M x, entry ",
       "x has there", &r->ATl}};
  int flag = CP_SUCCESS;
  for (size_t k = 0; !flag && k < sizeof pairs / sizeof pairs[0]; k++)
    if (pairs[k].applies) flag = comparePair(check, &pairs[k]);
  if (!flag && model->inverse) flag = compareInverse(check);
  return flag || operators ? flag : compareMass(check);
}

/* Multipliers are compared where they are unique. */
int cpCheckUdot(CPCheck *check) {
  const CPMech mech   = check->mech;
  const CPMechState s = cpCheckStateOf(&check->at);
  double *lambda      = check->near.lambda;
  CPComparison c      = {.given           = "udot: u'",
                         .expected        = "by M, A, f and b it is",
                         .code            = CP_MECH_DERIV_WRONG,
                         .rows            = mech->nu,
                         .given_vector    = check->w,
                         .expected_vector = check->a,
                         .terms           = cpCheckAccelerationTerms(check),
                         .result          = &check->report->udot};
  if (!cpMechKnowsUdot(mech)) return CP_SUCCESS;
  int flag = cpMechUdot(mech, &s, check->w, lambda);
  if (!flag) flag = cpCompare(check, &c, NULL);
  if (flag || mech->kkt->dependent >= 0) return flag;
  c.given           = "udot: lambda";
  c.terms           = cpLargest(mech->terms.f, mech->nu);
  c.rows            = mech->m;
  c.given_vector    = lambda;
  c.expected_vector = check->at.lambda;
  return cpCompare(check, &c, NULL);
}

/* ---- A = (dp/dq) N = dv/du ---- */

static int compareA(CPCheck *check, CPCheckValue value, sunrealtype *result) {
  const CPMech mech    = check->mech;
  CPMechReport *r      = check->report;
  const double before  = fmax(r->A_p, r->A_v);
  const CPComparison c = {.given    = "A",
                          .expected = value == CP_VALUE_P ? "the derivative of p along N e_j"
                                                          : "the derivative of v",
                          .code     = CP_MECH_A_WRONG,
                          .rows     = value == CP_VALUE_P ? mech->np : mech->nv,
                          .cols     = mech->nu,
                          .matrix   = mech->operators ? NULL : &check->A,
                          .value    = value,
                          .along    = value == CP_VALUE_P ? CP_ALONG_Q : CP_ALONG_U,
                          .skipped  = check->left,
                          .result   = result};
  CPCheckWorst worst;
  const int flag = cpCompare(check, &c, &worst);
  if (!flag && worst.error > before) r->A_row = worst.row, r->A_col = worst.col;
  return flag;
}

static void exchangeFrame(CPMechQuaternion *Q) {
  Q->frame = Q->frame == CP_FRAME_BODY ? CP_FRAME_WORLD : CP_FRAME_BODY;
}

/* If A is not (dp/dq) N, tries whether it would be with one quaternion in the other frame, or (k =
 * nquaternions) with all of them, and then adds this to the text. */
static int suggestFrame(CPCheck *check) {
  const CPMech mech                   = check->mech;
  const CPMechCoordinates *const used = mech->coords;
  const CPMechReport report           = *check->report;
  const int count                     = used->nquaternions;
  CPMechCoordinates other             = *used; /* The model is not this mech's alone. */
  if (!CP_NEW(&check->arena, other.quaternions, count)) return CP_MEM_FAIL;
  for (int k = 0; k <= count; k++) {
    const int first = k < count ? k : 0, end = k < count ? k + 1 : k;
    sunrealtype error = 0.0;
    for (int i = 0; i < count; i++) other.quaternions[i] = used->quaternions[i];
    for (int i = first; i < end; i++) exchangeFrame(&other.quaternions[i]);
    mech->coords   = &other;
    const int flag = compareA(check, CP_VALUE_P, &error);
    mech->coords   = used;
    *check->report = report;
    if (flag) return flag;
    if (error > CP_CHECK_LIMIT) continue;
    const CPMechQuaternion *Q = &used->quaternions[first];
    const size_t length       = strlen(check->text);
    snprintf(check->text + length, sizeof check->text - length, "; it fits with %s for %s %d",
             Q->frame == CP_FRAME_BODY ? "CP_FRAME_WORLD" : "CP_FRAME_BODY",
             k == count ? "all quaternions, that of coordinate" : "the quaternion of coordinate",
             Q->first_q);
    return CP_SUCCESS;
  }
  return CP_SUCCESS;
}

int cpCheckJacobians(CPCheck *check) {
  const CPMech mech = check->mech;
  const int before  = check->code;
  int flag          = CP_SUCCESS;
  if (mech->np > 0) flag = compareA(check, CP_VALUE_P, &check->report->A_p);
  if (!flag && check->code && !before && mech->coords->nquaternions > 0) flag = suggestFrame(check);
  if (!flag && mech->nv > 0 && mech->eq->v) flag = compareA(check, CP_VALUE_V, &check->report->A_v);
  return flag;
}

/* ---- v = dp/dt along the motion, b = -dv/dt along it with u held; g' and g'' ---- */

int cpCheckRates(CPCheck *check) {
  const CPMech mech          = check->mech;
  const CPMotionValue *drive = mech->motion;
  const double t = check->at.t, *q = check->at.q, *u = check->at.u;
  CPMechReport *report = check->report;
  double *given        = check->given;
  const struct {
    int rows;
    CPCheckAlong along;
    CPCheckValue value;
    const char *given, *expected;
    sunrealtype *result;
  } table[] = {{mech->eq->v ? mech->np : 0, CP_ALONG_MOTION, CP_VALUE_P, "v",
                "the derivative of p along the motion", &report->v_p},
               {mech->eq->b ? mech->nv : 0, CP_ALONG_MOTION, CP_VALUE_MINUS_V, "b",
                "minus the derivative of v along the motion", &report->b_v},
               {mech->motions->count, CP_ALONG_TIME, CP_VALUE_G, "g' of motion ",
                "the derivative of g", &report->v_p},
               {mech->motions->count, CP_ALONG_TIME, CP_VALUE_GD, "g'' of motion ",
                "the derivative of g'", &report->b_v}};
  int flag  = CP_SUCCESS;
  for (int k = 0; !flag && k < 4; k++) {
    const int is_motion = k >= 2;
    const double before = fmax(report->v_p, report->b_v);
    CPCheckWorst worst;
    const CPComparison c = {.given        = table[k].given,
                            .expected     = table[k].expected,
                            .code         = CP_MECH_B_WRONG,
                            .rows         = table[k].rows,
                            .given_vector = given,
                            .value        = table[k].value,
                            .along        = table[k].along,
                            .skipped      = is_motion ? check->skipped : NULL,
                            .result       = table[k].result};
    if (c.rows == 0) continue;
    if (k == 0) flag = cpMechVelocities(mech, t, q, u, given);
    if (k == 1) flag = cpMechB(mech, &(CPMechState){.t = t, .q = q, .u = u}, given);
    if (is_motion) flag = cpMechMotions(mech, t);
    for (int i = 0; is_motion && !flag && i < c.rows; i++) {
      given[i]          = k == 2 ? drive[i].rate : drive[i].curvature;
      check->skipped[i] = !(k == 2 ? mech->motions->list[i].gd
                                   : mech->motions->list[i].gdd); /* g' and g'' by differences */
    }
    if (!flag) flag = cpCompare(check, &c, &worst);
    if (!flag && !is_motion && worst.error > before) report->b_row = worst.row;
  }
  return flag;
}

/* ---- partial derivatives: those that the user gives, and the patterns of those by differences.
 * Columns that share no row are perturbed together, so that an entry outside its pattern is lost
 * and falsifies another entry ---- */

typedef struct {
  CPOutput of;
  CPDirection by;
  CPCheckValue value;
  const char *given, *derivative, *lacking;
  size_t result; /* offset in CPMechReport */
} Partial;

/* The derivative `name` of an output, by `function`; note: on its template */
#define PARTIAL(of, by, value, function, name, note, derivative)                                    \
  {                                                                                                 \
    CP_OF_##of, CP_BY_##by, CP_VALUE_##value, function ": " #name, "the derivative of " derivative, \
        #name "_tmpl" note " lacks an entry: " #name, offsetof(CPMechReport, name)                  \
  }
static const Partial PARTIALS[] = {
    PARTIAL(F, Q, F, "dynamics_jac", K, "", "f - M u' - A^T lambda along N e_j"),
    PARTIAL(F, U, FORCES, "dynamics_jac", C, " (without one K_tmpl)", "f with respect to u"),
    PARTIAL(F, Z, FORCES, "dynamics_jac", Fz, "", "f with respect to z"),
    PARTIAL(B, Q, B, "constraint_jac", Bq, "", "b - A u' along N e_j"),
    PARTIAL(B, U, B, "constraint_jac", Bu, "", "b with respect to u"),
    PARTIAL(Z, Q, Z, "auxiliary_jac", Zq, "", "zdot along N e_j"),
    PARTIAL(Z, U, Z, "auxiliary_jac", Zu, "", "zdot with respect to u"),
    PARTIAL(Z, Z, Z, "auxiliary_jac", Zz, "", "zdot with respect to z"),
    PARTIAL(F, LAMBDA, FORCES, "lambda_jac", Fl, "", "f_lambda")};
/* With CP_NEWTON_HALF, F is u' */
static const Partial ACCELERATIONS[] = {
    PARTIAL(F, Q, UDOT, "udot_jac", Uq, "", "u' along N e_j"),
    PARTIAL(F, U, UDOT, "udot_jac", Uu, "", "u' with respect to u"),
    PARTIAL(F, Z, UDOT, "udot_jac", Uz, "", "u' with respect to z")};

static int compareBlock(CPCheck *check, const CPPartials P, const Partial *partial) {
  const CPBlock *block = &P->block[partial->of][partial->by];
  const CPComparison c = {.given    = block->given ? partial->given : partial->lacking,
                          .expected = block->given ? partial->derivative : "by differences",
                          .code     = CP_MECH_DERIV_WRONG,
                          .rows     = P->rows[partial->of],
                          .cols     = P->cols[partial->by],
                          .value    = partial->value,
                          .along    = (CPCheckAlong)partial->by,
                          .matrix   = block->given ? &block->J : NULL,
                          .pattern  = block->given ? NULL : &block->J,
                          .skipped  = partial->value == CP_VALUE_UDOT ? check->skipped
                                      : partial->of == CP_OF_B        ? check->left
                                                                      : NULL,
                          .result   = (sunrealtype *)((char *)check->report + partial->result)};
  if (!block->given && !(block->J.start && cpHasPatterns(check->mech))) return CP_SUCCESS;
  return block->exists ? cpCompare(check, &c, NULL) : CP_SUCCESS;
}

static int comparePartials(CPCheck *check, CPMechNewton type) {
  const CPMech mech   = check->mech;
  const int kkt       = type == CP_NEWTON_KKT;
  const CPMechState s = cpCheckStateOf(&check->at);
  CPPartials P        = NULL;
  int flag            = cpPartialsCreate(&P, mech, type, 0);
  if (flag) return cpReason(mech->text, flag, "no memory for partial derivatives");
  memset(check->skipped, 0, (size_t)mech->nu);
  check->rank = cpCheckRank(mech); /* of cpMechSolve */
  cpPartialsKeep(P, &s, check->a, check->at.lambda);
  flag           = cpPartialsGiven(P);
  P->sixth_order = CP_SIXTH_ORDER_STEP;
  if (!flag && P->leaves_udot) { /* to M and A, as udot may */
    cpPartialsFree(&P);
    return CP_SUCCESS;
  }
  if (!flag) flag = cpPartialsDifferences(P, 1, NULL);
  for (size_t k = 0; !flag && !kkt && k < sizeof ACCELERATIONS / sizeof ACCELERATIONS[0]; k++)
    flag = compareBlock(check, P, &ACCELERATIONS[k]);
  for (size_t k = 0; !flag && k < sizeof PARTIALS / sizeof PARTIALS[0]; k++)
    if (kkt || PARTIALS[k].of == CP_OF_Z) flag = compareBlock(check, P, &PARTIALS[k]);
  cpPartialsFree(&P);
  return flag;
}

int cpHasPatterns(const CPMech mech) {
  const int sparse = !mech->operators && mech->userM.A.start && mech->A.start;
  const int wanted =
      mech->options.newton_type == CP_NEWTON_AUTO || mech->options.newton_type == CP_NEWTON_KKT;
  return sparse && wanted && (!mech->host || mech->newton);
}

int cpCheckPartials(CPCheck *check) {
  const CPMech mech = check->mech;
  int flag          = mech->operators ? CP_SUCCESS : comparePartials(check, CP_NEWTON_KKT);
  if (!flag && (mech->operators || mech->eq->udot_jac))
    flag = comparePartials(check, CP_NEWTON_HALF);
  return flag;
}

/* Forces in addition to those of a model (CPMechAddForce), against closed forms, and solutions for given
 * right-hand sides (CPMechSolve). */
#include "support/mech_run.h"

#include <math.h>
#include <sunmatrix/sunmatrix_sparse.h>

static const sunrealtype STIFFNESS = 9, DAMPING = 1, WEIGHT = 2;

/* ------------------------------------- a block on a plane, tied to a wall by a spring and a damper -- */

/* (x along the plane, n normal to it), m = 1, n = 0. The model has the weight only, so that with the spring and the
 * damper x'' + DAMPING x' + STIFFNESS x = WEIGHT. */
typedef struct {
  long int f, jac, spring, spring_jac; /* calls */
  sunrealtype wrong;                   /* added to the damping in spring_jac */
  sunrealtype mu;
} Block;

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  if (SUNMatGetID(M) == SUNMATRIX_SPARSE) SM_DATA_S(M)[0] = SM_DATA_S(M)[1] = 1;
  else SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}

static int normal(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  if (SUNMatGetID(A) == SUNMATRIX_SPARSE) SM_DATA_S(A)[0] = 1;
  else SM_ELEMENT_D(A, 0, 1) = 1;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  Block *b = data;
  (void)t, (void)q, (void)u, (void)z;
  b->f++;
  f[0] = WEIGHT, f[1] = -10;
  return 0;
}

static int height(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[1];
  return 0;
}

static int no_partials(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                       SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)K, (void)C, (void)Fz;
  ((Block *)data)->jac++;
  return 0;
}

static int flat(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *data) {
  (void)t, (void)q, (void)u, (void)b, (void)data;
  return 0;
}

static int flat_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                    const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *data) {
  (void)t, (void)q, (void)u, (void)udot, (void)Bq, (void)Bu, (void)data;
  return 0;
}

static int spring(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  const sunrealtype *lambda, sunrealtype *f, void *data) {
  Block *b = data;
  (void)t, (void)z;
  ck_assert_ptr_null(lambda);
  b->spring++;
  f[0] = -STIFFNESS * q[0] - DAMPING * u[0];
  return 0;
}

static int spring_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *lambda, SUNMatrix K, SUNMatrix C,
                      SUNMatrix Fz, void *data) {
  Block *b = data;
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)Fz;
  b->spring_jac++;
  if (SUNMatGetID(K) == SUNMATRIX_SPARSE) {
    SM_DATA_S(K)[0] = -STIFFNESS, SM_DATA_S(C)[0] = -DAMPING + b->wrong;
  } else {
    SM_ELEMENT_D(K, 0, 0) = -STIFFNESS, SM_ELEMENT_D(C, 0, 0) = -DAMPING + b->wrong;
  }
  return 0;
}

/* [0, 0] only, or the diagonal, or [0, 1] */
static SUNMatrix pattern(sunindextype rows, sunindextype entries, sunindextype first_col) {
  SUNMatrix S = SUNSparseMatrix(rows, 2, entries, CSC_MAT, test_context);
  for (sunindextype j = 0; j <= 2; j++) {
    const sunindextype before = j - first_col;
    SM_INDEXPTRS_S(S)[j]      = before < 0 ? 0 : before > entries ? entries : before;
  }
  for (sunindextype k = 0; k < entries; k++) SM_INDEXVALS_S(S)[k] = k;
  return S;
}

/* How the spring is given: by its partial derivatives or by differences; in dense or sparse matrices */
enum { BY_JAC, BY_DIFFERENCES, SPARSE_BY_JAC, SPARSE_BY_PATTERN, SPARSE_BY_DIFFERENCES, WAYS };

static MechRun *tied(Block *block, int way, const sunrealtype *y0) {
  const int is_sparse = way >= SPARSE_BY_JAC;
  SUNMatrix one       = pattern(2, 1, 0);
  CPEquations model   = {CP_SIZED(CPEquations),
                         .nu             = 2,
                         .np             = 1,
                         .M              = unit_mass,
                         .A              = normal,
                         .f              = weight,
                         .p              = height,
                         .b              = flat,
                         .dynamics_jac   = no_partials,
                         .constraint_jac = flat_jac};
  CPMechForce force   = {CP_SIZED(CPMechForce), .f = spring,
                         .jac  = way == BY_JAC || way == SPARSE_BY_JAC ? spring_jac : NULL,
                         .data = block};
  if (is_sparse) {
    model.M_tmpl = pattern(2, 2, 0), model.A_tmpl = pattern(1, 1, 1);
    model.K_tmpl  = pattern(2, 2, 0);
    model.Bq_tmpl = model.Bu_tmpl = model.A_tmpl;
  }
  if (way == SPARSE_BY_JAC || way == SPARSE_BY_PATTERN) force.K_tmpl = one;
  MechRun *run = mech_run_create(&model, block, y0);
  int id       = -1;
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, &id), CP_SUCCESS);
  ck_assert_int_eq(id, 0);
  if (is_sparse)
    SUNMatDestroy(model.M_tmpl), SUNMatDestroy(model.A_tmpl), SUNMatDestroy(model.K_tmpl);
  SUNMatDestroy(one);
  return run;
}

/* x and x' at t, from rest at x = 0 */
static void oscillation(sunrealtype t, sunrealtype *x, sunrealtype *v) {
  const sunrealtype d = DAMPING / 2, w = sqrt(STIFFNESS - d * d), e = exp(-d * t),
                    rest = WEIGHT / STIFFNESS;
  *x                     = rest * (1 - e * (cos(w * t) + d / w * sin(w * t)));
  *v                     = rest * e * (w + d * d / w) * sin(w * t);
}

static const char *const methods[] = {"RADAU", "DOP853", "BDF", "ADAMS"};
enum { METHODS = sizeof methods / sizeof *methods };

static void integrate(MechRun *run, const char *method, sunrealtype tol, sunrealtype t) {
  run->cpode = CPIntegratorCreate(method, test_context);
  run->tol   = tol;
  CPObjectSetErrHandlerFn(CP_OBJECT(run->cpode), message_log, &run->log);
  ck_assert_int_eq(CPMechAttach(run->mech, run->cpode, 0, run->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(run->cpode, tol, tol), CP_SUCCESS);
  mech_run_to(run, t);
}

START_TEST(an_added_spring_oscillates_as_its_closed_form) {
  Block block           = {.f = 0};
  const int way         = _i / METHODS;
  const char *method    = methods[_i % METHODS];
  const int is_implicit = !strcmp(method, "RADAU") || !strcmp(method, "BDF");
  MechRun *run          = tied(&block, way, (sunrealtype[]){0, 0, 0, 0});
  sunrealtype x, v;
  integrate(run, method, 1e-9, 2);
  oscillation(2, &x, &v);
  ck_assert_double_le(mech_run_error(run, 4, (sunrealtype[]){x, 0, v, 0}), 300 * run->tol);
  if (is_implicit) {
    /* The model's partial derivatives are used beside the force, and f is not evaluated for differences. */
    ck_assert_int_gt(block.jac, 0);
    if (way == BY_JAC || way == SPARSE_BY_JAC) {
      ck_assert_int_gt(block.spring_jac, 0);
    } else {
      ck_assert_int_gt(block.spring, block.f);
    }
  }
  mech_run_free(&run);
}
END_TEST

START_TEST(partial_derivatives_of_an_added_force_are_checked) {
  Block block         = {.wrong = 0.01};
  CPMechReport report = CP_INIT(CPMechReport);
  MechRun *run        = tied(&block, _i ? SPARSE_BY_JAC : BY_JAC, (sunrealtype[]){0.1, 0, 0.3, 0});
  ck_assert_int_eq(CPMechCheck(run->mech, 0, run->y, &report), CP_MECH_DERIV_WRONG);
  ck_assert_double_gt(report.C, 1e-3);
  ck_assert_double_lt(report.K, 1e-7);
  block.wrong = 0;
  ck_assert_int_eq(CPMechCheck(run->mech, 0, run->y, &report), CP_SUCCESS);
  ck_assert_double_lt(report.C, 1e-7);
  mech_run_free(&run);
}
END_TEST

START_TEST(a_removed_force_acts_no_more) {
  Block block  = {.f = 0};
  MechRun *run = tied(&block, _i ? BY_JAC : BY_DIFFERENCES, (sunrealtype[]){0.1, 0, 0, 0});
  integrate(run, "RADAU", 1e-8, 1);
  const sunrealtype x = entries(run->y)[0], v = entries(run->y)[2];
  ck_assert_int_eq(CPMechRemoveForce(run->mech, 1), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechRemoveForce(run->mech, 0), CP_SUCCESS);
  ck_assert_int_eq(CPMechRemoveForce(run->mech, 0), CP_ILL_INPUT);
  ck_assert_int_eq(CPIntegratorReInit(run->cpode, 1, run->y), CP_SUCCESS);
  const long int calls = block.spring + block.spring_jac;
  mech_run_to(run, 3);
  ck_assert_int_eq(block.spring + block.spring_jac, calls);
  ck_assert_double_eq_tol(entries(run->y)[0], x + 2 * v + 2 * WEIGHT, 1e-6);
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------------------------------------- on the multipliers -- */

static int friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *f, void *data) {
  const Block *b = data;
  (void)t, (void)q, (void)z;
  f[0] = -b->mu * fabs(lambda[0]) * tanh(1000 * u[0]);
  return 0;
}

static int friction_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *data) {
  const Block *b = data;
  (void)t, (void)q, (void)z;
  SM_ELEMENT_D(Fl, 0, 0) = -b->mu * copysign(1, lambda[0]) * tanh(1000 * u[0]);
  return 0;
}

/* The block slides with WEIGHT - mu 10 under two frictions of mu / 2 each, of which one is the model's. */
START_TEST(frictions_of_the_model_and_beside_it_add_up) {
  Block block             = {.mu = 0.075};
  const int with_jac      = _i / METHODS;
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu         = 2,
                             .np         = 1,
                             .M          = unit_mass,
                             .A          = normal,
                             .f          = weight,
                             .p          = height,
                             .b          = flat,
                             .f_lambda   = friction,
                             .lambda_jac = with_jac ? friction_jac : NULL};
  const CPMechForce force = {CP_SIZED(CPMechForce), .f = friction, .on_lambda = 1,
                             .lambda_jac = with_jac ? friction_jac : NULL, .data = &block};
  MechRun *run            = mech_run_create(&model, &block, (sunrealtype[]){0, 0, 1, 0});
  const sunrealtype a     = WEIGHT - 2 * block.mu * 10;
  sunrealtype udot[2], lambda;
  for (int k = 0; k < 3; k++) { /* The force comes, goes and comes after uses of the system. */
    int id;
    if (k > 0) ck_assert_int_eq(CPMechAddForce(run->mech, &force, &id), CP_SUCCESS);
    if (k == 1) ck_assert_int_eq(CPMechRemoveForce(run->mech, id), CP_SUCCESS);
    if (k == 2) break;
    ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, &lambda), CP_SUCCESS);
    ck_assert_double_eq_tol(udot[0], WEIGHT - block.mu * 10, 1e-14);
  }
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, &lambda), CP_SUCCESS);
  ck_assert_double_eq_tol(udot[0], a, 1e-14);
  ck_assert_double_eq_tol(lambda, -10, 1e-14);
  integrate(run, methods[_i % METHODS], 1e-8, 2);
  ck_assert_double_le(mech_run_error(run, 4, (sunrealtype[]){2 + 2 * a, 0, 1 + 2 * a, 0}), 1e-6);
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------------------------ beside accelerations that are given -- */

static int twice_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 2;
  return 0;
}

static int falling(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)data;
  udot[0] = WEIGHT / 2, udot[1] = -5;
  return 0;
}

static int falling_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)Uq, (void)Uu, (void)Uz;
  ((Block *)data)->jac++;
  return 0;
}

/* udot and udot_jac know nothing of an added force: neither is used then. x'' is half of the forces on the mass 2. */
START_TEST(given_accelerations_are_left_for_those_with_the_added_force) {
  Block block             = {.f = 0};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,         .M = twice_mass,
                             .f = weight,           .udot = falling, .udot_jac = falling_jac};
  const CPMechForce force = {CP_SIZED(CPMechForce), .f = spring, .jac = spring_jac, .data = &block};
  MechRun *run            = mech_run_create(&model, &block, (sunrealtype[]){0, 0, 0, 0});
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetNewton(run->mech, CP_NEWTON_HALF), CP_SUCCESS);
  integrate(run, "BDF", 1e-9, 2);
  const sunrealtype d = DAMPING / 4, w = sqrt(STIFFNESS / 2 - d * d),
                    x = WEIGHT / STIFFNESS * (1 - exp(-2 * d) * (cos(2 * w) + d / w * sin(2 * w)));
  ck_assert_double_eq_tol(entries(run->y)[0], x, 300 * run->tol);
  ck_assert_int_eq(block.jac, 0);
  mech_run_free(&run);
}
END_TEST

/* -------------------------------------------------------------------------------------- refusals -- */

static int no_accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda,
                            void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)data;
  udot[0] = udot[1] = 0;
  return 0;
}

START_TEST(wrong_forces_are_refused) {
  Block block        = {.f = 0};
  MechRun *run       = tied(&block, BY_JAC, (sunrealtype[]){0, 0, 0, 0});
  SUNMatrix too_wide = SUNDenseMatrix(2, 3, test_context);
  CPMechForce force  = {CP_SIZED(CPMechForce), .f = spring, .data = &block};
  ck_assert_int_eq(CPMechAddForce(NULL, &force, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPMechRemoveForce(NULL, 0), CP_MEM_NULL);
  ck_assert_int_eq(CPMechAddForce(run->mech, NULL, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(
      CPMechAddForce(run->mech, &(CPMechForce){CP_SIZED(CPMechForce), .jac = spring_jac}, NULL),
      CP_ILL_INPUT);
  force.lambda_jac = friction_jac;
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, NULL), CP_ILL_INPUT);
  ck_assert_mentions(run->log.text, "on_lambda");
  force.lambda_jac = NULL, force.C_tmpl = too_wide;
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, NULL), CP_ILL_INPUT);
  ck_assert_mentions(run->log.text, "C_tmpl");
  force.C_tmpl = NULL;
  integrate(run, "BDF", 1e-6, 0.1);
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, NULL), CP_TOO_LATE);
  mech_run_free(&run);

  const CPEquations recursion = {CP_SIZED(CPEquations), .nu = 2, .udot = no_accelerations};
  run                         = mech_run_create(&recursion, NULL, (sunrealtype[]){0, 0, 0, 0});
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, NULL), CP_NOT_SUPPORTED);
  mech_run_free(&run);
  SUNMatDestroy(too_wide);
}
END_TEST

static int failing(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *lambda, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda;
  f[0] = NAN;
  return *(int *)data;
}

START_TEST(failures_of_an_added_force_are_passed_on) {
  Block block             = {.f = 0};
  int result              = -1;
  const CPMechForce force = {CP_SIZED(CPMechForce), .f = failing, .data = &result};
  sunrealtype udot[2];
  MechRun *run = tied(&block, BY_JAC, (sunrealtype[]){0, 0, 0, 0});
  ck_assert_int_eq(CPMechAddForce(run->mech, &force, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_USERFUNC_FAIL);
  ck_assert_mentions(run->log.text, "CPMechAddForce");
  result = 0;
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_MECH_NONFINITE);
  ck_assert_mentions(run->log.text, "CPMechAddForce");
  mech_run_free(&run);
}
END_TEST

/* --------------------------------------------------------------------- data of the present moment -- */

typedef struct {
  Block block;
  int fails;
} Present;

static int present(void *user_data, void **data) {
  Present *p = user_data;
  *data      = &p->block;
  return p->fails;
}

START_TEST(functions_get_the_data_of_the_moment) {
  Present data            = {.fails = 0};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .M = unit_mass, .f = weight,
                             .current_data = present};
  MechRun *run            = mech_run_create(&model, &data, (sunrealtype[]){0, 0, 0, 0});
  sunrealtype udot[2];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_SUCCESS);
  ck_assert_double_eq(udot[0], WEIGHT);
  ck_assert_int_eq(data.block.f, 1);
  data.fails = 1;
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_USERFUNC_FAIL);
  ck_assert_int_eq(data.block.f, 1);
  mech_run_free(&run);
}
END_TEST

/* ---------------------------------------------------------------------------------- CPMechSolve -- */

/* Two masses 1 on a line, with a rod between them: u_1 - u_0 = 0. */
static int rod(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 0, 0) = -1, SM_ELEMENT_D(A, 0, 1) = 1;
  return 0;
}

static int rod_length(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[1] - q[0] - 1;
  return 0;
}

START_TEST(both_masses_of_a_rod_share_an_impulse) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,  .np = 1, .M = unit_mass, .A = rod,
                             .p = rod_length,       .b = flat};
  MechRun *run            = mech_run_create(&model, NULL, (sunrealtype[]){0, 1, 0, 0});
  const sunrealtype f[] = {3, 0, 0, 0}, r[] = {0, 2};
  sunrealtype d[4], mu[2];
  ck_assert_int_eq(CPMechSolve(run->mech, 0, run->y, 2, f, r, d, mu), CP_SUCCESS);
  ck_assert_double_eq_tol(d[0], 1.5, 1e-15);
  ck_assert_double_eq_tol(d[1], 1.5, 1e-15);
  ck_assert_double_eq_tol(mu[0], -1.5, 1e-15); /* d_0 - mu = 3 */
  ck_assert_double_eq_tol(d[2], -1, 1e-15);
  ck_assert_double_eq_tol(d[3], 1, 1e-15);
  ck_assert_double_eq_tol(mu[1], -1, 1e-15);
  ck_assert_int_eq(CPMechSolve(run->mech, 0, run->y, 1, NULL, NULL, d, NULL), CP_SUCCESS);
  ck_assert_double_eq(d[0], 0);
  ck_assert_double_eq(d[1], 0);
  const int off = 0;
  ck_assert_int_eq(CPMechSetActive(run->mech, &off), CP_SUCCESS);
  ck_assert_int_eq(CPMechSolve(run->mech, 0, run->y, 1, f, r, d, mu), CP_SUCCESS);
  ck_assert_double_eq_tol(d[0], 3, 1e-15);
  ck_assert_double_eq(d[1], 0);
  ck_assert_double_eq(mu[0], 0);
  mech_run_free(&run);
}
END_TEST

START_TEST(wrong_right_hand_sides_are_refused) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,  .np = 1, .M = unit_mass, .A = rod,
                             .p = rod_length,       .b = flat};
  MechRun *run            = mech_run_create(&model, NULL, (sunrealtype[]){0, 1, 0, 0});
  const sunrealtype f[]   = {NAN, 0};
  sunrealtype d[2];
  ck_assert_int_eq(CPMechSolve(NULL, 0, run->y, 1, f, NULL, d, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPMechSolve(run->mech, 0, run->y, 1, f, NULL, NULL, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSolve(run->mech, 0, run->y, -1, f, NULL, d, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSolve(run->mech, 0, run->y, 1, f, NULL, d, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetUse(run->mech) & CP_MECH_BUSY, 0);
  ck_assert_int_eq(CPMechGetUse(NULL) & CP_MECH_BUSY, 0);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(forces) {
  Suite *suite = suite_create("mechanics/forces");
  TCase *tcase = tcase_create("forces");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, an_added_spring_oscillates_as_its_closed_form, 0, WAYS * METHODS);
  tcase_add_loop_test(tcase, partial_derivatives_of_an_added_force_are_checked, 0, 2);
  tcase_add_loop_test(tcase, a_removed_force_acts_no_more, 0, 2);
  tcase_add_loop_test(tcase, frictions_of_the_model_and_beside_it_add_up, 0, 2 * METHODS);
  tcase_add_test(tcase, given_accelerations_are_left_for_those_with_the_added_force);
  tcase_add_test(tcase, wrong_forces_are_refused);
  tcase_add_test(tcase, failures_of_an_added_force_are_passed_on);
  tcase_add_test(tcase, functions_get_the_data_of_the_moment);
  tcase_add_test(tcase, both_masses_of_a_rod_share_an_impulse);
  tcase_add_test(tcase, wrong_right_hand_sides_are_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

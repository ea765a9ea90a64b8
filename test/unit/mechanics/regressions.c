/* Defects of mechanical systems that other tests had missed, each with its effect. */
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_sparse.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

/* -------------------------------------- multipliers of motions, for which Fl has no columns -- */

/* Three unit masses on a line; f_2 depends on the first multiplier, if there is one. */
enum { MASSES = 3 };
#define STIFF SUN_RCONST(0.25) /* df_2 / dlambda_0 */

static int line_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < MASSES; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int line_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = 2;
  return 0;
}

static int line_friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                         void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const int *rows = user_data;
  f[2]            = *rows > 0 ? STIFF * lambda[0] : 1;
  return 0;
}

static int line_friction_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                             void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda;
  const int *rows = user_data;
  if (*rows == 0 || !Fl) return -1; /* there is no such derivative */
  SM_ELEMENT_D(Fl, 2, 0) = STIFF;
  return 0;
}

/* q_0 + q_2 = 0 */
static int line_constraint(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0] + q[2];
  return 0;
}

static int line_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = SM_ELEMENT_D(A, 0, 2) = 1;
  return 0;
}

static int parabola(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = t * t / 2;
  return 0;
}

static int parabola_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = t;
  return 0;
}

static int parabola_bend(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 1;
  return 0;
}

/* driven: the coordinate that follows the parabola */
static MechRun *open_line(int *rows, int driven) {
  const CPMotion by = {
      .coordinate = driven, .g = parabola, .gd = parabola_rate, .gdd = parabola_bend};
  const CPEquations model          = {CP_SIZED(CPEquations),
                                      .nu         = MASSES,
                                      .np         = *rows,
                                      .M          = line_mass,
                                      .A          = *rows > 0 ? line_rows : NULL,
                                      .f          = line_force,
                                      .p          = *rows > 0 ? line_constraint : NULL,
                                      .f_lambda   = line_friction,
                                      .lambda_jac = line_friction_jac,
                                      .motions    = &by,
                                      .nmotions   = 1};
  const sunrealtype y0[2 * MASSES] = {0};
  return mech_run_create(&model, rows, y0);
}

/* It read Fl beyond its last column. a_0 + l = 2 and a_2 + l = STIFF l with a_2 = -a_0 give l
 * (2 - STIFF) = 2; three operations each. */
START_TEST(motions_have_no_column_in_lambda_jac) {
  int rows     = 1;
  MechRun *run = open_line(&rows, 1);
  sunrealtype udot[MASSES], lambda[2];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  ck_assert_double_le(fabs(lambda[0] - 2 / (2 - STIFF)), 10 * ROUNDOFF);
  ck_assert_double_le(fabs(udot[0] - (2 - 2 / (2 - STIFF))), 20 * ROUNDOFF);
  ck_assert_double_le(fabs(udot[1] - 1), 10 * ROUNDOFF);
  ck_assert_double_le(fabs(lambda[1] + 1), 10 * ROUNDOFF); /* M a + A^T lambda = 0 */
  mech_run_free(&run);
}
END_TEST

/* It called lambda_jac without a matrix. */
START_TEST(lambda_jac_is_not_called_without_constraints) {
  int rows     = 0;
  MechRun *run = open_line(&rows, 2);
  sunrealtype udot[MASSES], lambda[1];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  ck_assert_double_eq(udot[0], 2);
  ck_assert_double_le(fabs(lambda[0]), 10 * ROUNDOFF); /* 1 = f_2 - lambda */
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------------------------------------ many bodies -- */

/* Free bodies that translate with u and turn with omega about fixed axes. */
enum { BODIES = 3000, QS = 7, US = 6 };

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (sunindextype k = 0; k < SM_NNZ_S(M); k++) SM_DATA_S(M)[k] = 1;
  return 0;
}

static SUNMatrix diagonal_template(sunindextype n) {
  SUNMatrix T = SUNSparseMatrix(n, n, n, CSC_MAT, test_context);
  ck_assert_ptr_nonnull(T);
  for (sunindextype i = 0; i < n; i++) SM_INDEXPTRS_S(T)[i] = SM_INDEXVALS_S(T)[i] = i;
  SM_INDEXPTRS_S(T)[n] = n;
  return T;
}

/* Each quaternion cost the square of the number of bodies: a minute for these. The last one
 * comes first. Without forces q is linear in t, except for
 * the quaternions; steps of any length are exact there up to about 100 roundings. */
START_TEST(many_quaternions_take_no_time) {
  N_Vector y    = vector_of((QS + US) * BODIES, NULL);
  sunrealtype t = 0, *q = entries(y), *u = q + QS * BODIES;
  SUNMatrix tmpl = diagonal_template(US * BODIES);
  for (int k = 0; k < BODIES; k++) {
    q[QS * k + 3] = 1;
    for (int d = 0; d < 3; d++) u[US * k + d] = 1 + d + k % 10;
    u[US * k + 5] = 1;
  }
  CPQuaternion *attitude = calloc(BODIES, sizeof *attitude);
  ck_assert_ptr_nonnull(attitude);
  for (int k = 0; k < BODIES; k++)
    attitude[BODIES - 1 - k] = (CPQuaternion){QS * k + 3, US * k + 3, CP_FRAME_BODY};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = US * BODIES, .nq = QS * BODIES,
                             .M = unit_mass,        .M_tmpl = tmpl,    .quaternions = attitude,
                             .nquaternions = BODIES};
  CPMech mech             = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  CPIntegrator mem = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1, y, &t, CV_NORMAL), CP_SUCCESS);
  for (int k = 0; k < BODIES; k++)
    for (int d = 0; d < 3; d++)
      ck_assert_double_le(fabs(q[QS * k + d] - (1 + d + k % 10)), 100 * ROUNDOFF * 12);
  ck_assert_double_le(fabs(q[QS * (BODIES - 1) + 6] - sin(0.5)), 1e-4); /* 100 tol */
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  SUNMatDestroy(tmpl);
  N_VDestroy(y);
  free(attitude);
}
END_TEST

/* --------------------------------------- a constraint that no rotation satisfies, but whose A is right -- */

/* The component along y of the body's axis x, which shall be 1.5 */
static int axis_beyond_reach(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = 2 * (q[1] * q[2] + q[0] * q[3]) - 1.5;
  return 0;
}

static int axis_jac(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = -2 * (q[2] * q[3] - q[0] * q[1]);
  SM_ELEMENT_D(A, 0, 2) = 1 - 2 * (q[1] * q[1] + q[3] * q[3]);
  return 0;
}

static int unit_inertia(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

/* It was compared with differences by rotations from the start, from which it differs by the angle
 * of the iteration so far. */
START_TEST(a_jacobian_is_right_however_far_an_iteration_has_turned) {
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu           = 3,
                             .nq           = 4,
                             .np           = 1,
                             .M            = unit_inertia,
                             .A            = axis_jac,
                             .p            = axis_beyond_reach,
                             .quaternions  = &(const CPQuaternion){0, 0, CP_FRAME_BODY},
                             .nquaternions = 1};
  N_Vector y              = vector_of(7, (const sunrealtype[]){1, 0, 0, 0, 0, 0, 0});
  CPMech mech             = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  N_Vector ewt = N_VClone(y);
  N_VConst(1e6, ewt);
  ck_assert_int_eq(CPProjectorProject(CPMechGetProjector(mech), 0, y, ewt), -CP_PROJ_CONV_FAILURE);
  N_VDestroy(ewt);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ------------------------------------------------- initial states of operators, kinetic metric -- */

/* A pendulum of unit mass and length without gravity: (x, y) turns with 1 / s. */
static int turn_udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *user_data) {
  (void)t, (void)z, (void)user_data;
  lambda[0] = (u[0] * u[0] + u[1] * u[1]) / (q[0] * q[0] + q[1] * q[1]);
  for (int i = 0; i < 2; i++) udot[i] = -lambda[0] * q[i];
  return 0;
}

static int turn_Au(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                   void *user_data) {
  (void)t, (void)user_data;
  y[0] = q[0] * x[0] + q[1] * x[1];
  return 0;
}

static int turn_ATl(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                    void *user_data) {
  (void)t, (void)user_data;
  for (int i = 0; i < 2; i++) y[i] = q[i] * x[0];
  return 0;
}

static int turn_Minv(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                     void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 2; i++) y[i] = x[i];
  return 0;
}

static int turn_p(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  return 0;
}

/* CPMechCalcIC left all components marked as free, which the metric of operators refuses. */
START_TEST(initial_states_leave_the_projector_as_it_was) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,           .np = 1,
                             .p = turn_p,           .udot = turn_udot, .Au = turn_Au,
                             .ATl = turn_ATl,       .Minv = turn_Minv};
  MechRun *run            = mech_run_create(&model, NULL, (sunrealtype[]){1, 0, 0, 1});
  ck_assert_int_eq(CPMechSetMetric(run->mech, CP_METRIC_KINETIC), CP_SUCCESS);
  ck_assert_int_eq(CPMechCalcIC(run->mech, 0, run->y, NULL, NULL, NULL, NULL), CP_SUCCESS);
  mech_run_start(run, CV_ADAMS, 1e-8);
  mech_run_to(run, 1);
  ck_assert_double_le(mech_run_error(run, 2, (sunrealtype[]){cos(1), sin(1)}),
                      mech_run_bound(run, 1, 2));
  mech_run_free(&run);
}
END_TEST

/* The first use of the system failed, with a message of the KKT solver. */
START_TEST(rows_of_A_without_entries_are_refused_at_once) {
  SUNMatrix M_tmpl = diagonal_template(2), A_tmpl = SUNSparseMatrix(2, 2, 2, CSC_MAT, test_context);
  N_Vector y = vector_of(4, NULL);
  for (int j = 0; j < 2; j++) SM_INDEXPTRS_S(A_tmpl)[j] = j; /* both entries in row 0 */
  SM_INDEXPTRS_S(A_tmpl)[2] = 2;
  const CPEquations model   = {CP_SIZED(CPEquations), .nu = 2,          .np = 2,
                               .M = unit_mass,        .A = line_rows, /* not called */
                               .p = line_constraint,  .M_tmpl = M_tmpl, .A_tmpl = A_tmpl};
  ck_assert_ptr_null(create_mech(&model, y, test_context));
  SUNMatDestroy(M_tmpl);
  SUNMatDestroy(A_tmpl);
  N_VDestroy(y);
}
END_TEST

/* ------------------------------------------------------------ rank, and its use by actions -- */

/* A mass on the unit circle, by p_0 and p_1 = (1 + x) p_0, which depend on each other only on the
 * circle, above the floor z = 0, a row that is off. */
static sunrealtype off_circle(const sunrealtype *q) { return (q[0] * q[0] + q[1] * q[1] - 1) / 2; }

static int circle_p(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = off_circle(q);
  p[1] = (1 + q[0]) * p[0];
  p[2] = q[2];
  return 0;
}

static int circle_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  for (int j = 0; j < 2; j++) {
    SM_ELEMENT_D(A, 0, j) = q[j];
    SM_ELEMENT_D(A, 1, j) = (1 + q[0]) * q[j] + (j == 0 ? off_circle(q) : 0);
  }
  SM_ELEMENT_D(A, 2, 2) = 1;
  return 0;
}

static int circle_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                    void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype square = u[0] * u[0] + u[1] * u[1];
  b[0]                     = -square;
  b[1]                     = -(1 + q[0]) * square - 2 * u[0] * (q[0] * u[0] + q[1] * u[1]);
  return 0;
}

/* An impact with the floor has three rows of rank 2, the number of rows 0 and 1: these were then
 * treated as independent, and accelerations near the circle were off by several times their size. */
START_TEST(impacts_do_not_change_what_is_known_of_the_rank) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 3,         .np = 3,       .M = line_mass,
                             .A = circle_A,         .f = line_force, .p = circle_p, .b = circle_b};
  const sunrealtype y0[]  = {0.6, 0.8, 0, -0.8, 0.6, -1};
  const int named[]       = {0, 0, 1};
  MechRun *run            = mech_run_create(&model, NULL, y0);
  sunrealtype before[3], after[3];
  N_Vector y = vector_of(6, y0);
  ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){1, 1, 0}), CP_SUCCESS);
  entries(y)[0] += 1e-9;
  entries(y)[4] += 1e-8;
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, y, before, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechImpact(run->mech, 0, run->y, named, 1, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, y, after, NULL), CP_SUCCESS);
  for (int j = 0; j < 3; j++) ck_assert_double_eq(after[j], before[j]);
  N_VDestroy(y);
  mech_run_free(&run);
}
END_TEST

/* ----------------------------------------------------------------------- quick evaluations -- */

static int sparse_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)user_data;
  for (int j = 0; j < MASSES; j++) {
    SM_INDEXPTRS_S(M)[j] = SM_INDEXVALS_S(M)[j] = j;
    SM_DATA_S(M)[j]                             = 2 + q[j];
  }
  SM_INDEXPTRS_S(M)[MASSES] = MASSES;
  return 0;
}

/* Without constraints the second matrix M crashed, because there was no Schur complement. a_0 = 2 / M_00;
 * three operations. */
START_TEST(sparse_mechanisms_need_no_constraints) {
  SUNMatrix M_tmpl        = diagonal_template(MASSES);
  const CPEquations model = {CP_SIZED(CPEquations), .nu = MASSES, .M = sparse_mass, .f = line_force,
                             .M_tmpl = M_tmpl};
  MechRun *run            = mech_run_create(&model, NULL, (sunrealtype[2 * MASSES]){0});
  sunrealtype udot[MASSES];
  for (int k = 0; k < 4; k++) {
    entries(run->y)[0] = k;
    ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, NULL), CP_SUCCESS);
    ck_assert_double_le(fabs(udot[0] - SUN_RCONST(2.0) / (2 + k)), 3 * ROUNDOFF);
  }
  SUNMatDestroy(M_tmpl);
  mech_run_free(&run);
}
END_TEST

/* q_0 = sin(2 pi t), without a function v */
static int drive_p(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  p[0] = q[0] - sin(2 * acos(-1.0) * t);
  return 0;
}

static int drive_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = 1;
  return 0;
}

/* p is the same at 0.24 and 0.26, as far apart as the differences for dp/dt: the drive was taken for one that is
 * at rest, and the velocity was 0. Differences are accurate to 1e-10 here. */
START_TEST(a_drive_moves_before_its_extremum) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = MASSES, .np = 1,
                             .M = line_mass,        .A = drive_A, .p = drive_p};
  MechRun *run            = mech_run_create(&model, NULL, (sunrealtype[2 * MASSES]){0});
  const sunrealtype omega = 2 * acos(-1.0);
  for (int k = 0; k < 8; k++) {
    const sunrealtype t     = k + SUN_RCONST(0.24);
    entries(run->y)[0]      = sin(omega * t);
    entries(run->y)[MASSES] = 0;
    ck_assert_int_eq(CPMechCalcIC(run->mech, t, run->y, NULL, NULL, NULL, NULL), CP_SUCCESS);
    ck_assert_double_le(fabs(entries(run->y)[MASSES] - omega * cos(omega * t)), 1e-9);
  }
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------ auxiliary states of different sizes -- */

static int reaction(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *zdot, void *user_data) {
  (void)t, (void)q, (void)u, (void)lambda, (void)user_data;
  zdot[0] = -0.04 * z[0] + 1.0e4 * z[1] * z[2];
  zdot[2] = 3.0e7 * z[1] * z[1];
  zdot[1] = -zdot[0] - zdot[2];
  return 0;
}

static int mass_of_one(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = 1.0;
  return 0;
}

static int no_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)f, (void)user_data;
  return 0;
}

/* Robertson's reaction as auxiliary states: z_1 ends at 1e-13 of z_2, and z' is nonlinear in it. RADAU takes 90
 * steps with exact derivatives, and took 7,500 with increments in proportion to the largest state. Exact values:
 * E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, IV.10. */
START_TEST(increments_of_small_auxiliary_states_are_as_small_as_tolerances) {
  static const sunrealtype end[] = {0.2083340149701255e-7, 0.8333360770334713e-13,
                                    0.9999999791665050};
  const CPEquations model        = {CP_SIZED(CPEquations), .nu = 1,       .nz = 3,
                                    .M = mass_of_one,      .f = no_force, .zdot = reaction};
  N_Vector y = VECTOR(0, 0, 1, 0, 0), abstol = VECTOR(1e-6, 1e-6, 1e-12, 1e-17, 1e-12);
  CPMech mech      = create_mech(&model, y, test_context);
  CPIntegrator mem = CPIntegratorCreate("RADAU", test_context);
  sunrealtype t;
  IntegratorCounters stats;
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSVtolerances(mem, 1.0e-6, abstol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0e11, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
  ck_assert_int_lt(stats.nst, 300);
  for (int i = 0; i < 3; i++)
    ck_assert_double_eq_tol(N_VGetArrayPointer(y)[2 + i], end[i], 1.0e-4 * end[i]);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(abstol);
  N_VDestroy(y);
}
END_TEST

/* ---------------------------------------------------------- motions without mass are named -- */

/* u_1 = -u_0 moves no mass. */
static int lacking_M(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 0, 1) = 2;
  SM_ELEMENT_D(M, 1, 0) = SM_ELEMENT_D(M, 1, 1) = 2;
  SM_ELEMENT_D(M, 2, 2)                         = SUN_RCONST(0.5);
  return 0;
}

static int lacking_f(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = f[2] = 1;
  return 0;
}

/* The row holds u_0 or u_2. */
static int lacking_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q;
  SM_ELEMENT_D(A, 0, *(int *)user_data) = 1;
  return 0;
}

static int lacking_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                     void *user_data) {
  (void)t, (void)q;
  v[0] = u[*(int *)user_data];
  return 0;
}

static void lacking_name(CPMechName what, sunindextype i, sunrealtype t, char *name, size_t length,
                         void *user_data) {
  (void)t, (void)user_data;
  snprintf(name, length, what == CP_NAME_VELOCITY ? "joint \"%c\"" : "row \"%c\"", 'a' + (int)i);
}

START_TEST(a_motion_that_nothing_holds_is_named) {
  static const int held[] = {0, 2};
  const CPEquations model = {
      CP_SIZED(CPEquations),   .nu = 3,        .nv = 1,        .na = 1,
      .v = lacking_v,          .M = lacking_M, .f = lacking_f, .A = lacking_A,
      .row_name = lacking_name};
  sunrealtype udot[3];
  for (int k = 0; k < 2; k++) {
    int row          = held[k];
    MechRun *run     = mech_run_create(&model, &row, (sunrealtype[]){0, 0, 0, 0, 0, 0});
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot};
    const int flag   = CPMechEvaluate(run->mech, 0, run->y, &out);
    ck_assert_int_eq(flag, k ? CP_MASS_INDEFINITE : CP_SUCCESS);
    if (k)
      ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->mech)), "joint \"b\" has a motion");
    mech_run_free(&run);
  }
}
END_TEST

TEST_SUITE(regressions) {
  Suite *suite = suite_create("Mechanical systems: regressions");
  TCase *tc    = tcase_create("regressions");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, motions_have_no_column_in_lambda_jac);
  tcase_add_test(tc, lambda_jac_is_not_called_without_constraints);
  tcase_add_test(tc, many_quaternions_take_no_time);
  tcase_add_test(tc, a_jacobian_is_right_however_far_an_iteration_has_turned);
  tcase_add_test(tc, initial_states_leave_the_projector_as_it_was);
  tcase_add_test(tc, rows_of_A_without_entries_are_refused_at_once);
  tcase_add_test(tc, impacts_do_not_change_what_is_known_of_the_rank);
  tcase_add_test(tc, sparse_mechanisms_need_no_constraints);
  tcase_add_test(tc, a_drive_moves_before_its_extremum);
  tcase_add_test(tc, increments_of_small_auxiliary_states_are_as_small_as_tolerances);
  tcase_add_test(tc, a_motion_that_nothing_holds_is_named);
  suite_add_tcase(suite, tc);
  return suite;
}

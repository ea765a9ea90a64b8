/* A closed loop with redundant constraints, the spatial four-bar linkage with parallel axes,
 * against independent formulations: the planar linkage of four_bar.h, and circles. */
#include "support/mech_run.h"

#include "models/four_bar.h"
#include "models/spatial_four_bar.h"
#include "reference.h"
#include <math.h>

void dgelsy_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b,
             const int *ldb, int *jpvt, const double *rcond, int *rank, double *work,
             const int *lwork, int *info);

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

enum { NU = 18, ROWS = SPATIAL_FOUR_BAR_ROWS, RANK = 17, N = SPATIAL_FOUR_BAR_N };

static const sunrealtype G = 9.81, UNIT[3] = {1, 1, 1};

/* Bits of the loop index: frame, storage of the matrices, method */
static CPFrame frame_of(int index) { return index & 1 ? CP_FRAME_WORLD : CP_FRAME_BODY; }
static int sparse_of(int index) { return index >> 1 & 1; }
static int method_of(int index) { return index & 4 ? CV_BDF : CV_ADAMS; }

static MechRun *run_of(SpatialFourBar *linkage, int sparse, N_Vector y) {
  CPEquations model;
  ck_assert_int_eq(rigid_body_model(&linkage->bodies, sparse, test_context, &model), 0);
  MechRun *run = mech_run_create(&model, &linkage->bodies, entries(y));
  rigid_body_model_free(&model);
  return run;
}

/* The planar linkage's regular branch: theta clockwise from upright */
static void place(const SpatialFourBar *linkage, sunrealtype theta, sunrealtype rate, N_Vector y) {
  const sunrealtype upright = acos(SUN_RCONST(0.0));
  spatial_four_bar_place(linkage, (sunrealtype[]){upright - theta, 0, upright - theta},
                         (sunrealtype[]){-rate, 0, -rate}, y);
}

/* ----------------------------------------------- accelerations and reactions at given states -- */

/* Component k of a planar vector (x, y, angle) among the 6 of a body: x, y, rotation about z */
static int in_space(int k) { return k < 2 ? k : 5; }

/* Largest difference between planar [9] and its components in spatial [18], the others being 0 */
static sunrealtype planar_distance(const sunrealtype *spatial, const sunrealtype *planar) {
  sunrealtype distance = 0, out_of_plane[NU];
  for (int i = 0; i < NU; i++) out_of_plane[i] = spatial[i];
  for (int i = 0; i < 9; i++) {
    const int at     = 6 * (i / 3) + in_space(i % 3);
    distance         = fmax(distance, fabs(spatial[at] - planar[i]));
    out_of_plane[at] = 0;
  }
  for (int i = 0; i < NU; i++) distance = fmax(distance, fabs(out_of_plane[i]));
  return distance;
}

/* u' of the planar linkage, and the reactions M u' - f there */
static void planar_solution(sunrealtype theta, sunrealtype rate, sunrealtype *udot,
                            sunrealtype *reaction) {
  FourBar *planar = four_bar_create(1, G);
  N_Vector y = vector_of(four_bar_n(1), NULL), ydot = vector_copy(y);
  ck_assert_ptr_nonnull(planar);
  four_bar_state(planar, theta, rate, y);
  ck_assert_int_eq(four_bar_rhs(0, y, ydot, planar), 0);
  for (int i = 0; i < 9; i++) {
    udot[i]     = entries(ydot)[9 + i];
    reaction[i] = i % 3 == 2 ? udot[i] / 12 : udot[i] + (i % 3 == 1 ? G : 0);
  }
  four_bar_free(&planar);
  N_VDestroy(y);
  N_VDestroy(ydot);
}

/* x [m]: the solution of A^T x = b of minimum norm, A m x n dense by columns */
static void minimum_norm(SUNMatrix A, const sunrealtype *b, sunrealtype *x) {
  const int rows = (int)SM_COLUMNS_D(A), cols = (int)SM_ROWS_D(A), one = 1, lwork = 1000;
  const double rcond = 1e-10;
  double AT[NU * ROWS], work[1000];
  int jpvt[ROWS] = {0}, rank = 0, info = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) AT[i + j * rows] = SM_ELEMENT_D(A, j, i);
  for (int i = 0; i < rows; i++) x[i] = b[i];
  dgelsy_(&rows, &cols, &one, AT, &rows, x, &cols, jpvt, &rcond, &rank, work, &lwork, &info);
  ck_assert_int_eq(info, 0);
  ck_assert_int_eq(rank, RANK);
}

/* At a distance cos(theta) >= 0.3 from the singular positions, the smallest nonzero singular value
 * of A is above 0.1, and M has the condition 1,200: errors are about 1e5 roundoffs of terms below 4
 * (g + rate^2), 10 each. */
START_TEST(loop_accelerates_and_reacts_as_the_planar_one) {
  SpatialFourBar linkage;
  spatial_four_bar_create(&linkage, UNIT, 1, G, frame_of(_i));
  N_Vector y   = vector_of(N, NULL);
  SUNMatrix A  = SUNDenseMatrix(ROWS, NU, test_context);
  MechRun *run = run_of(&linkage, sparse_of(_i), y);
  CPEquations m; /* dense, for A */
  ck_assert_int_eq(rigid_body_model(&linkage.bodies, 0, test_context, &m), 0);

  for (sunrealtype theta = -1.2; theta < 6; theta += 0.4) {
    if (fabs(cos(theta)) < 0.3) continue;
    const sunrealtype rate = 1 + theta, bound = 1e5 * ROUNDOFF * 4 * (G + rate * rate) * 10;
    sunrealtype udot[NU], lambda[ROWS], reaction[NU], planar_udot[9], planar_reaction[9];
    sunrealtype pull[ROWS], least[ROWS];
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda,
                        .reaction = reaction};
    place(&linkage, theta, rate, run->y);
    ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, &out), CP_SUCCESS);
    planar_solution(theta, rate, planar_udot, planar_reaction);
    ck_assert_double_le(planar_distance(udot, planar_udot), bound);
    ck_assert_double_le(planar_distance(reaction, planar_reaction), bound);
    ck_assert_double_le(fabs(out.power), 10 * bound);
    ck_assert_int_eq(out.rank, RANK);
    ck_assert(!out.unique);

    ck_assert_int_eq(SUNMatZero(A), 0);
    ck_assert_int_eq(m.A(0, entries(run->y), A, &linkage.bodies), 0);
    for (int i = 0; i < NU; i++) pull[i] = -reaction[i];
    minimum_norm(A, pull, least);
    for (int i = 0; i < ROWS; i++) ck_assert_double_le(fabs(lambda[i] - least[i]), 10 * bound);
  }
  mech_run_free(&run);
  SUNMatDestroy(A);
  N_VDestroy(y);
}
END_TEST

/* ---------------------------------------------------------------------------- the trajectory -- */

static sunrealtype agm(sunrealtype a, sunrealtype b) {
  while (fabs(a - b) > 4 * ROUNDOFF * a) {
    const sunrealtype mean = (a + b) / 2;
    b                      = sqrt(a * b);
    a                      = mean;
  }
  return a;
}

/* theta'' = 6/5 g sin(theta): a pendulum with the half period pi / sqrt(6/5 g) / agm(1,
   cos(swing / 2)). A perturbed amplitude changes the period: errors grow by 1 + rate T, velocities
   by the rate more. */
START_TEST(loop_swings_with_the_pendulums_period) {
  const sunrealtype pi = 2 * acos(SUN_RCONST(0.0)), swing = 1, rate = sqrt(G * 6 / 5);
  const sunrealtype half = pi / rate / agm(1, cos(swing / 2));
  SpatialFourBar linkage;
  spatial_four_bar_create(&linkage, UNIT, 1, G, frame_of(_i));
  N_Vector y = vector_of(N, NULL);
  place(&linkage, pi - swing, 0, y);
  MechRun *run             = run_of(&linkage, sparse_of(_i), y);
  const sunrealtype energy = rigid_body_energy(&linkage.bodies, y);
  mech_run_start(run, method_of(_i), 1e-8);

  for (int i = 1; i <= 4; i++) {
    mech_run_to(run, i * half);
    place(&linkage, i % 2 ? pi + swing : pi - swing, 0, y);
    const sunrealtype bound = mech_run_bound(run, rate, (1 + rate) * (1 + rate * run->t));
    ck_assert_double_le(mech_run_error(run, N, entries(y)), bound);
    ck_assert_double_le(fabs(rigid_body_energy(&linkage.bodies, run->y) - energy),
                        mech_run_bound(run, rate, 3 * (G + rate))); /* of 3 kg */
  }
  CPMechOutput out = CP_INIT(CPMechOutput);
  ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
  ck_assert_int_eq(out.rank, RANK);
  ck_assert_double_le(fmax(out.position, out.velocity), run->tol);
  ck_assert_double_le(out.norms, 1e-12);
  if (wants_figures())
    printf("loop, %s, %s, %s: %ld steps, error %.1e\n", frame_of(_i) ? "space" : "body",
           sparse_of(_i) ? "sparse" : "dense", method_name(method_of(_i)), mech_run_steps(run),
           mech_run_error(run, N, entries(y)));
  mech_run_free(&run);
  N_VDestroy(y);
}
END_TEST

/* ---------------------------------------------------------------------------------- assembly -- */

static const sunrealtype CRANK_ROCKER[3] = {0.4, 0.9, 0.7};

static sunrealtype angle_of(const SpatialFourBar *linkage, int body, N_Vector y) {
  sunrealtype x[3] = {1, 0, 0};
  rigid_body_direction(&linkage->bodies, body, y, x);
  return atan2(x[1], x[0]);
}

/* Coupler and rocker are off by 0.3 rad and 0.1 m in each direction, and turned out of the plane;
 * crank and rocker have the given rates. */
static void rough(const SpatialFourBar *linkage, const sunrealtype exact[3], sunrealtype crank,
                  sunrealtype rocker, N_Vector y) {
  spatial_four_bar_place(linkage,
                         (sunrealtype[]){exact[CRANK], exact[COUPLER] + 0.3, exact[ROCKER] - 0.3},
                         (sunrealtype[]){crank, 0, rocker}, y);
  for (int body = COUPLER; body <= ROCKER; body++)
    for (int k = 0; k < 5; k++)
      if (k != 3) entries(y)[7 * body + k] += 0.1;
}

/* Attitude and angular velocity of a body are held */
static void hold(N_Vector id, int body) {
  for (int k = 3; k < 7; k++) entries(id)[7 * body + k] = 0;
  for (int k = 3; k < 6; k++) entries(id)[21 + 6 * body + k] = 0;
}

/* With the crank held, the circles determine the rest, and the velocities of B_0 and B_1 along the
 * coupler are equal: rocker' l_r sin(rocker - coupler) = crank' l_c sin(crank - coupler). */
START_TEST(rough_guess_is_assembled) {
  SpatialFourBar linkage;
  spatial_four_bar_create(&linkage, CRANK_ROCKER, 0.8, G, frame_of(_i));
  sunrealtype exact[3] = {1}, udot[NU], lambda[ROWS], omega[3];
  ck_assert_int_eq(spatial_four_bar_close(&linkage, exact), 0);
  N_Vector y = vector_of(N, NULL), id = vector_of(N, NULL), weights = vector_of(N, NULL);
  rough(&linkage, exact, 3, 0, y);
  N_Vector guess = vector_copy(y);
  N_VConst(1, id);
  N_VConst(1, weights);
  hold(id, CRANK);
  for (int k = 0; k < 7; k++) entries(weights)[7 * ROCKER + k] = 10;

  MechRun *run = run_of(&linkage, sparse_of(_i), y);
  ck_assert_msg(CPMechCalcIC(run->mech, 0, y, weights, id, udot, lambda) == CP_SUCCESS, "%s",
                run->log.text);
  CPMechOutput out        = CP_INIT(CPMechOutput);
  const sunrealtype bound = 1e-10 * 10; /* of the largest weighted component */
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, y, &out), CP_SUCCESS);
  ck_assert_double_le(fmax(out.position, out.velocity), bound);
  /* rows that repeat others disagree by that times the accelerations, below 100 */
  ck_assert_double_le(out.acceleration, 100 * bound);
  for (int i = 0; i < 3; i++) ck_assert_double_le(fabs(angle_of(&linkage, i, y) - exact[i]), bound);
  for (int i = 0; i < N; i++)
    if (entries(id)[i] == 0) ck_assert_double_eq(entries(y)[i], entries(guess)[i]);
  rigid_body_omega(&linkage.bodies, ROCKER, y, omega);
  const sunrealtype closed = 3 * CRANK_ROCKER[CRANK] * sin(exact[CRANK] - exact[COUPLER]) /
                             CRANK_ROCKER[ROCKER] / sin(exact[ROCKER] - exact[COUPLER]);
  ck_assert_double_le(fabs(omega[2] - closed), 10 * bound);
  ck_assert_double_le(fmax(fabs(omega[0]), fabs(omega[1])), bound);

  mech_run_free(&run);
  N_VDestroy(y);
  N_VDestroy(guess);
  N_VDestroy(id);
  N_VDestroy(weights);
}
END_TEST

/* The base is too far away, or both rods on the ground are held with contradictory rates. */
START_TEST(impossible_assembly_is_named) {
  SpatialFourBar linkage;
  const int far = _i / 4; /* otherwise the rates contradict each other */
  spatial_four_bar_create(&linkage, CRANK_ROCKER, far ? 2.8 : 0.8, G, frame_of(_i));
  N_Vector y = vector_of(N, NULL), id = vector_of(N, NULL);
  N_VConst(1, id);
  hold(id, CRANK);
  if (far) {
    rough(&linkage, (sunrealtype[]){1, 0, 2}, 3, 0, y);
  } else {
    const sunrealtype crank = 1;
    sunrealtype exact[3]    = {crank};
    ck_assert_int_eq(spatial_four_bar_close(&linkage, exact), 0);
    spatial_four_bar_place(&linkage, exact, (sunrealtype[]){3, 0, 0}, y);
    hold(id, ROCKER);
  }
  N_Vector guess = vector_copy(y);
  MechRun *run   = run_of(&linkage, sparse_of(_i), y);
  ck_assert_int_eq(CPMechCalcIC(run->mech, 0, y, NULL, id, NULL, NULL), CP_IC_FAIL);
  ck_assert_int_eq(same_bits(y, guess), 1);
  ck_assert_int_eq(run->log.count, 1);
  ck_assert_int_eq(run->log.code, CP_IC_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->mech)),
                     far ? "position constraint" : "velocity constraint");
  mech_run_free(&run);
  N_VDestroy(y);
  N_VDestroy(guess);
  N_VDestroy(id);
}
END_TEST

TEST_SUITE(mechanics_loop) {
  Suite *suite = suite_create("mechanics_loop");
  TCase *tcase = tcase_create("loop");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, loop_accelerates_and_reacts_as_the_planar_one, 0, 4);
  tcase_add_loop_test(tcase, loop_swings_with_the_pendulums_period, 0, 8);
  tcase_add_loop_test(tcase, rough_guess_is_assembled, 0, 4);
  tcase_add_loop_test(tcase, impossible_assembly_is_named, 0, 8);
  suite_add_tcase(suite, tcase);
  return suite;
}

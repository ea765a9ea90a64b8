/* Forces that depend on multipliers: dry friction against closed forms, and cases without a
 * solution. */
#include "support/mech_run.h"

#include <math.h>
#include <models/counters.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

/* --------------------------------------------------------------------- a block on an incline -- */

/* (s down the slope, n normal to it), m = 1, n = 0: lambda = -g cos(alpha); friction -mu |lambda|
 * tanh(s' / slow), which from 20 slow on equals -mu |lambda| to the last digit. */
typedef struct {
  sunrealtype g, alpha, mu, slow;
} Block;

static int block_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}

static int block_normal(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1;
  return 0;
}

static int block_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const Block *b = user_data;
  f[0]           = b->g * sin(b->alpha);
  f[1]           = -b->g * cos(b->alpha);
  return 0;
}

static int block_friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                          void *user_data) {
  (void)t, (void)q, (void)z;
  const Block *b = user_data;
  f[0]           = -b->mu * fabs(lambda[0]) * tanh(u[0] / b->slow);
  return 0;
}

static int block_height(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1];
  return 0;
}

static int block_friction_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                              void *user_data) {
  (void)t, (void)q, (void)z;
  const Block *b         = user_data;
  SM_ELEMENT_D(Fl, 0, 0) = -b->mu * copysign(1, lambda[0]) * tanh(u[0] / b->slow);
  return 0;
}

static CPEquations block_model(int with_jac) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu         = 2,
                       .np         = 1,
                       .M          = block_mass,
                       .A          = block_normal,
                       .f          = block_weight,
                       .f_lambda   = block_friction,
                       .p          = block_height,
                       .lambda_jac = with_jac ? block_friction_jac : NULL};
}

/* Slides with g (sin(alpha) - mu cos(alpha)); errors of the velocity grow by 1 + t in the
   position. */
START_TEST(sliding_block_is_the_closed_form) {
  Block block             = {.g = 9.81, .alpha = 0.5, .mu = 0.3, .slow = 1e-3};
  const CPEquations model = block_model(_i / 2);
  const sunrealtype a = block.g * (sin(block.alpha) - block.mu * cos(block.alpha)), t = 2;
  const sunrealtype y0[] = {0, 0, 1, 0};
  MechRun *run           = mech_run_create(&model, &block, y0);
  sunrealtype reaction[2], lambda[1];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = lambda, .reaction = reaction};
  mech_run_start(run, _i % 2 ? CV_ADAMS : CV_BDF, 1e-8);
  mech_run_to(run, t);
  const sunrealtype way = t + a * t * t / 2, bound = mech_run_bound(run, way, 1 + t);
  ck_assert_double_le(fabs(entries(run->y)[0] - way), bound);
  ck_assert_double_le(fabs(entries(run->y)[2] - (1 + a * t)), bound);
  ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
  ck_assert_double_le(fabs(lambda[0] + block.g * cos(block.alpha)), 20 * ROUNDOFF * block.g);
  ck_assert_double_eq(reaction[0], 0); /* friction is an applied force, not a reaction */
  ck_assert_double_le(fabs(out.power), 20 * ROUNDOFF * block.g);
  mech_run_free(&run);
}
END_TEST

/* With mu > tan(alpha) it comes to rest, except for a creep at slow atanh(tan(alpha) / mu), at
 * which the friction, there a line of slope mu g cos(alpha) / slow, balances the pull. Stiff: rate
 * 10^4 / s. The equilibrium damps the errors of steps; the last one leaves tol (1 + creep). */
START_TEST(a_block_that_regularised_friction_carries_creeps_as_in_the_closed_form) {
  Block block             = {.g = 9.81, .alpha = 0.2, .mu = 0.3, .slow = 1e-3};
  const CPEquations model = block_model(_i);
  const sunrealtype y0[]  = {0, 0, 1, 0};
  MechRun *run            = mech_run_create(&model, &block, y0);
  const sunrealtype creep = block.slow * atanh(tan(block.alpha) / block.mu);
  mech_run_start(run, CV_BDF, 1e-8);
  mech_run_to(run, 5);
  ck_assert_double_le(fabs(entries(run->y)[2] - creep), run->tol * (1 + creep));
  mech_run_free(&run);
}
END_TEST

/* --------------------------------------------------- a rod that slides on its end (Painleve) -- */

/* Half length 1, m = 1, J = 1/3; (x, y) the centre, theta from the floor, the end at y - sin(theta)
   = 0 slides with x' + sin(theta) theta'. Pressure N = -lambda, friction -mu |N| tanh(slip / slow)
   at the end; sigma its sign:

     N (1 + 3 cos^2 + 3 mu sigma sin cos) = g - theta'^2 sin(theta)

   (P. Painleve, Comptes Rendus 121, 1895; F. Genot, B. Brogliato, Eur. J. Mechanics A 18, 1999.)
   For sigma = -1 and mu large the left factor is negative: no N >= 0 satisfies it, nor with |N| any
   other. */
typedef struct {
  sunrealtype g, mu, slow;
  sunrealtype patch, rough; /* where the end is at x < patch, mu is rough */
  sunrealtype noise; /* the friction is off by up to this fraction of it, another one at each call */
  int calls;
} Rod;

static int rod_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  SM_ELEMENT_D(M, 2, 2)                         = SUN_RCONST(1.0) / 3;
  return 0;
}

static int rod_end(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 0, 2) = -cos(q[2]);
  return 0;
}

static int rod_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -((const Rod *)user_data)->g;
  return 0;
}

/* mu sigma */
static sunrealtype rod_grip(const Rod *rod, const sunrealtype *q, const sunrealtype *u) {
  const sunrealtype mu = q[0] - cos(q[2]) < rod->patch ? rod->rough : rod->mu;
  return mu * tanh((u[0] + sin(q[2]) * u[2]) / rod->slow);
}

static int rod_friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                        void *user_data) {
  (void)t, (void)z;
  Rod *rod = user_data;
  f[0]     = -fabs(lambda[0]) * rod_grip(rod, q, u) * (1 + rod->noise * sin(rod->calls++));
  f[2]     = sin(q[2]) * f[0];
  return 0;
}

static int rod_friction_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                            void *user_data) {
  (void)t, (void)z;
  const Rod *rod         = user_data;
  SM_ELEMENT_D(Fl, 0, 0) = -copysign(1, lambda[0]) * rod_grip(rod, q, u);
  SM_ELEMENT_D(Fl, 2, 0) = sin(q[2]) * SM_ELEMENT_D(Fl, 0, 0);
  return 0;
}

static int rod_height(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1] - sin(q[2]);
  return 0;
}

static CPEquations rod_model(int with_jac) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu         = 3,
                       .np         = 1,
                       .M          = rod_mass,
                       .A          = rod_end,
                       .f          = rod_weight,
                       .f_lambda   = rod_friction,
                       .p          = rod_height,
                       .lambda_jac = with_jac ? rod_friction_jac : NULL};
}

/* At 60 degrees, moving with the given speed, theta' = rate */
static MechRun *rod_run(const CPEquations *model, Rod *rod, sunrealtype speed, sunrealtype rate) {
  const sunrealtype theta = acos(SUN_RCONST(0.5));
  const sunrealtype y0[]  = {0, sin(theta), theta, speed, cos(theta) * rate, rate};
  return mech_run_create(model, rod, y0);
}

/* The iteration stops at changes of 1e-12 |lambda|. If it contracts by rho, the remaining error is
 * rho / (1 - rho) of that: rho = 3 mu sin cos / (1 + 3 cos^2) = 0.23 for mu = 0.3, 0.89 for
 * mu = 1.2, and 0 with the derivative. */
START_TEST(pressure_of_a_sliding_rod_is_the_closed_form) {
  const struct {
    sunrealtype mu, speed, rest;
    int with_jac;
  } cases[]               = {{0.3, 1, 1, 0},    {0.3, -1, 1, 0},  {0.3, 1, 0.1, 1},
                             {0.3, -1, 0.1, 1}, {1.2, 1, 0.1, 1}, {1.2, -1, 0.1, 1}};
  Rod rod                 = {.g = 9.81, .mu = cases[_i].mu, .slow = 1e-3, .patch = -INFINITY};
  const CPEquations model = rod_model(cases[_i].with_jac);
  const sunrealtype rate = 0.5, c = 0.5, s = sqrt(SUN_RCONST(0.75)), sigma = cases[_i].speed;
  MechRun *run = rod_run(&model, &rod, cases[_i].speed, rate);
  sunrealtype udot[3], lambda[1];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  const sunrealtype factor = 1 + 3 * c * c + 3 * rod.mu * sigma * s * c;
  const sunrealtype N      = (rod.g - rate * rate * s) / factor;
  const sunrealtype bound  = (1e-12 * cases[_i].rest + 1e-11) * N; /* and b by differences, 1e-12 */
  ck_assert_double_le(fabs(lambda[0] + N), bound);
  ck_assert_double_le(fabs(udot[0] + rod.mu * sigma * N), bound);
  ck_assert_double_le(fabs(udot[1] - (N - rod.g)), bound);
  ck_assert_double_le(fabs(udot[2] - 3 * (-c - rod.mu * sigma * s) * N), 9 * bound);
  if (cases[_i].with_jac) {
    MechCounters stats;
    ck_assert_int_eq(mech_counters(run->mech, &stats), CP_SUCCESS);
    ck_assert_int_le(stats.nlambda, 5); /* |lambda| is linear except for its sign: one Newton step */
  }
  mech_run_free(&run);
}
END_TEST

/* Forces that are known to ten digits alone, as those of rows at a narrow angle, whose multipliers the KKT solver finds to as many, determine
 * nine digits of the multipliers: the solution is the closed form above to within that, with and without the derivative. */
START_TEST(forces_known_to_ten_digits_have_a_solution_of_nine) {
  const sunrealtype c = 0.5, s = sqrt(SUN_RCONST(0.75)), rate = 0.5;
  Rod rod = {.g = 9.81, .mu = 0.3, .slow = 1e-3, .patch = -INFINITY, .noise = 1e-10};
  const CPEquations model = rod_model(_i);
  MechRun *run            = rod_run(&model, &rod, 1, rate);
  const sunrealtype N     = (rod.g - rate * rate * s) / (1 + 3 * c * c + 3 * rod.mu * s * c);
  sunrealtype udot[3], lambda[1];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  ck_assert_double_le(fabs(lambda[0] + N), 1e-9 * N);
  mech_run_free(&run);
}
END_TEST

/* The absence of a solution is reported */
START_TEST(no_pressure_is_named) {
  Rod rod                 = {.g = 9.81, .mu = 3, .slow = 1e-3, .patch = -INFINITY};
  const CPEquations model = rod_model(_i);
  MechRun *run            = rod_run(&model, &rod, -1, 0);
  sunrealtype udot[3], lambda[1];
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_LAMBDA_CONV_FAIL);
  ck_assert_int_ge(run->log.count, 1);
  ck_assert_int_eq(run->log.code, CP_LAMBDA_CONV_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->mech)), "multipliers");
  mech_run_free(&run);
}
END_TEST

/* A run onto a patch of the floor where no pressure exists: smaller and smaller steps are tried,
 * and it stops at the patch's edge, with that code. */
START_TEST(run_stops_where_the_pressure_ends) {
  Rod rod                 = {.g = 9.81, .mu = 0.3, .slow = 1e-3, .patch = -1, .rough = 3};
  const CPEquations model = rod_model(_i);
  MechRun *run            = rod_run(&model, &rod, -3, 0);
  mech_run_start(run, CV_BDF, 1e-7);
  const int flag = CPIntegratorEvolve(run->cpode, 10, run->y, &run->t, CV_NORMAL);
  ck_assert_msg(flag == CP_LAMBDA_CONV_FAIL, "%d at t = %g: %s", flag, run->t, run->log.text);
  const sunrealtype *s = entries(run->y), end = s[0] - cos(s[2]);
  ck_assert_double_gt(run->t, 0.05);              /* about 0.15 s away at 3 m/s */
  ck_assert_double_ge(end, rod.patch - run->tol); /* up to the projection */
  ck_assert_double_lt(end, rod.patch + 0.1);
  mech_run_free(&run);
}
END_TEST

/* --------------------------------------------------------------- multipliers that are zero -- */

/* M q'' = f + F lambda - A^T lambda, A q = 0: f = M a with A a = 0, so that the multipliers are
 * zero up to roundoff */
enum { DIM = 4, ROWS = 2 };
typedef struct {
  sunrealtype M[DIM][DIM], A[ROWS][DIM], F[DIM][ROWS], f[DIM], a[DIM];
} Balanced;

static int balanced_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const Balanced *b = user_data;
  (void)t, (void)q;
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < DIM; j++) SM_ELEMENT_D(M, i, j) = b->M[i][j];
  return 0;
}

static int balanced_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const Balanced *b = user_data;
  (void)t, (void)q;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < DIM; j++) SM_ELEMENT_D(A, i, j) = b->A[i][j];
  return 0;
}

static int balanced_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const Balanced *b = user_data;
  (void)t;
  for (int i = 0; i < ROWS; i++) {
    p[i] = 0;
    for (int j = 0; j < DIM; j++) p[i] += b->A[i][j] * q[j];
  }
  return 0;
}

static int balanced_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, sunrealtype *f, void *user_data) {
  const Balanced *b = user_data;
  (void)t, (void)q, (void)u, (void)z;
  for (int i = 0; i < DIM; i++) f[i] = b->f[i];
  return 0;
}

static int balanced_friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                             void *user_data) {
  const Balanced *b = user_data;
  (void)t, (void)q, (void)u, (void)z;
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < ROWS; j++) f[i] += b->F[i][j] * lambda[j];
  return 0;
}

static int balanced_friction_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                 const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                                 void *user_data) {
  const Balanced *b = user_data;
  (void)t, (void)q, (void)u, (void)z, (void)lambda;
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < ROWS; j++) SM_ELEMENT_D(Fl, i, j) = b->F[i][j];
  return 0;
}

START_TEST(forces_converge_where_multipliers_vanish) {
  static const sunrealtype size = 1e6; /* of the forces */
  unsigned long long seed       = 11;
  Balanced b;
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu         = DIM,
                             .np         = ROWS,
                             .M          = balanced_mass,
                             .A          = balanced_rows,
                             .f          = balanced_forces,
                             .f_lambda   = balanced_friction,
                             .p          = balanced_positions,
                             .lambda_jac = _i ? balanced_friction_jac : NULL};
  N_Vector y              = N_VNew_Serial(2 * DIM, test_context);
  sunrealtype udot[DIM], lambda[ROWS];
  N_VConst(0, y);
  for (int sample = 0; sample < 50; sample++) {
    sunrealtype L[DIM][DIM], along[ROWS] = {0}, G[3] = {0};
    for (int i = 0; i < DIM; i++) {
      b.a[i] = size * random_number(&seed);
      for (int j = 0; j < DIM; j++) L[i][j] = random_number(&seed);
      for (int r = 0; r < ROWS; r++) {
        b.A[r][i] = random_number(&seed) + (i == r);
        b.F[i][r] = random_number(&seed) / 20;
      }
    }
    for (int i = 0; i < DIM; i++) { /* G = A A^T, along = A a */
      for (int r = 0; r < ROWS; r++) along[r] += b.A[r][i] * b.a[i];
      G[0] += b.A[0][i] * b.A[0][i], G[1] += b.A[0][i] * b.A[1][i], G[2] += b.A[1][i] * b.A[1][i];
    }
    const sunrealtype det = G[0] * G[2] - G[1] * G[1],
                      x0  = (G[2] * along[0] - G[1] * along[1]) / det,
                      x1  = (G[0] * along[1] - G[1] * along[0]) / det;
    for (int i = 0; i < DIM; i++) b.a[i] -= b.A[0][i] * x0 + b.A[1][i] * x1;
    for (int i = 0; i < DIM; i++) {
      b.f[i] = 0;
      for (int j = 0; j < DIM; j++) {
        b.M[i][j] = i == j;
        for (int k = 0; k < DIM; k++) b.M[i][j] += L[i][k] * L[j][k];
        b.f[i] += b.M[i][j] * b.a[j];
      }
    }
    CPMech mech = create_mech(&model, y, test_context);
    ck_assert_int_eq(CPMechSetUserData(mech, &b), CP_SUCCESS);
    const int flag = CPMechAccelerations(mech, 0, y, udot, lambda);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", sample, CPObjectGetLastMessage(CP_OBJECT(mech)));
    for (int i = 0; i < DIM; i++) ck_assert_double_eq_tol(udot[i], b.a[i], 1e-10 * size);
    CPMechFree(&mech);
  }
  N_VDestroy(y);
}
END_TEST

/* Rows at an angle of 3e-3 and less cost more than five digits of the multipliers, as those of bodies that friction wedges do. Newton's iteration ends where
 * they are lost, and the accelerations satisfy the equations up to what is left: size is that of the terms. */
START_TEST(forces_converge_where_rows_are_nearly_dependent) {
  unsigned long long seed = 5;
  Balanced b              = {.M = {{1, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 4}}};
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu         = DIM,
                             .np         = ROWS,
                             .M          = balanced_mass,
                             .A          = balanced_rows,
                             .f          = balanced_forces,
                             .f_lambda   = balanced_friction,
                             .p          = balanced_positions,
                             .lambda_jac = balanced_friction_jac};
  N_Vector y              = N_VNew_Serial(2 * DIM, test_context);
  N_VConst(0, y);
  for (int sample = 0; sample < 300; sample++) {
    for (int i = 0; i < DIM; i++) {
      b.A[0][i] = random_number(&seed) + (i == 0);
      b.A[1][i] = b.A[0][i] + 3e-3 * random_number(&seed);
      b.f[i]    = random_number(&seed);
      for (int r = 0; r < ROWS; r++) b.F[i][r] = random_number(&seed) / 5;
    }
    CPMech mech = create_mech(&model, y, test_context);
    sunrealtype udot[DIM], lambda[ROWS];
    ck_assert_int_eq(CPMechSetUserData(mech, &b), CP_SUCCESS);
    const int flag = CPMechAccelerations(mech, 0, y, udot, lambda);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", sample, CPObjectGetLastMessage(CP_OBJECT(mech)));
    const sunrealtype size = 1 + fabs(lambda[0]) + fabs(lambda[1]);
    for (int i = 0; i < DIM; i++) {
      sunrealtype left = b.f[i] - b.M[i][i] * udot[i];
      for (int r = 0; r < ROWS; r++) left += (b.F[i][r] - b.A[r][i]) * lambda[r];
      ck_assert_double_le(fabs(left), 1e-10 * size);
    }
    CPMechFree(&mech);
  }
  N_VDestroy(y);
}
END_TEST

/* ---- masses at rest, m = 1 and A = 1, under f + B lambda: lambda = (1 - B)^{-1} f ---- */

enum { MANY = 6 };

/* J = 1 - B has zeros on its diagonal, so that its elimination needs exchanges of rows. */
static sunrealtype coupling(int i, int k) { return (i == k) - (i == k ? 0 : sin(1 + i + 3 * k)); }

static int ones(sunrealtype t, const sunrealtype *q, SUNMatrix X, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < MANY; i++) SM_ELEMENT_D(X, i, i) = 1;
  return 0;
}

static int pulls(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  for (int i = 0; i < MANY; i++) f[i] = 1 + i;
  return 0;
}

static int coupled(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *lambda, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  for (int i = 0; i < MANY; i++)
    for (int k = 0; k < MANY; k++) f[i] += coupling(i, k) * lambda[k];
  return 0;
}

static int coupled_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                       void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)user_data;
  for (int i = 0; i < MANY; i++)
    for (int k = 0; k < MANY; k++) SM_ELEMENT_D(Fl, i, k) = coupling(i, k);
  return 0;
}

START_TEST(multipliers_solve_forces_that_are_linear_in_them) {
  const CPEquations equations = {CP_SIZED(CPEquations),
                                 .nu         = MANY,
                                 .nv         = MANY,
                                 .M          = ones,
                                 .A          = ones,
                                 .f          = pulls,
                                 .f_lambda   = coupled,
                                 .lambda_jac = coupled_jac};
  sunrealtype y0[2 * MANY]    = {0}, lambda[MANY], udot[MANY];
  MechRun *run                = mech_run_create(&equations, NULL, y0);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  for (int i = 0; i < MANY; i++) {
    sunrealtype left = 1 + i - lambda[i], size = 1 + i;
    for (int k = 0; k < MANY; k++) {
      left += coupling(i, k) * lambda[k];
      size += fabs(coupling(i, k) * lambda[k]);
    }
    ck_assert_double_le(fabs(left), 20 * MANY * ROUNDOFF * size);
  }
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(friction) {
  Suite *suite = suite_create("friction");
  TCase *tcase = tcase_create("friction");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, sliding_block_is_the_closed_form, 0, 4);
  tcase_add_loop_test(tcase, a_block_that_regularised_friction_carries_creeps_as_in_the_closed_form,
                      0, 2);
  tcase_add_loop_test(tcase, pressure_of_a_sliding_rod_is_the_closed_form, 0, 6);
  tcase_add_loop_test(tcase, forces_known_to_ten_digits_have_a_solution_of_nine, 0, 2);
  tcase_add_loop_test(tcase, no_pressure_is_named, 0, 2);
  tcase_add_loop_test(tcase, run_stops_where_the_pressure_ends, 0, 2);
  tcase_add_loop_test(tcase, forces_converge_where_multipliers_vanish, 0, 2);
  tcase_add_test(tcase, forces_converge_where_rows_are_nearly_dependent);
  tcase_add_test(tcase, multipliers_solve_forces_that_are_linear_in_them);
  suite_add_tcase(suite, tcase);
  return suite;
}

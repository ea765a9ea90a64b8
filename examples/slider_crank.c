/* Example: rigid slider-crank with a spring-damper, ten seconds from rest.
 *
 * Crank of length a at the origin, angle q from +x. Rod of length 2, angle p; its midpoint is the
 * slider joint at (x, 0), its upper end is the crank pin, and the force F pulls its lower end. A
 * spring-damper of length l joins the middle of the crank and the middle of the rod's upper half.
 * There is no gravity.
 *
 *   M (q, x, p)'' + G^T lambda = Q        M = diag(J1, m2, J2)
 *   G (q, x, p)''              = b        the pin's acceleration
 *
 *   0 = x - cos p - a cos q               the crank pin is the rod's upper end,
 *   0 =   - sin p - a sin q               and the same for its velocity
 *
 *   l^2 = x^2 - x (cos p + a cos q) + (1 + a^2) / 4 + a cos(p - q) / 2
 *   phi = (k (l - l0) + c l') / l
 *   Q   = ( -phi a (sin(p - q)/2 + x sin q) / 2,
 *            phi (cos p/2 - x + a cos q/2) + F,
 *           -phi (x sin p - a sin(p - q)/2) / 2 - F sin p )
 *
 *   a = 0.5 m     J1 = 1 kg m^2   m2 = 1 kg     J2 = 2 kg m^2
 *   k = 1 N/m     l0 = 1 m        c = 1 N s/m   F = 1 N
 *
 * Source: E. J. Haug, Intermediate Dynamics, Prentice Hall 1992, example 6.1.8; SUNDIALS, example
 * idaSlCrank_dns. The result is compared with the values that it prints at t = 10.
 *
 * Run:       slider_crank [file.csv]
 * Expected:  a table with the row  10.0   1.27568   1.02358  -0.49881, the figures of the run, and
 *            "ok". If a file name is given, the motion is written to it every 0.05 s: t, state,
 *            energy, largest violation of the position and of the velocity constraints, size and
 *            order of the last step. The exit code is 1 if the physics is wrong or the file cannot
 *            be written, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes.h>
#include <errno.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct {
  sunrealtype a, J1, m2, J2, k, c, l0, F;
} SliderCrank;

/* ----------------------------------------------------------------------------- the mechanism -- */

/* Length l and rate l' of the spring */
static void spring(const SliderCrank *s, const sunrealtype *y, sunrealtype *l, sunrealtype *l_dot) {
  const sunrealtype a = s->a, q = y[0], x = y[1], p = y[2], qd = y[3], xd = y[4], pd = y[5];
  const sunrealtype reach = cos(p) + a * cos(q);

  *l     = sqrt(x * x - x * reach + (1 + a * a) / 4 + a * cos(p - q) / 2);
  *l_dot = (2 * x * xd - xd * reach + x * (sin(p) * pd + a * sin(q) * qd) -
            a * sin(p - q) * (pd - qd) / 2) /
           (2 * *l);
}

/* Generalised forces Q of spring, damper and F */
static void forces(const SliderCrank *s, const sunrealtype *y, sunrealtype Q[3]) {
  const sunrealtype a = s->a, q = y[0], x = y[1], p = y[2];
  sunrealtype l, l_dot;
  spring(s, y, &l, &l_dot);
  const sunrealtype phi = (s->k * (l - s->l0) + s->c * l_dot) / l;

  Q[0] = -phi * a * (sin(p - q) / 2 + x * sin(q)) / 2;
  Q[1] = phi * (cos(p) / 2 - x + a * cos(q) / 2) + s->F;
  Q[2] = -phi * (x * sin(p) - a * sin(p - q) / 2) / 2 - s->F * sin(p);
}

/* ydot = f(t, y), y = (q, x, p, q', x', p'). The accelerations follow from
   (G M^-1 G^T) lambda = G M^-1 Q - b,  (q, x, p)'' = M^-1 (Q - G^T lambda) */
static int motion(sunrealtype t, N_Vector yvec, N_Vector ydot, void *user_data) {
  (void)t;
  const SliderCrank *s = user_data;
  const sunrealtype *y = N_VGetArrayPointer(yvec);
  sunrealtype *yd      = N_VGetArrayPointer(ydot);
  const sunrealtype a = s->a, q = y[0], p = y[2], qd = y[3], pd = y[5];
  const sunrealtype M[3]    = {s->J1, s->m2, s->J2};
  const sunrealtype G[2][3] = {{a * sin(q), 1, sin(p)}, {-a * cos(q), 0, -cos(p)}};
  const sunrealtype b[2]    = {-(a * cos(q) * qd * qd + cos(p) * pd * pd),
                               -(a * sin(q) * qd * qd + sin(p) * pd * pd)};

  sunrealtype Q[3], S[2][2] = {{0, 0}, {0, 0}}, r[2] = {-b[0], -b[1]};
  forces(s, y, Q);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 3; k++) {
      r[i] += G[i][k] * Q[k] / M[k];                                   /* r = G M^-1 Q - b */
      for (int j = 0; j < 2; j++) S[i][j] += G[i][k] * G[j][k] / M[k]; /* S = G M^-1 G^T   */
    }

  const sunrealtype det       = S[0][0] * S[1][1] - S[0][1] * S[1][0];
  const sunrealtype lambda[2] = {(S[1][1] * r[0] - S[0][1] * r[1]) / det,
                                 (S[0][0] * r[1] - S[1][0] * r[0]) / det};
  for (int k = 0; k < 3; k++) {
    yd[k]     = y[3 + k];
    yd[3 + k] = (Q[k] - G[0][k] * lambda[0] - G[1][k] * lambda[1]) / M[k];
  }
  return 0;
}

/* 0 = c(t, y): the pin's position and velocity */
static int pin(sunrealtype t, N_Vector yvec, N_Vector cvec, void *user_data) {
  (void)t;
  const sunrealtype a  = ((const SliderCrank *)user_data)->a;
  const sunrealtype *y = N_VGetArrayPointer(yvec);
  const sunrealtype q = y[0], x = y[1], p = y[2], qd = y[3], xd = y[4], pd = y[5];
  sunrealtype *c = N_VGetArrayPointer(cvec);

  c[0] = x - cos(p) - a * cos(q);
  c[1] = -sin(p) - a * sin(q);
  c[2] = xd + sin(p) * pd + a * sin(q) * qd;
  c[3] = -cos(p) * pd - a * cos(q) * qd;
  return 0;
}

/* Kinetic energy, energy of the spring, and potential of F, which acts on the lower end at x + cos p */
static sunrealtype energy(const SliderCrank *s, const sunrealtype *y) {
  sunrealtype l, l_dot;
  spring(s, y, &l, &l_dot);
  return (s->J1 * y[3] * y[3] + s->m2 * y[4] * y[4] + s->J2 * y[5] * y[5]) / 2 +
         s->k * (l - s->l0) * (l - s->l0) / 2 - s->F * (y[1] + cos(y[2]));
}

/* W' = c l'^2, the power lost in the damper, which is integrated as a quadrature, so that E + W is
   constant */
static int damper_power(sunrealtype t, N_Vector y, N_Vector Wdot, void *user_data) {
  (void)t;
  const SliderCrank *s = user_data;
  sunrealtype l, l_dot;
  spring(s, N_VGetArrayPointer(y), &l, &l_dot);
  N_VGetArrayPointer(Wdot)[0] = s->c * l_dot * l_dot;
  return 0;
}

/* At rest, with the crank upright. The position of the rod is rough: CPIntegratorCalcIC moves its end to the crank pin and holds
   the crank, whose component of id is zero. */
static void initial_guess(N_Vector yvec, int id[6]) {
  sunrealtype *y = N_VGetArrayPointer(yvec);
  N_VConst(0, yvec);
  y[0] = acos(0.0);
  y[1] = 1;
  y[2] = -0.5;
  for (int i = 0; i < 6; i++) id[i] = i > 0;
}

/* -------------------------------------------------------------------------------- the report -- */

typedef struct {
  sunrealtype energy, position_violation, velocity_violation;
} Report;

static Report examine(const SliderCrank *s, sunrealtype t, N_Vector y, N_Vector cvec) {
  const sunrealtype *c = N_VGetArrayPointer(cvec);
  CHECK(pin(t, y, cvec, (void *)s));
  return (Report){.energy             = energy(s, N_VGetArrayPointer(y)),
                  .position_violation = fmax(fabs(c[0]), fabs(c[1])),
                  .velocity_violation = fmax(fabs(c[2]), fabs(c[3]))};
}

static void print_row(sunrealtype t, const sunrealtype *y, const Report *r) {
  printf("%5.1f  %8.5f  %8.5f  %8.5f   %9.6f   %8.1e  %8.1e\n", t, y[0], y[1], y[2], r->energy,
         r->position_violation, r->velocity_violation);
}

static void write_row(FILE *csv, sunrealtype t, const sunrealtype *y, const Report *r,
                      void *cvode_mem) {
  sunrealtype h;
  int order;
  CHECK(CVodeGetLastStep(cvode_mem, &h));
  CHECK(CVodeGetLastOrder(cvode_mem, &order));
  fprintf(csv, "%.2f,", t);
  for (int i = 0; i < 6; i++) fprintf(csv, "%.12e,", y[i]);
  fprintf(csv, "%.12e,%.3e,%.3e,%.6e,%d\n", r->energy, r->position_violation, r->velocity_violation,
          h, order);
}

static void print_figures(CPIntegrator mem) {
  long int steps, evaluations, setups, error_test_failures, failed_solves;
  int last_order, next_order;
  sunrealtype first_step, last_step, next_step, t;
  CHECK(CVodeGetIntegratorStats(CPIntegratorGetCVodeMem(mem), &steps, &evaluations, &setups,
                                &error_test_failures, &last_order, &next_order, &first_step,
                                &last_step, &next_step, &t));
  CHECK(CVodeGetNumStepSolveFails(CPIntegratorGetCVodeMem(mem), &failed_solves));
  sunrealtype largest;
  CHECK(CPObjectGetStat(CP_OBJECT(mem), "max_correction", &largest));
  printf("\nsteps %ld, evaluations of f %ld, evaluations of c %ld\n", steps, evaluations,
         COUNT(mem, "constraint_evals"));
  printf("rejected: %ld by the error test, %ld by the solver, %ld of these by the projection\n",
         error_test_failures, failed_solves, COUNT(mem, "projection_fails"));
  printf("projections %ld with %ld corrections and %ld factorisations; largest correction %.2f tol "
         "of the %.0f allowed\n",
         COUNT(mem, "projections"), COUNT(mem, "projection_iters"), COUNT(mem, "projection_setups"),
         largest, CP_MAX_CORRECTION_DEFAULT);
}

/* Opens the file for the CSV rows, or ends the program with a message */
static FILE *open_csv(const char *path) {
  FILE *csv = fopen(path, "w");
  if (!csv) {
    fprintf(stderr, "slider_crank: cannot write '%s': %s\n", path, strerror(errno));
    exit(1);
  }
  fprintf(csv, "t,q,x,p,q_d,x_d,p_d,energy,position_violation,velocity_violation,step,order\n");
  return csv;
}

/* A full disk is detected here at the latest */
static int close_csv(FILE *csv, const char *path) {
  const int failed = ferror(csv);
  if (!(fclose(csv) || failed)) return 1;
  fprintf(stderr, "slider_crank: could not write all of '%s'\n", path);
  return 0;
}

int main(int argc, char *argv[]) {
  enum { ROWS_PER_SECOND = 20, ROWS_PER_LINE = 10, SECONDS = 10 };
  const sunrealtype tol = 1e-8; /* of each step, relative and absolute */
  SliderCrank s         = {.a = 0.5, .J1 = 1, .m2 = 1, .J2 = 2, .k = 1, .c = 1, .l0 = 1, .F = 1};
  FILE *csv             = argc > 1 ? open_csv(argv[1]) : NULL;

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector yvec = N_VNew_Serial(6, ctx), c = N_VNew_Serial(4, ctx), W = N_VNew_Serial(1, ctx);
  CHECK_NEW(yvec);
  CHECK_NEW(c);
  CHECK_NEW(W);
  int id[6];
  initial_guess(yvec, id);
  N_VConst(0, W);
  const sunrealtype *y = N_VGetArrayPointer(yvec), *lost = N_VGetArrayPointer(W);

  CPProjector P = CPProjectorCreate(pin, yvec, c, ctx);
  CHECK_NEW(P);
  CHECK(CPProjectorSetUserData(P, &s));

  CPIntegrator mem = CPIntegratorCreate("BDF", ctx);
  CHECK_NEW(mem);
  CHECK(CPIntegratorInit(mem, motion, 0, yvec));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CPIntegratorSetProjector(mem, P));
  CHECK(CPProjectorSetFree(P, id));
  CHECK(CPIntegratorCalcIC(mem, yvec));
  CHECK(CPProjectorSetFree(P, NULL)); /* During the motion the crank is free. */

  void *cvode_mem    = CPIntegratorGetCVodeMem(mem); /* all of CVODES' functions apply */
  SUNMatrix A        = SUNDenseMatrix(6, 6, ctx);
  SUNLinearSolver LS = SUNLinSol_Dense(yvec, A, ctx);
  CHECK_NEW(A);
  CHECK_NEW(LS);
  CHECK(CVodeSetLinearSolver(cvode_mem, LS, A));
  CHECK(CVodeSetUserData(cvode_mem, &s));
  CHECK(CVodeSetMaxNumSteps(cvode_mem, 10000));
  CHECK(CVodeQuadInit(cvode_mem, damper_power, W));

  printf("t [s]   q [rad]     x [m]   p [rad]  energy [J]  violation [m]     [m/s]\n");
  sunrealtype t = 0, worst_violation = 0, worst_balance = 0;
  const sunrealtype start = energy(&s, y);
  Report r                = examine(&s, t, yvec, c);
  print_row(t, y, &r);
  if (csv) write_row(csv, t, y, &r, cvode_mem);
  for (int row = 1; row <= SECONDS * ROWS_PER_SECOND; row++) {
    CHECK(CPIntegratorEvolve(mem, (sunrealtype)row / ROWS_PER_SECOND, yvec, &t, CV_NORMAL));
    CHECK(CVodeGetQuadDky(cvode_mem, t, 0, W));
    r               = examine(&s, t, yvec, c);
    worst_violation = fmax(worst_violation, fmax(r.position_violation, r.velocity_violation));
    worst_balance   = fmax(worst_balance, fabs(r.energy + lost[0] - start));
    if (row % ROWS_PER_LINE == 0) print_row(t, y, &r);
    if (csv) write_row(csv, t, y, &r, cvode_mem);
  }
  print_figures(mem);

  /* Printed by idaSlCrank_dns; half a unit of the last digit is far above the error of this run */
  const int published =
      fabs(y[0] - 1.2757) <= 5e-5 && fabs(y[1] - 1.0236) <= 5e-5 && fabs(y[2] + 0.49881) <= 5e-6;
  /* The violation is below one step's tolerance. The energy accumulates the errors of about 500 steps,
     each times forces and speeds below 2. */
  const int consistent = worst_violation <= tol && worst_balance <= 500 * 2 * tol;
  printf("energy + loss in the damper: constant to %.1e J\n", worst_balance);
  printf("%s\n",
         published && consistent ? "ok" : "WRONG: not the published motion, or inconsistent");

  const int written = csv ? close_csv(csv, argv[1]) : 1;
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(yvec);
  N_VDestroy(c);
  N_VDestroy(W);
  CHECK(SUNContext_Free(&ctx));
  return published && consistent && written ? 0 : 1;
}

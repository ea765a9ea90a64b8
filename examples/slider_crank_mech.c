/* Example: the slider-crank of slider_crank.c, given by its masses, forces and constraints. CPMech
 * supplies the accelerations, the velocity constraints, the projection and Newton's linear solver.
 *
 *   M (q, x, p)'' + A^T lambda = Q(q, x, p, q', x', p')      M = diag(J1, m2, J2)
 *
 *   0 = x - cos p - a cos q               the crank pin is the rod's upper end
 *   0 =   - sin p - a sin q
 *
 *   W' = c l'^2                           power lost in the damper, an auxiliary state
 *
 * Q, the parameters and the source are those of slider_crank.c. The user's code, without blank lines
 * and comments, is 27 lines here (masses, pin_matrix, pin and their use in main) and 56 lines there
 * (motion, pin and the set-up of projector, matrix and linear solver; see count_user_code.cmake).
 *
 * Run:       slider_crank_mech
 * Expected:  the table of slider_crank with the row  10.0   1.27568   1.02358  -0.49881, the pin's force,
 *            the figures of the run, and "ok". The exit code is 1 if the physics is wrong, and 2 if a
 *            call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct {
  sunrealtype a, mass[3], k, c, l0, F; /* mass: J1, m2, J2 */
} SliderCrank;

/* ----------------------------------------------------------------------------- the mechanism -- */

/* Length l and rate l' of the spring, r = (q, x, p), u = r' */
static void spring(const SliderCrank *s, const sunrealtype *r, const sunrealtype *u, sunrealtype *l,
                   sunrealtype *l_dot) {
  const sunrealtype a = s->a, q = r[0], x = r[1], p = r[2], qd = u[0], xd = u[1], pd = u[2];
  const sunrealtype reach = cos(p) + a * cos(q);

  *l     = sqrt(x * x - x * reach + (1 + a * a) / 4 + a * cos(p - q) / 2);
  *l_dot = (2 * x * xd - xd * reach + x * (sin(p) * pd + a * sin(q) * qd) -
            a * sin(p - q) * (pd - qd) / 2) /
           (2 * *l);
}

/* Generalised forces Q of spring, damper and F */
static int forces(sunrealtype t, const sunrealtype *r, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *Q, void *user_data) {
  (void)t, (void)z;
  const SliderCrank *s = user_data;
  const sunrealtype a = s->a, q = r[0], x = r[1], p = r[2];
  sunrealtype l, l_dot;
  spring(s, r, u, &l, &l_dot);
  const sunrealtype phi = (s->k * (l - s->l0) + s->c * l_dot) / l;

  Q[0] = -phi * a * (sin(p - q) / 2 + x * sin(q)) / 2;
  Q[1] = phi * (cos(p) / 2 - x + a * cos(q) / 2) + s->F;
  Q[2] = -phi * (x * sin(p) - a * sin(p - q) / 2) / 2 - s->F * sin(p);
  return 0;
}

static int masses(sunrealtype t, const sunrealtype *r, SUNMatrix M, void *user_data) {
  (void)t, (void)r;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = ((const SliderCrank *)user_data)->mass[i];
  return 0;
}

/* A = dp/dr */
static int pin_matrix(sunrealtype t, const sunrealtype *r, SUNMatrix A, void *user_data) {
  (void)t;
  const sunrealtype a       = ((const SliderCrank *)user_data)->a;
  const sunrealtype G[2][3] = {{a * sin(r[0]), 1, sin(r[2])}, {-a * cos(r[0]), 0, -cos(r[2])}};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) SM_ELEMENT_D(A, i, j) = G[i][j];
  return 0;
}

/* 0 = p(r): the pin's position */
static int pin(sunrealtype t, const sunrealtype *r, sunrealtype *p, void *user_data) {
  (void)t;
  const sunrealtype a = ((const SliderCrank *)user_data)->a;
  p[0]                = r[1] - cos(r[2]) - a * cos(r[0]);
  p[1]                = -sin(r[2]) - a * sin(r[0]);
  return 0;
}

/* W' = c l'^2; E + W is constant */
static int damper_power(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, sunrealtype *W_dot,
                        void *user_data) {
  (void)t, (void)z, (void)lambda;
  const SliderCrank *s = user_data;
  sunrealtype l, l_dot;
  spring(s, r, u, &l, &l_dot);
  W_dot[0] = s->c * l_dot * l_dot;
  return 0;
}

/* y = (q, x, p, q', x', p', W): at rest, the crank upright */
static void initial_state(const SliderCrank *s, N_Vector yvec) {
  sunrealtype *y = N_VGetArrayPointer(yvec);
  N_VConst(0, yvec);
  y[0] = acos(0.0);
  y[2] = asin(-s->a);
  y[1] = cos(y[2]);
}

/* -------------------------------------------------------------------------------- the report -- */

typedef struct {
  sunrealtype energy, violation[2], pin_force;
} Report;

/* Kinetic energy, energy of the spring, and potential of F, which acts on the lower end at x + cos p. The
   multipliers are the force of the rod on the pin. */
static Report examine(const SliderCrank *s, CPMech mech, sunrealtype t, N_Vector yvec) {
  const sunrealtype *y = N_VGetArrayPointer(yvec);
  sunrealtype l, l_dot, lambda[2];
  CPMechOutput now = {CP_SIZED(CPMechOutput), .lambda = lambda};
  CHECK(CPMechEvaluate(mech, t, yvec, &now));
  spring(s, y, y + 3, &l, &l_dot);
  return (Report){.energy = now.kinetic + s->k * (l - s->l0) * (l - s->l0) / 2 -
                            s->F * (y[1] + cos(y[2])),
                  .violation = {now.position, now.velocity},
                  .pin_force = hypot(lambda[0], lambda[1])};
}

static void print_row(sunrealtype t, const sunrealtype *y, const Report *r) {
  printf("%5.1f  %8.5f  %8.5f  %8.5f   %9.6f   %8.1e  %8.1e   %9.6f\n", t, y[0], y[1], y[2],
         r->energy, r->violation[0], r->violation[1], r->pin_force);
}

static void print_figures(CPIntegrator mem, CPMech mech) {
  long int steps;
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps));
  sunrealtype largest;
  CHECK(CPObjectGetStat(CP_OBJECT(mem), "max_correction", &largest));
  printf("\nsteps %ld, evaluations of Q %ld, of A %ld\n", steps, COUNT(mech, "force_evals"),
         COUNT(mech, "constraint_matrix_evals"));
  printf("factorisations: %ld for accelerations, %ld for Newton's method, %ld for projections\n",
         COUNT(mech, "kkt_factorizations"), COUNT(mech, "newton_factorizations"),
         COUNT(mech, "projection_factorizations"));
  printf("projections %ld with %ld corrections; largest correction %.2f tol "
         "of the %.0f allowed\n",
         COUNT(mem, "projections"), COUNT(mem, "projection_iters"), largest,
         CP_MAX_CORRECTION_DEFAULT);
}

int main(void) {
  enum { ROWS_PER_SECOND = 20, ROWS_PER_LINE = 10, SECONDS = 10 };
  const sunrealtype tol = 1e-8; /* of each step, relative and absolute */
  SliderCrank s         = {.a = 0.5, .mass = {1, 1, 2}, .k = 1, .c = 1, .l0 = 1, .F = 1};

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector yvec = N_VNew_Serial(7, ctx);
  CHECK_NEW(yvec);
  initial_state(&s, yvec);
  const sunrealtype *y = N_VGetArrayPointer(yvec), *lost = y + 6;

  CPEquations model = {CP_SIZED(CPEquations), .nu = 3,     .np = 2, .M = masses,
                       .A = pin_matrix,       .f = forces, .p = pin};
  model.nz          = 1;
  model.zdot        = damper_power;
  model.model_data  = &s;
  CPModel made      = CPModelCreate(&model);
  CPMech mech       = CPMechCreate(made, yvec, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);

  CPIntegrator mem = CPIntegratorCreate("BDF", ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, 0, yvec));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 10000));

  printf("t [s]   q [rad]     x [m]   p [rad]  energy [J]  violation [m]     [m/s]     pin [N]\n");
  sunrealtype t = 0, worst_violation = 0, worst_balance = 0;
  Report r                = examine(&s, mech, t, yvec);
  const sunrealtype start = r.energy;
  print_row(t, y, &r);
  for (int row = 1; row <= SECONDS * ROWS_PER_SECOND; row++) {
    CHECK(CPIntegratorEvolve(mem, (sunrealtype)row / ROWS_PER_SECOND, yvec, &t, CV_NORMAL));
    r               = examine(&s, mech, t, yvec);
    worst_violation = fmax(worst_violation, fmax(r.violation[0], r.violation[1]));
    worst_balance   = fmax(worst_balance, fabs(r.energy + lost[0] - start));
    if (row % ROWS_PER_LINE == 0) print_row(t, y, &r);
  }
  print_figures(mem, mech);

  /* Printed by idaSlCrank_dns; half a unit of the last digit is far above the error of this run */
  const int published =
      fabs(y[0] - 1.2757) <= 5e-5 && fabs(y[1] - 1.0236) <= 5e-5 && fabs(y[2] + 0.49881) <= 5e-6;
  /* The violation is below one step's tolerance. The energy accumulates the errors of about 500 steps,
     each times forces and speeds below 2. */
  const int consistent = worst_violation <= tol && worst_balance <= 500 * 2 * tol;
  printf("energy + loss in the damper: constant to %.1e J\n", worst_balance);
  printf("%s\n",
         published && consistent ? "ok" : "WRONG: not the published motion, or inconsistent");

  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(yvec);
  CHECK(SUNContext_Free(&ctx));
  return published && consistent ? 0 : 1;
}

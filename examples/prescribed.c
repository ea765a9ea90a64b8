/* Example: two masses between springs and dampers, the first of which is driven along x1 = g(t) by
 * the three kinds of prescribed motions, compared with the closed form.
 *
 *   wall --k1,c1-- m1 --k2,c2-- m2          M x'' + C x' + K x = (F, 0),   x1(t) = g(t)
 *
 *   M = diag(m1, m2)    K = [k1 + k2, -k2; -k2, k2]    C = [c1 + c2, -c2; -c2, c2]
 *   m1 = 2 kg   k1 = 4 N/m   c1 = 0.4 N s/m     m2 = 1 kg   k2 = 9 N/m   c2 = 0.6 N s/m
 *
 *   DIRECT   x1 = g is a constraint of positions, with its rates and a multiplier, -F
 *   RATE     x1' = g' is a constraint of velocities, with a multiplier; x1 is integrated, and drifts
 *   FULL     x1, x1', x1'' are replaced by g, g', g''; F is the residual of the first equation
 *
 * Closed form: r = x2 - g obeys m2 r'' + c2 r' + k2 r = -m2 g'', an oscillator, and
 * F = m1 g'' + c1 g' + k1 g - c2 r' - k2 r. Both masses rest at t = 0: the drive begins with an impact
 * on m1.
 *
 *   quick return   g = a atan2(R sin wt, 1 - R cos wt) = a sum_k R^k sin(k wt) / k, slow in one
 *                  direction and fast in the other, with a = 0.5 m, R = 0.8, w = 1.3 /s, over 100
 *                  periods; g', g'' by formula.
 *   triangle       g rises and falls at 0.4 m/s, for 2 s each; g', g'' by differences. At each kink
 *                  the run stops (CVodeSetStopTime), the data of g change to the next branch,
 *                  CPMechImpact makes the velocities jump, and CPIntegratorReInit restarts. Each branch of g
 *                  is a line that continues beyond its ends, so that no difference contains a kink.
 *                  The impulse is m1 times the jump of g'.
 *   unstopped      The same without stops: the run ends at the first kink.
 *
 * Expected:  a table of errors, in which only x1 of RATE drifts, and "ok". The exit code is 1 if an
 *            error is too large, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { PERIODS = 100, LEGS = 10, ROWS = 20 /* comparisons in a period or leg */ };

static const sunrealtype m1 = 2, k1 = 4, c1 = 0.4, m2 = 1, k2 = 9, c2 = 0.6;
static const sunrealtype a = 0.5, R = 0.8, w = 1.3, period = 4.83321946706122; /* 2 pi / w */
static const sunrealtype speed = 0.4, T = 2;                                   /* of a leg */
static const sunrealtype tol = 1e-8; /* of each step, relative and absolute */

/* ------------------------------------------------------------------------------ the motions -- */

static int quick_return(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = a * atan2(R * sin(w * t), 1 - R * cos(w * t));
  return 0;
}

static int quick_return_rate(sunrealtype t, sunrealtype *gd, void *data) {
  (void)data;
  *gd = a * w * R * (cos(w * t) - R) / (1 - 2 * R * cos(w * t) + R * R);
  return 0;
}

static int quick_return_curvature(sunrealtype t, sunrealtype *gdd, void *data) {
  (void)data;
  *gdd = -a * w * w * R * (1 - R * R) * sin(w * t) / pow(1 - 2 * R * cos(w * t) + R * R, 2);
  return 0;
}

/* Leg k goes up if k is even. data: the present leg */
static int triangle(sunrealtype t, sunrealtype *g, void *data) {
  const int k         = *(const int *)data;
  const sunrealtype s = speed * (t - k * T);
  *g                  = k % 2 ? speed * T - s : s;
  return 0;
}

/* All legs with their kinks, for the run that does not stop; data is not used */
static int zigzag(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  return triangle(t, g, &(int){(int)floor(t / T)});
}

static int zigzag_rate(sunrealtype t, sunrealtype *gd, void *data) {
  (void)data;
  *gd = (int)floor(t / T) % 2 ? -speed : speed;
  return 0;
}

static int zigzag_curvature(sunrealtype t, sunrealtype *gdd, void *data) {
  (void)t, (void)data;
  *gdd = 0;
  return 0;
}

/* -------------------------------------------------------------------------- the closed form -- */

typedef struct {
  sunrealtype t, g, gd, gdd, r, rd;
} Exact;

/* The motion at t; leg < 0: the quick return */
static Exact motion(sunrealtype t, int leg) {
  Exact e = {.t = t};
  if (leg < 0) {
    quick_return(t, &e.g, NULL);
    quick_return_rate(t, &e.gd, NULL);
    quick_return_curvature(t, &e.gdd, NULL);
  } else {
    triangle(t, &e.g, &leg);
    e.gd = leg % 2 ? -speed : speed;
  }
  return e;
}

/* r = P solves the equation of r, harmonic by harmonic; P = 0 on a leg, where g'' = 0 */
static void particular(sunrealtype t, int leg, sunrealtype *P, sunrealtype *Pd) {
  enum { HARMONICS = 160 }; /* 0.8^160 = 3e-16 */
  *P = *Pd = 0;
  for (int k = 1; leg < 0 && k <= HARMONICS; k++) {
    const sunrealtype kw = k * w, stiff = k2 / m2 - kw * kw, damp = c2 / m2 * kw;
    const sunrealtype size = a * pow(R, k) / k * kw * kw / (stiff * stiff + damp * damp);
    *P += size * (stiff * sin(kw * t) - damp * cos(kw * t));
    *Pd += size * kw * (stiff * cos(kw * t) + damp * sin(kw * t));
  }
}

/* P and a damped oscillation from the values at start */
static Exact exact_after(const Exact *start, sunrealtype t, int leg) {
  const sunrealtype d = c2 / m2 / 2, f = sqrt(k2 / m2 - d * d), tau = t - start->t;
  sunrealtype P0, Pd0, P, Pd;
  Exact e = motion(t, leg);
  particular(start->t, leg, &P0, &Pd0);
  particular(t, leg, &P, &Pd);
  const sunrealtype h0 = start->r - P0, s0 = (start->rd - Pd0 + d * h0) / f;
  const sunrealtype h = exp(-d * tau) * (h0 * cos(f * tau) + s0 * sin(f * tau));
  e.r                 = P + h;
  e.rd                = Pd - d * h + exp(-d * tau) * f * (s0 * cos(f * tau) - h0 * sin(f * tau));
  return e;
}

/* At the beginning of a leg x2 and x2' are continuous */
static Exact exact_kink(const Exact *end, int leg) {
  Exact e = motion(end->t, leg);
  e.r     = end->r;
  e.rd    = end->rd + end->gd - e.gd;
  return e;
}

static sunrealtype exact_force(const Exact *e) {
  return m1 * e->gdd + c1 * e->gd + k1 * e->g - c2 * e->rd - k2 * e->r;
}

/* ------------------------------------------------------------------------------ the system -- */

static SUNMatrix matrix(sunrealtype a11, sunrealtype a12, sunrealtype a22, SUNContext ctx) {
  SUNMatrix A = SUNDenseMatrix(2, 2, ctx);
  CHECK_NEW(A);
  SM_ELEMENT_D(A, 0, 0) = a11;
  SM_ELEMENT_D(A, 0, 1) = SM_ELEMENT_D(A, 1, 0) = a12;
  SM_ELEMENT_D(A, 1, 1)                         = a22;
  return A;
}

/* x1 moves by g */
static CPMech two_masses(const CPMotion *g, N_Vector y, SUNContext ctx) {
  SUNMatrix M = matrix(m1, 0, m2, ctx), K = matrix(k1 + k2, -k2, k2, ctx);
  SUNMatrix C             = matrix(c1 + c2, -c2, c2, ctx);
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,      .M_tmpl = M,  .damping = C,
                             .stiffness = K,        .motions = g, .nmotions = 1};
  CPModel made            = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);
  SUNMatDestroy(M);
  SUNMatDestroy(C);
  SUNMatDestroy(K);
  return mech;
}

/* Largest errors; those of x1 are within the first, the first 10, and all 100 periods or legs; -1 if not measured */
typedef struct {
  sunrealtype x1[3], x2, force, impulse;
} Errors;

typedef struct {
  SUNContext ctx;
  N_Vector y; /* (x1, x2, x1', x2') */
  CPMech mech;
  CPIntegrator mem;
  sunrealtype t;
  CPMotionKind how;
  Errors errors;
} Run;

/* The velocities jump at t to those of g; the impulse that m1 gets is minus that of the row */
static void strike(Run *run, sunrealtype jump) {
  sunrealtype impulse;
  const int has_row = run->how != CP_MOTION_FULL;
  CHECK(CPMechImpact(run->mech, run->t, run->y, NULL, 0, has_row ? &impulse : NULL));
  if (has_row) run->errors.impulse = fmax(run->errors.impulse, fabs(impulse + m1 * jump));
}

static Run begin(CPMotionKind how, CPMotionFn g, CPMotionFn gd, CPMotionFn gdd, void *data) {
  Run run = {.how = how, .errors = {.x1 = {-1, -1, -1}, .impulse = -1}};
  CHECK(SUNContext_Create(SUN_COMM_NULL, &run.ctx));
  run.y = N_VNew_Serial(4, run.ctx);
  CHECK_NEW(run.y);
  N_VConst(0, run.y);
  const CPMotion along = {
      .coordinate = 0, .kind = how, .g = g, .gd = gd, .gdd = gdd, .step = 0.1, .data = data};
  run.mech = two_masses(&along, run.y, run.ctx);
  strike(&run, motion(0, g == quick_return ? -1 : 0).gd);

  run.mem = CPIntegratorCreate("BDF", run.ctx);
  CHECK_NEW(run.mem);
  CHECK(CPMechAttach(run.mech, run.mem, 0, run.y));
  CHECK(CPIntegratorSStolerances(run.mem, tol, tol));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(run.mem), 100000));
  return run;
}

static void end(Run *run) {
  CPIntegratorFree(&run->mem);
  CPMechFree(&run->mech);
  N_VDestroy(run->y);
  CHECK(SUNContext_Free(&run->ctx));
}

static void compare(Run *run, const Exact *e, sunrealtype *x1) {
  const sunrealtype *y = N_VGetArrayPointer(run->y);
  sunrealtype reaction[2];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .reaction = reaction};
  CHECK(CPMechEvaluate(run->mech, run->t, run->y, &out));
  *x1               = fmax(*x1, fabs(y[0] - e->g));
  run->errors.x2    = fmax(run->errors.x2, fabs(y[1] - e->g - e->r));
  run->errors.force = fmax(run->errors.force, fabs(reaction[0] - exact_force(e)));
}

/* ---------------------------------------------------------------------------------- the runs -- */

static Errors run_quick_return(CPMotionKind how) {
  Run run          = begin(how, quick_return, quick_return_rate, quick_return_curvature, NULL);
  const Exact rest = {0}, start = exact_kink(&rest, -1);
  sunrealtype *x1 = run.errors.x1;
  for (int row = 1; row <= PERIODS * ROWS; row++) {
    CHECK(CPIntegratorEvolve(run.mem, row * period / ROWS, run.y, &run.t, CV_NORMAL));
    const Exact e = exact_after(&start, run.t, -1);
    compare(&run, &e, row <= ROWS ? &x1[0] : row <= 10 * ROWS ? &x1[1] : &x1[2]);
  }
  end(&run);
  return run.errors;
}

static Errors run_triangle(CPMotionKind how) {
  int leg     = 0;
  Run run     = begin(how, triangle, NULL, NULL, &leg);
  Exact start = {0}, e = {0};
  for (leg = 0; leg < LEGS; leg++) {
    start = exact_kink(&e, leg);
    if (leg > 0) {
      strike(&run, start.gd - e.gd);
      CHECK(CPIntegratorReInit(run.mem, run.t, run.y));
    }
    CHECK(CVodeSetStopTime(CPIntegratorGetCVodeMem(run.mem), (leg + 1) * T));
    for (int row = 1; row <= ROWS; row++) {
      CHECK(CPIntegratorEvolve(run.mem, (leg + (sunrealtype)row / ROWS) * T, run.y, &run.t,
                               CV_NORMAL));
      e = exact_after(&start, run.t, leg);
      compare(&run, &e, &run.errors.x1[leg == 0 ? 0 : 1]);
    }
  }
  end(&run);
  return run.errors;
}

/* The message is printed below */
static void quiet(int code, const char *function, const char *msg, void *data) {
  (void)code, (void)function, (void)msg, (void)data;
}

/* Returns 1 if the run ends at the kink with CP_PROJ_CORRECTION */
static int run_unstopped(CPMotionKind how) {
  Run run = begin(how, zigzag, zigzag_rate, zigzag_curvature, NULL);
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), quiet, NULL));
  const int flag = CPIntegratorEvolve(run.mem, 2 * T, run.y, &run.t, CV_NORMAL);
  char *name     = CPGetReturnFlagName(flag);
  printf("%s at t = %.6f\n", name, run.t);
  free(name);
  end(&run);
  return flag == CP_PROJ_CORRECTION && fabs(run.t - T) <= tol;
}

/* ------------------------------------------------------------------------------- judgement -- */

/* Local errors are below tol, grow at most by omega_0 = 3, and decay with 0.3 /s, so that those of the
   last 500 steps matter. A drift d of x1 moves x2 as well, with overshoot up to twice as far. The error
   of F follows from the stiffnesses, 4 + 2 * 9 N/m, and the dampers. */
static int is_right(CPMotionKind how, const Errors *e) {
  const sunrealtype x1 = fmax(fmax(e->x1[0], e->x1[1]), e->x1[2]);
  const sunrealtype x2 = 500 * 3 * tol + 2 * x1;
  return (how == CP_MOTION_RATE || x1 <= 1e-15) && e->x2 <= x2 && e->force <= 25 * x2 &&
         e->impulse <= 1e-12;
}

static void print_error(sunrealtype error) {
  if (error < 0) printf("  %7s", "-");
  else printf("  %7.1e", error);
}

static int report(const char *name, const char *way, CPMotionKind how, const Errors *e) {
  printf("%-12s  %-6s", name, way);
  for (int i = 0; i < 3; i++) print_error(e->x1[i]);
  print_error(e->x2);
  print_error(e->force);
  print_error(e->impulse);
  printf("\n");
  return is_right(how, e);
}

int main(void) {
  static const struct {
    CPMotionKind how;
    const char *name;
  } ways[] = {{CP_MOTION_DIRECT, "DIRECT"}, {CP_MOTION_RATE, "RATE"}, {CP_MOTION_FULL, "FULL"}};
  int ok   = 1;
  printf("errors                x1 [m] after                x2 [m]   F [N]    impulse\n");
  printf("motion        way     1 period 10       100                         [N s]\n");
  for (int i = 0; i < 3; i++) {
    const Errors e = run_quick_return(ways[i].how);
    ok &= report("quick return", ways[i].name, ways[i].how, &e);
    if (ways[i].how == CP_MOTION_RATE) ok &= e.x1[2] > 10 * e.x1[0]; /* it drifts */
  }
  for (int i = 0; i < 3; i++) {
    const Errors e = run_triangle(ways[i].how);
    ok &= report("triangle", ways[i].name, ways[i].how, &e);
  }
  for (int i = 0; i < 3; i++) {
    printf("unstopped     %-6s  ", ways[i].name);
    ok &= run_unstopped(ways[i].how);
  }
  printf("%s\n", ok ? "ok" : "WRONG: not the closed form, or not at the kink");
  return ok ? 0 : 1;
}

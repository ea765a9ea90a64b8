/* Passages through singular positions: BDF, Adams, DOP853, BS54, BS32 and RADAU on planar linkages in absolute
 * coordinates whose rods pass through one line, where other motions branch off.
 *
 *   singular [linkage|all [method|all [tolerances per decade [from [to]]]]]
 *
 * linkage and method: the beginning of the name; from, to: -log10 of the tolerances. Prints for
 * each run steps, evaluations of f and the largest error of the positions at 40 times; for BDF and
 * Adams also the error of CVODES in the single coordinate of the motion, which has no singular
 * position. A motion on another branch has an error of radians. */
#include "check.h"
#include "mech.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>
#include <models/model.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ---- linkages of uniform rods, 1 kg and 1 m unless stated otherwise ---- */

enum { MAX_RODS = 4, MAX_JOINTS = 6, OUTPUTS = 40, MOST_STEPS = 200000 };

/* The points at s (in lengths, from the centre) of rod a and of rod b, -1: the ground at (x, y); only_y: a slider */
typedef struct {
  int a;
  double s;
  int b;
  double r, x, y;
  int only_y;
} Pin;

typedef struct {
  const char *name;
  int nrods, npins, rows;
  double length[MAX_RODS];
  Pin pin[MAX_JOINTS];
  double theta0, rate0;
  /* the branch: angle of rod i, coefficient of theta and constant; q follows from the pins */
  int sign[MAX_RODS];
  double offset[MAX_RODS];
  double centre_x[MAX_RODS], cos_x[MAX_RODS],
      sin_y[MAX_RODS]; /* x = centre + cos_x cos theta, y = sin_y sin theta */
} Linkage;

static const double gravity = 9.81;

static int get_rows(const Linkage *l) {
  int rows = 0;
  for (int k = 0; k < l->npins; k++) rows += l->pin[k].only_y ? 1 : 2;
  return rows;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  const Linkage *l = data;
  (void)t, (void)q;
  SUNMatZero(M);
  for (int i = 0; i < l->nrods; i++) {
    SM_ELEMENT_D(M, 3 * i, 3 * i) = SM_ELEMENT_D(M, 3 * i + 1, 3 * i + 1) = l->length[i];
    SM_ELEMENT_D(M, 3 * i + 2, 3 * i + 2) = pow(l->length[i], 3) / 12;
  }
  return 0;
}

static int force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *f, void *data) {
  const Linkage *l = data;
  (void)t, (void)q, (void)u, (void)z;
  for (int i = 0; i < l->nrods; i++)
    f[3 * i] = 0, f[3 * i + 1] = -gravity * l->length[i], f[3 * i + 2] = 0;
  return 0;
}

/* x: the point at s of a rod */
static void point(const Linkage *l, const sunrealtype *q, int rod, double s, double *x) {
  const double c = s * l->length[rod];
  x[0] = q[3 * rod] + c * cos(q[3 * rod + 2]), x[1] = q[3 * rod + 1] + c * sin(q[3 * rod + 2]);
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const Linkage *l = data;
  (void)t;
  for (int k = 0, row = 0; k < l->npins; k++) {
    const Pin *j = &l->pin[k];
    double a[2], b[2] = {j->x, j->y};
    point(l, q, j->a, j->s, a);
    if (j->b >= 0) point(l, q, j->b, j->r, b);
    if (!j->only_y) p[row++] = a[0] - b[0];
    p[row++] = a[1] - b[1];
  }
  return 0;
}

static void put_end(SUNMatrix A, int row, int only_y, const Linkage *l, const sunrealtype *q,
                    int rod, double s, double sign) {
  const double c = s * l->length[rod], phi = q[3 * rod + 2];
  if (!only_y) {
    SM_ELEMENT_D(A, row, 3 * rod) += sign;
    SM_ELEMENT_D(A, row, 3 * rod + 2) -= sign * c * sin(phi);
    row++;
  }
  SM_ELEMENT_D(A, row, 3 * rod + 1) += sign;
  SM_ELEMENT_D(A, row, 3 * rod + 2) += sign * c * cos(phi);
}

static int gradient(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  const Linkage *l = data;
  (void)t;
  SUNMatZero(A);
  for (int k = 0, row = 0; k < l->npins; k++) {
    const Pin *j = &l->pin[k];
    put_end(A, row, j->only_y, l, q, j->a, j->s, 1);
    if (j->b >= 0) put_end(A, row, j->only_y, l, q, j->b, j->r, -1);
    row += j->only_y ? 1 : 2;
  }
  return 0;
}

static int acceleration(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                        void *data) {
  const Linkage *l = data;
  (void)t;
  for (int k = 0, row = 0; k < l->npins; k++) {
    const Pin *j = &l->pin[k];
    double x = 0, y = 0;
    for (int end = 0; end < 2; end++) {
      const int rod = end ? j->b : j->a;
      if (rod < 0) continue;
      const double c = (end ? -j->r : j->s) * l->length[rod], w = u[3 * rod + 2];
      x += c * w * w * cos(q[3 * rod + 2]), y += c * w * w * sin(q[3 * rod + 2]);
    }
    if (!j->only_y) b[row++] = x;
    b[row++] = y;
  }
  return 0;
}

static void state(const Linkage *l, double theta, double rate, sunrealtype *y) {
  sunrealtype *u = y + 3 * l->nrods;
  for (int i = 0; i < l->nrods; i++) {
    y[3 * i]     = l->centre_x[i] + l->cos_x[i] * cos(theta);
    y[3 * i + 1] = l->sin_y[i] * sin(theta);
    y[3 * i + 2] = l->sign[i] * theta + l->offset[i];
    u[3 * i]     = -l->cos_x[i] * sin(theta) * rate;
    u[3 * i + 1] = l->sin_y[i] * cos(theta) * rate;
    u[3 * i + 2] = l->sign[i] * rate;
  }
}

/* (theta', theta'') from the kinetic energy J(theta) theta'^2 / 2 = const - V(theta) */
static void one_coordinate(const Linkage *l, const double *x, double *dx) {
  double J = 0, dJ = 0, dV = 0;
  const double s = sin(x[0]), c = cos(x[0]);
  for (int i = 0; i < l->nrods; i++) {
    const double m = l->length[i], I = m * m * m / 12, a = l->cos_x[i], b = l->sin_y[i];
    J += m * (a * a * s * s + b * b * c * c) + I * l->sign[i] * l->sign[i];
    dJ += 2 * m * (a * a - b * b) * s * c;
    dV += m * gravity * b * c;
  }
  dx[0] = x[1];
  dx[1] = (-dV - dJ * x[1] * x[1] / 2) / J;
}

static void exact(const Linkage *l, double from, double to, double *x) {
  const int n    = 5000;
  const double h = (to - from) / n;
  for (int i = 0; i < n; i++) {
    double k[4][2], z[2];
    one_coordinate(l, x, k[0]);
    for (int j = 1; j < 4; j++) {
      for (int d = 0; d < 2; d++) z[d] = x[d] + (j == 3 ? h : h / 2) * k[j - 1][d];
      one_coordinate(l, z, k[j]);
    }
    for (int d = 0; d < 2; d++) x[d] += h / 6 * (k[0][d] + 2 * k[1][d] + 2 * k[2][d] + k[3][d]);
  }
}

static int one_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t;
  one_coordinate(data, N_VGetArrayPointer(y), N_VGetArrayPointer(ydot));
  return 0;
}

/* The largest error of the angle by CVODES in the single coordinate */
static double one_error(const Linkage *l, int lmm, double tol, double t_end, SUNContext ctx) {
  N_Vector y  = N_VNew_Serial(2, ctx);
  double x[2] = {l->theta0, l->rate0}, error = 0;
  NV_Ith_S(y, 0) = x[0], NV_Ith_S(y, 1) = x[1];
  void *mem          = CHECK_POINTER(CVodeCreate(lmm, ctx));
  SUNMatrix A        = SUNDenseMatrix(2, 2, ctx);
  SUNLinearSolver LS = SUNLinSol_Dense(y, A, ctx);
  CHECK(CVodeInit(mem, one_rhs, 0, y));
  CHECK(CVodeSStolerances(mem, tol, tol));
  CHECK(CVodeSetLinearSolver(mem, LS, A));
  CHECK(CVodeSetMaxNumSteps(mem, 200000));
  CHECK(CVodeSetUserData(mem, (void *)l));
  for (int i = 1; i <= OUTPUTS; i++) {
    sunrealtype t;
    CHECK(CVode(mem, t_end * i / OUTPUTS, y, &t, CV_NORMAL));
    exact(l, t_end * (i - 1) / OUTPUTS, t_end * i / OUTPUTS, x);
    error = fmax(error, fabs(x[0] - NV_Ith_S(y, 0)));
  }
  CVodeFree(&mem);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  N_VDestroy(y);
  return error;
}

#define GROUND_PIN(rod, end, gx) \
  { .a = rod, .s = end, .b = -1, .x = gx }
#define JOINT_PIN(rod, end, other, o) \
  { .a = rod, .s = end, .b = other, .r = o }

static const Linkage linkages[] = {
    {.name     = "window",
     .nrods    = 3,
     .npins    = 4,
     .length   = {1, 1, 1},
     .theta0   = 1,
     .rate0    = 3,
     .pin      = {GROUND_PIN(0, -.5, 0), GROUND_PIN(1, -.5, 1), JOINT_PIN(0, .5, 2, -.5),
                  JOINT_PIN(1, .5, 2, .5)},
     .sign     = {1, 1, 0},
     .centre_x = {0, 1, .5},
     .cos_x    = {.5, .5, 1},
     .sin_y    = {.5, .5, 1}},
    /* a parallelogram with a third parallel rod: a row is dependent everywhere */
    {.name     = "redundant",
     .nrods    = 4,
     .npins    = 6,
     .length   = {1, 1, 2, 1},
     .theta0   = 1,
     .rate0    = 3,
     .pin      = {GROUND_PIN(0, -.5, 0), GROUND_PIN(1, -.5, 2), JOINT_PIN(0, .5, 2, -.5),
                  JOINT_PIN(1, .5, 2, .5), GROUND_PIN(3, -.5, 1), JOINT_PIN(3, .5, 2, 0)},
     .sign     = {1, 1, 0, 1},
     .centre_x = {0, 2, 1, 1},
     .cos_x    = {.5, .5, 1, .5},
     .sin_y    = {.5, .5, 1, .5}},
    /* crank and rod of equal length: the slider can stay at the crank's bearing */
    {.name   = "crank",
     .nrods  = 2,
     .npins  = 3,
     .length = {1, 1},
     .theta0 = 1,
     .rate0  = 6,
     .pin = {GROUND_PIN(0, -.5, 0), JOINT_PIN(0, .5, 1, -.5), {.a = 1, .s = .5, .b = -1, .only_y = 1}},
     .sign  = {1, -1},
     .cos_x = {.5, 1.5},
     .sin_y = {.5, .5}},
};
enum { NLINKAGES = sizeof linkages / sizeof *linkages };

/* ---- problems: the linkages, and N windows ---- */

typedef struct {
  char name[32];
  CPPlugin *model; /* if NULL, the linkage */
  const Linkage *linkage;
  CPEquations mech;
  void *data;
  int n, nq;
  double t_end;
} Problem;

/* Stores the newest message of a failure. */
static void keep(int code, const char *function, const char *message, void *data) {
  (void)function;
  char *text = data;
  if (code < 0) snprintf(text, 400, "%s", message);
}

static Problem windows(int N, SUNContext ctx) {
  char message[200];
  const CPPluginType *type = model_find("four_bar");
  sunrealtype values[]     = {N, gravity};
  Problem p                = {.t_end = 20};
  snprintf(p.name, sizeof p.name, "four_bar%d", N);
  p.model = CHECK_POINTER(CPPluginCreate(type, values, ctx, message, sizeof message));
  p.mech = p.model->mech, p.data = p.model->data, p.n = (int)p.model->n, p.nq = p.n / 2;
  return p;
}

static Problem linkage(const Linkage *l) {
  Problem p = {.linkage = l, .data = (void *)l, .n = 6 * l->nrods, .nq = 3 * l->nrods, .t_end = 20};
  snprintf(p.name, sizeof p.name, "%s", l->name);
  p.mech = (CPEquations){
      CP_SIZED(CPEquations), .nu = 3 * l->nrods, .np = get_rows(l), .M = mass,
      .A = gradient,         .f = force,         .p = positions,    .b = acceleration};
  return p;
}

typedef struct {
  int flag;
  double t, error, one_error; /* one_error: 0 if unknown */
  long int steps, forces;
  char text[400];
} Outcome;

typedef struct {
  CPMech mech;
  CPIntegrator one; /* or */
  CPIntegrator mem;
} Run;

static int is_one_step(const char *method) {
  return strcmp(method, "BDF") && strcmp(method, "Adams");
}

static Run run_create(const Problem *p, const char *method, double tol, N_Vector y, Outcome *o,
                      SUNContext ctx) {
  Run r = {.mech = create_mech(&p->mech, y, ctx)};
  CHECK(CPMechSetUserData(r.mech, p->data));
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(r.mech), keep, o->text));
  if (is_one_step(method)) {
    r.one = CHECK_POINTER(CPIntegratorCreate(method, ctx));
    CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(r.one), keep, o->text));
    CHECK(CPMechAttach(r.mech, r.one, 0, y));
    CHECK(CPIntegratorSStolerances(r.one, tol, tol));
    CHECK(CPIntegratorSetMaxNumSteps(r.one, MOST_STEPS));
  } else {
    r.mem = CHECK_POINTER(CPIntegratorCreate(method, ctx));
    CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(r.mem), keep, o->text));
    CHECK(CPMechAttach(r.mech, r.mem, 0, y));
    CHECK(CPIntegratorSStolerances(r.mem, tol, tol));
    CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(r.mem), MOST_STEPS));
  }
  return r;
}

static void run_end(Run *r, Outcome *o) {
  MechCounters stats;
  IntegratorCounters one;
  CHECK(mech_counters(r->mech, &stats));
  o->forces = stats.nf;
  if (r->one) CHECK(integrator_counters(r->one, &one));
  if (r->one) o->steps = one.nst;
  else CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(r->mem), &o->steps));
  CPIntegratorFree(&r->one);
  CPIntegratorFree(&r->mem);
  CPMechFree(&r->mech);
}

/* y: the regular motion at the i-th output; x: its coordinate, at the previous output on input and
 * at this one on output */
static void reference_at(const Problem *p, int i, double *x, N_Vector y) {
  const double t = p->t_end * i / OUTPUTS;
  if (p->model) {
    CHECK(p->model->type->reference(p->model, t, y));
    return;
  }
  if (i == 0) x[0] = p->linkage->theta0, x[1] = p->linkage->rate0;
  else exact(p->linkage, p->t_end * (i - 1) / OUTPUTS, t, x);
  state(p->linkage, x[0], x[1], N_VGetArrayPointer(y));
}

static Outcome run(const Problem *p, const char *method, double tol, SUNContext ctx) {
  Outcome o  = {0};
  N_Vector y = N_VNew_Serial(p->n, ctx), reference = N_VNew_Serial(p->n, ctx);
  double x[2] = {0};
  reference_at(p, 0, x, y);
  Run r = run_create(p, method, tol, y, &o, ctx);
  for (int i = 1; o.flag >= 0 && i <= OUTPUTS; i++) {
    const double tout = p->t_end * i / OUTPUTS;
    o.flag            = r.one ? CPIntegratorEvolve(r.one, tout, y, &o.t, CV_NORMAL)
                              : CPIntegratorEvolve(r.mem, tout, y, &o.t, CV_NORMAL);
    reference_at(p, i, x, reference);
    for (int k = 0; k < p->nq; k++)
      o.error = fmax(o.error, fabs(NV_Ith_S(y, k) - NV_Ith_S(reference, k)));
  }
  run_end(&r, &o);
  if (p->linkage && !is_one_step(method))
    o.one_error =
        one_error(p->linkage, !strcmp(method, "BDF") ? CV_BDF : CV_ADAMS, tol, p->t_end, ctx);
  N_VDestroy(y);
  N_VDestroy(reference);
  return o;
}

static void print(double tol, const Outcome *o) {
  if (o->flag < 0) {
    printf("  %8.1e  fails at %g (%d): %s\n", tol, o->t, o->flag, o->text);
    return;
  }
  printf("  %8.1e %6ld steps %7ld f  error %8.1e", tol, o->steps, o->forces, o->error);
  if (o->one_error > 0) printf("  in one coordinate %8.1e", o->one_error);
  printf("\n");
}

static int begins(const char *name, const char *with) {
  return !strcmp(with, "all") || !strncmp(name, with, strlen(with));
}

static void climb(const Problem *p, const char *method, double per_decade, double from, double to,
                  SUNContext ctx) {
  int failed = 0, count = 0;
  double logs = 0;
  printf("%s, %s\n", p->name, method);
  for (double e = from; e <= to + 1e-9; e += 1 / per_decade, count++) {
    const double tol = pow(10, -e);
    const Outcome o  = run(p, method, tol, ctx);
    print(tol, &o);
    if (o.flag < 0) failed++;
    else logs += log(o.error / tol);
  }
  printf("  %d of %d failed; error over tolerance, geometric mean: %.0f\n", failed, count,
         exp(logs / (count - failed)));
}

int main(int argc, char **argv) {
  static const char *const methods[] = {"BDF", "Adams", "DOP853", "BS54", "BS32", "RADAU"};
  SUNContext ctx                     = check_context();
  const char *which = argc > 1 ? argv[1] : "all", *how = argc > 2 ? argv[2] : "all";
  const double per_decade = argc > 3 ? atof(argv[3]) : 2, from = argc > 4 ? atof(argv[4]) : 4;
  const double to = argc > 5 ? atof(argv[5]) : 8;
  enum { WINDOWS = 3 };
  Problem problem[NLINKAGES + WINDOWS] = {windows(1, ctx), windows(2, ctx), windows(40, ctx)};
  for (int i = 0; i < NLINKAGES; i++) problem[WINDOWS + i] = linkage(&linkages[i]);
  for (int i = 0; i < NLINKAGES + WINDOWS; i++)
    for (int k = 0; begins(problem[i].name, which) && k < (int)(sizeof methods / sizeof *methods);
         k++)
      if (begins(methods[k], how)) climb(&problem[i], methods[k], per_decade, from, to, ctx);
  for (int i = 0; i < WINDOWS; i++) CPPluginFree(&problem[i].model);
  SUNContext_Free(&ctx);
  return EXIT_SUCCESS;
}

/* RADAU5 of E. Hairer and G. Wanner (Solving Ordinary Differential Equations II, section IV.8), as
 * compiled in R's package deSolve, on the index-3 system. Its Fortran is called without R, so that
 * times and counts are those of RADAU5 alone. */
#include "index3.h"
#include "support.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first step, as a part of the whole time; RADAU5 shortens it if it is too long. A very short
 * one permits larger errors of w and lambda at the start, which may then dominate (chains: below
 * 1e-4 s). */
static const double first_step = 0.01;
/* Absolute tolerance of w and lambda: their errors count only through those of q and u. */
static const double no_matter = 1e10;
/* A factor on RADAU5's criterion for the end of Newton's iteration, whose errors are otherwise
 * larger than those of the steps. */
static const double newton_share = 0.1;
enum { NEWTON_ITERATIONS = 10 };
enum { MOST_ROWS = 1200 }; /* limit of its dense matrices */

/* ------------------------------------------------------------------------------- the Fortran -- */

/* rpar: reserved for the caller, here the Problem */
typedef void RightHandSide(int *n, double *x, double *y, double *f, double *rpar, int *ipar);
typedef void Jacobian(int *n, double *x, double *y, int *ml, int *mu, double *dfy, int *ldfy,
                      double *rpar, int *ipar);
typedef void MassMatrix(int *n, double *am, int *lmas, double *rpar, int *ipar);
typedef void StepDone(int *nr, double *xold, double *x, double *y, double *cont, int *lrc, int *n,
                      double *rpar, int *ipar, int *irtrn);
typedef void Radau5(int *n, RightHandSide *fcn, double *x, double *y, double *xend, double *h,
                    double *rtol, double *atol, int *itol, Jacobian *jac, int *ijac, int *mljac,
                    int *mujac, MassMatrix *mas, int *imas, int *mlmas, int *mumas,
                    StepDone *solout, int *iout, double *work, int *lwork, int *iwork, int *liwork,
                    double *rpar, int *ipar, int *idid);

/* radau5_ in deSolve.so, which stays loaded. why [length]: the reason, if it returns NULL */
static Radau5 *load(char *why, size_t length) {
  void *library = dlopen(CPODES_RACE_RADAU5, RTLD_NOW | RTLD_LOCAL);
  union {
    void *symbol;
    Radau5 *function;
  } radau5 = {library ? dlsym(library, "radau5_") : NULL};
  if (!radau5.symbol) snprintf(why, length, "R's deSolve: %s", dlerror());
  return radau5.symbol ? radau5.function : NULL;
}

static const char *missing(void) {
  static _Thread_local char why[200];
  return load(why, sizeof why) ? NULL : why;
}

/* deSolve prints its messages by R's function of this name, which needs a running R. The program
 * exports this one, so that it is found first; it stores the newest line. */
void Rprintf(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;
static _Thread_local char said[80];
void Rprintf(const char *format, ...) {
  char text[sizeof said];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  text[strcspn(text, "\n")] = '\0';
  if (*text) memcpy(said, text, sizeof said);
}

/* ------------------------------------------------------------------------------- the problem -- */

typedef struct {
  Index3 system;
  double *y, *rtol, *atol; /* [n] */
  double *work;
  int *iwork, lwork, liwork;
  jmp_buf give_up; /* leaves the Fortran, which has no code for a function that fails */
} Problem;

static Problem *problem_of(double *rpar) { return (Problem *)(void *)rpar; }

static void right_hand_side(int *n, double *x, double *y, double *f, double *rpar, int *ipar) {
  (void)n, (void)ipar;
  Problem *P      = problem_of(rpar);
  const Index3 *s = &P->system;
  memcpy(f, y + s->nu, (size_t)s->structure * sizeof *f);
  if (index3_residual(&P->system, *x, y, f + s->structure)) longjmp(P->give_up, 1);
}

static void jacobian(int *n, double *x, double *y, int *ml, int *mu, double *dfy, int *ldfy,
                     double *rpar, int *ipar) {
  (void)n, (void)ml, (void)mu, (void)ldfy, (void)ipar;
  Problem *P = problem_of(rpar);
  if (index3_jacobian(&P->system, *x, y, dfy)) longjmp(P->give_up, 1);
}

static void mass_matrix(int *n, double *am, int *lmas, double *rpar, int *ipar) {
  (void)n, (void)lmas, (void)ipar;
  index3_mass(&problem_of(rpar)->system, am);
}

static void step_done(int *nr, double *xold, double *x, double *y, double *cont, int *lrc, int *n,
                      double *rpar, int *ipar, int *irtrn) {
  (void)nr, (void)xold, (void)x, (void)y, (void)cont, (void)lrc, (void)n;
  (void)rpar, (void)ipar, (void)irtrn;
}

/* ------------------------------------------------------------------------ set-up and running -- */

enum { PARAMETERS = 20 }; /* of WORK and IWORK, before the work space */

static void problem_free(Problem *P) {
  index3_free(&P->system);
  free(P->y);
  free(P->work);
  free(P->iwork);
}

static int problem_create(const CPPlugin *model, Problem *P) {
  *P              = (Problem){.work = NULL};
  const Index3 *s = &P->system;
  if (index3_create(model, &P->system)) return -1;
  const size_t n = (size_t)s->n, rows = (size_t)s->rows, mass = s->full_mass ? rows : 1;
  P->lwork  = (int)(n * (rows + 12) + rows * (mass + 3 * rows) + PARAMETERS);
  P->liwork = (int)(3 * n + PARAMETERS);
  P->work   = calloc((size_t)P->lwork, sizeof *P->work);
  P->iwork  = calloc((size_t)P->liwork, sizeof *P->iwork);
  P->y      = calloc(3 * n, sizeof *P->y);
  if (!P->work || !P->iwork || !P->y) return -1;
  P->rtol = P->y + n;
  P->atol = P->rtol + n;
  return index3_start(s, P->y);
}

/* WORK and IWORK by their numbers in the source; 0 stands for RADAU5's default */
static void set_parameters(Problem *P, double tol) {
  const Index3 *s = &P->system;
  /* the tolerance that RADAU5 derives from tol, and its default for the end of Newton's iteration */
  const double inner = 0.1 * pow(tol, 2.0 / 3), criterion = fmin(0.03, sqrt(inner));
  double *work  = P->work;
  int *iwork    = P->iwork;
  work[4 - 1]   = fmax(1e-15 / inner, newton_share * criterion);
  iwork[2 - 1]  = RACE_MAX_STEPS;
  iwork[3 - 1]  = NEWTON_ITERATIONS;
  iwork[5 - 1]  = (int)s->nu;              /* of index 1: q */
  iwork[6 - 1]  = (int)s->nu;              /* 2: u */
  iwork[7 - 1]  = (int)(s->n - 2 * s->nu); /* 3: w, lambda */
  iwork[8 - 1]  = 2;                       /* step size control: classical, not Gustafsson's */
  iwork[9 - 1]  = (int)s->structure;
  iwork[10 - 1] = (int)s->nu;
  for (sunindextype i = 0; i < s->n; i++) {
    P->rtol[i] = tol;
    P->atol[i] = i < 2 * s->nu ? tol : no_matter;
  }
}

/* Returns RADAU5's code, 1: done; 0: a function has failed. */
static int integrate(Problem *P, Radau5 *radau5, double t_end, double *t) {
  const Index3 *s = &P->system;
  int n = (int)s->n, full = (int)s->rows, band = s->full_mass ? full : 0;
  int yes = 1, no = 0, code = 0, ipar = 0;
  double h = first_step * t_end;
  if (setjmp(P->give_up)) return 0;
  radau5(&n, right_hand_side, t, P->y, &t_end, &h, P->rtol, P->atol, &yes, jacobian, &yes, &full,
         &full, mass_matrix, &yes, &band, &band, step_done, &no, P->work, &P->lwork, P->iwork,
         &P->liwork, (double *)(void *)P, &ipar, &code);
  return code;
}

static void collect(const Problem *P, RaceFigures *figures) {
  const int *iwork = P->iwork;
  /* including failed steps, also those that failed in Newton's iteration */
  const int computed      = iwork[16 - 1];
  figures->steps          = iwork[17 - 1];
  figures->rejected       = computed - figures->steps;
  figures->rhs            = P->system.residuals;
  figures->jacobians      = iwork[15 - 1];
  figures->factorisations = iwork[19 - 1];
}

static void run(Problem *P, Radau5 *radau5, sunrealtype t_end, N_Vector y, RaceFigures *figures) {
  const double before = cpu_seconds();
  figures->t          = 0;
  const int code      = integrate(P, radau5, t_end, &figures->t);
  figures->seconds    = cpu_seconds() - before;
  memcpy(N_VGetArrayPointer(y), P->y, 2 * (size_t)P->system.nu * sizeof *P->y);
  collect(P, figures);
  if (code == 0) figures_fail(figures, -1, "a function of the model failed");
  if (code < 0) figures_fail(figures, code, "t = %g: %s", figures->t, said);
}

static void solve(const Contestant *self, const CPPlugin *model, sunrealtype t_end, sunrealtype tol,
                  N_Vector y, RaceFigures *figures) {
  Problem P;
  (void)self;
  Radau5 *radau5 = load(figures->message, sizeof figures->message);
  const int flag = problem_create(model, &P);
  if (!radau5 || flag) {
    figures_fail(figures, -1, "RADAU5 could not be set up");
  } else {
    set_parameters(&P, tol);
    run(&P, radau5, t_end, y, figures);
  }
  problem_free(&P);
}

static bool takes(const CPPlugin *model) {
  return index3_takes(model) && model->mech.nu + model->mech.np <= MOST_ROWS;
}

const Contestant contestant_radau5 = {
    .name  = "radau5",
    .title = "RADAU5, index 3",
    .settings =
        "q' = u, u' = w, 0 = f - M w - A^T lambda, 0 = p; without w where M is constant; "
        "second-order structure; q, u, (w, lambda) of index 1, 2, 3; absolute tolerance of w "
        "and lambda 1e10; consistent start; first step t_end/100; Jacobian from M, A, K, C (K "
        "and C by differences where the model has no formulas); Newton's iteration to a "
        "tenth of the default criterion, at most 10 times; classical step size control",
    .missing = missing,
    .takes   = takes,
    .solve   = solve};

#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ------------------------------------------------------------------------------------- tables --
   */

/* Next number of a comma-separated line */
static int next_number(char **field, sunrealtype *value) {
  char *end;
  *value = strtod(*field, &end);
  if (end == *field) return 0;
  *field = *end == ',' ? end + 1 : end;
  return 1;
}

/* t, y_1 ... y_n and what follows; 0 for a line without numbers (comment, names of the columns)
   */
static int parse_sample(char *field, int n, Sample *sample) {
  memset(sample, 0, sizeof *sample);
  if (!next_number(&field, &sample->t)) return 0;
  for (int i = 0; i < n; i++) ck_assert(next_number(&field, &sample->y[i]));
  for (int i = 0; i < MAX_MORE && next_number(&field, &sample->more[i]); i++) {}
  return 1;
}

int read_table(const char *file, const char *rows, int n, Sample *samples, int max) {
  char path[1024], line[1024];
  snprintf(path, sizeof path, "%s/%s", CPODES_REFERENCE_DIR, file);
  FILE *table = fopen(path, "r");
  ck_assert_msg(table != NULL, "cannot read %s", path);

  int count          = 0;
  const size_t label = rows ? strlen(rows) : 0;
  while (fgets(line, sizeof line, table)) {
    Sample sample;
    char *field = line;
    if (rows) {
      if (strncmp(line, rows, label) || line[label] != ',') continue;
      field += label + 1;
    }
    if (!parse_sample(field, n, &sample)) continue;
    ck_assert_int_lt(count, max);
    samples[count++] = sample;
  }
  fclose(table);
  ck_assert_int_gt(count, 1);
  return count;
}

/* --------------------------------------------------------------------------------- mechanisms --
   */

/* The conditions were measured apart from the code under test: 60 tangential perturbations of size
   1e-6, six at each tenth of the interval, integrated with the undisturbed motion by the classical
   Runge-Kutta method in 12,000 steps; largest quotient of the difference at any later time and at
   its start, rounded up. Pendulum 40 (8 more per second: the period depends on the energy),
   slider-crank 4.2, car axis 46, knife edge 17.4. */

static Mechanism pendulum_mechanism(void) {
  Mechanism mech    = {.name      = "pendulum",
                       .n         = PENDULUM_N,
                       .m         = PENDULUM_M,
                       .f         = pendulum_rhs,
                       .c         = pendulum_constraints,
                       .jac       = pendulum_jacobian,
                       .condition = 45};
  mech.par.pendulum = (Pendulum){.L = 1, .g = SUN_RCONST(9.81)};
  mech.nsamples     = read_table("pendulum.csv", "iftomm_a01", mech.n, mech.samples, MAX_SAMPLES);
  while (mech.samples[mech.nsamples - 1].t > 10) mech.nsamples--;
  return mech;
}

static Mechanism slider_crank_mechanism(void) {
  Mechanism mech        = {.name      = "slider-crank",
                           .n         = SLIDER_CRANK_N,
                           .m         = SLIDER_CRANK_M,
                           .f         = slider_crank_rhs,
                           .c         = slider_crank_constraints,
                           .jac       = slider_crank_jacobian,
                           .condition = 5};
  mech.par.slider_crank = slider_crank_haug();
  mech.nsamples         = read_table("slider_crank.csv", NULL, mech.n, mech.samples, MAX_SAMPLES);
  return mech;
}

static Mechanism car_axis_mechanism(void) {
  Mechanism mech    = {.name      = "car axis",
                       .n         = CAR_AXIS_N,
                       .m         = CAR_AXIS_M,
                       .f         = car_axis_rhs,
                       .c         = car_axis_constraints,
                       .jac       = car_axis_jacobian,
                       .condition = 50};
  mech.par.car_axis = car_axis_testset();
  mech.nsamples     = read_table("car_axis.csv", NULL, mech.n, mech.samples, MAX_SAMPLES);
  return mech;
}

static Mechanism knife_edge_mechanism(void) {
  Mechanism mech      = {.name      = "knife edge",
                         .n         = KNIFE_EDGE_N,
                         .m         = KNIFE_EDGE_M,
                         .f         = knife_edge_rhs,
                         .c         = knife_edge_constraints,
                         .jac       = knife_edge_jacobian,
                         .condition = 20};
  mech.par.knife_edge = (KnifeEdge){.g = SUN_RCONST(9.81), .alpha = 0.3, .omega = 1.5};
  mech.nsamples       = 21; /* closed form, every half second to t = 10 */
  for (int i = 0; i < mech.nsamples; i++) {
    mech.samples[i].t = i / 2.0;
    knife_edge_exact(&mech.par.knife_edge, mech.samples[i].t, mech.samples[i].y);
  }
  return mech;
}

Mechanism mechanism(MechanismId id) {
  Mechanism mech = {0};
  switch (id) {
  case PENDULUM: mech = pendulum_mechanism(); break;
  case SLIDER_CRANK: mech = slider_crank_mechanism(); break;
  case CAR_AXIS: mech = car_axis_mechanism(); break;
  case KNIFE_EDGE: mech = knife_edge_mechanism(); break;
  case NUM_MECHANISMS: break;
  }
  ck_assert_ptr_nonnull(mech.name);
  memcpy(mech.y0, mech.samples[0].y, sizeof mech.y0);
  return mech;
}

/* --------------------------------------------------------------------------------------- runs --
   */

static void create_projector(Run *run, Mechanism *mech, const Options *options) {
  run->projector = CPProjectorCreate(mech->c, run->y, run->c, test_context);
  ck_assert_ptr_nonnull(run->projector);
  ck_assert_int_eq(CPProjectorSetUserData(run->projector, &mech->par), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetLinearSolver(run->projector, options->linsol), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetNorm(run->projector, options->norm, NULL, NULL), CP_SUCCESS);
  if (!options->difference_quotients) {
    run->G = SUNDenseMatrix(mech->m, mech->n, test_context);
    ck_assert_int_eq(CPProjectorSetJacFn(run->projector, mech->jac, run->G), CP_SUCCESS);
  }
  if (options->ctol > 0) {
    N_VConst(options->ctol, run->c);
    ck_assert_int_eq(CPProjectorSetConstraintTol(run->projector, run->c), CP_SUCCESS);
  }
}

static void create_solver(Run *run, const Mechanism *mech, int lmm) {
  if (lmm == CV_ADAMS) {
    run->fixed_point = SUNNonlinSol_FixedPoint(run->y, 0, test_context);
  } else {
    run->A  = SUNDenseMatrix(mech->n, mech->n, test_context);
    run->LS = SUNLinSol_Dense(run->y, run->A, test_context);
    ck_assert_int_eq(CVodeSetLinearSolver(run->cvode_mem, run->LS, run->A), CV_SUCCESS);
  }
}

static void set_user_data(Run *run, Mechanism *mech) {
  ck_assert_int_eq(CVodeSetUserData(run->cvode_mem, &mech->par), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(run->cvode_mem, 100000), CV_SUCCESS);
}

Run run_create(Mechanism *mech, const Options *options) {
  Run run = {.y = vector_of(mech->n, mech->y0), .c = vector_of(mech->m, NULL)};
  create_projector(&run, mech, options);

  run.cpode     = CPIntegratorCreate(options->lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  run.cvode_mem = CPIntegratorGetCVodeMem(run.cpode);
  ck_assert_int_eq(CPIntegratorInit(run.cpode, mech->f, 0, run.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(run.cpode, options->tol, options->tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(run.cpode, run.projector), CP_SUCCESS);
  create_solver(&run, mech, options->lmm);
  if (run.fixed_point)
    ck_assert_int_eq(CPIntegratorSetNonlinearSolver(run.cpode, run.fixed_point), CP_SUCCESS);
  set_user_data(&run, mech);
  return run;
}

Run run_create_plain(Mechanism *mech, const Options *options) {
  Run run = {.y         = vector_of(mech->n, mech->y0),
             .c         = vector_of(mech->m, NULL),
             .cvode_mem = CVodeCreate(options->lmm, test_context)};
  ck_assert_int_eq(CVodeInit(run.cvode_mem, mech->f, 0, run.y), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(run.cvode_mem, options->tol, options->tol), CV_SUCCESS);
  create_solver(&run, mech, options->lmm);
  if (run.fixed_point)
    ck_assert_int_eq(CVodeSetNonlinearSolver(run.cvode_mem, run.fixed_point), CV_SUCCESS);
  set_user_data(&run, mech);
  return run;
}

void run_free(Run *run) {
  if (!run->cpode) CVodeFree(&run->cvode_mem); /* a plain one */
  CPIntegratorFree(&run->cpode);
  CPProjectorFree(&run->projector);
  if (run->LS) SUNLinSolFree(run->LS);
  if (run->fixed_point) SUNNonlinSolFree(run->fixed_point);
  if (run->A) SUNMatDestroy(run->A);
  if (run->G) SUNMatDestroy(run->G);
  N_VDestroy(run->y);
  N_VDestroy(run->c);
}

static void advance(Run *run, sunrealtype t, int itask) {
  const int flag = CPIntegratorEvolve(run->cpode, t, run->y, &run->t, itask);
  ck_assert_msg(flag == CP_SUCCESS, "CPIntegratorEvolve returned %d at t = %.17g: %s", flag, run->t,
                CPObjectGetLastMessage(CP_OBJECT(run->cpode)));
}

void run_to(Run *run, sunrealtype t) {
  advance(run, t, CV_NORMAL);
  ck_assert_double_eq(run->t, t);
}

int run_step(Run *run, sunrealtype t_end) {
  if (run->t >= t_end) return 0;
  advance(run, t_end, CV_ONE_STEP);
  return 1;
}

long int run_steps(const Run *run) {
  long int steps;
  ck_assert_int_eq(CVodeGetNumSteps(run->cvode_mem, &steps), CV_SUCCESS);
  return steps;
}

sunrealtype error_against(N_Vector y, const sunrealtype *exact) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype error    = 0;
  for (sunindextype i = 0; i < N_VGetLength(y); i++) {
    ck_assert(isfinite(s[i])); /* fmax would pass over a NaN */
    error = fmax(error, fabs(s[i] - exact[i]));
  }
  return error;
}

sunrealtype run_over_table(Run *run, const Mechanism *mech) {
  sunrealtype error = 0;
  for (int i = 1; i < mech->nsamples; i++) {
    run_to(run, mech->samples[i].t);
    error = fmax(error, error_against(run->y, mech->samples[i].y));
  }
  return error;
}

sunrealtype violation_at(Run *run, Mechanism *mech, sunrealtype t, N_Vector y) {
  ck_assert_int_eq(mech->c(t, y, run->c, &mech->par), 0);
  const sunrealtype violation = N_VMaxNorm(run->c);
  ck_assert(isfinite(violation));
  return violation;
}

const char *method_name(int lmm) { return lmm == CV_ADAMS ? "Adams" : "BDF"; }

int wants_figures(void) { return getenv("CPODES_TEST_FIGURES") != NULL; }

#include "mechanics_support.h"

#include <math.h>
#include <string.h>

/* --------------------------------------------------------------------------------- mechanisms -- */

/* The conditions were measured as those in reference.c, apart from the code under test (the
   Runge-Kutta method on accelerations from Gaussian elimination of the KKT matrix), in the norm that
   is scaled with 1 + the largest |y_i|: pendulum 24.6, slider-crank 4.9, car axis 67, knife edge 47,
   Andrews' mechanism 1,130, flexible slider-crank 28,400, rounded up. The last is large since a
   position of the rod that is off by 1e-7 m oscillates with 40,000 / s; its positions stay within
   2.14 times the perturbation. */
static MechCase planar_case(MechanismId id) {
  const Mechanism planar = mechanism(id);
  MechCase c             = {.name = planar.name, .nsamples = planar.nsamples};
  memcpy(c.samples, planar.samples, sizeof c.samples);
  switch (id) {
  case PENDULUM:
    c.model        = pendulum_model();
    c.par.pendulum = planar.par.pendulum;
    c.condition    = 27;
    break;
  case SLIDER_CRANK:
    c.model            = slider_crank_model();
    c.par.slider_crank = planar.par.slider_crank;
    c.condition        = 5;
    c.nlambda          = 2;
    break;
  case CAR_AXIS:
    c.model        = car_axis_model();
    c.par.car_axis = planar.par.car_axis;
    c.condition    = 70;
    c.nlambda      = 2;
    c.lambda_sign  = -1;
    break;
  case KNIFE_EDGE:
    c.model          = knife_edge_model();
    c.par.knife_edge = planar.par.knife_edge;
    c.condition      = 50;
    break;
  case NUM_MECHANISMS: ck_abort();
  }
  return c;
}

static MechCase tabulated_case(const char *name, const char *file, CPEquations model, int nlambda) {
  MechCase c = {.name = name, .model = model, .nudot = (int)model.nu, .nlambda = nlambda};
  c.nsamples = read_table(file, NULL, 2 * (int)model.nu, c.samples, MAX_SAMPLES);
  return c;
}

MechCase mech_case(int id) {
  MechCase c;
  if (id == ANDREWS) {
    c           = tabulated_case("Andrews", "andrews.csv", andrews_model(), ANDREWS_NP);
    c.condition = 1200;
  } else if (id == FLEXIBLE_CRANK) {
    c = tabulated_case("flexible crank", "flexible_crank.csv", flexible_crank_model(),
                       FLEXIBLE_CRANK_NP);
    c.par.flexible_crank     = flexible_crank_testset();
    c.condition              = 30000;
    c.condition_of_positions = 2.5;
  } else {
    c = planar_case((MechanismId)id);
  }
  c.nu = (int)c.model.nu;
  c.na = (int)(c.model.nv > c.model.np ? c.model.nv : c.model.np);
  c.n  = 2 * c.nu;
  if (!(c.lambda_sign < 0)) c.lambda_sign = 1;
  if (!(c.condition_of_positions > 0)) c.condition_of_positions = c.condition;
  for (int i = 0; i < c.n; i++) {
    c.scale[i] = 0;
    for (int k = 0; k < c.nsamples; k++) c.scale[i] = fmax(c.scale[i], fabs(c.samples[k].y[i]));
    c.scale[i] += 1;
  }
  return c;
}

/* --------------------------------------------------------------------------------------- runs -- */

static void set_options(CPMech mech, const PlanarOptions *o) {
  ck_assert_int_eq(CPMechSetMetric(mech, o->metric), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetNewton(mech, o->newton), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetLinearSolver(mech, o->linsol), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetErrorTimeScale(mech, o->tau), CP_SUCCESS);
}

MechRun *planar_run_of(const CPEquations *model, void *user_data, const sunrealtype *y0,
                       const PlanarOptions *o) {
  CPEquations chosen = *model;
  if (o->by_differences) {
    chosen.v = chosen.b   = NULL;
    chosen.dynamics_jac   = NULL;
    chosen.constraint_jac = NULL;
  }
  chosen.time  = o->difference_time;
  MechRun *run = mech_run_create(&chosen, user_data, y0);
  set_options(run->mech, o);
  mech_run_start(run, o->lmm, o->tol);
  if (o->maxord)
    ck_assert_int_eq(CVodeSetMaxOrd(CPIntegratorGetCVodeMem(run->cpode), o->maxord), CV_SUCCESS);
  if (o->without_projection)
    ck_assert_int_eq(CPIntegratorSetProjector(run->cpode, NULL), CP_SUCCESS);
  return run;
}

MechRun *planar_run_create(MechCase *c, const PlanarOptions *options) {
  return planar_run_of(&c->model, &c->par, c->samples[0].y, options);
}

sunrealtype scaled_error(const MechCase *c, int n, N_Vector y, const sunrealtype *exact) {
  sunrealtype error = 0;
  for (int i = 0; i < n; i++) {
    const sunrealtype off = fabs(entries(y)[i] - exact[i]) / c->scale[i];
    ck_assert(isfinite(off)); /* fmax would pass over a NaN */
    error = fmax(error, off);
  }
  return error;
}

PlanarFigures planar_run_over_table(MechRun *run, const MechCase *c) {
  PlanarFigures f = {0};
  for (int i = 1; i < c->nsamples; i++) {
    const Sample *s = &c->samples[i];
    sunrealtype lambda[MAX_NA];
    CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = lambda};
    mech_run_to(run, s->t);
    f.error     = fmax(f.error, scaled_error(c, c->n, run->y, s->y));
    f.positions = fmax(f.positions, scaled_error(c, c->nu, run->y, s->y));
    ck_assert_int_eq(CPMechEvaluate(run->mech, s->t, run->y, &out), CP_SUCCESS);
    ck_assert(isfinite(out.position) && isfinite(out.velocity));
    f.violation = fmax(f.violation, fmax(out.position, out.velocity));
    for (int k = 0; k < c->nlambda; k++) {
      const sunrealtype off = fabs(lambda[k] - c->lambda_sign * s->more[c->nudot + k]);
      ck_assert(isfinite(off));
      f.lambda = fmax(f.lambda, off);
    }
  }
  f.steps = mech_run_steps(run);
  return f;
}

sunrealtype mech_error_bound(const MechCase *c, sunrealtype condition, sunrealtype tol,
                             long int steps) {
  return (sunrealtype)steps * condition * sqrt((sunrealtype)c->n) * tol / 6;
}

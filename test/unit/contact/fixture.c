#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ a body above a floor -- */

/* The functions of a model get the run, so that events do; it knows the model's data. */
#define DATA(type) const type *data = ((const Run *)user_data)->user_data

/* The arm of contact k in space */
static void arm(const Body *body, int k, sunrealtype theta, sunrealtype *x, sunrealtype *y) {
  *x = body->a[k] * cos(theta) - body->b[k] * sin(theta);
  *y = body->a[k] * sin(theta) + body->b[k] * cos(theta);
}

static int body_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  DATA(Body);
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = data->m;
  SM_ELEMENT_D(M, 2, 2)                         = data->J;
  return 0;
}

static int body_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *f, void *user_data) {
  DATA(Body);
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -data->m * data->g;
  return 0;
}

static int body_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  DATA(Body);
  (void)t;
  for (int k = 0; k < data->npoints; k++) {
    sunrealtype x, y;
    arm(data, k, q[2], &x, &y);
    p[k] = q[1] + y;
  }
  return 0;
}

static int body_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  DATA(Body);
  (void)t;
  for (int k = 0; k < data->npoints; k++) {
    sunrealtype x, y;
    arm(data, k, q[2], &x, &y);
    SM_ELEMENT_D(A, k, 1) = 1, SM_ELEMENT_D(A, k, 2) = x;
    SM_ELEMENT_D(A, data->npoints + k, 0) = 1, SM_ELEMENT_D(A, data->npoints + k, 2) = -y;
  }
  return 0;
}

static int body_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *user_data) {
  DATA(Body);
  (void)t;
  for (int k = 0; k < data->npoints; k++) {
    sunrealtype x, y;
    arm(data, k, q[2], &x, &y);
    b[k]                 = y * u[2] * u[2];
    b[data->npoints + k] = x * u[2] * u[2];
  }
  return 0;
}

CPMechModel body_model(const Body *body) {
  return (CPMechModel){.nu = 3,
                       .np = body->npoints,
                       .nv = 2 * body->npoints,
                       .M  = body_mass,
                       .A  = body_rows,
                       .f  = body_weight,
                       .p  = body_gaps,
                       .b  = body_b};
}

/* ------------------------------------------------------------------------------------------- a ball -- */

static int ball_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  DATA(Ball);
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  SM_ELEMENT_D(M, 2, 2)                         = 0.4 * data->r * data->r;
  return 0;
}

static int ball_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *f, void *user_data) {
  DATA(Ball);
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -data->g;
  return 0;
}

static int ball_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  DATA(Ball);
  (void)t;
  p[0] = q[1] - data->r;
  return 0;
}

static int ball_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  DATA(Ball);
  (void)t, (void)q;
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1, SM_ELEMENT_D(A, 1, 2) = -data->r;
  return 0;
}

/* A is constant, or b zero: */
static int no_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

CPMechModel ball_model(void) {
  return (CPMechModel){.nu = 3,
                       .np = 1,
                       .nv = 2,
                       .M  = ball_mass,
                       .A  = ball_rows,
                       .f  = ball_weight,
                       .p  = ball_gap,
                       .b  = no_b};
}

int at_rest(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0;
  return 0;
}

/* --------------------------------------------------------------------------------------------- runs -- */

static int keep_event(const CPContactEvent *event, void *user_data) {
  Run *run = user_data;
  run->all++;
  if (run->nevents < MAX_EVENTS) run->event[run->nevents++] = *event;
  return 0;
}

Run *run_create(const CPMechModel *model, void *user_data, int n, const CPContactPoint *points,
                const sunrealtype *y0) {
  const sunindextype nq = model->nq ? model->nq : model->nu;
  Run *run              = calloc(1, sizeof *run);
  ck_assert_ptr_nonnull(run);
  run->user_data = user_data;
  run->y         = vector_of(nq + model->nu + model->nz, y0);
  run->contact   = CPContactCreate(model, n, points, run->y, test_context);
  ck_assert_ptr_nonnull(run->contact);
  ck_assert_int_eq(CPContactSetUserData(run->contact, run), CP_SUCCESS);
  ck_assert_int_eq(CPContactSetEventFn(run->contact, keep_event), CP_SUCCESS);
  ck_assert_int_eq(CPContactSetErrHandlerFn(run->contact, message_log, &run->log), CP_SUCCESS);
  return run;
}

int run_attach(Run *run, int method, sunrealtype tol) {
  if (method == DOP853 || method == RADAU) {
    run->onestep = CPOneStepCreate(method == RADAU ? "RADAU" : "DOP853", test_context);
    ck_assert_ptr_nonnull(run->onestep);
    CPOneStepSetErrHandlerFn(run->onestep, message_log, &run->log);
    const int flag = CPContactAttachOneStep(run->contact, run->onestep, 0, run->y, tol, tol);
    if (!flag) CPOneStepSetMaxNumSteps(run->onestep, 100000);
    return flag;
  }
  run->multistep = CPodeCreate(method == BDF ? CV_BDF : CV_ADAMS, test_context);
  ck_assert_ptr_nonnull(run->multistep);
  CPodeSetErrHandlerFn(run->multistep, message_log, &run->log);
  const int flag = CPContactAttach(run->contact, run->multistep, 0, run->y, tol, tol);
  if (!flag) CVodeSetMaxNumSteps(CPodeGetCVodeMem(run->multistep), 100000);
  return flag;
}

Run *run_start(const CPMechModel *model, void *user_data, int n, const CPContactPoint *points,
               const sunrealtype *y0, int method, sunrealtype tol) {
  Run *run       = run_create(model, user_data, n, points, y0);
  const int flag = run_attach(run, method, tol);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  return run;
}

int run_solve(Run *run, sunrealtype tout) {
  return CPContactSolve(run->contact, tout, run->y, &run->t);
}

void run_to(Run *run, sunrealtype tout) {
  const int flag = run_solve(run, tout);
  ck_assert_msg(flag == CP_SUCCESS, "%d at t = %.15g: %s", flag, run->t, run->log.text);
}

void run_free(Run **run) {
  if (!*run) return;
  CPodeFree(&(*run)->multistep);
  CPOneStepFree(&(*run)->onestep);
  if ((*run)->solver) SUNNonlinSolFree((*run)->solver);
  CPContactFree(&(*run)->contact);
  N_VDestroy((*run)->y);
  free(*run);
  *run = NULL;
}

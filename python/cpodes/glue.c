/* Part of the module that cffi writes: Python functions as cpodes calls them, and the loop over the
 * steps. */
#include <float.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <time.h>

#ifndef SUN_COMM_NULL /* In SUNDIALS 7 it means "no MPI". */
#define SUN_COMM_NULL NULL
#endif

typedef const double *In;
typedef double *Out;

/* ------------------------------------------------------------------------------- functions -- */

/* Python's functions get copies, so that they may keep or change them. */
static int call_python(GlueFn *g, double t, const In x[], const Out y[]) {
  for (int i = 0; i < g->nin; i++)
    if (g->nx[i] > 0) memcpy(g->x[i], x[i], (size_t)g->nx[i] * sizeof(double));
  const int flag = glue_python(g->data, t);
  for (int i = 0; i < g->nout && !flag; i++)
    if (g->ny[i] > 0 && y[i]) memcpy(y[i], g->y[i], (size_t)g->ny[i] * sizeof(double));
  return flag;
}

static int call(GlueFn *g, double t, const In x[], const Out y[]) {
  void *const d = g->data;
  g->calls++;
  if (!g->call) return call_python(g, t, x, y);
  switch (10 * g->nin +
          g->nout) { /* Conversion of an object pointer to a function, as POSIX requires for dlsym. */
  case 1: return ((int (*)(double, Out, void *))g->call)(t, y[0], d);
  case 11: return ((int (*)(double, In, Out, void *))g->call)(t, x[0], y[0], d);
  case 21: return ((int (*)(double, In, In, Out, void *))g->call)(t, x[0], x[1], y[0], d);
  case 22:
    return ((int (*)(double, In, In, Out, Out, void *))g->call)(t, x[0], x[1], y[0], y[1], d);
  case 31: return ((int (*)(double, In, In, In, Out, void *))g->call)(t, x[0], x[1], x[2], y[0], d);
  case 41:
    return ((int (*)(double, In, In, In, In, Out, void *))g->call)(t, x[0], x[1], x[2], x[3], y[0],
                                                                   d);
  case 32:
    return ((int (*)(double, In, In, In, Out, Out, void *))g->call)(t, x[0], x[1], x[2], y[0], y[1],
                                                                    d);
  case 43:
    return ((int (*)(double, In, In, In, In, Out, Out, Out, void *))g->call)(
        t, x[0], x[1], x[2], x[3], y[0], y[1], y[2], d);
  case 53:
    return ((int (*)(double, In, In, In, In, In, Out, Out, Out, void *))g->call)(
        t, x[0], x[1], x[2], x[3], x[4], y[0], y[1], y[2], d);
  default: return -1;
  }
}

static double *matrix_data(SUNMatrix A) {
  if (!A) return NULL;
  return SUNMatGetID(A) == SUNMATRIX_SPARSE ? SUNSparseMatrix_Data(A) : SUNDenseMatrix_Data(A);
}

#define DATA(v) N_VGetArrayPointer(v)
#define LIST(type, ...) \
  (const type[]) { __VA_ARGS__ }

int glue_rhs(double t, N_Vector y, N_Vector ydot, void *user_data) {
  GlueOde *s = user_data;
  return call(&s->f, t, LIST(In, DATA(y)), LIST(Out, DATA(ydot)));
}

int glue_rhs_batch(int k, const double *t, const double *Y, double *F, void *user_data) {
  GlueOde *s = user_data;
  s->f.calls += k; /* counts points, like the other functions */
  s->batch.k = k, s->batch.t = t, s->batch.Y = Y, s->batch.F = F;
  return glue_python(s->batch.data, t[0]);
}

int glue_constraint(double t, N_Vector y, N_Vector c, void *user_data) {
  GlueOde *s = user_data;
  return call(&s->c, t, LIST(In, DATA(y)), LIST(Out, DATA(c)));
}

int glue_constraint_jac(double t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  GlueOde *s = user_data;
  (void)c;
  return call(&s->G, t, LIST(In, DATA(y)), LIST(Out, matrix_data(G)));
}

int glue_project(double t, N_Vector yhat, N_Vector y, double eps, void *user_data) {
  GlueOde *s = user_data;
  (void)eps;
  return call(&s->g, t, LIST(In, DATA(yhat)), LIST(Out, DATA(y)));
}

int glue_project_error(double t, N_Vector y, N_Vector err, void *user_data) {
  GlueOde *s = user_data;
  return call(&s->g_eps, t, LIST(In, DATA(y), DATA(err)), LIST(Out, DATA(err)));
}

int glue_project_both(double t, N_Vector yhat, N_Vector y, N_Vector err, double eps,
                      void *user_data) {
  GlueOde *s = user_data;
  (void)eps;
  return call(&s->both, t, LIST(In, DATA(yhat), DATA(err)), LIST(Out, DATA(y), DATA(err)));
}

/* SUNDIALS adds the identity to J in place, which may have changed its index arrays. */
static int restore_pattern(const GlueOde *s, SUNMatrix J) {
  const int64_t *starts = s->pattern.starts;
  if (!starts) return 0;
  if (SUNSparseMatrix_NNZ(J) < starts[s->n] && SUNSparseMatrix_Reallocate(J, starts[s->n]))
    return -1;
  for (int64_t j = 0; j <= s->n; j++) SUNSparseMatrix_IndexPointers(J)[j] = starts[j];
  for (int64_t k = 0; k < starts[s->n]; k++) SUNSparseMatrix_IndexValues(J)[k] = s->pattern.rows[k];
  return 0;
}

int glue_jac(double t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data, N_Vector a,
             N_Vector b, N_Vector c) {
  GlueOde *s = user_data;
  (void)fy, (void)a, (void)b, (void)c;
  if (restore_pattern(s, J)) return -1;
  return call(&s->J, t, LIST(In, DATA(y)), LIST(Out, matrix_data(J)));
}

/* Relative increments, but at least the tolerance (up to sqrt(eps)), as in RADAU. */
static void increments(const GlueOde *s, const double *y, double *step) {
  const double root = sqrt(DBL_EPSILON);
  double largest    = 0;
  for (int64_t j = 0; j < s->n; j++) largest = fmax(largest, fabs(y[j]));
  const double typical = largest > 0 ? fmin(0.1 * largest, 1) : 1;
  for (int64_t j = 0; j < s->n; j++) {
    const double tolerance = s->rtol[j] * fabs(y[j]) + s->atol[j];
    const double size      = fmax(root * fmax(fabs(y[j]), typical), fmin(tolerance, root));
    volatile double moved  = y[j] + size;
    step[j]                = moved - y[j]; /* so that y + step is exact */
  }
}

int glue_jac_differences(double t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data,
                         N_Vector a, N_Vector b, N_Vector c) {
  GlueOde *s           = user_data;
  const GluePattern *P = &s->pattern;
  const size_t n       = (size_t)s->n;
  double *y2 = P->work, *f = y2 + n, *step = f + n;
  int flag = restore_pattern(s, J);
  (void)a, (void)b, (void)c;
  if (flag) return flag;
  double *value = matrix_data(J);
  increments(s, DATA(y), step);
  memcpy(y2, DATA(y), n * sizeof *y2);
  for (int64_t g = 0; g < P->ngroups; g++) {
    const int64_t first = P->groups[g], end = P->groups[g + 1];
    for (int64_t k = first; k < end; k++) y2[P->columns[k]] += step[P->columns[k]];
    if ((flag = call(&s->f, t, LIST(In, y2), LIST(Out, f)))) return flag;
    for (int64_t k = first; k < end; k++) {
      const int64_t j = P->columns[k];
      y2[j]           = DATA(y)[j];
      for (int64_t e = P->starts[j]; e < P->starts[j + 1]; e++)
        value[e] = (f[P->rows[e]] - DATA(fy)[P->rows[e]]) / step[j];
    }
  }
  return 0;
}

int glue_weights(N_Vector y, N_Vector ewt, void *user_data) {
  const GlueOde *s = user_data;
  const double *x  = DATA(y);
  double *w        = DATA(ewt);
  for (int64_t i = 0; i < s->n; i++) {
    const double scale = s->rtol[i] * (x[i] < 0 ? -x[i] : x[i]) + s->atol[i];
    if (!(scale > 0)) return -1;
    w[i] = 1 / scale;
  }
  return 0;
}

/* --- mechanical systems --- */

static int mass(double t, const double *q, SUNMatrix M, void *F) {
  return call(&((GlueMech *)F)->M, t, LIST(In, q), LIST(Out, matrix_data(M)));
}

static int rows(double t, const double *q, SUNMatrix A, void *F) {
  return call(&((GlueMech *)F)->A, t, LIST(In, q), LIST(Out, matrix_data(A)));
}

static int forces(double t, const double *q, const double *u, const double *z, double *f, void *F) {
  return call(&((GlueMech *)F)->f, t, LIST(In, q, u, z), LIST(Out, f));
}

static int forces_lambda(double t, const double *q, const double *u, const double *z,
                         const double *l, double *f, void *F) {
  return call(&((GlueMech *)F)->f_lambda, t, LIST(In, q, u, z, l), LIST(Out, f));
}

static int position(double t, const double *q, double *p, void *F) {
  return call(&((GlueMech *)F)->p, t, LIST(In, q), LIST(Out, p));
}

static int velocity(double t, const double *q, const double *u, double *v, void *F) {
  return call(&((GlueMech *)F)->v, t, LIST(In, q, u), LIST(Out, v));
}

static int acceleration(double t, const double *q, const double *u, double *b, void *F) {
  return call(&((GlueMech *)F)->b, t, LIST(In, q, u), LIST(Out, b));
}

static int auxiliary(double t, const double *q, const double *u, const double *z, const double *l,
                     double *zdot, void *F) {
  return call(&((GlueMech *)F)->zdot, t, LIST(In, q, u, z, l), LIST(Out, zdot));
}

static int dynamics_jac(double t, const double *q, const double *u, const double *z,
                        const double *udot, const double *l, SUNMatrix K, SUNMatrix C, SUNMatrix Fz,
                        void *F) {
  return call(&((GlueMech *)F)->dynamics_jac, t, LIST(In, q, u, z, udot, l),
              LIST(Out, matrix_data(K), matrix_data(C), matrix_data(Fz)));
}

static int constraint_jac(double t, const double *q, const double *u, const double *udot,
                          SUNMatrix Bq, SUNMatrix Bu, void *F) {
  return call(&((GlueMech *)F)->constraint_jac, t, LIST(In, q, u, udot),
              LIST(Out, matrix_data(Bq), matrix_data(Bu)));
}

static int auxiliary_jac(double t, const double *q, const double *u, const double *z,
                         const double *l, SUNMatrix Zq, SUNMatrix Zu, SUNMatrix Zz, void *F) {
  return call(&((GlueMech *)F)->auxiliary_jac, t, LIST(In, q, u, z, l),
              LIST(Out, matrix_data(Zq), matrix_data(Zu), matrix_data(Zz)));
}

static int lambda_jac(double t, const double *q, const double *u, const double *z, const double *l,
                      SUNMatrix Fl, void *F) {
  return call(&((GlueMech *)F)->lambda_jac, t, LIST(In, q, u, z, l), LIST(Out, matrix_data(Fl)));
}

void glue_model(GlueMech *F, CPEquations *m) {
#define SET(name, function) m->name = F->name.nout > 0 ? function : NULL
  SET(M, mass);
  SET(A, rows);
  SET(f, forces);
  SET(f_lambda, forces_lambda);
  SET(p, position);
  SET(v, velocity);
  SET(b, acceleration);
  SET(zdot, auxiliary);
  SET(dynamics_jac, dynamics_jac);
  SET(constraint_jac, constraint_jac);
  SET(auxiliary_jac, auxiliary_jac);
  SET(lambda_jac, lambda_jac);
#undef SET
}

int glue_motion(double t, double *g, void *m) {
  return call(&((GlueMotion *)m)->g, t, NULL, LIST(Out, g));
}

int glue_motiond(double t, double *g, void *m) {
  return call(&((GlueMotion *)m)->gd, t, NULL, LIST(Out, g));
}

int glue_motiondd(double t, double *g, void *m) {
  return call(&((GlueMotion *)m)->gdd, t, NULL, LIST(Out, g));
}

int glue_drive(double t, double *g, void *function) {
  return call(function, t, NULL, LIST(Out, g));
}

int glue_law(double t, double x, double rate, double *T, void *function) {
  const double both[2] = {x, rate};
  return call(function, t, LIST(In, both), LIST(Out, T));
}

int glue_point_force(double t, const double *x, const double *v, double *F, double *Fx, double *Fv,
                     void *function) {
  return call(function, t, LIST(In, x, v), LIST(Out, F, Fx, Fv));
}

int glue_surface(const double *x, double *phi, double *g, double *H, double *T, void *function) {
  return call(function, 0, LIST(In, x), LIST(Out, phi, g, H, T));
}

int glue_end(double t, N_Vector y, double *values, void *functional) {
  return call(&((GlueFunctional *)functional)->end, t, LIST(In, DATA(y)), LIST(Out, values));
}

int glue_integrand(double t, N_Vector y, double *values, void *functional) {
  return call(&((GlueFunctional *)functional)->integrand, t, LIST(In, DATA(y)), LIST(Out, values));
}

void glue_message(int code, const char *function, const char *text, void *warnings) {
  GlueWarnings *w = warnings;
  (void)function;
  if (code != CV_WARNING || w->count >= 4) return; /* cpodes keeps the text of errors */
  strncpy(w->text[w->count], text, sizeof w->text[0] - 1);
  w->count++;
}

/* ----------------------------------------------------------------------------------- a run -- */

static int roots(double t, N_Vector y, double *g, void *run) {
  GlueRun *r = run;
  int flag   = r->model_roots ? r->model_roots(t, y, g, r->model_data) : 0;
  for (int i = 0; i < r->nevents && !flag; i++)
    flag = call(&r->events[i], t, LIST(In, DATA(y)), LIST(Out, g + r->nmodel_roots + i));
  return flag;
}

static double next_stop(double t, void *run) {
  const GlueRun *r = run;
  int i            = 0;
  while (i < r->nstops && r->sign * (r->stops[i] - t) <= 0) i++;
  return i < r->nstops ? r->stops[i] : INFINITY;
}

static int at_event(CPSession session, const CPEvent *event, N_Vector y, void *run) {
  const GlueRun *r = run;
  (void)session;
  return glue_python_event(r->owner, event->t, event->timed, event->roots, DATA(y));
}

static int configure(CPIntegrator mem, const char *method, void *run) {
  return glue_python_config(((GlueRun *)run)->owner, mem, method);
}

static int at_named(CPSession session, const CPEvent *event, N_Vector y, void *run) {
  (void)session, (void)y;
  return event->is_named ? glue_python_named(((GlueRun *)run)->owner, event->t, event->name) : 0;
}

int glue_begin(GlueRun *r, const int *direction) {
  const CPEventSource source = {.size      = sizeof source,
                                .name      = "events",
                                .data      = r,
                                .nroots    = r->nmodel_roots + r->nevents,
                                .roots     = roots,
                                .direction = direction,
                                .next_time = next_stop,
                                .handle    = at_event};
  int flag                   = CPSessionAddSource(r->session, &source, &r->source);
  r->last                    = r->source;
  if (!flag) flag = CPSessionSetEventFn(r->session, at_named, r);
  return flag ? flag : CPSessionSetConfigFn(r->session, configure, r);
}

/* A run begins. */
static int begin_samples(CPSession session, double t, double t_end, N_Vector y, int again,
                         void *sampler) {
  (void)session, (void)t, (void)t_end, (void)y;
  if (!again) ((GlueSampler *)sampler)->begins = NAN;
  return 0;
}

/* The place in the queue of the sample at t */
static double *place_at(const GlueSampler *s, double t) {
  return s->queue + s->n * (int)fmod(fabs(round((t - s->first) / s->period)), s->length);
}

static int set(const GlueSampler *s, const double *value) {
  int changed = 0;
  for (int i = 0; i < s->n; i++) {
    changed |= *s->place[i] != value[i];
    *s->place[i] = value[i];
  }
  return changed ? CP_RESTART : CP_CONTINUE;
}

static int at_sample(CPSession session, const CPEvent *event, N_Vector y, void *sampler) {
  GlueSampler *s = sampler;
  (void)session;
  const int flag = call(&s->f, event->t, LIST(In, DATA(y)), LIST(Out, s->value));
  if (flag) return flag < 0 ? flag : -1;
  if (isnan(s->begins)) s->begins = event->t;
  if (!s->length) return set(s, s->value);
  memcpy(place_at(s, event->t), s->value, (size_t)s->n * sizeof *s->value);
  return CP_CONTINUE;
}

static int at_act(CPSession session, const CPEvent *event, N_Vector y, void *sampler) {
  const GlueSampler *s = sampler;
  const double t       = event->t - s->delay; /* when the sample was taken */
  (void)session, (void)y;
  return t > s->begins - s->period / 2 ? set(s, place_at(s, t)) : CP_CONTINUE;
}

int glue_sample(CPSession session, GlueSampler *s, int *last) {
  const int waiting = s->length * s->n;
  s->acts           = (CPEventDerivatives){.size = sizeof s->acts, .held = s->place, .nheld = s->n};
  s->samples        = (CPEventDerivatives){.size    = sizeof s->samples,
                                           .held    = waiting ? s->waiting : s->place,
                                           .nheld   = waiting ? waiting : s->n,
                                           .nmemory = waiting};
  CPEventSource source = {.size        = sizeof source,
                          .name        = "controller",
                          .data        = s,
                          .start       = begin_samples,
                          .handle      = at_sample,
                          .period      = s->period,
                          .first       = s->first,
                          .derivatives = &s->samples};
  const int flag       = CPSessionAddSource(session, &source, last);
  if (flag || !waiting) return flag;
  source.start  = NULL;
  source.handle = at_act;
  source.first += s->delay;
  source.derivatives = &s->acts;
  return CPSessionAddSource(session, &source, last);
}

static int is_time_stepping(const GlueRun *r) {
  sunrealtype time_stepping = 0.0;
  if (r->contact) CPObjectGetStat(CP_OBJECT(r->contact), "time_stepping", &time_stepping);
  return time_stepping != 0.0;
}

static int interpolate(GlueRun *r, double t, int projected, N_Vector y) {
  const CPIntegrator mem = CPSessionGetIntegrator(r->session);
  CPIntegratorSetProjOutput(mem, projected);
  const int flag = CPSessionGetDky(r->session, t, 0, y);
  CPIntegratorSetProjOutput(mem, SUNTRUE);
  return flag;
}

/* time_stepped: the newest step is one of time stepping, which has no estimate */
static int record(GlueRun *r, int time_stepped) {
  const size_t n     = (size_t)N_VGetLength(r->y);
  const double *y    = DATA(r->y);
  const double *work = DATA(r->work);
  const double sign  = r->t < r->told ? -1 : 1;
  double *const seg  = r->segments ? r->segments + (size_t)(r->steps * r->nnodes) * n : NULL;
  int flag           = 0;
  r->ts[r->steps]    = r->t;
  if (r->ys) memcpy(r->ys + (size_t)r->steps * n, y, n * sizeof *y);
  /* The ends of a segment are the states themselves; the caller has filled in the first one. */
  for (int i = 1; seg && i < r->nnodes - 1 && !flag; i++) {
    flag = interpolate(r, r->told + r->nodes[i] * (r->t - r->told), 0, r->work);
    memcpy(seg + (size_t)i * n, work, n * sizeof *work);
  }
  if (seg) memcpy(seg + (size_t)(r->nnodes - 1) * n, y, n * sizeof *y);
  for (; r->ieval < r->neval && sign * (r->t_eval[r->ieval] - r->t) <= 0 && !flag; r->ieval++) {
    const double t  = r->t_eval[r->ieval];
    const double *x = y;
    if (t != r->t) {
      flag = interpolate(r, t, 1, r->work);
      x    = work;
    }
    memcpy(r->y_eval + (size_t)r->ieval * n, x, n * sizeof *x);
  }
  if (!time_stepped && !CPIntegratorGetEstLocalErrors(CPSessionGetIntegrator(r->session), r->work))
    for (size_t i = 0; i < n; i++) r->error[i] += work[i] < 0 ? -work[i] : work[i];
  r->told = r->t;
  r->steps++;
  return flag;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int glue_record(GlueRun *r) { return record(r, 0); }

/* Has source i an event at the end of the newest step? *timed: is it at a time of its own? */
static int has_event(const GlueRun *r, int i, int *timed) {
  CPEvent event;
  if (CPSessionGetEvent(r->session, i, &event)) return 0;
  *timed = event.timed;
  return event.roots || event.timed;
}

/* Records the step up to an event after which the integrator may restart, all but those of the user's functions, and handles the
 * event. The sources are those of the mechanism, its contacts, the user's, and the samplers. */
static int meet(GlueRun *r, double t1) {
  int restarts = 0, timed = 0, flag = 0;
  r->at_contacts = r->contact && has_event(r, r->source - 1, &timed);
  for (int i = 0; i <= r->last; i++)
    if (has_event(r, i, &timed)) restarts |= i != r->source || timed;
  if (restarts && r->t != r->told) flag = record(r, 0);
  if (flag < 0) return flag;
  const size_t size = (size_t)N_VGetLength(r->y) * sizeof(double);
  memcpy(DATA(r->work), DATA(r->y), size);
  flag      = CPSessionStep(r->session, t1, r->y, &r->t);
  r->jumped = restarts && memcmp(DATA(r->work), DATA(r->y), size) != 0;
  return flag == CP_SUCCESS ? GLUE_EVENT : flag;
}

int glue_march(GlueRun *r, double t1) {
  const double begin = now();
  int flag           = 0;
  do {
    const int time_stepped = is_time_stepping(r);
    flag                   = CPSessionStep(r->session, t1, r->y, &r->t);
    if (flag == CV_ROOT_RETURN) return meet(r, t1);
    if (flag < 0) break;
    /* After an event at t1 there is nothing to record. */
    const int output = r->t == r->told ? 0 : record(r, time_stepped);
    if (output < 0) flag = output;
    else if (time_stepped && !is_time_stepping(r)) flag = GLUE_CALM;
  } while (flag == 0 && r->steps < r->room && now() - begin < r->seconds);
  return flag;
}

/* -------------------------------------------------------------------------------- SUNDIALS -- */

SUNContext glue_context(void) {
  SUNContext ctx = NULL;
  return SUNContext_Create(SUN_COMM_NULL, &ctx) ? NULL : ctx;
}

void glue_free(void *p) { free(p); }
void glue_context_free(SUNContext ctx) { SUNContext_Free(&ctx); }

N_Vector glue_vector(int64_t n, double *data, SUNContext ctx) {
  return data ? N_VMake_Serial(n, data, ctx) : N_VNew_Serial(n, ctx);
}

double *glue_data(N_Vector y) { return DATA(y); }
void glue_vector_free(N_Vector y) { N_VDestroy(y); }
SUNMatrix glue_dense(int64_t m, int64_t n, SUNContext ctx) { return SUNDenseMatrix(m, n, ctx); }

SUNMatrix glue_csc(int64_t m, int64_t n, const int64_t *starts, const int64_t *indices,
                   SUNContext ctx) {
  SUNMatrix A = SUNSparseMatrix(m, n, starts[n], CSC_MAT, ctx);
  if (!A) return NULL;
  for (int64_t j = 0; j <= n; j++) SUNSparseMatrix_IndexPointers(A)[j] = starts[j];
  for (int64_t k = 0; k < starts[n]; k++) SUNSparseMatrix_IndexValues(A)[k] = indices[k];
  return A;
}

double *glue_matrix_data(SUNMatrix A) { return matrix_data(A); }
void glue_matrix_free(SUNMatrix A) { SUNMatDestroy(A); }
void glue_linear_free(SUNLinearSolver ls) { SUNLinSolFree(ls); }
void glue_nonlinear_free(SUNNonlinearSolver nls) { SUNNonlinSolFree(nls); }

#ifdef GLUE_KLU /* The header needs that of KLU, which may be in another folder. */
SUNLinearSolver SUNLinSol_KLU(N_Vector y, SUNMatrix A, SUNContext ctx);
int glue_has_klu(void) { return 1; }
#define SPARSE_SOLVER(y, A, ctx) SUNLinSol_KLU(y, A, ctx)
#else
int glue_has_klu(void) { return 0; }
#define SPARSE_SOLVER(y, A, ctx) NULL
#endif

int glue_newton(CPIntegrator mem, N_Vector y, GlueOde *ode, int with_jac, SUNLinearSolver *ls,
                SUNMatrix *A, SUNContext ctx) {
  const int64_t n      = N_VGetLength(y);
  const GluePattern *P = &ode->pattern;
  if (P->starts && !glue_has_klu()) return CP_NOT_SUPPORTED;
  *A = P->starts ? glue_csc(n, n, P->starts, P->rows, ctx) : SUNDenseMatrix(n, n, ctx);
  if (*A) *ls = P->starts ? SPARSE_SOLVER(y, *A, ctx) : SUNLinSol_Dense(y, *A, ctx);
  if (!*A || !*ls) return CP_MEM_FAIL;
  const int own_jac = with_jac || P->starts; /* otherwise the integrator's differences */
  void *cvode       = CPIntegratorGetCVodeMem(mem);
  const int flag    = CVodeSetLinearSolver(cvode, *ls, *A);
  return flag || !own_jac ? flag : CVodeSetJacFn(cvode, with_jac ? glue_jac : glue_jac_differences);
}

SUNNonlinearSolver glue_fixed_point(N_Vector y, int m, SUNContext ctx) {
  return SUNNonlinSol_FixedPoint(y, m, ctx);
}

/* ---------------------------------------------------------------------------------- models -- */

#ifdef GLUE_CATALOGUE
#include <models/model.h>
const CPPluginType *glue_catalogue(int i) { return model_type(i); }
int glue_check_type(const CPPluginType *type, char *message, int64_t length) {
  return model_check_type(type, message, (size_t)length);
}
#else
const CPPluginType *glue_catalogue(int i) {
  (void)i;
  return NULL;
}
int glue_check_type(const CPPluginType *type, char *message, int64_t length) {
  (void)type, (void)message, (void)length;
  return 0;
}
#endif

/* --------------------------------------------------------------- models with other parameters -- */

struct GlueParametric_ {
  const CPPluginType *type;
  SUNContext ctx;
  double *values;    /* [type->nparameters]; sensitivities change them */
  int64_t capacity;  /* largest number of models */
  CPPlugin **models; /* models[0] has the initial values */
  long *used;        /* [capacity] time of the latest use */
  long clock;
  CPPlugin *newest;
  char message[400];
};

/* Does a model have the same functions and sizes? Otherwise its equations have another form. */
static int is_like(const CPPlugin *a, const CPPlugin *b) {
  const CPEquations *x = &a->mech, *y = &b->mech;
#define SAME(member) (x->member == y->member)
  return SAME(nu) && SAME(nq) && SAME(nz) && SAME(nquad) && SAME(np) && SAME(nv) && SAME(na) &&
         SAME(M) && SAME(A) && SAME(f) && SAME(f_lambda) && SAME(p) && SAME(v) && SAME(b) &&
         SAME(N) && SAME(zdot) && SAME(inverse) && SAME(udot) && SAME(Au) && SAME(ATl) &&
         SAME(Minv) && SAME(Mu) && SAME(dynamics_jac) && SAME(constraint_jac) &&
         SAME(auxiliary_jac) && SAME(lambda_jac) && SAME(udot_jac);
#undef SAME
}

static int has_values(const GlueParametric *P, const CPPlugin *m) {
  return m && !memcmp(m->parameter, P->values, (size_t)P->type->nparameters * sizeof *P->values);
}

/* Returns the model with the present values, since a model's functions have copies of its
 * parameters. Differences return to the same few values, so models are kept. Returns NULL, and a
 * message, if there is no such model. */
static const CPPlugin *model_now(GlueParametric *P) {
  int64_t oldest = 1;
  if (has_values(P, P->newest)) return P->newest;
  for (int64_t i = 0; i < P->capacity; i++) {
    if (has_values(P, P->models[i])) {
      P->used[i]       = ++P->clock;
      return P->newest = P->models[i];
    }
    if (i > 0 && P->used[i] < P->used[oldest]) oldest = i;
  }
  CPPlugin *made = CPPluginCreate(P->type, P->values, P->ctx, P->message, sizeof P->message);
  if (made && !is_like(made, P->models[0])) {
    snprintf(P->message, sizeof P->message,
             "%s: its equations change their form with the parameter", P->type->name);
    CPPluginFree(&made);
  }
  if (!made) return NULL;
  CPPluginFree(&P->models[oldest]);
  P->used[oldest]  = ++P->clock;
  return P->newest = P->models[oldest] = made;
}

CPMech glue_mech(const CPEquations *equations, N_Vector y, SUNContext ctx) {
  CPModel model = CPModelCreate(equations);
  CPMech mech   = model ? CPMechCreate(model, y, ctx) : NULL;
  CPModelFree(&model);
  return mech;
}

static int model_data(void *F, void **data) {
  const CPPlugin *m = model_now(F);
  if (m) *data = m->data;
  return m ? 0 : -1;
}

GlueParametric *glue_parametric(const CPPluginType *type, const double *values, int64_t capacity,
                                SUNContext ctx, char *message, int64_t length) {
  GlueParametric *P = calloc(1, sizeof *P);
  message[0]        = '\0';
  if (!P) return NULL;
  P->type = type, P->ctx = ctx, P->capacity = capacity;
  P->values = malloc((size_t)type->nparameters * sizeof *P->values);
  P->models = calloc((size_t)capacity, sizeof(CPPlugin *));
  P->used   = calloc((size_t)capacity, sizeof *P->used);
  if (P->values && P->models && P->used) {
    memcpy(P->values, values, (size_t)type->nparameters * sizeof *values);
    P->newest = P->models[0] = CPPluginCreate(type, values, ctx, message, (size_t)length);
  }
  if (P->newest) return P;
  glue_parametric_free(P);
  return NULL;
}

double *glue_parametric_values(GlueParametric *P) { return P->values; }
CPPlugin *glue_parametric_model(GlueParametric *P) { return P->models[0]; }
const char *glue_parametric_message(const GlueParametric *P) { return P->message; }

CPMech glue_parametric_mech(GlueParametric *P) {
  const CPPlugin *first = P->models[0];
  CPEquations m         = first->mech;
  m.model_data = NULL, m.current_data = model_data;
  CPMech mech = glue_mech(&m, first->y0, P->ctx);
  if (mech && CPMechSetUserData(mech, P)) CPMechFree(&mech);
  return mech;
}

void glue_parametric_free(GlueParametric *P) {
  if (!P) return;
  for (int64_t i = 0; P->models && i < P->capacity; i++) CPPluginFree(&P->models[i]);
  free(P->models);
  free(P->used);
  free(P->values);
  free(P);
}

const CPPluginType *glue_module(const void *module, char *message, int64_t length) {
  const CPPluginModule *m = module;
  const struct {
    const char *what;
    int its, ours;
  } numbers[] = {
      {"version of the interface of models", m->abi, CP_PLUGIN_ABI},
      {"number of bytes of sunrealtype", m->real_bytes, (int)sizeof(sunrealtype)},
      {"number of bytes of sunindextype", m->index_bytes, (int)sizeof(sunindextype)},
      {"major version of SUNDIALS", m->sundials, SUNDIALS_VERSION_MAJOR},
  };
  message[0] = '\0';
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (numbers[i].its != numbers[i].ours) {
      snprintf(message, (size_t)length, "its %s is %d, and that of this cpodes is %d",
               numbers[i].what, numbers[i].its, numbers[i].ours);
      return NULL;
    }
  return m->type;
}

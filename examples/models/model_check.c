/* Comparisons at the start, at the end of the reference, and at pseudo-random states on the manifold
 * near the start, which move: at rest most terms vanish. */
#include "model.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

enum { NUM_MOVING = 2, LONG_STATE = 1000, MAX_LISTED = 4 };

/* What is compared agrees to so much, relative to its terms: differences are good to some 1e-8 */
static const sunrealtype agreement = 1e-6;
/* Distance of a consistent state from the constraints, relative to the state */
static const sunrealtype consistent = 1e-9;

typedef struct {
  const Model *model;
  const ModelType *type;
  CPMech mech;                  /* NULL: as ODE only */
  CPProjector P;                /* of c and G; NULL: as CPMech only */
  N_Vector ewt;                 /* 1 / (tolerance of a consistent state) */
  N_Vector moving[NUM_MOVING];  /* states near the start, at t = 0 */
  N_Vector y, ydot, moved, res; /* work; res [m], or NULL */
  sunrealtype *lambda[2];       /* work, for multipliers */
  char *message;
  size_t length;
} Check;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
/* Writes the contradiction, returns 0: not true */
static int
contradicts(const Check *c, const char *format, ...) {
  const int start = snprintf(c->message, c->length, "%s: ", c->type->name ? c->type->name : "?");
  if (start < 0 || (size_t)start >= c->length) return 0;
  va_list args;
  va_start(args, format);
  vsnprintf(c->message + start, c->length - start, format, args);
  va_end(args);
  return 0;
}

/* ----------------------------------------------------------------------------------- metadata -- */

static int is_name(const char *name) {
  return name && *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static int is_text(const char *text) { return text && *text; }

static int parameters_are_true(const Check *c) {
  for (int i = 0; i < c->type->nparameters; i++) {
    const ModelParameter *p = &c->type->parameters[i];
    if (!is_text(p->name) || !p->unit || !is_text(p->meaning))
      return contradicts(c, "parameter %d has no name, unit or meaning", i);
    if (model_parameter(c->type, p->name) != i)
      return contradicts(c, "there are two parameters %s", p->name);
    if (!(p->value >= p->least && p->value <= p->most))
      return contradicts(c, "the default %g of parameter %s is not from %g to %g", (double)p->value,
                         p->name, (double)p->least, (double)p->most);
    const sunrealtype value = c->model->parameter[i];
    if (!(value >= p->least && value <= p->most))
      return contradicts(c, "parameter %s = %g is not from %g to %g", p->name, (double)value,
                         (double)p->least, (double)p->most);
  }
  return 1;
}

static int quantities_are_described(const Check *c) {
  for (int i = 0; i < c->type->nquantities; i++) {
    const ModelQuantity *q = &c->type->quantities[i];
    if (!is_text(q->name) || !q->unit || !q->value)
      return contradicts(c, "quantity %d has no name, unit or value", i);
    const sunrealtype scale = model_scale(c->model, i);
    if (!(scale > 0 && isfinite(scale)))
      return contradicts(c, "the scale of %s must be > 0, and is %g", q->name, (double)scale);
  }
  return 1;
}

static int events_are_true(const Check *c) {
  const Model *model = c->model;
  if (model->nroots < 0 || model->nroots > MAX_LISTED)
    return contradicts(c, "%d roots, 0 to %d are possible", model->nroots, MAX_LISTED);
  if (model->nroots > 0 && (!c->type->roots || !c->type->event))
    return contradicts(c, "%d roots, but no function roots or event", model->nroots);
  for (int i = 0; i < model->nroots; i++)
    if (abs(model->direction[i]) > 1)
      return contradicts(c, "direction of root %d must be -1, 0 or 1, and is %d", i,
                         model->direction[i]);
  if (model->nstops < 0 || model->nstops > MAX_LISTED)
    return contradicts(c, "%d stops, 0 to %d are possible", model->nstops, MAX_LISTED);
  for (int i = 0; i < model->nstops; i++)
    if (!(model->stop[i] > (i ? model->stop[i - 1] : 0) && model->stop[i] < c->type->t_end))
      return contradicts(c, "stop %d at t = %g is not behind the one before and before t_end = %g",
                         i, (double)model->stop[i], (double)c->type->t_end);
  return 1;
}

static int drawing_is_true(const Check *c) {
  const ModelDrawing *d = &c->model->drawing;
  if (d->npoints < 1 || d->nsegments < 0 || !d->kind || (d->nsegments > 0 && !d->segment) ||
      !c->type->points)
    return contradicts(c, "there is no drawing");
  for (int i = 0; i < d->nsegments; i++)
    for (int k = 0; k < 2; k++)
      if (d->segment[i][k] < 0 || d->segment[i][k] >= d->npoints)
        return contradicts(c, "segment %d of the drawing ends at point %d, but there are %d", i,
                           d->segment[i][k], d->npoints);
  return 1;
}

static int metadata_are_true(const Check *c) {
  const ModelType *type = c->type;
  if (!is_name(type->name))
    return contradicts(c, "the name \"%s\" is not made of a-z, 0-9 and _",
                       type->name ? type->name : "");
  if (!is_text(type->title) || !is_text(type->source))
    return contradicts(c, "there is no title or no source");
  if (!(type->t_end > 0 && isfinite(type->t_end)))
    return contradicts(c, "t_end must be > 0, and is %g", (double)type->t_end);
  return parameters_are_true(c) && quantities_are_described(c) && events_are_true(c) &&
         drawing_is_true(c);
}

/* -------------------------------------------------------------------------------------- sizes -- */

static int sizes_agree(const Check *c) {
  const Model *model      = c->model;
  const CPMechModel *mech = &model->mech;
  const long n            = (long)model->n;
  if (n < 1 || !model->y0 || N_VGetLength(model->y0) != n)
    return contradicts(c, "n is %ld, but y0 has %ld components", n,
                       model->y0 ? (long)N_VGetLength(model->y0) : 0);
  if (mech->nu == 0 && !model->f) return contradicts(c, "neither a CPMech nor f is given");
  const sunindextype nq = mech->nq ? mech->nq : mech->nu;
  if (mech->nu > 0 && nq + mech->nu + mech->nz != n)
    return contradicts(c, "n is %ld, but nq + nu + nz = %ld", n, (long)(nq + mech->nu + mech->nz));
  if ((model->m > 0) != (model->c != NULL))
    return contradicts(c, "m is %ld, but c is %s", (long)model->m, model->c ? "given" : "NULL");
  if (model->c && !model->f) return contradicts(c, "c is given, but not f");
  if (model->G_tmpl &&
      (SUNMatGetID(model->G_tmpl) == SUNMATRIX_SPARSE
           ? SM_ROWS_S(model->G_tmpl) != model->m || SM_COLUMNS_S(model->G_tmpl) != n
           : SM_ROWS_D(model->G_tmpl) != model->m || SM_COLUMNS_D(model->G_tmpl) != n))
    return contradicts(c, "G_tmpl is not m x n = %ld x %ld", (long)model->m, n);
  if (model->ncompared < 0 || model->ncompared > n)
    return contradicts(c, "ncompared is %ld, but n is %ld", (long)model->ncompared, n);
  if (model->known && !c->type->reference)
    return contradicts(c, "known, but there is no reference");
  if (model->known && !(model->reference_error > 0 && isfinite(model->reference_error)))
    return contradicts(c, "reference_error must be > 0, and is %g", (double)model->reference_error);
  return 1;
}

/* ------------------------------------------------------------------------------------ objects -- */

static void be_silent(int code, const char *function, const char *msg, void *data) {
  (void)code, (void)function, (void)msg, (void)data; /* GetLastMessage has it */
}

static int create_projector(Check *c) {
  const Model *model = c->model;
  if (!(c->res = N_VNew_Serial(model->m, model->ctx))) return contradicts(c, "no memory");
  c->P = CPProjectorCreate(model->c, model->y0, c->res, model->ctx);
  if (!c->P) return contradicts(c, "no projector takes c");
  SUNMatrix dense = NULL;
  if (model->G && !model->G_tmpl) dense = SUNDenseMatrix(model->m, model->n, model->ctx);
  CPProjectorSetErrHandlerFn(c->P, be_silent, NULL);
  int flag = CPProjectorSetUserData(c->P, model->data);
  if (!flag && model->G) flag = CPProjectorSetJacFn(c->P, model->G, dense ? dense : model->G_tmpl);
  if (dense) SUNMatDestroy(dense);
  return !flag || contradicts(c, "G: %s", CPProjectorGetLastMessage(c->P));
}

static int create_objects(Check *c) {
  const Model *model = c->model;
  if (model->mech.nu > 0) {
    if (!(c->mech = model_mech(model))) return contradicts(c, "CPMechCreate refuses the model");
    CPMechSetErrHandlerFn(c->mech, be_silent, NULL);
    for (int i = 0; i < 2; i++)
      if (!(c->lambda[i] = calloc(CPMechGetNumMultipliers(c->mech) + 1, sizeof **c->lambda)))
        return contradicts(c, "no memory");
  }
  N_Vector *vectors[] = {&c->ewt, &c->moving[0], &c->moving[1], &c->y, &c->ydot, &c->moved};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
    if (!(*vectors[i] = N_VClone(model->y0))) return contradicts(c, "no memory");
  return !model->c || create_projector(c);
}

static void free_objects(Check *c) {
  N_Vector vectors[] = {c->ewt, c->moving[0], c->moving[1], c->y, c->ydot, c->moved, c->res};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
    if (vectors[i]) N_VDestroy(vectors[i]);
  for (int i = 0; i < 2; i++) free(c->lambda[i]);
  CPMechFree(&c->mech);
  CPProjectorFree(&c->P);
}

/* -------------------------------------------------------------------------------- consistency -- */

/* Index of the first component that is not finite, or -1 */
static long first_not_finite(N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  for (sunindextype i = 0; i < N_VGetLength(y); i++)
    if (!isfinite(s[i])) return (long)i;
  return -1;
}

/* Is the state y at t finite, and on the constraints of both forms up to tol (1 + |y_i|)? */
static int is_consistent(const Check *c, const char *what, sunrealtype t, N_Vector y,
                         sunrealtype tol) {
  const long bad = first_not_finite(y);
  if (bad >= 0) return contradicts(c, "component %ld of %s is not finite", bad, what);
  N_VAbs(y, c->ewt);
  N_VAddConst(c->ewt, 1, c->ewt);
  N_VScale(tol, c->ewt, c->ewt);
  N_VInv(c->ewt, c->ewt);
  CPProjector projector[2] = {c->P, c->mech ? CPMechGetProjector(c->mech) : NULL};
  for (int i = 0; i < 2; i++) {
    sunrealtype norm = 0;
    sunindextype worst;
    if (!projector[i] || (i == 1 && c->model->mech.nv == 0 && c->model->mech.np == 0)) continue;
    if (CPProjectorGetViolation(projector[i], t, y, c->ewt, &norm, &worst))
      return contradicts(c, "constraints at %s: %s", what, CPProjectorGetLastMessage(projector[i]));
    if (!(norm <= 1))
      return contradicts(c, "%s is inconsistent: constraint %ld of %s is violated by %g", what,
                         (long)worst, i ? "the CPMech" : "c", (double)(norm * tol));
  }
  return 1;
}

/* Repeatable number from -1 to 1 (Numerical Recipes' quick generator) */
static sunrealtype next_random(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return ldexp((double)*state, -31) - 1;
}

/* A consistent state near the start: positions within a percent or so of their largest, velocities such
   that these change by their size within a tenth of the motion */
static int create_moving(Check *c, int k) {
  const sunindextype nq = model_nq(c->model), n = c->model->n;
  unsigned seed  = 17 + k;
  sunrealtype *s = N_VGetArrayPointer(c->moving[k]), size = 0;
  N_VScale(1, c->model->y0, c->moving[k]);
  for (sunindextype i = 0; i < nq; i++) size = fmax(size, fabs(s[i]));
  for (sunindextype i = 0; i < n; i++)
    s[i] += next_random(&seed) * size * (i < nq ? 0.01 : 10 / c->type->t_end);
  if (c->mech) {
    if (CPMechCalcIC(c->mech, 0, c->moving[k], NULL, NULL, NULL, NULL))
      return contradicts(c, "near y0: %s", CPMechGetLastMessage(c->mech));
  } else if (c->P) {
    N_VConst(1 / (consistent * fmax(size, 1)), c->ewt);
    if (CPProjectorProject(c->P, 0, c->moving[k], c->ewt))
      return contradicts(c, "near y0: %s", CPProjectorGetLastMessage(c->P));
  }
  return 1;
}

static int moving_states_are_consistent(Check *c) {
  for (int k = 0; k < NUM_MOVING; k++)
    if (!create_moving(c, k) ||
        !is_consistent(c, "a state near y0", 0, c->moving[k], 10 * consistent))
      return 0;
  return 1;
}

/* ---------------------------------------------------------------------------------- reference -- */

static sunrealtype largest(const sunrealtype *x, sunindextype length) {
  sunrealtype result = 0;
  for (sunindextype i = 0; i < length; i++) result = fmax(result, fabs(x[i]));
  return result;
}

/* The multipliers of the reference at t, state y, against CPMech's */
static int multipliers_agree(const Check *c, sunrealtype t, N_Vector y) {
  if (!c->type->reference_lambda || !c->mech) return 1;
  const sunindextype na = CPMechGetNumMultipliers(c->mech);
  sunrealtype *known = c->lambda[0], *computed = c->lambda[1];
  if (c->type->reference_lambda(c->model, t, known)) return 1;
  if (CPMechAccelerations(c->mech, t, y, N_VGetArrayPointer(c->ydot), computed))
    return contradicts(c, "accelerations at t = %g: %s", (double)t, CPMechGetLastMessage(c->mech));
  const sunrealtype size =
      fmax(largest(known, na), largest(N_VGetArrayPointer(c->ydot), c->model->mech.nu));
  for (sunindextype i = 0; i < na; i++)
    if (!(fabs(known[i] - computed[i]) <= agreement * size))
      return contradicts(
          c, "multiplier %ld of the reference at t = %g is %.10g, but CPMech's is %.10g", (long)i,
          (double)t, (double)known[i], (double)computed[i]);
  return 1;
}

static int reference_is_true(const Check *c) {
  const Model *model = c->model;
  if (!model->known) return 1;
  if (c->type->reference(model, 0, c->y))
    return contradicts(c, "the reference is not known at t = 0");
  const sunrealtype *a = N_VGetArrayPointer(model->y0), *b = N_VGetArrayPointer(c->y);
  for (sunindextype i = 0; i < model->n; i++)
    if (!(fabs(a[i] - b[i]) <= model->reference_error + 1e-14 * (1 + fabs(a[i]))))
      return contradicts(c, "component %ld of y0 is %.15g, but %.15g in the reference at t = 0",
                         (long)i, (double)a[i], (double)b[i]);
  if (!multipliers_agree(c, 0, c->y)) return 0;
  if (c->type->reference(model, c->type->t_end, c->y))
    return contradicts(c, "the reference is not known at t_end = %g", (double)c->type->t_end);
  return is_consistent(c, "the reference at t_end", c->type->t_end, c->y,
                       fmax(consistent, 10 * model->reference_error)) &&
         multipliers_agree(c, c->type->t_end, c->y);
}

/* ---------------------------------------------------------------------------------- equations -- */

static int derivatives_are_true(const Check *c, N_Vector y) {
  if (c->model->n > LONG_STATE) return 1; /* would take long */
  CPMechReport report;
  if (c->mech && CPMechCheck(c->mech, 0, y, &report))
    return contradicts(c, "%s", CPMechGetLastMessage(c->mech));
  if (!c->P || !c->model->G) return 1;
  sunrealtype err;
  sunindextype row, col;
  N_VConst(1, c->ewt);
  if (CPProjectorCheckJac(c->P, 0, y, c->ewt, &err, &row, &col))
    return contradicts(c, "G: %s", CPProjectorGetLastMessage(c->P));
  return err <= 1e-4 || contradicts(c, "G(%ld, %ld) is not the derivative of c: relative error %g",
                                    (long)row, (long)col, (double)err);
}

/* y' at (0, y), or returns 1: quaternions, of which CPMech alone knows the rate */
static int state_rate(const Check *c, N_Vector y, N_Vector ydot) {
  const Model *model = c->model;
  if (model->f) return model->f(0, y, ydot, model->data);
  const CPMechModel *m = &model->mech;
  if ((m->nq && m->nq != m->nu) || m->N || m->nz > 0) return 1;
  const sunrealtype *u = N_VGetArrayPointer(y) + m->nu;
  sunrealtype *rate    = N_VGetArrayPointer(ydot);
  memcpy(rate, u, m->nu * sizeof *u);
  return CPMechAccelerations(c->mech, 0, y, rate + m->nu, NULL);
}

/* f against CPMech's u'. Leaves y' in ydot. */
static int forms_agree(const Check *c, N_Vector y) {
  const Model *model = c->model;
  if (!model->f) return 1;
  if (model->f(0, y, c->ydot, model->data)) return contradicts(c, "f fails near y0");
  const long bad = first_not_finite(c->ydot);
  if (bad >= 0) return contradicts(c, "component %ld of f is not finite", bad);
  if (!c->mech) return 1;
  const sunindextype nq = model_nq(model), nu = model->mech.nu;
  sunrealtype *udot       = N_VGetArrayPointer(c->moved);
  const sunrealtype *rate = N_VGetArrayPointer(c->ydot), *u = N_VGetArrayPointer(y) + nq;
  if (CPMechAccelerations(c->mech, 0, y, udot, NULL))
    return contradicts(c, "accelerations near y0: %s", CPMechGetLastMessage(c->mech));
  for (sunindextype i = 0; i < nu; i++) {
    if (!(fabs(rate[nq + i] - udot[i]) <= agreement * largest(udot, nu)))
      return contradicts(c, "component %ld of f is %.10g, but CPMech's acceleration is %.10g",
                         (long)(nq + i), (double)rate[nq + i], (double)udot[i]);
    if (nq == nu && !model->mech.N && rate[i] != u[i])
      return contradicts(c, "component %ld of f is %.10g, but the velocity is %.10g", (long)i,
                         (double)rate[i], (double)u[i]);
  }
  return 1;
}

/* Time in which the largest components of y change by a thousandth at the rate ydot */
static sunrealtype short_time(N_Vector y, N_Vector ydot) {
  const sunrealtype rate = N_VMaxNorm(ydot);
  return rate > 0 ? 1e-3 * fmax(N_VMaxNorm(y), 1e-3) / rate : 1e-3;
}

/* moved <- y + h ydot, in the components first ... last - 1 only */
static N_Vector move(const Check *c, N_Vector y, sunrealtype h, sunindextype first,
                     sunindextype last) {
  const sunrealtype *a = N_VGetArrayPointer(y), *b = N_VGetArrayPointer(c->ydot);
  sunrealtype *s = N_VGetArrayPointer(c->moved);
  for (sunindextype i = 0; i < c->model->n; i++)
    s[i] = a[i] + (i >= first && i < last ? h * b[i] : 0);
  return c->moved;
}

/* Fourth-order central difference from its values at -2 h, -h, h, 2 h */
static sunrealtype difference(const sunrealtype value[4], sunrealtype h) {
  return (8 * (value[2] - value[1]) - (value[3] - value[0])) / (12 * h);
}

static const int steps_of[4] = {-2, -1, 1, 2};

/* f, in ydot, keeps the constraints: the rate of c(t, y) along the motion is 0, but for roundoff of its
   terms, each at most some largest |y| largest |y'| */
static int f_keeps_constraints(const Check *c, N_Vector y) {
  const Model *model = c->model;
  if (!model->c) return 1;
  const sunrealtype h = short_time(y, c->ydot);
  sunrealtype *value  = calloc(4 * model->m, sizeof *value);
  if (!value) return contradicts(c, "no memory");
  int failed = 0;
  for (int k = 0; k < 4 && !failed; k++) {
    const sunrealtype step = h * steps_of[k];
    failed                 = model->c(step, move(c, y, step, 0, model->n), c->res, model->data);
    for (sunindextype i = 0; i < model->m; i++) value[4 * i + k] = N_VGetArrayPointer(c->res)[i];
  }
  const sunrealtype size = fmax(N_VMaxNorm(y), 1) * N_VMaxNorm(c->ydot);
  int result             = !failed || contradicts(c, "c fails near y0");
  for (sunindextype i = 0; i < model->m && result; i++) {
    const sunrealtype rate = difference(value + 4 * i, h);
    if (!(fabs(rate) <= agreement * size))
      result =
          contradicts(c, "f leaves constraint %ld: its rate along f is %g", (long)i, (double)rate);
  }
  free(value);
  return result;
}

/* -------------------------------------------------------------------------------- quantities -- */

/* Rate of the quantity at y as the components first ... last - 1 move by ydot */
static sunrealtype quantity_rate(const Check *c, const ModelQuantity *q, N_Vector y,
                                 sunindextype first, sunindextype last) {
  const sunrealtype h = short_time(y, c->ydot);
  sunrealtype value[4];
  for (int k = 0; k < 4; k++)
    value[k] = q->value(c->model, h * steps_of[k], move(c, y, h * steps_of[k], first, last));
  return difference(value, h);
}

/* Does y' in ydot keep what is conserved, and not raise what is dissipated? */
static int quantities_keep(const Check *c, N_Vector y) {
  const sunindextype nq = model_nq(c->model), n = c->model->n;
  for (int i = 0; i < c->type->nquantities; i++) {
    const ModelQuantity *q = &c->type->quantities[i];
    /* roundoff: of the value in the differences, and of the powers that cancel */
    const sunrealtype value = fabs(q->value(c->model, 0, y)) + model_scale(c->model, i);
    const sunrealtype noise = 1e-13 * value / short_time(y, c->ydot);
    const sunrealtype powers =
        fabs(quantity_rate(c, q, y, 0, nq)) + fabs(quantity_rate(c, q, y, nq, n));
    const sunrealtype rate = quantity_rate(c, q, y, 0, n);
    if (!((q->conserved ? fabs(rate) : rate) <= agreement * powers + noise))
      return contradicts(c, "%s is not %s: it changes by %g %s per second where its powers are %g",
                         q->name, q->conserved ? "conserved" : "dissipated", (double)rate, q->unit,
                         (double)powers);
  }
  return 1;
}

/* A time in which positions and velocities change by a thousandth of the largest component, and not
   longer than that of the motion */
static int short_run(const Check *c, N_Vector y, sunrealtype *time) {
  const sunindextype nu = c->model->mech.nu;
  sunrealtype *udot     = N_VGetArrayPointer(c->ydot);
  if (CPMechAccelerations(c->mech, 0, y, udot, NULL))
    return contradicts(c, "accelerations near y0: %s", CPMechGetLastMessage(c->mech));
  const sunrealtype speed = largest(N_VGetArrayPointer(y) + model_nq(c->model), nu);
  const sunrealtype rate  = fmax(fmax(speed, largest(udot, nu)), 1 / c->type->t_end);
  *time                   = 1e-3 * fmax(N_VMaxNorm(y), 1e-3) / rate;
  return 1;
}

/* moved <- the state at `time` from y at 0 */
static int run(const Check *c, N_Vector y, sunrealtype time) {
  enum { MOST_STEPS = 10000 };
  sunrealtype t = 0;
  CPMech mech   = model_mech(c->model); /* c->mech stays unattached */
  CPodeMem mem  = CPodeCreate(c->model->stiff ? CV_BDF : CV_ADAMS, c->model->ctx);
  int result    = mech && mem ? 1 : contradicts(c, "no memory");
  if (result) {
    CPMechSetErrHandlerFn(mech, be_silent, NULL);
    CPodeSetErrHandlerFn(mem, be_silent, NULL);
    if (CPMechAttach(mech, mem, 0, y) || CPodeSStolerances(mem, 1e-10, 1e-10) ||
        CVodeSetMaxNumSteps(CPodeGetCVodeMem(mem), MOST_STEPS) ||
        CPode(mem, time, c->moved, &t, CV_NORMAL) < 0)
      result = contradicts(c, "near y0 it cannot be integrated: %s", CPodeGetLastMessage(mem));
  }
  CPodeFree(&mem);
  CPMechFree(&mech);
  return result;
}

/* The same as quantities_keep where CPMech alone knows y' (quaternions): over a short run, whose
   errors are some 1e-9 */
static int quantities_keep_in_a_run(const Check *c, N_Vector y) {
  sunrealtype t = 0;
  if (c->type->nquantities == 0) return 1;
  if (!short_run(c, y, &t) || !run(c, y, t)) return 0;
  for (int i = 0; i < c->type->nquantities; i++) {
    const ModelQuantity *q   = &c->type->quantities[i];
    const sunrealtype before = q->value(c->model, 0, y),
                      gain   = q->value(c->model, t, c->moved) - before;
    if (!((q->conserved ? fabs(gain) : gain) <= 1e-7 * (fabs(before) + model_scale(c->model, i))))
      return contradicts(c, "%s is not %s: it changes by %g %s in %g s", q->name,
                         q->conserved ? "conserved" : "dissipated", (double)gain, q->unit,
                         (double)t);
  }
  return 1;
}

static int quantities_are_finite(const Check *c, N_Vector y) {
  for (int i = 0; i < c->type->nquantities; i++)
    if (!isfinite(c->type->quantities[i].value(c->model, 0, y)))
      return contradicts(c, "%s is not finite", c->type->quantities[i].name);
  return 1;
}

/* Points at y; ground points are where they are at y0 */
static int points_are_true(const Check *c, N_Vector y) {
  const ModelDrawing *d = &c->model->drawing;
  sunrealtype *xyz = calloc(6 * d->npoints, sizeof *xyz), *start = xyz + 3 * d->npoints;
  if (!xyz) return contradicts(c, "no memory");
  for (int i = 0; i < 6 * d->npoints; i++) xyz[i] = NAN;
  c->type->points(c->model, 0, y, xyz);
  c->type->points(c->model, 0, c->model->y0, start);
  int result = 1;
  for (int i = 0; i < 3 * d->npoints && result; i++) {
    if (!isfinite(xyz[i])) result = contradicts(c, "point %d of the drawing is not finite", i / 3);
    else if (d->kind[i / 3] == MODEL_GROUND && xyz[i] != start[i])
      result = contradicts(c, "point %d of the drawing is ground, but moves with the state", i / 3);
  }
  free(xyz);
  return result;
}

/* ------------------------------------------------------------------------------------ together -- */

static int equations_are_true(const Check *c, N_Vector y) {
  if (!quantities_are_finite(c, y) || !points_are_true(c, y) || !forms_agree(c, y)) return 0;
  if (state_rate(c, y, c->ydot)) return quantities_keep_in_a_run(c, y);
  return f_keeps_constraints(c, y) && quantities_keep(c, y);
}

int model_check(const Model *model, char *message, size_t length) {
  Check c = {.model = model, .type = model->type, .message = message, .length = length};
  if (length > 0) message[0] = '\0';
  int result = metadata_are_true(&c) && sizes_agree(&c) && create_objects(&c) &&
               is_consistent(&c, "y0", 0, model->y0, consistent) &&
               derivatives_are_true(&c, model->y0) && moving_states_are_consistent(&c) &&
               reference_is_true(&c) && equations_are_true(&c, model->y0);
  for (int k = 0; k < NUM_MOVING && result; k++)
    result = derivatives_are_true(&c, c.moving[k]) && equations_are_true(&c, c.moving[k]);
  free_objects(&c);
  return result ? 0 : 1;
}

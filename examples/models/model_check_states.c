/* Checks of objects, and of states on the constraints: the start, others near it, and those of the reference. */
#include "model_check_impl.h"
#include "plugin.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ------------------------------------------------------------------------------------ objects -- */

static int create_projector(ModelCheck *c) {
  const CPPlugin *model = c->model;
  if (!(c->res = N_VNew_Serial(model->m, model->ctx))) return model_contradicts(c, "no memory");
  c->P = CPProjectorCreate(model->c, model->y0, c->res, model->ctx);
  if (!c->P) return model_contradicts(c, "c: %s", CPObjectGetLastMessage(NULL));
  SUNMatrix dense = NULL;
  if (model->G && !model->G_tmpl) dense = SUNDenseMatrix(model->m, model->n, model->ctx);
  int flag = CPProjectorSetUserData(c->P, model->data);
  if (!flag && model->G) flag = CPProjectorSetJacFn(c->P, model->G, dense ? dense : model->G_tmpl);
  if (dense) SUNMatDestroy(dense);
  return !flag || model_contradicts(c, "G: %s", CPObjectGetLastMessage(CP_OBJECT(c->P)));
}

int model_objects_are_created(ModelCheck *c) {
  const CPPlugin *model = c->model;
  if (model->mech.nu > 0) {
    if (!(c->mech = CPPluginMech(model)))
      return model_contradicts(c, "%s", CPObjectGetLastMessage(NULL));
    for (int i = 0; i < 2; i++)
      if (!(c->lambda[i] = calloc(CPMechGetNumMultipliers(c->mech) + 1, sizeof **c->lambda)))
        return model_contradicts(c, "no memory");
  }
  N_Vector *vectors[] = {&c->ewt, &c->y, &c->ydot, &c->moved};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
    if (!(*vectors[i] = N_VClone(model->y0))) return model_contradicts(c, "no memory");
  for (int k = 0; k < MODEL_STATES; k++)
    if (!(c->state[k] = N_VClone(model->y0))) return model_contradicts(c, "no memory");
  N_VScale(1, model->y0, c->state[0]);
  c->nstates = 1;
  return !model->c || create_projector(c);
}

void model_objects_free(ModelCheck *c) {
  N_Vector vectors[] = {c->ewt, c->y, c->ydot, c->moved, c->res};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
    if (vectors[i]) N_VDestroy(vectors[i]);
  for (int k = 0; k < MODEL_STATES; k++)
    if (c->state[k]) N_VDestroy(c->state[k]);
  for (int i = 0; i < 2; i++) free(c->lambda[i]);
  CPMechFree(&c->mech);
  CPProjectorFree(&c->P);
}

/* -------------------------------------------------------------------------------- consistency -- */

static int is_finite(const ModelCheck *c, const char *what, N_Vector y) {
  const long bad = model_not_finite(y);
  return bad < 0 || model_contradicts(c, "component %ld of %s is not finite", bad, what);
}

int model_start_is_finite(ModelCheck *c) { return is_finite(c, "y0", c->model->y0); }

/* Constraint i of a form at (t, y), in its own units, or 0 if no function of the model computes it */
static int value_of(const ModelCheck *c, int mech, sunindextype i, sunrealtype t, N_Vector y,
                    sunrealtype *value) {
  const CPPlugin *model = c->model;
  const CPEquations *m  = &model->mech;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + plugin_num_positions(model);
  const sunindextype nv = m->nv > m->np ? m->nv : m->np;
  const int position    = i < m->np;
  int flag              = 1;
  sunrealtype *all      = calloc(m->np + nv + 1, sizeof *all);
  if (all && mech && position) flag = m->p(t, q, all, model->data);
  if (all && mech && !position && m->v && i < m->np + nv) flag = m->v(t, q, u, all, model->data);
  if (!flag) *value = all[position ? i : i - m->np];
  if (!mech && !(flag = model->c(t, y, c->res, model->data)))
    *value = N_VGetArrayPointer(c->res)[i];
  free(all);
  return !flag;
}

/* Reports that constraint i (of p and then v of the CPMech, or of c) is violated by a distance */
static int is_violated(const ModelCheck *c, const char *what, int mech, sunindextype i,
                       sunrealtype t, N_Vector y, sunrealtype distance) {
  const sunindextype np = c->model->mech.np;
  sunrealtype value     = distance;
  char name[60];
  value_of(c, mech, i, t, y, &value);
  if (mech)
    snprintf(name, sizeof name, "%s[%ld] of the CPMech", i < np ? "p" : "v",
             (long)(i < np ? i : i - np));
  else snprintf(name, sizeof name, "constraint %ld of c", (long)i);
  return model_contradicts(c, "%s is inconsistent: %s is violated by %g", what, name, (double)value);
}

/* Returns 1 if the state y at t is finite, and on the constraints of both forms up to tol (1 + |y_i|) */
static int is_consistent(const ModelCheck *c, const char *what, sunrealtype t, N_Vector y,
                         sunrealtype tol) {
  if (!is_finite(c, what, y)) return 0;
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
      return model_contradicts(c, "constraints at %s: %s", what,
                               CPObjectGetLastMessage(CP_OBJECT(projector[i])));
    if (!model_measured(c, norm * tol, tol))
      return is_violated(c, what, i, worst, t, y, norm * tol);
  }
  return 1;
}

/* Checks that no contact penetrates at the start. */
static int contacts_do_not_penetrate(const ModelCheck *c) {
  const CPPlugin *model = c->model;
  int result            = 1;
  if (model->ncontacts == 0) return 1;
  sunrealtype *gap = calloc((size_t)model->mech.np + 1, sizeof *gap);
  if (!gap) return model_contradicts(c, "no memory");
  if (model->mech.p(0, N_VGetArrayPointer(model->y0), gap, model->data))
    result = model_contradicts(c, "p fails at y0");
  for (int i = 0; i < model->ncontacts && result; i++) {
    const sunindextype row = model->contact[i].normal; /* -1: it is always closed */
    if (row < 0) continue;
    const sunrealtype value = gap[row];
    if (!(value >= -model_consistent * (1 + N_VMaxNorm(model->y0))))
      result = model_contradicts(c, "the gap of \"%s\" is %g at the start: it must be >= 0",
                                 model->contact[i].name, (double)value);
  }
  free(gap);
  return result;
}

int model_start_is_consistent(ModelCheck *c) {
  return is_consistent(c, "y0", 0, c->model->y0, model_consistent) && contacts_do_not_penetrate(c);
}

enum { FIRST_LATER = 7 }; /* of the states */

/* Repeatable number from -1 to 1 (Numerical Recipes' quick generator) */
static sunrealtype next_random(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return ldexp((double)*state, -31) - 1;
}

/* state[k] <- a consistent state near the start. 1, 2: positions within about a percent of the largest one, and velocities with
   which they change by their size within a tenth of the motion; or `part` of these changes. 3, 4: the same with reversed velocities,
   for which a wrong power with the sign of dissipation has the other sign. 5, 6: the same with small velocities, at which quadratic
   dissipation is small compared with a wrong power. 7, 8: states 1 and 2 moved to a later time, since wrong forces or constraints
   that depend on time may be right at 0. Returns 0, or -1 with a message */
static int move_start(ModelCheck *c, int k, sunrealtype part) {
  static const sunrealtype speed[] = {1, -1, -0.01, 1};
  static const sunrealtype later =
      0.2718; /* fraction of the motion: a time without special significance */
  const sunindextype nq = plugin_num_positions(c->model), n = c->model->n;
  const int near = (k - 1) % 2 + 1; /* of states 1 and 2 */
  unsigned seed  = 16 + near;
  sunrealtype *s = N_VGetArrayPointer(c->state[k]), size = 0;
  N_VScale(1, k == near ? c->model->y0 : c->state[near], c->state[k]);
  for (sunindextype i = 0; i < nq; i++) size = fmax(size, fabs(s[i]));
  if (size == 0) size = 1;
  for (sunindextype i = 0; i < n; i++)
    if (k == near) s[i] += part * next_random(&seed) * size * (i < nq ? 0.01 : 10 / c->type->t_end);
    else if (i >= nq && i < nq + (c->mech ? c->model->mech.nu : n - nq)) s[i] *= speed[(k - 1) / 2];
  const sunrealtype t = k < FIRST_LATER ? 0 : part * later * c->type->t_end;
  const char *why     = NULL;
  c->time[k]          = t;
  N_VConst(1 / (model_consistent * fmax(size, 1)), c->ewt);
  if (c->mech && CPMechCalcIC(c->mech, t, c->state[k], NULL, NULL, NULL, NULL))
    why = CPObjectGetLastMessage(CP_OBJECT(c->mech));
  else if (!c->mech && c->P && CPProjectorProject(c->P, t, c->state[k], c->ewt))
    why = CPObjectGetLastMessage(CP_OBJECT(c->P));
  return !why || model_contradicts(c, "near y0: %s", why) ? 0 : -1;
}

/* With many bodies some may be too close to each other: try states nearer to the start */
static int find_state(ModelCheck *c, int k) {
  int flag = -1;
  for (sunrealtype part = 1; flag && part > 1e-4; part /= 10) flag = move_start(c, k, part);
  if (!flag) c->message[0] = '\0';
  return !flag;
}

int model_states_are_found(ModelCheck *c) {
  for (int k = 1; k < MODEL_STATES; k++) {
    const int found = find_state(c, k) && is_consistent(c, "a state near y0", c->time[k],
                                                        c->state[k], 10 * model_consistent);
    if (!found && k >= FIRST_LATER) c->message[0] = '\0'; /* A motion may end before that time. */
    if (!found) return k >= FIRST_LATER;
    c->nstates = k + 1;
  }
  return 1;
}

/* ---------------------------------------------------------------------------------- reference -- */

/* Compares the multipliers of the reference at t and its state y with those of the CPMech */
static int multipliers_agree(const ModelCheck *c, sunrealtype t, N_Vector y) {
  if (!c->type->reference_lambda || !c->mech) return 1;
  const sunindextype na = CPMechGetNumMultipliers(c->mech);
  sunrealtype *known = c->lambda[0], *computed = c->lambda[1];
  if (c->type->reference_lambda(c->model, t, known)) return 1;
  if (CPMechAccelerations(c->mech, t, y, N_VGetArrayPointer(c->ydot), computed))
    return model_contradicts(c, "accelerations at t = %g: %s", (double)t,
                             CPObjectGetLastMessage(CP_OBJECT(c->mech)));
  const sunrealtype *udot = N_VGetArrayPointer(c->ydot);
  const sunrealtype bound = model_agreement * model_largest(known, na) +
                            1e-10 * model_largest(udot, c->model->mech.nu); /* where lambda is 0 */
  for (sunindextype i = 0; i < na; i++)
    if (!(fabs(known[i] - computed[i]) <= bound))
      return model_contradicts(
          c, "multiplier %ld of the reference at t = %g is %.10g, but CPMech's is %.10g", (long)i,
          (double)t, (double)known[i], (double)computed[i]);
  return 1;
}

int model_reference_is_true(ModelCheck *c) {
  const CPPlugin *model = c->model;
  if (c->type->reference(model, 0, c->y))
    return model_contradicts(c, "the reference is not known at t = 0");
  const sunrealtype *a = N_VGetArrayPointer(model->y0), *b = N_VGetArrayPointer(c->y);
  for (sunindextype i = 0; i < model->n; i++)
    if (!(fabs(a[i] - b[i]) <= model->reference_error + 1e-14 * (1 + fabs(a[i]))))
      return model_contradicts(c,
                               "component %ld of y0 is %.15g, but %.15g in the reference at t = 0",
                               (long)i, (double)a[i], (double)b[i]);
  if (!multipliers_agree(c, 0, c->y)) return 0;
  if (c->type->reference(model, c->type->t_end, c->y)) /* with other parameters it may end before */
    return !plugin_is_default(model) ||
           model_contradicts(c, "the reference is not known at t_end = %g", (double)c->type->t_end);
  return is_consistent(c, "the reference at t_end", c->type->t_end, c->y,
                       fmax(model_consistent, 10 * model->reference_error)) &&
         multipliers_agree(c, c->type->t_end, c->y);
}

/* Checks of both forms of the equations, and of conserved quantities. */
#include "model_check_impl.h"
#include "plugin.h"

#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ equations -- */

/* y' at (t, y). Returns 1 if there are quaternions, whose rate only the CPMech computes */
static int state_rate(const ModelCheck *c, sunrealtype t, N_Vector y, N_Vector ydot) {
  const CPPlugin *model = c->model;
  if (model->f) return model->f(t, y, ydot, model->data);
  const CPEquations *m = &model->mech;
  if ((m->nq && m->nq != m->nu) || m->N || m->nz > 0) return 1;
  const sunrealtype *u = N_VGetArrayPointer(y) + m->nu;
  sunrealtype *rate    = N_VGetArrayPointer(ydot);
  memcpy(rate, u, m->nu * sizeof *u);
  return CPMechAccelerations(c->mech, t, y, rate + m->nu, NULL);
}

/* f against CPMech's u' */
static int forms_agree_at(const ModelCheck *c, sunrealtype t, N_Vector y) {
  const CPPlugin *model = c->model;
  if (model->f(t, y, c->ydot, model->data)) return model_contradicts(c, "f fails near y0");
  const long bad = model_not_finite(c->ydot);
  if (bad >= 0) return model_contradicts(c, "component %ld of f is not finite", bad);
  if (!c->mech) return 1;
  const sunindextype nq = plugin_num_positions(model), nu = model->mech.nu;
  sunrealtype *udot       = N_VGetArrayPointer(c->moved);
  const sunrealtype *rate = N_VGetArrayPointer(c->ydot), *u = N_VGetArrayPointer(y) + nq;
  if (CPMechAccelerations(c->mech, t, y, udot, NULL))
    return model_contradicts(c, "accelerations near y0: %s",
                             CPObjectGetLastMessage(CP_OBJECT(c->mech)));
  const sunrealtype size = fmax(model_largest(udot, nu), 1e-300);
  for (sunindextype i = 0; i < nu; i++) {
    if (!model_measured(c, fabs(rate[nq + i] - udot[i]) / size, model_agreement))
      return model_contradicts(c, "component %ld of f is %.10g, but CPMech's acceleration is %.10g",
                               (long)(nq + i), (double)rate[nq + i], (double)udot[i]);
    if (nq == nu && !model->mech.N && rate[i] != u[i])
      return model_contradicts(c, "component %ld of f is %.10g, but the velocity is %.10g", (long)i,
                               (double)rate[i], (double)u[i]);
  }
  return 1;
}

int model_forms_agree(ModelCheck *c) {
  int result = 1;
  for (int k = c->first; k < c->nstates && result; k++)
    result = forms_agree_at(c, c->time[k], c->state[k]);
  return result;
}

/* Time in which the largest components of y change by a thousandth at the rate ydot */
static sunrealtype short_time(const ModelCheck *c, N_Vector y) {
  const sunrealtype rate = N_VMaxNorm(c->ydot);
  if (!(rate > 0)) return 1e-3;
  const sunindextype nq    = plugin_num_positions(c->model);
  const sunrealtype turns  = model_largest(N_VGetArrayPointer(c->ydot), nq);
  const sunrealtype places = fmax(model_largest(N_VGetArrayPointer(y), nq), 1);
  return 1e-3 * fmin(fmax(N_VMaxNorm(y), 1e-3) / rate, turns > 0 ? places / turns : INFINITY);
}

/* moved <- y + h ydot, in the components first ... last - 1 only */
static N_Vector move(const ModelCheck *c, N_Vector y, sunrealtype h, sunindextype first,
                     sunindextype last) {
  const sunrealtype *a = N_VGetArrayPointer(y), *b = N_VGetArrayPointer(c->ydot);
  sunrealtype *s = N_VGetArrayPointer(c->moved);
  for (sunindextype i = 0; i < c->model->n; i++)
    s[i] = a[i] + (i >= first && i < last ? h * b[i] : 0);
  return c->moved;
}

/* f keeps the constraints: the rate of c(t, y) along the motion is 0 up to the roundoff of its terms, each of
   which is at most of the size max |y| max |y'| */
static int keeps_constraints_at(ModelCheck *c, sunrealtype t, N_Vector y) {
  const CPPlugin *model = c->model;
  if (model->f(t, y, c->ydot, model->data)) return model_contradicts(c, "f fails near y0");
  const sunrealtype h = short_time(c, y);
  sunrealtype *value  = calloc(4 * model->m, sizeof *value);
  if (!value) return model_contradicts(c, "no memory");
  int failed = 0;
  for (int k = 0; k < 4 && !failed; k++) {
    const sunrealtype step = h * model_steps[k];
    failed                 = model->c(t + step, move(c, y, step, 0, model->n), c->res, model->data);
    for (sunindextype i = 0; i < model->m; i++) value[4 * i + k] = N_VGetArrayPointer(c->res)[i];
  }
  const sunrealtype size = fmax(N_VMaxNorm(y), 1) * N_VMaxNorm(c->ydot);
  int result             = !failed || model_contradicts(c, "c fails near y0");
  for (sunindextype i = 0; i < model->m && result; i++) {
    const sunrealtype rate = model_difference(value + 4 * i, h);
    if (!model_measured(c, fabs(rate) / fmax(size, 1e-300), model_agreement))
      result = model_contradicts(c, "f leaves constraint %ld: its rate along f is %g", (long)i,
                                 (double)rate);
  }
  free(value);
  return result;
}

int model_f_keeps_constraints(ModelCheck *c) {
  int result = 1;
  for (int k = c->first; k < c->nstates && result; k++)
    result = keeps_constraints_at(c, c->time[k], c->state[k]);
  return result;
}

/* -------------------------------------------------------------------------------- quantities -- */

/* Rate of the quantity at (t, y) as the components first ... last - 1 move by ydot */
static sunrealtype quantity_rate(const ModelCheck *c, const CPPluginQuantity *q, sunrealtype t,
                                 N_Vector y, sunindextype first, sunindextype last) {
  const sunrealtype h = short_time(c, y);
  sunrealtype value[4];
  for (int k = 0; k < 4; k++)
    value[k] = plugin_value(c->model, q, t + h * model_steps[k],
                            move(c, y, h * model_steps[k], first, last));
  return model_difference(value, h);
}

static int is_not_kept(const ModelCheck *c, int i, const char *how) {
  return model_contradicts(c, "%s is not %s: it changes by %s", c->type->quantities[i].name,
                           plugin_conserves(c->model, i) ? "conserved" : "dissipated", how);
}

/* Checks that ydot conserves the quantity, or does not raise it if it is dissipated */
static int rate_keeps(const ModelCheck *c, int i, sunrealtype t, N_Vector y) {
  const sunindextype nq = plugin_num_positions(c->model), n = c->model->n;
  const CPPluginQuantity *q = &c->type->quantities[i];
  /* roundoff: of the value in the differences, and of the powers that cancel */
  const sunrealtype value = fabs(plugin_value(c->model, q, t, y)) + plugin_scale(c->model, i);
  const sunrealtype noise = 1e-13 * value / short_time(c, y);
  const sunrealtype powers =
      fabs(quantity_rate(c, q, t, y, 0, nq)) + fabs(quantity_rate(c, q, t, y, nq, n));
  const sunrealtype rate = quantity_rate(c, q, t, y, 0, n);
  const sunrealtype error =
      (plugin_conserves(c->model, i) ? fabs(rate) : rate) / (powers + noise / model_agreement);
  char how[120];
  snprintf(how, sizeof how, "%g %s per second where its powers are %g", (double)rate, q->unit,
           (double)powers);
  return model_measured(c, isnan(error) ? error : fmax(error, 0), model_agreement) ||
         is_not_kept(c, i, how);
}

/* A time in which positions and velocities change by a thousandth of the largest component, and not
   longer than that of the motion */
static int short_run(const ModelCheck *c, sunrealtype t, N_Vector y, sunrealtype *time) {
  const sunindextype nu = c->model->mech.nu;
  sunrealtype *udot     = N_VGetArrayPointer(c->ydot);
  if (CPMechAccelerations(c->mech, t, y, udot, NULL))
    return model_contradicts(c, "accelerations near y0: %s",
                             CPObjectGetLastMessage(CP_OBJECT(c->mech)));
  const sunrealtype speed =
      model_largest(N_VGetArrayPointer(y) + plugin_num_positions(c->model), nu);
  const sunrealtype rate = fmax(fmax(speed, model_largest(udot, nu)), 1 / c->type->t_end);
  *time                  = 1e-3 * fmax(N_VMaxNorm(y), 1e-3) / rate;
  return 1;
}

static const sunrealtype run_tolerance = 1e-10;

/* moved <- the state at t + `time` from y at t, by a method of high order, whose errors over so short a time are
   roundoff. y, found to looser tolerances, is moved onto the manifold of this run. */
static int run(const ModelCheck *c, sunrealtype t, N_Vector y, sunrealtype time) {
  sunrealtype reached;
  CPMech mech      = CPPluginMech(c->model); /* c->mech stays unattached */
  CPIntegrator mem = CPIntegratorCreate(c->model->stiff ? "RADAU" : "DOP853", c->model->ctx);
  int result       = mech && mem ? 1 : model_contradicts(c, "no memory");
  if (result) {
    if (CPMechAttach(mech, mem, t, y) ||
        CPIntegratorSStolerances(mem, run_tolerance, run_tolerance) ||
        (CPMechGetProjector(mech) && CPIntegratorCalcIC(mem, y)) ||
        CPIntegratorSetMaxNumSteps(mem, 100000) ||
        CPIntegratorEvolve(mem, t + time, c->moved, &reached, CV_NORMAL) < 0)
      result = model_contradicts(c, "near y0 it cannot be integrated: %s",
                                 CPObjectGetLastMessage(CP_OBJECT(mem)));
  }
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  return result;
}

/* Over a relative change of a thousandth, which is integrated to 1e-10 or better */
static const sunrealtype run_agreement = 1e-5;

/* The same over a short run if only the CPMech computes y' (quaternions) */
static int run_keeps(ModelCheck *c, int i, sunrealtype t, N_Vector y) {
  const CPPluginQuantity *q = &c->type->quantities[i];
  sunrealtype time          = 0;
  c->stopped                = !short_run(c, t, y, &time) || !run(c, t, y, time);
  if (c->stopped) return 0;
  const sunrealtype before = plugin_value(c->model, q, t, y), end = t + time,
                    gain = plugin_value(c->model, q, end, c->moved) - before;
  /* effects of the positions alone and of the velocities alone, which cancel */
  const sunindextype nq = plugin_num_positions(c->model), n = c->model->n;
  N_VLinearSum(1, c->moved, -1, y, c->ydot);
  const sunrealtype powers = fabs(plugin_value(c->model, q, end, move(c, y, 1, 0, nq)) - before) +
                             fabs(plugin_value(c->model, q, end, move(c, y, 1, nq, n)) - before);
  /* what errors of the run's tolerance change: at rest without gravity all energies are smaller */
  N_VConst(run_tolerance, c->ydot);
  const sunrealtype noise = run_tolerance * (fabs(before) + plugin_scale(c->model, i)) +
                            fabs(plugin_value(c->model, q, end, move(c, y, 1, nq, n)) - before);
  const sunrealtype error =
      (plugin_conserves(c->model, i) ? fabs(gain) : gain) / (powers + noise / run_agreement);
  char how[120];
  snprintf(how, sizeof how, "%g %s in %g s, where positions and velocities change it by %g",
           (double)gain, q->unit, (double)time, (double)powers);
  return model_measured(c, isnan(error) ? error : fmax(error, 0), run_agreement) ||
         is_not_kept(c, i, how);
}

static int keeps_at(ModelCheck *c, int i, sunrealtype t, N_Vector y) {
  const CPPluginQuantity *q = &c->type->quantities[i];
  if (!isfinite(plugin_value(c->model, q, t, y)))
    return model_contradicts(c, "%s is not finite", q->name);
  return state_rate(c, t, y, c->ydot) ? run_keeps(c, i, t, y) : rate_keeps(c, i, t, y);
}

/* y <- state k with velocities s w, where w is half the difference of those of state k and of those reversed: a velocity that
   constraints allow, also where they depend on time */
static N_Vector take_velocities(const ModelCheck *c, int k, sunrealtype s) {
  const sunindextype nq        = plugin_num_positions(c->model);
  const sunrealtype *ahead     = N_VGetArrayPointer(c->state[k]),
                    *backwards = N_VGetArrayPointer(c->state[k + 2]);
  sunrealtype *y               = N_VGetArrayPointer(c->y);
  N_VScale(1, c->state[k], c->y);
  for (sunindextype i = nq; i < nq + c->model->mech.nu; i++)
    y[i] = s * (ahead[i] - backwards[i]) / 2;
  return c->y;
}

int model_kinetic_part_is_true(ModelCheck *c, int i) {
  const CPPluginQuantity *q = &c->type->quantities[i];
  for (int k = 1; k <= 2 && k + 2 < c->nstates; k++) {
    CPMechOutput out = CP_INIT(CPMechOutput);
    sunrealtype value[3];
    for (int s = -1; s <= 1; s++)
      value[s + 1] = plugin_value(c->model, q, 0, take_velocities(c, k, s));
    const int flag = CPMechEvaluate(c->mech, 0, take_velocities(c, k, 1), &out);
    if (flag < 0 || isnan(out.kinetic)) continue; /* operators without M x */
    const sunrealtype part  = (value[0] + value[2]) / 2 - value[1];
    const sunrealtype noise = 1e-13 * (fabs(value[0]) + fabs(value[1]) + fabs(value[2]));
    if (!model_measured(c, fabs(part - out.kinetic) / (out.kinetic + noise / model_agreement),
                        model_agreement))
      return model_contradicts(
          c, "the part of %s that is quadratic in velocities is %.10g %s, but u^T M u / 2 is %.10g",
          q->name, (double)part, q->unit, (double)out.kinetic);
  }
  return 1;
}

int model_quantity_is_finite(ModelCheck *c, int i) {
  const CPPluginQuantity *q = &c->type->quantities[i];
  for (int k = c->first; k < c->nstates; k++)
    if (!isfinite(plugin_value(c->model, q, c->time[k], c->state[k])))
      return model_contradicts(c, "%s is not finite near the start", q->name);
  return 1;
}

int model_quantity_keeps(ModelCheck *c, int i) {
  int result = 1;
  for (int k = c->first; k < c->nstates && result; k++)
    result = keeps_at(c, i, c->time[k], c->state[k]);
  return result;
}

/* Another value for parameter p: a quarter more, a fifth less, or 0, which switches off springs, dampers and gravity, within its
   range. Returns 0 if there is none. */
static int other_value(const CPPluginParameter *p, int how, sunrealtype *value) {
  const sunrealtype around   = p->value != 0 ? p->value : fmin(p->most, 1);
  const sunrealtype choice[] = {1.25 * around, 0.8 * around, 0};
  *value                     = choice[how];
  return *value >= p->least && *value <= p->most && *value != p->value;
}

/* Checks the model with other values of its parameters, at states chosen as for the model itself. If it cannot be created,
   is inconsistent or cannot move with these values, as a coupler whose ratio is 0, a tyre without stiffness or a linkage that is shaky under
   another gravity, nothing is checked. */
static int keeps_with(const ModelCheck *c, int i, const sunrealtype *values, const char *name,
                      sunrealtype value) {
  char refused[MODEL_MESSAGE], how[MODEL_MESSAGE];
  CPPlugin *model  = CPPluginCreate(c->type, values, c->model->ctx, refused, sizeof refused);
  ModelCheck other = {
      .model = model, .type = c->type, .error = c->error, .message = c->message, .length = c->length};
  int result = 1;
  if (model && model_objects_are_created(&other) && model_start_is_consistent(&other)) {
    model_states_are_found(&other);
    result = model_quantity_keeps(&other, i) || other.stopped;
    if (!result) {
      snprintf(how, sizeof how, "%s", c->message);
      model_contradicts(c, "with %s = %g %.400s", name, (double)value, how);
    }
  }
  if (result) c->message[0] = '\0';
  if (model) model_objects_free(&other);
  CPPluginFree(&model);
  return result;
}

int model_quantity_keeps_otherwise(ModelCheck *c, int i) {
  enum { KINDS = 3 };
  const int count     = c->type->nparameters;
  sunrealtype *values = calloc((size_t)count + 1, sizeof *values);
  int result          = values ? 1 : model_contradicts(c, "no memory");
  for (int k = 0; k < count * KINDS && result; k++) {
    const CPPluginParameter *p = &c->type->parameters[k / KINDS];
    memcpy(values, c->model->parameter, (size_t)count * sizeof *values);
    if (!CPPluginIsWhole(c->type, k / KINDS) && other_value(p, k % KINDS, &values[k / KINDS]))
      result = keeps_with(c, i, values, p->name, values[k / KINDS]);
  }
  free(values);
  return result;
}

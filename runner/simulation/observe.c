#include "observe.h"

#include <math.h>
#include <models/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the sizes of either form. */
static void take_sizes(const Problem *p, RunInfo *info) {
  const CPPlugin *model    = p->model;
  const CPEquations *sizes = &model->mech;
  info->n                  = (long)model->n;
  if (p->mech) {
    info->nq        = (long)plugin_num_positions(model);
    info->nu        = (long)sizes->nu;
    info->np        = (long)sizes->np;
    info->nv        = (long)(sizes->nv > sizes->np ? sizes->nv : sizes->np);
    info->has_norms = info->nq > info->nu;
  } else {
    info->nq = sizes->nu > 0 ? (long)plugin_num_positions(model)
               : info->n % 2 ? info->n
                             : info->n / 2;
    info->nu = sizes->nu > 0 ? (long)sizes->nu : info->n - info->nq;
    info->nv = p->P ? (long)model->m : 0;
  }
  info->nz = info->n - info->nq - info->nu;
}

/* Returns 0, or -1 if out of memory. */
static int take_contacts(Observer *o, const CPPlugin *model, RunInfo *info) {
  o->contact = calloc((size_t)model->ncontacts + 1, sizeof *o->contact);
  o->acting  = calloc((size_t)model->ncontacts + 1, sizeof *o->acting);
  if (!o->contact || !o->acting) return -1;
  for (int i = 0; i < model->ncontacts; i++) {
    const CPContactPoint *point = &model->contact[i];
    RunContact *contact         = &o->contact[i];
    *contact                    = (RunContact){.normal    = (long)point->normal,
                                               .tangent   = (long)point->tangent,
                                               .ntangents = point->ntangents};
    snprintf(contact->name, sizeof contact->name, "%s", point->name);
  }
  info->ncontacts = model->ncontacts;
  info->contact   = o->contact;
  return 0;
}

int observer_create(Observer *o, const Problem *p, RunInfo *info, char *message) {
  const CPPlugin *model    = p->model;
  const CPPluginType *type = model->type;
  *o                       = (Observer){.problem = p, .rank = -1, .unique = true};
  *info                    = (RunInfo){.settings = &p->settings};
  take_sizes(p, info);
  info->nquantities     = type->nquantities;
  info->stiff           = p->stiff;
  info->known           = model->known && type->reference;
  info->reference_error = model->reference_error;
  info->ncompared       = (long)plugin_num_compared(model);
  if (p->settings.drawing && type->points) {
    info->npoints      = model->drawing.npoints;
    info->nsegments    = model->drawing.nsegments;
    info->kind         = (const int *)model->drawing.kind;
    info->segment      = (const int(*)[2])model->drawing.segment;
    info->nshapes      = model->drawing.nshapes;
    info->shape        = model->drawing.shape;
    info->segment_kind = (const int *)model->drawing.segment_kind;
  }
  o->conserved = calloc((size_t)type->nquantities + 1, sizeof *o->conserved);
  for (int i = 0; o->conserved && i < type->nquantities; i++)
    o->conserved[i] = plugin_conserves(model, i) != 0;
  info->conserved = o->conserved;
  if (p->mech) {
    o->shares  = p->contact || model->mech.event_source;
    o->mech    = o->shares ? p->mech : problem_mech(p);
    o->nlambda = o->mech ? (long)CPMechGetNumMultipliers(o->mech) : 0;
  } else if (p->P) {
    o->residual = N_VClone(p->residual);
  }
  info->nlambda = p->settings.forces ? o->nlambda : 0;
  o->narrows =
      p->settings.forces && info->npoints > 0 && type->contact_frames ? model->ncontacts : 0;
  info->narrows = o->narrows;
  o->numbers =
      calloc((size_t)(type->nquantities + o->nlambda + 3L * info->npoints + 18L * o->narrows +
                      5L * model->ncontacts + o->nlambda + (long)model->mech.nu + 1),
             sizeof *o->numbers);
  if (take_contacts(o, model, info) || !o->numbers || !o->conserved || (p->mech && !o->mech) ||
      (p->P && !o->residual))
    return refuse(message, "no memory for the outputs");
  o->quantity      = o->numbers;
  o->lambda        = o->quantity + type->nquantities;
  o->points        = o->lambda + o->nlambda;
  o->arrows        = o->points + 3L * info->npoints;
  o->frame         = o->arrows + 6L * o->narrows;
  o->force         = o->frame + 12L * o->narrows;
  o->gap           = o->force + 3L * model->ncontacts;
  o->phase         = o->gap + model->ncontacts;
  o->udot          = o->phase + model->ncontacts;
  o->acting_lambda = o->udot + model->mech.nu;
  return 0;
}

void observer_free(Observer *o) {
  if (o->problem && !o->shares) CPMechFree(&o->mech);
  if (o->residual) N_VDestroy(o->residual);
  free(o->numbers);
  free(o->contact);
  free(o->acting);
  free(o->conserved);
}

/* Returns max |r_i|, or NaN if one of them is NaN, which N_VMaxNorm may lose. */
static double largest(N_Vector residual) {
  const sunrealtype *r = N_VGetArrayPointer(residual);
  double most          = 0;
  for (sunindextype i = 0; i < N_VGetLength(residual) && !isnan(most); i++)
    if (!(fabs(r[i]) <= most)) most = fabs(r[i]);
  return most;
}

/* Replaces the multipliers of contacts by the forces on them, times sign, since friction of sliding is no
 * multiplier. */
static void take_forces(const Observer *o, double sign, double *lambda) {
  const CPPlugin *model = o->problem->model;
  for (int i = 0; i < model->ncontacts; i++) {
    const CPContactPoint *contact = &model->contact[i];
    if (contact->normal >= 0) lambda[contact->normal] = sign * o->force[3L * i] + 0.0; /* not -0 */
    for (int k = 0; k < contact->ntangents; k++)
      lambda[contact->tangent + k] = sign * o->force[3L * i + 1 + k];
  }
}

long count_of(CPObject object, const char *counter) {
  sunrealtype value = 0;
  CPObjectGetStat(object, counter, &value);
  return (long)value;
}

bool is_time_stepping(CPContact contact) {
  return contact && count_of(CP_OBJECT(contact), "time_stepping");
}

static long evaluations(const Observer *o) {
  return o->shares ? count_of(CP_OBJECT(o->mech), "force_evals") : 0;
}

static void observe_mech(Observer *o, sunrealtype t, N_Vector y, Sample *sample) {
  const CPPlugin *model   = o->problem->model;
  const bool sensors      = model->type->observe != NULL;
  const bool forces       = o->problem->settings.forces || sensors;
  CPMechOutput out        = {CP_SIZED(CPMechOutput), .udot = sensors ? o->udot : NULL,
                             .lambda = forces ? o->lambda : NULL};
  const int ncontacts     = o->problem->model->ncontacts;
  const CPContact contact = o->problem->contact;
  const long before       = evaluations(o);
  CPContactPhase *phase   = o->acting;
  const int flag =
      contact ? CPContactEvaluate(contact, t, y, &out, forces ? o->force : NULL, o->gap, phase)
              : CPMechEvaluate(o->mech, t, y, &out);
  o->observed += evaluations(o) - before;
  const bool time_stepping = is_time_stepping(contact);
  for (int i = 0; i < ncontacts; i++) o->phase[i] = time_stepping ? PHASE_STEPPED : (int)phase[i];
  if (sensors && flag) model->type->observe(model, NULL, NULL);
  if (flag) {
    for (long i = 0; i < o->nlambda; i++) o->lambda[i] = NAN;
    for (int i = 0; i < ncontacts; i++) o->gap[i] = NAN;
    for (long i = 0; i < 3L * ncontacts; i++) o->force[i] = NAN;
    return;
  }
  if (sensors) {
    memcpy(o->acting_lambda, o->lambda, (size_t)o->nlambda * sizeof *o->lambda);
    if (contact) take_forces(o, -1, o->acting_lambda);
    model->type->observe(model, o->udot, o->acting_lambda);
  }
  if (contact && forces) take_forces(o, 1, o->lambda);
  sample->violation[LEVEL_POSITION] = out.position;
  sample->violation[LEVEL_VELOCITY] = out.velocity;
  sample->violation[LEVEL_NORM]     = out.norms;
  o->rank                           = (long)out.rank;
  o->unique                         = out.unique;
}

/* Drawings have the second axis upwards: (x, y, z) -> (y, z, x) is a rotation. */
static void turn_upwards(double *xyz, int count) {
  for (int i = 0; i < count; i++, xyz += 3) {
    const double x = xyz[0];
    xyz[0]         = xyz[1];
    xyz[1]         = xyz[2];
    xyz[2]         = x;
  }
}

static void observe_points(Observer *o, sunrealtype t, N_Vector y) {
  const CPPlugin *model = o->problem->model;
  model->type->points(model, t, y, o->points);
  if (model->type->z_is_up) turn_upwards(o->points, model->drawing.npoints);
}

/* Computes N n + F_T, and the place of each contact. */
static void observe_arrows(Observer *o, sunrealtype t, N_Vector y) {
  const CPPlugin *model = o->problem->model;
  model->type->contact_frames(model, t, y, o->frame);
  if (model->type->z_is_up) turn_upwards(o->frame, 4 * o->narrows);
  for (int i = 0; i < o->narrows; i++) {
    const double *place = o->frame + 12L * i, *force = o->force + 3L * i;
    double *arrow = o->arrows + 6L * i;
    for (int k = 0; k < 3; k++) {
      arrow[k]     = place[k];
      arrow[3 + k] = force[0] * place[3 + k] + force[1] * place[6 + k] + force[2] * place[9 + k];
    }
  }
}

void observe(Observer *o, sunrealtype t, N_Vector y, Sample *sample) {
  const CPPlugin *model    = o->problem->model;
  const CPPluginType *type = model->type;
  *sample                  = (Sample){.t        = t,
                                      .y        = N_VGetArrayPointer(y),
                                      .quantity = o->quantity,
                                      .lambda   = o->lambda,
                                      .points   = o->points,
                                      .arrows   = o->arrows,
                                      .gap      = o->gap,
                                      .phase    = o->phase};
  for (int i = 0; i < NUM_LEVELS; i++) sample->violation[i] = NAN;
  if (o->mech) observe_mech(o, t, y, sample);
  for (int i = 0; i < type->nquantities; i++)
    o->quantity[i] = type->quantities[i].value(model, i, t, y);
  if (o->mech && type->observe) type->observe(model, NULL, NULL);
  if (o->residual && !model->c(t, y, o->residual, model->data))
    sample->violation[LEVEL_INVARIANT] = largest(o->residual);
  if (o->problem->settings.drawing && type->points) observe_points(o, t, y);
  if (o->narrows > 0) observe_arrows(o, t, y);
}

#include "scales.h"
#include "estimate.h"

#include <math.h>
#include <models/plugin.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 4000, FEWEST_ROWS = 40, MOST_NUMBERS = 4000000, EVALUATED = 400 };

/* Auxiliary states, such as the work of drives, are integrated with tolerances of their own. A
 * quantity that contains one changes by its errors: about a tolerance in each of some steps. */
static const double own_tolerances = 100;
/* Of energies that hardly change, a change is known to three digits if it is this part of them. */
static const double roundoff_part = 1e-12;

/* -------------------------------------------------------------------------------- the track -- */

int track_begin(Rows *track, long n) {
  const long most = MOST_NUMBERS / (n + 1);
  return rows_create(track, n + 1,
                     most > MOST_ROWS     ? MOST_ROWS
                     : most < FEWEST_ROWS ? FEWEST_ROWS
                                          : most);
}

void track_take(Rows *track, sunrealtype t, N_Vector y) {
  double *row             = rows_next(track);
  const sunrealtype *from = N_VGetArrayPointer(y);
  row[0]                  = t;
  for (long i = 1; i < track->width; i++) row[i] = from[i - 1];
  rows_put(track, 0, NULL);
}

bool track_meet(Rows *track, Rows *jumps, sunrealtype t, N_Vector y, double rtol, double atol) {
  const sunrealtype *after = N_VGetArrayPointer(y);
  const double *row        = rows_newest(track);
  bool moved = false, jumped = false;
  if (!row || row[0] != t) return false;
  for (long i = 1; i < track->width; i++) {
    const double change = fabs(row[i] - after[i - 1]);
    moved |= change != 0;
    jumped |= change > rtol * fabs(row[i]) + atol;
  }
  if (moved) {
    *rows_next(jumps) = t;
    rows_put(jumps, 0, NULL);
  }
  const bool kept = row == track->data + (track->rows - 1) * track->width;
  if (moved && kept && track->rows > 1)
    track->rows--, track->seen--; /* there is always a first one */
  return jumped;
}

/* The extent, energies and reactions are evaluated in each of so many rows: at up to EVALUATED states. */
static long stride_of(const Rows *track) { return 1 + track->rows / EVALUATED; }

/* The largest |y_i| from component `from` to `to` - 1, and the largest range of one of them. */
static double size_of(const Rows *track, long from, long to, double *range) {
  double size = 0;
  *range      = 0;
  for (long i = from; i < to; i++) {
    double least = INFINITY, most = -INFINITY;
    for (long k = 0; k < track->rows; k++) {
      const double y = track->data[k * track->width + i + 1];
      least          = fmin(least, y);
      most           = fmax(most, y);
    }
    size   = fmax(size, fmax(most, -least));
    *range = fmax(*range, most - least);
  }
  return size;
}

/* ---------------------------------------------------------------------------------- the units -- */

static int find_unit(Scales *s, const char *name) {
  for (int k = 0; k < s->nunits; k++)
    if (!strcmp(s->unit[k].name, name)) return k;
  if (s->nunits == RUN_UNITS) return RUN_UNITS - 1; /* the last one is shared */
  snprintf(s->unit[s->nunits].name, RUN_UNIT, "%.*s", RUN_UNIT - 1, name);
  return s->nunits++;
}

/* Marks the components of quaternions, and names the units of all. Where velocities jump, they are
 * not compared, since they differ by a jump between two runs that find its time a little apart. */
static void find_units(Measure *m, const Problem *p, const RunInfo *info) {
  const bool jumps       = m->speeds_jump;
  const CPEquations *of  = p->mech ? CPModelGetEquations(CPMechGetModel(p->mech)) : NULL;
  const int nquaternions = of ? of->nquaternions : 0;
  for (int i = 0; i < nquaternions; i++) {
    const long q                 = (long)of->quaternions[i].first_q;
    m->attitude[m->nattitudes++] = q;
    for (int k = 0; k < 4; k++) m->in_attitude[q + k] = true;
  }
  for (long i = 0; i < m->n; i++) {
    char unit[RUN_TEXT];
    component_unit(info, i, unit, sizeof unit);
    const bool velocity = i >= info->nq && i < info->nq + info->nu;
    m->unit[i] = jumps && velocity ? -1 : find_unit(&m->scales, m->in_attitude[i] ? "rad" : unit);
  }
  for (int i = 0; i < nquaternions; i++)
    for (int k = 0; k < 3 && !jumps; k++)
      m->unit[info->nq + (long)of->quaternions[i].first_u + k] = find_unit(&m->scales, "rad/s");
}

/* ------------------------------------------------------------------------- lengths and energies -- */

/* Does the point belong to the mechanism? The ground belongs to it where a bar or a spring ends.
 * Guides and lines that show planes are as long as somebody drew them. */
static void mark_points(const CPPluginDrawing *d, bool *belongs) {
  for (int i = 0; i < d->npoints; i++)
    belongs[i] = d->kind[i] == CP_POINT_JOINT || d->kind[i] == CP_POINT_MASS;
  for (int i = 0; i < d->nsegments; i++) {
    const int a = d->segment[i][0], b = d->segment[i][1];
    const bool ground = d->kind[a] == CP_POINT_GROUND && d->kind[b] == CP_POINT_GROUND;
    if (d->segment_kind[i] != CP_SEGMENT_GUIDE && !ground) belongs[a] = belongs[b] = true;
  }
}

/* Sets y to row k of the track. */
static double state_at(const Rows *track, long k, N_Vector y) {
  const double *row = track->data + k * track->width;
  sunrealtype *to   = N_VGetArrayPointer(y);
  for (long i = 1; i < track->width; i++) to[i - 1] = row[i];
  return row[0];
}

/* The largest edge of the box, along the axes, that contains the mechanism during the whole run; 0
 * without a drawing; < 0 if out of memory. */
static double extent_of(const CPPlugin *model, const Rows *track, N_Vector y) {
  const CPPluginDrawing *d = &model->drawing;
  double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY},
         extent = 0;
  if (!model->type->points || d->npoints == 0) return 0;
  bool *belongs    = calloc((size_t)d->npoints, sizeof *belongs);
  sunrealtype *xyz = calloc(3 * (size_t)d->npoints, sizeof *xyz);
  if (belongs && xyz) mark_points(d, belongs);
  for (long k = 0; belongs && xyz && k < track->rows; k += stride_of(track)) {
    model->type->points(model, state_at(track, k, y), y, xyz);
    for (int i = 0; i < 3 * d->npoints; i++) {
      if (!belongs[i / 3]) continue;
      least[i % 3] = fmin(least[i % 3], xyz[i]);
      most[i % 3]  = fmax(most[i % 3], xyz[i]);
    }
  }
  for (int i = 0; i < 3; i++) extent = fmax(extent, most[i] - least[i]);
  if (!belongs || !xyz) extent = -1;
  free(belongs);
  free(xyz);
  return extent;
}

/* The energies at a state: the model's, or the kinetic energy by M alone, since a wrong potential
 * energy must not hide behind its own range. Returns 0, or 1 if they are not known. */
static int energies_at(const CPPlugin *model, CPMech mech, bool has_lambda, sunrealtype t,
                       N_Vector y, sunrealtype *lambda, CPPluginEnergies *e) {
  CPMechOutput out     = {CP_SIZED(CPMechOutput), .lambda = has_lambda ? lambda : NULL};
  const bool evaluated = mech && !CPMechEvaluate(mech, t, y, &out);
  *e                   = (CPPluginEnergies){.kinetic = evaluated ? out.kinetic : NAN};
  if (model->type->energies)
    return model->type->energies(model, t, y, evaluated && has_lambda ? lambda : NULL, e);
  return isnan(e->kinetic);
}

/* The energies that the mechanism exchanges during the run; 0 if it does not know them. */
static double exchange_of(Observer *o, const Rows *track, N_Vector y) {
  const Problem *p = o->problem;
  CPMech mech      = p->contact ? problem_mech(p) : o->mech; /* contacts are off */
  double kinetic = 0, least = INFINITY, most = -INFINITY, work = 0, before = 0, t_before = 0;
  for (long k = 0; k < track->rows; k += stride_of(track)) {
    const double t = state_at(track, k, y);
    CPPluginEnergies e;
    if (energies_at(p->model, mech, !p->contact, t, y, o->lambda, &e)) continue;
    kinetic = fmax(kinetic, e.kinetic);
    least   = fmin(least, e.potential);
    most    = fmax(most, e.potential);
    if (k > 0) work += (t - t_before) * (before + e.power) / 2;
    before   = e.power;
    t_before = t;
  }
  if (p->contact) CPMechFree(&mech);
  return kinetic + fmax(0, most - least) + work;
}

/* ------------------------------------------------------------------------------- the quantities -- */

static void take_quantities(Measure *m, const Problem *p, const RunInfo *info, const Rows *track,
                            double exchanged) {
  const CPPluginType *type = p->model->type;
  const RunSettings *s     = &p->settings;
  double *scale = m->numbers, *allowance = scale + type->nquantities,
         *tighter    = allowance + type->nquantities;
  m->scales.quantity = scale, m->scales.allowance = allowance, m->scales.tighter = tighter;
  for (int i = 0; i < type->nquantities; i++) {
    const CPPluginQuantity *q = &type->quantities[i];
    scale[i]                  = is_output(info, i) ? NAN : (double)plugin_scale(p->model, i);
    tighter[i]                = NAN;
    if (is_output(info, i)) continue;
    if (!strcmp(unit_text(q->unit), "J")) scale[i] = fmax(scale[i], exchanged);
    for (long z = info->nq + info->nu; z < info->n; z++) {
      char unit[RUN_TEXT];
      double range;
      component_unit(info, z, unit, sizeof unit);
      if (!*unit || strcmp(unit, unit_text(q->unit)) != 0) continue;
      m->is_energy[z] = !strcmp(unit, "J");
      if (!m->is_energy[z]) m->unit[z] = -1;
      allowance[i] = own_tolerances * (s->atol + s->rtol * size_of(track, z, z + 1, &range));
    }
  }
}

/* -------------------------------------------------------------------------------- all of them -- */

/* Components in units that are not known share a scale in each of q, u; auxiliary states have their
 * own, since they may be anything. */
static void take_unknown(Measure *m, const RunInfo *info, const Rows *track, double duration) {
  const long end[] = {info->nq, info->nq + info->nu, info->n};
  for (int part = 0; part < 3; part++)
    for (int k = 0; k < m->scales.nunits; k++) {
      double scale  = 0;
      bool is_known = true;
      for (long i = part ? end[part - 1] : 0; i < end[part]; i++) {
        double range;
        if (m->unit[i] != k || m->scale[i] > 0) continue;
        const double size = size_of(track, i, i + 1, &range), own = fmax(range, size);
        is_known = false;
        scale    = fmax(scale, own);
        if (part == 2) m->scale[i] = own;
      }
      if (is_known) continue;
      /* the coordinates with the same lack of a unit, over the duration */
      if (part == 1 && m->scales.unit[k].scale > 0)
        scale = fmax(scale, m->scales.unit[k].scale / duration);
      for (long i = part ? end[part - 1] : 0; i < end[part]; i++)
        if (m->unit[i] == k && !(m->scale[i] > 0)) m->scale[i] = scale;
      m->scales.unit[k].scale = fmax(m->scales.unit[k].scale, scale);
    }
}

/* Is the mechanism at rest: does no position move by more than its tolerance? What its velocities show
 * is then the error of the method, a vibration of frequency w with an amplitude a within the tolerance.
 * The scale of a speed is that of positions times w, however long the run is: a w over it is a over the
 * scale of positions, which alone are compared. Velocities of small motions that the tolerance resolves
 * count. */
static bool is_at_rest(const RunInfo *info, const Rows *track) {
  for (long i = 0; i < info->nq; i++) {
    double range;
    const double size = size_of(track, i, i + 1, &range);
    if (range > info->settings->atol + info->settings->rtol * size) return false;
  }
  return true;
}

/* The scale of states that are energies: what is exchanged, but no roundoff of the model's energies */
static double energy_scale(const Measure *m, const RunInfo *info, double exchanged) {
  const CPPluginType *type = info->settings->model.type;
  for (int i = 0; i < type->nquantities; i++)
    if (!strcmp(unit_text(type->quantities[i].unit), "J") && !is_output(info, i))
      exchanged = fmax(exchanged, roundoff_part * m->scales.quantity[i]);
  return exchanged;
}

static void take_scales(Measure *m, const RunInfo *info, const Rows *track, double exchanged) {
  Scales *s             = &m->scales;
  const double duration = track->data[(track->rows - 1) * track->width] > 0
                              ? track->data[(track->rows - 1) * track->width]
                              : info->settings->t_end;
  double range, speed = s->length / duration, turning = 1 / duration;
  s->largest_q = size_of(track, 0, info->nq, &range);
  s->largest_u = size_of(track, info->nq, info->nq + info->nu, &range);
  for (long i = 0; i < m->n; i++) {
    const char *unit = m->unit[i] < 0 ? "" : s->unit[m->unit[i]].name;
    if (!strcmp(unit, "m/s")) speed = fmax(speed, size_of(track, i, i + 1, &range));
    if (!strcmp(unit, "rad/s")) turning = fmax(turning, size_of(track, i, i + 1, &range));
  }
  const struct {
    const char *unit;
    double scale;
  } known[] = {{"m", s->length},
               {"rad", 1},
               {"m/s", speed},
               {"rad/s", turning},
               {"J", energy_scale(m, info, exchanged)}};
  for (int k = 0; k < s->nunits; k++)
    for (size_t j = 0; j < sizeof known / sizeof known[0]; j++)
      if (!strcmp(s->unit[k].name, known[j].unit)) s->unit[k].scale = known[j].scale;
  for (long i = 0; i < m->n; i++) m->scale[i] = m->unit[i] < 0 ? 0 : s->unit[m->unit[i]].scale;
  take_unknown(m, info, track, duration);
}

void measure_reactions(const Measure *m, double t, const double *y, double *reaction) {
  CPMechOutput out = {CP_SIZED(CPMechOutput), .reaction = reaction};
  sunrealtype *to  = N_VGetArrayPointer(m->y);
  for (long i = 0; i < m->n; i++) to[i] = y[i];
  if (!CPMechEvaluate(m->observer->mech, t, m->y, &out)) return;
  for (long i = 0; i < m->nreactions; i++) reaction[i] = NAN;
}

/* The distance along which a reaction on velocity j does work: the extent of the mechanism, or 1 rad; 0 if it is not known */
static double way_of(const Measure *m, const RunInfo *info, long j) {
  const char *name = m->scales.unit[m->unit[info->nq + j]].name;
  return !strcmp(name, "m/s")     ? m->scales.length
         : !strcmp(name, "rad/s") ? 1
         : info->nq == info->nu   ? m->scale[j]
                                  : 0;
}

/* Evaluates reactions along the track. Their scales do the same work along the extent as through 1 rad, at least the energies that are
 * exchanged: a moment is that of a force, with an arm that depends on where the origin of a body lies. */
static int take_reactions(Measure *m, const RunInfo *info, const Rows *track, double exchanged) {
  const Observer *o      = m->observer;
  const long n           = info->nu;
  double most[RUN_UNITS] = {0};
  if (!o->problem->settings.estimated) return 0; /* Nothing is compared with them. */
  if (!o->mech || o->shares || o->nlambda == 0 || m->speeds_jump) return 0;
  m->full      = (Rows){.rows = track->rows, .width = track->width + n};
  m->full.data = calloc((size_t)(m->full.rows * m->full.width), sizeof *m->full.data);
  m->reaction  = calloc((size_t)n, sizeof *m->reaction);
  if (!m->full.data || !m->reaction) return -1;
  m->nreactions = n;
  for (long k = 0; k < track->rows; k++) {
    double *row = m->full.data + k * m->full.width, *reaction = row + track->width;
    memcpy(row, track->data + k * track->width, (size_t)track->width * sizeof *row);
    for (long j = 0; j < n; j++) reaction[j] = NAN;
    if (k % stride_of(track) == 0) measure_reactions(m, row[0], row + 1, reaction);
    for (long j = 0; j < n; j++) /* fmax ignores NaN */
      most[m->unit[info->nq + j]] = fmax(most[m->unit[info->nq + j]], fabs(reaction[j]));
  }
  double work = exchanged;
  for (long j = 0; j < n; j++) work = fmax(work, most[m->unit[info->nq + j]] * way_of(m, info, j));
  for (long j = 0; j < n; j++) {
    const double way = way_of(m, info, j);
    m->reaction[j]   = fmax(most[m->unit[info->nq + j]], way > 0 ? work / way : 0);
  }
  return 0;
}

int measure_create(Measure *m, Observer *observer, const RunInfo *info, const Rows *track,
                   const Rows *jumps, bool jumped) {
  const Problem *p = observer->problem;
  const size_t n = (size_t)info->n, nquantities = (size_t)info->nquantities;
  *m = (Measure){.n           = info->n,
                 .observer    = observer,
                 .speeds_jump = jumped || p->model->ncontacts > 0 || p->model->nroots > 0};
  if (track->rows == 0) return -1;
  m->jumps       = jumps;
  m->apart       = estimate_limit * track->data[(track->rows - 1) * track->width];
  m->is_energy   = calloc(n + 1, sizeof *m->is_energy);
  m->scale       = calloc(n + 1, sizeof *m->scale);
  m->unit        = calloc(n + 1, sizeof *m->unit);
  m->in_attitude = calloc(n + 1, sizeof *m->in_attitude);
  m->attitude    = calloc(n + 1, sizeof *m->attitude);
  m->numbers     = calloc(3 * nquantities + 1, sizeof *m->numbers);
  m->y           = N_VClone(p->model->y0);
  int failed     = !m->scale || !m->unit || !m->is_energy || !m->in_attitude || !m->attitude ||
               !m->numbers || !m->y;
  if (!failed) {
    find_units(m, p, info);
    m->scales.length       = extent_of(p->model, track, m->y);
    failed                 = m->scales.length < 0;
    const double exchanged = exchange_of(observer, track, m->y);
    if (p->model->type->extent)
      m->scales.length = fmax(m->scales.length, p->model->type->extent(p->model));
    take_quantities(m, p, info, track, exchanged);
    take_scales(m, info, track, exchanged);
    if (!is_at_rest(info, track)) failed |= take_reactions(m, info, track, exchanged);
    else
      for (long i = info->nq; i < info->n; i++)
        if (i < info->nq + info->nu || m->is_energy[i]) m->unit[i] = -1;
  }
  return failed ? -1 : 0;
}

void measure_free(Measure *m) {
  free(m->scale);
  free(m->unit);
  free(m->is_energy);
  free(m->in_attitude);
  free(m->attitude);
  free(m->numbers);
  free(m->reaction);
  rows_free(&m->full);
  if (m->y) N_VDestroy(m->y);
}

/* The angle of the rotation between two attitudes, whose quaternions may have opposite signs. */
static double angle_between(const double *a, const double *b) {
  double same = 0, opposite = 0;
  for (int k = 0; k < 4; k++) {
    same += (a[k] - b[k]) * (a[k] - b[k]);
    opposite += (a[k] + b[k]) * (a[k] + b[k]);
  }
  return 4 * asin(fmin(1, sqrt(fmin(same, opposite)) / 2));
}

static void take_distance(const Measure *m, long i, double error, Distance *worst) {
  const bool state   = i < m->n;
  const double scale = state ? m->scale[i] : m->reaction[i - m->n];
  const double part  = error > 0 ? error / scale : error;
  if (part <= worst->part) return; /* NaN is taken */
  worst->part = part, worst->error = error, worst->component = i;
  worst->unit = state ? m->unit[i] : -1;
}

/* Does the state jump near t, at jumps that may have been too many to be kept? Two runs whose jumps are farther apart than the limit of
 * errors is, as a part of the duration, differ. */
static bool is_near_jump(const Measure *m, double t) {
  bool is_near = m->jumps->seen > m->jumps->rows;
  for (long k = 0; k < m->jumps->rows && !is_near; k++)
    is_near = fabs(t - m->jumps->data[k]) <= m->apart;
  return is_near;
}

Distance measure_distance(const Measure *m, const double *a, const double *b, long components,
                          double t) {
  Distance worst = {.t = t, .component = -1};
  for (long i = 0; i < components && i < m->n && !isnan(worst.part); i++)
    if (m->unit[i] >= 0 && !m->in_attitude[i] && !(m->is_energy[i] && is_near_jump(m, t)))
      take_distance(m, i, fabs(a[i] - b[i]), &worst);
  for (int k = 0; k < m->nattitudes && !isnan(worst.part); k++) {
    const long i = m->attitude[k];
    if (i + 4 <= components) take_distance(m, i, angle_between(a + i, b + i), &worst);
  }
  for (long i = m->n; i < components && !isnan(worst.part); i++)
    if (!isnan(a[i] - b[i])) take_distance(m, i, fabs(a[i] - b[i]), &worst);
  return worst;
}

/* The functions of the CPMech in absolute coordinates, and what those in joint coordinates take from them (pullback.c) */
#include "blocks.h"
#include "following.h"
#include "laws.h"
#include "parameters.h"
#include "ropes.h"
#include "tree.h"
#include "wrench.h"

#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* ----------------------------------------------------------------------------------- poses -- */

/* turned: 1 if the pose has the axes that belong to q */
static inline void place(const Space *space, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *udot, int turned, Pose *pose) {
  if (space->dimension == 2) {
    const sunrealtype c = turned ? pose->axis[0][0] : cos(q[2]),
                      s = turned ? pose->axis[0][1] : sin(q[2]);
    *pose = (Pose){.r = {q[0], q[1], 0}, .axis = {{c, s, 0}, {-s, c, 0}, {0, 0, 1}}, .phi = q[2]};
    if (u) pose->v[0] = u[0], pose->v[1] = u[1], pose->w[2] = u[2];
    if (udot) pose->acc[0] = udot[0], pose->acc[1] = udot[1], pose->alpha[2] = udot[2];
    return;
  }
  bodiesRotation(q + 3, pose->axis);
  for (int k = 0; k < 3; k++) {
    pose->r[k]   = q[k];
    pose->v[k]   = u ? u[k] : 0;
    pose->w[k]   = 0;
    pose->acc[k] = udot ? udot[k] : 0;
  }
  if (u) toSpace(pose, u + 3, pose->w);
  if (udot) toSpace(pose, udot + 3, pose->alpha);
}

void bodiesPoseAt(const Space *space, const sunrealtype *q, const sunrealtype *u,
                  const sunrealtype *udot, Pose *pose) {
  pose->accelerating = 0;
  place(space, q, u, udot, 0, pose);
}

void bodiesFrameAt(const Mechanism *b, int i, const sunrealtype *q, const sunrealtype *u,
                   Pose *frame) {
  sunrealtype arm[3], swing[3];
  bodiesPoseAt(&b->space, q, u, NULL, frame);
  toSpace(frame, b->body[i].centre, arm);
  cross3(frame->w, arm, swing); /* v = v_c - omega x arm */
  add3(-1, arm, frame->r);
  add3(-1, swing, frame->v);
}

/* All functions of the CPMech are called at one state, where sines and cosines are computed once. A pose
 * without axes has not been computed yet. */
void bodiesPoses(Mechanism *b, const sunrealtype *q, const sunrealtype *u, const sunrealtype *udot) {
  const Space *s = &b->space;
  bodiesUpdate(b);
  if (b->tree) {
    treePose(b, q, u, udot);
    return;
  }
  for (int i = 0; i < b->nbodies; i++) {
    Pose *pose       = &b->pose[i];
    const int turned = s->dimension == 2 && pose->axis[2][2] != 0 && pose->phi == q[s->nq * i + 2];
    place(s, q + s->nq * i, u ? u + s->nu * i : NULL, udot ? udot + s->nu * i : NULL, turned, pose);
    if (b->turns) pose->turns = b->turns[s->nq * i + 2];
  }
}

void bodiesSpanOf(const Mechanism *b, int pair, Order order, Moving *d) {
  const Pair *p = &b->pair[pair];
  bodiesSpan(p, bodiesPose(b, p->side[0].body), bodiesPose(b, p->side[1].body), order, d);
}

/* -------------------------------------------------------------------------------- masses -- */

sunrealtype bodiesInertia(const Body *body, const sunrealtype *p, int i, int j) {
  static const int at[3][3] = {{1, 4, 5}, {4, 2, 6}, {5, 6, 3}};
  /* The pattern has all products of inertia or none. */
  return i == j || body->full ? p[at[i][j]] : 0;
}

void bodiesTimesInertia(const Body *body, const sunrealtype *p, const sunrealtype *x,
                        sunrealtype *y) {
  for (int k = 0; k < 3; k++) {
    y[k] = 0;
    for (int l = 0; l < 3; l++) y[k] += bodiesInertia(body, p, k, l) * x[l];
  }
}

static void fillM(Mechanism *b, Writer *w) {
  const Space *s = &b->space;
  for (int i = 0; i < b->nbodies; i++) {
    const sunindextype move = bodiesColumn(s, i, 0), turn = bodiesColumn(s, i, 1);
    for (int k = 0; k < s->last[0]; k++)
      *next(w, move + k, move + k, 1) += b->param[b->body[i].param];
    for (int k = s->first[1]; k < 3; k++) {
      const Body *body = &b->body[i];
      const int from = body->full ? 0 : k, to = body->full ? 3 : k + 1;
      sunrealtype *column = next(w, turn + from - s->first[1], turn + k - s->first[1], to - from);
      for (int l = from; l < to; l++)
        column[l - from] += bodiesInertia(body, b->param + body->param, l, k);
    }
  }
  for (int i = 0; i < b->nlaws && b->ninertances > 0; i++) { /* M += inertance g g^T */
    const Law *law = &b->law[i];
    if (law->inertance == NONE || bodiesIsOnTree(b, i)) continue;
    for (int k = 0; k < law->nterms * law->nterms; k++) {
      const Term *term    = bodiesLawTerm(b, law, k / law->nterms),
                 *of      = bodiesLawTerm(b, law, k % law->nterms);
      const Mask mask     = bodiesTermMask(b, term);
      const sunrealtype I = b->param[law->inertance] * bodiesWeight(b, term) * bodiesWeight(b, of);
      Jet jet, of_jet;
      bodiesTermJet(b, term, GRADIENT, &jet);
      bodiesTermJet(b, of, GRADIENT, &of_jet);
      EACH_DIRECTION(s, bodiesTermMask(b, of).g, j)
      for (int gi = 0; gi < 4; gi++) {
        if (!(mask.g & (1u << gi))) continue;
        const int from = 3 * gi + s->first[gi % 2], to = 3 * gi + s->last[gi % 2];
        sunrealtype *column = next(w, bodiesColumnOf(s, &b->pair[term->pair], from),
                                   bodiesColumnOf(s, &b->pair[of->pair], j), to - from);
        for (int l = from; l < to; l++) column[l - from] += I * jet.g[l] * of_jet.g[j];
      }
    }
  }
}

int bodiesMass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *bodies) {
  (void)t;
  Mechanism *b = bodies;
  Writer w     = bodiesWriter(b, PLAN_M, M);
  bodiesUpdate(b);
  if (b->ninertances > 0) bodiesPoses(b, q, NULL, NULL);
  fillM(b, &w);
  return 0;
}

void bodiesGyroscopic(const Mechanism *b, int i, const sunrealtype *omega, sunrealtype *spin,
                      sunrealtype *torque) {
  bodiesTimesInertia(&b->body[i], b->param + b->body[i].param, omega, spin);
  cross3(spin, omega, torque);
}

/* --------------------------------------------------------------------------- constraints -- */

/* a + b is *sum plus the result, exactly (D. E. Knuth, The Art of Computer Programming 2, 4.2.2). */
static sunrealtype addExactly(sunrealtype a, sunrealtype b, sunrealtype *sum) {
  *sum                   = a + b;
  const sunrealtype part = *sum - a;
  return (a - (*sum - part)) + (b - part);
}

int bodiesDrive(const Mechanism *b, int drive, sunrealtype t, DriveAt *at) {
  const Drive *d       = &b->drive[drive];
  const sunrealtype *p = b->param + d->param; /* start, rate, amplitude, frequency */
  *at                  = (DriveAt){0};
  if (d->g) {
    sunrealtype g[3] = {0, 0, 0};
    const int flag = d->g == bodiesMotionOf ? bodiesMotion(b, d->data, t, g) : d->g(t, g, d->data);
    *at            = (DriveAt){g[0], 0, g[1], g[2]};
    return flag;
  }
  /* fma returns what a product has lost: of the angle, and of the phase, to which sine and cosine are
   * corrected to first order. */
  const sunrealtype turned = p[1] * t, lost = fma(p[1], t, -turned), phase = p[3] * t,
                    late = fma(p[3], t, -phase), s = sin(phase) + late * cos(phase),
                    c = cos(phase) - late * sin(phase);
  at->rest            = addExactly(p[0], turned, &at->g) + lost + p[2] * s;
  at->rate            = p[1] + p[2] * p[3] * c;
  at->acc             = -p[2] * p[3] * p[3] * s;
  return 0;
}

/* x up to whole turns, in [-pi, pi]: sine and cosine are right to the last digit however many turns there are. */
static sunrealtype onCircle(sunrealtype x) { return fabs(x) <= 3 ? x : atan2(sin(x), cos(x)); }

/* The change of the row's sum, per rad, by which whole turns of its angles generate all others. It is 0 if there are no
 * such angles, or if the ratios, changed as parameters, have no common measure; then the angles
 * count from the start, up to half a turn. */
static sunrealtype perTurn(const Mechanism *b, const Row *row) {
  static const sunrealtype rounding = SUN_RCONST(1e-9), least = SUN_RCONST(1e-6);
  sunrealtype common = 0, largest = 0;
  for (int k = 0; k < row->nterms && row->wraps; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    sunrealtype x    = term->m.kind == ANGLE && !term->f ? fabs(bodiesWeight(b, term)) : 0;
    largest          = fmax(largest, x);
    while (common > 0 && x > 0) { /* Euclid's algorithm */
      const sunrealtype rest = fmod(x, common);
      x                      = common;
      common                 = fmin(rest, common - rest) > rounding * largest ? rest : 0;
    }
    common = fmax(common, x);
  }
  return common > least * largest ? common : 0;
}

sunrealtype bodiesPeriod(const Mechanism *b, const Row *row) {
  return row->wraps && !bodiesCountsTurns(b, row) ? 8 * atan(SUN_RCONST(1.0)) * perTurn(b, row) : 0;
}

/* Of a row that aligns axes: the component of the rotation vector that has its derivative where the
 * axes are equal. D [3]: out, its derivative with respect to omega_b - omega_a. */
static sunrealtype tiltOf(const Mechanism *b, const Row *row, sunrealtype *D) {
  const Measure *m = &bodiesRowTerm(b, row, 0)->m; /* x_a . z_b = r_y = -z_a . x_b, and cyclic */
  const Pair *pair = &b->pair[bodiesRowTerm(b, row, 0)->pair];
  const int k = 3 - m->i - m->j, n = b->space.dimension == 2 ? 3 : row->aligns;
  const sunrealtype sign = (m->j + 1) % 3 == m->i ? 1 : -1;
  sunrealtype r[3], Dr[3][3];
  bodiesTilt(pair, bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body), n, r, Dr);
  for (int l = 0; l < 3; l++) D[l] = sign * Dr[k][l];
  return sign * r[k];
}

int bodiesIsToothed(const Mechanism *b, const Row *row) {
  static const sunrealtype teeth = 10000; /* Larger numbers leave no room for violations. */
  sunrealtype largest            = 0;
  for (int k = 0; k < row->nterms; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    if (term->m.kind == ANGLE && !term->f) largest = fmax(largest, fabs(bodiesWeight(b, term)));
  }
  return perTurn(b, row) * teeth >= largest;
}

/* The gap of a limit from the sum of its coordinates, with its sign; whole turns that are unknown make it the one nearest to 0. */
static sunrealtype gapOf(const Mechanism *b, const Row *row, sunrealtype sum) {
  const sunrealtype gap = sum - row->limit * b->param[row->offset], period = bodiesPeriod(b, row);
  return period > 0 ? remainder(gap, period) : gap;
}

/* Does an equation leave the turns of its sum open? Coordinates of the tree count theirs, and only drives do. */
static inline int isOpen(const Mechanism *b, const Row *row) {
  return row->wraps && !row->limit && (!bodiesCountsTurns(b, row) || row->nterms == 1);
}

/* The sum of coordinates of the tree (level 0), or of their rates: entries of the state, q or u. Whole turns are added up first: those of
 * gears cancel, and would take digits from the rest. */
static inline sunrealtype bareSum(const Mechanism *b, const Row *row, const sunrealtype *state,
                                  int level) {
  sunrealtype sum = 0, turns = 0;
  for (int k = 0; k < row->nterms; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    const int i      = level ? term->velocity : term->coordinate;
    sum += bodiesShare(b, term) * state[i];
    if (b->turns && level == 0) turns += bodiesShare(b, term) * b->turns[i];
  }
  return turns == 0 || isOpen(b, row) ? sum : sum + 8 * atan(SUN_RCONST(1.0)) * turns;
}

/* Evaluates the rows of p, v or b (level 0, 1, 2) of P_a - P_b, without what other levels need. */
static void fillPoint(const Mechanism *b, const Row *row, int level, sunrealtype *out) {
  const Pair *pair = &b->pair[bodiesRowTerm(b, row, 0)->pair];
  sunrealtype x[3] = {0, 0, 0};
  for (int side = 0; side < 2; side++) {
    const Pose *pose       = bodiesPose(b, pair->side[side].body);
    const sunrealtype sign = side ? 1 : -1;
    sunrealtype arm[3], rate[3], acc[3], turned[3];
    toSpace(pose, pair->side[side].point, arm);
    if (level == 0) {
      add3(sign, pose->r, x), add3(sign, arm, x);
      continue;
    }
    cross3(pose->w, arm, rate);
    if (level == 1) {
      add3(sign, pose->v, x), add3(sign, rate, x);
      continue;
    }
    cross3(pose->w, rate, acc);
    if (pose->accelerating) {
      cross3(pose->alpha, arm, turned);
      add3(1, turned, acc), add3(sign, pose->acc, x);
    }
    add3(sign, acc, x);
  }
  for (int k = 0; k < b->space.dimension; k++)
    out[row->first + k] = level == 0 ? -x[k] - b->shift[row->first + k] : level == 1 ? -x[k] : x[k];
}

/* The violation of a row of positions from the sum of its terms, and the drive */
static sunrealtype violationOf(const Mechanism *b, const Row *row, sunrealtype sum,
                               const DriveAt *drive) {
  const sunrealtype sign = row->limit < 0 ? -1 : 1;
  if (row->rope) sum += sign * bodiesRopeTurns(b, row->term, row->nterms);
  if (row->limit) return gapOf(b, row, sum) - sign * (drive->g + drive->rest);
  const sunrealtype turn = 8 * atan(SUN_RCONST(1.0)), unit = isOpen(b, row) ? perTurn(b, row) : 0,
                    to = drive->g + (row->offset != NONE ? b->param[row->offset] : 0);
  if (!(unit > 0)) return sum - to - drive->rest;
  /* Both sides are taken to the circle before they meet: of many turns, the difference would keep
   * the last digit of the turns. */
  return remainder(unit * (onCircle(sum / unit) - onCircle(to / unit)) - drive->rest, turn * unit);
}

/* The same of a sum. Returns what a drive's function returned. */
static int fillSum(const Mechanism *b, const Row *row, sunrealtype t, const sunrealtype *q,
                   const sunrealtype *u, int level, sunrealtype *out) {
  const int bare  = b->tree && bodiesIsBare(b, row);
  DriveAt drive   = {0};
  sunrealtype sum = bare && level < 2 ? bareSum(b, row, level ? u : q, level) : 0, D[3];
  int flag        = 0;
  if (level == 0 && b->assembling == ALIGNING && row->aligns) {
    out[row->first] = tiltOf(b, row, D) - b->shift[row->first];
    return 0;
  }
  for (int k = 0; k < row->nterms && !bare; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    Jet jet;
    bodiesTermJet(b, term, level < 2 ? RATES : VALUES, &jet);
    sum += bodiesWeight(b, term) * (level == 0 ? jet.s : level == 1 ? jet.rate : -jet.acc);
    /* A disc that lies flat has no lowest point, and a surface may end: this is recoverable, since
     * a smaller step may avoid it. */
    if (term->f || term->m.kind >= SINE)
      flag |= !(isfinite(jet.s) && isfinite(jet.rate) && (level < 2 || isfinite(jet.acc)));
  }
  if (row->drive != NONE && (level == 0 || b->assembling == AS_IN_MOTION)) {
    const int failed       = bodiesDrive(b, row->drive, t, &drive);
    const sunrealtype sign = row->limit < 0 ? -1 : 1;
    if (failed) flag = failed;
    if (level > 0) sum += sign * (level == 2 ? drive.acc : -drive.rate);
  }
  if (level == 0) sum = violationOf(b, row, sum, &drive);
  out[row->first] = level == 0 && row->first < b->np ? sum - b->shift[row->first] : sum;
  return flag;
}

static int fillRow(const Mechanism *b, const Row *row, sunrealtype t, const sunrealtype *q,
                   const sunrealtype *u, int level, sunrealtype *out) {
  if (bodiesRowTerm(b, row, 0)->m.kind != POINT) return fillSum(b, row, t, q, u, level, out);
  fillPoint(b, row, level, out);
  return 0;
}

static int fillAll(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                   int level, sunrealtype *out) {
  const int bare = b->tree && b->tree->bare; /* all rows are */
  int flag       = 0;
  for (int i = 0; i < b->nrows && !flag; i++) {
    const Row *row = &b->row[i];
    if (bodiesIsRowOff(b, row)) continue;
    if (!row->limit || level == 2 || !(bare || bodiesIsBare(b, row)))
      flag = fillRow(b, row, t, q, u, level, out);
    else /* There may be hundreds of open stops. */
      out[row->first] =
          bareSum(b, row, level ? u : q, level) - (level ? 0 : row->limit * b->param[row->offset]);
  }
  for (int i = 0; i < b->nrolls && !flag && level > 0; i++)
    if (!bodiesIsRowOff(b, &b->roll[i])) flag = fillRow(b, &b->roll[i], t, q, u, level, out);
  return flag;
}

int bodiesFillTargets(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      sunrealtype *out) {
  return fillAll(b, t, q, u, 2, out);
}

static int fillRows(Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                    int level, sunrealtype *out) {
  bodiesUpdate(b);
  if (!b->tree || !b->tree->bare) bodiesPoses(b, q, u, NULL);
  return fillAll(b, t, q, u, level, out);
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *bodies) {
  return fillRows(bodies, t, q, NULL, 0, p);
}
static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *bodies) {
  return fillRows(bodies, t, q, u, 1, v);
}
static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         sunrealtype *rhs, void *bodies) {
  return fillRows(bodies, t, q, u, 2, rhs);
}

static void fillARow(const Mechanism *b, const Row *row, Writer *w) {
  const Space *s = &b->space;
  for (int k = 0; k < row->nterms; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    if (term->m.kind == OWN) { /* of the tree (pullback.c); a pattern must not be empty */
      *next(w, row->first, 0, 1) += 0;
      continue;
    }
    const Pair *pair = &b->pair[term->pair];
    if (term->m.kind != POINT) {
      Jet jet;
      const Mask mask = bodiesGradient(b, row, k, 0, &jet);
      EACH_DIRECTION(s, mask.g, j)
      *next(w, row->first, bodiesColumnOf(s, pair, j), 1) += jet.g[j];
      continue;
    }
    Moving d;
    bodiesSpanOf(b, term->pair, GRADIENT, &d);
    EACH_DIRECTION(s, bodiesTermMask(b, term).g, j) {
      sunrealtype D[3];
      if (j % 6 < 3) {
        *next(w, row->first + j % 3, bodiesColumnOf(s, pair, j), 1) -= d.side[j / 6].move;
        continue;
      }
      bodiesMovingX(&d, j, D);
      sunrealtype *column = next(w, row->first, bodiesColumnOf(s, pair, j), s->dimension);
      for (int i = 0; i < s->dimension; i++) column[i] -= D[i];
    }
  }
}

/* The entries of rows that are off remain 0. */
static void fillA(Mechanism *b, Writer *w) {
  for (int i = 0; i < b->nrows + b->nrolls; i++) {
    Row *row                 = bodiesRow(b, i);
    const sunindextype first = w->count;
    if (w->data && bodiesIsRowOff(b, row)) {
      w->count += row->places;
      continue;
    }
    fillARow(b, row, w);
    if (!w->data)
      row->places = w->count - first; /* where blocks are listed, before threads share the rows */
  }
}

Mask bodiesGradient(const Mechanism *b, const Row *row, int k, int i, Jet *jet) {
  enum { ALL_DIRECTIONS = 0xF };
  const Term *term = bodiesRowTerm(b, row, k);
  const Mask mask  = term->m.kind == OWN ? (Mask){ALL_DIRECTIONS, 0} : bodiesTermMask(b, term);
  if (term->m.kind == POINT) {
    Moving d;
    bodiesSpanOf(b, term->pair, GRADIENT, &d);
    EACH_DIRECTION(&b->space, mask.g, j) {
      sunrealtype D[3];
      bodiesMovingX(&d, j, D);
      jet->g[j] = -D[i];
    }
    return mask;
  }
  if (b->assembling == ALIGNING && row->aligns) {
    sunrealtype D[3];
    tiltOf(b, row, D);
    EACH_DIRECTION(&b->space, mask.g, j)
    jet->g[j] = (j < 6 ? -1 : 1) *
                dot3(D, bodiesPose(b, b->pair[term->pair].side[j / 6].body)->axis[j % 3]);
    return mask;
  }
  const sunrealtype c = bodiesWeight(b, term);
  bodiesTermJet(b, term, GRADIENT, jet);
  if (c != 1) EACH_DIRECTION(&b->space, mask.g, j) jet->g[j] *= c;
  return mask;
}

static int constraintMatrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *bodies) {
  (void)t;
  Writer w = bodiesWriter(bodies, PLAN_A, A);
  bodiesPoses(bodies, q, NULL, NULL);
  fillA(bodies, &w);
  return 0;
}

static void fillBRow(const Mechanism *b, const Row *row, Writer *Bq, Writer *Bu) {
  const Space *s = &b->space;
  for (int k = 0; k < row->nterms; k++) {
    const Term *term = bodiesRowTerm(b, row, k);
    const Pair *pair = &b->pair[term->pair];
    const Mask mask  = bodiesTermMask(b, term);
    if (term->m.kind == POINT) {
      Moving d;
      bodiesSpanOf(b, term->pair, ACCELERATION, &d);
      EACH_DIRECTION(s, mask.g & 0xA, j) {
        sunrealtype D[3], U[3];
        bodiesMovingAcc(&d, j, D);
        bodiesMovingAccU(&d, j, U);
        sunrealtype *q = next(Bq, row->first, bodiesColumnOf(s, pair, j), s->dimension);
        sunrealtype *u = next(Bu, row->first, bodiesColumnOf(s, pair, j), s->dimension);
        for (int i = 0; i < s->dimension; i++) q[i] += D[i], u[i] += U[i];
      }
    } else if (mask.H) {
      const sunrealtype c = bodiesWeight(b, term);
      Jet jet;
      bodiesTermJet(b, term, ACCELERATION, &jet);
      EACH_DIRECTION(s, mask.g, j) {
        *next(Bq, row->first, bodiesColumnOf(s, pair, j), 1) -= c * jet.acc_q[j];
        *next(Bu, row->first, bodiesColumnOf(s, pair, j), 1) -= c * jet.acc_u[j];
      }
    }
  }
}

static void fillB(Mechanism *b, Writer *Bq, Writer *Bu) {
  *next(Bq, 0, 0, 1) += 0; /* A pattern must not be empty. */
  *next(Bu, 0, 0, 1) += 0;
  for (int i = 0; i < b->nrows; i++) fillBRow(b, &b->row[i], Bq, Bu);
  for (int i = 0; i < b->nrolls; i++) fillBRow(b, &b->roll[i], Bq, Bu);
}

static int constraintJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *bodies) {
  (void)t;
  Writer to_q = bodiesWriter(bodies, PLAN_BQ, Bq), to_u = bodiesWriter(bodies, PLAN_BU, Bu);
  bodiesPoses(bodies, q, u, udot);
  fillB(bodies, &to_q, &to_u);
  return 0;
}

/* -------------------------------------------------------------------------------- forces -- */

int bodiesReactionRows(const Mechanism *b, int joint, int *first) {
  const Joint *j = &b->joint[joint];
  const Row *row = &b->row[j->first];
  int count      = 0;
  *first         = row->first;
  for (int i = 0; i < j->nrows && (bodiesRowTerm(b, &row[i], 0)->m.kind == POINT ||
                                   bodiesRowTerm(b, &row[i], 0)->m.kind == ALONG);
       i++)
    count += bodiesComponents(b, &row[i]);
  return count;
}

sunrealtype bodiesReactionSize(const Mechanism *b, int joint, const sunrealtype *lambda, int *first,
                               int *count) {
  sunrealtype sum = 0;
  *count          = bodiesReactionRows(b, joint, first);
  for (int i = 0; i < *count; i++) sum += lambda[*first + i] * lambda[*first + i];
  return sqrt(sum);
}

int bodiesLawFunction(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x,
                      sunrealtype rate, Order order, sunrealtype *T) {
  const sunrealtype own[2] = {x, rate};
  sunrealtype value, g[CP_MOST_VARIABLES];
  T[0] = T[1] = T[2] = 0;
  int flag           = law->law ? law->law(t, x, rate, T, law->data) : 0;
  if (flag || !law->formula) return flag;
  flag = bodiesFormula(b, law->formula, 0, t, 2, own, &value, order > VALUES ? g : NULL);
  T[0] += value;
  if (order > VALUES) T[1] += g[1], T[2] += g[2];
  return flag;
}

int bodiesLaw(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x, sunrealtype rate,
              sunrealtype reaction, Order order, sunrealtype *T) {
  return lawForce(b, law, t, x, rate, reaction, order, T);
}

/* f += the forces of friction, or of all other laws. Returns what a user's function returned. */
int bodiesAddLaws(const Mechanism *b, int friction, sunrealtype t, const sunrealtype *lambda,
                  sunrealtype *f) {
  int flag = 0, first, count;
  for (int i = 0; i < b->nlaws && !flag; i++) {
    const Law *law = &b->law[i];
    Jet jet;
    sunrealtype T[3], x, rate, acc;
    if ((law->kind == FRICTION) != friction || bodiesIsOnTree(b, i)) continue;
    /* A single term gives its values with its gradient. */
    if (law->nterms == 1) {
      const sunrealtype c = bodiesWeight(b, bodiesLawTerm(b, law, 0));
      bodiesTermJet(b, bodiesLawTerm(b, law, 0), GRADIENT, &jet);
      x = c * jet.s, rate = c * jet.rate, acc = c * jet.acc;
    } else bodiesLawSum(b, law, VALUES, &x, &rate, &acc);
    const sunrealtype N = friction ? bodiesReactionSize(b, law->joint, lambda, &first, &count) : 0;
    flag                = bodiesLaw(b, law, t, x, rate, N, VALUES, T);
    if (law->inertance != NONE) /* s'' = g u' + acc; M holds the first part. */
      T[0] -= b->param[law->inertance] * acc;
    for (int k = 0; k < law->nterms; k++) {
      const Term *term    = bodiesLawTerm(b, law, k);
      const sunrealtype c = bodiesWeight(b, term);
      if (law->nterms > 1) bodiesTermJet(b, term, GRADIENT, &jet);
      EACH_DIRECTION(&b->space, bodiesTermMask(b, term).g, j)
      f[bodiesColumnOf(&b->space, &b->pair[term->pair], j)] += c * T[0] * jet.g[j];
    }
  }
  return flag;
}

int bodiesPointForce(const Mechanism *b, const PointForce *force, sunrealtype t, const Moving *d,
                     sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv) {
  const sunrealtype *constant = b->param + force->param;
  sunrealtype by_x[9] = {0}, by_v[9] = {0};
  F[0] = F[1] = F[2] = 0;
  int flag           = force->fn ? force->fn(t, d->x, d->rate, F, by_x, by_v, force->data) : 0;
  for (int k = 0; k < 3 && force->formula && !flag; k++) {
    const sunrealtype at[6] = {d->x[0], d->x[1], d->x[2], d->rate[0], d->rate[1], d->rate[2]};
    sunrealtype value, g[CP_MOST_VARIABLES];
    flag = bodiesFormula(b, force->formula, k, t, 6, at, &value, Fx ? g : NULL);
    F[k] += value;
    for (int j = 0; j < 3 && Fx; j++) by_x[3 * k + j] += g[1 + j], by_v[3 * k + j] += g[4 + j];
  }
  if (Fx) memcpy(Fx, by_x, sizeof by_x), memcpy(Fv, by_v, sizeof by_v);
  sunrealtype own[3] = {constant[0], constant[1], constant[2]};
  if (force->follows) toSpace(bodiesPose(b, b->pair[force->pair].side[1].body), constant, own);
  add3(1, own, F);
  return flag;
}

void bodiesAddWeights(const Mechanism *b, const sunrealtype *u, sunrealtype *f) {
  const Space *s = &b->space;
  for (int i = 0; i < b->nbodies; i++) {
    sunrealtype spin[3], torque[3];
    for (int k = 0; k < s->last[0]; k++)
      f[bodiesColumn(s, i, 0) + k] += b->param[b->body[i].param] * b->param[k];
    if (s->dimension == 2) continue;
    bodiesGyroscopic(b, i, u + 6 * i + 3, spin, torque);
    add3(1, torque, f + 6 * i + 3);
  }
}

void bodiesAddInertial(const Mechanism *b, sunrealtype *f) {
  const Space *s = &b->space;
  for (int i = 0; i < b->nbodies; i++) {
    const Pose *pose = &b->pose[i];
    sunrealtype alpha[3], spin[3], torque[3];
    for (int k = 0; k < s->last[0]; k++)
      f[bodiesColumn(s, i, 0) + k] -= b->param[b->body[i].param] * pose->acc[k];
    if (s->dimension == 2) {
      f[3 * i + 2] -= b->param[b->body[i].param + 3] * pose->alpha[2];
      continue;
    }
    toBody(pose, pose->alpha, alpha);
    bodiesGyroscopic(b, i, alpha, spin, torque);
    add3(-1, spin, f + 6 * i + 3);
  }
}

int bodiesAddForces(const Mechanism *b, sunrealtype t, sunrealtype *f) {
  const Space *s = &b->space;
  int flag       = bodiesAddLaws(b, 0, t, NULL, f);
  for (int i = 0; i < b->nforces && !flag; i++) {
    const PointForce *force = &b->force[i];
    sunrealtype F[3], D[3];
    Moving d;
    if (force->law != AT_A_POINT) {
      flag = bodiesAddWrench(b, force, f);
      continue;
    }
    bodiesSpanOf(b, force->pair, GRADIENT, &d);
    flag = bodiesPointForce(b, force, t, &d, F, NULL, NULL);
    EACH_DIRECTION(s, 0xC, j) {
      bodiesMovingX(&d, j, D);
      f[bodiesColumnOf(s, &b->pair[force->pair], j)] += dot3(D, F);
    }
  }
  return flag;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *bodies) {
  ((Mechanism *)bodies)->z = z;
  bodiesPoses(bodies, q, u, NULL);
  bodiesAddWeights(bodies, u, f);
  return bodiesAddForces(bodies, t, f);
}

static int frictions(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f, void *bodies) {
  ((Mechanism *)bodies)->z = z;
  bodiesPoses(bodies, q, u, NULL);
  return bodiesAddLaws(bodies, 1, t, lambda, f);
}

int bodiesFillFl(const Mechanism *b, sunrealtype t, const sunrealtype *lambda, AddLaw *addOn,
                 SUNMatrix Fl) {
  int flag = 0;
  for (int i = 0; i < b->nlaws && !flag; i++) {
    const Law *law = &b->law[i];
    sunrealtype T[3], x, rate, acc;
    int first, count;
    if (law->kind != FRICTION) continue;
    const sunrealtype N = bodiesReactionSize(b, law->joint, lambda, &first, &count);
    bodiesLawSum(b, law, VALUES, &x, &rate, &acc);
    flag = bodiesLaw(b, law, t, x, rate, 1, VALUES, T);
    for (int k = first; k < first + count && N > 0 && !flag; k++)
      addOn(b, law, T[0] * lambda[k] / N, SM_COLUMN_D(Fl, k));
  }
  return flag;
}

/* ------------------------------------------------------------------------------- K and C -- */

static void addOnBodies(const Mechanism *b, const Law *law, sunrealtype T_z, sunrealtype *column) {
  for (int k = 0; k < law->nterms; k++) {
    const Term *term    = bodiesLawTerm(b, law, k);
    const sunrealtype c = bodiesWeight(b, term) * T_z;
    Jet jet;
    bodiesTermJet(b, term, GRADIENT, &jet);
    EACH_DIRECTION(&b->space, bodiesTermMask(b, term).g, j)
    column[bodiesColumnOf(&b->space, &b->pair[term->pair], j)] += c * jet.g[j];
  }
}

static int frictionsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl, void *bodies) {
  ((Mechanism *)bodies)->z = z;
  bodiesPoses(bodies, q, u, NULL);
  return bodiesFillFl(bodies, t, lambda, addOnBodies, Fl);
}

static int dynamicsJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                       SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *bodies) {
  Mechanism *b = bodies;
  Writer to_K = bodiesWriter(b, PLAN_K, K), to_C = bodiesWriter(b, PLAN_C, C);
  b->z = z;
  bodiesPoses(b, q, u, udot);
  const int flag = bodiesFillDynamics(b, t, u, lambda, &to_K, &to_C);
  return flag ? flag : bodiesFillFz(b, t, q, u, addOnBodies, Fz);
}

/* --------------------------------------------------------------------------------- model -- */

/* zdot: activations, and W */
static int rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *zdot, void *bodies) {
  Mechanism *b            = bodies;
  CPPowers p              = {0};
  sunrealtype of_contacts = 0;
  b->z                    = z;
  bodiesUpdate(b);
  bodiesActivations(b, zdot, NULL, NULL, NULL);
  if (!b->balance) return 0;
  const int flag = bodiesPowers(b, t, q, u, lambda, 0, &p, &of_contacts);
  /* CPMechAddForce adds the whole power of elastic ropes, a part of which is stored in them and belongs to E. */
  zdot[b->nactivations] = p.applied + p.drives - p.dissipation - of_contacts;
  return flag;
}

/* Of activations alone, which depend on nothing else. W is a quadrature, which Zz_tmpl leaves out. */
static int ratesJac(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, SUNMatrix Zq, SUNMatrix Zu, SUNMatrix Zz,
                    void *bodies) {
  (void)t, (void)q, (void)u, (void)lambda, (void)Zq, (void)Zu;
  Mechanism *b = bodies;
  b->z         = z;
  bodiesUpdate(b);
  bodiesActivations(b, NULL, Zz, NULL, NULL);
  return 0;
}

int bodiesMakePlans(Mechanism *b, sunindextype nu, sunindextype na, SUNContext ctx) {
  const int sparse    = b->tree || nu >= SPARSE_FROM;
  sunrealtype *zero   = calloc((size_t)(nu + na), sizeof *zero);
  Writer w[NUM_PLANS] = {{0}};
  int failed          = !zero;
  for (int i = 0; i < b->nbodies; i++)
    bodiesPoseAt(&b->space, b->body[i].guess, NULL, NULL, &b->pose[i]);
  if (zero) bodiesFillDynamics(b, 0, zero, zero + nu, &w[PLAN_K], &w[PLAN_C]);
  if (zero && !b->tree) {
    fillM(b, &w[PLAN_M]);
    fillA(b, &w[PLAN_A]);
    fillB(b, &w[PLAN_BQ], &w[PLAN_BU]);
  }
  for (int i = 0; i < NUM_PLANS; i++) {
    const int of_rows = i == PLAN_A || i == PLAN_BQ || i == PLAN_BU;
    if ((of_rows && na == 0) || (b->tree && i != PLAN_K && i != PLAN_C)) free(w[i].block);
    else if (bodiesMakePlan(&w[i], of_rows ? na : nu, nu, sparse, ctx, &b->plan[i])) failed = 1;
  }
  free(zero);
  return failed ? -1 : 0;
}

/* Poses contain the turns of their angles. */
static void lackTurns(const sunrealtype *turns, void *mechanism) {
  Mechanism *b = mechanism;
  b->turns     = turns;
  if (b->tree) b->tree->level = 0;
}

void bodiesTakeFunctions(const Mechanism *b, CPEquations *e) {
  if (e->nangles > 0) e->turns = lackTurns;
  e->parameters_jac = bodiesParametersJac;
  e->row_name       = bodiesRowName;
  if (b->balance + b->nactivations > 0) e->zdot = rates;
  if (b->nactivations > 0) e->auxiliary_jac = ratesJac;
  if (b->nv > 0) {
    e->p         = b->np > 0 ? positions : NULL;
    e->v         = velocities;
    e->b         = accelerations;
    e->skip_rows = bodiesSkipRows;
    e->far_rows  = b->ncontacts > 0 ? bodiesFarRows : NULL;
  }
  if (b->tree) {
    treeTakeFunctions(b, e);
    return;
  }
  e->M_tmpl       = b->plan[PLAN_M].tmpl;
  e->M            = bodiesMass;
  e->f            = forces;
  e->dynamics_jac = dynamicsJac;
  e->K_tmpl       = b->plan[PLAN_K].tmpl;
  e->C_tmpl       = b->plan[PLAN_C].tmpl;
  if (b->nv > 0) {
    e->A_tmpl         = b->plan[PLAN_A].tmpl;
    e->A              = constraintMatrix;
    e->constraint_jac = constraintJac;
    e->Bq_tmpl        = b->plan[PLAN_BQ].tmpl;
    e->Bu_tmpl        = b->plan[PLAN_BU].tmpl;
  }
  if (b->nfrictions > 0) {
    e->f_lambda   = frictions;
    e->lambda_jac = frictionsJac;
  }
}

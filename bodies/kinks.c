/* Kinks of functions, as an event source of the model (CPEquations.event_source). Where a function of a drive, a force, a law, a coupler or a
 * joint is put together of pieces (language.h), or an actuator's force or activation has a range, a step keeps to the pieces that it begins
 * with, so that what it integrates is smooth. Ends of pieces at times that are known are stops, and all others are roots, of g = how far
 * the arguments are inside their piece. At an end the pieces are those a little later,
 *
 *   at (t + e, y + e y' + e^2 y'' / 2),    e: a small part of the time in which y changes,
 *
 * where y' belongs to the new pieces. If these lead back at once, as those of sign(v) of a body that comes to rest, no piece is a
 * solution there, and the function is evaluated as it stands until the next event (A. F. Filippov, Differential Equations with
 * Discontinuous Righthand Sides, Kluwer 1988).
 *
 * Where the slope of a motion jumps, that of a drive, a coupler or a joint by functions, the velocities jump as by a plastic impact: they
 * become those that the new pieces allow and that are the nearest ones to the velocities of the bodies before, in the metric of M. A joint
 * by functions has no rows, but other twists S of its coordinates; M u = J^T p are the nearest rates to the momenta p of the bodies. */
#include "following.h"
#include "formulas.h"
#include "kinks_impl.h"
#include "laws.h"
#include "sources.h"
#include "tree.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Pieces *bodiesPieces(const Mechanism *m, const Formula *formula, int k, Pieces *pieces) {
  const Kinks *all = m->kinks;
  const int i      = formula->place[k];
  if (!all || !all->locked) return NULL;
  *pieces = (Pieces){all->held + i, all->own + i, all->inside + 2 * i, 1};
  return pieces;
}

int bodiesPieceOf(const Mechanism *m, int place, int own, const sunrealtype inside[3][2]) {
  const Kinks *all = m->kinks;
  const int held   = all && all->locked && place != NONE ? all->held[place] : ANY_PIECE;
  if (!all || place == NONE) return own;
  all->own[place] = own;
  if (held == ANY_PIECE) return own;
  memcpy(all->inside + 2 * place, inside[held + 1], sizeof inside[0]);
  return held;
}

static int hasPieces(const Formula *formula) {
  for (int k = 0; formula && k < 3; k++)
    if (formula->f[k] && cpFunctionPieces(formula->f[k]) > 0) return 1;
  return 0;
}

/* The next formula of this use with pieces, from this one on, or NULL */
static const Formula *nextOf(const Formula *formula, Use use) {
  while (formula && (formula->use != use || !hasPieces(formula))) formula = formula->next;
  return formula;
}

/* Are the ends of place i of a component at known times? */
static int isTimed(const Formula *formula, int k, int i) {
  return formula->of_time && cpFunctionTimed(formula->f[k], i);
}

int bodiesHasKinks(const Mechanism *m) {
  int found =
      nextOf(bodiesFirstFormula(m), FOR_FORCES) || nextOf(bodiesFirstFormula(m), FOR_MOTIONS);
  for (int i = 0; i < m->nlaws && !found; i++) found = m->law[i].place != 0;
  return found;
}

int bodiesKinksJump(const Mechanism *m) {
  int found = 0;
  for (const Formula *f = bodiesFirstFormula(m); f && !found; f = f->next)
    for (int k = 0; k < 3; k++)
      for (int i = 0; f->use != FOR_SAMPLES && f->f[k] && i < cpFunctionPieces(f->f[k]); i++)
        found |= f->use == FOR_MOTIONS ||
                 (cpFunctionJumps(f->f[k], i) && (bodiesFollowers(m) > 0 || !isTimed(f, k, i)));
  for (int i = 0; i < m->nlaws && !found; i++)
    found = m->law[i].place && m->law[i].clamp[OF_ACTIVATION] != NONE;
  return found;
}

void kinksForget(const Kinks *all) {
  if (all->m->tree) all->m->tree->level = 0;
}

void kinksWatch(Kinks *all, sunrealtype t, N_Vector y) {
  Mechanism *m         = all->m;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + bodiesCoordinates(m);
  for (int i = 0; i < 2 * all->n; i++) all->inside[i] = INFINITY;
  for (int i = 0; i < all->n; i++) all->own[i] = ANY_PIECE;
  m->z = u + bodiesVelocities(m);
  kinksForget(all);
  bodiesPoses(m, q, u, NULL); /* and the motions of joints by functions */
  bodiesActivations(m, NULL, NULL, NULL, NULL);
  for (int i = 0; i < m->nterms; i++) {
    Jet jet;
    if (hasPieces(m->term[i].f)) bodiesTermJet(m, &m->term[i], VALUES, &jet);
  }
  for (int i = 0; i < m->nlaws; i++) {
    sunrealtype x, rate, T[4];
    if (!hasPieces(m->law[i].formula) && !m->law[i].place) continue;
    bodiesLawAt(m, i, q, u, &x, &rate);
    bodiesLaw(m, &m->law[i], t, x, rate, 0, VALUES, T);
  }
  for (int i = 0; i < m->nforces; i++) {
    sunrealtype F[3], rate[3];
    if (hasPieces(m->force[i].formula)) bodiesForceOf(m, i, t, F, rate);
  }
  for (int i = 0; i < m->ndrives; i++) {
    DriveAt at;
    const Drive *drive = &m->drive[i];
    if (drive->g == bodiesMotionOf && hasPieces(drive->data)) bodiesDrive(m, i, t, &at);
  }
}

static sunrealtype insideOf(const Kinks *all, int i) {
  const sunrealtype *x = all->inside + 2 * i, least = fmin(x[0], x[1]);
  return isfinite(least) ? least : 1; /* there is no end, or it is where the function is not used */
}

sunrealtype kinksTimeOf(const Kinks *all, sunrealtype t, N_Vector y) {
  const sunrealtype size = sqrt(N_VDotProd(y, y)), rate = sqrt(N_VDotProd(all->ydot, all->ydot));
  const sunrealtype span = isfinite(all->t_end) ? fabs(all->t_end - t) : fmax(1, fabs(t));
  return size > 0 && size < span * rate ? size / rate : span;
}

/* Changes pieces whose ends are of this kind, as the newest watch tells. Returns whether it has changed some. Where the arguments stay at
 * an end, as those of a body at rest, no piece is held, since nobody knows which one they will enter. */
static int judge(Kinks *all, int kind) {
  int changed = 0;
  for (int i = 0; i < all->n; i++) {
    const int is_free = all->held[i] == ANY_PIECE, moved = all->moved[i];
    if (all->ends[i] != kind) continue;
    const sunrealtype inside = is_free ? 1 : insideOf(all, i);
    if (is_free ? moved != UNMOVED : inside > 0) continue;
    const int leaves = !is_free && (moved == MOVED || inside == 0);
    if (leaves) all->left[i] = all->held[i];
    all->held[i]  = leaves ? ANY_PIECE : all->own[i];
    all->moved[i] = leaves ? FREED : is_free ? CHOSEN : MOVED;
    changed       = 1;
  }
  if (changed) kinksForget(all);
  return changed;
}

/* Makes the pieces those that lead on from (t, y). ended [nroots]: where a root has been found, or NULL. Returns whether they are others
 * than before. */
static int choosePieces(Kinks *all, sunrealtype t, N_Vector y, const int *ended) {
  enum { ULPS = 1024 };
  const size_t size = (size_t)all->n * sizeof *all->held;
  memcpy(all->before, all->held, size);
  memset(all->moved, 0, size);
  for (int again = 1; again;) {
    if (CPMechRhs(t, y, all->ydot, all->mech)) break; /* which the integrator will report */
    const sunrealtype time = kinksTimeOf(all, t, y), least = ULPS * DBL_EPSILON * fabs(t);
    const sunrealtype e   = all->sign * fmax(sqrt(DBL_EPSILON) * time, least),
                      far = all->sign * fmax(cbrt(DBL_EPSILON) * time, least);
    N_VLinearSum(1, y, e, all->ydot, all->ahead);
    kinksWatch(all, t + e, all->ahead);
    again = judge(all, STOP);
    /* y + far y' + far^2 y'' / 2, since what begins at rest moves by its acceleration */
    const int flag = CPMechRhs(t + e, all->ahead, all->bend, all->mech);
    N_VLinearSum(1, y, far, all->ydot, all->ahead);
    N_VLinearSum(1, all->bend, -1, all->ydot, all->bend);
    if (!flag) N_VLinearSum(1, all->ahead, far * far / (2 * e), all->bend, all->ahead);
    kinksWatch(all, t + far, all->ahead);
    again |= judge(all, ROOT);
  }
  for (int i = 0; ended && i < all->nroots; i++) /* where the arguments only touch an end */
    if (ended[i] && all->moved[i] == UNMOVED && all->held[i] != ANY_PIECE)
      all->left[i] = all->held[i], all->held[i] = ANY_PIECE, all->moved[i] = FREED;
  kinksForget(all);
  return memcmp(all->before, all->held, size) != 0;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  Kinks *all = data;
  kinksWatch(all, t, y);
  for (int i = 0; i < all->n; i++) g[i] = all->ends[i] == ROOT ? insideOf(all, i) : 1;
  return 0;
}

/* The next end of place i of a component at a known time, one from whose piece the time leads out, times the sign of the run; or
 * INFINITY. The distance is a linear function of t. */
static sunrealtype nextEnd(const Kinks *all, const Formula *formula, int k, int i, sunrealtype t) {
  const int first     = formula->place[k];
  const Pieces pieces = {all->held + first, NULL, all->inside + 2 * first, 0};
  sunrealtype next    = INFINITY, inside[2][2], value;
  for (int second = 0; second < 2; second++) {
    const sunrealtype x[CP_MOST_VARIABLES] = {t + second * all->sign};
    cpFunctionEvaluate(formula->f[k], x, &pieces, &value, NULL, NULL);
    memcpy(inside[second], pieces.inside + 2 * i, sizeof inside[second]);
  }
  for (int side = 0; side < 2; side++) {
    const sunrealtype slope = inside[1][side] - inside[0][side],
                      at    = t - all->sign * inside[0][side] / slope;
    if (slope < 0 && inside[0][side] > 0 && all->sign * (at - t) > 0)
      next = fmin(next, all->sign * at);
  }
  return next;
}

static sunrealtype nextTime(sunrealtype t, void *data) {
  const Kinks *all = data;
  sunrealtype next = INFINITY;
  for (const Formula *f = bodiesFirstFormula(all->m); f; f = f->next)
    for (int k = 0; k < 3; k++)
      for (int i = 0; f->f[k] && i < cpFunctionPieces(f->f[k]); i++)
        if (all->ends[f->place[k] + i] == STOP) next = fmin(next, nextEnd(all, f, k, i, t));
  return all->sign * next;
}

/* Are all arguments within the pieces that are held? Then these go on, as after most samples of a controller. */
static int isWithin(Kinks *all, sunrealtype t, N_Vector y) {
  int within = 1;
  kinksWatch(all, t, y);
  for (int i = 0; i < all->n && within; i++)
    within = all->ends[i] == NOTHING || all->own[i] == ANY_PIECE || /* not in use */
             (all->held[i] != ANY_PIECE && insideOf(all, i) > 0);
  return within;
}

static int takeMech(CPMech mech, void *data) {
  Kinks *all = data;
  all->mech  = mech;
  return mech ? 0 : CP_ILL_INPUT;
}

/* Notes for derivatives that the pieces may change at t. */
static void note(Kinks *all, sunrealtype t) {
  if (t == all->t_met) return; /* another source has changed the state at the same event */
  all->t_met = t, all->acted = all->strikes = 0;
  memcpy(all->prior, all->held, (size_t)all->n * sizeof *all->held);
  memset(all->ended, 0, (size_t)all->n);
}

static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Kinks *all            = data;
  N_Vector *const own[] = {&all->ydot, &all->ahead, &all->bend, &all->met, &all->from};
  (void)session;
  for (int i = 0; i < 5; i++)
    if (!*own[i] && !(*own[i] = N_VClone(y))) return CP_MEM_FAIL;
  all->sign = t_end < t ? -1 : 1, all->t_end = t_end, all->locked = 1;
  all->message[0] = '\0';
  for (int i = 0; i < all->n && !again; i++) all->held[i] = ANY_PIECE;
  memset(all->moved, 0, (size_t)all->n * sizeof *all->moved);
  if (!again) all->t_met = NAN;
  note(all, t);
  if (!again || !isWithin(all, t, y)) choosePieces(all, t, y, NULL);
  N_VScale(1, y, all->met);
  N_VScale(1, y, all->from);
  return 0;
}

/* Has a motion another piece than before, whose slope may be another one? */
static int isMotionOther(const Kinks *all) {
  int other = 0;
  for (const Formula *f = bodiesFirstFormula(all->m); (f = nextOf(f, FOR_MOTIONS)) && !other;
       f                = f->next) {
    const size_t from = (size_t)f->place[0], n = (size_t)cpFunctionPieces(f->f[0]);
    other = memcmp(all->held + from, all->before + from, n * sizeof *all->held) != 0;
  }
  return other;
}

/* The rates of the coordinates become those nearest to the momenta. Returns 0, or an error code that has been reported. */
static int takeMomenta(Kinks *all, sunrealtype t, N_Vector y) {
  Mechanism *m   = all->m;
  sunrealtype *u = N_VGetArrayPointer(y) + bodiesCoordinates(m);
  bodiesPoses(m, N_VGetArrayPointer(y), u, NULL);
  treePullMomenta(m, t, all->momenta, u, all->pulled);
  const int flag = CPMechSolve(all->mech, t, y, 1, all->pulled, NULL, all->rates, NULL);
  if (!flag) memcpy(u, all->rates, (size_t)m->tree->nu * sizeof *u);
  return flag;
}

/* Goes on with other pieces. A motion that changes its slope at once is an impact. */
static int meet(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Kinks *all      = data;
  Mechanism *m    = all->m;
  CPPowers before = CP_INIT(CPPowers);
  int flag        = 0;
  (void)session;
  note(all, event->t);
  N_VScale(1, y, all->met);
  N_VScale(1, y, all->from);
  if (nextOf(bodiesFirstFormula(m), FOR_MOTIONS)) {
    flag = CPMechGetPowers(all->mech, event->t, y, NULL, &before);
    if (all->momenta) treeMomenta(m, all->momenta);
  }
  if (!choosePieces(all, event->t, y, event->roots)) return CP_CONTINUE;
  all->acted = 1;
  for (int i = 0; i < all->nroots && event->roots; i++) all->ended[i] = event->roots[i] != 0;
  if (!isMotionOther(all)) return CP_RESTART;
  if (!flag && all->momenta) flag = takeMomenta(all, event->t, y);
  if (!flag) flag = bodiesStrike(m, all->mech, event->t, y, &before);
  if (!flag) {
    N_VScale(1, y, all->met);
    all->strikes = 1;
    return CP_RESTART;
  }
  snprintf(all->message, sizeof all->message,
           "at t = %g a drive, a coupler or a joint changes its speed: %.300s", (double)event->t,
           CPObjectGetLastMessage(CP_OBJECT(all->mech)));
  return flag < 0 ? flag : CP_USERFUNC_FAIL;
}

static const char *messageOf(void *data) {
  const Kinks *all = data;
  return all->message[0] ? all->message : NULL;
}

static void undo(CPSession session, N_Vector y, void *data) {
  Kinks *all = data;
  (void)session, (void)y;
  memcpy(all->held, all->before, (size_t)all->n * sizeof *all->held);
  kinksForget(all);
}

static int resume(CPSession session, sunrealtype t, void *data) {
  Kinks *all = data;
  (void)session, (void)t;
  all->locked = 1;
  kinksForget(all);
  return 0;
}

/* Others may now evaluate the functions at any state. */
static void release(void *data) {
  Kinks *all  = data;
  all->locked = 0;
  kinksForget(all);
}

void bodiesFreeKinks(Mechanism *m) {
  Kinks *all = m->kinks;
  if (!all) return;
  if (all->ydot) N_VDestroy(all->ydot);
  if (all->ahead) N_VDestroy(all->ahead);
  if (all->bend) N_VDestroy(all->bend);
  if (all->met) N_VDestroy(all->met);
  if (all->from) N_VDestroy(all->from);
  free(all->held), free(all->ends), free(all->inside), free(all->momenta);
  free(all);
  m->kinks = NULL;
}

static int hasJointsWithPieces(const Mechanism *m) {
  int found = 0;
  for (int i = 0; m->tree && i < m->njoints; i++)
    for (int k = 0; m->joint[i].custom && k < m->joint[i].custom->nmotions; k++)
      found |= hasPieces(m->joint[i].custom->motion[k].f);
  return found;
}

static int make(Mechanism *m) {
  Kinks *all = m->kinks = calloc(1, sizeof *all);
  if (!all) return CP_MEM_FAIL;
  const size_t n = (size_t)m->nplaces;
  all->m = m, all->n = (int)n;
  all->held   = calloc(7 * n + 1, sizeof *all->held);
  all->ends   = calloc(2 * n + 1, 1);
  all->inside = malloc((4 * n + 1) * sizeof *all->inside);
  if (hasJointsWithPieces(m)) {
    const size_t length = m->tree->length, nu = (size_t)m->tree->nu;
    if (!(all->momenta = malloc((length + 2 * nu) * sizeof *all->momenta)))
      return bodiesFreeKinks(m), CP_MEM_FAIL;
    all->pulled = all->momenta + length, all->rates = all->pulled + nu;
  }
  if (!all->held || !all->ends || !all->inside) return bodiesFreeKinks(m), CP_MEM_FAIL;
  all->own = all->held + n, all->before = all->own + n, all->moved = all->before + n;
  all->direction = all->moved + n, all->prior = all->direction + n, all->left = all->prior + n;
  all->ended = all->ends + n, all->t_met = NAN;
  for (size_t i = 0; i < n; i++) all->held[i] = ANY_PIECE, all->direction[i] = -1;
  for (const Formula *f = bodiesFirstFormula(m); f; f = f->next)
    for (int k = 0; k < 3; k++)
      for (int i = 0; f->use != FOR_SAMPLES && f->f[k] && i < cpFunctionPieces(f->f[k]); i++)
        all->ends[f->place[k] + i] = isTimed(f, k, i) ? STOP : ROOT;
  for (int i = 0; i < m->nlaws; i++)
    for (int k = 0; m->law[i].place && k < RANGE_PLACES; k++)
      all->ends[lawPlace(&m->law[i], k)] = ROOT;
  if (memchr(all->ends, ROOT, n)) all->nroots = all->n;
  return 0;
}

int bodiesKinkSource(CPEventSource *source, Mechanism *m) {
  if (!m->kinks && make(m)) return CP_MEM_FAIL;
  *source = (CPEventSource){.size        = source->size,
                            .name        = "kinks",
                            .data        = m->kinks,
                            .nroots      = m->kinks->nroots,
                            .roots       = m->kinks->nroots > 0 ? roots : NULL,
                            .direction   = m->kinks->direction,
                            .next_time   = nextTime,
                            .start       = begin,
                            .ready       = resume,
                            .paused      = release,
                            .handle      = meet,
                            .derivatives = &kinksDerivatives,
                            .undo        = undo,
                            .message     = messageOf,
                            .take_mech   = takeMech};
  return 0;
}

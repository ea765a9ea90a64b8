/* Calls of cpodes_contact.h and cpodes_session.h: a body above a floor (contact_scene.h), with sessions of its own. */
#include "contact_scene.h"
#include "world.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sundials/sundials_config.h>

/* Gaps and energies may be off by this many tolerances; the defect that this detects is a body that
 * falls through the floor. */
#define ERROR_PER_TOLERANCE 1e5
#define LOOSEST_JUDGED      1e-5
/* Time steps that a call requests, each of which takes about 300 callbacks, and more if it is
 * halved */
#define MOST_STEPS 3000

static ContactWorld *of_contact(World *w) { return &w->contacts; }

static int on_event(const CPContactEvent *event, void *user_data) {
  World *w = user_data;
  if (!event->name || event->contact < 0 || event->contact >= w->contacts.scene.ncontacts)
    complain(w, "an event of no contact", "number %d", event->contact);
  return w->contacts.stops;
}

/* ---- life cycle ---- */

static void choose_point(World *w, int k, CPContactPoint *point) {
  const Scene *s   = &w->contacts.scene;
  *point           = (CPContactPoint){CP_SIZED(CPContactPoint), .name = k == 0 ? "left" : "right",
                                      .normal = k, .tangent = s->ncontacts + k};
  point->ntangents = s->nrows == s->ncontacts ? 0 : s->in_space ? 2 : 1;
  point->law.mu    = chance(w, 0.2) ? 0.0 : number(w, 0.01, 1.0);
  point->law.mu_static   = chance(w, 0.6) ? 0.0 : number(w, 0.01, 1.5);
  point->law.restitution = chance(w, 0.4) ? 0.0 : number(w, 0.05, 1.0);
  point->law.kind        = chance(w, 0.7) ? CP_RESTITUTION_NEWTON : CP_RESTITUTION_POISSON;
  if (chance(w, 0.1)) point->law.tangential = number(w, 0.05, 1.0);
  if (chance(w, w->odd * 0.3)) point->normal = whole(w, 0, 3);
  if (chance(w, w->odd * 0.3)) point->tangent = whole(w, 0, 3);
  if (chance(w, w->odd * 0.3)) point->ntangents = whole(w, 0, 3);
  if (chance(w, w->odd * 0.3)) point->name = chance(w, 0.5) ? NULL : "";
}

static void options_of_mechanics(World *w);

void contact_create(World *w) {
  ContactWorld *k = of_contact(w);
  if (k->contact) return;
  CPEquations model;
  CPContactPoint points[SCENE_CONTACTS];
  Scene *s     = &k->scene;
  *s           = (Scene){.in_space = chance(w, 0.3), .form = (Form)below(w, 3), .a = 0.3, .b = 0.5};
  s->J         = (s->a * s->a + s->b * s->b) / 3.0;
  s->ncontacts = s->in_space ? 1 : 2;
  /* without friction, or with friction */
  s->nrows   = chance(w, 0.2) ? s->ncontacts : s->in_space ? 3 : 4;
  k->longest = 0.0;
  scene_use(s);
  if (!scene_model(s, below(w, 2), w->ctx, &model)) no_memory();
  for (int i = 0; i < s->ncontacts; i++) choose_point(w, i, &points[i]);
  const CPMotion by = {.coordinate = chance(w, w->odd) ? whole(w, 0, SCENE_U) : 0,
                       .kind       = (CPMotionKind)below(w, 3),
                       .g          = mechanism_motion,
                       .gd         = chance(w, 0.5) ? mechanism_motion_rate : NULL,
                       .gdd        = chance(w, 0.5) ? mechanism_motion_acceleration : NULL,
                       .step       = 1e-3,
                       .data       = w};
  k->is_driven      = chance(w, 0.1); /* and then gains energy */
  if (k->is_driven) model.motions = &by, model.nmotions = 1;
  SUNMatrix M = model.M_tmpl, A = model.A_tmpl;
  const int spoilt = chance(w, w->odd * 0.3);
  const int n      = chance(w, w->odd * 0.3) ? -below(w, 2) : s->ncontacts;
  if (spoilt && !mechanics_spoil(w, &model)) model.b = NULL;
  N_Vector y = vector(w, SCENE_N);
  say(w, "{%s, form %d} ", s->in_space ? "point" : "block", s->form);
  CPModel made = CREATE(w, CPModelCreate(&model));
  if (made) k->mech = CREATE(w, CPMechCreate(made, y, w->ctx));
  FREE(w, CPModelFree(&made));
  SUNMatDestroy(M);
  SUNMatDestroy(A);
  if (k->mech) CPMechSetUserData(k->mech, w);
  if (k->mech) CPObjectSetErrHandlerFn(CP_OBJECT(k->mech), world_message, w);
  if (k->mech && chance(w, 0.3)) options_of_mechanics(w);
  if (k->mech) k->contact = CREATE(w, CPContactCreate(k->mech, n, points));
  if (spoilt) FREE(w, CPContactFree(&k->contact));
  if (!k->contact) FREE(w, CPMechFree(&k->mech));
  if (k->contact)
    CALL(w, CONTACT, CPObjectSetErrHandlerFn(CP_OBJECT(k->contact), world_message, w));
}

void contact_free(World *w) {
  FREE(w, CPSessionFree(&w->contacts.session));
  FREE(w, CPSensFree(&w->contacts.sens));
  FREE(w, CPContactFree(&w->contacts.contact));
  if (!w->contacts.contact) FREE(w, CPMechFree(&w->contacts.mech));
  if (w->contacts.contact) complain(w, "a free function that leaves its pointer", "CPContactFree");
  w->contacts.started = 0;
}

/* A step may stop a run that would not end. */
static int on_step(CPSession session, sunrealtype t, N_Vector y, void *data) {
  World *w = data;
  (void)session, (void)t, (void)y;
  return w->contacts.steps-- <= 0;
}

static int on_own_event(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  World *w = data;
  (void)y;
  if (!event->roots && !event->timed)
    complain(w, "an event without a reason", "source %d", event->source);
  if (CPSessionStart(session, 0.0, y, 1.0) != CP_REENTERED)
    complain(w, "a session that is started by its own function", "source %d", event->source);
  return below(w, 4);
}

static sunrealtype next_time(sunrealtype t, void *data) {
  const World *w = data;
  return w->contacts.root_length > 0.0
             ? w->contacts.root_length * (floor(t / w->contacts.root_length * (1.0 + 1e-12)) + 1.0)
             : INFINITY;
}

static int own_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  return scene_roots(t, y, g, data);
}

void contact_session(World *w) {
  static const char *const names[] = {
      "DOP853", "RADAU",      "BDF",    "ADAMS",
      "auto",   "DOP853/BDF", "RADAU5", "ARKODE_DORMAND_PRINCE_7_4_5"};
  ContactWorld *k            = of_contact(w);
  const int direction[1]     = {chance(w, w->odd) ? whole(w, -2, 2) : below(w, 3) - 1};
  const CPEventSource source = {.size      = sizeof source,
                                .name      = chance(w, w->odd * 0.3) ? NULL : "own",
                                .data      = w,
                                .nroots    = chance(w, w->odd * 0.3) ? -1 : below(w, 2),
                                .roots     = own_roots,
                                .direction = chance(w, 0.3) ? NULL : direction,
                                .next_time = chance(w, 0.5) ? next_time : NULL,
                                .handle    = on_own_event};
  if (k->session && chance(w, 0.7)) return;
  FREE(w, CPSessionFree(&k->session));
  k->started     = 0;
  k->root_length = chance(w, 0.5) ? number(w, 0.01, 0.3) : 0.0;
  if (!(k->session = CPSessionCreate(names[below(w, 8)], w->ctx))) return;
  CALL(w, SESSION, CPObjectSetErrHandlerFn(CP_OBJECT(k->session), world_message, w));
  CALL(w, SESSION, CPSessionSetStepFn(k->session, on_step, w));
  if (!chance(w, w->odd)) CALL(w, CONTACT, CPContactAttach(k->contact, k->session));
  if (chance(w, 0.4)) CALL(w, SESSION, CPSessionAddSource(k->session, &source, NULL));
}

/* ---- options ---- */

static void set_handler(World *w) {
  w->loud = 1;
  CALL(w, CONTACT, CPObjectSetErrHandlerFn(CP_OBJECT(w->contacts.contact), NULL, NULL));
  if (chance(w, 0.8))
    CALL(w, CONTACT, CPObjectSetErrHandlerFn(CP_OBJECT(w->contacts.contact), world_message, w));
}

static void event_function(World *w) {
  w->contacts.stops = chance(w, 0.4);
  CALL(w, CONTACT, CPContactSetEventFn(w->contacts.contact, chance(w, 0.8) ? on_event : NULL, w));
}

static void most_events(World *w) {
  const int n = whole(w, 1, 50);
  CALL(w, SESSION, CPSessionSetMaxEvents(w->contacts.session, n));
}

static void time_stepping(World *w) {
  const int n                = chance(w, w->odd) ? whole(w, -1, 1) : whole(w, 2, 30);
  const sunrealtype duration = number(w, 1e-3, 0.3);
  if (CALL(w, CONTACT, CPContactSetTimeStepping(w->contacts.contact, n, duration)) == CP_SUCCESS)
    w->contacts.longest = n > 0 ? duration / 4 / n : 0.0;
}

/* Options of the mechanical system that do not affect the contacts */
static void options_of_mechanics(World *w) {
  CPMech own = w->mech;
  w->mech    = w->contacts.mech;
  switch (below(w, 3)) {
  case 0: CALL(w, MECHANICS, CPMechSetMetric(w->mech, (CPMechMetric)below(w, 4))); break;
  case 1: CALL(w, MECHANICS, CPMechSetLinearSolver(w->mech, (CPLinSol)below(w, 4))); break;
  default: CALL(w, MECHANICS, CPMechSetNewton(w->mech, (CPMechNewton)below(w, 3)));
  }
  w->mech = own;
}

static void options_of_integrator(World *w) {
  const sunrealtype max  = number(w, 1e-3, 0.1);
  const CPIntegrator mem = CPSessionGetIntegrator(w->contacts.session);
  if (mem) CALL(w, NOBODY, CPIntegratorSetMaxStep(mem, max));
}

/* ---- integration ---- */

/* A state above the floor, on it, at rest on it, or below it; or an odd one */
static N_Vector state(World *w) {
  const Scene *s = &w->contacts.scene;
  N_Vector v     = vector(w, SCENE_N);
  if (!v || N_VGetLength(v) != SCENE_N) return v;
  sunrealtype *y = N_VGetArrayPointer(v), gap[SCENE_CONTACTS], lowest = INFINITY;
  if (!s->in_space && chance(w, 0.5)) y[2] = random_between(&w->random, -0.8, 0.8);
  scene_gaps(s, y, gap);
  for (int i = 0; i < s->ncontacts; i++) lowest = fmin(lowest, gap[i]);
  y[1] = -lowest + (chance(w, 0.4) ? 0.0 : random_magnitude(&w->random, 1e-6, 0.3));
  if (chance(w, w->odd)) y[1] -= random_magnitude(&w->random, 1e-9, 0.1);
  for (int j = SCENE_U; j < SCENE_N; j++)
    if (chance(w, 0.5)) y[j] = random_between(&w->random, -1.0, 1.0);
  if (chance(w, w->odd * 0.3)) y[below(w, SCENE_N)] = number(w, 1.0, 1e3);
  return v;
}

/* Has a function been faulty since the start? Then results may be wrong. */
static int is_disturbed(void) {
  static const Callback on[] = {ON_MASS,     ON_ROWS, ON_FORCE, ON_POSITION,
                                ON_VELOCITY, ON_B,    ON_ROOT};
  int any                    = 0;
  for (size_t i = 0; i < sizeof on / sizeof *on; i++) any |= disturb_touched(on[i]);
  return any;
}

void contact_start(World *w) {
  ContactWorld *k        = of_contact(w);
  N_Vector y             = state(w);
  const sunrealtype t0   = chance(w, w->odd) ? number(w, 1e-3, 10.0) : 0.0;
  const sunrealtype rtol = number(w, 1e-9, 1e-4), atol = number(w, 1e-9, 1e-4);
  sunrealtype before[SCENE_N];
  const int whole_state = y && N_VGetLength(y) == SCENE_N;
  if (whole_state) memcpy(before, N_VGetArrayPointer(y), sizeof before);
  CALL(w, SESSION, CPSessionSetTolerances(k->session, rtol, atol, NULL));
  const int flag =
      CALL(w, SESSION, CPSessionStart(k->session, t0, y, t0 + (chance(w, 0.5) ? 1.0 : INFINITY)));
  if (flag < 0 && whole_state && memcmp(before, N_VGetArrayPointer(y), sizeof before) != 0)
    complain(w, "a failed start that changes the state", "%s returned %d", w->call, flag);
  if (flag != CP_SUCCESS) {
    if (flag != CP_MEM_NULL && flag != CP_REENTERED) k->started = 0;
    return;
  }
  if (!whole_state) complain(w, "a start from no state", "%s", w->call);
  k->started = 1, k->t = t0, k->tol = fmax(rtol, atol);
  k->trusted = !is_disturbed();
  k->energy  = scene_energy(&k->scene, before);
  for (int i = 0; i < SCENE_N; i++) k->trusted &= fabs(before[i]) < 10.0;
}

/* Checks a state that a call has returned. */
static void judge(World *w, int flag, sunrealtype t, N_Vector v) {
  ContactWorld *k      = of_contact(w);
  const sunrealtype *y = N_VGetArrayPointer(v);
  sunrealtype gap[SCENE_CONTACTS];
  for (int i = 0; i < SCENE_N; i++)
    if (!isfinite(y[i]))
      complain(w, "contacts with a state that is not finite", "%s returned %d: component %d is %g",
               w->call, flag, i, y[i]);
  if (!isfinite(t)) complain(w, "a time that is not finite", "%s returned %d", w->call, flag);
  if (flag < 0 || !k->trusted || is_disturbed() || k->tol > LOOSEST_JUDGED) return;
  const sunrealtype slack = ERROR_PER_TOLERANCE * k->tol + 1e-7;
  scene_gaps(&k->scene, y, gap);
  for (int i = 0; i < k->scene.ncontacts; i++)
    if (gap[i] < -slack)
      complain(w, "a body in the floor", "%s returned %d: at t = %.15g gap %d is %g, tolerance %g",
               w->call, flag, t, i, gap[i], k->tol);
  if (!k->is_driven && scene_energy(&k->scene, y) > k->energy + 10.0 * slack)
    complain(w, "energy has grown", "%s returned %d: at t = %.15g from %.15g to %.15g, tolerance %g",
             w->call, flag, t, k->energy, scene_energy(&k->scene, y), k->tol);
}

/* Judges the code; returns whether y is a state to check. */
static int is_handed_out(World *w, int flag, N_Vector y) {
  if (flag > 0 && flag != CV_ROOT_RETURN && flag != CV_TSTOP_RETURN && flag != CP_STOPPED)
    complain(w, "a code of no meaning", "%s returned %d", w->call, flag);
  if (!y || N_VGetLength(y) != SCENE_N) return 0;
  if (flag >= 0 && !of_contact(w)->started) complain(w, "success without a start", "%s", w->call);
  if (flag >= 0 && N_VGetArrayPointer(y)[0] == SENTINEL)
    complain(w, "nothing was handed out", "%s returned %d", w->call, flag);
  return 1;
}

void contact_solve(World *w) {
  ContactWorld *k  = of_contact(w);
  N_Vector y       = vector(w, SCENE_N);
  sunrealtype step = number(w, 1e-6, 0.3);
  /* A block may hop forever, and for e close to 1 an interval of time stepping may last as long. */
  const sunrealtype most = k->longest > 0.0 ? fmin(10.0, MOST_STEPS * k->longest) : 10.0;
  if (isfinite(step)) step = fmax(-most, fmin(step, most));
  const sunrealtype tout = k->t + (chance(w, w->odd) ? -step : step);
  sunrealtype t          = k->t;
  if (y) N_VConst(SENTINEL, y);
  say(w, "{tout = %.17g} ", tout);
  k->steps       = 300;
  const int flag = CALL(w, SESSION, CPSessionRun(k->session, tout, y, &t));
  if (flag == CP_SUCCESS && t != tout)
    complain(w, "success short of tout", "%s: t = %.17g, tout = %.17g", w->call, t, tout);
  if (!is_handed_out(w, flag, y)) return;
  if (k->started && N_VGetArrayPointer(y)[0] != SENTINEL) judge(w, flag, t, y);
  if (flag >= 0 || t > k->t) k->t = t;
}

static void contact_step(World *w) {
  ContactWorld *k        = of_contact(w);
  N_Vector y             = vector(w, SCENE_N);
  const sunrealtype tout = k->t + number(w, 1e-6, 0.3) * (chance(w, w->odd) ? -1 : 1);
  sunrealtype t          = k->t;
  CPContactEvent event   = CP_INIT(CPContactEvent);
  if (y) N_VConst(SENTINEL, y);
  k->steps       = 300;
  const int flag = CALL(w, SESSION, CPSessionStep(k->session, tout, y, &t));
  if (is_handed_out(w, flag, y) && (flag >= 0 || t > k->t)) k->t = t;
  CALL(w, CONTACT, CPContactGetEvent(k->contact, chance(w, w->odd) ? -1 : 0, &event));
}

/* ---- quantities ---- */

static void between(World *w) {
  IntegratorCounters stats;
  const sunrealtype back = number(w, 1e-6, 0.1);
  N_Vector dky           = vector(w, SCENE_N);
  if (!w->contacts.started) return;
  CALL(w, SESSION, CPSessionGetDky(w->contacts.session, w->contacts.t - back, below(w, 3), dky));
  CALL(w, SESSION, session_counters(w->contacts.session, &stats));
}

static void evaluate(World *w) {
  sunrealtype force[3 * SCENE_CONTACTS], gap[SCENE_CONTACTS];
  CPContactPhase phase[SCENE_CONTACTS] = {CP_CONTACT_OPEN};
  CPMechOutput out                     = {CP_SIZED(CPMechOutput), .udot = NULL};
  N_Vector y                           = state(w);
  CALL(w, CONTACT,
       CPContactEvaluate(w->contacts.contact, w->contacts.t, y, chance(w, 0.5) ? NULL : &out,
                         chance(w, 0.5) ? NULL : force, chance(w, 0.5) ? NULL : gap,
                         chance(w, w->odd) ? NULL : phase));
  for (int i = 0; i < w->contacts.scene.ncontacts; i++)
    if (phase[i] < CP_CONTACT_OPEN || phase[i] > CP_CONTACT_CLOSED)
      complain(w, "no phase", "contact %d: %d", i, (int)phase[i]);
}

static void painleve(World *w) {
  sunrealtype value[SCENE_CONTACTS];
  N_Vector y = state(w);
  CALL(w, CONTACT,
       CPContactPainleve(w->contacts.contact, w->contacts.t, y, chance(w, w->odd) ? NULL : value));
}

static void results(World *w) {
  ContactCounters stats;
  CALL(w, CONTACT, contact_counters(w->contacts.contact, &stats));
}

/* ---- sensitivities ---- */

static int laws(int i, CPContactLaw *law, void *user_data) {
  const World *w   = user_data;
  law->restitution = w->contacts.p[0];
  law->mu = law->mu_static = w->contacts.p[1];
  return i < 0 || i >= w->contacts.scene.ncontacts;
}

static void law_function(World *w) {
  w->contacts.p[0] = chance(w, w->odd) ? number(w, 1e-3, 2.0) : number(w, 0.1, 0.9);
  w->contacts.p[1] = number(w, 0.1, 0.9);
  CALL(w, CONTACT, CPContactSetLawFn(w->contacts.contact, chance(w, 0.7) ? laws : NULL, w));
}

/* One or two vectors of zeros except for the rate of the angle */
static N_Vector *slopes(World *w, N_Vector yS[2]) {
  for (int i = 0; i < 2; i++) {
    yS[i] = vector(w, SCENE_N);
    if (!yS[i] || N_VGetLength(yS[i]) != SCENE_N) return NULL;
    N_VConst(0.0, yS[i]);
    N_VGetArrayPointer(yS[i])[SCENE_N - 1] = i;
  }
  return chance(w, w->odd * 0.3) ? NULL : yS;
}

/* Multistep methods compute them from the next start on. */
static int with_sens(CPIntegrator mem, const char *method, void *data) {
  World *w = data;
  (void)method;
  return CPIntegratorSetSens(mem, w->contacts.sens);
}

static void sensitivities(World *w) {
  ContactWorld *k = of_contact(w);
  N_Vector yS[2], *yS0 = slopes(w, yS), found[2] = {vector(w, SCENE_N), vector(w, SCENE_N)};
  const sunrealtype pbar[2]     = {1.0, 1.0};
  const CPParameters parameters = {CP_SIZED(CPParameters),
                                   .n = chance(w, w->odd * 0.3) ? -below(w, 2) : 1 + below(w, 2),
                                   .values = k->p, .pbar = chance(w, 0.7) ? pbar : NULL, .y0S = yS0};
  if (!yS[0] || N_VGetLength(yS[0]) != SCENE_N) return;
  if (k->sens) {
    for (int i = 0; i < 2; i++)
      if (!found[i] || N_VGetLength(found[i]) != SCENE_N) return;
    if (CPIntegratorGetSens(CPSessionGetIntegrator(k->session), NULL) == k->sens)
      CALL(w, NOBODY, CPSensGetDky(k->sens, k->t, 0, found));
    if (chance(w, 0.7)) return;
    CALL(w, SESSION, CPSessionSetConfigFn(k->session, NULL, NULL));
    FREE(w, CPSensFree(&k->sens)); /* the run continues without them */
    return;
  }
  if (!CREATE(w, k->sens = CPSensCreate(&parameters, yS[0], w->ctx))) return;
  CALL(w, NOBODY, CPSensSetErrCon(k->sens, chance(w, 0.7)));
  CALL(w, SESSION, CPSessionSetConfigFn(k->session, with_sens, w));
  if (k->contact && parameters.n == 1) k->p[0] = fmin(k->p[0], 1.0);
}

static int distance(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data) {
  (void)t, (void)user_data;
  values[0] = N_VGetArrayPointer(y)[0];
  return 0;
}

static void gradient(World *w) {
  ContactWorld *k = of_contact(w);
  N_Vector yS[2], *yS0 = slopes(w, yS);
  const CPFunctional F      = {CP_SIZED(CPFunctional), .ng = 1, .end = distance,
                               .integrand = chance(w, 0.5) ? distance : NULL, .mxsteps = 2000};
  const sunrealtype pbar[2] = {1.0, 1.0}, step = number(w, 1e-3, 0.3);
  const CPParameters parameters   = {CP_SIZED(CPParameters), .n = below(w, 3), .values = k->p,
                                     .pbar = pbar, .y0S = yS0};
  const CPGradientOptions forward = {CP_SIZED(CPGradientOptions), .mode = CP_GRADIENT_FORWARD};
  sunrealtype G[1], dG[2];
  const CPGradientOptions *options = chance(w, 0.5) ? &forward : NULL;
  const int flag =
      CALL(w, SESSION,
           CPSessionGradient(k->session, k->t + fmin(step, 1.0), &F,
                             parameters.n > 0 ? &parameters : NULL, options, G, dG, NULL));
  if (flag == CP_SUCCESS && !k->started) complain(w, "success without a start", "%s", w->call);
  if (flag == CP_SUCCESS) k->started = 0;
}

const Action contact_actions[] = {{"create contacts", contact_create, 2},
                                  {"free contacts", contact_free, 1},
                                  {"contacts: session", contact_session, 2},
                                  {"contacts: start", contact_start, 4},
                                  {"contacts: handler", set_handler, 1},
                                  {"contacts: function of events", event_function, 2},
                                  {"contacts: most events", most_events, 1},
                                  {"contacts: time stepping", time_stepping, 1},
                                  {"contacts: mechanics", options_of_mechanics, 2},
                                  {"contacts: options of the integrator", options_of_integrator, 2},
                                  {"contacts: solve", contact_solve, 20},
                                  {"contacts: step", contact_step, 10},
                                  {"contacts: within a step", between, 1},
                                  {"contacts: evaluate", evaluate, 3},
                                  {"contacts: Painleve's criterion", painleve, 2},
                                  {"contacts: results", results, 2},
                                  {"contacts: laws", law_function, 1},
                                  {"contacts: sensitivities", sensitivities, 2},
                                  {"contacts: gradient", gradient, 1},
                                  {NULL, NULL, 0}};

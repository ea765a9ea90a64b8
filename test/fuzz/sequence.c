/* One sequence: a set-up as a program would make it, perhaps with something left out or inserted,
 * followed by random calls. */
#include "world.h"

#include <math.h>
#include <string.h>
#include <sundials/sundials_config.h>

/* ---- faults ---- */

static void disturb_something(World *w) {
  const Callback which = chance(w, 0.5) ? ON_ANY : (Callback)below(w, CALLBACKS);
  const Fault fault    = (Fault)below(w, FAULTS);
  const long n         = (long)random_magnitude(&w->random, 1.0, 300.0);
  const int lasting    = chance(w, 0.25);
  disturb_arm(which, fault, n, lasting);
  say(w, "*** from now on: %s returns %s at call %ld%s\n", callback_names[which],
      fault_names[fault], n, lasting ? " and later" : "");
}

static void repair(World *w) {
  disturb_repair();
  say(w, "*** repaired\n");
}

static void deny_allocation(World *w) { w->deny = (int)random_magnitude(&w->random, 1.0, 60.0); }

static void change_oddness(World *w) { w->odd = chance(w, 0.5) ? 0.0 : 0.15; }

static void act_on_any(World *w);

static const Action faults[] = {{"disturb", disturb_something, 3},
                                {"repair", repair, 2},
                                {"deny an allocation", deny_allocation, 1},
                                {"oddness", change_oddness, 1},
                                {NULL, NULL, 0}};

/* ---- actions at random ---- */

void act(World *w, const Action *table) {
  int total = 0;
  for (const Action *a = table; a->name; a++) total += a->weight;
  int pick = below(w, total);
  for (const Action *a = table; a->name; a++)
    if ((pick -= a->weight) < 0) {
      a->run(w);
      return;
    }
}

/* Objects that exist are used more often than others (which are NULL). */
static void act_on_any(World *w) {
  const struct {
    const Action *table;
    int there, weight;
  } tables[] = {{projector_actions, w->P != NULL, 4},
                {cpode_actions, w->mem != NULL, 12},
                {onestep_actions, w->one != NULL, 12},
                {mechanics_actions, w->mech != NULL, 5},
                {sensitivity_actions, w->mem && w->sensitivities, 4},
                {sensitivity_actions, w->mem != NULL, 1},
                {contact_actions, w->contacts.contact != NULL, 12},
                {faults, 1, 2}};
  for (;;) {
    const int k = below(w, (int)(sizeof tables / sizeof tables[0]));
    if (below(w, 12) >= tables[k].weight) continue;
    if (!tables[k].there && !chance(w, 0.02)) continue;
    act(w, tables[k].table);
    return;
  }
}

/* ---- set-ups ---- */

/* Makes a step of a set-up; with a small probability it is omitted, or something else comes first. */
static void step(World *w, void (*run)(World *)) {
  if (chance(w, 0.5 * w->odd)) return;
  if (chance(w, 0.15)) act_on_any(w);
  run(w);
}

static void set_up_projector(World *w) {
  if (chance(w, 0.75)) {
    step(w, projector_create);
    if (chance(w, 0.7)) step(w, projector_jacobian);
    if (chance(w, 0.6)) step(w, projector_linear_solver);
  } else step(w, projector_create_user);
}

static void set_up_sensitivities(World *w) {
  if (chance(w, 0.25)) step(w, sensitivity_set);
}

static void cpode_with_projector(World *w) {
  step(w, cpode_create);
  set_up_projector(w);
  step(w, cpode_init);
  step(w, cpode_tolerances);
  step(w, cpode_solver);
  step(w, cpode_projector);
  set_up_sensitivities(w);
}

static void cpode_alone(World *w) {
  step(w, cpode_create);
  step(w, cpode_init);
  step(w, cpode_tolerances);
  step(w, cpode_solver);
  set_up_sensitivities(w);
}

static void cpode_attached(World *w) {
  set_up_projector(w);
  step(w, cpode_attach);
  step(w, cpode_projector);
}

static void cpode_with_mechanics(World *w) {
  step(w, mechanics_create);
  step(w, cpode_create);
  if (chance(w, 0.3)) step(w, cpode_solver);
  step(w, mechanics_attach);
  step(w, cpode_tolerances);
  set_up_sensitivities(w);
}

static void onestep_with_projector(World *w) {
  set_up_projector(w);
  step(w, onestep_create);
  step(w, onestep_init);
  step(w, onestep_tolerances);
  step(w, onestep_projector);
}

static void onestep_alone(World *w) {
  step(w, onestep_create);
  step(w, onestep_init);
  step(w, onestep_tolerances);
}

static void onestep_with_mechanics(World *w) {
  step(w, mechanics_create);
  step(w, onestep_create);
  step(w, mechanics_attach);
  step(w, onestep_tolerances);
}

static void with_contacts(World *w) {
  step(w, contact_create);
  step(w, contact_session);
  step(w, contact_start);
  step(w, contact_solve);
}

static void nothing(World *w) { act_on_any(w); }

static const Action set_ups[] = {{"multistep method with a projector", cpode_with_projector, 6},
                                 {"multistep method alone", cpode_alone, 2},
                                 {"attached to CVODES", cpode_attached, 2},
                                 {"multistep method with mechanics", cpode_with_mechanics, 7},
                                 {"one-step method with a projector", onestep_with_projector, 4},
                                 {"one-step method alone", onestep_alone, 1},
                                 {"one-step method with mechanics", onestep_with_mechanics, 4},
                                 {"projector", set_up_projector, 2},
                                 {"mechanics", mechanics_create, 2},
                                 {"contacts", with_contacts, 6},
                                 {"nothing", nothing, 1},
                                 {NULL, NULL, 0}};

/* ---- the whole sequence ---- */

#if SUNDIALS_VERSION_MAJOR >= 7
static void ignore(int line, const char *function, const char *file, const char *msg,
                   SUNErrCode code, void *data, SUNContext ctx) {
  (void)line, (void)function, (void)file, (void)msg, (void)code, (void)data, (void)ctx;
}
#endif

static void open_world(World *w, uint64_t seed, FILE *out) {
  memset(w, 0, sizeof *w);
  w->seed           = seed;
  w->random.state   = seed;
  w->out            = out;
  w->odd            = chance(w, 0.6) ? 0.0 : chance(w, 0.7) ? 0.05 : 0.2;
  w->backward       = chance(w, 0.2);
  w->t              = w->backward ? 0.4 : chance(w, 0.7) ? 0.0 : 0.1;
  unsigned features = 0;
  for (int k = 0; k < 10; k++)
    if (chance(w, 0.25)) features |= 1u << k;
  mechanism_set_up(&w->m, features, (Form)below(w, FORMS), (CPFrame)below(w, 2));
  mechanism_use(&w->m);
#if SUNDIALS_VERSION_MAJOR >= 7
  SUNContext_Create(SUN_COMM_NULL, &w->ctx);
  SUNContext_ClearErrHandlers(w->ctx);
  SUNContext_PushErrHandler(w->ctx, ignore, NULL);
  SUNLogger logger; /* SUNLogger prints warnings of CVODES, whatever handlers there are */
  SUNContext_GetLogger(w->ctx, &logger);
  SUNLogger_SetWarningFilename(logger, "/dev/null");
#else
  SUNContext_Create(NULL, &w->ctx);
#endif
  w->start  = N_VNew_Serial(w->m.n, w->ctx);
  w->like_c = N_VNew_Serial(w->m.m, w->ctx);
  sunrealtype choice[4];
  for (int k = 0; k < 4; k++) choice[k] = random_between(&w->random, -1.0, 1.0);
  mechanism_start(&w->m, w->t, choice, N_VGetArrayPointer(w->start));
  N_VConst(0.0, w->like_c);
  for (int k = 0; k < 2; k++) w->promise[k] = (Promise){.eps = 0.1, .tstop = NAN};
  disturb_repair();
  disturb_forget();
  say(w, "=== seed %llu: features %x, form %d, %d states, %d constraints, odd %g, from t = %g%s\n",
      (unsigned long long)seed, w->m.features, w->m.form, w->m.n, w->m.m, w->odd, w->t,
      w->backward ? " backwards" : "");
}

static void close_world(World *w) {
  w->deny = 0;
  disturb_repair();
  contact_free(w);
  cpode_free(w);
  onestep_free(w);
  FREE(w, CPMechFree(&w->mech));
  FREE(w, CPProjectorFree(&w->P));
  for (int k = w->nothers; k-- > 0;) w->others[k].destroy(w->others[k].object);
  for (int k = 0; k < w->nvectors; k++) N_VDestroy(w->vectors[k]);
  N_VDestroy(w->start);
  N_VDestroy(w->like_c);
  SUNContext_Free(&w->ctx);
}

int sequence_run(uint64_t seed, FILE *out) {
  static World w;
  open_world(&w, seed, out);
  act(&w, set_ups);
  for (int n = 4 + below(&w, 24); n > 0; n--) act_on_any(&w);
  close_world(&w);
  return w.calls;
}

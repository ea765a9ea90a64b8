/* The parts of the check, in their order, and the earlier results that each of them needs. */
#include "model_check_impl.h"
#include "plugin.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -------------------------------------------------------------------------------- shared -- */

int model_contradicts(const ModelCheck *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(c->message, c->length, format, args);
  va_end(args);
  return 0;
}

int model_measured(const ModelCheck *c, sunrealtype error, sunrealtype most) {
  if (!(error <= *c->error)) *c->error = error; /* true also for the first error, after NaN */
  return error <= most;
}

long model_not_finite(N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  for (sunindextype i = 0; i < N_VGetLength(y); i++)
    if (!isfinite(s[i])) return (long)i;
  return -1;
}

sunrealtype model_largest(const sunrealtype *x, sunindextype length) {
  sunrealtype result = 0;
  for (sunindextype i = 0; i < length; i++) result = fmax(result, fabs(x[i]));
  return result;
}

/* --------------------------------------------------------------------------------------- parts -- */

/* Parts that have been found wrong, or could not be judged */
enum {
  NO_TABLE     = 1,
  NO_SIZES     = 2,
  NO_OBJECTS   = 4,
  NO_START     = 8,
  NO_MECHANISM = 16, /* accelerations are not reliable */
  NO_F         = 32,
  OFF_START    = 64, /* y0 is not consistent */
  NO_MOTION    = 128 /* and no other consistent state is known */
};
enum {
  NOTHING = NO_TABLE | NO_SIZES | NO_OBJECTS | NO_START, /* the check can be done without these */
  NO_RATE = NOTHING | NO_MECHANISM | NO_MOTION
};

typedef struct {
  const char *what, *name;
  int (*is_there)(const ModelCheck *c); /* if NULL, the part always exists */
  int (*is_true)(ModelCheck *c);
  unsigned needs, leaves; /* errors that must not exist before; error if this part is wrong */
  const char *absent;     /* message for a model of the catalogue without this part */
} Part;

typedef struct {
  ModelCheck check;
  const ModelListener *listener;
  unsigned lost;
  int wrong; /* number */
  sunrealtype error;
  char message[MODEL_MESSAGE];
} Examination;

static void begin(Examination *e, const char *what) {
  e->error      = NAN;
  e->message[0] = '\0';
  if (e->listener->begin) e->listener->begin(e->listener->data, what);
}

static void tell(Examination *e, const char *what, ModelVerdict verdict, const char *message) {
  const ModelFinding finding = {what, verdict, e->error, message};
  e->wrong += verdict == MODEL_WRONG || verdict == MODEL_DOUBTFUL;
  e->listener->find(e->listener->data, &finding);
}

static void tell_unjudged(Examination *e, const char *what, ModelVerdict verdict,
                          const char *message) {
  e->error = NAN;
  tell(e, what, verdict, message);
}

static const char after_others[] = "cannot be judged before that is right";

static void examine(Examination *e, const Part *part) {
  ModelCheck *c = &e->check;
  if (part->is_there && !part->is_there(c)) {
    tell_unjudged(e, part->name, MODEL_ABSENT, part->absent ? part->absent : "");
    return;
  }
  if (e->lost & part->needs) {
    e->lost |= part->leaves;
    tell_unjudged(e, part->what, MODEL_SKIPPED, after_others);
    return;
  }
  begin(e, part->what);
  const int right = part->is_true(c);
  if (!right) e->lost |= part->leaves;
  tell(e, part->what, right ? MODEL_RIGHT : MODEL_WRONG, e->message);
}

static int has_source(const ModelCheck *c) { return c->type->source && *c->type->source; }
static int has_events(const ModelCheck *c) { return c->model->nroots || c->model->nstops; }
static int has_drawing(const ModelCheck *c) { return c->type->points != NULL; }
static int has_constraints(const ModelCheck *c) {
  const CPEquations *m = &c->model->mech;
  return c->model->c || (m->nu > 0 && (m->np > 0 || m->nv > 0));
}
static int has_A(const ModelCheck *c) {
  return c->model->mech.A && c->mech && CPMechGetNumMultipliers(c->mech) > 0;
}
static int has_G(const ModelCheck *c) { return c->model->G && c->model->n <= MODEL_LONG_STATE; }
static int has_f(const ModelCheck *c) { return c->model->f != NULL; }
static int has_c(const ModelCheck *c) { return c->model->c != NULL; }
static int has_reference(const ModelCheck *c) { return c->model->known; }

static int is_there(ModelCheck *c) { return c != NULL; }

static const Part first[] = {
    {.what = "table of the model", .is_true = model_table_is_true, .leaves = NO_TABLE},
    {.what     = "source",
     .name     = "source",
     .is_there = has_source,
     .is_true  = is_there,
     .absent   = "there is no source"},
    {.what = "sizes", .is_true = model_sizes_agree, .needs = NO_TABLE, .leaves = NO_SIZES},
    {.what     = "events",
     .name     = "events",
     .is_there = has_events,
     .is_true  = model_events_are_true,
     .needs    = NO_TABLE},
    {.what    = "functions that must be there",
     .is_true = model_objects_are_created,
     .needs   = NO_TABLE | NO_SIZES,
     .leaves  = NO_OBJECTS},
    {.what = "start: finite", .is_true = model_start_is_finite, .needs = NO_SIZES, .leaves = NO_START},
    {.what     = "start: on the constraints",
     .name     = "constraints",
     .is_there = has_constraints,
     .is_true  = model_start_is_consistent,
     .needs    = NOTHING,
     .leaves   = OFF_START},
};

static const Part near_start = {.what    = "consistent states near it",
                                .is_true = model_states_are_found,
                                .needs   = NOTHING | NO_MECHANISM};

static const Part then[] = {
    {.what     = "A: no row is zero",
     .name     = "A",
     .is_there = has_A,
     .is_true  = model_rows_act,
     .needs    = NOTHING},
    {.what     = "G: derivative of c",
     .name     = "G",
     .is_there = has_G,
     .is_true  = model_jacobian_is_true,
     .needs    = NOTHING},
    {.what     = "f: the same motion",
     .name     = "f",
     .is_there = has_f,
     .is_true  = model_forms_agree,
     .needs    = NOTHING | NO_MECHANISM,
     .leaves   = NO_F},
    {.what     = "f: keeps c",
     .name     = "c",
     .is_there = has_c,
     .is_true  = model_f_keeps_constraints,
     .needs    = NOTHING | NO_MOTION | NO_F},
    {.what     = "reference",
     .name     = "reference",
     .is_there = has_reference,
     .is_true  = model_reference_is_true,
     .needs    = NOTHING | NO_MECHANISM},
    {.what     = "drawing",
     .name     = "drawing",
     .is_there = has_drawing,
     .is_true  = model_points_are_true,
     .needs    = NOTHING,
     .absent   = "there is no drawing"},
};

/* ----------------------------------------------------------------------------------- mechanism -- */

static void tell_row(Examination *e, const ModelMechRow *row, const char **message) {
  e->error = model_row_error(&e->check.report, row);
  if (!(e->error <= 1e-4)) { /* CPMechCheck's own limit */
    if (row->moves) e->lost |= NO_MECHANISM;
    tell(e, row->what, *message ? MODEL_WRONG : MODEL_DOUBTFUL,
         *message ? *message : "perhaps because of what is wrong above");
    *message = NULL;
  } else if (row->is_there(&e->check.model->mech)) {
    tell(e, row->what, MODEL_RIGHT, "");
  } else if (row->function) {
    tell_unjudged(e, row->function, MODEL_ABSENT, "");
  }
}

static void tell_rows(Examination *e) {
  const char *message = e->message[0] ? e->message : NULL;
  for (int i = 0; i < MODEL_MECH_ROWS; i++) tell_row(e, &model_mech_rows[i], &message);
}

static const char functions[] = "functions of the CPMech";

/* At the start and then at states near it, which the CPMech finds */
static void compare_functions(Examination *e) {
  ModelCheck *c = &e->check;
  int compared  = 1;
  for (int k = 0; k < c->nstates; k++) {
    begin(e, functions);
    if (!model_mechanism_is_true(c, k, &compared)) {
      if (!compared) {
        e->lost |= NO_MECHANISM;
        tell_unjudged(e, functions, MODEL_WRONG, e->message);
        return;
      }
      break;
    }
    if (k == 0) examine(e, &near_start);
  }
  tell_rows(e);
}

static void examine_mechanism(Examination *e) {
  const CPPlugin *model = e->check.model;
  if (model->mech.nu > 0 && model->n > MODEL_LONG_STATE)
    tell_unjudged(e, functions, MODEL_SKIPPED, "more than 1000 components: it would take long");
  if (model->mech.nu > 0 && model->n <= MODEL_LONG_STATE && !(e->lost & NOTHING))
    compare_functions(e);
  else examine(e, &near_start);
}

/* ---------------------------------------------------------------------------------- quantities -- */

static void examine_quantity(Examination *e, int i) {
  const CPPluginQuantity *q = &e->check.type->quantities[i];
  char what[80];
  if (q->conserved == CP_QUANTITY_FREE) {
    snprintf(what, sizeof what, "%s: a number", q->name);
    begin(e, what);
    const int finite = model_quantity_is_finite(&e->check, i);
    tell(e, what, finite ? MODEL_RIGHT : MODEL_WRONG, e->message);
    return;
  }
  snprintf(what, sizeof what, "%s: %s", q->name,
           plugin_conserves(e->check.model, i) ? "conserved" : "never rises");
  if (e->lost & (NO_RATE | NO_F)) {
    tell_unjudged(e, what, MODEL_SKIPPED, after_others);
    return;
  }
  begin(e, what);
  const int right = model_quantity_keeps(&e->check, i);
  tell(e, what, right ? MODEL_RIGHT : MODEL_WRONG, e->message);
  /* A quantity with another name or unit may be the energy of a part, or that of a unit mass. */
  if (!strcmp(q->name, "energy") && !strcmp(q->unit, "J") && e->check.mech &&
      CPModelGetEquations(CPMechGetModel(e->check.mech))->nmotions == 0) {
    static const char kinetic[] = "energy: its kinetic part";
    begin(e, kinetic);
    const int agrees = model_kinetic_part_is_true(&e->check, i);
    tell(e, kinetic, agrees ? MODEL_RIGHT : MODEL_WRONG, e->message);
  }
  if (!right || e->check.type->nparameters == 0) return;
  snprintf(what, sizeof what, "%s: with other parameters", q->name);
  begin(e, what);
  const int always = model_quantity_keeps_otherwise(&e->check, i);
  tell(e, what, always ? MODEL_RIGHT : MODEL_WRONG, e->message);
}

/* ------------------------------------------------------------------------------------ together -- */

enum { NUM_FIRST = sizeof first / sizeof first[0], NUM_THEN = sizeof then / sizeof then[0] };

int model_check_all(const CPPlugin *model, const ModelListener *listener) {
  Examination e   = {.listener = listener};
  e.check         = (ModelCheck){.model = model, .type = model->type, .error = &e.error};
  e.check.message = e.message;
  e.check.length  = sizeof e.message;
  for (int i = 0; i < NUM_FIRST; i++) examine(&e, &first[i]);
  examine_mechanism(&e);
  e.check.first = e.lost & OFF_START ? 1 : 0;
  if (e.check.first == e.check.nstates) e.lost |= NO_MOTION;
  for (int i = 0; i < NUM_THEN; i++) examine(&e, &then[i]);
  for (int i = 0; i < model->type->nquantities && !(e.lost & NO_TABLE); i++)
    examine_quantity(&e, i);
  model_objects_free(&e.check);
  return e.wrong;
}

typedef struct {
  const CPPluginType *type;
  char *message;
  size_t length;
  int wrong;
} First;

static void keep_first(void *data, const ModelFinding *finding) {
  First *f = data;
  if (f->wrong || finding->verdict == MODEL_RIGHT || finding->verdict == MODEL_SKIPPED) return;
  if (finding->verdict == MODEL_ABSENT && !finding->message[0]) return;
  snprintf(f->message, f->length, "%s: %s", f->type->name ? f->type->name : "?", finding->message);
  f->wrong = 1;
}

int model_check(const CPPlugin *model, char *message, size_t length) {
  First first_wrong            = {model->type, message, length, 0};
  const ModelListener listener = {.find = keep_first, .data = &first_wrong};
  if (length > 0) message[0] = '\0';
  model_check_all(model, &listener);
  return first_wrong.wrong;
}

#include "method.h"

#include "../options.h"
#include "../redirect.h"

#include <arkode/arkode_butcher_erk.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const Method methods[] = {
    {.name  = "auto",
     .title = "chosen for the model: by its stiffness, at the start and on the way, unless it "
              "names one"},
    {.name = "bdf", .title = "BDF, orders 1 to 5, Newton iteration", .table = "BDF"},
    {.name = "bdf2",
     .title =
         "BDF up to order 2, errors of velocities times the step: for fast oscillations that need "
         "not be followed",
     .table     = "BDF",
     .max_order = 2,
     .tau       = CP_TAU_STEP},
    {.name = "adams", .title = "Adams, orders 1 to 12, fixed-point iteration", .table = "ADAMS"},
    {.name   = "adams-newton",
     .title  = "Adams, orders 1 to 12, Newton iteration",
     .table  = "ADAMS",
     .newton = CP_NEWTON_KKT},
    {.name = "dop853", .title = "Dormand and Prince, order 8", .table = "DOP853"},
    {.name = "bs54", .title = "Bogacki and Shampine, order 5: for loose tolerances", .table = "BS54"},
    {.name = "bs32", .title = "Bogacki and Shampine, order 3: for short segments", .table = "BS32"},
    {.name = "dopri5", .title = "Dormand and Prince, order 5", .table = "ARKODE_DORMAND_PRINCE_7_4_5"},
    {.name = "radau", .title = "Radau IIA, order 5 or 9 by cost: for stiff models", .table = "RADAU"},
    {.name = "radau5", .title = "Radau IIA, order 5", .table = "RADAU5"},
    {.name = "radau9", .title = "Radau IIA, order 9", .table = "RADAU9"},
    {.name = "radau13", .title = "Radau IIA, order 13: for tight tolerances", .table = "RADAU13"},
};
enum { NUM_METHODS = sizeof methods / sizeof methods[0] };

const Method *method_at(int i) { return i >= 0 && i < NUM_METHODS ? &methods[i] : NULL; }

/* ------------------------------------------------------------------------- ARKODE's tables -- */

static MethodFound find_table(const char *name, Method *method) {
  if (strncmp(name, "ARKODE_", 7) || strlen(name) >= METHOD_NAME) return METHOD_UNKNOWN;
  /* SUNDIALS' messages about unknown names are not for the user. */
  const int nowhere = open("/dev/null", O_WRONLY), saved = stderr_redirect(nowhere);
  ARKodeButcherTable table = ARKodeButcherTable_LoadERKByName(name);
  stderr_restore(saved);
  if (nowhere >= 0) close(nowhere);
  if (!table) return METHOD_UNKNOWN;
  const int embedded = table->d != NULL; /* without one, no error estimate controls the step size */
  ARKodeButcherTable_Free(table);
  if (!embedded) return METHOD_FIXED_STEP;
  *method = (Method){.title = "an explicit Butcher table of ARKODE"};
  snprintf(method->name, METHOD_NAME, "%s", name);
  snprintf(method->table, METHOD_NAME, "%s", name);
  return METHOD_FOUND;
}

/* -------------------------------------------------------------------------------------- by name -- */

MethodFound method_find(const char *name, Method *method) {
  for (int i = 0; i < NUM_METHODS; i++) {
    if (strcasecmp(name, methods[i].name)) continue;
    *method = methods[i];
    return METHOD_FOUND;
  }
  return find_table(name, method);
}

bool method_is_radau(const Method *method) { return strncmp(method->table, "RADAU", 5) == 0; }

bool method_is_multistep(const Method *method) {
  return !strcmp(method->table, "BDF") || !strcmp(method->table, "ADAMS");
}

bool method_is_explicit(const Method *method) {
  return !method_is_multistep(method) && !method_is_radau(method);
}

static void complain_of_unknown(const char *option, const char *name) {
  const char *names[NUM_METHODS];
  char suggestion[SUGGESTION];
  for (int i = 0; i < NUM_METHODS; i++) names[i] = methods[i].name;
  complain("%s: there is no method \"%s\"; %s (Explicit tables of ARKODE begin with ARKODE_)",
           option, name,
           suggest(name, names, NUM_METHODS, "`cpodes list --methods` names them.", suggestion));
}

int parse_method(const char *option, const char *name, Method *method) {
  const MethodFound found = method_find(name, method);
  if (found == METHOD_UNKNOWN) complain_of_unknown(option, name);
  if (found == METHOD_FIXED_STEP)
    complain("%s wants a method that chooses its steps, and %s has no embedded method for error "
             "estimates",
             option, name);
  return found == METHOD_FOUND ? 0 : -1;
}

bool method_is_chosen(const Method *method, const CPPlugin *model) {
  const char *name = model->type->method;
  return !strcmp(method->name, "auto") && (!name || !strcmp(name, "auto"));
}

/* Neighbouring numbers at t are DBL_EPSILON t apart. In that time a motion of the rate R passes R DBL_EPSILON t radians, or as many of
 * its times of decay: above 1 no number t tells its phase, and steps that follow it do not advance t. A scale of the mechanism, such
 * as a length, then lies beyond the arithmetic. Rates of positions by their own size count in radians or units of length where that
 * size is less. */
static void tell_rate(const CPMechSuggestion *found, const CPPlugin *model, double t_end,
                      char *unresolved) {
  const sunrealtype *q = N_VGetArrayPointer(model->y0);
  double size          = 0;
  for (int i = 0; i < (model->mech.nq > 0 ? model->mech.nq : model->mech.nu); i++)
    size = fmax(size, fabs(q[i]));
  const double rate   = fmax(found->radius, found->motion * (size > 0 ? fmin(size, 1) : 1)),
               passed = rate * DBL_EPSILON * fabs(t_end);
  if (!(passed > 1)) return;
  snprintf(unresolved, METHOD_REASON,
           "the motion at the start, at rates of %.2g/s, goes on by %.2g rad within the "
           "roundoff of t = %g s: no steps resolve it. A length, mass, stiffness or speed may be "
           "wrong by powers of ten",
           rate, passed, t_end);
}

int method_resolve(Method *method, const CPPlugin *model, double t_end, double rtol, char *reason,
                   char *unresolved) {
  const char *name         = model->type->method;
  CPMechSuggestion suggest = {CP_SIZED(CPMechSuggestion), .method = model->stiff ? "bdf" : "dop853",
                              .stiff = model->stiff};
  CPMech mech              = model->mech.nu > 0 ? CPPluginMech(model) : NULL;
  unresolved[0]            = '\0';
  /* If this fails, so will the run, which then reports the reason. */
  if (mech && !CPMechSuggestMethod(mech, 0, model->y0, t_end, rtol, &suggest))
    tell_rate(&suggest, model, t_end, unresolved);
  CPMechFree(&mech);
  snprintf(reason, METHOD_REASON, "%s", suggest.reason);
  if (strcmp(method->name, "auto")) return suggest.stiff;
  if (method_is_chosen(method, model)) method_find(suggest.method, method);
  else {
    snprintf(reason, METHOD_REASON, "the model's own choice");
    method_find(name, method);
  }
  return suggest.stiff;
}

#include "method.h"

#include "../options.h"

#include <arkode/arkode_butcher_dirk.h>
#include <arkode/arkode_butcher_erk.h>
#include <models/names.h>
#include <stdio.h>
#include <string.h>

static const Method methods[] = {
    {.name = "auto", .title = "BDF where the model is stiff, else DOP853"},
    {.name = "bdf", .title = "BDF, orders 1 to 5, Newton iteration", .lmm = CV_BDF},
    {.name = "bdf2",
     .title =
         "BDF up to order 2, errors of velocities times the step: for fast oscillations that need "
         "not be followed",
     .lmm       = CV_BDF,
     .max_order = 2,
     .tau       = CP_TAU_STEP},
    {.name = "adams", .title = "Adams, orders 1 to 12, fixed-point iteration", .lmm = CV_ADAMS},
    {.name   = "adams-newton",
     .title  = "Adams, orders 1 to 12, Newton iteration",
     .lmm    = CV_ADAMS,
     .newton = CP_NEWTON_KKT},
    {.name = "dop853", .title = "Dormand and Prince, order 8", .table = "DOP853"},
    {.name = "dopri5", .title = "Dormand and Prince, order 5", .table = "ARKODE_DORMAND_PRINCE_7_4_5"},
    {.name  = "esdirk4",
     .title = "Kennedy and Carpenter, order 4, implicit: for stiff models",
     .table = "ARKODE_ESDIRK437L2SA_7_3_4"},
};
enum { NUM_METHODS = sizeof methods / sizeof methods[0] };

const Method *method_at(int i) { return i >= 0 && i < NUM_METHODS ? &methods[i] : NULL; }

static int is_prefix(const char *text, const char *prefix) {
  return !strncmp(text, prefix, strlen(prefix));
}

int parse_method(const char *option, const char *name, Method *method) {
  const char *names[NUM_METHODS];
  for (int i = 0; i < NUM_METHODS; i++) {
    names[i] = methods[i].name;
    if (strcmp(name, names[i])) continue;
    *method = methods[i];
    return 0;
  }
  if (is_prefix(name, "ARKODE_") && strlen(name) < METHOD_NAME) {
    *method = (Method){.title = "a Butcher table of ARKODE's"};
    snprintf(method->name, METHOD_NAME, "%s", name);
    snprintf(method->table, METHOD_NAME, "%s", name);
    ARKodeButcherTable table = ARKodeButcherTable_LoadERKByName(name);
    if (!table) table = ARKodeButcherTable_LoadDIRKByName(name);
    if (table) {
      ARKodeButcherTable_Free(table);
      return 0;
    }
    complain("%s: ARKODE has no table \"%s\"", option, name);
    return -1;
  }
  complain("%s: there is no \"%s\"; did you mean \"%s\"?", option, name,
           nearest_name(name, names, NUM_METHODS));
  return -1;
}

void method_resolve(Method *method, int stiff) {
  if (strcmp(method->name, "auto")) return;
  for (int i = 0; i < NUM_METHODS; i++)
    if (!strcmp(methods[i].name, stiff ? "bdf" : "dop853")) *method = methods[i];
}

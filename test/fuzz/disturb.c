#include "disturb.h"

#include <math.h>

const char *const callback_names[CALLBACKS + 1] = {"f",
                                                   "c",
                                                   "G",
                                                   "G v",
                                                   "G^T w",
                                                   "diag(G D G^T)",
                                                   "psetup",
                                                   "psolve",
                                                   "D x",
                                                   "metric",
                                                   "projection",
                                                   "error projection",
                                                   "violation",
                                                   "weights",
                                                   "roots",
                                                   "quadrature",
                                                   "M",
                                                   "A",
                                                   "forces",
                                                   "friction",
                                                   "p",
                                                   "v",
                                                   "b",
                                                   "N",
                                                   "zdot",
                                                   "udot",
                                                   "inverse",
                                                   "product",
                                                   "partials",
                                                   "motion",
                                                   "dc/dp",
                                                   "fS1",
                                                   "param_jac",
                                                   "functional",
                                                   "its gradient",
                                                   "start",
                                                   "any"};
const char *const fault_names[FAULTS]           = {"+1", "-1", "NaN", "Inf"};

static struct {
  int armed, lasting;
  Callback which, first;
  Fault fault;
  long at, struck, count, limit;
  int touched[CALLBACKS];
  void (*too_many)(void);
} state;

void disturb_arm(Callback which, Fault fault, long n, int lasting) {
  state.armed   = 1;
  state.which   = which;
  state.fault   = fault;
  state.at      = n;
  state.lasting = lasting;
  state.struck  = 0;
}

void disturb_repair(void) { state.armed = 0; }

long disturb_struck(Callback *which) {
  if (which) *which = state.first;
  return state.struck;
}

int disturb_touched(Callback which) { return state.touched[which]; }

void disturb_forget(void) {
  for (int k = 0; k < CALLBACKS; k++) state.touched[k] = 0;
}

void disturb_restart_count(long limit, void (*too_many)(void)) {
  state.count    = 0;
  state.limit    = limit;
  state.too_many = too_many;
}

long disturb_count(void) { return state.count; }

int disturb(Callback which, sunrealtype *out, long n) {
  if (++state.count > state.limit && state.limit > 0) state.too_many();
  if (!state.armed || (state.which != ON_ANY && state.which != which)) return 0;
  if (--state.at > 0) return 0;
  if (state.at < 0 && !state.lasting) return 0;
  if (state.struck++ == 0) state.first = which;
  state.touched[which] = 1;
  if (state.fault == FAULT_RECOVERABLE) return 1;
  if (state.fault == FAULT_FATAL) return -1;
  if (out && n > 0) out[-state.at % n] = state.fault == FAULT_NAN ? NAN : INFINITY;
  return 0;
}

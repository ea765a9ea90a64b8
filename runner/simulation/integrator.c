#include "integrator.h"

#include "../options.h"

void result_add_counts(RunResult *a, const RunResult *b) {
  a->steps += b->steps;
  a->rejected_error += b->rejected_error;
  a->rejected_projection += b->rejected_projection;
  a->rejected_rhs += b->rejected_rhs;
  a->rejected_solve += b->rejected_solve;
  a->rhs += b->rhs;
  a->jacobians += b->jacobians;
  a->factorisations += b->factorisations;
  a->projections += b->projections;
}

void result_count_mech(CPMech mech, RunResult *r) {
  CPMechStats stats;
  if (CPMechGetStats(mech, &stats)) return;
  r->rhs = stats.nf > stats.nudot ? stats.nf : stats.nudot;
  if (stats.npartials > 0) r->jacobians = stats.npartials;
  if (stats.nnewton > 0) r->factorisations = stats.nnewton;
}

void integrator_message(int code, const char *function, const char *text, void *data) {
  enum { MOST_WARNINGS = 5 };
  Problem *p = data;
  (void)function;
  if (code != CV_WARNING) return;
  if (++p->warnings <= MOST_WARNINGS) complain("warning: %s", text);
  else if (p->warnings == MOST_WARNINGS + 1)
    complain("warning: there are more, which are not shown");
}

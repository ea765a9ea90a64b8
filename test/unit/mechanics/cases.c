#include "mechanics/cases.h"

#include <math.h>

const CPMechMetric metrics[METRICS]     = {CP_METRIC_DEFAULT, CP_METRIC_ERROR, CP_METRIC_KINETIC,
                                           CP_METRIC_NEWTON, CP_METRIC_L2};
static const char *const metric_names[] = {"DEFAULT", "ERROR", "KINETIC", "NEWTON", "L2"};

static const CPLinSol solvers[SOLVERS]         = {CP_LINSOL_AUTO, CP_LINSOL_QR, CP_LINSOL_SPARSE,
                                                  CP_LINSOL_SCHUR};
static const char *const solver_names[SOLVERS] = {"AUTO", "QR", "SPARSE", "SCHUR"};
enum { WITH_RANK = 3 }; /* the first three accept dependent rows */

static int solver_count(const System *s) {
  return !s->model.M ? 1 : s->redundant ? WITH_RANK : SOLVERS;
}

static int metric_applies(const System *s, int metric) {
  return s->model.M || metrics[metric] != CP_METRIC_NEWTON;
}

int case_next(Case *c, int system, int nsolvers) {
  for (c->s = system_create((SystemName)system); c->index < METRICS * nsolvers;) {
    const int metric = c->index / nsolvers, solver = c->index % nsolvers;
    c->index++;
    if (!metric_applies(c->s, metric) || solver >= solver_count(c->s)) continue;
    c->P      = CPMechGetProjector(c->s->mech);
    c->metric = metrics[metric];
    snprintf(c->name, sizeof c->name, "%s, %s, %s", c->s->name, metric_names[metric],
             solver_names[solver]);
    ck_assert_int_eq(CPMechSetMetric(c->s->mech, c->metric), CP_SUCCESS);
    ck_assert_int_eq(CPProjectorSetLinearSolver(c->P, solvers[solver]), CP_SUCCESS);
    return 1;
  }
  system_free(&c->s);
  return 0;
}

int case_is_shared(const Case *c) {
  const CPMechMetric metric = c->metric == CP_METRIC_DEFAULT ? c->s->normal : c->metric;
  return metric != CP_METRIC_ERROR && c->s->np == c->s->nv && c->s->model.M;
}

N_Vector case_disturbed(const System *s, double size) {
  unsigned long long state = 99;
  N_Vector y               = vector_copy(s->y);
  double w[MAX_U];
  for (int j = 0; j < s->nu; j++) w[j] = size * random_number(&state);
  system_displace(s, entries(s->y), w, entries(y));
  for (int j = 0; j < s->nu; j++) entries(y)[s->nq + j] += size * random_number(&state);
  for (int k = 0; k < s->nquaternions; k++) {
    const double longer = 1 + size * random_number(&state);
    for (int i = 0; i < 4; i++) entries(y)[s->first_q[k] + i] *= longer;
  }
  return y;
}

void case_project(const Case *c, N_Vector y) {
  const int flag = CPProjectorProject(c->P, c->s->t, y, c->s->ewt);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", c->name, flag,
                CPObjectGetLastMessage(CP_OBJECT(c->P)));
}

void case_no_larger(const Case *c, const char *what, int i, double value, double bound) {
  ck_assert_msg(fabs(value) <= bound, "%s: %s %d is %.3e, bound %.3e", c->name, what, i, value,
                bound);
}

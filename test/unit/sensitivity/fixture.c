#include "sensitivity/fixture.h"

#include "cpodes/sensitivity/sens_impl.h"

#include <math.h>
#include <models/counters.h>
#include <stddef.h>
#include <string.h>

static SensRun *of(void *user_data) {
  return (SensRun *)((char *)user_data - offsetof(SensRun, run) - offsetof(Run, world));
}

static int struck(SensRun *r, Fault *fault, sunrealtype t, int iS, N_Vector v) {
  if (iS != r->faulty_iS || !fault_strikes(fault, t)) return 0;
  if (fault->value != 0.0) entries(v)[0] = fault->value;
  return fault->flag;
}

int sens_rhs(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector s, N_Vector sdot,
             void *user_data, N_Vector tmp1, N_Vector tmp2) {
  SensRun *r = of(user_data);
  (void)Ns, (void)ydot;
  r->fS_calls++;
  const int flag = cpSensDirection(&r->run.mem->system, &r->sens->params, world_rhs, t, y,
                                   (CPAlong){.iS = iS}, s, sdot, tmp1, tmp2, NULL, user_data);
  return flag ? flag : struck(r, &r->fS, t, iS, sdot);
}

int sens_rows(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data) {
  SensRun *r = of(user_data);
  (void)y;
  r->cS_calls++;
  if (iS == BY_L) entries(cp)[0] = -2.0 * r->run.world.p.L;
  return struck(r, &r->cS, t, iS, cp);
}

void sens_open_states(SensRun *r, Method method, sunrealtype tol) {
  memset(r, 0, sizeof *r);
  run_open(&r->run, method, tol);
  r->s = N_VCloneVectorArray(NS, r->run.y);
  for (int i = 0; i < NS; i++) N_VConst(0.0, r->s[i]);
  entries(r->s[BY_L])[0] = 1.0; /* the start is (L, 0) */
}

CPParameters sens_parameters(SensRun *r) {
  return (CPParameters){CP_SIZED(CPParameters), .n = NS, .values = &r->run.world.p.L, .y0S = r->s};
}

void sens_start_with(SensRun *r, int error_control, CPConstraintSensFn cS) {
  const CPParameters parameters = sens_parameters(r);
  ck_assert_ptr_nonnull(r->sens = CPSensCreate(&parameters, r->run.y, test_context));
  ck_assert_int_eq(CPSensSetRhsFn(r->sens, sens_rhs, cS), CP_SUCCESS);
  ck_assert_int_eq(CPSensSetErrCon(r->sens, error_control), CP_SUCCESS);
  ck_assert_success(&r->run, CPIntegratorSetSens(r->run.mem, r->sens));
}

void sens_start(SensRun *r, int error_control) { sens_start_with(r, error_control, NULL); }

void sens_open(SensRun *r, Method method, sunrealtype tol) {
  sens_open_states(r, method, tol);
  sens_start(r, 1);
}

void sens_open_rows(SensRun *r, Method method, sunrealtype tol) {
  sens_open_states(r, method, tol);
  sens_start_with(r, 1, sens_rows);
}

void sens_close(SensRun *r) {
  run_close(&r->run);
  CPSensFree(&r->sens);
  N_VDestroyVectorArray(r->s, NS);
}

int sens_step(SensRun *r) {
  const int flag = run_step(&r->run);
  return flag < 0 ? flag : sens_get(r);
}

int sens_get(SensRun *r) { return CPSensGetDky(r->sens, r->run.t, 0, r->s); }

void sens_until(SensRun *r, sunrealtype tend) {
  while (r->run.t < tend) ck_assert_success(&r->run, sens_step(r));
}

sunrealtype sens_residual(const SensRun *r, N_Vector yv, N_Vector *sv) {
  const sunrealtype *y = entries(yv);
  sunrealtype worst    = 0.0;
  for (int i = 0; i < NS; i++) {
    const sunrealtype *s       = entries(sv[i]);
    const sunrealtype cp       = i == BY_L ? -2.0 * r->run.world.p.L : 0.0;
    const sunrealtype position = 2.0 * (y[0] * s[0] + y[1] * s[1]) + cp;
    const sunrealtype velocity = y[2] * s[0] + y[3] * s[1] + y[0] * s[2] + y[1] * s[3];
    worst = fmax(worst, fmax(fabs(position), fabs(velocity)) / (1.0 + N_VMaxNorm(sv[i])));
  }
  return worst;
}

sunrealtype residual_of(const SensRun *r) { return sens_residual(r, r->run.y, r->s); }

void sens_exact(const Pendulum *pendulum, sunrealtype t, N_Vector *s) {
  const sunrealtype part = 1.0e-3;
  for (int i = 0; i < NS; i++) {
    N_VConst(0.0, s[i]);
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      Pendulum p          = *pendulum;
      sunrealtype *moved  = i == BY_L ? &p.L : &p.g;
      const sunrealtype e = part * *moved;
      sunrealtype y[4];
      *moved += k * e;
      pendulum_exact(&p, t, y);
      for (int j = 0; j < 4; j++) entries(s[i])[j] += sixth_order(k) / e * y[j];
    }
  }
}

sunrealtype sens_error(const SensRun *r) {
  N_Vector *exact   = N_VCloneVectorArray(NS, r->run.y);
  sunrealtype worst = 0.0;
  sens_exact(&r->run.world.p, r->run.t, exact);
  for (int i = 0; i < NS; i++)
    worst = fmax(worst, max_distance(r->s[i], exact[i]) / N_VMaxNorm(exact[i]));
  N_VDestroyVectorArray(exact, NS);
  return worst;
}

SensCounters sens_stats(const SensRun *r) {
  SensCounters stats;
  ck_assert_int_eq(sens_counters(r->run.mem, &stats), CP_SUCCESS);
  return stats;
}

/* Example: derivatives of a motion with impacts: where is a bouncing ball after its second impact, and on what does that depend?
 *
 *   m y'' = -m g + N,   0 <= y  perpendicular to  N >= 0,   impacts: y' -> -e y'       from rest at h = 1 m
 *
 *   m = 0.5 kg,   parameters e = 0.8, g = 9.81 m/s^2 and h, on which the start depends
 *
 * Closed form, between the second and the third impact: with the speed v = sqrt(2 g h) of the first one and the time s = T - (1 + 2
 * e) v/g since the second one the height is Y = e^2 v s - g s^2/2.
 *
 * The derivatives are computed twice: by sensitivities that run with the motion, of all states with respect to each parameter,
 * and by one adjoint problem, of Y with respect to all parameters and to the start. Both pass the impacts, whose times depend on
 * the parameters, too.
 *
 * Run:       bounce_gradient
 * Expected:  Y with its derivatives by both ways and by the closed form, and "ok". The exit code is 1 if one
 *            of them is wrong by 1e-6, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_contact.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { BY_E, BY_G, BY_H, PARAMETERS };
static const sunrealtype m = 0.5, T = 1.4, tol = 1e-10;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = m;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  f[0] = -m * ((const sunrealtype *)user_data)[BY_G];
  return 0;
}

static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[0];
  return 0;
}

static int gap_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = 1;
  return 0;
}

static int no_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

/* The law of the floor, with the present parameters */
static int law(int i, CPContactLaw *floor, void *user_data) {
  (void)i;
  floor->restitution = ((const sunrealtype *)user_data)[BY_E];
  return 0;
}

static int height(sunrealtype t, N_Vector y, sunrealtype *value, void *user_data) {
  (void)t, (void)user_data;
  value[0] = N_VGetArrayPointer(y)[0];
  return 0;
}

/* Sensitivities belong to an integrator, which the session creates. */
static int configure(CPIntegrator mem, const char *method, void *sens) {
  (void)method;
  return CPIntegratorSetSens(mem, sens);
}

/* Y, its derivatives with respect to e, g and h */
static void closed_form(const sunrealtype *p, sunrealtype *Y) {
  const sunrealtype e = p[BY_E], g = p[BY_G], h = p[BY_H], v = sqrt(2 * g * h),
                    s = T - (1 + 2 * e) * v / g, rate = e * e * v - g * s; /* Y' */
  Y[0] = e * e * v * s - g * s * s / 2;
  Y[1] = 2 * e * v * s - rate * 2 * v / g;
  Y[2] = e * e * v / (2 * g) * s - s * s / 2 + rate * (1 + 2 * e) * v / (2 * g * g);
  Y[3] = e * e * g / v * s - rate * (1 + 2 * e) / v;
}

int main(void) {
  const CPEquations model    = {CP_SIZED(CPEquations), .nu = 1,     .np = 1,  .M = mass,
                                .A = gap_matrix,       .f = weight, .p = gap, .b = no_b};
  const CPContactPoint floor = {CP_SIZED(CPContactPoint), .name = "floor", .normal = 0,
                                .law.restitution = 0.8};
  const CPFunctional F       = {CP_SIZED(CPFunctional), .ng = 1, .end = height};
  sunrealtype p[PARAMETERS] = {0.8, 9.81, 1}, t, exact[4], forward[4], adjoint[4], worst = 0;
  CPSens sens;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(2, ctx);
  CHECK_NEW(y);
  N_Vector *s = N_VCloneVectorArray(PARAMETERS, y), gradient = N_VClone(y);
  CHECK_NEW(s);
  CHECK_NEW(gradient);

  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);
  CHECK(CPMechSetUserData(mech, p));
  CPContact contact = CPContactCreate(mech, 1, &floor);
  CPSession session = CPSessionCreate("DOP853", ctx);
  CHECK_NEW(contact);
  CHECK_NEW(session);
  CHECK(CPContactSetLawFn(contact, law, p));
  CHECK(CPContactAttach(contact, session));
  CHECK(CPSessionSetTolerances(session, tol, tol, NULL));

  /* Forward: three sensitivities. The start is (h, 0). */
  for (int i = 0; i < PARAMETERS; i++) N_VConst(0, s[i]);
  N_VGetArrayPointer(s[BY_H])[0] = 1;
  const CPParameters all         = {CP_SIZED(CPParameters), .n = PARAMETERS, .values = p, .y0S = s};
  CHECK_NEW(sens = CPSensCreate(&all, y, ctx));
  CHECK(CPSensSetErrCon(sens, SUNTRUE));
  CHECK(CPSessionSetConfigFn(session, configure, sens));
  N_VGetArrayPointer(y)[0] = p[BY_H];
  N_VGetArrayPointer(y)[1] = 0;
  CHECK(CPSessionStart(session, 0, y, T));
  CHECK(CPSessionRun(session, T, y, &t));
  CHECK(CPSensGetDky(CPIntegratorGetSens(CPSessionGetIntegrator(session), NULL), t, 0, s));
  forward[0] = N_VGetArrayPointer(y)[0];
  for (int i = 0; i < PARAMETERS; i++) forward[1 + i] = N_VGetArrayPointer(s[i])[0];

  /* Adjoint: e and g are parameters, and h is the height in the state at the start. */
  const CPParameters two = {CP_SIZED(CPParameters), .n = 2, .values = p};
  CHECK(CPSessionSetConfigFn(session, NULL, NULL));
  N_VGetArrayPointer(y)[0] = p[BY_H];
  N_VGetArrayPointer(y)[1] = 0;
  CHECK(CPSessionStart(session, 0, y, T));
  CHECK(CPSessionGradient(session, T, &F, &two, NULL, adjoint, adjoint + 1, &gradient));
  adjoint[3] = N_VGetArrayPointer(gradient)[0];

  static const char *const name[] = {"Y", "dY/de", "dY/dg", "dY/dh"};
  closed_form(p, exact);
  printf("        forward    adjoint    closed form\n");
  for (int i = 0; i < 4; i++) {
    printf("%-5s %9.6f  %9.6f  %9.6f\n", name[i], forward[i], adjoint[i], exact[i]);
    worst = fmax(worst, fmax(fabs(forward[i] - exact[i]), fabs(adjoint[i] - exact[i])));
  }
  const int ok = worst <= 1e-6; /* adjoint states have the tolerance 1e-8 */
  printf("%s\n", ok ? "ok" : "WRONG: not the derivatives of the closed form");

  CPSessionFree(&session);
  CPContactFree(&contact);
  CPSensFree(&sens);
  CPMechFree(&mech);
  N_VDestroyVectorArray(s, PARAMETERS);
  N_VDestroy(gradient);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}

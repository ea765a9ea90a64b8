/* The unit of length has no meaning: mechanisms whose lengths are all multiplied by L, in units of 1/L (micrometres,
 * kilometres), are assembled and move alike. L is a power of two, so that roundoff is the same, and tolerances are
 * those of the unit. Masses and times do not change: gravity has the factor L, inertias and stiffnesses of joint
 * angles L^2. */
#include "support/support.h"
#include "support/things.h"

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>

typedef enum { FOUR_BAR, SPATIAL_FOUR_BAR, SLIDER_CRANK, SCREW, NUM_KINDS } Kind;
static const char *const kind_name[] = {"four-bar", "four-bar in space", "slider-crank", "screw"};
static const char *const method[]    = {"BDF", "Adams", "DOP853", "RADAU"};
enum { METHODS = sizeof method / sizeof *method };

#define ADD(call) ck_assert_msg((call) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(b)))

/* off: how far the placement misses the assembly, in units of length */
static void rod(CPBodies b, const char *name, sunrealtype L, sunrealtype off,
                const sunrealtype *from, const sunrealtype *to) {
  const sunrealtype J = L * L / 12;
  CPBody body = {CP_NEW_BODY(name), .mass = 1, .inertia = {J / 8, J, J}, .quaternion = {1, 0, 0, 0}};
  for (int i = 0; i < 3; i++) body.position[i] = L * ((from[i] + to[i]) / 2 + (i < 2 ? off : 0));
  ADD(CPBodiesAdd(b, &body.head, NULL));
}

static void joint(CPBodies b, const char *name, CPJointKind kind, const char *from, const char *to,
                  sunrealtype L, const sunrealtype *at, CPMarker axes) {
  CPJoint of = {CP_NEW_JOINT(name), .kind = kind, .a = from, .b = to, .on_a = axes, .on_b = axes};
  for (int i = 0; i < 3; i++) of.on_a.point[i] = of.on_b.point[i] = L * at[i];
  ADD(CPBodiesAdd(b, &of.head, NULL));
}

static CPBodies build(Kind kind, sunrealtype L, sunrealtype off) {
  const sunrealtype O[] = {0, 0, 0}, A[] = {0.25, 0.5, 0},
                    B[] = {1.25, 0.75, kind == FOUR_BAR ? 0 : 0.25}, C[] = {1.5, 0, 0},
                    S[] = {1.5, 0, 0};
  const int dimension   = kind == SLIDER_CRANK || kind == FOUR_BAR ? 2 : 3;
  const CPMarker z      = {.axis = {0, 0, 1}, .across = {1, 0, 0}},
                 x      = {.axis = {1, 0, 0}, .across = {0, 1, 0}};
  CPBodies b            = CPBodiesCreate(dimension, NULL);
  ADD(set_gravity(b, (sunrealtype[]){0, -8 * L, 0}));
  if (kind == SCREW) {
    const CPCoupler thread = {CP_NEW_COUPLER("thread"), .of = {{"bearing", 0}, {"bearing", 1}},
                              .ratio = {1, -0.125 * L}};
    const CPForce push     = {CP_NEW_FORCE("push"), .body = "nut", .force = {L, 0, 0}};
    rod(b, "nut", L, 0, O, S);
    joint(b, "bearing", CP_JOINT_CYLINDRICAL, NULL, "nut", L, O, x);
    ADD(CPBodiesAdd(b, &thread.head, NULL));
    ADD(CPBodiesAdd(b, &push.head, NULL));
    return b;
  }
  const CPSpring spring = {CP_NEW_SPRING("spring"), .of = {"O", 0}, .stiffness = 2 * L * L,
                           .damping = 0.125 * L * L};
  rod(b, "crank", L, 0, O, A);
  joint(b, "O", CP_JOINT_REVOLUTE, NULL, "crank", L, O, z);
  if (kind == FOUR_BAR || kind == SPATIAL_FOUR_BAR) {
    rod(b, "coupler", L, off, A, B);
    rod(b, "rocker", L, -off, B, C);
    joint(b, "A", dimension == 2 ? CP_JOINT_REVOLUTE : CP_JOINT_BALL, "crank", "coupler", L, A, z);
    joint(b, "B", dimension == 2 ? CP_JOINT_REVOLUTE : CP_JOINT_BALL, "coupler", "rocker", L, B, z);
    joint(b, "C", CP_JOINT_REVOLUTE, NULL, "rocker", L, C, z);
  } else {
    rod(b, "coupler", L, off, A, S);
    rod(b, "slider", L, off, S, S);
    joint(b, "A", CP_JOINT_REVOLUTE, "crank", "coupler", L, A, z);
    joint(b, "S", CP_JOINT_REVOLUTE, "coupler", "slider", L, S, z);
    joint(b, "guide", CP_JOINT_PRISMATIC, NULL, "slider", L, S, x);
  }
  const CPSpring stay = {CP_NEW_SPRING("stay"),
                         .a         = NULL,
                         .b         = "coupler",
                         .point_a   = {0.5 * L, -0.25 * L},
                         .point_b   = {0.75 * L, 0.625 * L},
                         .stiffness = 256,
                         .damping   = 8,
                         .free      = 0.75 * L};
  ADD(CPBodiesAdd(b, &spring.head, NULL));
  ADD(CPBodiesAdd(b, &stay.head, NULL));
  return b;
}

/* unit [n]: L for lengths and their rates, else 1 */
static void units_of(CPBodies b, sunrealtype L, sunrealtype *unit) {
  for (int k = 0; k < CPBodiesCount(b, CP_STATE); k++)
    unit[k] = thing_at(b, CP_STATE, k).unit[0] == 'm' ? L : 1;
}

typedef struct {
  sunrealtype start[64], end[64]; /* in units of length */
  long int steps;
} Motion;

static Motion run(Kind kind, const char *name, int differences, sunrealtype tol, sunrealtype L,
                  sunrealtype off) {
  Motion m = {0};
  CPMech mech, own; /* own: with the equations as they are */
  MessageLog log = {0};
  sunrealtype t;
  IntegratorCounters stats;
  CPBodies b = build(kind, L, off);
  ck_assert_msg(build_mech(b, &own) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  CPEquations model     = equations_of(own);
  model.free_model_data = NULL; /* own has it */
  if (differences) model.dynamics_jac = NULL, model.constraint_jac = NULL;
  N_Vector y = CPBodiesState(b, test_context), unit = N_VClone(y), tols = N_VClone(y);
  CPModel changed = CPModelCreate(&model);
  mech            = CPMechCreate(changed, y, test_context);
  CPModelFree(&changed);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  const int n = (int)N_VGetLength(y);
  ck_assert_int_le(n, 64);
  units_of(b, L, entries(unit));
  N_VScale(tol, unit, tols);
  ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s, L = %g: %s", kind_name[kind],
                L, CPObjectGetLastMessage(CP_OBJECT(mech)));
  for (int i = 0; i < n; i++) m.start[i] = entries(y)[i] / entries(unit)[i];
  ck_assert_msg(CPMechCheck(mech, 0, y, &(CPMechReport)CP_INIT(CPMechReport)) == CP_SUCCESS,
                "%s, L = %g: %s", kind_name[kind], L, log.text);
  CPIntegrator mem = CPIntegratorCreate(name, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSVtolerances(mem, tol, tols), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 100000), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, 2, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%s by %s, L = %g: %d, %s", kind_name[kind], name, L, flag,
                log.text);
  ck_assert_msg(log.count == 0, "%s by %s, L = %g: %s", kind_name[kind], name, L, log.text);
  for (int i = 0; i < n; i++) m.end[i] = entries(y)[i] / entries(unit)[i];
  ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
  m.steps = stats.nst;
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPMechFree(&own);
  CPBodiesFree(&b);
  N_VDestroy(y), N_VDestroy(unit), N_VDestroy(tols);
  return m;
}

/* Loop index: method; mechanism; partial derivatives by formulas or, in space, by differences. (In the plane the sizes
 * of lengths and angles are not told apart.) */
START_TEST(a_mechanism_moves_alike_in_every_unit_of_length) {
  const Kind kind       = (Kind)(_i / METHODS % NUM_KINDS);
  const char *name      = method[_i % METHODS];
  const int differences = _i / (METHODS * NUM_KINDS);
  if (differences && (kind == FOUR_BAR || kind == SLIDER_CRANK)) return;
  for (sunrealtype tol = 1e-4; tol > 1e-9; tol *= 1e-4)
    for (sunrealtype off = 0; off < 0.1; off += 0.0625) {
      const Motion one = run(kind, name, differences, tol, 1, off);
      for (int k = -40; k <= 20; k += 10) {
        const Motion other = run(kind, name, differences, tol, ldexp(1, k), off);
        sunrealtype start = 0, end = 0;
        for (int i = 0; i < 64; i++) {
          start = fmax(start, fabs(other.start[i] - one.start[i]));
          end   = fmax(end, fabs(other.end[i] - one.end[i]));
        }
        ck_assert_double_le(start, 1e-12);
        ck_assert_double_le(end, 3000 * tol);
        ck_assert_msg(fabs((double)(other.steps - one.steps)) <= fmax(1, 0.05 * (double)one.steps),
                      "%s by %s at %g, L = 2^%d: %ld steps, %ld for L = 1", kind_name[kind], name,
                      tol, k, other.steps, one.steps);
      }
    }
}
END_TEST

TEST_SUITE(units) {
  Suite *suite = suite_create("bodies/units");
  TCase *tc    = tcase_create("units");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_mechanism_moves_alike_in_every_unit_of_length, 0,
                      2 * NUM_KINDS * METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}

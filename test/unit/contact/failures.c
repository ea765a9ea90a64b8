/* Bad input, failing functions, failing allocations: codes, messages, and the state before the event. */
#include "fixture.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

static const CPContactPoint good = {
    CP_SIZED(CPContactPoint), .name = "ball", .tangent = 1,
    .ntangents = 1,           .law.mu = 0.3,  .law.restitution = 0.5};
static const sunrealtype start[] = {0, 1, 0, 1, 0, 0};

static Body point_mass(void) { return (Body){.m = 1, .J = 1, .g = 9.81, .npoints = 1}; }

/* ---- creation ---- */

/* Are such contacts created? */
static int create(const CPEquations *model, int n, const CPContactPoint *points) {
  N_Vector y        = vector_of(6, start);
  CPMech mech       = create_mech(model, y, test_context);
  CPContact contact = CPContactCreate(mech, n, points);
  const int created = contact != NULL;
  CPContactFree(&contact);
  CPMechFree(&mech);
  N_VDestroy(y);
  return created;
}

START_TEST(points_that_break_a_rule_are_refused) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  CPContactPoint bad[16];
  for (int i = 0; i < 16; i++) bad[i] = good;
  bad[0].name             = "";
  bad[1].name             = NULL;
  bad[2].normal           = 1;
  bad[3].normal           = -1;
  bad[4].tangent          = 0;
  bad[5].tangent          = 2;
  bad[6].ntangents        = 2;
  bad[7].ntangents        = -1;
  bad[8].law.mu           = -0.1;
  bad[9].law.mu           = NAN;
  bad[10].law.mu_static   = -1;
  bad[11].law.restitution = 1.1;
  bad[12].law.restitution = -0.1;
  bad[13].law.tangential  = 2;
  bad[14].law.kind        = (CPRestitution)7;
  bad[15].law.kind        = CP_RESTITUTION_POISSON;
  bad[15].law.tangential  = 0.5;
  for (int i = 0; i < 16; i++) ck_assert_msg(!create(&model, 1, &bad[i]), "point %d", i);
  ck_assert(!create(&model, 0, &good));
  ck_assert(!create(&model, 1, NULL));
  const CPContactPoint twice[] = {good, good};
  ck_assert(!create(&model, 2, twice));
  CPContactPoint sizeless = good;
  sizeless.size           = 0;
  ck_assert(!create(&model, 1, &sizeless));
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "size of points[0]");
}
END_TEST

/* The points of a program that was built with a later version are longer. */
START_TEST(the_stride_of_points_is_their_size) {
  Body body               = {.m = 1, .J = 1, .g = 9.81, .npoints = 2};
  const CPEquations model = floor_body_model(&body);
  struct {
    CPContactPoint point;
    sunrealtype later;
  } points[2]          = {{{CP_SIZED(CPContactPoint), .name = "left", .normal = 0}, NAN},
                          {{CP_SIZED(CPContactPoint), .name = "right", .normal = 1}, NAN}};
  points[0].point.size = sizeof points[0];
  N_Vector y           = vector_of(6, NULL);
  CPMech mech          = create_mech(&model, y, test_context);
  CPContact contact    = CPContactCreate(mech, 2, &points[0].point);
  ck_assert_msg(contact != NULL, "%s", CPObjectGetLastMessage(NULL));
  CPContactEvent event = CP_INIT(CPContactEvent);
  ck_assert_int_eq(CPContactGetEvent(contact, 1, &event), CP_SUCCESS);
  event.size = 0;
  ck_assert_int_eq(CPContactGetEvent(contact, 1, &event), CP_OLD_STRUCT);
  CPContactFree(&contact);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

static int no_friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                       void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)f, (void)user_data;
  return 0;
}

START_TEST(models_without_what_contacts_need_are_refused) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  CPEquations bad[4]      = {model, model, model, model};
  bad[0].b                = NULL;
  bad[1].M                = NULL;
  bad[2].A                = NULL;
  bad[3].f_lambda         = no_friction;
  for (int i = 0; i < 4; i++) ck_assert(!create(&bad[i], 1, &good));
  ck_assert_ptr_null(CPContactCreate(NULL, 1, &good));
}
END_TEST

static int failing_root(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g[0] = 1;
  return t > 0.2 ? -1 : 0;
}

START_TEST(null_and_early_calls_have_codes) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  CPContact none          = NULL;
  sunrealtype value[3];
  ContactCounters stats;
  CPContactFree(NULL);
  CPContactFree(&none);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPContactSetEventFn(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPContactAttach(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPContactEvaluate(NULL, 0, NULL, NULL, value, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPContactPainleve(NULL, 0, NULL, value), CP_MEM_NULL);
  ck_assert_int_eq(contact_counters(NULL, &stats), CP_MEM_NULL);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "must not be NULL");
  Run *run = run_create(&model, &body, 1, &good, start);
  ck_assert_int_eq(CPContactAttach(run->contact, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPContactEvaluate(run->contact, 0, NULL, NULL, value, NULL, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPContactPainleve(run->contact, 0, run->y, NULL), CP_ILL_INPUT);
  run_free(&run);
  run = run_start(&model, &body, 1, &good, start, DOP853, 1e-8);
  ck_assert_int_eq(run_solve(run, -1), CP_ILL_INPUT);
  run_free(&run);
}
END_TEST

START_TEST(a_root_function_that_fails_ends_the_run) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  Run *run                = run_create(&model, &body, 1, &good, start);
  run_watch(run, 1, failing_root, NULL);
  ck_assert_int_eq(run_attach(run, _i, 1e-6), CP_SUCCESS);
  ck_assert_int_eq(run_solve(run, 1), CV_RTFUNC_FAIL);
  run_free(&run);
}
END_TEST

/* ---- the start, and during the run ---- */

START_TEST(penetration_at_the_start_is_named) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  const sunrealtype y0[]  = {0, -1e-3, 0, 0, 0, 0};
  Run *run                = run_create(&model, &body, 1, &good, y0);
  ck_assert_int_eq(run_attach(run, _i, 1e-8), CP_CONTACT_PENETRATION);
  ck_assert_mentions(run->log.text, "\"ball\" penetrates");
  ck_assert_int_eq(memcmp(entries(run->y), y0, sizeof y0), 0);
  run_free(&run);
}
END_TEST

/* Contacts that approach at the start collide there. */
START_TEST(impact_at_the_start_comes_first) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  const sunrealtype y0[]  = {0, 0, 0, 0, -2, 0};
  Run *run                = run_start(&model, &body, 1, &good, y0, _i, 1e-8);
  ck_assert_double_eq_tol(entries(run->y)[4], 1, 1e-14);
  run_free(&run);
}
END_TEST

/* At t = 0.1 the floor rises by 1/10 at once, above the falling ball. */
static int jumping_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  p[0] = q[1] - (t > 0.1 ? 2 : 0);
  return 0;
}

START_TEST(gap_that_jumps_is_named) {
  Body body         = point_mass();
  CPEquations model = floor_body_model(&body);
  model.p           = jumping_gap;
  Run *run          = run_start(&model, &body, 1, &good, start, DOP853, 1e-8);
  ck_assert_int_eq(run_solve(run, 1), CP_CONTACT_PENETRATION);
  ck_assert_mentions(run->log.text, "\"ball\" penetrates");
  ck_assert_double_le(fabs(run->t - 0.1), 1e-6);
  run_free(&run);
}
END_TEST

/* v is not the rate of p: the velocities after the impact are not those that A predicts. */
static int wrong_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                   void *user_data) {
  (void)t, (void)q, (void)user_data;
  v[0] = 3 * u[1], v[1] = u[0];
  return 0;
}

START_TEST(rates_that_contradict_gaps_are_found) {
  Body body         = point_mass();
  CPEquations model = floor_body_model(&body);
  model.v           = wrong_v;
  Run *run          = run_start(&model, &body, 1, &good, start, DOP853, 1e-8);
  ck_assert_int_eq(run_solve(run, 1), CP_MECH_A_WRONG);
  ck_assert_mentions(run->log.text, "\"ball\"");
  /* The state before the event: still falling */
  ck_assert_double_le(entries(run->y)[4], -4);
  run_free(&run);
}
END_TEST

/* ---- a press: the mass between the floor and a descending ceiling, 1 - t ---- */

static int press_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  p[0] = q[1], p[1] = 1 - t - q[1];
  return 0;
}

static int press_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                   void *user_data) {
  (void)t, (void)q, (void)user_data;
  v[0] = u[1], v[1] = -1 - u[1];
  return 0;
}

static int press_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1, SM_ELEMENT_D(A, 1, 1) = -1;
  return 0;
}

static int press_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

static CPEquations press(const Body *body) {
  CPEquations model = floor_body_model(body);
  model.np = model.nv = 2;
  model.p = press_gaps, model.v = press_v, model.A = press_rows, model.b = press_b;
  return model;
}

/* Plastic: the mass lies on the floor until the ceiling arrives at t = 1, and no impulses can
 * separate all three. */
START_TEST(press_that_closes_jams) {
  Body body                     = point_mass();
  const CPEquations model       = press(&body);
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "floor", .normal = 0},
                                   {CP_SIZED(CPContactPoint), .name = "ceiling", .normal = 1}};
  const sunrealtype y0[]        = {0, 0, 0, 0, 0, 0};
  Run *run                      = run_start(&model, &body, 2, points, y0, _i, 1e-8);
  ck_assert_int_eq(run_solve(run, 2), CP_CONTACT_NO_SOLUTION);
  ck_assert_mentions(run->log.text, "\"floor\"");
  ck_assert_mentions(run->log.text, "\"ceiling\"");
  ck_assert_double_eq_tol(run->t, 1, 1e-7);
  ck_assert_double_eq_tol(entries(run->y)[1], 0, 1e-8);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_CLOSED);
  ck_assert_int_eq(phase_of(run->contact, 1), CP_CONTACT_OPEN);
  run_free(&run);
}
END_TEST

/* ---- a ram that moves the mass down, z = 1 - t, onto the floor ---- */

static int ram_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  p[0] = q[1], p[1] = q[1] - 1 + t;
  return 0;
}

static int ram_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                 void *user_data) {
  (void)t, (void)q, (void)user_data;
  v[0] = u[1], v[1] = u[1] + 1;
  return 0;
}

static int ram_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1, SM_ELEMENT_D(A, 1, 1) = 1;
  return 0;
}

static void ram_names(CPMechName what, sunindextype i, sunrealtype t, char *name, size_t length,
                      void *user_data) {
  (void)user_data;
  if (what == CP_NAME_LIMIT && i == 1)
    snprintf(name, length, "drive \"ram\" cannot move \"mass\" beyond %.3g m", 1 - (double)t);
}

/* The floor gives no way, and so the drive cannot go on. Only that is told, once, and nothing of what is tried to find it. */
START_TEST(drive_that_pushes_a_contact_is_a_lock) {
  Body body                  = point_mass();
  CPEquations model          = press(&body);
  const CPContactPoint floor = {CP_SIZED(CPContactPoint), .name = "floor", .normal = 0};
  const sunrealtype y0[]     = {0, 1, 0, 0, -1, 0};
  model.p = ram_gaps, model.v = ram_v, model.A = ram_rows, model.row_name = ram_names;
  Run *run = run_start(&model, &body, 1, &floor, y0, _i, 1e-8);
  ck_assert_int_eq(run_solve(run, 2), CP_CONTACT_NO_SOLUTION);
  ck_assert_mentions(run->log.text, "drive \"ram\" cannot move \"mass\" beyond");
  ck_assert_mentions(run->log.text, ": contact \"floor\" holds it");
  ck_assert_int_eq(run->log.count, 1);
  ck_assert_double_eq_tol(run->t, 1, 1e-5);
  ck_assert_double_eq_tol(entries(run->y)[4], -1, 1e-8);
  run_free(&run);
}
END_TEST

/* The floor half a metre higher than the mass */
static int deep_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  p[0] = q[1] - 1.5, p[1] = q[1] - 1 + t;
  return 0;
}

START_TEST(a_deep_start_of_a_drive_is_no_lock) {
  Body body                  = point_mass();
  CPEquations model          = press(&body);
  const CPContactPoint floor = {CP_SIZED(CPContactPoint), .name = "floor", .normal = 0};
  const sunrealtype y0[]     = {0, 1, 0, 0, -1, 0};
  model.p = deep_gaps, model.v = ram_v, model.A = ram_rows, model.row_name = ram_names;
  Run *run = run_create(&model, &body, 1, &floor, y0);
  ck_assert_int_eq(run_attach(run, DOP853, 1e-8), CP_CONTACT_PENETRATION);
  ck_assert_mentions(run->log.text, "contact \"floor\" penetrates");
  run_free(&run);
}
END_TEST

/* Elastic: the mass bounces ever faster, without end, before t = 1. */
START_TEST(impacts_without_end_are_too_many) {
  Body body                     = point_mass();
  const CPEquations model       = press(&body);
  const CPContactPoint points[] = {
      {CP_SIZED(CPContactPoint), .name = "floor", .normal = 0, .law.restitution = 1},
      {CP_SIZED(CPContactPoint), .name = "ceiling", .normal = 1, .law.restitution = 1}};
  const sunrealtype y0[] = {0, 0.5, 0, 0, 3, 0};
  Run *run               = run_start(&model, &body, 2, points, y0, _i, 1e-8);
  ck_assert_int_eq(CPSessionSetMaxEvents(run->session, 300), CP_SUCCESS);
  const int flag = run_solve(run, 2);
  ck_assert_msg(flag == CP_TOO_MANY_EVENTS, "%d: %s", flag, run->log.text);
  ck_assert_double_lt(run->t, 1);
  run_free(&run);
}
END_TEST

static int stop_at_events(const CPContactEvent *event, void *user_data) {
  (void)event, (void)user_data;
  return 1;
}

START_TEST(events_can_be_counted_and_can_stop_a_run) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  Run *run                = run_start(&model, &body, 1, &good, start, _i, 1e-8);
  ck_assert_int_eq(CPContactSetEventFn(run->contact, stop_at_events, NULL), CP_SUCCESS);
  ck_assert_int_eq(run_solve(run, 1), CP_STOPPED);
  ck_assert_double_eq_tol(run->t, sqrt(2 / 9.81), 1e-6);
  ck_assert_int_eq(CPContactSetEventFn(run->contact, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetMaxEvents(run->session, 3), CP_SUCCESS);
  ck_assert_int_eq(run_solve(run, 9), CP_TOO_MANY_EVENTS);
  ck_assert_mentions(run->log.text, "\"ball\"");
  ContactCounters stats;
  ck_assert_int_eq(contact_counters(run->contact, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nimpacts, 4);
  ck_assert_int_eq(CPSessionSetMaxEvents(run->session, 0), CP_SUCCESS);
  run_free(&run);
}
END_TEST

/* ---- failing functions of the model ---- */

typedef struct {
  CPEquations model;
  int countdown; /* number of calls; 0: fails from now on */
} Failing;
static Failing failing; /* only one thread uses it */

static int fails(void) { return failing.countdown-- == 0 ? -7 : 0; }
static int failing_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  return fails() ? -7 : failing.model.p(t, q, p, user_data);
}
static int failing_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                     void *user_data) {
  return fails() ? -7 : failing.model.b(t, q, u, b, user_data);
}
static int failing_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  return fails() ? -7 : failing.model.A(t, q, A, user_data);
}
static int failing_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  return fails() ? -7 : failing.model.M(t, q, M, user_data);
}

/* A point on a table in space: rows z, and x and y of friction */
static int space_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}
static int space_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = f[1] = 0, f[2] = -9.81;
  return 0;
}
static int space_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[2];
  return 0;
}
static int space_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 2) = SM_ELEMENT_D(A, 1, 0) = SM_ELEMENT_D(A, 2, 1) = 1;
  return 0;
}
static int space_velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            sunrealtype *v, void *user_data) {
  (void)t, (void)q, (void)user_data;
  v[0] = u[2], v[1] = u[0], v[2] = u[1];
  return fails();
}
static int space_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  b[0] = b[1] = b[2] = 0;
  return 0;
}

/* The direction of sliding comes from v. */
START_TEST(forces_say_which_function_failed) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 3,        .np = 1,         .nv = 3,      .M = space_mass,
      .f = space_weight,     .p = space_gap, .A = space_rows, .b = space_b, .v = space_velocities};
  const CPContactPoint table = {
      CP_SIZED(CPContactPoint), .name = "table", .normal = 0, .tangent = 1,
      .ntangents = 2,           .law.mu = 0.3};
  const sunrealtype y0[6] = {0, 0, 0, 3, 4, 0};
  sunrealtype force[3];
  failing.countdown = 1 << 30;
  Run *run          = run_start(&model, NULL, 1, &table, y0, DOP853, 1e-6);
  run_to(run, 0.1);
  int n = 0;
  for (; failing.countdown = n,
         CPContactEvaluate(run->contact, run->t, run->y, NULL, force, NULL, NULL) < 0;
       n++) {
    ck_assert_msg(strstr(run->log.text, "fail"), "%d: %s", n, run->log.text);
    run->log.text[0] = '\0';
  }
  ck_assert_int_ge(n, 3);
  ck_assert_double_eq_tol(force[0], 9.81, 1e-9);
  ck_assert_double_eq_tol(force[1], -0.6 * 0.3 * 9.81, 1e-9);
  ck_assert_double_eq_tol(force[2], -0.8 * 0.3 * 9.81, 1e-9);
  run_free(&run);
}
END_TEST

/* Each function fails at call 1, 2, ...: there is always a code, the run can be freed, and once the
 * function works again, the run continues to the state that it has without the failure. 1e-6 is the
 * tolerance; errors are some tens of tolerances. */
START_TEST(failing_functions_end_with_a_code_and_runs_go_on) {
  const int method = _i / 4, which = _i % 4;
  Body body     = point_mass();
  failing.model = floor_body_model(&body);
  CPEquations m = failing.model;
  if (which == 0) m.p = failing_gaps;
  if (which == 1) m.b = failing_b;
  if (which == 2) m.A = failing_rows;
  if (which == 3) m.M = failing_mass;
  failing.countdown = 1 << 30;
  Run *right        = run_start(&m, &body, 1, &good, start, method, 1e-6);
  run_to(right, 1.5);
  int reached = 1;
  for (int n = 0; reached && n < 4000; n += 1 + n / 20) {
    failing.countdown = 1 << 30;
    Run *run          = run_create(&m, &body, 1, &good, start);
    failing.countdown = n;
    int flag          = run_attach(run, method, 1e-6);
    const int failed  = flag < 0;
    if (!flag) flag = run_solve(run, 1.5);
    reached = failing.countdown < 0;
    ck_assert(reached || !flag);
    ck_assert(flag < 0 || !reached);
    if (failed) ck_assert_int_eq(run_attach(run, method, 1e-6), CP_SUCCESS);
    if (flag) run_to(run, 1.5);
    for (int k = 0; k < 6; k++)
      ck_assert_double_eq_tol(entries(run->y)[k], entries(right->y)[k], 1e-4);
    run_free(&run);
  }
  ck_assert_int_eq(reached, 0);
  run_free(&right);
}
END_TEST

/* ---- the state after a failure ---- */

START_TEST(states_that_are_none_are_refused) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  N_Vector kept, wrong[] = {NULL, vector_of(2, start)};
  sunrealtype t, value[3];
  Run *run = run_create(&model, &body, 1, &good, start);
  kept     = run->y;
  for (int i = 0; i < 2; i++) {
    run->y = wrong[i];
    ck_assert_int_eq(run_attach(run, DOP853, 1e-8), CP_ILL_INPUT);
  }
  run->y = kept;
  ck_assert_int_eq(run_attach(run, DOP853, 1e-8), CP_SUCCESS);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(CPSessionRun(run->session, 1, wrong[i], &t), CP_ILL_INPUT);
    ck_assert_int_eq(CPContactEvaluate(run->contact, 0, wrong[i], NULL, value, NULL, NULL),
                     CP_ILL_INPUT);
    ck_assert_int_eq(CPContactPainleve(run->contact, 0, wrong[i], value), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->contact)), "y must");
  }
  run_to(run, 0.1);
  N_VDestroy(wrong[1]);
  run_free(&run);
}
END_TEST

/* A run that has fallen and slides, and a start of the same session in a state with an impact */
static const sunrealtype thrown[] = {0, 1, 0, 5, 0, 0}, striking[] = {3, 0, 0, 1, -2, 0};
static const CPContactPoint clay = {CP_SIZED(CPContactPoint), .name = "clay", .tangent = 1,
                                    .ntangents = 1,           .law.mu = 0.3,  .law.restitution = 0};

static Run *sliding_run(const CPEquations *model, Body *body, int method) {
  Run *run = run_start(model, body, 1, &clay, thrown, method, 1e-9);
  run_to(run, 0.7);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_SLIDING);
  return run;
}

/* After a start that has failed, its state is as it was, the session has no run, and the next start succeeds: from 7 s on the block
 * slides on with -mu g, after the impact of clay, mu g v_y. */
static void starts_anew(Run *run, N_Vector y) {
  const sunrealtype a = 0.3 * 9.81, v = 1 - 0.3 * 2;
  ck_assert_mem_eq(entries(y), striking, sizeof striking);
  ck_assert_int_eq(run_solve(run, 8), CP_NO_INIT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->session)), "CPSessionStart");
  ck_assert_int_eq(CPSessionStart(run->session, 7, y, 8), CP_SUCCESS);
  ck_assert_double_eq_tol(entries(y)[3], v, 1e-12);
  run_to(run, 8);
  ck_assert_double_eq_tol(entries(run->y)[0], 3 + v * v / (2 * a), 1e-7);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
}

/* Each function fails at each of its calls, until the start succeeds. */
START_TEST(a_start_that_fails_leaves_its_state_and_can_be_repeated) {
  const int method = _i / 4, which = _i % 4;
  Body body     = point_mass();
  failing.model = floor_body_model(&body);
  CPEquations m = failing.model;
  if (which == 0) m.p = failing_gaps;
  if (which == 1) m.b = failing_b;
  if (which == 2) m.A = failing_rows;
  if (which == 3) m.M = failing_mass;
  for (int n = 0, flag = -1; flag < 0; n++) {
    failing.countdown = 1 << 30;
    Run *run          = sliding_run(&m, &body, method);
    N_Vector y        = vector_of(6, striking);
    failing.countdown = n;
    flag              = CPSessionStart(run->session, 7, y, 8);
    ck_assert_int_eq(flag < 0, failing.countdown < 0);
    ck_assert(flag == 0 || n < 100);
    failing.countdown = 1 << 30;
    if (flag < 0) starts_anew(run, y);
    else ck_assert_int_ge(n, 2);
    N_VDestroy(y);
    run_free(&run);
  }
}
END_TEST

START_TEST(a_start_without_memory_leaves_its_state_and_can_be_repeated) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  for (long n = 1;; n++) {
    Run *run   = sliding_run(&model, &body, _i);
    N_Vector y = vector_of(6, striking);
    alloc_watch_failing(n);
    const int flag = CPSessionStart(run->session, 7, y, 8), failed = alloc_has_failed();
    alloc_unwatch();
    ck_assert_int_eq(flag < 0, failed);
    if (failed) starts_anew(run, y);
    N_VDestroy(y);
    run_free(&run);
    if (!failed) break;
  }
}
END_TEST

START_TEST(a_run_of_no_length_hands_out_the_start) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  Run *run                = run_start(&model, &body, 1, &good, start, _i, 1e-8);
  N_VConst(-1, run->y);
  run_to(run, 0);
  ck_assert_mem_eq(entries(run->y), start, sizeof start);
  ck_assert_int_eq(run_solve(run, NAN), CP_ILL_INPUT);
  run_free(&run);
}
END_TEST

/* n^T W n = 1 / m for a point without friction, which is driven along the floor. */
START_TEST(quantities_know_of_motions_before_a_start) {
  Body body            = point_mass();
  CPEquations model    = floor_body_model(&body);
  const CPMotion still = {.g = at_rest, .gd = at_rest, .gdd = at_rest};
  CPContactPoint point = good;
  sunrealtype value[3];
  point.law.mu  = 0;
  model.motions = &still, model.nmotions = 1;
  Run *run = run_create(&model, &body, 1, &point, start);
  ck_assert_int_eq(CPContactPainleve(run->contact, 0, run->y, value), CP_SUCCESS);
  ck_assert_double_eq_tol(value[0], 1 / body.m, 1e-14);
  run_free(&run);
}
END_TEST

/* b on the floor, which only an impact evaluates */
static int failing_on_the_floor(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                sunrealtype *b, void *user_data) {
  return fabs(q[1]) < 1e-7 && fails() ? -7 : failing.model.b(t, q, u, b, user_data);
}

/* The integrator has passed the impact that fails. From the height 1 it is at sqrt(2 / g), and
 * e = 0.5. */
START_TEST(an_event_that_failed_is_tried_again) {
  Body body            = point_mass();
  const sunrealtype t1 = sqrt(2 / body.g), later = 0.7 - t1;
  ContactCounters stats;
  CPContactEvent event = CP_INIT(CPContactEvent);
  failing.model        = floor_body_model(&body);
  failing.countdown    = 0;
  CPEquations m        = failing.model;
  m.b                  = failing_on_the_floor;
  Run *run             = run_start(&m, &body, 1, &good, start, _i, 1e-9);
  ck_assert_int_eq(run_solve(run, 0.7), CP_USERFUNC_FAIL);
  ck_assert_double_eq_tol(run->t, t1, 1e-7);
  ck_assert_double_eq_tol(entries(run->y)[4], -body.g * t1, 1e-6);
  ck_assert_int_eq(CPContactGetEvent(run->contact, 0, &event), CP_SUCCESS);
  ck_assert_double_eq(event.t, 0); /* Nothing has happened since the start. */
  ck_assert_int_eq(run_solve(run, 0.3), CP_ILL_INPUT);
  run_to(run, 0.7);
  ck_assert_double_eq_tol(entries(run->y)[1], later * (0.5 * body.g * t1 - body.g * later / 2),
                          1e-6);
  ck_assert_int_eq(contact_counters(run->contact, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nimpacts, 1);
  ck_assert_int_eq(run->all, 1);
  run_free(&run);
}
END_TEST

/* ---- memory ---- */

START_TEST(every_allocation_may_fail) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  N_Vector y              = vector_of(6, start);
  for (long n = 1;; n++) {
    alloc_watch_failing(n);
    CPMech mech       = create_mech(&model, y, test_context);
    CPContact contact = CPContactCreate(mech, 1, &good);
    const int failed  = alloc_has_failed();
    CPContactFree(&contact);
    CPMechFree(&mech);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    if (!failed) break;
  }
  N_VDestroy(y);
}
END_TEST

/* The run allocates no memory: what 3 and 30 impacts have allocated is the same. */
START_TEST(memory_is_flat) {
  Body body               = point_mass();
  const CPEquations model = floor_body_model(&body);
  CPContactPoint point    = good;
  point.law.restitution   = 1;
  Run *run                = run_start(&model, &body, 1, &point, start, _i, 1e-8);
  run_to(run, 3);
  alloc_watch();
  run_to(run, 30);
  alloc_unwatch();
  ck_assert_int_eq(alloc_live(), 0);
  run_free(&run);
}
END_TEST

TEST_SUITE(failures) {
  Suite *suite = suite_create("contact/failures");
  TCase *tc    = tcase_create("failures");
  tcase_add_loop_test(tc, a_root_function_that_fails_ends_the_run, 0, METHODS);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, points_that_break_a_rule_are_refused);
  tcase_add_test(tc, the_stride_of_points_is_their_size);
  tcase_add_test(tc, models_without_what_contacts_need_are_refused);
  tcase_add_test(tc, null_and_early_calls_have_codes);
  tcase_add_loop_test(tc, penetration_at_the_start_is_named, 0, METHODS);
  tcase_add_loop_test(tc, impact_at_the_start_comes_first, 0, METHODS);
  tcase_add_test(tc, gap_that_jumps_is_named);
  tcase_add_test(tc, rates_that_contradict_gaps_are_found);
  tcase_add_loop_test(tc, press_that_closes_jams, 0, METHODS);
  tcase_add_loop_test(tc, drive_that_pushes_a_contact_is_a_lock, 0, METHODS);
  tcase_add_test(tc, a_deep_start_of_a_drive_is_no_lock);
  tcase_add_loop_test(tc, impacts_without_end_are_too_many, 0, METHODS);
  tcase_add_loop_test(tc, events_can_be_counted_and_can_stop_a_run, 0, METHODS);
  tcase_add_test(tc, forces_say_which_function_failed);
  tcase_add_loop_test(tc, failing_functions_end_with_a_code_and_runs_go_on, 0, 4 * METHODS);
  tcase_add_test(tc, states_that_are_none_are_refused);
  tcase_add_loop_test(tc, a_start_that_fails_leaves_its_state_and_can_be_repeated, 0, 4 * METHODS);
  tcase_add_loop_test(tc, a_start_without_memory_leaves_its_state_and_can_be_repeated, 0, METHODS);
  tcase_add_test(tc, quantities_know_of_motions_before_a_start);
  tcase_add_loop_test(tc, a_run_of_no_length_hands_out_the_start, 0, METHODS);
  tcase_add_loop_test(tc, an_event_that_failed_is_tried_again, 0, METHODS);
  tcase_add_test(tc, every_allocation_may_fail);
  tcase_add_loop_test(tc, memory_is_flat, 0, METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}

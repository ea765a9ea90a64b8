/* Motions with contacts against trajectories of another program, and against integrations without cpodes. */
#include "fixture.h"

#include <math.h>

/* siconos-tutorials of 24 July 2024,
 * examples/mechanics/RockingBlock/RockingBlockED_Lsodar_LZBimpact.ref: event-driven, without
 * friction, e = 0.8. The block has the mass and the inertia of 1 x 1/2, and its corners are those
 * of 0.2 x 0.1. Impulses are integrated there in steps of 5e-5, which is their accuracy. Each such
 * error changes the duration of the next flight by 2 * 5e-5 / g, the velocity of the gap by about
 * as much as itself, and the rest in proportion to the time. */
START_TEST(block_falls_on_its_corners_when_siconos_does) {
  Body body                     = {.m       = 1,
                                   .J       = SUN_RCONST(1.25) / 12,
                                   .g       = 9.81,
                                   .npoints = 2,
                                   .a       = {-0.1, 0.1},
                                   .b       = {-0.05, -0.05}};
  const CPEquations model       = floor_body_model(&body);
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "left", .normal = 0,
                                    .tangent = 2, .ntangents = 1, .law.restitution = 0.8},
                                   {CP_SIZED(CPContactPoint), .name = "right", .normal = 1,
                                    .tangent = 3, .ntangents = 1, .law.restitution = 0.8}};
  const sunrealtype theta       = acos(-1) / 3;
  const sunrealtype y0[]        = {0, sin(theta) / 2 + cos(theta) / 4, theta, 0, 0, 0};
  const sunrealtype t[7]        = {0.3016807020, 0.7850142236, 1.1787361617, 1.4175225230,
                                   1.6497463874, 1.8357471668, 1.9890382064};
  const int corner[7]           = {0, 0, 0, 1, 1, 1, 1};
  const sunrealtype rate[7]     = {-0.34242621, -1.35890125, -3.74947484, -2.42678334,
                                   -2.43720962, -3.15039209, -4.15229273}; /* of the angle, after it */
  Run *run                      = run_start(&model, &body, 2, points, y0, _i, 1e-10);
  for (int i = 0; i < 7; i++) {
    const sunrealtype next = i < 6 ? t[i + 1] : 2, uncertain = 5e-5 * (i + 1);
    run_to(run, (t[i] + next) / 2);
    ck_assert_int_eq(run->nevents, i + 1);
    ck_assert_int_eq(run->event[i].contact, corner[i]);
    ck_assert_double_eq_tol(run->event[i].t, t[i], i == 0 ? 1e-9 : uncertain);
    ck_assert_double_eq_tol(entries(run->y)[5], rate[i], 10 * uncertain);
  }
  run_free(&run);
}
END_TEST

/* ---- a slider-crank with clearance ---- */

/* the catalogue's, with the constants of siconos-tutorials, SliderCrank/SCConst.h */
static ClearanceCrank crank;

static Run *crank_start(int method, sunrealtype tol) {
  const CPEquations model    = clearance_crank_model();
  crank                      = clearance_crank(0.001, 9.81);
  const char *const names[4] = {"upper left", "upper right", "lower left", "lower right"};
  const sunrealtype y0[]     = {0, 0, 0, 150, -75, -0.01};
  CPContactPoint points[4];
  for (int k = 0; k < 4; k++)
    points[k] = (CPContactPoint){CP_SIZED(CPContactPoint), .name = names[k], .normal = k,
                                 .tangent = 4 + k,         .ntangents = 1,   .law.mu = 0.01,
                                 .law.restitution = 0.4};
  return run_start(&model, &crank, 4, points, y0, method, tol);
}

/* Against scipy's DOP853 and impacts of one corner in closed form (slider_crank.py, to 1e-11). Each
 * later impact depends on the velocities at all earlier ones. */
START_TEST(slider_with_clearance_strikes_its_guide) {
  const sunrealtype t[8] = {0.002690903648, 0.002692254311, 0.002692444433, 0.002692505698,
                            0.002692529821, 0.002692540051, 0.002692544525, 0.002692546508};
  const sunrealtype P[8] = {0.00126440153539, 0.00296381949848, 0.00359090204236, 0.00367891237888,
                            0.00364791756287, 0.00347001564416, 0.0033363857792,  0.00313155296524};
  Run *run               = crank_start(_i, 1e-11);
  run_to(run, 0.0026925475);
  ck_assert_int_ge(run->nevents, 8);
  for (int i = 0; i < 8; i++) {
    ck_assert_int_eq(run->event[i].contact, i % 2);
    ck_assert_double_eq_tol(run->event[i].t, t[i], 100 * 1e-11);
    ck_assert_double_eq_tol(run->event[i].impulse[0], P[i], 1e-7);
  }
  run_free(&run);
}
END_TEST

/* About 220 impacts of one or two corners in 0.2 s, with phases of sliding: no corner leaves the
 * guide. */
START_TEST(slider_with_clearance_stays_in_its_guide) {
  Run *run = crank_start(_i, 1e-8);
  for (int k = 1; k <= 200; k++) {
    sunrealtype gap[4];
    run_to(run, 0.001 * k);
    ck_assert_int_eq(clearance_crank_model().p(run->t, entries(run->y), gap, &crank), 0);
    for (int i = 0; i < 4; i++) ck_assert_double_ge(gap[i], -1e-8 * 30); /* for angles up to 30 */
  }
  ck_assert_int_ge(run->nevents, 100);
  run_free(&run);
}
END_TEST

TEST_SUITE(published) {
  Suite *suite = suite_create("contact/published");
  TCase *tc    = tcase_create("published");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, block_falls_on_its_corners_when_siconos_does, 0, METHODS);
  tcase_add_loop_test(tc, slider_with_clearance_strikes_its_guide, 0, METHODS);
  tcase_add_loop_test(tc, slider_with_clearance_stays_in_its_guide, 0, METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}

/* The catalogue's data of its mechanisms against the tables of this folder, and computed references
 * against other ways to compute them. */
#include "models/bending_chain.h"
#include "models/chain.h"
#include "models/chain_reference.h"
#include "models/extrapolation.h"
#include "models/model.h"
#include "models/pendulum.h"
#include "models/rigid_body.h"
#include "reference.h"

#include <math.h>
#include <models/plugin.h>
#include <stdio.h>
#include <stdlib.h>

static CPPlugin *create(const char *name, int nvalues, const sunrealtype *values) {
  const CPPluginType *type = model_find(name);
  sunrealtype all[MODEL_MOST_PARAMETERS];
  char message[200];
  for (int i = 0; i < type->nparameters; i++)
    all[i] = i < nvalues ? values[i] : type->parameters[i].value;
  CPPlugin *model = CPPluginCreate(type, all, test_context, message, sizeof message);
  ck_assert_msg(model != NULL, "%s", message);
  return model;
}

/* ------------------------------------------------------------------------------------- tables -- */

/* Columns: state, others, multipliers */
static const struct {
  const char *name, *file;
  int n, others, nlambda;
  sunrealtype sign; /* of the multipliers against CPMech's */
} tables[] = {{"slider_crank", "slider_crank.csv", 6, 0, 2, 1},
              {"andrews", "andrews.csv", 14, 7, 6, 1},
              {"car_axis", "car_axis.csv", 8, 0, 2, -1},
              {"flexible_crank", "flexible_crank.csv", 14, 7, 3, 1}};
enum { NTABLES = sizeof tables / sizeof tables[0], MOST_LAMBDA = 6 };

/* Both have 16 digits of each number, of the multipliers of Andrews' mechanism and others 16 of the
   largest. */
START_TEST(start_and_end_are_those_of_the_table) {
  const int n = tables[_i].n, others = tables[_i].others, nlambda = tables[_i].nlambda;
  CPPlugin *model = create(tables[_i].name, 0, NULL);
  N_Vector y      = vector_of(n, NULL);
  Sample samples[MAX_SAMPLES];
  const int last = read_table(tables[_i].file, NULL, n, samples, MAX_SAMPLES) - 1;
  ck_assert_double_eq(samples[0].t, 0);
  ck_assert_double_eq(samples[last].t, model->type->t_end);
  for (int k = 0; k < 2; k++) {
    const Sample *s          = &samples[k ? last : 0];
    const sunrealtype *exact = s->more + others;
    sunrealtype lambda[MOST_LAMBDA], largest = 0;
    ck_assert_int_eq(model->type->reference(model, s->t, y), 0);
    for (int i = 0; i < n; i++)
      ck_assert_double_le(fabs(entries(y)[i] - s->y[i]), 1e-15 * (1 + fabs(s->y[i])));
    ck_assert_int_eq(model->type->reference_lambda(model, s->t, lambda), 0);
    for (int i = 0; i < nlambda; i++) largest = fmax(largest, fabs(exact[i]));
    for (int i = 0; i < nlambda; i++)
      ck_assert_double_le(fabs(lambda[i] - tables[_i].sign * exact[i]), 1e-15 * (1 + largest));
  }
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* N windows; the pendulum's closed form is compared in models.c. */
START_TEST(four_bar_moves_as_in_the_table) {
  static const int windows[] = {1, 2, 40};
  const sunrealtype N        = windows[_i];
  CPPlugin *model            = create("four_bar", 1, &N);
  N_Vector y                 = vector_of(model->n, NULL);
  char rows[8];
  Sample samples[MAX_SAMPLES];
  snprintf(rows, sizeof rows, "%d", windows[_i]);
  const int nsamples = read_table("four_bar.csv", rows, 6, samples, MAX_SAMPLES);
  for (int k = 0; k < nsamples; k++) {
    const sunrealtype *s = samples[k].y, *q = entries(y), *u = q + model->n / 2;
    ck_assert_int_eq(model->type->reference(model, samples[k].t, y), 0);
    for (int i = 0; i < 2; i++) { /* B_0 is twice the centre of v_0 */
      ck_assert_double_le(fabs(2 * q[i] - s[2 + i]), model->reference_error);
      ck_assert_double_le(fabs(2 * u[i] - s[4 + i]), model->reference_error);
    }
  }
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

static sunrealtype energy_at(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  return model->type->quantities[0].value(model, 0, t, y);
}

/* P3 is point 2 of the drawing, its velocity that of the end of rod 2, v + omega x arm; rates are about 5 times, the
   energy about 50 times as far off as positions */
START_TEST(bricards_mechanism_moves_as_in_the_table) {
  CPPlugin *model = create("bricard", 0, NULL);
  N_Vector y      = vector_of(model->n, NULL);
  Sample samples[MAX_SAMPLES];
  const int nsamples = read_table("bricard.csv", NULL, 6, samples, MAX_SAMPLES);
  ck_assert_double_eq(samples[nsamples - 1].t, model->type->t_end);
  for (int k = 0; k < nsamples; k++) {
    sunrealtype xyz[18], omega[3];
    ck_assert_int_eq(model->type->reference(model, samples[k].t, y), 0);
    model->type->points(model, samples[k].t, y, xyz);
    rigid_body_omega(model->data, 1, y, omega);
    for (int i = 0; i < 3; i++) {
      const int j = (i + 1) % 3, l = (i + 2) % 3;
      const sunrealtype *r = entries(y) + 7, *v = entries(y) + 35 + 6;
      const sunrealtype rate =
          v[i] + omega[j] * (xyz[6 + l] - r[l]) - omega[l] * (xyz[6 + j] - r[j]);
      ck_assert_double_le(fabs(xyz[6 + i] - samples[k].y[i]), model->reference_error);
      ck_assert_double_le(fabs(rate - samples[k].y[3 + i]), 5 * model->reference_error);
    }
    ck_assert_double_le(fabs(energy_at(model, 0, samples[k].t, y) - samples[k].more[2]),
                        50 * model->reference_error);
  }
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* Columns: r, e, omega, energy, angular momentum. r' has no column: it follows from the others */
START_TEST(heavy_top_moves_as_in_the_table) {
  CPPlugin *model = create("heavy_top", 0, NULL);
  N_Vector y      = vector_of(model->n, NULL);
  Sample samples[MAX_SAMPLES];
  const int nsamples = read_table("heavy_top.csv", NULL, 10, samples, MAX_SAMPLES);
  ck_assert_double_eq(samples[nsamples - 1].t, model->type->t_end);
  for (int k = 0; k < nsamples; k++) {
    const Sample *s = &samples[k];
    ck_assert_int_eq(model->type->reference(model, s->t, y), 0);
    const sunrealtype sign = entries(y)[3] * s->y[3] < 0 ? -1 : 1; /* e and -e are one attitude */
    for (int i = 0; i < 7; i++)
      ck_assert_double_le(fabs(entries(y)[i] - (i < 3 ? 1 : sign) * s->y[i]),
                          model->reference_error);
    for (int i = 7; i < 10; i++)
      ck_assert_double_le(fabs(entries(y)[i + 3] - s->y[i]), 10 * model->reference_error);
    for (int i = 0; i < 2; i++) {
      const sunrealtype value = model->type->quantities[i].value(model, i, s->t, y);
      ck_assert_double_le(fabs(value - s->more[i]), 1e-12 * plugin_scale(model, i));
    }
  }
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* phi, alpha, s and their rates, for which the table has 11 digits. From the reference's own state
 * they are the attitude of the shaft, the tilt of the right rod's axis, the height of the slider,
 * and their rates. Then the energy, 11 digits of 237 J; the table omits the constant potential of
 * the shaft, 0.3 kg at half a metre. */
START_TEST(flyball_governor_moves_as_in_the_table) {
  CPPlugin *model = create("flyball_governor", 0, NULL);
  N_Vector y      = vector_of(model->n, NULL);
  Sample samples[MAX_SAMPLES];
  const int nsamples = read_table("flyball_governor.csv", NULL, 6, samples, MAX_SAMPLES);
  ck_assert_double_eq(samples[nsamples - 1].t, model->type->t_end);
  for (int k = 0; k < nsamples; k += 4) { /* each second; the last one, too */
    const sunrealtype *s = samples[k].y, *q = entries(y), *u = q + 28;
    sunrealtype along[3] = {1, 0, 0};
    ck_assert_int_eq(model->type->reference(model, samples[k].t, y), 0);
    rigid_body_direction(model->data, 2, y, along);
    const sunrealtype moved[6] = {sin(2 * atan2(q[6], q[3]) - s[0]),
                                  atan2(-along[2], hypot(along[0], along[1])) - s[1],
                                  q[9] - s[2],
                                  u[5] - s[3],
                                  u[16] - s[4],
                                  u[8] - s[5]};
    for (int i = 0; i < 6; i++) ck_assert_double_le(fabs(moved[i]), 1e-11 * (1 + fabs(s[i])));
    const sunrealtype shaft = 0.3 * 9.81 * 0.5;
    ck_assert_double_le(fabs(energy_at(model, 0, samples[k].t, y) - shaft - samples[k].more[0]),
                        1e-11 * 237);
  }
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* Numbers of the closed form, evaluated elsewhere; model_check and reference.catalogue check that
 * it solves the equations of motion. */
START_TEST(steady_precession_has_the_known_numbers) {
  static const sunrealtype e_end[4] = {-0.39334600219344983, -0.076413068244890210,
                                       0.24948533466651812, 0.88158779106006667};
  const sunrealtype two             = 2;
  CPPlugin *model                   = create("heavy_top", 1, &two);
  N_Vector y                        = vector_of(model->n, NULL);
  ck_assert_double_eq_tol(entries(model->y0)[11], 189.46, 1e-12);
  ck_assert_double_eq_tol(energy_at(model, 0, 0, model->y0), 8509.33865625, 1e-10);
  ck_assert_double_eq_tol(model->type->quantities[1].value(model, 1, 0, model->y0), 67.25625, 1e-12);
  ck_assert_int_eq(model->type->reference(model, 2, y), 0);
  for (int i = 0; i < 4; i++) ck_assert_double_le(fabs(entries(y)[3 + i] - e_end[i]), 1e-13);
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

/* ------------------------------------------------------------------------------------ drawings -- */

/* Segments that are springs; the flexible crank's rod is bent. */
static const struct {
  const char *name;
  int nsprings, spring[2];
} drawn[] = {{"pendulum", 0, {0}},    {"slider_crank", 1, {3}}, {"andrews", 1, {9}},
             {"car_axis", 2, {0, 1}}, {"four_bar", 0, {0}},     {"bushing_crank", 1, {3}},
             {"knife_edge", 0, {0}},  {"chain", 0, {0}},        {"bending_chain", 0, {0}},
             {"bricard", 0, {0}},     {"heavy_top", 0, {0}},    {"flyball_governor", 2, {5, 6}}};
enum { NDRAWN = sizeof drawn / sizeof drawn[0] };

static sunrealtype segment_length(const CPPlugin *model, int segment, sunrealtype t, N_Vector y) {
  const int *ends  = model->drawing.segment[segment];
  sunrealtype *xyz = calloc(3 * (size_t)model->drawing.npoints, sizeof *xyz), sum = 0;
  ck_assert_ptr_nonnull(xyz);
  model->type->points(model, t, y, xyz);
  for (int k = 0; k < 3; k++) sum += pow(xyz[3 * ends[0] + k] - xyz[3 * ends[1] + k], 2);
  free(xyz);
  return sqrt(sum);
}

/* From the start to the end of the reference, whose error in a length is twice that of its
 * components, apart from roundoff of the points. */
START_TEST(bodies_that_are_drawn_keep_their_lengths) {
  CPPlugin *model         = create(drawn[_i].name, 0, NULL);
  const sunrealtype t_end = model->type->t_end;
  N_Vector end            = vector_copy(model->y0);
  ck_assert_int_eq(model->type->reference(model, t_end, end), 0);
  for (int i = 0; i < model->drawing.nsegments; i++) {
    int spring = 0;
    for (int k = 0; k < drawn[_i].nsprings; k++) spring |= drawn[_i].spring[k] == i;
    const sunrealtype length = segment_length(model, i, 0, model->y0),
                      later  = segment_length(model, i, t_end, end);
    ck_assert_double_gt(length, 0);
    if (spring) ck_assert_double_gt(fabs(later - length), 1e-6);
    else ck_assert_double_le(fabs(later - length), 2 * model->reference_error + 1e-14);
  }
  N_VDestroy(end);
  CPPluginFree(&model);
}
END_TEST

/* ------------------------------------------------------------------------------------- chains -- */

/* Angles against positions, which drift off the constraints: both by extrapolation, which is
 * accurate to 1e-11 with 400 steps (half the steps of either differ by less). The joints'
 * spring-dampers are soft here. */
START_TEST(chain_in_angles_is_the_chain_in_positions) {
  const sunrealtype k = _i ? 300 : 0, d = _i ? 20 : 0, t = 1;
  const ChainOf chain   = {.n = 6, .g = 9.81, .k = k, .d = d};
  BendingChain *bending = bending_chain_create(chain.n, chain.g, k, d);
  N_Vector y = vector_of(24, NULL), positions = vector_of(24, NULL);
  sunrealtype error = 1;
  ck_assert_ptr_nonnull(bending);
  ck_assert_int_eq(chain_reference(&chain, t, 400, y, &error), 0);
  ck_assert_double_le(error, 1e-11);
  bending_chain_initial(bending, 0, positions);
  ck_assert_int_eq(_i ? extrapolate(bending_chain_rhs, bending, 0, t, 400, positions)
                      : extrapolate(chain_rhs, bending->rods, 0, t, 400, positions),
                   0);
  ck_assert_double_le(max_distance(y, positions), 1e-10);
  bending_chain_free(&bending);
  N_VDestroy(y);
  N_VDestroy(positions);
}
END_TEST

START_TEST(chain_of_one_is_the_pendulum) {
  const sunrealtype one = 1;
  CPPlugin *model       = create("chain", 1, &one);
  const Pendulum rod    = {.L = 1, .g = 9.81};
  N_Vector y = vector_of(4, NULL), exact = vector_of(4, NULL);
  pendulum_exact(&rod, 2, entries(exact));
  ck_assert_int_eq(model->type->reference(model, 2, y), 0);
  ck_assert_double_le(max_distance(y, exact), model->reference_error);
  N_VDestroy(y);
  N_VDestroy(exact);
  CPPluginFree(&model);
}
END_TEST

/* Two masses swing chaotically: at late times, half the steps differ. */
START_TEST(reference_that_is_not_good_enough_is_not_known) {
  const sunrealtype two = 2;
  CPPlugin *model       = create("chain", 1, &two);
  N_Vector y            = vector_of(8, NULL);
  ck_assert_int_eq(model->type->reference(model, 2, y), 0);
  ck_assert_int_eq(model->type->reference(model, 60, y), 1);
  ck_assert_double_nan(plugin_error(model, 60, y));
  ck_assert_int_eq(model->type->reference(model, 2, y), 0);
  N_VDestroy(y);
  CPPluginFree(&model);
}
END_TEST

TEST_SUITE(models_catalogue) {
  Suite *suite = suite_create("models_catalogue");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 30);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, start_and_end_are_those_of_the_table, 0, NTABLES);
  tcase_add_loop_test(tcase, four_bar_moves_as_in_the_table, 0, 3);
  tcase_add_test(tcase, bricards_mechanism_moves_as_in_the_table);
  tcase_add_test(tcase, heavy_top_moves_as_in_the_table);
  tcase_add_test(tcase, flyball_governor_moves_as_in_the_table);
  tcase_add_test(tcase, steady_precession_has_the_known_numbers);
  tcase_add_loop_test(tcase, bodies_that_are_drawn_keep_their_lengths, 0, NDRAWN);
  tcase_add_loop_test(tcase, chain_in_angles_is_the_chain_in_positions, 0, 2);
  tcase_add_test(tcase, chain_of_one_is_the_pendulum);
  tcase_add_test(tcase, reference_that_is_not_good_enough_is_not_known);
  suite_add_tcase(suite, tcase);
  return suite;
}

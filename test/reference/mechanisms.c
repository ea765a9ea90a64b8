/* Checks the mechanisms of mechanisms.h: their functions agree with each other, their references
 * agree with the constraints and with d'Alembert's principle, and A has the specified rank all
 * along the motion. And other forms of dependent rows take the same steps. */
#include "mechanisms.h"
#include "model_run.h"

#include <math.h>
#include <models/counters.h>
#include <models/plugin.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

static const struct {
  const CPPluginType *type;
  const char *parameter;
  sunrealtype value;
  int rank;
} known[] = {{&bennett_type, "b", 1, 17},        {&bennett_type, "sparse", 1, 17},
             {&bennett_type, "b", 0, 17},        {&goldberg_type, "b", 1, 23},
             {&sarrus_type, "b", 1, 29},         {&cranks_type, "redundant", 1, 11},
             {&cranks_type, "redundant", 0, 11}, {&platform_type, NULL, 0, 6},
             {&ball_type, "floor", 0, 0},        {&ball_type, "floor", 1, 0}};
enum { KNOWN = sizeof known / sizeof known[0], INSTANTS = 20 };

static CPPlugin *create(int i) {
  const Setting setting = {known[i].parameter, known[i].value};
  return model_of(known[i].type, &setting, known[i].parameter != NULL);
}

static void find_wrong(void *data, const ModelFinding *finding) {
  const CPPlugin *model = data;
  ck_assert_msg(finding->verdict != MODEL_WRONG && finding->verdict != MODEL_DOUBTFUL, "%s, %s: %s",
                model->type->name, finding->what, finding->message);
}

START_TEST(mechanisms_agree_with_themselves) {
  CPPlugin *model              = create(_i);
  const ModelListener listener = {.find = find_wrong, .data = model};
  ck_assert_int_eq(model_check_all(model, &listener), 0);
  CPPluginFree(&model);
}
END_TEST

/* 1e-11: roundoff of rows of sizes up to 10, which also have the velocities, and 10 times the reference's error */
START_TEST(references_satisfy_the_constraints_of_their_rank) {
  CPPlugin *model   = create(_i);
  CPMech mech       = CPPluginMech(model);
  N_Vector y        = vector_copy(model->y0);
  const int bounces = model->nroots > 0;
  for (int k = 0; k <= INSTANTS; k++) {
    const sunrealtype t = k * (bounces ? 3 : model->type->t_end) / INSTANTS;
    CPMechOutput out    = CP_INIT(CPMechOutput);
    ck_assert_int_eq(model->type->reference(model, t, y), 0);
    ck_assert_int_eq(CPMechEvaluate(mech, t, y, &out), CP_SUCCESS);
    ck_assert_int_eq(out.rank, known[_i].rank);
    ck_assert_double_le(fmax(out.position, out.velocity), 1e-11);
    ck_assert_double_le(out.norms, 1e-14);
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPPluginFree(&model);
}
END_TEST

/* The equations of motion, by the sixth-order differences of the reference's velocities: with steps of h = 0.01 their
   error is h^6 / 140 of its seventh derivative, for rates of about 10 per second 1e-12 10^6 10 / 140, and roundoff 1e-12 / h */
START_TEST(references_move_by_the_equations_of_motion) {
  CPPlugin *model = create(_i);
  CPMech mech     = CPPluginMech(model);
  N_Vector y      = vector_copy(model->y0);
  const int nu = (int)model->mech.nu, nq = (int)plugin_num_positions(model);
  sunrealtype udot[48], slope[48]        = {0};
  const sunrealtype t = model->nroots > 0 ? 1 : model->type->t_end / 2, h = 0.01;
  ck_assert_int_le(nu, 48);
  for (int k = -3; k <= 3; k++) {
    if (k == 0) continue;
    ck_assert_int_eq(model->type->reference(model, t + k * h, y), 0);
    for (int i = 0; i < nu; i++) slope[i] += sixth_order(k) * entries(y)[nq + i] / h;
  }
  ck_assert_int_eq(model->type->reference(model, t, y), 0);
  ck_assert_int_eq(CPMechAccelerations(mech, t, y, udot, NULL), CP_SUCCESS);
  for (int i = 0; i < nu; i++)
    ck_assert_msg(fabs(udot[i] - slope[i]) <= 1e-6 * (1 + fabs(udot[i])), "%s: u'_%d is %g, not %g",
                  model->type->name, i, slope[i], udot[i]);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPPluginFree(&model);
}
END_TEST

/* ---- dependent rows in other forms ---- */

static const CPEquations *given;

static sunrealtype factor(int row) { return row % 2 ? 1e3 : 1e-3; }

static int factored_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  const int flag = given->A(t, q, A, data);
  for (int j = 0; j < given->nu; j++)
    for (int i = 0; i < given->np; i++) SM_ELEMENT_D(A, i, j) *= factor(i);
  return flag;
}

static int factored_p(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const int flag = given->p(t, q, p, data);
  for (int i = 0; i < given->np; i++) p[i] *= factor(i);
  return flag;
}

static int factored_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *data) {
  const int flag = given->v(t, q, u, v, data);
  for (int i = 0; i < given->np; i++) v[i] *= factor(i);
  return flag;
}

static int factored_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *data) {
  const int flag = given->b(t, q, u, b, data);
  for (int i = 0; i < given->np; i++) b[i] *= factor(i);
  return flag;
}

/* Steps of RADAU at nine tolerances */
static long int steps_of_radau(const CPPlugin *model) {
  long int steps = 0;
  for (int k = 0; k < 9; k++) {
    const sunrealtype tol = pow(10.0, -4 - k / 2.0);
    sunrealtype t;
    IntegratorCounters stats;
    N_Vector y       = vector_copy(model->y0);
    CPMech mech      = CPPluginMech(model);
    CPIntegrator mem = CPIntegratorCreate("RADAU", test_context);
    CPIntegratorSStolerances(mem, tol, tol);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, model->type->t_end, y, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
    ck_assert_int_eq(stats.nrhsfails, 0); /* The rank does not change. */
    steps += stats.nst;
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    N_VDestroy(y);
  }
  return steps;
}

/* The steps were 1.3 times as many. */
START_TEST(dependent_rows_may_have_factors) {
  CPPlugin *model            = model_of(&cranks_type, NULL, 0);
  model->mech.dynamics_jac   = NULL;
  model->mech.constraint_jac = NULL;
  const CPEquations plain    = model->mech;
  const long int before      = steps_of_radau(model);
  given                      = &plain;
  model->mech.A              = factored_A;
  model->mech.p              = factored_p;
  model->mech.v              = factored_v;
  model->mech.b              = factored_b;
  ck_assert_int_le(labs(steps_of_radau(model) - before), before / 50);
  CPPluginFree(&model);
}
END_TEST

/* Linear solvers find other rows dependent. The steps were 1.2 times as many. */
START_TEST(dependent_rows_may_be_sparse) {
  CPPlugin *dense       = model_of(&bennett_type, &(Setting){"sparse", 0}, 1),
           *sparse      = model_of(&bennett_type, &(Setting){"sparse", 1}, 1);
  const long int before = steps_of_radau(dense);
  ck_assert_int_le(labs(steps_of_radau(sparse) - before), before / 10);
  CPPluginFree(&dense);
  CPPluginFree(&sparse);
}
END_TEST

TEST_SUITE(mechanisms) {
  Suite *suite = suite_create("mechanisms");
  TCase *tcase = tcase_create("mechanisms");
  tcase_set_timeout(tcase, 30);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, mechanisms_agree_with_themselves, 0, KNOWN);
  tcase_add_loop_test(tcase, references_satisfy_the_constraints_of_their_rank, 0, KNOWN);
  tcase_add_loop_test(tcase, references_move_by_the_equations_of_motion, 0, KNOWN);
  tcase_add_test(tcase, dependent_rows_may_have_factors);
  tcase_add_test(tcase, dependent_rows_may_be_sparse);
  suite_add_tcase(suite, tcase);
  return suite;
}

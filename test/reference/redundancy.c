/* Mechanisms described by too many, badly scaled or contradictory constraints, against the same
 * ones described well.
 *
 * Two runs of the same tolerance may differ by 10 times the difference that halving the tolerance
 * makes, the largest over the samples of the run. Figures: CPODES_TEST_FIGURES=1. */
#include "reference.h"

#include "models/chain.h"
#include <cpodes/cpodes_matrixfree.h>
#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ------------------------------------------------------------------------------------ the models -- */

enum { LINKS = 10, MAX_STATE = 4 * LINKS, MAX_ROW = 2 * LINKS, SAMPLES = 8 };

typedef struct {
  const char *name;
  int n, m;
  CVRhsFn f;
  CPConstraintFn c;
  CPConstraintJacFn jac;
  void *data;
  sunrealtype y0[MAX_STATE], t_end;
} Model;

static Mechanism mech;
static Chain *chain;

static Model model_of(MechanismId id, sunrealtype t_end) {
  mech        = mechanism(id);
  Model model = {mech.name, mech.n, mech.m, mech.f, mech.c, mech.jac, &mech.par, {0}, t_end};
  memcpy(model.y0, mech.y0, sizeof mech.y0);
  return model;
}

static Model model_of_chain(void) {
  chain = chain_create(LINKS, SUN_RCONST(9.81));
  ck_assert_ptr_nonnull(chain);
  Model model = {"chain of 10",  4 * LINKS, 2 * LINKS, chain_rhs, chain_constraints,
                 chain_jacobian, chain,     {0},       0.5};
  N_Vector y  = vector_of(model.n, NULL);
  chain_initial(chain, y);
  memcpy(model.y0, entries(y), (size_t)model.n * sizeof *model.y0);
  N_VDestroy(y);
  return model;
}

enum { N_MODELS = 3 };

static Model model_number(int i) {
  return i == 0 ? model_of(PENDULUM, 4) : i == 1 ? model_of(SLIDER_CRANK, 8) : model_of_chain();
}

static void setup(void) {
  test_context_setup();
  chain = NULL;
}

static void teardown(void) {
  chain_free(&chain);
  test_context_teardown();
}

/* ------------------------------------------------------------------------------ other descriptions -- */

/* The rows `copies` times, times row[i], plus offset[i] + rate[i] t; the state in other units, y = unit o z. */
typedef struct {
  const Model *model;
  int copies;
  sunrealtype row[3 * MAX_ROW], offset[3 * MAX_ROW], rate[3 * MAX_ROW], unit[MAX_STATE];
  N_Vector y, ydot, c; /* workspace, in the model's units */
  SUNMatrix G;
} Description;

static Description plain(const Model *model) {
  Description d = {.model  = model,
                   .copies = 1,
                   .y      = vector_of(model->n, NULL),
                   .ydot   = vector_of(model->n, NULL),
                   .c      = vector_of(model->m, NULL),
                   .G      = SUNDenseMatrix(model->m, model->n, test_context)};
  for (int i = 0; i < 3 * MAX_ROW; i++) d.row[i] = 1;
  for (int j = 0; j < MAX_STATE; j++) d.unit[j] = 1;
  return d;
}

static void description_free(Description *d) {
  N_VDestroy(d->y);
  N_VDestroy(d->ydot);
  N_VDestroy(d->c);
  SUNMatDestroy(d->G);
}

static int rows_of(const Description *d) { return d->copies * d->model->m; }

/* d->y <- y of z */
static void own_units(Description *d, N_Vector z) {
  for (int j = 0; j < d->model->n; j++) entries(d->y)[j] = d->unit[j] * entries(z)[j];
}

static int described_rhs(sunrealtype t, N_Vector z, N_Vector zdot, void *data) {
  Description *d = data;
  own_units(d, z);
  const int flag = d->model->f(t, d->y, d->ydot, d->model->data);
  for (int j = 0; j < d->model->n; j++) entries(zdot)[j] = entries(d->ydot)[j] / d->unit[j];
  return flag;
}

static int described_c(sunrealtype t, N_Vector z, N_Vector c, void *data) {
  Description *d = data;
  own_units(d, z);
  const int flag = d->model->c(t, d->y, d->c, d->model->data);
  for (int i = 0; i < rows_of(d); i++)
    entries(c)[i] = d->row[i] * entries(d->c)[i % d->model->m] + d->offset[i] + d->rate[i] * t;
  return flag;
}

/* d->G <- G of the model */
static int own_gradients(Description *d, sunrealtype t, N_Vector z) {
  own_units(d, z);
  SUNMatZero(d->G);
  return d->model->jac(t, d->y, d->c, d->G, d->model->data);
}

static sunrealtype entry(const Description *d, sunindextype i, sunindextype j) {
  return d->row[i] * SM_ELEMENT_D(d->G, i % d->model->m, j) * d->unit[j];
}

/* Dense, or by columns */
static int described_jac(sunrealtype t, N_Vector z, N_Vector c, SUNMatrix G, void *data) {
  Description *d = data;
  (void)c;
  const int flag = own_gradients(d, t, z);
  for (int j = 0; j < d->model->n; j++) {
    if (SUNMatGetID(G) == SUNMATRIX_DENSE)
      for (int i = 0; i < rows_of(d); i++) SM_ELEMENT_D(G, i, j) = entry(d, i, j);
    else
      for (sunindextype k = SM_INDEXPTRS_S(G)[j]; k < SM_INDEXPTRS_S(G)[j + 1]; k++)
        SM_DATA_S(G)[k] = entry(d, SM_INDEXVALS_S(G)[k], j);
  }
  return flag;
}

static int described_Gv(sunrealtype t, N_Vector z, N_Vector v, N_Vector Gv, void *data) {
  Description *d = data;
  const int flag = own_gradients(d, t, z);
  N_VConst(0, Gv);
  for (int j = 0; j < d->model->n; j++)
    for (int i = 0; i < rows_of(d); i++) entries(Gv)[i] += entry(d, i, j) * entries(v)[j];
  return flag;
}

static int described_GTw(sunrealtype t, N_Vector z, N_Vector w, N_Vector GTw, void *data) {
  Description *d = data;
  const int flag = own_gradients(d, t, z);
  N_VConst(0, GTw);
  for (int j = 0; j < d->model->n; j++)
    for (int i = 0; i < rows_of(d); i++) entries(GTw)[j] += entry(d, i, j) * entries(w)[i];
  return flag;
}

static SUNMatrix dense_template(Description *d) {
  return SUNDenseMatrix(rows_of(d), d->model->n, test_context);
}

/* The entries that are not zero at a random state */
static SUNMatrix sparse_template(Description *d) {
  unsigned long long seed = 3;
  SUNMatrix dense         = dense_template(d);
  N_Vector z              = vector_of(d->model->n, NULL);
  random_fill(z, &seed);
  ck_assert_int_eq(described_jac(0, z, NULL, dense, d), 0);
  SUNMatrix sparse = SUNSparseFromDenseMatrix(dense, 0, CSC_MAT);
  ck_assert_ptr_nonnull(sparse);
  N_VDestroy(z);
  SUNMatDestroy(dense);
  return sparse;
}

/* ------------------------------------------------------------------------------------------- runs -- */

/* How the projector gets G */
typedef struct {
  const char *name;
  CPLinSol type;
  int sparse, products, differences;
} Way;

static const Way ways[] = {{"AUTO", CP_LINSOL_AUTO, 0, 0, 0},
                           {"QR", CP_LINSOL_QR, 0, 0, 0},
                           {"SPARSE", CP_LINSOL_SPARSE, 1, 0, 0},
                           {"PRODUCTS", CP_LINSOL_PRODUCTS, 0, 1, 0},
                           {"AUTO by differences", CP_LINSOL_AUTO, 0, 0, 1},
                           {"SPARSE by differences", CP_LINSOL_SPARSE, 1, 0, 1}};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* A run in progress */
typedef struct {
  Description *d;
  CPProjector P;
  CPIntegrator mem;
  N_Vector z;
  SUNMatrix A;
  SUNLinearSolver LS;
  SUNNonlinearSolver fixed_point;
  MessageLog log;
} Going;

enum { MOST = 100 }; /* rows, states */

/* Positions, then velocities: products alone do not tell. */
static void give_levels(Going *g) {
  const Model *model = g->d->model;
  int row[MOST], col[MOST];
  ck_assert(rows_of(g->d) <= MOST && model->n <= MOST);
  for (int i = 0; i < rows_of(g->d); i++) row[i] = i % model->m >= model->m / 2;
  for (int j = 0; j < model->n; j++) col[j] = j >= model->n / 2;
  ck_assert_int_eq(CPProjectorSetLevels(g->P, row, col), CP_SUCCESS);
}

static void set_projector(Going *g, const Way *way) {
  N_Vector c = vector_of(rows_of(g->d), NULL);
  g->P = way->products ? CPProjectorCreateProducts(described_c, described_Gv, described_GTw, g->z,
                                                   c, test_context)
                       : CPProjectorCreate(described_c, g->z, c, test_context);
  ck_assert_ptr_nonnull(g->P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(g->P), message_log, &g->log), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(g->P, g->d), CP_SUCCESS);
  if (way->products) give_levels(g);
  else {
    ck_assert_int_eq(CPProjectorSetLinearSolver(g->P, way->type), CP_SUCCESS);
    SUNMatrix G = way->sparse ? sparse_template(g->d) : dense_template(g->d);
    ck_assert_int_eq(CPProjectorSetJacFn(g->P, way->differences ? NULL : described_jac, G),
                     CP_SUCCESS);
    SUNMatDestroy(G);
  }
  N_VDestroy(c);
}

static void set_tolerances(Going *g, sunrealtype tol) {
  N_Vector atol = vector_of(g->d->model->n, NULL);
  for (int j = 0; j < g->d->model->n; j++) entries(atol)[j] = tol / g->d->unit[j];
  ck_assert_int_eq(CPIntegratorSVtolerances(g->mem, tol, atol), CP_SUCCESS);
  N_VDestroy(atol);
}

static void set_solver(Going *g, int lmm) {
  void *cvode_mem = CPIntegratorGetCVodeMem(g->mem);
  if (lmm == CV_ADAMS) {
    g->fixed_point = SUNNonlinSol_FixedPoint(g->z, 0, test_context);
    ck_assert_int_eq(CPIntegratorSetNonlinearSolver(g->mem, g->fixed_point), CP_SUCCESS);
  } else {
    g->A  = SUNDenseMatrix(g->d->model->n, g->d->model->n, test_context);
    g->LS = SUNLinSol_Dense(g->z, g->A, test_context);
    ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, g->LS, g->A), CV_SUCCESS);
  }
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, g->d), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 100000), CV_SUCCESS);
}

static void begin(Going *g, Description *d, const Way *way, int lmm, sunrealtype tol) {
  memset(g, 0, sizeof *g);
  g->d = d;
  g->z = vector_of(d->model->n, d->model->y0);
  for (int j = 0; j < d->model->n; j++) entries(g->z)[j] /= d->unit[j];
  set_projector(g, way);
  g->mem = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(g->mem), message_log, &g->log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(g->mem, described_rhs, 0, g->z), CP_SUCCESS);
  set_tolerances(g, tol);
  ck_assert_int_eq(CPIntegratorSetProjector(g->mem, g->P), CP_SUCCESS);
  set_solver(g, lmm);
}

static void end(Going *g) {
  CPIntegratorFree(&g->mem);
  CPProjectorFree(&g->P);
  if (g->LS) SUNLinSolFree(g->LS);
  if (g->A) SUNMatDestroy(g->A);
  if (g->fixed_point) SUNNonlinSolFree(g->fixed_point);
  N_VDestroy(g->z);
}

typedef struct {
  sunrealtype y[SAMPLES][MAX_STATE];
  long int steps;
  sunindextype nlevels;
} Trajectory;

static void march(Going *g, Trajectory *trajectory) {
  sunrealtype t;
  for (int s = 0; s < SAMPLES; s++) {
    const sunrealtype tout = g->d->model->t_end * (s + 1) / SAMPLES;
    const int flag         = CPIntegratorEvolve(g->mem, tout, g->z, &t, CV_NORMAL);
    ck_assert_msg(flag == CP_SUCCESS, "%s: %d at t = %g: %s", g->d->model->name, flag, t,
                  CPObjectGetLastMessage(CP_OBJECT(g->mem)));
    own_units(g->d, g->z);
    memcpy(trajectory->y[s], entries(g->d->y), (size_t)g->d->model->n * sizeof(sunrealtype));
  }
  ProjectorCounters stats;
  ck_assert_int_eq(projector_counters(g->P, &stats), CP_SUCCESS);
  trajectory->nlevels = stats.nlevels;
  ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(g->mem), &trajectory->steps),
                   CV_SUCCESS);
}

static Trajectory run(Description *d, const Way *way, int lmm, sunrealtype tol) {
  Going g;
  Trajectory trajectory;
  begin(&g, d, way, lmm, tol);
  march(&g, &trajectory);
  end(&g);
  return trajectory;
}

static sunrealtype difference(const Trajectory *a, const Trajectory *b, int n) {
  sunrealtype largest = 0;
  for (int s = 0; s < SAMPLES; s++)
    for (int j = 0; j < n; j++) {
      ck_assert(isfinite(a->y[s][j]) && isfinite(b->y[s][j]));
      largest = fmax(largest, fabs(a->y[s][j] - b->y[s][j]));
    }
  return largest;
}

/* ------------------------------------------------------------------------- the ladder of tolerances -- */

static const sunrealtype ladder[] = {1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};
enum { RUNGS = sizeof ladder / sizeof ladder[0] };

/* The further checks of a run, by a way of solving */
typedef void (*Look)(Going *g, const Way *way);

typedef struct {
  sunrealtype sum_of_logs,
      largest;       /* the largest ratio to the difference due to half the tolerance */
  sunrealtype steps; /* the largest deviation of the number of steps, |ratio - 1| */
} Figures;

static void add(Figures *f, const Trajectory *t, const Trajectory *known, const Trajectory *half,
                int n) {
  const sunrealtype ratio = difference(t, known, n) / difference(half, known, n);
  f->largest              = fmax(f->largest, ratio);
  f->sum_of_logs += log(fmax(ratio, 1e-16));
  f->steps = fmax(f->steps, fabs((sunrealtype)t->steps / (sunrealtype)known->steps - 1));
}

/* Compares the described problem, solved in each way, with the plain one by AUTO, or with
 * same_way in the same way. */
static void compare(Description *d, int lmm, int same_way, Look look, Figures figures[N_WAYS]) {
  Description good = plain(d->model);
  memset(figures, 0, N_WAYS * sizeof *figures);
  for (int r = 0; r < RUNGS; r++)
    for (int w = 0; w < N_WAYS; w++) {
      const Way *way         = &ways[same_way ? w : 0];
      const Trajectory known = run(&good, way, lmm, ladder[r]);
      const Trajectory half  = run(&good, way, lmm, ladder[r] / 2);
      Going g;
      Trajectory t;
      begin(&g, d, &ways[w], lmm, ladder[r]);
      march(&g, &t);
      ck_assert_msg(t.nlevels == 2, "%s, tol %g: %d levels", ways[w].name, ladder[r],
                    (int)t.nlevels);
      ck_assert_int_eq(g.log.count, 0);
      add(&figures[w], &t, &known, &half, d->model->n);
      look(&g, &ways[w]);
      end(&g);
    }
  description_free(&good);
}

static void tell(const char *what, const Model *model, int lmm, const Figures figures[N_WAYS]) {
  for (int w = 0; wants_figures() && w < N_WAYS; w++)
    printf("%s, %s, %s, %s: difference / that of tol and tol/2: mean %.2g, largest %.2g; steps "
           "differ by %.2g\n",
           what, model->name, method_name(lmm), ways[w].name, exp(figures[w].sum_of_logs / RUNGS),
           figures[w].largest, figures[w].steps);
}

static int method_number(int i) { return i ? CV_ADAMS : CV_BDF; }

/* -------------------------------------------------------------------- every constraint three times -- */

static Description tripled(const Model *model) {
  static const sunrealtype factor[3] = {1, 1e3, -1e-4};
  Description d                      = plain(model);
  d.copies                           = 3;
  for (int i = 0; i < rows_of(&d); i++) d.row[i] = factor[i / model->m];
  return d;
}

/* Two of the three copies of each row depend on the third. */
static void look_at_rank(Going *g, const Way *way) {
  const int m       = g->d->model->m;
  sunindextype rank = -1;
  int dependent[MOST];
  if (way->products) {
    ck_assert_int_eq(CPProjectorGetRank(g->P, &rank, NULL), CP_NOT_SUPPORTED);
  } else {
    ck_assert_int_eq(CPProjectorGetRank(g->P, &rank, dependent), CP_SUCCESS);
    ck_assert_int_eq(rank, m);
    for (int i = 0; i < m; i++)
      ck_assert_int_eq(dependent[i] + dependent[i + m] + dependent[i + 2 * m], 2);
  }
}

START_TEST(constraints_given_three_times_change_no_trajectory) {
  const int lmm = method_number(_i % 2);
  Model model   = model_number(_i / 2);
  Figures figures[N_WAYS];
  Description d = tripled(&model);
  compare(&d, lmm, 0, look_at_rank, figures);
  tell("three times", &model, lmm, figures);
  for (int w = 0; w < N_WAYS; w++) ck_assert_double_le(figures[w].largest, 10);
  description_free(&d);
}
END_TEST

/* -------------------------------------------------------------------- entries over 12 orders and more -- */

/* Rows times 1e-6 ... 1e6, and coordinates (each with its velocity) in units that differ by 1e6 */
static Description badly_scaled(const Model *model) {
  static const sunrealtype factor[5] = {1e-6, 1e6, 1e-2, -1e4, 1};
  Description d                      = plain(model);
  for (int i = 0; i < model->m; i++) d.row[i] = factor[i % 5];
  for (int j = 0; j < model->n; j++) d.unit[j] = j % (model->n / 2) % 2 ? 1e3 : 1e-3;
  return d;
}

static void look_at_nothing(Going *g, const Way *way) {
  (void)g;
  (void)way;
}

/* Other units do not affect CVODES, apart from roundoff, which may change a decision of its step
 * control: one or two of some hundred steps. */
START_TEST(other_units_and_scales_change_no_trajectory) {
  const int lmm = method_number(_i % 2);
  Model model   = model_number(_i / 2);
  Figures figures[N_WAYS];
  Description d = badly_scaled(&model);
  compare(&d, lmm, 1, look_at_nothing, figures);
  tell("other units", &model, lmm, figures);
  for (int w = 0; w < N_WAYS; w++) {
    ck_assert_double_le(figures[w].largest, 10);
    ck_assert_double_le(figures[w].steps, 0.025);
  }
  description_free(&d);
}
END_TEST

/* --------------------------------------------------------------------------------- contradictions -- */

/* Each row twice; the last row of the second copy has another right-hand side */
static Description contradictory(const Model *model, sunrealtype offset, sunrealtype rate) {
  Description d             = plain(model);
  d.copies                  = 2;
  d.offset[rows_of(&d) - 1] = offset;
  d.rate[rows_of(&d) - 1]   = rate;
  return d;
}

static int names(const char *text, int row) {
  char word[32];
  snprintf(word, sizeof word, "constraint %d", row);
  const char *at = strstr(text, word);
  return at && !(at[strlen(word)] >= '0' && at[strlen(word)] <= '9');
}

START_TEST(a_contradiction_at_the_start_is_refused_and_named) {
  const Way *way = &ways[_i % N_WAYS];
  Model model    = model_number(_i / N_WAYS);
  Description d  = contradictory(&model, 1e-3, 0);
  Going g;
  sunrealtype t = -1;
  begin(&g, &d, way, CV_BDF, 1e-6);
  N_Vector start = vector_copy(g.z);
  ck_assert_int_eq(CPIntegratorEvolve(g.mem, 1, g.z, &t, CV_NORMAL), CP_INCONSISTENT_IC);
  ck_assert_int_eq(g.log.code, CP_INCONSISTENT_IC);
  ck_assert_msg(names(g.log.text, rows_of(&d) - 1), "%s", g.log.text);
  ck_assert_mentions(g.log.text, "1.000e-03"); /* the residual */
  ck_assert_double_eq(t, 0);
  ck_assert(same_bits(g.z, start));
  N_VDestroy(start);
  end(&g);
  description_free(&d);
}
END_TEST

/* The copy drifts away with 1e-3 t. Once that exceeds the tolerance, both rows cannot be satisfied;
 * until then it is noise of the projection's size, eps times the tolerance. The state at the end is
 * good, and the run continues without the copy. */
START_TEST(a_contradiction_on_the_way_ends_the_run_and_is_named) {
  const Way *way        = &ways[_i % N_WAYS];
  Model model           = model_number(_i / N_WAYS);
  Description d         = contradictory(&model, 0, 1e-3);
  const int last        = rows_of(&d) - 1;
  const sunrealtype tol = 1e-6;
  Going g;
  sunrealtype t = -1, violation;
  begin(&g, &d, way, CV_BDF, tol);
  const int flag = CPIntegratorEvolve(g.mem, model.t_end, g.z, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_PROJ_INCONSISTENT, "%s, %s: %d at t = %g: %s", model.name, way->name,
                flag, t, g.log.text);
  ck_assert_int_eq(g.log.code, CP_PROJ_INCONSISTENT);
  ck_assert_msg(names(g.log.text, last) || names(g.log.text, model.m - 1), "%s", g.log.text);
  ck_assert_msg(strstr(g.log.text, "residual") || strstr(g.log.text, "violated by"), "%s",
                g.log.text);
  ck_assert_double_gt(t, 0);
  ck_assert_double_lt(t, model.t_end);

  int mask[MOST];
  for (int i = 0; i < rows_of(&d); i++) mask[i] = i != last;
  ck_assert_int_eq(CPProjectorSetActive(g.P, mask), CP_SUCCESS);
  N_Vector ewt = vector_copy(g.z);
  ck_assert_int_eq(CVodeGetErrWeights(CPIntegratorGetCVodeMem(g.mem), ewt), CV_SUCCESS);
  ck_assert_int_eq(CPProjectorGetViolation(g.P, t, g.z, ewt, &violation, NULL), CP_SUCCESS);
  ck_assert_double_le(violation, 1);
  ck_assert_int_eq(CPIntegratorReInit(g.mem, t, g.z), CP_SUCCESS);
  ck_assert_msg(CPIntegratorEvolve(g.mem, model.t_end, g.z, &t, CV_NORMAL) == CP_SUCCESS, "%s",
                g.log.text);
  N_VDestroy(ewt);
  end(&g);
  description_free(&d);
}
END_TEST

TEST_SUITE(redundancy) {
  Suite *suite = suite_create("redundancy");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_loop_test(tcase, constraints_given_three_times_change_no_trajectory, 0, 2 * N_MODELS);
  tcase_add_loop_test(tcase, other_units_and_scales_change_no_trajectory, 0, 2 * N_MODELS);
  tcase_add_loop_test(tcase, a_contradiction_at_the_start_is_refused_and_named, 0,
                      N_WAYS * N_MODELS);
  tcase_add_loop_test(tcase, a_contradiction_on_the_way_ends_the_run_and_is_named, 0,
                      N_WAYS * N_MODELS);
  suite_add_tcase(suite, tcase);
  return suite;
}

/* Levels: positions are projected as if alone, then velocities with the positions held. */
#include "projector/fixture.h"

#include <cpodes/projector/projector_impl.h>

#include <limits.h>
#include <math.h>
#include <models/chain.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

static Case k;

static void project(void) { ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt)); }

/* Copies entries [from, from + n) of x. */
static N_Vector slice(N_Vector x, int from, int n) { return vector_of(n, entries(x) + from); }

/* ---- detection ---- */

/* A column that is in no constraint may have any level. */
static void check_detected(void) {
  const Manifold *mf = k.eq.mf;
  if (mf == &bodies_blocked) { /* blocks (q, u) for each body are not looked for */
    project();
    ck_assert_int_eq(case_stats(&k).nlevels, 1);
    return;
  }
  project();
  ck_assert_msg(case_stats(&k).nlevels == mf->nlevels, "%s: %d levels detected, not %d", mf->name,
                (int)case_stats(&k).nlevels, mf->nlevels);
  for (int i = 0; i < equations_rows(&k.eq); i++)
    ck_assert_msg(k.P->row_level[i] == mf->row_level[i % (mf->m - mf->nnorms)],
                  "%s: row %d is of level %d", mf->name, i, k.P->row_level[i]);
  const int free_from = mf == &pendulum_quz ? 4 : mf->n;
  for (int j = 0; j < free_from; j++)
    ck_assert_msg(k.P->col_level[j] == mf->col_level[j], "%s: column %d is of level %d", mf->name,
                  j, k.P->col_level[j]);
}

/* Index: manifold x setting */
START_TEST(the_levels_of_each_manifold_are_detected) {
  case_open(&k, equations_of(manifolds[_i / n_settings]), settings[_i % n_settings]);
  case_perturb(&k, 1.0e-4, 1);
  check_detected();
  case_close(&k);
}
END_TEST

/* Index: manifold x storage x user's Jacobian or differences. */
START_TEST(sparse_templates_give_the_same_levels) {
  const Setting setting = {.storage = _i / 2 % 2 ? CSC : CSR, .user_jac = _i % 2};
  case_open(&k, equations_of(manifolds[_i / 4]), setting);
  case_perturb(&k, 1.0e-4, 1);
  check_detected();
  case_close(&k);
}
END_TEST

START_TEST(rows_that_are_switched_off_are_of_the_same_level) {
  case_open(&k, equations_of(&crank_qu), settings[_i]);
  case_switch_off(&k, 1u << 1 | 1u << 2);
  check_detected();
  case_close(&k);
}
END_TEST

/* Hanging at rest: half of the Jacobian is zero at this state. */
START_TEST(a_state_with_accidental_zeros_does_not_mislead_the_detection) {
  const sunrealtype rest_qu[] = {0.0, -1.0, 0.0, 0.0};
  case_open(&k, equations_of(&pendulum_qu), settings[_i]);
  memcpy(entries(k.y), rest_qu, sizeof rest_qu);
  check_detected();
  case_close(&k);
}
END_TEST

START_TEST(scaled_and_repeated_rows_do_not_mislead_the_detection) {
  const sunrealtype scale[] = {1.0e3, 1.0e-6, -2.0, 5.0};
  Equations twice           = equations_of(&pendulum_qu);
  twice.copies              = 2;
  twice.scale               = scale;
  case_open(&k, twice, (Setting){.solver = CP_LINSOL_QR, .user_jac = _i});
  check_detected();
  case_close(&k);
}
END_TEST

/* cos(pi/2) is 6e-17 on a computer: entries that should be zero often are not. */
START_TEST(roundoff_in_a_jacobian_is_no_dependence) {
  Equations noisy = equations_of(manifolds[_i]);
  noisy.jac_noise = 1.0e-16;
  case_open(&k, noisy, solvers[0]);
  case_perturb(&k, 1.0e-4, 1);
  check_detected();
  case_set_levels(&k, 1);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, k.eq.mf->nlevels);
  case_close(&k);
}
END_TEST

/* Two rows with the sparsity of position and velocity, but the second is not the rate of the first:
 * the order is unknown, so they are coupled. */
static void eval_unrelated(long double t, const long double *y, long double *c,
                           long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = y[0] * y[0] + y[1] * y[1] - 1.0L;
  c[1]    = (y[0] + 2.0L) * y[2] + (3.0L - y[1] * y[1]) * y[3];
  G[0][0] = 2.0L * y[0];
  G[0][1] = 2.0L * y[1];
  G[1][0] = y[2];
  G[1][1] = -2.0L * y[1] * y[3];
  G[1][2] = y[0] + 2.0L;
  G[1][3] = 3.0L - y[1] * y[1];
}

/* Four positions, two closing equations, as two pendulums have them. */
static void eval_positions_only(long double t, const long double *y, long double *c,
                                long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = y[0] * y[0] + y[1] * y[1] - 1.0L;
  c[1]    = (y[2] - y[0]) * (y[2] - y[0]) + (y[3] - y[1]) * (y[3] - y[1]) - 1.0L;
  G[0][0] = 2.0L * y[0];
  G[0][1] = 2.0L * y[1];
  G[1][2] = 2.0L * (y[2] - y[0]);
  G[1][3] = 2.0L * (y[3] - y[1]);
  G[1][0] = -G[1][2];
  G[1][1] = -G[1][3];
}

/* Coordinates and momenta that all depend on each other: neither half is independent of the other. */
static void eval_mixed(long double t, const long double *y, long double *c,
                       long double G[][MAX_STATES]) {
  (void)t;
  c[0] = -3.0L;
  c[1] = 0.5L;
  for (int j = 0; j < 4; j++) {
    c[0] += y[j] * y[j];
    c[1] += (j % 2 ? -1.0L : 1.0L) * y[j];
    G[0][j] = 2.0L * y[j];
    G[1][j] = j % 2 ? -1.0L : 1.0L;
  }
}

static const Manifold structureless[] = {{.name    = "unrelated",
                                          .n       = 4,
                                          .m       = 2,
                                          .eval    = eval_unrelated,
                                          .point   = {0.6, 0.8, 2.36, -2.6},
                                          .nlevels = 1},
                                         {.name    = "positions_only",
                                          .n       = 4,
                                          .m       = 2,
                                          .eval    = eval_positions_only,
                                          .point   = {0.6, -0.8, 1.4, -1.4},
                                          .nlevels = 1},
                                         {.name    = "mixed",
                                          .n       = 4,
                                          .m       = 2,
                                          .eval    = eval_mixed,
                                          .point   = {0.4114378, 1.0, 1.0, 0.9114378},
                                          .nlevels = 1}};

START_TEST(without_the_structure_of_derivatives_there_is_one_level) {
  for (size_t p = 0; p < sizeof structureless / sizeof structureless[0]; p++) {
    case_open(&k, equations_of(&structureless[p]), settings[_i]);
    check_detected();
    case_close(&k);
  }
}
END_TEST

/* q_0 = q_1 = q_2 = q_3, the same for u, and four more states: with the split into two halves of
 * six, the last row is the rate of another row, too. */
static void eval_equal(long double t, const long double *y, long double *c,
                       long double G[][MAX_STATES]) {
  (void)t;
  for (int i = 0; i < 6; i++) {
    const int j = i < 3 ? i : i + 1;
    c[i]        = y[j] - y[j + 1];
    G[i][j]     = 1.0L;
    G[i][j + 1] = -1.0L;
  }
}

static const Manifold equal = {.name      = "equal",
                               .n         = 12,
                               .m         = 6,
                               .eval      = eval_equal,
                               .nlevels   = 2,
                               .row_level = {0, 0, 0, 1, 1, 1},
                               .col_level = {0, 0, 0, 0, 1, 1, 1, 1}};

START_TEST(linear_constraints_are_split_where_all_positions_have_their_rates) {
  case_open(&k, equations_of(&equal), settings[_i]);
  check_detected();
  case_close(&k);
}
END_TEST

/* ---- norms ---- */

/* y = (x, y, a, b, x', y', a', b'): a pendulum, and a row that the projector adds. */
static void eval_pendulum_beside(const long double *y, long double *c, long double G[][MAX_STATES]) {
  const long double qu[] = {y[0], y[1], y[4], y[5]};
  long double Gqu[2][MAX_STATES];
  memset(Gqu, 0, sizeof Gqu);
  pendulum_qu.eval(0.0L, qu, c, Gqu);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) G[i][j < 2 ? j : j + 2] = Gqu[i][j];
}

static void eval_norm_of_positions(long double t, const long double *y, long double *c,
                                   long double G[][MAX_STATES]) {
  (void)t;
  eval_pendulum_beside(y, c, G);
  c[2]    = sqrtl(y[2] * y[2] + y[3] * y[3]) - 1.0L;
  G[2][2] = y[2] / (c[2] + 1.0L);
  G[2][3] = y[3] / (c[2] + 1.0L);
}

static void eval_norm_of_velocities(long double t, const long double *y, long double *c,
                                    long double G[][MAX_STATES]) {
  (void)t;
  eval_pendulum_beside(y, c, G);
  c[2]    = sqrtl(y[6] * y[6] + y[7] * y[7]) - 1.0L;
  G[2][6] = y[6] / (c[2] + 1.0L);
  G[2][7] = y[7] / (c[2] + 1.0L);
}

/* A norm of positions needs no rate; one of velocities belongs to no known velocity level. */
static const Manifold with_norms[] = {{.name      = "norm_of_positions",
                                       .n         = 8,
                                       .m         = 3,
                                       .eval      = eval_norm_of_positions,
                                       .point     = {0.6, -0.8, 0.8, 0.6, 1.6, 1.2, 0.3, 0.2},
                                       .nlevels   = 2,
                                       .row_level = {0, 1},
                                       .col_level = {0, 0, 0, 0, 1, 1, 1, 1},
                                       .nnorms    = 1,
                                       .norm      = {{2, 2, 1.0}}},
                                      {.name    = "norm_of_velocities",
                                       .n       = 8,
                                       .m       = 3,
                                       .eval    = eval_norm_of_velocities,
                                       .point   = {0.6, -0.8, 0.8, 0.6, 1.6, 1.2, 0.6, 0.8},
                                       .nlevels = 1,
                                       .nnorms  = 1,
                                       .norm    = {{6, 2, 1.0}}}};

START_TEST(norms_are_positions_without_a_rate) {
  for (int p = 0; p < 2; p++) {
    case_open(&k, equations_of(&with_norms[p]), settings[_i]);
    case_perturb(&k, 1.0e-4, 1);
    check_detected();
    case_close(&k);
  }
}
END_TEST

/* For AUTO these are a separate case, without levels. */
START_TEST(norms_alone_are_one_level) {
  case_open(&k, equations_of(&norms_alone), (Setting){.solver = CP_LINSOL_QR});
  case_perturb(&k, 1.0e-4, 1);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 1);
  case_close(&k);
}
END_TEST

/* ---- many constraints ---- */

/* count pendulums of length 1 that swing with speed 1:
 *
 *   0 = x^2 + y^2 - 1,   0 = x x' + y y',   0 = x y' - y x' - 1
 *
 * x and y of number k are y_{q + k stride} and the next one, x' and y' y_{u + k stride} and the next one. */
typedef struct {
  int count, q, u, stride, n;
} Pendulums;

static int pendulums_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  const Pendulums *p = user_data;
  (void)t;
  for (int i = 0; i < p->count; i++) {
    const sunrealtype *q = entries(y) + p->q + i * p->stride, *u = entries(y) + p->u + i * p->stride;
    entries(c)[i]                = q[0] * q[0] + q[1] * q[1] - 1.0;
    entries(c)[p->count + i]     = q[0] * u[0] + q[1] * u[1];
    entries(c)[2 * p->count + i] = q[0] * u[1] - q[1] * u[0] - 1.0;
  }
  return 0;
}

/* Puts a row of four entries, two at each place, into a matrix by rows. */
static void put_row(SUNMatrix G, sunindextype i, int first, const sunrealtype *a, int second,
                    const sunrealtype *b) {
  const sunindextype at = SM_INDEXPTRS_S(G)[i];
  const int swap        = first > second;
  for (int l = 0; l < 2; l++) {
    SM_INDEXVALS_S(G)[at + l]     = (swap ? second : first) + l;
    SM_INDEXVALS_S(G)[at + 2 + l] = (swap ? first : second) + l;
    SM_DATA_S(G)[at + l]          = (swap ? b : a)[l];
    SM_DATA_S(G)[at + 2 + l]      = (swap ? a : b)[l];
  }
}

static int pendulums_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  const Pendulums *p = user_data;
  const int m        = p->count;
  (void)t;
  (void)c;
  for (int i = 0; i <= 3 * m; i++) SM_INDEXPTRS_S(G)[i] = i < m ? 2 * i : 4 * i - 2 * m;
  for (int i = 0; i < m; i++) {
    const int at_q = p->q + i * p->stride, at_u = p->u + i * p->stride;
    const sunrealtype *q = entries(y) + at_q, *u = entries(y) + at_u;
    for (int l = 0; l < 2; l++) {
      SM_INDEXVALS_S(G)[2 * i + l] = at_q + l;
      SM_DATA_S(G)[2 * i + l]      = 2.0 * q[l];
    }
    put_row(G, m + i, at_q, u, at_u, q);
    put_row(G, 2 * m + i, at_q, (sunrealtype[]){u[1], -u[0]}, at_u, (sunrealtype[]){-q[1], q[0]});
  }
  return 0;
}

/* (q, u, z) and (u, q, z) with more z than all others */
static const Pendulums many[] = {{2000, 0, 4000, 2, 208000}, {2000, 4000, 0, 2, 208000}};
enum { N_MANY = sizeof many / sizeof many[0] };

START_TEST(a_large_state_is_split_in_whatever_order_it_is) {
  Pendulums p = many[_i / 2];
  N_Vector y = vector_of(p.n, NULL), c = vector_of(3 * p.count, NULL);
  for (int i = 0; i < p.count; i++) {
    sunrealtype *q = entries(y) + p.q + i * p.stride, *u = entries(y) + p.u + i * p.stride;
    q[0] = cos(i), q[1] = sin(i), u[0] = -q[1], u[1] = q[0];
  }
  SUNMatrix G = SUNSparseMatrix(3 * p.count, p.n, 10 * p.count, CSR_MAT, test_context);
  ck_assert_ptr_nonnull(G);
  pendulums_jac(0.0, y, c, G, &p);
  CPProjector P = CPProjectorCreate(pendulums_c, y, c, test_context);
  ck_assert_int_eq(CPProjectorSetJacFn(P, _i % 2 ? pendulums_jac : NULL, G), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, &p), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  for (int i = 0; i < 3 * p.count; i++) ck_assert_int_eq(P->row_level[i], i >= p.count);
  for (int i = 0; i < p.count; i++)
    for (int l = 0; l < 2; l++) {
      ck_assert_int_eq(P->col_level[p.q + i * p.stride + l], 0);
      ck_assert_int_eq(P->col_level[p.u + i * p.stride + l], 1);
    }
  CPProjectorFree(&P);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(c);
}
END_TEST

/* Rows by differences, columns by the Jacobian. */
START_TEST(a_chain_of_100000_links_is_split) {
  enum { LINKS = 100000 };
  Chain *chain = chain_create(LINKS, 9.81);
  N_Vector y = vector_of(4 * LINKS, NULL), c = vector_of(2 * LINKS, NULL);
  SUNMatrix G = chain_pattern(LINKS, _i ? CSC_MAT : CSR_MAT, test_context);
  ck_assert(chain && G);
  chain_initial(chain, y);
  CPProjector P = CPProjectorCreate(chain_constraints, y, c, test_context);
  ck_assert_int_eq(CPProjectorSetJacFn(P, _i ? chain_sparse_jacobian : NULL, G), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetUserData(P, chain), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  for (int i = 0; i < 2 * LINKS; i++) ck_assert_int_eq(P->row_level[i], i >= LINKS);
  for (int j = 0; j < 4 * LINKS; j++) ck_assert_int_eq(P->col_level[j], j >= 2 * LINKS);
  CPProjectorFree(&P);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(c);
  chain_free(&chain);
}
END_TEST

/* A pendulum whose rod is extended by speed, but only where x > 0.9, which no probe at x = 0.6
 * detects. */
static void eval_hidden_dependence(long double t, const long double *y, long double *c,
                                   long double G[][MAX_STATES]) {
  const long double e = y[0] > 0.9L ? y[0] - 0.9L : 0.0L;
  pendulum_qu.eval(t, y, c, G);
  c[0] -= e * e * y[2];
  G[0][0] -= 2.0L * e * y[2];
  G[0][2] -= e * e;
}

static const Manifold hidden_dependence = {.name      = "hidden_dependence",
                                           .n         = 4,
                                           .m         = 2,
                                           .eval      = eval_hidden_dependence,
                                           .point     = {0.6, -0.8, 1.6, 1.2},
                                           .nlevels   = 2,
                                           .row_level = {0, 1},
                                           .col_level = {0, 0, 1, 1}};

START_TEST(detected_levels_are_given_up_where_the_jacobian_contradicts_them) {
  const sunrealtype beyond[] = {1.0, -0.05, 0.05, 1.0};
  case_open(&k, equations_of(&hidden_dependence), settings[_i]);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 2);
  memcpy(entries(k.y), beyond, sizeof beyond);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 1);
  ck_assert_bound(&k, largest_residual(&hidden_dependence, k.y), 1.0e-9);
  N_Vector v = VECTOR(1.0, 2.0, 3.0, 4.0), v0 = vector_copy(v);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
  ck_assert_bound(&k, tangent_defect(&hidden_dependence, k.y, v0, v), 1.0e-5);
  N_VDestroy(v);
  N_VDestroy(v0);
  case_close(&k);
}
END_TEST

START_TEST(the_levels_in_use_are_unknown_before_the_first_projection) {
  case_open(&k, equations_of(&pendulum_qu), solvers[0]);
  ck_assert_int_eq(case_stats(&k).nlevels, 0);
  case_close(&k);
}
END_TEST

START_TEST(with_products_there_is_one_level_unless_they_are_given) {
  case_open(&k, equations_of(&pendulum_qu), (Setting){.storage = PRODUCTS});
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 1);
  case_set_levels(&k, 1);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 2);
  case_close(&k);
}
END_TEST

START_TEST(given_levels_are_used_until_they_are_taken_back) {
  case_open(&k, equations_of(&pendulum_qu), solvers[_i]);
  case_set_levels(&k, 0);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 1);
  case_set_levels(&k, 1);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 2);
  case_set_levels(&k, 0);
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 1);
  ck_assert_success(&k, CPProjectorSetLevels(k.P, NULL, NULL));
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 2);
  case_close(&k);
}
END_TEST

/* ---- the results of levels ---- */

/* The positions of `both` equal those of `alone`, whose states are columns 0 ... of `both`. */
static void check_positions_alone(const Manifold *both, const Manifold *alone, Setting setting) {
  case_open(&k, equations_of(both), setting);
  case_set_levels(&k, 1);
  case_perturb(&k, 1.0e-3, 2);
  N_Vector expected = slice(k.y, 0, alone->n), ewt = slice(k.ewt, 0, alone->n);
  project();
  N_Vector q = slice(k.y, 0, alone->n);
  case_close(&k);

  case_open(&k, equations_of(alone), setting);
  memcpy(entries(k.y), entries(expected), (size_t)alone->n * sizeof(sunrealtype));
  memcpy(entries(k.ewt), entries(ewt), (size_t)alone->n * sizeof(sunrealtype));
  project();
  /* one of the two may take one more correction, below eps */
  ck_assert_bound(&k, wrms_distance(q, k.y, ewt), k.eps);
  N_VDestroy(q);
  N_VDestroy(expected);
  N_VDestroy(ewt);
  case_close(&k);
}

START_TEST(positions_are_projected_as_if_they_were_alone) {
  check_positions_alone(&pendulum_qu, &circle, settings[_i]);
  check_positions_alone(&crank_qu, &crank_loop, settings[_i]);
  check_positions_alone(&knife_on_circle, &circle, settings[_i]);
}
END_TEST

/* With consistent positions the velocity rows are linear in the velocities, and the nearest
 * velocities are known. */
START_TEST(velocities_are_projected_with_positions_held) {
  for (int p = 0; p < n_manifolds; p++) {
    const Manifold *mf = manifolds[p];
    long double D[MAX_STATES];
    if (mf->nlevels < 2) continue;
    case_open(&k, equations_of(mf), settings[_i]);
    case_set_levels(&k, 1);
    project(); /* positions on the manifold */
    N_Vector before = vector_copy(k.y);
    for (int j = 0; j < mf->n; j++)
      if (mf->col_level[j] == 1) entries(k.y)[j] += 1.0e-2 * cos(3.0 * j);
    N_Vector expected = vector_copy(k.y);
    inverse_metric(k.setting.norm, k.ewt, D);
    reference_project(mf, 1, D, expected);
    project();
    for (int j = 0; j < mf->n; j++) {
      const sunrealtype w = entries(k.ewt)[j];
      if (mf->col_level[j] == 0)
        ck_assert_bound(&k, w * fabs(entries(k.y)[j] - entries(before)[j]), k.eps);
      else /* eps times the condition, below 25; G by differences: 1e-7 of the correction */
        ck_assert_bound(&k, w * fabs(entries(k.y)[j] - entries(expected)[j]),
                        25.0 * k.eps + (k.setting.user_jac ? 0.0 : 1.0e-7 * 1.0e-2 * w));
    }
    N_VDestroy(before);
    N_VDestroy(expected);
    case_close(&k);
  }
}
END_TEST

/* An error in the velocities must not move positions, whatever the weights say. */
START_TEST(velocity_errors_do_not_reach_the_positions) {
  case_open(&k, equations_of(&pendulum_qu), settings[_i]);
  case_set_levels(&k, 1);
  N_Vector v = VECTOR(0.0, 0.0, 1.0, 0.0), q = VECTOR(1.0, 0.0, 0.0, 0.0);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
  ck_assert_double_eq(entries(v)[0], 0.0);
  ck_assert_double_eq(entries(v)[1], 0.0);
  /* An error in the positions moves the velocities that depend on them. */
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, q));
  ck_assert_double_gt(fabs(entries(q)[2]) + fabs(entries(q)[3]), 1.0e-3);
  N_VDestroy(v);
  N_VDestroy(q);
  case_close(&k);
}
END_TEST

/* ---- wrong levels ---- */

typedef struct {
  const char *rule;
  int row[2], col[4];
} Levels;

static const Levels illegal[] = {{"a negative row level", {0, -1}, {0, 0, 1, 1}},
                                 {"a negative column level", {0, 1}, {-1, 0, 1, 1}},
                                 {"a huge level", {0, INT_MAX}, {0, 0, 1, 1}},
                                 {"no columns for level 1", {0, 1}, {0, 0, 0, 0}},
                                 {"no columns for level 0", {0, 1}, {1, 1, 1, 1}}};

START_TEST(illegal_levels_are_refused_and_change_nothing) {
  const Levels *l = &illegal[_i];
  case_open(&k, equations_of(&pendulum_qu), solvers[0]);
  ck_assert_msg(CPProjectorSetLevels(k.P, l->row, l->col) == CP_ILL_INPUT, "%s was accepted",
                l->rule);
  ck_assert_int_eq(k.log.code, CP_ILL_INPUT);
  ck_assert_int_eq(k.log.count, 1);
  ck_assert_mentions(k.log.text, "level");
  project();
  ck_assert_int_eq(case_stats(&k).nlevels, 2); /* still detected */
  case_close(&k);
}
END_TEST

/* Velocity constraints alone: the level of the positions has no rows and holds its columns. */
START_TEST(a_level_without_rows_holds_its_columns) {
  case_open(&k, equations_of(&pendulum_qu), settings[_i]);
  const int row[]        = {1, 1};
  const int col[]        = {0, 1, 1, 1};
  const sunrealtype held = entries(k.y)[0];
  ck_assert_success(&k, CPProjectorSetLevels(k.P, row, col));
  project();
  ck_assert_double_eq(entries(k.y)[0], held);
  case_close(&k);
}
END_TEST

/* Only G can show that a row of positions was declared as one of velocities, so this is detected
 * when G is used. */
START_TEST(levels_that_contradict_the_jacobian_are_refused_by_the_projection) {
  case_open(&k, equations_of(&pendulum_qu), settings[_i]);
  case_perturb(&k, 1.0e-4, 3);
  const int row[] = {1, 0};
  const int col[] = {0, 0, 1, 1};
  N_Vector start  = vector_copy(k.y);
  ck_assert_success(&k, CPProjectorSetLevels(k.P, row, col));
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), CP_ILL_INPUT);
  ck_assert_mentions(k.log.text, "level");
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

TEST_SUITE(levels) {
  Suite *suite = suite_create("levels");
  TCase *tc    = tcase_create("levels");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, the_levels_of_each_manifold_are_detected, 0, n_manifolds * n_settings);
  tcase_add_loop_test(tc, sparse_templates_give_the_same_levels, 0, 4 * n_manifolds);
  tcase_add_loop_test(tc, rows_that_are_switched_off_are_of_the_same_level, 0, n_settings);
  tcase_add_loop_test(tc, a_state_with_accidental_zeros_does_not_mislead_the_detection, 0,
                      n_settings);
  tcase_add_loop_test(tc, scaled_and_repeated_rows_do_not_mislead_the_detection, 0, 2);
  tcase_add_loop_test(tc, roundoff_in_a_jacobian_is_no_dependence, 0, n_manifolds);
  tcase_add_loop_test(tc, without_the_structure_of_derivatives_there_is_one_level, 0, n_settings);
  tcase_add_loop_test(tc, linear_constraints_are_split_where_all_positions_have_their_rates, 0,
                      n_settings);
  tcase_add_loop_test(tc, norms_are_positions_without_a_rate, 0, n_settings);
  tcase_add_test(tc, norms_alone_are_one_level);
  tcase_add_loop_test(tc, a_large_state_is_split_in_whatever_order_it_is, 0, 2 * N_MANY);
  tcase_add_loop_test(tc, a_chain_of_100000_links_is_split, 0, 2);
  tcase_add_loop_test(tc, detected_levels_are_given_up_where_the_jacobian_contradicts_them, 0,
                      n_settings);
  tcase_add_test(tc, the_levels_in_use_are_unknown_before_the_first_projection);
  tcase_add_test(tc, with_products_there_is_one_level_unless_they_are_given);
  tcase_add_loop_test(tc, given_levels_are_used_until_they_are_taken_back, 0, n_solvers);
  tcase_add_loop_test(tc, positions_are_projected_as_if_they_were_alone, 0, n_settings);
  tcase_add_loop_test(tc, velocities_are_projected_with_positions_held, 0, n_settings);
  tcase_add_loop_test(tc, velocity_errors_do_not_reach_the_positions, 0, n_settings);
  tcase_add_loop_test(tc, illegal_levels_are_refused_and_change_nothing, 0,
                      sizeof illegal / sizeof illegal[0]);
  tcase_add_loop_test(tc, a_level_without_rows_holds_its_columns, 0, n_settings);
  tcase_add_loop_test(tc, levels_that_contradict_the_jacobian_are_refused_by_the_projection, 0,
                      n_settings);
  suite_add_tcase(suite, tc);
  return suite;
}

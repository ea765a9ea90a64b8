/* CPModel: the rules for the sizes and functions of equations, and what follows from them: the pairs q_i' = u_j, and
 * the rows of constraints and motions. A model does not change once it is created, but for the number of references, so
 * that threads may share it. Its matrices have a SUNContext of their own, since that of the caller belongs to one
 * thread. */
#include "functions.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rules of a model ---- */

static int isSparse(SUNMatrix S) { return S && SUNMatGetID(S) == SUNMATRIX_SPARSE; }

/* Is M the matrix M_tmpl? */
static int isConstant(const CPEquations *m) {
  return !m->M && m->M_tmpl && !m->inverse && !m->udot;
}

/* Returns what is wrong with the model's choice of functions, or NULL. A function without rows
 * would be ignored, so the user must have forgotten its number of rows. */
static const char *wrongFunctions(const CPEquations *m, sunindextype nv, sunindextype na) {
  const int constant = isConstant(m), operators = !m->M && !m->inverse && !constant,
            columns = !m->M && m->inverse, products = m->Au != NULL,
            no_A = !m->A && !(m->inverse && products);
  const struct {
    int wrong;
    const char *message;
  } rules[] = {
      {operators && !m->udot, "M, a constant M_tmpl, inverse or udot must be given"},
      {operators && (m->A || m->f || m->f_lambda),
       "without M and inverse, udot must not be given together with A, f or f_lambda"},
      {operators && na > 0 && (!m->Au || !m->ATl), "Au and ATl must be given with udot"},
      {m->inverse && m->f, "f must not be given with inverse, which contains the forces"},
      {m->inverse && m->A && (m->Au || m->ATl),
       "either A, or Au and ATl must be given with inverse"},
      {m->inverse && !m->Au != !m->ATl, "Au and ATl must be given together"},
      {columns && isSparse(m->M_tmpl),
       "M must be given with a sparse M_tmpl: inverse and Mu make a dense one"},
      {columns && m->nz > 0 && !m->Mu,
       "M or Mu must be given with inverse if nz > 0: there is no z for which inverse gives M"},
      {!operators && na > nv && no_A, "A must be given if na > nv"},
      {!operators && nv > m->np && no_A && !m->v, "A or v must be given if nv > np"},
      {!operators && na > 0 && !m->A && (isSparse(m->M_tmpl) || isSparse(m->A_tmpl)),
       "A must be given with sparse templates of M or A: products and differences make a dense "
       "one"},
      {m->np > 0 && !m->p, "p must be given if np > 0"},
      {!operators && na > nv && !m->b, "b must be given if na > nv"},
      {m->nz > 0 && !m->zdot, "zdot must be given if nz > 0"},
      {m->lambda_jac && !m->f_lambda, "lambda_jac must not be given without f_lambda"},
      {m->p && m->np == 0, "p must not be given if np = 0: np is the number of its rows"},
      {m->v && nv == 0, "v must not be given if np = nv = 0: nv is the number of its rows"},
      {na == 0 && (m->A || m->Au || m->ATl || m->b),
       "A, b, Au, ATl must not be given if np = nv = na = 0, the numbers of constraints"},
      {(m->stiffness || m->damping) && (operators || m->N || (m->nq > 0 && m->nq != m->nu)),
       "stiffness and damping must be given with M or inverse, and q' = u, only"},
      {(m->free_data && !m->new_data) || (m->free_model_data && !m->model_data),
       "free_data and free_model_data belong to new_data and model_data"},
      {m->nmotions > 0 && operators,
       "motions cannot be prescribed without the matrices M and A: accelerations are the function "
       "udot's"},
      {m->use_rows && !m->udot, "use_rows belongs to udot"},
      {m->zdot && m->nz == 0, "zdot must not be given if nz = 0: nz is the number of its rows"},
  };
  for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++)
    if (rules[k].wrong) return rules[k].message;
  return NULL;
}

static sunindextype larger(sunindextype a, sunindextype b) { return a > b ? a : b; }

static int checkSizes(const CPEquations *m, const char *function) {
  const struct {
    const char *name;
    sunindextype value;
  } sizes[] = {{"nu", m->nu},
               {"nq", m->nq},
               {"nz", m->nz},
               {"np", m->np},
               {"nv", m->nv},
               {"na", m->na},
               {"nquaternions", m->nquaternions},
               {"nnorms", m->nnorms},
               {"nangles", m->nangles},
               {"nmotions", m->nmotions}};
  if (m->nu < 1) return cpRefuse(NULL, function, "nu must be positive: nu = %ld", (long)m->nu);
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
    if (sizes[k].value < 0 || sizes[k].value > INT_MAX / 4)
      return cpRefuse(NULL, function, "%s must be from 0 to %d: %s = %ld", sizes[k].name,
                      INT_MAX / 4, sizes[k].name, (long)sizes[k].value);
  if (m->nq > 0 && m->nq < m->nu)
    return cpRefuse(NULL, function, "nq must be at least nu: nq = %ld, nu = %ld", (long)m->nq,
                    (long)m->nu);
  if (m->nquad < 0 || m->nquad > m->nz)
    return cpRefuse(NULL, function, "nquad must be from 0 to nz: nquad = %ld, nz = %ld",
                    (long)m->nquad, (long)m->nz);
  if (m->work < 0 || m->work > m->nz)
    return cpRefuse(NULL, function, "work must be from 0 to nz: work = %ld, nz = %ld",
                    (long)m->work, (long)m->nz);
  if (!(m->time >= 0.0) || isinf(m->time))
    return cpRefuse(NULL, function, "time must be positive, or 0 for the default: time = %g",
                    m->time);
  const sunindextype nv = larger(m->nv, m->np);
  const char *wrong     = wrongFunctions(m, nv, larger(m->na, nv));
  return wrong ? cpRefuse(NULL, function, "%s", wrong) : CP_SUCCESS;
}

/* ---- matrices ---- */

static void destroyMatrix(void *S) { SUNMatDestroy(S); }

/* Replaces the templates, which stay the caller's, by copies. Those of M and A must have patterns that projections
 * accept. */
static int cloneTemplates(CPModel model, const char *function) {
  CPEquations *m = &model->eq;
  const int nu = (int)m->nu, na = (int)m->na, nz = (int)m->nz, least = nz - (int)m->nquad;
  const int nZ = m->Zz_tmpl && cpTemplateRows(m->Zz_tmpl) == least ? least : nz;
  const struct {
    SUNMatrix *tmpl;
    int rows, cols;
    const char *name;
  } all[] = {
      {&m->M_tmpl, nu, nu, "M_tmpl"},   {&m->A_tmpl, na, nu, "A_tmpl"},
      {&m->K_tmpl, nu, nu, "K_tmpl"},   {&m->C_tmpl, nu, nu, "C_tmpl"},
      {&m->Fz_tmpl, nu, nz, "Fz_tmpl"}, {&m->Bq_tmpl, na, nu, "Bq_tmpl"},
      {&m->Bu_tmpl, na, nu, "Bu_tmpl"}, {&m->Zq_tmpl, nZ, nu, "Zq_tmpl"},
      {&m->Zu_tmpl, nZ, nu, "Zu_tmpl"}, {&m->Zz_tmpl, nZ, nZ, "Zz_tmpl"},
  };
  int flag = CP_SUCCESS;
  for (size_t k = 0; !flag && k < sizeof all / sizeof all[0]; k++) {
    SUNMatrix given = *all[k].tmpl;
    if (!given) continue;
    if (all[k].tmpl == &m->M_tmpl && SUNMatGetID(given) == SUNMATRIX_SPARSE)
      flag = cpCheckMetricTemplate(NULL, given, nu, function);
    else if (all[k].tmpl == &m->A_tmpl)
      flag = cpCheckTemplate(NULL, given, na, nu, all[k].name, function);
    else flag = cpCheckPattern(NULL, given, all[k].rows, all[k].cols, all[k].name, function);
    if (flag) return flag;
    *all[k].tmpl = cpArenaOwn(&model->memory, cpTemplateClone(given, model->ctx), destroyMatrix);
    if (!*all[k].tmpl)
      return cpReport(NULL, CP_MEM_FAIL, function, "no memory for %s", all[k].name);
  }
  return flag;
}

/* X <- X_user [nu x nu], if it is given. Returns 0, or a code that has been reported. */
static int copyMatrix(CPModel model, CPUserMat *X, SUNMatrix *X_user, const char *name,
                      const char *function) {
  const int n = (int)model->eq.nu;
  int i = 0, j = 0;
  if (!*X_user) return CP_SUCCESS;
  const int flag = cpCheckPattern(NULL, *X_user, n, n, name, function);
  if (flag) return flag;
  if (cpUserMatCreate(X, NULL, *X_user, n, n, model->ctx) || cpUserMatOwn(&model->memory, X))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for %s", name);
  memcpy(cpMatrixData(X->S), cpMatrixData(*X_user), cpMatrixEntries(*X_user) * sizeof(sunrealtype));
  *X_user = X->S;
  if (cpUserMatTake(X, &i, &j))
    return cpRefuse(NULL, function, "%s must be finite: entry (%d, %d) is not", name, i, j);
  return CP_SUCCESS;
}

/* Derivatives of forces beside constant springs and dampers have no other entries, unless the user says which. */
static void chooseTemplates(CPEquations *m) {
  if (!m->K_tmpl) m->K_tmpl = m->stiffness ? m->stiffness : m->damping;
  if (!m->C_tmpl) m->C_tmpl = m->damping ? m->damping : m->K_tmpl;
}

static int copyConstants(CPModel model, const CPEquations *given, const char *function) {
  SUNMatrix M    = isConstant(given) ? given->M_tmpl : NULL;
  const CPMat *A = &model->mass.A;
  int i, j, flag = copyMatrix(model, &model->mass, &M, "M_tmpl", function);
  if (!flag && M && cpMechAsymmetric(A, CP_ROUNDED, &i, &j))
    flag = cpRefuse(NULL, function, "M must be symmetric: M(%d, %d) = %g, M(%d, %d) = %g", i, j,
                    cpMatEntry(A, i, j), j, i, cpMatEntry(A, j, i));
  if (!flag)
    flag = copyMatrix(model, &model->stiffness, &model->eq.stiffness, "stiffness", function);
  if (!flag) flag = copyMatrix(model, &model->damping, &model->eq.damping, "damping", function);
  return flag;
}

/* ---- coordinates ---- */

static int overlaps(sunindextype a, int alength, sunindextype b, int blength) {
  return a < b + blength && b < a + alength;
}

static int checkQuaternion(const CPEquations *m, int k, const char *function) {
  const CPQuaternion *Q = &m->quaternions[k];
  if (Q->frame != CP_FRAME_BODY && Q->frame != CP_FRAME_WORLD)
    return cpRefuse(NULL, function, "frame must be CP_FRAME_BODY or CP_FRAME_WORLD, is %d",
                    (int)Q->frame);
  if (Q->first_q < 0 || Q->first_q + 4 > m->nq)
    return cpRefuse(NULL, function, "first_q must be from 0 to nq - 4 = %ld: first_q = %ld",
                    (long)m->nq - 4, (long)Q->first_q);
  if (Q->first_u < 0 || Q->first_u + 3 > m->nu)
    return cpRefuse(NULL, function, "first_u must be from 0 to nu - 3 = %ld: first_u = %ld",
                    (long)m->nu - 3, (long)Q->first_u);
  return CP_SUCCESS;
}

static int byPosition(const void *a, const void *b) {
  const CPQuaternion *Q = a, *R = b;
  return (Q->first_q > R->first_q) - (Q->first_q < R->first_q);
}

static int byVelocity(const void *a, const void *b) {
  const CPQuaternion *Q = a, *R = b;
  return (Q->first_u > R->first_u) - (Q->first_u < R->first_u);
}

/* Copies the quaternions in the order of their coordinates. */
static int takeQuaternions(CPModel model, const char *function) {
  CPEquations *m        = &model->eq;
  const size_t count    = (size_t)m->nquaternions;
  const CPQuaternion *Q = m->quaternions;
  int flag              = CP_SUCCESS;
  if (m->N && count > 0)
    return cpReport(NULL, CP_NOT_SUPPORTED, function,
                    "the model has a function N of its own: norms normalise its quaternions");
  if (!m->N && m->nq != m->nu + m->nquaternions)
    return cpRefuse(
        NULL, function,
        "nq must be nu + the number of quaternions, or a function N be given: nq = %ld, "
        "nu = %ld, %d quaternions",
        (long)m->nq, (long)m->nu, m->nquaternions);
  if (count > 0 && !Q) return cpRefuse(NULL, function, "quaternions must not be NULL");
  for (int k = 0; !flag && k < m->nquaternions; k++) flag = checkQuaternion(m, k, function);
  if (flag) return flag;
  CPQuaternion *sorted = CP_NEW(&model->memory, sorted, count);
  CP_NEW(&model->memory, model->coords.quaternions, count);
  if (cpArenaStatus(&model->memory))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  if (count > 0) memcpy(sorted, Q, count * sizeof *sorted);
  for (int twice = 0; twice < 2; twice++) { /* in the end in the order of the coordinates */
    qsort(sorted, count, sizeof *sorted, twice ? byPosition : byVelocity);
    for (size_t k = 1; k < count; k++) {
      const CPQuaternion *a = &sorted[k - 1], *b = &sorted[k];
      if (overlaps(a->first_q, 4, b->first_q, 4) || overlaps(a->first_u, 3, b->first_u, 3))
        return cpRefuse(NULL, function,
                        "quaternions must not overlap: first_q = %ld, first_u = %ld, and there is "
                        "one with %ld, %ld",
                        (long)b->first_q, (long)b->first_u, (long)a->first_q, (long)a->first_u);
    }
  }
  m->quaternions             = sorted;
  model->coords.nquaternions = m->nquaternions;
  for (size_t k = 0; k < count; k++)
    model->coords.quaternions[k] =
        (CPMechQuaternion){(int)sorted[k].first_q, (int)sorted[k].first_u, sorted[k].frame};
  return CP_SUCCESS;
}

static int takeAngles(CPModel model, const char *function) {
  CPEquations *m = &model->eq;
  if (m->nangles > 0 && !m->angles) return cpRefuse(NULL, function, "angles must not be NULL");
  sunindextype *copy = CP_NEW(&model->memory, copy, m->nangles);
  if (cpArenaStatus(&model->memory))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  for (int k = 0; k < m->nangles; k++) {
    const sunindextype i = m->angles[k];
    if (i < 0 || i >= m->nq)
      return cpRefuse(NULL, function, "angles must be coordinates from 0 to %ld, and one is %ld",
                      (long)m->nq - 1, (long)i);
    copy[k] = i;
  }
  m->angles = copy;
  return CP_SUCCESS;
}

static int takeNorms(CPModel model, const char *function) {
  CPEquations *m = &model->eq;
  if (m->nnorms > 0 && !m->N)
    return cpReport(NULL, CP_NOT_SUPPORTED, function,
                    "norms belong to a function N of the model: quaternions have their own");
  if (m->nnorms > 0 && !m->norms) return cpRefuse(NULL, function, "norms must not be NULL");
  CPFixedNorm *copy = CP_NEW(&model->memory, copy, m->nnorms);
  CP_NEW(&model->memory, model->coords.norms, m->nnorms);
  if (cpArenaStatus(&model->memory))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  for (int k = 0; k < m->nnorms; k++) {
    const CPFixedNorm *n = &m->norms[k];
    if (n->first < 0 || n->length < 1 || n->first + n->length > m->nq)
      return cpRefuse(NULL, function,
                      "components must be from 0 to nq - 1 = %ld: first = %ld, length = %ld",
                      (long)m->nq - 1, (long)n->first, (long)n->length);
    if (!(n->value > 0.0) || !isnormal(n->value * n->value))
      return cpRefuse(NULL, function,
                      "value and its square must be positive and finite: value = %g", n->value);
    copy[k]                = *n;
    model->coords.norms[k] = (CPUnitNorm){(int)n->first, (int)n->length, n->value};
  }
  m->norms             = copy;
  model->coords.nnorms = m->nnorms;
  return CP_SUCCESS;
}

enum { TAKEN = -2 };

/* Finds the pairs q_i' = u_j. */
static int pair(CPModel model) {
  const CPEquations *m      = &model->eq;
  CPMechCoordinates *coords = &model->coords;
  const int nu              = (int)m->nu;
  /* i: the next coordinate; next: the first quaternion that does not begin before it */
  int i = 0, next = 0, *pair = CP_NEW(&model->memory, coords->pair, nu);
  if (!pair) return CP_MEM_FAIL;
  for (int j = 0; j < nu; j++) pair[j] = -1;
  for (int k = 0; k < coords->nquaternions; k++)
    for (int d = 0; d < 3; d++) pair[coords->quaternions[k].first_u + d] = TAKEN;
  for (int j = 0; j < nu && !m->N; j++) {
    if (pair[j] == TAKEN) {
      pair[j] = -1;
      continue;
    }
    for (; next < coords->nquaternions && i == coords->quaternions[next].first_q; next++)
      i += 4; /* sorted by first_q */
    pair[j] = i < m->nq ? i : -1;
    i++;
  }
  coords->in_order = m->nq == m->nu && !m->N;
  for (int j = 0; j < nu; j++) coords->in_order &= pair[j] == j;
  coords->are_all = coords->in_order && m->nz == 0 && m->nmotions == 0;
  return CP_SUCCESS;
}

/* ---- motions ---- */

/* Returns j with q_i' = u_j, or -1 if there is none. */
static int velocityOf(const struct CPModel_ *model, sunindextype i) {
  for (int j = 0; j < (int)model->eq.nu; j++)
    if (model->coords.pair[j] == i) return j;
  return -1;
}

static int checkMotion(CPModel model, int k, int j, const char *function) {
  const CPEquations *m = &model->eq;
  const CPMotion *g    = &m->motions[k];
  const long i         = (long)g->coordinate;
  if (i < 0 || i >= m->nq)
    return cpRefuse(NULL, function, "coordinate must be from 0 to %ld, is %ld", (long)m->nq - 1, i);
  for (int l = 0; l < k; l++)
    if (m->motions[l].coordinate == i)
      return cpRefuse(NULL, function, "coordinate %ld is prescribed already", i);
  if (j < 0)
    return cpRefuse(NULL, function,
                    "coordinate %ld has no velocity u_j of its own, with q_i' = u_j, and cannot be "
                    "prescribed",
                    i);
  if (g->kind != CP_MOTION_DIRECT && g->kind != CP_MOTION_RATE && g->kind != CP_MOTION_FULL)
    return cpRefuse(NULL, function, "kind must be a CPMotionKind, is %d", (int)g->kind);
  if (!g->g) return cpRefuse(NULL, function, "g must not be NULL");
  if (!(g->gd && g->gdd) && !(g->step > 0.0 && isfinite(g->step)))
    return cpRefuse(NULL, function, "step must be positive and finite for differences of %s, is %g",
                    g->gd ? "g'" : "g", g->step);
  return CP_SUCCESS;
}

/* Copies the motions, with their velocities and rows. */
static int takeMotions(CPModel model, const char *function) {
  CPEquations *m        = &model->eq;
  CPMechMotionList *own = &model->motions;
  if (m->nmotions > 0 && !m->motions) return cpRefuse(NULL, function, "motions must not be NULL");
  CPMotion *copy = CP_NEW(&model->memory, copy, m->nmotions);
  CP_NEW(&model->memory, own->list, m->nmotions);
  CP_NEW(&model->memory, own->is_full, m->nu);
  if (cpArenaStatus(&model->memory))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  model->m = (int)m->na;
  for (int k = 0; k < m->nmotions; k++) {
    const CPMotion *g = &m->motions[k];
    const int j = velocityOf(model, g->coordinate), flag = checkMotion(model, k, j, function),
              full = g->kind == CP_MOTION_FULL;
    if (flag) return flag;
    own->list[k]    = (CPPrescribed){.i    = (int)g->coordinate,
                                     .j    = j,
                                     .row  = full ? -1 : model->m++,
                                     .how  = g->kind,
                                     .g    = g->g,
                                     .gd   = g->gd,
                                     .gdd  = g->gdd,
                                     .step = g->step,
                                     .data = g->data};
    own->is_full[j] = (char)full;
    own->nfull += full;
    copy[k] = *g;
  }
  own->count = m->nmotions;
  m->motions = copy;
  return CP_SUCCESS;
}

/* ---- life cycle ---- */

static int createRows(CPModel model) {
  CPArena *arena = &model->memory;
  CP_NEW(arena, model->rows.at_position, model->m);
  CP_NEW(arena, model->rows.at_velocity, model->m);
  for (int which = 0; which < 2; which++) CP_NEW(arena, model->rows.number[which], model->m);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  for (int i = 0; i < model->eq.nv; i++)
    model->rows.at_position[i] = i < model->eq.np, model->rows.at_velocity[i] = 1;
  for (int k = 0; k < model->motions.count; k++) {
    const CPPrescribed *g = &model->motions.list[k];
    if (g->row < 0) continue;
    model->rows.at_position[g->row] = g->how == CP_MOTION_DIRECT;
    model->rows.at_velocity[g->row] = 1;
  }
  for (int which = 0, count = 0; which < 2; which++) {
    const char *there = which == 0 ? model->rows.at_position : model->rows.at_velocity;
    const int first   = count;
    for (int i = 0; i < model->m; i++) model->rows.number[which][i] = there[i] ? count++ : -1;
    model->rows.count[which] = count - first;
  }
  return CP_SUCCESS;
}

static int create(CPModel model, const CPEquations *given, const char *function) {
  CPEquations *m = &model->eq;
  int *z_order   = NULL;
  int *active    = NULL;
  *m             = *given;
  /* Until all has been copied, the data are the caller's. */
  m->free_model_data = NULL;
  m->nq              = m->nq > 0 ? m->nq : m->nu;
  m->nv              = larger(m->nv, m->np);
  m->na              = larger(m->na, m->nv);
  m->time            = m->time > 0.0 ? m->time : 1.0;
  model->constant    = isConstant(given);
  model->operators   = !m->M && !m->inverse && !model->constant;
  if (cpContextCreate(&model->ctx) || cpMemoCreate(&model->memo))
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  int flag = cloneTemplates(model, function);
  if (!flag) flag = copyConstants(model, given, function);
  if (!flag && (m->stiffness || m->damping)) chooseTemplates(m);
  if (!flag) flag = takeQuaternions(model, function);
  if (!flag) flag = takeNorms(model, function);
  if (!flag) flag = takeAngles(model, function);
  if (flag) return flag;
  if (m->z_order) CP_NEW(&model->memory, z_order, m->nz);
  if (m->active) CP_NEW(&model->memory, active, m->na);
  if (pair(model)) return cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  if (z_order && m->nz > 0) memcpy(z_order, m->z_order, (size_t)m->nz * sizeof *z_order);
  m->z_order = z_order;
  if (active) memcpy(active, m->active, (size_t)m->na * sizeof *active);
  m->active = active;
  flag      = takeMotions(model, function);
  if (!flag && createRows(model))
    flag = cpReport(NULL, CP_MEM_FAIL, function, "no memory for a model");
  if (!flag) m->free_model_data = given->free_model_data;
  return flag;
}

CPModel CPModelCreate(const CPEquations *equations) {
  CPEquations given;
  if (cpTake(NULL, &given, equations, __func__) || checkSizes(&given, __func__)) return NULL;
  CPModel model = calloc(1, sizeof *model);
  if (!model) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a model"), NULL;
  atomic_init(&model->references, 1);
  if (create(model, &given, __func__)) CPModelFree(&model);
  return model;
}

CPModel cpModelKeep(CPModel model) {
  atomic_fetch_add(&model->references, 1);
  return model;
}

void CPModelFree(CPModel *address) {
  CPModel model = address ? *address : NULL;
  if (!model) return;
  *address = NULL;
  if (atomic_fetch_sub(&model->references, 1) > 1) return;
  if (model->eq.free_model_data) model->eq.free_model_data(model->eq.model_data);
  cpMemoFree(&model->memo);
  cpArenaFree(&model->memory);
  if (model->ctx) SUNContext_Free(&model->ctx);
  free(model);
}

const CPEquations *CPModelGetEquations(CPModel model) { return model ? &model->eq : NULL; }

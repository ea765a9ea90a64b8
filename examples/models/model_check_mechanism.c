/* Checks of the functions of the CPMech, by CPMechCheck. */
#include "model_check_impl.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

static int is_sparse(const CPEquations *m) {
  return m->M_tmpl && m->A_tmpl && SUNMatGetID(m->M_tmpl) == SUNMATRIX_SPARSE;
}

static int has_N(const CPEquations *m) { return m->N != NULL; }
static int has_operators(const CPEquations *m) { return m->Au || (m->Mu && m->Minv); }
static int has_mass(const CPEquations *m) { return m->M || m->Mu || m->Minv; }
static int has_p(const CPEquations *m) { return m->np > 0; }
static int has_v(const CPEquations *m) { return m->v != NULL; }
static int has_p_and_v(const CPEquations *m) { return m->np > 0 && m->v; }
static int has_b(const CPEquations *m) { return m->b && (m->np > 0 || m->nv > 0); }
static int has_both(const CPEquations *m) { return m->M && m->udot; }
/* For sparse derivatives that are not given the patterns are checked */
static int has_K(const CPEquations *m) { return m->dynamics_jac || is_sparse(m); }
static int has_Fz(const CPEquations *m) { return has_K(m) && m->nz > 0; }
static int has_B(const CPEquations *m) { return m->constraint_jac || is_sparse(m); }
static int has_Z(const CPEquations *m) { return m->auxiliary_jac || (m->zdot && is_sparse(m)); }
static int has_Fl(const CPEquations *m) { return m->lambda_jac != NULL; }
static int has_U(const CPEquations *m) { return m->udot_jac != NULL; }
static int has_Uz(const CPEquations *m) { return m->udot_jac && m->nz > 0; }

#define AT(member) offsetof(CPMechReport, member)

/* In the order in which CPMechCheck compares, whose message is about the first error */
const ModelMechRow model_mech_rows[MODEL_MECH_ROWS] = {
    {"N: its inverse, its transposes", "N", AT(N), has_N, 1},
    {"Au, Mu: transpose, inverse", "operators", AT(ATl), has_operators, 1},
    {"M: symmetric", "M", AT(M), has_mass, 1},
    {"A: derivative of p", "p", AT(A_p), has_p, 1},
    {"A: derivative of v", NULL, AT(A_v), has_v, 1},
    {"v: rate of p", "v", AT(v_p), has_p_and_v, 1},
    {"b: rate of -v", "b", AT(b_v), has_b, 1},
    {"udot: from M, A, f, b", "udot", AT(udot), has_both, 1},
    {"K: derivative of the dynamics", "dynamics_jac", AT(K), has_K, 0},
    {"C: df/du", NULL, AT(C), has_K, 0},
    {"Fz: df/dz", NULL, AT(Fz), has_Fz, 0},
    {"Bq: derivative of b - A u'", "constraint_jac", AT(Bq), has_B, 0},
    {"Bu: db/du", NULL, AT(Bu), has_B, 0},
    {"Zq: dz'/dq", "auxiliary_jac", AT(Zq), has_Z, 0},
    {"Zu: dz'/du", NULL, AT(Zu), has_Z, 0},
    {"Zz: dz'/dz", NULL, AT(Zz), has_Z, 0},
    {"Fl: df/dlambda", "lambda_jac", AT(Fl), has_Fl, 0},
    {"Uq: du'/dq", "udot_jac", AT(Uq), has_U, 0},
    {"Uu: du'/du", NULL, AT(Uu), has_U, 0},
    {"Uz: du'/dz", NULL, AT(Uz), has_Uz, 0},
};

static sunrealtype *error_of(CPMechReport *report, const ModelMechRow *row) {
  return (sunrealtype *)((char *)report + row->error);
}

sunrealtype model_row_error(const CPMechReport *report, const ModelMechRow *row) {
  return *(const sunrealtype *)((const char *)report + row->error);
}

int model_mechanism_is_true(ModelCheck *c, int k, int *compared) {
  CPMechReport report = CP_INIT(CPMechReport);
  const int flag      = CPMechCheck(c->mech, c->time[k], c->state[k], &report);
  *compared =
      !flag || flag == CP_MECH_A_WRONG || flag == CP_MECH_B_WRONG || flag == CP_MECH_DERIV_WRONG;
  for (int i = 0; i < MODEL_MECH_ROWS; i++) {
    const sunrealtype error = model_row_error(&report, &model_mech_rows[i]);
    sunrealtype *most       = error_of(&c->report, &model_mech_rows[i]);
    if (!(error <= *most)) *most = error;
  }
  return !flag || model_contradicts(c, "%s", CPObjectGetLastMessage(CP_OBJECT(c->mech)));
}

/* largest [na]: in, the largest entry of each row of A so far; out, including the entries at (t, y) */
static int take_rows(const ModelCheck *c, sunrealtype t, N_Vector y, sunrealtype *largest) {
  const CPEquations *m = &c->model->mech;
  SUNMatrix A          = m->A_tmpl ? SUNMatClone(m->A_tmpl)
                                   : SUNDenseMatrix(CPMechGetNumMultipliers(c->mech), m->nu, c->model->ctx);
  if (A && m->A_tmpl) SUNMatCopy(m->A_tmpl, A);
  if (A && SUNMatGetID(A) == SUNMATRIX_SPARSE)
    memset(SM_DATA_S(A), 0, SM_NNZ_S(A) * sizeof(sunrealtype));
  else if (A) SUNMatZero(A);
  const int failed = !A || m->A(t, N_VGetArrayPointer(y), A, c->model->data);
  if (!failed && SUNMatGetID(A) == SUNMATRIX_DENSE) {
    for (sunindextype j = 0; j < SM_COLUMNS_D(A); j++)
      for (sunindextype i = 0; i < SM_ROWS_D(A); i++)
        largest[i] = fmax(largest[i], fabs(SM_ELEMENT_D(A, i, j)));
  } else if (!failed) {
    const int by_columns = SM_SPARSETYPE_S(A) == CSC_MAT;
    for (sunindextype j = 0; j < SM_NP_S(A); j++)
      for (sunindextype k = SM_INDEXPTRS_S(A)[j]; k < SM_INDEXPTRS_S(A)[j + 1]; k++) {
        const sunindextype i = by_columns ? SM_INDEXVALS_S(A)[k] : j;
        largest[i]           = fmax(largest[i], fabs(SM_DATA_S(A)[k]));
      }
  }
  if (A) SUNMatDestroy(A);
  return !failed || model_contradicts(c, "A fails near y0, or there is no memory for it");
}

/* Is row i one of a contact that is open at all states? Those of two polyhedra have no gradient until a run brings them near each other and
   finds which features meet. */
static int is_open(const ModelCheck *c, sunindextype i, sunrealtype *p) {
  const CPEquations *m = &c->model->mech;
  for (int k = 0; k < c->model->ncontacts; k++) {
    const CPContactPoint *contact = &c->model->contact[k];
    int open                      = i == contact->normal ||
               (i >= contact->tangent && i < contact->tangent + contact->ntangents);
    if (!open || contact->normal >= m->np || !m->p) continue;
    for (int l = 0; l < c->nstates && open; l++)
      open = !m->p(c->time[l], N_VGetArrayPointer(c->state[l]), p, c->model->data) &&
             p[contact->normal] > 0;
    return open;
  }
  return 0;
}

int model_rows_act(ModelCheck *c) {
  const CPEquations *m  = &c->model->mech;
  const sunindextype na = CPMechGetNumMultipliers(c->mech);
  sunrealtype *largest  = calloc(na + m->np + 1, sizeof *largest);
  int result            = largest ? 1 : model_contradicts(c, "no memory");
  for (int k = 0; k < c->nstates && result; k++)
    result = take_rows(c, c->time[k], c->state[k], largest);
  for (sunindextype i = 0; i < na && result; i++) {
    char name[256] = "";
    /* In joint coordinates no freedom moves what leads out of the plane of a planar loop. */
    if (largest[i] > 0 || m->use_rows || is_open(c, i, largest + na)) continue;
    if (m->row_name && i < m->na) m->row_name(CP_NAME_ROW, i, 0, name, sizeof name, c->model->data);
    else
      snprintf(name, sizeof name, "%s constraint %ld", i < m->np ? "position" : "velocity",
               (long)(i < m->np ? i : i - m->np));
    result = model_contradicts(c, "row %ld of A is zero, so that %s acts on nothing", (long)i, name);
  }
  free(largest);
  return result;
}

/* Checks of G against differences of c. */
#include "model_check_impl.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* A matrix for G as the function of the model gets it: dense, or with the template's index arrays; NULL if out of memory */
static SUNMatrix create_G(const CPPlugin *model) {
  SUNMatrix S =
      model->G_tmpl ? SUNMatClone(model->G_tmpl) : SUNDenseMatrix(model->m, model->n, model->ctx);
  if (S && model->G_tmpl) SUNMatCopy(model->G_tmpl, S);
  if (S && SUNMatGetID(S) == SUNMATRIX_SPARSE)
    memset(SM_DATA_S(S), 0, SM_NNZ_S(S) * sizeof(sunrealtype));
  else if (S) SUNMatZero(S);
  return S;
}

/* G(row, col) at (t, y), or NaN if it cannot be computed */
static sunrealtype entry_of_G(const ModelCheck *c, sunrealtype t, N_Vector y, sunindextype row,
                              sunindextype col) {
  const CPPlugin *model = c->model;
  sunrealtype entry     = NAN;
  SUNMatrix S           = create_G(model);
  if (S && !model->c(t, y, c->res, model->data) && !model->G(t, y, c->res, S, model->data)) {
    N_VConst(0, c->moved);
    N_VGetArrayPointer(c->moved)[col] = 1;
    if (!SUNMatMatvec(S, c->moved, c->res)) entry = N_VGetArrayPointer(c->res)[row];
  }
  if (S) SUNMatDestroy(S);
  return entry;
}

/* The same by differences of c */
static sunrealtype slope_of_c(const ModelCheck *c, sunrealtype t, N_Vector y, sunindextype row,
                              sunindextype col) {
  const CPPlugin *model = c->model;
  sunrealtype *s        = N_VGetArrayPointer(c->moved), value[4];
  const sunrealtype h   = 1e-3 * fmax(fabs(N_VGetArrayPointer(y)[col]), 1e-3);
  for (int k = 0; k < 4; k++) {
    N_VScale(1, y, c->moved);
    s[col] += h * model_steps[k];
    if (model->c(t, c->moved, c->res, model->data)) return NAN;
    value[k] = N_VGetArrayPointer(c->res)[row];
  }
  return model_difference(value, h);
}

static int jacobian_is_true_at(ModelCheck *c, sunrealtype t, N_Vector y) {
  sunrealtype err;
  sunindextype row, col;
  N_VConst(1, c->ewt);
  if (CPProjectorCheckJac(c->P, t, y, c->ewt, &err, &row, &col))
    return model_contradicts(c, "G: %s", CPObjectGetLastMessage(CP_OBJECT(c->P)));
  return model_measured(c, err, 1e-4) ||
         model_contradicts(
             c, "G(%ld, %ld) is %.10g, and the derivative of c %.10g (relative error %.1e)",
             (long)row, (long)col, (double)entry_of_G(c, t, y, row, col),
             (double)slope_of_c(c, t, y, row, col), (double)err);
}

int model_jacobian_is_true(ModelCheck *c) {
  int result = 1;
  for (int k = 0; k < c->nstates && result; k++)
    result = jacobian_is_true_at(c, c->time[k], c->state[k]);
  return result;
}

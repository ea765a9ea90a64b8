/* What a model of the library's own knows of its sensitivities. */
#ifndef CPODES_SENS_MODEL_H
#define CPODES_SENS_MODEL_H

#include <cvodes/cvodes.h>

/* Parameters, of which sensitivities are taken. */
typedef struct {
  sunrealtype *p;    /* the user's array; NULL: not known */
  sunrealtype *pbar; /* [Ns] */
  sunrealtype *kept; /* [Ns] values before CVODES' differences move them */
  int *plist, Ns;    /* [Ns] */
} CPParams;

/* What a model of the library's own knows of its sensitivities. data: that of CPModel. start: its
 * parameters from now on, NULL: none any more. rows: dc/dp into r, of cpRowsVector's; *given 0: by
 * differences. */
typedef struct {
  CVSensRhs1Fn rhs;
  int (*start)(void *data, const CPParams *params);
  int (*rows)(sunrealtype t, N_Vector y, int iS, N_Vector r, int *given, void *data);
  CVRhsFnB adjoint;        /* -J^T l */
  CVQuadRhsFnB quadrature; /* -l^T df/dp */
  const CPParams *(*params)(void *data);
} CPSensModel;

#endif

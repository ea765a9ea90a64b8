/* Tangent and cotangent projections of a mechanical system (projection.c). */
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

/* Vectors are projected with the factors that gave the state, where these are still there. */
static int tangentOfLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *v) {
  return cpTangent(inner, t, x, ewt, v);
}

static int cotangentOfLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *w) {
  return cpCotangent(inner, t, x, ewt, w);
}

typedef int (*LevelCall)(CPWork, sunrealtype, N_Vector, N_Vector, void *);

/* The vector e [nu] at y, in place. */
static int projectVector(CPWork work, int which, sunrealtype t, const sunrealtype *y, N_Vector ewt,
                         LevelCall call, double *e) {
  const CPMech mech = work->P->owner;
  double *x         = N_VGetArrayPointer(work->mech->x);
  if (!cpMechLevelIsOn(work, which)) return CP_SUCCESS;
  N_Vector v = N_VMake_Serial(mech->nu, e, mech->ctx);
  if (!v) return cpReason(work->text, CP_MEM_FAIL, "no memory");
  if (which == CP_POSITIONS) cpMechSpaceStart(mech, y, x);
  else memcpy(x, y + mech->nq, (size_t)mech->nu * sizeof *x);
  const int flag = cpMechLevelCall(work, which, t, y, call, ewt, v);
  N_VDestroy(v);
  return flag;
}

static void clearFull(CPMech mech, double *eu) {
  for (int j = 0; mech->nfull > 0 && j < mech->nu; j++)
    if (mech->is_full[j]) eu[j] = 0.0;
}

int cpMechTangent(CPWork work, sunrealtype t, N_Vector yv, N_Vector ewt, N_Vector vv) {
  const CPMech mech    = work->P->owner;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  int flag             = cpMechProjectionUpdate(work);
  if (flag) return flag;
  sunrealtype *v = N_VGetArrayPointer(vv);
  double *e = work->mech->e, *eu = e + mech->nq, *w = work->mech->q;
  memcpy(e, v, (size_t)mech->n * sizeof *e);
  flag = cpMechKinematics(mech, y, CP_N_INVERSE, e, w); /* nu <= nq */
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  clearFull(mech, w);
  clearFull(mech, eu);
  flag = projectVector(work, CP_POSITIONS, t, y, ewt, tangentOfLevel, w);
  if (!flag && cpMechKinematics(mech, y, CP_N, w, e))
    flag = cpReason(work->text, CP_MECHFUNC_FAIL, "%s", mech->text);
  if (!flag) flag = projectVector(work, CP_VELOCITIES, t, y, ewt, tangentOfLevel, eu);
  if (!flag) memcpy(v, e, (size_t)mech->n * sizeof *e);
  return flag;
}

int cpMechCotangent(CPWork work, sunrealtype t, N_Vector yv, N_Vector ewt, N_Vector wv) {
  const CPMech mech    = work->P->owner;
  const sunrealtype *y = N_VGetArrayPointer(yv);
  int flag             = cpMechProjectionUpdate(work);
  if (flag) return flag;
  sunrealtype *out = N_VGetArrayPointer(wv);
  double *e = work->mech->e, *eu = e + mech->nq, *w = work->mech->q;
  memcpy(e, out, (size_t)mech->n * sizeof *e);
  flag = projectVector(work, CP_VELOCITIES, t, y, ewt, cotangentOfLevel, eu);
  if (!flag && cpMechKinematics(mech, y, CP_N_TRANSPOSE, e, w))
    flag = cpReason(work->text, CP_MECHFUNC_FAIL, "%s", mech->text);
  if (!flag) flag = projectVector(work, CP_POSITIONS, t, y, ewt, cotangentOfLevel, w);
  clearFull(mech, w);
  clearFull(mech, eu);
  if (!flag && cpMechKinematics(mech, y, CP_N_INVERSE_TRANSPOSE, w, e))
    flag = cpReason(work->text, CP_MECHFUNC_FAIL, "%s", mech->text);
  if (!flag) memcpy(out, e, (size_t)mech->n * sizeof *e);
  return flag;
}

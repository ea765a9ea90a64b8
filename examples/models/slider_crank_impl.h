/* Shared by slider_crank.c and bushing_crank.c: partial derivatives of a planar spring-damper and of the
 * crank's pin. */
#ifndef CPODES_EXAMPLES_SLIDER_CRANK_IMPL_H
#define CPODES_EXAMPLES_SLIDER_CRANK_IMPL_H

#include "slider_crank.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { CRANK_MAX_NQ = 4 };

/* The spring-damper's vector e l = d(q), from crank to rod, and its derivatives. Each coordinate rotates or shifts
   another term of d, so that of the second derivatives only d^2 d / dq_j^2 are not zero. */
typedef struct {
  sunrealtype d[2], first[CRANK_MAX_NQ][2], second[CRANK_MAX_NQ][2];
} CrankSpring;

/* At r [nq], y of the slider joint; rod: index of the rod's angle, from 1 on x and y of the joint */
static inline CrankSpring crank_spring(const SliderCrank *s, const sunrealtype *r, sunrealtype y,
                                       int rod) {
  const sunrealtype half = s->a / 2, s1 = sin(r[0]), c1 = cos(r[0]), s2 = sin(r[rod]),
                    c2 = cos(r[rod]);
  CrankSpring spring   = {.d = {r[1] - c2 / 2 - half * c1, y - s2 / 2 - half * s1}};
  spring.first[0][0]   = half * s1;
  spring.first[0][1]   = -half * c1;
  spring.second[0][0]  = half * c1;
  spring.second[0][1]  = half * s1;
  spring.first[1][0]   = 1;
  if (rod == 3) spring.first[2][1] = 1;
  spring.first[rod][0]  = s2 / 2;
  spring.first[rod][1]  = -c2 / 2;
  spring.second[rod][0] = c2 / 2;
  spring.second[rod][1] = s2 / 2;
  return spring;
}

/* Of f_j = -T l_j, T = k (l - l0) + c l',  l_j = e . d_j,  l_ij = (d_i . d_j - l_i l_j) / l + e . d_ij:
     df_j/dq_i = -(k l_i + c sum_m l_mi u_m) l_j - T l_ij,   df_j/du_i = -c l_i l_j
   added to K and C [nq x nq] */
static inline void crank_spring_partials(const SliderCrank *s, const CrankSpring *spring, int nq,
                                         const sunrealtype *u, SUNMatrix K, SUNMatrix C) {
  const sunrealtype *d = spring->d, l = hypot(d[0], d[1]);
  sunrealtype first[CRANK_MAX_NQ], second[CRANK_MAX_NQ][CRANK_MAX_NQ], l_dot = 0;
  for (int j = 0; j < nq; j++) {
    const sunrealtype *dj = spring->first[j];
    first[j]              = (d[0] * dj[0] + d[1] * dj[1]) / l;
    l_dot += first[j] * u[j];
  }
  for (int i = 0; i < nq; i++)
    for (int j = 0; j < nq; j++) {
      const sunrealtype *di = spring->first[i], *dj = spring->first[j], *dii = spring->second[i];
      second[i][j] = (di[0] * dj[0] + di[1] * dj[1] - first[i] * first[j]) / l;
      if (i == j) second[i][j] += (d[0] * dii[0] + d[1] * dii[1]) / l;
    }
  const sunrealtype tension = s->k * (l - s->l0) + s->c * l_dot;
  for (int i = 0; i < nq; i++) {
    sunrealtype rate = s->k * first[i]; /* dT/dq_i */
    for (int m = 0; m < nq; m++) rate += s->c * second[m][i] * u[m];
    for (int j = 0; j < nq; j++) {
      SM_ELEMENT_D(K, j, i) -= rate * first[j] + tension * second[i][j];
      SM_ELEMENT_D(C, j, i) -= s->c * first[i] * first[j];
    }
  }
}

/* The pin's constraints 0 = (x, y) - (cos p, sin p) - a (cos q, sin q), q: angle 0, p: angle `rod`:
     K -= d(A^T lambda)/dq */
static inline void crank_pin_stiffness(const SliderCrank *s, const sunrealtype *r, int rod,
                                       const sunrealtype *lambda, SUNMatrix K) {
  SM_ELEMENT_D(K, 0, 0) -= s->a * (cos(r[0]) * lambda[0] + sin(r[0]) * lambda[1]);
  SM_ELEMENT_D(K, rod, rod) -= cos(r[rod]) * lambda[0] + sin(r[rod]) * lambda[1];
}

/* Bq = d(b - A a)/dq, Bu = db/du,  b = -(cos p, sin p) p'^2 - a (cos q, sin q) q'^2 */
static inline void crank_pin_partials(const SliderCrank *s, const sunrealtype *r,
                                      const sunrealtype *u, const sunrealtype *udot, int rod,
                                      SUNMatrix Bq, SUNMatrix Bu) {
  const int angle[2]          = {0, rod};
  const sunrealtype length[2] = {s->a, 1};
  for (int i = 0; i < 2; i++) {
    const int j         = angle[i];
    const sunrealtype c = length[i] * cos(r[j]), sn = length[i] * sin(r[j]);
    SM_ELEMENT_D(Bq, 0, j) = sn * u[j] * u[j] - c * udot[j];
    SM_ELEMENT_D(Bq, 1, j) = -c * u[j] * u[j] - sn * udot[j];
    SM_ELEMENT_D(Bu, 0, j) = -2 * c * u[j];
    SM_ELEMENT_D(Bu, 1, j) = -2 * sn * u[j];
  }
}

#endif

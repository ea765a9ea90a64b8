/* Functions of up to six variables by their values, and first and second derivatives. */
#ifndef CPODES_BODIES_TAYLOR_H
#define CPODES_BODIES_TAYLOR_H

#include <math.h>
#include <sundials/sundials_types.h>

enum { VARIABLES = 6 };

/* `n` variables; `degree` of derivatives: 0 none, 1 first ones, 2 second ones, too. Those of operands are equal; what is beyond
 * them is not used. */
typedef struct {
  int n, degree;
  sunrealtype v, d[VARIABLES], dd[VARIABLES][VARIABLES];
} Taylor;

/* p <- v. Structures are large, and assignments would copy derivatives that are not there. */
static inline void taylorSet(int n, int degree, sunrealtype v, Taylor *p) {
  p->n = n, p->degree = degree, p->v = v;
  for (int k = 0; k < n && degree > 0; k++) {
    p->d[k] = 0;
    for (int l = 0; l < n && degree > 1; l++) p->dd[k][l] = 0;
  }
}

static inline Taylor taylorConstant(int n, int degree, sunrealtype v) {
  Taylor p;
  taylorSet(n, degree, v, &p);
  return p;
}

/* p <- a */
static inline void taylorCopy(const Taylor *a, Taylor *p) {
  p->n = a->n, p->degree = a->degree, p->v = a->v;
  for (int k = 0; k < a->n && a->degree > 0; k++) {
    p->d[k] = a->d[k];
    for (int l = 0; l < a->n && a->degree > 1; l++) p->dd[k][l] = a->dd[k][l];
  }
}

/* p += c a */
static inline void taylorAdd(sunrealtype c, const Taylor *a, Taylor *p) {
  p->v += c * a->v;
  for (int k = 0; k < p->n && p->degree > 0; k++) {
    p->d[k] += c * a->d[k];
    for (int l = 0; l < p->n && p->degree > 1; l++) p->dd[k][l] += c * a->dd[k][l];
  }
}

/* p += c a b */
static inline void taylorAddProduct(sunrealtype c, const Taylor *a, const Taylor *b, Taylor *p) {
  const sunrealtype ca = c * a->v, cb = c * b->v;
  p->v += ca * b->v;
  for (int k = 0; k < p->n && p->degree > 0; k++) {
    const sunrealtype ak = c * a->d[k], bk = c * b->d[k];
    p->d[k] += a->d[k] * cb + ca * b->d[k];
    for (int l = 0; l < p->n && p->degree > 1; l++)
      p->dd[k][l] += a->dd[k][l] * cb + ak * b->d[l] + a->d[l] * bk + ca * b->dd[k][l];
  }
}

/* f(a), with f, f', f'' at a */
static inline Taylor taylorOf(const Taylor *a, sunrealtype f, sunrealtype f1, sunrealtype f2) {
  Taylor p;
  p.n = a->n, p.degree = a->degree, p.v = f;
  for (int k = 0; k < p.n && p.degree > 0; k++) {
    p.d[k] = f1 * a->d[k];
    for (int l = 0; l < p.n && p.degree > 1; l++)
      p.dd[k][l] = f1 * a->dd[k][l] + f2 * a->d[k] * a->d[l];
  }
  return p;
}

/* sqrt(a), whose derivatives count as 0 at 0 */
static inline Taylor taylorRoot(const Taylor *a) {
  const sunrealtype l = sqrt(fmax(0, a->v)), r = l > 0 ? 1 / l : 0;
  return taylorOf(a, l, r / 2, -r * r * r / 4);
}

static inline Taylor taylorInverse(const Taylor *a) {
  return taylorOf(a, 1 / a->v, -1 / (a->v * a->v), 2 / (a->v * a->v * a->v));
}

/* sum_k a_k b_k of `count` components */
static inline Taylor taylorDot(int count, const Taylor *a, const Taylor *b) {
  Taylor p = taylorConstant(a->n, a->degree, 0);
  for (int k = 0; k < count; k++) taylorAddProduct(1, &a[k], &b[k], &p);
  return p;
}

typedef Taylor TaylorVector[3];

/* c += f (a x b) */
static inline void taylorAddCross(sunrealtype f, const TaylorVector a, const TaylorVector b,
                                  TaylorVector c) {
  for (int k = 0; k < 3; k++) {
    taylorAddProduct(f, &a[(k + 1) % 3], &b[(k + 2) % 3], &c[k]);
    taylorAddProduct(-f, &a[(k + 2) % 3], &b[(k + 1) % 3], &c[k]);
  }
}
/* y += f c x */
static inline void taylorAddScaled(sunrealtype f, const Taylor *c, const TaylorVector x,
                                   TaylorVector y) {
  for (int k = 0; k < 3; k++) taylorAddProduct(f, c, &x[k], &y[k]);
}
/* y += f x */
static inline void taylorAddVector(sunrealtype f, const TaylorVector x, TaylorVector y) {
  for (int k = 0; k < 3; k++) taylorAdd(f, &x[k], &y[k]);
}

#endif

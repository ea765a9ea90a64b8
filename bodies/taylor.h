/* Functions of up to six variables by their values, and first and second derivatives. */
#ifndef CPODES_BODIES_TAYLOR_H
#define CPODES_BODIES_TAYLOR_H

#include <sundials/sundials_types.h>

enum { VARIABLES = 6 };

/* `n` variables; `degree` of derivatives: 0 none, 1 first ones, 2 second ones, too. Those of operands are equal; what is beyond
 * them is not used. */
typedef struct {
  int n, degree;
  sunrealtype v, d[VARIABLES], dd[VARIABLES][VARIABLES];
} Taylor;

static inline Taylor taylorConstant(int n, int degree, sunrealtype v) {
  Taylor p;
  p.n = n, p.degree = degree, p.v = v;
  for (int k = 0; k < n && degree > 0; k++) {
    p.d[k] = 0;
    for (int l = 0; l < n && degree > 1; l++) p.dd[k][l] = 0;
  }
  return p;
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

#endif

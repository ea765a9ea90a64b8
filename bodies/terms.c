/* Terms of rows and laws: functions of measures, and sums of them. */
#include "following.h"
#include "formulas.h"
#include "ropes.h"
#include "tree.h"

#include <math.h>

int bodiesTermFunction(const Mechanism *b, const Term *term, sunrealtype s, Order order,
                       sunrealtype *f) {
  const sunrealtype x = term->sense * s;
  f[0] = f[1] = f[2] = f[3] = 0;
  int flag                  = bodiesMotion(b, term->f, x, f);
  if (!flag && order == ACCELERATION) flag = bodiesThird(b, term->f, x, &f[3]);
  f[1] *= term->sense, f[3] *= term->sense;
  return flag;
}

void bodiesApply(const Mechanism *b, const Term *term, Mask mask, Order order, Jet *jet) {
  const Space *s = &b->space;
  if (term->counts && b->tree) {
    const Tree *tree = b->tree;
    jet->s           = term->sign * bodiesWhole(b, tree->known, term->coordinate);
  }
  if (!term->f) return;
  const Mask all = bodiesTermMask(b, term);
  const Jet none = {0};
  sunrealtype f[4];
  if (bodiesTermFunction(b, term, jet->s, order, f))
    f[0] = f[1] = NAN; /* reported by the row or law as a recoverable failure */
  const Function F = {.S = f[1], .SS = f[2], .SSS = f[3]};
  if (order == HESSIAN) /* of the measure itself, only some groups have been written */
    EACH_DIRECTION(s, all.g, i)
  EACH_DIRECTION(s, all.g, j)
  if (!(mask.H & (1u << (4 * (i / 3) + j / 3)))) jet->H[i][j] = 0;
  bodiesCompose(s, &F, &none, all, order, jet);
  jet->s = f[0];
}

void bodiesSum(const Mechanism *b, int first, int n, int rope, Order order, sunrealtype *x,
               sunrealtype *rate, sunrealtype *acc) {
  Jet jet;
  *x = *rate = 0;
  if (acc) *acc = 0;
  for (int k = first; k < first + n; k++) {
    const sunrealtype c = bodiesWeight(b, &b->term[k]);
    bodiesTermJet(b, &b->term[k], order, &jet);
    *x += c * jet.s;
    *rate += c * jet.rate;
    if (acc) *acc += c * jet.acc;
  }
  if (rope) *x += b->term[first].coef * bodiesRopeTurns(b, first, n);
}

void bodiesLawSum(const Mechanism *b, const Law *law, Order order, sunrealtype *x,
                  sunrealtype *rate, sunrealtype *acc) {
  bodiesSum(b, law->term, law->nterms, 0, order, x, rate, acc);
}

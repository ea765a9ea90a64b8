/* Terms of rows and laws: functions of measures, and sums of them. */
#include "following.h"
#include "formulas.h"
#include "ropes.h"
#include "tree.h"

#include <float.h>
#include <math.h>

int bodiesThird(CPFunction f, sunrealtype x, sunrealtype *d) {
  const sunrealtype h = cbrt(DBL_EPSILON) * fmax(1, fabs(x)), at[2] = {x - h, x + h};
  sunrealtype curve[2] = {0, 0}, v, g;
  for (int k = 0; k < 2; k++)
    if (CPFunctionEvaluate(f, &at[k], &v, &g, &curve[k])) return 1;
  *d = (curve[1] - curve[0]) / (at[1] - at[0]);
  return 0;
}

void bodiesApply(const Mechanism *b, const Term *term, Mask mask, Order order, Jet *jet) {
  const Space *s = &b->space;
  if (term->counts && b->tree) {
    const Tree *tree = b->tree;
    jet->s           = term->sign * tree->known[treeCoordinate(tree, term->velocity)];
  }
  if (!term->f) return;
  const CPFunction f      = term->f->f[0];
  const sunrealtype sense = term->sense, x = sense * jet->s;
  const Mask all    = bodiesTermMask(b, term);
  const Jet none    = {0};
  sunrealtype value = 0, by = 0, curve = 0, bend = 0;
  int flag = CPFunctionEvaluate(f, &x, &value, &by, &curve);
  if (!flag && b->follow)
    flag = bodiesAddMoved(b, term->f->number, 0, &x, NULL, &value, &by, &curve);
  if (!flag && order == ACCELERATION) flag = bodiesThird(f, x, &bend);
  if (flag) value = by = NAN; /* reported by the row or law as a recoverable failure */
  const Function F = {.S = sense * by, .SS = curve, .SSS = sense * bend};
  if (order == HESSIAN) /* of the measure itself, only some groups have been written */
    EACH_DIRECTION(s, all.g, i)
  EACH_DIRECTION(s, all.g, j)
  if (!(mask.H & (1u << (4 * (i / 3) + j / 3)))) jet->H[i][j] = 0;
  bodiesCompose(s, &F, &none, all, order, jet);
  jet->s = value;
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

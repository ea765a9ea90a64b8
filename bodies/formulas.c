/* Functions of files as motions, laws and forces. The description and its models own them together, since models call them. */
#include "formulas.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct Formulas_ {
  atomic_int owners;
  Formula *first;
} Formulas;

Formula *bodiesNewFormula(Mechanism *m) {
  Formula *formula = calloc(1, sizeof *formula);
  if (!m->formulas && (m->formulas = calloc(1, sizeof *m->formulas))) m->formulas->owners = 1;
  if (!formula || !m->formulas) return free(formula), NULL;
  formula->next      = m->formulas->first;
  m->formulas->first = formula;
  return formula;
}

void bodiesShareFormulas(Mechanism *m) {
  if (m->formulas) atomic_fetch_add(&m->formulas->owners, 1);
}

void bodiesFreeFormulas(Mechanism *m) {
  Formulas *all = m->formulas;
  m->formulas   = NULL;
  if (!all || atomic_fetch_sub(&all->owners, 1) > 1) return;
  for (Formula *formula = all->first, *next; formula; formula = next) {
    next = formula->next;
    for (int k = 0; k < 3; k++) CPFunctionFree(&formula->f[k]);
    free(formula);
  }
  free(all);
}

int bodiesMotionOf(sunrealtype t, sunrealtype *g, void *formula) {
  return CPFunctionEvaluate(((Formula *)formula)->f[0], &t, g, g + 1, g + 2);
}

int bodiesLawOf(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *formula) {
  const sunrealtype at[3] = {t, x, rate};
  sunrealtype g[3];
  const int flag = CPFunctionEvaluate(((Formula *)formula)->f[0], at, T, g, NULL);
  if (!flag) T[1] = g[1], T[2] = g[2];
  return flag;
}

int bodiesForceOf(sunrealtype t, const sunrealtype *x, const sunrealtype *v, sunrealtype *F,
                  sunrealtype *Fx, sunrealtype *Fv, void *formula) {
  const sunrealtype at[7] = {t, x[0], x[1], x[2], v[0], v[1], v[2]};
  sunrealtype g[7];
  for (int k = 0; k < 3; k++) {
    const CPFunction f = ((Formula *)formula)->f[k];
    F[k]               = 0;
    if (!f) continue;
    const int flag = CPFunctionEvaluate(f, at, &F[k], g, NULL);
    if (flag) return flag;
    for (int j = 0; j < 3; j++) Fx[3 * k + j] = g[1 + j], Fv[3 * k + j] = g[4 + j];
  }
  return 0;
}

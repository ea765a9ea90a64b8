/* Couplers: rows that couple coordinates of joints, ratio_1 x_1 + ratio_2 f(x_2) + ratio_3 x_3 + ... = offset. */
#include "elements.h"
#include "formulas.h"

#include <string.h>

static const char *const ratio_names[CP_MOST_COUPLED] = {
    "ratio_1", "ratio_2", "ratio_3", "ratio_4", "ratio_5", "ratio_6", "ratio_7", "ratio_8"};

int bodiesFindCoordinates(CPBodies b, const char *name, int n, const CPCoordinate *of,
                          const sunrealtype *ratio, Term *term) {
  for (int k = 0; k < n; k++) {
    const int joint = bodiesNamedCoordinate(b, name, of[k], &term[k]);
    if (joint < 0) return joint;
    if (ratio[k] == 0 || !isfinite(ratio[k]))
      return refused(b, CP_ILL_INPUT, "%s: ratios must not be 0, and one is %g", name,
                     (double)ratio[k]);
  }
  return CP_SUCCESS;
}

int bodiesCheckDifferent(CPBodies b, const char *name, int n, const Term *term) {
  for (int k = 1; k < n; k++)
    for (int i = 0; i < k; i++)
      if (term[i].pair == term[k].pair && !memcmp(&term[i].m, &term[k].m, sizeof term[i].m))
        return refused(b, CP_ILL_INPUT,
                       n == 2 ? "%s: the two coordinates must differ"
                              : "%s: all coordinates must differ",
                       name);
  return CP_SUCCESS;
}

void bodiesTakeRatios(CPBodies b, int text, int n, const sunrealtype *ratio, Term *term) {
  for (int k = 0; k < n; k++) term[k].ratio = bodiesTakeParam(b, text, ratio_names[k], ratio[k]);
}

int bodiesAddCoupler(CPBodies b, const CPCoupler *coupler) {
  const char *name = coupler->head.name;
  const int n      = 2 + coupler->nmore;
  CPCoordinate of[CP_MOST_COUPLED];
  sunrealtype ratio[CP_MOST_COUPLED];
  Term term[CP_MOST_COUPLED];
  Formula *formula = NULL;
  int flag = bodiesCheckName(b, name, 1 + CP_MOST_COUPLED), angles = 0, whole = 1;
  if (flag) return flag;
  if ((flag = bodiesCheckFinite(b, name, "offset", &coupler->offset, 1))) return flag;
  if (n < 2 || n > CP_MOST_COUPLED || (n > 2 && (!coupler->more || !coupler->more_ratio)))
    return refused(b, CP_ILL_INPUT, "%s: it must couple 2 to %d coordinates, each with a ratio",
                   name, CP_MOST_COUPLED);
  for (int k = 0; k < n; k++) {
    of[k]    = k < 2 ? coupler->of[k] : coupler->more[k - 2];
    ratio[k] = k < 2 ? coupler->ratio[k] : coupler->more_ratio[k - 2];
  }
  if ((flag = bodiesFindCoordinates(b, name, n, of, ratio, term))) return flag;
  for (int k = 0; k < n; k++) {
    if (term[k].m.kind != ANGLE || (k == 1 && coupler->function)) continue;
    angles++;
    whole = whole && ratio[k] == floor(ratio[k]);
  }
  Row row   = {.nterms = n, .drive = NONE};
  row.wraps = angles > 0 && b->m.space.dimension == 3;
  if (row.wraps && angles >= 2 && !whole && b->formulation == CP_ABSOLUTE)
    return refused(b, CP_ILL_INPUT,
                   "%s: ratios of angles must be whole numbers (of teeth), and are %g and %g", name,
                   (double)ratio[0], (double)ratio[1]);
  if ((flag = bodiesCheckDifferent(b, name, n, term))) return flag;
  if (ROOM(b->m.joint, b->m.njoints, 1) || ROOM(b->m.row, b->m.nrows, 1) ||
      ROOM(b->m.term, b->m.nterms, n))
    return bodiesNoMemory(b, name);
  if ((flag = bodiesTakeVariable(b, name, FOR_MOTIONS, coupler->function, &formula))) return flag;
  const int text = bodiesTakeName(b, name, NAME_JOINT, b->m.njoints), i = b->m.njoints;
  row.offset = bodiesTakeParam(b, text, "offset", coupler->offset);
  bodiesTakeRatios(b, text, n, ratio, term);
  if (formula) term[1].f = formula, term[1].sense = term[1].coef, term[1].coef = 1;
  row.term = bodiesTakeTerms(b, term, n);
  bodiesTakeRow(b, text, &row, 0);
  return i;
}

/* Stops of coordinates: the gap of each is a row, which is that of a contact. */
#include "elements.h"

#include <stdio.h>

static int checkLimit(CPBodies b, const CPLimit *limit) {
  const char *name        = limit->head.name;
  const sunrealtype lower = limit->lower, upper = limit->upper;
  if (isnan(lower) || isnan(upper) || (isinf(lower) && isinf(upper)))
    return refused(b, CP_ILL_INPUT, "%s: lower or upper must be finite, and they are %g and %g",
                   name, (double)lower, (double)upper);
  if (!(lower < upper))
    return refused(b, CP_ILL_INPUT, "%s: lower must be less than upper, and they are %g and %g",
                   name, (double)lower, (double)upper);
  if (!(limit->stiffness >= 0) || !(limit->damping >= 0) || isinf(limit->stiffness) ||
      isinf(limit->damping))
    return refused(b, CP_ILL_INPUT,
                   "%s: stiffness and damping must be finite and not negative, and are %g and %g",
                   name, (double)limit->stiffness, (double)limit->damping);
  if (limit->stiffness == 0 && limit->damping > 0)
    return refused(b, CP_ILL_INPUT, "%s: damping needs a stiffness > 0, and is %g", name,
                   (double)limit->damping);
  if (limit->stiffness > 0 && limit->restitution != 0)
    return refused(b, CP_ILL_INPUT, "%s: restitution must be 0 with a stiffness, and is %g", name,
                   (double)limit->restitution);
  if (!(limit->restitution >= 0 && limit->restitution <= 1))
    return refused(b, CP_ILL_INPUT, "%s: restitution must be from 0 to 1, and is %g", name,
                   (double)limit->restitution);
  return CP_SUCCESS;
}

int bodiesTakeStop(CPBodies b, int text, const Row *row, int restitution, int elastic) {
  const int i      = b->m.ncontacts++;
  Contact *new     = &b->m.contact[i];
  *new             = bodiesNewContact(b->m.njoints, CP_ON_STOP);
  new->restitution = restitution;
  new->elastic     = elastic;
  bodiesTakeRow(b, text, row, 0);
  b->m.joint[new->joint].contact = i;
  return i;
}

int bodiesAddLimit(CPBodies b, const CPLimit *limit) {
  static const char *const sides[] = {"lower", "upper"};
  const char *name                 = limit->head.name;
  const int two                    = limit->of[1].joint != NULL;
  const sunrealtype stops[]        = {limit->lower, limit->upper};
  const Mechanism before           = b->m;
  int flag = bodiesCheckName(b, name, 6), own[2] = {NONE, NONE};
  int first = NONE, n = 2;
  Term term[2];
  if (flag || (flag = checkLimit(b, limit))) return flag;
  if (two) {
    flag = bodiesFindCoordinates(b, name, n, limit->of, limit->ratio, term);
    if (!flag) flag = bodiesCheckDifferent(b, name, n, term);
    if (flag) return flag;
  } else if ((n = bodiesNamedSum(b, name, limit->of[0], term, &first)) < 0) return n;
  Row row = {.nterms = n, .offset = NONE, .drive = NONE, .other = NONE};
  for (int k = 0; k < n && first == NONE; k++)
    row.wraps |= term[k].m.kind == ANGLE && b->m.space.dimension == 3;
  const int text = bodiesTakeName(b, name, NAME_OTHER, 0);
  for (int k = 0; k < 2; k++)
    if (isfinite(stops[k])) own[k] = bodiesTakeParam(b, text, sides[k], stops[k]);
  if (two) bodiesTakeRatios(b, text, n, limit->ratio, term);
  const int is_elastic = limit->stiffness > 0;
  const int law        = is_elastic ? bodiesTakeParam(b, text, "stiffness", limit->stiffness)
                                    : bodiesTakeParam(b, text, "restitution", limit->restitution);
  if (is_elastic) bodiesTakeParam(b, text, "damping", limit->damping);
  for (int k = 0; k < 2 && !flag; k++) {
    char of[128]; /* Names longer than 100 characters are refused, so this is long enough. */
    if (own[k] == NONE) continue;
    snprintf(of, sizeof of, "%.100s_%s", name, sides[k]);
    if ((flag = bodiesCheckName(b, of, 0))) break;
    if (ROOM(b->m.joint, b->m.njoints, 1) || ROOM(b->m.row, b->m.nrows, 1) ||
        ROOM(b->m.contact, b->m.ncontacts, 1) || ROOM(b->m.term, b->m.nterms, n)) {
      flag = bodiesNoMemory(b, name);
      break;
    }
    Row side   = row;
    side.limit = k ? -1 : 1, side.offset = own[k], side.other = own[!k];
    side.term = bodiesTakeSum(b, term, first, n);
    for (int i = 0; i < n; i++) bodiesRowTerm(&b->m, &side, i)->coef *= side.limit;
    bodiesTakeStop(b, bodiesTakeName(b, of, NAME_JOINT, b->m.njoints), &side,
                   is_elastic ? NONE : law, is_elastic ? law : NONE);
  }
  if (flag) bodiesForget(b, &before);
  return flag ? flag : before.ncontacts;
}

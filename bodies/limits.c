/* Stops of coordinates: the gap of each is a row, which is that of a contact. */
#include "elements.h"

#include <stdio.h>
#include <string.h>

/* The sum of coordinates, with terms whose ratios are no parameters yet. Returns 0 or an error code that has been reported. */
static int makeSum(CPBodies b, const CPLimit *limit, Row *row) {
  const char *name = limit->head.name;
  *row = (Row){.nterms = limit->of[1].joint ? 2 : 1, .offset = NONE, .drive = NONE, .other = NONE};
  int joint[2];
  for (int k = 0; k < row->nterms; k++) {
    const sunrealtype ratio = limit->ratio[k];
    if ((joint[k] = bodiesNamedCoordinate(b, name, limit->of[k], &row->term[k])) < 0)
      return joint[k];
    row->wraps |= row->term[k].m.kind == ANGLE && b->m.space.dimension == 3;
    if (row->nterms == 2 && (ratio == 0 || !isfinite(ratio)))
      return refused(b, CP_ILL_INPUT, "%s: ratios must not be 0, and one is %g", name,
                     (double)ratio);
  }
  if (row->nterms == 2 && joint[0] == joint[1] && limit->of[0].k == limit->of[1].k)
    return refused(b, CP_ILL_INPUT, "%s: the two coordinates must differ", name);
  return CP_SUCCESS;
}

static int checkLimit(CPBodies b, const CPLimit *limit) {
  const char *name        = limit->head.name;
  const sunrealtype lower = limit->lower, upper = limit->upper;
  if (isnan(lower) || isnan(upper) || (isinf(lower) && isinf(upper)))
    return refused(b, CP_ILL_INPUT, "%s: lower or upper must be finite, and they are %g and %g",
                   name, (double)lower, (double)upper);
  if (!(lower < upper))
    return refused(b, CP_ILL_INPUT, "%s: lower must be less than upper, and they are %g and %g",
                   name, (double)lower, (double)upper);
  if (!(limit->restitution >= 0 && limit->restitution <= 1))
    return refused(b, CP_ILL_INPUT, "%s: restitution must be from 0 to 1, and is %g", name,
                   (double)limit->restitution);
  return CP_SUCCESS;
}

int bodiesAddLimit(CPBodies b, const CPLimit *limit) {
  static const char *const ratios[] = {"ratio_1", "ratio_2"}, *const sides[] = {"lower", "upper"};
  const char *name          = limit->head.name;
  const sunrealtype stops[] = {limit->lower, limit->upper};
  const Mechanism before    = b->m;
  int flag = bodiesCheckName(b, name, 5), own[2] = {NONE, NONE};
  Row row;
  if (flag || (flag = checkLimit(b, limit)) || (flag = makeSum(b, limit, &row))) return flag;
  const int text = bodiesTakeName(b, name, NAME_OTHER, 0);
  for (int k = 0; k < 2; k++)
    if (isfinite(stops[k])) own[k] = bodiesTakeParam(b, text, sides[k], stops[k]);
  for (int k = 0; k < row.nterms && row.nterms == 2; k++)
    row.term[k].ratio = bodiesTakeParam(b, text, ratios[k], limit->ratio[k]);
  const int restitution = bodiesTakeParam(b, text, "restitution", limit->restitution);
  for (int k = 0; k < 2 && !flag; k++) {
    char of[128]; /* Names longer than 100 characters are refused, so this is long enough. */
    if (own[k] == NONE) continue;
    snprintf(of, sizeof of, "%.100s_%s", name, sides[k]);
    if ((flag = bodiesCheckName(b, of, 0))) break;
    if (ROOM(b->m.joint, b->m.njoints, 1) || ROOM(b->m.row, b->m.nrows, 1) ||
        ROOM(b->m.contact, b->m.ncontacts, 1)) {
      flag = bodiesNoMemory(b, name);
      break;
    }
    Row side   = row;
    side.limit = k ? -1 : 1, side.offset = own[k], side.other = own[!k];
    for (int i = 0; i < side.nterms; i++) side.term[i].coef *= side.limit;
    b->m.contact[b->m.ncontacts] = (Contact){.joint       = b->m.njoints,
                                             .radius      = NONE,
                                             .friction    = NONE,
                                             .force       = NONE,
                                             .restitution = restitution,
                                             .on          = CP_ON_STOP};
    bodiesTakeRow(b, bodiesTakeName(b, of, NAME_JOINT, b->m.njoints), &side, 0);
    b->m.joint[b->m.njoints - 1].contact = b->m.ncontacts++;
  }
  if (flag) bodiesForget(b, &before);
  return flag ? flag : before.ncontacts;
}

/* Tendons: spring-dampers on a sum of coordinates, or on the length of a path along points. Limits, dry friction and actuators act on the
 * same terms by the tendon's name. */
#include "elements.h"
#include "formulas.h"
#include "ropes.h"

#include <string.h>

/* The tendon of this name, or NONE */
static int findTendon(const Mechanism *m, const char *name) {
  const int i = name ? bodiesFind(m, NAME_LAW, name, strlen(name)) : -1;
  return i >= 0 && m->law[i].is_tendon ? i : NONE;
}

int bodiesNamedSum(CPBodies b, const char *name, CPCoordinate of, Term *own, int *first) {
  const int i = findTendon(&b->m, of.joint);
  *first      = NONE;
  if (i == NONE) {
    const int flag = bodiesNamedCoordinate(b, name, of, own);
    return flag < 0 ? flag : 1;
  }
  if (of.k != 0)
    return refused(b, CP_ILL_INPUT, "%s: tendon \"%s\" has no coordinate %d", name, of.joint, of.k);
  *first = b->m.law[i].term;
  *own   = b->m.term[*first];
  return b->m.law[i].nterms;
}

int bodiesTakeSum(CPBodies b, const Term *own, int first, int n) {
  return bodiesTakeTerms(b, first == NONE ? own : b->m.term + first, n);
}

/* pair: out, the part between two nodes of a path. Returns 0 or an error code that has been reported. */
static int makePart(CPBodies b, const CPTendon *tendon, int k, Pair *pair) {
  const char *name = tendon->head.name;
  CPMarker on[2];
  memset(on, 0, sizeof on);
  memset(pair, 0, sizeof *pair);
  for (int side = 0; side < 2; side++) {
    const CPRopeNode *node = &tendon->node[k + side];
    const int flag         = bodiesFindBody(b, name, node->body, &pair->side[side].body);
    if (flag) return flag;
    if (node->radius != 0)
      return refused(b, CP_NOT_SUPPORTED, "%s: node %d must be a point, and has a radius", name,
                     k + side + 1);
    on[side].axis[2] = 1;
    memcpy(on[side].point, node->point, sizeof on[side].point);
  }
  const int flag = bodiesMakePair(b, name, tendon->in, 0, &on[0], &on[1], pair);
  if (flag || bodiesDistance(&b->m, pair) > 0 || pair->side[0].body == pair->side[1].body)
    return flag;
  return refused(b, CP_ILL_INPUT, "%s: node %d and the next one are at one point", name, k + 1);
}

/* Adds the path as terms. Returns their number, or an error code that has been reported. */
static int takePath(CPBodies b, const CPTendon *tendon) {
  const int before = b->m.nterms;
  for (int k = 0; k < tendon->nnodes - 1; k++) {
    const sunrealtype divisor = tendon->divisor ? tendon->divisor[k] : 1;
    Pair pair;
    if (!isfinite(divisor))
      return refused(b, CP_ILL_INPUT, "%s: divisors must be finite, and one is %g",
                     tendon->head.name, (double)divisor);
    if (divisor == 0) continue;
    const int flag = makePart(b, tendon, k, &pair);
    if (flag) return flag;
    if (!(bodiesDistance(&b->m, &pair) > 0)) continue;
    const Term part = {
        .coef = 1 / divisor, .ratio = NONE, .pair = b->m.npairs, .m = {LENGTH, 0, 0, 0}};
    b->m.pair[b->m.npairs++] = pair;
    bodiesTakeTerms(b, &part, 1);
  }
  return b->m.nterms - before;
}

/* The same for coordinates, whose factors are no parameters, as their number is not limited */
static int takeCoordinates(CPBodies b, const CPTendon *tendon) {
  for (int k = 0; k < tendon->ncoordinates; k++) {
    Term term;
    const int flag = bodiesNamedCoordinate(b, tendon->head.name, tendon->of[k], &term);
    if (flag < 0) return flag;
    if (tendon->ratio[k] == 0 || !isfinite(tendon->ratio[k]))
      return refused(b, CP_ILL_INPUT, "%s: ratios must not be 0, and one is %g", tendon->head.name,
                     (double)tendon->ratio[k]);
    term.coef *= tendon->ratio[k];
    bodiesTakeTerms(b, &term, 1);
  }
  return tendon->ncoordinates;
}

static int checkTendon(CPBodies b, const CPTendon *tendon) {
  const char *name = tendon->head.name;
  const int path = tendon->nnodes > 0, sum = tendon->ncoordinates > 0;
  int flag = bodiesCheckName(b, name, 5);
  if (flag) return flag;
  if (path == sum || tendon->nnodes < 0 || tendon->nnodes == 1 || tendon->ncoordinates < 0 ||
      (path && !tendon->node) || (sum && (!tendon->of || !tendon->ratio)))
    return refused(b, CP_ILL_INPUT,
                   "%s: a tendon has coordinates, each with a ratio, or two nodes or more", name);
  if ((flag = bodiesCheckSign(b, name, "stiffness", tendon->stiffness, 0))) return flag;
  if ((flag = bodiesCheckSign(b, name, "damping", tendon->damping, 0))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "force", &tendon->force, 1))) return flag;
  if (isinf(tendon->free)) return bodiesCheckFinite(b, name, "free", &tendon->free, 1);
  return bodiesCheckSign(b, name, "inertance", tendon->inertance, 0);
}

int bodiesAddTendon(CPBodies b, const CPTendon *tendon) {
  const char *name = tendon->head.name;
  const int first = b->m.nterms, npairs = b->m.npairs;
  Formula *formula = NULL;
  sunrealtype x    = tendon->free;
  int flag         = checkTendon(b, tendon);
  if (flag) return flag;
  if (ROOM(b->m.term, b->m.nterms, tendon->nnodes + tendon->ncoordinates) ||
      ROOM(b->m.pair, b->m.npairs, tendon->nnodes) || ROOM(b->m.law, b->m.nlaws, 1))
    return bodiesNoMemory(b, name);
  flag = tendon->nnodes > 0 ? takePath(b, tendon) : takeCoordinates(b, tendon);
  if (flag == 0) flag = refused(b, CP_ILL_INPUT, "%s: its nodes must not be at one point", name);
  const int n = flag;
  if (flag > 0) flag = bodiesTakeFormula(b, name, 1, &tendon->function, 2, NULL, &formula);
  if (!flag && isnan(x) && bodiesPlacedSum(b, first, n, 0, &x)) flag = bodiesNoMemory(b, name);
  if (flag < 0) {
    b->m.nterms = first, b->m.npairs = npairs;
    return flag;
  }
  const int text = bodiesTakeName(b, name, NAME_LAW, b->m.nlaws);
  bodiesTakeSpring(
      b, (Law){.name = text, .term = first, .nterms = n, .is_tendon = 1, .formula = formula},
      (sunrealtype[]){tendon->stiffness, tendon->damping, x, tendon->force, tendon->inertance});
  return NONE;
}

/* Tendons: spring-dampers on a sum of coordinates, or on the length of a path along points and over spheres and cylinders. Limits, dry
 * friction and actuators act on the same terms by the tendon's name. */
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

/* pair: out, from one node of a path to another one. Returns 0 or an error code that has been reported. */
static int makePair(CPBodies b, const CPTendon *tendon, const CPRopeNode *from,
                    const CPRopeNode *to, Pair *pair) {
  const char *name          = tendon->head.name;
  const CPRopeNode *node[2] = {from, to};
  CPMarker on[2];
  memset(on, 0, sizeof on);
  memset(pair, 0, sizeof *pair);
  for (int side = 0; side < 2; side++) {
    const int flag = bodiesFindBody(b, name, node[side]->body, &pair->side[side].body);
    if (flag) return flag;
    memcpy(on[side].axis, node[side]->axis, sizeof on[side].axis);
    if (length3(on[side].axis) == 0 || b->m.space.dimension == 2)
      on[side].axis[0] = on[side].axis[1] = 0, on[side].axis[2] = 1;
    memcpy(on[side].point, node[side]->point, sizeof on[side].point);
  }
  return bodiesMakePair(b, name, tendon->in, 0, &on[0], &on[1], pair);
}

/* Is node k a sphere or a cylinder? */
static int isGeom(const CPTendon *tendon, int k) { return tendon->node[k].radius > 0; }

static int checkPath(CPBodies b, const CPTendon *tendon) {
  const char *name = tendon->head.name;
  for (int k = 0; k < tendon->nnodes; k++) {
    const sunrealtype R = tendon->node[k].radius, *divisor = tendon->divisor;
    const int last = tendon->nnodes - 1;
    if (k < last && divisor && !isfinite(divisor[k]))
      return refused(b, CP_ILL_INPUT, "%s: divisors must be finite, and one is %g", name,
                     (double)divisor[k]);
    if (tendon->node[k].friction != 0 || tendon->node[k].sticking != 0)
      return refused(b, CP_ILL_INPUT, "%s: node %d has friction, and only ropes can have some",
                     name, k + 1);
    if (R == 0) continue;
    if (!(R > 0 && isfinite(R)))
      return refused(b, CP_ILL_INPUT, "%s: the radius of node %d must be positive, and is %g", name,
                     k + 1, (double)R);
    if (k == 0 || k == last || isGeom(tendon, k - 1) || isGeom(tendon, k + 1))
      return refused(b, CP_ILL_INPUT, "%s: node %d has a radius, and must be between two points",
                     name, k + 1);
    if (divisor && divisor[k] != divisor[k - 1])
      return refused(b, CP_ILL_INPUT, "%s: both parts at node %d must have one divisor", name,
                     k + 1);
  }
  return CP_SUCCESS;
}

/* Adds the part of the path between node k and the next point as terms, with their pairs (WRAP). */
static int takePart(CPBodies b, const CPTendon *tendon, int k, sunrealtype divisor) {
  const CPRopeNode *from = &tendon->node[k];
  const int wraps        = isGeom(tendon, k + 1);
  const CPRopeNode *geom = from + 1, *to = geom + wraps,
                   *side = wraps && tendon->side ? tendon->side[k + 1] : NULL;
  Pair pair[4], *between = &pair[wraps ? 2 : 0];
  int flag = makePair(b, tendon, from, to, between);
  if (!flag && wraps) flag = makePair(b, tendon, from, geom, &pair[0]);
  if (!flag && wraps) flag = makePair(b, tendon, geom, to, &pair[1]);
  if (!flag && side) flag = makePair(b, tendon, geom, side, &pair[3]);
  if (flag) return flag;
  if (!(bodiesDistance(&b->m, between) > 0)) {
    if (between->side[0].body == between->side[1].body) return CP_SUCCESS;
    return refused(b, CP_ILL_INPUT, "%s: node %d and the next %s are at one point",
                   tendon->head.name, k + 1, wraps ? "point" : "one");
  }
  if (wraps) {
    const int cylinder    = b->m.space.dimension == 2 || length3(geom->axis) > 0;
    pair[0].solid[1].core = cylinder ? SEGMENT : POINT_CORE;
    pair[0].solid[1].skin = geom->radius;
  }
  for (int i = 0; i < (wraps ? 3 : 1); i++) {
    const Term part = {.coef  = 1 / divisor,
                       .ratio = NONE,
                       .pair  = b->m.npairs + i,
                       .m     = {wraps ? WRAP : LENGTH, 0, i, side != NULL}};
    bodiesTakeTerms(b, &part, 1);
  }
  for (int i = 0; i < (side ? 4 : wraps ? 3 : 1); i++) b->m.pair[b->m.npairs++] = pair[i];
  return CP_SUCCESS;
}

/* Adds the path as terms. Returns their number, or an error code that has been reported. */
static int takePath(CPBodies b, const CPTendon *tendon) {
  const int before = b->m.nterms;
  int flag         = checkPath(b, tendon);
  for (int k = 0; k < tendon->nnodes - 1 && !flag; k += 1 + isGeom(tendon, k + 1)) {
    const sunrealtype divisor = tendon->divisor ? tendon->divisor[k] : 1;
    if (divisor != 0) flag = takePart(b, tendon, k, divisor);
  }
  return flag ? flag : b->m.nterms - before;
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
  if (ROOM(b->m.term, b->m.nterms, 3 * tendon->nnodes + tendon->ncoordinates) ||
      ROOM(b->m.pair, b->m.npairs, 4 * tendon->nnodes) || ROOM(b->m.law, b->m.nlaws, 1))
    return bodiesNoMemory(b, name);
  flag = tendon->nnodes > 0 ? takePath(b, tendon) : takeCoordinates(b, tendon);
  if (flag == 0) flag = refused(b, CP_ILL_INPUT, "%s: its nodes must not be at one point", name);
  const int n = flag;
  if (flag > 0)
    flag = bodiesTakeFormula(b, name, FOR_FORCES, 1, &tendon->function, 2, NULL, &formula);
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

/* Springs, bushings, forces on points, and friction. */
#include "elements.h"
#include "formulas.h"

#include <string.h>

void bodiesTakeSpring(CPBodies b, Law law, const sunrealtype *values) {
  static const char *const fields[] = {"stiffness", "damping", "free", "force"};
  law.kind                          = SPRING;
  law.param = b->m.nparams, law.force = law.param + 3;
  law.joint = law.inertance = NONE;
  for (int k = 0; k < 4; k++) bodiesTakeParam(b, law.name, fields[k], values[k]);
  if (values[4] != 0)
    law.inertance = bodiesTakeParam(b, law.name, "inertance", values[4]), b->m.ninertances++;
  b->m.law[b->m.nlaws++] = law;
}

int bodiesAddSpring(CPBodies b, const CPSpring *spring) {
  const char *name = spring->head.name;
  int flag         = bodiesCheckName(b, name, 5);
  if (flag) return flag;
  if ((flag = bodiesCheckFinite(b, name, "stiffness", &spring->stiffness, 1))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "damping", &spring->damping, 1))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "force", &spring->force, 1))) return flag;
  if ((flag = bodiesCheckSign(b, name, "inertance", spring->inertance, 0))) return flag;
  Pair pair         = {0};
  Term term         = {.coef = 1, .ratio = NONE, .pair = b->m.npairs, .m = {LENGTH, 0, 0, 0}};
  sunrealtype x     = spring->free;
  const int between = !spring->of.joint;
  if (between) {
    CPMarker ends[2] = {{.axis = {0, 0, 1}}, {.axis = {0, 0, 1}}};
    memcpy(ends[0].point, spring->point_a, sizeof ends[0].point);
    memcpy(ends[1].point, spring->point_b, sizeof ends[1].point);
    if ((flag = bodiesFindSides(b, name, spring->a, spring->b, &pair))) return flag;
    if ((flag = bodiesMakePair(b, name, spring->in, 0, &ends[0], &ends[1], &pair))) return flag;
    const sunrealtype now = bodiesDistance(&b->m, &pair);
    if (!(now > 0)) return refused(b, CP_ILL_INPUT, "%s: the points must not meet", name);
    if (isnan(x)) x = now;
  } else if ((flag = bodiesNamedCoordinate(b, name, spring->of, &term)) < 0) {
    return flag;
  }
  if (term.m.kind == OWN && spring->inputs && *spring->inputs)
    return refused(b, CP_NOT_SUPPORTED,
                   "%s: a function on a coordinate of a joint by functions has no inputs", name);
  if ((flag = bodiesCheckFinite(b, name, "free", &x, 1))) return flag;
  if (ROOM(b->m.law, b->m.nlaws, 1) || ROOM(b->m.term, b->m.nterms, 1) ||
      ROOM(b->m.length, b->m.nlengths, 1))
    return bodiesNoMemory(b, name);
  Formula *formula = NULL;
  if ((flag = bodiesTakeFormula(b, name, FOR_FORCES, 1, &spring->function, 2, spring->inputs,
                                &formula)))
    return flag;
  const int number = between ? b->m.nlengths : NONE;
  if (between) term.pair = b->m.npairs; /* inputs may have pairs of their own */
  if (ROOM(b->m.pair, b->m.npairs, 1)) return bodiesNoMemory(b, name);
  if (between) b->m.pair[b->m.npairs++] = pair, b->m.length[b->m.nlengths++] = b->m.nlaws;
  const int text = bodiesTakeName(b, name, NAME_LAW, b->m.nlaws);
  bodiesTakeSpring(
      b,
      (Law){.name    = text,
            .term    = bodiesTakeTerms(b, &term, 1),
            .nterms  = 1,
            .law     = spring->law,
            .data    = spring->data,
            .formula = formula},
      (sunrealtype[]){spring->stiffness, spring->damping, x, spring->force, spring->inertance});
  return number;
}

static int takeArcSine(CPBodies b, const char *name, Formula **formula) {
  static const char *const variable[] = {"x"};
  const CPFunctionOptions options     = {CP_SIZED(CPFunctionOptions), .text = "asin(x)",
                                         .nvariables = 1, .variable = variable};
  CPFunction f                        = NULL;
  if (CPFunctionCreate(&options, &f)) return bodiesNoMemory(b, name);
  const int flag = bodiesTakeVariable(b, name, FOR_FORCES, f, formula);
  CPFunctionFree(&f);
  return flag;
}

int bodiesAddBushing(CPBodies b, const CPBushing *bushing) {
  static const char *const fields[6][3] = {{"kx", "dx", "x0"},    {"ky", "dy", "y0"},
                                           {"kz", "dz", "z0"},    {"kxx", "dxx", "xx0"},
                                           {"kyy", "dyy", "yy0"}, {"kzz", "dzz", "zz0"}};
  static const Measure measures[6]      = {ALONG_(X),  ALONG_(Y),  ALONG_(Z),
                                           DOT_(Z, Y), DOT_(X, Z), DOT_(Y, X)};
  /* phi_1 + pi/2 = angle of z_b from y_a to z_a, sin(phi_2) = x_a . z_b, -phi_3 = angle of x_a from x_b to y_b */
  static const Measure angles[3] = {{ANGLE, 0, Y, Z}, DOT_(X, Z), {ANGLE, 1, X, X}};
  const sunrealtype free[6]      = {0, 0, 0, bushing->angles ? acos(SUN_RCONST(0.0)) : 0, 0, 0};
  const char *name               = bushing->head.name;
  Formula *formula               = NULL;
  int flag                       = bodiesCheckName(b, name, 19);
  if (flag) return flag;
  Pair pair = {0};
  if ((flag = bodiesCheckFinite(b, name, "stiffness", bushing->stiffness, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "damping", bushing->damping, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "turn_stiffness", bushing->turn_stiffness, 3)))
    return flag;
  if ((flag = bodiesCheckFinite(b, name, "turn_damping", bushing->turn_damping, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "drag", &bushing->drag, 1))) return flag;
  if (b->m.space.dimension == 2 && bushing->drag != 0)
    return refused(b, CP_NOT_SUPPORTED, "%s: there is no drag in the plane", name);
  if (b->m.space.dimension == 2 && bushing->angles)
    return refused(b, CP_NOT_SUPPORTED, "%s: there are no angles about three axes in the plane",
                   name);
  if ((flag = bodiesFindSides(b, name, bushing->a, bushing->b, &pair))) return flag;
  const CPMarker *on_b = bushing->in == CP_IN_SPACE ? &bushing->on_a : &bushing->on_b;
  if ((flag = bodiesMakePair(b, name, bushing->in, 0, &bushing->on_a, on_b, &pair))) return flag;
  if (ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.law, b->m.nlaws, 9) ||
      ROOM(b->m.term, b->m.nterms, 9))
    return bodiesNoMemory(b, name);
  if (bushing->angles && (flag = takeArcSine(b, name, &formula))) return flag;
  const int text         = bodiesTakeName(b, name, NAME_BUSHING, b->m.nlaws);
  b->m.pair[b->m.npairs] = pair;
  for (int k = 0; k < 6; k++) {
    const int planar = b->m.space.dimension == 2;
    if (planar && k >= 2 && k != 5) continue;
    const sunrealtype stiffness = k < 3 ? bushing->stiffness[k] : bushing->turn_stiffness[k - 3],
                      damping   = k < 3 ? bushing->damping[k] : bushing->turn_damping[k - 3];
    const Measure m             = planar && k == 5            ? (Measure)ANGLE_
                                  : bushing->angles && k >= 3 ? angles[k - 3]
                                                              : measures[k];
    const Term term             = {.coef  = 1,
                                   .ratio = NONE,
                                   .pair  = b->m.npairs,
                                   .m     = m,
                                   .f     = k == 4 ? formula : NULL,
                                   .sense = 1};
    b->m.law[b->m.nlaws++]      = (Law){.kind      = SPRING,
                                        .name      = text,
                                        .term      = bodiesTakeTerms(b, &term, 1),
                                        .nterms    = 1,
                                        .param     = b->m.nparams,
                                        .force     = NONE,
                                        .joint     = NONE,
                                        .inertance = NONE};
    bodiesTakeParam(b, text, fields[k][0], stiffness);
    bodiesTakeParam(b, text, fields[k][1], damping);
    bodiesTakeParam(b, text, fields[k][2], free[k]);
  }
  const int drag = bushing->drag != 0 ? bodiesTakeParam(b, text, "drag", bushing->drag) : NONE;
  for (int k = 0; k < 3 && drag != NONE; k++) {
    const Term term        = {.coef = 1, .ratio = NONE, .pair = b->m.npairs, .m = {SPIN, 0, k, 0}};
    b->m.law[b->m.nlaws++] = (Law){.kind      = DRAG,
                                   .name      = text,
                                   .term      = bodiesTakeTerms(b, &term, 1),
                                   .nterms    = 1,
                                   .param     = drag,
                                   .force     = NONE,
                                   .joint     = NONE,
                                   .inertance = NONE};
  }
  b->m.npairs++;
  return NONE;
}

int bodiesAddForce(CPBodies b, const CPForce *force) {
  static const char *const fields[] = {"force_x", "force_y", "force_z"};
  const char *name                  = force->head.name;
  int flag                          = bodiesCheckName(b, name, 3);
  if (flag) return flag;
  if ((flag = bodiesCheckFinite(b, name, "force", force->force, 3))) return flag;
  Formula *formula = NULL;
  if ((force->fn || force->function[0] || force->function[1] || force->function[2]) && force->follows)
    return refused(b, CP_NOT_SUPPORTED, "%s: a force with a function must not follow the body",
                   name);
  if (b->m.space.dimension == 2 && (force->force[2] != 0 || force->function[2]))
    return refused(b, CP_ILL_INPUT, "%s: force must lie in the plane", name);
  Pair pair             = {0};
  const CPMarker origin = {.axis = {0, 0, 1}};
  CPMarker at           = origin;
  memcpy(at.point, force->point, sizeof at.point);
  if ((flag = bodiesFindSides(b, name, NULL, force->body, &pair))) return flag;
  if ((flag = bodiesMakePair(b, name, force->in, 0, &origin, &at, &pair))) return flag;
  if ((flag = bodiesTakeFormula(b, name, FOR_FORCES, 3, force->function, 6, force->inputs, &formula)))
    return flag;
  if (ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.force, b->m.nforces, 1))
    return bodiesNoMemory(b, name);
  const int i = b->m.nforces++, text = bodiesTakeName(b, name, NAME_FORCE, i);
  b->m.force[i] = (PointForce){text,      b->m.npairs, b->m.nparams, force->follows,
                               force->fn, force->data, formula,      0};
  for (int k = 0; k < 3; k++) bodiesTakeParam(b, text, fields[k], force->force[k]);
  b->m.pair[b->m.npairs++] = pair;
  return NONE;
}

static int checkDryFriction(CPBodies b, const CPFriction *friction, const Term *term) {
  const char *name = friction->head.name;
  int flag         = bodiesCheckSign(b, name, "factor", friction->factor, 0);
  if (!flag) flag = bodiesCheckSign(b, name, "force", friction->force, friction->factor == 0);
  if (!flag) flag = bodiesCheckSign(b, name, "sticking", friction->sticking, 0);
  if (!flag) flag = bodiesCheckSign(b, name, "sticking_factor", friction->sticking_factor, 0);
  if (flag) return flag;
  if (friction->factor == 0 && friction->sticking_factor > 0)
    return refused(b, CP_ILL_INPUT, "%s: sticking_factor needs a factor > 0", name);
  if (friction->factor > 0 && (friction->force > 0 || friction->sticking > 0))
    return refused(b, CP_ILL_INPUT, "%s: force and sticking must be 0 beside a factor", name);
  if (friction->factor > 0 && term->m.kind == OWN)
    return refused(b, CP_NOT_SUPPORTED,
                   "%s: friction that depends on the load needs a joint without functions", name);
  return CP_SUCCESS;
}

/* A contact without a gap, whose sliding velocity is the rate of the coordinate. joint: the one whose load counts with a factor. Returns
 * its index, or an error code. */
static int addDryFriction(CPBodies b, const CPFriction *friction, const Term *term, int first,
                          int n, int joint) {
  const char *name = friction->head.name;
  const int loaded = friction->factor > 0, flag = checkDryFriction(b, friction, term);
  if (flag) return flag;
  if (ROOM(b->m.joint, b->m.njoints, 1) || ROOM(b->m.roll, b->m.nrolls, 1) ||
      ROOM(b->m.contact, b->m.ncontacts, 1) || ROOM(b->m.term, b->m.nterms, n))
    return bodiesNoMemory(b, name);
  const int text = bodiesTakeName(b, name, NAME_JOINT, b->m.njoints), i = b->m.ncontacts++;
  const Row row = {.term   = bodiesTakeSum(b, term, first, n),
                   .nterms = n,
                   .offset = NONE,
                   .drive  = NONE,
                   .other  = NONE};
  Contact *new  = &b->m.contact[i];
  *new          = bodiesNewContact(b->m.njoints, CP_ON_JOINT);
  new->load     = loaded ? joint : NONE;
  new->force    = bodiesTakeParam(b, text, loaded ? "factor" : "force",
                               loaded ? friction->factor : friction->force);
  bodiesTakeParam(b, text, loaded ? "sticking_factor" : "sticking",
                  loaded ? friction->sticking_factor : friction->sticking);
  bodiesTakeRow(b, text, &row, 1);
  b->m.joint[new->joint].contact = i;
  return i;
}

int bodiesAddFriction(CPBodies b, const CPFriction *friction) {
  const char *name = friction->head.name;
  int flag         = bodiesCheckName(b, name, 2);
  if (flag) return flag;
  Term term;
  int first;
  const int n = bodiesNamedSum(b, name, friction->of, &term, &first);
  if (n < 0) return n;
  if (first != NONE && (friction->speed != 0 || friction->factor != 0))
    return refused(b, CP_NOT_SUPPORTED, "%s: friction of a tendon is dry, and depends on no load",
                   name);
  const int joint = first == NONE ? bodiesNamedCoordinate(b, name, friction->of, &term) : NONE;
  if (term.m.kind == OWN && friction->speed != 0)
    return refused(b, CP_NOT_SUPPORTED,
                   "%s: friction that depends on the load needs a joint without functions", name);
  if (friction->speed == 0) return addDryFriction(b, friction, &term, first, n, joint);
  if (friction->force != 0 || friction->sticking != 0 || friction->sticking_factor != 0)
    return refused(b, CP_NOT_SUPPORTED, "%s: force and sticking must be 0 beside speed", name);
  if ((flag = bodiesCheckSign(b, name, "factor", friction->factor, 0))) return flag;
  if ((flag = bodiesCheckSign(b, name, "speed", friction->speed, 1))) return flag;
  if (ROOM(b->m.law, b->m.nlaws, 1) || ROOM(b->m.term, b->m.nterms, 1))
    return bodiesNoMemory(b, name);
  const int i = b->m.nlaws++, text = bodiesTakeName(b, name, NAME_LAW, i);
  b->m.law[i] = (Law){.kind      = FRICTION,
                      .name      = text,
                      .term      = bodiesTakeTerms(b, &term, 1),
                      .nterms    = 1,
                      .param     = b->m.nparams,
                      .force     = NONE,
                      .joint     = joint,
                      .inertance = NONE};
  bodiesTakeParam(b, text, "factor", friction->factor);
  bodiesTakeParam(b, text, "speed", friction->speed);
  b->m.nfrictions++;
  return NONE;
}

/* Ropes. The length of a rope over nodes, of which some are pulleys, is a sum of terms: of each straight part the length of the
 * tangent, and the angles up to which the pulleys at both ends are wound (TANGENT). A pulley in the middle is wound from the
 * direction of one part to that of the next one. Its bearing may turn, so that in space the angle between the frames of two pulleys is
 * a term as well. */
#include "ropes.h"

#include "formulas.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ length -- */

/* An arc between minus a quarter and three quarters of a turn: a rope that is pressed off its pulley is not one with a turn more. */
static sunrealtype arcOf(sunrealtype arc) {
  const sunrealtype turn = 8 * atan(SUN_RCONST(1.0));
  return arc - turn * floor(arc / turn + SUN_RCONST(0.25));
}

/* The angle of the arc on the pulley before part `drum` of a rope of these terms or, if that is NONE, what whole turns of directions
 * add to its length. */
static sunrealtype windings(const Mechanism *b, int first, int n, int drum) {
  sunrealtype sum = 0, in = 0;
  int part = 0;
  for (int k = first; k < first + n; k++) {
    const Term *term = &b->term[k];
    const Pair *pair = &b->pair[term->pair];
    const Pose *A = bodiesPose(b, pair->side[0].body), *B = bodiesPose(b, pair->side[1].body);
    Jet angle;
    sunrealtype length;
    if (term->m.kind == ANGLE) { /* between the frames of the pulleys of the part before it */
      bodiesTermJet(b, term, VALUES, &angle);
      in -= angle.s;
      continue;
    }
    if (term->m.kind == TANGENT) {
      const sunrealtype out = bodiesHeading(&b->space, b->param, pair, term->m.from, A, B, &length);
      if (pair->surface.radius[0] != NONE) {
        const sunrealtype R = b->param[pair->surface.radius[0]], arc = R < 0 ? in - out : out - in;
        if (part == drum) return arcOf(arc) + pair->turns;
        sum += fabs(R) * (arcOf(arc) - arc + pair->turns);
      }
      in = out;
    }
    part++;
  }
  return sum;
}

sunrealtype bodiesRopeTurns(const Mechanism *b, int first, int n) {
  return windings(b, first, n, NONE);
}

/* With the tensions T_1 and T_2 before and after the drum, N = (T_1 + T_2) / 2 and F_T = T_2 - T_1 on half of the difference of both
 * lengths, T_2 <= exp(mu phi) T_1 is F_T <= 2 tanh(mu phi / 2) N: Coulomb's law. */
void bodiesRopeFriction(Mechanism *b, const sunrealtype *q, const Contact *contact,
                        CPContactLaw *law) {
  const Row *rope = bodiesRow(b, b->joint[contact->joint].first);
  bodiesPoses(b, q, NULL, NULL);
  const sunrealtype phi = fmax(0, windings(b, rope->term, rope->nterms, contact->drum));
  law->mu               = 2 * tanh(law->mu * phi / 2);
  law->mu_static        = 2 * tanh(law->mu_static * phi / 2);
}

int bodiesRope(const Mechanism *b, const Joint *joint, sunrealtype t, RopeState *rope) {
  const Row *row       = &b->row[joint->first];
  const int elastic    = joint->contact == NONE ? NONE : b->contact[joint->contact].elastic;
  const sunrealtype *p = elastic == NONE ? NULL : b->param + elastic; /* stiffness, damping */
  DriveAt at           = {0};
  const int flag       = row->drive == NONE ? 0 : bodiesDrive(b, row->drive, t, &at);
  sunrealtype x, rate;
  bodiesSum(b, row->term, row->nterms, 1, VALUES, &x, &rate, NULL);
  *rope = (RopeState){.length = -x, .rate = -rate, .winch = at.rate};
  if (!p) return flag;
  rope->is_elastic    = 1;
  rope->stretch       = fmax(0, -x - b->param[row->offset] - at.g - at.rest);
  const sunrealtype F = p[0] * rope->stretch + p[1] * (rope->rate - rope->winch);
  rope->tension       = rope->stretch > 0 ? fmax(0, F) : 0;
  rope->energy        = p[0] * rope->stretch * rope->stretch / 2;
  rope->lost          = (rope->tension - p[0] * rope->stretch) * (rope->rate - rope->winch);
  return flag;
}

/* ------------------------------------------------------------------------------------- paths -- */

/* Has this term, of a rope or of a tendon, the ends of a part? */
static int isPart(const Term *term) {
  return term->m.kind == TANGENT || term->m.kind == LENGTH ||
         (term->m.kind == WRAP && term->m.i == 0);
}

int bodiesPathPart(const Mechanism *b, int i, const Term **part, int *name) {
  int count = 0;
  for (int k = 0; k < b->njoints + b->nlaws; k++) {
    const Joint *joint = k < b->njoints ? &b->joint[k] : NULL;
    const Law *law     = joint ? NULL : &b->law[k - b->njoints];
    if (joint ? joint->nrows == 0 || !b->row[joint->first].rope : !law->is_tendon) continue;
    const int first = joint ? b->row[joint->first].term : law->term,
              n     = joint ? b->row[joint->first].nterms : law->nterms;
    for (int t = first; t < first + n; t++) {
      if (!isPart(&b->term[t]) || count++ != i) continue;
      *part = &b->term[t], *name = joint ? joint->name : law->name;
      return 0;
    }
  }
  return count;
}

int bodiesPathPair(const Term *part) { return part->pair + (part->m.kind == WRAP ? 2 : 0); }

/* The ends of a part [6], its direction e, and the unit vector p to the left of it, where that has a meaning: with the distance
 * d = L e + (R_b - R_a) p of the centres they are at -R p from these. Returns the radius at its end, or 0. */
static sunrealtype endsOf(const Mechanism *b, const Term *part, sunrealtype *xyz, sunrealtype *e,
                          sunrealtype *p) {
  const Pair *pair    = &b->pair[bodiesPathPair(part)];
  const Pose *pose[2] = {bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body)};
  sunrealtype L, R[2] = {0, 0}, axis[2][3] = {{1, 0, 0}, {0, 1, 0}};
  for (int k = 0; k < 2; k++) {
    toSpace(pose[k], pair->side[k].point, xyz + 3 * k);
    add3(1, pose[k]->r, xyz + 3 * k);
  }
  if (part->m.kind != TANGENT) return 0;
  for (int k = 0; k < 2; k++) {
    if (b->space.dimension == 3)
      toSpace(pose[part->m.from], pair->side[part->m.from].axis[k], axis[k]);
    if (pair->surface.radius[k] != NONE) R[k] = b->param[pair->surface.radius[k]];
  }
  const sunrealtype psi =
      bodiesHeading(&b->space, b->param, pair, part->m.from, pose[0], pose[1], &L);
  for (int k = 0; k < 3; k++) {
    e[k] = cos(psi) * axis[0][k] + sin(psi) * axis[1][k];
    p[k] = cos(psi) * axis[1][k] - sin(psi) * axis[0][k];
  }
  for (int k = 0; k < 2; k++) add3(-R[k], p, xyz + 3 * k);
  return R[1];
}

void bodiesPathPoints(const Mechanism *b, int i, sunrealtype *xyz) {
  const Term *part, *next;
  sunrealtype e[3], p[3], next_e[3], next_p[3], ends[6];
  int name;
  bodiesPathPart(b, i, &part, &name);
  const sunrealtype R = endsOf(b, part, xyz, e, p);
  for (int k = 0; k < 2; k++) memcpy(xyz + 6 + 3 * k, xyz + 3, 3 * sizeof *xyz);
  if (R == 0) return;
  bodiesPathPart(b, i + 1, &next, &name); /* A pulley is no end of a rope. */
  endsOf(b, next, ends, next_e, next_p);
  const sunrealtype turn = atan2(dot3(next_e, p), dot3(next_e, e)),
                    arc  = R < 0 ? -arcOf(-turn) : arcOf(turn);
  for (int k = 1; k <= 2; k++) { /* p turns by `at`. */
    const sunrealtype at = k * arc / 3;
    add3(R * (1 - cos(at)), p, xyz + 3 + 3 * k);
    add3(R * sin(at), e, xyz + 3 + 3 * k);
  }
}

/* ------------------------------------------------------------------------------------ adding -- */

/* A rope that is being added */
typedef struct {
  CPBodies b;
  const CPRope *rope;
  int body[CP_MOST_NODES];
  Pair pair[CP_MOST_NODES];  /* of the parts */
  int from[CP_MOST_NODES];   /* the side whose plane counts, or NONE of two points */
  int turned[CP_MOST_NODES]; /* 1: two pulleys of different bodies, in space */
  int nterms;
  int drum; /* the node on which it rubs, or NONE */
} Draft;

static int refuseNode(const Draft *d, int k, const char *rule) {
  return refused(d->b, CP_ILL_INPUT, "%s: node %d %s", d->rope->head.name, k + 1, rule);
}

static int checkNodes(Draft *d) {
  const CPRope *rope = d->rope;
  CPBodies b         = d->b;
  int differ         = 0;
  if (rope->nnodes < 2 || rope->nnodes > CP_MOST_NODES || !rope->node)
    return refused(b, CP_ILL_INPUT, "%s: a rope has 2 to %d nodes, and this one has %d",
                   rope->head.name, CP_MOST_NODES, rope->nnodes);
  for (int k = 0; k < rope->nnodes; k++) {
    const CPRopeNode *node = &rope->node[k];
    const int flag         = bodiesFindBody(b, rope->head.name, node->body, &d->body[k]);
    if (flag) return flag;
    differ |= d->body[k] != d->body[0];
    if (!isfinite(node->radius)) return refuseNode(d, k, "must have a finite radius");
    if (node->radius != 0 && (k == 0 || k == rope->nnodes - 1))
      return refuseNode(d, k, "is an end, and must be a point");
    if (!(node->friction >= 0 && node->sticking >= 0) || isinf(node->friction) ||
        isinf(node->sticking))
      return refuseNode(d, k, "must have finite coefficients of friction that are not negative");
    if (!(fmax(node->friction, node->sticking) > 0)) continue;
    if (node->radius == 0) return refuseNode(d, k, "has friction, and must be a pulley");
    if (rope->taut || rope->stiffness > 0)
      return refuseNode(d, k, "has friction, and the rope must be neither taut nor elastic");
    if (d->drum != NONE) return refuseNode(d, k, "is the second one with friction");
    d->drum = k;
  }
  if (!differ)
    return refused(b, CP_ILL_INPUT, "%s: its nodes must not all be on one body", rope->head.name);
  return CP_SUCCESS;
}

/* Makes the pair of part k, between nodes k and k + 1. */
static int makePart(Draft *d, int k) {
  CPBodies b            = d->b;
  const CPRopeNode *end = &d->rope->node[k];
  Pair *pair            = &d->pair[k];
  const int has_a = end[0].radius != 0, has_b = end[1].radius != 0,
            space = b->m.space.dimension == 3;
  CPMarker on[2];
  Pose pose[2];
  sunrealtype z[2][3], L;
  memset(pair, 0, sizeof *pair);
  memset(on, 0, sizeof on);
  d->from[k] = has_a ? 0 : has_b ? 1 : NONE;
  for (int side = 0; side < 2; side++) {
    const CPRopeNode *of =
        &end[end[side].radius != 0 ? side : !side]; /* a point takes the axis of its pulley */
    pair->side[side].body = d->body[k + side];
    memcpy(on[side].point, end[side].point, sizeof on[side].point);
    memcpy(on[side].axis, of->axis, sizeof on[side].axis);
    if (length3(of->axis) == 0 || !space)
      on[side].axis[0] = on[side].axis[1] = 0, on[side].axis[2] = 1;
  }
  const int flag = bodiesMakePair(b, d->rope->head.name, d->rope->in, 0, &on[0], &on[1], pair);
  if (flag) return flag;
  pair->turns             = end[0].turns * 8 * atan(SUN_RCONST(1.0));
  pair->surface.radius[0] = has_a ? 0 : NONE, pair->surface.radius[1] = has_b ? 1 : NONE;
  bodiesPlaced(&b->m, pair, pose);
  for (int side = 0; side < 2; side++) toSpace(&pose[side], pair->side[side].axis[2], z[side]);
  d->turned[k] = space && has_a && has_b && d->body[k] != d->body[k + 1];
  if (has_a && has_b && dot3(z[0], z[1]) < 1 - SUN_RCONST(1e-6))
    return refuseNode(d, k, "and the next one are pulleys, whose axes must have one direction");
  const sunrealtype radius[2] = {end[0].radius, end[1].radius};
  const int from              = d->from[k] == NONE ? 0 : d->from[k];
  bodiesHeading(&b->m.space, radius, pair, from, &pose[0], &pose[1], &L);
  const int overlaps =
      has_a && has_b && !(hypot(L, radius[1] - radius[0]) > fabs(radius[0]) + fabs(radius[1]));
  if (overlaps || (d->from[k] == NONE ? !(bodiesDistance(&b->m, pair) > 0) : !(L > 0)))
    return refuseNode(d, k,
                      has_a && has_b ? "and the next one are pulleys that overlap"
                      : has_a        ? "is a pulley, and the next one lies within it"
                      : has_b        ? "lies within the next one, a pulley"
                                     : "and the next one are at one point");
  d->nterms += 1 + d->turned[k];
  return CP_SUCCESS;
}

static int checkNumbers(const Draft *d) {
  const CPRope *rope = d->rope;
  CPBodies b         = d->b;
  const char *name   = rope->head.name;
  int flag           = bodiesCheckSign(b, name, "length", rope->length, 0);
  if (!flag) flag = bodiesCheckFinite(b, name, "rate", &rope->rate, 1);
  if (!flag) flag = bodiesCheckSign(b, name, "stiffness", rope->stiffness, 0);
  if (!flag) flag = bodiesCheckSign(b, name, "damping", rope->damping, 0);
  if (flag) return flag;
  if (!(rope->restitution >= 0 && rope->restitution <= 1))
    return refused(b, CP_ILL_INPUT, "%s: restitution must be from 0 to 1, and is %g", name,
                   (double)rope->restitution);
  if (rope->function && rope->rate != 0)
    return refused(b, CP_ILL_INPUT, "%s: rate must be 0 beside a function", name);
  if (rope->stiffness > 0 ? rope->taut || rope->restitution > 0 : rope->damping > 0)
    return refused(b, CP_ILL_INPUT,
                   rope->stiffness > 0 ? "%s: an elastic rope is neither taut nor has restitution"
                                       : "%s: a rope with damping must have stiffness",
                   name);
  return CP_SUCCESS;
}

/* Adds the parts as terms, minus their lengths, and the radii as parameters. Returns the first term. */
static int takeParts(Draft *d, int text) {
  static const char *const names[CP_MOST_NODES] = {
      "radius_1",  "radius_2",  "radius_3",  "radius_4",  "radius_5",  "radius_6",
      "radius_7",  "radius_8",  "radius_9",  "radius_10", "radius_11", "radius_12",
      "radius_13", "radius_14", "radius_15", "radius_16"};
  CPBodies b     = d->b;
  const int last = d->rope->nnodes - 1, first = b->m.nterms;
  int radius[CP_MOST_NODES];
  for (int k = 0; k <= last; k++)
    radius[k] = d->rope->node[k].radius != 0
                    ? bodiesTakeParam(b, text, names[k], d->rope->node[k].radius)
                    : NONE;
  for (int k = 0; k < last; k++) {
    const int pair = b->m.npairs++, between = d->from[k] != NONE;
    const Term part  = {.coef  = -1,
                        .ratio = NONE,
                        .pair  = pair,
                        .m     = {between ? TANGENT : LENGTH, between ? d->from[k] : 0, 0, 0}},
               angle = {.coef = -1, .ratio = radius[k + 1], .pair = pair, .m = {ANGLE, 0, X, X}};
    b->m.pair[pair]  = d->pair[k];
    b->m.pair[pair].surface.radius[0] = radius[k];
    b->m.pair[pair].surface.radius[1] = radius[k + 1];
    bodiesTakeTerms(b, &part, 1);
    if (d->turned[k]) bodiesTakeTerms(b, &angle, 1);
  }
  return first;
}

/* Adds half of the rate by which the rope moves over its drum, (S_1 - S_2)' / 2, where S_1 and S_2 are the lengths up to a point of the
 * drum and from there on, as a row of the contact, with its coefficients. In space the directions are those in the frame of the drum; in
 * the plane they are absolute, and its rotation is a term. */
static void takeSlip(const Draft *d, int first, int text, Contact *contact) {
  const CPRopeNode *node = &d->rope->node[d->drum];
  CPBodies b             = d->b;
  Row slip               = {.term = b->m.nterms, .offset = NONE, .drive = NONE, .other = NONE};
  int part               = -1;
  for (int k = first; k < first + d->nterms; k++) {
    Term term = b->m.term[k];
    part += term.m.kind != ANGLE;
    term.coef = part < d->drum ? 0.5 : -0.5;
    bodiesTakeTerms(b, &term, 1);
  }
  if (b->m.space.dimension == 2 && d->body[d->drum] != GROUND) {
    const Pair *part_on = &b->m.pair[b->m.term[first].pair + d->drum]; /* from the drum on */
    Pair *turns         = &b->m.pair[b->m.npairs];
    *turns              = (Pair){0};
    turns->side[0]      = (Side){.body = GROUND, .axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    turns->side[1]      = part_on->side[0];
    const Term term     = {
            .coef = 1, .ratio = part_on->surface.radius[0], .pair = b->m.npairs++, .m = {ANGLE, 0, X, X}};
    bodiesTakeTerms(b, &term, 1);
  }
  slip.nterms                       = b->m.nterms - slip.term;
  b->m.roll[b->m.nrolls++]          = slip;
  b->m.joint[contact->joint].nrolls = 1;
  contact->drum                     = d->drum;
  contact->friction                 = bodiesTakeParam(b, text, "friction", node->friction);
  bodiesTakeParam(b, text, "sticking", node->sticking);
}

int bodiesPlacedSum(CPBodies b, int first, int n, int rope, sunrealtype *x) {
  Mechanism m = b->m;
  sunrealtype rate;
  m.tree = NULL;
  m.pose = calloc((size_t)m.nbodies + 1, sizeof *m.pose);
  if (!m.pose) return 1;
  for (int i = 0; i < m.nbodies; i++)
    bodiesPoseAt(&m.space, m.body[i].guess, NULL, NULL, &m.pose[i]);
  bodiesSum(&m, first, n, rope, VALUES, x, &rate, NULL);
  free(m.pose);
  return 0;
}

int bodiesAddRope(CPBodies b, const CPRope *rope) {
  enum { MORE = 10 }; /* parameters beside the radii */
  const char *name       = rope->head.name;
  const Mechanism before = b->m;
  const int elastic      = rope->stiffness > 0;
  Draft d                = {.b = b, .rope = rope, .drum = NONE};
  Formula *formula       = NULL;
  sunrealtype x          = 0;
  int flag               = bodiesCheckName(b, name, CP_MOST_NODES + MORE);
  if (!flag) flag = checkNumbers(&d);
  if (!flag) flag = checkNodes(&d);
  for (int k = 0; k < rope->nnodes - 1 && !flag; k++) flag = makePart(&d, k);
  if (flag) return flag;
  if (ROOM(b->m.pair, b->m.npairs, rope->nnodes + 1) || ROOM(b->m.roll, b->m.nrolls, 1) ||
      ROOM(b->m.term, b->m.nterms, 2 * d.nterms + 1) || ROOM(b->m.joint, b->m.njoints, 1) ||
      ROOM(b->m.row, b->m.nrows, 1) || ROOM(b->m.contact, b->m.ncontacts, 1) ||
      ROOM(b->m.drive, b->m.ndrives, 1))
    return bodiesNoMemory(b, name);
  if ((flag = bodiesTakeFormula(b, name, FOR_MOTIONS, 1, &rope->function, 0, NULL, &formula)))
    return flag;
  const int text  = bodiesTakeName(b, name, NAME_JOINT, b->m.njoints);
  const int param = b->m.nparams;
  if (elastic) bodiesTakeParam(b, text, "stiffness", rope->stiffness);
  if (elastic) bodiesTakeParam(b, text, "damping", rope->damping);
  const int length = bodiesTakeParam(b, text, "length", rope->length);
  const int first  = takeParts(&d, text);
  flag             = bodiesPlacedSum(b, first, d.nterms, 1, &x) ? bodiesNoMemory(b, name) : 0;
  x                = -x;
  if (rope->length == 0) b->m.param[length] = x;
  if (!flag && rope->in == CP_IN_SPACE && !elastic && !rope->taut &&
      x - b->m.param[length] > rope->nnodes * 8 * DBL_EPSILON * x)
    flag = refused(b, CP_ILL_INPUT, "%s: the rope is too short for its nodes: %g, and %g are needed",
                   name, (double)b->m.param[length], (double)x);
  if (flag) {
    bodiesForget(b, &before);
    return flag;
  }
  const sunrealtype motion[] = {0, rope->rate, 0, 0};
  const int drive            = formula ? bodiesTakeDrive(b, text, bodiesMotionOf, formula, NULL)
                               : rope->rate != 0 ? bodiesTakeDrive(b, text, NULL, NULL, motion)
                                                 : NONE;
  const Row row              = {.term   = first,
                                .nterms = d.nterms,
                                .offset = length,
                                .drive  = drive,
                                .limit  = -1,
                                .other  = NONE,
                                .rope   = 1};
  if (rope->taut) {
    bodiesTakeRow(b, text, &row, 0);
    return b->m.njoints - 1;
  }
  const int restitution =
      elastic ? NONE : bodiesTakeParam(b, text, "restitution", rope->restitution);
  if (elastic) b->m.nelastic_ropes++;
  const int i = bodiesTakeStop(b, text, &row, restitution, elastic ? param : NONE);
  if (d.drum != NONE) takeSlip(&d, first, text, &b->m.contact[i]);
  return i;
}

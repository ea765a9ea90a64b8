/* Quantities of a CPMech at a state: coordinates, points, reactions, energies; and its parameters. */
#include "laws.h"
#include "ropes.h"
#include "tree.h"
#include "wrench.h"

#include <string.h>

void bodiesPlacePair(Mechanism *b, const Pair *pair, N_Vector y) {
  const Space *s       = &b->space;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + bodiesCoordinates(b);
  if (b->tree) bodiesPoses(b, q, u, NULL);
  for (int side = 0; side < 2 && !b->tree; side++) {
    const int i = pair->side[side].body;
    if (i != GROUND) bodiesPoseAt(s, q + s->nq * i, u + s->nu * i, NULL, &b->pose[i]);
  }
}

int CPMechGetParameters(CPMech mech, sunrealtype **values, int *n) {
  Mechanism *b;
  const int flag = bodiesOf(mech, __func__, &b);
  if (flag) return flag;
  if (values) *values = b->param;
  if (n) *n = b->nparams;
  return CP_SUCCESS;
}

int CPMechGetCoordinate(CPMech mech, int i, N_Vector y, sunrealtype *x, sunrealtype *rate) {
  Mechanism *b;
  int flag = bodiesAt(mech, y, __func__, &b);
  if (!flag) flag = bodiesCheckIndex(CP_OBJECT(mech), b, CP_COORDINATE, i, __func__);
  if (flag) return flag;
  Term term;
  Jet jet;
  bodiesCoordinate(b, i, &term);
  treeCountTurns(b, &term);
  bodiesPlacePair(b, &b->pair[term.pair], y);
  bodiesTermJet(b, &term, VALUES, &jet);
  if (x) *x = term.coef * jet.s;
  if (rate) *rate = term.coef * jet.rate;
  return CP_SUCCESS;
}

int CPMechGetReaction(CPMech mech, int joint, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                      sunrealtype *F, sunrealtype *T) {
  Mechanism *b;
  int flag = bodiesAt(mech, y, __func__, &b);
  if (!flag) flag = bodiesCheckIndex(CP_OBJECT(mech), b, CP_JOINT, joint, __func__);
  if (flag) return flag;
  if (bodiesGiven(CP_OBJECT(mech), __func__, "lambda, F and T", lambda && F && T))
    return CP_ILL_INPUT;
  if (b->tree && treeHas(b->tree, b, joint)) {
    const sunrealtype *q = N_VGetArrayPointer(y);
    CPMechOutput out     = {CP_SIZED(CPMechOutput), .udot = b->tree->column};
    if ((flag = CPMechEvaluate(mech, t, y, &out))) return flag;
    b->z = q + bodiesCoordinates(b) + bodiesVelocities(b);
    bodiesPoses(b, q, q + bodiesCoordinates(b), b->tree->column);
  } else bodiesPlacePair(b, &b->pair[b->joint[joint].pair], y);
  if ((flag = bodiesReaction(b, t, lambda, joint, F, T)) == 0) return CP_SUCCESS;
  return cpReport(CP_OBJECT(mech), flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR, __func__,
                  "at t = %g a function of a drive or a force failed (%d)", (double)t, flag);
}

/* Computes the force F and the torque T about the body's point P from the columns of A of one body,
 * as -A^T lambda. */
int bodiesReaction(Mechanism *b, sunrealtype t, const sunrealtype *lambda, int joint,
                   sunrealtype *F, sunrealtype *T) {
  const Joint *j   = &b->joint[joint];
  const Pair *pair = &b->pair[j->pair];
  const Space *s   = &b->space;
  memset(F, 0, 3 * sizeof *F);
  memset(T, 0, 3 * sizeof *T);
  if (b->tree && treeHas(b->tree, b, joint)) return treeReaction(b, t, lambda, joint, F, T);
  if (j->kind == NONE) {
    F[0] = -lambda[bodiesRowOf(b, j, 0)->first];
    return 0;
  }
  /* The reaction on b or, if that is the ground, the opposite of the reaction on a. */
  const int side         = pair->side[1].body == GROUND ? 0 : 1;
  const sunrealtype sign = side ? 1 : -1;
  const Pose *pose       = bodiesPose(b, pair->side[side].body);
  sunrealtype moment[3]  = {0, 0, 0}, arm[3], lever[3];
  for (int r = 0; r < j->nrows + j->nrolls; r++) {
    const Row *row       = bodiesRowOf(b, j, r);
    const sunrealtype *l = lambda + row->first;
    if (bodiesRowTerm(b, row, 0)->m.kind == POINT) {
      /* at P_b, so that it has no torque about P_b */
      for (int k = 0; k < s->dimension; k++) F[k] += l[k];
      continue;
    }
    for (int k = 0; k < row->nterms; k++) {
      const Term *term    = bodiesRowTerm(b, row, k);
      const sunrealtype c = bodiesWeight(b, term);
      Jet jet;
      bodiesTermJet(b, term, GRADIENT, &jet);
      EACH_DIRECTION(s, bodiesTermMask(b, term).g & (side ? 0xCu : 0x3u), i) {
        const sunrealtype part = -sign * c * l[0] * jet.g[i];
        if (i % 6 < 3) {
          F[i % 3] += part;
          toSpace(pose, pair->side[side].point, arm);
          sunrealtype e[3] = {i % 3 == 0, i % 3 == 1, i % 3 == 2};
          cross3(arm, e, lever);
          add3(-part, lever, moment);
        } else {
          add3(part, pose->axis[i % 3], moment);
        }
      }
    }
  }
  /* The torque is about the point of this side; transferred to P_b, T_b = T_a + (P_a - P_b) x F. */
  if (side == 0) {
    Moving d;
    bodiesSpan(pair, bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body), VALUES,
               &d);
    const int has_point = bodiesRowTerm(b, &b->row[j->first], 0)->m.kind == POINT;
    cross3(d.x, F, lever);
    if (!has_point) add3(-1, lever, moment);
  }
  memcpy(T, moment, sizeof moment);
  return 0;
}

sunrealtype bodiesKinetic(const Mechanism *b, int i) {
  const sunrealtype *mass = b->param + b->body[i].param;
  const Pose *pose        = &b->pose[i];
  sunrealtype w[3], spin[3];
  toBody(pose, pose->w, w);
  bodiesTimesInertia(&b->body[i], mass, w, spin);
  return (mass[0] * dot3(pose->v, pose->v) + dot3(w, spin)) / 2;
}

/* out += the energies of the bodies; requires the poses. */
static void addEnergies(const Mechanism *b, CPPowers *out) {
  for (int i = 0; i < b->nbodies; i++) {
    out->kinetic += bodiesKinetic(b, i);
    out->potential -= b->param[b->body[i].param] * dot3(b->param, b->pose[i].r);
  }
}

void bodiesLawAt(const Mechanism *b, int i, const sunrealtype *q, const sunrealtype *u,
                 sunrealtype *x, sunrealtype *rate) {
  const Law *law = &b->law[i];
  if (!b->tree || !law->on_tree) {
    bodiesLawSum(b, law, VALUES, x, rate, NULL);
    return;
  }
  lawAtTree(b, law, q, u, x, rate);
}

int bodiesForceOf(const Mechanism *b, int i, sunrealtype t, sunrealtype *F, sunrealtype *rate) {
  const Pair *pair = &b->pair[b->force[i].pair];
  Moving d;
  bodiesSpan(pair, &bodies_ground, bodiesPose(b, pair->side[1].body), VALUES, &d);
  memcpy(rate, d.rate, sizeof d.rate);
  return bodiesPointForce(b, &b->force[i], t, &d, F, NULL, NULL);
}

/* Has a law a power, or does it only store energy? */
static int hasPower(const Mechanism *b, const Law *law) {
  return law->kind != SPRING || b->param[law->param + 1] != 0 || law->law || law->formula ||
         (law->force != NONE && b->param[law->force] != 0);
}

/* out += what laws do. Sums in registers, since these loops are a part of each evaluation of W. Returns what a user's function returned. */
static int lawPowers(const Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *lambda, int energies, CPPowers *out) {
  sunrealtype kinetic = 0, potential = 0, dissipation = 0, applied = 0;
  const Tree *tree = b->tree;
  int flag         = 0, first, count;
  for (int i = 0; tree && i < tree->nlines; i++) {
    const Line *line     = &tree->line[i];
    const sunrealtype *p = b->param + line->param;
    sunrealtype stretch, rate, force;
    lineAt(b, line, q, u, &stretch, &rate, &force);
    if (line->inertance != NONE) kinetic += b->param[line->inertance] * rate * rate / 2;
    potential += p[0] * stretch * stretch / 2;
    dissipation += p[1] * rate * rate;
    applied += force * rate;
  }
  for (int i = 0; i < (tree ? tree->nfull : b->nlaws) && !flag; i++) {
    const int number     = tree ? tree->full[i] : i;
    const Law *law       = &b->law[number];
    const sunrealtype *p = b->param + law->param;
    sunrealtype T[3], x, rate;
    if (!energies && !hasPower(b, law)) continue;
    bodiesLawAt(b, number, q, u, &x, &rate);
    if (law->inertance != NONE) kinetic += b->param[law->inertance] * rate * rate / 2;
    if (law->kind == MOTOR) {
      flag = lawActuator(b, law, t, x, rate, VALUES, T);
      applied += T[0] * rate;
    } else if (law->kind == SPRING) {
      const sunrealtype stretch = lawStretch(b, law, x);
      potential += p[0] * stretch * stretch / 2;
      dissipation += p[1] * rate * rate;
      T[0] = 0;
      if (law->law || law->formula) flag = bodiesLawFunction(b, law, t, x, rate, VALUES, T);
      if (law->force != NONE) T[0] += b->param[law->force];
      applied += T[0] * rate;
    } else if (law->kind == DRAG) {
      dissipation += p[0] * rate * rate;
    } else if (lambda) {
      const sunrealtype N = bodiesReactionSize(b, law->joint, lambda, &first, &count);
      flag                = lawForce(b, law, t, x, rate, N, VALUES, T);
      dissipation -= T[0] * rate;
    }
  }
  out->kinetic += kinetic, out->potential += potential;
  out->dissipation += dissipation, out->applied += applied;
  return flag;
}

int bodiesPowers(Mechanism *b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 const sunrealtype *lambda, int energies, CPPowers *out, sunrealtype *of_contacts) {
  const Tree *tree = b->tree;
  const int laws   = tree ? tree->nothers + b->nfrictions : b->nlaws;
  int placed       = laws + b->nforces > 0;
  if (placed) bodiesPoses(b, q, u, NULL);
  int flag = lawPowers(b, t, q, u, lambda, energies, out);
  for (int i = 0; i < b->nforces && !flag; i++) {
    sunrealtype F[3], rate[3];
    WrenchState wrench;
    const int at_point = b->force[i].law == AT_A_POINT;
    flag = at_point ? bodiesForceOf(b, i, t, F, rate) : bodiesWrench(b, &b->force[i], &wrench);
    out->applied += at_point ? dot3(F, rate) : wrench.power;
  }
  for (int i = 0; i < b->ncontacts && b->nelastic_ropes > 0 && !flag; i++) {
    if (b->contact[i].elastic == NONE) continue;
    const Joint *joint = &b->joint[b->contact[i].joint];
    RopeState rope;
    if (!bodiesRow(b, joint->first)->rope) continue;
    if (!placed) bodiesPoses(b, q, u, NULL);
    placed = 1;
    flag   = bodiesRope(b, joint, t, &rope);
    out->potential += rope.energy;
    out->dissipation += rope.lost;
    out->drives -= rope.tension * rope.winch;
    of_contacts[0] -= rope.tension * rope.rate;
  }
  for (int i = 0; i < b->nrows && b->ndrives > 0 && lambda && !flag; i++) {
    DriveAt at;
    const Row *row = &b->row[i];
    if (row->drive == NONE) continue;
    flag = bodiesDrive(b, row->drive, t, &at);
    out->drives -= (row->limit < 0 ? -1 : 1) * lambda[row->first] * at.rate;
  }
  return flag;
}

int CPMechGetPowers(CPMech mech, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                    CPPowers *powers) {
  Mechanism *b;
  int flag = bodiesAt(mech, y, __func__, &b);
  if (flag) return flag;
  CPPowers sum;
  sunrealtype of_contacts = 0;
  if ((flag = cpTake(CP_OBJECT(mech), &sum, powers, __func__))) return flag;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + bodiesCoordinates(b);
  sum = (CPPowers){0};
  bodiesPoses(b, q, u, NULL);
  addEnergies(b, &sum);
  flag = bodiesPowers(b, t, q, u, lambda, 1, &sum, &of_contacts);
  cpGive(powers, &sum);
  if (!flag) return CP_SUCCESS;
  return cpReport(CP_OBJECT(mech), flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR, __func__,
                  "at t = %g a function of a drive or a force failed (%d)", (double)t, flag);
}

/* -------------------------------------------------------------------------------- drawings -- */

/* P: out, the point of a side in space; requires the poses. */
static void pointOf(const Mechanism *b, const Side *side, sunrealtype *P) {
  const Pose *pose = bodiesPose(b, side->body);
  toSpace(pose, side->point, P);
  add3(1, pose->r, P);
}

/* frame: out, where contact i acts, its normal and both tangents. Returns 0 or an error code that has been reported. */
static int contactFrame(CPMech mech, Mechanism *b, int i, sunrealtype *frame, const char *function) {
  const Contact *contact   = &b->contact[i];
  const Joint *joint       = &b->joint[contact->joint];
  const Pair *pair         = &b->pair[joint->pair];
  const sunrealtype radius = contact->radius == NONE ? 0 : b->param[contact->radius];
  sunrealtype own[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}, *n = frame + 3, point[3];
  const Pose *pose[2] = {bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body)};
  if (contact->on == CP_ON_STOP || contact->on == CP_ON_JOINT) { /* which act on no surface */
    pointOf(b, &pair->side[1], frame);
    return CP_SUCCESS;
  }
  if (bodiesRowTerm(b, &b->row[joint->first], 0)->m.kind == LEVEL &&
      bodiesLevel(&b->space, b->param, pair, pose[0], pose[1], own[0], own + 1))
    return cpReport(CP_OBJECT(mech), CP_REPTD_USERFUNC_ERR, function,
                    "%s: the function of the surface failed", b->text + joint->name);
  if (contact->on == CP_ON_SHAPE)
    bodiesNearest(&b->space, pair, pose[0], pose[1], NULL, frame, own[0], own + 1);
  const sunrealtype size = sqrt(dot3(own[0], own[0]));
  for (int k = 0; k < 3; k++) { /* z, x, y */
    sunrealtype in_body[3] = {0, 0, 0};
    for (int j = 0; j < 3; j++) add3(own[k][j] / size, pair->side[0].axis[j], in_body);
    toSpace(pose[0], in_body, frame + 3 + 3 * k);
  }
  if (contact->on == CP_ON_SHAPE) return CP_SUCCESS;
  pointOf(b, &pair->side[1], frame);
  /* the contact point is at -(n - c k)/s from the centre */
  if (joint->kind == CP_JOINT_ROLLING_DISC) {
    toSpace(pose[1], pair->side[1].axis[2], point);
    const sunrealtype c = dot3(n, point), s = sqrt(1 - c * c);
    add3(radius * c / s, point, frame);
    add3(-radius / s, n, frame);
  } else add3(-radius, n, frame);
  if (b->space.dimension == 2) memset(frame + 9, 0, 3 * sizeof *frame);
  return CP_SUCCESS;
}

int CPMechGetPoints(CPMech mech, CPThing thing, int i, N_Vector y, sunrealtype *xyz) {
  Mechanism *b;
  int flag = bodiesAt(mech, y, __func__, &b);
  if (!flag) flag = bodiesCheckIndex(CP_OBJECT(mech), b, thing, i, __func__);
  if (flag) return flag;
  if (bodiesGiven(CP_OBJECT(mech), __func__, "xyz", xyz != NULL)) return CP_ILL_INPUT;
  const int n = bodiesPairOf(b, thing, i);
  if (n < 0)
    return cpReport(CP_OBJECT(mech), CP_ILL_INPUT, __func__,
                    "thing must be CP_JOINT, CP_CONTACT, CP_SPRING, CP_SHAPE or CP_PATH, and is %d",
                    (int)thing);
  const Pair *pair = &b->pair[n];
  const Side *on   = &pair->side[1];
  memset(xyz, 0, 12 * sizeof *xyz);
  bodiesPlacePair(b, pair, y);
  if (thing == CP_PATH) {
    if (i + 1 < bodiesPathPart(b, NONE, NULL, NULL))
      bodiesPlacePair(b, &b->pair[bodiesPairOf(b, thing, i + 1)], y);
    bodiesPathPoints(b, i, xyz);
    return CP_SUCCESS;
  }
  if (thing == CP_CONTACT) return contactFrame(mech, b, i, xyz, __func__);
  if (thing == CP_SHAPE) {
    pointOf(b, on, xyz);
    for (int k = 0; k < 3; k++) {
      sunrealtype *end = xyz + 3 + 3 * k;
      toSpace(bodiesPose(b, on->body), on->axis[k], end);
      for (int j = 0; j < 3; j++) end[j] = xyz[j] + b->shape[i].half[k] * end[j];
    }
    return CP_SUCCESS;
  }
  pointOf(b, &pair->side[0], xyz);
  pointOf(b, on, xyz + 3);
  return CP_SUCCESS;
}

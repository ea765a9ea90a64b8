/* What a program can request: the CPMech, states, assembly, sensors, reactions, energies,
 * parameters. */
#include "bodies_impl.h"

#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int CPBodiesModel(CPBodies b, CPEquations *model) {
  if (!b || !model) return CP_MEM_NULL;
  const int flag = bodiesBuild(b, __func__);
  if (!flag) *model = b->model;
  return flag;
}

int CPBodiesPrepare(CPBodies b, CPMech mech) {
  if (!b || !mech) return CP_MEM_NULL;
  return b->log.handler ? CPObjectSetErrHandlerFn(CP_OBJECT(mech), b->log.handler, b->log.data)
                        : CP_SUCCESS;
}

CPMech bodiesCreateMech(CPBodies b, N_Vector y) {
  CPModel model = CPModelCreate(&b->model);
  CPMech mech   = model ? CPMechCreate(model, y, b->ctx) : NULL;
  CPModelFree(&model);
  return mech;
}

/* Returns 0, or a code. */
static int switchContactsOff(const struct CPBodies_ *b, CPMech mech) {
  if (b->ncontacts == 0) return CP_SUCCESS;
  sunrealtype *mask = malloc((size_t)b->nv * sizeof *mask);
  if (!mask) return CP_MEM_FAIL;
  bodiesWithoutContacts(b, mask);
  const int flag = CPMechSetActive(mech, mask);
  free(mask);
  return flag;
}

int CPBodiesMech(CPBodies b, CPMech *mech) {
  if (!b || !mech) return CP_MEM_NULL;
  *mech = NULL;
  if (b->has_mech)
    return cpReport(&b->log, CP_TOO_LATE, __func__, "the mechanism has its CPMech already");
  int flag = bodiesBuild(b, __func__);
  if (flag) return flag;
  N_Vector y = CPBodiesState(b);
  if (y) *mech = bodiesCreateMech(b, y);
  if (y) N_VDestroy(y);
  if (*mech && !(flag = CPBodiesPrepare(b, *mech)) && !(flag = switchContactsOff(b, *mech))) {
    b->has_mech = 1;
    return CP_SUCCESS;
  }
  CPMechFree(mech);
  return cpReport(&b->log, CP_MEM_FAIL, __func__, "no memory for the CPMech of %d bodies",
                  b->nbodies);
}

void bodiesWithoutContacts(const struct CPBodies_ *b, sunrealtype *mask) {
  for (int i = 0; i < b->nv; i++) mask[i] = 1;
  for (int i = 0; i < b->ncontacts; i++) {
    const Joint *joint               = &b->joint[b->contact[i].joint];
    mask[b->row[joint->first].first] = 0;
    for (int k = 0; k < joint->nrolls; k++) mask[b->roll[joint->first_roll + k].first] = 0;
  }
}

/* ------------------------------------------------------------------------- names of rows -- */

const char *bodiesNoun(const struct CPBodies_ *b, int i) {
  const Joint *joint = &b->joint[i];
  if (joint->kind == NONE) return b->row[joint->first].drive == NONE ? "coupler" : "drive";
  for (int k = 0; k < b->ncontacts; k++)
    if (b->contact[k].joint == i) return "contact";
  return "joint";
}

/* The direction of component k of a row. */
static const char *directionOf(const struct CPBodies_ *b, const Row *row, int k) {
  static const char *const space[] = {" along x", " along y", " along z"};
  static const char *const along[] = {" along x_a", " along y_a", " along z_a"};
  static const char *const about[] = {" about x_a", " about y_a", " about z_a"};
  const Measure *m                 = &row->term[0].m;
  switch (m->kind) {
  case POINT: return space[k];
  case ALONG: return along[m->i];
  case DOT:
    return b->space.dimension == 2 ? " in its angle"
           : m->i == m->j          ? " in the angle of its axes"
                                   : about[3 - m->i - m->j];
  case LENGTH: return " in its length";
  case LEVEL: return " along the normal";
  case GLIDE: return m->i == 0 ? " along the first tangent" : " along the second tangent";
  default: return "";
  }
}

/* What a drive cannot do beyond t */
static void limitOf(const struct CPBodies_ *b, const Joint *drive, sunrealtype t, char *name,
                    size_t length) {
  const Row *row         = &b->row[drive->first];
  const Side *side       = b->pair[drive->pair].side;
  const int moved        = side[1].body != GROUND;
  const int turns        = row->term[0].m.kind == ANGLE;
  const sunrealtype turn = 360;
  DriveAt at;
  if (bodiesDrive(b, row->drive, t, &at)) return;
  const sunrealtype g = at.g + at.rest, degrees = g * turn / (8 * atan(SUN_RCONST(1.0)));
  snprintf(name, length, "drive \"%s\" cannot %s \"%.100s\" beyond %.4g %s", b->text + drive->name,
           turns ? "turn" : "move", b->text + b->body[side[moved].body].name,
           (double)(!turns                  ? g
                    : fabs(degrees) <= turn ? degrees
                                            : remainder(degrees, turn)),
           turns ? "degrees" : "m");
}

/* A motion from a singular start that ends so soon has not left it [s]. */
static const sunrealtype near_start = SUN_RCONST(1e-3);

void bodiesRowName(CPMechName what, sunindextype i, sunrealtype t, char *name, size_t length,
                   void *bodies) {
  const struct CPBodies_ *b = bodies;
  if (what == CP_NAME_STATE) {
    if (b->singular[0] && fabs(t - b->assembled) <= near_start)
      snprintf(name, length, "%s", b->singular);
    return;
  }
  for (int j = 0; j < b->njoints; j++) {
    const Joint *joint = &b->joint[j];
    for (int r = 0; r < joint->nrows + joint->nrolls; r++) {
      const Row *row = r < joint->nrows ? &b->row[joint->first + r]
                                        : &b->roll[joint->first_roll + r - joint->nrows];
      const int n    = row->term[0].m.kind == POINT ? b->space.dimension : 1;
      if (i < row->first || i >= row->first + n) continue;
      if (what == CP_NAME_LIMIT) {
        if (joint->kind == NONE && row->drive != NONE) limitOf(b, joint, t, name, length);
        return;
      }
      snprintf(name, length, "%s \"%s\"%s", bodiesNoun(b, j), b->text + joint->name,
               joint->kind == NONE || what == CP_NAME_ELEMENT
                   ? ""
                   : directionOf(b, row, (int)(i - row->first)));
      return;
    }
  }
}

N_Vector CPBodiesState(CPBodies b) {
  if (!b || b->nbodies == 0) return NULL;
  const Space *s       = &b->space;
  const sunindextype n = b->nbodies;
  N_Vector y           = N_VNew_Serial(n * (s->nq + s->nu) + b->balance, b->ctx);
  if (!y) return NULL;
  N_VConst(0, y);
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + n * s->nq;
  for (int i = 0; i < b->nbodies; i++) {
    memcpy(q + s->nq * i, b->body[i].guess, (size_t)s->nq * sizeof *q);
    memcpy(u + s->nu * i, b->body[i].guess + s->nq, (size_t)s->nu * sizeof *u);
  }
  return y;
}

/* Computes only the poses of a pair's bodies at y, so that a query about one element does not cost
 * the time of all. */
static void placePair(CPBodies b, const Pair *pair, N_Vector y) {
  const Space *s       = &b->space;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + (sunindextype)b->nbodies * s->nq;
  for (int side = 0; side < 2; side++) {
    const int i = pair->side[side].body;
    if (i != GROUND) bodiesPoseAt(s, q + s->nq * i, u + s->nu * i, NULL, &b->pose[i]);
  }
}

int bodiesCheckState(CPBodies b, N_Vector y, const char *function) {
  if (!b) return CP_MEM_NULL;
  if (!b->ready)
    return cpReport(&b->log, CP_NO_INIT, function, "CPBodiesMech must be called first");
  if (!y) return cpReport(&b->log, CP_MEM_NULL, function, "y must not be NULL");
  const sunindextype n = (sunindextype)b->nbodies * (b->space.nq + b->space.nu) + b->balance;
  if (N_VGetLength(y) != n)
    return cpReport(&b->log, CP_ILL_INPUT, function, "y must have %ld components, and has %ld",
                    (long)n, (long)N_VGetLength(y));
  return CP_SUCCESS;
}

static int checkIndex(CPBodies b, const char *function, const char *what, int i, int count) {
  if (i >= 0 && i < count) return CP_SUCCESS;
  return cpReport(&b->log, CP_ILL_INPUT, function, "%s must be one of 0 ... %d, and is %d", what,
                  count - 1, i);
}

int CPBodiesCoordinate(CPBodies b, CPCoordinate of, N_Vector y, sunrealtype *x, sunrealtype *rate) {
  const int flag = bodiesCheckState(b, y, __func__);
  Term term;
  Jet jet;
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "x and rate", x && rate)) return CP_ILL_INPUT;
  const int j = of.joint ? bodiesFind(b, NAME_JOINT, of.joint, strlen(of.joint)) : -1;
  if (j < 0 || bodiesCoordinateTerm(b, j, of.k, &term))
    return cpReport(&b->log, CP_ILL_INPUT, __func__,
                    "there is no joint \"%.100s\" with a coordinate %d", of.joint ? of.joint : "",
                    of.k);
  placePair(b, &b->pair[term.pair], y);
  bodiesTermJet(b, &term, VALUES, &jet);
  *x    = term.coef * jet.s;
  *rate = term.coef * jet.rate;
  return CP_SUCCESS;
}

int CPBodiesPoint(CPBodies b, const char *body, const sunrealtype *point, N_Vector y,
                  sunrealtype *x, sunrealtype *v) {
  const int flag = bodiesCheckState(b, y, __func__);
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "point", point != NULL)) return CP_ILL_INPUT;
  const int i = body ? bodiesFind(b, NAME_BODY, body, strlen(body)) : -1;
  if (i < 0)
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "there is no body \"%.100s\"",
                    body ? body : "");
  Pair pair = {.side = {{.body = GROUND}, {.body = i}}};
  placePair(b, &pair, y);
  Moving d;
  memcpy(pair.side[1].point, point, sizeof pair.side[1].point);
  add3(-1, b->body[i].centre, pair.side[1].point);
  bodiesSpan(&pair, &bodies_ground, &b->pose[i], VALUES, &d);
  if (x) memcpy(x, d.x, sizeof d.x);
  if (v) memcpy(v, d.rate, sizeof d.rate);
  return CP_SUCCESS;
}

/* Computes the force F and the torque T about the body's point P from the columns of A of one body,
 * as -A^T lambda. */
int CPBodiesReaction(CPBodies b, const char *joint, sunrealtype t, N_Vector y,
                     const sunrealtype *lambda, sunrealtype *F, sunrealtype *T) {
  (void)t;
  const int flag = bodiesCheckState(b, y, __func__);
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "F and T", F && T)) return CP_ILL_INPUT;
  const int index = joint ? bodiesFind(b, NAME_JOINT, joint, strlen(joint)) : -1;
  if (index < 0 || !lambda)
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "there is no joint \"%.100s\", or no lambda",
                    joint ? joint : "");
  const Joint *j   = &b->joint[index];
  const Pair *pair = &b->pair[j->pair];
  const Space *s   = &b->space;
  memset(F, 0, 3 * sizeof *F);
  memset(T, 0, 3 * sizeof *T);
  placePair(b, pair, y);
  if (j->kind == NONE) {
    F[0] = -lambda[b->row[j->first].first];
    return CP_SUCCESS;
  }
  /* The reaction on b or, if that is the ground, the opposite of the reaction on a. */
  const int side         = pair->side[1].body == GROUND ? 0 : 1;
  const sunrealtype sign = side ? 1 : -1;
  const Pose *pose       = bodiesPose(b, pair->side[side].body);
  sunrealtype moment[3]  = {0, 0, 0}, arm[3], lever[3];
  for (int r = 0; r < j->nrows + j->nrolls; r++) {
    const Row *row = r < j->nrows ? &b->row[j->first + r] : &b->roll[j->first_roll + r - j->nrows];
    const sunrealtype *l = lambda + row->first;
    if (row->term[0].m.kind == POINT) {
      /* at P_b, so that it has no torque about P_b */
      for (int k = 0; k < s->dimension; k++) F[k] += l[k];
      continue;
    }
    for (int k = 0; k < row->nterms; k++) {
      const Term *term    = &row->term[k];
      const sunrealtype c = term->ratio == NONE ? term->coef : term->coef * b->param[term->ratio];
      Jet jet;
      bodiesTermJet(b, term, GRADIENT, &jet);
      EACH_DIRECTION(s, bodiesMask(s, pair, &term->m).g & (side ? 0xCu : 0x3u), i) {
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
    const int has_point = b->row[j->first].term[0].m.kind == POINT;
    cross3(d.x, F, lever);
    if (!has_point) add3(-1, lever, moment);
  }
  memcpy(T, moment, sizeof moment);
  return CP_SUCCESS;
}

/* out += the energies of the bodies; requires the poses. */
static void addEnergies(const struct CPBodies_ *b, const sunrealtype *u, CPBodiesPowers *out) {
  const Space *s = &b->space;
  for (int i = 0; i < b->nbodies; i++) {
    const sunrealtype *J = b->param + b->body[i].param + 1, *v = u + s->nu * i, m = J[-1];
    out->kinetic += m * dot3(b->pose[i].v, b->pose[i].v) / 2;
    out->potential -= m * dot3(b->param, b->pose[i].r);
    if (s->dimension == 2) out->kinetic += J[2] * v[2] * v[2] / 2;
    else {
      const sunrealtype x = v[3], w = v[4], z = v[5];
      out->kinetic += (J[0] * x * x + J[1] * w * w + J[2] * z * z) / 2 +
                      (b->body[i].full ? J[3] * x * w + J[4] * x * z + J[5] * w * z : 0);
    }
  }
}

int bodiesPowers(CPBodies b, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 const sunrealtype *lambda, CPBodiesPowers *out) {
  int flag = 0, first, count;
  if (b->nlaws + b->nforces > 0) bodiesPoses(b, q, u, NULL);
  for (int i = 0; i < b->nlaws && !flag; i++) {
    const Law *law       = &b->law[i];
    const sunrealtype *p = b->param + law->param;
    Jet jet;
    sunrealtype T[3];
    bodiesTermJet(b, &law->term, VALUES, &jet);
    const sunrealtype x = law->term.coef * jet.s, rate = law->term.coef * jet.rate;
    if (law->kind == FRICTION) {
      if (!lambda) continue;
      flag = bodiesLaw(b, law, t, x, rate,
                       bodiesReactionSize(b, law->joint, lambda, &first, &count), T);
      out->dissipation -= T[0] * rate;
      continue;
    }
    if (law->inertance != NONE) out->kinetic += b->param[law->inertance] * rate * rate / 2;
    if (law->kind == DRAG) {
      out->dissipation += p[0] * rate * rate;
      continue;
    }
    const sunrealtype stretch = bodiesStretch(b, law, x);
    out->potential += p[0] * stretch * stretch / 2;
    out->dissipation += p[1] * rate * rate;
    T[0] = 0;
    if (law->law) flag = law->law(t, x, rate, T, law->data);
    if (law->force != NONE) T[0] += b->param[law->force];
    out->applied += T[0] * rate;
  }
  for (int i = 0; i < b->nforces && !flag; i++) {
    const Pair *pair = &b->pair[b->force[i].pair];
    sunrealtype F[3], Fx[9], Fv[9];
    Moving d;
    bodiesSpan(pair, &bodies_ground, bodiesPose(b, pair->side[1].body), VALUES, &d);
    flag = bodiesPointForce(b, &b->force[i], t, &d, F, Fx, Fv);
    out->applied += dot3(F, d.rate);
  }
  for (int i = 0; i < b->nrows && lambda && !flag; i++) {
    DriveAt at;
    if (b->row[i].drive == NONE) continue;
    flag = bodiesDrive(b, b->row[i].drive, t, &at);
    out->drives -= lambda[b->row[i].first] * at.rate;
  }
  return flag;
}

int CPBodiesGetPowers(CPBodies b, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                      CPBodiesPowers *powers) {
  int flag = bodiesCheckState(b, y, __func__);
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "powers", powers != NULL)) return CP_ILL_INPUT;
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + (sunindextype)b->nbodies * b->space.nq;
  *powers = (CPBodiesPowers){0};
  bodiesPoses(b, q, u, NULL);
  addEnergies(b, u, powers);
  flag = bodiesPowers(b, t, q, u, lambda, powers);
  if (!flag) return CP_SUCCESS;
  return cpReport(&b->log, flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR, __func__,
                  "at t = %g a function of a drive or a force failed (%d)", (double)t, flag);
}

int CPBodiesFindParameter(CPBodies b, const char *name) {
  if (!b) return CP_MEM_NULL;
  const char *dot = name ? strchr(name, '.') : NULL;
  const int owner = dot ? bodiesNamed(b, name, (size_t)(dot - name)) : -1;
  /* The parameters of an element are consecutive, in the order of names. */
  int i = 0, end = owner < 0 ? 0 : b->nparams;
  for (int last = end; i < last;) {
    const int middle = i + (last - i) / 2;
    if (b->label[middle].owner < owner) i = middle + 1;
    else last = middle;
  }
  for (; i < end && b->label[i].owner == owner; i++)
    if (!strcmp(dot + 1, b->label[i].field)) return i;
  return cpReport(&b->log, CP_ILL_INPUT, __func__, "there is no parameter \"%.200s\"",
                  name ? name : "");
}

sunrealtype *CPBodiesParameters(CPBodies b) { return b ? b->param : NULL; }

int CPBodiesParameterName(CPBodies b, int i, char *text, size_t length) {
  if (!b) return CP_MEM_NULL;
  if (checkIndex(b, __func__, "i", i, b->nparams)) return CP_ILL_INPUT;
  if (bodiesGiven(b, __func__, "text", text || length == 0)) return CP_ILL_INPUT;
  snprintf(text, length, "%s.%s", b->text + b->label[i].owner, b->label[i].field);
  return CP_SUCCESS;
}

int CPBodiesCount(CPBodies b, CPBodiesKind kind) {
  if (!b) return 0;
  switch (kind) {
  case CP_BODY: return b->nbodies;
  case CP_JOINT: return b->njoints;
  case CP_CONTACT: return b->ncontacts;
  case CP_SPRING: return b->nlengths;
  case CP_SHAPE: return b->nshapes;
  default: return 0;
  }
}

const char *CPBodiesName(CPBodies b, CPBodiesKind kind, int i) {
  if (i < 0 || i >= CPBodiesCount(b, kind)) return NULL;
  switch (kind) {
  case CP_BODY: return b->text + b->body[i].name;
  case CP_JOINT: return b->text + b->joint[i].name;
  case CP_CONTACT: return b->text + b->joint[b->contact[i].joint].name;
  default: return NULL;
  }
}

/* The pair of a joint, a contact or a spring, or NULL after a report */
static const Pair *pairOf(CPBodies b, CPBodiesKind kind, int i, const char *function) {
  if (kind != CP_JOINT && kind != CP_CONTACT && kind != CP_SPRING) {
    cpReport(&b->log, CP_ILL_INPUT, function, "kind must be CP_JOINT, CP_CONTACT or CP_SPRING: %d",
             (int)kind);
    return NULL;
  }
  if (checkIndex(b, function, "i", i, CPBodiesCount(b, kind))) return NULL;
  return &b->pair[kind == CP_JOINT     ? b->joint[i].pair
                  : kind == CP_CONTACT ? b->joint[b->contact[i].joint].pair
                                       : b->law[b->length[i]].term.pair];
}

int CPBodiesDimension(CPBodies b) { return b ? b->space.dimension : 0; }

int CPBodiesSides(CPBodies b, CPBodiesKind kind, int i, int *body) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "body", body != NULL)) return CP_ILL_INPUT;
  const Pair *pair = pairOf(b, kind, i, __func__);
  for (int side = 0; side < 2 && pair; side++) body[side] = pair->side[side].body;
  return pair ? CP_SUCCESS : CP_ILL_INPUT;
}

int CPBodiesJointKind(CPBodies b, int i) {
  if (!b) return CP_MEM_NULL;
  if (checkIndex(b, __func__, "i", i, b->njoints)) return CP_ILL_INPUT;
  return b->joint[i].kind == NONE ? CP_JOINT_NONE : b->joint[i].kind;
}

/* P: out, the point of a side in space; requires the poses. */
static void pointOf(const struct CPBodies_ *b, const Side *side, sunrealtype *P) {
  const Pose *pose = bodiesPose(b, side->body);
  toSpace(pose, side->point, P);
  add3(1, pose->r, P);
}

/* Computes both points of a pair at y. */
static void pointsAt(CPBodies b, const Pair *pair, N_Vector y, sunrealtype *Pa, sunrealtype *Pb) {
  placePair(b, pair, y);
  pointOf(b, &pair->side[0], Pa);
  pointOf(b, &pair->side[1], Pb);
}

int CPBodiesPoints(CPBodies b, CPBodiesKind kind, int i, N_Vector y, sunrealtype *Pa,
                   sunrealtype *Pb) {
  const int flag = bodiesCheckState(b, y, __func__);
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "Pa and Pb", Pa && Pb)) return CP_ILL_INPUT;
  const Pair *pair = pairOf(b, kind, i, __func__);
  if (pair) pointsAt(b, pair, y, Pa, Pb);
  return pair ? CP_SUCCESS : CP_ILL_INPUT;
}

/* Checks that the mechanism is complete and has a contact i. Returns 0 or an error code that has
 * been reported. */
static int checkContact(CPBodies b, int i, const char *function) {
  if (checkIndex(b, function, "contact", i, b->ncontacts)) return CP_ILL_INPUT;
  return b->ready
             ? CP_SUCCESS
             : cpReport(&b->log, CP_NO_INIT, function, "call CPBodiesMech or CPBodiesModel first");
}

int CPBodiesContact(CPBodies b, int i, CPBodiesContactRows *rows) {
  if (!b || !rows) return CP_MEM_NULL;
  const int flag = checkContact(b, i, __func__);
  if (flag) return flag;
  const Contact *contact     = &b->contact[i];
  const Joint *joint         = &b->joint[contact->joint];
  const sunrealtype *present = b->param + contact->param;
  *rows                      = (CPBodiesContactRows){.name        = b->text + joint->name,
                                                     .joint       = contact->joint,
                                                     .normal      = b->row[joint->first].first,
                                                     .tangent     = b->roll[joint->first_roll].first,
                                                     .ntangents   = joint->nrolls,
                                                     .mu          = present[0],
                                                     .mu_static   = present[1],
                                                     .restitution = present[2],
                                                     .poisson     = contact->poisson,
                                                     .on          = contact->on};
  return CP_SUCCESS;
}

int CPBodiesContactFrame(CPBodies b, int i, N_Vector y, sunrealtype *frame) {
  int flag = bodiesCheckState(b, y, __func__);
  if (!flag) flag = checkContact(b, i, __func__);
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "frame", frame != NULL)) return CP_ILL_INPUT;
  const Contact *contact   = &b->contact[i];
  const Joint *joint       = &b->joint[contact->joint];
  const Pair *pair         = &b->pair[joint->pair];
  const sunrealtype radius = b->param[contact->radius];
  sunrealtype own[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}, *n = frame + 3, point[3];
  placePair(b, pair, y);
  const Pose *pose[2] = {bodiesPose(b, pair->side[0].body), bodiesPose(b, pair->side[1].body)};
  if (b->row[joint->first].term[0].m.kind == LEVEL &&
      bodiesLevel(b->param, pair, pose[0], pose[1], own[0], own + 1))
    return cpReport(&b->log, CP_REPTD_USERFUNC_ERR, __func__,
                    "%s: the function of the surface failed", b->text + joint->name);
  const sunrealtype size = sqrt(dot3(own[0], own[0]));
  for (int k = 0; k < 3; k++) { /* z, x, y */
    sunrealtype in_body[3] = {0, 0, 0};
    for (int j = 0; j < 3; j++) add3(own[k][j] / size, pair->side[0].axis[j], in_body);
    toSpace(pose[0], in_body, frame + 3 + 3 * k);
  }
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

int CPBodiesShapePoints(CPBodies b, int i, N_Vector y, CPShapeKind *kind, sunrealtype *points) {
  int flag = bodiesCheckState(b, y, __func__);
  if (!flag) flag = checkIndex(b, __func__, "shape", i, b->nshapes);
  if (flag) return flag;
  if (bodiesGiven(b, __func__, "kind and points", kind && points)) return CP_ILL_INPUT;
  const Shape *shape = &b->shape[i];
  const Side *on     = &b->pair[shape->pair].side[1];
  *kind              = shape->kind;
  placePair(b, &b->pair[shape->pair], y);
  pointOf(b, on, points);
  for (int k = 0; k < 3; k++) {
    sunrealtype *end = points + 3 + 3 * k;
    toSpace(bodiesPose(b, on->body), on->axis[k], end);
    for (int j = 0; j < 3; j++) end[j] = points[j] + shape->half[k] * end[j];
  }
  return CP_SUCCESS;
}

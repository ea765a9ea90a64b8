/* Actuators of MJCF: what each kind means as gain, bias and activation, and on what it acts. */
#include "mjcf_impl.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 10 };
typedef enum { FIXED, AFFINE, MUSCLE_GAIN, OTHER_GAIN } Gain;

/* An actuator as the file has it, with what is still to be resolved: inherit: the part of the joint's range that is that of the
 * control, or 0 */
typedef struct {
  CPActuator is;
  sunrealtype inherit, gear[6];
  Derived derived;
  char name[128];
} Acting;

/* What leads on from reading an actuator: it is known, there has been a message, or it is left out */
enum { KNOWN = 0, FAILED = 1, UNKNOWN = -1 };

/* ---- gain, bias and activation ---- */

/* The kind of actuator whose defaults have the attribute, or that of n: all kinds share one set of defaults in each class. */
static const char *kindWith(const Mjcf *m, const xmlNode *n, const xmlNode *class_,
                            const char *attribute) {
  static const char *const kinds[] = {"general", "motor",    "position", "velocity", "intvelocity",
                                      "damper",  "cylinder", "muscle",   "adhesion", NULL};
  const xmlChar *a                 = BAD_CAST attribute;
  const char *own                  = (const char *)n->name;
  if (robotText(n, attribute)) return own;
  for (;; class_ = class_->parent) {
    const int is_top     = !class_ || !robotIs(class_->parent, "default");
    const xmlChar *level = is_top ? NULL : BAD_CAST robotText(class_, "class");
    for (int k = 0; kinds[k]; k++)
      if (xmlHashLookup3(m->model->given, BAD_CAST kinds[k], a, level)) return kinds[k];
    if (is_top) return own;
  }
}

static int sharedNumbers(Mjcf *m, const xmlNode *n, const xmlNode *class_, const char *attribute,
                         int least, int most, sunrealtype *x) {
  return mjcfNumbers(m, n, kindWith(m, n, class_, attribute), class_, attribute, least, most, x);
}

/* range: out, of the control, force or activation, unless it is not limited; a range limits unless the file says otherwise. */
static int readRange(Mjcf *m, const xmlNode *n, const xmlNode *class_, const char *limited,
                     const char *attribute, sunrealtype *range) {
  static const char *const states[] = {"false", "true", "auto", NULL};
  int is_limited                    = 2;
  if (mjcfKeyword(m, n, kindWith(m, n, class_, limited), class_, limited, states, &is_limited) ||
      sharedNumbers(m, n, class_, attribute, 2, 2, range))
    return FAILED;
  if (is_limited == 0 || (is_limited == 2 && !m->model->autolimits)) range[0] = range[1] = 0;
  return 0;
}

/* The muscle of gainprm and biasprm, which are the same as far as both mean something. passive: 1 if it has a passive force */
static int takeMuscle(Mjcf *m, const xmlNode *n, const xmlNode *class_, const sunrealtype *prm,
                      int passive, Acting *x) {
  CPActuator *a         = &x->is;
  sunrealtype length[2] = {0, 0};
  if (sharedNumbers(m, n, class_, "lengthrange", 2, 2, length)) return FAILED;
  /* Lengths that come from simulations are not known here, and accelerations of free bodies are those of another point. */
  int is_free = 0;
  for (int i = 0; i < m->r->njoints; i++) is_free |= m->r->joint[i].type == FREE;
  if (!(length[0] < length[1]) || prm[2] == 0 || (prm[2] < 0 && (is_free || !(prm[3] > 0))))
    return UNKNOWN;
  x->derived.scale = prm[2] < 0 ? prm[3] : 0;
  a->muscle        = (CPMuscle){.force  = prm[2] < 0 ? 1 : prm[2],
                                .length = {length[0], length[1]},
                                .range  = {prm[0], prm[1]},
                                .lmin   = prm[4],
                                .lmax   = prm[5],
                                .vmax   = prm[6],
                                .fpmax  = passive && prm[7] > 0 ? prm[7] : -1,
                                .fvmax  = prm[8]};
  memset(a->gain, 0, sizeof a->gain);
  memset(a->bias, 0, sizeof a->bias);
  return KNOWN;
}

/* Of a filter without a time constant the activation is the control. */
static void setFilter(CPActuator *a, sunrealtype time) {
  a->dynamics = time > 0 ? CP_ACTIVATION_FILTER : CP_ACTIVATION_NONE;
  a->times[0] = time;
}

static int readGeneral(Mjcf *m, const xmlNode *n, const xmlNode *class_, Acting *x) {
  CPActuator *a                              = &x->is;
  static const char *const gains[]           = {"fixed", "affine", "muscle", "user", NULL},
                           *const biases[]   = {"none", "affine", "muscle", "user", NULL},
                           *const dynamics[] = {"none",   "integrator", "filter", "filterexact",
                                                "muscle", "user",       NULL};
  enum { NO_DYNAMICS, INTEGRATOR, FILTER, FILTER_EXACT, MUSCLE, OTHER };
  int gain = FIXED, bias = 0, dynamic = NO_DYNAMICS;
  sunrealtype gainprm[MOST] = {1}, biasprm[MOST] = {0}, dynprm[MOST] = {1}, count = -1;
  if (mjcfNumbers(m, n, "general", class_, "gainprm", 1, MOST, gainprm) ||
      mjcfNumbers(m, n, "general", class_, "biasprm", 1, MOST, biasprm) ||
      mjcfNumbers(m, n, "general", class_, "dynprm", 1, MOST, dynprm) ||
      mjcfNumbers(m, n, "general", class_, "actdim", 1, 1, &count))
    return FAILED;
  const struct {
    const char *attribute;
    const char *const *words;
    int *i;
  } words[] = {
      {"gaintype", gains, &gain}, {"biastype", biases, &bias}, {"dyntype", dynamics, &dynamic}};
  for (int k = 0; k < 3; k++) { /* those that are not known are left out */
    const char *text = mjcfGet(m, n, "general", class_, words[k].attribute);
    for (int i = 0; text && words[k].words[i]; i++)
      if (!strcmp(words[k].words[i], text)) *words[k].i = i, text = NULL;
    if (text) return UNKNOWN;
  }
  if (gain >= OTHER_GAIN || bias >= OTHER_GAIN || dynamic >= OTHER || count > 1) return UNKNOWN;
  if (dynamic == INTEGRATOR) a->dynamics = CP_ACTIVATION_INTEGRATOR;
  if (dynamic == FILTER || dynamic == FILTER_EXACT) setFilter(a, dynprm[0]);
  if (dynamic == MUSCLE) {
    if (!(dynprm[0] > 0 && dynprm[1] > 0)) return UNKNOWN;
    a->dynamics = CP_ACTIVATION_MUSCLE;
    memcpy(a->times, dynprm, sizeof a->times);
  }
  if (gain == MUSCLE_GAIN) {
    int same = 1;
    for (int k = 0; k < 9 && bias == MUSCLE_GAIN; k++) same &= gainprm[k] == biasprm[k];
    return bias == AFFINE || !same ? UNKNOWN
                                   : takeMuscle(m, n, class_, gainprm, bias == MUSCLE_GAIN, x);
  }
  if (bias == MUSCLE_GAIN) return UNKNOWN;
  for (int k = 0; k < (gain == AFFINE ? 3 : 1); k++) a->gain[k] = gainprm[k];
  for (int k = 0; k < 3 && bias == AFFINE; k++) a->bias[k] = biasprm[k];
  return KNOWN;
}

static int readServo(Mjcf *m, const xmlNode *n, const xmlNode *class_, Acting *x) {
  const char *tag = (const char *)n->name;
  CPActuator *a   = &x->is;
  sunrealtype kv = 0, time = 0, gainprm[MOST] = {1};
  /* kp is the gain of all kinds, of which a class may have another one. */
  if (mjcfNumbers(m, n, "general", class_, "gainprm", 1, MOST, gainprm) ||
      mjcfNumbers(m, n, tag, class_, "kp", 1, 1, gainprm) ||
      mjcfNumbers(m, n, tag, class_, "kv", 1, 1, &kv) ||
      mjcfNumbers(m, n, tag, class_, "timeconst", 1, 1, &time) ||
      mjcfNumbers(m, n, tag, class_, "dampratio", 1, 1, &x->derived.ratio) ||
      mjcfNumbers(m, n, tag, class_, "inheritrange", 1, 1, &x->inherit))
    return FAILED;
  a->gain[0] = gainprm[0], a->bias[1] = -gainprm[0], a->bias[2] = -kv;
  if (robotIs(n, "intvelocity")) a->dynamics = CP_ACTIVATION_INTEGRATOR;
  else setFilter(a, time);
  return KNOWN;
}

static int readCylinder(Mjcf *m, const xmlNode *n, const xmlNode *class_, CPActuator *a) {
  sunrealtype time = 1, area = 1, diameter = 0;
  if (mjcfNumbers(m, n, "cylinder", class_, "timeconst", 1, 1, &time) ||
      mjcfNumbers(m, n, "cylinder", class_, "bias", 1, 3, a->bias) ||
      mjcfNumbers(m, n, "cylinder", class_, "area", 1, 1, &area) ||
      mjcfNumbers(m, n, "cylinder", class_, "diameter", 1, 1, &diameter))
    return FAILED;
  a->gain[0] = diameter > 0 ? atan(SUN_RCONST(1.0)) * diameter * diameter : area;
  setFilter(a, time);
  return KNOWN;
}

static int readMuscle(Mjcf *m, const xmlNode *n, const xmlNode *class_, Acting *x) {
  CPActuator *a             = &x->is;
  sunrealtype prm[9]        = {SUN_RCONST(0.75),
                               SUN_RCONST(1.05),
                               -1,
                               200,
                               SUN_RCONST(0.5),
                               SUN_RCONST(1.6),
                               SUN_RCONST(1.5),
                               SUN_RCONST(1.3),
                               SUN_RCONST(1.2)};
  const char *const names[] = {"force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"};
  a->times[0] = SUN_RCONST(0.01), a->times[1] = SUN_RCONST(0.04);
  if (mjcfNumbers(m, n, "muscle", class_, "timeconst", 2, 2, a->times) ||
      mjcfNumbers(m, n, "muscle", class_, "tausmooth", 1, 1, &a->times[2]) ||
      mjcfNumbers(m, n, "muscle", class_, "range", 2, 2, prm))
    return FAILED;
  for (int k = 0; k < 7; k++)
    if (mjcfNumbers(m, n, "muscle", class_, names[k], 1, 1, &prm[2 + k])) return FAILED;
  a->dynamics = CP_ACTIVATION_MUSCLE;
  return takeMuscle(m, n, class_, prm, 1, x);
}

static int readGains(Mjcf *m, const xmlNode *n, const xmlNode *class_, Acting *x) {
  CPActuator *a  = &x->is;
  sunrealtype kv = 1;
  if (robotIs(n, "motor")) return a->gain[0] = 1, KNOWN;
  if (robotIs(n, "position") || robotIs(n, "intvelocity")) return readServo(m, n, class_, x);
  if (robotIs(n, "general")) return readGeneral(m, n, class_, x);
  if (robotIs(n, "cylinder")) return readCylinder(m, n, class_, a);
  if (robotIs(n, "muscle")) return readMuscle(m, n, class_, x);
  if (!robotIs(n, "velocity") && !robotIs(n, "damper")) return UNKNOWN;
  if (mjcfNumbers(m, n, (const char *)n->name, class_, "kv", 1, 1, &kv)) return FAILED;
  if (robotIs(n, "damper")) a->gain[2] = -kv;
  else a->gain[0] = kv, a->bias[2] = -kv;
  return KNOWN;
}

/* ---- what it acts on ---- */

/* Is a link below another one, or below the ground? */
static int isBelow(const Robot *r, int link, int of) {
  if (link == of) return 0;
  while (link != GROUND && r->link[link].place.link != of) link = r->link[link].place.link;
  return link != GROUND;
}

/* out: x, which is given in the frame of a place, in that of a link */
static void turnTo(const Robot *r, const Place *place, int link, const sunrealtype *x,
                   sunrealtype *out) {
  static const Place ground = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
  Pose from, to;
  sunrealtype in_space[3];
  robotPose(place, &from);
  robotPose(link == GROUND ? &ground : &r->link[link].place, &to);
  toSpace(&from, x, in_space);
  toBody(&to, in_space, out);
}

static const char *nameOf(const Robot *r, int link) {
  return link == GROUND ? NULL : r->link[link].name;
}

/* Does the force depend on the length of what it acts on? */
static int hasLength(const CPActuator *a) {
  return a->gain[1] != 0 || a->bias[1] != 0 || a->muscle.force != 0;
}

/* Counts the actuators that name a joint as this one does. */
static int countOn(const xmlNode *n, const char *joint) {
  int count = 0;
  for (const xmlNode *c = n->parent->children; c; c = c->next) {
    const char *own = c->type == XML_ELEMENT_NODE ? robotText(c, "joint") : NULL;
    count += own && !strcmp(own, joint);
  }
  return count;
}

/* Clamps the force to that which actuators may have on the joint altogether. Returns FAILED or KNOWN. */
static int clampTotal(Mjcf *m, const xmlNode *n, const RobotJoint *j, Acting *x) {
  const sunrealtype *total = j->total, gear = x->gear[0];
  sunrealtype *own = x->is.force_range;
  if (!(total[0] < total[1]) || gear == 0) return KNOWN;
  if (countOn(n, j->name) > 1)
    return robotNote(m->r, n, "actuatorfrcrange of joints with several actuators");
  const sunrealtype low = total[gear < 0] / gear, high = total[gear > 0] / gear;
  if (!(own[0] < own[1])) own[0] = low, own[1] = high;
  else own[0] = fmax(own[0], low), own[1] = fmin(own[1], high);
  return KNOWN;
}

/* An actuator on joint i, in the axes of its parent if `in_parent` */
static int onJoint(Mjcf *m, const xmlNode *n, int i, int in_parent, Acting *x) {
  Robot *r            = m->r;
  const RobotJoint *j = &r->joint[i];
  CPActuator *a       = &x->is;
  const int link = j->side[1], parent = j->side[0];
  const sunrealtype *gear = x->gear;
  if (j->held) return robotTell(r, n, WITHOUT_EFFECT, "actuators of joints that are held");
  if (j->type <= SLIDE) {
    if (j->k == NONE) return UNKNOWN;
    a->of   = (CPCoordinate){j->joint, j->k};
    a->gear = gear[0];
    sunrealtype *range =
        a->dynamics == CP_ACTIVATION_INTEGRATOR ? a->activation_range : a->control_range;
    for (int k = 0; k < 2 && x->inherit > 0; k++)
      range[k] = (j->range[k] * (1 + x->inherit) + j->range[!k] * (1 - x->inherit)) / 2;
    return clampTotal(m, n, j, x);
  }
  if (hasLength(a) || x->inherit > 0 || x->derived.ratio > 0 || j->type == PLANE) return UNKNOWN;
  a->gear = 1, a->in = CP_IN_BODIES, a->b = nameOf(r, link);
  if (j->type == BALL) {
    if (in_parent && parent == GROUND) return UNKNOWN;
    a->a = nameOf(r, parent);
    memcpy(a->about, gear, sizeof a->about);
    if (!in_parent) return KNOWN;
    a->a = nameOf(r, link), a->b = nameOf(r, parent); /* it turns with the parent */
    turnTo(r, &r->link[link].place, parent, gear, a->about);
    for (int k = 0; k < 3; k++) a->about[k] *= -1;
    return KNOWN;
  }
  const int pushes = gear[0] != 0 || gear[1] != 0 || gear[2] != 0,
            turns  = gear[3] != 0 || gear[4] != 0 || gear[5] != 0;
  if ((pushes && turns) || (turns && in_parent)) return UNKNOWN;
  memcpy(pushes ? a->along : a->about, pushes ? gear : gear + 3, sizeof a->along);
  return KNOWN;
}

/* An actuator on a site: a force and torque that move with it, or, with a refsite, a coordinate along a direction of that one */
static int onSite(Mjcf *m, const xmlNode *n, const char *site, const char *refsite, Acting *x) {
  Robot *r       = m->r;
  CPActuator *a  = &x->is;
  const int at   = robotFind(r, n, "site", site),
            from = refsite ? robotFind(r, n, "site", refsite) : 0;
  CPMarker on;
  if (at < 0 || from < 0) return FAILED;
  const Place *place = &r->place[at], *ref = refsite ? &r->place[from] : NULL;
  const sunrealtype *gear = x->gear;
  const int turns         = gear[3] != 0 || gear[4] != 0 || gear[5] != 0;
  if (x->inherit > 0 || x->derived.ratio > 0 || x->derived.scale > 0) return UNKNOWN;
  for (int link = place->link; link != GROUND; link = r->link[link].place.link)
    for (int i = 0; i < r->link[link].njoints; i++) {
      const sunrealtype *total = r->joint[r->link[link].first + i].total;
      if (total[0] < total[1] &&
          robotNote(r, n, "actuatorfrcrange of joints that actuators of sites move"))
        return FAILED;
    }
  if (place->link == GROUND || (ref && ref->link == place->link))
    return robotTell(r, n, WITHOUT_EFFECT, "actuators of sites that do not move");
  robotMarker(r, place, &on);
  a->gear = 1, a->in = CP_IN_BODIES, a->b = nameOf(r, place->link);
  memcpy(a->point_b, on.point, sizeof a->point_b);
  if (!ref) {
    if (hasLength(a) && a->muscle.force > 0) return UNKNOWN;
    a->gain[1] = a->bias[1] = 0; /* of the length, which is 0 */
    turnTo(r, place, place->link, gear, a->push);
    turnTo(r, place, place->link, gear + 3, a->about);
    return KNOWN;
  }
  /* On another branch MuJoCo's force on the refsite has no moment that balances it. */
  if (turns || (ref->link != GROUND && !isBelow(r, place->link, ref->link))) return UNKNOWN;
  robotMarker(r, ref, &on);
  a->a = nameOf(r, ref->link);
  memcpy(a->point_a, on.point, sizeof a->point_a);
  turnTo(r, ref, ref->link, gear, a->along);
  return KNOWN;
}

/* ---- the section ---- */

static int onTendon(Mjcf *m, const xmlNode *n, const char *tendon, Acting *x) {
  const int i = robotFind(m->r, n, "tendon", tendon);
  if (i < 0) return FAILED;
  if (!m->tendon[i].name[0] || x->inherit > 0) return UNKNOWN;
  x->is.of   = (CPCoordinate){m->tendon[i].name, 0};
  x->is.gear = x->gear[0];
  return KNOWN;
}

/* Reads what an actuator acts on, whose gain and bias are known. */
static int place(Mjcf *m, const xmlNode *n, Acting *x) {
  const char *joint = robotText(n, "joint"), *in_parent = robotText(n, "jointinparent"),
             *site = robotText(n, "site");
  const char *base = joint ? joint : in_parent ? in_parent : site;
  if (robotText(n, "tendon")) return onTendon(m, n, robotText(n, "tendon"), x);
  if (robotText(n, "slidersite") || !base) return UNKNOWN;
  if (site && !joint) return onSite(m, n, site, robotText(n, "refsite"), x);
  const int i = robotFind(m->r, n, "joint", base);
  return i < 0 ? FAILED : onJoint(m, n, i, !joint, x);
}

/* x: in, the default; out, number i of an attribute of the keyframe at which the robot starts. Returns FAILED or KNOWN. */
static int keyNumber(const Mjcf *m, const char *attribute, int i, sunrealtype *x) {
  const int has    = m->key && (m->keyed == m->model || !m->keyed->file);
  const char *text = has ? robotText(m->key, attribute) : NULL;
  for (char *end; text && i >= 0; i--, text = end) {
    *x = strtod(text, &end);
    if (end == text && m->keyed->file) return KNOWN; /* Copies of its actuators may follow. */
    if (end == text || !isfinite(*x))
      return robotWrong(m->r, m->key, "%s must have a finite number for each actuator", attribute);
  }
  return KNOWN;
}

static int readActuator(Mjcf *m, const xmlNode *n) {
  Robot *r = m->r;
  const xmlNode *class_;
  Acting x        = {.gear = {1}};
  const char *own = robotText(n, "name"), *base = robotText(n, "joint");
  if (!base) base = robotText(n, "site");
  if (!base) base = robotText(n, "tendon");
  x.is = (CPActuator){CP_NEW_ACTUATOR(x.name), .gear = 1};
  if (mjcfClass(m, n, "class", NULL, &class_) ||
      keyNumber(m, "ctrl", m->nactuators++, &x.is.control))
    return FAILED;
  int found = readGains(m, n, class_, &x);
  if (found == KNOWN && (sharedNumbers(m, n, class_, "gear", 1, 6, x.gear) ||
                         readRange(m, n, class_, "ctrllimited", "ctrlrange", x.is.control_range) ||
                         readRange(m, n, class_, "forcelimited", "forcerange", x.is.force_range) ||
                         readRange(m, n, class_, "actlimited", "actrange", x.is.activation_range) ||
                         robotAttributes(r, n, " armature damping delay nsample ")))
    return FAILED;
  if (x.is.dynamics == CP_ACTIVATION_NONE)
    memset(x.is.activation_range, 0, sizeof x.is.activation_range);
  else if (keyNumber(m, "act", m->nactivations++, &x.is.activation)) return FAILED;
  if (found == KNOWN) found = place(m, n, &x);
  if (found == UNKNOWN)
    return robotNote(r, n, robotText(n, "tendon") ? "actuators of tendons" : "actuators");
  if (found == FAILED) return 1;
  sunrealtype size = 0;
  for (int k = 0; k < 6; k++) size = fmax(size, fabs(x.gear[k]));
  /* A gear of 0, and what has been told to have no effect */
  if (size == 0 || (x.is.of.joint ? x.is.gear == 0 : !x.is.b)) return 0;
  if (robotUnique(r, n, own ? own : base ? base : "actuator", own ? "" : "_actuator", x.name))
    return FAILED;
  x.derived.node = n, x.derived.law = r->bodies->m.nlaws;
  if (robotRefused(r, n, CPBodiesAdd(r->bodies, &x.is.head, NULL))) return FAILED;
  if (x.derived.ratio == 0 && x.derived.scale == 0) return KNOWN;
  if (ROOM(m->derived, m->nderived, 1)) return robotWrong(r, n, "no memory");
  m->derived[m->nderived++] = x.derived;
  return KNOWN;
}

int mjcfActuators(Mjcf *m, const xmlNode *section) {
  for (const xmlNode *n = section->children; n && !(m->off & NO_ACTUATION); n = n->next)
    if (n->type == XML_ELEMENT_NODE && readActuator(m, n)) return 1;
  return mjcfDerive(m);
}

/* Tendons of MJCF: fixed ones, sums of coordinates of joints, and spatial ones along sites, whose parts pulleys divide. Those that wrap
 * around geoms are left out. */
#include "mjcf_impl.h"
#include "ropes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tendon that is being read. offset: what joints that are held add to its length, which the mechanism's does not have; resting,
 * start: its length where springs rest, and at the start, with that part */
typedef struct {
  CPTendon is;
  CPCoordinate *of;
  CPRopeNode *node;
  sunrealtype *ratio, *divisor, offset, resting, start;
} Reading;

static int isFixed(const xmlNode *n) { return robotIs(n, "fixed"); }

/* Reads joints with their factors. Returns 0, 1 after a message, or -1 if the tendon is left out. */
static int readJoints(Mjcf *m, const xmlNode *n, Reading *t) {
  Robot *r = m->r;
  for (const xmlNode *c = n->children; c; c = c->next) {
    sunrealtype coef = 0;
    const char *text = robotText(c, "coef");
    if (!robotIs(c, "joint")) continue;
    const int i = robotFind(r, c, "joint", robotText(c, "joint"));
    if (i < 0 || (text && robotNumbers(r, c, "coef", text, 1, 1, &coef, NULL))) return 1;
    const RobotJoint *j = &r->joint[i];
    if (!text) return robotWrong(r, c, "coef must be given");
    if (coef == 0) continue;
    if (j->type > SLIDE || (!j->held && j->k == NONE)) return -1;
    t->resting += coef * j->springref;
    t->start += coef * j->value[0];
    if (j->held) {
      t->offset += coef * j->value[0];
      continue;
    }
    t->of[t->is.ncoordinates]      = (CPCoordinate){j->joint, j->k};
    t->ratio[t->is.ncoordinates++] = coef;
  }
  return 0;
}

/* Reads the sites of a path; a pulley interrupts it. Returns as readJoints. */
static int readPath(Mjcf *m, const xmlNode *n, Reading *t) {
  Robot *r            = m->r;
  sunrealtype divisor = 1;
  const Place *last   = NULL;
  int count           = 0;
  for (const xmlNode *c = n->children; c; c = c->next) {
    if (robotIs(c, "geom")) return -1;
    if (robotIs(c, "pulley")) {
      const char *text = robotText(c, "divisor");
      if (!text) return robotWrong(r, c, "divisor must be given");
      if (robotNumbers(r, c, "divisor", text, 1, 1, &divisor, NULL)) return 1;
      if (!(divisor > 0))
        return robotWrong(r, c, "divisor must be positive, and is %g", (double)divisor);
      last = NULL;
    }
    if (!robotIs(c, "site")) continue;
    const int i = robotFind(r, c, "site", robotText(c, "site"));
    CPMarker on;
    if (i < 0) return 1;
    const Place *place = &r->place[i];
    robotMarker(r, place, &on);
    t->node[count].body = place->link == GROUND ? NULL : r->link[place->link].name;
    memcpy(t->node[count].point, on.point, sizeof on.point);
    if (count > 0) t->divisor[count - 1] = last ? divisor : 0;
    if (last) {
      const sunrealtype d[3] = {place->q[0] - last->q[0], place->q[1] - last->q[1],
                                place->q[2] - last->q[2]};
      t->resting += length3(d) / divisor;
    }
    last = place;
    count++;
  }
  t->is.nnodes = count;
  return count > 1 ? 0 : -1;
}

/* f: out, of t, x and x': a spring that rests between two lengths. Returns as robotFunction. */
static int deadBand(Robot *r, const xmlNode *n, sunrealtype stiffness, const sunrealtype *range,
                    CPFunction *f) {
  static const char *const variables[] = {"t", "x", "v"};
  char text[200];
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = text, .nvariables = 3,
                                     .variable = variables};
  snprintf(text, sizeof text, "-%.17g*(max(x - (%.17g), 0) + min(x - (%.17g), 0))",
           (double)stiffness, (double)range[1], (double)range[0]);
  return robotFunction(r, n, &options, f);
}

/* Adds the tendon and what acts on it, stops and friction. name: of the tendon in the mechanism */
static int addTendon(Mjcf *m, const xmlNode *n, const xmlNode *class_, const char *name, Reading *t) {
  static const char *const states[] = {"false", "true", "auto", NULL};
  Robot *r                          = m->r;
  sunrealtype spring[2] = {-1, -1}, range[2] = {0, 0}, friction = 0;
  int limited        = 2;
  const char *length = mjcfGet(m, n, "tendon", class_, "springlength");
  CPTendon *is       = &t->is;
  char other[128];
  if (mjcfNumbers(m, n, "tendon", class_, "stiffness", 1, 1, &is->stiffness) ||
      mjcfNumbers(m, n, "tendon", class_, "damping", 1, 1, &is->damping) ||
      mjcfNumbers(m, n, "tendon", class_, "armature", 1, 1, &is->inertance) ||
      mjcfNumbers(m, n, "tendon", class_, "frictionloss", 1, 1, &friction) ||
      mjcfNumbers(m, n, "tendon", class_, "springlength", 1, 2, spring) ||
      mjcfNumbers(m, n, "tendon", class_, "range", 2, 2, range) ||
      mjcfKeyword(m, n, "tendon", class_, "limited", states, &limited))
    return 1;
  if (length && !strpbrk(length + strspn(length, " \t\n"), " \t\n")) spring[1] = spring[0];
  if (spring[1] < spring[0]) spring[1] = spring[0];
  if (spring[0] == -1 && spring[1] == -1) spring[0] = spring[1] = t->resting; /* the default */
  for (int k = 0; k < 2; k++) spring[k] -= t->offset, range[k] -= t->offset;
  is->free                    = spring[0];
  const sunrealtype stiffness = is->stiffness;
  if (spring[0] < spring[1] && stiffness > 0) {
    is->stiffness = 0;
    if (deadBand(r, n, stiffness, spring, &is->function)) return 1;
  }
  const int flag = CPBodiesAdd(r->bodies, &is->head, NULL);
  CPFunctionFree(&is->function);
  if (robotRefused(r, n, flag)) return 1;
  if (is->nnodes > 0) {
    const Law *law = &r->bodies->m.law[r->bodies->m.nlaws - 1];
    if (bodiesPlacedSum(r->bodies, law->term, law->nterms, 0, &t->start))
      return robotWrong(r, n, "no memory");
  } else t->start -= t->offset;
  if (limited == 2)
    limited = m->model->autolimits && mjcfGet(m, n, "tendon", class_, "range") != NULL;
  if (limited && !(m->off & NO_LIMITS)) {
    if (!(range[0] < range[1] && t->start >= range[0] && t->start <= range[1])) {
      if (robotNote(r, n, "limits of tendons that the start violates")) return 1;
    } else {
      const CPLimit limit = {CP_NEW_LIMIT(other), .of = {{name, 0}}, .lower = range[0],
                             .upper = range[1]};
      if (robotUnique(r, n, name, "_limit", other) ||
          robotRefused(r, n, CPBodiesAdd(r->bodies, &limit.head, NULL)))
        return 1;
    }
  }
  if (!(friction > 0) || m->off & NO_FRICTION) return 0;
  const CPFriction dry = {CP_NEW_FRICTION(other), .of = {name, 0}, .force = friction};
  return robotUnique(r, n, name, "_friction", other) ||
         robotRefused(r, n, CPBodiesAdd(r->bodies, &dry.head, NULL));
}

static int readTendon(Mjcf *m, const xmlNode *n, char name[128]) {
  Robot *r        = m->r;
  const char *own = robotText(n, "name");
  const xmlNode *class_;
  size_t most = 1;
  Reading t   = {.is = {CP_NEW_TENDON(name), .in = CP_IN_BODIES}};
  for (const xmlNode *c = n->children; c; c = c->next) most += c->type == XML_ELEMENT_NODE;
  if (mjcfClass(m, n, "class", NULL, &class_)) return 1;
  t.of = calloc(most, sizeof *t.of), t.node = calloc(most, sizeof *t.node);
  t.ratio = calloc(most, sizeof *t.ratio), t.divisor = calloc(most, sizeof *t.divisor);
  t.is.of = t.of, t.is.node = t.node, t.is.ratio = t.ratio, t.is.divisor = t.divisor;
  int failed = !t.of || !t.node || !t.ratio || !t.divisor ? robotWrong(r, n, "no memory") : 0;
  if (!failed) failed = isFixed(n) ? readJoints(m, n, &t) : readPath(m, n, &t);
  if (failed < 0)
    failed = robotNote(r, n, isFixed(n) ? "tendons" : "tendons that wrap around geoms");
  else if (!failed && (t.is.nnodes > 0 || t.is.ncoordinates > 0))
    failed = robotUnique(r, n, own ? own : "tendon", "", name) || addTendon(m, n, class_, name, &t);
  void *owned[] = {t.of, t.node, t.ratio, t.divisor};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
  return failed;
}

int mjcfTendons(Mjcf *m, const xmlNode *section) {
  for (const xmlNode *n = section->children; n; n = n->next) {
    const char *own = n->type == XML_ELEMENT_NODE ? robotText(n, "name") : NULL;
    if (!isFixed(n) && !robotIs(n, "spatial")) continue;
    if (ROOM(m->tendon, m->ntendons, 1)) return robotWrong(m->r, n, "no memory");
    char *name = m->tendon[m->ntendons].name; /* which is "" if the tendon is left out */
    memset(name, 0, sizeof m->tendon->name);
    if (own && robotName(m->r, n, "tendon", own, m->ntendons)) return 1;
    m->ntendons++;
    if (readTendon(m, n, name)) return 1;
  }
  return 0;
}

/* Tendons of MJCF: fixed ones, sums of coordinates of joints, and spatial ones along sites, whose parts pulleys divide, and around spheres
 * and cylinders. */
#include "mjcf_impl.h"
#include "ropes.h"
#include "wrapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tendon that is being read. offset: what joints that are held add to its length, which the mechanism's does not have; resting,
 * start: its length where springs rest, and at the start, with that part */
typedef struct {
  CPTendon is;
  CPCoordinate *of;
  CPRopeNode *node, *sides;
  const CPRopeNode **side; /* in `sides`, or NULL */
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

static void nodeAt(const Robot *r, const Place *place, CPRopeNode *node) {
  CPMarker on;
  robotMarker(r, place, &on);
  node->body = place->link == GROUND ? NULL : r->link[place->link].name;
  memcpy(node->point, on.point, sizeof on.point);
  memcpy(node->axis, on.axis, sizeof on.axis);
}

/* x [3]: out, the origin of a place in the axes of another one */
static void seenFrom(const Place *from, const Place *place, sunrealtype *x) {
  Pose pose;
  sunrealtype d[3];
  robotPose(from, &pose);
  for (int k = 0; k < 3; k++) d[k] = place->q[k] - pose.r[k];
  toBody(&pose, d, x);
}

/* Reads the geom around which the path wraps, as its node `count`. over: out, in the axes of its place, which is returned; or NULL */
static const Place *readGeom(Mjcf *m, const xmlNode *n, int count, Reading *t, Wrap *over) {
  Robot *r         = m->r;
  CPRopeNode *node = &t->node[count];
  const int sided  = robotText(n, "sidesite") != NULL,
            i      = robotFind(r, n, "geom", robotText(n, "geom")),
            at     = sided ? robotFind(r, n, "site", robotText(n, "sidesite")) : 0;
  if (i < 0 || at < 0) return NULL;
  const RobotGeom *g = &r->geom[i];
  if (g->kind != CP_SHAPE_SPHERE && g->kind != CP_SHAPE_CYLINDER)
    return robotWrong(r, n, "tendons wrap around spheres and cylinders only"), NULL;
  const Place *place = &r->place[g->place];
  nodeAt(r, place, node);
  node->radius = g->size[0];
  *over = (Wrap){.cylinder = g->kind == CP_SHAPE_CYLINDER, .sided = sided, .radius = node->radius};
  if (!over->cylinder) memset(node->axis, 0, sizeof node->axis);
  if (!sided) return place;
  nodeAt(r, &r->place[at], &t->sides[count]);
  t->side[count] = &t->sides[count];
  seenFrom(place, &r->place[at], over->side);
  return place;
}

/* Reads the sites of a path, and the geoms between them; a pulley interrupts it. Returns as readJoints. */
static int readPath(Mjcf *m, const xmlNode *n, Reading *t) {
  Robot *r            = m->r;
  sunrealtype divisor = 1, x[6];
  const Place *last = NULL, *geom = NULL; /* the site before, and the geom after it */
  int count = 0;
  Wrap over;
  for (const xmlNode *c = n->children; c; c = c->next) {
    if (robotIs(c, "pulley")) {
      const char *text = robotText(c, "divisor");
      if (!text) return robotWrong(r, c, "divisor must be given");
      if (robotNumbers(r, c, "divisor", text, 1, 1, &divisor, NULL)) return 1;
      if (!(divisor > 0))
        return robotWrong(r, c, "divisor must be positive, and is %g", (double)divisor);
      last = geom = NULL;
    }
    if (!robotIs(c, "site") && !robotIs(c, "geom")) continue;
    if (count > 0) t->divisor[count - 1] = last ? divisor : 0;
    if (robotIs(c, "geom")) {
      if (!(geom = readGeom(m, c, count++, t, &over))) return 1;
      continue;
    }
    const int i = robotFind(r, c, "site", robotText(c, "site"));
    if (i < 0) return 1;
    const Place *place = &r->place[i];
    nodeAt(r, place, &t->node[count++]);
    if (last) {
      seenFrom(geom ? geom : last, last, x), seenFrom(geom ? geom : last, place, x + 3);
      t->resting += (geom ? bodiesWrapped(&over, x, 0).v : length3(x + 3)) / divisor;
    }
    last = place, geom = NULL;
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
  t.sides = calloc(most, sizeof *t.sides), t.side = calloc(most, sizeof *t.side);
  t.is.of = t.of, t.is.node = t.node, t.is.ratio = t.ratio, t.is.divisor = t.divisor;
  t.is.side  = t.side;
  int failed = !t.of || !t.node || !t.ratio || !t.divisor || !t.sides || !t.side
                   ? robotWrong(r, n, "no memory")
                   : 0;
  if (!failed) failed = isFixed(n) ? readJoints(m, n, &t) : readPath(m, n, &t);
  if (failed < 0) failed = robotNote(r, n, "tendons");
  else if (!failed && (t.is.nnodes > 0 || t.is.ncoordinates > 0))
    failed = robotUnique(r, n, own ? own : "tendon", "", name) || addTendon(m, n, class_, name, &t);
  void *owned[] = {t.of, t.node, t.ratio, t.divisor, t.sides, (void *)t.side};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
  return failed;
}

/* ---- equalities ---- */

/* The fixed tendon of this name, or NULL */
static const xmlNode *fixedTendon(const Mjcf *m, const char *name) {
  for (int i = 0; i < m->nmodels && name; i++)
    for (const xmlNode *s = m->models[i]->root->children; s; s = s->next)
      for (const xmlNode *n = robotIs(s, "tendon") ? s->children : NULL; n; n = n->next)
        if (isFixed(n) && robotText(n, "name") && !strcmp(robotText(n, "name"), name)) return n;
  return NULL;
}

/* The equation sum ratio_i x_i = offset of coordinates of joints */
typedef struct {
  int n;
  CPCoordinate of[CP_MOST_COUPLED];
  sunrealtype ratio[CP_MOST_COUPLED], offset;
} Sum;

/* Adds `by` times the change of the length of a fixed tendon from the reference to the left-hand side. Returns as readJoints. */
static int addLength(Mjcf *m, const xmlNode *n, sunrealtype by, Sum *sum) {
  Robot *r = m->r;
  for (const xmlNode *c = n->children; c; c = c->next) {
    sunrealtype coef = 0;
    const char *text = robotText(c, "coef");
    int at           = 0;
    if (!robotIs(c, "joint")) continue;
    const int i = robotFind(r, c, "joint", robotText(c, "joint"));
    if (i < 0 || (text && robotNumbers(r, c, "coef", text, 1, 1, &coef, NULL))) return 1;
    if (!text) return robotWrong(r, c, "coef must be given");
    const RobotJoint *j = &r->joint[i];
    if (j->type > SLIDE || (!j->held && j->k == NONE)) return -1;
    sum->offset += by * coef * (j->ref - (j->held ? j->value[0] : 0));
    if (j->held) continue;
    while (at < sum->n && (strcmp(sum->of[at].joint, j->joint) != 0 || sum->of[at].k != j->k)) at++;
    if (at == CP_MOST_COUPLED) return -1;
    if (at == sum->n) sum->of[at] = (CPCoordinate){j->joint, j->k}, sum->ratio[sum->n++] = 0;
    sum->ratio[at] += by * coef;
  }
  return 0;
}

/* L_1 - L_1,0 = c_0 + c_1 (L_2 - L_2,0), or c_0 without a second tendon: a row in the coordinates of joints */
int mjcfTendonEquality(Mjcf *m, const xmlNode *n) {
  Robot *r         = m->r;
  const char *text = robotText(n, "polycoef"), *two = robotText(n, "tendon2"),
             *name         = robotText(n, "name");
  const xmlNode *tendon[2] = {fixedTendon(m, robotText(n, "tendon1")), fixedTendon(m, two)};
  sunrealtype c[5]         = {0, 1, 0, 0, 0};
  Sum sum                  = {0};
  char unique[128];
  int failed = 0, used = 0;
  if (text && robotNumbers(r, n, "polycoef", text, 1, 5, c, NULL)) return 1;
  if (!tendon[0] || (two && (!tendon[1] || c[2] != 0 || c[3] != 0 || c[4] != 0))) failed = -1;
  sum.offset = c[0];
  for (int k = 0; k < 2 && !failed && tendon[k]; k++)
    failed = addLength(m, tendon[k], k ? -c[1] : 1, &sum);
  if (failed < 0) return robotNote(r, n, "the equality constraint tendon");
  for (int i = 0; i < sum.n && !failed; i++) /* without those that cancel */
    if (sum.ratio[i] != 0) sum.of[used] = sum.of[i], sum.ratio[used++] = sum.ratio[i];
  if (failed || robotUnique(r, n, name ? name : "tendon", name ? "" : "_equality", unique))
    return 1;
  if (used == 0) return robotTell(r, n, WITHOUT_EFFECT, "couplings of joints that are held");
  if (used == 1) {
    const CPDrive drive = {CP_NEW_DRIVE(unique), .of = sum.of[0],
                           .start = sum.offset / sum.ratio[0]};
    return robotRefused(r, n, CPBodiesAdd(r->bodies, &drive.head, NULL));
  }
  const CPCoupler coupler = {CP_NEW_COUPLER(unique),
                             .of         = {sum.of[0], sum.of[1]},
                             .ratio      = {sum.ratio[0], sum.ratio[1]},
                             .offset     = sum.offset,
                             .nmore      = used - 2,
                             .more       = sum.of + 2,
                             .more_ratio = sum.ratio + 2};
  return robotCoupler(r, n, &coupler);
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

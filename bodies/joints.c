/* Joints and drives: their rows and coordinates. */
#include "elements.h"
#include "formulas.h"
#include "tree.h"

#include <string.h>

enum { MAX_ROWS = 6, NUM_JOINTS = CP_JOINT_CUSTOM + 1 };

typedef struct {
  const char *name;
  int nrows, nforced; /* nforced: rows of p; the other rows belong to v only */
  Measure row[MAX_ROWS];
  int ncoordinates;
  Term coordinate[3];
} Kind;

#define AXES_MEET \
  { POINT, 0, 0, 0 }
#define COORD(...) \
  { .coef = 1, .ratio = NONE, .m = __VA_ARGS__ }

/* kinds[0] is for the plane, where nrows = 0 marks kinds that do not exist; kinds[1] is for space. */
static const Kind kinds[2][NUM_JOINTS] = {
    {[CP_JOINT_REVOLUTE]      = {"revolute", 1, 1, {AXES_MEET}, 1, {COORD(ANGLE_)}},
     [CP_JOINT_PRISMATIC]     = {"prismatic", 2, 2, {ALONG_(X), DOT_(X, Z)}, 1, {COORD(ALONG_(Z))}},
     [CP_JOINT_FIXED]         = {"fixed", 2, 2, {AXES_MEET, DOT_(X, Y)}, 0, {{0}}},
     [CP_JOINT_ROD]           = {"rod", 1, 1, {{LENGTH, 0, 0, 0}}, 0, {{0}}},
     [CP_JOINT_POINT_ON_LINE] = {"point_on_line", 1, 1, {ALONG_(X)}, 1, {COORD(ALONG_(Z))}},
     [CP_JOINT_ROLLING]       = {"rolling", 2, 1, {ALONG_(Z), {SPIN, 0, Y, X}}, 0, {{0}}}},
    {[CP_JOINT_BALL]     = {"ball", 1, 1, {AXES_MEET}, 0, {{0}}},
     [CP_JOINT_REVOLUTE] = {"revolute", 3, 3, {AXES_MEET, DOT_(X, Z), DOT_(Y, Z)}, 1, {COORD(ANGLE_)}},
     [CP_JOINT_UNIVERSAL]   = {"universal",
                               2,
                               2,
                               {AXES_MEET, DOT_(Z, Z)},
                               2,
                               {COORD({ANGLE, 0, X, Z}),
                                {.coef = -1, .ratio = NONE, .m = {ANGLE, 1, X, Z}}}},
     [CP_JOINT_CYLINDRICAL] = {"cylindrical",
                               4,
                               4,
                               {ALONG_(X), ALONG_(Y), DOT_(X, Z), DOT_(Y, Z)},
                               2,
                               {COORD(ALONG_(Z)), COORD(ANGLE_)}},
     [CP_JOINT_PRISMATIC]   = {"prismatic",
                               5,
                               5,
                               {ALONG_(X), ALONG_(Y), DOT_(X, Z), DOT_(Y, Z), DOT_(X, Y)},
                               1,
                               {COORD(ALONG_(Z))}},
     [CP_JOINT_PLANAR]      = {"planar",
                               3,
                               3,
                               {ALONG_(Z), DOT_(X, Z), DOT_(Y, Z)},
                               3,
                               {COORD(ALONG_(X)), COORD(ALONG_(Y)), COORD(ANGLE_)}},
     [CP_JOINT_FIXED] = {"fixed", 4, 4, {AXES_MEET, DOT_(X, Z), DOT_(Y, Z), DOT_(X, Y)}, 0, {{0}}},
     [CP_JOINT_ROD]   = {"rod", 1, 1, {{LENGTH, 0, 0, 0}}, 0, {{0}}},
     [CP_JOINT_POINT_ON_LINE] = {"point_on_line", 2, 2, {ALONG_(X), ALONG_(Y)}, 1, {COORD(ALONG_(Z))}},
     [CP_JOINT_POINT_ON_PLANE] = {"point_on_plane", 1, 1, {ALONG_(Z)}, 0, {{0}}},
     /* (x_a . d)' - r y_a . omega = 0, (y_a . d)' + r x_a . omega = 0 */
     [CP_JOINT_ROLLING] = {"rolling", 3, 1, {ALONG_(Z), {SPIN, 0, Y, X}, {SPIN, 0, X, Y}}, 0, {{0}}},
     [CP_JOINT_ROLLING_DISC] =
         {"rolling_disc", 3, 1, {ALONG_(Z), {ROLL, 0, X, Z}, {ROLL, 0, Y, Z}}, 0, {{0}}},
     [CP_JOINT_CUSTOM] = {"custom", 0, 0, {{0}}, 0, {{0}}}}}; /* its coordinates are its own */

const char *bodiesKindName(int kind) {
  return kind >= 0 && kind < NUM_JOINTS ? kinds[1][kind].name : NULL;
}

/* Is the disc of a contact not parallel to the plane at the placement? */
static int stands(const Mechanism *b, const Pair *pair) {
  /* the sine is the root of a difference from 1, which amplifies roundoff */
  static const sunrealtype least = SUN_RCONST(1e-6);
  const Measure sine             = {SINE, 0, Z, Z};
  Pose pose[2];
  Jet jet;
  bodiesPlaced(b, pair, pose);
  bodiesJet(&b->space, b->param, pair, &sine, &pose[0], &pose[1], VALUES, &jet);
  return jet.s > least;
}

/* Checks that the function of a surface has a gradient at the placement, and that it is a distance
 * if a ball touches it. Returns 0 or an error code that has been reported. */
static int checkSurface(CPBodies b, const char *name, const Pair *pair, sunrealtype radius) {
  static const sunrealtype rounding = SUN_RCONST(1e-8);
  sunrealtype g[3], t[2][3];
  Pose pose[2];
  bodiesPlaced(&b->m, pair, pose);
  const int flag         = bodiesLevel(&b->m.space, b->m.param, pair, &pose[0], &pose[1], g, t);
  const sunrealtype size = sqrt(dot3(g, g));
  if (flag)
    return refused(b, CP_ILL_INPUT, "%s: the function of the surface fails at the placement (%d)",
                   name, flag);
  if (!(size > 0) || !isfinite(size))
    return refused(b, CP_ILL_INPUT,
                   "%s: the gradient of the surface must be finite and not 0 at the placement, "
                   "and its length is %g",
                   name, (double)size);
  if (radius > 0 && fabs(size - 1) > rounding)
    return refused(b, CP_ILL_INPUT,
                   "%s: with a radius the surface must be given by a distance, and the length "
                   "of its gradient is %g",
                   name, (double)size);
  return CP_SUCCESS;
}

/* Completes the markers of both sides: with CP_IN_SPACE on_b is on_a, as far as the kind of joint
 * allows. Returns 0 or an error code that has been reported. */
static int completeMarkers(CPBodies b, const CPJoint *joint, int in_plane, CPMarker *on_a,
                           CPMarker *on_b) {
  const CPJointKind k = joint->kind;
  const int apart     = k == CP_JOINT_ROD || k == CP_JOINT_POINT_ON_LINE ||
                    k == CP_JOINT_POINT_ON_PLANE || k == CP_JOINT_ROLLING ||
                    k == CP_JOINT_ROLLING_DISC;
  if (joint->in == CP_IN_SPACE) {
    CPMarker same = *on_a;
    if (apart) memcpy(same.point, on_b->point, sizeof same.point);
    if (k == CP_JOINT_UNIVERSAL) { /* Both angles are 0 at the placement. */
      memcpy(same.axis, on_b->axis, sizeof same.axis);
      memcpy(same.across, on_a->axis, sizeof same.across);
      memcpy(on_a->across, on_b->axis, sizeof on_a->across);
    }
    if (k == CP_JOINT_ROLLING_DISC) { /* The direction of x_b does not matter. */
      memcpy(same.axis, on_b->axis, sizeof same.axis);
      memset(same.across, 0, sizeof same.across);
    }
    *on_b = same;
  } else if (b->m.space.dimension == 2 && in_plane && length3(on_b->axis) == 0) {
    on_b->axis[0] = 1; /* Points on lines, rolling and spheres do not use it. */
    if (k == CP_JOINT_PRISMATIC)
      return refused(b, CP_ILL_INPUT, "%s: axis must not be zero (body b)", joint->head.name);
  }
  return CP_SUCCESS;
}

static int aligns(const Measure *m) { return m->kind == DOT && m->i != m->j; }

/* Row r of a joint, or of a contact on a surface of this kind, whose terms are set. param: its length, or NONE */
static Row makeRow(const Kind *kind, CPJointKind k, CPContactOn on, int r, int pair, int param,
                   Term term[2]) {
  Row row = {.nterms = 1, .offset = r == 0 ? param : NONE, .drive = NONE};
  term[0] = (Term){.coef = 1, .ratio = NONE, .pair = pair, .m = kind->row[r]};
  for (int i = 0; i < kind->nforced && aligns(&kind->row[r]); i++)
    row.aligns += aligns(&kind->row[i]);
  /* No slip along the axis j of the measure: the velocity of the centre, plus the part due to
   * rotation. */
  if (r >= kind->nforced) {
    row.nterms = 2;
    row.offset = NONE;
    term[1]    = (Term){.coef = r == 1 ? -1 : 1, .ratio = param, .pair = pair, .m = kind->row[r]};
    term[0].m  = (Measure){ALONG, 0, kind->row[r].j, 0};
  }
  if (k == CP_JOINT_ROLLING_DISC && r == 0) { /* Height of the centre: z_a . d - radius sin = 0. */
    row.nterms = 2;
    row.offset = NONE;
    term[1]    = (Term){.coef = -1, .ratio = param, .pair = pair, .m = {SINE, 0, Z, Z}};
  } else if (k == CP_JOINT_ROLLING_DISC) {
    term[0].m    = (Measure){ALONG, 0, kind->row[r].i, 0};
    term[1].coef = 1;
  }
  if (on == CP_ON_SHAPE) {
    row.nterms = 1, row.offset = NONE;
    term[0].m = r == 0 ? (Measure){NEAR, 0, 0, 0} : (Measure){SLIP, 0, r - 1, 0};
  } else if (on != CP_ON_PLANE && r == 0) {
    term[0].m = (Measure){LEVEL, 0, 0, 0};
    if (on == CP_ON_SPHERE) row.offset = NONE;
  } else if (on != CP_ON_PLANE) { /* velocity along one tangent, rotation about the other one */
    term[0].m = (Measure){GLIDE, 0, r - 1, 0};
    term[1].m = (Measure){TWIST, 0, 2 - r, 0};
  }
  return row;
}

/* The moment of inertia of a body about the axis z of its side */
static sunrealtype aboutAxis(const Mechanism *b, const Side *side) {
  const sunrealtype *mass = b->param + b->body[side->body].param, *J = mass + 1, *z = side->axis[Z];
  sunrealtype arm[3];
  cross3(side->point, z, arm);
  return J[0] * z[0] * z[0] + J[1] * z[1] * z[1] + J[2] * z[2] * z[2] +
         2 * (J[3] * z[0] * z[1] + J[4] * z[0] * z[2] + J[5] * z[1] * z[2]) + *mass * dot3(arm, arm);
}

/* The moments of a row x_a . z_b are across z_b, and have a part about z_a that is as large as the axes are apart, as in the stages
 * of a step. Nothing but inertia opposes it in joints that turn about z: if a has much less of that than b, it has the axis in the
 * rows. */
static void chooseAxis(const Mechanism *b, CPJointKind k, const Pair *pair, Measure *m) {
  /* With less, moments cost at most an eighth of the steps (DOP853). */
  static const sunrealtype much = 10;
  const Side *side              = pair->side;
  const int turns = k == CP_JOINT_REVOLUTE || k == CP_JOINT_CYLINDRICAL || k == CP_JOINT_PLANAR;
  if (!turns || !aligns(m) || side[0].body == GROUND || side[1].body == GROUND ||
      !(much * aboutAxis(b, &side[0]) < aboutAxis(b, &side[1])))
    return;
  m->j = m->i;
  m->i = Z;
}

int bodiesJointRoom(CPBodies b) {
  return ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.joint, b->m.njoints, 1) ||
         ROOM(b->m.row, b->m.nrows, MAX_ROWS) || ROOM(b->m.roll, b->m.nrolls, 2) ||
         ROOM(b->m.term, b->m.nterms, 2 * MAX_ROWS);
}

int bodiesTakeJoint(CPBodies b, int text, CPJointKind k, CPContactOn on, const Pair *pair,
                    int param) {
  const Kind *kind       = &kinds[b->m.space.dimension == 3][k];
  const int i            = b->m.njoints++;
  b->m.pair[b->m.npairs] = *pair;
  b->m.joint[i]          = (Joint){.name             = text,
                                   .kind             = (int)k,
                                   .pair             = b->m.npairs,
                                   .first            = b->m.nrows,
                                   .nrows            = kind->nforced,
                                   .first_roll       = b->m.nrolls,
                                   .nrolls           = kind->nrows - kind->nforced,
                                   .first_coordinate = b->m.ncoordinates,
                                   .contact          = NONE};
  b->m.ncoordinates += kind->ncoordinates;
  for (int r = 0; r < kind->nrows; r++) {
    Term term[2];
    Row row = makeRow(kind, k, on, r, b->m.npairs, param, term);
    chooseAxis(&b->m, k, pair, &term[0].m);
    row.term = bodiesTakeTerms(b, term, row.nterms);
    if (r < kind->nforced) b->m.row[b->m.nrows++] = row;
    else b->m.roll[b->m.nrolls++] = row;
  }
  b->m.npairs++;
  return i;
}

int bodiesAddRows(CPBodies b, const CPJoint *joint, int params, const CPBodyContact *contact) {
  int flag = bodiesCheckName(b, joint->head.name, params);
  if (flag) return flag;
  const CPJointKind k = joint->kind;
  const char *name    = joint->head.name;
  if (!bodiesKindName((int)k))
    return refused(b, CP_ILL_INPUT, "%s: kind must be one of CPJointKind's, and is %d", name,
                   (int)k);
  const Kind *kind = &kinds[b->m.space.dimension == 3][k];
  if (kind->nrows == 0 && (k != CP_JOINT_CUSTOM || b->m.space.dimension == 2))
    return refused(b, CP_NOT_SUPPORTED, "%s: there is no joint \"%s\" in the plane", name,
                   bodiesKindName((int)k));
  Pair pair = {0};
  if ((flag = bodiesFindSides(b, name, joint->a, joint->b, &pair))) return flag;

  const int in_plane =
      k == CP_JOINT_PRISMATIC || k == CP_JOINT_POINT_ON_LINE || k == CP_JOINT_ROLLING;
  const CPContactOn on = contact ? contact->on : CP_ON_PLANE;
  CPMarker on_a = joint->on_a, on_b = joint->on_b;
  if (on == CP_ON_SPHERE && length3(on_a.axis) == 0) on_a.axis[1] = 1;
  if ((flag = completeMarkers(b, joint, in_plane, &on_a, &on_b))) return flag;
  if ((flag = bodiesMakePair(b, name, joint->in, in_plane, &on_a, &on_b, &pair))) return flag;
  sunrealtype length = joint->length;
  if (k == CP_JOINT_ROD && length == 0) length = bodiesDistance(&b->m, &pair);
  const int has_length = k == CP_JOINT_ROD || k == CP_JOINT_ROLLING || k == CP_JOINT_ROLLING_DISC;
  const int is_point   = contact && k == CP_JOINT_ROLLING; /* a ball of radius 0 is a point */
  const Custom *custom = NULL;
  if (k != CP_JOINT_CUSTOM && (joint->nmotions != 0 || joint->ncoordinates != 0))
    return refused(b, CP_ILL_INPUT, "%s: only joints of the kind custom have motions", name);
  if (k == CP_JOINT_CUSTOM && joint->switched)
    return refused(b, CP_ILL_INPUT, "%s: a joint by functions cannot be switched off", name);
  if (has_length && (!(is_point ? length >= 0 : length > 0) || !isfinite(length)))
    return refused(b, CP_ILL_INPUT, "%s: %s must be %s, and is %g", name,
                   k == CP_JOINT_ROD ? "length" : "radius",
                   is_point ? "finite and not negative" : "positive", (double)length);
  if (k == CP_JOINT_ROLLING_DISC && !stands(&b->m, &pair))
    return refused(b, CP_ILL_INPUT, "%s: the axis of the disc must not be along the plane's normal",
                   name);
  if (on == CP_ON_SURFACE) {
    pair.surface = (Surface){contact->surface, contact->data, {NONE, NONE}};
    if ((flag = checkSurface(b, name, &pair, length))) return flag;
  }
  if (bodiesJointRoom(b)) return bodiesNoMemory(b, name);
  if (k == CP_JOINT_CUSTOM && (flag = bodiesTakeCustom(b, joint, &custom))) return flag;

  const int text  = bodiesTakeName(b, name, NAME_JOINT, b->m.njoints);
  const int param = has_length ? bodiesTakeParam(b, text, "length", length) : NONE;
  if (on == CP_ON_SPHERE)
    pair.surface.radius[0] = bodiesTakeParam(b, text, "radius_a", contact->radius_a),
    pair.surface.radius[1] = param;
  const int i            = bodiesTakeJoint(b, text, k, on, &pair, param);
  b->m.joint[i].switched = joint->switched != 0;
  if (custom) b->m.joint[i].custom = custom, b->m.ncoordinates += custom->n - kind->ncoordinates;
  return i;
}

int bodiesCoordinateTerm(const Mechanism *b, int joint, int k, Term *term) {
  const Joint *j = &b->joint[joint];
  if (j->kind == NONE) return 1;
  const Kind *kind = &kinds[b->space.dimension == 3][j->kind];
  if (k < 0 || k >= (j->custom ? j->custom->n : kind->ncoordinates)) return 1;
  *term          = j->custom ? (Term)COORD({OWN, 0, k, j->custom->angle[k]}) : kind->coordinate[k];
  term->pair     = j->pair;
  term->velocity = j->custom && b->tree ? treeVelocityOf(b, joint, k) : NONE;
  term->sign     = 1; /* where there is a velocity: the measure is the coordinate itself */
  return 0;
}

int bodiesNamedCoordinate(CPBodies b, const char *name, CPCoordinate of, Term *term) {
  const int j = of.joint ? bodiesFind(&b->m, NAME_JOINT, of.joint, strlen(of.joint)) : -1;
  char more[SUGGESTION];
  if (j < 0)
    return refused(
        b, CP_ILL_INPUT, "%s: there is no joint \"%.100s\"%s", name, of.joint ? of.joint : "",
        of.joint ? bodiesSuggest(&b->m, NAME_JOINT, of.joint, strlen(of.joint), more) : "");
  if (bodiesCoordinateTerm(&b->m, j, of.k, term))
    return refused(b, CP_ILL_INPUT, "%s: joint \"%s\" has no coordinate %d", name, of.joint, of.k);
  return j;
}

int bodiesTakeTerms(CPBodies b, const Term *term, int n) {
  memcpy(b->m.term + b->m.nterms, term, (size_t)n * sizeof *term);
  b->m.nterms += n;
  return b->m.nterms - n;
}

void bodiesTakeRow(CPBodies b, int text, const Row *row, int is_roll) {
  b->m.joint[b->m.njoints++] = (Joint){.name             = text,
                                       .kind             = NONE,
                                       .pair             = bodiesRowTerm(&b->m, row, 0)->pair,
                                       .first            = b->m.nrows,
                                       .nrows            = !is_roll,
                                       .first_roll       = b->m.nrolls,
                                       .nrolls           = is_roll,
                                       .first_coordinate = b->m.ncoordinates,
                                       .contact          = NONE};
  if (is_roll) b->m.roll[b->m.nrolls++] = *row;
  else b->m.row[b->m.nrows++] = *row;
}

int bodiesTakeDrive(CPBodies b, int text, CPDriveFn g, void *data, const sunrealtype *values) {
  static const char *const fields[] = {"start", "rate", "amplitude", "frequency"};
  const int i                       = b->m.ndrives++;
  b->m.drive[i]                     = (Drive){g, data, b->m.nparams};
  for (int k = 0; k < 4 && values; k++) bodiesTakeParam(b, text, fields[k], values[k]);
  return i;
}

int bodiesAddDrive(CPBodies b, const CPDrive *drive) {
  const char *name           = drive->head.name;
  const sunrealtype values[] = {drive->start, drive->rate, drive->amplitude, drive->frequency};
  int flag                   = bodiesCheckName(b, name, 4);
  if (flag) return flag;
  if ((flag = bodiesCheckFinite(b, name, "start, rate, amplitude, frequency", values, 4)))
    return flag;
  Formula *formula = NULL;
  if (drive->function && (drive->g || drive->start != 0 || drive->rate != 0 || drive->amplitude != 0))
    return refused(b, CP_ILL_INPUT, "%s: a motion by a function has no g, start, rate, amplitude",
                   name);
  Row row = {.nterms = 1, .offset = NONE};
  Term term;
  if ((flag = bodiesNamedCoordinate(b, name, drive->of, &term)) < 0) return flag;
  row.wraps = term.m.kind == ANGLE;
  if (ROOM(b->m.joint, b->m.njoints, 1) || ROOM(b->m.row, b->m.nrows, 1) ||
      ROOM(b->m.drive, b->m.ndrives, 1) || ROOM(b->m.term, b->m.nterms, 1))
    return bodiesNoMemory(b, name);
  if ((flag = bodiesTakeFormula(b, name, FOR_MOTIONS, 1, &drive->function, 0, NULL, &formula)))
    return flag;
  const int text = bodiesTakeName(b, name, NAME_JOINT, b->m.njoints), i = b->m.njoints;
  row.drive = bodiesTakeDrive(b, text, formula ? bodiesMotionOf : drive->g,
                              formula ? formula : drive->data, values);
  row.term  = bodiesTakeTerms(b, &term, 1);
  bodiesTakeRow(b, text, &row, 0);
  return i;
}

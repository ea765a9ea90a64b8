/* The assembly of a mechanism at a state that is a guess.
 *
 * Positions are closed first, at rest, by a CPMech of their own whose messages nobody sees. CPMechCalcIC
 * solves p(t, q) = 0; but p(t, q) vanishes also where axes are opposite to each other, and from far off
 * the iteration may end elsewhere. Attempts are made in this order, each with all joints verified by
 * their definitions:
 *
 *   1. from the guess;
 *   2. rows that align axes are rotation vectors (bodiesTilt), which do not vanish for opposite axes;
 *   3. these rows, with p(t, q) = (1 - s) p(t, guess), while s grows from 0 to 1.
 *
 * Loops that are redundant but for rounding are mended (bodiesMendLoops, redundant.c).
 *
 * Rows that depend on others cannot be closed if the data are rounded. If the attempts fail, they are
 * repeated with a tolerance of 1e-5 of the mechanism's extent, and then such a row gets an offset
 * (bodiesFitRows). The CPMech of the caller makes the state consistent from there. */
#include "assembly_impl.h"
#include "following.h"
#include "tree.h"

#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------------- notes -- */

void bodiesNote(Mechanism *b, const char *line) {
  static const char more[] = "...\n";
  const size_t used = strlen(b->changed), room = NOTES - used - sizeof more;
  if (used >= sizeof more && !strcmp(b->changed + used + 1 - sizeof more, more)) return;
  snprintf(b->changed + used, NOTES - used, strlen(line) + 1 < room ? "%s\n" : "%.0s...\n", line);
}

/* ----------------------------------------------------------------------- held components -- */

/* Sets id_j = 0 for the positions of the bodies that are named. Returns 0 or an error code that has
 * been reported. */
static int holdPositions(CPLog *log, const Mechanism *b, const char *held, N_Vector id,
                         const char *function) {
  const Space *s = &b->space;
  N_VConst(1, id);
  for (const char *name = held; *(name += strspn(name, " "));) {
    const size_t length = strcspn(name, " ");
    const int i         = bodiesFind(b, NAME_BODY, name, length);
    if (i < 0)
      return cpReport(log, CP_ILL_INPUT, function, "held: there is no body \"%.*s\"", (int)length,
                      name);
    for (int k = 0; k < s->nq; k++) N_VGetArrayPointer(id)[s->nq * i + k] = 0;
    name += length;
  }
  return CP_SUCCESS;
}

typedef enum { ALL, TURNING, MOVING, NOTHING } Part;

/* Holds this part of the velocities of body i, id [nu], and releases the rest. */
static void holdPart(const Space *s, int i, Part part, sunrealtype *id) {
  const int turn = s->last[0]; /* the first rotational velocity */
  for (int k = 0; k < s->nu; k++)
    id[s->nu * i + k] =
        part == NOTHING || (part == TURNING && k < turn) || (part == MOVING && k >= turn);
}

/* Is there a state with the held components of start? work: a vector of its length. Returns 1, 0,
 * or an error code. */
static int canHold(CPMech trial, sunrealtype t, N_Vector start, N_Vector id, N_Vector work) {
  N_VScale(1, start, work);
  const int flag = CPMechCalcIC(trial, t, work, NULL, id, NULL, NULL);
  return flag == CP_SUCCESS ? 1 : flag == CP_IC_FAIL ? 0 : flag;
}

/* Adds velocities to the held components id, for moving bodies whose positions are held; start has
 * consistent positions. It holds all of these velocities if possible. Otherwise it tries one body
 * after the other: all its velocities, then the rotational ones, then the translational ones.
 * Returns 1 if it held any, 0, or an error code. */
static int holdVelocities(Mechanism *b, CPMech trial, sunrealtype t, N_Vector start, N_Vector id,
                          N_Vector work) {
  const Space *s          = &b->space;
  const sunindextype nq   = (sunindextype)b->nbodies * s->nq;
  const sunrealtype *u    = N_VGetArrayPointer(start) + nq;
  const sunrealtype *id_q = N_VGetArrayPointer(id);
  sunrealtype *id_u       = N_VGetArrayPointer(id) + nq;
  int flag = 0, any = 0, wanted = 0;
  int *moves = calloc((size_t)b->nbodies, sizeof *moves);
  if (!moves) return CP_MEM_FAIL;
  for (int i = 0; i < b->nbodies; i++) {
    for (int k = 0; k < s->nu && id_q[s->nq * i] == 0; k++) moves[i] |= u[s->nu * i + k] != 0;
    wanted += moves[i];
    if (moves[i]) holdPart(s, i, ALL, id_u);
  }
  if (wanted == 0 || (any = flag = canHold(trial, t, start, id, work)) != 0) goto done;
  for (int i = 0; i < b->nbodies; i++)
    if (moves[i]) holdPart(s, i, NOTHING, id_u);
  for (int i = 0; i < b->nbodies; i++)
    for (Part part = ALL; part < NOTHING && moves[i]; part++) {
      holdPart(s, i, part, id_u);
      if ((flag = canHold(trial, t, start, id, work)) < 0) goto done;
      any |= flag;
      if (flag) break;
      holdPart(s, i, NOTHING, id_u);
    }
done:
  free(moves);
  return flag < 0 ? flag : any;
}

/* ------------------------------------------------------------------------------ the assembly -- */

/* v: out, the velocity of the origin of a body's frame in space, and its angular velocity in the axes of the body */
static void frameMotion(const Mechanism *b, int i, N_Vector y, sunrealtype v[2][3]) {
  const Space *s = &b->space;
  Pose frame;
  bodiesFrameAt(b, i, positionsOf(y) + s->nq * i, velocitiesOf(b, y) + s->nu * i, &frame);
  memcpy(v[0], frame.v, sizeof v[0]);
  memcpy(v[1], frame.w, sizeof v[1]);
  if (s->dimension == 3) toBody(&frame, frame.w, v[1]);
}

/* Notes the largest change of a start velocity that was given: of the origin of a body's frame, or of its
 * angular velocity. What is within the rounding of the largest one was not, nor what moves within a second as far as the rounding of positions: velocities
 * of mechanisms at rest that another program has computed. */
static void noteVelocities(Mechanism *b, sunrealtype extent, N_Vector given, N_Vector x) {
  static const sunrealtype rounding = SUN_RCONST(1e-6);
  static const char *const what[]   = {"velocity of the origin", "angular velocity"};
  static const char *const unit[]   = {"m/s", "rad/s"};
  sunrealtype before[2][3], after[2][3], most = rounding, largest[2] = {0, 0};
  char line[300] = "";
  for (int i = 0; i < b->nbodies; i++) {
    frameMotion(b, i, given, before);
    for (int k = 0; k < 2; k++) largest[k] = fmax(largest[k], length3(before[k]));
  }
  for (int i = 0; i < b->nbodies; i++) {
    frameMotion(b, i, given, before);
    frameMotion(b, i, x, after);
    for (int turns = 0; turns < 2; turns++) {
      const sunrealtype size    = length3(before[turns]),
                        arm     = turns ? 0 : length3(before[1]) * length3(b->body[i].centre),
                        at_rest = 64 * SUN_UNIT_ROUNDOFF * (turns ? 1 : extent),
                        floor =
                            fmax(fmax(rounding * arm, SUN_UNIT_ROUNDOFF * largest[turns]), at_rest);
      sunrealtype difference[3];
      if (!(size > floor)) continue; /* not given */
      for (int l = 0; l < 3; l++) difference[l] = after[turns][l] - before[turns][l];
      const sunrealtype change = length3(difference) / size;
      if (!(change > most)) continue;
      most = change;
      snprintf(line, sizeof line,
               "body \"%.100s\": the %s at the start becomes %.4g, not %.4g %s (changed by %.2g "
               "%s), since the "
               "joints do not allow it",
               b->text + b->body[i].name, what[turns], (double)length3(after[turns]), (double)size,
               unit[turns], (double)length3(difference), unit[turns]);
    }
  }
  b->velocity_change = *line ? most : 0;
  if (*line) bodiesNote(b, line);
}

static int createAssembly(Assembly *a, CPMech mech) {
  Mechanism *b = a->b;
  a->x         = N_VClone(a->y);
  a->keep      = N_VClone(a->y);
  a->id        = N_VClone(a->y);
  a->weights   = N_VClone(a->y);
  a->probe     = N_VClone(a->y);
  a->start     = N_VClone(a->y);
  a->mask      = calloc((size_t)b->nv + 1, sizeof *a->mask);
  a->off       = calloc((size_t)b->nv + 1, 1);
  a->p         = calloc((size_t)b->np + 1, sizeof *a->p);
  a->begin     = calloc((size_t)b->np + 1, sizeof *a->begin);
  if (!b->changed) b->changed = calloc(NOTES, 1);
  if (!a->x || !a->keep || !a->id || !a->weights || !a->probe || !a->start || !a->mask || !a->off ||
      !a->p || !a->begin || !b->changed)
    return CP_MEM_FAIL;
  b->changed[0]      = '\0';
  b->velocity_change = 0;
  bodiesResetOffsets(b);
  a->extent = bodiesExtent(b, a->y);
  N_VConst(a->extent > 0 ? fmin(1, calc_ic / (loose * a->extent)) : 1, a->weights);
  bodiesWithoutContacts(b, a->mask);
  for (int i = 0; i < b->ncontacts; i++)
    if (b->contact[i].on != CP_ON_STOP) bodiesSkipJoint(b, b->contact[i].joint, 1, a->off);
  CPEquations e = *CPModelGetEquations(CPMechGetModel(mech));
  e.model_data = b, e.new_data = NULL, e.free_data = NULL, e.free_model_data = NULL;
  a->model = CPModelCreate(&e);
  a->trial = a->model ? CPMechCreate(a->model, a->y, b->ctx) : NULL;
  if (!a->trial) return CP_MEM_FAIL;
  return b->np == 0 ? CP_SUCCESS : CPMechSetActive(a->trial, a->mask);
}

static void freeAssembly(Assembly *a) {
  N_Vector vectors[] = {a->x, a->keep, a->id, a->weights, a->probe, a->start};
  CPMechFree(&a->trial);
  CPModelFree(&a->model);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (vectors[i]) N_VDestroy(vectors[i]);
  free(a->mask);
  free(a->off);
  free(a->p);
  free(a->begin);
}

/* Closes the positions. x: out, the state to begin with. Returns as closeRows. */
static int closePositions(Assembly *a) {
  N_VScale(1, a->y, a->x);
  Mechanism *b = a->b;
  int closed = bodiesAttempt(a, 0), mended = 0;
  if (closed >= 0 && a->extent > 0 && b->np > 0) {
    if (closed > 0) {
      mended = bodiesMendLoops(a, STRICTLY);
    } else if ((closed = bodiesAttempt(a, 1)) > 0 && (mended = bodiesMendLoops(a, LOOSELY)) == 0) {
      closed = bodiesFitRows(a);
      bodiesSwitchAll(a);
    }
    if (closed == 0 && mended == 0) { /* from the guess, which may be closer */
      b->changed[0] = '\0';
      bodiesResetOffsets(b);
      N_VScale(1, a->y, a->x);
      mended = bodiesMendLoops(a, OPEN);
    }
    if (closed < 0 || mended < 0) return CP_MEM_FAIL;
    if (mended > 0 && (closed = bodiesCloseRows(a, AT_REST, 0)) == 0) closed = bodiesAttempt(a, 0);
    if (mended > 0 &&
        closed == 0) { /* Frames in bodies that are held have moved, by as much as rounding. */
      N_VScale(1, a->id, a->probe);
      N_VConst(1, a->id);
      closed = bodiesAttempt(a, 0);
      N_VScale(1, a->probe, a->id);
    }
    if (closed > 0 && bodiesOpposite(a->b, a->x) != NONE) closed = 0;
    if (closed > 0 && (mended > 0 ? bodiesFindMeeting(a) : bodiesSettleSingular(a)) < 0)
      return CP_MEM_FAIL;
  }
  if (closed <= 0) {
    a->b->changed[0] = '\0';
    bodiesResetOffsets(a->b);
  }
  return closed;
}

/* Closes them from where a->x is. */
static int closeFromThere(Assembly *a) {
  N_Vector guess = a->y;
  N_VScale(1, a->x, a->start);
  a->y             = a->start;
  const int closed = closePositions(a);
  a->y             = guess;
  return closed;
}

/* Closes them from the guess or, where that fails, in the coordinates of a tree, first from the guess as well, then from starts
 * that are scattered about it. Loops that are redundant but for more than rounding are refused before. */
static int closeAll(Assembly *a) {
  int closed = closePositions(a);
  for (int scattered = 0; scattered < 2 && closed == 0 && !*a->coarse; scattered++)
    if ((closed = bodiesCloseTree(a, scattered)) > 0) closed = closeFromThere(a);
  return closed;
}

/* Closes them from where coordinates have given values and frames are near their targets. */
static int closeWishes(Assembly *a, const CPAssembly *wish, sunrealtype *miss) {
  const int found = bodiesFitWishes(a, wish, miss);
  return found > 0 ? closeFromThere(a) : found;
}

static int refuseWishes(CPLog *log, const Mechanism *b, const CPAssembly *wish) {
  const int joint = wish->nranges > 0 ? bodiesJointOf(b, wish->ranges[0].coordinate) : NONE;
  if (joint == NONE)
    return cpReport(
        log, CP_IC_FAIL, "CPMechAssemble",
        "the joints cannot be closed near the targets (or have more than 400 velocities)");
  return cpReport(
      log, CP_IC_FAIL, "CPMechAssemble",
      "the joints cannot be closed with joint \"%s\" between %g and %g%s (or have more than "
      "400 velocities)",
      b->text + b->joint[joint].name, (double)wish->ranges[0].low, (double)wish->ranges[0].high,
      wish->nranges > 1 ? ", and the others in their ranges" : "");
}

/* The same in the coordinates of a tree alone, for those without rows and those with joints by functions, which absolute coordinates do
 * not have. y becomes the result. Returns as bodiesFitWishes. */
static int fitTree(CPMech mech, Mechanism *b, sunrealtype t, N_Vector y, CPAssembly *wish) {
  int *mask      = calloc((size_t)b->nv + 1, sizeof *mask);
  sunrealtype *p = calloc((size_t)b->np + 1, sizeof *p);
  Assembly a     = {.log   = CP_OBJECT(mech),
                    .model = CPMechGetModel(mech),
                    .b     = b,
                    .t     = t,
                    .y     = y,
                    .x     = y,
                    .p     = p,
                    .mask  = mask};
  a.extent       = bodiesExtent(b, y);
  if (!(a.extent > 0)) a.extent = 1;
  if (mask) bodiesWithoutContacts(b, mask);
  const int closed = mask && p ? bodiesFitWishes(&a, wish, &wish->miss) : CP_MEM_FAIL;
  free(mask);
  free(p);
  return closed;
}

static int refuseOpposite(CPLog *log, const Mechanism *b, int joint, const char *reason) {
  return cpReport(
      log, CP_IC_FAIL, "CPMechAssemble",
      "joint \"%s\" closes only with axes that are opposite to each other, and must have "
      "equal ones%s%.300s",
      b->text + b->joint[joint].name, *reason ? ": " : "", reason);
}

/* Assembles in these coordinates, from the guess and, if that fails, from where least squares close the joints. */
static int assembleOwn(CPMech mech, Mechanism *b, sunrealtype t, N_Vector y, CPAssembly *wish) {
  CPLog *log     = CP_OBJECT(mech);
  N_Vector guess = N_VClone(y);
  int wishes = wish->nranges > 0 || wish->ntargets > 0, flag = CP_MEM_FAIL, opposite = NONE,
      closed = !guess   ? CP_MEM_FAIL
               : wishes ? fitTree(mech, b, t, y, wish)
                        : 1;
  for (int way = wishes; way < 2 && closed > 0; way++) {
    if (way == 0) N_VScale(1, y, guess);
    flag     = CPMechCalcIC(mech, t, y, NULL, NULL, NULL, NULL);
    opposite = flag == CP_SUCCESS ? bodiesOpposite(b, y) : NONE;
    if (flag != CP_IC_FAIL && opposite == NONE) break;
    if (way == 0 && b->np > 0) {
      N_VScale(1, guess, y);
      closed = fitTree(mech, b, t, y, wish);
      if (closed == 0) closed = 1; /* What the least squares have left may be closed by mech. */
    }
  }
  N_VDestroy(guess);
  if (closed < 0) return cpReport(log, CP_MEM_FAIL, "CPMechAssemble", "no memory for the assembly");
  if (closed == 0) return refuseWishes(log, b, wish);
  return opposite == NONE ? flag : refuseOpposite(log, b, opposite, "");
}

/* Returns 0, or an error code that has been reported. */
static int checkWishes(CPMech mech, const Mechanism *b, const CPAssembly *wish) {
  CPLog *log = CP_OBJECT(mech);
  int flag   = 0;
  if ((wish->nranges > 0 && !wish->ranges) || (wish->ntargets > 0 && !wish->targets))
    return cpRefuse(log, "CPMechAssemble", "ranges and targets must be given");
  for (int i = 0; i < wish->nranges && !flag; i++) {
    const CPRange *r = &wish->ranges[i];
    flag             = bodiesCheckIndex(log, b, CP_COORDINATE, r->coordinate, "CPMechAssemble");
    if (!flag && !(r->low <= r->high))
      flag = cpRefuse(log, "CPMechAssemble",
                      "joint \"%s\": low must not exceed high, and they are %g and %g",
                      b->text + b->joint[bodiesJointOf(b, r->coordinate)].name, (double)r->low,
                      (double)r->high);
  }
  for (int i = 0; i < wish->ntargets && !flag; i++) {
    const CPTarget *to   = &wish->targets[i];
    const sunrealtype *e = to->quaternion;
    flag                 = bodiesCheckIndex(log, b, CP_BODY, to->body, "CPMechAssemble");
    if (flag) continue;
    const char *name = b->text + b->body[to->body].name;
    if (!(to->along >= 0 && to->about >= 0 && to->along + to->about > 0))
      flag = cpRefuse(
          log,
          "CPMechAssemble", "body \"%s\": the weights of its target must not be negative, nor both 0, and are %g and %g",
          name, (double)to->along, (double)to->about);
    else if (to->about > 0 && !(hypot(length3(e), e[3]) > 0))
      flag = cpRefuse(log, "CPMechAssemble",
                      "body \"%s\": the quaternion of its target must not be 0", name);
  }
  return flag;
}

/* Reports why there is no consistent state, after the failure `flag` of mech, or of the positions. */
static int reportOpen(Assembly *a, int flag, int closed, const char *reason, const char *function) {
  Mechanism *b = a->b;
  char conflict[TEXT];
  sunrealtype size;
  if (flag != CP_IC_FAIL) return cpReport(a->log, flag, function, "%.400s", reason);
  if (bodiesFindConflict(a, conflict))
    return cpReport(a->log, CP_MEM_FAIL, function, "no memory for the assembly");
  if (*conflict) return cpReport(a->log, flag, function, "%s", conflict);
  bodiesWithoutContacts(b, a->mask);
  if (closed) return cpReport(a->log, flag, function, "%.400s", reason);
  if (a->opposite != NONE) return refuseOpposite(a->log, b, a->opposite, reason);
  if (*a->coarse) return cpReport(a->log, flag, function, "%s", a->coarse);
  const Joint *joint = bodiesMostOpen(a, &size);
  char limit[100]    = "", by[100];
  snprintf(by, sizeof by, "by %g at the guess", (double)size);
  if (a->open != NONE) {
    joint = &b->joint[a->open];
    snprintf(by, sizeof by, "by %.3g m and %.3g rad where the loops are nearest to closed",
             (double)a->gap[0], (double)a->gap[1]);
  }
  if (size < rounded * fmin(1, a->extent))
    snprintf(limit, sizeof limit, "; rounding in loops is closed up to %.2g m and %.2g rad",
             (double)(largest_offset * a->extent), (double)largest_offset);
  return cpReport(a->log, flag, function, "%s \"%s\" stays open (%s%s): %.300s",
                  joint ? bodiesNoun(b, (int)(joint - b->joint)) : "joint",
                  joint ? b->text + joint->name : "", by, limit, reason);
}

/* Gives rows and frames the offsets of another assembly. */
static int takeOffsets(Mechanism *b, const sunrealtype *offsets, CPLog *log) {
  sunrealtype *move = malloc((6 * (size_t)b->njoints + 1) * sizeof *move);
  if (!move) return cpReport(log, CP_MEM_FAIL, "CPMechAssemble", "no memory for offsets");
  memcpy(move, offsets + b->np, 6 * (size_t)b->njoints * sizeof *move);
  bodiesResetOffsets(b);
  bodiesMoveFrames(b, move);
  memcpy(b->shift, offsets, (size_t)(b->np + 6 * b->njoints) * sizeof *b->shift);
  if (b->tree) treeSetFrames(b, b->tree);
  free(move);
  return CP_SUCCESS;
}

/* ------------------------------------------------------------------------- joint coordinates -- */

void bodiesPutPoses(const Mechanism *b, const Pose *pose, sunrealtype *q) {
  const Space *s = &b->space;
  for (int i = 0; i < b->nbodies; i++, pose++, q += s->nq) {
    q[0] = pose->r[0], q[1] = pose->r[1], q[2] = s->dimension == 2 ? pose->phi : pose->r[2];
    if (s->dimension == 3) bodiesAttitude(pose, q + 3);
  }
}

/* y: out, the state in absolute coordinates that belongs to x, except for W */
static void toAbsolute(Mechanism *b, N_Vector x, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(x);
  bodiesPoses(b, q, q + b->tree->nq, NULL);
  bodiesPutPoses(b, b->pose, positionsOf(y));
  memcpy(velocitiesOf(b, y), b->tree->twist, b->tree->length * sizeof(sunrealtype));
}

/* Takes over what an assembly in absolute coordinates has found: the state y, frames and offsets. */
static void takeAbsolute(Mechanism *b, const Mechanism *from, N_Vector y, N_Vector x) {
  const Space *s       = &b->space;
  const sunrealtype *q = N_VGetArrayPointer(y);
  sunrealtype *own     = N_VGetArrayPointer(x);
  memcpy(b->pair, from->pair, (size_t)b->npairs * sizeof *b->pair);
  memcpy(b->shift + b->np, from->shift + from->np, 6 * (size_t)b->njoints * sizeof *b->shift);
  for (int i = 0; i < b->njoints; i++)
    for (int r = 0; r < b->joint[i].nrows; r++) {
      const Row *row = &b->row[b->joint[i].first + r];
      memcpy(b->shift + row->first, from->shift + from->row[from->joint[i].first + r].first,
             (size_t)bodiesComponents(b, row) * sizeof *b->shift);
    }
  memcpy(b->singular, from->singular, sizeof b->singular);
  memcpy(b->changed, from->changed, NOTES);
  b->assembled       = from->assembled;
  b->velocity_change = from->velocity_change;
  treeSetFrames(b, b->tree);
  for (int i = 0; i < b->nbodies; i++)
    bodiesPoseAt(s, q + s->nq * i, q + s->nq * b->nbodies + s->nu * i, NULL, &b->pose[i]);
  treeRead(b, b->tree, own, own + b->tree->nq);
}

/* Is y the state in which the placement puts the tree? Returns -1 if there is no memory. */
static int isPlaced(Mechanism *b, N_Vector y) {
  const size_t n   = (size_t)b->tree->nq + (size_t)b->tree->nu;
  sunrealtype *own = calloc(n, sizeof *own);
  const int placed = !own || treeStart(b, own, own + b->tree->nq)
                         ? -1
                         : !memcmp(own, N_VGetArrayPointer(y), n * sizeof *own);
  free(own);
  return placed;
}

/* y: out, in absolute coordinates, the velocities that the placement gives to the bodies */
static void putGiven(Mechanism *b, N_Vector y) {
  const Space *s = &b->space;
  for (int i = 0; i < b->nbodies; i++)
    memcpy(velocitiesOf(b, y) + s->nu * i, b->body[i].guess + s->nq,
           (size_t)s->nu * sizeof(sunrealtype));
}

/* Joints of a tree take their rates from the velocities at the placement: notes what of these no joint has. */
static int noteLost(Mechanism *b, N_Vector y) {
  const Space *s    = &b->space;
  const int is_here = isPlaced(b, y);
  if (b->changed) b->changed[0] = '\0';
  b->velocity_change = 0;
  if (is_here <= 0) return is_here < 0 ? CP_MEM_FAIL : CP_SUCCESS;
  N_Vector given = N_VNew_Serial((sunindextype)b->nbodies * (s->nq + s->nu), b->ctx);
  N_Vector taken = given ? N_VClone(given) : NULL;
  if (!b->changed) b->changed = calloc(NOTES, 1);
  if (taken && b->changed) {
    toAbsolute(b, y, taken);
    N_VScale(1, taken, given);
    putGiven(b, given);
    noteVelocities(b, bodiesExtent(b, y), given, taken);
  }
  const int flag = taken && b->changed ? CP_SUCCESS : CP_MEM_FAIL;
  if (taken) N_VDestroy(taken);
  if (given) N_VDestroy(given);
  return flag;
}

/* Loops are closed in absolute coordinates, where all joints have rows, and the coordinates of the tree are read off. */
static int assembleTree(CPMech mech, Mechanism *b, sunrealtype t, N_Vector y, CPAssembly *assembly) {
  N_Vector at =
      N_VNew_Serial(b->nbodies * (b->space.nq + b->space.nu) + b->nactivations + b->balance, b->ctx);
  N_Vector before  = N_VClone(y);
  CPMech twin      = at ? CPMechCreate(b->absolute, at, b->ctx) : NULL;
  Mechanism *from  = twin ? CPMechGetUserData(twin) : NULL;
  CPAssembly own   = {CP_SIZED(CPAssembly),         .held = assembly->held,
                      .ranges = assembly->ranges,   .nranges = assembly->nranges,
                      .targets = assembly->targets, .ntargets = assembly->ntargets};
  const int placed = isPlaced(b, y);
  int flag         = CP_MEM_FAIL;
  if (!b->changed) b->changed = calloc(NOTES, 1);
  if (!before || !from || !b->changed || placed < 0) {
    flag = cpReport(CP_OBJECT(mech), flag, "CPMechAssemble", "no memory for the assembly");
  } else {
    bodiesTakeParameters(from, b);
    N_VScale(1, y, before);
    N_VConst(0, at);
    toAbsolute(b, y, at);
    if (placed) putGiven(b, at); /* which the joints of the tree have in part */
    flag = CPMechAssemble(twin, t, at, &own);
    if (flag)
      cpReport(CP_OBJECT(mech), flag, "CPMechAssemble", "%.*s", TEXT,
               CPObjectGetLastMessage(CP_OBJECT(twin)));
  }
  assembly->miss = own.miss;
  if (!flag) {
    takeAbsolute(b, from, at, y);
    flag = CPMechCalcIC(mech, t, y, NULL, NULL, NULL, NULL);
    if (flag) N_VScale(1, before, y);
  }
  CPMechFree(&twin);
  if (at) N_VDestroy(at);
  if (before) N_VDestroy(before);
  return flag;
}

/* Closes the loops again from the guess y, within the stops of all coordinates, if a->x violates one that the guess does not. y: out, that
 * state, or a->x if there is none. */
static int keepStops(Assembly *a, CPMech mech, N_Vector y, const char *held) {
  Mechanism *b     = a->b;
  const int shifts = b->np + 6 * b->njoints;
  CPRange *range;
  const Joint *broken;
  const int n          = bodiesStops(a, &range, &broken);
  sunrealtype *offsets = n > 0 && broken ? malloc((size_t)shifts * sizeof *offsets) : NULL;
  CPAssembly own       = {CP_SIZED(CPAssembly), .held = held, .ranges = range, .nranges = n};
  int flag             = n < 0 || (n > 0 && broken && !offsets) ? CP_MEM_FAIL : CP_SUCCESS;
  if (!flag && offsets) {
    char line[TEXT];
    memcpy(offsets, b->shift, (size_t)shifts * sizeof *offsets);
    flag = CPMechAssemble(mech, a->t, y, &own);
    if (flag == CP_SUCCESS) {
      snprintf(line, sizeof line,
               "joints are closed within all limits: the nearest position violates \"%s\"",
               b->text + broken->name);
      bodiesNote(b, line);
    } else if (flag != CP_MEM_FAIL) {
      flag = takeOffsets(b, offsets, a->log);
      N_VScale(1, a->x, y);
    }
  } else if (!flag) N_VScale(1, a->x, y);
  free(offsets);
  free(range);
  return flag;
}

int CPMechAssemble(CPMech mech, sunrealtype t, N_Vector y, CPAssembly *assembly) {
  CPAssembly given = {0};
  Mechanism *b;
  int flag = bodiesAt(mech, y, __func__, &b);
  if (!flag && assembly) flag = cpTake(CP_OBJECT(mech), &given, assembly, __func__);
  if (flag) return flag;
  if (given.offsets && given.offsets != b->shift) /* those that a call has given are no others */
    return takeOffsets(b, given.offsets, CP_OBJECT(mech));
  const int wishes = given.nranges > 0 || given.ntargets > 0;
  if (wishes && (flag = checkWishes(mech, b, &given))) return flag;
  given.miss = 0;
  if (b->tree) {
    flag = b->nv > 0 && b->absolute ? assembleTree(mech, b, t, y, &given)
                                    : assembleOwn(mech, b, t, y, &given);
    if (!flag && b->nv == 0 && noteLost(b, y))
      flag = cpReport(CP_OBJECT(mech), CP_MEM_FAIL, __func__, "no memory for the assembly");
    goto give;
  }
  const char *held = given.held ? given.held : "";
  Assembly a = {.log = CP_OBJECT(mech), .b = b, .t = t, .y = y, .opposite = NONE, .open = NONE};
  const sunindextype nq = (sunindextype)b->nbodies * b->space.nq, nu = N_VGetLength(y) - nq;
  const size_t length  = (size_t)nu * sizeof(sunrealtype);
  const sunrealtype *u = N_VGetArrayPointer(y) + nq;
  int closed           = createAssembly(&a, mech);
  if (closed == CP_SUCCESS && (flag = holdPositions(a.log, b, held, a.id, __func__))) goto done;
  if (closed == CP_SUCCESS) closed = wishes ? closeWishes(&a, &given, &given.miss) : closeAll(&a);
  if (wishes && closed == 0) {
    flag = refuseWishes(a.log, b, &given);
    goto done;
  }
  if (closed < 0) {
    flag = cpReport(a.log, CP_MEM_FAIL, __func__, "no memory for the assembly of %d bodies",
                    b->nbodies);
    goto done;
  }
  if (*a.meeting) {
    flag = cpReport(a.log, CP_IC_FAIL, __func__,
                    "the start is a singular position of loops that are redundant but for "
                    "rounding: two branches of motions meet there (joints %s), and digits that "
                    "are missing decide between them: start beside it, or give all digits",
                    a.meeting);
    goto done;
  }
  /* from the closed positions, with the velocities of the guess */
  if (!closed) N_VScale(1, y, a.x);
  memcpy(velocitiesOf(b, a.x), u, length);
  flag = CPMechCalcIC(mech, t, a.x, NULL, a.id, NULL, NULL);
  if (flag == CP_SUCCESS && bodiesOpposite(b, a.x) != NONE) flag = CP_IC_FAIL, closed = 0;
  if (flag == CP_SUCCESS && *held) {
    memcpy(velocitiesOf(b, a.x), u, length);
    flag = holdVelocities(b, a.trial, t, a.x, a.id, a.keep);
    if (flag >= 0) flag = CPMechCalcIC(mech, t, a.x, NULL, a.id, NULL, NULL);
    if (flag == CP_IC_FAIL) { /* Motions that only mech has may make them impossible. */
      holdPositions(a.log, b, held, a.id, __func__);
      flag = CPMechCalcIC(mech, t, a.x, NULL, a.id, NULL, NULL);
    }
  }
  if (flag == CP_SUCCESS) {
    noteVelocities(b, a.extent, a.y, a.x);
    N_Vector x0 = a.x;
    a.x         = a.probe;
    flag        = bodiesFindSingular(&a, x0);
    a.x         = x0;
    if (!flag && wishes) N_VScale(1, a.x, y);
    else if (!flag) flag = keepStops(&a, mech, y, given.held);
    if (flag) flag = cpReport(a.log, flag, __func__, "no memory for the assembly");
  } else if (flag == CP_MEM_FAIL) cpReport(a.log, flag, __func__, "no memory for the assembly");
  else flag = reportOpen(&a, flag, closed, CPObjectGetLastMessage(CP_OBJECT(mech)), __func__);
done:
  freeAssembly(&a);
give:
  if (assembly) {
    given.notes    = b->changed ? b->changed : "";
    given.change   = b->velocity_change;
    given.offsets  = b->shift;
    given.noffsets = b->np + 6 * b->njoints;
    cpGive(assembly, &given);
  }
  return flag;
}

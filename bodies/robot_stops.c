/* Stops of robots that their loops cannot keep. Files exist whose loops close only where limits of joints are violated, such as those of
 * rods that have hinges in place of balls. The limits that are violated most are then left out, until the loops close within
 * the others. */
#include "cpodes/base/compat.h"
#include "robot_impl.h"

#include <stdlib.h>
#include <string.h>

/* The stops of one joint */
typedef struct {
  int joint; /* of the robot */
  CPRange range;
} Stop;

/* stop [njoints]: out, all stops that the mechanism has. Returns the number. */
static int listStops(const Robot *r, Stop *stop) {
  const Mechanism *b = &r->bodies->m;
  int n              = 0;
  for (int i = 0; i < r->njoints; i++) {
    const RobotJoint *j = &r->joint[i];
    const int joint = j->has_stops ? bodiesFind(b, NAME_JOINT, j->joint, strlen(j->joint)) : NONE;
    if (joint >= 0)
      stop[n++] = (Stop){i, {b->joint[joint].first_coordinate + j->k, j->range[0], j->range[1]}};
  }
  return n;
}

/* By how much y violates a stop [rad or m], or 0 */
static sunrealtype violated(const Robot *r, CPMech mech, N_Vector y, const Stop *stop) {
  static const sunrealtype closed = SUN_RCONST(1e-10); /* as CPMechAssemble closes rows */
  const CPRange *range            = &stop->range;
  sunrealtype x                   = 0;
  if (CPMechGetCoordinate(mech, range->coordinate, y, &x, NULL)) return 0;
  const sunrealtype middle = (range->low + range->high) / 2, turn = 8 * atan(SUN_RCONST(1.0));
  if (r->joint[stop->joint].type == HINGE && isfinite(middle))
    x = middle + remainder(x - middle, turn);
  const sunrealtype beyond = fmax(range->low - x, x - range->high);
  return beyond > closed ? beyond : 0;
}

/* Marks those of stop [n] in `loose` without which the loops of y close within the others: those that are violated most where the loops
 * close without any, at `nearest`, and by more than half of that, until they do. Returns the number. */
static int loosen(const Robot *r, CPMech mech, N_Vector y, N_Vector nearest, Stop *stop, int n,
                  char *loose) {
  int dropped    = 0;
  N_Vector at    = N_VClone(y);
  CPRange *range = malloc(((size_t)n + 1) * sizeof *range);
  for (int closed = 0; at && range && !closed;) {
    sunrealtype most = 0;
    int kept         = 0;
    for (int i = 0; i < n; i++) most = fmax(most, violated(r, mech, nearest, &stop[i]));
    if (most == 0) break;
    for (int i = 0; i < n; i++) {
      if (violated(r, mech, nearest, &stop[i]) > most / 2) loose[stop[i].joint] = 1, dropped++;
      else range[kept] = stop[i].range, stop[kept++] = stop[i];
    }
    n                 = kept;
    CPAssembly within = {CP_SIZED(CPAssembly), .ranges = range, .nranges = n};
    N_VScale(1, y, at);
    closed = n == 0 || CPMechAssemble(mech, 0, at, &within) == CP_SUCCESS;
  }
  if (at) N_VDestroy(at);
  free(range);
  return dropped;
}

static int findLoose(const Robot *r, SUNContext ctx, Stop *stop, char *loose) {
  CPModel model = NULL;
  N_Vector y = CPBodiesState(r->bodies, ctx), nearest = y ? N_VClone(y) : NULL;
  const int built = nearest && CPBodiesBuild(r->bodies, &model) == CP_SUCCESS;
  CPMech mech     = built ? CPMechCreate(model, y, ctx) : NULL;
  int n           = 0;
  if (mech) {
    N_VScale(1, y, nearest);
    if (CPMechAssemble(mech, 0, nearest, NULL) == CP_SUCCESS)
      n = loosen(r, mech, y, nearest, stop, listStops(r, stop), loose);
  }
  CPMechFree(&mech);
  CPModelFree(&model);
  if (nearest) N_VDestroy(nearest);
  if (y) N_VDestroy(y);
  return n;
}

/* What fails here, such as loops that do not close at all, fails again when the mechanism is built, and is told there. */
char *robotLooseStops(const Robot *r) {
  SUNContext ctx = NULL;
  int any        = 0;
  for (int i = 0; i < r->njoints; i++) any |= r->joint[i].has_stops;
  if (!r->loops || r->open || !any || cpContextCreate(&ctx)) return NULL;
  char *loose = calloc((size_t)r->njoints, 1);
  Stop *stop  = malloc((size_t)r->njoints * sizeof *stop);
  if (!loose || !stop || findLoose(r, ctx, stop, loose) == 0) free(loose), loose = NULL;
  free(stop);
  SUNContext_Free(&ctx);
  return loose;
}

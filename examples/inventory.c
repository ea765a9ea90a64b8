/* Example: a mechanism from a file whose contents the program does not know: it lists them, draws them, and changes their
 * parameters.
 *
 * The file, here a text, describes a block on a smooth guide, at the end of a spring from the wall:
 *
 *   m x'' = -k (x - x_0),   m = 2 kg, k = 200 N/m, x_0 = 0.3 m; released at rest at x = 0.5 m
 *
 * Closed form: after half a period, pi sqrt(m / k), the block is at 2 x_0 - 0.5 m = 0.1 m.
 *
 * All numbers of the elements are in one array. That of a CPMech changes its own motion: stiffnesses are tried with one model.
 * That of the description goes into models that are built from then on.
 *
 * Run:       inventory
 * Expected:  everything that the file contains, the rows of the constraints with their names, a drawing, the position after
 *            half a period for three stiffnesses and for another mass, and "ok". The exit code is 1 if a position is not 0.1 m
 *            up to 1e-8 m, and 2 if a call failed.
 */
#include "check_flag.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <string.h>

static const char file[] =
    "run: {title: Block on a spring, t_end: 1}\n"
    "dimension: 2\n"
    "bodies: [{name: block, mass: 2, inertia: 0.01, at: [0.5, 0]}]\n"
    "joints: [{name: guide, kind: prismatic, b: block, at: [0, 0], axis: [1, 0]}]\n"
    "springs: [{name: spring, b: block, at: [0, 0], at_b: [0.45, 0], stiffness: 200, free: 0.25}]\n"
    "shapes: [{name: box, body: block, kind: box, at: [0.5, 0], size: [0.1, 0.1]}]\n";

static void list(CPBodies bodies) {
  static const struct {
    const char *name;
    CPThing thing;
  } kind[] = {{"bodies", CP_BODY},    {"joints", CP_JOINT},         {"coordinates", CP_COORDINATE},
              {"springs", CP_SPRING}, {"parameters", CP_PARAMETER}, {"states", CP_STATE}};
  for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
    printf("%-12s", kind[k].name);
    for (int i = 0; i < CPBodiesCount(bodies, kind[k].thing); i++) {
      CPDescription thing = CP_INIT(CPDescription);
      CHECK(CPBodiesDescribe(bodies, kind[k].thing, i, &thing));
      printf(" %s", thing.name);
      if (kind[k].thing == CP_PARAMETER) printf(" = %g", thing.value);
      if (*thing.unit) printf(" [%s]", thing.unit);
      printf(i + 1 < CPBodiesCount(bodies, kind[k].thing) ? "," : "\n");
    }
  }
}

/* The rows of the position constraints, as messages name them, and by how much they are violated. The functions of a model can
   be called by programs, too: CPMechGetData finds what they get. */
static void list_rows(CPMech mech, N_Vector y) {
  const CPEquations *model = CPModelGetEquations(CPMechGetModel(mech));
  sunrealtype p[2]         = {0};
  char name[256]           = "";
  void *data;
  CHECK(CPMechGetData(mech, &data));
  CHECK(model->p(0, N_VGetArrayPointer(y), p, data));
  for (int i = 0; i < model->np; i++) {
    model->row_name(CP_NAME_ROW, i, 0, name, sizeof name, data);
    printf("row %d        %s: %.0e\n", i, name, fabs(p[i]));
  }
}

/* Wall, spring and box along x, a column for each centimetre, by the points that serve drawings */
static void draw(CPBodies bodies, CPMech mech, N_Vector y) {
  enum { COLUMNS = 60 };
  char line[COLUMNS + 1];
  memset(line, ' ', COLUMNS);
  line[COLUMNS] = 0;
  sunrealtype xyz[12];
  for (int i = 0; i < CPBodiesCount(bodies, CP_SPRING); i++) {
    CHECK(CPMechGetPoints(mech, CP_SPRING, i, y, xyz));
    for (int k = (int)lround(100 * xyz[0]); k < (int)lround(100 * xyz[3]); k++) line[k] = '~';
  }
  for (int i = 0; i < CPBodiesCount(bodies, CP_SHAPE); i++) { /* centre, and the ends of half axes */
    CHECK(CPMechGetPoints(mech, CP_SHAPE, i, y, xyz));
    const sunrealtype half = fabs(xyz[3] - xyz[0]);
    for (int k = (int)lround(100 * (xyz[0] - half)); k < (int)lround(100 * (xyz[0] + half)); k++)
      line[k] = '#';
  }
  printf("|%s\n", line);
}

/* Position of the block after the time t_end, from its placement */
static sunrealtype move(CPBodies bodies, CPMech mech, sunrealtype t_end, SUNContext ctx) {
  sunrealtype t    = 0, x;
  N_Vector y       = CPBodiesState(bodies, ctx);
  CPIntegrator mem = CPIntegratorCreate("DOP853", ctx);
  CHECK_NEW(y);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, t, y));
  CHECK(CPIntegratorSStolerances(mem, 1e-10, 1e-10));
  CHECK(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL));
  x = N_VGetArrayPointer(y)[0];
  draw(bodies, mech, y);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
  return x;
}

int main(void) {
  const sunrealtype pi = acos(-1.0);
  sunrealtype *value, worst = 0, x;
  int stiffness, mass, n;
  CPBodies bodies;
  CPBodiesFile said = CP_INIT(CPBodiesFile);
  CPModel model;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  CHECK(CPBodiesRead("block.yaml", file, sizeof file - 1, &bodies, &said));
  printf("%s, in %d dimensions\n", said.title, said.dimension);
  list(bodies);
  CHECK(CPBodiesFind(bodies, CP_PARAMETER, "spring.stiffness", &stiffness));
  CHECK(CPBodiesFind(bodies, CP_PARAMETER, "block.mass", &mass));

  CHECK(CPBodiesBuild(bodies, &model));
  N_Vector y = CPBodiesState(bodies, ctx);
  CHECK_NEW(y);
  CPMech mech = CPMechCreate(model, y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&model);
  list_rows(mech, y);
  draw(bodies, mech, y);

  /* The stiffness of this CPMech; the model stays as it is. */
  CHECK(CPMechGetParameters(mech, &value, &n));
  for (; value[stiffness] <= 800; value[stiffness] *= 2) {
    x = move(bodies, mech, pi * sqrt(value[mass] / value[stiffness]), ctx);
    printf("%4.0f N/m, %g kg: at %.9f m after half a period\n", value[stiffness], value[mass], x);
    worst = fmax(worst, fabs(x - 0.1));
  }
  CPMechFree(&mech);

  /* The mass of models that are built from now on, whose stiffness is still that of the file */
  CPBodiesParameters(bodies)[mass] = 8;
  CHECK(CPBodiesBuild(bodies, &model));
  CHECK_NEW(mech = CPMechCreate(model, y, ctx));
  CPModelFree(&model);
  CHECK(CPMechGetParameters(mech, &value, NULL));
  x = move(bodies, mech, pi * sqrt(value[mass] / value[stiffness]), ctx);
  printf("%4.0f N/m, %g kg: at %.9f m after half a period\n", value[stiffness], value[mass], x);
  worst = fmax(worst, fabs(x - 0.1));

  const int ok = n == CPBodiesCount(bodies, CP_PARAMETER) && worst <= 1e-8;
  printf("%s\n", ok ? "ok" : "WRONG: the block is elsewhere");
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
  N_VDestroy(y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}

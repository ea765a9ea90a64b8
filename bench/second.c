/* What a second CPMech of one CPModel costs beside the first: the time from nothing to u' and to the first step of an
 * integrator, beside that of u' at one more state, and the memory that is then held. What the first finds (patterns,
 * index arrays and maps, colourings, orders of elimination) stays with the model.
 *
 *   build/release/bench/second [bodies [method]]
 *       chains in space on ball joints, sparse; 0: the four-bar linkage in space, dense. With a method (u: none) it runs
 *       once, so that instructions can be counted:
 *   valgrind --tool=callgrind --toggle-collect=second_system build/release/bench/second 1000 u
 *       first_system: with the model; again: u' at one more state */
#include "check.h"
#include "timing.h"

#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <models/spatial_chain.h>
#include <models/spatial_four_bar.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15 };

typedef struct {
  RigidBodies *bodies;
  CPEquations equations;
  N_Vector y;
  SUNContext ctx;
} Problem;

typedef struct {
  double seconds, bytes;
} Cost;

/* The least of all runs: other processes only add to it. */
static void keep_least(Cost *least, Cost cost) {
  least->seconds = fmin(least->seconds, cost.seconds);
  least->bytes   = fmin(least->bytes, cost.bytes);
}

/* A CPMech, and what it does first: u', with a method a step */
static CPMech begin(const Problem *p, CPModel model, const char *method, CPIntegrator *mem) {
  CPMech mech       = CHECK_POINTER(CPMechCreate(model, p->y, p->ctx));
  sunrealtype *udot = CHECK_POINTER(malloc((size_t)p->equations.nu * sizeof *udot)), t = 0;
  CHECK(CPMechAccelerations(mech, 0, p->y, udot, NULL));
  free(udot);
  if (!method) return mech;
  N_Vector y = CHECK_POINTER(N_VClone(p->y));
  N_VScale(1, p->y, y);
  *mem = CHECK_POINTER(CPIntegratorCreate(method, p->ctx));
  CHECK(CPMechAttach(mech, *mem, 0, y));
  CHECK(CPIntegratorSStolerances(*mem, 1e-6, 1e-6));
  CHECK(CPIntegratorEvolve(*mem, 1, y, &t, CV_ONE_STEP));
  N_VDestroy(y);
  return mech;
}

/* Functions of their own, within which instructions are counted */
__attribute__((noinline)) static CPMech first_system(const Problem *p, CPModel *model,
                                                     const char *method, CPIntegrator *mem) {
  *model = CHECK_POINTER(CPModelCreate(&p->equations));
  return begin(p, *model, method, mem);
}

__attribute__((noinline)) static CPMech second_system(const Problem *p, CPModel model,
                                                      const char *method, CPIntegrator *mem) {
  CPMech mech = begin(p, model, method, mem);
  return CHECK_POINTER(mech);
}

__attribute__((noinline)) static void again(CPMech mech, N_Vector y, sunrealtype *udot) {
  CHECK(CPMechAccelerations(mech, 0, y, udot, NULL));
}

static void compare(const Problem *p, const char *name, const char *method, int rounds) {
  Cost first = {INFINITY, INFINITY}, second = first, one_more = first;
  N_Vector near     = CHECK_POINTER(N_VClone(p->y));
  sunrealtype *udot = CHECK_POINTER(malloc((size_t)p->equations.nu * sizeof *udot));
  for (int k = 0; k < rounds; k++) {
    CPIntegrator mem[2] = {NULL, NULL};
    CPModel model;
    const double bytes = (double)heap_in_use(), start = seconds_now();
    CPMech a            = first_system(p, &model, method, &mem[0]);
    const double middle = seconds_now(), bytes_a = (double)heap_in_use();
    const double next = seconds_now();
    CPMech b          = second_system(p, model, method, &mem[1]);
    const double end = seconds_now(), bytes_b = (double)heap_in_use();
    N_VScale(1 + 1e-9, p->y, near); /* M and A differ, so that they are factored again, */
    CHECK(CPMechAccelerations(b, 0, near, udot, NULL)); /* and the solver prepares for more states */
    N_VScale(1 + 1e-9, near, near);
    const double then = seconds_now();
    again(b, near, udot);
    keep_least(&one_more, (Cost){seconds_now() - then, 0});
    keep_least(&first, (Cost){middle - start, bytes_a - bytes});
    keep_least(&second, (Cost){end - next, bytes_b - bytes_a});
    for (int i = 0; i < 2; i++) CPIntegratorFree(&mem[i]);
    CPMechFree(&a);
    CPMechFree(&b);
    CPModelFree(&model);
  }
  N_VDestroy(near);
  free(udot);
  printf("%-12s %-8s %9.3f ms %9.3f ms %9.3f ms  %4.0f %%  %9.0f kB %9.0f kB  %4.0f %%\n", name,
         method ? method : "u'", 1e3 * first.seconds, 1e3 * second.seconds, 1e3 * one_more.seconds,
         100 * second.seconds / first.seconds, first.bytes / 1024, second.bytes / 1024,
         100 * second.bytes / first.bytes);
}

/* only: a method, or u; NULL: all */
static void compare_all(Problem *p, const char *name, const char *only) {
  static const char *const methods[] = {NULL, "DOP853", "BDF", "RADAU"};
  p->equations.model_data            = p->bodies;
  if (only) compare(p, name, strcmp(only, "u") ? only : NULL, 1);
  else
    for (int i = 0; i < 4; i++) compare(p, name, methods[i], ROUNDS);
}

static void chain(int n, const char *only, SUNContext ctx) {
  const SpatialChainData data  = {.l = 1, .radius = 0.05, .m = 1, .g = 9.81};
  const SpatialChainStart from = {.angle = -0.5, .spin = 1};
  char name[32];
  SpatialChain *c = CHECK_POINTER(spatial_chain_create(n, &data));
  Problem p = {.bodies = &c->bodies, .y = CHECK_POINTER(N_VNew_Serial(13 * n, ctx)), .ctx = ctx};
  spatial_chain_initial(c, &from, p.y);
  CHECK(rigid_body_model(&c->bodies, 1, ctx, &p.equations));
  snprintf(name, sizeof name, "chain %d", n);
  compare_all(&p, name, only);
  rigid_body_model_free(&p.equations);
  N_VDestroy(p.y);
  spatial_chain_free(&c);
}

static void four_bar(const char *only, SUNContext ctx) {
  const sunrealtype length[3] = {1, 1.5, 1.2}, rest[3] = {0};
  sunrealtype angle[3] = {1.1, 0, 0};
  SpatialFourBar bar;
  Problem p = {.y = CHECK_POINTER(N_VNew_Serial(SPATIAL_FOUR_BAR_N, ctx)), .ctx = ctx};
  spatial_four_bar_create(&bar, length, 1.8, 9.81, CP_FRAME_BODY);
  CHECK(spatial_four_bar_close(&bar, angle));
  spatial_four_bar_place(&bar, angle, rest, p.y);
  p.bodies = &bar.bodies;
  CHECK(rigid_body_model(&bar.bodies, 0, ctx, &p.equations));
  compare_all(&p, "four-bar", only);
  N_VDestroy(p.y);
}

int main(int argc, char **argv) {
  const char *only = argc > 2 ? argv[2] : NULL;
  SUNContext ctx   = check_context();
  printf("%-12s %-8s %12s %12s %12s  %6s  %12s %12s  %6s\n", "", "to", "first", "second",
         "u' again", "ratio", "first", "second", "ratio");
  if (argc > 1 && atoi(argv[1]) > 0) chain(atoi(argv[1]), only, ctx);
  else if (argc > 1) four_bar(only, ctx);
  else chain(1000, NULL, ctx), chain(10, NULL, ctx), four_bar(NULL, ctx);
  SUNContext_Free(&ctx);
  return 0;
}

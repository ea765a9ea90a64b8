/* libFuzzer's targets for the readers of mechanisms (bodies/yaml.c, and bodies/xml.c with mjcf.c and urdf.c): whatever the
 * bytes, CPBodiesReadText returns a mechanism, or NULL and a message of one line; a mechanism that is small enough is
 * completed and evaluated once. Without fuzzer-no-link the readers are not instrumented, and libFuzzer is blind.
 *
 *   cmake --preset clang && cmake --build --preset clang    (scripts/test --clang runs them for some seconds)
 *   build/clang/test/fuzz/fuzz_mechanism_file -max_total_time=3600 CORPUS examples/mechanisms
 *   build/clang/test/fuzz/fuzz_robot_file -max_total_time=3600 CORPUS examples/mechanisms
 */
#include <cpodes/cpodes_bodies.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_context.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void silent(int code, const char *function, const char *msg, void *data) {
  (void)code, (void)function, (void)msg, (void)data;
}

static void evaluate(CPBodies b) {
  CPEquations model;
  CPBodiesPowers powers;
  N_Vector y = CPBodiesState(b);
  if (y && CPBodiesModel(b, &model) == CP_SUCCESS) {
    sunrealtype *q = N_VGetArrayPointer(y),
                *f = calloc((size_t)(model.nu + model.na) + 1, sizeof *f);
    if (!f) abort();
    model.f(0, q, q + model.nq, NULL, f, b);
    if (model.b) model.b(0, q, q + model.nq, f, b);
    CPBodiesGetPowers(b, 0, y, NULL, &powers);
    free(f);
  }
  if (y) N_VDestroy(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static SUNContext ctx; /* one for all inputs */
  CPBodiesFile file;
  char message[300];
  if (!ctx && SUNContext_Create(SUN_COMM_NULL, &ctx)) abort();
  CPBodies b =
      CPBodiesReadText((const char *)data, size, FUZZ_NAME, ctx, &file, message, sizeof message);
  if (!b && (!message[0] || strchr(message, '\n'))) abort();
  CPObjectSetErrHandlerFn(CP_OBJECT(b), silent, NULL);
  if (b && CPBodiesCount(b, CP_BODY) < 50) evaluate(b);
  CPBodiesFree(&b);
  return 0;
}

/* libFuzzer's targets for the readers of mechanisms (bodies/yaml.c, and bodies/xml.c with mjcf.c, urdf.c, sdf.c and osim.c, and bodies/asmt.c): whatever the
 * bytes, CPBodiesRead returns a mechanism, or a message of one line; a mechanism that is small enough is
 * completed and evaluated once. What is written of it as a YAML file is read again, unless it lacks elements. Without fuzzer-no-link the readers are not instrumented, and libFuzzer is blind.
 *
 *   cmake --preset clang && cmake --build --preset clang    (scripts/test --clang runs them for some seconds)
 *   build/clang/test/fuzz/fuzz_mechanism_file -max_total_time=3600 CORPUS examples/mechanisms
 *   build/clang/test/fuzz/fuzz_robot_file -max_total_time=3600 CORPUS examples/mechanisms
 *   build/clang/test/fuzz/fuzz_sdf_file -max_total_time=3600 CORPUS examples/mechanisms
 *   build/clang/test/fuzz/fuzz_osim_file -max_total_time=3600 -max_len=20000 CORPUS test/unit/bodies
 */
#include <cpodes/cpodes_bodies.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_context.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void evaluate(CPBodies b, SUNContext ctx) {
  CPPowers powers = CP_INIT(CPPowers);
  CPModel model   = NULL;
  N_Vector y      = CPBodiesState(b, ctx);
  if (y && CPBodiesBuild(b, &model) == CP_SUCCESS) {
    const CPEquations *e = CPModelGetEquations(model);
    CPMech mech          = CPMechCreate(model, y, ctx);
    sunrealtype *q = N_VGetArrayPointer(y), *f = calloc((size_t)(e->nu + e->na) + 1, sizeof *f);
    if (!f || !mech) abort();
    e->f(0, q, q + e->nq, q + e->nq + e->nu, f, CPMechGetUserData(mech));
    if (e->b) e->b(0, q, q + e->nq, f, CPMechGetUserData(mech));
    CPMechGetPowers(mech, 0, y, NULL, &powers);
    CPMechFree(&mech);
    free(f);
  }
  CPModelFree(&model);
  if (y) N_VDestroy(y);
}

static void readWritten(const char *written) {
  CPBodies b;
  if (strstr(written, " is missing: ")) return; /* Other elements may name those. */
  if (CPBodiesRead("fuzz.yaml", written, strlen(written), &b, NULL) == CP_MEM_FAIL || b) {
    CPBodiesFree(&b);
    return;
  }
  fprintf(stderr, "%s\n%s\n", CPObjectGetLastMessage(NULL), written);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static SUNContext ctx; /* one for all inputs */
  CPBodiesFile file = CP_INIT(CPBodiesFile);
  CPBodies b;
  if (!ctx && SUNContext_Create(SUN_COMM_NULL, &ctx)) abort();
  file.writes     = 1;
  const int flag  = CPBodiesRead(FUZZ_NAME, (const char *)data, size, &b, &file);
  const char *why = CPObjectGetLastMessage(NULL);
  if (flag && (b || !why[0] || strchr(why, '\n'))) abort();
  if (b && CPBodiesCount(b, CP_BODY) < 50) evaluate(b, ctx), readWritten(file.written);
  CPBodiesFree(&b);
  return 0;
}

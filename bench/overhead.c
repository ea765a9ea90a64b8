/* The pendulum, integrated once: what overhead.sh counts the instructions of.
 *
 *   overhead METHOD FORM    METHOD bdf, adams   FORM none, projector, mechanics
 *
 * none: CVODES alone; projector: f, c and G by hand; mechanics: CPMech by M, A and forces, with partial
 * derivatives. Tolerance 1e-8, t = 0 ... 20. Prints steps, attempts, evaluations of f and the error at the end.
 */
#include "check.h"
#include "run.h"
#include <string.h>

static const sunrealtype tolerance = 1.0e-8;

static const struct {
  const char *name;
  Projected by;
} forms[] = {{"none", BY_NOBODY}, {"projector", BY_CPODES}, {"mechanics", BY_MECHANICS}};
enum { NFORMS = sizeof forms / sizeof forms[0] };

static int integrate(const RunOptions *options) {
  SUNContext ctx      = check_context();
  Mechanism *pendulum = mechanism_create("pendulum", ctx);
  const Figures f     = run_timed(pendulum, options, ctx);
  printf("%ld steps, %ld attempts, %ld evaluations of f, error %.1e\n", f.steps,
         f.steps + f.rejected, f.rhs, (double)f.error);
  mechanism_free(&pendulum);
  SUNContext_Free(&ctx);
  return f.flag < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  RunOptions options = {.tol = tolerance};
  int form           = 0;
  if (argc == 3 && !strcmp(argv[1], "bdf")) options.lmm = CV_BDF;
  if (argc == 3 && !strcmp(argv[1], "adams")) options.lmm = CV_ADAMS;
  while (form < NFORMS && argc == 3 && strcmp(argv[2], forms[form].name)) form++;
  if (!options.lmm || form == NFORMS) {
    fprintf(stderr, "usage: overhead bdf|adams none|projector|mechanics\n");
    return EXIT_FAILURE;
  }
  options.by = forms[form].by;
  return integrate(&options);
}

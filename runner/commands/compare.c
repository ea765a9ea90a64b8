#include "../command.h"
#include "../options.h"

static int compare_main(int argc, char **argv) {
  (void)argc;
  complain("%s: not yet", argv[0]);
  return STATUS_USAGE;
}

const Command compare_command = {
    "compare", "runs several methods and tolerances: work and precision", compare_main};

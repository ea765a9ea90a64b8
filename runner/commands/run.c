#include "../command.h"
#include "../options.h"

static int run_main(int argc, char **argv) {
  (void)argc;
  complain("%s: not yet", argv[0]);
  return STATUS_USAGE;
}

const Command run_command = {"run", "runs a model", run_main};

#include "../command.h"
#include "../options.h"

static int list_main(int argc, char **argv) {
  (void)argc;
  complain("%s: not yet", argv[0]);
  return STATUS_USAGE;
}

const Command list_command = {"list", "names the models", list_main};

#include "../command.h"
#include "../options.h"

static int check_main(int argc, char **argv) {
  (void)argc;
  complain("%s: not yet", argv[0]);
  return STATUS_USAGE;
}

const Command check_command = {"check", "tests a model's functions against each other", check_main};

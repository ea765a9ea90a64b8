#include "../command.h"
#include "../options.h"

static int new_main(int argc, char **argv) {
  (void)argc;
  complain("%s: not yet", argv[0]);
  return STATUS_USAGE;
}

const Command new_command = {"new", "writes a project with a model of your own", new_main};

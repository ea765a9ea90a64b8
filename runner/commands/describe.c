#include "../command.h"
#include "../options.h"

static int describe_main(int argc, char **argv) {
  (void)argc;
  complain("%s: not yet", argv[0]);
  return STATUS_USAGE;
}

const Command describe_command = {"describe", "what is known of a model", describe_main};

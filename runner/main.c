/* cpodes: runs mechanisms and shows the result (cpodes.1). */
#include "command.h"
#include "options.h"
#include "plain_locale.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command *const commands[] = {&list_command,    &describe_command, &run_command,
                                          &compare_command, &check_command,    &convert_command,
                                          &new_command};
enum { NUM_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(void) {
  printf("Usage: cpodes COMMAND [OPTION...]\n"
         "Simulates mechanical systems with constraints and shows the results.\n\n");
  for (int i = 0; i < NUM_COMMANDS; i++)
    printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
  printf("\n`cpodes COMMAND --help` and `man cpodes` describe the options.\n");
}

static const Command *find_command(const char *name) {
  const char *names[NUM_COMMANDS];
  char suggestion[SUGGESTION];
  for (int i = 0; i < NUM_COMMANDS; i++) {
    names[i] = commands[i]->name;
    if (!strcmp(name, names[i])) return commands[i];
  }
  complain("there is no command \"%s\"; %s", name,
           suggest(name, names, NUM_COMMANDS, "`cpodes --help` names them all", suggestion));
  return NULL;
}

/* Reopens standard streams that are closed, so that files and pipes do not get their numbers; for
 * reading only, so that writing to them still fails. */
static void open_standard_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != stream) _exit(STATUS_OUTPUT);
}

/* Checks at the end that everything printed has been written. */
static void check_stdout(void) {
  if (!fflush(stdout) && !ferror(stdout)) return;
  complain("stdout could not be written");
  _exit(STATUS_OUTPUT);
}

int main(int argc, char **argv) {
  static char title[40];
  open_standard_streams();
  plain_locale();
  atexit(check_stdout);
  if (argc < 2) return complain("a command is missing; `cpodes --help` names them"), STATUS_USAGE;
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_help();
    return STATUS_DONE;
  }
  if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
    printf("cpodes %s\nParts under the GPL in use: %s\n", CPGetVersion(NULL, NULL, NULL),
           CPODES_GPL ? "CHOLMOD's supernodes" : "none");
    return STATUS_DONE;
  }
  const Command *command = find_command(argv[1]);
  if (!command) return STATUS_USAGE;
  snprintf(title, sizeof title, "cpodes %s", command->name);
  argv[1] = title;
  return command->main(argc - 1, argv + 1);
}

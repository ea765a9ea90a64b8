/* The commands of the program cpodes. Each is one constant table in its file and one line in
 * main.c. */
#ifndef CPODES_RUNNER_COMMAND_H
#define CPODES_RUNNER_COMMAND_H

/* Exit statuses (cpodes.1) */
enum {
  STATUS_DONE        = 0,
  STATUS_FAILED      = 1,  /* an integration failed, or a check found errors */
  STATUS_USAGE       = 2,  /* wrong options, names or values, or a model that cannot be loaded */
  STATUS_OUTPUT      = 3,  /* a file could not be written completely */
  STATUS_CRASHED     = 4,  /* the model ended the run, by a signal or exit() */
  STATUS_WITHOUT     = 5,  /* --strict: the model lacks parts of its file that act on the motion */
  STATUS_INTERRUPTED = 130 /* Ctrl-C */
};

typedef struct {
  const char *name;    /* "run" */
  const char *summary; /* one line for `cpodes --help` */
  /* argv[0] is "cpodes run"; returns the exit status */
  int (*main)(int argc, char **argv);
} Command;

extern const Command list_command;
extern const Command describe_command;
extern const Command run_command;
extern const Command compare_command;
extern const Command check_command;
extern const Command convert_command;
extern const Command new_command;

#endif

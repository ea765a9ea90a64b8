#define _GNU_SOURCE /* MAP_ANONYMOUS, strsignal */
#include "guarded.h"

#include "../command.h"
#include "../simulation/problem.h"
#include "child.h"
#include "interrupts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WALL_CLOCK = 5 }; /* factor on the CPU time, since other programs run as well */

/* Memory that both processes share */
typedef struct {
  /* work has returned: the exit status is that of work, and not of a model that called exit() */
  int ended;
  char doing[GUARDED_TEXT];
} Shared;

static Shared *create_shared(void) {
  void *shared =
      mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? NULL : shared;
}

/* ------------------------------------------------------------------------------------- the child -- */

static void limit_time(long seconds) {
  /* Two seconds after the limit, the process is killed, even if it ignores SIGXCPU. */
  const struct rlimit limit = {(rlim_t)seconds, (rlim_t)seconds + 2};
  if (seconds > 0) setrlimit(RLIMIT_CPU, &limit);
}

static int work_in_child(Shared *shared, long limit,
                         int (*work)(const Guarded *guarded, void *data), void *data) {
  const int to_stdout = dup(STDOUT_FILENO);
  FILE *out           = to_stdout >= 0 ? fdopen(to_stdout, "w") : NULL;
  if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return STATUS_OUTPUT;
  limit_time(limit);
  const int status = work(&(Guarded){out, shared->doing}, data);
  const int failed = ferror(out);
  return fclose(out) || failed ? STATUS_OUTPUT : status;
}

/* ------------------------------------------------------------------------------------ the parent -- */

static int explain(const char *name, const Shared *shared, long limit, int status) {
  const char *during = shared->doing[0] ? ", during: " : "";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return complain("%s: stopped after %ld s of CPU time%s%s", name, limit, during, shared->doing),
           STATUS_FAILED;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
    return STATUS_OUTPUT; /* the reader of our output has closed it */
  char reason[GUARDED_TEXT];
  child_describe(status, reason, sizeof reason);
  complain("%s: %s%s%s", name, reason, during, shared->doing);
  return STATUS_CRASHED;
}

static int wait_for(pid_t child, const char *name, const Shared *shared, long limit) {
  const long wait = WALL_CLOCK * limit; /* for a model that sleeps */
  int status      = 0;
  switch (child_wait(child, (double)wait, &status)) {
  case CHILD_LOST: return STATUS_CRASHED;
  case CHILD_INTERRUPTED: complain("interrupted"); return STATUS_INTERRUPTED;
  case CHILD_OVER_LIMIT:
    complain("%s: stopped after %ld s%s%s", name, wait, shared->doing[0] ? ", during: " : "",
             shared->doing);
    return STATUS_FAILED;
  default: break;
  }
  if (!shared->ended || !WIFEXITED(status)) return explain(name, shared, limit, status);
  if (WEXITSTATUS(status) == STATUS_OUTPUT) complain("stdout could not be written");
  return WEXITSTATUS(status);
}

/* Calls work, which returns the exit status. name: of the model, for the line; limit: seconds of
 * CPU time, and five times that by the clock; 0: none. Returns that status, STATUS_CRASHED if work
 * did not come to its end, STATUS_FAILED if it took too long, STATUS_INTERRUPTED, or STATUS_OUTPUT. */
static int run_guarded(const char *name, long limit,
                       int (*work)(const Guarded *guarded, void *data), void *data) {
  Shared *shared = create_shared();
  catch_interrupts();
  const pid_t child = shared ? child_start() : -1;
  if (child == 0) {
    const int status = work_in_child(shared, limit, work, data);
    fflush(NULL);
    shared->ended = 1;
    _exit(status); /* exit handlers belong to the parent */
  }
  int status = STATUS_FAILED;
  if (child < 0) complain("no process can be started: %s", strerror(errno));
  else status = wait_for(child, name, shared, limit);
  if (shared) munmap(shared, sizeof *shared);
  return status;
}

/* ------------------------------------------------------------------------------------- models -- */

enum { MESSAGE = 400 };

typedef struct {
  const ModelChoice *choice;
  ModelWork work;
  void *data;
} Task;

static int work_with_model(const Guarded *guarded, void *data) {
  const Task *task          = data;
  const ModelChoice *choice = task->choice;
  char message[MESSAGE]     = "";
  SUNContext ctx            = context_create();
  if (!ctx) return complain("SUNDIALS gives no context"), STATUS_FAILED;
  snprintf(guarded->doing, GUARDED_TEXT, "create");
  CPPlugin *model    = CPPluginCreate(choice->type, choice->values, ctx, message, sizeof message);
  guarded->doing[0]  = '\0';
  const int possible = model && model->y0;
  const int status   = possible ? task->work(guarded, model, task->data) : STATUS_USAGE;
  if (!model) complain("%s", message);
  else if (!possible) complain("%s: its create leaves y0 NULL", choice->type->name);
  if (possible) snprintf(guarded->doing, GUARDED_TEXT, "destroy");
  CPPluginFree(&model);
  SUNContext_Free(&ctx);
  return status;
}

int run_with_model(const ModelChoice *choice, long limit, ModelWork work, void *data) {
  Task task = {choice, work, data};
  return run_guarded(choice->type->name, limit, work_with_model, &task);
}

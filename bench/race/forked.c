#define _GNU_SOURCE /* strsignal, clock_getcpuclockid */
#include "forked.h"

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A shorter run is made three times, and the last one counts: by then malloc keeps its memory. */
static const double short_run = 0.2; /* [s] */
enum { RUNS = 3 };
enum { PATIENCE = 5 };    /* the limit on wall-clock time, in multiples of that on CPU time */
enum { LOOK_EVERY = 20 }; /* [ms] */

/* ----------------------------------------------------------------------------------- the child -- */

static void print_to(const char *log) {
  const int file = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0) return;
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  close(file);
}

static int send_bytes(int pipe_end, const void *data, size_t bytes) {
  for (const char *next = data; bytes > 0;) {
    const ssize_t sent = write(pipe_end, next, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return -1;
    next += sent;
    bytes -= (size_t)sent;
  }
  return 0;
}

static void child(const Contestant *contestant, const CPPlugin *model, sunrealtype t_end,
                  sunrealtype tol, int pipe_end, N_Vector y) {
  RaceFigures figures = {.flag = 0};
  contestant->solve(contestant, model, t_end, tol, y, &figures);
  for (int k = 1; k < RUNS && figures.seconds < short_run; k++) {
    figures = (RaceFigures){.flag = 0};
    contestant->solve(contestant, model, t_end, tol, y, &figures);
  }
  const size_t bytes = (size_t)model->n * sizeof(sunrealtype);
  const int flag     = send_bytes(pipe_end, &figures, sizeof figures) ||
                   send_bytes(pipe_end, N_VGetArrayPointer(y), bytes);
  _exit(flag); /* the parent flushes the files that are open here */
}

/* ---------------------------------------------------------------------------------- the parent -- */

static int receive_bytes(int pipe_end, void *data, size_t bytes) {
  for (char *next = data; bytes > 0;) {
    const ssize_t got = read(pipe_end, next, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    next += got;
    bytes -= (size_t)got;
  }
  return 0;
}

static double clock_now(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Waits until there is something to read; false: the child took too long and was killed. A timer in
 * the child would be simpler, but Linux then counts CPU time in ticks of some milliseconds. */
static bool wait_for(pid_t pid, int pipe_end, double limit) {
  clockid_t cpu      = CLOCK_MONOTONIC;
  const double start = clock_now(CLOCK_MONOTONIC);
  const bool known   = !clock_getcpuclockid(pid, &cpu);
  struct pollfd end  = {.fd = pipe_end, .events = POLLIN};
  while (poll(&end, 1, LOOK_EVERY) == 0) {
    const double spent = known ? clock_now(cpu) : 0, passed = clock_now(CLOCK_MONOTONIC) - start;
    if (spent <= limit && passed <= PATIENCE * limit) continue;
    kill(-pid, SIGKILL);
    return false;
  }
  return true;
}

static void explain(int status, bool in_time, double limit, RaceFigures *figures) {
  *figures = (RaceFigures){.t              = NAN,
                           .steps          = -1,
                           .rejected       = -1,
                           .rhs            = -1,
                           .jacobians      = -1,
                           .factorisations = -1,
                           .seconds        = NAN};
  if (!in_time) figures_fail(figures, RACE_TIME_LIMIT, "stopped after %g s", limit);
  else if (WIFSIGNALED(status))
    figures_fail(figures, RACE_CRASHED, "crashed: %s", strsignal(WTERMSIG(status)));
  else figures_fail(figures, RACE_CRASHED, "ended with exit status %d", WEXITSTATUS(status));
}

void run_forked(const Contestant *contestant, const CPPlugin *model, sunrealtype t_end,
                sunrealtype tol, double limit, const char *log, N_Vector y, RaceFigures *figures) {
  const size_t bytes = (size_t)model->n * sizeof(sunrealtype);
  int ends[2], status = 0;
  fflush(NULL); /* otherwise the child would flush it, too */
  const pid_t pid = pipe(ends) ? -1 : fork();
  if (pid < 0) {
    figures_fail(figures, RACE_NO_PROCESS, "cannot start a process: %s", strerror(errno));
    return;
  }
  if (pid == 0) {
    setpgid(0, 0); /* processes that it starts end with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    print_to(log);
    child(contestant, model, t_end, tol, ends[1], y);
  }
  setpgid(pid, pid); /* in both processes, since either may be first */
  close(ends[1]);
  const bool in_time = wait_for(pid, ends[0], limit);
  const bool broken  = receive_bytes(ends[0], figures, sizeof *figures) ||
                      receive_bytes(ends[0], N_VGetArrayPointer(y), bytes);
  close(ends[0]);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  kill(-pid, SIGKILL);
  if (broken) explain(status, in_time, limit, figures);
}

#define _GNU_SOURCE /* kill, nanosleep, strsignal */
#include "child.h"

#include "../clock.h"
#include "interrupts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

pid_t child_start(void) {
  fflush(NULL); /* otherwise the child has a copy of the buffers */
  const pid_t child = fork();
  if (child > 0) setpgid(child, child); /* the child does so, too: either may be first */
  if (child != 0) return child;
  setpgid(0, 0);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  forget_interrupts();
  signal(SIGTTOU, SIG_IGN); /* a process group other than the terminal's may write, too */
  return 0;
}

/* Sleeps briefly at first, since most children end soon. */
static void sleep_longer(long *nanoseconds) {
  nanosleep(&(struct timespec){0, *nanoseconds}, NULL);
  if (*nanoseconds < 20000000) *nanoseconds *= 2;
}

ChildEnd child_wait(pid_t child, double limit, int *status) {
  const double start = clock_seconds(CLOCK_MONOTONIC);
  ChildEnd end       = CHILD_ENDED;
  pid_t ended        = 0;
  *status            = 0;
  for (long pause = 100000; end == CHILD_ENDED; sleep_longer(&pause)) {
    ended = waitpid(child, status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) end = CHILD_LOST;
    else if (was_interrupted()) end = CHILD_INTERRUPTED;
    else if (limit > 0 && clock_seconds(CLOCK_MONOTONIC) - start > limit) end = CHILD_OVER_LIMIT;
  }
  kill(-child, SIGKILL);
  while (ended != child && end != CHILD_LOST && waitpid(child, status, 0) < 0 && errno == EINTR) {}
  return end;
}

void child_describe(int status, char *text, size_t length) {
  if (WIFSIGNALED(status))
    snprintf(text, length, "the model crashed: %s", strsignal(WTERMSIG(status)));
  else
    snprintf(text, length, "the model ended the process, with exit status %d", WEXITSTATUS(status));
}

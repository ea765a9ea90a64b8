#define _GNU_SOURCE /* strsignal, clock_getcpuclockid */
#include "run.h"

#include "../clock.h"
#include "../command.h"
#include "../simulation/simulate.h"
#include "child.h"
#include "wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* LOOK_EVERY is in [ms]. */
enum { LOOK_EVERY = 50, READ_BYTES = 1 << 16 };
/* How long to wait for the error against a reference after the end of a run that has no limit: CPU time, so that other processes do
 * not count, and five times that by the clock, for models that sleep. */
static const double usual_patience = 1, by_the_clock = 5; /* [s], factor */
/* How long to wait for the second run of an estimate, in addition to 20 times the time of the first
 * run, beside the same other processes. */
static const double estimate_patience = 60; /* [s] */

/* ------------------------------------------------------------------------------------- the child -- */

static void run_child(const RunSettings *settings, int file) {
  WireOut wire;
  RunResult result;
  dup2(STDERR_FILENO, STDOUT_FILENO); /* a model's prints do not belong in our output */
  wire_out_create(&wire, file);
  simulate(settings, &wire.listener, &result);
  wire_out_free(&wire);
  fflush(NULL);
  _exit(STATUS_DONE); /* exit handlers belong to the parent */
}

/* ------------------------------------------------------------------------------------ the parent -- */

/* Why listening has ended */
typedef enum { TOLD_ALL, INTERRUPTED, OVER_LIMIT, IMPATIENT, REFUSED } Silence;

typedef struct {
  pid_t pid;
  int file;
  double limit;    /* [s] of CPU time, 0: none */
  double patience; /* [s] for the error against a reference */
  double begun;    /* when the child was started */
  double took;     /* [s] from the start of the child to the result of the run */
  double ended;    /* when the current wait began: at the result, or at its estimate; 0: not yet */
  double spent;    /* [s] of CPU time until then */
  bool estimating;
  int status; /* of the process, once it has ended */
  bool gone;
  WireIn wire;
} Child;

/* The CPU time of the child, or 0 if it has ended */
static double spent_by(const Child *c) {
  clockid_t clock;
  return clock_getcpuclockid(c->pid, &clock) ? 0 : clock_seconds(clock);
}

static bool is_over_limit(const Child *c) {
  return c->limit > 0 && !c->wire.finished && spent_by(c) > c->limit;
}

/* Has the second run, or the reference, taken too long? The second run limits its work itself,
 * unless a function of the model does not return. */
static bool is_impatient(Child *c) {
  const double now = clock_seconds(CLOCK_MONOTONIC);
  if (!c->wire.finished) return false;
  const bool estimating = c->wire.result->estimate.pending;
  if (c->ended == 0) c->took = now - c->begun;
  if (c->ended == 0 || estimating != c->estimating) c->ended = now, c->spent = spent_by(c);
  c->estimating         = estimating;
  const double patience = estimating ? estimate_patience + 20 * c->took : c->patience;
  return spent_by(c) - c->spent > patience || now - c->ended > by_the_clock * patience;
}

/* Has the child ended? Another process that the model has started may keep the pipe open. */
static bool is_gone(Child *c) {
  if (!c->gone) c->gone = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
  return c->gone;
}

static Silence listen_to(Child *c) {
  /* On the stack, since the child would inherit heap memory and never free it. */
  char bytes[READ_BYTES];
  struct pollfd end = {.fd = c->file, .events = POLLIN};
  for (;;) {
    if (was_interrupted()) return INTERRUPTED;
    if (is_over_limit(c)) return OVER_LIMIT;
    if (is_impatient(c)) return IMPATIENT;
    /* before polling, so that everything that the child has sent is read */
    const bool gone = is_gone(c);
    if (poll(&end, 1, gone ? 0 : LOOK_EVERY) <= 0) {
      if (gone) return TOLD_ALL;
      continue; /* no data yet, or a signal */
    }
    const ssize_t got = read(c->file, bytes, READ_BYTES);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return TOLD_ALL;
    if (wire_take(&c->wire, bytes, (size_t)got)) return REFUSED;
  }
}

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
end_with(RunResult *r, RunEnding ending, const char *format, ...) {
  va_list arguments;
  r->ending = ending;
  va_start(arguments, format);
  vsnprintf(r->message, RUN_TEXT, format, arguments);
  va_end(arguments);
}

/* Sets the result of a run that did not send one. */
static void explain(const Child *c, Silence silence, RunResult *r) {
  switch (silence) {
  case REFUSED: end_with(r, RUN_UNWRITTEN, "stopped: its output could not be written"); return;
  case INTERRUPTED: end_with(r, RUN_INTERRUPTED, "interrupted"); return;
  case OVER_LIMIT: end_with(r, RUN_FAILED, "stopped after %g s", c->limit); return;
  default: break;
  }
  r->ending = RUN_CRASHED;
  child_describe(c->status, r->message, RUN_TEXT);
}

/* Explains why the process ended after the result of the run, but before the estimate of its error. */
static void explain_estimate(const Child *c, Silence silence, Estimate *e) {
  e->pending = false;
  if (silence == INTERRUPTED) snprintf(e->message, RUN_TEXT, "interrupted");
  else if (silence == IMPATIENT) snprintf(e->message, RUN_TEXT, "stopped, as it took too long");
  else child_describe(c->status, e->message, RUN_TEXT);
}

static int status_of(const RunResult *r) {
  switch (r->ending) {
  case RUN_DONE: return STATUS_DONE;
  case RUN_CRASHED: return STATUS_CRASHED;
  case RUN_INTERRUPTED: return STATUS_INTERRUPTED;
  case RUN_UNWRITTEN: return STATUS_OUTPUT;
  default: return r->flag == RUN_FLAG_USAGE ? STATUS_USAGE : STATUS_FAILED;
  }
}

/* Counts the records, for a run that can no longer send its counts */
typedef struct {
  Listener listener;
  RunResult *result;
} Tally;

static int tally_sample(Listener *self, const Sample *sample) {
  RunResult *r = ((Tally *)self)->result;
  r->samples++;
  r->t = sample->t;
  return 0;
}

static int tally_step(Listener *self, const Step *step) {
  RunResult *r = ((Tally *)self)->result;
  r->steps++;
  r->t = step->t;
  return 0;
}

static int tally_event(Listener *self, const RunEvent *event) {
  if (event->kind != EVENT_METHOD) ((Tally *)self)->result->events++;
  return 0;
}

static void end_child(Child *c, Silence silence, RunResult *result) {
  if (silence != TOLD_ALL && !c->gone) kill(c->pid, SIGKILL);
  while (!c->gone && waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR) {}
  kill(-c->pid, SIGKILL); /* the processes that it had started */
  close(c->file);
  if (!c->wire.finished || silence == REFUSED) explain(c, silence, result);
  else if (result->estimate.pending) explain_estimate(c, silence, &result->estimate);
  else if (silence == IMPATIENT) result->late = c->patience;
}

static int start_child(const RunSettings *settings, Child *c, RunResult *result) {
  int ends[2];
  const bool piped = !pipe(ends);
  c->pid           = piped ? child_start() : -1;
  if (c->pid < 0) {
    end_with(result, RUN_FAILED, "no process can be started: %s", strerror(errno));
    if (piped) close(ends[0]), close(ends[1]);
    return -1;
  }
  if (c->pid == 0) {
    close(ends[0]);
    run_child(settings, ends[1]);
  }
  close(ends[1]);
  c->file = ends[0];
  return 0;
}

int run_process(const RunSettings *settings, Listener *const *listeners, int count, double limit,
                RunInfo *info, RunResult *result) {
  enum { MOST_LISTENERS = 8 };
  Listener *all[MOST_LISTENERS + 1];
  Tally tally = {{.sample = tally_sample, .step = tally_step, .event = tally_event}, result};
  Child child = {.limit    = limit,
                 .patience = limit > 0 ? limit : usual_patience,
                 .begun    = clock_seconds(CLOCK_MONOTONIC),
                 .wire     = {.listeners = all, .info = info, .result = result}};
  *info       = (RunInfo){.settings = NULL};
  *result     = (RunResult){.rank = -1, .error = NAN};
  for (int i = 0; i < count && i < MOST_LISTENERS; i++) all[child.wire.count++] = listeners[i];
  all[child.wire.count++] = &tally.listener;
  if (!start_child(settings, &child, result)) end_child(&child, listen_to(&child), result);
  for (int i = 0; i < child.wire.begun; i++)
    if (all[i]->end && all[i]->end(all[i], result) && result->ending == RUN_DONE)
      end_with(result, RUN_UNWRITTEN, "its output could not be written");
  wire_in_free(&child.wire);
  return status_of(result);
}

void run_info_free(RunInfo *info) {
  free((void *)(uintptr_t)info->settings);
  free((void *)(uintptr_t)info->kind);
  free((void *)(uintptr_t)info->segment);
  free((void *)(uintptr_t)info->segment_kind);
  free((void *)(uintptr_t)info->shape);
  free((void *)(uintptr_t)info->contact);
  free((void *)(uintptr_t)info->conserved);
  *info = (RunInfo){.settings = NULL};
}

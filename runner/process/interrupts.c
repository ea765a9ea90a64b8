#include "interrupts.h"

#include "../clock.h"
#include "../command.h"

#include <signal.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUM_CAUGHT = sizeof caught / sizeof caught[0] };

/* What a signal handler may access */
static volatile sig_atomic_t interrupted = 0;
static volatile time_t when              = 0;

/* `timeout` and shells send a signal both to the process and to its group, so two at once count as
 * one. */
static void note_interrupt(int number) {
  const time_t now = (time_t)clock_seconds(CLOCK_MONOTONIC);
  (void)number;
  if (interrupted && now > when + 1) _exit(STATUS_INTERRUPTED);
  if (!interrupted) when = now;
  interrupted = 1;
}

/* Was the signal ignored when the program started? Recorded before shared libraries are initialised, since one of them may set
 * handlers: UCX, which the MPI of SUNDIALS 7 uses, sets one for SIGHUP. */
static bool ignored[NUM_CAUGHT];

static void record_ignored(void) {
  struct sigaction action;
  for (int i = 0; i < NUM_CAUGHT; i++)
    ignored[i] = !sigaction(caught[i], NULL, &action) && action.sa_handler == SIG_IGN;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = record_ignored;

/* Signals that are ignored at the start, as SIGHUP by nohup, remain so. */
void catch_interrupts(void) {
  struct sigaction action = {.sa_handler = note_interrupt};
  for (int i = 0; i < NUM_CAUGHT; i++)
    if (ignored[i]) signal(caught[i], SIG_IGN);
    else sigaction(caught[i], &action, NULL);
  signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN);
#endif
}

void forget_interrupts(void) {
  for (int i = 0; i < NUM_CAUGHT; i++)
    if (!ignored[i]) signal(caught[i], SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
}

bool was_interrupted(void) { return interrupted != 0; }

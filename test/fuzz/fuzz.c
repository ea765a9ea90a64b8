/* Random sequences of API calls, each generated and judged by its seed:
 *
 *   fuzz [--seed N] [--count K] [--verbose]
 *
 * Runs the sequences N ... N + K - 1 (default: 1 ... 1000) in separate processes, a batch in each.
 * A sequence that crashes, reports a defect or does not end is listed with its seed, and the
 * campaign continues after it. `fuzz --seed N --verbose` prints the calls of one sequence, in this
 * process, for a debugger. Returns 0 if there was no defect. */
#include "world.h"

#include "unit/support/alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#define LEAKS() __lsan_do_recoverable_leak_check()
#else
#define LEAKS() 0
#endif

enum { BATCH = 250, KINDS = 200, SECONDS = 60, SEEDS_SHOWN = 4 };

/* The report of a batch's process, which survives a crash */
typedef struct {
  uint64_t seed; /* the seed that runs, or is the next one */
  long calls;
  char complaint[1000];
} Shared;
static Shared *shared;
static FILE *captured; /* the output of a batch */

/* ---- the defects found, by kind ---- */

static struct {
  char kind[200], text[700];
  uint64_t seeds[SEEDS_SHOWN];
  long count;
} defects[KINDS];
static int ndefects;
static long total;

static void count_defect(uint64_t seed, const char *kind, const char *text) {
  int k = 0;
  while (k < ndefects && strcmp(defects[k].kind, kind)) k++;
  total++;
  if (k == KINDS) return;
  if (k == ndefects) {
    ndefects++;
    snprintf(defects[k].kind, sizeof defects[k].kind, "%s", kind);
    snprintf(defects[k].text, sizeof defects[k].text, "%s", text);
    printf("seed %llu: %s\n    %s\n", (unsigned long long)seed, kind, text);
    fflush(stdout);
  }
  if (defects[k].count < SEEDS_SHOWN) defects[k].seeds[defects[k].count] = seed;
  defects[k].count++;
}

static void report(void) {
  for (int k = 0; k < ndefects; k++) {
    printf("%6ld x %s; seeds", defects[k].count, defects[k].kind);
    for (int i = 0; i < SEEDS_SHOWN && i < defects[k].count; i++)
      printf(" %llu", (unsigned long long)defects[k].seeds[i]);
    printf("\n         %s\n", defects[k].text);
  }
}

/* ---- batches ---- */

static int capture(void) {
  const int fd = fileno(captured);
  return dup2(fd, STDOUT_FILENO) < 0 ? -1 : dup2(fd, STDERR_FILENO);
}

/* A sequence has a limit of CPU time, so that the load of the machine does not matter. */
static void run_batch(uint64_t end) {
  const struct itimerval limit = {.it_value.tv_sec = SECONDS};
  if (capture() < 0) _exit(4);
  complaints_to(shared->complaint, sizeof shared->complaint, fileno(captured));
  for (; shared->seed < end; shared->seed++) {
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    shared->calls += sequence_run(shared->seed, NULL);
  }
  _exit(LEAKS() ? 5 : 0);
}

/* Summarises a sanitizer's output: the fault without numbers, and its first place in one of our
 * sources. */
static void sanitizer_summary(char *kind, size_t size) {
  char line[1000], what[80] = "", place[100] = "";
  rewind(captured);
  while (fgets(line, sizeof line, captured)) {
    const char *error = strstr(line, "ERROR: "), *undefined = strstr(line, "runtime error: "),
               *file = strstr(line, "/cpodes/") ? strstr(line, "/cpodes/")
                                                : strstr(line, "/test/fuzz/");
    if (!what[0] && undefined) snprintf(what, sizeof what, "%.70s", undefined);
    else if (!what[0] && error)
      snprintf(what, sizeof what, "%.*s", (int)strcspn(error, "(0"), error);
    if (!place[0] && what[0] && file) snprintf(place, sizeof place, "%.90s", file);
  }
  what[strcspn(what, "\n")]    = '\0';
  place[strcspn(place, " \n")] = '\0';
  if (what[0]) snprintf(kind, size, "%s at %s", what, place);
}

static void diagnose(int status, const char *seeds) {
  char kind[200] = "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
    char *text = strchr(shared->complaint, '\n');
    if (text) *text++ = '\0';
    count_defect(shared->seed, shared->complaint, text ? text : "");
    return;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 4) {
    fprintf(stderr, "fuzz: no memory for the sequences themselves\n");
    exit(2);
  }
  sanitizer_summary(kind, sizeof kind);
  if (kind[0]) count_defect(shared->seed, kind, seeds);
  else if (WIFSIGNALED(status)) {
    snprintf(kind, sizeof kind, "%s",
             WTERMSIG(status) == SIGVTALRM ? "no end" : strsignal(WTERMSIG(status)));
    count_defect(shared->seed, kind, seeds);
  } else count_defect(shared->seed, "unexpected exit", seeds);
}

/* Runs first ... end - 1. A leak is detected only at the end of a batch, whose sequences are then
 * run one by one. */
static void run(uint64_t first, uint64_t end, uint64_t batch) {
  for (uint64_t next = first; next < end;) {
    const uint64_t stop = next + batch < end ? next + batch : end;
    int status          = 0;
    shared->seed        = next;
    if (ftruncate(fileno(captured), 0) || fseek(captured, 0, SEEK_SET)) exit(2);
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) exit(2);
    if (child == 0) run_batch(stop);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) next = stop;
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 5 && stop - next > 1) {
      run(next, stop, 1);
      next = stop;
    } else {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 5) shared->seed = next;
      diagnose(status, "");
      next = shared->seed + 1;
    }
  }
}

/* Prints the calls on stdout; a sanitizer still reports on stderr. */
static int run_verbosely(uint64_t seed) {
  FILE *out     = fdopen(dup(STDOUT_FILENO), "w");
  const int err = dup(STDERR_FILENO);
  captured      = tmpfile();
  if (!out || err < 0 || !captured || capture() < 0) return 2;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_report_fd((void *)(intptr_t)err);
#endif
  complaints_to(NULL, 0, fileno(captured));
  const int calls = sequence_run(seed, out);
  fprintf(out, "%d calls, %s\n", calls, LEAKS() ? "a leak" : "no defect");
  fclose(out);
  return 0;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000;
  int verbose = 0;
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--verbose")) verbose = 1;
    else if (!strcmp(argv[i], "--seed") && i + 1 < argc) seed = strtoull(argv[++i], NULL, 10);
    else if (!strcmp(argv[i], "--count") && i + 1 < argc) count = strtoull(argv[++i], NULL, 10);
    else {
      fprintf(stderr, "usage: fuzz [--seed N] [--count K] [--verbose]\n");
      return 2;
    }
  alloc_count_cvodes(0); /* the judge reads their messages */
  if (verbose) return run_verbosely(seed);
  shared   = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  captured = tmpfile();
  if (shared == MAP_FAILED || !captured) return 2;
  const double start = now();
  run(seed, seed + count, BATCH);
  const double seconds = now() - start;
  report();
  printf("%llu sequences, %ld calls, %ld defects of %d kinds, %.1f s (%.2f s per 1000)\n",
         (unsigned long long)count, shared->calls, total, ndefects, seconds,
         1000.0 * seconds / (double)count);
  return total > 0;
}

/* A bar on a terminal:  [=========>          ]  45 %  t = 4.5  12300 steps/s  3 s left */
#include "writers.h"

#include "../options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_BAR = 10, MOST_BAR = 40, REST = 50 }; /* columns */
static const double refresh = 0.1;                 /* [s] */

typedef struct {
  Listener listener;
  const RunInfo *info;
  double start, shown; /* [s] on a clock */
  long steps, samples;
  int is_shown;
} Progress;

static double clock_now(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int bar_width(void) {
  struct winsize size;
  const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0 ? 80 : size.ws_col;
  const int width   = columns - REST;
  return width < LEAST_BAR ? LEAST_BAR : width > MOST_BAR ? MOST_BAR : width;
}

/* "3 s", "2 min 5 s", "1 h 12 min" */
static void describe_time(double seconds, char *text, size_t length) {
  const long s = (long)(seconds + 0.5);
  if (s < 60) snprintf(text, length, "%ld s", s);
  else if (s < 3600) snprintf(text, length, "%ld min %ld s", s / 60, s % 60);
  else snprintf(text, length, "%ld h %ld min", s / 3600, s / 60 % 60);
}

static void show(Progress *p, double t) {
  const double now = clock_now(), spent = now - p->start, end = p->info->settings->t_end;
  if (now - p->shown < refresh) return;
  p->shown          = now;
  p->is_shown       = 1;
  const double part = t / end;
  const int width = bar_width(), full = (int)(part * width);
  char bar[MOST_BAR + 1], left[40]    = "?";
  for (int i = 0; i < width; i++) bar[i] = i < full ? '=' : i == full ? '>' : ' ';
  bar[width] = '\0';
  if (part > 0) describe_time(spent * (1 - part) / part, left, sizeof left);
  fprintf(stderr, "\r[%s] %3d %%  t = %-8.4g %.3g %s/s  %s left\033[K", bar, (int)(100 * part), t,
          (double)(p->steps ? p->steps : p->samples) / spent, p->steps ? "steps" : "outputs", left);
  fflush(stderr);
}

static int begin(Listener *self, const RunInfo *info) {
  Progress *p = (Progress *)self;
  p->info     = info;
  p->start = p->shown = clock_now();
  return 0;
}

static int sample(Listener *self, const Sample *s) {
  Progress *p = (Progress *)self;
  p->samples++;
  show(p, s->t);
  return 0;
}

static int step(Listener *self, const Step *s) {
  Progress *p = (Progress *)self;
  p->steps++;
  show(p, s->t);
  return 0;
}

static int end(Listener *self, const RunResult *result) {
  (void)result;
  if (((Progress *)self)->is_shown) fputs("\r\033[K", stderr);
  return 0;
}

Listener *progress_create(void) {
  Progress *p = calloc(1, sizeof *p);
  if (!p) {
    complain("no memory for the progress bar");
    return NULL;
  }
  if (isatty(STDERR_FILENO))
    p->listener = (Listener){.begin = begin, .sample = sample, .step = step, .end = end};
  return &p->listener;
}

void progress_free(Listener *listener) { free(listener); }

/* A bar on a terminal:  [=========>          ]  45 %  t = 4.5  12300 steps/s  3 s left */
#include "writers.h"

#include "../clock.h"
#include "../options.h"

#include <stdlib.h>
#include <sys/ioctl.h>
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

/* Returns 0 if the terminal is too narrow for a bar. */
static int bar_width(void) {
  struct winsize size;
  const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0 ? 80 : size.ws_col;
  const int width   = columns - REST;
  return width < LEAST_BAR ? 0 : width > MOST_BAR ? MOST_BAR : width;
}

/* "3 s", "2 min 5 s", "1 h 12 min"; nobody waits longer than some days. */
static void describe_time(double seconds, char *text, size_t length) {
  enum { MOST_DAYS = 100, DAY = 86400 };
  const long s = seconds < MOST_DAYS * DAY ? (long)(seconds + 0.5) : 0;
  if (!(seconds < MOST_DAYS * DAY)) snprintf(text, length, "more than %d days", MOST_DAYS);
  else if (s < 60) snprintf(text, length, "%ld s", s);
  else if (s < 3600) snprintf(text, length, "%ld min %ld s", s / 60, s % 60);
  else snprintf(text, length, "%ld h %ld min", s / 3600, s / 60 % 60);
}

static void show_bar(int width, double part) {
  const int full = (int)(part * width);
  char bar[MOST_BAR + 1];
  for (int i = 0; i < width; i++) bar[i] = i < full ? '=' : i == full ? '>' : ' ';
  bar[width] = '\0';
  fprintf(stderr, "[%s] ", bar);
}

static void show(Progress *p, double t) {
  const double now = clock_seconds(CLOCK_MONOTONIC), spent = now - p->start;
  const double part = t / p->info->settings->t_end;
  const int width   = bar_width();
  char left[40]     = "?";
  if (now - p->shown < refresh) return;
  p->shown    = now;
  p->is_shown = 1;
  if (part > 0) describe_time(spent * (1 - part) / part, left, sizeof left);
  fputc('\r', stderr);
  if (width > 0) show_bar(width, part);
  fprintf(stderr, "%3d %%", (int)(100 * part));
  if (width > 0)
    fprintf(stderr, "  t = %-8.4g %.3g %s/s", t, (double)(p->steps ? p->steps : p->samples) / spent,
            p->steps ? "steps" : "outputs");
  fprintf(stderr, "  %s left\033[K", left);
  fflush(stderr);
}

static int begin(Listener *self, const RunInfo *info) {
  Progress *p = (Progress *)self;
  p->info     = info;
  p->start = p->shown = clock_seconds(CLOCK_MONOTONIC);
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
  if (!p) return complain("no memory for the progress bar"), NULL;
  if (isatty(STDERR_FILENO))
    p->listener = (Listener){.begin = begin, .sample = sample, .step = step, .end = end};
  return &p->listener;
}

void progress_free(Listener *listener) { free(listener); }

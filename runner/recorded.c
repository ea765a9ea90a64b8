/* The series follow the line "TimeSeries": first the times, then six or eighteen lines for each part, joint, contact and motion. The first
 * column, "Input", is the state before the assembly. */
#include "recorded.h"

#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *next_line(const char *line) {
  const char *end = strchr(line, '\n');
  return end ? end + 1 : line + strlen(line);
}

/* Is the word in this line? */
static int has(const char *line, const char *word) {
  const char *at = strstr(line, word);
  return at && at < next_line(line);
}

static int begins(const char *line, const char *word) { return !strncmp(line, word, strlen(word)); }

/* Reads numbers after the first column, and skips another one. Returns their number, up to `most`; x: NULL, or [most]. */
static int numbers_of(const char *line, int most, double *x) {
  const char *end = next_line(line);
  int n           = -2;
  while (line < end && n < most) {
    const size_t length = strcspn(line, "\t\r\n");
    if (n >= 0 && length > 0) {
      char *stop;
      const double value = strtod(line, &stop);
      if (stop == line || !isfinite(value)) return -1;
      if (x) x[n] = value;
    }
    n += length > 0;
    line += length + 1;
  }
  return n;
}

/* Writes the name of the quantity: the last part of the path, with "_" for blanks and dots, as the reader names elements. */
static void name_quantity(const char *line, const char *quantity, char *of) {
  const size_t length = strcspn(line, "\r\n");
  size_t from         = length;
  while (from > 0 && line[from - 1] != '/') from--;
  int n = snprintf(of, 256, "%.*s", (int)(length - from < 90 ? length - from : 90), line + from);
  for (char *c = of; *c; c++)
    if (*c == ' ' || *c == '.') *c = '_';
  snprintf(of + n, 256 - (size_t)n, ".%s", quantity);
}

/* Do x(t+h) - 2 x(t) + x(t-h) and h^2 x'', with the accelerations in the lines AX, AY, AZ of the series, differ by more than half of
 * the sum of their lengths, over all times? Steps that resolve a motion leave a few percent. x [3 n]; line: behind those of x. Returns 1, 0
 * also without accelerations, or -1 if out of memory. */
static int contradicts(const char *line, int n, double h, const double *x) {
  static const char *const of[] = {"AX\t", "AY\t", "AZ\t"};
  double *a = calloc(3 * (size_t)n, sizeof *a), both = 0, apart = 0;
  int found = 0;
  if (!a) return -1;
  for (; *line && !has(line, "Series"); line = next_line(line)) /* up to the next one */
    for (int i = 0; i < 3; i++)
      if (begins(line, of[i])) found += numbers_of(line, n, a + (size_t)i * (size_t)n) == n;
  for (int k = 1; k + 1 < n && found == 3; k++) {
    /* squares: of the positions, of the accelerations, of what is between them */
    double difference[3] = {0};
    for (int i = 0; i < 3; i++) {
      const double *own = x + i * n + k, d = own[1] - 2 * own[0] + own[-1],
                   of_a = h * h * a[i * n + k];
      difference[0] += d * d, difference[1] += of_a * of_a, difference[2] += (d - of_a) * (d - of_a);
    }
    both += sqrt(difference[0]) + sqrt(difference[1]);
    apart += sqrt(difference[2]);
  }
  free(a);
  return apart > both / 2;
}

int recorded_read(const char *path, const char *text, Recorded *r) {
  const char *line = strstr(text, "\nTimeSeries");
  while (line && *line && !begins(line, "Time\t")) line = next_line(line);
  r->n = line && *line ? numbers_of(line, 1000000, NULL) : 0;
  if (r->n < 2) return complain("--reference: %s has no recorded motion", path);
  r->t = calloc((size_t)r->n, sizeof *r->t);
  if (!r->t) return complain("no memory");
  numbers_of(line, r->n, r->t);
  const double end = r->t[r->n - 1];
  for (int k = 0; k < r->n; k++)
    if (!(fabs(r->t[k] - end * k / (r->n - 1)) <= 1e-9 * end))
      return complain("--reference: the recorded times of %s are not equally spaced from 0 on",
                      path);
  for (; *line; line = next_line(line)) {
    const int is_part = begins(line, "PartSeries");
    if (!is_part && !has(line, "JointSeries") && !has(line, "ContactSeries")) continue;
    Series *more = realloc(r->series, (size_t)(r->count + 1) * sizeof *more);
    if (more) r->series = more;
    double *x = more ? calloc(3 * (size_t)r->n, sizeof *x) : NULL;
    if (!x) return complain("no memory");
    Series *own = &r->series[r->count++];
    *own = (Series){.sign = is_part ? 1 : -1, .x = x}; /* forces are those on the first part */
    name_quantity(line, is_part ? "position" : "force", own->of);
    for (int k = 0; k < 3; k++) {
      /* The names of lines are one column, as the path is. */
      line = next_line(line);
      if (numbers_of(line, r->n, x + (size_t)k * (size_t)r->n) != r->n)
        return complain("--reference: %s: %s has not %d recorded numbers", path, own->of, r->n);
    }
    own->contradicts = is_part ? contradicts(next_line(line), r->n, end / (r->n - 1), x) : 0;
    if (own->contradicts < 0) return complain("no memory");
  }
  return 0;
}

double recorded_distance(const Recorded *r, const Series *series, double t, const double *x) {
  const double end = r->t[r->n - 1];
  const int k      = (int)fmin(fmax(round(t / end * (r->n - 1)), 0), r->n - 1);
  double sum       = 0;
  for (int i = 0; i < 3; i++) sum += pow(x[i] - series->sign * series->x[i * r->n + k], 2);
  return fabs(t - r->t[k]) <= 1e-9 * end ? sqrt(sum) : NAN;
}

double recorded_size(const Recorded *r, const Series *series) {
  double most = 0;
  for (int k = 0; k < r->n; k++) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += pow(series->x[i * r->n + k], 2);
    most = fmax(most, sqrt(sum));
  }
  return most;
}

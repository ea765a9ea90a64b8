/* Writes the trajectory as a table, one row per sample, so that memory does not grow with the run. A file
 * appears under its name when it is complete. */
#include "../clock.h"
#include "../options.h"
#include "files.h"
#include "writers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CSV_FLUSH = 1 << 16, NUMBER = 32 };

typedef struct {
  Listener listener;
  char path[PATH_LENGTH], temporary[TEMPORARY_LENGTH];
  FILE *out; /* its buffer is not used */
  int file;  /* of `out`, or -1 */
  int failed;
  const RunInfo *info;
  char *text; /* complete rows that are not written yet */
  size_t used, size;
  /* Offset of the table in the file, since stdout may have had content before; -1: the file cannot
   * be truncated. */
  off_t start;
  off_t written;  /* bytes of complete rows after it */
  double flushed; /* time of the latest flush, [s] on a clock */
  long rows;      /* in the file */
} Csv;

/* ------------------------------------------------------------------------------------- writing -- */

/* Truncates what is written to directly after its last complete row. */
static void cut(Csv *c, size_t sent, int reason) {
  c->failed = 1;
  if (c->temporary[0]) {
    complain("%s was not written: %s", c->path, strerror(reason));
    return;
  }
  size_t complete = sent;
  while (complete > 0 && c->text[complete - 1] != '\n') complete--;
  for (size_t i = 0; i < complete; i++) c->rows += c->text[i] == '\n';
  c->written += (off_t)complete;
  const int is_cut = c->start >= 0 && !ftruncate(c->file, c->start + c->written);
  complain("%s: %s; it %s its row %ld", is_stdout(c->path) ? "stdout" : c->path, strerror(reason),
           is_cut ? "ends with" : "got as far as", c->rows > 0 ? c->rows - 1 : 0);
}

static int flush_rows(Csv *c) {
  size_t sent = 0;
  while (sent < c->used) {
    const ssize_t bytes = write(c->file, c->text + sent, c->used - sent);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) {
      cut(c, sent, errno);
      c->used = 0;
      return -1;
    }
    sent += (size_t)bytes;
  }
  for (size_t i = 0; i < c->used; i++) c->rows += c->text[i] == '\n';
  c->written += (off_t)c->used;
  c->used = 0;
  return 0;
}

/* Makes room for more bytes. Returns 0 or -1. */
static int reserve(Csv *c, size_t bytes) {
  if (c->used + bytes <= c->size) return 0;
  const size_t size = c->used + bytes + CSV_FLUSH;
  char *larger      = realloc(c->text, size);
  if (!larger) return c->failed = 1, complain("%s: no memory for a row", c->path);
  c->text = larger;
  c->size = size;
  return 0;
}

static int put(Csv *c, const char *text) {
  const size_t length = strlen(text); /* names of models may be of any length */
  if (reserve(c, length)) return -1;
  memcpy(c->text + c->used, text, length);
  c->used += length;
  return 0;
}

/* Uses 17 digits, so that the number reads back exactly. */
static int put_number(Csv *c, double number) {
  if (reserve(c, NUMBER)) return -1;
  c->used += (size_t)snprintf(c->text + c->used, NUMBER, "%.17g", number);
  return 0;
}

static int put_numbers(Csv *c, const double *numbers, long count) {
  for (long i = 0; i < count; i++)
    if (put(c, ",") || put_number(c, numbers[i])) return -1;
  return 0;
}

/* Flushes each second, for those who follow the file. */
static int end_row(Csv *c) {
  const double now = clock_seconds(CLOCK_MONOTONIC);
  if (put(c, "\n")) return -1;
  if (c->used < CSV_FLUSH && now - c->flushed < 1) return 0;
  c->flushed = now;
  return flush_rows(c);
}

/* Returns the offset of the next byte. */
static off_t place_in(int file) {
  struct stat status;
  const int flags = fcntl(file, F_GETFL);
  if (fstat(file, &status) || !S_ISREG(status.st_mode) || flags < 0) return -1;
  return flags & O_APPEND ? status.st_size : lseek(file, 0, SEEK_CUR);
}

/* ---------------------------------------------------------------------------------- the listener -- */

/* Writes a name as a field, quoted if it contains commas, quotes or ends of lines. */
static int put_name(Csv *c, const char *name) {
  if (!strpbrk(name, ",\"\r\n")) return put(c, ",") || put(c, name) ? -1 : 0;
  int failed = put(c, ",\"");
  for (; *name && !failed; name++)
    failed = put(c, *name == '"' ? "\"\"" : (const char[]){*name, '\0'});
  return failed || put(c, "\"") ? -1 : 0;
}

static int put_names(Csv *c, NameOf *name_of, long count) {
  char name[NUMBER + RUN_TEXT];
  int failed = 0;
  for (long i = 0; i < count && !failed; i++) {
    name_of(c->info, i, name, sizeof name);
    failed = put_name(c, name);
  }
  return failed;
}

static int write_header(Csv *c) {
  const RunInfo *info      = c->info;
  const CPPluginType *type = info->settings->model.type;
  char name[NUMBER];
  int failed = put(c, "t") || put_names(c, component_name, info->n);
  for (int i = 0; i < info->nquantities && !failed; i++)
    failed = put_name(c, type->quantities[i].name);
  for (int i = 0; i < NUM_LEVELS && !failed; i++) {
    snprintf(name, sizeof name, "%s violation", level_name(i));
    if (level_exists(info, i)) failed = put_name(c, name);
  }
  return failed || put_names(c, multiplier_name, info->nlambda) ||
                 put_names(c, gap_name, info->ncontacts) ||
                 put_names(c, contact_phase_name, info->ncontacts) || end_row(c)
             ? -1
             : 0;
}

static int begin(Listener *self, const RunInfo *info) {
  Csv *c  = (Csv *)self;
  c->info = info;
  c->out  = whole_file_open(c->path, c->temporary);
  if (!c->out) return -1;
  c->file  = fileno(c->out);
  c->start = place_in(c->file);
  /* The header is written at once, so that a full disk is noticed before the run. */
  return write_header(c) || flush_rows(c) ? -1 : 0;
}

static int sample(Listener *self, const Sample *s) {
  Csv *c              = (Csv *)self;
  const RunInfo *info = c->info;
  if (put_number(c, s->t) || put_numbers(c, s->y, info->n) ||
      put_numbers(c, s->quantity, info->nquantities))
    return -1;
  for (int i = 0; i < NUM_LEVELS; i++)
    if (level_exists(info, i) && put_numbers(c, &s->violation[i], 1)) return -1;
  return put_numbers(c, s->lambda, info->nlambda) || put_numbers(c, s->gap, info->ncontacts) ||
                 put_numbers(c, s->phase, info->ncontacts) || end_row(c)
             ? -1
             : 0;
}

static int end(Listener *self, const RunResult *result) {
  Csv *c    = (Csv *)self;
  FILE *out = c->out;
  (void)result;
  c->out = NULL;
  if (!out) return -1;
  if (!c->failed && !flush_rows(c)) return whole_file_close(out, c->temporary, c->path);
  whole_file_discard(out, c->temporary);
  return -1;
}

Listener *csv_create(const char *path) {
  Csv *c = calloc(1, sizeof *c);
  if (!c || strlen(path) >= sizeof c->path) {
    complain("%s: %s", path, c ? "the path is too long" : "no memory");
    free(c);
    return NULL;
  }
  c->listener = (Listener){.begin = begin, .sample = sample, .end = end};
  c->file     = -1;
  strcpy(c->path, path);
  return &c->listener;
}

void csv_free(Listener *listener) {
  Csv *c = (Csv *)listener;
  if (!c) return;
  if (c->out) whole_file_discard(c->out, c->temporary);
  free(c->text);
  free(c);
}

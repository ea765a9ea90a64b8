#define _GNU_SOURCE /* open_memstream */
#include "gnuplot.h"

#include "../options.h"
#include "../output/files.h"
#include "../output/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_PROGRAM = 127, LINE = 300 };

/* -------------------------------------------------------------------------------------- running -- */

/* Reads gnuplot's output through a pipe, since gnuplot would not notice a full disk. */
static void copy_all(int from, FILE *to) {
  char block[1 << 14];
  for (;;) {
    const ssize_t got = read(from, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    fwrite(block, 1, (size_t)got, to); /* the caller checks ferror */
  }
}

/* Returns the exit status of `gnuplot argument`, or -1 after a signal or without a process. */
static int run(const char *argument, FILE *in, FILE *out, FILE *errors) {
  int ends[2], status = 0;
  fflush(NULL); /* otherwise the child has a copy of the buffers */
  if (pipe(ends)) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    if (dup2(fileno(in), STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0 &&
        dup2(fileno(errors), STDERR_FILENO) >= 0) {
      close(ends[0]);
      close(ends[1]);
      execlp("gnuplot", "gnuplot", argument, (char *)NULL);
    }
    _exit(NO_PROGRAM);
  }
  close(ends[1]);
  if (pid > 0) copy_all(ends[0], out);
  close(ends[0]);
  if (pid < 0) return -1;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool gnuplot_exists(void) {
  FILE *none        = fopen("/dev/null", "r+");
  const bool exists = none && run("--version", none, none, none) == 0;
  if (none) fclose(none);
  return exists;
}

/* gnuplot repeats the command, points at the place, and then gives the error: takes the last line
 * that has text. */
static void read_reason(FILE *errors, char *reason, size_t length) {
  char line[LINE];
  snprintf(reason, length, "no reason given");
  rewind(errors);
  while (fgets(line, sizeof line, errors)) {
    line[strcspn(line, "\n")] = '\0';
    const char *text          = line + strspn(line, " \t");
    if (*text && !strstr(text, "Warning")) snprintf(reason, length, "%s", text);
  }
}

int gnuplot_run(FILE *script, FILE *out, const char *what) {
  char reason[LINE] = "there is no temporary file";
  FILE *errors      = tmpfile();
  int status        = -1;
  if (errors && !fflush(script) && !ferror(script)) {
    rewind(script);
    status = run("-d", script, out, errors); /* -d: ignores ~/.gnuplot */
    if (status) read_reason(errors, reason, sizeof reason);
  }
  if (errors) fclose(errors);
  if (status == NO_PROGRAM)
    complain("%s needs gnuplot, which is not there; on Debian: apt install gnuplot-nox", what);
  else if (status) complain("%s: gnuplot failed: %s", what, reason);
  return status ? -1 : 0;
}

char *gnuplot_text(FILE *script, const char *what, size_t *length) {
  char *text = NULL;
  FILE *out  = open_memstream(&text, length);
  if (!out) return complain("%s: there is no memory for a figure", what), NULL;
  const int flag = gnuplot_run(script, out, what);
  if (!fclose(out) && !flag) return text;
  free(text);
  return NULL;
}

/* gnuplot leaves ">" as it is, and XML has no "]]>" in its texts. */
static void write_image(FILE *file, const char *text, size_t length, bool is_svg) {
  static const char end[] = "]]>";
  for (const char *at; is_svg && (at = strstr(text, end));) {
    fwrite(text, 1, (size_t)(at - text), file);
    fputs("]]&gt;", file);
    length -= (size_t)(at - text) + sizeof end - 1;
    text = at + sizeof end - 1;
  }
  fwrite(text, 1, length, file); /* whole_file_close checks for errors */
}

int gnuplot_write(FILE *script, const char *path) {
  char temporary[TEMPORARY_LENGTH];
  size_t length;
  char *text = gnuplot_text(script, path, &length);
  FILE *file = text ? whole_file_open(path, temporary) : NULL;
  if (file) write_image(file, text, length, has_end(path, ".svg"));
  free(text);
  return file ? whole_file_close(file, temporary, path) : -1;
}

/* -------------------------------------------------------------------------------------- scripts -- */

/* Returns the number of bytes of the UTF-8 character at s, or 0 if there is none. */
static int character(const unsigned char *s) {
  const int bytes = s[0] < 0x80                   ? 1
                    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                    : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                  : 0;
  for (int i = 1; i < bytes; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return bytes;
}

static void write_string(FILE *script, const char *text, bool is_format) {
  fputc('\'', script);
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    const int bytes = character(s);
    if (bytes == 0 || *s < ' ' || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0)) fputc('?', script);
    else if (*s == '\'') fputs("'.\"'\".'", script); /* "''" fails at the beginning of a string */
    else if (*s == '%' && is_format) fputs("%%", script);
    else fwrite(s, 1, (size_t)bytes, script);
    s += bytes ? bytes : 1;
  }
  fputc('\'', script);
}

void gnuplot_string(FILE *script, const char *text) { write_string(script, text, false); }

void gnuplot_tic(FILE *script, const char *text) { write_string(script, text, true); }

void gnuplot_number(FILE *script, double value) {
  if (isfinite(value)) fprintf(script, " %.8g", value);
  else fputs(" NaN", script);
}

/* --------------------------------------------------------------------------------------- styles -- */

enum { STYLES = RUN_CURVES };

/* Colours that are dark enough for thin lines on white. */
static const char *const colours[STYLES] = {"#0072b2", "#d55e00", "#009e73", "#b5489a",
                                            "#3a9fd6", "#a87a00", "#222222", "#7f3c8d"};
static const char *const dashes[STYLES]  = {"solid",  "(12,4)", "(3,3)", "(12,4,3,4)",
                                            "(24,5)", "(6,4)",  "(2,6)", "(16,4,2,4,2,4)"};
static const int points[STYLES]          = {7, 4, 9, 6, 5, 8, 13, 12};

const char *gnuplot_colour(int i) { return colours[i % STYLES]; }
const char *gnuplot_dashes(int i) { return dashes[i % STYLES]; }
int gnuplot_point(int i) { return points[i % STYLES]; }

/* ---------------------------------------------------------------------------------------- files -- */

const char *gnuplot_terminal(const char *path) {
  return has_end(path, ".svg")   ? "svg"
         : has_end(path, ".png") ? "pngcairo"
         : has_end(path, ".pdf") ? "pdfcairo"
                                 : NULL;
}

void gnuplot_set_terminal(FILE *script, const char *path, int width, int height) {
  const char *terminal = gnuplot_terminal(path);
  fprintf(script, "set encoding utf8\n");
  if (!strcmp(terminal, "svg"))
    fprintf(script,
            "set terminal svg noenhanced size %d,%d font 'Helvetica,14' background '#ffffff'\n",
            width, height);
  else if (!strcmp(terminal, "pngcairo"))
    fprintf(script,
            "set terminal pngcairo noenhanced size %d,%d font 'Sans,15' background '#ffffff' "
            "linewidth 1.4 pointscale 1.7\n",
            width * 3 / 2, height * 3 / 2);
  else
    fprintf(script, "set terminal pdfcairo noenhanced size %.3f,%.3f font 'Sans,10' linewidth 0.8\n",
            width / 96., height / 96.); /* in inches */
}

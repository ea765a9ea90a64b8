/* cpodes check MODEL: checks the model's functions against each other, by model_check_all. */
#define _POSIX_C_SOURCE 200809L /* ftruncate, dup2 */
#include "../command.h"
#include "../process/guarded.h"
#include "../redirect.h"

#include <errno.h>
#include <math.h>
#include <models/model.h>
#include <string.h>
#include <unistd.h>

enum { KEY_LIMIT = 1000, LIMIT = 100, MOST_SECONDS = 1000000, WIDTH = 34, LIST = 800, SAID = 2000 };

static const struct argp_option options[] = {
    MODEL_PARAM_OPTION(0),
    {"time-limit", KEY_LIMIT, "SECONDS", 0,
     "limit of CPU time, default 100, and 5 times as much of elapsed time; 0: none", 0},
    {0}};

typedef struct {
  ModelArguments arguments;
  long limit;
} CheckOptions;

static error_t parse(int key, char *text, struct argp_state *state) {
  CheckOptions *o = state->input;
  if (key == KEY_LIMIT)
    return parse_whole("--time-limit", text, 0, MOST_SECONDS, &o->limit) ? EINVAL : 0;
  return take_model_arguments(&o->arguments, key, text);
}

/* ------------------------------------------------------------------- messages in the meantime -- */

/* Catches stderr while a part is checked, since a library's message gives the reason of a finding. */
typedef struct {
  FILE *file; /* shared by both processes, so that it survives a crash of the model */
  int saved;  /* the true stderr; -1: stderr is not caught */
} Catch;

static void catch_begin(Catch *c) { c->saved = stderr_redirect(c->file ? fileno(c->file) : -1); }

static void catch_end(Catch *c) {
  stderr_restore(c->saved);
  c->saved = -1;
}

/* text [SAID]: out, what was caught; the file is empty afterwards. */
static void catch_take(Catch *c, char *text) {
  const int file = c->file ? fileno(c->file) : -1;
  text[0]        = '\0';
  if (file < 0 || lseek(file, 0, SEEK_SET) < 0) return;
  const ssize_t length          = read(file, text, SAID - 1);
  text[length > 0 ? length : 0] = '\0';
  if (ftruncate(file, 0) || lseek(file, 0, SEEK_SET) < 0) c->file = NULL;
}

/* ---------------------------------------------------------------------------------- the findings -- */

typedef struct {
  const Guarded *guarded;
  Catch said;
  int looked;
  char absent[LIST], wrong[LIST]; /* "drawing, v"; "A: derivative of p; reference" */
} Check;

static void append(char *list, const char *separator, const char *what) {
  const size_t length = strlen(list);
  if (length + strlen(what) + 3 < LIST)
    snprintf(list + length, LIST - length, "%s%s", length ? separator : "", what);
}

static void tell_begin(void *data, const char *what) {
  Check *check = data;
  snprintf(check->guarded->doing, GUARDED_TEXT, "%s", what);
  fflush(check->guarded->out); /* the model may crash */
  if (check->said.saved < 0) catch_begin(&check->said);
}

static void print_finding(const Check *check, const ModelFinding *f) {
  static const char *const words[] = {
      [MODEL_RIGHT] = "ok", [MODEL_WRONG] = "WRONG", [MODEL_DOUBTFUL] = "differs", [MODEL_SKIPPED] = "not judged"};
  FILE *out = check->guarded->out;
  if (isnan(f->error)) fprintf(out, "  %-*s %s\n", WIDTH - 1, f->what, words[f->verdict]);
  else
    fprintf(out, "  %-*s %-10s  %.1e\n", WIDTH - 1, f->what, words[f->verdict], (double)f->error);
  if (f->verdict != MODEL_RIGHT && f->message[0]) fprintf(out, "      %s\n", f->message);
}

/* Prints what was caught as the explanation of a finding, or else passes it on. */
static void print_said(Check *check, int explains) {
  char text[SAID];
  FILE *out = explains ? check->guarded->out : stderr;
  catch_end(&check->said);
  catch_take(&check->said, text);
  for (char *line = text; *line;) {
    const size_t length = strcspn(line, "\n");
    if (length > 0) fprintf(out, "%s%.*s\n", explains ? "      " : "", (int)length, line);
    line += length + (line[length] == '\n');
  }
}

static void tell_finding(void *data, const ModelFinding *f) {
  Check *check    = data;
  const int wrong = f->verdict == MODEL_WRONG || f->verdict == MODEL_DOUBTFUL;
  if (f->verdict == MODEL_ABSENT) {
    append(check->absent, ", ", f->what);
    return;
  }
  check->looked++;
  if (wrong) append(check->wrong, "; ", f->what);
  print_finding(check, f);
  print_said(check, wrong);
}

/* ------------------------------------------------------------------------------------- the check -- */

static int check_model(const Guarded *guarded, const CPPlugin *model, void *data) {
  const CPPluginType *type     = model->type;
  Check check                  = {.guarded = guarded, .said = {data, -1}};
  const ModelListener listener = {tell_begin, tell_finding, &check};
  fprintf(guarded->out, "%s (%s)\n  %-*s%-10s  largest error\n", type->title, type->name, WIDTH, "",
          "");
  const int wrong = model_check_all(model, &listener);
  if (check.absent[0]) fprintf(guarded->out, "  not there: %s\n", check.absent);
  if (!wrong) {
    fprintf(guarded->out, "all %d are right\n", check.looked);
    return STATUS_DONE;
  }
  fflush(guarded->out);
  complain("%s: %d of %d are wrong: %s", type->name, wrong, check.looked, check.wrong);
  return STATUS_FAILED;
}

/* Prints what a model printed before it crashed. */
static void print_last_words(FILE *file) {
  char text[SAID];
  catch_take(&(Catch){file, -1}, text);
  fputs(text, stderr);
}

static int check_main(int argc, char **argv) {
  static const struct argp argp = {
      .options  = options,
      .parser   = parse,
      .args_doc = "MODEL",
      .doc = "Compares the functions of a model with each other and with differences. The model "
             "is " MODEL_KINDS "."
             "\vExit status: 0 no fault was found, 1 there is a fault, 2 wrong input, 4 the model "
             "crashed, 130 interrupted."};
  CheckOptions o   = {.limit = LIMIT};
  const int wrong  = parse_options(&argp, argc, argv, &o);
  FILE *said       = wrong ? NULL : tmpfile();
  const int status = wrong ? wrong : run_with_model(&o.arguments.choice, o.limit, check_model, said);
  if (said && status == STATUS_CRASHED) print_last_words(said);
  if (said) fclose(said);
  free_model_arguments(&o.arguments);
  return status;
}

const Command check_command = {"check", "compares the functions of a model with each other",
                               check_main};

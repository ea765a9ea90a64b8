/* cpodes run MODEL: one run and its output. */
#define _GNU_SOURCE /* open_memstream */
#include "../process/run.h"
#include "../command.h"
#include "../figures/figures.h"
#include "../mechanism.h"
#include "../output/files.h"
#include "../output/judge.h"
#include "../output/writers.h"
#include "../simulation/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
  KEY_CSV = 1000,
  KEY_JSON,
  KEY_PLOT,
  KEY_PICTURE,
  KEY_REPORT,
  KEY_LINSOL,
  KEY_NORM,
  KEY_FORM,
  KEY_MAX_STEP,
  KEY_TIME_STEPPING,
  KEY_STRICT,
  KEY_NO_ESTIMATE,
  KEY_CURVES,
  KEY_REFERENCE
};
enum { OUTPUTS = 200, REPORT_OUTPUTS = 600 };

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "The integration:", 1},
    {"method", 'm', "NAME", 0,
     "auto (default), bdf, bdf2, adams, adams-newton, dop853, bs54, bs32, dopri5, radau, radau5, "
     "radau9, "
     "radau13, or an explicit table of ARKODE; see `cpodes list --methods`",
     1},
    {"rtol", 'r', "TOL", 0, "relative tolerance, default 1e-6", 1},
    {"atol", 'a', "TOL", 0, "absolute tolerance, default: rtol", 1},
    {"t-end", 't', "TIME", 0, "end of the motion, default: the model's", 1},
    {"max-step", KEY_MAX_STEP, "TIME", 0,
     "longest step, default: none; with events a 200th of the motion", 1},
    {"time-stepping", KEY_TIME_STEPPING, "N:TIME", 0,
     "where more than N events of contacts lie within TIME, as in a heap, steps of order one take "
     "over until the contacts are calm; default: the model's, or never",
     1},
    MODEL_PARAM_OPTION(1),
    {"form", KEY_FORM, "FORM",
     0, "mech: mass matrix, forces, constraints (default if the model has it); ode: y' = f with invariants",
     1},
    {"linsol", KEY_LINSOL, "NAME", 0, "linear solver: auto, schur, qr, sparse; form mech: kkt", 1},
    {"norm", KEY_NORM, "NAME", 0,
     "norm in which corrections are smallest: default, error, l2; form mech: kinetic, newton", 1},
    {"no-estimate", KEY_NO_ESTIMATE, NULL,
     0, "no second run that estimates the error (which costs about 1.5 times the run, at most 5 times or a second)",
     1},
    {NULL, 0, NULL, 0, "Output files:", 2},
    {"outputs", 'n', "N",
     0, "outputs after the start, equally spaced, default 200 (600 with --report, --picture); 0: each step",
     2},
    {"csv", KEY_CSV, "FILE", 0, "the trajectory, a row for each output; -: stdout", 2},
    {"json", KEY_JSON, "FILE", 0, "the summary, for programs; -: stdout", 2},
    {"curves", KEY_CURVES, "NAMES",
     0, "what figures and report show, with commas between: coordinates, velocities, quantities, multipliers, gaps, phases",
     2},
    {"plot", KEY_PLOT, "FILE", 0, "a figure of the run, .svg, .png or .pdf", 2},
    {"picture", KEY_PICTURE, "FILE", 0, "the mechanism at some moments, .svg, .png or .pdf", 2},
    {"report", KEY_REPORT, "FILE", 0, "all results and an animation in one HTML file", 2},
    {"reference", KEY_REFERENCE, NULL, 0,
     "distances from the motion and the reactions that the file has recorded (.asmt), at its "
     "times, as outputs; "
     "with --strict at most 10 tolerances",
     2},
    {"strict", KEY_STRICT, NULL, 0,
     "exit status 1 if the results are doubtful or wrong, or start velocities impossible, 5 if "
     "parts of the file that act "
     "are left out",
     2},
    {"quiet", 'q', NULL, 0, "no summary and no progress bar", 2},
    {0}};

typedef struct {
  RunSettings settings;
  ModelArguments model;
  bool has_atol, has_t_end, has_outputs, quiet, strict, compares;
  const char *csv, *json, *plot, *picture, *report;
} RunOptions;

/* ------------------------------------------------------------------------------------- parsing -- */

/* Checks that text is one of the names that name(0), name(1), ... return. */
static int parse_name(const char *option, const char *text, const char *(*name)(int)) {
  enum { MOST_NAMES = 20 };
  const char *names[MOST_NAMES];
  int count = 0, index;
  for (; count < MOST_NAMES && name(count); count++) names[count] = name(count);
  return parse_choice(option, text, names, count, &index);
}

static int parse_form(const char *text, RunForm *form) {
  static const char *const names[] = {"auto", "mech", "ode"};
  int index;
  if (parse_choice("--form", text, names, 3, &index)) return -1;
  *form = (RunForm)index;
  return 0;
}

/* "N:TIME" */
static int parse_time_stepping(const char *text, RunSettings *s) {
  char number[20], *colon = strchr(text, ':');
  const size_t length = colon ? (size_t)(colon - text) : sizeof number;
  if (length >= sizeof number)
    return complain("--time-stepping must be N:TIME, such as 20:0.4, and is \"%s\"", text);
  memcpy(number, text, length);
  number[length] = 0;
  return parse_whole("--time-stepping", number, 2, 1000000, &s->dense_events) ||
                 parse_positive("--time-stepping", colon + 1, "s", 1e300, &s->dense_time)
             ? -1
             : 0;
}

static int take_option(RunOptions *o, int key, const char *text) {
  RunSettings *s = &o->settings;
  switch (key) {
  case 'm': return parse_method("--method", text, &s->method);
  case 'r': return parse_positive("--rtol", text, "1", 1, &s->rtol);
  case 'a': o->has_atol = true; return parse_positive("--atol", text, "1", 1e300, &s->atol);
  case 't': o->has_t_end = true; return parse_positive("--t-end", text, "s", 1e300, &s->t_end);
  case 'n':
    o->has_outputs = true;
    return parse_whole("--outputs", text, 0, 1000000000, &s->outputs);
  case 'q': o->quiet = true; return 0;
  case KEY_STRICT:
    o->strict = true;
    mechanism_be_strict();
    return 0;
  case KEY_REFERENCE:
    o->compares = true;
    mechanism_compare();
    return 0;
  case KEY_CURVES: s->curves = text; return 0;
  case KEY_NO_ESTIMATE: s->estimated = false; return 0;
  case KEY_MAX_STEP: return parse_positive("--max-step", text, "s", 1e300, &s->max_step);
  case KEY_TIME_STEPPING: return parse_time_stepping(text, s);
  case KEY_FORM: return parse_form(text, &s->form);
  case KEY_LINSOL: s->linsol = text; return parse_name("--linsol", text, linsol_name);
  case KEY_NORM: s->norm = text; return parse_name("--norm", text, norm_name);
  case KEY_CSV: return path_take("--csv", text, ".csv .txt .dat", &o->csv);
  case KEY_JSON: return path_take("--json", text, ".json", &o->json);
  case KEY_PLOT: return figure_take("--plot", text, &o->plot);
  case KEY_PICTURE: return figure_take("--picture", text, &o->picture);
  case KEY_REPORT: return path_take("--report", text, ".html .htm", &o->report);
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Completes the options and checks their combinations. Returns 0 or EINVAL. */
static error_t complete(RunOptions *o) {
  RunSettings *s              = &o->settings;
  const char *const outputs[] = {o->csv, o->json, o->plot, o->picture, o->report};
  if (outputs_check(&o->model, outputs, 5)) return EINVAL;
  s->model = o->model.choice;
  if (o->picture && !s->model.type->points)
    return complain("--picture: %s has no drawing", s->model.type->name), EINVAL;
  if (!o->has_atol) s->atol = s->rtol;
  if (!o->has_t_end) s->t_end = (double)s->model.type->t_end;
  if (!o->has_outputs) s->outputs = o->report || o->picture ? REPORT_OUTPUTS : OUTPUTS;
  if (o->compares) {
    if (o->has_t_end || o->has_outputs)
      return complain("--reference has the times of the file, and no --t-end and --outputs"), EINVAL;
    s->outputs = mechanism_recorded(&s->t_end);
    if (s->outputs == 0)
      return complain("--reference: %s has no recorded motion", s->model.type->name), EINVAL;
  }
  s->forces  = true;
  s->drawing = o->report || o->picture;
  s->steps   = true; /* so that it is known how far an interrupted run got */
  return 0;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  RunOptions *o       = state->input;
  const error_t taken = take_model_arguments(&o->model, key, text);
  if (key == ARGP_KEY_END) return taken ? taken : complete(o);
  if (taken != ARGP_ERR_UNKNOWN) return taken;
  const int flag = take_option(o, key, text);
  return flag == ARGP_ERR_UNKNOWN || flag == EIO ? flag : flag ? EINVAL : 0;
}

/* --------------------------------------------------------------------------------------- running -- */

/* Prints the summary, unless a file goes to stdout, and the names of the files. */
typedef struct {
  const char *written[5]; /* the paths of the files */
  int count, failed;
} Results;

static void note(Results *r, const char *file, bool failed) {
  if (failed) r->failed++;
  else r->written[r->count++] = file;
}

static void tell_people(const RunOptions *o, const History *h, const Results *r) {
  FILE *out   = is_stdout(o->csv) || is_stdout(o->json) || is_stdout(o->report) ? stderr : stdout;
  char *text  = NULL; /* of models and files, whose names may contain anything */
  size_t size = 0;
  FILE *lines = open_memstream(&text, &size);
  if (!lines) {
    complain("no memory for the summary");
    return;
  }
  summary_print(h, lines);
  for (int i = 0; i < r->count; i++)
    if (!is_stdout(r->written[i])) fprintf(lines, "  %-14s%s\n", "written", r->written[i]);
  if (!fclose(lines)) print_plain(out, text);
  free(text);
}

/* Writes the files that are made at the end, and the summary. Returns the number of files that were
 * not written. */
static int write_results(const RunOptions *o, const History *h, bool has_csv, int argc, char **argv) {
  const bool has_curves = h->curves.rows > 0;
  Results r             = {.count = 0};
  if (o->csv) note(&r, o->csv, !has_csv);
  if (o->json) note(&r, o->json, json_write(h, argc, argv, o->json));
  if (o->plot && has_curves) note(&r, o->plot, figure_write(h, o->plot));
  if (o->picture && has_curves) note(&r, o->picture, picture_write(h, o->picture));
  if (o->report) note(&r, o->report, report_write(h, argc, argv, o->report));
  if (!o->quiet) tell_people(o, h, &r);
  return r.failed;
}

/* Prints the line on stderr for a run that did not reach its end. */
static void complain_about(const RunInfo *info, const RunResult *r, const char *name) {
  char line[2 * RUN_TEXT];
  if (r->ending == RUN_DONE || r->ending == RUN_UNWRITTEN)
    return; /* the writer has reported it already */
  describe_ending(name, info->settings != NULL, r, line, sizeof line);
  complain("%s", line);
}

/* Prints the line on stderr for a second run that failed where the first did not. */
static void complain_about_estimate(const RunResult *r, const char *name) {
  char line[2 * RUN_TEXT];
  if (r->ending != RUN_DONE || !estimate_failed(&r->estimate)) return;
  describe_estimate(&r->estimate, line, sizeof line);
  complain("%s: the error is %s", name, line);
}

enum { REASON = 2 * RUN_TEXT };

/* text [REASON]: keeps the first reason. */
static void take_reason(void *text, const char *reason) {
  if (!*(char *)text) snprintf(text, REASON, "%s", reason);
}

/* The exit status, with --strict, of a run that reached its end. */
static int status_of_verdict(const History *h) {
  char reason[REASON] = "";
  char text[VERDICT_TEXT];
  const Verdict verdict = judge(h, take_reason, reason);
  verdict_text(h, verdict, text);
  if (verdict == VERDICT_OK) return STATUS_DONE;
  if (verdict == VERDICT_WITHOUT) {
    complain("--strict: the results are %s", text);
    return STATUS_WITHOUT;
  }
  complain("--strict: the results are %s: %s", text, reason);
  return STATUS_FAILED;
}

/* The exit status, with --strict and --reference: differences that are not numbers count as large. Where constraints depend on each other,
 * reactions of least norm and those of another solver may both be right. */
static int status_of_reference(const RunOptions *o, const History *h) {
  for (int i = 0; i < h->info->nquantities; i++) {
    if (!h->result.unique && !strcmp(o->settings.model.type->quantities[i].unit, "N")) continue;
    const double bound   = mechanism_recorded_bound(i, o->settings.rtol, o->settings.atol),
                 largest = h->least_quantity[i] + h->most_spread[i];
    if (bound < 0 || largest <= bound) continue;
    complain("--strict: %s by %g, more than 10 tolerances of what is recorded, %g",
             o->settings.model.type->quantities[i].name, largest, mechanism_recorded_size(i));
    return STATUS_FAILED;
  }
  return STATUS_DONE;
}

static int run(const RunOptions *o, int argc, char **argv, History *history) {
  RunInfo info;
  RunResult result;
  Listener *csv          = o->csv ? csv_create(o->csv) : NULL,
           *progress     = o->quiet ? NULL : progress_create();
  Listener *listeners[4] = {&history->listener};
  int count = 1, status = STATUS_OUTPUT;
  if (csv) listeners[count++] = csv;
  if (progress) listeners[count++] = progress;
  if ((csv || !o->csv) && (progress || o->quiet)) {
    status = run_process(&o->settings, listeners, count, 0, &info, &result);
    complain_about(&info, &result, o->settings.model.type->name);
    complain_about_estimate(&result, o->settings.model.type->name);
    const bool has_csv = result.ending != RUN_UNWRITTEN;
    if (history->ended && write_results(o, history, has_csv, argc, argv) && status == STATUS_DONE)
      status = STATUS_OUTPUT;
    if (o->strict && status == STATUS_DONE) status = status_of_verdict(history);
    if (o->strict && o->compares && status == STATUS_DONE) status = status_of_reference(o, history);
    run_info_free(&info);
  }
  csv_free(csv);
  progress_free(progress);
  return status;
}

static int run_main(int argc, char **argv) {
  static const struct argp argp = {
      .options  = options,
      .parser   = parse,
      .args_doc = "MODEL",
      .doc      = "Runs a model: " MODEL_KINDS "."
                  "\vExit status: 0 success, 1 the integration failed, or --strict found doubtful "
                  "results, 2 wrong "
                  "input, 3 a file could not be written, "
                  "4 the model crashed, 5 --strict found that parts of the file are left out, 130 "
                  "interrupted. Files are complete up to the last output in "
                  "each case."};
  RunOptions o      = {.settings = {.rtol = 1e-6, .estimated = true}};
  History *history  = calloc(1, sizeof *history);
  o.settings.method = *method_at(0);
  if (!history) return complain("no memory"), STATUS_OUTPUT;
  history_create(history);
  int status = parse_options(&argp, argc, argv, &o);
  if (status == STATUS_DONE) {
    catch_interrupts();
    status = run(&o, argc, argv, history);
  }
  history_free(history);
  free(history);
  free_model_arguments(&o.model);
  return status;
}

const Command run_command = {"run", "runs a model and shows the result", run_main};

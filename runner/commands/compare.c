/* cpodes compare MODEL: several methods and tolerances, with their costs and errors. */
#include "../command.h"
#include "../comparison/comparison.h"
#include "../figures/figures.h"
#include "../output/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_FROM = 1000, KEY_TO, KEY_PER_DECADE, KEY_LIMIT, KEY_CSV, KEY_JSON, KEY_PLOT };

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Runs to compare:", 1},
    {"methods", 'm', "LIST", 0,
     "methods of `cpodes run --method`, separated by commas; default: bdf,adams,dop853, for stiff "
     "models bdf,bdf2,radau",
     1},
    {"tolerances", 'r', "LIST", 0,
     "relative and absolute tolerances, separated by commas: 1e-4,1e-6", 1},
    {"from", KEY_FROM, "TOL", 0, "loosest tolerance if there is no list, default 1e-4", 1},
    {"to", KEY_TO, "TOL", 0, "tightest tolerance, default 1e-10, for stiff models 1e-8", 1},
    {"per-decade", KEY_PER_DECADE, "N", 0, "number of tolerances per factor of 10, default 1", 1},
    {"t-end", 't', "TIME", 0, "end of the motion, default: the model's", 1},
    MODEL_PARAM_OPTION(1),
    {"time-limit", KEY_LIMIT, "SECONDS", 0, "limit of CPU time for each run, default 20", 1},
    {NULL, 0, NULL, 0, "Output files:", 2},
    {"csv", KEY_CSV, "FILE", 0, "the table as CSV; -: stdout", 2},
    {"json", KEY_JSON, "FILE", 0, "the table as JSON; -: stdout", 2},
    {"plot", KEY_PLOT, "FILE", 0, "plot of error over CPU time and evaluations, .svg, .png or .pdf",
     2},
    {0}};

typedef struct {
  Comparison *comparison;
  ModelArguments model;
  bool has_t_end;
  const char *csv, *json, *plot;
} CompareOptions;

/* ------------------------------------------------------------------------------------- parsing -- */

/* Calls take for each name of a list separated by commas. Returns 0 or -1. */
static int for_each(const char *option, const char *list, int (*take)(Comparison *, const char *),
                    Comparison *c) {
  char name[METHOD_NAME];
  for (const char *text = list;; text++) {
    const size_t length = strcspn(text, ",");
    if (length == 0 || length >= sizeof name)
      return complain("%s wants names or numbers with commas between, and is \"%s\"", option, list);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (take(c, name)) return -1;
    text += length;
    if (!*text) return 0;
  }
}

static int take_method(Comparison *c, const char *name) {
  if (c->nmethods == MOST_METHODS)
    return complain("--methods: there are more than %d", MOST_METHODS);
  if (parse_method("--methods", name, &c->method[c->nmethods])) return -1;
  for (int i = 0; i < c->nmethods; i++)
    if (!strcmp(c->method[i].name, name)) return complain("--methods: \"%s\" is there twice", name);
  c->nmethods++;
  return 0;
}

static int take_tolerance(Comparison *c, const char *text) {
  if (c->ntols == MOST_TOLERANCES)
    return complain("--tolerances: there are more than %d", MOST_TOLERANCES);
  if (parse_number("--tolerances", text, 1e-15, 1, &c->tol[c->ntols])) return -1;
  for (int i = 0; i < c->ntols; i++)
    if (c->tol[i] == c->tol[c->ntols])
      return complain("--tolerances: %g is there twice", c->tol[i]);
  c->ntols++;
  return 0;
}

static int take_option(CompareOptions *o, int key, const char *text) {
  Comparison *c = o->comparison;
  switch (key) {
  case 'm': return for_each("--methods", text, take_method, c);
  case 'r': return for_each("--tolerances", text, take_tolerance, c);
  case 't':
    o->has_t_end = true;
    return parse_positive("--t-end", text, "s", 1e300, &c->settings.t_end);
  case KEY_FROM: return parse_number("--from", text, 1e-15, 1, &c->from);
  case KEY_TO: return parse_number("--to", text, 1e-15, 1, &c->to);
  case KEY_PER_DECADE: return parse_number("--per-decade", text, 0.1, 20, &c->per_decade);
  case KEY_LIMIT: return parse_number("--time-limit", text, 1e-3, 1e9, &c->limit);
  case KEY_CSV: return path_take("--csv", text, ".csv .txt .dat", &o->csv);
  case KEY_JSON: return path_take("--json", text, ".json", &o->json);
  case KEY_PLOT: return figure_take("--plot", text, &o->plot);
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Completes the options and checks their combinations. Returns 0 or EINVAL. */
static error_t complete(CompareOptions *o) {
  Comparison *c = o->comparison;
  if (c->ntols > 0 && (c->from > 0 || c->to > 0 || c->per_decade > 0))
    complain("--tolerances does not go with --from, --to and --per-decade");
  else if (c->from > 0 && c->to > c->from)
    complain("--to, %g, must not be larger than --from, %g", c->to, c->from);
  else if (!outputs_check(&o->model, (const char *const[]){o->csv, o->json, o->plot}, 3)) {
    c->settings.model = o->model.choice;
    if (!o->has_t_end) c->settings.t_end = (double)o->model.choice.type->t_end;
    return 0;
  }
  return EINVAL;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  CompareOptions *o   = state->input;
  const error_t error = take_model_arguments(&o->model, key, text);
  if (key == ARGP_KEY_END && !error) return complete(o);
  if (error != ARGP_ERR_UNKNOWN) return error;
  const int flag = take_option(o, key, text);
  return flag == ARGP_ERR_UNKNOWN || flag == EIO ? flag : flag ? EINVAL : 0;
}

/* ------------------------------------------------------------------------------------- comparing -- */

/* Prints a row whenever a run ends. Returns the number of runs that reached their end. */
static int run_all(Comparison *c, FILE *out) {
  int done = 0;
  for (int place = 0; place < c->nmethods * c->ntols && !was_interrupted(); place++) {
    if (place > 0 && place % c->ntols == 0) fputc('\n', out);
    done += comparison_run(c, place) == STATUS_DONE;
    comparison_print_row(c, &c->run[c->nruns - 1], out);
    fflush(out);
  }
  return done;
}

/* Returns the number of files that were not written. */
static int write_files(const CompareOptions *o) {
  int failed = 0;
  if (o->csv) failed += comparison_write_csv(o->comparison, o->csv) != 0;
  if (o->json) failed += comparison_write_json(o->comparison, o->json) != 0;
  if (o->plot) failed += work_precision_write(o->comparison, o->plot) != 0;
  return failed;
}

/* Reports that no run reached its end; returns the exit status. */
static int complain_of_all(const Comparison *c) {
  const ComparedRun *last = &c->run[c->nruns - 1];
  char reason[2 * RUN_TEXT];
  int crashed = 0;
  for (int i = 0; i < c->nruns; i++) crashed += c->run[i].result.ending == RUN_CRASHED;
  describe_ending(last->method->name, true, &last->result, reason, sizeof reason);
  complain("%s: no run finished; %s", c->settings.model.type->name, reason);
  return crashed == c->nruns ? STATUS_CRASHED : STATUS_FAILED;
}

static int compare(const CompareOptions *o) {
  Comparison *c    = o->comparison;
  FILE *out        = is_stdout(o->csv) || is_stdout(o->json) ? stderr : stdout;
  const int status = comparison_prepare(c);
  if (status != STATUS_DONE) return status;
  comparison_print_head(c, out);
  const int done = run_all(c, out);
  fputc('\n', out);
  if (done && figures_possible()) work_precision_print(c, out);
  if (write_files(o) || fflush(out) || ferror(out)) return STATUS_OUTPUT;
  if (was_interrupted())
    return complain("interrupted after %d of %d runs", c->nruns, c->nmethods * c->ntols),
           STATUS_INTERRUPTED;
  return done ? STATUS_DONE : complain_of_all(c);
}

static int compare_main(int argc, char **argv) {
  static const struct argp argp = {.options  = options,
                                   .parser   = parse,
                                   .args_doc = "MODEL",
                                   .doc =
                                       "Runs a model by several methods and tolerances, and "
                                       "shows their cost and their accuracy: the largest "
                                       "error of a coordinate at the end, against the model's "
                                       "reference if there is one, otherwise against runs at much "
                                       "tighter tolerances. The model is " MODEL_KINDS "."
                                       "\vExit status: 0 done, 1 no run finished, 2 "
                                       "wrong input, 3 a file could not be written, 4 "
                                       "the model crashed in each, 130 interrupted."};
  CompareOptions o              = {.comparison = calloc(1, sizeof *o.comparison)};
  if (!o.comparison) return complain("no memory"), STATUS_OUTPUT;
  o.comparison->limit = 20;
  int status          = parse_options(&argp, argc, argv, &o);
  if (status == STATUS_DONE) {
    catch_interrupts();
    status = compare(&o);
  }
  comparison_free(o.comparison);
  free(o.comparison);
  free_model_arguments(&o.model);
  return status;
}

const Command compare_command = {
    "compare", "runs several methods and tolerances: work and precision", compare_main};

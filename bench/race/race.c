/* The race: problems x methods x tolerances, with every run in a separate process, and the methods
 * alternating. Writes
 *
 *   DIR/race.csv         every run
 *   DIR/race.md          ratios of costs at equal accuracy
 *   DIR/<problem>.svg    work-precision plots, .png, and the .gp from which gnuplot made them
 *   DIR/race.log         output of the methods
 *
 * Section "The race" of bench/README.md explains the results. */
#include "contestants.h"
#include "forked.h"
#include "plot.h"
#include "problem.h"
#include "reference.h"
#include "result.h"

#include "../check.h"
#include "../timing.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sundials/sundials_config.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

enum { MOST = 100, MOST_REPEATS = 101 };
enum { LONG_RUN = 2 }; /* [s] */
enum { EXIT_USAGE = 2 };

typedef struct {
  const char *problem[MOST];
  const Contestant *method[MOST];
  double tol[MOST];
  int nproblems, nmethods, ntols;
  int repeat;
  double limit;
  const char *folder;
  char log[4096];
} Race;

/* ---------------------------------------------------------------------------------- command line -- */

static const char usage[] =
    "Usage: race [OPTION...]\n"
    "Runs problems x methods x tolerances and writes CSV, Markdown and plots.\n\n"
    "  -p, --problems LIST    separated by blanks or ';': NAME or NAME:PARAMETER=VALUE,...\n"
    "                         (t_end, the time of the end, is a parameter of all)\n"
    "  -m, --methods LIST     separated by ',' or blanks\n"
    "  -t, --tolerances LIST  rtol = atol, separated by ',' or blanks\n"
    "  -f, --from TOL         loosest tolerance, default 1e-2\n"
    "  -u, --to TOL           tightest, default 1e-12\n"
    "  -d, --per-decade N     tolerances in a decade, default 1\n"
    "  -r, --repeat N         timed runs, of which the median counts, default 3\n"
    "  -l, --time-limit S     CPU time of a run; tighter tolerances are left out then; default 60\n"
    "  -o, --output DIR       default race\n"
    "  -L, --list             what there is to choose from\n"
    "  -h, --help\n\n"
    "Without -p and -m: all. Exit status: 0, 1 if something went wrong, 2 for a wrong option.\n";

static const struct option options[] = {{"problems", required_argument, NULL, 'p'},
                                        {"methods", required_argument, NULL, 'm'},
                                        {"tolerances", required_argument, NULL, 't'},
                                        {"from", required_argument, NULL, 'f'},
                                        {"to", required_argument, NULL, 'u'},
                                        {"per-decade", required_argument, NULL, 'd'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {"time-limit", required_argument, NULL, 'l'},
                                        {"output", required_argument, NULL, 'o'},
                                        {"list", no_argument, NULL, 'L'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

#define FAIL_USAGE(...) \
  (fprintf(stderr, "race: " __VA_ARGS__), fputc('\n', stderr), exit(EXIT_USAGE))

static double number(const char *option, const char *text, double least, double most) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value >= least && value <= most))
    FAIL_USAGE("%s must be a number from %g to %g, and is \"%s\"", option, least, most, text);
  return value;
}

static void add_problems(Race *race, char *list) {
  char message[PROBLEM_MESSAGE], *place;
  sunrealtype values[MODEL_MOST_PARAMETERS], t_end;
  for (char *item = strtok_r(list, " ;\n", &place); item; item = strtok_r(NULL, " ;\n", &place)) {
    if (race->nproblems == MOST) FAIL_USAGE("more than %d problems", MOST);
    if (!problem_parse(item, values, &t_end, message)) FAIL_USAGE("%s", message);
    race->problem[race->nproblems++] = item;
  }
  if (!race->nproblems) FAIL_USAGE("--problems names none");
}

static void add_methods(Race *race, char *list) {
  char *place;
  for (char *item = strtok_r(list, " ,\n", &place); item; item = strtok_r(NULL, " ,\n", &place)) {
    const Contestant *c = contestant_find(item);
    if (race->nmethods == MOST) FAIL_USAGE("more than %d methods", MOST);
    if (!c)
      FAIL_USAGE("there is no method \"%s\"; did you mean \"%s\"?", item, contestant_nearest(item));
    race->method[race->nmethods++] = c;
  }
  if (!race->nmethods) FAIL_USAGE("--methods names none");
}

static void add_tolerances(Race *race, char *list) {
  char *place;
  for (char *item = strtok_r(list, " ,\n", &place); item; item = strtok_r(NULL, " ,\n", &place)) {
    if (race->ntols == MOST) FAIL_USAGE("more than %d tolerances", MOST);
    race->tol[race->ntols++] = number("a tolerance", item, 1e-15, 1);
  }
}

static void add_decades(Race *race, double from, double to, int per_decade) {
  if (to > from) FAIL_USAGE("--to %g is looser than --from %g", to, from);
  const int count = 1 + (int)floor(per_decade * log10(from / to) + 1e-6);
  if (count > MOST) FAIL_USAGE("more than %d tolerances", MOST);
  for (int i = 0; i < count; i++)
    race->tol[race->ntols++] = from * pow(10, -(double)i / per_decade);
}

static void list_all(void) {
  printf("Problems (default first, then all mechanisms with their parameters):\n");
  for (int i = 0; problem_default(i); i++) printf("  %s\n", problem_default(i));
  for (int i = 0; problem_type(i); i++) {
    const CPPluginType *type = problem_type(i);
    printf("\n  %-16s %s, t_end = %g\n", type->name, type->title, (double)type->t_end);
    for (int k = 0; k < type->nparameters; k++) {
      const CPPluginParameter *p = &type->parameters[k];
      printf("    %-14s %s [%s], %g to %g, default %g\n", p->name, p->meaning, p->unit,
             (double)p->least, (double)p->most, (double)p->value);
    }
  }
  printf("\nMethods:\n");
  for (int i = 0; contestant(i); i++) {
    const char *absent = contestant(i)->missing ? contestant(i)->missing() : NULL;
    printf("  %-16s %s%s%s\n", contestant(i)->name, contestant(i)->title,
           absent ? "; absent: " : "", absent ? absent : "");
  }
}

static Race parse(int argc, char **argv) {
  Race race   = {.repeat = 3, .limit = 60, .folder = "race"};
  double from = 1e-2, to = 1e-12;
  int per_decade = 1;
  for (int key; (key = getopt_long(argc, argv, "p:m:t:f:u:d:r:l:o:Lh", options, NULL)) != -1;)
    switch (key) {
    case 'p': add_problems(&race, optarg); break;
    case 'm': add_methods(&race, optarg); break;
    case 't': add_tolerances(&race, optarg); break;
    case 'f': from = number("--from", optarg, 1e-15, 1); break;
    case 'u': to = number("--to", optarg, 1e-15, 1); break;
    case 'd': per_decade = (int)number("--per-decade", optarg, 1, 20); break;
    case 'r': race.repeat = (int)number("--repeat", optarg, 1, MOST_REPEATS); break;
    case 'l': race.limit = number("--time-limit", optarg, 1e-3, 1e6); break;
    case 'o': race.folder = optarg; break;
    case 'L': list_all(); exit(EXIT_SUCCESS);
    case 'h': fputs(usage, stdout); exit(EXIT_SUCCESS);
    default: fputs(usage, stderr); exit(EXIT_USAGE);
    }
  if (optind < argc) FAIL_USAGE("\"%s\" belongs to no option", argv[optind]);
  if (race.ntols == 0) add_decades(&race, from, to, per_decade);
  for (int i = 0; race.nproblems == i && problem_default(i); i++)
    race.problem[race.nproblems++] = problem_default(i);
  for (int i = 0; race.nmethods == i && contestant(i); i++)
    race.method[race.nmethods++] = contestant(i);
  return race;
}

/* ----------------------------------------------------------------------------------- one problem -- */

/* Has a looser tolerance already taken too long? */
static const Result *too_slow(const Results *results, const Contestant *c, double tol) {
  for (int i = 0; i < results->nresults; i++) {
    const Result *r = &results->result[i];
    if (r->contestant == c && r->tol > tol && r->figures.flag == RACE_TIME_LIMIT) return r;
  }
  return NULL;
}

static void judge(const Problem *problem, N_Vector y, Result *result) {
  result->error = result->violation = NAN;
  if (result->figures.flag) return;
  result->error     = problem_error(problem, y);
  result->violation = problem_violation(problem, problem->t_end, y);
  result->counts    = result->error > 10 * problem->reference_error;
}

/* False for failed runs, and for runs so long that the clock's noise is small. */
static bool is_worth_repeating(const Result *result) {
  return !result->figures.flag && result->figures.seconds < LONG_RUN;
}

static void run_once(const Race *race, const Problem *problem, Result *result, double *seconds,
                     int round, N_Vector y) {
  RaceFigures figures;
  if (round > 0 && !is_worth_repeating(result)) {
    seconds[round] = result->figures.seconds;
    return;
  }
  run_forked(result->contestant, problem->model, problem->t_end, result->tol, race->limit,
             race->log, y, &figures);
  seconds[round] = figures.seconds;
  if (round > 0) return;
  result->figures = figures;
  judge(problem, y, result);
}

static void print_result(const Result *r) {
  if (r->figures.flag)
    printf("  %-16s %8.1e  %d: %s\n", r->contestant->name, (double)r->tol, r->figures.flag,
           r->figures.message);
  else
    printf("  %-16s %8.1e  error %8.1e  %10.3f ms  %8ld steps  %8ld f\n", r->contestant->name,
           (double)r->tol, r->error, 1e3 * r->figures.seconds, r->figures.steps, r->figures.rhs);
  fflush(stdout);
}

/* All methods at one tolerance, alternating */
static void run_tolerance(const Race *race, const Problem *problem, const Contestant *const *method,
                          int nmethods, double tol, Results *results, N_Vector y) {
  static double seconds[MOST][MOST_REPEATS];
  Result *result[MOST];
  for (int k = 0; k < nmethods; k++) {
    const Result *slow = too_slow(results, method[k], tol);
    result[k]          = &results->result[results->nresults++];
    *result[k]         = (Result){.contestant = method[k], .tol = tol};
    if (!slow) continue;
    result[k]->figures = slow->figures;
    judge(problem, y, result[k]);
  }
  for (int round = 0; round < race->repeat; round++)
    for (int k = 0; k < nmethods; k++)
      if (!too_slow(results, method[k], tol))
        run_once(race, problem, result[k], seconds[k], round, y);
  for (int k = 0; k < nmethods; k++) {
    if (!result[k]->figures.flag) result[k]->figures.seconds = median(seconds[k], race->repeat);
    print_result(result[k]);
  }
}

/* The available methods that can solve the model; the names of those that cannot are printed */
static int choose_methods(const Race *race, const CPPlugin *model, const Contestant **method) {
  int count = 0;
  for (int k = 0; k < race->nmethods; k++) {
    const Contestant *c = race->method[k];
    if (c->missing && c->missing()) continue;
    if (c->takes(model)) method[count++] = c;
    else printf("  %-16s does not take it\n", c->name);
  }
  return count;
}

static int run_problem(const Race *race, const char *name, SUNContext ctx, Results *results) {
  Problem problem;
  const Contestant *method[MOST];
  char message[PROBLEM_MESSAGE];
  printf("%s\n", name);
  int flag = problem_create(name, ctx, &problem, message);
  if (!flag && !problem.reference) flag = reference_compute(&problem, 20 * race->limit, race->log);
  if (flag) {
    printf("  %s\n", message);
    problem_free(&problem);
    return -1;
  }
  *results = (Results){.reference_error = problem.reference ? (double)problem.reference_error : NAN,
                       .t_end           = (double)problem.t_end};
  snprintf(results->problem, sizeof results->problem, "%s", name);
  snprintf(results->origin, sizeof results->origin, "%s", problem.origin);
  if (problem.reference)
    printf("  reference: %s, known to %.1e\n", results->origin, results->reference_error);
  else printf("  no reference: %s\n", results->origin);
  N_Vector y         = CHECK_POINTER(N_VClone(problem.model->y0));
  const int nmethods = choose_methods(race, problem.model, method);
  for (int i = 0; i < race->ntols && results->nresults + nmethods <= RACE_MOST_RESULTS; i++)
    run_tolerance(race, &problem, method, nmethods, race->tol[i], results, y);
  N_VDestroy(y);
  problem_free(&problem);
  return 0;
}

/* --------------------------------------------------------------------------------------- the race -- */

static FILE *open_file(const Race *race, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", race->folder, name);
  FILE *file = fopen(path, "w");
  if (!file) FAIL_USAGE("cannot write %s: %s", path, strerror(errno));
  return file;
}

static void write_heading(const Race *race, char *text, size_t length) {
  struct utsname system = {.sysname = ""};
  char date[40];
  const time_t now = time(NULL);
  uname(&system);
  strftime(date, sizeof date, "%d %B %Y", localtime(&now));
  snprintf(
      text,
      length, "%s. %s %s, SUNDIALS %s, compiler %s. CPU times are medians of %d runs in turns, at most %g s each.",
      date, system.sysname, system.machine, SUNDIALS_VERSION, __VERSION__, race->repeat,
      race->limit);
}

static void draw(const Results *results, const char *folder) {
  static bool no_gnuplot = false;
  if (no_gnuplot) return;
  const int flag = plot_write(results, folder);
  no_gnuplot     = flag == 1;
  if (no_gnuplot) printf("gnuplot was not found: no plots\n");
  if (flag < 0) printf("%s: the plot could not be made\n", results->problem);
}

static void name_the_absent(const Race *race) {
  for (int k = 0; k < race->nmethods; k++) {
    const Contestant *c = race->method[k];
    const char *why     = c->missing ? c->missing() : NULL;
    if (why) printf("%s is skipped: %s\n", c->name, why);
  }
}

static void make_folder(Race *race) {
  if (mkdir(race->folder, 0777) && errno != EEXIST)
    FAIL_USAGE("cannot make the folder %s: %s", race->folder, strerror(errno));
  snprintf(race->log, sizeof race->log, "%s/race.log", race->folder);
  fclose(open_file(race, "race.log"));
}

int main(int argc, char **argv) {
  Race race = parse(argc, argv);
  Results *results[MOST];
  SUNContext ctx = check_context();
  char heading[400];
  int done = 0, failed = 0;
  make_folder(&race);
  FILE *csv = open_file(&race, "race.csv");
  csv_begin(csv);
  name_the_absent(&race);
  write_heading(&race, heading, sizeof heading);
  for (int i = 0; i < race.nproblems; i++) {
    results[done] = CHECK_POINTER(calloc(1, sizeof **results));
    if (run_problem(&race, race.problem[i], ctx, results[done])) {
      free(results[done]);
      failed++;
      continue;
    }
    csv_write(csv, results[done]);
    draw(results[done++], race.folder);
    FILE *markdown = open_file(
        &race, "race.md"); /* after each problem, so that a race that is stopped leaves its tables */
    markdown_write(markdown, results, done, heading);
    fclose(markdown);
  }
  fclose(csv);
  for (int i = 0; i < done; i++) free(results[i]);
  SUNContext_Free(&ctx);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#include "comparison.h"

#include "../output/files.h"

#include <math.h>
#include <string.h>

enum { MOST_REASON = 150 };

static int width_of_names(const Comparison *c) {
  int width = 8;
  for (int i = 0; i < c->nmethods; i++) width = wider(width, c->method[i].name);
  return width;
}

void comparison_print_head(const Comparison *c, FILE *out) {
  const CPPluginType *type = c->settings.model.type;
  fprintf(out, "%s (%s), t = 0 ... %g\nReference: %s", type->title, type->name, c->settings.t_end,
          c->origin);
  fprintf(out, c->known ? ", known to %.1e\n\n" : "; they differ by %.1e\n\n", c->accuracy);
  fprintf(out, "%-*s %9s %10s %8s %9s %9s %9s\n", width_of_names(c), "method", "tolerance", "error",
          "steps", "rejected", "f", "CPU [s]");
}

void comparison_print_row(const Comparison *c, const ComparedRun *run, FILE *out) {
  const RunResult *r = &run->result;
  fprintf(out, "%-*s %9.2g", width_of_names(c), run->method->name, run->tol);
  if (r->ending != RUN_DONE) {
    /* The rest of the message is in the JSON file. */
    const int length = (int)strcspn(r->message, ";");
    fprintf(out, " %10s at t = %.6g: %.*s\n", "-", r->t,
            length < MOST_REASON ? length : MOST_REASON, r->message);
    return;
  }
  /* Differences within the accuracy of the reference are no errors. */
  if (run->error <= c->accuracy) fprintf(out, "  < %7.1e", c->accuracy);
  else fprintf(out, " %10.1e", run->error);
  fprintf(out, " %8ld %9ld %9ld %9.3g\n", r->steps, rejections(r), r->rhs, r->seconds);
}

/* ------------------------------------------------------------------------------------ for programs -- */

int comparison_write_csv(const Comparison *c, const char *path) {
  char temporary[TEMPORARY_LENGTH];
  FILE *file = whole_file_open(path, temporary);
  if (!file) return -1;
  fprintf(file, "method,tolerance,ending,error,steps,rejected,rhs,jacobians,factorisations,"
                "projections,seconds\n");
  for (int i = 0; i < c->nruns; i++) {
    const ComparedRun *run = &c->run[i];
    const RunResult *r     = &run->result;
    fprintf(file, "%s,%.6g,%s,", run->method->name, run->tol, ending_name(r->ending));
    if (!isnan(run->error)) fprintf(file, "%.6g", run->error);
    fprintf(file, ",%ld,%ld,%ld,%ld,%ld,%ld,%.6g\n", r->steps, rejections(r), r->rhs, r->jacobians,
            r->factorisations, r->projections, r->seconds);
  }
  return whole_file_close(file, temporary, path);
}

static json_t *describe(const ComparedRun *run) {
  const RunResult *r = &run->result;
  return json_pack("{s:s,s:f,s:s,s:s,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "method", run->method->name,
                   "tolerance", run->tol, "ending", ending_name(r->ending), "message", r->message,
                   "error", json_number(run->error), "steps", (json_int_t)r->steps, "rejected",
                   (json_int_t)rejections(r), "rhs", (json_int_t)r->rhs, "jacobians",
                   (json_int_t)r->jacobians, "factorisations", (json_int_t)r->factorisations,
                   "projections", (json_int_t)r->projections, "seconds", json_number(r->seconds));
}

int comparison_write_json(const Comparison *c, const char *path) {
  json_t *runs = json_array();
  for (int i = 0; i < c->nruns; i++) json_array_append_new(runs, describe(&c->run[i]));
  return json_save(json_pack("{s:s,s:f,s:{s:s,s:o},s:o}", "model", c->settings.model.type->name,
                             "t_end", c->settings.t_end, "reference", "origin", c->origin,
                             "accuracy", json_number(c->accuracy), "runs", runs),
                   path);
}

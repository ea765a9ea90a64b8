#include "report.h"

#include <sundials/sundials_version.h>
#include <sys/utsname.h>

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "not known"
#endif

/* argv[0] is "cpodes run" */
void report_command(const Report *r, FILE *out) {
  html_text(out, r->argv[0]);
  for (int i = 1; i < r->argc; i++) {
    fputc(' ', out);
    html_argument(out, r->argv[i]);
  }
}

void report_settings(const Report *r, FILE *out) {
  const RunSettings *s = r->info->settings;
  char text[NUMBER_TEXT];
  pairs_begin(out, "settings", "Settings");
  pair(out, "Model", "%s", r->type->name);
  pair(out, "Integrated as", "%s",
       s->form == FORM_MECH ? "mechanical system, M u′ + Aᵀ λ = f, 0 = p"
                            : "ODE with invariants, y′ = f, 0 = c");
  pair(out, "Method", "%s", r->info->method);
  pair(out, "Relative tolerance", "%s", number_text(text, s->rtol, 3));
  pair(out, "Absolute tolerance", "%s", number_text(text, s->atol, 3));
  pair(out, "End", "%s s", number_text(text, s->t_end, 10));
  if (s->outputs > 0) pair(out, "Outputs", "%ld", s->outputs);
  else pair(out, "Outputs", "each step");
  pair(out, "State", "%ld: q %ld, u %ld, z %ld", r->info->n, r->info->nq, r->info->nu, r->info->nz);
  table_end(out, NULL);
}

void report_parameters(const Report *r, FILE *out) {
  static const Column columns[] = {
      {"Parameter", false}, {"Value", true}, {"Unit", false}, {"Meaning", false}};
  if (r->type->nparameters == 0) return;
  table_begin(out, "parameters", false, "Parameters", columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < r->type->nparameters; i++) {
    const CPModelParameter *p = &r->type->parameters[i];
    table_row(out, p->name);
    table_number(out, r->info->settings->model.values[i], 10);
    table_unit(out, p->unit);
    table_text(out, p->meaning ? p->meaning : "");
    table_row_end(out);
  }
  table_end(out, NULL);
}

void report_versions(const Report *r, FILE *out) {
  (void)r;
  char sundials[80] = "not known";
  struct utsname system;
  SUNDIALSGetVersion(sundials, sizeof sundials);
  pairs_begin(out, "versions", "Versions");
  pair(out, "cpodes", "%s", CPODES_VERSION);
  pair(out, "SUNDIALS", "%s", sundials);
  pair(out, "Compiler", "%s", COMPILER);
  if (uname(&system) >= 0)
    pair(out, "System", "%s %s, %s", system.sysname, system.release, system.machine);
  table_end(out, NULL);
}

void report_source(const Report *r, FILE *out) {
  html_text(out, r->type->source ? r->type->source : "not given");
}

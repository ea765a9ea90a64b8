#include "result.h"

#include <math.h>

int results_curve(const Results *results, const Contestant *contestant, Cost cost,
                  CurvePoint *points) {
  int count = 0;
  if (cost == COST_EVALUATIONS && !contestant->same_f) return 0;
  for (int i = 0; i < results->nresults; i++) {
    const Result *r = &results->result[i];
    if (r->contestant != contestant || !r->counts) continue;
    const double spent = cost == COST_SECONDS ? r->figures.seconds : (double)r->figures.rhs;
    points[count++]    = (CurvePoint){.error = r->error, .cost = spent};
  }
  return curve_envelope(points, count);
}

/* ----------------------------------------------------------------------------------------- CSV -- */

void csv_begin(FILE *csv) {
  fprintf(csv,
          "problem,method,tol,steps,rejected,evaluations,jacobians,factorisations,seconds,error,"
          "violation,digits,flag,message\n");
}

/* Writes text in quotes, which are doubled inside; line breaks become blanks. */
static void csv_text(FILE *csv, const char *text) {
  fputc('"', csv);
  for (; *text; text++) {
    if (*text == '"') fputc('"', csv);
    fputc(*text == '\n' ? ' ' : *text, csv);
  }
  fputc('"', csv);
}

/* Unknown values are left empty. */
static void csv_count(FILE *csv, long int count) {
  if (count >= 0) fprintf(csv, ",%ld", count);
  else fputc(',', csv);
}

static void csv_number(FILE *csv, double number) {
  if (isnan(number)) fputc(',', csv);
  else fprintf(csv, ",%.6e", number);
}

void csv_write(FILE *csv, const Results *results) {
  for (int i = 0; i < results->nresults; i++) {
    const Result *r      = &results->result[i];
    const RaceFigures *f = &r->figures;
    csv_text(csv, results->problem);
    fprintf(csv, ",%s,%.6e", r->contestant->name, (double)r->tol);
    csv_count(csv, f->steps);
    csv_count(csv, f->rejected);
    csv_count(csv, f->rhs);
    csv_count(csv, f->jacobians);
    csv_count(csv, f->factorisations);
    csv_number(csv, f->seconds);
    csv_number(csv, r->error);
    csv_number(csv, r->violation);
    if (r->error > 0) fprintf(csv, ",%.2f", -log10(r->error));
    else fputc(',', csv);
    fprintf(csv, ",%d,", f->flag);
    csv_text(csv, f->message);
    fputc('\n', csv);
  }
  fflush(csv);
}

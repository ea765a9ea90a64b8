#include "contestants.h"
#include "result.h"

#include <math.h>

static const int digits[] = {4, 6, 8, 10};
enum { NDIGITS = sizeof digits / sizeof *digits };

/* The cost of an accuracy for a method */
typedef struct {
  const Contestant *contestant; /* NULL if no method reaches it */
  CurvePlace place;
  double cost;
} Price;

static Price price_of(const Results *results, const Contestant *c, Cost cost, int digit) {
  CurvePoint points[RACE_MOST_RESULTS];
  Price price     = {.contestant = c};
  const int count = results_curve(results, c, cost, points);
  price.place     = curve_cost(points, count, pow(10, -digit), &price.cost);
  if (price.place == CURVE_NOT_THERE) price.contestant = NULL;
  return price;
}

typedef enum { OURS, PEERS, ALL } Group;

static Price best_price(const Results *results, Group group, Cost cost, int digit) {
  Price best = {.contestant = NULL};
  for (int i = 0; contestant(i); i++) {
    if (contestant(i)->chooses) continue;
    if (group != ALL && contestant(i)->ours != (group == OURS)) continue;
    const Price price = price_of(results, contestant(i), cost, digit);
    if (price.contestant && (!best.contestant || price.cost < best.cost)) best = price;
  }
  return best;
}

static void print_cost(FILE *out, Cost cost, double value) {
  if (cost == COST_EVALUATIONS) fprintf(out, "%.0f", value);
  else if (value < 1) fprintf(out, "%.3g ms", 1e3 * value);
  else fprintf(out, "%.3g s", value);
}

/* ------------------------------------------------------------------------------ all the problems -- */

/* Two bounds have no ratio; one upper or lower bound makes the ratio a bound. */
static void print_duel(FILE *out, const Price *ours, const Price *peer) {
  const bool above = ours->contestant && ours->place == CURVE_AT_MOST;
  const bool below = peer->contestant && peer->place == CURVE_AT_MOST;
  if (!ours->contestant && !peer->contestant) fprintf(out, " - |");
  else if (!peer->contestant) fprintf(out, " only %s |", ours->contestant->name);
  else if (!ours->contestant) fprintf(out, " only %s |", peer->contestant->name);
  else if (above && below) fprintf(out, " - |");
  else
    fprintf(out, " %s%.2f (%s / %s) |",
            above   ? "<= "
            : below ? ">= "
                    : "",
            ours->cost / peer->cost, ours->contestant->name, peer->contestant->name);
}

static void print_head(FILE *out, const char *first) {
  fprintf(out, "| %s |", first);
  for (int k = 0; k < NDIGITS; k++) fprintf(out, " %d digits |", digits[k]);
  fprintf(out, "\n|---|");
  for (int k = 0; k < NDIGITS; k++) fprintf(out, "---|");
  fprintf(out, "\n");
}

static void print_duels(FILE *out, Results *const *results, int nproblems, Cost cost) {
  print_head(out, "problem");
  for (int i = 0; i < nproblems; i++) {
    fprintf(out, "| %s |", results[i]->problem);
    for (int k = 0; k < NDIGITS; k++) {
      const Price ours = best_price(results[i], OURS, cost, digits[k]);
      const Price peer = best_price(results[i], PEERS, cost, digits[k]);
      print_duel(out, &ours, &peer);
    }
    fprintf(out, "\n");
  }
}

/* ---------------------------------------------------------------------------------- one problem -- */

static bool took_part(const Results *results, const Contestant *c) {
  for (int i = 0; i < results->nresults; i++)
    if (results->result[i].contestant == c) return true;
  return false;
}

static void print_ratios(FILE *out, const Results *results, Cost cost) {
  Price best[NDIGITS];
  for (int k = 0; k < NDIGITS; k++) best[k] = best_price(results, ALL, cost, digits[k]);
  print_head(out, cost == COST_SECONDS ? "CPU time" : "evaluations of f");
  fprintf(out, "| 1.00 is |");
  for (int k = 0; k < NDIGITS; k++) {
    fprintf(out, " ");
    if (best[k].contestant) print_cost(out, cost, best[k].cost);
    else fprintf(out, "-");
    fprintf(out, " |");
  }
  fprintf(out, "\n");
  for (int i = 0; contestant(i); i++) {
    const Contestant *c = contestant(i);
    if (!took_part(results, c) || (cost == COST_EVALUATIONS && !c->same_f)) continue;
    fprintf(out, "| %s |", c->name);
    for (int k = 0; k < NDIGITS; k++) {
      const Price price = price_of(results, c, cost, digits[k]);
      if (!price.contestant) fprintf(out, " - |");
      else
        fprintf(out, " %s%.2f |", price.place == CURVE_AT_MOST ? "<= " : "",
                price.cost / best[k].cost);
    }
    fprintf(out, "\n");
  }
  fprintf(out, "\n");
}

static void print_failures(FILE *out, const Results *results) {
  bool any = false;
  for (int i = 0; i < results->nresults; i++) {
    const Result *r = &results->result[i];
    if (!r->figures.flag) continue;
    fprintf(out, "%s`%s` at %.1e: %s (%d)", any ? "; " : "Not finished: ", r->contestant->name,
            (double)r->tol, r->figures.message, r->figures.flag);
    any = true;
  }
  if (any) fprintf(out, ".\n\n");
}

static void print_problem(FILE *out, const Results *results) {
  fprintf(out, "\n### %s\n\n", results->problem);
  if (isnan(results->reference_error))
    fprintf(out, "t = 0 ... %g. Reference: none (%s); nothing can be compared.\n\n", results->t_end,
            results->origin);
  else
    fprintf(out, "t = 0 ... %g. Reference: %s, known to %.1e.\n\n", results->t_end, results->origin,
            results->reference_error);
  print_ratios(out, results, COST_SECONDS);
  print_ratios(out, results, COST_EVALUATIONS);
  print_failures(out, results);
}

/* ----------------------------------------------------------------------------------- the document -- */

static void print_settings(FILE *out) {
  fprintf(out, "\n## Methods\n\n| name | method | settings |\n|---|---|---|\n");
  for (int i = 0; contestant(i); i++) {
    const Contestant *c = contestant(i);
    const char *absent  = c->missing ? c->missing() : NULL;
    fprintf(out, "| `%s` | %s | %s |\n", c->name, c->title, absent ? absent : c->settings);
  }
}

void markdown_write(FILE *out, Results *const *results, int nproblems, const char *heading) {
  fprintf(out, "# Race\n\n%s\n\n", heading);
  fprintf(out, "Digits: -log10 of the largest absolute error of the compared components at the "
               "end. Costs are "
               "interpolated, on logarithmic scales, between the runs of a method that no other of "
               "its runs beats in both "
               "accuracy and cost; never extrapolated: `-` where the runs do not reach; `<=`, `>=` "
               "where the cheapest run "
               "is already better than asked for. Runs whose error is below ten times that of the "
               "reference do not count.\n\n");
  fprintf(out, "## Best cpodes method over best peer, CPU time\n\n");
  print_duels(out, results, nproblems, COST_SECONDS);
  fprintf(out, "\n## Best cpodes method over best peer, evaluations of f\n\nWith peers that "
               "evaluate the same f.\n\n");
  print_duels(out, results, nproblems, COST_EVALUATIONS);
  fprintf(out, "\n## All methods, relative to the best\n");
  for (int i = 0; i < nproblems; i++) print_problem(out, results[i]);
  print_settings(out);
}

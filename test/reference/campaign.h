/* Whole runs over ladders of tolerances, whose failures are results: the cost of a method, its
 * errors, and its false warnings. campaign.c has the tests that bound these. */
#ifndef CPODES_TEST_CAMPAIGN_H
#define CPODES_TEST_CAMPAIGN_H

#include "model_run.h"

enum { RADAU = ONE_STEP + 1 };
enum {
  NUM_METHODS = 4
}; /* CV_BDF, CV_ADAMS, ONE_STEP, which is DOP853 here, stiff or not, RADAU */
int campaign_method(int i);
const char *campaign_method_name(int method);

/* Tolerance i = 0, ..., n - 1 of n in equal ratios */
sunrealtype ladder(int i, int n, sunrealtype from, sunrealtype to);

typedef struct {
  int flag;          /* < 0: it failed */
  sunrealtype t;     /* time at the end */
  sunrealtype error; /* plugin_error there, or at all outputs; NaN: none */
  long int steps, f; /* evaluations of f, or of accelerations if there are more */
  int warnings;      /* number of messages if the run did not fail */
  int events;
  CPLinSol linsol; /* in use at the end */
  double seconds;  /* CPU */
  char text[300];  /* the last message */
} Outcome;

/* 0: default */
typedef struct {
  sunrealtype t_end;    /* the model's */
  CPLinSol linsol;      /* of accelerations */
  sunrealtype max_step; /* of DOP853: none */
  int most_events;      /* the run ends with this one */
  int outputs; /* equally spaced; 1: only at the end. The error is the largest at the outputs. */
  void (*event)(void *data, sunrealtype t, N_Vector y); /* called after the model's event function */
  void *data;
} CampaignOptions;

/* options: NULL: none. y: out, the state at the end; NULL: not wanted */
Outcome campaign_run(const CPPlugin *model, int method, sunrealtype tol,
                     const CampaignOptions *options, N_Vector y);

/* The runs of one model by one method */
typedef struct {
  int runs, failed, warned;
  /* sums over the errors in tolerances of the runs that did not fail */
  sunrealtype sum_of_logs, worst;
  long int steps, most_steps, most_f; /* steps: of all runs together */
  char first[400];                    /* the first failure or else warning: its run and message */
} Tally;

/* Also prints a line if CPODES_TEST_FIGURES is set. */
void tally_run(Tally *tally, const CPPlugin *model, int method, sunrealtype tol, const Outcome *run);
sunrealtype tally_mean(const Tally *tally); /* geometric, of the errors in tolerances */

/* CPODES_TEST_CAMPAIGN=full: all tolerances; else each `each`-th */
int campaign_stride(int each);

#endif

/* The phases of each contact over time, in bounded memory however often they change: bars of the
 * report. */
#ifndef CPODES_RUNNER_PHASES_H
#define CPODES_RUNNER_PHASES_H

#include "../simulation/records.h"

enum { PHASE_CHANGES = 1000 }; /* largest number of intervals of a contact */

/* A phase from t on, until the next change or the end of the run */
typedef struct {
  double t;
  RunPhase phase;
} PhaseChange;

typedef struct {
  PhaseChange *change; /* [PHASE_CHANGES] */
  int count;
} PhaseBar;

typedef struct {
  int ncontacts;
  PhaseBar *bar; /* [ncontacts] */
  /* If a contact had more intervals than PHASE_CHANGES, consecutive intervals shorter than this
   * have been merged into one of the prevailing phase; 0: none. */
  double shortest;
} Phases;

/* Returns 0, or -1 if out of memory. Call phases_free in any case. */
int phases_create(Phases *phases, int ncontacts);
void phases_free(Phases *phases);
/* Records that the contact is in this phase from t on, which must not be before the newest change. */
void phases_note(Phases *phases, int contact, double t, RunPhase phase);
/* time [NUM_PHASES]: out, how long a contact was in each phase until t_end. */
void phases_times(const Phases *phases, int contact, double t_end, double *time);

#endif

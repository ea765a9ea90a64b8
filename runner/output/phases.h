/* What each contact of a run does over time, in bounded memory however often it changes: bars of the report. */
#ifndef CPODES_RUNNER_PHASES_H
#define CPODES_RUNNER_PHASES_H

#include "../simulation/records.h"

enum { PHASE_CHANGES = 1000 }; /* most intervals of a contact */

/* From t on, until the next change or the end of the run */
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
  /* Where a contact had more intervals than PHASE_CHANGES, those that are shorter than this, and follow each other, have been merged
     into one of the phase that prevails; 0: nowhere */
  double shortest;
} Phases;

/* 0, or -1 without memory; phases_free in any case */
int phases_create(Phases *phases, int ncontacts);
void phases_free(Phases *phases);
/* From t on, which is not before the newest change, the contact is in this phase. */
void phases_note(Phases *phases, int contact, double t, RunPhase phase);
/* How long a contact was in each phase until t_end; time [NUM_PHASES]: out */
void phases_times(const Phases *phases, int contact, double t_end, double *time);

#endif

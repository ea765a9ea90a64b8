#include "phases.h"

#include <math.h>
#include <stdlib.h>

int phases_create(Phases *phases, int ncontacts) {
  *phases = (Phases){.ncontacts = ncontacts};
  if (!(phases->bar = calloc((size_t)ncontacts + 1, sizeof *phases->bar))) return -1;
  for (int i = 0; i < ncontacts; i++)
    if (!(phases->bar[i].change = calloc(PHASE_CHANGES, sizeof *phases->bar[i].change))) return -1;
  return 0;
}

void phases_free(Phases *phases) {
  for (int i = 0; phases->bar && i < phases->ncontacts; i++) free(phases->bar[i].change);
  free(phases->bar);
  *phases = (Phases){.ncontacts = 0};
}

/* An interval of length zero is dropped. */
static void add(PhaseBar *bar, double t, RunPhase phase) {
  if (bar->count > 0 && bar->change[bar->count - 1].t >= t) bar->count--;
  if (bar->count > 0 && bar->change[bar->count - 1].phase == phase) return;
  bar->change[bar->count++] = (PhaseChange){t, phase};
}

static RunPhase prevailing(const double *time) {
  int most = 0;
  for (int k = 1; k < NUM_PHASES; k++)
    if (time[k] > time[most]) most = k;
  return (RunPhase)most;
}

/* Merges intervals that are shorter than this until they reach that length, or a longer one
 * follows. The newest interval, whose end is unknown, stays. */
static void coarsen(PhaseBar *bar, double shortest) {
  const int count            = bar->count;
  const PhaseChange newest   = bar->change[count - 1];
  double time[NUM_PHASES]    = {0};
  double begin               = bar->change[0].t;
  const PhaseChange *changes = bar->change; /* add overwrites only what has been read */
  bar->count                 = 0;
  for (int i = 0; i + 1 < count; i++) {
    const PhaseChange c = changes[i];
    const double end = changes[i + 1].t, length = end - c.t;
    if (length >= shortest && c.t > begin) {
      add(bar, begin, prevailing(time));
      for (int k = 0; k < NUM_PHASES; k++) time[k] = 0;
      begin = c.t;
    }
    time[c.phase] += length;
    if (end - begin < shortest) continue;
    add(bar, begin, prevailing(time));
    for (int k = 0; k < NUM_PHASES; k++) time[k] = 0;
    begin = end;
  }
  if (newest.t > begin) add(bar, begin, prevailing(time));
  add(bar, newest.t, newest.phase);
}

void phases_note(Phases *phases, int contact, double t, RunPhase phase) {
  PhaseBar *bar = &phases->bar[contact];
  add(bar, t, phase);
  if (bar->count < PHASE_CHANGES) return;
  const double span = t - bar->change[0].t;
  phases->shortest  = fmax(phases->shortest, span / PHASE_CHANGES);
  coarsen(bar, phases->shortest);
  while (bar->count > PHASE_CHANGES / 2) coarsen(bar, phases->shortest *= 2);
}

void phases_times(const Phases *phases, int contact, double t_end, double *time) {
  const PhaseBar *bar = &phases->bar[contact];
  for (int k = 0; k < NUM_PHASES; k++) time[k] = 0;
  for (int i = 0; i < bar->count; i++) {
    const double end = i + 1 < bar->count ? bar->change[i + 1].t : t_end;
    time[bar->change[i].phase] += fmax(0, end - bar->change[i].t);
  }
}

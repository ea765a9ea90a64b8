/* The sizes by which a run is judged, and distances of states in their units.
 *
 *   lengths          the extent of the mechanism and of its motion
 *   angles           1 rad; attitudes given by quaternions as the angle of the rotation between two
 *   speeds           the largest one; at least a length or 1 rad over the duration. They are not
 *                    compared where nothing moves, or where they jump
 *   energies         what is exchanged: the largest kinetic energy, the range of the potential
 *                    energy, and the work of all else; at least the model's own size. States that are energies,
 *                    such as the work of drives, are compared with that, but not where nothing moves, nor near times
 *                    at which the state jumps, since two runs jump a little apart
 *   reactions        the largest one, or a larger one that exchanges these energies along the extent or
 *                    through 1 rad. They are not compared where velocities are not
 *   other units      the range of all components in that unit, or their largest absolute value
 *
 * All of them come from the model and the states at the ends of the run's steps and at outputs. */
#ifndef CPODES_RUNNER_SCALES_H
#define CPODES_RUNNER_SCALES_H

#include "../output/rows.h"
#include "observe.h"

typedef struct {
  Scales scales;
  long n;
  double *scale;     /* [n] of each component */
  int *unit;         /* [n] its unit in scales.unit; -1: it is not compared */
  bool *in_attitude; /* [n] does it belong to a quaternion? */
  long *attitude;    /* [nattitudes] first components of quaternions */
  int nattitudes;
  bool speeds_jump; /* do velocities jump? Then they are not compared, and reactions neither */
  double *numbers;  /* [3 nquantities] for the arrays of scales */
  /* [n] Is it an energy, which is not compared within the time `apart` of one of the jumps? */
  bool *is_energy;
  const Rows *jumps; /* not owned */
  double apart;
  /* Reactions -A^T lambda follow the n components of a state. They are unique, also where multipliers
   * are not, and finite in singular positions. */
  Observer *observer;
  N_Vector y;
  long nreactions;  /* of velocities, or 0: they are not compared */
  double *reaction; /* [nreactions] the scale of each */
  Rows full; /* if they are compared: the track with reactions in some of its rows, NaN in others */
} Measure;

/* Makes room for the states of a run. Returns 0, or -1 if out of memory. Call
 * rows_free in any case. */
int track_begin(Rows *track, long n);
/* Keeps the state y at the start, at the end of each step, or at an output within one. */
void track_take(Rows *track, sunrealtype t, N_Vector y);
/* After an event at t: if the state has changed, adds t to the jumps (rows of one column), and removes the row of this time from the track,
 * since another run finds the event a little earlier or later, and may have either state at t. Returns whether the state has jumped by more
 * than the tolerances. */
bool track_meet(Rows *track, Rows *jumps, sunrealtype t, N_Vector y, double rtol, double atol);

/* Computes all sizes from the track of a run, whose rows are ended, and its jumps, which must live as long. jumped: the state has jumped at an
 * event whose time depends on the motion. Returns 0, or -1 if out of memory. Call measure_free in any case. */
int measure_create(Measure *measure, Observer *observer, const RunInfo *info, const Rows *track,
                   const Rows *jumps, bool jumped);
void measure_free(Measure *measure);

/* reaction [nreactions] <- those at the state y [n], or NaN where they cannot be evaluated */
void measure_reactions(const Measure *measure, double t, const double *y, double *reaction);

/* Finds the component of a and b [n + nreactions], of the first `components` ones, whose distance is
 * largest in units of its scale. Reactions that are NaN are not compared. */
Distance measure_distance(const Measure *measure, const double *a, const double *b, long components,
                          double t);

#endif

/* A motion as polynomials of its steps, for runs backwards. At most some steps are in memory: the run is cut into segments,
 * whose starts (t, y) are kept, and a segment that is needed again is integrated again from its start. */
#ifndef CPODES_TAPE_H
#define CPODES_TAPE_H

#include "sens_impl.h"

/* Orders are at most 13 (RADAU13). */
enum { CP_TAPE_NODES = 14 };

typedef struct {
  CPIntegrator mem;     /* whose motion it is */
  const char *function; /* for messages */
  long int most;        /* steps of a segment */
  /* the starts of the segments, of which the first `nsegments` are known; then the end of the run */
  long int nsegments, room_segments;
  sunrealtype *begins, *starts, end; /* [room_segments], [room_segments n] */
  /* the segment in memory: its steps from t_i to t_(i+1), their first values and numbers of nodes */
  long int segment, nsteps, room_steps,
      newest;          /* newest: the step of the latest call of cpTapeState */
  sunrealtype *t;      /* [room_steps + 1] */
  size_t *first;       /* [room_steps + 1] */
  sunrealtype *values; /* [room_values], by nodes */
  size_t n, room_values;
  sunrealtype node[CP_TAPE_NODES]; /* theta_0 ... theta_m of the step that was asked for last */
  int m;
  N_Vector y;  /* [n] workspace */
  int ordered; /* +1 or -1: the direction of the run */
} CPTape;

/* The run starts at the state of mem, which has taken no step, towards t1. Functions return 0 or a code that has been
 * reported. */
int cpTapeCreate(CPTape *tape, CPIntegrator mem, sunrealtype t1, long int most,
                 const char *function);
void cpTapeFree(CPTape *tape);
/* Records the newest step, which began at t. */
int cpTapeRecord(CPTape *tape, sunrealtype t);
/* Brings a segment into memory, by at most mxsteps steps from its start. */
int cpTapeLoad(CPTape *tape, long int segment, long int mxsteps);
/* Returns the number of steps of the segment in memory that end before t, or with the part of the step in which t is; and the time of
 * such a number. */
long int cpTapeSteps(CPTape *tape, sunrealtype t);
sunrealtype cpTapeIndex(CPTape *tape, sunrealtype t);
sunrealtype cpTapeTime(const CPTape *tape, sunrealtype index);
/* rate [n] <- the derivative of these polynomials */
void cpTapeRate(CPTape *tape, sunrealtype t, sunrealtype *rate);
/* y <- the state at t, in the segment in memory, as the polynomials have it */
void cpTapeState(CPTape *tape, sunrealtype t, N_Vector y);

#endif

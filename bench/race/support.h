/* Shared by the contestants: the clock, counters of CVODES, and a model as an ODE. */
#ifndef CPODES_BENCH_RACE_SUPPORT_H
#define CPODES_BENCH_RACE_SUPPORT_H

#include "contestant.h"
#include <cvodes/cvodes.h>

/* Far above any useful run: ends runs that progress too slowly */
enum { RACE_MAX_STEPS = 5000000 };

/* CPU time of this process, all threads [s] */
double cpu_seconds(void);

/* A failed run: sets flag (not 0) and message, in printf's format, and keeps the figures. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void figures_fail(RaceFigures *figures, int flag, const char *format, ...);

/* Steps, rejections, evaluations of f (including those for differences), Jacobians and set-ups of
 * the linear solver, from CVODES' counters */
void figures_of_cvodes(void *cvode_mem, bool newton, RaceFigures *figures);

/* Do the same equations hold from 0 to the end, without events and kinks? */
bool race_is_smooth(const CPPlugin *model);
/* Does it have a CPMech with matrices M and A, q' = u, and no auxiliary states? */
bool race_has_matrices(const CPPlugin *model);
/* Drops the messages of cpodes, since the newest one can be queried. */
void race_quiet(int code, const char *function, const char *message, void *data);

/* y' = f(t, y): the model's f, otherwise (u, u') with u' by CPMechAccelerations */
typedef struct {
  const CPPlugin *model;
  CPMech mech; /* if NULL, f is the model's */
  long int evaluations;
} RaceOde;

bool race_ode_takes(const CPPlugin *model);
/* Returns 0, or -1. */
int race_ode_create(const CPPlugin *model, RaceOde *ode);
void race_ode_free(RaceOde *ode);
/* A CVRhsFn with a RaceOde as user_data */
int race_ode_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *ode);

/* The projector of the model's c and G. c [m]: only cloned; own: set to a matrix that the caller
 * destroys after the projector, or NULL */
CPProjector race_projector(const CPPlugin *model, N_Vector c, SUNMatrix *own);

#endif

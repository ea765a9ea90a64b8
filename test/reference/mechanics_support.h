/* Shared by the reference tests of mechanical systems: the planar mechanisms as CPMechs, and runs
 * along their tables. A failure of the set-up fails the running test. */
#ifndef CPODES_TEST_MECHANICS_SUPPORT_H
#define CPODES_TEST_MECHANICS_SUPPORT_H

#include "models/andrews.h"
#include "models/flexible_crank.h"
#include "reference.h"
#include "support/mech_run.h"

enum { MAX_NU = 7, MAX_NA = 6 };

/* The first ones are those of MechanismId. */
typedef enum { ANDREWS = NUM_MECHANISMS, FLEXIBLE_CRANK, NUM_MECH_CASES } MechCaseId;

typedef struct {
  const char *name;
  CPEquations model;
  int nu, na, n; /* velocities, multipliers, length of y */
  union {
    Pendulum pendulum;
    SliderCrank slider_crank;
    CarAxis car_axis;
    KnifeEdge knife_edge;
    FlexibleCrank flexible_crank;
  } par; /* the functions' user_data is &par */
  int nsamples;
  Sample samples[MAX_SAMPLES]; /* y, then udot in nudot entries and lambda in the rest of more */
  int nudot, nlambda;          /* 0: not in the table */
  sunrealtype lambda_sign;     /* of the table against CPMech's */
  sunrealtype scale[MAX_N];    /* 1 + largest |y_i| of the table */
  /* Condition: a perturbation of the state on the manifold, at any time, of size d grows to at most
   * condition * d by the end of the table, in the norm max |y_i| / scale_i. Condition by positions:
   * the same for the perturbation of positions that results (see mechanics_support.c). */
  sunrealtype condition, condition_of_positions;
} MechCase;

MechCase mech_case(int id);

/* A run; members that are 0 have their defaults */
typedef struct {
  int lmm; /* CV_BDF: structured Newton; CV_ADAMS: fixed point */
  sunrealtype tol;
  CPMechMetric metric;
  CPMechNewton newton;
  CPLinSol linsol;
  int maxord;
  sunrealtype tau;    /* CPMechSetErrorTimeScale */
  int by_differences; /* v and b, and partial derivatives */
  sunrealtype difference_time;
  int without_projection;
} PlanarOptions;

/* At the table's start; the case must outlive the run. */
MechRun *planar_run_create(MechCase *c, const PlanarOptions *options);
/* Of any model, from y0, with its user_data */
MechRun *planar_run_of(const CPEquations *model, void *user_data, const sunrealtype *y0,
                       const PlanarOptions *options);

/* max_i |y_i - exact_i| / scale_i over the first n entries */
sunrealtype scaled_error(const MechCase *c, int n, N_Vector y, const sunrealtype *exact);

typedef struct {
  sunrealtype error, positions; /* largest over the rows of the table, all of y and q alone */
  sunrealtype lambda;           /* the same of the multipliers: absolute */
  sunrealtype violation;        /* largest residual of positions and velocities */
  long int steps;
} PlanarFigures;

/* Integrates over the table. */
PlanarFigures planar_run_over_table(MechRun *run, const MechCase *c);

/* Bound on the scaled error after so many steps (trajectories.c), for a condition */
sunrealtype mech_error_bound(const MechCase *c, sunrealtype condition, sunrealtype tol,
                             long int steps);

#endif

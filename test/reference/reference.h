/* Shared by the reference tests: mechanisms with known trajectories, and runs of cpodes along them.
 * A failure of the set-up fails the running test. */
#ifndef CPODES_TEST_REFERENCE_H
#define CPODES_TEST_REFERENCE_H

#include "models/car_axis.h"
#include "models/knife_edge.h"
#include "models/pendulum.h"
#include "models/slider_crank.h"
#include "support/support.h"
#include <cpodes/cpodes.h>

/* ---- mechanisms ---- */

enum { MAX_N = 14, MAX_M = 4, MAX_MORE = 13, MAX_SAMPLES = 64 };

/* A state of the reference trajectory, followed by the further columns of its table (accelerations,
 * multipliers) */
typedef struct {
  sunrealtype t, y[MAX_N], more[MAX_MORE];
} Sample;

typedef enum { PENDULUM, SLIDER_CRANK, CAR_AXIS, KNIFE_EDGE, NUM_MECHANISMS } MechanismId;

typedef struct {
  const char *name;
  int n, m; /* lengths of y and c */
  CVRhsFn f;
  CPConstraintFn c;
  CPConstraintJacFn jac;
  union {
    Pendulum pendulum;
    SliderCrank slider_crank;
    CarAxis car_axis;
    KnifeEdge knife_edge;
  } par; /* their user_data is &par */
  sunrealtype y0[MAX_N];
  int nsamples; /* rows of the table, in the order of t, the first at t = 0 */
  Sample samples[MAX_SAMPLES];
  /* Condition: a perturbation of the state on the manifold, at any time, of size d grows to at most
     condition * d in the largest norm by the end of the table (see reference.c). */
  sunrealtype condition;
} Mechanism;

/* The mechanism with the parameters and the samples of its table; the pendulum with g = 9.81 up to
   t = 10 */
Mechanism mechanism(MechanismId id);

/* Rows of a table test/reference/<file>: those whose first field is `rows` (NULL: there is no such
   field). samples [max]: out. Returns their number. */
int read_table(const char *file, const char *rows, int n, Sample *samples, int max);

/* ---- runs ---- */

typedef struct {
  int lmm;         /* CV_BDF: Newton with a dense matrix; CV_ADAMS: fixed point */
  sunrealtype tol; /* relative and absolute */
  CPLinSol linsol; /* of the projector */
  CPNorm norm;
  int difference_quotients; /* 0: the mechanism's Jacobian */
  sunrealtype ctol;         /* of each constraint; 0: automatic scaling */
} Options;

typedef struct {
  CPIntegrator cpode;
  void *cvode_mem; /* the memory that cpode uses */
  CPProjector projector;
  N_Vector y, c; /* newest output; workspace */
  sunrealtype t; /* of y */
  SUNMatrix A, G;
  SUNLinearSolver LS;
  SUNNonlinearSolver fixed_point;
} Run;

/* A run from the mechanism's start. mech and options must outlive only this call; mech->par must
 * outlive the run. */
Run run_create(Mechanism *mech, const Options *options);
/* The same without projection: cvode_mem is plain CVODES, cpode and projector are NULL. */
Run run_create_plain(Mechanism *mech, const Options *options);
void run_free(Run *run);

/* Integrates to t; fails the test on an error. */
void run_to(Run *run, sunrealtype t);
/* One internal step towards t_end; returns 0 when t_end has been passed. */
int run_step(Run *run, sunrealtype t_end);
long int run_steps(const Run *run);

/* max_i |y_i - exact_i| */
sunrealtype error_against(N_Vector y, const sunrealtype *exact);

/* Integrates over the table and returns the largest error at its rows. */
sunrealtype run_over_table(Run *run, const Mechanism *mech);

/* Largest |c_i| at (t, y), and each c_i in run->c */
sunrealtype violation_at(Run *run, Mechanism *mech, sunrealtype t, N_Vector y);

const char *method_name(int lmm);

/* Is CPODES_TEST_FIGURES set in the environment? The tests then print what they measure. */
int wants_figures(void);

#endif

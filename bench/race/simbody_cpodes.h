/* Simbody's CPodes behind plain arrays. Its library exports functions of the same names as cpodes' and SUNDIALS' own
 * (CPodeInit, N_VScale), of other versions: so this is a module, loaded at run time with symbols of its own, that calls
 * nothing of theirs. */
#ifndef CPODES_BENCH_SIMBODY_CPODES_H
#define CPODES_BENCH_SIMBODY_CPODES_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  /* in */
  int n;             /* length of y */
  int adams;         /* Adams, else BDF */
  int newton;        /* Newton with a dense df/dy by differences, else functional iteration */
  int max_order;     /* 0: its default */
  int max_steps;     /* at most */
  double t_end, tol; /* rtol = atol = tol */
  void *data; /* handed to the functions, which return 0; > 0: a smaller step may help; < 0: give up */
  int (*f)(double t, const double *y, double *ydot, void *data);
  /* correction [n]: out, y + correction satisfies the constraints to eps; error [n]: in, out, projected */
  int (*project)(double t, const double *y, double eps, double *correction, double *error,
                 void *data);
  /* in, out */
  double *y; /* [n], at 0 and at t */
  /* out */
  int flag;          /* 0; < 0: its code */
  char message[160]; /* its newest message */
  double t;
  int steps, error_fails, solve_fails, projection_fails, jacobians, setups;
} SimbodyRun;

typedef void SimbodyIntegrate(SimbodyRun *run);
SimbodyIntegrate simbody_integrate;

#ifdef __cplusplus
}
#endif
#endif

/* Simbody's CPodes behind plain arrays. Its library exports functions with the names of cpodes and
 * SUNDIALS (CPIntegratorInit, N_VScale), of other versions. Therefore this is a module, loaded at run time
 * with its own symbols, which calls none of ours. */
#ifndef CPODES_BENCH_SIMBODY_CPODES_H
#define CPODES_BENCH_SIMBODY_CPODES_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  /* in */
  int n;             /* length of y */
  int adams;         /* 1: Adams, 0: BDF */
  int newton;        /* 1: Newton with a dense df/dy by differences, 0: functional iteration */
  int max_order;     /* 0: its default */
  int max_steps;     /* maximum number */
  double t_end, tol; /* rtol = atol = tol */
  /* passed to the functions, which return 0; > 0: a smaller step may help; < 0: give up */
  void *data;
  int (*f)(double t, const double *y, double *ydot, void *data);
  /* y + correction [n], the result, satisfies the constraints to eps; error [n] is projected in
   * place */
  int (*project)(double t, const double *y, double eps, double *correction, double *error,
                 void *data);
  /* in, out */
  double *y; /* [n], at 0 and at t */
  /* out */
  int flag;          /* 0, or its negative code */
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

/* A method in the race: an integrator with its settings. Each is one constant table in its file and
 * one line in contestants.c. */
#ifndef CPODES_BENCH_CONTESTANT_H
#define CPODES_BENCH_CONTESTANT_H

#include <models/model.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  /* 0: reached t_end; otherwise the code of the failure, and the figures are those up to it */
  int flag;
  char message[200];
  sunrealtype t;  /* reached */
  long int steps; /* accepted */
  long int rejected;
  long int rhs; /* all evaluations of f, or of the residual, including those for differences */
  long int jacobians, factorisations;
  double seconds; /* CPU time of the integration alone, without set-up of objects; threads: sum */
} RaceFigures;

typedef struct Contestant Contestant;
struct Contestant {
  const char *name;     /* "ida-klu" */
  const char *title;    /* "IDA, stabilised index 2, KLU" */
  const char *settings; /* its best settings, in words */
  bool same_f; /* does it evaluate the f of the ODE form, so that evaluations can be compared? */
  bool ours;   /* is it a method of this library, or a peer? */
  /* it is one of our methods, as CPMechSuggestMethod chooses it: it cannot be the best one */
  bool chooses;
  /* NULL if it can run here, otherwise the reason ("Simbody is not installed") */
  const char *(*missing)(void);
  /* Can it solve this model? */
  bool (*takes)(const CPPlugin *model);
  /* One run from 0 to t_end with rtol = atol = tol; y [n]: the resulting state (q, u, z) at
   * figures->t. Fills figures. */
  void (*solve)(const Contestant *self, const CPPlugin *model, sunrealtype t_end, sunrealtype tol,
                N_Vector y, RaceFigures *figures);
  /* Parameters of contestants that share a function solve */
  int lmm;           /* CV_BDF, CV_ADAMS */
  int max_order;     /* CVodeSetMaxOrd; 0: the default */
  sunrealtype tau;   /* CPMechSetErrorTimeScale */
  const char *table; /* the method of CPIntegratorCreate, unless the contestant chooses */
  bool sparse;       /* KLU? */
  bool hooked;       /* CVODES with its projection hook? */
};

#ifdef __cplusplus
}
#endif
#endif

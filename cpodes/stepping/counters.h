/* Counters of an integrator; sessions add those of several integrators. */
#ifndef CPODES_STEPPING_COUNTERS_H
#define CPODES_STEPPING_COUNTERS_H

#include "cpodes/base/object.h"

/* Counters since CPIntegratorSetSens or CPSensReInit. */
typedef struct {
  long int nproj;      /* sensitivities projected, one by one */
  long int nprojfails; /* failed projections, for which the step was rejected */
  long int ntakenback; /* pending Adams corrections taken back */
  long int nsetups;    /* factorisations for these projections */
  long int ncp;        /* evaluations of dc/dp, by the user's function or by differences */
} CPIntegratorSensStats;

/* Counters since CPIntegratorInit or CPIntegratorReInit. Those that a method does not have are 0. */
typedef struct {
  long int nst;       /* steps taken */
  long int nattempts; /* steps attempted */
  long int netf;      /* attempts rejected by the error test */
  long int nrhsfails; /* attempts rejected because f failed recoverably (one-step methods) */
  long int nsolvefails; /* attempts rejected because the nonlinear solver did not converge; with BDF and ADAMS for any
                             reason but the error test and the projection */
  long int nfe;        /* evaluations of f, including those for output and differences */
  long int nfe_output; /* evaluations of f for interpolation (output, roots) */
  long int njev;       /* Jacobians df/dy */
  long int nlinsetups; /* factorisations of iteration matrices, real and complex */
  long int nni;        /* iterations of the nonlinear solver */
  long int nlureal;    /* factorisations of real matrices (RADAU) */
  long int nlucomplex; /* factorisations of complex matrices (RADAU) */
  long int nge;        /* evaluations of root functions */
  long int nproj;      /* step attempts that were projected */
  long int nskipped;   /* step attempts left unprojected (frequency, small violation) */
  long int nerrproj;   /* error estimates projected; DOP853 has two */
  long int nprojfails; /* failed projections, for which the step was rejected */
  long int nlargecorr; /* nprojfails whose correction was above its bound */
  long int ntakenback; /* pending Adams corrections taken back */
  long int noutputs;   /* projected outputs and projected states for roots */
  long int nce;        /* evaluations of c for the steps, without difference quotients */
  long int nje;        /* evaluations of G for the steps */
  long int nsetups;    /* factorisations for the steps' projections */
  long int niters;     /* Newton corrections of the steps' projections */
  sunrealtype hfirst;  /* first step */
  sunrealtype hlast;   /* newest step */
  sunrealtype hnext;   /* size of the next attempt */
  sunrealtype hmax;    /* the largest step that has been set, 0: any */
  sunrealtype t;       /* time reached */
  sunrealtype violation; /* after the newest projection, in its own measure, or a bound on that (RADAU on
                              a CPMech); 0 if it is the user's */
  sunrealtype correction;    /* WRMS norm of the newest correction */
  sunrealtype maxcorrection; /* largest WRMS norm of a correction that was taken */
  CPIntegratorSensStats sens;
} CPIntegratorStats;

static const CPCounter cpIntegratorCounters[] = {
    CP_STAT(CPIntegratorStats, nst, "steps"),
    CP_STAT(CPIntegratorStats, nattempts, "step_attempts"),
    CP_STAT(CPIntegratorStats, netf, "err_test_fails"),
    CP_STAT(CPIntegratorStats, nrhsfails, "rhs_fails"),
    CP_STAT(CPIntegratorStats, nsolvefails, "nonlin_conv_fails"),
    CP_STAT(CPIntegratorStats, nfe, "rhs_evals"),
    CP_STAT(CPIntegratorStats, nfe_output, "rhs_evals_output"),
    CP_STAT(CPIntegratorStats, njev, "jac_evals"),
    CP_STAT(CPIntegratorStats, nlinsetups, "lin_setups"),
    CP_STAT(CPIntegratorStats, nni, "nonlin_iters"),
    CP_STAT(CPIntegratorStats, nlureal, "real_factorizations"),
    CP_STAT(CPIntegratorStats, nlucomplex, "complex_factorizations"),
    CP_STAT(CPIntegratorStats, nge, "root_evals"),
    CP_STAT(CPIntegratorStats, nproj, "projections"),
    CP_STAT(CPIntegratorStats, nskipped, "skipped_projections"),
    CP_STAT(CPIntegratorStats, nerrproj, "err_projections"),
    CP_STAT(CPIntegratorStats, nprojfails, "projection_fails"),
    CP_STAT(CPIntegratorStats, nlargecorr, "large_corrections"),
    CP_STAT(CPIntegratorStats, ntakenback, "corrections_taken_back"),
    CP_STAT(CPIntegratorStats, noutputs, "output_projections"),
    CP_STAT(CPIntegratorStats, nce, "constraint_evals"),
    CP_STAT(CPIntegratorStats, nje, "constraint_jac_evals"),
    CP_STAT(CPIntegratorStats, nsetups, "projection_setups"),
    CP_STAT(CPIntegratorStats, niters, "projection_iters"),
    CP_STAT(CPIntegratorStats, hfirst, "init_step"),
    CP_STAT(CPIntegratorStats, hlast, "last_step"),
    CP_STAT(CPIntegratorStats, hnext, "current_step"),
    CP_STAT(CPIntegratorStats, hmax, "max_step"),
    CP_STAT(CPIntegratorStats, t, "current_time"),
    CP_STAT(CPIntegratorStats, violation, "violation"),
    CP_STAT(CPIntegratorStats, correction, "correction"),
    CP_STAT(CPIntegratorStats, maxcorrection, "max_correction"),
    CP_STAT(CPIntegratorStats, sens.nproj, "sens_projections"),
    CP_STAT(CPIntegratorStats, sens.nprojfails, "sens_projection_fails"),
    CP_STAT(CPIntegratorStats, sens.ntakenback, "sens_corrections_taken_back"),
    CP_STAT(CPIntegratorStats, sens.nsetups, "sens_projection_setups"),
    CP_STAT(CPIntegratorStats, sens.ncp, "sens_constraint_evals"),
    {NULL, 0, CP_OF_INT}};

#endif

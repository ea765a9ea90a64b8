/* Counters of objects by members, read by their names. */
#ifndef MODELS_COUNTERS_H
#define MODELS_COUNTERS_H

#include <cpodes/cpodes_contact.h>
#include <cpodes/cpodes_sens.h>
#include <cpodes/cpodes_session.h>

static inline double counter_of(CPObject object, const char *name) {
  sunrealtype value = 0.0;
  return CPObjectGetStat(object, name, &value) ? -1.0 : value;
}

typedef struct {
  long int nst, nattempts, netf, nrhsfails, nsolvefails, nfe, nfe_output, njev, nlinsetups, nni,
      nlureal, nlucomplex, nge, nproj, nskipped, nerrproj, nprojfails, nlargecorr, ntakenback,
      noutputs, nce, nje, nsetups, niters;
  sunrealtype hfirst, hlast, hnext, t, violation, correction, maxcorrection;
} IntegratorCounters;

/* Returns 0, or a code. */
static inline int integrator_counters_of(CPObject object, IntegratorCounters *s) {
  *s = (IntegratorCounters){0};
  sunrealtype probe;
  const int flag = CPObjectGetStat(object, "steps", &probe);
  if (flag) return flag;
  s->nst           = (long int)counter_of(object, "steps");
  s->nattempts     = (long int)counter_of(object, "step_attempts");
  s->netf          = (long int)counter_of(object, "err_test_fails");
  s->nrhsfails     = (long int)counter_of(object, "rhs_fails");
  s->nsolvefails   = (long int)counter_of(object, "nonlin_conv_fails");
  s->nfe           = (long int)counter_of(object, "rhs_evals");
  s->nfe_output    = (long int)counter_of(object, "rhs_evals_output");
  s->njev          = (long int)counter_of(object, "jac_evals");
  s->nlinsetups    = (long int)counter_of(object, "lin_setups");
  s->nni           = (long int)counter_of(object, "nonlin_iters");
  s->nlureal       = (long int)counter_of(object, "real_factorizations");
  s->nlucomplex    = (long int)counter_of(object, "complex_factorizations");
  s->nge           = (long int)counter_of(object, "root_evals");
  s->nproj         = (long int)counter_of(object, "projections");
  s->nskipped      = (long int)counter_of(object, "skipped_projections");
  s->nerrproj      = (long int)counter_of(object, "err_projections");
  s->nprojfails    = (long int)counter_of(object, "projection_fails");
  s->nlargecorr    = (long int)counter_of(object, "large_corrections");
  s->ntakenback    = (long int)counter_of(object, "corrections_taken_back");
  s->noutputs      = (long int)counter_of(object, "output_projections");
  s->nce           = (long int)counter_of(object, "constraint_evals");
  s->nje           = (long int)counter_of(object, "constraint_jac_evals");
  s->nsetups       = (long int)counter_of(object, "projection_setups");
  s->niters        = (long int)counter_of(object, "projection_iters");
  s->hfirst        = counter_of(object, "init_step");
  s->hlast         = counter_of(object, "last_step");
  s->hnext         = counter_of(object, "current_step");
  s->t             = counter_of(object, "current_time");
  s->violation     = counter_of(object, "violation");
  s->correction    = counter_of(object, "correction");
  s->maxcorrection = counter_of(object, "max_correction");
  return 0;
}

typedef struct {
  long int nproj, nprojfails, ntakenback, nsetups, ncp;
} SensCounters;

/* Returns 0, or a code. */
static inline int sens_counters(CPIntegrator object, SensCounters *s) {
  *s = (SensCounters){0};
  sunrealtype probe;
  const int flag = CPObjectGetStat(CP_OBJECT(object), "sens_projections", &probe);
  if (flag) return flag;
  s->nproj      = (long int)counter_of(CP_OBJECT(object), "sens_projections");
  s->nprojfails = (long int)counter_of(CP_OBJECT(object), "sens_projection_fails");
  s->ntakenback = (long int)counter_of(CP_OBJECT(object), "sens_corrections_taken_back");
  s->nsetups    = (long int)counter_of(CP_OBJECT(object), "sens_projection_setups");
  s->ncp        = (long int)counter_of(CP_OBJECT(object), "sens_constraint_evals");
  return 0;
}

typedef struct {
  long int nproj, nskipped, ntangent, niters, nfails, nce, nceDQ, nje, nsetups, nfloor, nli,
      nlinsolves, nprods, npsolves, rank, nlevels;
  CPLinSol linsol;
} ProjectorCounters;

/* Returns 0, or a code. */
static inline int projector_counters(CPProjector object, ProjectorCounters *s) {
  *s = (ProjectorCounters){0};
  sunrealtype probe;
  const int flag = CPObjectGetStat(CP_OBJECT(object), "projections", &probe);
  if (flag) return flag;
  s->nproj      = (long int)counter_of(CP_OBJECT(object), "projections");
  s->nskipped   = (long int)counter_of(CP_OBJECT(object), "skipped_projections");
  s->ntangent   = (long int)counter_of(CP_OBJECT(object), "vector_projections");
  s->niters     = (long int)counter_of(CP_OBJECT(object), "iters");
  s->nfails     = (long int)counter_of(CP_OBJECT(object), "fails");
  s->nce        = (long int)counter_of(CP_OBJECT(object), "constraint_evals");
  s->nceDQ      = (long int)counter_of(CP_OBJECT(object), "constraint_evals_dq");
  s->nje        = (long int)counter_of(CP_OBJECT(object), "constraint_jac_evals");
  s->nsetups    = (long int)counter_of(CP_OBJECT(object), "setups");
  s->nfloor     = (long int)counter_of(CP_OBJECT(object), "accepted_at_roundoff");
  s->nli        = (long int)counter_of(CP_OBJECT(object), "krylov_iters");
  s->nlinsolves = (long int)counter_of(CP_OBJECT(object), "krylov_solves");
  s->nprods     = (long int)counter_of(CP_OBJECT(object), "jac_products");
  s->npsolves   = (long int)counter_of(CP_OBJECT(object), "prec_solves");
  s->rank       = (long int)counter_of(CP_OBJECT(object), "rank");
  s->nlevels    = (long int)counter_of(CP_OBJECT(object), "levels");
  s->linsol     = (CPLinSol)counter_of(CP_OBJECT(object), "linear_solver");
  return 0;
}

typedef struct {
  long int nM, nA, nf, nb, nv, np, nudot, nkkt, nlambda, npartials, nDQ, nnewton, nprojfact, rank,
      unique;
  CPLinSol linsol;
  CPMechNewton newton;
  struct {
    long int rank, unique;
    sunrealtype kinetic, power, position, velocity, acceleration, norms;
  } last;
} MechCounters;

/* Returns 0, or a code. */
static inline int mech_counters(CPMech object, MechCounters *s) {
  *s = (MechCounters){0};
  sunrealtype probe;
  const int flag = CPObjectGetStat(CP_OBJECT(object), "mass_evals", &probe);
  if (flag) return flag;
  s->nM                = (long int)counter_of(CP_OBJECT(object), "mass_evals");
  s->nA                = (long int)counter_of(CP_OBJECT(object), "constraint_matrix_evals");
  s->nf                = (long int)counter_of(CP_OBJECT(object), "force_evals");
  s->nb                = (long int)counter_of(CP_OBJECT(object), "acceleration_constraint_evals");
  s->nv                = (long int)counter_of(CP_OBJECT(object), "velocity_constraint_evals");
  s->np                = (long int)counter_of(CP_OBJECT(object), "position_constraint_evals");
  s->nudot             = (long int)counter_of(CP_OBJECT(object), "accelerations");
  s->nkkt              = (long int)counter_of(CP_OBJECT(object), "kkt_factorizations");
  s->nlambda           = (long int)counter_of(CP_OBJECT(object), "multiplier_iters");
  s->npartials         = (long int)counter_of(CP_OBJECT(object), "partials_evals");
  s->nDQ               = (long int)counter_of(CP_OBJECT(object), "evals_dq");
  s->nnewton           = (long int)counter_of(CP_OBJECT(object), "newton_factorizations");
  s->nprojfact         = (long int)counter_of(CP_OBJECT(object), "projection_factorizations");
  s->rank              = (long int)counter_of(CP_OBJECT(object), "rank");
  s->unique            = (long int)counter_of(CP_OBJECT(object), "unique_multipliers");
  s->linsol            = (CPLinSol)counter_of(CP_OBJECT(object), "kkt_solver");
  s->newton            = (CPMechNewton)counter_of(CP_OBJECT(object), "newton_solver");
  s->last.rank         = (long int)counter_of(CP_OBJECT(object), "last_rank");
  s->last.unique       = (long int)counter_of(CP_OBJECT(object), "last_unique_multipliers");
  s->last.kinetic      = counter_of(CP_OBJECT(object), "kinetic_energy");
  s->last.power        = counter_of(CP_OBJECT(object), "constraint_power");
  s->last.position     = counter_of(CP_OBJECT(object), "position_residual");
  s->last.velocity     = counter_of(CP_OBJECT(object), "velocity_residual");
  s->last.acceleration = counter_of(CP_OBJECT(object), "acceleration_residual");
  s->last.norms        = counter_of(CP_OBJECT(object), "norm_residual");
  return 0;
}

typedef struct {
  long int nevents, nimpacts, naccumulations, nreduced, nsolved, nnewton, nintervals,
      ninterval_steps, time_stepping;
  sunrealtype residual, interval_begin, interval_end;
} ContactCounters;

/* Returns 0, or a code. */
static inline int contact_counters(CPContact object, ContactCounters *s) {
  *s = (ContactCounters){0};
  sunrealtype probe;
  const int flag = CPObjectGetStat(CP_OBJECT(object), "events", &probe);
  if (flag) return flag;
  s->nevents         = (long int)counter_of(CP_OBJECT(object), "events");
  s->nimpacts        = (long int)counter_of(CP_OBJECT(object), "impacts");
  s->naccumulations  = (long int)counter_of(CP_OBJECT(object), "accumulations");
  s->nreduced        = (long int)counter_of(CP_OBJECT(object), "reduced_impacts");
  s->nsolved         = (long int)counter_of(CP_OBJECT(object), "problems");
  s->nnewton         = (long int)counter_of(CP_OBJECT(object), "newton_problems");
  s->residual        = counter_of(CP_OBJECT(object), "residual");
  s->nintervals      = (long int)counter_of(CP_OBJECT(object), "intervals");
  s->ninterval_steps = (long int)counter_of(CP_OBJECT(object), "interval_steps");
  s->interval_begin  = counter_of(CP_OBJECT(object), "interval_begin");
  s->interval_end    = counter_of(CP_OBJECT(object), "interval_end");
  s->time_stepping   = (long int)counter_of(CP_OBJECT(object), "time_stepping");
  return 0;
}

static inline int integrator_counters(CPIntegrator object, IntegratorCounters *s) {
  return integrator_counters_of(CP_OBJECT(object), s);
}
static inline int session_counters(CPSession object, IntegratorCounters *s) {
  return integrator_counters_of(CP_OBJECT(object), s);
}

#endif

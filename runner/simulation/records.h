/* What a run says of itself, from its process to those that listen. All numbers are doubles: they are written, not
 * computed with. */
#ifndef CPODES_RUNNER_RECORDS_H
#define CPODES_RUNNER_RECORDS_H

#include "method.h"

#include "../options.h"
#include <cpodes/cpodes_contact.h>
#include <stdbool.h>

enum {
  RUN_TEXT   = 600,
  RUN_SCALES = 8,
  RUN_CURVES = 8 /* most coordinates, velocities, multipliers that are drawn, each */
};

/* As what the model is integrated: by its CPMech, or by f and c of the ODE with invariants */
typedef enum { FORM_AUTO, FORM_MECH, FORM_ODE } RunForm;

typedef struct {
  ModelChoice model;
  Method method;
  double rtol, atol, t_end;
  double max_step;    /* 0: none; with events a 200-th of the motion */
  long outputs;       /* equally spaced, the start not counted; 0: each step */
  RunForm form;       /* AUTO: MECH where there is one */
  const char *linsol; /* its name; NULL: the default */
  const char *norm;   /* the same */
  bool forces;        /* are multipliers wanted? */
  bool drawing;       /* are the drawing's points? */
  bool steps;         /* is each step told? */
  const char *curves; /* names of those that figures show, with commas between; NULL: all, up to a number */
  bool unjudged;  /* is the error against the model's reference left out? */
  bool silent;    /* are warnings left out? */
  bool estimated; /* is the error estimated by a second run? */
} RunSettings;

/* ---- before the first sample ---- */

enum { RUN_CONTACT_NAME = 48 };
/* A contact, whose name goes from process to process by its value */
typedef struct {
  char name[RUN_CONTACT_NAME];
  long normal, tangent; /* its rows among the multipliers */
  int ntangents;
} RunContact;

typedef struct {
  const RunSettings *settings; /* form, method and all else resolved */
  char method[METHOD_NAME];    /* "DOP853, order 8" */
  long n, nq, nu, nz; /* of the state; ODE form: nq = nu = n / 2 if n is even, else nq = n */
  long nlambda;       /* multipliers told; 0: not wanted, or none */
  long np, nv;        /* position and velocity constraints; ODE form: 0, m */
  int nquantities;    /* of the type; their names are there */
  /* of the first quantities: the scale by which to judge their drift; does the motion keep them, or only not raise them? */
  double scale[RUN_SCALES];
  bool conserved[RUN_SCALES];
  bool stiff;     /* as CPMechSuggestMethod says */
  bool has_norms; /* of quaternions */
  bool known;     /* is there a reference for these parameters? */
  double reference_error;
  long ncompared;         /* components of the state in which errors are measured: the first ones */
  int npoints, nsegments; /* 0: no drawing, or not wanted */
  const int *kind;        /* [npoints], of CPModelPointKind */
  const int (*segment)[2];
  const int *segment_kind; /* [nsegments], of CPModelSegmentKind; see segment_look (view.h) */
  int nshapes;
  const CPModelShape *shape; /* [nshapes] */
  int ncontacts;
  const RunContact *contact; /* [ncontacts] */
  int narrows;               /* forces of contacts in the drawing: ncontacts, or 0 */
} RunInfo;

/* What a contact does: its CPContactPhase, or that time stepping goes through many impacts (CPContactSetTimeStepping) */
typedef enum {
  PHASE_OPEN     = CP_CONTACT_OPEN,
  PHASE_SLIDING  = CP_CONTACT_SLIDING,
  PHASE_STICKING = CP_CONTACT_STICKING,
  PHASE_STEPPED,
  NUM_PHASES
} RunPhase;

/* ---- during the run; pointers are valid during the call ---- */

/* Violations: what is left of the constraints, the largest in their own units */
typedef enum { LEVEL_POSITION, LEVEL_VELOCITY, LEVEL_NORM, LEVEL_INVARIANT, NUM_LEVELS } RunLevel;

/* "position", ...; the levels that a run has: NaN elsewhere */
const char *level_name(RunLevel level);
bool level_exists(const RunInfo *info, RunLevel level);

typedef struct {
  double t;
  const double *y;        /* [n] */
  const double *quantity; /* [nquantities] */
  const double *lambda;   /* [nlambda] */
  const double *points;   /* [3 npoints] */
  const double *arrows; /* [6 narrows] where the force of each contact acts in the drawing, and the force there */
  const double *gap;   /* [ncontacts] */
  const double *phase; /* [ncontacts], of RunPhase */
  double violation[NUM_LEVELS];
} Sample;

/* How far two runs are apart, after both: in the norm of CPModelError */
typedef struct {
  double t, distance;
} Difference;

typedef struct {
  double t, h;
  int order;
  long attempts; /* that it took, 1 if the first was good */
} Step;

typedef enum { EVENT_ROOT, EVENT_STOP, EVENT_CONTACT, EVENT_STRETCH } EventKind;
typedef struct {
  EventKind kind;
  double t;
  int root;      /* which; of contacts the number; -1: a stop, or a stretch of time stepping */
  int direction; /* of its g, -1 or 1; of a stretch 1 where it begins, -1 where it ends */
  /* ---- of a contact ---- */
  char contact[RUN_CONTACT_NAME];
  CPContactPhase before, after;
  bool struck,
      accumulated; /* Was there an impact? Does it stand for the rest of a series of them? */
} RunEvent;

/* "floor: an impact", ...; returns text */
const char *describe_event(const RunEvent *event, char *text, size_t length);
/* "open", "sliding", ... of a RunPhase */
const char *phase_name(int phase);

/* ---- at the end ---- */

/* flag of a run that could not begin: what was asked for is impossible */
enum { RUN_FLAG_USAGE = -1000 };

typedef enum { RUN_DONE, RUN_FAILED, RUN_CRASHED, RUN_INTERRUPTED, RUN_UNWRITTEN } RunEnding;

/* What a second, more accurate run says about the error of a run (estimate.h) */
typedef struct {
  bool wanted;              /* was one asked for? If not, all below is meaningless. */
  bool pending;             /* The second run is still under way. */
  char method[METHOD_NAME]; /* of the second run */
  double rtol;              /* the same */
  double error;             /* at the end, in the norm of CPModelError; NaN: not known */
  double reached; /* up to here both runs were compared: if less than the run, error is extrapolated */
  double lost;    /* from here on the runs differ by a tenth of the motion; NaN: nowhere */
  bool chaotic; /* Their distance grew exponentially until then. */
  double drift[RUN_SCALES]; /* of the first quantities in the second run, in units of their scale, as judge_drift */
  double work, seconds;   /* of the second run, as the run's own; CPU time of steps */
  bool stopped;           /* It would have cost too much. */
  char message[RUN_TEXT]; /* one line: why it did not reach the end; "" if it did */
} Estimate;

typedef struct {
  RunEnding ending;
  int flag;                             /* of the integrator, where it failed */
  char message[RUN_TEXT];               /* one line: why it did not reach its end; "" if it did */
  double t;                             /* reached */
  double seconds;                       /* CPU time of the integration alone */
  double work;                          /* its cost in evaluations of accelerations */
  long samples, events;                 /* told */
  long ncontacts;                       /* of the model */
  long impacts, accumulations, reduced; /* of contacts, as CPContactStats has them */
  long contact_events; /* times of impacts or changes of phase, each counted once */
  long stretches;      /* of time stepping */
  long steps, rejected_error, rejected_projection, rejected_rhs, rejected_solve;
  long rhs, jacobians, factorisations, projections;
  long rank;        /* of the constraints at the newest state, -1: not known */
  long constraints; /* rank is of so many */
  bool unique;      /* are the multipliers? */
  double error;     /* against the reference at the end; NaN: not known there */
  double late;      /* [s] the error has been waited for in vain; 0: not */
  Estimate estimate;
} RunResult;

/* "done", "failed", ... for programs */
const char *ending_name(RunEnding ending);
/* Attempts that were rejected, for whatever reason */
long rejections(const RunResult *result);
/* "error test: 3, projection: 1", "none" */
void describe_rejections(const RunResult *result, char *text, size_t length);

/* One line: why a run of whom (a model, a method) did not reach its end, and where. begun: had it told its RunInfo? */
void describe_ending(const char *whom, bool begun, const RunResult *result, char *text,
                     size_t length);

/* One line: "about 3e-7 (estimated)", "chaotic: digits are lost after t = 4.2 s", "not estimated: ..." */
void describe_estimate(const Estimate *estimate, char *text, size_t length);
/* Did the second run fail where the first did not? */
bool estimate_failed(const Estimate *estimate);

/* ---- who listens ---- */

/* Each function returns 0, or -1 after a complaint, which ends the run; NULL: not interested. A struct of one's own
   begins with a Listener. end is called for each that was begun, whatever happened; result holds the ending. */
typedef struct Listener Listener;
struct Listener {
  int (*begin)(Listener *self, const RunInfo *info);
  int (*sample)(Listener *self, const Sample *sample);
  int (*step)(Listener *self, const Step *step);
  int (*event)(Listener *self, const RunEvent *event);
  int (*difference)(Listener *self, const Difference *difference);
  int (*end)(Listener *self, const RunResult *result);
};

/* Names of the columns of y: "phi", "phi'", or "q0", "u0", "z0"; unit: "" where it is not known */
void component_name(const RunInfo *info, long i, char *text, size_t length);
const char *component_unit(const RunInfo *info, long i, char *text, size_t length);
const char *component_meaning(const RunInfo *info, long i);
/* As it is shown: "" for NULL and "1" */
const char *unit_text(const char *unit);
/* The same behind a number: the blank between them, or "" where there is no unit */
const char *unit_space(const char *unit);
bool is_conserved(const RunInfo *info, int quantity);
/* Is it an output, of which nothing is expected? */
bool is_output(const RunInfo *info, int quantity);
/* Name and unit of a multiplier: "pin x", "N"; of a contact's row "N floor", "F floor", if the model has no name for it; else
   "lambda0", "" */
void multiplier_name(const RunInfo *info, long i, char *text, size_t length);
const char *multiplier_unit(const RunInfo *info, long i);
/* Of contact i: "gap floor", "phase floor"; the unit of gaps, "" where the model has no units */
void gap_name(const RunInfo *info, long i, char *text, size_t length);
void contact_phase_name(const RunInfo *info, long i, char *text, size_t length);
const char *gap_unit(const RunInfo *info);
/* Are its numbers in SI units? Not where all coordinates are without unit */
bool has_units(const RunInfo *info);
/* Is it among the names, with commas between? If names is NULL, all are. */
bool is_selected(const char *names, const char *name);

enum { NUMBER_TEXT = 40 };
/* "1.25e-5", "0.5", "not known" (NaN); returns text [NUMBER_TEXT] */
const char *number_text(char *text, double value, int digits);

/* As many digits, from six on, as it takes to tell a from b, if they differ */
int digits_apart(double a, double b);

#endif

/* The records that a run sends from its process to the listeners. All numbers are doubles: they are
 * written, not used in computations. */
#ifndef CPODES_RUNNER_RECORDS_H
#define CPODES_RUNNER_RECORDS_H

#include "method.h"

#include "../options.h"
#include <cpodes/cpodes_contact.h>
#include <stdbool.h>

enum {
  RUN_TEXT = 600,
  /* The largest number of coordinates, of velocities and of multipliers that are drawn. */
  RUN_CURVES = 8
};

/* How the model is integrated: by its CPMech, or by f and c of the ODE with invariants */
typedef enum { FORM_AUTO, FORM_MECH, FORM_ODE } RunForm;

typedef struct {
  ModelChoice model;
  Method method;
  double rtol, atol, t_end;
  /* 0: none; with events, a 200th of the motion. */
  double max_step;
  /* Time stepping starts where more contact events lie within this time [s]; 0: the model's */
  long dense_events;
  double dense_time;
  long outputs;       /* equally spaced, without the start; 0: each step */
  RunForm form;       /* AUTO: MECH if available */
  const char *linsol; /* name; NULL: the default */
  const char *norm;   /* as linsol */
  bool forces;        /* include multipliers? */
  bool drawing;       /* include the drawing's points? */
  bool steps;         /* send each step? */
  /* Names of the curves in figures, separated by commas; NULL: all, up to a number. */
  const char *curves;
  bool unjudged;  /* omit the error against the model's reference? */
  bool silent;    /* omit warnings? */
  bool estimated; /* estimate the error by a second run? */
} RunSettings;

/* ---- before the first sample ---- */

enum { RUN_CONTACT_NAME = 48, RUN_EVENT_NAME = 200 };
/* A contact; it holds its name by value, since it is sent between processes */
typedef struct {
  char name[RUN_CONTACT_NAME];
  long normal, tangent; /* its rows among the multipliers */
  int ntangents;
} RunContact;

typedef struct {
  const RunSettings *settings; /* with form, method and everything else resolved */
  char method[METHOD_NAME];    /* "DOP853, order 8" */
  /* Sizes of the state. In ODE form without a CPMech, nq = nu = n / 2 if n is even, else nq = n. */
  long n, nq, nu, nz;
  long nlambda;         /* number of multipliers in samples; 0: not requested, or none */
  long np, nv;          /* position and velocity constraints; in ODE form 0 and m */
  int nquantities;      /* of the type, which has their names */
  const int *conserved; /* [nquantities] 1: conserved; 0: may only decrease, or is an output */
  bool stiff;           /* according to CPMechSuggestMethod */
  bool has_norms;       /* of quaternions */
  bool known;           /* is there a reference for these parameters? */
  double reference_error;
  /* errors are measured in this number of components of the state, from the first on */
  long ncompared;
  int npoints, nsegments; /* 0: no drawing, or not requested */
  const int *kind;        /* [npoints], of CPPluginPointKind */
  const int (*segment)[2];
  const int *segment_kind; /* [nsegments], of CPPluginSegmentKind; see segment_look (view.h) */
  int nshapes;
  const CPPluginShape *shape; /* [nshapes] */
  int ncontacts;
  const RunContact *contact; /* [ncontacts] */
  int narrows;               /* forces of contacts in the drawing: ncontacts, or 0 */
} RunInfo;

/* The phase of a contact: its CPContactPhase, or time stepping through many impacts
 * (CPContactSetTimeStepping) */
typedef enum {
  PHASE_OPEN     = CP_CONTACT_OPEN,
  PHASE_SLIDING  = CP_CONTACT_SLIDING,
  PHASE_STICKING = CP_CONTACT_STICKING,
  PHASE_CLOSED   = CP_CONTACT_CLOSED,
  PHASE_STEPPED,
  NUM_PHASES
} RunPhase;

/* ---- during the run; pointers are valid during the call ---- */

/* The constraints' residuals, the largest in their own units */
typedef enum { LEVEL_POSITION, LEVEL_VELOCITY, LEVEL_NORM, LEVEL_INVARIANT, NUM_LEVELS } RunLevel;

/* "position", ...; a run has NaN for the levels that do not exist. */
const char *level_name(RunLevel level);
bool level_exists(const RunInfo *info, RunLevel level);

typedef struct {
  double t;
  const double *y;        /* [n] */
  const double *quantity; /* [nquantities] */
  const double *lambda;   /* [nlambda] */
  const double *points;   /* [3 npoints] */
  /* [6 narrows] Place of the force of each contact in the drawing, and the force there. */
  const double *arrows;
  const double *gap;   /* [ncontacts] */
  const double *phase; /* [ncontacts], of RunPhase */
  double violation[NUM_LEVELS];
} Sample;

/* The distance of two runs, after both: the largest of all components, in units of their scales */
typedef struct {
  double t, distance;
} Difference;

typedef struct {
  double t, h;
  int order;
  long attempts; /* number of attempts, 1 if the first one succeeded */
} Step;

/* ---- after the run ---- */

enum { RUN_UNITS = 16, RUN_UNIT = 24 };

/* The sizes by which results are judged, each in its own unit: from the mechanism and the whole
 * motion, and never from what is drawn, kept, or where the origin lies (scales.h). */
typedef struct {
  double length;               /* the extent of the mechanism and of its motion [m] */
  double largest_q, largest_u; /* the largest |q_i| and |u_i|, to which error weights refer */
  int nunits;
  struct {
    char name[RUN_UNIT]; /* "m", "rad", ...; "" if it is not known */
    double scale; /* of components in this unit; the largest, if they have scales of their own */
  } unit[RUN_UNITS];
  /* [nquantities] Of conserved quantities and those that may only fall: their scale; what their own
   * tolerance explains, in their unit; and the drift of the second run in units of the scale, NaN
   * without one. */
  const double *quantity, *allowance, *tighter;
} Scales;

typedef enum {
  EVENT_ROOT,
  EVENT_STOP,
  EVENT_CONTACT,
  EVENT_TIME_STEPPING,
  EVENT_METHOD,
  EVENT_NAMED
} EventKind;
/* Why a method gives way to another one. LONG_STEPS: they reach the next restart, or no longer do (BS32). */
typedef enum { LONG_STEPS, IS_STIFF, IS_NOT_STIFF, STARTS_SINGULAR, LEFT_SINGULAR } ChangeReason;
typedef struct {
  EventKind kind;
  double t;
  /* Number of the root or of the contact; -1: a stop, an interval of time stepping, a method, or an event with a name. */
  int root;
  /* -1 or 1: of the root's g; for an interval, 1 where it begins, -1 where it ends */
  int direction;
  ChangeReason reason;       /* for a method */
  char method[METHOD_NAME];  /* from here on */
  char name[RUN_EVENT_NAME]; /* "pin released" */
  /* ---- for a contact ---- */
  char contact[RUN_CONTACT_NAME];
  CPContactPhase before, after;
  /* Was there an impact? Does it replace the rest of a series of impacts? */
  bool struck, accumulated;
} RunEvent;

/* Why the method changes: "the motion has become stiff", ... */
const char *reason_of_method(const RunEvent *event);
/* Writes "floor: an impact", ...; returns text. */
const char *describe_event(const RunEvent *event, char *text, size_t length);
/* The name of a RunPhase: "open", "sliding", ... */
const char *phase_name(int phase);

/* ---- at the end ---- */

/* The flag of a run that could not begin because its settings are impossible. */
enum { RUN_FLAG_USAGE = -1000 };

typedef enum { RUN_DONE, RUN_FAILED, RUN_CRASHED, RUN_INTERRUPTED, RUN_UNWRITTEN } RunEnding;

/* A distance between two states, in the component where it is largest in units of its scale */
typedef struct {
  double part;    /* in units of the scale; NaN: unknown */
  double error;   /* in the component's unit; of a quaternion the angle of the rotation [rad] */
  double t;       /* when */
  long component; /* of a quaternion the first one; n + j: the reaction on velocity j; -1: none */
  int unit;       /* index in Scales.unit; -1: a reaction */
} Distance;

/* The estimate of the error of a run by a second, more accurate run (estimate.h) */
typedef struct {
  bool wanted;              /* was an estimate requested? If not, the rest is meaningless. */
  bool pending;             /* is the second run still under way? */
  char method[METHOD_NAME]; /* of the second run */
  double rtol;              /* of the second run */
  double error;   /* where the comparison ends, in the norm of plugin_error; NaN: unknown */
  Distance worst; /* at any time up to `reached`, of all components */
  double part;    /* worst.part; NaN: unknown */
  double reached; /* Both runs were compared up to here. */
  double lost;    /* from here on the runs differ by a tenth of a scale; NaN: nowhere */
  /* Do two runs at tight tolerances differ by more than 1e-4 of a scale, and by how much? NaN: they
   * were not made, since the error is small, or not completed. */
  bool chaotic;
  double apart;
  double tight[2]; /* their tolerances */
  /* Of all further runs, measured as for the first; seconds: CPU time of the steps. */
  double work, seconds;
  bool stopped;           /* was it stopped because of its cost? */
  char message[RUN_TEXT]; /* one line: why it did not reach the end; "" if it did */
} Estimate;

typedef struct {
  RunEnding ending;
  int flag;                             /* of the integrator, if it failed */
  char message[RUN_TEXT];               /* one line: why it did not reach its end; "" if it did */
  double t;                             /* reached */
  double seconds;                       /* CPU time of the integration alone */
  double work;                          /* cost in units of evaluations of accelerations */
  long samples, events;                 /* number of records */
  long ncontacts;                       /* of the model */
  long impacts, accumulations, reduced; /* of contacts */
  long contact_events;                  /* number of times of impacts or changes of phase */
  long intervals;                       /* of time stepping */
  long steps, rejected_error, rejected_projection, rejected_rhs, rejected_solve;
  long rhs, jacobians, factorisations, projections;
  long rank;        /* of the constraints at the newest state; -1: unknown */
  long constraints; /* number of constraints to which rank refers */
  bool unique;      /* are the multipliers unique? */
  double error;     /* against the reference at the end; NaN: unknown there */
  Distance off;     /* the same by scales */
  double late;      /* [s] how long the error was waited for in vain, or 0 */
  Estimate estimate;
} RunResult;

/* "done", "failed", ... for programs */
const char *ending_name(RunEnding ending);
/* The number of attempts that were rejected for any reason. */
long rejections(const RunResult *result);
/* "error test: 3, projection: 1", "none" */
void describe_rejections(const RunResult *result, char *text, size_t length);

/* Writes one line: why a run of `whom` (a model, a method) did not reach its end, and where. begun:
 * was its RunInfo received? */
void describe_ending(const char *whom, bool begun, const RunResult *result, char *text,
                     size_t length);

/* Writes one line: "about 3e-7 (estimated)", "chaotic: digits are lost after t = 4.2 s", "not
 * estimated: ..." */
void describe_estimate(const Estimate *estimate, char *text, size_t length);
/* Did the second run fail where the first one did not? */
bool estimate_failed(const Estimate *estimate);

/* ---- listeners ---- */

/* Each function returns 0, or -1 after a complaint, which ends the run; NULL: not interested. A
 * listener's own struct begins with a Listener. end is called for each listener that has begun,
 * whatever happened; result holds the ending. */
typedef struct Listener Listener;
struct Listener {
  int (*begin)(Listener *self, const RunInfo *info);
  int (*sample)(Listener *self, const Sample *sample);
  int (*step)(Listener *self, const Step *step);
  int (*event)(Listener *self, const RunEvent *event);
  /* after the run, and again with the estimate; never if the run did not end by itself */
  int (*scales)(Listener *self, const Scales *scales);
  int (*difference)(Listener *self, const Difference *difference);
  int (*end)(Listener *self, const RunResult *result);
};

/* The unit of the error of a distance, "" if it is unknown */
const char *distance_unit(const RunInfo *info, const Scales *scales, const Distance *distance);

/* Writes the name of item i = 0, 1, ... of a kind to text [length]. */
typedef void NameOf(const RunInfo *info, long i, char *text, size_t length);
/* The names of the columns of y, which reactions follow: "phi", "phi'", or "q0", "u0", "z0", and those of the velocities alone;
 * unit: "" if it is unknown. */
NameOf component_name, velocity_name;
const char *component_unit(const RunInfo *info, long i, char *text, size_t length);
const char *component_meaning(const RunInfo *info, long i);
/* The unit as displayed: "" for NULL and "1". */
const char *unit_text(const char *unit);
/* What separates a number from its unit: a blank, or "" if there is no unit. */
const char *unit_space(const char *unit);
bool is_conserved(const RunInfo *info, int quantity);
/* Is it an output, of which no behaviour is expected? */
bool is_output(const RunInfo *info, int quantity);
/* Name and unit of a multiplier: "pin x", "N"; for a contact's row without a name in the model "N
 * floor", "F floor"; otherwise "lambda0", "". */
NameOf multiplier_name;
const char *multiplier_unit(const RunInfo *info, long i);
/* For contact i: "gap floor", "phase floor", and the unit of gaps, "" if the model has no units. */
NameOf gap_name, contact_phase_name;
const char *gap_unit(const RunInfo *info);
/* Are the numbers in SI units? They are not if no coordinate has a unit. */
bool has_units(const RunInfo *info);
/* Is name in the list, which is separated by commas? If names is NULL, all are. */
bool is_selected(const char *names, const char *name);

enum { NUMBER_TEXT = 40 };
/* Writes "1.25e-5", "0.5", "not known" (NaN); returns text [NUMBER_TEXT]. */
const char *number_text(char *text, double value, int digits);

/* The number of digits, at least six, that distinguishes a from b, if they differ. */
int digits_apart(double a, double b);

/* For qsort: doubles in ascending order. */
int ascending(const void *a, const void *b);
/* Writes why something is impossible to message [RUN_TEXT]. Returns -1. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int refuse(char *message, const char *format, ...);

#endif

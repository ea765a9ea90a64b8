/* glue: the layer between numpy and cpodes. cffi reads this file, so it has only declarations, and
 * no macros. */

/* A user function from x and t to y: compiled, at an address, or Python's.
 *
 *   int call(double t, const double *x_0, ..., double *y_0, ..., void *data)
 *
 * Matrices are arrays by columns; sparse ones hold the values of their template's entries. */
typedef struct {
  void *call;    /* the compiled function; NULL: a Python function */
  void *data;    /* its argument; for a Python function, the handle of the object to call */
  int nin;       /* number of input arrays */
  int nout;      /* number of output arrays */
  int64_t nx[6]; /* their lengths */
  int64_t ny[4];
  double *x[6]; /* for a Python function: its own copies of the inputs */
  double *y[4];
  long int calls; /* number of calls so far */
} GlueFn;

/* The pattern of df/dy by columns, and groups of columns that share no row, for differences. */
typedef struct {
  const int64_t *starts; /* [n + 1]; NULL: df/dy is dense */
  const int64_t *rows;   /* [starts[n]], ascending in each column */
  int64_t ngroups;
  const int64_t *groups;  /* [ngroups + 1] where each group begins in columns */
  const int64_t *columns; /* [n] */
  double *work;           /* [3 n]: a state, f there, and increments */
} GluePattern;

/* f at several points at once, by a Python function: glue_python gets data, and finds what to
 * evaluate here. */
typedef struct {
  void *data;      /* NULL: there is no such function */
  int k;           /* number of points */
  int64_t n;       /* length of a state */
  const double *t; /* [k] */
  const double *Y; /* [k x n] */
  double *F;       /* [k x n] */
} GlueBatch;

/* y' = f(t, y), 0 = c(t, y), with df/dy and dc/dy: user_data of the integrator and of the projector */
typedef struct {
  GlueFn f, c, J, G;
  GlueFn g, g_eps, both; /* the user's projections of states, of errors, and of both at once */
  GlueBatch batch;
  GluePattern pattern; /* of df/dy */
  int64_t n;           /* length of y */
  const double *rtol;  /* [n], for glue_weights */
  const double *atol;  /* [n] */
} GlueOde;

/* The Python functions of a mechanical system: its user_data. Functions that are not set have
 * nout = 0. */
typedef struct {
  GlueFn M, A, f, f_lambda, p, v, b, zdot, dynamics_jac, constraint_jac, auxiliary_jac, lambda_jac;
} GlueMech;

/* A prescribed motion and its derivatives */
typedef struct {
  GlueFn g, gd, gdd;
} GlueMotion;

/* The terms of a functional */
typedef struct {
  GlueFn end, integrand;
} GlueFunctional;

/* Warnings */
typedef struct {
  int count;
  char text[4][500]; /* the first four */
} GlueWarnings;

/* A controller: f(t, y) has the values of n parameters, which hold until the next sample. With a delay, length > 0 samples wait in a queue,
 * number k at k modulo length. */
typedef struct {
  GlueFn f;
  double period, first, delay;
  int n, length;
  double *value;    /* [n] */
  double **place;   /* [n] of the parameters */
  double *queue;    /* [length n] */
  double **waiting; /* [length n] of the queue */
  double begins;    /* the time of the first sample of a run, or NaN before it */
  CPEventDerivatives samples, acts;
} GlueSampler;

/* An integration and its results. */
typedef struct {
  CPSession session;
  CPContact contact; /* the contacts, the session's source before `source`, or NULL */
  void *owner; /* the handle of the Integration, for glue_python_event and glue_python_config */
  N_Vector y, work;
  int source; /* the session's source of the events and stops below; those of samplers follow, */
  int last;   /* and this is the last one of all */
  GlueFn *events; /* [nevents], with one value each */
  int nevents;
  CVRootFn model_roots; /* those of a model, which come first, or NULL */
  int nmodel_roots;
  void *model_data;    /* what they get */
  double sign;         /* 1, or -1 if the run goes backwards */
  const double *stops; /* [nstops] in its order: kinks of the forces */
  int nstops;
  int at_contacts;     /* Has the newest event been one of contacts? */
  int jumped;          /* Has it changed the state, other than by the user's functions? */
  double t;            /* the time reached */
  double told;         /* start of the part of the step that has not been recorded */
  int64_t steps, room; /* number of recorded steps, and of those for which there is room */
  double *ts;          /* [room] */
  double *ys;          /* [room x n]; NULL: not wanted */
  double *segments;    /* [room x nnodes x n] values of the interpolant; NULL: not wanted */
  int nnodes;
  const double *nodes;  /* [nnodes], from 0 to 1: places between told and t */
  double *error;        /* [n] sums of the estimated local errors */
  const double *t_eval; /* [neval] further times at which the state is wanted */
  int64_t neval, ieval;
  double *y_eval; /* [neval x n] */
  double seconds; /* glue_march returns after this time [s] */
} GlueRun;

/* Functions for cpodes and CVODES. user_data is a GlueOde. */
int glue_rhs(double t, N_Vector y, N_Vector ydot, void *user_data);
int glue_rhs_batch(int k, const double *t, const double *Y, double *F, void *user_data);
int glue_constraint(double t, N_Vector y, N_Vector c, void *user_data);
int glue_constraint_jac(double t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);
int glue_project(double t, N_Vector yhat, N_Vector y, double eps, void *user_data);
int glue_project_error(double t, N_Vector y, N_Vector err, void *user_data);
int glue_project_both(double t, N_Vector yhat, N_Vector y, N_Vector err, double eps,
                      void *user_data);
int glue_jac(double t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data, N_Vector a,
             N_Vector b, N_Vector c);
/* The same by differences, for a sparse J. */
int glue_jac_differences(double t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data,
                         N_Vector a, N_Vector b, N_Vector c);
int glue_weights(N_Vector y, N_Vector ewt, void *user_data);
void glue_message(int code, const char *function, const char *text, void *warnings);
int glue_motion(double t, double *g, void *motion);
int glue_motiond(double t, double *g, void *motion);
int glue_motiondd(double t, double *g, void *motion);
/* Functions of mechanisms of bodies. The data are a GlueFn of Python's: t -> g [3]; (x, x') -> T
 * [3]; (x, v) -> F, Fx, Fv. */
int glue_drive(double t, double *g, void *function);
int glue_law(double t, double x, double rate, double *T, void *function);
int glue_surface(const double *x, double *phi, double *g, double *H, double *T, void *function);
int glue_point_force(double t, const double *x, const double *v, double *F, double *Fx, double *Fv,
                     void *function);
int glue_end(double t, N_Vector y, double *values, void *functional);
int glue_integrand(double t, N_Vector y, double *values, void *functional);

/* Enters the functions of F that are set into the model. The caller sets the sizes. */
void glue_model(GlueMech *F, CPEquations *model);
/* A CPMech with a model of its own; NULL after a failure. */
CPMech glue_mech(const CPEquations *equations, N_Vector y, SUNContext ctx);

/* Adds the run's events and stops to its session, and sets its configuration. direction [nmodel_roots + nevents]. */
int glue_begin(GlueRun *run, const int *direction);
/* Adds a sampler to a session before its start, to that of a run after glue_begin: one source, or two if there is a delay. last: out, the
 * number of the last one, may be NULL. */
int glue_sample(CPSession session, GlueSampler *sampler, int *last);
/* Takes steps towards t1 until t1, an event has been handled, an error, a full record or the end of its time. Returns the last
 * value of CPSessionStep, or one of these. */
enum {
  GLUE_CALM  = 1000, /* an interval of time stepping has ended */
  GLUE_EVENT = 1001  /* an event has been handled */
};
int glue_march(GlueRun *run, double t1);
/* Records the state at run->t as the end of a step. Returns 0 or an error code of the
 * interpolation. */
int glue_record(GlueRun *run);

/* SUNDIALS */
void glue_free(void *p);
SUNContext glue_context(void);
void glue_context_free(SUNContext ctx);
N_Vector glue_vector(int64_t n, double *data, SUNContext ctx);
double *glue_data(N_Vector y);
void glue_vector_free(N_Vector y);
SUNMatrix glue_dense(int64_t m, int64_t n, SUNContext ctx);
SUNMatrix glue_csc(int64_t m, int64_t n, const int64_t *starts, const int64_t *rows, SUNContext ctx);
double *glue_matrix_data(SUNMatrix A);
void glue_matrix_free(SUNMatrix A);
/* Sets up CVODES' Newton iteration for df/dy, by J or by differences; sparse if ode has a pattern.
 * ls, A: out; free them after the integrator by glue_linear_free and glue_matrix_free. Returns
 * CP_NOT_SUPPORTED if a pattern needs KLU and SUNDIALS lacks it. */
int glue_newton(CPIntegrator mem, N_Vector y, GlueOde *ode, int with_jac, SUNLinearSolver *ls,
                SUNMatrix *A, SUNContext ctx);
/* Does this package have sparse factors for methods of CVODES? */
int glue_has_klu(void);
/* Fixed-point iteration with m vectors of Anderson acceleration. */
SUNNonlinearSolver glue_fixed_point(N_Vector y, int m, SUNContext ctx);
void glue_linear_free(SUNLinearSolver ls);
void glue_nonlinear_free(SUNNonlinearSolver nls);
/* The names of the catalogue, with NULL after the last; a type by its name, or NULL; and the type
 * of a shared object, whose symbol cpodes_plugin points to module, or NULL and a message if it does
 * not fit. */
const CPPluginType *glue_catalogue(int i);
/* The reason why a type that has been loaded cannot be used, or "". */
int glue_check_type(const CPPluginType *type, char *message, int64_t length);
/* A model whose functions follow its parameters, for sensitivities. values: initial, copied.
 * capacity >= 2: number of models with other values that are kept. Returns NULL and a message if
 * there is no such model. Its CPMech, which the caller frees first, has its own user data. */
typedef struct GlueParametric_ GlueParametric;
GlueParametric *glue_parametric(const CPPluginType *type, const double *values, int64_t capacity,
                                SUNContext ctx, char *message, int64_t length);
double *glue_parametric_values(GlueParametric *model);
CPPlugin *glue_parametric_model(GlueParametric *model);
const char *glue_parametric_message(const GlueParametric *model);
CPMech glue_parametric_mech(GlueParametric *model);
void glue_parametric_free(GlueParametric *model);
const CPPluginType *glue_module(const void *module, char *message, int64_t length);

/* A mechanism with all that is known about it: equations, start, reference, invariants, drawing.
 *
 *   M(q) u' + A(q)^T lambda = f,  0 = p(t, q)   as CPMech takes it, state y = (q, u, z); or
 *   y' = f(t, y),                 0 = c(t, y)   the underlying ODE with its invariants
 *
 * Each mechanism is one constant ModelType in its file, and one line in catalogue.c. A Model is one of
 * them with its parameters.
 */
#ifndef CPODES_EXAMPLES_MODEL_H
#define CPODES_EXAMPLES_MODEL_H

#include <cpodes/cpodes_mechanics.h>

enum { MODEL_MAX_PARAMETERS = 12 };
/* Mechanisms of any size give sparse matrices (CSC) from so many velocities on, dense ones below. Measured
   with chains: BDF takes as long with both for 12, Adams for 25. */
enum { MODEL_SPARSE = 24 };

typedef struct Model Model;

/* A number that model_create takes, in SI units. Whole ones (numbers of bodies) are rounded. */
typedef struct {
  const char *name, *unit, *meaning;
  sunrealtype value;       /* default */
  sunrealtype least, most; /* what it may be */
} ModelParameter;

/* A quantity that the motion keeps, or changes in a way that is known. y [n]: a state. */
typedef struct {
  const char *name, *unit;
  sunrealtype (*value)(const Model *model, sunrealtype t, N_Vector y);
  /* conserved: its value is that of the start, but for `scale`, the size by which to judge its drift
     (largest kinetic energy, say); else it may only fall (dissipation) */
  int conserved;
  sunrealtype scale;                           /* with the default parameters */
  sunrealtype (*scale_of)(const Model *model); /* with any others; NULL: they do not change it */
} ModelQuantity;

/* What is drawn, at a state: points in space and segments between them. */
typedef enum { MODEL_GROUND, MODEL_JOINT, MODEL_MASS } ModelPointKind;
typedef struct {
  int npoints, nsegments;
  ModelPointKind *kind; /* [npoints] */
  int (*segment)[2];    /* [nsegments]: which points it joins */
} ModelDrawing;

typedef struct {
  const char *name;  /* as on a command line: "andrews" */
  const char *title; /* "Andrews' squeezing mechanism" */
  const char *source;
  sunrealtype t_end; /* the motion is that of 0 ... t_end */
  const ModelParameter *parameters;
  int nparameters;
  const ModelQuantity *quantities;
  int nquantities;
  /* Fills in what Model says is its type's; 0, or -1 without memory (destroy is called then, too) */
  int (*create)(Model *model);
  /* Frees what only it knows; model_free does the rest: the matrices of mech, G_tmpl, y0, drawing.
     NULL: free(data) */
  void (*destroy)(Model *model);
  /* State y [n] at t of a solution that does not come from cpodes, and where it is known to how many
     units: 0, 1: not known at this t. Only for the parameters that model->known says. NULL: there is none */
  int (*reference)(const Model *model, sunrealtype t, N_Vector y);
  /* The multipliers of that solution, lambda [na], in the signs of CPMech. NULL: not known */
  int (*reference_lambda)(const Model *model, sunrealtype t, sunrealtype *lambda);
  /* xyz [3 npoints]: out, the drawing's points at (t, y) */
  void (*points)(const Model *model, sunrealtype t, N_Vector y, sunrealtype *xyz);
  /* Events: g of roots, and what happens at one: y in, out. found [nroots]: as CVodeGetRootInfo's.
     mech: for impacts, NULL where the run has none. The user_data of roots is the CPMech, as CVODES'
     is */
  CVRootFn roots;
  int (*event)(const Model *model, CPMech mech, sunrealtype t, N_Vector y, const int *found);
} ModelType;

struct Model {
  const ModelType *type;
  SUNContext ctx;
  sunrealtype parameter[MODEL_MAX_PARAMETERS];
  /* ---- from here on by type->create ---- */
  void *data;     /* user data of all functions; owned by the model */
  void *own;      /* what the type keeps besides, freed by its destroy */
  sunindextype n; /* length of y */
  N_Vector y0;    /* start, consistent */
  /* as a CPMech: mech.nu = 0 where there is none */
  CPMechModel mech;
  int (*prepare)(const Model *model, CPMech mech); /* after CPMechCreate: quaternions; may be NULL */
  /* as ODE with invariants: f NULL where there is none */
  CVRhsFn f;
  sunindextype m; /* length of c */
  CPConstraintFn c;
  CPConstraintJacFn G;
  SUNMatrix G_tmpl; /* NULL: dense */
  int stiff;        /* is an implicit method needed? */
  /* Errors are compared in y_0 ... y_{ncompared-1}; 0: the positions (q) */
  sunindextype ncompared;
  int known;                   /* is there a reference for these parameters? */
  sunrealtype reference_error; /* of its components, absolute */
  int nroots;
  int direction[4];    /* of the roots, as CVodeSetRootDirection's */
  sunrealtype stop[4]; /* kinks of the forces, in order, where an integration stops and starts anew */
  int nstops;
  ModelDrawing drawing;
};

/* ---- catalogue.c ---- */

/* All mechanisms, in the order of the guide; NULL beyond the last */
const ModelType *model_type(int i);
/* By its name; NULL: there is none */
const ModelType *model_find(const char *name);
/* The name that is nearest to a wrong one (edit distance), never NULL */
const char *model_nearest(const char *name);
/* Index of a parameter, -1: there is none */
int model_parameter(const ModelType *type, const char *name);

/* ---- model.c ---- */

/* For type->create: y0 of n zeros; 0, or -1 without memory. Gives its entries by model->y0. */
int model_start(Model *model, sunindextype n);
/* For type->create: a drawing's arrays. kind, segment: copied; NULL: zeros, for the caller to fill in.
   0, or -1 without memory */
int model_draw(Model *model, int npoints, const ModelPointKind *kind, int nsegments,
               const int (*segment)[2]);
/* For type->points: of points in the plane z = 0, x [npoints] */
void model_planar(int npoints, const sunrealtype (*x)[2], sunrealtype *xyz);
/* For type->reference: y <- y0 at t = 0, end [n] at t_end, and returns 0; elsewhere 1 */
int model_ends(const Model *model, sunrealtype t, const sunrealtype *end, N_Vector y);
/* For type->reference_lambda, likewise: lambda [na] */
int model_ends_lambda(const Model *model, sunrealtype t, int na, const sunrealtype *start,
                      const sunrealtype *end, sunrealtype *lambda);
/* Have all parameters their defaults? */
int model_is_default(const Model *model);

/* values [type->nparameters], NULL: the defaults. message [length]: out, why it failed ("" else); names
   parameter, rule and value. NULL: failed. The caller frees it. */
Model *model_create(const ModelType *type, const sunrealtype *values, SUNContext ctx, char *message,
                    size_t length);
void model_free(Model **model); /* *model may be NULL */

/* A CPMech of the model with its user data and quaternions; NULL: failed, or mech.nu is 0. The caller
   frees it; the model has to live as long. */
CPMech model_mech(const Model *model);

/* Length of q; number of components that model_error compares */
sunindextype model_nq(const Model *model);
sunindextype model_ncompared(const Model *model);
/* Scale of quantity i with the parameters of the model */
sunrealtype model_scale(const Model *model, int i);

/* max_i |y_i - reference_i| over the compared components; NaN: no reference at t */
sunrealtype model_error(const Model *model, sunrealtype t, N_Vector y);

/* ---- model_check.c and its parts ---- */

/* Are the metadata true? Calls all functions at the start and compares: dimensions, consistency of y0,
   finite values, points, reference at 0, CPMechCheck. message: the first contradiction. 0 or 1 */
int model_check(const Model *model, char *message, size_t length);

#endif

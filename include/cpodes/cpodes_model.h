/* cpodes: a mechanism with all that is known about it (guide, chapter "The runner").
 *
 *   M(q) u' + A(q)^T lambda = f,  0 = p(t, q)   as CPMech takes it, state y = (q, u, z); or
 *   y' = f(t, y),                 0 = c(t, y)   the underlying ODE with its invariants
 *
 * beside its equations: start, parameters, what the motion keeps, reference, events, drawing. Each mechanism
 * is one constant CPModelType; a CPModel is one of them with values of its parameters. The program cpodes runs,
 * checks and shows models, those of a shared object, too:
 *
 *   CP_MODEL_MODULE(my_type)
 *
 * in one of its files makes it one that `cpodes run ./my_model.so` loads. `cpodes new NAME` writes one.
 *
 * All quantities are in SI units, unless a model says otherwise; t starts at 0. Numbers of the mechanism are arrays
 * of sunrealtype, its states N_Vectors in one memory.
 */
#ifndef CPODES_MODEL_H
#define CPODES_MODEL_H

#include <cpodes/cpodes_contact.h>
#include <cpodes/cpodes_mechanics.h>
#include <sundials/sundials_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bounds of the arrays below. */
enum CPModelLimits {
  CP_MODEL_MAX_ROOTS = 4,  /**< functions of events */
  CP_MODEL_MAX_STOPS = 4,  /**< kinks */
  CP_MODEL_REFUSAL   = 512 /**< characters of CPModelRefuse */
};

/** A mechanism with values of its parameters; created by CPModelCreate. */
typedef struct CPModel_ CPModel;

/** A number that CPModelCreate takes, in SI units. */
typedef struct {
  const char *name;    /**< as on a command line: "m2" */
  const char *unit;    /**< "kg"; "" and "1" mean none */
  const char *meaning; /**< "mass of the rod" */
  sunrealtype value;   /**< default */
  sunrealtype least;   /**< what it may be: least <= value <= most */
  sunrealtype most;    /**< the same */
} CPModelParameter;

/** A coordinate q_i or a velocity u_i: what tables and figures call it. */
typedef struct {
  const char *name;    /**< "phi"; its velocity is called "phi'", unless it has a name of its own */
  const char *unit;    /**< "rad" */
  const char *meaning; /**< "angle of the crank" */
} CPModelCoordinate;

/** What a motion does to a quantity: CPModelQuantity.conserved. */
enum CPModelQuantityKind {
  CP_QUANTITY_FREE      = -1, /**< anything: an output, such as a spring force or a camber angle */
  CP_QUANTITY_FALLS     = 0,  /**< it may only fall (dissipation) */
  CP_QUANTITY_CONSERVED = 1   /**< its value is that of the start */
};

/** A quantity that is of interest: what the motion keeps or may only lose, by which runs are judged, or an output. */
typedef struct {
  const char *name; /**< "energy": that of the whole mechanism if it is in J, and then `cpodes check` compares it with M */
  const char *unit; /**< "J" */
  /** Its value at (t, y). */
  sunrealtype (*value)(const CPModel *model, sunrealtype t, N_Vector y);
  int conserved; /**< of CPModelQuantityKind, with the default parameters */
  sunrealtype scale; /**< the size by which to judge its drift (largest kinetic energy, say), with the default
                          parameters; of an output: not used */
  sunrealtype (*scale_of)(
      const CPModel *model); /**< its scale with other parameters; if NULL, they do not change it */
} CPModelQuantity;

/** What a point of a drawing is. */
typedef enum {
  CP_POINT_GROUND = 0, /**< does not move with the state */
  CP_POINT_JOINT  = 1, /**< of bodies */
  CP_POINT_MASS   = 2, /**< a body, or its centre of mass */
  CP_POINT_PLAIN =
      3 /**< no more than a place where segments end, or of a shape: it has no mark and leaves no path */
} CPModelPointKind;

/** What a segment of a drawing is. */
typedef enum {
  CP_SEGMENT_BAR    = 0, /**< a part of a body; between two points of the ground a guide */
  CP_SEGMENT_GUIDE  = 1, /**< on which something slides: dashed */
  CP_SEGMENT_SPRING = 2  /**< a spring, a damper, or both */
} CPModelSegmentKind;

/** A shape that moves with four points of the drawing: its centre, and the ends of its half axes a, b, c from there. In the
 * plane the last one is the centre. */
typedef struct {
  CPShapeKind kind; /**< which one */
  int point[4];     /**< of the drawing: centre, and ends of a, b, c */
} CPModelShape;

/** What is drawn, at a state: points in space, segments between them, and shapes. */
typedef struct {
  int npoints;                      /**< points */
  int nsegments;                    /**< segments */
  CPModelPointKind *kind;           /**< [npoints] */
  int (*segment)[2];                /**< [nsegments]: which points it joins */
  CPModelSegmentKind *segment_kind; /**< [nsegments] */
  int nshapes;                      /**< shapes */
  CPModelShape *shape;              /**< [nshapes] */
} CPModelDrawing;

/** A mechanism: one constant table. What is not set is 0 or NULL. */
typedef struct {
  const char *name;   /**< as on a command line: "andrews" */
  const char *title;  /**< "Andrews' squeezing mechanism" */
  const char *source; /**< of its equations and numbers */
  sunrealtype t_end;  /**< > 0: the motion is that of 0 ... t_end */
  const char *method; /**< that suits it best, as `cpodes run --method` names it; if NULL, CPMechSuggestMethod
                           chooses, and without a CPMech BDF where it is stiff, else DOP853 */
  const CPModelParameter *parameters; /**< [nparameters] */
  int nparameters;                    /**< any number */
  const char *whole; /**< the names of those that must be whole numbers, with blanks between: "n case"; if NULL, none
                          must be */
  const CPModelQuantity *quantities; /**< [nquantities]; their names differ from those of the coordinates */
  int nquantities;                   /**< any number */
  /** Does the motion keep quantities[i], which is no output, with the parameters of the model (no friction, say)? If NULL,
   * its member `conserved` holds for all parameters. */
  int (*conserves)(const CPModel *model, int i);
  const CPModelCoordinate *coordinates; /**< the first of q_0, q_1, ...; NULL if they have no names */
  int ncoordinates;                     /**< at most nq */
  /** Fills in the members of CPModel that belong to its type. Returns 0, or -1 without memory or after CPModelRefuse;
   * destroy is called then, too. */
  int (*create)(CPModel *model);
  /** Frees what only the type knows; CPModelFree frees the rest: the matrices of mech, G_tmpl, y0 and the drawing. If NULL,
   * free(data) is called. */
  void (*destroy)(CPModel *model);
  /** Sets y [n] to the state at t of a solution that does not come from cpodes. Returns 0, or 1 if it is not known at this
   * t. It is called only if model->known, and is NULL if there is no such solution. */
  int (*reference)(const CPModel *model, sunrealtype t, N_Vector y);
  /** The multipliers of that solution, lambda [na], in the signs of CPMech; NULL if they are not known. */
  int (*reference_lambda)(const CPModel *model, sunrealtype t, sunrealtype *lambda);
  /** Sets xyz [3 npoints] to the drawing's points at (t, y); NULL if there is no drawing. */
  void (*points)(const CPModel *model, sunrealtype t, N_Vector y, sunrealtype *xyz);
  /** The functions whose roots are events. Their user_data is the CPMech, as CVODES' is, or model->data without one. */
  CVRootFn roots;
  /** What happens to y (in, out) at an event. found [nroots] is as CVodeGetRootInfo gives it; mech, which impacts need, is
   * NULL if the run has none. A result other than 0 ends the run. */
  int (*event)(const CPModel *model, CPMech mech, sunrealtype t, N_Vector y, const int *found);
  const CPModelCoordinate
      *multipliers; /**< the first of lambda_0, lambda_1, ...: names of joints, units of the
                                             reactions; NULL if they have no names */
  int nmultipliers; /**< at most na */
  int z_is_up;      /**< Is the axis z of a drawing in space upwards? If 0, y is. */
  const CPModelCoordinate
      *velocities; /**< the first of u_0, u_1, ..., with units of their own: "w_x", "rad/s", where
                                            they are no rates of coordinates; if NULL, they are called after the
                                            coordinates where there are as many, else u0, u1, ... */
  int nvelocities; /**< at most nu */
  /** Sets frame [12 ncontacts] to where each contact acts at (t, y), and to its directions, as the drawing has them: its place, and
   * the unit vectors along which g_N and the two components of v_T grow [3 each]; the last one is 0 in the plane. If NULL, the forces of contacts are
   * not drawn. */
  void (*contact_frames)(const CPModel *model, sunrealtype t, N_Vector y, sunrealtype *frame);
} CPModelType;

/** A mechanism with values of its parameters. */
struct CPModel_ {
  const CPModelType *type; /**< what it is one of */
  SUNContext ctx;          /**< of CPModelCreate */
  sunrealtype *parameter;  /**< [type->nparameters] their values; owned by the model */
  /* ---- from here on by type->create ---- */
  void *data;       /**< user data of all functions; owned by the model */
  void *own;        /**< what the type keeps besides, freed by its destroy */
  sunindextype n;   /**< length of y */
  N_Vector y0;      /**< start, consistent (CPModelStart) */
  CPMechModel mech; /**< as a CPMech; mech.nu = 0 where there is none */
  int (*prepare)(const CPModel *model, CPMech mech); /**< after CPMechCreate: quaternions, prescribed
                                                          motions; may be NULL */
  CVRhsFn f;           /**< as an ODE with invariants; NULL if there is none */
  sunindextype m;      /**< length of c */
  CPConstraintFn c;    /**< its invariants */
  CPConstraintJacFn G; /**< dc/dy; if NULL, it is formed by differences */
  SUNMatrix G_tmpl;    /**< its template; if NULL, dc/dy is dense */
  int stiff; /**< is an implicit method needed? Of a CPMech this is found out by itself. */
  sunindextype ncompared; /**< errors are compared in y_0 ... y_{ncompared-1}; 0: the positions (q) */
  int known;              /**< is there a reference for these parameters? */
  sunrealtype reference_error;       /**< of its components, absolute */
  int nroots;                        /**< of type->roots */
  int direction[CP_MODEL_MAX_ROOTS]; /**< of the roots, as CVodeSetRootDirection's */
  sunrealtype stop[CP_MODEL_MAX_STOPS]; /**< kinks of the forces, in order, where an integration stops and
                                             starts anew */
  int nstops;                           /**< of them */
  const CPContactPoint *
      contact; /**< [ncontacts] rows of mech that are contacts, with the constants of their laws, valid
                                    as long as the model; such a model has a CPMech with M, A and b, and no f, roots or
                                    stops. Errors are compared in positions, since velocities jump. */
  int ncontacts;    /**< 0: no contacts */
  int dense_events; /**< More events than these within dense_time [s] are passed by time stepping, as
                         CPContactSetTimeStepping does; 0: never */
  sunrealtype dense_time; /**< > 0, if dense_events is not 0 */
  sunrealtype closure; /**< Projections of a CPMech end this close to the constraints, a distance in the units of y, at any
                            tolerance; 0: within a part of the tolerance, as CPProjectorSetEps says */
  CPModelDrawing drawing;         /**< by CPModelDraw; type->points fills in where the points are */
  char refusal[CP_MODEL_REFUSAL]; /**< by CPModelRefuse: why it cannot be created, or "" */
};

/* ---- shared objects ---- */

/** What a shared object with a model exports under the name cpodes_model. The numbers tell whether it fits
 * the program that loads it; they stand first in every version. */
typedef struct {
  int abi;                 /**< CP_MODEL_ABI */
  int real_bytes;          /**< sizeof(sunrealtype) */
  int index_bytes;         /**< sizeof(sunindextype) */
  int sundials;            /**< SUNDIALS' major version */
  const CPModelType *type; /**< the model */
} CPModelModule;

/** Counts changes of the structs above, and of CPMechModel, that old objects do not fit. */
#define CP_MODEL_ABI 9
/** The name of the symbol. */
#define CP_MODEL_SYMBOL "cpodes_model"
/** Makes type, a CPModelType with static storage, the model of the shared object that this is part of. Once,
 * at file level. */
#ifdef __cplusplus
#define CP_MODEL_MODULE(type)                                                 \
  extern "C" CPODES_EXPORT const CPModelModule cpodes_model;                  \
  const CPModelModule cpodes_model = {CP_MODEL_ABI, (int)sizeof(sunrealtype), \
                                      (int)sizeof(sunindextype), SUNDIALS_VERSION_MAJOR, &(type)};
#else
#define CP_MODEL_MODULE(type)                                                 \
  extern CPODES_EXPORT const CPModelModule cpodes_model;                      \
  const CPModelModule cpodes_model = {CP_MODEL_ABI, (int)sizeof(sunrealtype), \
                                      (int)sizeof(sunindextype), SUNDIALS_VERSION_MAJOR, &(type)};
#endif

/* ---- life cycle ---- */

/** Creates a model of this type. values [type->nparameters] are copied; if NULL, the defaults apply. ctx must outlive the
 * model. Returns the model, which the caller frees with CPModelFree, or NULL. message [length] (out) then names parameter,
 * rule and value, and else is "". */
CPODES_EXPORT CPModel *CPModelCreate(const CPModelType *type, const sunrealtype *values,
                                     SUNContext ctx, char *message, size_t length);
/** Frees *model and sets it to NULL. model or *model may be NULL. */
CPODES_EXPORT void CPModelFree(CPModel **model);

/** Creates and prepares a CPMech of the model, with its user data. Rows of contacts are off: it is the motion without
 * them. (A CPContact takes mech, contact and ncontacts.) The caller frees it; the model must outlive it. Returns
 * NULL if mech.nu is 0, and after a failure, which a line on stderr explains unless it was that of model->prepare. */
CPODES_EXPORT CPMech CPModelMech(const CPModel *model);

/* ---- questions ---- */

/** The index of the parameter of this name, or -1 if there is none. */
CPODES_EXPORT int CPModelFindParameter(const CPModelType *type, const char *name);
/** Must parameter i of the type be a whole number? */
CPODES_EXPORT int CPModelIsWhole(const CPModelType *type, int i);
/** Have all parameters their defaults? */
CPODES_EXPORT int CPModelIsDefault(const CPModel *model);
/** Length of q; half the state where there is no CPMech. */
CPODES_EXPORT sunindextype CPModelNumPositions(const CPModel *model);
/** Number of components that CPModelError compares. */
CPODES_EXPORT sunindextype CPModelNumCompared(const CPModel *model);
/** Does the motion keep quantity i with the parameters of the model? If not, the quantity may only fall, or is an output
 * (its member `conserved` is CP_QUANTITY_FREE). */
CPODES_EXPORT int CPModelConserves(const CPModel *model, int i);
/** Scale of quantity i with the parameters of the model. */
CPODES_EXPORT sunrealtype CPModelScale(const CPModel *model, int i);
/** max_i |y_i - reference_i| over the compared components, or NaN if there is no reference at t. */
CPODES_EXPORT sunrealtype CPModelError(const CPModel *model, sunrealtype t, N_Vector y);

/* ---- for type->create and the other functions of a type ---- */

/** For type->create, which returns the result, -1. The reason, as of printf, says why there is no such mechanism with these
 * parameters; CPModelCreate's message is "name: reason". Of several reasons the first one counts. */
CPODES_EXPORT int CPModelRefuse(CPModel *model, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/** Sets model->n, and model->y0 to n zeros, which the caller replaces. Returns 0, or -1 without memory. */
CPODES_EXPORT int CPModelStart(CPModel *model, sunindextype n);
/** Makes the drawing's arrays. kind [npoints] and segment [nsegments] are copied; where NULL is given, the array contains
 * zeros, which the caller replaces. All segments are bars until the caller sets segment_kind. Returns 0, or -1 without
 * memory. */
CPODES_EXPORT int CPModelDraw(CPModel *model, int npoints, const CPModelPointKind *kind,
                              int nsegments, const int (*segment)[2]);
/** Makes the drawing's shapes, after CPModelDraw. shape [nshapes] is copied; if NULL, the array contains zeros, which the
 * caller replaces. Returns 0, or -1 without memory. */
CPODES_EXPORT int CPModelDrawShapes(CPModel *model, int nshapes, const CPModelShape *shape);
/** For type->points: xyz [3 npoints] of points in the plane z = 0, x [npoints]. */
CPODES_EXPORT void CPModelPlanar(int npoints, const sunrealtype (*x)[2], sunrealtype *xyz);
/** For type->reference: y <- y0 at t = 0, end [n] at t_end, and returns 0; elsewhere 1. */
CPODES_EXPORT int CPModelEnds(const CPModel *model, sunrealtype t, const sunrealtype *end,
                              N_Vector y);
/** For type->reference_lambda, likewise: lambda [na]. */
CPODES_EXPORT int CPModelEndsLambda(const CPModel *model, sunrealtype t, int na,
                                    const sunrealtype *start, const sunrealtype *end,
                                    sunrealtype *lambda);

#ifdef __cplusplus
}
#endif
#endif

/* cpodes: a mechanism with all that is known about it (guide, chapter "The runner").
 *
 *   M(q) u' + A(q)^T lambda = f,  0 = p(t, q)   as CPMech takes it, state y = (q, u, z); or
 *   y' = f(t, y),                 0 = c(t, y)   the underlying ODE with its invariants
 *
 * Besides its equations a model has a start, parameters, invariants, a reference, events and a drawing. Each mechanism
 * is one constant CPPluginType; a CPPlugin is such a type with values of its parameters. The program cpodes runs, checks
 * and shows models, including those of shared objects: with
 *
 *   CP_PLUGIN_MODULE(my_type)
 *
 * in one of its files, a shared object can be loaded by `cpodes run ./my_model.so`. `cpodes new NAME` writes such a
 * project.
 *
 * All quantities are in SI units unless a model says otherwise. t starts at 0. Vectors of the mechanism are arrays of
 * sunrealtype, and its states are N_Vectors in one memory.
 */
#ifndef CPODES_PLUGIN_H
#define CPODES_PLUGIN_H

#include <cpodes/cpodes_contact.h>
#include <cpodes/cpodes_mechanics.h>
#include <sundials/sundials_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bounds of the arrays below. */
enum CPPluginLimits {
  CP_PLUGIN_MAX_ROOTS = 4,  /**< functions of events */
  CP_PLUGIN_MAX_STOPS = 4,  /**< kinks of the forces */
  CP_PLUGIN_REFUSAL   = 512 /**< characters of CPPluginRefuse */
};

/** A mechanism with values of its parameters; created by CPPluginCreate. */
typedef struct CPPlugin_ CPPlugin;

/** A number that CPPluginCreate takes, in SI units. */
typedef struct {
  const char *name;    /**< as on a command line: "m2" */
  const char *unit;    /**< "kg"; "" and "1" mean none */
  const char *meaning; /**< "mass of the rod" */
  sunrealtype value;   /**< default */
  sunrealtype least;   /**< smallest value allowed */
  sunrealtype most;    /**< largest value allowed */
} CPPluginParameter;

/** Name of a coordinate q_i or a velocity u_i in tables and figures. */
typedef struct {
  const char *name;    /**< "phi"; its velocity is called "phi'", unless it has a name of its own */
  const char *unit;    /**< "rad" */
  const char *meaning; /**< "angle of the crank" */
} CPPluginCoordinate;

/** How a quantity may change during a motion: CPPluginQuantity.conserved. */
enum CPPluginQuantityKind {
  CP_QUANTITY_FREE  = -1,   /**< in any way: an output, such as a spring force or a camber angle */
  CP_QUANTITY_FALLS = 0,    /**< it may only fall (dissipation) */
  CP_QUANTITY_CONSERVED = 1 /**< it keeps its initial value */
};

/** A quantity of interest: an invariant or a quantity that may only fall, by which runs are judged, or an output. */
typedef struct {
  const char *name; /**< "energy" with the unit J is that of the whole mechanism; `cpodes check` compares it with M */
  const char *unit; /**< "J" */
  /** Its value at (t, y); i: its index in the table, so that one function can serve several quantities. */
  sunrealtype (*value)(const CPPlugin *model, int i, sunrealtype t, N_Vector y);
  int conserved; /**< of CPPluginQuantityKind, with the default parameters */
  sunrealtype scale; /**< the size by which to judge its drift (largest kinetic energy, say), with the default
                          parameters; see also CPPluginType.energies. Not used for outputs */
  sunrealtype (*scale_of)(
      const CPPlugin *model); /**< its scale for other parameters; if NULL, scale applies to all */
} CPPluginQuantity;

/** Kinds of points in a drawing. */
typedef enum {
  CP_POINT_GROUND = 0, /**< a point that does not move with the state */
  CP_POINT_JOINT  = 1, /**< a joint of bodies */
  CP_POINT_MASS   = 2, /**< a body, or its centre of mass */
  CP_POINT_PLAIN =
      3 /**< an end of segments or a point of a shape, drawn without a mark and without a path */
} CPPluginPointKind;

/** Kinds of segments in a drawing. */
typedef enum {
  CP_SEGMENT_BAR = 0, /**< a part of a body or of a rope; between two points of the ground a guide */
  CP_SEGMENT_GUIDE  = 1, /**< a guide on which something slides (dashed) */
  CP_SEGMENT_SPRING = 2  /**< a spring, a damper, or both */
} CPPluginSegmentKind;

/** A shape that moves with four points of the drawing: its centre, and the ends of its half axes a, b, c from there. In the
 * plane the last one is the centre. */
typedef struct {
  CPShapeKind kind; /**< kind of the shape */
  int point[4];     /**< points of the drawing: the centre, and the ends of a, b, c */
} CPPluginShape;

/** A drawing at a state: points in space, segments between them, and shapes. */
typedef struct {
  int npoints;                       /**< number of points */
  int nsegments;                     /**< number of segments */
  CPPluginPointKind *kind;           /**< [npoints] */
  int (*segment)[2];                 /**< [nsegments]: the points that it joins */
  CPPluginSegmentKind *segment_kind; /**< [nsegments] */
  int nshapes;                       /**< number of shapes */
  CPPluginShape *shape;              /**< [nshapes] */
} CPPluginDrawing;

/** What a mechanism exchanges at one state. */
typedef struct {
  sunrealtype kinetic;   /**< kinetic energy [J] */
  sunrealtype potential; /**< potential energy [J] */
  sunrealtype power; /**< sum of the absolute values of all other powers: of drives, dampers, forces [W] */
} CPPluginEnergies;

/** A mechanism: one constant table. Members that are not used are 0 or NULL. */
typedef struct {
  const char *name;   /**< as on a command line: "andrews" */
  const char *title;  /**< "Andrews' squeezing mechanism" */
  const char *source; /**< source of its equations and numbers */
  sunrealtype t_end;  /**< > 0; the motion is computed over 0 ... t_end */
  const char *method; /**< the method that suits it best, as named by `cpodes run --method`; if NULL,
                           CPMechSuggestMethod chooses; without a CPMech BDF is used if it is stiff, else DOP853 */
  const CPPluginParameter *parameters; /**< [nparameters] */
  int nparameters;                     /**< any number */
  const char *whole; /**< names of the parameters that must be whole numbers, separated by blanks: "n case"; or NULL */
  const CPPluginQuantity *quantities; /**< [nquantities]; their names differ from those of the coordinates */
  int nquantities;                    /**< any number */
  /** Returns 1 if quantities[i], which is not an output, is conserved with the parameters of the model (without friction,
   * say), else 0. If NULL, its member `conserved` holds for all parameters. */
  int (*conserves)(const CPPlugin *model, int i);
  const CPPluginCoordinate *coordinates; /**< the first of q_0, q_1, ...; NULL if they have no names */
  int ncoordinates;                      /**< at most nq */
  /** Fills in the members of CPPlugin that belong to its type. Returns 0, or -1 if out of memory or after CPPluginRefuse, in
   * which case destroy is called as well. */
  int (*create)(CPPlugin *model);
  /** Frees what the type has allocated in data and own. CPPluginFree frees the rest: the matrices of mech, G_tmpl, y0 and
   * the drawing. If NULL, free(data) is called. */
  void (*destroy)(CPPlugin *model);
  /** Sets y [n] to the state at t of a solution that does not come from cpodes. Returns 0, or 1 if it is not known at this
   * t. It is called only if model->known is set, and is NULL if there is no such solution. */
  int (*reference)(const CPPlugin *model, sunrealtype t, N_Vector y);
  /** Sets lambda [na] to the multipliers of that solution, with the signs of CPMech; NULL if they are not known. */
  int (*reference_lambda)(const CPPlugin *model, sunrealtype t, sunrealtype *lambda);
  /** Sets xyz [3 npoints] to the points of the drawing at (t, y); NULL if there is no drawing. */
  void (*points)(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz);
  /** The functions whose roots are events. Their user_data is the CPMech, as CVODES' is, or model->data without one. */
  CVRootFn roots;
  /** Changes y (in, out) at an event. found [nroots] is that of CVodeGetRootInfo. mech, which impacts need, is NULL if the
   * run has none. A result other than 0 ends the run. */
  int (*event)(const CPPlugin *model, CPMech mech, sunrealtype t, N_Vector y, const int *found);
  const CPPluginCoordinate
      *multipliers; /**< the first of lambda_0, lambda_1, ..., with names of joints and units of the
                                             reactions; NULL if they have no names */
  int nmultipliers; /**< at most na; names of contacts' rows may be NULL: they are then "N CONTACT" and "F CONTACT" */
  int z_is_up; /**< 1 if the axis z of a drawing in space points upwards; if 0, y does */
  const CPPluginCoordinate
      *velocities; /**< the first of u_0, u_1, ..., with units of their own ("w_x", "rad/s"), where
                                            they are not the rates of coordinates; if NULL, they are named after the
                                            coordinates if there are as many of them, else u0, u1, ... */
  int nvelocities; /**< at most nu */
  /** Sets frame [12 ncontacts] for each contact at (t, y), in the axes of the drawing: the point where it acts, and the unit
   * vectors in whose directions g_N and the two components of v_T grow [3 each]. The last one is 0 in the plane, and all are
   * for a contact on no surface, such as a stop, whose force is not drawn. If NULL, the forces of contacts are not drawn. */
  void (*contact_frames)(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame);
  const CPPluginCoordinate *
      auxiliaries; /**< the first of z_0, z_1, ..., with names and units; NULL if they have none. One with the unit of a
                       conserved quantity is a part of that, such as the work of drives of an energy balance, and is judged
                       with it */
  int nauxiliaries;  /**< at most nz */
  const char *units; /**< units of coordinates without names, separated by blanks and repeated: "m m rad" for bodies in the
                          plane; if NULL, they are not known */
  const char *velocity_units; /**< the same for velocities, where they are not the rates of coordinates */
  /** Sets the energies at (t, y). lambda [na] are the multipliers, or NULL if they are not known. The runner judges changes
   * of energies, in J, by what is exchanged during a run if that is more than the quantity's scale. Returns 0, or 1 if they
   * cannot be evaluated. If NULL, the largest kinetic energy by M counts. */
  int (*energies)(const CPPlugin *model, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                  CPPluginEnergies *energies);
  /** Returns the extent of the mechanism at its start [m], for models whose drawing does not show it. If NULL, the drawing
   * does, or coordinates in m are judged by their range. */
  sunrealtype (*extent)(const CPPlugin *model);
  /** Receives udot [nu] and lambda [na] at the state whose quantities are evaluated next; of contacts the multipliers are those of
   * the forces that act, friction included. Both are NULL where they cannot be computed. If NULL, they are not computed. */
  void (*observe)(const CPPlugin *model, const sunrealtype *udot, const sunrealtype *lambda);
  const char *left_out; /**< what acts on the motion in the mechanism's source and is missing in the model, such as limits of
                             joints, one line for each; if NULL, nothing */
  const char *remarks; /**< what else there is to tell of the mechanism's source, one line each; if NULL, nothing */
} CPPluginType;

/** A mechanism with values of its parameters. */
struct CPPlugin_ {
  const CPPluginType *type; /**< its type */
  SUNContext ctx;           /**< context of CPPluginCreate */
  sunrealtype *parameter;   /**< [type->nparameters] values of the parameters; owned by the model */
  /* ---- from here on set by type->create ---- */
  void *data;     /**< user data of all functions; owned by the model */
  void *own;      /**< further data of the type, freed by its destroy */
  sunindextype n; /**< length of y */
  N_Vector y0;    /**< consistent start */
  CPEquations mech; /**< of the CPMech, with arrays that last as long as the model; mech.nu = 0 if there is none */
  CVRhsFn f;           /**< right-hand side as an ODE with invariants; NULL if there is none */
  sunindextype m;      /**< length of c */
  CPConstraintFn c;    /**< invariants of that ODE */
  CPConstraintJacFn G; /**< dc/dy; if NULL, it is formed by differences */
  SUNMatrix G_tmpl;    /**< template of dc/dy; if NULL, dc/dy is dense */
  int stiff;           /**< 1 if an implicit method is needed; for a CPMech this is detected */
  sunindextype ncompared; /**< errors are compared in y_0 ... y_{ncompared-1}; 0 means the positions q */
  int known;              /**< 1 if there is a reference for these parameters */
  sunrealtype reference_error;        /**< absolute error of the reference's components */
  int nroots;                         /**< number of functions in type->roots */
  int direction[CP_PLUGIN_MAX_ROOTS]; /**< directions of the roots, as for CVodeSetRootDirection */
  sunrealtype stop[CP_PLUGIN_MAX_STOPS]; /**< kinks of the forces, in order, where the integration stops and
                                             restarts */
  int nstops;                            /**< number of kinks */
  const CPContactPoint *
      contact; /**< [ncontacts] rows of mech that are contacts, with the constants of their laws, valid
                                    as long as the model; such a model has a CPMech with M, A and b, and no f, roots or
                                    stops. Errors are compared in positions, since velocities jump. */
  int ncontacts; /**< number of contacts */
  int dense_events; /**< If more events than these occur within dense_time [s], time stepping takes over, as by
                         CPContactSetTimeStepping; 0 means never. */
  sunrealtype dense_time; /**< > 0 if dense_events is not 0 */
  sunrealtype closure; /**< largest distance from the constraints, in the units of y, at which projections of a CPMech end
                            at any tolerance; 0: a part of the tolerance, see CPProjectorSetEps */
  CPPluginDrawing drawing;         /**< made by CPPluginDraw; type->points computes the points */
  char refusal[CP_PLUGIN_REFUSAL]; /**< reason given to CPPluginRefuse, or "" */
};

/* ---- shared objects ---- */

/** The symbol cpodes_plugin that a shared object with a model exports. Its numbers show whether the object fits
 * the program that loads it, and are the first members in every version. */
typedef struct {
  int abi;                  /**< CP_PLUGIN_ABI */
  int real_bytes;           /**< sizeof(sunrealtype) */
  int index_bytes;          /**< sizeof(sunindextype) */
  int sundials;             /**< SUNDIALS' major version */
  const CPPluginType *type; /**< the model */
} CPPluginModule;

/** Version of the structs above and of CPEquations; it grows when objects built before no longer fit. */
#define CP_PLUGIN_ABI 15
/** The name of the symbol. */
#define CP_PLUGIN_SYMBOL "cpodes_plugin"
/** Makes type, a CPPluginType with static storage, the model of the shared object. To be used once, at file level. */
#ifdef __cplusplus
#define CP_PLUGIN_MODULE(type)                                                             \
  extern "C" CPODES_EXPORT const CPPluginModule cpodes_plugin;                             \
  const CPPluginModule cpodes_plugin = {CP_PLUGIN_ABI, (int)sizeof(sunrealtype),           \
                                        (int)sizeof(sunindextype), SUNDIALS_VERSION_MAJOR, \
                                        &(type)};
#else
#define CP_PLUGIN_MODULE(type)                                                             \
  extern CPODES_EXPORT const CPPluginModule cpodes_plugin;                                 \
  const CPPluginModule cpodes_plugin = {CP_PLUGIN_ABI, (int)sizeof(sunrealtype),           \
                                        (int)sizeof(sunindextype), SUNDIALS_VERSION_MAJOR, \
                                        &(type)};
#endif

/* ---- life cycle ---- */

/** Creates a model of this type. values [type->nparameters] are copied; if NULL, the defaults apply. ctx must outlive the
 * model. Returns the model, which the caller frees with CPPluginFree, or NULL. In the latter case message [length] (out)
 * names the parameter, the rule and the value; otherwise it is "". */
CPODES_EXPORT CPPlugin *CPPluginCreate(const CPPluginType *type, const sunrealtype *values,
                                       SUNContext ctx, char *message, size_t length);
/** Frees *model and sets it to NULL. model or *model may be NULL. */
CPODES_EXPORT void CPPluginFree(CPPlugin **model);

/** Creates a CPMech of the model, with its user data. Rows of contacts are off, so the motion is the one
 * without contacts. (For contacts pass it, contact and ncontacts to CPContactCreate.) The caller frees the CPMech, and
 * the model must outlive it. Returns NULL if mech.nu is 0, and after a failure, which CPObjectGetLastMessage(NULL) explains. */
CPODES_EXPORT CPMech CPPluginMech(const CPPlugin *model);

/** Returns 1 if parameter i of the type must be a whole number, else 0. */
CPODES_EXPORT int CPPluginIsWhole(const CPPluginType *type, int i);

/* ---- for type->create and the other functions of a type ---- */

/** For type->create: states why there is no such mechanism with these parameters, in a format as for printf, and returns
 * -1, which create then returns. The message of CPPluginCreate is "name: reason". Of several reasons the first one
 * counts. */
CPODES_EXPORT int CPPluginRefuse(CPPlugin *model, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/** Makes the drawing. kind [npoints], segment [nsegments] and shape [nshapes] are copied; if one is NULL, its array contains
 * zeros, which the caller replaces. All segments are bars until the caller sets segment_kind. Returns 0, or -1 if out of
 * memory. */
CPODES_EXPORT int CPPluginDraw(CPPlugin *model, int npoints, const CPPluginPointKind *kind,
                               int nsegments, const int (*segment)[2], int nshapes,
                               const CPPluginShape *shape);

#ifdef __cplusplus
}
#endif
#endif

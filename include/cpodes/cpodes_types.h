/* cpodes: the version, objects, return codes, messages and counters, shared by all public headers. */
#ifndef CPODES_TYPES_H
#define CPODES_TYPES_H

#include <stddef.h>
#include <stdio.h>
#include <sundials/sundials_types.h>

#if defined(__GNUC__)
#define CPODES_EXPORT __attribute__((visibility("default")))
#else
#define CPODES_EXPORT
#endif

/** The version of these headers; everything else that states the version takes it from here. */
#define CP_VERSION_MAJOR 1
#define CP_VERSION_MINOR 0
#define CP_VERSION_PATCH 0
#define CP_VERSION       "1.0.0-dev"

/* Structs that a caller allocates begin with their size, so that later versions can append members: the library reads
 * min(size, sizeof) bytes, takes the rest as 0, and writes no further. The stride of an array of them is the size of the first
 * one. 0 is the default of every member. A size of 0 is CP_OLD_STRUCT. A member that is appended begins at the former sizeof,
 * never in padding before it, of which nobody knows what an older program left there.
 *
 *   C and C++:  CPEventSource source = CP_INIT(CPEventSource);
 *   C:          CPEventSource source = {CP_SIZED(CPEventSource), .name = "door", ...}; */
#define CP_SIZED(T) .size = sizeof(T)
#ifdef __cplusplus
template <class T> inline T cpInit_() {
  T x    = T();
  x.size = sizeof(T);
  return x;
}
#define CP_INIT(T) cpInit_<T>()
extern "C" {
#else
#define CP_INIT(T) \
  { .size = sizeof(T) }
#endif

/* ---- objects: opaque, created by CP<Object>Create..., freed by CP<Object>Free ---- */

typedef struct CPIntegrator_ *CPIntegrator; /**< y' = f, 0 = c by one method */
typedef struct CPProjector_ *CPProjector;   /**< nearest states and tangents of {c = 0} */
typedef struct CPModel_
    *CPModel; /**< a mechanism: constant, shared by threads; its messages are the thread's */
typedef struct CPMech_ *CPMech;       /**< a mechanical system */
typedef struct CPSens_ *CPSens;       /**< forward sensitivities of an integrator */
typedef struct CPSession_ *CPSession; /**< a run through events, outputs and changes of method */
typedef struct CPBodies_ *CPBodies;   /**< a description of bodies and joints */
typedef struct CPContact_ *CPContact; /**< unilateral contacts with friction */
typedef struct CPFunction_ *
    CPFunction; /**< a function of a few numbers: constant, shared by threads; its messages are the thread's */
typedef struct CPObject_ *CPObject; /**< any of these, by CP_OBJECT */

/** Converts one of these handles, which may be NULL, to a CPObject. No other pointer compiles, nor does a CPModel, which is
 * constant and has neither messages nor counters of its own. */
#ifdef __cplusplus
}
#define CP_OVERLOAD_(T) \
  inline CPObject cpObject_(T x) { return reinterpret_cast<CPObject>(x); }
CP_OVERLOAD_(CPIntegrator)
CP_OVERLOAD_(CPProjector)
CP_OVERLOAD_(CPMech)
CP_OVERLOAD_(CPSens)
CP_OVERLOAD_(CPSession)
CP_OVERLOAD_(CPBodies)
CP_OVERLOAD_(CPContact)
#undef CP_OVERLOAD_
#define CP_OBJECT(x) cpObject_(x)
extern "C" {
#else
#define CP_OBJECT(x)                      \
  ((CPObject) _Generic((x), CPIntegrator  \
                       : (x), CPProjector \
                       : (x), CPMech      \
                       : (x), CPSens      \
                       : (x), CPSession   \
                       : (x), CPBodies    \
                       : (x), CPContact   \
                       : (x)))
#endif

/**
 * Returns the version of the library in use as a text, CP_VERSION of its own headers. Its numbers: out, each may be NULL.
 */
CPODES_EXPORT const char *CPGetVersion(int *major, int *minor, int *patch);

/**
 * Return codes. Zero is success. Negative values are errors and differ from all flags of CVODES, which
 * pass through CPIntegratorEvolve() unchanged unless the projection was the cause. Codes marked [r] also occur with
 * a positive sign, as the *recoverable* failure of one projection (a smaller step may help). CPIntegratorEvolve()
 * returns the negative one when CVODES cannot reduce the step any further. CPGetReturnFlagName()
 * returns the name of each code.
 */
enum CPReturnCode {
  CP_SUCCESS = 0,  /**< done */
  CP_STOPPED = 50, /**< a function of the user's has ended a run (cpodes_session.h) */

  /* wrong use: nothing was changed */
  CP_OLD_STRUCT = -200, /**< the member size of a struct was not set */
  CP_MEM_NULL   = -201, /**< an object argument is NULL */
  CP_MEM_FAIL   = -202, /**< an allocation failed */
  CP_ILL_INPUT  = -203, /**< an argument is illegal; the message names it, the rule and the value */
  CP_NO_INIT    = -204, /**< called before CPIntegratorInit (or before the tolerances were set) */
  CP_NO_PROJECTOR  = -205, /**< the call needs a projector, see CPIntegratorSetProjector */
  CP_TOO_LATE      = -206, /**< the call is only possible before the first step */
  CP_VECTOROP_ERR  = -207, /**< a vector operation failed or is missing from this N_Vector */
  CP_NOT_SUPPORTED = -208, /**< this combination is refused; the message says why */
  CP_REENTERED     = -209, /**< called by a function that works for the same object */

  /* the start */
  CP_INCONSISTENT_IC = -210, /**< y0 violates the named constraint; CPIntegratorCalcIC may help */
  CP_IC_FAIL         = -211, /**< CPIntegratorCalcIC found no consistent state; y0 is as it came */
  CP_FIRST_USERFUNC_ERR = -212, /**< one of the user's functions failed recoverably at its first
                                     call, where no smaller step can help */

  /* the user's functions; the message names the one that failed, t and its return value */
  CP_USERFUNC_FAIL      = -220, /**< it returned a negative value: it failed fatally */
  CP_REPTD_USERFUNC_ERR = -221, /**< [r] it repeatedly returned a positive value */
  CP_METRIC_INDEFINITE  = -238, /**< [r] the metric is not symmetric and positive definite */

  /* the projection */
  CP_PROJ_CONV_FAILURE = -230, /**< [r] the projection did not converge */
  CP_PROJ_RANK = -231, /**< [r] constraints are dependent, and the chosen solver needs full rank */
  CP_PROJ_INCONSISTENT = -232, /**< [r] the constraints contradict each other near this state */
  CP_PROJ_CORRECTION = -233, /**< [r] the correction is above CPIntegratorSetMaxCorrection's bound */
  CP_CNSTRJAC_WRONG  = -234, /**< [r] no convergence, and the user's Jacobian is not that of c */
  CP_LINSOL_FAIL     = -235, /**< LAPACK or SuiteSparse reported an error */

  /* NaN or Inf */
  CP_RHS_NONFINITE      = -240, /**< f returned NaN or Inf, or Newton's matrix contains them */
  CP_CNSTR_NONFINITE    = -241, /**< [r] c returned NaN or Inf */
  CP_CNSTRJAC_NONFINITE = -242, /**< [r] the constraint Jacobian has a NaN or Inf */
  CP_PROJ_NONFINITE     = -243, /**< [r] the user's projection, or a product, is NaN or Inf */

  /* sensitivities */
  CP_CNSTRSENS_WRONG = -245, /**< the user's dc/dp is not the derivative of c */

  /* mechanical systems */
  CP_MASS_INDEFINITE  = -260, /**< [r] M is not positive definite on the tangent space */
  CP_KKT_INCONSISTENT = -261, /**< [r] dependent rows of A whose b contradict each other */
  CP_KKT_RANK = -262, /**< [r] rows of A are dependent, and the chosen solver needs full rank */
  CP_LAMBDA_CONV_FAIL = -263, /**< [r] forces that depend on multipliers did not converge */
  CP_MECH_NONFINITE   = -266, /**< [r] a function of the model returned NaN or Inf */
  CP_QUATERNION_ZERO  = -267, /**< [r] a quaternion of norm zero */
  CP_MECH_A_WRONG     = -268, /**< A is not the derivative of p and v */
  CP_MECH_B_WRONG     = -269, /**< b, or v, is not the derivative of v, or p, along the motion */
  CP_MECH_DERIV_WRONG = -270, /**< a partial derivative, or M, N or udot, is wrong */
  CP_MOTION_CONFLICT  = -271, /**< [r] a prescribed motion contradicts the constraints */

  /* contacts (cpodes_contact.h) */
  CP_CONTACT_PENETRATION = -280, /**< a gap is negative at the start, or has jumped */
  CP_CONTACT_PAINLEVE    = -281, /**< a sliding contact whose normal force does not push it apart */
  CP_CONTACT_NO_SOLUTION = -282, /**< no impulses or accelerations satisfy the laws of contact */
  CP_CONTACT_NO_GRADIENT =
      -284, /**< an event whose time is not differentiable: grazing, or several at one time */

  /* sessions (cpodes_session.h) */
  CP_TOO_MANY_EVENTS = -290, /**< more events than allowed, or unlimited events at one time */

  /* the coupling with CVODES */
  CP_BYPASSED       = -250, /**< CVODES stepped without calling the projecting solver */
  CP_SELFCHECK_FAIL = -251, /**< this CVODES does not work as cpodes expects; no result is valid */
  CP_OUTPUT_PROJ_FAIL = -252 /**< the interpolated output could not be projected; it is unprojected */
};

/** Receives every message of cpodes. code: one of the codes above, CVODES' own, or CV_WARNING (99).
 *  function: the public function that was called. msg: one line without line feed, valid during the
 *  call only. */
typedef void (*CPErrHandlerFn)(int code, const char *function, const char *msg, void *data);

/** Linear solver of the saddle points [W A^T; A 0] of projections (CPProjectorSetLinearSolver, where A is G and W
 *  the metric) and of accelerations (CPMechSetLinearSolver, where W is M; guide, "Which solver"). */
typedef enum {
  CP_LINSOL_AUTO = 0, /**< one of the others, by size, pattern and rank */
  CP_LINSOL_SCHUR =
      1, /**< dense Cholesky factors of A W^-1 A^T: cheapest when small; W definite, independent rows */
  CP_LINSOL_QR =
      2, /**< dense QR of A^T with column pivoting: finds the rank, takes dependent rows; accelerations:
              the shortest multipliers, and M need only be definite on the null space of A */
  CP_LINSOL_SPARSE =
      3, /**< sparse Cholesky factors of A W^-1 A^T, W diagonal or with small blocks; takes dependent rows
              in projections, not in accelerations */
  CP_LINSOL_KKT = 4, /**< sparse LU factors (KLU) of [W A^T; A 0], W a matrix; takes dependent rows */
  CP_LINSOL_PRODUCTS =
      5 /**< conjugate gradients on A W^-1 A^T, products alone: not to be chosen, in use
                              where there are no matrices */
} CPLinSol;

/** Norm in which a projection's correction is smallest (CPProjectorSetNorm). */
typedef enum {
  CP_NORM_ERROR =
      0, /**< D = diag(1/ewt^2): error weighted, the norm of the integrator's error test */
  CP_NORM_L2     = 1, /**< D = I */
  CP_NORM_MATRIX = 2  /**< D = M^-1, with a matrix M of the user's */
} CPNorm;

/** Norm of the error estimate with which CVODES accepts steps and chooses sizes and orders (CPIntegratorSetErrEst). */
typedef enum {
  CP_ERREST_DEFAULT =
      0, /**< PROJECTED if every step is projected; UNPROJECTED if some are not, for attached memory,
                              and for one-step methods */
  CP_ERREST_PROJECTED =
      1, /**< ||P ycor + (I - P) ycor / 8||. If every step is projected, for memory of
                                CPIntegratorCreate the norms at both neighbouring orders are multiplied by the ratio of this
                                norm to ||ycor||, with BDF by 0.6 times that ratio */
  CP_ERREST_UNPROJECTED = 2 /**< ||ycor||, as without projection */
} CPErrEst;

/** Laws of restitution in impacts. */
typedef enum {
  CP_RESTITUTION_NEWTON  = 0, /**< velocities: v_N+ = -e_N v_N- */
  CP_RESTITUTION_POISSON = 1  /**< impulses: that of expansion is e_N times that of compression */
} CPRestitution;

/** The laws of a contact: Coulomb's friction, restitution, and elasticity. Structures end with it, so that it may grow. */
typedef struct {
  sunrealtype mu;        /**< coefficient of sliding friction, also in impacts, >= 0 */
  sunrealtype mu_static; /**< coefficient of static friction; mu is used if it is smaller than mu */
  sunrealtype restitution; /**< e_N, from 0 to 1 */
  sunrealtype tangential;  /**< e_T, from 0 to 1; with Poisson's law 0 */
  CPRestitution kind; /**< if one contact of an impact has Poisson's law, all contacts of that impact follow it */
  /** Normal force N > 0 of a contact without a normal row, such as the dry friction of a joint; else not used. With nloads > 0 it
   * may be 0 */
  sunrealtype force;
  /** > 0: the contact is elastic. It has no friction and restitution 0, and where the gap g is negative its normal force is
   * N = -stiffness g - damping g', as long as that does not pull */
  sunrealtype stiffness;
  sunrealtype damping; /**< >= 0, 0 if stiffness is 0 */
  /** Without a normal row: the first of the rows of A, of no contact, whose multipliers lambda_L load it, as those of a joint do its
   * bearing: N = force + |lambda_L|. It remains what CPContactCreate got */
  sunindextype load;
  int nloads; /**< their number, 0 ... CP_MOST_LOADS */
} CPContactLaw;

enum { CP_MOST_LOADS = 3 /**< the largest number of rows that load a contact */ };

/** Shapes of bodies in drawings, with the half axes a, b, c. */
typedef enum {
  CP_SHAPE_BOX      = 0, /**< corners at +-a +-b +-c */
  CP_SHAPE_CYLINDER = 1, /**< axis c, with circles of radius |a| = |b| at both ends +-c */
  CP_SHAPE_SPHERE   = 2, /**< radius |a| = |b| = |c|; an ellipsoid if they differ */
  CP_SHAPE_WHEEL    = 3, /**< a cylinder with spokes, which make its rotation visible */
  /* of bodies only (CPShape); drawings show them by those above */
  CP_SHAPE_CAPSULE =
      4, /**< axis c, a cylinder between +-c with half spheres of radius |a| = |b| at its ends */
  CP_SHAPE_ELLIPSOID = 5, /**< half axes a, b, c */
  CP_SHAPE_PLANE =
      6, /**< the half-space below the plane through the centre with the normal along c */
  CP_SHAPE_MESH = 7 /**< the convex hull of points, whose extents are 2 a, 2 b, 2 c */
} CPShapeKind;

/** Parts of vectors next to a manifold (CPMechProject, CPProjectorProjectVector). P is the projector onto the
 * tangent space. */
typedef enum {
  CP_TANGENT   = 0, /**< P x, of velocities, errors and sensitivities */
  CP_NORMAL    = 1, /**< x - P x */
  CP_COTANGENT = 2  /**< P^T x, of forces and gradients */
} CPSpace;

/* ---- functions of all objects ---- */

/** Returns the newest message of the object, or "" if there has been none. It is valid until the next one or Free. NULL: the
 * newest one of this thread, of any object, of a constructor that failed or of a handle that was NULL. */
CPODES_EXPORT const char *CPObjectGetLastMessage(CPObject object);
/** Sets the function that receives the messages of the object and of the objects that it owns. NULL (default): messages are
 * kept only. Nothing is ever printed. */
CPODES_EXPORT int CPObjectSetErrHandlerFn(CPObject object, CPErrHandlerFn handler, void *data);
/** Returns in *value a counter by its name, such as "steps", "rhs_evals" or "projections" (guide, "Counters"). Counters run
 * from the creation of the object, those of integrators and sessions from its last start. Returns CP_ILL_INPUT if the object
 * has none of this name. */
CPODES_EXPORT int CPObjectGetStat(CPObject object, const char *name, sunrealtype *value);
/** Returns the name of counter i = 0, 1, ... of the object, or NULL beyond the last one. */
CPODES_EXPORT const char *CPObjectGetStatName(CPObject object, int i);
/** Prints all counters: SUN_OUTPUTFORMAT_TABLE, one a line, or SUN_OUTPUTFORMAT_CSV, name,value,... in one line. */
CPODES_EXPORT int CPObjectPrintStats(CPObject object, FILE *out, SUNOutputFormat fmt);

#ifdef __cplusplus
}
#endif
#endif

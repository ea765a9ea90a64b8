/* cpodes: index-3 mechanical systems (guide, chapter "Mechanical systems").
 *
 *   q' = N(q) u                                    kinematics                           [nq]
 *   M(t,q) u' + A(t,q)^T lambda = f(t,q,u,z)       dynamics                             [nu]
 *   A(t,q) u' = b(t,q,u)                           acceleration constraints             [na]
 *   v(t,q,u) = 0                                   velocity constraints                 [nv]
 *   p(t,q) = 0                                     position constraints                 [np]
 *   z' = zdot(t,q,u,z,lambda)                      auxiliary equations                  [nz]
 *
 * A CPModel holds these functions, with patterns, quaternions, prescribed motions, and all that follows from them. It is
 * constant, and any number of threads may use it at the same time. A CPMech is made from it, and any number of them may be.
 * It holds what changes: forces that are added, rows that are on, factors, options. It belongs to one thread and its
 * SUNContext, and keeps its model alive.
 *
 * A CPMech supplies what an integrator needs: y' = f(t, y) for the state y = (q, u, z), the projection of positions,
 * velocities and error estimates, multipliers and reaction forces, consistent initial states, and the linear solver of
 * the implicit methods. The user writes neither an acceleration-level equation nor a projection.
 *
 * Vectors of the mechanism are arrays of the lengths above. The state y is an N_Vector of length
 * nq + nu + nz in one memory (serial, OpenMP, pthreads). All functions return CP_SUCCESS or a
 * negative code, which has been reported to the message handler and whose text is kept for
 * CPObjectGetLastMessage. Within a step the codes marked [r] in CPReturnCode are recoverable.
 */
#ifndef CPODES_MECHANICS_H
#define CPODES_MECHANICS_H

#include <cpodes/cpodes_integrator.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the user's functions ----
 *
 * Each returns 0, a positive value if a smaller step may help, or a negative one to give up. Input
 * arrays must not be changed. Output matrices and vectors are zero on entry. A sparse matrix has the
 * index arrays of its template on entry and must keep them. */

/** Mass matrix M [nu x nu], symmetric, both triangles (an M that is not to 1e-6 ends runs with CP_MECH_DERIV_WRONG), or constraint matrix A [na x nu]. q [nq]: in. */
typedef int (*CPMechMatrixFn)(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data);
/** Forces f [nu]. q [nq], u [nu], z [nz]: in. */
typedef int (*CPMechForceFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *z, sunrealtype *f, void *user_data);
/**
 * Forces f [nu] that depend on the multipliers lambda [na] (joint friction, wheel on rail), or z'
 * [nz], which may depend on them, too.
 */
typedef int (*CPMechLambdaFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              const sunrealtype *z, const sunrealtype *lambda, sunrealtype *f,
                              void *user_data);
/** Position constraints p [np]. q [nq]: in. */
typedef int (*CPMechPositionFn)(sunrealtype t, const sunrealtype *q, sunrealtype *p,
                                void *user_data);
/** Velocity constraints v [nv], or b [na]. q [nq], u [nu]: in. */
typedef int (*CPMechVelocityFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                sunrealtype *v, void *user_data);

/** Product that a kinematics function is to compute. */
typedef enum {
  CP_N                   = 0, /**< y [nq] = N(q) x          x [nu] */
  CP_N_INVERSE           = 1, /**< y [nu] = N(q)^+ x        x [nq], N^+ N = I */
  CP_N_TRANSPOSE         = 2, /**< y [nu] = N(q)^T x        x [nq] */
  CP_N_INVERSE_TRANSPOSE = 3  /**< y [nq] = (N(q)^+)^T x    x [nu] */
} CPMechKinematics;
/**
 * Products with N(q), for kinematics that consist neither of q' = u nor of quaternions (CPQuaternion).
 */
typedef int (*CPMechKinematicsFn)(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x,
                                  sunrealtype *y, void *user_data);

/* Operators, for codes with recursions of their own */
/** u' [nu] and lambda [na] at (t, q, u, z). */
typedef int (*CPMechAccelerationFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                    const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda,
                                    void *user_data);
/** Tells udot that from now on the rows i with off[i] = 1, off [na], are off: their multipliers are 0, and u' need not satisfy
 * them. It is called before udot whenever that has changed. A positive value means that udot cannot do without them: the KKT
 * system is solved until it changes again. */
typedef int (*CPMechRowsFn)(const char *off, void *user_data);
/** Inverse dynamics: r [nu] = M(t,q) a - f(t,q,u,z) at given accelerations a [nu], without A^T lambda. */
typedef int (*CPMechInverseFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                               const sunrealtype *z, const sunrealtype *a, sunrealtype *r,
                               void *user_data);
/** Product y = A x (x [nu], y [na]), A^T x (x [na], y [nu]), M x or M^{-1} x (x, y [nu]). */
typedef int (*CPMechTimesFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *x,
                             sunrealtype *y, void *user_data);

/* Partial derivatives. Those with respect to positions are taken along the velocities: column j is
 * the derivative in the direction N e_j (d/dq if N = I). Matrices without a template are NULL. */
/**
 * K = d/dq (f - M udot - A^T lambda) N [nu x nu], C = df/du [nu x nu], Fz = df/dz [nu x nz], where
 * f includes the forces that depend on multipliers, and udot [nu] and lambda [na] are held.
 */
typedef int (*CPMechDynamicsJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                   const sunrealtype *z, const sunrealtype *udot,
                                   const sunrealtype *lambda, SUNMatrix K, SUNMatrix C,
                                   SUNMatrix Fz, void *user_data);
/** Bq = d/dq (b - A udot) N and Bu = db/du, both [na x nu], with udot held. */
typedef int (*CPMechConstraintJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                     const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu,
                                     void *user_data);
/** Zq = dzdot/dq N [nz x nu], Zu = dzdot/du [nz x nu], Zz = dzdot/dz [nz x nz]. */
typedef int (*CPMechAuxiliaryJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                    const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq,
                                    SUNMatrix Zu, SUNMatrix Zz, void *user_data);
/** Fl = df/dlambda [nu x na] of the forces that depend on multipliers. */
typedef int (*CPMechLambdaJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                 const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Fl,
                                 void *user_data);
/**
 * Uq = du'/dq N [nu x nu], Uu = du'/du [nu x nu], Uz = du'/dz [nu x nz], all dense, of u' with its multipliers: where rows
 * constrain it, M Uq + A^T Lq = K and A Uq = Bq with the K and Bq above, and so on. Uz is NULL without z. For codes that know
 * the derivatives of their accelerations only, and those that find them faster than with M. A positive value may also mean that
 * udot would return one.
 */
typedef int (*CPMechAccelerationJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                       const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu,
                                       SUNMatrix Uz, void *user_data);

/** Where CPMechParametersJacFn puts the derivatives with respect to its parameters: columns, each `stride` after the one before, zero on
 * entry. Members without rows are NULL. */
typedef struct {
  sunrealtype *F; /**< [nu] of f - M udot - A^T lambda */
  sunrealtype *B; /**< [na] of b - A udot */
  sunrealtype *p; /**< [np] of the position constraints */
  sunrealtype *v; /**< [nv] of the velocity constraints */
  sunrealtype *Z; /**< [nz] of zdot */
  size_t stride;  /**< from one parameter's entries to those of the next one */
} CPMechColumns;
enum {
  CP_PARAMETERS_UNKNOWN =
      2 /**< CPMechParametersJacFn does not know the derivatives: differences are taken */
};
/**
 * Partial derivatives with respect to n parameters of the model, which are the entries plist [n] of the array `values`, at
 * (t, q, u, z) with udot and lambda held. Returns 0, 1 if a smaller step may help, CP_PARAMETERS_UNKNOWN, for instance if `values` are
 * not its own, or a negative value if the failure is fatal.
 */
typedef int (*CPMechParametersJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                     const sunrealtype *z, const sunrealtype *udot,
                                     const sunrealtype *lambda, const sunrealtype *values, int n,
                                     const int *plist, const CPMechColumns *columns,
                                     void *user_data);

/** What a name of a row is to say (CPMechRowNameFn). */
typedef enum {
  CP_NAME_ROW     = 0, /**< its element and direction: joint "hinge" along x */
  CP_NAME_ELEMENT = 1, /**< its element: joint "hinge" */
  CP_NAME_LIMIT =
      2, /**< that its prescribed motion ends at t: drive "motor" cannot turn "crank" beyond 118 degrees */
  CP_NAME_STATE =
      3, /**< what is special about the state at t, so that no motion leads on from there; i = 0 */
  CP_NAME_VELOCITY = 4, /**< what has velocity i, 0 <= i < nu: joint "hinge", body "rod" */
  CP_NAME_FAILURE =
      5 /**< what has failed in the functions that have been called last: file:2:9: force "spring": "1/x" is not finite; i = 0 */
} CPMechName;
/**
 * Writes what row i of A is called in messages to name [length]. 0 <= i < na, but for what is said of the others. length is at least 256. An empty name, as
 * on entry, means a number.
 */
typedef void (*CPMechRowNameFn)(CPMechName what, sunindextype i, sunrealtype t, char *name,
                                size_t length, void *user_data);

/**
 * Finds the pointer that the functions of a model get at this moment, *data, from that of the CPMech, user_data, for
 * instance a copy of the data with the present values of parameters. It is called before each of them. Returns 0, or
 * another value if there is none: the function then counts as failed for good.
 */
typedef int (*CPMechDataFn)(void *user_data, void **data);

/** Frame of the angular velocity u = omega that belongs to a quaternion (CPQuaternion). */
typedef enum {
  CP_FRAME_BODY  = 0, /**< q' = 1/2 q o (0, omega) */
  CP_FRAME_WORLD = 1  /**< q' = 1/2 (0, omega) o q */
} CPFrame;

/**
 * The coordinates first_q ... first_q + 3 are a unit quaternion (scalar first) of the body whose angular velocity is
 * u[first_u] ... u[first_u + 2], and are normalised. Coordinates and velocities outside all quaternions belong together in
 * their order, q_i' = u_j.
 */
typedef struct {
  sunindextype first_q; /**< its first coordinate */
  sunindextype first_u; /**< its first velocity */
  CPFrame frame;        /**< of the velocities */
} CPQuaternion;

/** |q_first ... q_{first + length - 1}| = value > 0, for the user's own kinematics function. */
typedef struct {
  sunindextype first;  /**< the first coordinate */
  sunindextype length; /**< number of coordinates */
  sunrealtype value;   /**< of the norm */
} CPFixedNorm;

/** How a coordinate follows its prescribed motion. */
typedef enum {
  CP_MOTION_DIRECT = 0, /**< constraint q_i = g, with multiplier: the position follows exactly */
  CP_MOTION_RATE   = 1, /**< constraint u_i = g', with multiplier: the position may drift */
  CP_MOTION_FULL   = 2  /**< q_i, u_i, u_i' are replaced by g, g', g'' and are not unknowns */
} CPMotionKind;

/** A prescribed motion or one of its derivatives: *g at t. */
typedef int (*CPMotionFn)(sunrealtype t, sunrealtype *g, void *data);

/**
 * A prescribed motion q_i(t) = g(t). The velocity is the u_j of q_i' = u_j (CP_ILL_INPUT if there is none). gd and gdd are
 * g' and g''. If one is NULL, central differences of sixth order with the given step > 0 are taken, of g or of gd, between
 * t - 3 step and t + 3 step. A coordinate can have only one motion.
 *
 * At a kink of g, stop the integration (CPIntegratorSetStopTime), let data select the next branch, make
 * velocities consistent (CPMechImpact) and continue with CPIntegratorReInit. Each branch must continue
 * smoothly beyond its ends, so that differences do not see the kink.
 */
typedef struct {
  sunindextype coordinate; /**< i */
  CPMotionKind kind;       /**< how the coordinate follows */
  CPMotionFn g;            /**< the motion */
  CPMotionFn gd;           /**< g', or NULL */
  CPMotionFn gdd;          /**< g'', or NULL */
  sunrealtype step;        /**< of the differences */
  void *data; /**< for g, gd and gdd; if NULL, they get what the functions of the model get */
} CPMotion;

struct CPEventSource_; /* CPEventSource of cpodes_session.h */

/**
 * A mechanical system, described by its functions. Members that are not used are 0 or NULL. M (or a constant M_tmpl) and f,
 * or inverse, or udot must be given, with A, or with Au and ATl (M needs A, udot alone needs Au and ATl). A
 * function whose number of rows is 0 is refused, since the number has probably been forgotten.
 *
 * If both M and udot are given, udot computes the accelerations and multipliers of M, f, f_lambda, A and
 * b by a recursion that is faster than the KKT system. y' uses them as long as no motion is prescribed, no force
 * is added, and no row is off that use_rows does not tell it of. Everything else (projections, Newton's matrix, requested multipliers and ranks,
 * impacts) uses the matrices. The same holds for inverse and udot. CPMechCheck compares both. The
 * recursion need not judge whether rows depend on each other or contradict each other: where it returns a positive value, the KKT
 * system is solved instead, and at the end of each step the rows are compared with it.
 *
 * With inverse, a residual of the implicit methods, M u' + A^T lambda - f, takes one call of inverse and
 * products with A and A^T, without M, A or a factorisation. Matrices are formed where factors are needed:
 * for u' without udot, for Newton's matrix and for projections. Column j of M is then Mu e_j, or without
 * Mu the difference of inverse at a = e_j and a = 0, both at rest (u = 0); A consists of columns Au e_j or
 * of rows ATl e_i, whichever are fewer. Everything else is as with M, f and A.
 *
 * Constraints are nested: row i < np of v is the time derivative of row i of p, and row i < nv of
 * A u' - b is that of row i of v. Rows np ... nv - 1 are nonholonomic, and rows nv ... na - 1 constrain
 * accelerations only.
 */
typedef struct {
  size_t size; /**< sizeof(CPEquations), set by CP_INIT or CP_SIZED */
  /* sizes */
  sunindextype nu; /**< velocities, > 0 */
  sunindextype nq; /**< coordinates, nu if 0 */
  sunindextype nz; /**< auxiliary states */
  sunindextype nquad; /**< how many of them, the last ones, are quadratures, such as a work: no function depends on
                           them. Without auxiliary_jac, or if Zz_tmpl has no rows of them, they need no partial derivatives and have no place in
                           iterations: a step of BDF evaluates zdot once, and one of RADAU mostly twice for each stage */
  sunindextype np; /**< position constraints */
  sunindextype nv; /**< velocity constraints, np if less than that */
  sunindextype na; /**< acceleration constraints, rows of A; nv if less than that */
  /* matrices */
  SUNMatrix M_tmpl; /**< dense, CSC or CSR, nu x nu, cloned; dense if NULL */
  SUNMatrix A_tmpl; /**< the same, na x nu */
  CPMechMatrixFn M; /**< mass matrix; NULL if it is constant, M_tmpl with its values, which must be symmetric, or if there
                        is only udot; may be NULL with inverse */
  CPMechMatrixFn A; /**< constraint matrix, A = (dp/dq) N in its first np rows. If NULL (only for dense matrices and
                        na = nv), column j is v(t, q, e_j) - v(t, q, 0), or without v (only for nv = np and
                        independent rows) a difference of p of sixth order, accurate to about 1e-12 */
  CPMechForceFn f;     /**< forces, may be NULL; NULL with inverse, which contains them */
  SUNMatrix stiffness; /**< nu x nu, dense or sparse, copied with its values: -stiffness q is added to f. May be NULL, needs q' = u */
  SUNMatrix damping;   /**< the same with -damping u */
  CPMechLambdaFn f_lambda; /**< further forces, which depend on the multipliers; may be NULL. They are iterated until lambda
                               changes by 1e-12 of its size, or they by no more than their roundoff; if that takes more
                               than 100 iterations, a smaller step is tried */
  CPMechPositionFn p; /**< needed if np > 0 */
  CPMechVelocityFn v; /**< if NULL, A u + dp/dt, with dp/dt by differences (A u if nv > np) */
  CPMechVelocityFn
      b; /**< if NULL, by differences of v along the motion, or of p if A and v are NULL; needed if
                                na > nv */
  CPMechKinematicsFn N; /**< if NULL, q' = u, and quaternions */
  CPMechLambdaFn zdot;  /**< needed if nz > 0 */
  /* operators, in place of M, f and A; udot may also be given together with them */
  CPMechInverseFn inverse;   /**< inverse dynamics M a - f */
  CPMechAccelerationFn udot; /**< accelerations and multipliers */
  CPMechRowsFn use_rows; /**< tells udot which rows are off, so that it serves with these as well; may be NULL */
  CPMechTimesFn Au;   /**< product with A; needed without A if na > 0 */
  CPMechTimesFn ATl;  /**< product with its transpose; needed with Au */
  CPMechTimesFn Minv; /**< M^{-1} x: for the kinetic metric and its projectors; may be NULL */
  CPMechTimesFn Mu;   /**< M x: for the kinetic energy, and for M with inverse; may be NULL */
  /* partial derivatives, for the implicit methods; if NULL, they are formed by (coloured) differences */
  CPMechDynamicsJacFn dynamics_jac;     /**< K, C, Fz */
  CPMechConstraintJacFn constraint_jac; /**< Bq, Bu */
  CPMechAuxiliaryJacFn auxiliary_jac;   /**< Zq, Zu, Zz */
  CPMechLambdaJacFn lambda_jac;         /**< Fl; also used to iterate accelerations */
  CPMechAccelerationJacFn udot_jac;     /**< Uq, Uu, Uz, for the half-size elimination */
  /* Patterns of these derivatives: templates, dense, CSC or CSR, which are cloned. If one is NULL, the matrix
   * is dense if M is dense. With a sparse M, K and C then have the patterns of M, A^T A and K_tmpl together,
   * Bq and Bu have that of A, and matrices with z are full. */
  SUNMatrix K_tmpl;  /**< nu x nu */
  SUNMatrix C_tmpl;  /**< nu x nu; if NULL, as K_tmpl */
  SUNMatrix Fz_tmpl; /**< nu x nz */
  SUNMatrix Bq_tmpl; /**< na x nu */
  SUNMatrix Bu_tmpl; /**< na x nu */
  SUNMatrix Zq_tmpl; /**< nz x nu; without the rows of quadratures if Zz_tmpl has none */
  SUNMatrix Zu_tmpl; /**< nz x nu */
  SUNMatrix Zz_tmpl; /**< nz x nz; or without the rows and columns of quadratures, which auxiliary_jac then leaves out */
  /* coordinates and motions; the arrays are copied */
  const CPQuaternion *quaternions; /**< [nquaternions], in any order; nq - nu of them, and none with N */
  int nquaternions;                /**< number of quaternions */
  const CPFixedNorm *norms;        /**< [nnorms], with N */
  int nnorms;                      /**< number of norms */
  const CPMotion *motions;         /**< [nmotions]; not for operators in place of M and A */
  int nmotions;                    /**< number of motions */
  /** Time scale of b by differences of v, or of p, along the motion; 0: 1. The steps of these central differences of sixth
   * order are a fiftieth of the time in which positions change by their own size, max |q| / max |q'|, but at most a
   * fiftieth of `time` > 0, which must be as short as the fastest explicit change with t, but not so short that the
   * roundoff of t and q hides it (CP_ILL_INPUT where b is evaluated). Errors are then about 1e-12 of b, so that tolerances
   * below 1e-10 need b from the user. */
  sunrealtype time;
  const int *z_order; /**< [nz] 1: z_i integrates multipliers, which are as rough as velocities, so that its errors are
                           weighted with tau (CPMechSetErrorTimeScale) to this power; NULL: 0 */
  const int *active; /**< [na] the mask of CPMechSetActive in a new CPMech; NULL: all are on */
  /* the rest */
  void *model_data; /**< data of the model, for new_data, or else for all functions, in place of CPMechSetUserData's */
  /** If not NULL, it makes the data of one CPMech, in its thread, when that is created: *data, which the functions get in
   * place of CPMechSetUserData's, from the model's, which other threads may be using. Returns 0, or another value if that
   * fails. */
  int (*new_data)(void *model_data, SUNContext ctx, void **data);
  void (*free_data)(void *data); /**< frees them with the CPMech; may be NULL */
  void (*free_model_data)(
      void *model_data); /**< frees model_data with the model; NULL: they stay the caller's, as they do
                                                  if CPModelCreate fails */
  CPMechDataFn current_data; /**< if not NULL, it finds the pointer that the functions get */
  CPMechRowNameFn row_name;  /**< names of rows in messages; if NULL, "constraint i" */
  sunrealtype typical; /**< a size that coordinates have even where all are nearly 0: 1 where there are angles [rad]. Steps of
                            differences are parts of the larger of it and the largest coordinate. 0: none is known */
  int differenced; /**< 1: dynamics_jac, constraint_jac and auxiliary_jac take differences themselves, or leave out what Newton's
                        iteration can do without: they are not compared with differences (CPMechAttach) */
  int regular; /**< 1: the rows of A, as far as they are on, are independent at each position, as those of the joints of a tree of
                    bodies are: explicit methods need not look out for singular positions */
  sunindextype work; /**< 1 + the index of an entry of z to whose rate the power of the forces of CPMechAddForce is added, such as the
                          last one for a balance of energy, and to which impacts (CPMechImpact, CPContact) add the work of the
                          rows that move; 0: there is none */
  const sunindextype *
      angles; /**< [nangles] coordinates that are angles [rad] and may count turns: their error weights are
                                   1 / (reltol 1 rad + abstol) instead of those of their sizes; copied */
  int nangles; /**< their number */
  /** If not NULL, it is called before p, v, A, b and udot with the rows that are off, and after them with NULL: in
   * between, entries of p, v, A and b in these rows are not used and may be left as they are. For a model with many contacts of which few are closed.
   * All rows must be set where nothing has been left out. What it returns is ignored. */
  CPMechRowsFn skip_rows;
  /** If not NULL, the event sources that belong to the system, such as its sampled controllers and joints that are released:
   * CPSessionSetMech adds them to a session. *source: out, number i = 0, 1, ..., with its size; what it points to lasts as long as
   * user_data. Returns 0, 1 if there are no more, or a negative code. */
  int (*event_source)(int i, struct CPEventSource_ *source, void *user_data);
  /** If not NULL, the laws of contact i of a CPContact, whose first row is `row`, with the present parameters, before they are used; with
   * coefficients of friction that may depend on t and q, as that of a rope on a drum does on the angle of its arc. q: NULL where only
   * constants are asked for. *law comes as CPContactCreate got it, and remains so if the system has no such contact. Laws of
   * CPContactSetLawFn take its place. Returns 0, or another value if it fails. */
  int (*contact_law)(sunrealtype t, const sunrealtype *q, int i, sunindextype row,
                     CPContactLaw *law, void *user_data);
  int kinks; /**< 1: at the events of event_source f is continuous, or their times are given, so that derivatives of solutions pass them;
                0: only CPSessionGradient may pass them */
  CPMechParametersJacFn
      parameters_jac; /**< derivatives with respect to the model's own parameters, in place of differences, where
                                             there is no function of CPMechSetParamPartialsFn; may be NULL */
  /** If not NULL, an integrator keeps whole turns of the angles beside its state, since an angle of a million turns has no digits
   * below 1e-9: from this call on, until the next one, a coordinate q_i that the functions of the model get stands for the angle
   * q_i + 2 pi turns[i]. turns [nq]: whole numbers, 0 except for angles; they stay the caller's, and may change with each call. NULL:
   * there are none. This lasts only while the integrator works: the states that it returns, and those that root functions and forces
   * of CPMechAddForce get, are complete. */
  void (*turns)(const sunrealtype *turns, void *user_data);
  /** If not NULL, it finds gaps that are far from closing, so that a CPContact need not evaluate their rows, nor those of their
   * tangents: as for bodies, which balls around them separate. q, u: two states, at both ends of a step of length h [s]; or one state
   * twice, with h = 0. far [na]: 1 for rows i of p that stay above `margin`, by which coordinates may be wrong, at all times of
   * the step, as far as points move no faster within it than at both ends; others 0, as on entry. It needs skip_rows.
   * Returns 0, or another value if it fails: then no gap is far. */
  int (*far_rows)(const sunrealtype *const q[2], const sunrealtype *const u[2], sunrealtype h,
                  sunrealtype margin, char *far, void *user_data);
} CPEquations;

/**
 * Partial derivatives of a force (CPMechForce): K = df/dq N [nu x nu], C = df/du [nu x nu], Fz = df/dz [nu x nz], zero on
 * entry, with the patterns of its templates. A matrix that is not wanted is NULL. lambda [na] is NULL if the force does
 * not depend on it.
 */
typedef int (*CPMechForceJacFn)(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                                const sunrealtype *z, const sunrealtype *lambda, SUNMatrix K,
                                SUNMatrix C, SUNMatrix Fz, void *data);

/** A force in addition to those of a model (CPMechAddForce). Members that are not used are 0 or NULL. */
typedef struct {
  size_t size;          /**< sizeof(CPMechForce), set by CP_INIT or CP_SIZED */
  CPMechLambdaFn f;     /**< the force [nu], zero on entry */
  int on_lambda;        /**< 1: it depends on the multipliers; 0: f gets NULL for them */
  CPMechForceJacFn jac; /**< K, C, Fz; if NULL, coloured differences of this force alone */
  CPMechLambdaJacFn
      lambda_jac; /**< Fl of a force that depends on multipliers; also used to iterate accelerations */
  /** Called before the force is differentiated by differences around (t, q, u), whose increments are up to a tolerance long,
   * and afterwards with q = NULL. In between, a force that is not smooth over that distance, as friction whose direction
   * turns with a slow velocity, replaces itself by its linearization at that state. Returns 1 if it does (such derivatives
   * change fast as well, and each Newton matrix is formed from new ones), 0 if it need not, or a negative value if it
   * fails. NULL: it need not. */
  int (*linearize)(sunrealtype t, const sunrealtype *q, const sunrealtype *u, void *data);
  /* Patterns of K, C and Fz: templates, dense, CSC or CSR, which are cloned. Without one, Fz is dense, and so are K and
   * C if M is; with a sparse M they have the patterns of M and A^T A, and come from differences. */
  SUNMatrix K_tmpl;  /**< nu x nu */
  SUNMatrix C_tmpl;  /**< nu x nu; if NULL, as K_tmpl */
  SUNMatrix Fz_tmpl; /**< nu x nz */
  void *data;        /**< for the functions */
} CPMechForce;

/** Metric of projections (CPMechSetMetric; guide, "The metric"). */
typedef enum {
  CP_METRIC_DEFAULT = 0, /**< NEWTON with RADAU, or a dense M and the KKT matrix, else KINETIC; ERROR
                              with operators, and where M is not positive definite */
  CP_METRIC_ERROR   = 1, /**< diag(ewt^2), the integrator's error weights */
  CP_METRIC_KINETIC = 2, /**< M: kinetic energy; positions and velocities share their factors */
  CP_METRIC_NEWTON  = 3, /**< the symmetric part of M - gamma C - gamma^2 K, of the newest iteration
                              matrix; M before there is one, and beside light bodies, whose M_jj is below
                              1e-8 of the largest. Implicit methods with structured Newton */
  CP_METRIC_L2      = 4  /**< I */
} CPMechMetric;

/** Linear solver of the implicit methods' Newton iteration (CPMechSetNewton). */
typedef enum {
  CP_NEWTON_AUTO = 0, /**< KKT with M or inverse, HALF with udot_jac, else NONE; ADAMS: NONE */
  CP_NEWTON_KKT  = 1, /**< condensed KKT matrix, dense or sparse as M and A are */
  CP_NEWTON_HALF = 2, /**< I - gamma Uu - gamma^2 Uq, dense, by udot_jac or by differences of u' */
  CP_NEWTON_NONE = 3  /**< the linear solver that the user sets by CVodeSetLinearSolver */
} CPMechNewton;

/** Quantities at one state (CPMechEvaluate). The caller owns the arrays. Those that are not wanted are NULL. */
typedef struct {
  size_t size;           /**< sizeof(CPMechOutput), set by CP_INIT or CP_SIZED */
  sunrealtype *udot;     /**< accelerations u' [nu] */
  sunrealtype *lambda;   /**< multipliers [CPMechGetNumMultipliers] */
  sunrealtype *reaction; /**< reaction forces -A^T lambda [nu], and those that drive FULL motions */
  sunrealtype kinetic;   /**< kinetic energy 1/2 u^T M u; NaN with operators but without Mu */
  sunrealtype power;     /**< power of the reactions, -lambda^T A u: 0 if ideal and scleronomic */
  sunrealtype position;  /**< largest |p_i| */
  sunrealtype velocity;  /**< largest |v_i| */
  sunrealtype acceleration; /**< largest |A u' - b|_i */
  sunrealtype norms;        /**< largest | |quaternion| - 1 | */
  sunindextype rank;        /**< rank of A; -1 with operators */
  sunbooleantype unique; /**< whether the multipliers are unique; if not, they have minimum norm */
  /* The terms of M u' + A^T lambda = f, A u' = b. If only these are wanted, and no array above, nothing else is computed, and
   * the numbers above are NaN. */
  sunrealtype *M; /**< mass matrix [nu x nu], dense, by columns */
  sunrealtype *A; /**< all rows [CPMechGetNumMultipliers x nu], dense, by columns; those that are off are 0 */
  sunrealtype *f; /**< forces [nu]: all that do not depend on multipliers, centrifugal ones among them */
  sunrealtype *b; /**< right-hand sides of all rows [CPMechGetNumMultipliers]; those that are off are 0 */
} CPMechOutput;

/** A method for a motion, and the reasons for its choice (CPMechSuggestMethod). */
typedef struct {
  size_t size;        /**< sizeof(CPMechSuggestion), set by CP_INIT or CP_SIZED */
  const char *method; /**< name for CPIntegratorCreate */
  int stiff;          /**< 1 if implicit methods take far fewer steps */
  sunrealtype radius; /**< estimated spectral radius of the Jacobian of y' = f(t, y) [1/time]; 0 below motion / 10 */
  sunrealtype motion; /**< rate at which positions change by their own size [1/time] */
  char reason[256];   /**< a sentence with these numbers */
} CPMechSuggestion;

/** Results of CPMechCheck: largest errors, relative to the largest entry of their row or block, or 0 (indices:
 * -1) where there is nothing to compare. They are below about 1e-8 if all functions are right. For sparse
 * blocks that come from differences they are the entries that the pattern lacks. */
typedef struct {
  size_t size;      /**< sizeof(CPMechReport), set by CP_INIT or CP_SIZED */
  sunrealtype A_p;  /**< (dp/dq) N against rows of A */
  sunrealtype A_v;  /**< dv/du against rows of A */
  sunrealtype v_p;  /**< v against dp/dt along the motion */
  sunrealtype b_v;  /**< b against A u' - dv/dt along the motion */
  sunrealtype M;    /**< asymmetry of M */
  sunrealtype K;    /**< K of dynamics_jac against differences */
  sunrealtype C;    /**< C of dynamics_jac */
  sunrealtype Fz;   /**< Fz of dynamics_jac */
  sunrealtype Bq;   /**< Bq of constraint_jac */
  sunrealtype Bu;   /**< Bu of constraint_jac */
  sunrealtype Zq;   /**< Zq of auxiliary_jac */
  sunrealtype Zu;   /**< Zu of auxiliary_jac */
  sunrealtype Zz;   /**< Zz of auxiliary_jac */
  sunrealtype Fl;   /**< Fl of lambda_jac */
  sunrealtype Uq;   /**< Uq of udot_jac */
  sunrealtype Uu;   /**< Uu of udot_jac */
  sunrealtype Uz;   /**< Uz of udot_jac */
  sunrealtype udot; /**< u' and lambda of udot against those of the KKT system, if there is one */
  sunrealtype inverse; /**< M x against the difference of inverse at a = x and a = 0 */
  sunrealtype N;       /**< N^+ N against I, and transposes */
  sunrealtype ATl;     /**< operators: A against its transpose, M against M^{-1} */
  sunindextype A_row;  /**< row where A_p or A_v is largest */
  sunindextype A_col;  /**< column where A_p or A_v is largest */
  sunindextype b_row;  /**< row where v_p or b_v is largest */
  sunindextype freedom; /**< number of velocities that A and FULL motions leave free; -1 if unknown (operators, errors) */
} CPMechReport;

/* ---- life cycle ---- */

/**
 * Creates a model. Its equations are copied, with templates, constant matrices and arrays. Returns the model, of which the
 * caller has a reference, or NULL; the message (CPObjectGetLastMessage(NULL)) says which member breaks which rule.
 */
CPODES_EXPORT CPModel CPModelCreate(const CPEquations *equations);

/** Gives the caller's reference back and sets *model to NULL. The model is freed with the last CPMech that uses it. */
CPODES_EXPORT void CPModelFree(CPModel *model);

/**
 * Returns the equations as the model holds them: nq, nv, na and time have their values where they were 0, and quaternions
 * have the order of their coordinates. They are valid as long as the model. NULL if model is NULL.
 */
CPODES_EXPORT const CPEquations *CPModelGetEquations(CPModel model);

/**
 * Creates a mechanical system. y_tmpl is a state of length nq + nu + nz, which is only cloned. ctx must outlive the
 * system. The caller frees the system after the integrators. Returns NULL after a failure, which
 * CPObjectGetLastMessage(NULL) explains.
 */
CPODES_EXPORT CPMech CPMechCreate(CPModel model, N_Vector y_tmpl, SUNContext ctx);

/** Returns the model of mech, without a reference for the caller; NULL if mech is NULL. */
CPODES_EXPORT CPModel CPMechGetModel(CPMech mech);

/** Frees *mech and sets it to NULL. The integrator that it is attached to must be freed first. */
CPODES_EXPORT void CPMechFree(CPMech *mech);

/**
 * Sets the pointer that the functions of the model get. It is not owned. CVODES' user_data is the
 * CPMech. To call it with the same pointer again announces that the data have changed. Returns
 * CP_NOT_SUPPORTED for another pointer than the present one, if the model has data (model_data or new_data).
 */
CPODES_EXPORT int CPMechSetUserData(CPMech mech, void *user_data);
/**
 * Returns the pointer that the functions of the model get, for root and quadrature functions, to which CVODES passes the CPMech.
 * Returns NULL if mech is NULL.
 */
CPODES_EXPORT void *CPMechGetUserData(CPMech mech);
/**
 * Finds the pointer that the functions of the model get at this moment (CPMechDataFn), for codes that call them, as
 * cpodes_contact.h does. *data: out. Returns CP_USERFUNC_FAIL if there is none.
 */
CPODES_EXPORT int CPMechGetData(CPMech mech, void **data);

/* ---- options; before CPMechAttach unless stated otherwise (CP_TOO_LATE) ---- */

/**
 * Adds a force to those of the model: friction, a controller, a field. It enters u', the residuals and matrices of implicit
 * methods, sensitivities and adjoints; partial derivatives that the model gives stay in use beside it. *force is copied.
 * id: out, its number for CPMechRemoveForce; may be NULL. To be called while mech is not attached (CP_TOO_LATE). Returns
 * CP_NOT_SUPPORTED for accelerations by udot without M, CP_ILL_INPUT, CP_MEM_FAIL.
 */
CPODES_EXPORT int CPMechAddForce(CPMech mech, const CPMechForce *force, int *id);

/** Removes a force, between two steps; the integrator continues after CPIntegratorReInit. Returns CP_ILL_INPUT if there is
 * none with this number. */
CPODES_EXPORT int CPMechRemoveForce(CPMech mech, int id);

/**
 * Switches rows of constraints on and off (contacts), at any time between two steps. mask [na] is
 * copied: 0 means off, 1 on, and -1 as before. If mask is NULL, all are on. In a new CPMech the mask is the
 * model's, `active`. A row that is off has lambda_i = 0. A row that is switched on must be satisfied already: CPMechImpact changes
 * velocities, CPMechCalcIC positions. An integrator continues after CPIntegratorReInit, since
 * derivatives that it has stored belong to the former rows.
 */
CPODES_EXPORT int CPMechSetActive(CPMech mech, const int *mask);

/**
 * Chooses the metric of projections, at any time between two steps. The default is
 * CP_METRIC_DEFAULT.
 */
CPODES_EXPORT int CPMechSetMetric(CPMech mech, CPMechMetric metric);

/**
 * Chooses the linear solver for accelerations. The default is CP_LINSOL_AUTO: with sparse M and A it
 * is SPARSE if the blocks of M are small (at most 32), else KKT; with dense ones it is SCHUR. While M
 * is not definite or rows are dependent, it is KKT and QR instead.
 */
CPODES_EXPORT int CPMechSetLinearSolver(CPMech mech, CPLinSol type);

/** Chooses the linear solver of Newton's iteration. The default is CP_NEWTON_AUTO. */
CPODES_EXPORT int CPMechSetNewton(CPMech mech, CPMechNewton type);

/**
 * Weights errors of velocities with a time scale: the error test sees tau times the error of u_i,
 * in the units of positions. tau > 0 is that time. CP_TAU_STEP means min(1, h), where h is the
 * newest step size, as RADAU5 does. 0 means no weighting (default). z_i is weighted with
 * tau^{z_order_i} (CPEquations).
 */
CPODES_EXPORT int CPMechSetErrorTimeScale(CPMech mech, sunrealtype tau);
#define CP_TAU_STEP SUN_RCONST(-1.0)

/**
 * If on, each of q, u and z has an error norm of its own, whatever the sizes of the others:
 * |y|^2 = |q|^2 + |u|^2 + |z|^2 takes the place of the WRMS norm, where |q|, |u| and |z| are the
 * WRMS norms of these parts. So an error in the only component of z has full weight next to a hundred
 * coordinates. In a group of n_g out of n components the error weights become sqrt(n / n_g) times as
 * large, wherever they are used. Off by default.
 */
CPODES_EXPORT int CPMechSetGroupNorms(CPMech mech, sunbooleantype on);

/* ---- use with an integrator ---- */

/**
 * Attaches the system to an integrator of any method and starts it at (t0, y0), y0 [nq + nu + nz],
 * by CPIntegratorInit, or by CPIntegratorReInit if it has been initialised. It sets the right-hand side, the
 * projector, user data and error weights, and with BDF the linear solver of
 * CPMechSetNewton. With "ADAMS" and CP_NEWTON_AUTO it sets a fixed-point solver instead, unless
 * the user has set a nonlinear solver.
 *
 * With CP_NEWTON_KKT, partial derivatives by functions of the user are compared with differences now and
 * then: CPIntegratorEvolve returns CP_MECH_DERIV_WRONG if one is too large by a factor of thirty or more.
 *
 * Tolerances and everything else are set as usual, and no tolerance of y_i below 16 u |t y_i'| counts, where u
 * is the unit roundoff and y_i' the rate of the latest steps: t is not known better, and steps of no size pass a
 * test of smaller errors (with CPIntegratorWFtolerances, too; not with tolerances that CVODES is given directly).
 * y0 need not be consistent: call CPIntegratorCalcIC, or
 * CPMechCalcIC before. mem uses mech until it is freed. A system is attached to one integrator at a
 * time.
 */
CPODES_EXPORT int CPMechAttach(CPMech mech, CPIntegrator mem, sunrealtype t0, N_Vector y0);

/** What a system is used for: bits of CPMechGetUse. */
typedef enum {
  CP_MECH_ATTACHED = 1, /**< it is attached to an integrator that has not been freed */
  CP_MECH_BUSY =
      2 /**< a function of the model works for it, so that other functions would return CP_REENTERED */
} CPMechUse;
/** Returns the sum of the bits of CPMechUse that apply, or 0; 0 if mech is NULL. */
CPODES_EXPORT int CPMechGetUse(CPMech mech);

/**
 * Returns the projector, which mech owns. Its constraints are p, then v. Options that concern their
 * number and kind are refused.
 */
CPODES_EXPORT CPProjector CPMechGetProjector(CPMech mech);

/**
 * Returns the number of multipliers: na of the model, then one for each motion of kind DIRECT or RATE.
 */
CPODES_EXPORT sunindextype CPMechGetNumMultipliers(CPMech mech);

/**
 * Computes a consistent initial state from a rough guess: the positions by damped Gauss-Newton
 * iteration, the nearest velocities, then accelerations and multipliers. t: time. y: in, the guess;
 * out, the consistent state, whose distance from each surface is below 1e-10 max(1, max_j |y_j|
 * weights_j) in units of the weights.
 *
 * weights [n] > 0: 1/weights_j is how far component j may move at the same cost as others. If
 * weights is NULL, they are 1. id [n]: component j is held if id_j = 0. If id is NULL, all are
 * free. The coordinates of a quaternion are held together. udot [nu] and lambda
 * [CPMechGetNumMultipliers], out, may be NULL.
 *
 * Returns CP_IC_FAIL if there is no such state nearby. The message names the constraints that are
 * violated most, and y is as it was.
 */
CPODES_EXPORT int CPMechCalcIC(CPMech mech, sunrealtype t, N_Vector y, N_Vector weights,
                               N_Vector id, sunrealtype *udot, sunrealtype *lambda);

/* ---- quantities ---- */

/**
 * Returns udot [nu] and lambda [CPMechGetNumMultipliers] at (t, y), from the KKT system. lambda may
 * be NULL.
 */
CPODES_EXPORT int CPMechAccelerations(CPMech mech, sunrealtype t, N_Vector y, sunrealtype *udot,
                                      sunrealtype *lambda);

/**
 * The right-hand side y' = (N u, u', zdot) at (t, y) that an attached integrator evaluates, a CVRhsFn
 * whose user data is the CPMech. It needs no integrator. ydot [nq + nu + nz]: out. Returns 0, a positive
 * value if the failure is recoverable, or a negative one if it is fatal.
 */
CPODES_EXPORT int CPMechRhs(sunrealtype t, N_Vector y, N_Vector ydot, void *mech);

/**
 * Solves for n right-hand sides at (t, y), columns of the arrays,
 *
 *   M d + A^T mu = f,   A d = r
 *
 * over the rows of A that are active, motions included: changes of velocities by impulses, or accelerations by further
 * forces. f [nu x n], r [CPMechGetNumMultipliers x n]: in; NULL means 0. d [nu x n]: out; 0 for velocities of FULL motions.
 * mu [CPMechGetNumMultipliers x n]: out; 0 in rows that are off; may be NULL. The matrix is factored once. With dependent
 * rows mu has minimum norm, and r must not contradict them. Operators need Minv. Returns CP_ILL_INPUT, CP_MEM_FAIL,
 * CP_KKT_INCONSISTENT, or the code of what failed; d and mu are then unspecified.
 */
CPODES_EXPORT int CPMechSolve(CPMech mech, sunrealtype t, N_Vector y, int n, const sunrealtype *f,
                              const sunrealtype *r, sunrealtype *d, sunrealtype *mu);

/** Evaluates all outputs at (t, y). out: in, the arrays that are wanted; out, the values. With operators M needs Mu, and b needs v or b, else
 * CP_NOT_SUPPORTED is returned; both M and A are found by nu products. */
CPODES_EXPORT int CPMechEvaluate(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out);

/**
 * Replaces x [nu] by its part in a space of the kinetic metric at (t, y), with
 *
 *   P = I - M^{-1} A^T (A M^{-1} A^T)^+ A
 *
 * The rows of A are those of the velocity constraints and of motions that are active. Velocities of
 * FULL motions are not unknowns, so P x is 0 there. Dependent rows are allowed. Operators need Minv.
 * After a failure x is as before. CP_MECH_NONFINITE means that the result overflows.
 */
CPODES_EXPORT int CPMechProject(CPMech mech, CPSpace space, sunrealtype t, N_Vector y,
                                sunrealtype *x);

/**
 * Delassus operator S = A M^{-1} A^T and effective mass W = S^+, the pseudo-inverse where rows are dependent, at (t, y)
 * over all rows of A. S and W [na' x na'] are dense and the caller's, with na' = CPMechGetNumMultipliers; one of them may
 * be NULL. Rows that are off are 0. Velocities of FULL motions are left out of A and M, as if their masses were infinite.
 * Returns CP_MASS_INDEFINITE if M is not positive definite, even where the projectors and S^+ exist. (For products with
 * W, which need no matrix, see CPMechSolve: f = NULL, r = x has mu = -W x.)
 */
CPODES_EXPORT int CPMechDelassus(CPMech mech, sunrealtype t, N_Vector y, SUNMatrix S, SUNMatrix W);

/**
 * Impact: velocities jump at fixed positions so that the velocity constraints hold,
 *
 *   M (u+ - u-) + A^T Lambda = 0,   v_i(t, q, u+) = -e v_i(t, q, u-) for the named rows, else 0.
 *
 * Rows that strike have non-zero entries in named [nv], whether they are active or not. If named is
 * NULL, all active rows of the model strike. e is the coefficient of restitution, 0 <= e <= 1. y:
 * in, out. impulse [CPMechGetNumMultipliers]: out, Lambda, 0 for rows that take no part; may be
 * NULL.
 *
 * If u- does not satisfy the other active rows (motions included), they are satisfied first, and
 * v_i(t, q, u-) of the named ones is the value after that. So the kinetic energy never grows as
 * long as the constraints are scleronomic: T+ = T- - (1 - e^2)/2 v^T S^+ v if the other rows were
 * satisfied. A moving stop, or a motion whose g' jumps, does work: -Lambda . g' over all rows, v = A u - g', which CPEquations.work
 * gets, so that T - W changes by -Lambda . (v(u-) + v(u+)) / 2 of both stages. Velocities of FULL motions become g'; their work, as
 * their power, has no multiplier and is not in W.
 *
 * Named rows are not unilateral: one that is opening (v_i > 0 for a gap p_i >= 0) is reversed like
 * the others, so name only those that close. Returns 0, CP_KKT_INCONSISTENT if dependent rows
 * cannot have these velocities together, or CP_MECH_A_WRONG if A is not dv/du. After a failure y
 * and impulse are as they were. The integrator continues after CPIntegratorReInit.
 */
CPODES_EXPORT int CPMechImpact(CPMech mech, sunrealtype t, N_Vector y, const int *named,
                               sunrealtype e, sunrealtype *impulse);

/**
 * Compares the functions of the model with each other and with differences of sixth order, for
 * debugging. The state is (t, q) with normalised quaternions. Constraints are also compared half a
 * percent further along a motion that they allow (with M, where it is definite), because a
 * quaternion equal to 1 hides a wrong frame. Velocities, u' and lambda differ slightly from those of
 * (t, y), since most terms vanish at rest. With sparse matrices the patterns of blocks that come from
 * differences are checked as well, unless the attached integrator has no matrix. M must not give a
 * negative kinetic energy: no diagonal entry is negative, and M is definite where A x = 0.
 *
 * Functions are called around the state (within 1 % of its size), where they must be smooth, about 24
 * times for each column. report: out. Options may still be set afterwards.
 *
 * Returns 0; CP_MECH_A_WRONG, CP_MECH_B_WRONG or CP_MECH_DERIV_WRONG if an error exceeds 1e-4,
 * where the message names the function, the entry and both values of the first one;
 * CP_MASS_INDEFINITE; or the code of a failed function. If A is wrong and another frame of a
 * quaternion would make it right, the message says so. Warnings (CV_WARNING, to the message
 * handler) concern quaternions off their norm and constraints that leave no freedom.
 */
CPODES_EXPORT int CPMechCheck(CPMech mech, sunrealtype t, N_Vector y, CPMechReport *report);

/**
 * Suggests the method that is likely to take the least time for the motion from (t, y) to t_end with the
 * relative tolerance rtol >= 0. y [nq + nu + nz] must be consistent, and t_end must differ from t. s:
 * out.
 *
 * The spectral radius is estimated by power iteration with at most 20 evaluations of f near the state. If
 * an oscillation limits explicit steps that is undamped, or has not died out in an early part of the
 * motion, 4 more evaluations give its amplitude, since implicit methods can step over it once the
 * amplitude is small for the tolerance. Of the explicit methods BS54 is suggested for rtol >= 1e-3 if
 * accuracy limits their steps, DOP853 below, and where stability does. All rates are those of this state. If
 * stiffness or oscillations arise later in the motion, call the function again there. Size, events and the
 * cost of f do not change the choice between the suggested methods (guide, "Choosing a method").
 *
 * The call is a first use of mech: afterwards it is too late for options that must precede the first use,
 * but not for those that must precede CPMechAttach.
 *
 * Returns 0, CP_ILL_INPUT, CP_MEM_FAIL, or the code of a function that failed at (t, y), or failed fatally
 * near it.
 */
CPODES_EXPORT int CPMechSuggestMethod(CPMech mech, sunrealtype t, N_Vector y, sunrealtype t_end,
                                      sunrealtype rtol, CPMechSuggestion *s);

#ifdef __cplusplus
}
#endif
#endif

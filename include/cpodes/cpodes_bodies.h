/* cpodes: mechanisms of rigid bodies (guide, chapter "Bodies and joints").
 *
 * Bodies, joints, drives and forces are added by name; CPBodiesMech makes a CPMech of them, with M, A, b and all
 * partial derivatives exact. In space a body i has, in this order,
 *
 *   q_i = (r, e)       centre of mass in the axes of space [m], unit quaternion of its axes, scalar first   [7]
 *   u_i = (r', omega)  velocity in the axes of space [m/s], angular velocity in the body's axes [rad/s]      [6]
 *
 * and in the plane z = 0 of space q_i = (x, y, phi) [m, m, rad], u_i = q_i' [3]. The state is y = (q, u), the bodies
 * in the order in which they were added, and (q, u, W) with CPBodiesSetBalance. Vectors have three components in the
 * plane, too, where the third one is 0. Units are those of one consistent system, here SI.
 *
 * A body's frame has its origin anywhere, and its centre of mass where `centre` says. Its placement puts the frame
 * into space: joints and points of application may be given in the axes of space at this placement, or in the
 * bodies' frames (CPIn). If points of both bodies come from the placement, the joints are closed there; otherwise it
 * may be a rough guess, which CPBodiesAssemble improves.
 *
 * Functions return CP_SUCCESS, an index (from 0 on) or a value, or a negative code whose message names the element,
 * the rule and the value. After an error the mechanism is as before the call.
 */
#ifndef CPODES_BODIES_H
#define CPODES_BODIES_H

#include <cpodes/cpodes_mechanics.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A mechanism of rigid bodies; created by CPBodiesCreate. */
typedef struct CPBodies_ *CPBodies;

/** In which axes points and directions of an element are given. */
typedef enum {
  CP_IN_SPACE  = 0, /**< those of space, the bodies at their placement */
  CP_IN_BODIES = 1  /**< each side in its body's frame */
} CPIn;

/** A rigid body. Its name, as all names, is copied; it has no blank and no dot, and belongs to one element only. */
typedef struct {
  const char *name; /**< of the element */
  sunrealtype mass; /**< > 0 [kg] */
  /** Moments J_xx, J_yy, J_zz and products J_xy, J_xz, J_yz (entries of the tensor: J_xy = -int x y dm) about the
   * centre of mass, in the axes of the frame [kg m^2]. Definite; each principal moment at most the sum of the others.
   * In the plane only J_zz > 0 counts. */
  sunrealtype inertia[6];
  sunrealtype centre[3];   /**< of mass, in the frame [m] */
  sunrealtype position[3]; /**< placement: origin of the frame [m] */
  sunrealtype quaternion[4]; /**< placement: attitude, normalised here; zeros: no rotation. Not in the plane */
  sunrealtype angle;       /**< placement in the plane [rad] */
  sunrealtype velocity[3]; /**< start: of the origin of the frame, in space [m/s] */
  sunrealtype omega[3]; /**< start: angular velocity in space [rad/s]; in the plane (0, 0, phi') */
} CPBody;

/**
 * Joints. With P_a, P_b the points of both sides, d = P_b - P_a, and axes x, y, z of both sides, z the joint's axis:
 *
 *   kind           constraints in space                       rows   in the plane          coordinates
 *   BALL           P_a = P_b                                   3
 *   REVOLUTE       P_a = P_b, z_b perpendicular to x_a, y_a      5     P_a = P_b             angle
 *   UNIVERSAL      P_a = P_b, z_a . z_b = 0                      4                           angles about z_a, z_b
 *   CYLINDRICAL    d and z_b along z_a                          4                           displacement, angle
 *   PRISMATIC      the same, and x_a . y_b = 0                  5     the same, 2 rows      displacement
 *   PLANAR         z_a . d = 0, z_b along z_a                   3                           x, y, angle
 *   FIXED          P_a = P_b and equal axes                     6     3 rows
 *   ROD            |d| = length                                1     1 row
 *   POINT_ON_LINE  d along z_a                                 2     1 row                 displacement
 *   POINT_ON_PLANE z_a . d = 0                                 1
 *   ROLLING        z_a . d = length, and no slip: a ball of this radius about P_b (or a wheel whose axis stays
 *                  parallel to the plane) rolls on the plane through P_a with the normal z_a
 *                                                              1 + 2 nonholonomic; in the plane 1 + 1
 *   ROLLING_DISC   a thin disc of the radius `length` about P_b with the axis z_b, which may tilt, rolls with its edge on
 *                  the plane through P_a with the normal z_a, above it: z_a . d = length s with
 *                  s = sqrt(1 - (z_a . z_b)^2) > 0, and no slip
 *                                                              1 + 2 nonholonomic
 *
 * Angles are those from x_a to x_b about z [rad], displacements z_a . d [m]. In space angles are known up to whole
 * turns, and given in (-pi, pi].
 */
typedef enum {
  CP_JOINT_BALL,           /**< points meet */
  CP_JOINT_REVOLUTE,       /**< a hinge */
  CP_JOINT_UNIVERSAL,      /**< Hooke's joint */
  CP_JOINT_CYLINDRICAL,    /**< slides and turns */
  CP_JOINT_PRISMATIC,      /**< slides */
  CP_JOINT_PLANAR,         /**< slides on a plane */
  CP_JOINT_FIXED,          /**< no motion */
  CP_JOINT_ROD,            /**< a distance */
  CP_JOINT_POINT_ON_LINE,  /**< a point on a line of a */
  CP_JOINT_POINT_ON_PLANE, /**< a point on a plane of a */
  CP_JOINT_ROLLING,        /**< no slip */
  CP_JOINT_ROLLING_DISC,   /**< a disc that tilts, no slip; not in the plane */
  CP_NUM_JOINTS            /**< their number */
} CPJointKind;

/** A point and the directions of a joint's axes on one side. */
typedef struct {
  sunrealtype point[3]; /**< [m] */
  sunrealtype axis[3]; /**< z, of any length > 0; in the plane ignored by joints that turn; zeros: z of space, or of
                             the frame */
  sunrealtype across[3]; /**< gives x, its part perpendicular to z; zeros: any, the same on both sides */
} CPMarker;

/** A joint from body a to body b. */
typedef struct {
  const char *name; /**< of the element */
  CPJointKind kind; /**< which one */
  const char *a; /**< names of the bodies; NULL and "ground" mean the ground, whose frame is that of space */
  const char *b; /**< second body */
  CPIn in;       /**< axes of points and directions */
  CPMarker on_a; /**< on body a */
  /** On body b. With CP_IN_SPACE it is that of a, except for: the points of rods, of rolling and of points on lines and
   * planes; the axis of universal joints and of discs. */
  CPMarker on_b;
  sunrealtype length; /**< of a rod; 0: that of the placement. Radius of what rolls, > 0 [m] */
} CPJoint;

/** What body a of a contact has. */
typedef enum {
  CP_ON_PLANE   = 0, /**< the plane through P_a with the normal z_a */
  CP_ON_SPHERE  = 1, /**< a sphere about P_a, or a hollow one */
  CP_ON_SURFACE = 2, /**< a surface of a function */
  CP_NUM_ON          /**< their number */
} CPContactOn;

/** What body b has. */
typedef enum {
  CP_TOUCH_BALL = 0, /**< a ball about P_b, or a point; in the plane a disc */
  CP_TOUCH_DISC = 1, /**< the edge of a thin disc about P_b with the axis z_b, on a plane */
  CP_TOUCH_CYLINDER =
      2, /**< both edges of a cylinder about P_b with the axis z_b, on a plane: 2 contacts */
  CP_TOUCH_BOX =
      3, /**< the vertices of a box about P_b with edges along x_b, y_b, z_b: 8 contacts, in the plane 4 */
  CP_NUM_TOUCH /**< their number */
} CPContactTouch;

/**
 * A surface phi(x) = 0 of body a: phi, its gradient g [3], its second derivatives H [9] and third ones T [27] (T[9 i + 3 j + k]): out,
 * zero when called. x = (x_a . d, y_a . d, z_a . d), which in the plane has y_a out of it, x_a to the left of z_a; phi > 0 where b
 * may be. A value other than 0: x is outside of the domain, and a smaller step may help.
 */
typedef int (*CPSurfaceFn)(const sunrealtype *x, sunrealtype *phi, sunrealtype *g, sunrealtype *H,
                           sunrealtype *T, void *data);

/**
 * A unilateral contact of body b, at P_b, with body a, at P_a, d = P_b - P_a:
 *
 *   on        touch            gap >= 0
 *   PLANE     ball             z_a . d - radius
 *   PLANE     disc, edge       z_a . d - radius sqrt(1 - (z_a . z_b)^2); z_b must not come along z_a
 *   SPHERE    ball             (d . d - rho^2) / (2 rho), rho = radius_a + radius: the distance but for a part of second order.
 *                              With radius_a < 0 a ball within a hollow sphere, such as a pin in a bearing with the
 *                              clearance -rho > 0
 *   SURFACE   ball             phi - radius; with a radius phi has to be a distance, |g| = 1
 *
 * Sliding velocities are those along two tangents, in the plane one, of the point that touches; on planes they are x_a and y_a, and
 * on surfaces they have the length |g|: normal and tangential forces there are |g| N and |g| F_T. A box has a ball of the radius, or
 * a point, at each vertex, so that all of `on` go with it. Its contacts, and those of a cylinder, have names with _1, _2, ... behind.
 *
 * The laws are Coulomb's friction and Newton's or Poisson's restitution. Each contact takes the rows of a rolling joint, which a
 * CPContact switches (CPBodiesContact); a CPMech alone has them off, and the bodies pass through each other.
 */
typedef struct {
  const char *name;     /**< of the element, and of the joint whose rows it takes */
  const char *a;        /**< body with the surface; NULL and "ground" mean the ground */
  const char *b;        /**< body that touches it */
  CPIn in;              /**< axes of points and directions */
  CPMarker on_a;        /**< P_a, and z_a, `axis` */
  CPMarker on_b;        /**< P_b, and axes of disc, cylinder, box; those of a box as of CPShape */
  sunrealtype radius;   /**< >= 0 of a ball, > 0 of disc and cylinder [m] */
  sunrealtype friction; /**< mu >= 0 of sliding */
  sunrealtype sticking; /**< mu_s >= 0; mu if it is less than that */
  sunrealtype restitution; /**< e from 0 to 1 */
  int poisson;             /**< Is restitution Poisson's, and not Newton's? */
  CPContactOn on;          /**< what body a has */
  CPContactTouch touch;    /**< what body b has */
  sunrealtype radius_a;    /**< of the sphere of a; < 0: it is hollow [m] */
  CPSurfaceFn surface;     /**< of CP_ON_SURFACE, else NULL */
  void *data;              /**< handed to it */
  sunrealtype size[3]; /**< edges of a box along x_b, y_b, z_b; the last one: length of a cylinder. > 0 [m] */
} CPBodyContact;

/** Contact i of a mechanism, for a CPContactPoint of cpodes_contact.h, whose members these are. */
typedef struct {
  const char *name;        /**< to be copied, as it may move when an element is added */
  int joint;               /**< index of the joint whose rows it takes */
  sunindextype normal;     /**< row of p, v and A */
  sunindextype tangent;    /**< first row of v and A of the sliding velocities */
  int ntangents;           /**< 2, in the plane 1 */
  sunrealtype mu;          /**< of sliding */
  sunrealtype mu_static;   /**< of sticking */
  sunrealtype restitution; /**< e */
  int poisson;             /**< Poisson's law? */
  CPContactOn on;          /**< what body a has */
} CPBodiesContactRows;

/** One coordinate x of a joint, in the order of the table above. */
typedef struct {
  const char *joint; /**< its name */
  int k;             /**< which one, from 0 on */
} CPCoordinate;

/** Coordinates that depend on each other: ratio_1 x_1 + ratio_2 x_2 = offset. Gears: x_1, x_2 angles, ratios the numbers
 * of teeth, with a minus sign for a ring gear. Rack: x_1 a displacement, x_2 the pinion's angle, ratios 1 and its
 * radius. Screw: the same with the pitch. Two angles in space must have whole ratios, so that whole turns cancel. */
typedef struct {
  const char *name;     /**< of the element */
  CPCoordinate of[2];   /**< what it acts on */
  sunrealtype ratio[2]; /**< of both, not 0 */
  sunrealtype offset;   /**< right-hand side */
} CPCoupler;

/** A prescribed motion: g [3]: out, g, g' and g'' at t. Returns 0; positive: a smaller step may help; negative: give
 * up. */
typedef int (*CPDriveFn)(sunrealtype t, sunrealtype *g, void *data);
/** A drive: x(t) = g(t), exactly. Without a function g = start + rate t + amplitude sin(frequency t), in the
 * coordinate's unit, [.../s], and [rad/s]. */
typedef struct {
  const char *name;      /**< of the element */
  CPCoordinate of;       /**< what it acts on */
  CPDriveFn g;           /**< motion, or NULL */
  void *data;            /**< handed to the function */
  sunrealtype start;     /**< constant part */
  sunrealtype rate;      /**< its change with t */
  sunrealtype amplitude; /**< of the sine */
  sunrealtype frequency; /**< of the sine [rad/s] */
} CPDrive;

/** A force law: T [3]: out, the force T in the direction in which x grows, and its derivatives to x and x'. Returns as
 * a drive's function. */
typedef int (*CPLawFn)(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *data);
/** A spring-damper, T = force - stiffness (x - free) - damping x' - inertance x'' + law: on the coordinate `of`; or, if
 * of.joint is NULL, on the distance x between point_a of body a and point_b of body b, which must not meet. On an angle
 * in space the spring takes the shorter way to its free angle, of at most half a turn. The inertance is what a flywheel or a rotor behind a gear adds to
 * the motion of its coordinate ("armature", "reflected inertia": rotor inertia times the square of the gear ratio). */
typedef struct {
  const char *name;       /**< of the element */
  CPCoordinate of;        /**< what it acts on */
  const char *a;          /**< first body */
  const char *b;          /**< second body */
  CPIn in;                /**< axes of points and directions */
  sunrealtype point_a[3]; /**< on body a [m] */
  sunrealtype point_b[3]; /**< on body b [m] */
  sunrealtype stiffness;  /**< [N/m, N s/m] or [N m/rad, N m s/rad] */
  sunrealtype damping;    /**< [N/m, N s/m] or [N m/rad, N m s/rad] */
  sunrealtype free;       /**< x without force; for distances NaN: that of the placement */
  sunrealtype force;      /**< constant [N, N m] */
  sunrealtype inertance;  /**< >= 0 [kg] or [kg m^2] */
  CPLawFn law;            /**< added to these forces; NULL if there is none */
  void *data;             /**< handed to the function */
} CPSpring;

/** An elastic joint: springs and dampers along x_a, y_a, z_a on d, and about them on the small angles z_a . y_b, x_a . z_b,
 * y_a . x_b. In the plane: along x_a and y_a, and on the angle. The drag is a torque -drag (omega_b - omega_a) on b, for
 * turns of any size. */
typedef struct {
  const char *name;              /**< of the element */
  const char *a;                 /**< first body */
  const char *b;                 /**< second body */
  CPIn in;                       /**< axes of points and directions */
  CPMarker on_a;                 /**< with CP_IN_SPACE on_a holds for both */
  CPMarker on_b;                 /**< with CP_IN_SPACE on_a holds for both */
  sunrealtype stiffness[3];      /**< [N/m, N s/m] */
  sunrealtype damping[3];        /**< [N/m, N s/m] */
  sunrealtype turn_stiffness[3]; /**< [N m/rad, N m s/rad] */
  sunrealtype turn_damping[3];   /**< [N m/rad, N m s/rad] */
  sunrealtype drag;              /**< [N m s/rad]; not in the plane */
} CPBushing;

/** A force: F [3]: out, at the point x with the velocity v, all in the axes of space; Fx, Fv [9]: out, by rows, its
 * derivatives to x and v, zero when called. Returns as a drive's function. */
typedef int (*CPPointForceFn)(sunrealtype t, const sunrealtype *x, const sunrealtype *v,
                              sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv, void *data);
/** A force on a point of a body. */
typedef struct {
  const char *name;     /**< of the element */
  const char *body;     /**< its name */
  CPIn in;              /**< of the point */
  sunrealtype point[3]; /**< point [m] */
  sunrealtype force[3]; /**< constant, in the axes of space, or of the body if it follows [N] */
  int follows;          /**< 1: turns with the body */
  CPPointForceFn fn;    /**< adds to `force`, or is NULL; it must be NULL if the force follows */
  void *data;           /**< handed to the function */
} CPForce;

/** Friction of a joint that depends on its reaction: T = -factor |F| tanh(x' / speed) on the coordinate `of`, |F| the
 * reaction force across the joint's point. factor: coefficient of friction, times the radius of the bearing for
 * angles [m]. */
typedef struct {
  const char *name;   /**< of the element */
  CPCoordinate of;    /**< what it acts on */
  sunrealtype factor; /**< not negative */
  sunrealtype speed;  /**< > 0: below it the force grows with x' [m/s, rad/s] */
} CPFriction;

/** A shape of a body for drawings; it has no mass. Its centre is the point of `on`; z of `on` is the axis of cylinders and
 * wheels, which in the plane is that of space. */
typedef struct {
  const char *name;    /**< of the element */
  CPShapeKind kind;    /**< which one */
  const char *body;    /**< its name; "ground" is the ground */
  CPIn in;             /**< axes of `on` */
  CPMarker on;         /**< centre and axes */
  sunrealtype size[3]; /**< edges of a box along x, y, z; radius (first) and length (last) of a cylinder or wheel, or radius
                          (first) of a sphere. > 0 [m]; the last one is not used in the plane */
} CPShape;

/** Energies and powers at one state; E = kinetic + potential changes by E' = -dissipation + applied + drives. */
typedef struct {
  sunrealtype kinetic;     /**< with that of inertances [J] */
  sunrealtype potential;   /**< of gravity and of springs without laws [J] */
  sunrealtype dissipation; /**< power lost in dampers and friction [W] */
  sunrealtype applied;     /**< power of forces and laws [W] */
  sunrealtype drives;      /**< power that the drives feed in [W] */
} CPBodiesPowers;

/* ---- life cycle ---- */

/** An empty mechanism. dimension: 3 in space, 2 in the plane. ctx: outlives it. Returns it, or NULL. The caller frees
 * it, after the CPMech. */
CPODES_EXPORT CPBodies CPBodiesCreate(int dimension, SUNContext ctx);
/** Frees *bodies and sets it to NULL; bodies or *bodies may be NULL. */
CPODES_EXPORT void CPBodiesFree(CPBodies *bodies);
/** Receives the messages, those of the CPMech, too, which is made later; if handler is NULL (default), they are only
 * kept, and the CPMech has its own default. */
CPODES_EXPORT int CPBodiesSetErrHandlerFn(CPBodies bodies, CPErrHandlerFn handler, void *data);
/** The newest message, "" before the first. */
CPODES_EXPORT const char *CPBodiesGetLastMessage(CPBodies bodies);

/* ---- the mechanism; before CPBodiesMech (CP_TOO_LATE). Each returns the element's index among its like, or
 * CP_ILL_INPUT, CP_MEM_FAIL, CP_NOT_SUPPORTED (not in the plane). ---- */

/** Acceleration of gravity, g [3], in space [m/s^2]. */
CPODES_EXPORT int CPBodiesSetGravity(CPBodies bodies, const sunrealtype *g);
/** Adds a body; see CPBody. */
CPODES_EXPORT int CPBodiesAddBody(CPBodies bodies, const CPBody *body);
/** Adds a joint; see CPJoint. */
CPODES_EXPORT int CPBodiesAddJoint(CPBodies bodies, const CPJoint *joint);
/** Adds a contact, or those of a box or cylinder; see CPBodyContact. Returns the number of the first one, from 0 on. */
CPODES_EXPORT int CPBodiesAddContact(CPBodies bodies, const CPBodyContact *contact);
/** Adds a coupler; see CPCoupler. */
CPODES_EXPORT int CPBodiesAddCoupler(CPBodies bodies, const CPCoupler *coupler);
/** Adds a drive; see CPDrive. */
CPODES_EXPORT int CPBodiesAddDrive(CPBodies bodies, const CPDrive *drive);
/** Adds a spring; see CPSpring. */
CPODES_EXPORT int CPBodiesAddSpring(CPBodies bodies, const CPSpring *spring);
/** Adds a bushing; see CPBushing. */
CPODES_EXPORT int CPBodiesAddBushing(CPBodies bodies, const CPBushing *bushing);
/** Adds a force; see CPForce. */
CPODES_EXPORT int CPBodiesAddForce(CPBodies bodies, const CPForce *force);
/** Adds a friction; see CPFriction. */
CPODES_EXPORT int CPBodiesAddFriction(CPBodies bodies, const CPFriction *friction);
/** Adds a shape; see CPShape. */
CPODES_EXPORT int CPBodiesAddShape(CPBodies bodies, const CPShape *shape);
/** Adds the state W, W' = -dissipation + applied + drives [J]: kinetic + potential - W is constant. */
CPODES_EXPORT int CPBodiesSetBalance(CPBodies bodies);

/* ---- the motion ---- */

/** The CPMech of the mechanism, which must not change from then on; user data: bodies, which has to live longer. To be
 * used in one thread. One CPMech for each mechanism (CP_TOO_LATE). mech: out, the caller's. Matrices are sparse from 24
 * velocities on. */
CPODES_EXPORT int CPBodiesMech(CPBodies bodies, CPMech *mech);
/** The same as CPMech takes it, for programs that create the CPMech themselves: model: out, its templates remain those
 * of bodies; user data is bodies. */
CPODES_EXPORT int CPBodiesModel(CPBodies bodies, CPMechModel *model);
/** Gives mech its user data, quaternions and message handler, as CPBodiesMech does. */
CPODES_EXPORT int CPBodiesPrepare(CPBodies bodies, CPMech mech);
/** A new state with the bodies at their placement with their velocities. The caller owns it. Returns NULL without
 * memory or bodies. */
CPODES_EXPORT N_Vector CPBodiesState(CPBodies bodies);
/** Assembles the mechanism at time t: CPMechCalcIC from the guess y, in and out. held: names of bodies, with blanks
 * between, that stay where they are, or NULL. Of those that move in the guess it holds the velocities, too, as far as a
 * state with them exists: of a body all of them, else those of turning, else those of moving; the velocities of all other
 * bodies are the nearest ones. CP_IC_FAIL: the message names the joint that stays open most. */
CPODES_EXPORT int CPBodiesAssemble(CPBodies bodies, CPMech mech, sunrealtype t, N_Vector y,
                                   const char *held);

/* ---- quantities, after CPBodiesMech or CPBodiesModel ---- */

/** Coordinate and rate of a joint at y: x, rate: out. */
CPODES_EXPORT int CPBodiesCoordinate(CPBodies bodies, CPCoordinate of, N_Vector y, sunrealtype *x,
                                     sunrealtype *rate);
/** Point of a body, in its frame, in space: position x [3] and velocity v [3], out; either may be NULL. */
CPODES_EXPORT int CPBodiesPoint(CPBodies bodies, const char *body, const sunrealtype *point,
                                N_Vector y, sunrealtype *x, sunrealtype *v);
/** Reaction of a joint on its body b, for the multipliers lambda [na] at y: force F [3] at P_b [N], and torque
 * T [3] about P_b [N m], in the axes of space. For a coupler or a drive: F[0] = -lambda, the generalised force on its
 * coordinates. Of dependent constraints the multipliers, and so the reactions, are those of minimum norm. */
CPODES_EXPORT int CPBodiesReaction(CPBodies bodies, const char *joint, sunrealtype t, N_Vector y,
                                   const sunrealtype *lambda, sunrealtype *F, sunrealtype *T);
/** Energies and powers; lambda [na] or NULL (without drives and friction). */
CPODES_EXPORT int CPBodiesGetPowers(CPBodies bodies, sunrealtype t, N_Vector y,
                                    const sunrealtype *lambda, CPBodiesPowers *powers);

/** Index of the parameter "element.field" in the array of CPBodiesParameters: the fields mass, J_xx ... J_yz (products
 * count only if the body was added with some), length, offset, ratio_1, ratio_2, start, rate, amplitude, frequency, stiffness, damping, free, force, factor,
 * speed, force_x ... force_z; of a contact length (its radius), radius_a (of a sphere), friction, sticking, restitution; of a bushing kx ... kzz, dx ... dzz, x0 ... zz0 (without force); inertance and drag, if the
 * element was added with some; "gravity.x". */
CPODES_EXPORT int CPBodiesFindParameter(CPBodies bodies, const char *name);
/** The array of all parameters, which the functions of the model read: for CPodeSetSensParams and CPMechSetParams. Its
 * address is final once CPBodiesMech or CPBodiesModel has been called. NULL if bodies is NULL. */
CPODES_EXPORT sunrealtype *CPBodiesParameters(CPBodies bodies);
/** Number of bodies. */
CPODES_EXPORT int CPBodiesCount(CPBodies bodies);
/** Number of joints, couplers and drives. */
CPODES_EXPORT int CPBodiesJoints(CPBodies bodies);
/** Name of body i, or NULL; to be copied, as it may move when an element is added. */
CPODES_EXPORT const char *CPBodiesBodyName(CPBodies bodies, int i);
/** Name of joint, coupler or drive i, or NULL; to be copied, too. */
CPODES_EXPORT const char *CPBodiesJointName(CPBodies bodies, int i);
/** 2 in the plane, 3 in space. */
CPODES_EXPORT int CPBodiesDimension(CPBodies bodies);
/** Bodies a and b of a joint: body [2]: out, indices, -1 for the ground. */
CPODES_EXPORT int CPBodiesJointBodies(CPBodies bodies, int i, int *body);
/** Both points P_a, P_b of a joint in space, at y. */
CPODES_EXPORT int CPBodiesJointPoints(CPBodies bodies, int i, N_Vector y, sunrealtype *Pa,
                                      sunrealtype *Pb);
/** Kind of a joint (CPJointKind), CP_NUM_JOINTS for couplers and drives; CP_ILL_INPUT: there is none. */
CPODES_EXPORT int CPBodiesJointKind(CPBodies bodies, int i);
/** Number of contacts. */
CPODES_EXPORT int CPBodiesContacts(CPBodies bodies);
/** Rows and present constants of contact i, after CPBodiesMech or CPBodiesModel: rows: out. The constants are parameters. */
CPODES_EXPORT int CPBodiesContact(CPBodies bodies, int i, CPBodiesContactRows *rows);
/** Where contact i acts at y, and its directions in space: frame [12]: out, the place, the normal and both tangents, on a plane z_a,
 * x_a and y_a (in the plane the last one is 0). */
CPODES_EXPORT int CPBodiesContactFrame(CPBodies bodies, int i, N_Vector y, sunrealtype *frame);
/** Number of springs between two points. */
CPODES_EXPORT int CPBodiesSprings(CPBodies bodies);
/** Bodies a and b of spring i of those: body [2]: out, indices, -1 for the ground. */
CPODES_EXPORT int CPBodiesSpringBodies(CPBodies bodies, int i, int *body);
/** Its points P_a, P_b in space, at y. */
CPODES_EXPORT int CPBodiesSpringPoints(CPBodies bodies, int i, N_Vector y, sunrealtype *Pa,
                                       sunrealtype *Pb);
/** Number of shapes. */
CPODES_EXPORT int CPBodiesShapes(CPBodies bodies);
/** Shape i at y: kind: out; points [12]: out, the centre and the ends of the half axes a, b, c from there, in space (in
 * the plane the last one is the centre). */
CPODES_EXPORT int CPBodiesShapePoints(CPBodies bodies, int i, N_Vector y, CPShapeKind *kind,
                                      sunrealtype *points);

/** Name "element.field" of parameter i to text [length], at least 1; CP_ILL_INPUT: there is none. */
CPODES_EXPORT int CPBodiesParameterName(CPBodies bodies, int i, char *text, size_t length);

/* ---- mechanisms as files (guide, chapter "Mechanisms as files") ---- */

/** Bound of the texts below. */
#define CP_BODIES_TEXT 200

/** What a file says of a run. */
typedef struct {
  char title[CP_BODIES_TEXT];   /**< "": none */
  char method[CP_BODIES_TEXT];  /**< as `cpodes run --method` names it; "": any */
  int method_at[2];             /**< line and column of this name in the file; 0: not given */
  char held[CP_BODIES_TEXT];    /**< bodies that CPBodiesAssemble holds */
  char sensors[CP_BODIES_TEXT]; /**< coordinates that `cpodes run` puts out with their rates: JOINT or JOINT.K, with blanks between */
  sunrealtype t_end;            /**< > 0, default 10 [s] */
  int assemble;                 /**< does CPBodiesAssemble come first? Default 1 */
  int balance;                  /**< CPBodiesSetBalance, default 1 */
} CPBodiesFile;

/** The mechanism of a file, complete but for CPBodiesMech: MJCF or URDF if the name ends in .xml, .mjcf or .urdf, else
 * YAML. run: out. message [length]: out, "" or one line "file:line: rule", for YAML "file:line:column: rule". Returns it,
 * the caller's, or NULL. Without libyaml, and libxml2, there is only the message. */
CPODES_EXPORT CPBodies CPBodiesRead(const char *path, SUNContext ctx, CPBodiesFile *run,
                                    char *message, size_t length);
/** The same of a text [size] in memory; name: for messages, and for XML the file's path, as included files and meshes
 * are looked for beside it. */
CPODES_EXPORT CPBodies CPBodiesReadText(const char *data, size_t size, const char *name,
                                        SUNContext ctx, CPBodiesFile *run, char *message,
                                        size_t length);
/** What the file says and the mechanism does not have, such as limits, motors and contacts: a line "file:line: what"
 * for each kind, or "". It is the mechanism's. */
CPODES_EXPORT const char *CPBodiesNotes(CPBodies bodies);

#ifdef __cplusplus
}
#endif
#endif

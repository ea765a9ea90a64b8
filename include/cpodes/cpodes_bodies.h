/* cpodes: mechanisms of rigid bodies (guide, chapter "Bodies and joints").
 *
 * Bodies, joints, drives and forces are added by name. CPBodiesMech makes a CPMech of them, in which M, A, b and all
 * partial derivatives are exact. In space a body i has, in this order,
 *
 *   q_i = (r, e)       centre of mass in the axes of space [m], unit quaternion of its axes, scalar first   [7]
 *   u_i = (r', omega)  velocity in the axes of space [m/s], angular velocity in the body's axes [rad/s]      [6]
 *
 * and in the plane z = 0 of space q_i = (x, y, phi) [m, m, rad], u_i = q_i' [3]. The state is y = (q, u), or (q, u, W)
 * with CPBodiesSetBalance, with the bodies in the order in which they were added. Vectors have three components in the
 * plane as well, where the third one is 0. Units are those of any consistent system, here SI.
 *
 * The frame of a body may have its origin anywhere; `centre` gives the centre of mass in it. The placement of a body
 * puts this frame into space. Joints and points of application are given in the axes of space at this placement, or in
 * the frames of the bodies (CPIn). In the first case joints whose points meet are closed at the placement. In the
 * second case the placement may be a rough guess, which CPBodiesAssemble improves.
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

/** Axes in which points and directions of an element are given. */
typedef enum {
  CP_IN_SPACE  = 0, /**< those of space, with the bodies at their placement */
  CP_IN_BODIES = 1  /**< those of the body's frame, on each side */
} CPIn;

/** A rigid body. Its name is copied, as all names are. A name contains neither blanks nor dots, and is unique. */
typedef struct {
  const char *name; /**< name of the element */
  sunrealtype mass; /**< > 0 [kg] */
  /** Moments J_xx, J_yy, J_zz and products J_xy, J_xz, J_yz (entries of the tensor: J_xy = -int x y dm) about the
   * centre of mass, in the axes of the frame [kg m^2]. The tensor must be definite, and no principal moment may exceed
   * the sum of the others. In the plane only J_zz > 0 counts. */
  sunrealtype inertia[6];
  sunrealtype centre[3];   /**< centre of mass in the frame [m] */
  sunrealtype position[3]; /**< placement: origin of the frame in space [m] */
  sunrealtype quaternion[4]; /**< placement: attitude, of any norm; zeros mean no rotation; not used in the plane */
  sunrealtype angle;       /**< placement in the plane: phi [rad] */
  sunrealtype velocity[3]; /**< start: velocity of the origin of the frame, in space [m/s] */
  sunrealtype omega[3]; /**< start: angular velocity in the axes of space, unlike the state's, which is in those of the
                             body [rad/s]; in the plane (0, 0, phi') */
} CPBody;

/**
 * Joints. P_a and P_b are the points of the two sides, d = P_b - P_a, and x, y, z the axes of a side, where z is that of
 * the joint:
 *
 *   kind           constraints in space                       rows   in the plane          coordinates
 *   BALL           P_a = P_b                                   3
 *   REVOLUTE       P_a = P_b, z_b = z_a                       5     P_a = P_b             angle
 *   UNIVERSAL      P_a = P_b, z_a . z_b = 0                      4                           angles about z_a, z_b
 *   CYLINDRICAL    d along z_a, z_b = z_a                       4                           displacement, angle
 *   PRISMATIC      d along z_a, equal axes                      5     the same, 2 rows      displacement
 *   PLANAR         z_a . d = 0, z_b = z_a                       3                           x, y, angle
 *   FIXED          P_a = P_b and equal axes                     6     3 rows
 *   ROD            |d| = length                                1     1 row
 *   POINT_ON_LINE  d along z_a                                 2     1 row                 displacement
 *   POINT_ON_PLANE z_a . d = 0                                 1
 *   ROLLING        z_a . d = length and no slip: a ball with the radius `length` about P_b (or a wheel whose axis
 *                  stays parallel to the plane) rolls on the plane through P_a with the normal z_a
 *                                                              1 + 2 nonholonomic; in the plane 1 + 1
 *   ROLLING_DISC   z_a . d = length s with s = sqrt(1 - (z_a . z_b)^2) > 0 and no slip: the edge of a thin disc with
 *                  the radius `length` about P_b and the axis z_b, which may tilt, rolls on the plane through P_a
 *                  with the normal z_a, above it
 *                                                              1 + 2 nonholonomic
 *
 * The rows that align axes, such as x_a . z_b = 0, hold for opposite axes as well: a motion keeps the sign with which it
 * starts, and CPBodiesAssemble accepts no other one than that of the table.
 *
 * Angles are those from x_a to x_b about z [rad], and displacements are z_a . d [m]. In space angles are determined up
 * to whole turns and returned in (-pi, pi].
 */
typedef enum {
  CP_JOINT_NONE = -1,      /**< CPBodiesJointKind: no joint, but a coupler or a drive */
  CP_JOINT_BALL = 0,       /**< points meet */
  CP_JOINT_REVOLUTE,       /**< a hinge */
  CP_JOINT_UNIVERSAL,      /**< Hooke's joint */
  CP_JOINT_CYLINDRICAL,    /**< slides and turns */
  CP_JOINT_PRISMATIC,      /**< slides */
  CP_JOINT_PLANAR,         /**< slides on a plane */
  CP_JOINT_FIXED,          /**< allows no motion */
  CP_JOINT_ROD,            /**< a distance */
  CP_JOINT_POINT_ON_LINE,  /**< a point on a line of a */
  CP_JOINT_POINT_ON_PLANE, /**< a point on a plane of a */
  CP_JOINT_ROLLING,        /**< a ball or an upright wheel rolls without slip */
  CP_JOINT_ROLLING_DISC    /**< a disc that may tilt rolls without slip; not in the plane */
} CPJointKind;

/** A point and the directions of a joint's axes on one side. */
typedef struct {
  sunrealtype point[3]; /**< [m] */
  sunrealtype axis[3]; /**< z, of any length > 0; zeros mean z of space, or of the frame; ignored by joints that
                             turn in the plane */
  sunrealtype across[3]; /**< x is its part perpendicular to z; zeros mean any direction, the same on both sides */
} CPMarker;

/** A joint from body a to body b. */
typedef struct {
  const char *name; /**< name of the element */
  CPJointKind kind; /**< kind of the joint */
  const char *a; /**< name of body a; NULL and "ground" mean the ground, whose frame is that of space */
  const char *b; /**< name of body b, or the ground */
  CPIn in;       /**< axes of points and directions */
  CPMarker on_a; /**< point and axes on body a */
  /** Point and axes on body b. With CP_IN_SPACE they are those of a, except for the points of rods, of rolling and of
   * points on lines and planes, and for the axes of universal joints and of discs. */
  CPMarker on_b;
  sunrealtype length; /**< length of a rod, where 0 means that of the placement; radius > 0 of a rolling body [m] */
} CPJoint;

/** Surface of body a in a contact. */
typedef enum {
  CP_ON_PLANE   = 0, /**< the plane through P_a with the normal z_a */
  CP_ON_SPHERE  = 1, /**< a sphere about P_a, solid or hollow */
  CP_ON_SURFACE = 2  /**< a surface given by a function (CPSurfaceFn) */
} CPContactOn;

/** Shape of body b in a contact. */
typedef enum {
  CP_TOUCH_BALL = 0, /**< a ball about P_b, or a point; in the plane a disc */
  CP_TOUCH_DISC = 1, /**< the edge of a thin disc about P_b with the axis z_b, on a plane */
  CP_TOUCH_CYLINDER =
      2, /**< both edges of a cylinder about P_b with the axis z_b, on a plane: 2 contacts */
  CP_TOUCH_BOX =
      3 /**< the vertices of a box about P_b with edges along x_b, y_b, z_b: 8 contacts, in the plane 4 */
} CPContactTouch;

/**
 * A surface phi(x) = 0 of body a, where phi > 0 on the side on which body b may be. x = (x_a . d, y_a . d, z_a . d): in. In
 * the plane y_a points out of it, and x_a to the left of z_a. phi, its gradient g [3], second derivatives H [9] and third
 * derivatives T [27] (T[9 i + 3 j + k]): out, zero on entry. Returns 0, or another value if x is outside the domain, so
 * that a smaller step may help.
 */
typedef int (*CPSurfaceFn)(const sunrealtype *x, sunrealtype *phi, sunrealtype *g, sunrealtype *H,
                           sunrealtype *T, void *data);

/**
 * A unilateral contact of body b, at P_b, with body a, at P_a, where d = P_b - P_a:
 *
 *   on        touch            gap >= 0
 *   PLANE     ball             z_a . d - radius
 *   PLANE     disc, edge       z_a . d - radius sqrt(1 - (z_a . z_b)^2); z_b must not come along z_a
 *   SPHERE    ball             (d . d - rho^2) / (2 rho), rho = radius_a + radius: the distance, up to second order. If
 *                              radius_a < 0, the ball is within a hollow sphere, such as a pin in a bearing with the
 *                              clearance -rho > 0
 *   SURFACE   ball             phi - radius; if radius > 0, phi must be a distance, |g| = 1
 *
 * Sliding velocities are those of the touching point along two tangents (one in the plane). On planes the tangents are x_a
 * and y_a. On surfaces they have the length |g|, and the normal and tangential forces are |g| N and |g| F_T. A box has a
 * ball of the given radius, or a point, at each vertex, and can touch all kinds of surfaces. The names of the contacts of a
 * box or cylinder have _1, _2, ... appended.
 *
 * The laws are Coulomb's friction and Newton's or Poisson's restitution. Each contact takes the rows of a rolling joint,
 * which a CPContact switches (CPBodiesContact). With a CPMech alone they are off, and the bodies pass through each other.
 */
typedef struct {
  const char *name; /**< name of the element, and of the joint whose rows it takes */
  const char *a;    /**< body with the surface; NULL and "ground" mean the ground */
  const char *b;    /**< body that touches it */
  CPIn in;          /**< axes of points and directions */
  CPMarker on_a;    /**< P_a, and z_a as its `axis` */
  CPMarker on_b; /**< P_b, and the axes of a disc, cylinder or box (that of a box as in CPShape) */
  sunrealtype radius;      /**< >= 0 for a ball, > 0 for a disc or cylinder [m] */
  sunrealtype friction;    /**< coefficient mu >= 0 of sliding friction */
  sunrealtype sticking;    /**< coefficient mu_s >= 0 of static friction; mu is used if mu_s < mu */
  sunrealtype restitution; /**< e from 0 to 1 */
  int poisson;             /**< 1 for Poisson's law of restitution, 0 for Newton's */
  CPContactOn on;          /**< surface of body a */
  CPContactTouch touch;    /**< shape of body b */
  sunrealtype radius_a;    /**< radius of the sphere of a, < 0 if it is hollow [m] */
  CPSurfaceFn surface;     /**< function of CP_ON_SURFACE, else NULL */
  void *data;              /**< passed to that function */
  sunrealtype size[3]; /**< edges of a box along x_b, y_b, z_b; the last one is the length of a cylinder; > 0 [m] */
} CPBodyContact;

/** Contact i of a mechanism, with the members of a CPContactPoint of cpodes_contact.h. */
typedef struct {
  const char *name;    /**< name, which must be copied since it may move when an element is added */
  int joint;           /**< index of the joint whose rows it takes */
  sunindextype normal; /**< row of p, v and A */
  sunindextype tangent;    /**< first row of v and A of the sliding velocities */
  int ntangents;           /**< 2, or 1 in the plane */
  sunrealtype mu;          /**< coefficient of sliding friction */
  sunrealtype mu_static;   /**< coefficient of static friction */
  sunrealtype restitution; /**< e */
  int poisson;             /**< 1 for Poisson's law of restitution, 0 for Newton's */
  CPContactOn on;          /**< surface of body a */
} CPBodiesContactRows;

/** One coordinate x of a joint, in the order of the table above. */
typedef struct {
  const char *joint; /**< name of the joint */
  int k;             /**< index of the coordinate, from 0 on */
} CPCoordinate;

/** A coupling of two coordinates: ratio_1 x_1 + ratio_2 x_2 = offset. Gears: x_1 and x_2 are angles, and the ratios are the
 * numbers of teeth, with a minus sign for a ring gear. Rack: x_1 is a displacement, x_2 the pinion's angle, and the ratios
 * are 1 and its radius. Screw: the same with the pitch. Two angles in space must have whole ratios, so that whole turns
 * cancel. */
typedef struct {
  const char *name;     /**< name of the element */
  CPCoordinate of[2];   /**< x_1 and x_2 */
  sunrealtype ratio[2]; /**< ratio_1 and ratio_2, not 0 */
  sunrealtype offset;   /**< right-hand side */
} CPCoupler;

/** A prescribed motion. g [3]: out, g, g' and g'' at t. Returns 0, a positive value if a smaller step may help, or a
 * negative one to give up. */
typedef int (*CPDriveFn)(sunrealtype t, sunrealtype *g, void *data);
/** A drive, which prescribes x(t) = g(t) exactly. Without a function g = start + rate t + amplitude sin(frequency t), where
 * start and amplitude have the unit of the coordinate. An angle is prescribed up to whole turns, in the plane as well: at
 * the assembly those nearest to the guess count, and then those that it makes. Turns cost no accuracy: start + rate t is
 * exact up to the roundoff of an angle below one turn, and a function g as exact as its value. */
typedef struct {
  const char *name;      /**< name of the element */
  CPCoordinate of;       /**< coordinate that it prescribes */
  CPDriveFn g;           /**< motion, or NULL */
  void *data;            /**< passed to the function */
  sunrealtype start;     /**< constant part */
  sunrealtype rate;      /**< constant rate [unit of the coordinate/s] */
  sunrealtype amplitude; /**< amplitude of the sine */
  sunrealtype frequency; /**< angular frequency of the sine [rad/s] */
} CPDrive;

/** A force law. T [3]: out, the force T in the direction in which x grows, and its derivatives with respect to x and x'.
 * Returns the same values as a CPDriveFn. */
typedef int (*CPLawFn)(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *data);
/** A spring-damper, T = force - stiffness (x - free) - damping x' - inertance x'' + law. It acts on the coordinate `of` or,
 * if of.joint is NULL, on the distance x between point_a of body a and point_b of body b, which must not coincide. On an
 * angle in space the spring takes the shorter way to its free angle, at most half a turn. The inertance is the inertia that
 * a flywheel or a rotor behind a gear adds to the motion of its coordinate ("armature", "reflected inertia": rotor inertia
 * times the square of the gear ratio). */
typedef struct {
  const char *name;       /**< name of the element */
  CPCoordinate of;        /**< coordinate on which it acts */
  const char *a;          /**< first body */
  const char *b;          /**< second body */
  CPIn in;                /**< axes of points and directions */
  sunrealtype point_a[3]; /**< point on body a [m] */
  sunrealtype point_b[3]; /**< point on body b [m] */
  sunrealtype stiffness;  /**< [N/m] or [N m/rad] */
  sunrealtype damping;    /**< [N s/m] or [N m s/rad] */
  sunrealtype free; /**< x at which the spring is free of force; for distances NaN means that of the placement */
  sunrealtype force;     /**< constant force [N] or torque [N m] */
  sunrealtype inertance; /**< >= 0 [kg] or [kg m^2] */
  CPLawFn law;           /**< added to these forces; NULL if there is none */
  void *data;            /**< passed to the function */
} CPSpring;

/** An elastic joint: springs and dampers along x_a, y_a, z_a that act on d, and about these axes on the small angles
 * z_a . y_b, x_a . z_b, y_a . x_b. In the plane they act along x_a and y_a and on the angle. The drag is a torque
 * -drag (omega_b - omega_a) on b, for rotations of any size. */
typedef struct {
  const char *name;              /**< name of the element */
  const char *a;                 /**< first body */
  const char *b;                 /**< second body */
  CPIn in;                       /**< axes of points and directions */
  CPMarker on_a;                 /**< P_a and axes; with CP_IN_SPACE those of both sides */
  CPMarker on_b;                 /**< P_b and axes; not used with CP_IN_SPACE */
  sunrealtype stiffness[3];      /**< [N/m] */
  sunrealtype damping[3];        /**< [N s/m] */
  sunrealtype turn_stiffness[3]; /**< [N m/rad] */
  sunrealtype turn_damping[3];   /**< [N m s/rad] */
  sunrealtype drag;              /**< [N m s/rad]; not in the plane */
} CPBushing;

/** A force at the point x with the velocity v, all in the axes of space. F [3]: out. Fx, Fv [9]: out, zero on entry, by
 * rows, the derivatives of F with respect to x and v. Returns the same values as a CPDriveFn. */
typedef int (*CPPointForceFn)(sunrealtype t, const sunrealtype *x, const sunrealtype *v,
                              sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv, void *data);
/** A force on a point of a body. */
typedef struct {
  const char *name;     /**< name of the element */
  const char *body;     /**< name of the body */
  CPIn in;              /**< axes of the point */
  sunrealtype point[3]; /**< point of application [m] */
  sunrealtype force[3]; /**< constant force, in the axes of space, or of the body if it follows [N] */
  int follows;          /**< 1 if the force turns with the body */
  CPPointForceFn fn; /**< force that is added to `force`, or NULL; it must be NULL if the force follows */
  void *data;        /**< passed to the function */
} CPForce;

/** Friction of a joint that depends on its reaction: T = -factor |F| tanh(x' / speed) on the coordinate `of`, where |F| is
 * the reaction force across the joint's point. The factor is the coefficient of friction, for angles multiplied by the
 * radius of the bearing [m]. */
typedef struct {
  const char *name;   /**< name of the element */
  CPCoordinate of;    /**< coordinate on which it acts */
  sunrealtype factor; /**< >= 0 */
  sunrealtype speed;  /**< > 0; the force grows with x' below about this rate [m/s, rad/s] */
} CPFriction;

/** A shape of a body for drawings, without mass. Its centre is the point of `on`. z of `on` is the axis of cylinders and
 * wheels; in the plane it is that of space. */
typedef struct {
  const char *name;    /**< name of the element */
  CPShapeKind kind;    /**< kind of the shape */
  const char *body;    /**< name of the body, or "ground" */
  CPIn in;             /**< axes of `on` */
  CPMarker on;         /**< centre and axes */
  sunrealtype size[3]; /**< edges of a box along x, y, z; radius (first) and length (last) of a cylinder or wheel, or radius
                          (first) of a sphere. > 0 [m]; the last one is not used in the plane */
} CPShape;

/** Energies and powers at one state. E = kinetic + potential changes by E' = -dissipation + applied + drives. */
typedef struct {
  sunrealtype kinetic;     /**< kinetic energy, including that of inertances [J] */
  sunrealtype potential;   /**< potential energy of gravity and of springs without laws [J] */
  sunrealtype dissipation; /**< power lost in dampers and friction [W] */
  sunrealtype applied;     /**< power of forces and laws [W] */
  sunrealtype drives;      /**< power supplied by the drives [W] */
} CPBodiesPowers;

/* ---- life cycle ---- */

/** Creates an empty mechanism in space (dimension 3) or in the plane (2). ctx must outlive it. Returns the mechanism, which
 * the caller frees after the CPMech, or NULL. */
CPODES_EXPORT CPBodies CPBodiesCreate(int dimension, SUNContext ctx);
/** Frees *bodies and sets it to NULL. bodies or *bodies may be NULL. */
CPODES_EXPORT void CPBodiesFree(CPBodies *bodies);

/* ---- the mechanism; before CPBodiesMech (CP_TOO_LATE). Each function returns the element's index among those of its
 * kind, or CP_ILL_INPUT, CP_MEM_FAIL, CP_NOT_SUPPORTED (not in the plane). ---- */

/** Sets the acceleration of gravity, g [3], in space [m/s^2]. */
CPODES_EXPORT int CPBodiesSetGravity(CPBodies bodies, const sunrealtype *g);
/** Adds a body; see CPBody. */
CPODES_EXPORT int CPBodiesAddBody(CPBodies bodies, const CPBody *body);
/** Adds a joint; see CPJoint. */
CPODES_EXPORT int CPBodiesAddJoint(CPBodies bodies, const CPJoint *joint);
/** Adds a contact, or those of a box or cylinder; see CPBodyContact. Returns the index of the first one, from 0 on. */
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
/** Adds the state W with W' = -dissipation + applied + drives [J], so that kinetic + potential - W is constant. */
CPODES_EXPORT int CPBodiesSetBalance(CPBodies bodies);

/* ---- the motion ---- */

/** Creates the CPMech of the mechanism, which must not be changed from then on. Its data are bodies, which must outlive
 * it. Both must be used by one thread only. Each mechanism has one CPMech (CP_TOO_LATE). mech: out, owned by the caller.
 * Matrices are sparse from 16 velocities on. */
CPODES_EXPORT int CPBodiesMech(CPBodies bodies, CPMech *mech);
/** Returns the functions of that CPMech, for programs that create it themselves. model: out; its templates remain those of
 * bodies, and its data are bodies. */
CPODES_EXPORT int CPBodiesModel(CPBodies bodies, CPEquations *model);
/** Gives mech, which has been created with those functions, its quaternions and message handler, as CPBodiesMech does,
 * before the first use of mech. */
CPODES_EXPORT int CPBodiesPrepare(CPBodies bodies, CPMech mech);
/** Returns a new state with the bodies at their placement and with their velocities. The caller owns it. Returns NULL
 * without memory or bodies. */
CPODES_EXPORT N_Vector CPBodiesState(CPBodies bodies);
/** Assembles the mechanism at time t by CPMechCalcIC, from the guess y (in, out). held contains the names of bodies,
 * separated by blanks, whose positions are held, or is NULL. If such a body moves in the guess, its velocities are held as
 * well, as far as a consistent state with them exists: all of them, else only the angular ones, else only the
 * translational ones. All other velocities are the nearest consistent ones.
 *
 * Joints are closed with their axes equal, however far bodies are turned in the guess. Rows that depend on others cannot be
 * closed if data are rounded: such a row gets an offset, if at most 1e-6 of the extent of the mechanism (or 1e-6 rad), which
 * no parameter shows (CPBodiesOffsets). If loops are redundant but for rounding, as linkages of Bennett and Bricard or with
 * parallel axes in space, the frames of their joints are moved in their bodies by at most as much, so that they are redundant
 * again, and move; this takes loops of at most 300 rows. Offsets, start velocities that the joints change, and a singular position are listed
 * in CPBodiesAssemblyNotes.
 *
 * If CP_IC_FAIL is returned, y is as it was, and the message names the drives or couplers that contradict each other or the
 * joints, a joint that closes only with opposite axes, or the joint that is violated most at the guess. */
CPODES_EXPORT int CPBodiesAssemble(CPBodies bodies, CPMech mech, sunrealtype t, N_Vector y,
                                   const char *held);

/** Returns what the newest CPBodiesAssemble has changed beyond closing the joints, one line each, or "": offsets of rows
 * that depend on others, and start velocities that the joints do not allow. The mechanism owns the text. change: out, the
 * largest change of a start velocity that was given, as a part of it, or 0; may be NULL. */
CPODES_EXPORT const char *CPBodiesAssemblyNotes(CPBodies bodies, sunrealtype *change);

/** Returns the offsets of the newest CPBodiesAssemble, after CPBodiesModel, else NULL: what the np rows of p are to have
 * instead of 0, then for each joint by how much the frame of one side is moved and turned in its body [6]. count: out, their
 * number. */
CPODES_EXPORT const sunrealtype *CPBodiesOffsets(CPBodies bodies, int *count);
/** Sets the offsets, after CPBodiesModel, to those of an equal mechanism, so that a program can integrate with another one than
 * it assembles. offsets: as from CPBodiesOffsets. */
CPODES_EXPORT int CPBodiesSetOffsets(CPBodies bodies, const sunrealtype *offsets);

/* ---- quantities, after CPBodiesMech or CPBodiesModel ---- */

/** Returns a coordinate of a joint and its rate at y. x, rate: out. */
CPODES_EXPORT int CPBodiesCoordinate(CPBodies bodies, CPCoordinate of, N_Vector y, sunrealtype *x,
                                     sunrealtype *rate);
/** Returns the position x [3] and velocity v [3] in space of a point that is given in the frame of a body. Either may be
 * NULL. */
CPODES_EXPORT int CPBodiesPoint(CPBodies bodies, const char *body, const sunrealtype *point,
                                N_Vector y, sunrealtype *x, sunrealtype *v);
/** Returns the reaction of a joint on its body b for the multipliers lambda [na] at y: the force F [3] at P_b [N] and the
 * torque T [3] about P_b [N m], in the axes of space. For a coupler or a drive F[0] = -lambda is the generalised force on
 * its coordinates. If constraints are dependent, the multipliers, and so the reactions, are those of minimum norm. */
CPODES_EXPORT int CPBodiesReaction(CPBodies bodies, const char *joint, sunrealtype t, N_Vector y,
                                   const sunrealtype *lambda, sunrealtype *F, sunrealtype *T);
/** Returns energies and powers at (t, y). lambda [na]: in, or NULL, in which case those of drives and friction are left
 * out. */
CPODES_EXPORT int CPBodiesGetPowers(CPBodies bodies, sunrealtype t, N_Vector y,
                                    const sunrealtype *lambda, CPBodiesPowers *powers);

/** Returns the index of the parameter "element.field" in the array of CPBodiesParameters. The fields are mass and
 * J_xx ... J_yz (products only if the body was added with some); length, offset, ratio_1, ratio_2, start, rate, amplitude,
 * frequency, stiffness, damping, free, force, factor, speed, force_x ... force_z; of a contact length (its radius), radius_a
 * (of a sphere), friction, sticking, restitution; of a bushing kx ... kzz, dx ... dzz, x0 ... zz0 (without force); inertance
 * and drag, if the element was added with some. Gravity is "gravity.x" and so on. */
CPODES_EXPORT int CPBodiesFindParameter(CPBodies bodies, const char *name);
/** Returns the array of all parameters, which the functions of the model read, for CPIntegratorSetSensParams and CPMechSetParams.
 * Its address is final once CPBodiesMech or CPBodiesModel has been called. Returns NULL if bodies is NULL. */
CPODES_EXPORT sunrealtype *CPBodiesParameters(CPBodies bodies);
/** What a mechanism consists of, in the order in which it was added. */
typedef enum {
  CP_BODY    = 0,
  CP_JOINT   = 1, /**< joints, couplers and drives */
  CP_CONTACT = 2, /**< contacts; each is a joint as well */
  CP_SPRING  = 3, /**< springs that act between two points */
  CP_SHAPE   = 4
} CPBodiesKind;

/** Returns the number of elements of this kind, 0 if bodies is NULL. */
CPODES_EXPORT int CPBodiesCount(CPBodies bodies, CPBodiesKind kind);
/** Returns the name of body, joint or contact i, or NULL. It must be copied, since it may move when an element is added. */
CPODES_EXPORT const char *CPBodiesName(CPBodies bodies, CPBodiesKind kind, int i);
/** Returns the bodies a and b of joint, contact or spring i. body [2]: out, indices, -1 for the ground. */
CPODES_EXPORT int CPBodiesSides(CPBodies bodies, CPBodiesKind kind, int i, int *body);
/** Returns the points P_a and P_b of joint, contact or spring i in space at y. Pa, Pb [3]: out. */
CPODES_EXPORT int CPBodiesPoints(CPBodies bodies, CPBodiesKind kind, int i, N_Vector y,
                                 sunrealtype *Pa, sunrealtype *Pb);
/** Returns 2 in the plane, 3 in space. */
CPODES_EXPORT int CPBodiesDimension(CPBodies bodies);
/** Returns the kind of joint i (CPJointKind), CP_JOINT_NONE for couplers and drives, or CP_ILL_INPUT if there is none. */
CPODES_EXPORT int CPBodiesJointKind(CPBodies bodies, int i);
/** Returns the rows and present constants of contact i, after CPBodiesMech or CPBodiesModel. rows: out. The constants are
 * parameters. */
CPODES_EXPORT int CPBodiesContact(CPBodies bodies, int i, CPBodiesContactRows *rows);
/** Returns where contact i acts at y, and its directions in space. frame [12]: out, the point, the normal and both tangents,
 * on a plane z_a, x_a and y_a. In the plane the second tangent is 0. */
CPODES_EXPORT int CPBodiesContactFrame(CPBodies bodies, int i, N_Vector y, sunrealtype *frame);
/** Returns shape i at y. kind: out. points [12]: out, the centre and the ends of the half axes a, b, c from there, in space.
 * In the plane the last one is the centre. */
CPODES_EXPORT int CPBodiesShapePoints(CPBodies bodies, int i, N_Vector y, CPShapeKind *kind,
                                      sunrealtype *points);

/** Writes the name "element.field" of parameter i to text [length], length >= 1. Returns CP_ILL_INPUT if there is none. */
CPODES_EXPORT int CPBodiesParameterName(CPBodies bodies, int i, char *text, size_t length);

/* ---- mechanisms as files (guide, chapter "Mechanisms as files") ---- */

/** Size of the texts below. */
#define CP_BODIES_TEXT 200

/** Settings for a run that a file contains. */
typedef struct {
  char title[CP_BODIES_TEXT];  /**< title, or "" */
  char method[CP_BODIES_TEXT]; /**< method as named by `cpodes run --method`; "" means any */
  int method_at[2];          /**< line and column of this name in the file; 0 if it is not given */
  char held[CP_BODIES_TEXT]; /**< bodies that CPBodiesAssemble holds */
  char sensors[CP_BODIES_TEXT]; /**< coordinates that `cpodes run` outputs with their rates: JOINT or JOINT.K, separated by blanks */
  sunrealtype t_end;            /**< end of the motion, > 0, default 10 [s] */
  int assemble;                 /**< 1 (default) if CPBodiesAssemble is to be called first */
  int balance;                  /**< 1 (default) if CPBodiesSetBalance has been called */
} CPBodiesFile;

/** Reads a mechanism from a regular file: MJCF or URDF if the name ends in .xml, .mjcf or .urdf, in upper or lower case, else
 * YAML. Numbers have a decimal point, whatever the locale of the program. The mechanism is complete except for the call of
 * CPBodiesMech. run: out. message [length]: out, "" or one line "file:line: rule", for YAML "file:line:column: rule".
 * Returns the mechanism, which the caller frees, or NULL. If the library was built without libyaml (libxml2 for XML), it
 * always returns NULL with a message. */
CPODES_EXPORT CPBodies CPBodiesRead(const char *path, SUNContext ctx, CPBodiesFile *run,
                                    char *message, size_t length);
/** Reads a mechanism from the text data [size] in memory. name is used in messages. For XML it is the path of the file,
 * since included files and meshes are searched for in its folder. */
CPODES_EXPORT CPBodies CPBodiesReadText(const char *data, size_t size, const char *name,
                                        SUNContext ctx, CPBodiesFile *run, char *message,
                                        size_t length);
/** Returns which parts of the file act on the motion and are missing in the mechanism, such as limits, motors and contacts:
 * one line "file:line:column: what" for each kind, or "". Parts that do not act, such as lights, are not listed. The mechanism
 * owns the text. */
CPODES_EXPORT const char *CPBodiesNotes(CPBodies bodies);
/** Returns the path of file i, from 0 on, that was read for this mechanism in addition to the file or text itself: its robot,
 * included files and meshes; or NULL if there are not so many. The mechanism owns the text. */
CPODES_EXPORT const char *CPBodiesFileRead(CPBodies bodies, int i);

#ifdef __cplusplus
}
#endif
#endif

/* cpodes: mechanisms of rigid bodies (guide, chapter "Bodies and joints").
 *
 *   CPBodies (description, of one thread)  ->  CPModel (constant, shared)  ->  CPMech, CPMech, ... (one for each run)
 *
 * Bodies, joints, drives and forces are added by name. CPBodiesBuild makes a CPModel of them, in which M, A, b and all
 * partial derivatives are exact, and CPMechCreate any number of CPMech of that, in any threads. In space a body i has, in
 * this order,
 *
 *   q_i = (r, e)       centre of mass in the axes of space [m], unit quaternion of its axes, scalar first   [7]
 *   u_i = (r', omega)  velocity in the axes of space [m/s], angular velocity in the body's axes [rad/s]      [6]
 *
 * and in the plane z = 0 of space q_i = (x, y, phi) [m, m, rad], u_i = q_i' [3]. The state is y = (q, u, z, W), with the bodies
 * in the order in which they were added, the activations z of actuators that have some (CPActuator), and W with
 * CPBodiesSetBalance. Vectors have three components in the plane as well, where the third one is 0. Units are those of any consistent system, here SI.
 *
 * The frame of a body may have its origin anywhere; `centre` gives the centre of mass in it. The placement of a body
 * puts this frame into space. Joints and points of application are given in the axes of space at this placement, or in
 * the frames of the bodies (CPIn). In the first case joints whose points meet are closed at the placement. In the
 * second case the placement may be a rough guess, which CPMechAssemble improves.
 *
 * Functions return CP_SUCCESS or a negative code whose message names the element, the rule and the value. After an error the
 * mechanism is as before the call. Indices count from 0 on.
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

/** Kinds of elements; each has a structure that begins with a CPElement. */
typedef enum {
  CP_ELEMENT_BODY       = 0,  /**< CPBody */
  CP_ELEMENT_JOINT      = 1,  /**< CPJoint */
  CP_ELEMENT_COUPLER    = 2,  /**< CPCoupler */
  CP_ELEMENT_DRIVE      = 3,  /**< CPDrive */
  CP_ELEMENT_SPRING     = 4,  /**< CPSpring */
  CP_ELEMENT_BUSHING    = 5,  /**< CPBushing */
  CP_ELEMENT_FORCE      = 6,  /**< CPForce */
  CP_ELEMENT_FRICTION   = 7,  /**< CPFriction */
  CP_ELEMENT_CONTACT    = 8,  /**< CPBodyContact */
  CP_ELEMENT_SHAPE      = 9,  /**< CPShape */
  CP_ELEMENT_LIMIT      = 10, /**< CPLimit */
  CP_ELEMENT_ACTUATOR   = 11, /**< CPActuator */
  CP_ELEMENT_ROPE       = 12, /**< CPRope */
  CP_ELEMENT_CONTROLLER = 13, /**< CPController */
  CP_ELEMENT_TENDON     = 14, /**< CPTendon */
  CP_ELEMENT_RELEASE    = 15, /**< CPRelease */
  CP_ELEMENT_TYRE       = 16, /**< CPTyre */
  CP_ELEMENT_SPHERE     = 17, /**< CPElasticSphere */
  CP_ELEMENT_DRAG       = 18  /**< CPDrag */
} CPElementKind;

/** What an element begins with. Members that are not set are 0 or NULL, as are those that a later version adds.
 *
 *   CPBody rod = {CP_NEW_BODY("rod"), .mass = 1};       CPBodiesAdd(bodies, &rod.head, NULL);      in C
 *   CPBody rod{}; rod.head = CP_NEW_BODY("rod");        rod.mass = 1; ...                          in C++
 */
typedef struct {
  size_t size;        /**< of the whole element in bytes */
  CPElementKind kind; /**< its kind */
  const char *name;   /**< unique, without blanks and dots; copied, as all names are */
} CPElement;

#ifdef __cplusplus
#define CP_NEW_ELEMENT(type, kind, name) \
  CPElement { sizeof(type), kind, name }
#else
#define CP_NEW_ELEMENT(type, kind, name) \
  { sizeof(type), kind, name }
#endif
/* The heads of new elements */
#define CP_NEW_BODY(name)       CP_NEW_ELEMENT(CPBody, CP_ELEMENT_BODY, name)
#define CP_NEW_JOINT(name)      CP_NEW_ELEMENT(CPJoint, CP_ELEMENT_JOINT, name)
#define CP_NEW_COUPLER(name)    CP_NEW_ELEMENT(CPCoupler, CP_ELEMENT_COUPLER, name)
#define CP_NEW_DRIVE(name)      CP_NEW_ELEMENT(CPDrive, CP_ELEMENT_DRIVE, name)
#define CP_NEW_SPRING(name)     CP_NEW_ELEMENT(CPSpring, CP_ELEMENT_SPRING, name)
#define CP_NEW_BUSHING(name)    CP_NEW_ELEMENT(CPBushing, CP_ELEMENT_BUSHING, name)
#define CP_NEW_FORCE(name)      CP_NEW_ELEMENT(CPForce, CP_ELEMENT_FORCE, name)
#define CP_NEW_FRICTION(name)   CP_NEW_ELEMENT(CPFriction, CP_ELEMENT_FRICTION, name)
#define CP_NEW_CONTACT(name)    CP_NEW_ELEMENT(CPBodyContact, CP_ELEMENT_CONTACT, name)
#define CP_NEW_SHAPE(name)      CP_NEW_ELEMENT(CPShape, CP_ELEMENT_SHAPE, name)
#define CP_NEW_LIMIT(name)      CP_NEW_ELEMENT(CPLimit, CP_ELEMENT_LIMIT, name)
#define CP_NEW_ACTUATOR(name)   CP_NEW_ELEMENT(CPActuator, CP_ELEMENT_ACTUATOR, name)
#define CP_NEW_ROPE(name)       CP_NEW_ELEMENT(CPRope, CP_ELEMENT_ROPE, name)
#define CP_NEW_CONTROLLER(name) CP_NEW_ELEMENT(CPController, CP_ELEMENT_CONTROLLER, name)
#define CP_NEW_TENDON(name)     CP_NEW_ELEMENT(CPTendon, CP_ELEMENT_TENDON, name)
#define CP_NEW_RELEASE(name)    CP_NEW_ELEMENT(CPRelease, CP_ELEMENT_RELEASE, name)
#define CP_NEW_TYRE(name)       CP_NEW_ELEMENT(CPTyre, CP_ELEMENT_TYRE, name)
#define CP_NEW_SPHERE(name)     CP_NEW_ELEMENT(CPElasticSphere, CP_ELEMENT_SPHERE, name)
#define CP_NEW_DRAG(name)       CP_NEW_ELEMENT(CPDrag, CP_ELEMENT_DRAG, name)

/** A rigid body. */
typedef struct {
  CPElement head; /**< CP_NEW_BODY(name) */
  sunrealtype mass; /**< >= 0 [kg]. Mass and inertia may be 0 if each motion that the joints leave moves some mass */
  /** Moments J_xx, J_yy, J_zz and products J_xy, J_xz, J_yz (entries of the tensor: J_xy = -int x y dm) about the
   * centre of mass, in the axes of the frame [kg m^2]. No principal moment may be negative or exceed the sum of the others.
   * In the plane only J_zz >= 0 counts. */
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
 *   CUSTOM         motions by functions of its coordinates (CPJointMotion), in joint coordinates only
 *                                                              none                          its own
 *
 * The rows that align axes, such as x_a . z_b = 0, hold for opposite axes as well: a motion keeps the sign with which it
 * starts, and CPMechAssemble accepts no other one than that of the table.
 *
 * Angles are those from x_a to x_b about z [rad], and displacements are z_a . d [m]. In space angles are determined up
 * to whole turns and returned in (-pi, pi].
 */
typedef enum {
  CP_JOINT_NONE = -1,      /**< in a description: a coupler or a drive */
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
  CP_JOINT_ROLLING_DISC,   /**< a disc that may tilt rolls without slip; not in the plane */
  CP_JOINT_CUSTOM          /**< motions by functions, such as a screw or a knee; not in the plane */
} CPJointKind;

/** One motion of a joint of kind CP_JOINT_CUSTOM: about or along an axis by z = offset + f(x_k), where x_k is one of the joint's
 * coordinates. Motions follow one another: the frame of side a becomes that of side b by the first one, in the axes that it leaves
 * by the second one, and so on. Several motions may have the same coordinate.
 *
 *   screw                 {.about = 1, .axis = {0, 0, 1}}, {.axis = {0, 0, 1}, .ratio = metres per radian}
 *   OpenSim's CustomJoint its three translations, then its three rotations
 */
typedef struct {
  size_t size;         /**< of this struct */
  int about;           /**< 1: it turns about the axis [rad]; 0: it moves along it [m] */
  sunrealtype axis[3]; /**< of any length > 0, which does not matter */
  int coordinate;      /**< k, from 0 on; -1: z = offset */
  sunrealtype ratio;   /**< f(x) = ratio x, unless there is a function; 0 means 1 */
  sunrealtype offset;  /**< is added [rad, m] */
  CPFunction function; /**< f, a function of one variable, which is kept; or NULL */
} CPJointMotion;

/** A point and the directions of a joint's axes on one side. */
typedef struct {
  sunrealtype point[3]; /**< [m] */
  sunrealtype axis[3]; /**< z, of any length > 0; zeros mean z of space, or of the frame; ignored by joints that
                             turn in the plane */
  sunrealtype across[3]; /**< x is its part perpendicular to z; zeros mean any direction, the same on both sides */
} CPMarker;

/** A joint from body a to body b. */
typedef struct {
  CPElement head;   /**< CP_NEW_JOINT(name) */
  CPJointKind kind; /**< kind of the joint */
  const char *a; /**< name of body a; NULL and "ground" mean the ground, whose frame is that of space */
  const char *b; /**< name of body b, or the ground */
  CPIn in;       /**< axes of points and directions */
  CPMarker on_a; /**< point and axes on body a */
  /** Point and axes on body b. With CP_IN_SPACE they are those of a, except for the points of rods, of rolling and of
   * points on lines and planes, and for the axes of universal joints and of discs. */
  CPMarker on_b;
  sunrealtype length; /**< length of a rod, where 0 means that of the placement; radius > 0 of a rolling body [m] */
  /** 1: it has rows with CP_JOINT_COORDINATES as well (CPBodiesDescribe), so that an event source may switch them off and on during a
   * run by CPMechSetActive: a pin that breaks, a release, a latch */
  int switched;
  const CPJointMotion *motion; /**< [nmotions] motions of CP_JOINT_CUSTOM; copied. NULL for the other kinds */
  int nmotions;                /**< their number, 6 at most */
  int ncoordinates; /**< number of coordinates of CP_JOINT_CUSTOM, from 0 to 6; a motion must depend on each of them */
  /** CP_JOINT_CUSTOM: coordinates near which those are sought at which the bodies are nearest to their placement [rad, m] */
  sunrealtype start[6];
  /** [ncoordinates] names of the coordinates, which lists show as their meaning and CPBodiesFind finds; copied. NULL: none */
  const char *const *names;
} CPJoint;

/** Surface of body a in a contact. */
typedef enum {
  CP_ON_PLANE   = 0, /**< the plane through P_a with the normal z_a */
  CP_ON_SPHERE  = 1, /**< a sphere about P_a, solid or hollow */
  CP_ON_SURFACE = 2, /**< a surface given by a function (CPSurfaceFn) */
  CP_ON_STOP    = 3, /**< in a CPDescription: the stop of a CPLimit, or a CPRope */
  CP_ON_JOINT   = 4, /**< in a CPDescription: dry friction, a CPFriction */
  CP_ON_SHAPE   = 5  /**< the surface of a shape; b is a shape, too */
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
 * With CP_ON_SHAPE, a and b are names of shapes (CPShape) of different bodies or of the ground, in space; all members but the
 * law are not used. The gap is the distance of their surfaces, and below zero minus the depth; the sliding velocities are those of
 * the nearest point of b relative to a. Spheres, ellipsoids, capsules, cylinders (wheels are such) and planes can touch each other.
 * Boxes and meshes, which are convex polyhedra, can touch each other, spheres, capsules and planes. On a plane a capsule is 2 contacts, the
 * balls at its ends, a cylinder 2, its edges, and a box 8, its vertices, named _1, _2, ...; on others each shape is one contact, but two
 * polyhedra, or a mesh and a plane, are 8, and a polyhedron and a capsule 4, for the vertices on faces and the crossings of edges where
 * they touch, which a session finds (guide, "Bodies and joints"), as it does for a mesh and a sphere; outside of a run these have no gap. They must not begin in each other. Where flat faces, or
 * the straight sides of cylinders and capsules, are parallel, the nearest points are not unique: of parallel sides an end is taken,
 * and the cap of a cylinder cannot lie flat.
 *
 * Each contact takes the rows of a rolling joint, which a CPContact switches (CPBodiesDescribe). With a CPMech alone they
 * are off, and the bodies pass through each other.
 */
typedef struct {
  CPElement head; /**< CP_NEW_CONTACT(name); the name is also that of the joint whose rows it takes */
  const char *a; /**< body with the surface; NULL and "ground" mean the ground; with CP_ON_SHAPE a shape */
  const char *b; /**< body that touches it; with CP_ON_SHAPE a shape */
  CPIn in;       /**< axes of points and directions */
  CPMarker on_a; /**< P_a, and z_a as its `axis` */
  CPMarker on_b; /**< P_b, and the axes of a disc, cylinder or box (that of a box as in CPShape) */
  sunrealtype radius;   /**< >= 0 for a ball, > 0 for a disc or cylinder [m] */
  CPContactOn on;       /**< surface of body a */
  CPContactTouch touch; /**< shape of body b */
  sunrealtype radius_a; /**< radius of the sphere of a, < 0 if it is hollow [m] */
  CPSurfaceFn surface;  /**< function of CP_ON_SURFACE, else NULL */
  void *data;           /**< passed to that function */
  sunrealtype size[3]; /**< edges of a box along x_b, y_b, z_b; the last one is the length of a cylinder; > 0 [m] */
  CPContactLaw law; /**< friction and restitution; the last member, since laws may grow */
} CPBodyContact;

/** One coordinate x of a joint, in the order of the table above. */
typedef struct {
  const char *joint; /**< name of the joint */
  int k;             /**< index of the coordinate, from 0 on */
} CPCoordinate;

enum { CP_MOST_COUPLED = 8 /**< the largest number of coordinates of a coupler */ };

/** A coupling of coordinates: ratio_1 x_1 + ratio_2 x_2 + ratio_3 x_3 + ... = offset, or with a function
 * ratio_1 x_1 + ratio_2 f(x_2) + ratio_3 x_3 + ... = offset.
 *
 * Gears: x_1 and x_2 are angles, and the ratios are the numbers of teeth, with a minus sign for a ring gear. Rack: x_1 is a
 * displacement, x_2 the pinion's angle, and the ratios are 1 and its radius. Screw: the same with the pitch. Differential: the
 * angles of both shafts have the ratio 1, and that of the cage -2. Cam: x_1 is the follower's displacement, f the lift, and the
 * ratios are 1 and -1.
 *
 * Several angles in space must have whole ratios, so that whole turns cancel, unless all are joint coordinates, which count turns:
 * CPBodiesSetFormulation, which must come first. A function of an angle in space must have the period of a turn, unless it is a
 * joint coordinate. */
typedef struct {
  CPElement head;                /**< CP_NEW_COUPLER(name) */
  CPCoordinate of[2];            /**< x_1 and x_2 */
  sunrealtype ratio[2];          /**< ratio_1 and ratio_2, not 0 */
  sunrealtype offset;            /**< right-hand side */
  int nmore;                     /**< number of further coordinates, at most CP_MOST_COUPLED - 2 */
  const CPCoordinate *more;      /**< [nmore] x_3, ..., or NULL */
  const sunrealtype *more_ratio; /**< [nmore] ratio_3, ..., not 0, or NULL */
  CPFunction function;           /**< f, of one variable, which is kept; or NULL */
} CPCoupler;

/** A prescribed motion. g [3]: out, g, g' and g'' at t. Returns 0, a positive value if a smaller step may help, or a
 * negative one to give up. */
typedef int (*CPDriveFn)(sunrealtype t, sunrealtype *g, void *data);
/** A drive, which prescribes x(t) = g(t) exactly. Without a function g = start + rate t + amplitude sin(frequency t), where
 * start and amplitude have the unit of the coordinate. An angle is prescribed up to whole turns, in the plane as well: at
 * the assembly those nearest to the guess count, and then those that it makes. Turns cost no accuracy: start + rate t is
 * exact up to the roundoff of an angle below one turn, and a function g as exact as its value. */
typedef struct {
  CPElement head;        /**< CP_NEW_DRIVE(name) */
  CPCoordinate of;       /**< coordinate that it prescribes */
  CPDriveFn g;           /**< motion, or NULL */
  void *data;            /**< passed to the function */
  sunrealtype start;     /**< constant part */
  sunrealtype rate;      /**< constant rate [unit of the coordinate/s] */
  sunrealtype amplitude; /**< amplitude of the sine */
  sunrealtype frequency; /**< angular frequency of the sine [rad/s] */
  CPFunction function; /**< motion as a function of t, which is kept; or NULL. Then g must be NULL, and all other numbers 0 */
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
  CPElement head;         /**< CP_NEW_SPRING(name) */
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
  CPFunction function; /**< of t, x, x' and the inputs; added to these forces, and kept; NULL if there is none */
  /** names of the further variables of the function, separated by blanks, or NULL: coordinates, lengths, their rates, and
   * components of positions and velocities, "crank.angle motor.rate chassis.position.x" (CPMechGetSensor) */
  const char *inputs;
} CPSpring;

/** An elastic joint: springs and dampers along x_a, y_a, z_a that act on d, and about these axes on the small angles
 * z_a . y_b, x_a . z_b, y_a . x_b, or on the angles phi of the rotation R_x(phi_1) R_y(phi_2) R_z(phi_3) from the axes of a to those
 * of b, |phi_2| < pi/2, as in OpenSim and Simbody. In the plane they act along x_a and y_a and on the angle. The drag is a torque
 * -drag (omega_b - omega_a) on b, for rotations of any size. */
typedef struct {
  CPElement head;                /**< CP_NEW_BUSHING(name) */
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
  int angles;                    /**< 1: turn_stiffness and turn_damping act on the angles phi */
} CPBushing;

/** A force at the point x with the velocity v, all in the axes of space. F [3]: out. Fx, Fv [9]: out, zero on entry, by
 * rows, the derivatives of F with respect to x and v. Returns the same values as a CPDriveFn. */
typedef int (*CPPointForceFn)(sunrealtype t, const sunrealtype *x, const sunrealtype *v,
                              sunrealtype *F, sunrealtype *Fx, sunrealtype *Fv, void *data);
/** A force on a point of a body. */
typedef struct {
  CPElement head;       /**< CP_NEW_FORCE(name) */
  const char *body;     /**< name of the body */
  CPIn in;              /**< axes of the point */
  sunrealtype point[3]; /**< point of application [m] */
  sunrealtype force[3]; /**< constant force, in the axes of space, or of the body if it follows [N] */
  int follows;          /**< 1 if the force turns with the body */
  CPPointForceFn fn; /**< force that is added to `force`, or NULL; it must be NULL if the force follows */
  void *data;        /**< passed to the function */
  CPFunction function[3]; /**< components that are added to `force`, and kept: of t, the point, its velocity, and the inputs; NULL:
                             0; all must be NULL if the force follows */
  const char *inputs;     /**< as in CPSpring */
} CPForce;

/** Friction of a joint on the coordinate `of`, of one of three kinds.
 *
 * Dry friction: T = -force sign(x') in motion, and at rest any |T| <= sticking that keeps x' = 0. It is a contact without a gap
 * (CP_ON_JOINT), which a CPContact switches: with a CPMech alone it does not act. It can be combined with other contacts.
 *
 * Dry friction that depends on the load, if factor > 0 and speed = 0: T = -factor |F| sign(x'), and at rest |T| <= sticking_factor |F|,
 * where |F| is the reaction force across the joint's point: a bearing, a guide, a brake. The factor is the coefficient of friction, for
 * angles multiplied by the radius of the bearing [m]. It is such a contact, too. In joint coordinates the joint has rows.
 *
 * Smooth friction that depends on the load, if speed > 0: T = -factor |F| tanh(x' / speed). */
typedef struct {
  CPElement head;     /**< CP_NEW_FRICTION(name) */
  CPCoordinate of;    /**< coordinate on which it acts */
  sunrealtype factor; /**< >= 0 [1, m]; 0: it does not depend on the load */
  sunrealtype speed; /**< > 0; the force grows with x' below about this rate [m/s, rad/s]; 0: dry friction */
  sunrealtype force;           /**< of dry friction, > 0 [N, N m] */
  sunrealtype sticking;        /**< of dry friction at rest; `force` is used if it is smaller */
  sunrealtype sticking_factor; /**< of the load at rest; `factor` is used if it is smaller */
} CPFriction;

/** Stops of a joint's coordinate, lower <= x <= upper, or of a sum x = ratio[0] x_1 + ratio[1] x_2 of two coordinates: gears or
 * a coupling with play (backlash). A stop is a contact without friction, NAME_lower with the gap x - lower or NAME_upper with the gap
 * upper - x, which a CPContact switches. Its force N >= 0 is a generalised force on the coordinates. The start must lie between the
 * stops.
 *
 * Angles in space are known up to whole turns, unless they are coordinates of the state (CP_JOINT_COORDINATES). A run counts their
 * turns from its start on, where x is nearest to the middle between the stops, or to 0 if there is one stop. */
typedef struct {
  CPElement head;          /**< CP_NEW_LIMIT(name) */
  CPCoordinate of[2];      /**< the coordinate, or both; of[1].joint is NULL if there is one */
  sunrealtype ratio[2];    /**< factors of two coordinates, not 0; not used with one */
  sunrealtype lower;       /**< -INFINITY if there is no such stop */
  sunrealtype upper;       /**< INFINITY if there is no such stop; > lower */
  sunrealtype restitution; /**< of impacts, from 0 to 1 */
  /** > 0: the stops are elastic, and restitution must be 0. Beyond a stop, by the depth s, its force is N = stiffness s + damping s', as
   * long as that is > 0 [N/m, N m/rad] */
  sunrealtype stiffness;
  sunrealtype damping; /**< >= 0 [N s/m, N m s/rad] */
} CPLimit;

/** Activation: a state z, "NAME.activation", between the control w and the force of an actuator. It is one of the auxiliary states of
 * the mechanism, which follow its velocities; w is clamped first. */
typedef enum {
  CP_ACTIVATION_NONE       = 0, /**< none: the force follows the control at once */
  CP_ACTIVATION_INTEGRATOR = 1, /**< z' = w */
  CP_ACTIVATION_FILTER     = 2, /**< z' = (w - z) / times[0] */
  /** z' = (w - z) / tau, with w clamped to 0 ... 1, tau = times[0] (1/2 + 3 z / 2) where w > z and tau = times[1] / (1/2 + 3 z / 2)
   * where w < z; if times[2] > 0, tau goes from the second to the first over this width of w - z, as a polynomial of fifth degree */
  CP_ACTIVATION_MUSCLE = 3
} CPActivation;

/** Force of a muscle as MuJoCo defines it (its manual, chapter "Modeling", section "Muscles"): F = -force (L_f(L) V_f(V) w + P_f(L)),
 * which pulls, with the scaled length L = range[0] + (x - length[0]) / L_0, L_0 = (length[1] - length[0]) / (range[1] - range[0]), and the
 * scaled velocity V = x' / (L_0 vmax). L_f is 1 at L = 1 and 0 outside of lmin ... lmax; V_f is 0 at V = -1, 1 at rest and fvmax
 * from V = fvmax - 1 on; P_f is 0 up to L = 1, and half of fpmax at L = (1 + lmax) / 2. */
typedef struct {
  sunrealtype force; /**< peak active force at rest, > 0 [N]; 0: the actuator is no muscle, and all others must be 0 */
  sunrealtype length[2]; /**< least and largest length x of the actuator [m, rad] */
  sunrealtype range[2]; /**< the same as parts of the optimal length, in increasing order; zeros mean 0.75 and 1.05 */
  sunrealtype lmin; /**< least L with active force, < 1; 0 means 0.5 */
  sunrealtype lmax; /**< largest L with active force, > 1; 0 means 1.6 */
  sunrealtype vmax; /**< speed of shortening without force, in optimal lengths per second; 0 means 1.5 */
  sunrealtype fpmax; /**< passive force at lmax, as a part of `force`; -1 means none, 0 means 1.3 */
  sunrealtype fvmax; /**< active force at the largest speed of lengthening, as a part of `force`, > 1; 0 means 1.2 */
} CPMuscle;

/** An actuator with a control w, the parameter "NAME.control", which a program sets at any time and a controller at its samples
 * (CPEventSource). With x = gear times the coordinate it has the generalised force gear F on it,
 *
 *   F = (gain[0] + gain[1] x + gain[2] x') w + bias[0] + bias[1] x + bias[2] x' + function
 *
 *   motor              gain = {1}              F = w
 *   position servo     gain = {kp}, bias = {0, -kp, -kv}
 *   velocity servo     gain = {kv}, bias = {0, 0, -kv}
 *   damper             gain = {0, 0, -1}       F = -w x'
 *
 * as the actuators of MuJoCo; with an activation, z takes the place of w. Angles in space that are no coordinates of the state lie in
 * (-pi, pi]. It acts on
 *
 *   of.joint            a coordinate of a joint
 *   a, b                the distance between point_a of body a and point_b of body b, which must not coincide: a cylinder
 *   a, b, along         the coordinate along . (P_b - P_a), where `along`, of any length, turns with a
 *   b, push or about    nothing that has a value: the force F push at point_b, and the torque F about, both of any length, which turn
 *                       with b; x = 0, and x' is the rate of their work for F = 1. With a and `about` alone the torque acts between
 *                       a and b. */
typedef struct {
  CPElement head;               /**< CP_NEW_ACTUATOR(name) */
  CPCoordinate of;              /**< coordinate on which it acts */
  sunrealtype gear;             /**< 0 means 1 */
  sunrealtype control;          /**< w at first */
  sunrealtype gain[3];          /**< of w, x w, x' w */
  sunrealtype bias[3];          /**< of 1, x, x' */
  sunrealtype control_range[2]; /**< w is clamped to it; equal ends: it is not */
  sunrealtype force_range[2];   /**< F is clamped to it; equal ends: it is not */
  CPActivation dynamics;        /**< of its activation z */
  sunrealtype times[3];         /**< time constants > 0 [s], see CPActivation */
  sunrealtype activation;       /**< z at the start (CPBodiesState) */
  sunrealtype activation_range[2]; /**< z stays in it: z' is 0 where it would leave it; equal ends: it is not limited */
  CPMuscle muscle;        /**< gain and bias of a muscle, instead of gain and bias */
  const char *a;          /**< first body, without `of` */
  const char *b;          /**< second body */
  CPIn in;                /**< axes of points and directions */
  sunrealtype point_a[3]; /**< point on body a [m] */
  sunrealtype point_b[3]; /**< point on body b [m] */
  sunrealtype along[3];   /**< direction in body a; zeros: the distance counts */
  sunrealtype push[3];    /**< direction of a force on body b */
  sunrealtype about[3];   /**< axis of a torque on body b */
  CPFunction function;    /**< of t, x, x' and w (or z), which is kept; NULL: none */
} CPActuator;

enum { CP_MOST_NODES = 16 /**< the largest number of nodes of a rope */ };

/** A place that a rope passes: a point, or a pulley. */
typedef struct {
  const char *body;     /**< name of the body; NULL and "ground" mean the ground */
  sunrealtype point[3]; /**< the point, at whose ends the rope is fixed and through which it slides elsewhere; the centre of a pulley [m] */
  /** 0: a point. > 0: radius of a pulley, about which the rope runs counterclockwise, seen against the axis; < 0: clockwise [m] */
  sunrealtype radius;
  sunrealtype axis[3]; /**< axis of a pulley; zeros mean z, as in the plane; the rope lies in the plane across it */
  int turns; /**< whole turns on a pulley beyond its arc, which is between minus a quarter and three quarters of a turn */
  sunrealtype friction; /**< of a pulley: coefficient of friction of a rope on it, >= 0 */
  sunrealtype sticking; /**< the same at rest; `friction` is used if it is smaller */
} CPRopeNode;

/** A rope without mass over nodes, of which the first and the last one are points. Its length x is that of its straight parts, which are
 * tangents of pulleys, and of the arcs on pulleys, over which it slides without friction, or on one of them with friction. Its derivatives
 * are exact: a straight part pulls along itself. Consecutive pulleys must have parallel axes.
 *
 *   inextensible            x <= L: a contact without friction (CP_ON_STOP), which a CPContact switches: the rope becomes slack when
 *                           it is pushed. With taut = 1 it is a constraint x = L in any case.
 *   elastic, stiffness > 0  the tension F = stiffness (x - L) + damping (x' - L') of an elastic contact, which acts from where x = L to
 *                           where F = 0; both are events
 *
 * L = length + rate t, or length + function(t): a winch takes rope in or gives some. A rope stays on its pulleys.
 *
 * With friction mu on a pulley the tensions before and after it differ by up to the factor exp(mu phi), with the angle phi of its arc
 * (Euler and Eytelwein), and by that where the rope slides on the pulley: it sticks, and then turns the pulley's body. The rope is a
 * contact with friction, and must be inextensible and not taut; its force is the mean of both tensions. */
typedef struct {
  CPElement head;          /**< CP_NEW_ROPE(name) */
  CPIn in;                 /**< axes of points and axes */
  int nnodes;              /**< 2 ... CP_MOST_NODES */
  const CPRopeNode *node;  /**< [nnodes], in the order of the rope */
  sunrealtype length;      /**< length > 0; 0: that of the placement [m] */
  sunrealtype rate;        /**< [m/s] */
  CPFunction function;     /**< of t, added to the length, and kept; or NULL. Then rate must be 0 */
  sunrealtype stiffness;   /**< > 0: the rope is elastic [N/m] */
  sunrealtype damping;     /**< >= 0 [N s/m] */
  sunrealtype restitution; /**< of impacts of an inextensible one, from 0 to 1 */
  int taut;                /**< 1: it is never slack */
} CPRope;

/** A sampled controller: at the times first + k period, k = 0, 1, ..., a function of t and of quantities gives the value that a parameter
 * has, after the delay, until the next one. It acts in sessions (CPEquations.event_source); a run begins with the parameter as it was
 * before the session's first run, or as somebody else has set it since. The quantity "NAME.output" is its function at any state.
 * CPBodiesDescribe tells its parameter and times. */
typedef struct {
  CPElement head; /**< CP_NEW_CONTROLLER(name) */
  const char *of; /**< name of an actuator, whose control it sets, or of a parameter, "push.force_x" */
  sunrealtype period;  /**< > 0 [s] */
  sunrealtype first;   /**< time of the first sample [s] */
  sunrealtype delay;   /**< >= 0: from a sample to its effect [s] */
  CPFunction function; /**< of t and the inputs, which is kept */
  const char *inputs; /**< as in CPSpring, of any quantities that depend on neither accelerations nor reactions */
} CPController;

/** A release: a joint that is there until its force exceeds a load, until a function becomes positive, or until a time, and then no more:
 * a pin that breaks, a sling that lets go. Velocities do not jump there, and impulses of impacts release nothing. What else
 * acts on the joint's coordinates, such as springs, remains.
 *
 * A latch (`closes`): a joint that is not there until a function becomes positive, or until a time: a coupling, a gripper. It closes where
 * the bodies are: its frame on body b is moved in that so that the points and axes fit that the joint joins. Velocities become those that
 * it allows, by a plastic impact, whose loss is in the balance W. Its joint is no rod and does not roll; a release may open it again.
 * The joint keeps its rows in joint coordinates (CPJoint.switched). It acts in
 * sessions (CPEquations.event_source), whose event is called "JOINT released", or "JOINT closed"; the quantity "NAME.trigger" is what becomes
 * positive.
 * CPBodiesDescribe tells the joint and the time. */
typedef struct {
  CPElement head;      /**< CP_NEW_RELEASE(name) */
  const char *joint;   /**< name of the joint, which is none by functions */
  sunrealtype load;    /**< > 0: the size of the joint's force that it bears [N] */
  CPFunction function; /**< without load: of t and the inputs, which is kept; or NULL */
  const char *inputs; /**< as in CPSpring, of any quantities but those of controllers and releases */
  sunrealtype at;     /**< without load and function: the time [s] */
  int closes;         /**< 1: a latch, without load */
} CPRelease;

/** A tendon: a spring-damper, T = force - stiffness (x - free) - damping x' - inertance x'' + function, on a sum
 * x = ratio_1 x_1 + ratio_2 x_2 + ... of coordinates, or on the length x of a path along points, whose parts are divided by `divisor`.
 * Between two points the path may wrap around one sphere or cylinder, as in MuJoCo: it is straight where it need not wrap, and takes the
 * shorter way, or the one on the given side; if that point is nearer to the centre than the radius, the path is held inside.
 * CPLimit, dry CPFriction and CPActuator act on x, too, where a CPCoordinate has the name of the tendon, and k = 0. */
typedef struct {
  CPElement head;           /**< CP_NEW_TENDON(name) */
  int ncoordinates;         /**< number of coordinates, or 0 */
  const CPCoordinate *of;   /**< [ncoordinates], or NULL */
  const sunrealtype *ratio; /**< [ncoordinates] not 0, or NULL */
  int nnodes;               /**< number of nodes of a path, or 0 */
  /** [nnodes], or NULL: points of radius 0; between two of them, with radius > 0, a sphere, or if `axis` is not zeros an endless
   * cylinder; without turns */
  const CPRopeNode *node;
  const sunrealtype *
      divisor; /**< [nnodes - 1] of the parts; 0: there is none between these nodes; NULL: all are 1 */
  CPIn in;     /**< axes of points */
  sunrealtype stiffness; /**< >= 0 */
  sunrealtype damping;   /**< >= 0 */
  sunrealtype free;      /**< x at which the spring is free of force; NaN: that of the placement */
  sunrealtype force;     /**< constant force */
  sunrealtype inertance; /**< >= 0 */
  CPFunction function; /**< of t, x and x'; added to these forces, and kept; NULL if there is none */
  /** [nnodes] of spheres and cylinders, a point on whose side the path runs; NULL: there is none; or NULL */
  const CPRopeNode *const *side;
} CPTendon;

/** A tyre: the force and the torque of a fixed plane, the ground, on a wheel, by the brush model with combined slip (H. B. Pacejka, Tire and
 * Vehicle Dynamics, chapter 3; guide, section "Tyres"); in space only. With the height h of the wheel's centre above the ground, the
 * angle gamma between the wheel and the ground's normal, the velocities V of the wheel where it touches the ground and V_r of its
 * rolling, positive if it turns about its axis a and moves along a x n:
 *
 *   load        N = stiffness delta (1 + damping delta'), delta = radius cos gamma - h, where delta and N are positive
 *   slip        sigma = -V / sqrt(V_r^2 + speed^2), of the components of V along and across the wheel
 *   force       friction N (3 s - 3 s^2 + s^3) along sigma, s = slip_stiffness |sigma| / (3 friction N); friction N where s >= 1
 *   torque      about the normal minus the lateral force times half_length (1 - s)^3 / (3 - 3 s + s^2) up to s = 1, then 0, times
 *               V_r / sqrt(V_r^2 + speed^2); about the axis -rolling N h / cos gamma times the same quotient
 *
 * With `speed` the force is that of a damper, slip_stiffness / speed, where the wheel hardly turns: a wheel on a slope creeps. The
 * body must be the wheel, which turns about `axis`. The centre must not get below the ground. */
typedef struct {
  CPElement head;             /**< CP_NEW_TYRE(name) */
  const char *body;           /**< name of the wheel */
  CPIn in;                    /**< axes of point and axis */
  sunrealtype point[3];       /**< centre of the wheel [m] */
  sunrealtype axis[3];        /**< axis of the wheel, of any length; zeros mean y */
  sunrealtype ground[3];      /**< a point of the ground, in space [m] */
  sunrealtype normal[3];      /**< its normal, in space, of any length; zeros mean z */
  sunrealtype radius;         /**< free radius > 0 [m] */
  sunrealtype stiffness;      /**< of the load, > 0 [N/m] */
  sunrealtype damping;        /**< >= 0 [s/m] */
  sunrealtype friction;       /**< coefficient of friction > 0 */
  sunrealtype slip_stiffness; /**< force per slip at small slips > 0 [N] */
  sunrealtype half_length; /**< half the length of the contact, of the aligning torque, >= 0 [m] */
  sunrealtype rolling;     /**< coefficient of rolling resistance >= 0 */
  sunrealtype speed;       /**< > 0 [m/s] */
} CPTyre;

/** An elastic sphere of body b on a sphere or a plane of body a: the force of Hertz, with the dissipation of K. H. Hunt and F. R. E. Crossley
 * (J. Appl. Mech. 42, 1975) and a friction that is continuous in the velocity, as in HuntCrossleyForce of Simbody and OpenSim; in space only.
 * It has no events, in contrast to a CPBodyContact. With the unit normal n from a to b, the depth x of the overlap, and the velocity V of
 * b relative to a at the place of contact, which is share x inside of a:
 *
 *   depth       x = radius_a + radius - |d|, n = d / |d|; on a plane x = radius - z_a . d, n = z_a; d = P_b - P_a
 *   normal      N = 4/3 modulus sqrt(R) x^(3/2) (1 + 3/2 damping x') where x and N are positive; x' = -n . V,
 *               1 / R = 1 / radius_a + 1 / radius, on a plane R = radius
 *   friction    N (min(q, 1) (friction + 2 (sticking - friction) / (1 + q^2)) + viscous s) against V_T = V + x' n, s = |V_T|,
 *               q = s / speed: what sticks creeps
 *
 * On a plane the overlap may be any, as the plane is the surface of a half-space; of spheres the centres must not coincide. */
typedef struct {
  CPElement head; /**< CP_NEW_SPHERE(name) */
  const char *a;  /**< body with the sphere or plane; NULL and "ground" mean the ground */
  const char *b;  /**< body with the sphere */
  CPIn in;        /**< axes of points and directions */
  CPMarker on_a; /**< P_a, the centre of its sphere, or a point of its plane, and z_a as its `axis` */
  CPMarker on_b;        /**< P_b, the centre of the sphere */
  sunrealtype radius;   /**< of the sphere of b, > 0 [m] */
  sunrealtype radius_a; /**< of that of a; 0: a plane [m] */
  sunrealtype modulus;  /**< of both materials together, > 0 [N/m^2] */
  sunrealtype damping;  /**< >= 0 [s/m] */
  sunrealtype friction; /**< coefficient of friction of fast sliding, >= 0 */
  sunrealtype sticking; /**< that at `speed` where viscous is 0, >= 0 */
  sunrealtype viscous;  /**< >= 0 [s/m] */
  sunrealtype speed;    /**< > 0 [m/s] */
  sunrealtype share;    /**< part of the depth by which a yields, from 0 to 1 */
} CPElasticSphere;

/** The force and the torque of a resting or uniformly moving fluid on a body, by one of the two models of MuJoCo (its chapter "Fluid forces"; guide,
 * section "Drag of a fluid"), which have no state of the fluid; in space only. v is the velocity of the point relative to the fluid and w the angular velocity of
 * the body, both in the axes of `on`; j and k are the other two of these axes, and s is |v|:
 *
 *   box         with the edges l, D their mean:
 *               F_i = -(3 pi viscosity D + density / 2 l_j l_k |v_i|) v_i
 *               T_i = -(pi viscosity D^3 + density / 64 l_i (l_j^4 + l_k^4) |w_i|) w_i
 *   ellipsoid   with the half axes r, D = 2/3 their sum, V its volume, A its area as seen along v, A_1 and I_1 the largest such area and the largest
 *               I_i = 8/15 pi r_i max(r_j, r_k)^4, and the added masses m and moments J (H. Lamb, Hydrodynamics, sections 114 to 116):
 *               F = -(3 pi viscosity D + density s (blunt A + slender (A_1 - A))) v + density (magnus V w x v + kutta A c (n x v) x v + m v x w)
 *               T = -(pi viscosity D^3 + density |M|) w + density (m v x v + J w x w)
 *               n_i = (r_j r_k)^2 v_i, c = n . v / (s n . n), M_i = (angular I_i + slender (I_1 - I_i)) w_i
 *
 * The inertia of the fluid that a body accelerates is left out, as in MuJoCo. Either `edges` or `half_axes` are given. */
typedef struct {
  CPElement head;   /**< CP_NEW_DRAG(name) */
  const char *body; /**< name of the body */
  CPIn in;          /**< axes of `on` */
  CPMarker on; /**< the point, and the axes of the box or ellipsoid, of which z is `axis` and x `across` */
  sunrealtype edges[3];     /**< of the box, >= 0, or zeros [m] */
  sunrealtype half_axes[3]; /**< of the ellipsoid, > 0, or zeros [m] */
  sunrealtype density;      /**< of the fluid, >= 0 [kg/m^3] */
  sunrealtype viscosity;    /**< >= 0 [N s/m^2] */
  sunrealtype wind[3];      /**< velocity of the fluid, in space [m/s] */
  sunrealtype blunt;        /**< coefficients of an ellipsoid: of drag, >= 0 */
  sunrealtype slender;      /**< of drag along what is not seen along v, >= 0 */
  sunrealtype angular;      /**< of drag of rotations, >= 0 */
  sunrealtype kutta;        /**< of lift, by Kutta and Joukowski, >= 0 */
  sunrealtype magnus;       /**< of lift of what spins, >= 0 */
} CPDrag;

/** A shape of a body, or of the ground, for drawings and contacts (CP_ON_SHAPE), without mass. Its centre is the point of `on`. z of
 * `on` is the axis of cylinders, wheels and capsules, and the normal of planes; in the plane it is that of space. */
typedef struct {
  CPElement head;   /**< CP_NEW_SHAPE(name) */
  CPShapeKind kind; /**< kind of the shape */
  const char *body; /**< name of the body, or "ground" */
  CPIn in;          /**< axes of `on` */
  CPMarker on;      /**< centre and axes */
  /** edges of a box along x, y, z; radius (first) and length (last) of a cylinder or wheel, or of a capsule without its half spheres;
   * radius (first) of a sphere; half axes of an ellipsoid; edges of the part of a plane that is drawn. > 0 [m]; the last one is not
   * used in the plane, and none is of a mesh */
  sunrealtype size[3];
  /** [3 npoints] of a mesh, in the axes of `on`, from its point: the shape is their convex hull; copied. Its centre, for CPMechGetPoints, is
   * the middle of its extents. Faces are what is plane up to 1e-6 of the extent. NULL for the other kinds [m] */
  const sunrealtype *points;
  int npoints; /**< their number, at least 4 */
} CPShape;

/** Energies and powers at one state. E = kinetic + potential changes by E' = -dissipation + applied + drives, beside what contacts, stops
 * and dry friction do. */
typedef struct {
  size_t size;         /**< of this struct */
  sunrealtype kinetic; /**< kinetic energy, including that of inertances [J] */
  sunrealtype potential; /**< potential energy of gravity, of springs without laws and of elastic ropes [J] */
  sunrealtype dissipation; /**< power lost in dampers and friction [W] */
  sunrealtype applied;     /**< power of forces and laws [W] */
  sunrealtype drives;      /**< power supplied by the drives [W] */
} CPPowers;

/* ---- the description ---- */

/** Creates an empty mechanism in space (dimension 3) or in the plane (2). gravity [3]: its acceleration in space [m/s^2], or
 * NULL for none. Returns the mechanism, which the caller frees, or NULL. */
CPODES_EXPORT CPBodies CPBodiesCreate(int dimension, const sunrealtype *gravity);
/** Frees *bodies and sets it to NULL; models that were built stay. bodies or *bodies may be NULL. */
CPODES_EXPORT void CPBodiesFree(CPBodies *bodies);
/** Adds an element, of which everything is copied but user data. index: out, may be NULL: its index among the things of its
 * kind (CPThing), of contacts of a box, a cylinder or a limit that of the first one; that of the contact of dry friction; -1
 * for springs and actuators that act on no distance, bushings, forces and smooth frictions. Returns CP_ILL_INPUT,
 * CP_NOT_SUPPORTED (not in the plane), CP_OLD_STRUCT (size is not set), or CP_MEM_FAIL; then the mechanism is as before. */
CPODES_EXPORT int CPBodiesAdd(CPBodies bodies, const CPElement *element, int *index);
/** Coordinates of the state (CPBodiesSetFormulation). */
typedef enum {
  CP_ABSOLUTE = 0, /**< those of the bodies, as above; every joint has rows */
  CP_JOINT_COORDINATES =
      1 /**< those of the joints of a spanning tree; only the other joints have rows */
} CPFormulation;

/** Chooses the coordinates of the models that are built from now on; the first choice is CP_ABSOLUTE. With
 * CP_JOINT_COORDINATES the joints of a spanning tree are no constraints, so that a tree has none, and u' comes from the
 * articulated-body recursion (Featherstone, Rigid Body Dynamics Algorithms, 2008) in a time that is linear in the number of
 * bodies. The edges are chosen greedily: of the joints that lead on, one with the fewest freedoms, then the nearest to the
 * ground, then the first one; where none leads on, the first body that is left moves freely, with absolute coordinates.
 * Edges can be ball, revolute, universal, cylindrical, prismatic, planar and fixed joints without friction, and joints by functions
 * must be edges: they cannot be where a loop is cut. The state has
 *
 *   of a joint's coordinate x           x, x'
 *   of a ball joint                     unit quaternion of the rotation of the body that it moves relative to the other one,
 *                                       relative angular velocity in the axes of the former
 *   of a body that moves freely         as in absolute coordinates
 *
 * for the joints in the order of CP_STATE, which names them. Angles count turns: springs and laws on them do, too. */
CPODES_EXPORT int CPBodiesSetFormulation(CPBodies bodies, CPFormulation formulation);
/** Adds the state W with W' = -dissipation + applied + drives [J], so that kinetic + potential - W is constant but for impacts
 * of contacts, at each of which it changes by sum P . (v- + v+) / 2 <= 0 with their impulses P: W gets what drives and winches do there. The
 * power of forces that CPMechAddForce adds is in it, as that of sliding contacts and of dry friction (CPContact). */
CPODES_EXPORT int CPBodiesSetBalance(CPBodies bodies);

/** What a mechanism consists of, in the order in which it was added. */
typedef enum {
  CP_BODY  = 0,
  CP_JOINT = 1, /**< joints, couplers, drives and contacts: whatever has rows */
  CP_COORDINATE =
      2, /**< coordinates of joints: "hinge", or "slider.1" for those after the first one */
  CP_CONTACT    = 3,  /**< contacts; each is a joint as well */
  CP_SPRING     = 4,  /**< springs and actuators that act between two points */
  CP_SHAPE      = 5,  /**< shapes */
  CP_PARAMETER  = 6,  /**< numbers of elements, "element.field" */
  CP_STATE      = 7,  /**< components of y, "rod.x" */
  CP_SENSOR     = 8,  /**< quantities of elements, "pin.force" (CPMechGetSensor) */
  CP_CONTROLLER = 9,  /**< sampled controllers */
  CP_RELEASE    = 10, /**< releases of joints */
  CP_PATH =
      11 /**< parts of ropes and tendons between two nodes, in order; of a tendon that wraps, between its points */
} CPThing;

/** What is known of one thing. Indices are -1, and texts "", where they mean nothing. */
typedef struct {
  size_t size;         /**< of this struct */
  const char *name;    /**< its name */
  const char *unit;    /**< of a coordinate, a state or a quantity */
  const char *meaning; /**< of a state, "x of its centre of mass" */
  int kind; /**< CPJointKind of a joint, CPContactOn, CPShapeKind; coordinate: 1 if it is an angle; state: 0 of q, 1 of u, 2 W, 3 an activation; quantity: 1 of a vector */
  int a; /**< body a of a joint, contact or spring, or the body of a state or shape; -1: the ground */
  int b;              /**< body b of a joint, contact or spring */
  int joint;          /**< joint of a coordinate, whose rows a contact takes, or that is released */
  sunindextype first; /**< joint, contact: first row of p, v and A */
  sunindextype count; /**< number of these rows */
  sunindextype first_rate; /**< first row of v and A beyond p: rolling, sliding velocities of a contact */
  sunindextype nrates; /**< number of these rows; of a quantity 1 if it depends on u' or multipliers */
  sunrealtype value;       /**< of a parameter */
  const CPContactLaw *law; /**< of a contact, with the present parameters */
  sunrealtype period;      /**< of a contact, for CPContactPoint; of a controller */
  sunrealtype nearest;     /**< of a contact, for CPContactPoint */
  sunrealtype centre[3];   /**< of a body: its centre of mass in its frame */
  int parameter; /**< of a controller: the parameter that it sets; its period is `period` */
  sunrealtype begin; /**< of a controller: time of its first sample; of a release: its time, infinite if it has none */
  sunrealtype delay; /**< of a controller: from a sample to its effect */
  /** [3 npoints] of a shape that is a mesh: its corners, along its half axes from its centre; they live as long as the mechanism. NULL
   * for others [m] */
  const sunrealtype *points;
  int npoints;      /**< their number */
  const int *edges; /**< [2 nedges] of a mesh: the indices of both ends of each edge */
  int nedges;       /**< their number */
} CPDescription;

/** Returns the number of such things, 0 if bodies is NULL. */
CPODES_EXPORT int CPBodiesCount(CPBodies bodies, CPThing thing);
/** Finds a thing by its name. i: out. Returns CP_ILL_INPUT if there is none.
 *
 * The fields of parameters are mass and J_xx ... J_yz (products only if the body was added with some); length, offset,
 * ratio_1, ratio_2, start, rate, amplitude, frequency, stiffness, damping, free, force, factor, speed, force_x ... force_z; of
 * a contact length (its radius), radius_a (of a sphere), friction, sticking, restitution; of a limit lower, upper, ratio_1,
 * ratio_2, restitution or stiffness and damping, as far as it has them; of a rope length, radius_1 ..., friction, sticking, start, rate, restitution, stiffness, damping, as far as it has them; of dry friction force, sticking, or factor, sticking_factor; of an
 * actuator control, gear, gain, gain_x, gain_v, bias, bias_x, bias_v, control_min ... activation_max, time, time_2, time_3, and of a
 * muscle peak_force, length_min, length_max, range_min, range_max, lmin, lmax, vmax, fpmax, fvmax; of a bushing kx ... kzz, dx ...
 * dzz, x0 ... zz0 (without force); inertance and drag, if the element was added with some. Gravity is "gravity.x" and so on. */
CPODES_EXPORT int CPBodiesFind(CPBodies bodies, CPThing thing, const char *name, int *i);
/** Describes thing i, from 0 on. out: in, its size; out. Rows are those of a model that is built now. Texts and laws are valid
 * until the next call of a function with bodies. */
CPODES_EXPORT int CPBodiesDescribe(CPBodies bodies, CPThing thing, int i, CPDescription *out);

/** Returns the array of the parameters, in the order of CP_PARAMETER: values that models have which are built from now on. It
 * moves when an element is added. Returns NULL if bodies is NULL. */
CPODES_EXPORT sunrealtype *CPBodiesParameters(CPBodies bodies);
/** Returns a new state with the bodies at their placement and with their velocities. The caller owns it. Returns NULL
 * if bodies is NULL, or out of memory. */
CPODES_EXPORT N_Vector CPBodiesState(CPBodies bodies, SUNContext ctx);
/** Builds the model of the mechanism. It keeps nothing of bodies, to which elements may be added afterwards for further
 * models, but the user's functions and data, which all threads call that use the model. Matrices are sparse from 16
 * velocities on. model: out, owned by the caller (CPModelFree). Returns CP_ILL_INPUT if there is no body, or a motion that
 * moves no mass, of which the message names the joint and the body without mass (in mechanisms of up to 500 velocities; beyond
 * that its accelerations fail), or CP_MEM_FAIL. */
CPODES_EXPORT int CPBodiesBuild(CPBodies bodies, CPModel *model);

/* ---- a CPMech of such a model: its own parameters, offsets and caches. Functions return CP_ILL_INPUT for others. ---- */

/** values: out, the array of the parameters of mech, in the order of CP_PARAMETER of the description; it is final: the
 * values of CPParameters. n: out, their number. Either may be NULL. */
CPODES_EXPORT int CPMechGetParameters(CPMech mech, sunrealtype **values, int *n);

/** A coordinate that an assembly gives a value (low = high) or keeps within limits [m, rad]. Angles in space count up to whole turns. */
typedef struct {
  int coordinate;   /**< index of the coordinate */
  sunrealtype low;  /**< the least value */
  sunrealtype high; /**< the largest one, >= low */
} CPRange;

/** Where a frame of a body is to be, for inverse kinematics. */
typedef struct {
  int body;                  /**< index of the body */
  sunrealtype point[3];      /**< point in the frame of the body [m] */
  sunrealtype position[3];   /**< where it is to be in space [m] */
  sunrealtype quaternion[4]; /**< attitude that the body is to have, of any norm > 0 */
  sunrealtype along; /**< weight of the distance, as a part of the extent of the mechanism; 0: it does not count */
  sunrealtype about; /**< weight of the angle in rad; 0: it does not count */
} CPTarget;

/** Options and results of an assembly. */
typedef struct {
  size_t size;      /**< of this struct */
  const char *held; /**< in: names of bodies whose positions are held, separated by blanks, or NULL */
  const char *notes; /**< out: what has been changed beyond closing the joints, one line each, or ""; until the next one */
  sunrealtype change; /**< out: the largest change of a start velocity that was given, as a part of it, or 0 */
  /** in: NULL, or the offsets of an assembly with another CPMech of this model, which mech takes; then nothing else is done.
   * out: the offsets of redundant rows and frames, of mech */
  const sunrealtype *offsets;
  int noffsets; /**< out: their number */
  /** in: coordinates that have values or limits, NULL if nranges is 0. Values of joints in the tree of joint coordinates are exact */
  const CPRange *ranges;
  int nranges; /**< in: their number */
  /** in: targets of frames, NULL if ntargets is 0. Joints are closed, coordinates are within their ranges, and of such positions
   * the sum of squares of the weighted distances and angles is least: in a neighbourhood, from the guess on */
  const CPTarget *targets;
  int ntargets;     /**< in: their number */
  sunrealtype miss; /**< out: the root of that sum */
} CPAssembly;

/** Assembles the mechanism at time t by CPMechCalcIC, from the guess y (in, out). assembly may be NULL. If a body that is held
 * moves in the guess, its velocities are held as well, as far as a consistent state with them exists: all of them, else only
 * the angular ones, else only the translational ones. All other velocities are the nearest consistent ones.
 *
 * Joints are closed with their axes equal, however far bodies are turned in the guess. If the nearest position cannot be
 * found from there, they are closed in the coordinates of a spanning tree of joints, in which drives set the coordinates that they
 * prescribe, by least squares (Levenberg and Marquardt), from the guess and then from ten starts scattered about it. If the position
 * violates a rigid stop of a coordinate that the guess does not, one within all such stops is taken if there is one, and listed. Rows that depend on others cannot be
 * closed if data are rounded: such a row gets an offset, if at most 1e-6 of the extent of the mechanism (or 1e-6 rad), which
 * no parameter shows. If loops are redundant but for rounding, as linkages of Bennett and Bricard or with parallel axes in
 * space, the frames of their joints are moved in their bodies by at most as much, so that they are redundant again, and move;
 * this takes loops of at most 300 rows. Offsets, start velocities that the joints change, and a singular position are listed
 * in the notes.
 *
 * If CP_IC_FAIL is returned, y is as it was, and the message names the drives or couplers that contradict each other or the
 * joints, a joint that closes only with opposite axes, or the joint that is violated most at the guess. */
CPODES_EXPORT int CPMechAssemble(CPMech mech, sunrealtype t, N_Vector y, CPAssembly *assembly);

/** Returns coordinate i and its rate at y; the angle of a joint of the tree counts turns, others in space are in (-pi, pi]. x, rate: out,
 * may be NULL. */
CPODES_EXPORT int CPMechGetCoordinate(CPMech mech, int i, N_Vector y, sunrealtype *x,
                                      sunrealtype *rate);
/** Sets the coordinate of a hinge or slide in joint coordinates, and its rate: of a joint of the tree, which is then exact;
 * joints that close loops follow by CPMechAssemble, whose ranges set such coordinates in any formulation. Returns CP_NOT_SUPPORTED for
 * other coordinates, CP_ILL_INPUT if x or rate is not finite; y is then as it was. */
CPODES_EXPORT int CPMechSetCoordinate(CPMech mech, int i, N_Vector y, sunrealtype x,
                                      sunrealtype rate);

/** A frame of a body: its pose, its motion, and its Jacobian, as robots ask for it. */
typedef struct {
  size_t size;             /**< of this struct */
  sunrealtype position[3]; /**< out: of the point in space [m] */
  sunrealtype axes[9]; /**< out: the axes x, y, z of the body's frame in space, one after the other */
  sunrealtype quaternion[4]; /**< out: the same, scalar first and >= 0 */
  sunrealtype velocity[3];   /**< out: of the point [m/s] */
  sunrealtype omega[3];      /**< out: angular velocity in the axes of space [rad/s] */
  sunrealtype bias[6]; /**< out: J' u, so that the accelerations of point and frame are J u' + bias */
  sunrealtype *jacobian; /**< in: NULL or room for J [6 x nu], out, by columns: (velocity, omega) = J u */
} CPBodyFrame;
/** Forward kinematics of a point, given in the frame of a body, and of that frame, at y. point [3]: NULL is the origin of the
 * frame. The body moves as its own q and u say; whether joints are closed does not matter. In joint coordinates one evaluation of
 * all poses serves all frames at one state. M(q), A(q), f(q, u) and b(q, u) are outputs of CPMechEvaluate. */
CPODES_EXPORT int CPMechGetFrame(CPMech mech, int body, const sunrealtype *point, N_Vector y,
                                 CPBodyFrame *frame);

/** Returns the reaction of a joint on its body b for the multipliers lambda [na] at y: the force F [3] at P_b [N] and the
 * torque T [3] about P_b [N m], in the axes of space. For a coupler or a drive F[0] = -lambda is the generalised force on
 * its coordinates. If constraints are dependent, the multipliers, and so the reactions, are those of minimum norm. */
CPODES_EXPORT int CPMechGetReaction(CPMech mech, int joint, sunrealtype t, N_Vector y,
                                    const sunrealtype *lambda, sunrealtype *F, sunrealtype *T);
/** A quantity of an element at one state, and at what it is taken. */
typedef struct {
  size_t size; /**< of this struct */
  const sunrealtype
      *udot; /**< in: u' at this state, or NULL: it is computed if it is needed, without contacts */
  const sunrealtype *
      lambda; /**< in: the multipliers [na], with contacts those of their forces, or NULL, as udot */
  sunrealtype *gradient; /**< in: NULL, or [2 nu] for derivatives: in the directions of u, and with respect to u */
  sunrealtype value[3]; /**< out: the value, or the components of a vector */
  int count;            /**< out: 3 of a vector, else 1 */
  const char *unit;     /**< out: "N m" */
} CPSensor;
/** Returns a quantity by its name, ELEMENT.QUANTITY:
 *
 *   body             position, velocity, acceleration, omega, alpha, momentum, kinetic_energy; in the plane angle; the first three
 *                    are those of the origin of its frame, or of a point: body.point([x, y, z]).velocity, body.centre.position
 *   joint            angle, displacement, rate, acceleration of its first coordinate, or of number K: joint.K.rate; force, torque
 *                    (CPMechGetReaction); of a rod axial, > 0 if it pulls
 *   drive, coupler, limit, dry friction
 *                    force, of an angle torque; power of a drive and of dry friction
 *   spring, friction, actuator
 *                    angle or, between points, length; rate, acceleration; force or torque, > 0 where the coordinate would grow;
 *                    power; energy of a spring, activation of an actuator. Of one that acts on no coordinate force or torque, per unit of
 *                    its direction, and power
 *   rope             length, rate, force (the tension), power (on its bodies); of an elastic one energy
 *   bushing          force, torque on body b;      force on a point   force, power, position, velocity, acceleration
 *   contact          gap; force, torque on body b;         controller   output
 *   release          trigger
 *   tyre             load, slip, side_slip; force, torque about the wheel's centre, on the wheel; power; position, velocity,
 *                    acceleration of the centre
 *   elastic sphere   load (N); force, torque about its centre, on body b; power, on both bodies; position, velocity, acceleration of
 *                    its centre
 *
 * Vectors are those in the axes of space, or of a body: pin.force.in(rod); then a position is that relative to the body's
 * frame. One component is pin.force.x, pin.force.in(rod).x. Numbers of a point may have units, [0, 30 mm].
 *
 * The gradient of a number, or of a component of a vector, is exact. Where it depends on accelerations or reactions it is that of a
 * function of the state, by the equations of motion with the rows that are active (udot and lambda are not used), on the manifold:
 * CPMechVjp for accelerations, and 2 nu products (CPMechJvp) for multipliers. Differences of sixth order, to about 1e-10, are taken where
 * forces depend on multipliers, of forces and torques of joints that are edges of a tree (CP_JOINT_COORDINATES), and of ropes, tyres,
 * elastic spheres, controllers and releases. A vector has none (CP_NOT_SUPPORTED). Returns CP_ILL_INPUT if there is no such quantity; the message names the
 * nearest. CPBodiesFind finds a name without a CPMech; CPBodiesDescribe lists all quantities, with their units. */
CPODES_EXPORT int CPMechGetSensor(CPMech mech, const char *name, sunrealtype t, N_Vector y,
                                  CPSensor *sensor);
/** Returns energies and powers at (t, y). lambda [na]: in, or NULL, in which case those of drives and friction are left
 * out. */
CPODES_EXPORT int CPMechGetPowers(CPMech mech, sunrealtype t, N_Vector y, const sunrealtype *lambda,
                                  CPPowers *powers);

/** Returns points for drawings. xyz [12]: out, in space at y, unused ones 0. Joint, spring: P_a and P_b. Contact: where it
 * acts, its normal, and both tangents (on a plane z_a, x_a and y_a; in the plane the second one is 0). Shape: its centre and
 * the ends of its half axes a, b, c (in the plane the last one is the centre). Path: both ends of the part, and two points that divide the
 * arc on the pulley where it ends into three; they are that end where there is no pulley. */
CPODES_EXPORT int CPMechGetPoints(CPMech mech, CPThing thing, int i, N_Vector y, sunrealtype *xyz);

/* ---- mechanisms as files (guide, chapter "Mechanisms as files") ---- */

/** What a file says beside the mechanism. The mechanism owns the texts, which are "" if they are not given. */
typedef struct {
  size_t size;         /**< of this struct */
  const char *title;   /**< title */
  const char *method;  /**< method as named by `cpodes run --method`; "" means any */
  int method_line;     /**< line of this name in the file; 0 if it is not given */
  int method_column;   /**< its column */
  const char *held;    /**< bodies that CPMechAssemble holds */
  const char *sensors; /**< what `cpodes run` outputs, separated by blanks: coordinates JOINT or JOINT.K with their rates, and
                            forces and lengths, such as JOINT.force.x, DRIVE.torque, SPRING.length */
  /** Which parts of the file act on the motion and are missing in the mechanism, such as limits, motors and contacts: one line
   * "file:line:column: what" for each kind. Parts that do not act, such as lights, are not listed. */
  const char *notes;
  /** Paths of the files that were read in addition, the robot, included files and meshes: each terminated by a zero, with an
   * empty one at the end */
  const char *files;
  sunrealtype t_end; /**< end of the motion, > 0, default 10 [s] */
  int dimension;     /**< 2 in the plane, 3 in space */
  int assemble;      /**< 1 (default) if CPMechAssemble is to be called first */
  int balance;       /**< 1 (default) if CPBodiesSetBalance has been called */
  /** in: what replaces values of the parameters that the file names, "crank=60 mm", one a line, or NULL. Of a robot's file:
   * "start.JOINT=0.5", a value in rad or m, "start.JOINT'=-2", a rate, "start=NAME", a keyframe of MJCF, "base=free", the root of
   * URDF, "contacts=no", "yes" or "meshes", what of its shapes touches, "models=DIR:DIR", folders in which SDF finds models; of a model of OpenSim the first two, of coordinates. out: NULL */
  const char *parameters;
  /** What else there is to tell of parts of the file, as in `notes`: "file:line:column: changed: what", "without effect in this
   * run: what", "without meaning here: what" */
  const char *remarks;
  CPFormulation formulation; /**< has been set (CPBodiesSetFormulation): that of the key `coordinates`, or CP_JOINT_COORDINATES
                                for robots and CP_ABSOLUTE for others */
  /** in: parameters that a YAML file names, "crank rod", which become parameters of the mechanism by these names (CP_PARAMETER),
   * for gradients: all that the file's expressions make of them moves along its tangent where their values are changed. So they are
   * to be changed by small amounts alone, as differences do; `parameters` reads the file with another value. No elements can be
   * added afterwards. NULL: none. out: NULL */
  const char *named;
  int writes; /**< in: 1 if the mechanism is wanted as a YAML file, 2: as a file in MJCF, 3: URDF, 4: SDF, these only in space */
  const char *written; /**< out: that file, or NULL. It has all elements, and lists as comments what the file has beside them;
                          of a YAML file it has the parameters, with those of included files in place of their names, and expressions
                          of numbers and of functions, and lists where numbers stand for such an expression;
                          functions, which have no text, are missing, and listed. MJCF says less: loops by ball joints, hinges and
                          welds, what acts on single coordinates, and contacts of shapes; bodies are where all coordinates are 0, and the
                          keyframe "start" has the start. URDF says less still: a tree from the link "world", limits, damping, dry friction
                          and mimic joints; loops are pairs of links closing_NAME_1 and _2 (CPBodiesRead). In SDF all bodies are where they
                          start, where all coordinates are 0, and joints close loops */
} CPBodiesFile;

/** Reads a mechanism from text [length] or, if that is NULL, from the regular file `path`. With a text, path is used in
 * messages, and files that an XML file includes are searched for in its folder. The format is MJCF, URDF, SDF or
 * OpenSim's if path ends in .xml, .mjcf, .urdf, .sdf, .world or .osim, an assembly of FreeCAD if it ends in
 * .asmt, in upper or lower case, else YAML. Numbers have a decimal point, whatever the locale of the program.
 * The mechanism is complete for CPBodiesBuild.
 *
 * bodies: out, owned by the caller, or NULL. file: in, its size; out; may be NULL. Returns CP_ILL_INPUT, with the message
 * "file:line:column: rule" (CPObjectGetLastMessage(NULL)). If the library was built without libyaml (libxml2 for XML), it
 * always does so. */
CPODES_EXPORT int CPBodiesRead(const char *path, const char *text, size_t length, CPBodies *bodies,
                               CPBodiesFile *file);

#ifdef __cplusplus
}
#endif
#endif

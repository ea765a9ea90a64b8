/* What the functions that add elements share: names, parameters, sides. They check everything and allocate all memory before
 * they change anything, and return the element's index (CPBodiesAdd), NONE, or an error code that has been reported. */
#ifndef CPODES_BODIES_ELEMENTS_H
#define CPODES_BODIES_ELEMENTS_H

#include "bodies_impl.h"

enum { NUM_SHAPES = CP_SHAPE_MESH + 1 };

/* ---- names.c ---- */

/* Makes room for `more` elements after the first `count`; arrays have lengths 8, 16, 32, ...
 * Returns 0, or 1 if out of memory. */
int bodiesRoom(void *address, int count, int more, size_t size);
#define ROOM(array, count, more) bodiesRoom(&(array), (count), (more), sizeof *(array))
/* The name of this kind (NONE: of all elements) that is nearest to one that does not exist, as the end of a message, "; did you mean
 * "pin"?", or "". Returns text. */
enum { SUGGESTION = 120 };
const char *bodiesSuggest(const Mechanism *m, int kind, const char *name, size_t length,
                          char text[SUGGESTION]);
/* Returns the first control character of a text in UTF-8, C1 included, or NULL. */
const char *bodiesControl(const char *text);
/* Makes a message, which may contain names from files, one line without control characters. */
void bodiesOneLine(char *message, size_t length);
unsigned bodiesHash(const char *name, size_t length);
/* Returns the offset in b->text of the name (length characters) of an element, or -1. */
int bodiesNamed(const Mechanism *b, const char *name, size_t length);
/* Does an element have this name, or is it "ground"? */
int bodiesTaken(const Mechanism *b, const char *name);

/* word: out, the next one of a list, whose words blanks separate, or ""; cut off if it is longer. Returns what comes after it. */
const char *bodiesNextWord(const char *list, char word[TEXT]);
/* Reports that an element is refused. Returns code. */
#define refused(b, code, ...) cpReport(&(b)->log, (code), "CPBodiesAdd", __VA_ARGS__)
int bodiesNoMemory(CPBodies b, const char *name);
/* Checks that the name is new, and makes room for it and for `params` parameters. Returns 0 or an
 * error code that has been reported. */
int bodiesCheckName(CPBodies b, const char *name, int params);
/* Adds the name, for which there is room. Returns its offset. */
int bodiesTakeName(CPBodies b, const char *name, int kind, int index);
/* Adds a parameter, for which there is room, and returns its index. */
int bodiesTakeParam(CPBodies b, int owner, const char *field, sunrealtype value);
/* Checks that x [n] is finite; that x is finite and positive, or not negative. Return 0 or an error code that has been
 * reported. */
int bodiesCheckFinite(CPBodies b, const char *name, const char *what, const sunrealtype *x, int n);
int bodiesCheckSign(CPBodies b, const char *name, const char *what, sunrealtype x, int positive);

/* g [3] */
int bodiesSetGravity(CPBodies b, const sunrealtype *g);

/* ---- sides.c ---- */

enum { X, Y, Z };
/* Measures from side a to side b */
#define ALONG_(i) \
  { ALONG, 0, i, 0 }
#define DOT_(i, j) \
  { DOT, 0, i, j }
#define ANGLE_ \
  { ANGLE, 0, X, X }
/* Computes the axes x, y, z of a side. in_plane: z lies in the plane. Returns NULL, or what is
 * wrong. */
const char *bodiesAxes(int dimension, int in_plane, const CPMarker *m, sunrealtype axis[3][3]);
/* index: out, the body of this name, or GROUND if it is NULL or "ground". Returns 0 or an error code that has been reported. */
int bodiesFindBody(CPBodies b, const char *name, const char *body, int *index);
/* Finds the bodies of a pair by name, which must differ. Returns 0 or an error code that has been reported. */
int bodiesFindSides(CPBodies b, const char *name, const char *a, const char *c, Pair *pair);
/* pose: out, the poses and velocities of both sides at the placement. */
void bodiesPlaced(const Mechanism *b, const Pair *pair, Pose pose[2]);
/* Computes the points and axes of both sides, whose bodies are known. Returns 0 or an error code that
 * has been reported. */
int bodiesMakePair(CPBodies b, const char *name, CPIn in, int in_plane, const CPMarker *on_a,
                   const CPMarker *on_b, Pair *pair);
/* |P_b - P_a| at the placement */
sunrealtype bodiesDistance(const Mechanism *b, const Pair *pair);

/* ---- placing.c ---- */

/* Places the bodies where the coordinates of the joints are x, with these rates [ncoordinates]; a body that moves freely, or by a ball
 * joint, has its coordinates and velocities in the tree in own [nq + nu each]. Returns 0 or an error code that has been reported. */
int bodiesPlaceAt(CPBodies b, const sunrealtype *x, const sunrealtype *rate, const sunrealtype *own);

/* ---- joints.c, couplers.c, contacts.c, limits.c, actuators.c, forces.c ---- */

/* Returns the name of a kind of joints, or NULL if there is no such kind. */
const char *bodiesKindName(int kind);
/* The same for CPContactTouch. */
const char *bodiesTouchName(int touch);
/* Adds a joint, or the rows of a contact, with room for `params` parameters under its name, its
 * length among them. */
int bodiesAddRows(CPBodies b, const CPJoint *joint, int params, const CPBodyContact *contact);
/* Makes room for a joint. Returns 0, or 1 if out of memory. */
int bodiesJointRoom(CPBodies b);
/* Adds a joint of this kind, or the rows of a contact, for which there is room, with the name at `text`. param: its length, or
 * NONE. Returns its index. */
int bodiesTakeJoint(CPBodies b, int text, CPJointKind k, CPContactOn on, const Pair *pair,
                    int param);
/* A contact of this joint's rows that has no parameters yet */
Contact bodiesNewContact(int joint, CPContactOn on);
/* Makes a contact of a joint's rows, for which and for whose parameters there is room; radius: a parameter, or NONE. */
void bodiesTakeContact(CPBodies b, int joint, CPContactOn on, const CPContactLaw *law, int radius);
/* CPEquations.contact_law: *law gets the present parameters of contact i, if row is the first one of its rows. */
int bodiesContactLaw(sunrealtype t, const sunrealtype *q, int i, sunindextype row,
                     CPContactLaw *law, void *mechanism);
/* How two shapes begin: apart; in each other, and how deep; with no nearest points, as deep or parallel; or there is no such contact */
typedef enum {
  SHAPES_APART,
  SHAPES_INSIDE,
  SHAPES_UNCLEAR,
  SHAPES_UNKNOWN,
  SHAPES_NO_MEMORY
} Touching;
/* Of shapes that begin in each other, by which one of them must move in its body, in the axes of the body, to touch the other one; depth:
 * the length of `by`, 0 if they are not in each other */
typedef struct {
  int shape;
  sunrealtype depth, by[3];
} Overlap;
Touching bodiesTouching(const Mechanism *m, int a, int b, Overlap *overlap);
/* Adds a copy of a shape that is moved in its body by a vector in the axes of the body. Returns its index, or an error code that has
 * been reported. */
int bodiesMovedShape(CPBodies b, int shape, const char *name, const sunrealtype *by);
/* Adds a contact of two shapes. Returns the index of its first part, or an error code that has been reported. */
int bodiesAddShapeContact(CPBodies b, const CPBodyContact *contact);
/* term: out, the term of a coordinate given by name. Returns the joint's index, or an error code
 * that has been reported. */
int bodiesNamedCoordinate(CPBodies b, const char *name, CPCoordinate of, Term *term);
/* Adds the terms [n] of a row or law, for which there is room, and returns the index of the first one. */
int bodiesTakeTerms(CPBodies b, const Term *term, int n);
/* Adds a row, whose terms have been added, as a joint of its own, for which there is room: of positions, or of velocities only. */
void bodiesTakeRow(CPBodies b, int text, const Row *row, int is_roll);
/* Adds a row of positions, which must not be less than 0, and its contact, for which there is room; restitution, elastic: parameters, or
 * NONE. Returns the index of the contact. */
int bodiesTakeStop(CPBodies b, int text, const Row *row, int restitution, int elastic);
/* term [n]: out, the terms of coordinates, whose ratios must not be 0. Returns 0 or an error code that has been reported. */
int bodiesFindCoordinates(CPBodies b, const char *name, int n, const CPCoordinate *of,
                          const sunrealtype *ratio, Term *term);
/* Checks that these coordinates differ. Returns the same. */
int bodiesCheckDifferent(CPBodies b, const char *name, int n, const Term *term);
/* Adds the parameters ratio_1 ... of these terms, for which there is room. */
void bodiesTakeRatios(CPBodies b, int text, int n, const sunrealtype *ratio, Term *term);
/* Finds a coordinate of a joint, or a tendon. own: out, the term, or the first one of a tendon; first: out, the number of that, or NONE.
 * Returns the number of terms, or an error code that has been reported. */
int bodiesNamedSum(CPBodies b, const char *name, CPCoordinate of, Term *own, int *first);
/* Adds copies of these terms, for which there is room, and returns the index of the first one. */
int bodiesTakeSum(CPBodies b, const Term *own, int first, int n);
int bodiesAddTendon(CPBodies b, const CPTendon *tendon);
int bodiesAddTyre(CPBodies b, const CPTyre *tyre);
int bodiesAddElasticSphere(CPBodies b, const CPElasticSphere *sphere);
int bodiesAddDrag(CPBodies b, const CPDrag *drag);
int bodiesAddLimit(CPBodies b, const CPLimit *limit);
int bodiesAddCoupler(CPBodies b, const CPCoupler *coupler);
/* Adds a drive, for which there is room. g: or NULL; values [4]: of its parameters, or NULL if it has none. Returns its index. */
int bodiesTakeDrive(CPBodies b, int text, CPDriveFn g, void *data, const sunrealtype *values);
int bodiesAddDrive(CPBodies b, const CPDrive *drive);
int bodiesAddContact(CPBodies b, const CPBodyContact *contact);
/* Removes the rows of contacts that have been added since `before`, with their names and parameters: those of the parts before the
 * one that failed. */
void bodiesForget(CPBodies b, const Mechanism *before);
/* Adds a spring on the terms of a law, with its name and functions, for which there is room. values [5]: stiffness, damping, free length,
 * force, inertance */
void bodiesTakeSpring(CPBodies b, Law law, const sunrealtype *values);
int bodiesAddSpring(CPBodies b, const CPSpring *spring);
int bodiesAddBushing(CPBodies b, const CPBushing *bushing);
int bodiesAddForce(CPBodies b, const CPForce *force);
int bodiesAddFriction(CPBodies b, const CPFriction *friction);
/* Puts in what numbers that are 0 stand for. */
int bodiesAddActuator(CPBodies b, CPActuator *actuator);
int bodiesAddController(CPBodies b, const CPController *controller);
int bodiesAddRelease(CPBodies b, const CPRelease *release);

#endif

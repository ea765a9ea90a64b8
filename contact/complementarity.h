/* The problem of an event, which knows no system: files islands.c, solve.c, krylov.c and natural_map.c, each of which calls
 * those after it.
 *
 * Letters: x = (N, F_T) are the forces, or (P_N, P_T) the impulses, of closed contacts; w = W x + c
 * are the accelerations or velocities that they lead to. */
#ifndef CPODES_CONTACT_COMPLEMENTARITY_H
#define CPODES_CONTACT_COMPLEMENTARITY_H

#include <cpodes/cpodes_contact.h>

/* The law of one contact, whose rows of the problem are first, first + 1, ... */
typedef struct {
  int contact, first, ntangents;
  int slides; /* 1: x_T = -mu x_N s; 0: Coulomb's law, in which x and w decide */
  int glued;  /* 1: w_N = 0, whatever the sign of x_N */
  /* 1: other constraints carry all tangential forces, and give the velocity. At rest it slides in no direction, s = 0. */
  int carried;
  int left_open; /* 1: it touches, but takes no part, while others keep its gap from closing (event.c) */
  /* workspace. begins: its force is on the cone. ends: it may stop. placed: it has been compared with the
   * others. stops: it stays open, and has approached. */
  int begins, ends, placed, stops;
  /* dependent: bit k: tangential row k depends on others at rest. most: the largest fraction by which its cone is narrowed. stays:
   * the force of dependent rows is constant until the next event. */
  int dependent, stays;
  sunrealtype most;
  sunrealtype mu, s[2];
  /* The part of the normal impulse that is known. x_N is the rest, and the cone's radius is mu
   * (x_N + given). */
  sunrealtype given;
  /* workspace: what the derivative of the natural map needs */
  int pressed, sticks;
  sunrealtype d[2], turns;
} ContactLaw;

typedef struct {
  int n, ncontacts;           /* rows, contacts */
  ContactLaw *law;            /* [2 ncontacts]; the others are workspace, as those below */
  sunrealtype *W, *c, *x, *w; /* [n n], [n]; x and w are output */
  /* guessed: x is also a first guess, and any solution will do, to fewer digits. hurries: only one will do that is found in a few
   * iterations, of which `left` remain */
  int guessed, hurries, left;
  /* If times is set, it replaces W: it computes y = W x, and returns 0 or a failure. block
   * [9 ncontacts] then holds the diagonal blocks of W, by columns of 3 entries. */
  int (*times)(void *data, const sunrealtype *x, sunrealtype *y);
  void *data;
  sunrealtype *block;
  sunrealtype *room; /* [4 n n + 31 n], or with times [(CONTACT_BASIS + 14) n] */
  /* Islands with more rows are solved by products with the entries of W that are not 0; 0: none */
  int direct;
  int *on; /* [2 ncontacts + 4 n + 1] and, with direct > 0, [n n] more */
  /* workspace: weight (W + shift I) and weight (c - shift center) replace W and c */
  sunrealtype shift, weight, *center;
  sunrealtype *scale, *scaled; /* workspace */
  sunrealtype residual;        /* out: the residual of x, relative to c */
  int newton;                  /* out: 1 if enumeration did not find the solution */
} ContactProblem;

/* ---- islands.c ---- */

/* Solves 0 <= x_N perpendicular to w_N >= 0 with friction, w = W x + c. Returns 0, or 1 if it has
 * found no x whose residual is at most RESIDUAL. */
int contactSolve(ContactProblem *p);

/* ---- solve.c ---- */

/* The same for one island in scaled rows, up to a residual of RESIDUAL size. Sets x and newton. */
int contactSolveScaled(ContactProblem *p, sunrealtype size);
/* Is x = 0 the solution? Otherwise x is 0, or as it was where it is a guess. F [2 n]: workspace */
int contactZeroSolves(ContactProblem *p, sunrealtype *F);

/* Sweeps of Gauss-Seidel, or power iterations, before Newton's method, which ends what they begin */
enum { CONTACT_SWEEPS = 10 };

/* ---- krylov.c ---- */

/* Improves p->x as a first guess by accelerated steps x <- proj(y - rho w(y)). y, v, w [n]:
 * workspace. */
void contactProjectedGradient(ContactProblem *p, int steps, sunrealtype *y, sunrealtype *v,
                              sunrealtype *w);
/* Solves F'(x) h = F by products. Wh [n], basis [(CONTACT_BASIS + 3) n]: workspace. Returns 1 on
 * failure. */
enum { CONTACT_BASIS = 60 };
int contactKrylovStep(const ContactProblem *p, const sunrealtype *F, sunrealtype *h,
                      sunrealtype *Wh, sunrealtype *basis);

/* ---- natural_map.c ---- */

sunrealtype contactDot(int n, const sunrealtype *a, const sunrealtype *b);
/* The largest |x_i| */
sunrealtype contactLargest(int n, const sunrealtype *x);
/* Solves A x = b by LU with partial pivoting. x [n]: in, b; A [n n] is overwritten. Returns 1 if a
 * pivot is roundoff. */
int contactGauss(int n, sunrealtype *A, sunrealtype *x);
/* x [n] <- A^+ b: where A is singular, the solution of least norm. A [n n], by columns, and b are
 * overwritten. */
void contactLinearSolve(int n, sunrealtype *A, sunrealtype *b, sunrealtype *x, sunrealtype *room);
/* y = W x, with W [n n] stored by columns */
void contactSquareTimes(int n, const sunrealtype *W, const sunrealtype *x, sunrealtype *y);
/* y = W x in scaled rows, for use while contactSolve runs; y is NaN if times fails */
void contactProblemTimes(const ContactProblem *p, const sunrealtype *x, sunrealtype *y);
/* y = weight (W + shift I) x */
void contactShiftedTimes(const ContactProblem *p, const sunrealtype *x, sunrealtype *y);
/* Computes F(x) [n] from p->w, and what the laws need for its derivative. Returns the largest entry
 * of F. */
sunrealtype contactMapAtW(ContactProblem *p, const sunrealtype *x, sunrealtype *F);
/* Computes w and F(x). Returns the largest entry of F. */
sunrealtype contactNaturalMap(ContactProblem *p, const sunrealtype *x, sunrealtype *F);
/* y = F'(x) h at the x where F was evaluated last, given Wh = weight (W + shift I) h. The first computes
 * the rows of one contact, the second all rows. */
void contactLawDerivative(const ContactLaw *law, const sunrealtype *h, const sunrealtype *Wh,
                          sunrealtype *y);
void contactDerivativeTimes(const ContactProblem *p, const sunrealtype *h, const sunrealtype *Wh,
                            sunrealtype *y);
/* Projects x of one contact onto x_N >= 0, and then onto the disc of the friction cone. */
void contactProject(const ContactLaw *law, sunrealtype *x);

#endif

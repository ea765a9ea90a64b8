/* A mechanism with constant matrices, for tests of what is linear at one state:
 *
 *   M symmetric, eigenvalues above N;  A random, row 2 = row 0 - 2 row 1 if there are dependent rows
 *   p = A q + drift t (rows 0, 1, 2),  v = A u + drift (rows 0 ... 3),  A u' = 0 (all rows)
 *
 * in any combination of dense and sparse matrices or operators, a driven coordinate (FULL, velocity
 * DRIVEN_RATE), and a row that is off. Source: made up. */
#ifndef CPODES_TEST_CONSTANT_H
#define CPODES_TEST_CONSTANT_H

#include "support/support.h"
#include <cpodes/cpodes_mechanics.h>

enum { N = 7, POSITIONS = 3, VELOCITIES = 4, ROWS = 5, DRIVEN = 5, OFF = 1 };
#define DRIVEN_RATE SUN_RCONST(2.0)

typedef enum { DENSE, CSC, CSR, OPERATORS, FORMS } Form;

typedef struct {
  Form form;
  int dependent, driven,
      off; /* 1: there is a dependent row, a driven coordinate, a row that is off */
  CPLinSol linsol;
  sunrealtype M[N][N], A[ROWS][N], drift[ROWS];
  CPMechVelocityFn velocity;         /* replaces v; NULL: none */
  sunrealtype wrong_ATl, wrong_Minv; /* added to entry (1, 2) of the operators */
  CPMech mech;
  N_Vector y; /* q, u random; q_DRIVEN, u_DRIVEN as driven */
  MessageLog log;
  unsigned long long state; /* of random_number */
} Constant;

/* All combinations: 0 <= index < CONSTANT_CASES; the index also seeds the random numbers. */
enum { CONSTANT_CASES = 26 };
void constant_create(Constant *c, int index);
/* Sets it up from form, dependent, driven, off, linsol, M, A, drift. */
void constant_build(Constant *c);
void constant_fill(Constant *c); /* M, A random; drift 0 */
void constant_free(Constant *c);

/* Is row i active? */
int constant_is_active(const Constant *c, int i, int velocity_level);
int constant_rank(const Constant *c, int velocity_level);

/* ---- independent of cpodes, in long double ---- */

/* S = A M^-1 A^T of the active rows, without the driven velocity: Gauss elimination */
void constant_delassus(const Constant *c, int velocity_level, sunrealtype S[ROWS][ROWS]);
/* x^T M y */
sunrealtype constant_product(const Constant *c, const sunrealtype *x, const sunrealtype *y);
/* (A x)_i */
sunrealtype constant_row(const Constant *c, int i, const sunrealtype *x);

#endif

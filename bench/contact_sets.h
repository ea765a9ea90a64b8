/* Problems of events without a mechanical system (contact/solve.c): W = A D A^T and c = A u, with
 * velocities that some impulses can stop, so that a solution exists. Rows are (N, T1, T2) of each
 * contact. */
#ifndef CPODES_BENCH_CONTACT_SETS_H
#define CPODES_BENCH_CONTACT_SETS_H

#include "cpodes/base/random.h"

#include <math.h>
#include <string.h>

enum { SET_ROWS = 120, SET_FREEDOMS = 150, SET_BOXES = 10 };

/* W [n n], c [n]; A [n freedom] by rows, D and u [freedom] */
static inline void contactSetProduct(int n, int freedom, const double *A, const double *D,
                                     const double *u, double *W, double *c) {
  for (int i = 0; i < n; i++) {
    c[i] = 0;
    for (int k = 0; k < freedom; k++) c[i] += A[i * freedom + k] * u[k];
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < freedom; k++) sum += A[i * freedom + k] * D[k] * A[j * freedom + k];
      W[i + j * n] = W[j + i * n] = sum;
    }
  }
}

/* n <= SET_ROWS random rows of length 1 with freedom <= SET_FREEDOMS: W is singular if n is larger
 * than freedom. */
static inline void contactSetRandom(int n, int freedom, unsigned *state, double *W, double *c) {
  static double A[SET_ROWS * SET_FREEDOMS], D[SET_FREEDOMS], u[SET_FREEDOMS];
  for (int k = 0; k < freedom; k++) u[k] = cpUniform(state), D[k] = 1;
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int k = 0; k < freedom; k++) {
      A[i * freedom + k] = cpUniform(state);
      sum += A[i * freedom + k] * A[i * freedom + k];
    }
    for (int k = 0; k < freedom; k++) A[i * freedom + k] /= sqrt(sum);
  }
  contactSetProduct(n, freedom, A, D, u, W, c);
}

static inline double contactSetUniform(unsigned *state, double low, double high) {
  return low + (high - low) * (cpUniform(state) + 1.0) / 2.0;
}

/* The row of body b for the velocity along axis of its point at r from its centre. */
static inline void contactSetRow(double *row, int b, double sign, int axis, const double *r) {
  const int next = (axis + 1) % 3, last = (axis + 2) % 3;
  row[6 * b + axis] = sign; /* (omega x r)_axis = omega_next r_last - omega_last r_next */
  row[6 * b + 3 + next] += sign * r[last];
  row[6 * b + 3 + last] -= sign * r[next];
}

/* SET_BOXES boxes of random sizes on top of each other that fall onto the floor, each on the four
 * corners of its lower face: SET_ROWS rows of rank at most 6 SET_BOXES. */
static inline void contactSetBoxes(unsigned *state, double *W, double *c) {
  enum { FREEDOM = 6 * SET_BOXES };
  static double A[SET_ROWS * FREEDOM], D[FREEDOM], u[FREEDOM];
  double lower[3] = {0, 0, 0}, half[3];
  memset(A, 0, sizeof A);
  for (int b = 0; b < SET_BOXES; b++) {
    for (int i = 0; i < 3; i++) half[i] = contactSetUniform(state, 0.3, 0.6);
    const double mass = 8 * half[0] * half[1] * half[2];
    for (int i = 0; i < 3; i++) {
      const double p = half[(i + 1) % 3], q = half[(i + 2) % 3];
      D[6 * b + i]     = 1 / mass;
      D[6 * b + 3 + i] = 3 / (mass * (p * p + q * q));
      u[6 * b + i]     = 0.3 * cpUniform(state) - (i == 2);
      u[6 * b + 3 + i] = 0.3 * cpUniform(state);
    }
    for (int corner = 0; corner < 4; corner++) {
      const double r[3] = {corner & 1 ? half[0] : -half[0], corner & 2 ? half[1] : -half[1],
                           -half[2]};
      const double below[3] = {r[0], r[1], lower[2]};
      for (int i = 0; i < 3; i++) {
        double *row = A + (3 * (4 * b + corner) + i) * FREEDOM;
        contactSetRow(row, b, 1, (i + 2) % 3, r);
        if (b > 0) contactSetRow(row, b - 1, -1, (i + 2) % 3, below);
      }
    }
    memcpy(lower, half, sizeof half);
  }
  contactSetProduct(SET_ROWS, FREEDOM, A, D, u, W, c);
}

#endif

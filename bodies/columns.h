/* Vectors of space as one register of four lanes each, of which the last one has no meaning: a product of a matrix, by columns,
 * with a vector is three operations. */
#ifndef CPODES_BODIES_COLUMNS_H
#define CPODES_BODIES_COLUMNS_H

#include "cpodes/base/compat.h"

#include <string.h>
#include <sundials/sundials_types.h>

typedef sunrealtype Column
    __attribute__((vector_size(4 * sizeof(sunrealtype)), aligned(sizeof(sunrealtype))));

/* Three numbers with room for a register: what is stored as a whole can be loaded without a wait. */
typedef sunrealtype Padded[4];

/* Three numbers, and the one behind them, which must exist */
CP_WIDE_PART void load3(const sunrealtype *x, Column *out) { memcpy(out, x, sizeof *out); }
CP_WIDE_PART void store3(const Column *x, sunrealtype *out) { memcpy(out, x, 3 * sizeof *out); }
CP_WIDE_PART void store4(const Column *x, Padded out) { memcpy(out, x, sizeof *x); }
CP_WIDE_PART void axes3(const Padded *R, Column *out) {
  for (int j = 0; j < 3; j++) load3(R[j], &out[j]);
}

/* y = C x, and y += C x */
CP_WIDE_PART void times3(const Column *C, const sunrealtype *x, Column *y) {
  *y = C[0] * x[0] + C[1] * x[1] + C[2] * x[2];
}
CP_WIDE_PART void addTimes3(const Column *C, const sunrealtype *x, Column *y) {
  *y += C[0] * x[0] + C[1] * x[1] + C[2] * x[2];
}
CP_WIDE_PART sunrealtype inner3(const Column *x, const Column *y) {
  const Column p = *x * *y;
  return p[0] + p[1] + p[2];
}
/* z = x cross y */
CP_WIDE_PART void vector3(const Column *x, const Column *y, Column *z) {
  const Column a = *x, b = *y, a1 = {a[1], a[2], a[0], a[3]}, b1 = {b[1], b[2], b[0], b[3]},
               c = a * b1 - a1 * b;
  *z             = (Column){c[1], c[2], c[0], c[3]};
}
/* B = A^T, of four rows; B may be A. */
CP_WIDE_PART void transpose4(const Column *A, Column *B) {
  const Column a = A[0], b = A[1], c = A[2], d = A[3], even = {a[0], b[0], a[2], b[2]},
               odd = {a[1], b[1], a[3], b[3]}, even_2 = {c[0], d[0], c[2], d[2]},
               odd_2 = {c[1], d[1], c[3], d[3]};
  B[0]               = (Column){even[0], even[1], even_2[0], even_2[1]};
  B[1]               = (Column){odd[0], odd[1], odd_2[0], odd_2[1]};
  B[2]               = (Column){even[2], even[3], even_2[2], even_2[3]};
  B[3]               = (Column){odd[2], odd[3], odd_2[2], odd_2[3]};
}
/* y = C^T x */
CP_WIDE_PART void transposedTimes3(const Column *C, const Column *x, Column *y) {
  const Column p[4] = {C[0] * *x, C[1] * *x, C[2] * *x, C[2]};
  Column q[4]       = {{0}};
  transpose4(p, q);
  *y = q[0] + q[1] + q[2];
}
/* S += T + T^T */
CP_WIDE_PART void addSymmetric3(const Column *T, Column *S) {
  const Column a = T[0], b = T[1], c = T[2], low = {a[0], b[0], a[2], b[2]},
               high = {a[1], b[1], a[3], b[3]};
  S[0] += a + (Column){low[0], low[1], c[0], c[3]};
  S[1] += b + (Column){high[0], high[1], c[1], c[3]};
  S[2] += c + (Column){low[2], low[3], c[2], c[3]};
}

#endif

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
/* S += T + T^T */
CP_WIDE_PART void addSymmetric3(const Column *T, Column *S) {
  const Column a = T[0], b = T[1], c = T[2], low = {a[0], b[0], a[2], b[2]},
               high = {a[1], b[1], a[3], b[3]};
  S[0] += a + (Column){low[0], low[1], c[0], c[3]};
  S[1] += b + (Column){high[0], high[1], c[1], c[3]};
  S[2] += c + (Column){low[2], low[3], c[2], c[3]};
}

#endif

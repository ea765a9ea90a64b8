/* BS54 and BS32, the explicit pairs of orders 5 and 4, and 3 and 2, of Bogacki and Shampine. The last of their eight
 * or four stages is the first of the next step. Coefficients: P. Bogacki, L. F. Shampine, An efficient Runge-Kutta (4,5)
 * pair, Computers and Mathematics with Applications 32 (1996) 15-28; A 3(2) pair of Runge-Kutta formulas, Applied
 * Mathematics Letters 2 (1989) 321-325.
 *
 * Principal error terms of BS54 are small. Where tolerances are loose its steps of seven evaluations suit
 * better than those of twelve of DOP853. A step of BS32 takes three, for where something else ends the steps. */
#include "onestep_impl.h"

enum { STAGES = 8, FEW_STAGES = 4 };

// clang-format off
static const sunrealtype A[STAGES][STAGES] = {
    {0},
    {1.0 / 6},
    {2.0 / 27, 4.0 / 27},
    {183.0 / 1372, -162.0 / 343, 1053.0 / 1372},
    {68.0 / 297, -4.0 / 11, 42.0 / 143, 1960.0 / 3861},
    {597.0 / 22528, 81.0 / 352, 63099.0 / 585728, 58653.0 / 366080, 4617.0 / 20480},
    {174197.0 / 959244, -30942.0 / 79937, 8152137.0 / 19744439, 666106.0 / 1039181, -29421.0 / 29068,
     482048.0 / 414219},
    {587.0 / 8064, 0, 4440339.0 / 15491840, 24353.0 / 124800, 387.0 / 44800, 2152.0 / 5985,
     7267.0 / 94080}};
static const sunrealtype embedded[STAGES] =
    {2479.0 / 34992, 0, 123.0 / 416, 612941.0 / 3411720, 43.0 / 1440, 2272.0 / 6561,
     79937.0 / 1113912, 3293.0 / 556956};

static const sunrealtype few_A[FEW_STAGES][STAGES] = {
    {0}, {1.0 / 2}, {0, 3.0 / 4}, {2.0 / 9, 1.0 / 3, 4.0 / 9}};
static const sunrealtype few_embedded[FEW_STAGES] = {7.0 / 24, 1.0 / 4, 1.0 / 3, 1.0 / 8};
// clang-format on

/* The estimate in units of b - embedded. Any such combination has the order of the embedded method. With 1
 * the errors of mechanisms are about 15 tolerances where those of DOP853 are one (guide, "One-step
 * methods"); a tolerance is to mean the same to all. */
#define ESTIMATE 10.0

static ARKodeButcherTable pair(int q, int stages, const sunrealtype (*a)[STAGES],
                               const sunrealtype *lower) {
  ARKodeButcherTable B = ARKodeButcherTable_Alloc(stages, SUNTRUE);
  if (!B) return NULL;
  B->q = q, B->p = q - 1;
  for (int i = 0; i < stages; i++) {
    B->c[i] = i == stages - 1; /* exactly, as methods that reuse the last stage are known by it */
    for (int j = 0; j < i; j++) {
      B->A[i][j] = a[i][j];
      if (i < stages - 1) B->c[i] += a[i][j];
    }
    B->b[i] = a[stages - 1][i];
    B->d[i] = B->b[i] - ESTIMATE * (B->b[i] - lower[i]);
  }
  return B;
}

ARKodeButcherTable cpBogackiShampine(int order) {
  return order == 3 ? pair(3, FEW_STAGES, few_A, few_embedded) : pair(5, STAGES, A, embedded);
}

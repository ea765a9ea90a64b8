/* BS54, the explicit pair of orders 5 and 4 of Bogacki and Shampine, with eight stages of which the last is
 * the first of the next step. Coefficients: P. Bogacki, L. F. Shampine, An efficient Runge-Kutta (4,5)
 * pair, Computers and Mathematics with Applications 32 (1996) 15-28.
 *
 * Its principal error terms are small. Where tolerances are loose its steps of seven evaluations suit
 * better than those of twelve of DOP853. */
#include "onestep_impl.h"

enum { STAGES = 8 };

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
// clang-format on

/* The estimate in units of b - embedded. Any such combination has the order of the embedded method. With 1
 * the errors of mechanisms are about 15 tolerances where those of DOP853 are one (guide, "One-step
 * methods"); a tolerance is to mean the same to both. */
#define ESTIMATE 10.0

ARKodeButcherTable cpBogackiShampine(void) {
  ARKodeButcherTable B = ARKodeButcherTable_Alloc(STAGES, SUNTRUE);
  if (!B) return NULL;
  B->q = 5, B->p = 4;
  for (int i = 0; i < STAGES; i++) {
    B->c[i] = i == STAGES - 1; /* exactly, as methods that reuse the last stage are known by it */
    for (int j = 0; j < i; j++) {
      B->A[i][j] = A[i][j];
      if (i < STAGES - 1) B->c[i] += A[i][j];
    }
    B->b[i] = A[STAGES - 1][i];
    B->d[i] = B->b[i] - ESTIMATE * (B->b[i] - embedded[i]);
  }
  return B;
}

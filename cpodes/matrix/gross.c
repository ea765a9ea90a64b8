/* Gross errors of Jacobians that are given.
 *
 * With a matrix that is far too large corrections of Newton's iteration are small although the
 * equations are not satisfied, and no test of corrections sees it. (One that is too small, or has the
 * wrong sign, makes them large.) A product J v with a random direction v is therefore compared with
 * the change of the function. A row counts as wrong if it is GROSS times as large in each of TRIES
 * comparisons: f may bend within an increment, or have another slope on the other side, and changes
 * along a direction may cancel by chance. (Without
 * comparisons 118 of 720 runs of BDF and 365 of 1,680 runs of RADAU with wrong derivatives end with success
 * and a wrong answer, with factors of 100 and 300 some, with 30 none.)
 *
 * This takes evaluations of f only where J v has become GROSS times as large since it was compared,
 * because it was zero or because J is wrong from some state on. A function that no longer changes as J says is found at every
 * COMPARED-th evaluation of J. */
#include "cpodes/base/compat.h"
#include "cpodes/base/random.h"
#include "matrix.h"

#include <math.h>

enum { TRIES = 4, COMPARED = 128 };
#define GROSS 30.0

void cpGrossAdd(CPArena *arena, CPGrossOf *of, const CPMat *J, double *value, double *change,
                double *beside) {
  *of = (CPGrossOf){.J = J, .value = value, .change = change, .beside = beside};
  CP_NEW(arena, of->product, J->rows);
  CP_NEW(arena, of->right, J->rows);
}

/* Makes v the direction of comparison k, shorter each time, to both sides of two directions, and
 * computes J v. Returns whether its largest row has grown. (Single rows grow all the time where motion
 * spreads: then comparisons took a quarter of the evaluations of a chain of 1,000 that began at rest.) */
static int multiply(const CPGross *c, int k) {
  unsigned random     = 1u + (unsigned)k;
  const double factor = k == 0 ? 1.0 : 1.0 / GROSS;
  int grown           = 0;
  for (int j = 0; j < c->n; j++)
    c->v[j] *= k % 2 ? -1.0 / GROSS : factor * cpUniformAwayFromZero(&random);
  for (const CPGrossOf *of = c->of; of < c->of + 3; of++) {
    if (!of->J) continue;
    double largest = 0.0;
    cpMatTimes(of->J, 1.0, c->v, 0.0, of->product);
    for (int i = 0; i < of->J->rows; i++) largest = fmax(largest, fabs(of->product[i]));
    for (int i = 0; i < of->J->rows; i++)
      if (fabs(of->product[i]) <= CP_ROUNDED * largest) of->product[i] = 0.0;
    grown |= largest > GROSS * of->known;
  }
  return grown;
}

int cpGrossIsDue(CPGross *c) { return multiply(c, 0) + (c->evaluations++ % COMPARED == 0) > 0; }

int cpFindGross(CPGross *c, void *data) {
  c->wrong = 0;
  for (int k = 0; k < TRIES && c->wrong >= 0; k++) {
    if (k > 0) multiply(c, k);
    const int flag = c->displaced(c, data);
    c->wrong       = -1;
    if (flag) return flag;
    for (int which = 0; which < 3; which++) {
      CPGrossOf *of = &c->of[which];
      for (int i = 0; of->J && i < of->J->rows; i++) {
        const double size = fabs(of->product[i]), roundoff = CP_UROUND * fabs(of->value[i]);
        of->change[i] -= of->value[i];
        of->right[i] |=
            size <= fmax(GROSS * (fabs(of->change[i]) + roundoff), CP_INEXACT * of->beside[i]);
        if (of->right[i]) of->known = fmax(of->known, size);
        else c->wrong = which, c->row = i;
      }
    }
  }
  if (c->wrong >= 0) c->evaluations = 0; /* The next one is compared, too. */
  return CP_SUCCESS;
}

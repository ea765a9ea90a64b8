/* The rank of A is a property of A, but angles between rows, by which it is decided, depend on the
 * metric. In the metric of a W that contains very light bodies, the rows of such a body are nearly
 * parallel, although they are independent: next to it, all others seem to be at rest.
 *
 * A row is dependent within an error if changes of the entries by that error, relative to the row, make
 * it dependent. Rows that are at wide angles in any one metric are independent. Where they are at narrow
 * ones in the metric of W, which does not depend on units, those in the metric of the identity count. */
#include "saddle_impl.h"

#include <math.h>
#include <string.h>

/* An angle whose sine in the metric of W is below this may be narrow because of W. */
#define SUSPECT 0.01
/* W hides angles if the narrowest one is wider by CP_LESS_ANGLE in the other metric. The decision is repeated where the narrowest angle is
 * narrower than then by as much. */

/* The structure of a sparse A is analysed once, if all A have one. */
static int create(CPSaddle s) {
  const int sparse              = s->A.start && (s->has_matrix || cpSaddleKeepsPattern(s->first));
  const CPSaddleOptions options = {.type     = sparse ? CP_LINSOL_SPARSE : CP_LINSOL_QR,
                                   .shortest = !sparse && s->options.shortest,
                                   .cancels  = s->options.cancels,
                                   .finest   = s->options.finest,
                                   .memo     = s->options.memo};
  const int flag                = cpSaddleCreate(&s->judge, options, NULL, &s->A);
  if (flag) return flag;
  s->judge->is_judge = 1;
  if (CP_NEW(&s->judge->arena, s->metric, s->n)) return CP_SUCCESS;
  cpSaddleFree(&s->judge);
  return CP_MEM_FAIL;
}

/* Factors A in the metric of the identity, or of the diagonal of a matrix W. */
static int factor(CPSaddle s, int identity) {
  const int flag = s->judge ? CP_SUCCESS : create(s);
  if (flag) return flag;
  if (!identity) cpSaddleScaleCoordinates(s, s->metric);
  for (int j = 0; identity && j < s->n; j++) s->metric[j] = s->has_matrix || s->root[j] > 0.0;
  cpSaddleUseRows(s->judge, s->off);
  return cpSaddleFactor(s->judge, (CPWeight){.root = s->metric}, &s->A, s->ranktol);
}

/* Does the identity show a higher rank than W with this rank and sine; or much wider angles, which matter to
 * projections? If not, W is believed from now on. */
static int isHidden(CPSaddle s, int rank, double sine) {
  const CPSaddle judge = s->judge;
  const int wider  = judge->rank == rank && sine < SUSPECT && judge->sine > CP_LESS_ANGLE * sine;
  const int hidden = judge->rank > rank || (wider && !s->options.shortest);
  if (!hidden) s->agreed_rank = rank;
  s->judged_sine = sine;
  s->uneven |= hidden;
  return hidden;
}

static int mayHide(const CPSaddle s, int rank, double sine) {
  return rank < s->nrows ? rank != s->agreed_rank && rank != s->known_rank
                         : sine < SUSPECT && CP_LESS_ANGLE * sine < s->judged_sine;
}

void cpSaddleTakeJudged(CPSaddle s) {
  for (int i = 0; i < s->m; i++)
    if (s->judge->is_dependent[i]) cpSaddleMarkDependent(s, i);
}

int cpSaddleJudge(CPSaddle s) {
  int flag = factor(s, s->uneven);
  if (!flag && !s->uneven && s->judge->rank < s->nrows &&
      mayHide(s, s->judge->rank, s->judge->sine)) {
    const int rank    = s->judge->rank;
    const double sine = s->judge->sine;
    flag              = factor(s, 1);
    if (!flag && !isHidden(s, rank, sine)) flag = factor(s, 0);
  }
  s->is_judged = !flag;
  s->rank      = s->nrows;
  s->dependent = -1;
  memset(s->is_dependent, 0, (size_t)s->m);
  if (!flag) cpSaddleTakeJudged(s);
  return flag;
}

int cpSaddleIsDoubtful(const CPSaddle s, int flag) {
  if (s->is_judge || s->is_identity || s->few) return 0;
  if (flag) return flag == CP_SADDLE_DEPENDENT && !s->is_judged;
  if (s->is_judged && (s->uneven || s->rank < s->nrows)) return s->rank < s->known_rank;
  return mayHide(s, s->rank, s->sine);
}

int cpSaddleDecide(CPSaddle s, int flag) {
  const double finest = s->options.finest, sine = flag ? 0.0 : s->sine;
  const int rank = flag ? s->nrows - 1 : s->rank; /* Solvers that refuse rows do not count them. */
  int failed     = factor(s, 1);
  if (failed) return failed;
  const int hidden = s->uneven || isHidden(s, rank, sine);
  if (!hidden && !flag && (!s->is_judged || rank >= s->known_rank)) return 0;
  while (s->judge->rank < s->known_rank && s->ranktol > finest) {
    s->ranktol = fmax(s->ranktol / CP_LESS_ANGLE, finest);
    failed     = factor(s, 1);
    if (failed) return failed;
  }
  s->is_judged = 1;
  return CP_SADDLE_JUDGED;
}

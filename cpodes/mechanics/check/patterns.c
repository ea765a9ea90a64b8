/* Patterns of the sparse iteration matrix' blocks that come from differences: columns that share no row
 * are perturbed together, so that an entry outside of its pattern is lost, and spoils another one. */
#include "check_impl.h"
#include "cpodes/mechanics/newton/newton_impl.h"

int cpHasPatterns(const CPMech mech) {
  const int sparse = !mech->operators && mech->userM.A.start && mech->A.start;
  const int wanted = mech->newton_type == CP_NEWTON_AUTO || mech->newton_type == CP_NEWTON_KKT;
  return sparse && wanted && (!mech->host || mech->newton);
}

static int (*const ALONG[])(CPCheck *check, int j) = {
    [CP_BY_Q] = cpAlongPosition, [CP_BY_U] = cpAlongVelocity, [CP_BY_Z] = cpAlongAuxiliary};

static int compareBlock(CPCheck *check, const CPBlock *block, const CPFunction *f, CPDirection by,
                        const char *name, sunrealtype *result) {
  const CPVerdict verdict = {CP_MECH_DERIV_WRONG, name, "by differences", 0};
  int flag                = CP_SUCCESS;
  if (!block->exists || block->given || !block->J.start) return CP_SUCCESS;
  cpCompareBegin(check, f->rows);
  for (int j = 0; !flag && j < block->J.cols; j++) {
    flag = ALONG[by](check, j);
    if (!flag) flag = cpCompareOutside(check, f, j, &block->J);
  }
  if (!flag) cpCompareEnd(check, f->rows, &verdict, result, NULL, NULL);
  return flag;
}

static const char *const NAME[CP_OUTPUTS][3] = {
    {"K_tmpl lacks an entry: K", "C_tmpl (without one K_tmpl) lacks an entry: C",
     "Fz_tmpl lacks an entry: Fz"},
    {"Bq_tmpl lacks an entry: Bq", "Bu_tmpl lacks an entry: Bu", ""},
    {"Zq_tmpl lacks an entry: Zq", "Zu_tmpl lacks an entry: Zu", "Zz_tmpl lacks an entry: Zz"}};

static int compareBlocks(CPCheck *check, const CPPartials P) {
  CPMechReport *r                          = check->report;
  const CPFunction F[]                     = {[CP_OF_F] = {P->rows[CP_OF_F], cpDynamicsOf},
                                              [CP_OF_B] = {P->rows[CP_OF_B], cpConstraintsOf},
                                              [CP_OF_Z] = {P->rows[CP_OF_Z], cpAuxiliaryOf}};
  sunrealtype *const result[CP_OUTPUTS][3] = {
      {&r->K, &r->C, &r->Fz}, {&r->Bq, &r->Bu, NULL}, {&r->Zq, &r->Zu, &r->Zz}};
  int flag = CP_SUCCESS;
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int by = 0; !flag && by <= CP_BY_Z; by++)
      flag = compareBlock(check, &P->block[of][by], &F[of], (CPDirection)by, NAME[of][by],
                          result[of][by]);
  return flag;
}

/* Before an integrator is attached there are no blocks yet. */
int cpCheckPatterns(CPCheck *check) {
  const CPMech mech = check->mech;
  CPPartials P      = NULL;
  if (!cpHasPatterns(mech)) return CP_SUCCESS;
  int flag = cpPartialsCreate(&P, mech, CP_NEWTON_KKT);
  if (flag) flag = cpReason(mech->text, flag, "no memory for patterns");
  else flag = compareBlocks(check, P);
  cpPartialsFree(&P);
  return flag;
}

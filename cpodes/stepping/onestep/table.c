/* Methods by name, and what a Butcher table must be. */
#include "onestep_impl.h"

#include <arkode/arkode_butcher_dirk.h>
#include <arkode/arkode_butcher_erk.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Roundoff in the sums of a table's entries, in units of the largest one. */
#define TABLE_ROUNDOFF 1.0e6

/* SUNDIALS does not tell whether a name is that of an explicit table, but complains on stderr if
 * it is not: these are implicit. (Others are searched for in both lists.) */
const char *const cpImplicitNames[] = {"ARKODE_SDIRK_2_1_2",
                                       "ARKODE_BILLINGTON_3_3_2",
                                       "ARKODE_TRBDF2_3_3_2",
                                       "ARKODE_KVAERNO_4_2_3",
                                       "ARKODE_ARK324L2SA_DIRK_4_2_3",
                                       "ARKODE_CASH_5_2_4",
                                       "ARKODE_CASH_5_3_4",
                                       "ARKODE_SDIRK_5_3_4",
                                       "ARKODE_KVAERNO_5_3_4",
                                       "ARKODE_ARK436L2SA_DIRK_6_3_4",
                                       "ARKODE_KVAERNO_7_4_5",
                                       "ARKODE_ARK548L2SA_DIRK_8_4_5",
                                       "ARKODE_ARK437L2SA_DIRK_7_3_4",
                                       "ARKODE_ARK548L2SAb_DIRK_8_4_5",
                                       "ARKODE_ESDIRK324L2SA_4_2_3",
                                       "ARKODE_ESDIRK325L2SA_5_2_3",
                                       "ARKODE_ESDIRK32I5L2SA_5_2_3",
                                       "ARKODE_ESDIRK436L2SA_6_3_4",
                                       "ARKODE_ESDIRK43I6L2SA_6_3_4",
                                       "ARKODE_QESDIRK436L2SA_6_3_4",
                                       "ARKODE_ESDIRK437L2SA_7_3_4",
                                       "ARKODE_ESDIRK547L2SA_7_4_5",
                                       "ARKODE_ESDIRK547L2SA2_7_4_5",
                                       NULL};

static int isImplicitName(const char *name) {
  for (const char *const *known = cpImplicitNames; *known; known++)
    if (!strcmp(name, *known)) return 1;
  return 0;
}

ARKodeButcherTable cpOneStepTable(const char *name) {
  ARKodeButcherTable B = NULL;
  if (!isImplicitName(name)) B = ARKodeButcherTable_LoadERKByName(name);
  return B ? B : ARKodeButcherTable_LoadDIRKByName(name);
}

int cpTableIsExplicit(ARKodeButcherTable B) {
  for (int i = 0; i < B->stages; i++)
    if (B->A[i][i] != 0.0) return 0;
  return 1;
}

static int rowIsConsistent(const sunrealtype *row, int stages, sunrealtype sum) {
  sunrealtype largest = 1.0;
  for (int j = 0; j < stages; j++) {
    sum -= row[j];
    largest = fmax(largest, fabs(row[j]));
  }
  return fabs(sum) <= TABLE_ROUNDOFF * CP_UROUND * largest;
}

const char *cpTableRule(ARKodeButcherTable B, char *text) {
  if (!B) return "B must not be NULL";
  if (B->stages < 1 || B->q < 1 || !B->A || !B->b || !B->c)
    return "B must have a stage, an order, and A, b and c";
  for (int i = 0; i < B->stages; i++) {
    if (!cpAllFinite(B->A[i], B->stages) || !isfinite(B->b[i]) || !isfinite(B->c[i]) ||
        (B->d && !isfinite(B->d[i])))
      return cpWrite(text, "B must be finite: row %d is not", i), text;
    for (int j = i + 1; j < B->stages; j++)
      if (B->A[i][j] != 0.0)
        return cpWrite(text, "B->A must be lower triangular: A[%d][%d] = %g", i, j, B->A[i][j]),
               text;
    if (!rowIsConsistent(B->A[i], B->stages, B->c[i]))
      return cpWrite(text, "row %d of B->A must have the sum c[%d] = %.15g", i, i, B->c[i]), text;
  }
  if (!rowIsConsistent(B->b, B->stages, 1.0)) return "B->b must have the sum 1";
  if (B->d && (B->p < 1 || !rowIsConsistent(B->d, B->stages, 1.0)))
    return "B->d, of order B->p >= 1, must have the sum 1";
  return NULL;
}

/* Texts of failures, and names of return codes. */
#include "errors.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int cpReason(char *text, int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(text, CP_TEXT_LENGTH, format, args);
  va_end(args);
  return code;
}

int cpUserResult(char *text, int flag, double t, const char *name) {
  char when[40] = "";
  if (flag == 0) return CP_SUCCESS;
  if (!isnan(t)) snprintf(when, sizeof when, "at t = %.10g: ", t);
  return cpReason(text, flag < 0 ? CP_USERFUNC_FAIL : -CP_REPTD_USERFUNC_ERR, "%s%s failed%s (%d)",
                  when, name, flag < 0 ? "" : " recoverably", flag);
}

#define NAME(code) \
  { code, #code }
static const struct {
  int code;
  const char *name;
} names[] = {
    NAME(CP_OLD_STRUCT),
    NAME(CP_MEM_NULL),
    NAME(CP_MEM_FAIL),
    NAME(CP_ILL_INPUT),
    NAME(CP_NO_INIT),
    NAME(CP_NO_PROJECTOR),
    NAME(CP_TOO_LATE),
    NAME(CP_VECTOROP_ERR),
    NAME(CP_NOT_SUPPORTED),
    NAME(CP_INCONSISTENT_IC),
    NAME(CP_IC_FAIL),
    NAME(CP_FIRST_USERFUNC_ERR),
    NAME(CP_USERFUNC_FAIL),
    NAME(CP_REPTD_USERFUNC_ERR),
    NAME(CP_METRIC_INDEFINITE),
    NAME(CP_PROJ_CONV_FAILURE),
    NAME(CP_PROJ_RANK),
    NAME(CP_PROJ_INCONSISTENT),
    NAME(CP_PROJ_CORRECTION),
    NAME(CP_CNSTRJAC_WRONG),
    NAME(CP_CNSTRSENS_WRONG),
    NAME(CP_LINSOL_FAIL),
    NAME(CP_RHS_NONFINITE),
    NAME(CP_CNSTR_NONFINITE),
    NAME(CP_CNSTRJAC_NONFINITE),
    NAME(CP_PROJ_NONFINITE),
    NAME(CP_MASS_INDEFINITE),
    NAME(CP_KKT_INCONSISTENT),
    NAME(CP_KKT_RANK),
    NAME(CP_LAMBDA_CONV_FAIL),
    NAME(CP_MECH_NONFINITE),
    NAME(CP_QUATERNION_ZERO),
    NAME(CP_MECH_A_WRONG),
    NAME(CP_MECH_B_WRONG),
    NAME(CP_MECH_DERIV_WRONG),
    NAME(CP_MOTION_CONFLICT),
    NAME(CP_CONTACT_PENETRATION),
    NAME(CP_CONTACT_PAINLEVE),
    NAME(CP_CONTACT_NO_SOLUTION),
    NAME(CP_TOO_MANY_EVENTS),
    NAME(CP_CONTACT_NO_GRADIENT),
    NAME(CP_BYPASSED),
    NAME(CP_SELFCHECK_FAIL),
    NAME(CP_OUTPUT_PROJ_FAIL),
    NAME(CP_REENTERED),
    NAME(CP_STOPPED),
};

const char *cpCodeName(long int code) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (labs(names[i].code) == labs(code)) return names[i].name;
  return NULL;
}

const char *CPGetVersion(int *major, int *minor, int *patch) {
  if (major) *major = CP_VERSION_MAJOR;
  if (minor) *minor = CP_VERSION_MINOR;
  if (patch) *patch = CP_VERSION_PATCH;
  return CP_VERSION;
}

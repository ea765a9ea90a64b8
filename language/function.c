/* Functions: what the public header declares, and numbers of a scope. Texts are read with decimal points, whatever the locale is. */
#define _POSIX_C_SOURCE 200809L /* newlocale, uselocale */
#include "language_impl.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

CPFunction cpFunctionShare(CPFunction f) {
  if (f) atomic_fetch_add(&f->owners, 1);
  return f;
}

int cpFunctionCount(CPFunction f) { return f->n; }

void CPFunctionFree(CPFunction *f) {
  if (!f || !*f) return;
  if (atomic_fetch_sub(&(*f)->owners, 1) == 1) {
    free((*f)->place);
    (*f)->destroy(*f);
  }
  *f = NULL;
}

/* The locale of numbers with points holds for this thread between these two calls. begin returns 1 if out of memory. */
typedef struct {
  locale_t plain, before;
} Locale;
static int begin(Locale *l) {
  l->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!l->plain) return 1;
  l->before = uselocale(l->plain);
  return 0;
}
static void end(Locale *l) {
  uselocale(l->before);
  freelocale(l->plain);
}

int cpScopeParse(Scope *scope, const char *text, Place place, int nvariables,
                 const char *const *variable, const char *const *unit, const char *result,
                 CPFunction *f) {
  Locale l;
  *f = NULL;
  if (begin(&l)) return cpReport(NULL, CP_MEM_FAIL, "CPFunctionCreate", "no memory");
  const int flag = languageExpression(scope, text, place, nvariables, variable, unit, result, f);
  end(&l);
  return flag;
}

int cpScopeNumber(Scope *scope, const char *text, Place place, const char *result,
                  sunrealtype *value) {
  CPFunction f;
  Wrong wrong = {0, "the value is not a finite number"};
  int flag    = cpScopeParse(scope, text, place, 0, NULL, NULL, result, &f);
  if (!flag && CPFunctionEvaluate(f, value, value, NULL, NULL))
    flag = languageReport("CPFunctionCreate", text, place, &wrong);
  CPFunctionFree(&f);
  return flag;
}

int CPFunctionCreate(const CPFunctionOptions *options, CPFunction *f) {
  CPFunctionOptions o;
  CPTable table;
  if (!f) return cpRefuse(NULL, __func__, "f must not be NULL");
  *f       = NULL;
  int flag = cpTake(NULL, &o, options, __func__);
  if (flag) return flag;
  const Place place = {o.file, o.line, o.column};
  if (!o.text == !o.table) return cpRefuse(NULL, __func__, "either text or table must be given");
  if (o.nvariables < 0 || o.nvariables > MOST_N)
    return cpRefuse(NULL, __func__, "nvariables must be 0 ... %d, and is %d", MOST_N, o.nvariables);
  for (int i = 0; i < o.nvariables && o.text; i++)
    if (!o.variable || !o.variable[i] || !*o.variable[i])
      return cpRefuse(NULL, __func__, "variable must have %d names", o.nvariables);
  if (o.ndefinitions < 0 || (o.ndefinitions > 0 && !o.definition))
    return cpRefuse(NULL, __func__, "definition must have ndefinitions >= 0 names");
  if (o.table) {
    Locale l;
    if ((flag = cpTake(NULL, &table, o.table, __func__))) return flag;
    if (o.unit && o.nvariables < (table.y ? 2 : 1))
      return cpRefuse(NULL, __func__, "nvariables must count the units, and is %d", o.nvariables);
    if (begin(&l)) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory");
    flag = languageTable(&table, o.unit, o.result, place, f);
    end(&l);
    return flag;
  }
  Scope *scope = cpScopeCreate(NULL);
  if (!scope) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory");
  for (int i = 0; i < o.ndefinitions && !flag; i++) {
    CPDefinition d;
    const CPDefinition *given = cpElement(o.definition, i);
    const Place nowhere       = {given->name, 1, 1}; /* its text has no file */
    flag                      = cpTake(NULL, &d, given, __func__);
    if (!flag && !d.text == !d.function)
      flag = cpRefuse(NULL, __func__, "%.100s must be either a text or a function",
                      d.name ? d.name : "a definition");
    if (!flag) flag = cpScopeDefine(scope, d.name, d.text, d.function, nowhere, 0);
  }
  if (!flag)
    flag = cpScopeParse(scope, o.text, place, o.nvariables, o.variable, o.unit, o.result, f);
  cpScopeFree(scope);
  return flag;
}

const char *cpFunctionPlace(CPFunction f) { return f ? f->place : NULL; }

int CPFunctionEvaluate(CPFunction f, const sunrealtype *x, sunrealtype *value,
                       sunrealtype *gradient, sunrealtype *hessian) {
  if (!f || !x) return cpReport(NULL, CP_MEM_NULL, __func__, "f and x must not be NULL");
  return cpFunctionEvaluate(f, x, NULL, value, gradient, hessian);
}

int cpFunctionPieces(CPFunction f) { return f->npieces; }
int cpFunctionTimed(CPFunction f, int k) { return f->timed[k]; }
int cpFunctionJumps(CPFunction f, int k) { return f->jumps[k]; }

int cpFunctionEvaluate(CPFunction f, const sunrealtype *x, const Pieces *pieces, sunrealtype *value,
                       sunrealtype *gradient, sunrealtype *hessian) {
  sunrealtype jet[MOST_JET];
  const int n = f->n, order = hessian ? 2 : gradient ? 1 : 0;
  f->evaluate(f, x, order, pieces, jet);
  for (int i = 0; i < jetLength(n, order); i++)
    if (!isfinite(jet[i]))
      return pieces && pieces->held ? cpFunctionEvaluate(f, x, NULL, value, gradient, hessian) : 1;
  if (value) *value = jet[0];
  if (gradient) memcpy(gradient, jet + 1, (size_t)n * sizeof *gradient);
  const sunrealtype *h = jet + 1 + n;
  for (int i = 0; i < n && hessian; i++)
    for (int j = i; j < n; j++) hessian[i * n + j] = hessian[j * n + i] = *h++;
  return CP_SUCCESS;
}

/* libFuzzer's target for expressions and tables (language/): whatever the bytes, CPFunctionCreate returns a function, which is
 * evaluated, or a message of one line. The first line is an expression of x and t; the second one, if there is one, that of a
 * number a; the rest is a table, which the expression may call as f. What is written of a function without tables is one with the same
 * value and derivatives.
 *
 *   build/clang/test/fuzz/fuzz_language -max_total_time=3600 CORPUS
 */
#include "language/language.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With the pieces held that the arguments are in, the value is the same. */
static void checkPieces(CPFunction f, const sunrealtype *x) {
  enum { MOST = 10000 };
  static int own[MOST];
  static sunrealtype inside[2 * MOST];
  const int n       = f ? cpFunctionPieces(f) : 0;
  const Pieces find = {NULL, own, NULL}, hold = {own, NULL, inside};
  sunrealtype value[2];
  if (n == 0 || n > MOST || cpFunctionEvaluate(f, x, &find, value, NULL, NULL)) return;
  if (cpFunctionEvaluate(f, x, &hold, value + 1, NULL, NULL)) abort();
  for (int i = 0; i < 2 * n; i++)
    if (!(inside[i] > 0)) return; /* at an end, as sign(0) */
  if (value[0] != value[1]) abort();
}

static int nameless(CPFunction f, void *data, const char **name) {
  (void)f, (void)data, (void)name;
  return 1;
}

static void checkText(CPFunction f, const sunrealtype *x) {
  static const char *const names[] = {"x", "t"}, *const units[] = {"m", "s"},
                           *const plain[] = {"(x/(1 m))", "(t/(1 s))"};
  CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .nvariables = 2, .variable = names,
                         .unit = units};
  sunrealtype value[2], g[2][2], H[2][4];
  char *text = NULL;
  CPFunction again;
  if (!f || cpFunctionCount(f) != 2 || cpFunctionText(f, plain, nameless, NULL, &text)) return;
  o.text         = text;
  const int flag = CPFunctionCreate(&o, &again);
  if (flag) {
    fprintf(stderr, "%s: %s\n", CPObjectGetLastMessage(NULL), text);
    abort();
  }
  const int finite = CPFunctionEvaluate(f, x, value, g[0], H[0]) == CP_SUCCESS;
  if (finite != (CPFunctionEvaluate(again, x, value + 1, g[1], H[1]) == CP_SUCCESS)) abort();
  if (finite && (value[0] != value[1] || memcmp(g[0], g[1], sizeof g[0]) ||
                 memcmp(H[0], H[1], sizeof H[0]))) {
    fprintf(stderr, "another value: %s\n", text);
    abort();
  }
  CPFunctionFree(&again);
  free(text);
}

static void check(CPFunction f) {
  const sunrealtype x[2] = {0.5, -1.25};
  sunrealtype value[2], g[2], H[4] = {0};
  if (f && CPFunctionEvaluate(f, x, value, g, H) == CP_SUCCESS &&
      (CPFunctionEvaluate(f, x, value + 1, NULL, NULL) || value[0] != value[1] || H[1] != H[2]))
    abort();
  checkPieces(f, x);
  const char *why = CPObjectGetLastMessage(NULL);
  if (!f && (!why[0] || strchr(why, '\n'))) abort();
  checkText(f, x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"x", "t"}, *const units[] = {"mm", "s"};
  char *text = malloc(size + 1), *end = text + size;
  if (!text) return 0;
  if (size > 0) memcpy(text, data, size);
  *end         = '\0';
  char *number = strchr(text, '\n'), *rows = number ? strchr(number + 1, '\n') : NULL;
  if (number) *number++ = '\0';
  if (rows) *rows++ = '\0';
  CPFunction f = NULL, table = NULL;
  if (rows) {
    const CPTable t           = {CP_SIZED(CPTable), .order = 1 + 2 * (int)(size % 3),
                                 .ends = (CPTableEnds)(size / 3 % 3), .csv = rows,
                                 .length = (size_t)(end - rows)};
    const CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .table = &t};
    CPFunctionCreate(&o, &table);
    check(table);
  }
  const CPDefinition definitions[] = {
      {CP_SIZED(CPDefinition), .name = "a", .text = number ? number : "1"},
      {CP_SIZED(CPDefinition), .name = "b", .text = "a + 2 mm"},
      {CP_SIZED(CPDefinition), .name = "f", .function = table}};
  const CPFunctionOptions o = {
      CP_SIZED(CPFunctionOptions), .text = text,  .nvariables = 2,
      .variable = names,           .unit = units, .ndefinitions = table ? 3 : 2,
      .definition = definitions};
  CPFunctionCreate(&o, &f);
  check(f);
  CPFunctionFree(&f);
  CPFunctionFree(&table);
  free(text);
  return 0;
}

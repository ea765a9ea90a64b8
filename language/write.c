/* Texts of functions: an expression is written from its program, and read as the same program. Names of numbers are their values then,
 * and all values are in SI units without units. */
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How tightly the last operation of a text binds. COMPARED: a comparison, which only `if` has */
typedef enum { COMPARED, SUMMED, MULTIPLIED, RAISED, CLOSED } Level;

/* A part of the text. depth: as the parser counts it; code: of its last operation */
typedef struct {
  char *text;
  size_t length, room;
  Level level;
  int depth;
  Code code;
} Piece;

/* Inserts a text at the offset `at`. Returns 0, or 1 if out of memory. */
static int insert(Piece *p, size_t at, const char *text) {
  const size_t n = strlen(text);
  if (p->length + n + 1 > p->room) {
    const size_t room = 2 * (p->length + n + 1);
    char *more        = realloc(p->text, room);
    if (!more) return 1;
    p->text = more, p->room = room;
  }
  memmove(p->text + at + n, p->text + at, p->length - at);
  memcpy(p->text + at, text, n);
  p->length += n;
  p->text[p->length] = '\0';
  return 0;
}

static int append(Piece *p, const char *text) { return insert(p, p->length, text); }

/* Encloses a part that binds less tightly than `least`. */
static int enclose(Piece *p, Level least) {
  if (p->level >= least) return 0;
  p->level = CLOSED, p->depth++;
  return insert(p, 0, "(") || append(p, ")");
}

static void deepen(Piece *p, const Piece *other, int more) {
  if (other->depth + more > p->depth) p->depth = other->depth + more;
}

static int appendNumber(Piece *p, sunrealtype x) {
  char digits[40];
  snprintf(digits, sizeof digits, "%.17g", (double)x);
  return append(p, digits);
}

/* a sign b, where b must bind more tightly than a */
static int binary(Piece *a, Piece *b, const char *sign, Level level) {
  if (enclose(a, level) || enclose(b, level + 1) || append(a, sign) || append(a, b->text)) return 1;
  a->level = level;
  deepen(a, b, 0);
  return 0;
}

/* name(a, b, ...), of k parts */
static int called(Piece *a, int k, const char *name) {
  if (insert(a, 0, "(") || insert(a, 0, name)) return 1;
  a->depth++;
  for (int i = 1; i < k; i++) {
    if (append(a, ", ") || append(a, a[i].text)) return 1;
    deepen(a, &a[i], 1);
  }
  a->level = CLOSED;
  return append(a, ")");
}

/* A comparison of constants has become its value. */
static int condition(Piece *a) {
  if (a->level == COMPARED) return 0;
  const int holds = strcmp(a->text, "0") != 0;
  a->length       = 0;
  return append(a, holds ? "0 < 1" : "1 < 0");
}

/* Writes an operation, whose operands are a[0], a[1], ..., to a[0]. name: of a function that is called. Returns 0, or 1 if out of memory. */
static int operation(const Op *op, Piece *a, const char *const *variable, const char *name) {
  const Code before = a->code;
  a->code           = op->code;
  switch (op->code) {
  case NUMBER:
    a->level = signbit(op->of.c) ? MULTIPLIED : CLOSED, a->depth = 2;
    return appendNumber(a, op->of.c);
  case VARIABLE: /* of the form x or (x/(1 m)) */
    a->level = CLOSED, a->depth = 3;
    return append(a, variable[op->k]);
  case ADD: return binary(a, a + 1, " + ", SUMMED);
  case SUB: return binary(a, a + 1, " - ", SUMMED);
  case MUL: return binary(a, a + 1, "*", MULTIPLIED);
  case DIV: return binary(a, a + 1, "/", MULTIPLIED);
  case SCALE: {
    Piece factor     = {.level = MULTIPLIED, .depth = 2};
    const int failed = enclose(a, RAISED) || appendNumber(&factor, op->of.c) ||
                       append(&factor, "*") || insert(a, 0, factor.text);
    free(factor.text);
    a->level = MULTIPLIED;
    return failed;
  }
  case POWER:
    if (enclose(a, CLOSED) || append(a, "^") || appendNumber(a, op->of.c)) return 1;
    a->level = RAISED;
    if (a->depth < 3) a->depth = 3;
    return 0;
  case POW:
    if (enclose(a, CLOSED) || enclose(a + 1, RAISED) || append(a, "^") || append(a, a[1].text))
      return 1;
    a->level = RAISED;
    deepen(a, a + 1, 1);
    return 0;
  case LESS:
  case LESS_EQ: return binary(a, a + 1, op->code == LESS ? " < " : " <= ", COMPARED);
  case CALL: return called(a, op->k, name);
  case IF: return condition(a) || called(a, 3, "if");
  case MIN:
  case MAX:
    if (before == op->code && a->level == CLOSED && a->text[0] == 'm') { /* min(a, b) and c */
      a->text[--a->length] = '\0';
      deepen(a, a + 1, 1);
      return append(a, ", ") || append(a, a[1].text) || append(a, ")");
    }
    return called(a, 2, languageFunctionName(op->code));
  default: return called(a, op->k, languageFunctionName(op->code));
  }
}

int cpFunctionText(CPFunction f, const char *const *variable, FunctionName name, void *data,
                   char **text) {
  const Expression *e = languageProgram(f);
  Op all              = {CALL, f->n, {.f = f}};
  const int nops      = e ? e->nops : f->n + 1; /* a table is called */
  Piece *piece        = calloc((size_t)nops + 1, sizeof *piece);
  int top = 0, flag = piece ? 0 : CP_MEM_FAIL;
  *text = NULL;
  for (int i = 0; i < nops && !flag; i++) {
    const Op own          = {VARIABLE, i, {0}};
    const Op *op          = e ? &e->op[i] : i < f->n ? &own : &all;
    const int k           = op->code <= VARIABLE ? 0 : op->k;
    Piece *result         = piece + (top - k);
    const char *called_by = NULL;
    if (op->code == CALL) flag = name(op->of.f, data, &called_by);
    if (!flag && operation(op, result, variable, called_by)) flag = CP_MEM_FAIL;
    top += 1 - k;
    for (int j = 1; j < k; j++) free(result[j].text), result[j] = (Piece){0};
  }
  if (!flag && piece[0].depth > DEEPEST) flag = 1;
  if (!flag) *text = piece[0].text, piece[0].text = NULL;
  for (int i = 0; piece && i <= nops; i++) free(piece[i].text);
  free(piece);
  return flag;
}

/* Expressions: recursive descent to a postfix program, with the dimension of each part. Constant parts are folded. */
#include "program.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HUGE_EXPONENT: beyond any finite number */
enum { MOST_LEVELS = 8, LONGEST_NUMBER = 300, HUGE_EXPONENT = 9999 };

typedef struct {
  const char *text, *at;
  Scope *scope;
  const char *const *variable;
  Expression *e;
  int room, depth, height, highest; /* height: of the stack */
  int flag;                         /* an error that has been reported already, or 0 */
  Wrong wrong;
} Parser;

/* What has been compiled from the operation `first` on */
typedef struct {
  Dimension d;
  int first, constant;
  sunrealtype value; /* if it is constant */
} Part;

typedef enum { PURE, LIKE, LIKES, RATIO, HALF, ANY, TERMS } Rule;
/* PURE: of a number; LIKE: the value is like the argument; LIKES: the arguments as well, and there may be more than two; RATIO: of two
 * that are alike; HALF: a root; ANY: the value is a number; TERMS: of a polynomial */
static const struct {
  const char *name;
  Code code;
  int least, most;
  Rule rule;
} functions[] = {{"sin", SIN, 1, 1, PURE},
                 {"cos", COS, 1, 1, PURE},
                 {"tan", TAN, 1, 1, PURE},
                 {"asin", ASIN, 1, 1, PURE},
                 {"acos", ACOS, 1, 1, PURE},
                 {"atan", ATAN, 1, 1, PURE},
                 {"sinh", SINH, 1, 1, PURE},
                 {"cosh", COSH, 1, 1, PURE},
                 {"tanh", TANH, 1, 1, PURE},
                 {"exp", EXP, 1, 1, PURE},
                 {"log", LOG, 1, 1, PURE},
                 {"log10", LOG10, 1, 1, PURE},
                 {"sqrt", SQRT, 1, 1, HALF},
                 {"abs", ABS, 1, 1, LIKE},
                 {"sign", SIGN, 1, 1, ANY},
                 {"smooth", SMOOTH, 1, 1, PURE},
                 {"atan2", ATAN2, 2, 2, RATIO},
                 {"hypot", HYPOT, 2, 2, LIKES},
                 {"min", MIN, 2, 999, LIKES},
                 {"max", MAX, 2, 999, LIKES},
                 {"poly", POLY, 2, MOST_ARGUMENTS, TERMS},
                 {"if", IF, 3, 3, LIKES}};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* The index of the function of this name, or -1 */
static int functionOf(const char *name, size_t length) {
  for (int i = 0; i < FUNCTIONS; i++)
    if (!strncmp(functions[i].name, name, length) && !functions[i].name[length]) return i;
  return -1;
}

const char *languageFunctionName(Code code) {
  for (int i = 0; i < FUNCTIONS; i++)
    if (functions[i].code == code) return functions[i].name;
  return NULL;
}

int languageIsBuiltIn(const char *name) {
  return functionOf(name, strlen(name)) >= 0 || !strcmp(name, "pi");
}

static int wrong(Parser *p, const char *at, const char *format, ...) CP_PRINTF(3, 4);
static int wrong(Parser *p, const char *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->wrong.rule, RULE, format, args);
  va_end(args);
  p->wrong.at = (size_t)(at - p->text);
  return 1;
}

static void blanks(Parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
}
static int next(Parser *p, char c) {
  blanks(p);
  return *p->at == c ? p->at++, 1 : 0;
}
static int expect(Parser *p, char c) {
  return next(p, c) ? 0
                    : wrong(p, p->at, *p->at ? "expected %c, and found \"%.20s\"" : "expected %c",
                            c, p->at);
}

/* Appends an operation on what has been compiled since part->first, and folds constants. at: for messages */
static int emit(Parser *p, const char *at, Op op, Part *part) {
  Expression *e = p->e;
  sunrealtype stack[2 * MOST_ARGUMENTS + 1];
  if (e->nops == p->room) {
    Op *more = realloc(e->op, (size_t)(p->room ? 2 * p->room : 16) * sizeof *more);
    if (!more) return 1; /* no rule: no memory */
    e->op = more, p->room = p->room ? 2 * p->room : 16;
  }
  const int leaf = op.code <= VARIABLE;
  p->height += leaf ? 1 : 1 - op.k;
  if (p->height > p->highest) p->highest = p->height;
  if (p->highest * jetLength(e->head.n, 2) > WORDS || p->highest > WORDS)
    return wrong(p, at, "the expression is nested too deeply for %d variables", e->head.n);
  e->op[e->nops++] = op;
  if (op.code == CALL) cpFunctionShare(op.of.f);
  part->constant = op.code == NUMBER;
  part->value    = op.code == NUMBER ? op.of.c : 0;
  if (leaf || op.code == CALL || e->nops - part->first != op.k + 1) return 0;
  for (int i = part->first; i < e->nops - 1; i++)
    if (e->op[i].code != NUMBER) return 0;
  languageRun(e->op + part->first, op.k + 1, 0, NULL, 0, NULL, stack);
  if (!isfinite(stack[0])) return wrong(p, at, "the value is not a finite number");
  e->nops = part->first;
  p->height--;
  return emit(p, at, (Op){NUMBER, 0, {.c = stack[0]}}, part);
}

static int isZero(const Part *a) { return a->constant && a->value == 0 && a->d.plain; }

/* a->d: out, the dimension of both. Returns 0, or 1 if they differ. */
static int unite(Parser *p, const char *at, Part *a, const Part *b) {
  char one[MOST_NAME], other[MOST_NAME];
  if (isZero(a)) a->d = b->d;
  if (isZero(a) || isZero(b)) return 0;
  if (sameDimension(&a->d, &b->d)) return a->d.plain &= b->d.plain, 0;
  return wrong(p, at, "dimensions must be equal, and are %s and %s",
               languageDimensionText(&a->d, one), languageDimensionText(&b->d, other));
}

/* Refuses `what` for its dimension. Returns 1. */
static int wrongDimension(Parser *p, const char *at, const char *what, const Dimension *wanted,
                          const Dimension *d) {
  char need[MOST_NAME], have[MOST_NAME];
  const Dimension none = {{0, 0, 0}, 0};
  const int pure       = sameDimension(d, &none);
  languageDimensionText(d, have);
  if (sameDimension(wanted, &none))
    return wrong(p, at, "%s must have no dimension, and has that of %s", what, have);
  return wrong(p, at, "%s must have the dimension of %s, and has %s%s", what,
               languageDimensionText(wanted, need), pure ? "none" : "that of ", pure ? "" : have);
}

static int needPure(Parser *p, const char *at, const Part *a, const char *what) {
  const Dimension none = {{0, 0, 0}, 0};
  return sameDimension(&a->d, &none) ? 0 : wrongDimension(p, at, what, &none, &a->d);
}

static void addPowers(Dimension *a, const Dimension *b, int sign) {
  for (int k = 0; k < 3; k++) a->power[k] += sign * b->power[k];
  a->plain &= b->plain;
}

static int sum(Parser *p, Part *out);

/* The index of the variable of this name, or -1 */
static int variableOf(const Parser *p, const char *name, size_t length) {
  for (int i = 0; i < p->e->head.n; i++)
    if (!strncmp(p->variable[i], name, length) && !p->variable[i][length]) return i;
  return -1;
}

static int number(Parser *p, Part *out) {
  const char *start = p->at, *end = start, *behind;
  char digits[LONGEST_NUMBER + 20];
  Op op              = {NUMBER, 0, {0}};
  int exponent       = 0;
  long double factor = 1;
  end += strspn(end, "0123456789");
  if (*end == '.') end += 1 + strspn(end + 1, "0123456789");
  behind = end + ((*end == 'e' || *end == 'E') && strchr("+-", end[1]) && end[1] ? 2 : 1);
  if (end - start == 1 && *start == '.') return wrong(p, start, "expected a number");
  const char *mantissa = end;
  if ((*end == 'e' || *end == 'E') && isdigit((unsigned char)*behind))
    end = behind + strspn(behind, "0123456789");
  if (end - start > LONGEST_NUMBER)
    return wrong(p, start, "a number has at most %d characters", LONGEST_NUMBER);
  out->first = p->e->nops;
  out->d     = (Dimension){{0, 0, 0}, 1};
  p->at      = end;
  blanks(p);
  if (isalpha((unsigned char)*p->at) || *p->at == '%') {
    const char *unit = p->at;
    if (languageUnit(&p->at, p->text, &out->d, &exponent, &factor, &p->wrong)) return 1;
    for (const char *slash = unit; (slash = memchr(slash, '/', (size_t)(p->at - slash)));) {
      slash += 1 + strspn(slash + 1, " \t\r\n");
      const size_t length = cpNameLength(slash);
      Meaning meaning;
      if ((p->flag = languageMeaning(p->scope, slash, length, &meaning))) return 1;
      if (length > 0 && (meaning.found || variableOf(p, slash, length) >= 0))
        return wrong(p, slash,
                     "%.*s is a unit and a name: write /(%.*s) for the name, ^-1 for the unit",
                     (int)length, slash, (int)length, slash);
    }
  }
  long power = end != mantissa ? strtol(mantissa + 1, NULL, 10) : 0;
  power      = exponent + (power < -HUGE_EXPONENT  ? -HUGE_EXPONENT
                           : power > HUGE_EXPONENT ? HUGE_EXPONENT
                                                   : power);
  snprintf(digits, sizeof digits, "%.*se%ld", (int)(mantissa - start), start, power);
  op.of.c = factor == 1 ? strtod(digits, NULL) : (sunrealtype)(strtold(digits, NULL) * factor);
  return isfinite(op.of.c) ? emit(p, start, op, out) : wrong(p, start, "the number is too large");
}

/* The arguments of a function, up to the closing parenthesis. part [most]: out. Returns their number, or -1. */
static int arguments(Parser *p, const char *name, int least, int most, Part *part) {
  int k = 0;
  do {
    if (k == most) return wrong(p, p->at, "%s has at most %d arguments", name, most), -1;
    if (sum(p, &part[k++])) return -1;
  } while (next(p, ','));
  if (expect(p, ')')) return -1;
  return k >= least ? k : (wrong(p, p->at, "%s needs %d arguments, and has %d", name, least, k), -1);
}

/* a < b, ... : 1 or 0 */
static int comparison(Parser *p, Part *out) {
  Part other      = {{{0, 0, 0}, 0}, 0, 0, 0};
  const Part zero = {{{0, 0, 0}, 1}, 0, 1, 0};
  if (sum(p, out)) return 1;
  blanks(p);
  const char *at = p->at, sign = *at;
  if (sign != '<' && sign != '>') return wrong(p, at, "expected <, <=, > or >=");
  p->at++;
  const int equal = *p->at == '=';
  p->at += equal;
  if (sum(p, &other) || unite(p, at, out, &other)) return 1;
  if (sign == '<') return emit(p, at, (Op){equal ? LESS_EQ : LESS, 2, {0}}, out);
  /* a > b is b - a < 0 */
  if (emit(p, at, (Op){SUB, 2, {0}}, out) || emit(p, at, (Op){SCALE, 1, {.c = -1}}, out)) return 1;
  Part null  = zero;
  null.first = p->e->nops;
  return emit(p, at, (Op){NUMBER, 0, {0}}, &null) ||
         emit(p, at, (Op){equal ? LESS_EQ : LESS, 2, {0}}, out);
}

static int builtIn(Parser *p, const char *at, int i, Part *out) {
  Part part[MOST_ARGUMENTS];
  const Rule rule  = functions[i].rule;
  const Code code  = functions[i].code;
  const char *name = functions[i].name;
  int k            = 2;
  out->first       = p->e->nops;
  if (code == IF) {
    const int first = out->first;
    if (comparison(p, out) || expect(p, ',') || arguments(p, name, 2, 2, part) < 0 ||
        unite(p, at, &part[0], &part[1]))
      return 1;
    out->d = part[0].d, out->first = first;
    return emit(p, at, (Op){IF, 3, {0}}, out);
  }
  if (functions[i].most > MOST_ARGUMENTS) { /* min(a, b, c) = min(min(a, b), c) */
    if (sum(p, out)) return 1;
    for (k = 1; next(p, ','); k++)
      if (sum(p, &part[0]) || unite(p, at, out, &part[0]) || emit(p, at, (Op){code, 2, {0}}, out))
        return 1;
    return expect(p, ')') || (k < 2 && wrong(p, at, "%s needs 2 arguments, and has 1", name));
  }
  if ((k = arguments(p, name, functions[i].least, functions[i].most, part)) < 0) return 1;
  out->d = part[0].d;
  if (rule == PURE && needPure(p, at, &part[0], name)) return 1;
  if (rule == ANY || rule == RATIO) out->d = (Dimension){{0, 0, 0}, part[0].d.plain};
  if ((rule == LIKES || rule == RATIO) && unite(p, at, &part[0], &part[1])) return 1;
  if (rule == LIKES) out->d = part[0].d;
  for (int m = 0; m < 3 && rule == HALF; m++) out->d.power[m] /= 2;
  if (rule == TERMS) { /* c_i x^i are alike */
    Part term = part[1];
    for (int m = 2; m < k; m++) {
      Part other = part[m];
      for (int j = 1; j < m; j++) addPowers(&other.d, &part[0].d, 1);
      if (unite(p, at, &term, &other)) return 1;
    }
    out->d = term.d;
  }
  return emit(p, at, (Op){code, k, {0}}, out);
}

static int unknown(Parser *p, const char *at, size_t length, int called) {
  Nearest nearest    = {.name = at, .length = length};
  const int function = functionOf(at, length);
  if (function >= 0)
    return wrong(p, at, "%s is a function and needs parentheses, %s(...)", functions[function].name,
                 functions[function].name);
  if (!called && languageIsUnit(at, length)) /* as in 5 kg*cm^2 */
    return wrong(
        p, at,
        "there is no \"%.*s\"; units follow a number, with blanks between them, as in 2 kg %.*s",
        (int)length, at, (int)length, at);
  for (int i = 0; i < p->e->head.n; i++) cpScopeShow(&nearest, p->variable[i]);
  for (int i = 0; i < FUNCTIONS; i++) cpScopeShow(&nearest, functions[i].name);
  languageShowScope(p->scope, &nearest);
  return wrong(p, at, "there is no \"%.*s\"%s%.100s%s",
               (int)(length < MOST_NAME ? length : MOST_NAME), at,
               nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
               nearest.best ? "?" : "");
}

/* A call of a function by this name, from its arguments on */
static int call(Parser *p, const char *at, size_t length, CPFunction f, Part *out) {
  Part part[MOST_ARGUMENTS];
  char what[MOST_NAME + 1], one[MOST_NAME + 40];
  snprintf(what, sizeof what, "%.*s", (int)length, at);
  if (arguments(p, what, f->n, f->n, part) < 0) return 1;
  for (int i = 0; i < f->n; i++) {
    if (f->argument[i].plain ? sameDimension(&part[i].d, &f->argument[i])
                             : accepts(&f->argument[i], &part[i].d))
      continue;
    snprintf(one, sizeof one, "argument %d of %s", i + 1, what);
    return wrongDimension(p, at, one, &f->argument[i], &part[i].d);
  }
  if (f->level + 1 > p->e->head.level) p->e->head.level = f->level + 1;
  if (p->e->head.level > MOST_LEVELS)
    return wrong(p, at, "functions call functions to a depth of more than %d", MOST_LEVELS);
  out->d = f->result;
  return emit(p, at, (Op){CALL, f->n, {.f = f}}, out);
}

/* f'(x), f''(x), from the first prime on */
static int slope(Parser *p, const char *at, size_t length, CPFunction f, Part *out) {
  int failed = 0;
  f          = cpFunctionShare(f);
  while (!failed && next(p, '\'')) {
    if (!languageHasSlope(f))
      failed =
          wrong(p, at, "%.*s' needs a table in one variable, of order 3, or of order 5 as %.*s''",
                (int)length, at, (int)length, at);
    CPFunction own = failed ? NULL : languageSlope(f);
    failed         = failed || !own; /* no rule: no memory */
    CPFunctionFree(&f);
    f = own;
  }
  failed = failed || expect(p, '(') || call(p, at, length, f, out);
  CPFunctionFree(&f);
  return failed;
}

static int name(Parser *p, Part *out) {
  const char *at      = p->at;
  const size_t length = cpNameLength(at);
  const int variable  = variableOf(p, at, length);
  Meaning meaning     = {0};
  Op op               = {VARIABLE, variable, {0}};
  p->at += length;
  out->first       = p->e->nops;
  const int called = next(p, '(');
  if (variable < 0 && (p->flag = languageMeaning(p->scope, at, length, &meaning))) return 1;
  if (meaning.later)
    return wrong(p, at,
                 "%.*s is defined further below, or by itself; functions stand before their use",
                 (int)length, at);
  if (called && meaning.function) return call(p, at, length, meaning.function, out);
  if (*p->at == '\'' && meaning.function) return slope(p, at, length, meaning.function, out);
  const int function = called && variable < 0 && !meaning.found ? functionOf(at, length) : -1;
  if (function >= 0) return builtIn(p, at, function, out);
  out->d = variable >= 0   ? p->e->head.argument[variable]
           : meaning.found ? meaning.d
                           : (Dimension){{0, 0, 0}, 1};
  if (variable < 0 && length == 2 && !strncmp(at, "pi", 2) && !meaning.found)
    meaning.found = 1, meaning.value = acos(-SUN_RCONST(1.0));
  if (variable < 0 && !meaning.found) return unknown(p, at, length, called);
  if (called || meaning.function)
    return wrong(p, at, called ? "%.*s is no function" : "%.*s is a function and needs arguments",
                 (int)length, at);
  if (variable < 0) op = (Op){NUMBER, 0, {.c = meaning.value}};
  return emit(p, at, op, out);
}

static int factor(Parser *p, Part *out) {
  int failed;
  blanks(p);
  const char *at = p->at;
  out->first     = p->e->nops;
  if (++p->depth > DEEPEST)
    return wrong(p, at, "parentheses, powers and signs are nested more than %d times", DEEPEST);
  if (next(p, '-')) failed = factor(p, out) || emit(p, at, (Op){SCALE, 1, {.c = -1}}, out);
  else if (next(p, '+')) failed = factor(p, out);
  else {
    if (isdigit((unsigned char)*at) || *at == '.') failed = number(p, out);
    else if (cpNameLength(at) > 0) failed = name(p, out);
    else if (next(p, '(')) failed = sum(p, out) || expect(p, ')');
    else
      failed = wrong(p, at,
                     *at ? "expected a number or a name, and found \"%.20s\""
                         : "expected a number or a name",
                     at);
    at = p->at;
    if (!failed && next(p, '^')) {
      Part exponent;
      failed         = factor(p, &exponent) || needPure(p, at, &exponent, "an exponent");
      const int pure = out->d.power[0] == 0 && out->d.power[1] == 0 && out->d.power[2] == 0;
      for (int k = 0; k < 3 && !failed && !pure; k++) {
        const sunrealtype power = exponent.value * out->d.power[k];
        if (!exponent.constant || power != floor(power + SUN_RCONST(0.5)) || fabs(power) > 999)
          failed = wrong(
              p, at, "the exponent of a value with a dimension must be a number such as 2 or 0.5");
        else out->d.power[k] = (int)power;
      }
      out->d.plain &= exponent.d.plain;
      if (!failed && exponent.constant) {
        p->e->nops--, p->height--;
        failed = emit(p, at, (Op){POWER, 1, {.c = exponent.value}}, out);
      } else if (!failed) failed = emit(p, at, (Op){POW, 2, {0}}, out);
    }
  }
  p->depth--;
  return failed;
}

static int product(Parser *p, Part *out) {
  Part other;
  if (factor(p, out)) return 1;
  for (;;) {
    blanks(p);
    const char *at = p->at;
    if (*at != '*' && *at != '/') return 0;
    p->at++;
    if (factor(p, &other)) return 1;
    addPowers(&out->d, &other.d, *at == '*' ? 1 : -1);
    for (int k = 0; k < 3; k++)
      if (abs(out->d.power[k]) > 9999) return wrong(p, at, "the dimension has too high a power");
    const sunrealtype c = out->constant ? out->value : *at == '*' ? other.value : 1 / other.value;
    int exponent;
    /* one factor is a constant; division by one is a product only if that is exact */
    if (out->constant != other.constant &&
        (*at == '*' || (other.constant && fabs(frexp(other.value, &exponent)) == 0.5))) {
      p->e->nops--, p->height--;
      if (out->constant)
        memmove(&p->e->op[out->first], &p->e->op[out->first + 1],
                (size_t)(p->e->nops - out->first) * sizeof *p->e->op);
      out->constant = 0;
      if (c != 1 && emit(p, at, (Op){SCALE, 1, {.c = c}}, out)) return 1; /* x/(1 m) is x */
    } else if (emit(p, at, (Op){*at == '*' ? MUL : DIV, 2, {0}}, out)) return 1;
  }
}

static int sum(Parser *p, Part *out) {
  Part other;
  if (product(p, out)) return 1;
  for (;;) {
    blanks(p);
    const char *at = p->at;
    if (*at != '+' && *at != '-') return 0;
    p->at++;
    if (product(p, &other) || unite(p, at, out, &other)) return 1;
    if (emit(p, at, (Op){*at == '+' ? ADD : SUB, 2, {0}}, out)) return 1;
  }
}

/* Returns the text of cpFunctionPlace, or NULL if out of memory. */
static char *placeOf(const char *text, Place place) {
  enum { SHOWN = 60, LONGEST_PLACE = 400 };
  char *out     = malloc(LONGEST_PLACE);
  const int cut = strlen(text) > SHOWN;
  if (!out) return NULL;
  if (place.file)
    snprintf(out, LONGEST_PLACE, "%.200s:%d:%d: \"%.*s%s\"", place.file, place.line, place.column,
             SHOWN, text, cut ? "..." : "");
  else snprintf(out, LONGEST_PLACE, "\"%.*s%s\"", SHOWN, text, cut ? "..." : "");
  for (char *c = out; *c; c++)
    if ((unsigned char)*c < ' ') *c = ' ';
  return out;
}

/* The name of variable i must be one, and neither that of a function, of pi, nor of another variable. */
static int checkVariable(Parser *p, int i) {
  const char *name = p->variable[i];
  if (cpNameLength(name) != strlen(name))
    return wrong(p, p->text,
                 "the name of a variable begins with a letter and is made of letters, digits, _ "
                 "and dots, and one is \"%.60s\"",
                 name);
  if (languageIsBuiltIn(name))
    return wrong(p, p->text, "a variable has the name %s, which has a meaning already", name);
  return variableOf(p, name, strlen(name)) < i
             ? wrong(p, p->text, "two variables have the name \"%.60s\"", name)
             : 0;
}

int languageExpression(Scope *scope, const char *text, Place place, int nvariables,
                       const char *const *variable, const char *const *unit, const char *result,
                       CPFunction *f) {
  Parser p      = {.text = text, .at = text, .scope = scope, .variable = variable};
  Expression *e = p.e = languageNewExpression(nvariables);
  Part all;
  Dimension wanted;
  sunrealtype scale;
  *f = NULL;
  if (!e) return languageReport("CPFunctionCreate", text, place, &p.wrong);
  int failed = languageWholeUnit(result, &wanted, &scale, p.wrong.rule);
  for (int i = 0; i < nvariables && !failed; i++)
    failed = languageWholeUnit(unit ? unit[i] : NULL, &e->head.argument[i], &scale, p.wrong.rule);
  for (int i = 0; i < nvariables && !failed; i++) failed = checkVariable(&p, i);
  failed = failed || sum(&p, &all);
  blanks(&p);
  if (!failed && *p.at) failed = wrong(&p, p.at, "expected an operator, and found \"%.20s\"", p.at);
  if (!failed && result && !accepts(&wanted, &all.d) && !isZero(&all))
    failed = wrongDimension(&p, text, "the value", &wanted, &all.d);
  failed = failed || languageCountPieces(e) || !(e->head.place = placeOf(text, place));
  if (!failed) return e->head.result = all.d, *f = &e->head, CP_SUCCESS;
  CPFunction half = &e->head;
  CPFunctionFree(&half);
  return p.flag ? p.flag : languageReport("CPFunctionCreate", text, place, &p.wrong);
}

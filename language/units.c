/* Units: a number times a product of powers of m, kg and s. Factors of ten are kept apart, as exponents, so that 50 mm is the number
 * nearest to 0.05 and not 50 times one that is near to 0.001. */
#include "language_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const long double pi = 3.141592653589793238462643383279502884L;

typedef struct {
  const char *name;
  int exponent; /* of ten */
  int turns;    /* the factor is `factor`, or pi times it */
  double factor;
  int m, kg, s;
} Unit;

/* Minutes of angles and hours of time, Hz (is it rev/s or rad/s?) and units with one more meaning are left out. */
static const Unit units[] = {
    {"m", 0, 0, 1, 1, 0, 0},     {"km", 3, 0, 1, 1, 0, 0},         {"dm", -1, 0, 1, 1, 0, 0},
    {"cm", -2, 0, 1, 1, 0, 0},   {"mm", -3, 0, 1, 1, 0, 0},        {"um", -6, 0, 1, 1, 0, 0},
    {"kg", 0, 0, 1, 0, 1, 0},    {"g", -3, 0, 1, 0, 1, 0},         {"mg", -6, 0, 1, 0, 1, 0},
    {"tonne", 3, 0, 1, 0, 1, 0}, {"s", 0, 0, 1, 0, 0, 1},          {"ms", -3, 0, 1, 0, 0, 1},
    {"us", -6, 0, 1, 0, 0, 1},   {"min", 0, 0, 60, 0, 0, 1},       {"h", 0, 0, 3600, 0, 0, 1},
    {"rad", 0, 0, 1, 0, 0, 0},   {"mrad", -3, 0, 1, 0, 0, 0},      {"deg", 0, 1, 1. / 180, 0, 0, 0},
    {"rev", 0, 1, 2, 0, 0, 0},   {"rpm", 0, 1, 1. / 30, 0, 0, -1}, {"N", 0, 0, 1, 1, 1, -2},
    {"mN", -3, 0, 1, 1, 1, -2},  {"kN", 3, 0, 1, 1, 1, -2},        {"MN", 6, 0, 1, 1, 1, -2},
    {"Nm", 0, 0, 1, 2, 1, -2},   {"J", 0, 0, 1, 2, 1, -2},         {"mJ", -3, 0, 1, 2, 1, -2},
    {"kJ", 3, 0, 1, 2, 1, -2},   {"MJ", 6, 0, 1, 2, 1, -2},        {"W", 0, 0, 1, 2, 1, -3},
    {"mW", -3, 0, 1, 2, 1, -3},  {"kW", 3, 0, 1, 2, 1, -3},        {"MW", 6, 0, 1, 2, 1, -3},
    {"Pa", 0, 0, 1, -1, 1, -2},  {"kPa", 3, 0, 1, -1, 1, -2},      {"MPa", 6, 0, 1, -1, 1, -2},
    {"GPa", 9, 0, 1, -1, 1, -2}, {"bar", 5, 0, 1, -1, 1, -2},      {"mbar", 2, 0, 1, -1, 1, -2},
    {"%", -2, 0, 1, 0, 0, 0}};
enum { UNITS = sizeof units / sizeof units[0], LARGEST_POWER = 9 };

/* pi / 180 and pi / 30 are exact to the last digit of a long double. */
static long double factorOf(const Unit *u) {
  return u->turns ? pi * (u->factor < 1 ? 1 / (long double)(long)(1 / u->factor + 0.5)
                                        : (long double)u->factor)
                  : (long double)u->factor;
}

static size_t wordLength(const char *text) {
  size_t n = 0;
  while (isalpha((unsigned char)text[n])) n++;
  return n > 0 ? n : text[0] == '%';
}

static const Unit *find(const char *name, size_t length) {
  for (int i = 0; i < UNITS; i++)
    if (!strncmp(units[i].name, name, length) && !units[i].name[length]) return &units[i];
  return NULL;
}

int languageIsUnit(const char *name, size_t length) { return find(name, length) != NULL; }

static const char *afterBlanks(const char *at) {
  while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
  return at;
}

static int unknownUnit(const char *at, size_t length, const char *origin, Wrong *wrong) {
  Nearest nearest = {.name = at, .length = length};
  wrong->at       = (size_t)(at - origin);
  for (int i = 0; i < UNITS; i++) cpScopeShow(&nearest, units[i].name);
  if (length == 2 && !strncmp(at, "Hz", 2))
    snprintf(wrong->rule, RULE, "there is no unit Hz, which might mean rev/s or rad/s");
  else
    snprintf(wrong->rule, RULE, "there is no unit \"%.*s\"%s%s%s", (int)(length < 40 ? length : 40),
             at, nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
             nearest.best ? "?" : "");
  return 1;
}

/* Multiplies by one unit to the power sign times its exponent. Returns 0, or 1 with *wrong. */
static int takeOne(const char **text, const char *origin, int sign, Dimension *d, int *exponent,
                   long double *factor, Wrong *wrong) {
  const char *at      = *text;
  const size_t length = wordLength(at);
  const Unit *u       = find(at, length);
  int power           = 1;
  if (!u) return unknownUnit(at, length, origin, wrong);
  at += length;
  if (*at == '^') {
    const int negative = at[1] == '-';
    const char digit   = at[1 + negative];
    if (digit < '1' || digit > '0' + LARGEST_POWER || isdigit((unsigned char)at[2 + negative])) {
      wrong->at = (size_t)(at - origin);
      snprintf(wrong->rule, RULE,
               "the power of a unit must be an integer from 1 to %d, or its negative",
               LARGEST_POWER);
      return 1;
    }
    power = negative ? '0' - digit : digit - '0';
    at += 2 + negative;
  }
  power *= sign;
  const int of[3] = {u->m, u->kg, u->s};
  for (int k = 0; k < 3; k++) d->power[k] += TWELFTHS * power * of[k];
  *exponent += power * u->exponent;
  for (int k = 0; k < abs(power); k++)
    *factor = power > 0 ? *factor * factorOf(u) : *factor / factorOf(u);
  *text = at;
  return 0;
}

int languageUnit(const char **text, const char *origin, Dimension *d, int *exponent,
                 long double *factor, Wrong *wrong) {
  const char *at = *text;
  int divided    = 0;
  *d             = (Dimension){{0, 0, 0}, 0};
  *exponent      = 0;
  *factor        = 1;
  if (takeOne(&at, origin, 1, d, exponent, factor, wrong)) return 1;
  for (int count = 1;; count++) {
    const char *next = afterBlanks(at);
    const int slash  = *next == '/';
    const char *word = slash ? afterBlanks(next + 1) : next;
    /* After a slash, what is no unit is the next factor of the expression. */
    const size_t length = wordLength(word);
    if (length == 0 || (slash && (!find(word, length) || cpNameLength(word) > length ||
                                  *afterBlanks(word + length) == '(')))
      break;
    if (count > LARGEST_POWER || (divided && !slash)) {
      wrong->at = (size_t)(word - origin);
      snprintf(wrong->rule, RULE,
               count > LARGEST_POWER ? "a unit has too many factors"
                                     : "after / a unit has one factor only: a b/c, not a/c b");
      return 1;
    }
    divided |= slash;
    if (takeOne(&word, origin, slash ? -1 : 1, d, exponent, factor, wrong)) return 1;
    at = word;
  }
  *text = at;
  return 0;
}

int languageWholeUnit(const char *unit, Dimension *d, sunrealtype *scale, char rule[RULE]) {
  const char *end = unit;
  int exponent    = 0;
  long double factor;
  Wrong wrong;
  *d     = (Dimension){{0, 0, 0}, 1};
  *scale = 1;
  if (!unit || !*unit) return 0;
  if (unit[0] == '1' && unit[1] == '/') { /* 1/s, 1/m */
    end    = unit + 2;
    *d     = (Dimension){{0, 0, 0}, 0};
    factor = 1;
    if (takeOne(&end, unit, -1, d, &exponent, &factor, &wrong))
      return memcpy(rule, wrong.rule, RULE), 1;
  } else if (!strcmp(unit, "1")) {
    d->plain = 0;
    return 0;
  } else if (languageUnit(&end, unit, d, &exponent, &factor, &wrong)) {
    return memcpy(rule, wrong.rule, RULE), 1;
  }
  if (*end) return snprintf(rule, RULE, "\"%.40s\" is no unit", unit), 1;
  for (; exponent > 0; exponent--) factor *= 10;
  for (; exponent < 0; exponent++) factor /= 10;
  *scale = (sunrealtype)factor;
  return 0;
}

const char *languageDimensionText(const Dimension *d, char text[MOST_NAME]) {
  static const char *const base[]   = {"m", "kg", "s"};
  static const int first[]          = {1, 0, 2}; /* kg, m, s */
  static const char *const simple[] = {"m", "kg", "s", "N", "Nm", "W", "Pa"};
  static const char *const below[]  = {"", "m", "s", "rad"};
  const int none                    = !d->power[0] && !d->power[1] && !d->power[2];
  if (none) return strcpy(text, d->plain ? "a plain number" : "no dimension");
  for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
    for (size_t k = 0; k < 3; k++) { /* N, N/m, N/s ... */
      const Unit *u      = find(simple[i], strlen(simple[i])),
                 *v      = k ? find(below[k], strlen(below[k])) : NULL;
      const Dimension of = {{TWELFTHS * (u->m - (v ? v->m : 0)), TWELFTHS * (u->kg - (v ? v->kg : 0)),
                             TWELFTHS * (u->s - (v ? v->s : 0))},
                            0};
      if (!sameDimension(d, &of)) continue;
      snprintf(text, MOST_NAME, "%s%s%s", strcmp(u->name, "Nm") ? u->name : "N m", v ? "/" : "",
               v ? v->name : "");
      return text;
    }
  int n = 0;
  for (int i = 0; i < 3; i++) {
    const int k = first[i];
    if (!d->power[k]) continue;
    const double power = (double)d->power[k] / TWELFTHS;
    n += snprintf(text + n, (size_t)(MOST_NAME - n), power == 1 ? "%s%s" : "%s%s^%.3g",
                  n ? " " : "", base[k], power);
  }
  return text;
}

/* Columns of numbers in a text, in one pass over it. */
#include "language_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *text, *at;
  Wrong wrong;
} Text;

static int separates(char c) { return c == ',' || c == ';' || c == '\t' || c == ' '; }
static int ends(char c) { return c == '\n' || c == '\r' || c == '\0'; }
static int isNumber(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.'; }

static void skip(Text *t) {
  while (separates(*t->at)) t->at++;
}

/* Moves to the next line that has something to say. Returns 0 at the end of the text. */
static int line(Text *t) {
  for (;;) {
    skip(t);
    if (*t->at == '#')
      while (!ends(*t->at)) t->at++;
    if (*t->at == '\0') return 0;
    if (!ends(*t->at)) return 1;
    t->at++;
  }
}

static int wrongAt(Text *t, const char *at) { return t->wrong.at = (size_t)(at - t->text), 1; }

/* Reads the line of names. index [2]: in, the columns' numbers; out, of those with the names. */
static int head(Text *t, const CPTable *table, int index[2], char unit[2][MOST_NAME]) {
  int found[2]        = {!table->column[0], !table->column[1]};
  char list[RULE / 2] = ""; /* of the columns, for messages */
  for (int i = 0; !ends(*t->at); i++) {
    const char *name = t->at, *end = name, *bracket = NULL, *close = NULL;
    while (!ends(*end) && *end != ',' && *end != ';' && *end != '\t' && (close || *end != '['))
      end++;
    if (*end == '[') {
      bracket = end;
      while (!ends(*end) && *end != ']') end++;
      close = end;
      if (*end != ']' || close - bracket > MOST_NAME) {
        snprintf(t->wrong.rule, RULE, "the unit must end with ]");
        return wrongAt(t, bracket);
      }
    }
    size_t length = (size_t)((bracket ? bracket : end) - name);
    while (length > 0 && name[length - 1] == ' ') length--;
    const size_t before = strlen(list);
    snprintf(list + before, sizeof list - before, "%s%.*s", i ? ", " : "",
             (int)(length < sizeof list ? length : sizeof list), name);
    for (int k = 0; k < 2; k++) {
      const char *wanted = table->column[k];
      if (wanted && (strncmp(wanted, name, length) || wanted[length])) continue;
      if (!wanted && i != index[k]) continue;
      found[k] = 1, index[k] = i;
      if (bracket) snprintf(unit[k], MOST_NAME, "%.*s", (int)(close - bracket - 1), bracket + 1);
    }
    t->at = bracket ? close + 1 : end;
    skip(t);
  }
  for (int k = 0; k < 2; k++)
    if (!found[k])
      return snprintf(t->wrong.rule, RULE, "there is no column \"%.60s\", but %s", table->column[k],
                      list),
             wrongAt(t, t->at);
  return 0;
}

/* Reads the numbers of a line. Returns 0, or 1 with what is wrong. */
static int numbers(Text *t, const int index[2], Columns *c) {
  const char *start = t->at;
  int got           = 0;
  for (int i = 0; !ends(*t->at); i++, skip(t)) {
    const size_t length = strspn(t->at, "0123456789+-.eE");
    const char next     = t->at[length];
    char *end           = NULL;
    const double value  = length > 0 && (separates(next) || ends(next)) ? strtod(t->at, &end) : NAN;
    if (end != t->at + length || !isfinite(value)) {
      snprintf(t->wrong.rule, RULE, "expected a finite number, and found \"%.*s\"",
               (int)strcspn(t->at, ",; \t\r\n") % 40, t->at);
      return wrongAt(t, t->at);
    }
    if (i == index[0]) {
      if (c->n > 0 && !(value > c->x[c->n - 1])) {
        snprintf(t->wrong.rule, RULE, "x must increase, and is %g after %g", value,
                 (double)c->x[c->n - 1]);
        return wrongAt(t, t->at);
      }
      c->x[c->n] = value, got |= 1;
    }
    if (i == index[1]) c->value[c->n] = value, got |= 2;
    t->at = end;
  }
  if (got != 3)
    return snprintf(t->wrong.rule, RULE, "the line has no column %d", 1 + index[got & 1]),
           wrongAt(t, start);
  c->n++;
  return 0;
}

int languageColumns(const CPTable *table, Place place, Columns *columns) {
  char *copy   = malloc(table->length + 1);
  Text t       = {.text = copy, .at = copy};
  int index[2] = {0, 1}, failed = !copy, room = 0;
  *columns = (Columns){0};
  if (copy) memcpy(copy, table->csv, table->length), copy[table->length] = '\0';
  if (!failed && strlen(copy) != table->length) {
    snprintf(t.wrong.rule, RULE, "a table must not contain zeros");
    failed = wrongAt(&t, copy + strlen(copy));
  }
  if (!failed && !strncmp(copy, "\xEF\xBB\xBF", 3)) t.at += 3;
  if (!failed && line(&t) && !isNumber(*t.at)) failed = head(&t, table, index, columns->unit);
  else if (!failed && (table->column[0] || table->column[1])) {
    snprintf(t.wrong.rule, RULE, "the first line must have the names of the columns");
    failed = wrongAt(&t, t.at);
  }
  while (!failed && line(&t)) {
    if (columns->n == room) {
      room              = room ? 2 * room : 64;
      sunrealtype *x    = realloc(columns->x, (size_t)room * sizeof *x);
      columns->x        = x ? x : columns->x;
      sunrealtype *more = x ? realloc(columns->value, (size_t)room * sizeof *more) : NULL;
      columns->value    = more ? more : columns->value;
      failed            = !more;
    }
    failed = failed || numbers(&t, index, columns);
  }
  if (!failed && columns->n == 0) {
    snprintf(t.wrong.rule, RULE, "the table has no rows");
    failed = wrongAt(&t, t.at);
  }
  const int flag = failed ? languageReport("CPFunctionCreate", copy, place, &t.wrong) : CP_SUCCESS;
  free(copy);
  return flag;
}

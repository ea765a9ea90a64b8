/* Scopes: numbers and functions by name. The text of a number is evaluated when it is used first, so that the order of definitions
 * does not matter; a number that is under way when it is looked up depends on itself. */
#include "language_impl.h"

#include <ctype.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { UNKNOWN, UNDER_WAY, KNOWN } State;
typedef struct {
  char *name, *text, *file; /* text: of a number, or NULL; file: or NULL */
  char *was;                /* the text that this one replaces, or NULL */
  int line, column;
  State state;
  sunrealtype value, moved; /* moved: a part of the value that the text does not have */
  Dimension d;
  CPFunction function; /* or NULL */
} Entry;

struct Scope_ {
  Scope *outer; /* or NULL */
  Entry *entry; /* [capacity] hash table with open addressing */
  int n, capacity, depth;
};

Scope *cpScopeCreate(Scope *outer) {
  Scope *scope = calloc(1, sizeof *scope);
  if (scope) scope->outer = outer;
  return scope;
}

void cpScopeFree(Scope *scope) {
  if (!scope) return;
  for (int i = 0; i < scope->capacity; i++) {
    Entry *e = &scope->entry[i];
    free(e->name);
    free(e->text);
    free(e->was);
    free(e->file);
    CPFunctionFree(&e->function);
  }
  free(scope->entry);
  free(scope);
}

int languageReport(const char *function, const char *text, Place place, const Wrong *wrong) {
  int line = place.line > 0 ? place.line : 1, column = place.column > 0 ? place.column : 1;
  if (!wrong->rule[0]) return cpReport(NULL, CP_MEM_FAIL, function, "no memory");
  for (size_t i = 0; text && i < wrong->at && text[i]; i++) {
    if (text[i] == '\n') line++, column = 1;
    else if (((unsigned char)text[i] & 0xC0u) != 0x80u) column++; /* bytes of UTF-8 */
  }
  char rule[RULE]; /* one line, also if it quotes several */
  snprintf(rule, sizeof rule, "%s", wrong->rule);
  for (char *c = rule; *c; c++)
    if ((unsigned char)*c < ' ') *c = ' ';
  return cpRefuse(NULL, function, "%.200s%s%d:%d: %s", place.file ? place.file : "",
                  place.file ? ":" : "", line, column, rule);
}

/* The entry of the name, or the free entry where it belongs */
static Entry *entryOf(const Scope *scope, const char *name, size_t length) {
  unsigned h = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
  for (;; h++) {
    Entry *e = &scope->entry[h & (unsigned)(scope->capacity - 1)];
    if (!e->name || (!strncmp(e->name, name, length) && !e->name[length])) return e;
  }
}

static int grow(Scope *scope) {
  const Scope old = *scope;
  if (2 * scope->n < scope->capacity) return 0;
  scope->capacity = old.capacity ? 2 * old.capacity : 16;
  scope->entry    = calloc((size_t)scope->capacity, sizeof *scope->entry);
  if (!scope->entry) return *scope = old, 1;
  for (int i = 0; i < old.capacity; i++)
    if (old.entry[i].name)
      *entryOf(scope, old.entry[i].name, strlen(old.entry[i].name)) = old.entry[i];
  free(old.entry);
  return 0;
}

static char *copyText(const char *text) {
  char *copy = text ? malloc(strlen(text) + 1) : NULL;
  return copy ? strcpy(copy, text) : NULL;
}

size_t cpNameLength(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  while (isalnum(*c) || *c == '_' || *c >= 0x80 ||
         (*c == '.' && c > (const unsigned char *)text &&
          (isalnum(c[1]) || c[1] == '_' || c[1] >= 0x80)))
    c++;
  return isdigit((unsigned char)*text) ? 0 : (size_t)((const char *)c - text);
}

static int isName(const char *name) {
  const size_t n = cpNameLength(name);
  return n > 0 && !name[n] && n <= MOST_NAME && !strchr(name, '.');
}

int cpScopeDefine(Scope *scope, const char *name, const char *text, CPFunction f, Place place,
                  int again) {
  Wrong wrong = {0, ""};
  if (!name || !isName(name)) {
    snprintf(wrong.rule, RULE,
             "a name has at most %d letters, digits and _, no digit first, and is \"%.40s\"",
             MOST_NAME, name ? name : "");
    return languageReport("CPFunctionCreate", NULL, place, &wrong);
  }
  if (languageIsBuiltIn(name)) {
    snprintf(wrong.rule, RULE, "%s has a meaning already", name);
    return languageReport("CPFunctionCreate", NULL, place, &wrong);
  }
  if (grow(scope)) return languageReport("CPFunctionCreate", NULL, place, &wrong);
  Entry *e = entryOf(scope, name, strlen(name));
  if (e->name && !again) {
    snprintf(wrong.rule, RULE, "there is a \"%.100s\" already", name);
    return languageReport("CPFunctionCreate", NULL, place, &wrong);
  }
  Entry new = {.name     = copyText(name),
               .text     = copyText(text),
               .file     = copyText(place.file),
               .line     = place.line,
               .column   = place.column,
               .function = cpFunctionShare(f)};
  if (!new.name || (text && !new.text) || (place.file && !new.file)) {
    free(new.name);
    free(new.text);
    free(new.file);
    CPFunctionFree(&new.function);
    return languageReport("CPFunctionCreate", NULL, place, &wrong);
  }
  if (e->name) {
    new.was = e->was ? e->was : e->text;
    if (e->was) free(e->text);
    free(e->name);
    free(e->file);
    CPFunctionFree(&e->function);
  } else scope->n++;
  *e = new;
  return CP_SUCCESS;
}

void cpScopeMove(Scope *scope, const char *name, sunrealtype by) {
  entryOf(scope, name, strlen(name))->moved = by;
}

int cpScopeHas(const Scope *scope, const char *name) {
  const Entry *e = scope && scope->capacity > 0 ? entryOf(scope, name, strlen(name)) : NULL;
  return e && e->name && e->text;
}

/* A plain number has the dimension of what it replaces. d: in, of the number; out, as it counts. Returns 0, or 1 after a rule if both have one and
 * differ. */
static int replaced(Dimension *d, const Dimension *before, Wrong *wrong) {
  char need[MOST_NAME], have[MOST_NAME];
  if (d->plain) *d = *before;
  if (before->plain || sameDimension(d, before)) return 0;
  snprintf(wrong->rule, RULE, "it must have the dimension of what it replaces, %s, and has %s",
           languageDimensionText(before, need), languageDimensionText(d, have));
  return 1;
}

int cpScopeImport(Scope *scope, const char *name, Scope *from, const char *text, Place place) {
  Meaning before = {0};
  CPFunction f;
  sunrealtype value = 0;
  Wrong wrong       = {0, "the value is not a finite number"};
  int flag          = cpScopeParse(from, text, place, 0, NULL, NULL, NULL, &f);
  if (flag) return flag;
  Dimension d = f->result;
  if (CPFunctionEvaluate(f, &value, &value, NULL, NULL))
    flag = languageReport("CPFunctionCreate", text, place, &wrong);
  CPFunctionFree(&f);
  if (!flag && cpScopeHas(scope, name)) flag = languageMeaning(scope, name, strlen(name), &before);
  if (before.found && replaced(&d, &before.d, &wrong))
    flag = languageReport("CPFunctionCreate", NULL, place, &wrong);
  if (!flag) flag = cpScopeDefine(scope, name, text, NULL, place, 1);
  if (flag) return flag;
  Entry *e = entryOf(scope, name, strlen(name));
  e->value = value, e->d = d, e->state = KNOWN;
  return CP_SUCCESS;
}

int languageMeaning(Scope *scope, const char *name, size_t length, Meaning *meaning) {
  *meaning = (Meaning){0};
  if (!scope) return CP_SUCCESS;
  Entry *e    = scope->capacity > 0 ? entryOf(scope, name, length) : NULL;
  Wrong wrong = {0, ""};
  if (!e || !e->name) return languageMeaning(scope->outer, name, length, meaning);
  if (e->text && e->state != KNOWN) {
    const Place place = {e->file, e->line, e->column};
    CPFunction f;
    if (e->state == UNDER_WAY || scope->depth >= CHAIN) {
      snprintf(wrong.rule, RULE,
               e->state == UNDER_WAY
                   ? "%.100s depends on itself"
                   : "%.100s depends on names that depend on names, too many times; "
                     "define them before they are used",
               e->name);
      return languageReport("CPFunctionCreate", NULL, place, &wrong);
    }
    scope->depth++;
    e->state       = UNDER_WAY;
    CPFunction was = NULL;
    int flag       = languageExpression(scope, e->text, place, 0, NULL, NULL, NULL, &f);
    if (!flag && e->was &&
        !(flag = languageExpression(scope, e->was, place, 0, NULL, NULL, NULL, &was)) &&
        replaced(&f->result, &was->result, &wrong))
      flag = languageReport("CPFunctionCreate", NULL, place, &wrong);
    if (flag) CPFunctionFree(&f);
    CPFunctionFree(&was);
    e->state = UNKNOWN;
    scope->depth--;
    if (flag) return flag;
    const Dimension d = f->result;
    flag = CPFunctionEvaluate(f, &e->value, &e->value, NULL, NULL); /* there are no variables */
    CPFunctionFree(&f);
    if (flag) {
      snprintf(wrong.rule, RULE, "the value is not a finite number");
      return languageReport("CPFunctionCreate", NULL, place, &wrong);
    }
    e->value += e->moved;
    e->d = d, e->state = KNOWN;
  }
  const int later = !e->text && !e->function;
  *meaning        = (Meaning){!later, later, e->value, e->d, e->function};
  return CP_SUCCESS;
}

/* ---- the nearest name ---- */

/* The distance of Levenshtein between two names, or `most` if it is at least that */
static int distanceOf(const char *a, size_t na, const char *b, size_t nb, int most) {
  int row[MOST_NAME + 1];
  if (na > MOST_NAME || nb > MOST_NAME) return most;
  for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int diagonal = row[0]++;
    for (size_t j = 1; j <= nb; j++) {
      const int exchanged = diagonal + (a[i - 1] != b[j - 1]);
      diagonal            = row[j];
      if (row[j - 1] < row[j]) row[j] = row[j - 1];
      row[j] = row[j] + 1 < exchanged ? row[j] + 1 : exchanged;
    }
  }
  return row[nb] < most ? row[nb] : most;
}

/* Of a name of one letter, only the other case is near: with one exchange it would be any other one. */
static int isNear(const Nearest *nearest, const char *other) {
  return nearest->length > 1 ||
         (other[0] && !other[1] &&
          tolower((unsigned char)*nearest->name) == tolower((unsigned char)*other));
}

void cpScopeShow(Nearest *nearest, const char *other) {
  if (!isNear(nearest, other)) return;
  if (!nearest->best && nearest->distance == 0) nearest->distance = 2 + (int)nearest->length / 3;
  const int d = distanceOf(nearest->name, nearest->length, other, strlen(other), nearest->distance);
  if (d < nearest->distance) nearest->distance = d, nearest->best = other;
}

void languageShowScope(const Scope *scope, Nearest *nearest) {
  for (; scope; scope = scope->outer)
    for (int i = 0; i < scope->capacity; i++)
      if (scope->entry[i].name) cpScopeShow(nearest, scope->entry[i].name);
}

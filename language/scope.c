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
  Scope *from; /* in which the text is read; NULL: its own */
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
  e->value = value, e->d = d, e->state = KNOWN, e->from = from;
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

/* ---- texts for other files ---- */

enum { LONGEST_TEXT = 10000 };
typedef struct {
  const Scope *top;
  /* uses: of names of `top`; lost: it calls a function of a scope, or a variable hides such a name; nested: within the text of a name */
  int n, uses, lost, by_value, nested, enclosed, failed;
  const char *const *name, *const *as;
  char *text;
  size_t length, room;
} Rewriting;

static void append(Rewriting *w, const char *text, size_t n) {
  if (w->length + n + 1 > w->room) {
    const size_t room = 2 * (w->length + n + 1);
    char *more        = realloc(w->text, room);
    w->failed         = w->failed || !more;
    if (more) w->text = more, w->room = room;
  }
  if (w->failed) return;
  for (size_t i = 0; i < n; i++) /* a line */
    w->text[w->length++] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
  w->text[w->length] = '\0';
}

static int rewrite(Rewriting *w, Scope *scope, const char *text);

/* The text of a number, which has a unit if the number has one by what it replaces. Returns as rewrite. */
static int rewriteEntry(Rewriting *w, Scope *scope, const Entry *e) {
  char unit[MOST_NAME], value[MOST_NAME + 40];
  const Dimension none = {{0, 0, 0}, 0};
  const size_t start   = w->length;
  const Place place    = {e->file, e->line, e->column};
  Scope *from          = e->from ? e->from : scope;
  CPFunction f         = NULL;
  const int lost       = w->lost;
  int flag             = 0;
  /* Names that are made of names may become texts of any length. */
  w->lost = w->nested > CHAIN || w->length > LONGEST_TEXT;
  if (w->lost) w->uses = 1;
  else {
    append(w, "(", 1);
    flag = rewrite(w, from, e->text);
    append(w, ")", 1);
  }
  if (flag) return flag;
  flag            = w->lost ? 1 : cpScopeParse(from, e->text, place, 0, NULL, NULL, NULL, &f);
  w->lost         = lost;
  const int plain = f && f->result.plain, has = !e->d.plain && !sameDimension(&e->d, &none);
  CPFunctionFree(&f);
  if (flag < 0) return flag;
  if (flag) {
    w->length = start, w->by_value = 1;
    append(w, value, (size_t)snprintf(value, sizeof value, "%.17g", (double)e->value));
  }
  w->enclosed = !flag;
  if (!has || (!flag && !plain)) return 0;
  w->enclosed = 0;
  append(w, value,
         (size_t)snprintf(value, sizeof value, "*(1 %s)", languageDimensionText(&e->d, unit)));
  return 0;
}

/* Returns 0 or an error code. */
static int rewrite(Rewriting *w, Scope *scope, const char *text) {
  for (const char *c = text; *c && !w->failed;) {
    const char *start = c;
    Dimension d       = {{0, 0, 0}, 0};
    Wrong wrong;
    long double factor;
    int exponent, i = 0;
    const size_t length = cpNameLength(c);
    if (length == 0) {
      char *end;
      if (*c != '.' && (*c < '0' || *c > '9')) {
        append(w, c++, 1);
        continue;
      }
      strtod(c, &end); /* and its unit */
      c = end + strspn(end, " \t\r\n");
      if ((!isalpha((unsigned char)*c) && *c != '%') ||
          languageUnit(&c, c, &d, &exponent, &factor, &wrong))
        c = end;
      append(w, start, (size_t)(c - start));
      continue;
    }
    c += length;
    while (i < w->n && (strncmp(w->name[i], start, length) || w->name[i][length])) i++;
    if (i < w->n && !w->nested) {
      append(w, w->as[i], strlen(w->as[i]));
      continue;
    }
    Scope *of      = scope;
    const Entry *e = NULL;
    for (; of; of = of->outer) {
      e = of->capacity > 0 ? entryOf(of, start, length) : NULL;
      if (e && e->name) break;
    }
    if (!of) append(w, start, length); /* a function of the language, or pi */
    else if (!e->text) w->lost = 1;
    else {
      if (of == w->top) {
        w->uses = 1;
        if (i < w->n) w->lost = 1;
        append(w, start, length);
      } else {
        w->nested++;
        const int flag = rewriteEntry(w, of, e);
        w->nested--;
        if (flag) return flag;
      }
    }
  }
  return w->failed ? CP_MEM_FAIL : 0;
}

int cpScopeRewrite(Scope *scope, const Scope *top, const char *text, int n, const char *const *name,
                   const char *const *as, char **out, int *uses) {
  Rewriting w = {.top = top, .n = text ? n : 0, .name = name, .as = as};
  append(&w, "", 0);
  const Entry *e = text ? NULL : entryOf(scope, *name, strlen(*name));
  int flag = w.failed ? CP_MEM_FAIL : text ? rewrite(&w, scope, text) : rewriteEntry(&w, scope, e);
  if (!flag) flag = w.failed ? CP_MEM_FAIL : w.lost;
  *uses = w.uses ? w.by_value ? 2 : 1 : 0;
  *out  = flag ? NULL : w.text;
  if (!flag && !text && w.enclosed) { /* all of it, "(60 mm)" */
    memmove(w.text, w.text + 1, w.length);
    w.text[w.length - 2] = '\0';
  }
  if (flag) free(w.text);
  return flag;
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

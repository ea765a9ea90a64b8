/* Names and parameters of elements. */
#include "elements.h"
#include "language/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bodiesGiven(CPLog *log, const char *function, const char *names, int given) {
  return given ? CP_SUCCESS : cpRefuse(log, function, "%s must not be NULL", names);
}

int bodiesRoom(void *address, int count, int more, size_t size) {
  void **array = address, *larger;
  int old      = count > 0 ? 8 : 0, length;
  while (old < count) old *= 2;
  for (length = 8; length < count + more;) length *= 2;
  if (length == old) return 0;
  if (!(larger = realloc(*array, (size_t)length * size))) return 1;
  *array = larger;
  return 0;
}

const char *bodiesSuggest(const Mechanism *m, int kind, const char *name, size_t length,
                          char text[SUGGESTION]) {
  Nearest nearest = {name, NULL, length, 0};
  for (int i = 0; i < m->capacity; i++) {
    const Entry *e = &m->entry[i];
    if (kind == NONE ? e->kind > 0 : e->kind == kind) cpScopeShow(&nearest, m->text + e->name);
  }
  text[0] = '\0';
  if (nearest.best) snprintf(text, SUGGESTION, "; did you mean \"%.80s\"?", nearest.best);
  return text;
}

const char *bodiesControl(const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if (*c < ' ' || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0))
      return (const char *)c;
  return NULL;
}

void bodiesOneLine(char *message, size_t length) {
  const char *at;
  for (size_t i = 0; length > 0 && (at = bodiesControl(message + i)); i++) {
    i = (size_t)(at - message);
    if ((unsigned char)message[i] == 0xC2) message[i + 1] = ' ';
    message[i] = ' ';
  }
}

unsigned bodiesHash(const char *name, size_t length) { /* FNV-1a */
  unsigned h = 2166136261u;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
  return h;
}

/* The entry of the name, or the free entry where it belongs. */
static Entry *entryOf(const Mechanism *b, const char *name, size_t length) {
  unsigned i = bodiesHash(name, length);
  for (;; i++) {
    Entry *e         = &b->entry[i & (unsigned)(b->capacity - 1)];
    const char *text = b->text + e->name;
    if (!e->kind || (e->kind > 0 && !strncmp(text, name, length) && !text[length])) return e;
  }
}

int bodiesNamed(const Mechanism *b, const char *name, size_t length) {
  const Entry *e = entryOf(b, name, length);
  return e->kind ? e->name : -1;
}

int bodiesFind(const Mechanism *b, int kind, const char *name, size_t length) {
  if (!name || b->capacity == 0) return -1;
  const Entry *e = entryOf(b, name, length);
  return e->kind == kind ? e->index : -1;
}

int bodiesLookUp(const Mechanism *b, const char *name, size_t length, int *index) {
  const Entry *e = b->capacity ? entryOf(b, name, length) : NULL;
  if (!e || e->kind <= 0) return 0;
  *index = e->index;
  return e->kind;
}

int bodiesNoMemory(CPBodies b, const char *name) {
  return refused(b, CP_MEM_FAIL, "no memory for \"%.100s\"", name);
}

int bodiesCheckName(CPBodies b, const char *name, int params) {
  if (!name || !*name) return refused(b, CP_ILL_INPUT, "name must not be empty");
  if (strpbrk(name, ". \t\n") || strlen(name) > 100)
    return refused(b, CP_ILL_INPUT,
                   "name must have at most 100 characters, no blank and no dot: \"%.100s\"", name);
  if (bodiesControl(name))
    return refused(b, CP_ILL_INPUT, "name must not contain control characters");
  if (!strcmp(name, "ground")) return refused(b, CP_ILL_INPUT, "name must not be \"ground\"");
  if (2 * b->nentries >= b->m.capacity) { /* The table is at most half full. */
    const int old = b->m.capacity;
    Entry *before = b->m.entry, *more = calloc(old ? 2 * (size_t)old : 16, sizeof *more);
    if (!more) return bodiesNoMemory(b, name);
    b->m.entry    = more;
    b->m.capacity = old ? 2 * old : 16;
    for (int i = 0; i < old; i++) {
      const char *text = b->m.text + before[i].name;
      if (before[i].kind > 0) *entryOf(&b->m, text, strlen(text)) = before[i];
    }
    free(before);
  }
  if (ROOM(b->m.text, b->m.ntext, (int)strlen(name) + 1) ||
      ROOM(b->m.param, b->m.nparams, params) || ROOM(b->label, b->m.nparams, params))
    return bodiesNoMemory(b, name);
  if (entryOf(&b->m, name, strlen(name))->kind)
    return refused(b, CP_ILL_INPUT, "name must be new: there is a \"%s\" already", name);
  return CP_SUCCESS;
}

int bodiesTakeName(CPBodies b, const char *name, int kind, int index) {
  const int at = b->m.ntext;
  memcpy(b->m.text + at, name, strlen(name) + 1);
  *entryOf(&b->m, name, strlen(name)) = (Entry){.name = at, .kind = kind, .index = index};
  b->m.ntext += (int)strlen(name) + 1;
  b->nentries++;
  return at;
}

int bodiesTaken(const Mechanism *b, const char *name) {
  return !strcmp(name, "ground") || entryOf(b, name, strlen(name))->kind;
}

int bodiesTakeParam(CPBodies b, int owner, const char *field, sunrealtype value) {
  b->label[b->m.nparams]   = (Label){owner, field};
  b->m.param[b->m.nparams] = value;
  return b->m.nparams++;
}

const char *bodiesNextWord(const char *list, char word[TEXT]) {
  list += strspn(list, " ");
  const size_t length = strcspn(list, " ");
  snprintf(word, TEXT, "%.*s", (int)length, list);
  return list + length;
}

int bodiesCheckFinite(CPBodies b, const char *name, const char *what, const sunrealtype *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i]))
      return refused(b, CP_ILL_INPUT, "%s: %s must be finite, and is %g", name, what, (double)x[i]);
  return CP_SUCCESS;
}

int bodiesCheckSign(CPBodies b, const char *name, const char *what, sunrealtype x, int positive) {
  if (isfinite(x) && (positive ? x > 0 : x >= 0)) return CP_SUCCESS;
  return refused(b, CP_ILL_INPUT, "%s: %s must %s, and is %g", name, what,
                 positive ? "be positive" : "not be negative", (double)x);
}

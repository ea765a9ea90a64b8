/* The lines of an assembly, as a tree, and what they say: numbers, frames, names. */
#include "asmt_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int asmtWrong(Asmt *a, int at, const char *format, ...) {
  char text[TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (at == NONE) snprintf(a->message, a->length, "%s: %s", a->file, text);
  else
    snprintf(a->message, a->length, "%s:%d:1: %s: %s", a->file, a->line[at].line, a->line[at].text,
             text);
  bodiesOneLine(a->message, a->length);
  return 1;
}

int asmtNote(Asmt *a, int at, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const size_t more = strlen(a->file) + strlen(text) + 30;
  char *notes       = realloc(a->notes, a->noted + more);
  if (!notes) return asmtWrong(a, at, "no memory");
  a->notes  = notes;
  char *own = notes + a->noted;
  snprintf(own, more, "%s:%d:1: %s", a->file, a->line[at].line, text);
  bodiesOneLine(own, more);
  a->noted += strlen(own);
  strcpy(notes + a->noted++, "\n");
  return 0;
}

int asmtRefused(Asmt *a, int at, int flag) {
  return flag < 0 ? asmtWrong(a, at, "%s", CPObjectGetLastMessage(CP_OBJECT(a->bodies))) : 0;
}

int asmtParse(Asmt *a, const char *data, size_t size) {
  if (memchr(data, '\0', size)) return asmtWrong(a, NONE, "it contains a zero");
  if (!(a->text = malloc(size + 1))) return asmtWrong(a, NONE, "no memory");
  memcpy(a->text, data, size);
  a->text[size] = '\0';
  int number    = 0;
  for (char *at = a->text, *next; at; at = next) {
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    number++;
    int depth = 0;
    while (at[depth] == '\t') depth++;
    char *text = at + depth, *end = text + strlen(text);
    while (end > text && strchr(" \t\r", end[-1])) *--end = '\0';
    text += strspn(text, " ");
    if (!*text) continue;
    if (!strcmp(text, "TimeSeries")) break;
    if (ROOM(a->line, a->nlines, 1)) return asmtWrong(a, NONE, "no memory");
    a->line[a->nlines++] = (AsmtLine){.text = text, .line = number, .depth = depth};
  }
  /* The end of a line's part is found from behind: it is where the lines that follow it and are deeper end. */
  for (int i = a->nlines - 1; i >= 0; i--) {
    int end = i + 1;
    while (end < a->nlines && a->line[end].depth > a->line[i].depth) end = a->line[end].end;
    a->line[i].end = end;
  }
  return 0;
}

int asmtChild(const Asmt *a, int at, const char *text) {
  if (at == NONE) return NONE;
  for (int i = at + 1; i < a->line[at].end; i = a->line[i].end)
    if (!strcmp(a->line[i].text, text)) return i;
  return NONE;
}

const char *asmtValue(const Asmt *a, int at, const char *text) {
  const int i = asmtChild(a, at, text);
  return i == NONE || i + 1 >= a->line[i].end ? NULL : a->line[i + 1].text;
}

/* Reads numbers of one line. */
static int numbersOf(Asmt *a, int at, int count, sunrealtype *x) {
  const char *text = a->line[at].text;
  for (int k = 0; k < count; k++) {
    char *end;
    x[k] = strtod(text, &end);
    if (end == text || !isfinite(x[k]))
      return asmtWrong(a, at, "there must be %d finite numbers", count);
    text = end;
  }
  return text[strspn(text, " \t")] ? asmtWrong(a, at, "there must be %d finite numbers", count) : 0;
}

int asmtNumbers(Asmt *a, int at, const char *text, int count, sunrealtype *x) {
  const int i = asmtChild(a, at, text);
  if (i == NONE || i + 1 >= a->line[i].end) return asmtWrong(a, at, "%s must be given", text);
  return numbersOf(a, i + 1, count, x);
}

const AsmtFrame asmt_origin = {{0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

/* A: in, columns that are nearly perpendicular unit vectors; out, such that are, by Gram and Schmidt */
static void straighten(sunrealtype A[3][3]) {
  for (int k = 0; k < 3; k++) {
    sunrealtype size = 0;
    for (int j = 0; j < k; j++) {
      sunrealtype part = 0;
      for (int i = 0; i < 3; i++) part += A[i][j] * A[i][k];
      for (int i = 0; i < 3; i++) A[i][k] -= part * A[i][j];
    }
    for (int i = 0; i < 3; i++) size += A[i][k] * A[i][k];
    for (int i = 0; i < 3; i++) A[i][k] /= sqrt(size);
  }
}

int asmtFrame(Asmt *a, int at, AsmtFrame *frame) {
  /* Geometry that has been through single precision, and other units, has errors of some 1e-6. */
  static const sunrealtype single = SUN_RCONST(1e-5);
  const int matrix                = asmtChild(a, at, "RotationMatrix");
  sunrealtype z[3];
  *frame = asmt_origin;
  if (asmtChild(a, at, "Position3D") != NONE && asmtNumbers(a, at, "Position3D", 3, frame->r))
    return 1;
  if (matrix == NONE) return 0;
  if (a->line[matrix].end != matrix + 4) return asmtWrong(a, matrix, "there must be three rows");
  for (int i = 0; i < 3; i++)
    if (numbersOf(a, matrix + 1 + i, 3, frame->A[i])) return 1;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) {
      sunrealtype product = i == k ? -1 : 0;
      for (int l = 0; l < 3; l++) product += frame->A[l][i] * frame->A[l][k];
      if (!(fabs(product) < single))
        return asmtWrong(a, matrix, "its columns must be perpendicular unit vectors");
    }
  cross3(frame->A[0], frame->A[1], z);
  if (!(dot3(z, frame->A[2]) > 0))
    return asmtWrong(a, matrix, "it must be a rotation, and is a reflection");
  straighten(frame->A);
  return 0;
}

void asmtFollow(const AsmtFrame *a, const AsmtFrame *b, AsmtFrame *c) {
  AsmtFrame product = {.r = {a->r[0], a->r[1], a->r[2]}};
  for (int i = 0; i < 3; i++)
    for (int l = 0; l < 3; l++) {
      product.r[i] += a->A[i][l] * b->r[l];
      for (int k = 0; k < 3; k++) product.A[i][k] += a->A[i][l] * b->A[l][k];
    }
  *c = product;
}

void asmtPlaced(const Asmt *a, int part, const AsmtFrame *frame, AsmtFrame *out) {
  if (part == NONE) *out = *frame;
  else asmtFollow(&a->part[part].frame, frame, out);
}

int asmtAddPart(Asmt *a, int at, const char *name, const AsmtFrame *frame, CPBody *body) {
  if (ROOM(a->part, a->nparts, 1)) return asmtWrong(a, at, "no memory"), NONE;
  AsmtPart *part = &a->part[a->nparts];
  asmtName(a, name, part->name);
  part->frame = *frame;
  body->head  = (CPElement)CP_NEW_BODY(part->name);
  memcpy(body->position, frame->r, sizeof body->position);
  bodiesQuaternion(part->frame.A, body->quaternion);
  return asmtRefused(a, at, CPBodiesAdd(a->bodies, &body->head, NULL)) ? NONE : a->nparts++;
}

int asmtAddMarker(Asmt *a, int at, const char *assembly, const char *owner, AsmtMarker *own) {
  const char *name = asmtValue(a, at, "Name");
  if (!name) return asmtWrong(a, at, "Name must be given");
  const size_t size = strlen(assembly) + strlen(owner) + strlen(name) + 4;
  if (ROOM(a->marker, a->nmarkers, 1) || !(own->path = malloc(size)))
    return asmtWrong(a, at, "no memory");
  snprintf(own->path, size, "/%s%s%s/%s", assembly, *owner ? "/" : "", owner, name);
  a->marker[a->nmarkers++] = *own;
  return 0;
}

void asmtName(const Asmt *a, const char *path, char *name) {
  enum { MOST = 90, SIZE = 110 };
  const char *slash = strrchr(path, '/');
  char stem[MOST + 1];
  snprintf(stem, sizeof stem, "%s", slash && slash[1] ? slash + 1 : path);
  bodiesOneLine(stem, sizeof stem);
  for (char *c = stem; *c; c++)
    if (*c == ' ' || *c == '.') *c = '_';
  snprintf(name, SIZE, "%s", stem);
  for (int i = 2; bodiesTaken(&a->bodies->m, name); i++) snprintf(name, SIZE, "%s_%d", stem, i);
}

/* The functions of all objects: messages and counters. */
#include "object.h"

#include <stdarg.h>
#include <string.h>

/* ---- messages ---- */

/* The newest message of this thread, of any object or of none */
static _Thread_local char newest[CP_TEXT_LENGTH];

int cpReport(CPLog *log, int code, const char *function, const char *format, ...) {
  char text[CP_TEXT_LENGTH];
  va_list args;
  if (log && log->handling) return code; /* The message that is being handled stays the newest. */
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args); /* The arguments may include the older message. */
  va_end(args);
  memcpy(newest, text, sizeof text);
  if (log) memcpy(log->text, text, sizeof text);
  if (!log || !log->handler) return code;
  log->handling = 1;
  log->handler(code, function, text, log->data);
  log->handling = 0;
  return code;
}

int cpReentered(CPLog *log, const char *function) {
  return cpReport(log, CP_REENTERED, function,
                  "it must not be called by a function of yours that works for the same object (if "
                  "none runs, one was left by longjmp or an exception, and the object is lost)");
}

const char *CPObjectGetLastMessage(CPObject object) { return object ? object->text : newest; }

static int exists(CPObject object, const char *function) {
  return object ? CP_SUCCESS : cpReport(NULL, CP_MEM_NULL, function, "the object must not be NULL");
}

int CPObjectSetErrHandlerFn(CPObject object, CPErrHandlerFn handler, void *data) {
  int flag = exists(object, __func__);
  for (CPObject o = object; o && !flag; o = o->kind->owned ? o->kind->owned(o) : NULL)
    if (!(flag = cpIdle(o, __func__))) o->handler = handler, o->data = data;
  return flag;
}

/* ---- counters ---- */

typedef union {
  long int align;
  double align_real;
  char bytes[CP_MOST_COUNTERS];
} Counters;

static const CPCounter *countersOf(CPObject object) {
  static const CPCounter none = {NULL, 0, CP_OF_INT};
  return object->kind->counters ? object->kind->counters : &none;
}

static double valueOf(const Counters *counters, const CPCounter *c) {
  const void *at = counters->bytes + c->at;
  switch (c->type) {
  case CP_OF_LONG: return (double)*(const long int *)at;
  case CP_OF_INT: return (double)*(const int *)at;
  default: return *(const sunrealtype *)at;
  }
}

const char *CPObjectGetStatName(CPObject object, int i) {
  if (!object || i < 0) return NULL;
  const CPCounter *c = countersOf(object);
  while (c->name && i-- > 0) c++;
  return c->name;
}

int CPObjectGetStat(CPObject object, const char *name, sunrealtype *value) {
  const int flag = exists(object, __func__);
  if (flag) return flag;
  if (!name || !value) return cpRefuse(object, __func__, "name and value must not be NULL");
  const CPCounter *c = countersOf(object);
  while (c->name && strcmp(c->name, name)) c++;
  if (!c->name)
    return cpRefuse(object, __func__, "there is no counter \"%.80s\" (CPObjectGetStatName)", name);
  Counters counters;
  object->kind->read(object, &counters);
  *value = valueOf(&counters, c);
  return CP_SUCCESS;
}

int CPObjectPrintStats(CPObject object, FILE *out, SUNOutputFormat fmt) {
  const int flag = exists(object, __func__), table = fmt == SUN_OUTPUTFORMAT_TABLE;
  if (flag) return flag;
  if (!out) return cpRefuse(object, __func__, "out must not be NULL");
  if (!table && fmt != SUN_OUTPUTFORMAT_CSV)
    return cpRefuse(object, __func__, "fmt must be SUN_OUTPUTFORMAT_TABLE or _CSV, is %d", (int)fmt);
  Counters counters;
  const CPCounter *c = countersOf(object);
  if (c->name) object->kind->read(object, &counters);
  int bad = 0;
  for (int i = 0; c[i].name; i++) {
    const double value = valueOf(&counters, &c[i]);
    if (table) bad |= fprintf(out, "%-28s = %.10g\n", c[i].name, value) < 0;
    else bad |= fprintf(out, "%s%s,%.17g", i ? "," : "", c[i].name, value) < 0;
  }
  if (!table) bad |= fputc('\n', out) == EOF;
  return bad ? cpRefuse(object, __func__, "writing to out failed") : CP_SUCCESS;
}

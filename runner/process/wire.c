#include "wire.h"

#include "../options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum {
  WIRE_INFO,
  WIRE_SAMPLE,
  WIRE_STEP,
  WIRE_EVENT,
  WIRE_SCALES,
  WIRE_DIFFERENCE,
  WIRE_RESULT
} WireKind;

#define NO_MEMORY "no memory for the records of the run"

typedef struct {
  WireKind kind;
  size_t bytes; /* number of bytes that follow */
} WireHead;

/* Returns 0, or -1 if out of memory. */
static int keep(WireBuffer *b, const void *data, size_t bytes) {
  if (b->used + bytes > b->size) {
    const size_t size = 2 * (b->used + bytes);
    char *larger      = realloc(b->bytes, size);
    if (!larger) return -1;
    b->bytes = larger;
    b->size  = size;
  }
  if (bytes > 0) memcpy(b->bytes + b->used, data, bytes);
  b->used += bytes;
  return 0;
}

/* ---------------------------------------------------------------------------------- sending -- */

static int append(WireOut *w, const void *data, size_t bytes) {
  return keep(&w->buffer, data, bytes);
}

static int append_numbers(WireOut *w, const double *numbers, long count) {
  return append(w, numbers, (size_t)count * sizeof *numbers);
}

static int begin_record(WireOut *w, WireKind kind) {
  WireHead head;
  memset(&head, 0, sizeof head); /* includes the padding */
  head.kind      = kind;
  w->buffer.used = 0;
  return append(w, &head, sizeof head);
}

static int send_record(WireOut *w) {
  static const char zeros[sizeof(double)] = {0}; /* aligns the numbers of the next record */
  if (append(w, zeros, (sizeof zeros - w->buffer.used % sizeof zeros) % sizeof zeros)) return -1;
  WireHead *head  = (WireHead *)(void *)w->buffer.bytes;
  const char *end = w->buffer.bytes + w->buffer.used;
  head->bytes     = w->buffer.used - sizeof *head;
  for (const char *next = w->buffer.bytes; next < end;) {
    const ssize_t sent = write(w->file, next, (size_t)(end - next));
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return -1;
    next += sent;
  }
  return 0;
}

static int send_info(Listener *self, const RunInfo *info) {
  WireOut *w = (WireOut *)self;
  w->info    = info;
  return begin_record(w, WIRE_INFO) || append(w, info, sizeof *info) ||
                 append(w, info->settings, sizeof *info->settings) ||
                 append(w, info->kind, (size_t)info->npoints * sizeof *info->kind) ||
                 append(w, info->segment, (size_t)info->nsegments * sizeof *info->segment) ||
                 append(w, info->segment_kind,
                        (size_t)info->nsegments * sizeof *info->segment_kind) ||
                 append(w, info->shape, (size_t)info->nshapes * sizeof *info->shape) ||
                 append(w, info->contact, (size_t)info->ncontacts * sizeof *info->contact) ||
                 append(w, info->conserved, (size_t)info->nquantities * sizeof *info->conserved) ||
                 send_record(w)
             ? -1
             : 0;
}

static int send_sample(Listener *self, const Sample *s) {
  WireOut *w          = (WireOut *)self;
  const RunInfo *info = w->info;
  return begin_record(w, WIRE_SAMPLE) || append_numbers(w, &s->t, 1) ||
                 append_numbers(w, s->violation, NUM_LEVELS) || append_numbers(w, s->y, info->n) ||
                 append_numbers(w, s->quantity, info->nquantities) ||
                 append_numbers(w, s->lambda, info->nlambda) ||
                 append_numbers(w, s->points, 3L * info->npoints) ||
                 append_numbers(w, s->arrows, 6L * info->narrows) ||
                 append_numbers(w, s->gap, info->ncontacts) ||
                 append_numbers(w, s->phase, info->ncontacts) || send_record(w)
             ? -1
             : 0;
}

/* Sends a record that is one structure. */
static int send_one(Listener *self, WireKind kind, const void *data, size_t bytes) {
  WireOut *w = (WireOut *)self;
  return begin_record(w, kind) || append(w, data, bytes) || send_record(w) ? -1 : 0;
}

static int send_step(Listener *self, const Step *step) {
  return send_one(self, WIRE_STEP, step, sizeof *step);
}

static int send_event(Listener *self, const RunEvent *event) {
  return send_one(self, WIRE_EVENT, event, sizeof *event);
}

static int send_scales(Listener *self, const Scales *scales) {
  WireOut *w       = (WireOut *)self;
  const long count = w->info->nquantities;
  return begin_record(w, WIRE_SCALES) || append_numbers(w, scales->quantity, count) ||
                 append_numbers(w, scales->allowance, count) ||
                 append_numbers(w, scales->tighter, count) || append(w, scales, sizeof *scales) ||
                 send_record(w)
             ? -1
             : 0;
}

static int send_difference(Listener *self, const Difference *difference) {
  return send_one(self, WIRE_DIFFERENCE, difference, sizeof *difference);
}

static int send_result(Listener *self, const RunResult *result) {
  return send_one(self, WIRE_RESULT, result, sizeof *result);
}

void wire_out_create(WireOut *w, int file) {
  *w = (WireOut){.listener = {send_info, send_sample, send_step, send_event, send_scales,
                              send_difference, send_result},
                 .file     = file};
}

void wire_out_free(WireOut *w) { free(w->buffer.bytes); }

/* -------------------------------------------------------------------------------- receiving -- */

/* Returns a copy of the next bytes, or NULL if out of memory. */
static void *take_array(const char **bytes, size_t length) {
  void *copy = malloc(length + 1);
  if (copy) memcpy(copy, *bytes, length);
  *bytes += length;
  return copy;
}

/* Calls a function of all listeners that have it. One that fails ends the calling function. */
#define TELL(w, function, record)                         \
  for (int i = 0; i < (w)->count; i++) {                  \
    Listener *l = (w)->listeners[i];                      \
    if (l->function && l->function(l, record)) return -1; \
  }

static int take_info(WireIn *w, const char *bytes) {
  RunInfo *info = w->info;
  memcpy(info, bytes, sizeof *info);
  bytes += sizeof *info;
  info->settings     = take_array(&bytes, sizeof *info->settings);
  info->kind         = take_array(&bytes, (size_t)info->npoints * sizeof *info->kind);
  info->segment      = take_array(&bytes, (size_t)info->nsegments * sizeof *info->segment);
  info->segment_kind = take_array(&bytes, (size_t)info->nsegments * sizeof *info->segment_kind);
  info->shape        = take_array(&bytes, (size_t)info->nshapes * sizeof *info->shape);
  info->contact      = take_array(&bytes, (size_t)info->ncontacts * sizeof *info->contact);
  info->conserved    = take_array(&bytes, (size_t)info->nquantities * sizeof *info->conserved);
  if (!info->settings || !info->kind || !info->segment || !info->segment_kind || !info->shape ||
      !info->contact || !info->conserved)
    return complain(NO_MEMORY);
  for (; w->begun < w->count; w->begun++) {
    Listener *l = w->listeners[w->begun];
    if (l->begin && l->begin(l, info)) return -1;
  }
  return 0;
}

static int take_sample(const WireIn *w, const char *bytes) {
  const RunInfo *info   = w->info;
  const double *numbers = (const double *)(const void *)bytes;
  Sample s              = {.t = numbers[0]};
  memcpy(s.violation, numbers + 1, sizeof s.violation);
  s.y        = numbers + 1 + NUM_LEVELS;
  s.quantity = s.y + info->n;
  s.lambda   = s.quantity + info->nquantities;
  s.points   = s.lambda + info->nlambda;
  s.arrows   = s.points + 3L * info->npoints;
  s.gap      = s.arrows + 6L * info->narrows;
  s.phase    = s.gap + info->ncontacts;
  TELL(w, sample, &s)
  return 0;
}

static int take_step(const WireIn *w, const char *bytes) {
  Step step;
  memcpy(&step, bytes, sizeof step);
  TELL(w, step, &step)
  return 0;
}

static int take_event(const WireIn *w, const char *bytes) {
  RunEvent event;
  memcpy(&event, bytes, sizeof event);
  TELL(w, event, &event)
  return 0;
}

static int take_scales(const WireIn *w, const char *bytes) {
  const double *numbers = (const double *)(const void *)bytes;
  const long count      = w->info->nquantities;
  Scales scales;
  memcpy(&scales, numbers + 3 * count, sizeof scales);
  scales.quantity  = numbers;
  scales.allowance = numbers + count;
  scales.tighter   = numbers + 2 * count;
  TELL(w, scales, &scales)
  return 0;
}

static int take_difference(const WireIn *w, const char *bytes) {
  Difference difference;
  memcpy(&difference, bytes, sizeof difference);
  TELL(w, difference, &difference)
  return 0;
}

static int take_record(WireIn *w, WireKind kind, const char *bytes) {
  switch (kind) {
  case WIRE_INFO: return take_info(w, bytes);
  case WIRE_SAMPLE: return take_sample(w, bytes);
  case WIRE_STEP: return take_step(w, bytes);
  case WIRE_EVENT: return take_event(w, bytes);
  case WIRE_SCALES: return take_scales(w, bytes);
  case WIRE_DIFFERENCE: return take_difference(w, bytes);
  default: memcpy(w->result, bytes, sizeof *w->result); w->finished = true;
  }
  return 0;
}

int wire_take(WireIn *w, const char *bytes, size_t length) {
  WireBuffer *b = &w->buffer;
  size_t at     = 0;
  WireHead head;
  if (w->refused) return -1;
  if (keep(b, bytes, length)) return complain(NO_MEMORY);
  while (b->used - at >= sizeof head) {
    memcpy(&head, b->bytes + at, sizeof head);
    if (b->used - at < sizeof head + head.bytes) break;
    w->refused = take_record(w, head.kind, b->bytes + at + sizeof head) != 0;
    if (w->refused) return -1;
    at += sizeof head + head.bytes;
  }
  memmove(b->bytes, b->bytes + at, b->used - at);
  b->used -= at;
  return 0;
}

void wire_in_free(WireIn *w) { free(w->buffer.bytes); }

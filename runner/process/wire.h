/* The records of a run on a pipe: in the run's process a Listener that sends them, in the parent a
 * reader that calls the listeners. Both ends are the same program, so structs are sent as they are. */
#ifndef CPODES_RUNNER_WIRE_H
#define CPODES_RUNNER_WIRE_H

#include "../simulation/records.h"

typedef struct {
  char *bytes;
  size_t used, size;
} WireBuffer;

/* ---- the run's end ---- */

typedef struct {
  Listener listener;
  int file;
  const RunInfo *info;
  WireBuffer buffer; /* one record, sent at once, so that a crash loses no complete record */
} WireOut;

void wire_out_create(WireOut *wire, int file);
void wire_out_free(WireOut *wire);

/* ---- the parent's end ---- */

typedef struct {
  Listener *const *listeners;
  int count, begun; /* listeners that have begun */
  RunInfo *info;    /* owned by the caller; its arrays are allocated here */
  RunResult *result;
  bool finished; /* has the result arrived? */
  bool refused;  /* has a listener ended the run? */
  WireBuffer buffer;
} WireIn;

/* Takes all complete records from the bytes [length] that have been read. Returns 0, or -1 if a
 * listener ends the run, or if out of memory. */
int wire_take(WireIn *wire, const char *bytes, size_t length);
void wire_in_free(WireIn *wire);

#endif

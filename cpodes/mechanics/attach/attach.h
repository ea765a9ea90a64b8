/* A mechanical system in an integrator. What all integrators are given: attach.c; what is special about
 * CPode: multistep.c; about CPOneStep: onestep.c. */
#ifndef CPODES_ATTACH_H
#define CPODES_ATTACH_H

#include "cpodes/mechanics/actions/actions.h"

/* A kind of integrator. mem: its memory. */
typedef struct {
  /* Is this memory one to attach to? 0, or a code, reported for function. */
  int (*check)(CPMech mech, void *mem, const char *function);
  /* Has it a right-hand side already? */
  int (*isInitialised)(void *mem);
  /* ... then again from (t0, y0), else from there with cpMechRhs. 0, or a code. */
  int (*start)(void *mem, sunrealtype t0, N_Vector y0);
  /* Once, after the first start: what is the mechanical system's. 0, or a code. */
  int (*install)(CPMech mech, void *mem);
  /* Where it keeps its messages. */
  CPLog *(*log)(void *mem);
  /* Function that creates one, for messages. */
  const char *create;
} CPAttachment;

int cpMechAttach(CPMech mech, const CPAttachment *kind, void *mem, sunrealtype t0, N_Vector y0,
                 const char *function);

/* The functions of mech, as any integrator is given them. */
CPSystem cpMechSystem(CPMech mech);

#endif

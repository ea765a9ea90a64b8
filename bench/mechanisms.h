/* The mechanisms of the catalogue (examples/models) as the benchmarks run them. */
#ifndef CPODES_BENCH_MECHANISMS_H
#define CPODES_BENCH_MECHANISMS_H

#include <models/chain.h>
#include <models/model.h>

typedef struct {
  const char *name;
  CPPlugin *model;
  CPConstraintJacFn G; /* its dense dc/dy, or NULL if it is only a mechanical system */
  Chain *chain;        /* if NULL, there is no hand-written projection for CVODES' own hook */
  sunrealtype t_end;   /* starts at 0 */
  N_Vector y_end;      /* reference at t_end; if it is not accurate to 5e-11, the caller sets it */
} Mechanism;

/* name: one of the catalogue, with its parameters; chainN with N = 1, 2, 3, 10 or 100 masses. Ends
 * the program if there is none of this name. */
Mechanism *mechanism_create(const char *name, SUNContext ctx);
void mechanism_free(Mechanism **mechanism);

/* max_i |y_i - reference_i| at t_end: of the whole state, or of the positions if the mechanism is
 * stiff or only a mechanical system; and over the positions, the first half of the state */
sunrealtype mechanism_error(const Mechanism *mechanism, N_Vector y);
sunrealtype mechanism_position_error(const Mechanism *mechanism, N_Vector y);

#endif

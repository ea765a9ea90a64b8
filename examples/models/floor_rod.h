/* Uniform rod above a floor that both of its ends may touch: what impacting_stick_type.c and painleve_rod_type.c share.
 * Equations: floor_body.h, with J = m l^2 / 12 and the points (-+l/2, 0). */
#ifndef CPODES_EXAMPLES_FLOOR_ROD_H
#define CPODES_EXAMPLES_FLOOR_ROD_H

#include "floor_body.h"

typedef struct {
  FloorBody rod; /* first: the user_data of its functions */
  CPContactPoint end[2];
} FloorRod;

/* All of CPModelType.create but the start and other constants of the contacts; mass m, length l, gravity g. model->data becomes a
 * FloorRod. 0, or -1. */
int floor_rod_create(CPModel *model, sunrealtype m, sunrealtype l, sunrealtype g, sunrealtype mu,
                     const char *const *names);
/* For CPModelType.points; the floor leads from -l to right. */
void floor_rod_points(const CPModel *model, N_Vector y, sunrealtype right, sunrealtype *xyz);

#endif

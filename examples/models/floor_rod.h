/* Uniform rod above a floor that both of its ends may touch, shared by impacting_stick_type.c and painleve_rod_type.c.
 * Equations: floor_body.h, with J = m l^2 / 12 and the points (-+l/2, 0). */
#ifndef CPODES_EXAMPLES_FLOOR_ROD_H
#define CPODES_EXAMPLES_FLOOR_ROD_H

#include "floor_body.h"

typedef struct {
  FloorBody rod; /* first: the user_data of its functions */
  CPContactPoint end[2];
} FloorRod;

/* CPPluginType.create without the start and other constants of the contacts, for the mass m, the length l and the gravity g.
 * model->data becomes a FloorRod. Returns 0 or -1. */
int floor_rod_create(CPPlugin *model, sunrealtype m, sunrealtype l, sunrealtype g, sunrealtype mu,
                     const char *const *names);
/* For CPPluginType.points. The floor extends from -l to right. */
void floor_rod_points(const CPPlugin *model, N_Vector y, sunrealtype right, sunrealtype *xyz);

#endif

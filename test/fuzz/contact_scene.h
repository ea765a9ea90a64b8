/* The bodies that touch the floor y = 0 in the campaign:
 *
 *   a block in the plane, q = (x, y, theta), of mass 1, whose lower corners are contacts with friction
 *   a point in space, q = (x, y, z), of mass 1, with friction in two directions
 *
 * Only weight and contacts act, so that energy never grows. */
#ifndef CPODES_FUZZ_CONTACT_SCENE_H
#define CPODES_FUZZ_CONTACT_SCENE_H

#include "mechanism.h"

#include <cpodes/cpodes_contact.h>

enum { SCENE_U = 3, SCENE_N = 2 * SCENE_U, SCENE_CONTACTS = 2, SCENE_ROWS = 4 };

typedef struct {
  int in_space;
  Form form;           /* DENSE, CSC, CSR */
  sunrealtype a, b, J; /* half the width and half the height of the block, its moment of inertia */
  int ncontacts, nrows;
} Scene;

/* Selects the scene whose functions are those below. */
void scene_use(const Scene *scene);
/* The caller frees the templates in the model. Returns 0 if out of memory. */
int scene_model(const Scene *scene, int own_velocity, SUNContext ctx, CPEquations *model);
/* Gaps [ncontacts] */
void scene_gaps(const Scene *scene, const sunrealtype *q, sunrealtype *gap);
sunrealtype scene_energy(const Scene *scene, const sunrealtype *y);
/* x' */
int scene_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data);

#endif

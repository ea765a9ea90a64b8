/* Meshes of COLLADA files (collada.c) */
#ifndef CPODES_BODIES_COLLADA_H
#define CPODES_BODIES_COLLADA_H

#include <stddef.h>
#include <sundials/sundials_types.h>

/* Takes the corners of a triangle, counterclockwise as seen from outside. Returns 1 if out of memory. */
typedef int (*TakeTriangle)(void *to, sunrealtype corner[3][3]);

/* Gives all triangles of the scene of a file in metres to `take`. Returns NULL, or what is wrong with the file. */
const char *colladaRead(const char *data, size_t size, TakeTriangle take, void *to);

#endif

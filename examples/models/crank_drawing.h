/* Drawing of a slider-crank with a spring-damper, shared by slider_crank_type.c and bushing_crank_type.c. */
#ifndef CPODES_EXAMPLES_CRANK_DRAWING_H
#define CPODES_EXAMPLES_CRANK_DRAWING_H

#include "model.h"

/* As CPPluginDraw. */
int crank_draw(CPPlugin *model);
/* The points' coordinates. a: length of the crank; q: its angle; x, y: of the slider joint; p: angle of
 * the rod */
void crank_points(sunrealtype a, sunrealtype q, sunrealtype x, sunrealtype y, sunrealtype p,
                  sunrealtype *xyz);

#endif

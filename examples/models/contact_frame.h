/* Frame of a contact in the plane z = 0, for CPPluginType.contact_frames: frame [12] (out) is the point (x, y), the normal
 * (-s, c) and the direction (c, s) of a surface at the angle whose cosine and sine are c and s, and no second direction. */
#ifndef CPODES_EXAMPLES_CONTACT_FRAME_H
#define CPODES_EXAMPLES_CONTACT_FRAME_H

#include <sundials/sundials_types.h>

static inline void planar_contact_frame(sunrealtype x, sunrealtype y, sunrealtype c, sunrealtype s,
                                        sunrealtype *frame) {
  for (int i = 0; i < 12; i++) frame[i] = 0;
  frame[0] = x, frame[1] = y;
  frame[3] = 0 - s, frame[4] = c; /* 0, not -0, where s is 0 */
  frame[6] = c, frame[7] = s;
}

#endif

/* Loops that are redundant but for rounding (redundant.c) */
#ifndef CPODES_BODIES_LOOPS_H
#define CPODES_BODIES_LOOPS_H

#include "bodies_impl.h"

typedef struct Loops_ *Loops;
/* loops: out, NULL if there are none. mask [nv]: rows that are off are 0. Returns 0 or CP_MEM_FAIL. */
int bodiesFindLoops(CPModel model, Mechanism *b, const int *mask, sunrealtype extent, Loops *loops);
void bodiesFreeLoops(Loops l);
/* text: out, the names of the joints of the loops to which this joint belongs */
void bodiesTellLoop(Loops l, int joint, char *text, size_t length);
/* At q, where p [np] are the position rows, finds rows at angles below `narrow` with others, sets their mask to 0, and
 * adds their equations to l. narrow = 0: these are the rows whose mask is 0 already. sine: out, the largest one of their
 * angles. Returns their number or CP_MEM_FAIL. */
int bodiesLoopsAt(Loops l, sunrealtype t, const sunrealtype *q, const sunrealtype *p,
                  sunrealtype narrow, int *mask, sunrealtype *sine);
int bodiesEquations(const struct Loops_ *l);
/* At the newest position: the least sine of a row that is not narrow, in its turn. Below bodiesSharp there are no
 * equations, unless narrow was 0. */
sunrealtype bodiesClear(const struct Loops_ *l);
extern const sunrealtype bodiesSharp;
/* The largest violation in the equations from the first-th one on. */
sunrealtype bodiesOpen(const struct Loops_ *l, int first);
/* The equations from the first-th one on are those of the same rows at q, q + h w and q + h v (w [2 nu]: w, v). y [2]:
 * out, where q + y_0 w + y_1 v has the least u^T A. Leaves the equations at q, with the violation of each row where its
 * own u^T A vanishes. Returns 0 if y is not unique. */
int bodiesTurn(Loops l, int first, sunrealtype h, const sunrealtype *w, sunrealtype *y);
/* Forgets all equations from the first-th one on. */
void bodiesForgetEquations(Loops l, int first);
/* move [6 njoints]: out, motions of the joints' frames: the sum of squares of the equations and of damping * motions is
 * least. Returns 0 or CP_MEM_FAIL. */
int bodiesFitLoops(Loops l, sunrealtype damping, sunrealtype *move);
/* Chooses the side of each joint whose frame may be moved. count: [nbodies] room, zeros */
void bodiesChooseFrames(Mechanism *b, int *count);
/* Moves the frames, and adds the motions to b->shift. */
void bodiesMoveFrames(Mechanism *b, const sunrealtype *move);

#endif

/* How motions and forces of a tree change where its joints are placed otherwise, at the same (q, u, u') */
#ifndef CPODES_BODIES_VARIATIONS_H
#define CPODES_BODIES_VARIATIONS_H

#include "tree.h"

/* A placement on a body moves as a rigid one: it turns about the centre of mass and moves with it, in the axes of the body. */
typedef struct {
  sunrealtype turn[3], move[3];
} Shift;

/* The change of a motion, in the axes of space: the rotation and the move of the centre of mass, and what w, v, alpha and a of a pose
 * change by */
typedef struct {
  sunrealtype turn[3], move[3], w[3], v[3], alpha[3], acc[3];
} Variation;

/* The same of a motion as that of a point of space: field of rotations and moves, of velocities, and of spatial accelerations */
typedef struct {
  sunrealtype turn[3], move[3];
} Field;
typedef struct {
  Field moved, velocity, acceleration;
} Varied;

/* change += that of the motion of a place that is fixed in the body with this pose, where it is shifted there */
void bodiesShift(const Pose *pose, const Shift *shift, Variation *change);
/* side [2 npairs]: the shifts of both sides of the pairs. varied [nnodes], body [nbodies]: out, where the nodes and the bodies have
 * moved to (q, u, u') */
void treeVary(const Mechanism *b, const Shift *side, Varied *varied, Variation *body);
/* Forces on bodies are vectors [6 nbodies]: for each body the force, then the moment about its centre of mass in its own axes. own
 * [nbodies]: out, both in the axes of space; sum [nnodes]: out, the wrenches on the subtrees of the nodes */
void treeSumForces(const Mechanism *b, const sunrealtype *force, Wrench *own, Wrench *sum);
/* tau [nu] += the change of J^T f for forces f on bodies, which treeSumForces has summed and which change by df; work [nnodes] */
void treePullChange(const Mechanism *b, const Varied *varied, const Variation *body,
                    const Wrench *own, const Wrench *sum, const sunrealtype *df, Wrench *work,
                    sunrealtype *tau);

#endif

/* Inertias and forces of bodies about the origins of their nodes, in the axes of space. Transport to the parent is a shift by r:
 *
 *   G_p = G - M [r],   J_p = J + Z + Z^T,   Z = [r] (G - M [r] / 2),   N_p = N + r x F
 *
 * for the inertia F = M a + G alpha, N = G^T a + J alpha. */
#ifndef CPODES_BODIES_SPATIAL_H
#define CPODES_BODIES_SPATIAL_H

#include "tree.h"

/* The inertia of a node's body in the axes of space; h: out, m c */
CP_WIDE_PART void rigid(const Node *node, const Motion *at, Inertia *I, Column *h) {
  static const Column zero = {0};
  const sunrealtype *of    = node->I;
  Column R[3], P[3]; /* P = R I */
  axes3(at->R, R);
  times3(R, node->h, h);
  const sunrealtype x = (*h)[0], y = (*h)[1], z = (*h)[2], m = node->m;
  I->M[0] = (Column){m, 0, 0, 0}, I->M[1] = (Column){0, m, 0, 0}, I->M[2] = (Column){0, 0, m, 0};
  I->G[0] = (Column){0, -z, y, 0}, I->G[1] = (Column){z, 0, -x, 0}, I->G[2] = (Column){-y, x, 0, 0};
  P[0] = R[0] * of[0] + R[1] * of[3] + R[2] * of[4];
  P[1] = R[0] * of[3] + R[1] * of[1] + R[2] * of[5];
  P[2] = R[0] * of[4] + R[1] * of[5] + R[2] * of[2];
  for (int j = 0; j < 3; j++) {
    I->J[j] = zero;
    for (int k = 0; k < 3; k++) I->J[j] += P[k] * at->R[k][j];
  }
}

/* up += I, shifted by r */
CP_WIDE_PART void shift(const Inertia *I, const Column *r, Inertia *up) {
  static const sunrealtype half = SUN_RCONST(0.5);
  const Column *M = I->M, d = *r;
  const Column N[3] = {M[1] * d[2] - M[2] * d[1], M[2] * d[0] - M[0] * d[2],
                       M[0] * d[1] - M[1] * d[0]}; /* M [r] */
  Column Z[3];
  for (int j = 0; j < 3; j++) {
    const Column Q = I->G[j] - half * N[j];
    vector3(&d, &Q, &Z[j]);
    up->M[j] += M[j];
    up->G[j] += I->G[j] - N[j];
    up->J[j] += I->J[j];
  }
  addSymmetric3(Z, up->J);
}

/* F = m a + alpha x h + w x (w x h),   N = h x a + J alpha + w x J w, at the accelerations of u' = 0 */
CP_WIDE_PART void bodyForce(const Node *node, const Motion *at, const Column *h, Articulated *own) {
  Column w, a, alpha, swing, turned, spin, x;
  load3(at->w, &w), load3(at->a, &a), load3(at->alpha, &alpha);
  vector3(&w, h, &swing);
  vector3(&w, &swing, &turned);
  vector3(&alpha, h, &x);
  own->F = node->m * a + x + turned;
  times3(own->I.J, at->w, &spin);
  vector3(&w, &spin, &turned);
  vector3(h, &a, &x);
  own->N = x + turned;
  addTimes3(own->I.J, at->alpha, &own->N);
}

#endif

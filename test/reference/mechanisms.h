/* Mechanisms for tests only, in the form of the catalogue's (cpodes_plugin.h): model_of and model_run.h take them.
 *
 *   bennett    Bennett's linkage: four revolute joints in space, 20 rows of rank 17
 *   goldberg   Goldberg's linkage: five of them, 25 rows of rank 23
 *   sarrus     Sarrus' linkage: six of them, 30 rows of rank 29
 *     parameters of these: b = 1: given by formulas, 0: by differences; sparse = 0: dense matrices, 1: CSC
 *
 *   cranks     planar: three parallel cranks and their coupler, away from the singular positions; 12 rows of rank
 *              11. redundant = 0: without the last row, which the others imply: 11 independent rows
 *   platform   a body on six legs whose lengths are given functions of t: no freedom left
 *   ball       a spinning ball, whose inertia is that of a sphere: nothing but the norm of its quaternion is
 *              constrained. floor = 1: it bounces, with the restitution e; its height at first is 1 m
 *
 * References: linkages and cranks by extrapolation for one variable, which knows no constraint; platform by
 * construction; ball in closed form.
 */
#ifndef CPODES_TEST_MECHANISMS_H
#define CPODES_TEST_MECHANISMS_H

#include "models/model.h"

extern const CPPluginType bennett_type, goldberg_type, sarrus_type, cranks_type, platform_type,
    ball_type;

/* The time of impact n = 1, 2, ... of the ball; the highest point follows half way to the next
 * impact. */
sunrealtype ball_impact(const CPPlugin *model, int n);

#endif

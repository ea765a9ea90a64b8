/* What couples the joints of files in SDF: mimic, screws, gearboxes, and limits that hold. */
#include "sdf_impl.h"

#include <string.h>

/* x_t = multiplier (x_leader - reference) + offset */
static int readMimic(Sdf *s, SdfThing *t, const char *tag, int i) {
  const xmlNode *axis = robotChild(t->node, tag), *n = robotChild(axis, "mimic");
  sunrealtype multiplier = 1, offset = 0, reference = 0;
  if (!n || i == NONE) return 0;
  const char *to = robotText(n, "joint"), *which = robotText(n, "axis");
  const int leader = sdfFind(s, t->scope, n, to);
  if (leader < 0) return 1;
  const int j = s->thing[leader].kind == SDF_JOINT
                    ? s->thing[leader].joint[which && !strcmp(which, "axis2")]
                    : NONE;
  if (j == NONE) return robotWrong(s->r, n, "the joint \"%.60s\" has no such axis", to);
  if (sdfNumber(s, n, "multiplier", &multiplier) || sdfNumber(s, n, "offset", &offset) ||
      sdfNumber(s, n, "reference", &reference))
    return 1;
  return robotCouple(s->r, n, NULL, i, j,
                     (sunrealtype[5]){offset - multiplier * reference, multiplier});
}

/* A screw moves by `screw_thread_pitch` in a turn; the older thread_pitch is -2 pi / that. */
static int coupleScrew(Sdf *s, const SdfThing *t) {
  const sunrealtype turn = 2 * acos(-1.0);
  sunrealtype pitch = 1, old = 0;
  if (sdfNumber(s, t->node, "thread_pitch", &old)) return 1;
  if (old != 0) pitch = -turn / old;
  if (sdfNumber(s, t->node, "screw_thread_pitch", &pitch)) return 1;
  return robotCouple(s->r, t->node, NULL, t->joint[1], t->joint[0],
                     (sunrealtype[5]){0, pitch / turn});
}

/* The hinge between two links, by links of the robot, and the sign of its angle about an axis; or NONE */
static int hingeBetween(Sdf *s, int from, int to, const sunrealtype *axis, int *sign) {
  for (int i = 0; i < s->nthings; i++) {
    const SdfThing *t = &s->thing[i];
    sunrealtype own[3];
    if (t->kind != SDF_JOINT || (!sdfIs(t, "revolute") && !sdfIs(t, "continuous"))) continue;
    const int link[2] = {sdfOnLink(s, t->side[0]), sdfOnLink(s, t->side[1])},
              back    = link[0] == to && link[1] == from;
    if (!back && (link[0] != from || link[1] != to)) continue;
    if (sdfAxis(s, t, "axis", own)) return NONE;
    *sign = (dot3(own, axis) < 0) == back ? 1 : -1;
    return t->joint[0];
  }
  return NONE;
}

/* theta_2 = -ratio theta_1, where theta_1 and theta_2 are the angles of parent and child relative to a third link. */
static int coupleGears(Sdf *s, const SdfThing *t) {
  sunrealtype ratio = 1, axis[2][3];
  const char *to    = sdfChildText(t->node, "gearbox_reference_body");
  int reference, joint[2], sign[2];
  if (!to || !*to) return robotWrong(s->r, t->node, "gearbox_reference_body must be given");
  if (sdfNumber(s, t->node, "gearbox_ratio", &ratio) ||
      sdfLinkOf(s, t->scope, t->node, to, &reference) || sdfAxis(s, t, "axis", axis[0]) ||
      sdfAxis(s, t, "axis2", axis[1]))
    return 1;
  for (int k = 0; k < 2; k++) {
    joint[k] = hingeBetween(s, sdfOnLink(s, reference), sdfOnLink(s, t->side[k]), axis[k], &sign[k]);
    if (s->r->message[0]) return 1;
    if (joint[k] == NONE)
      return robotNote(s->r, t->node,
                       "gearboxes without a hinge between each gear and the reference");
  }
  return robotCouple(s->r, t->node, t->path, joint[1], joint[0],
                     (sunrealtype[5]){0, -ratio * sign[0] * sign[1]});
}

int sdfCouple(Sdf *s) {
  for (int i = 0; i < s->nthings; i++) {
    SdfThing *t = &s->thing[i];
    if (t->kind != SDF_JOINT) continue;
    if (sdfIs(t, "gearbox")) {
      if (coupleGears(s, t)) return 1;
    } else if ((sdfIs(t, "screw") && t->joint[0] != NONE && coupleScrew(s, t)) ||
               readMimic(s, t, "axis", t->joint[0]) || readMimic(s, t, "axis2", t->joint[1]))
      return 1;
  }
  return 0;
}

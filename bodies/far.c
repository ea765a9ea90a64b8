/* Contacts of bodies far from each other (CPEquations.far_rows). A ball about the centre of mass of a body contains what touches, in
 * all orientations: so the centres of mass, and their speeds, bound gaps from below. */
#include "bodies_impl.h"

#include <math.h>

/* The radius of the ball about the centre of mass that contains the solid of a side. The ground has none: there it is that about the
 * side's point. */
static sunrealtype reachOf(const Side *side, const Solid *solid) {
  const sunrealtype offset = side->body == GROUND ? 0 : sqrt(dot3(side->point, side->point));
  return offset + sqrt(dot3(solid->half, solid->half)) + solid->skin;
}

/* A lower bound of the gap between the two solids at these centres of mass: the distance of balls around them, or that from the plane
 * `normal` on the ground; speed: out, at which balls approach each other at most */
static sunrealtype apart(const Pair *pair, sunrealtype reach, const sunrealtype *normal,
                         const Pose *centre, sunrealtype *speed) {
  const Side *side = pair->side;
  sunrealtype d[3] = {0}, v[3] = {0};
  for (int i = 0; i < 2; i++) {
    const int body = side[i].body, sign = i ? 1 : -1;
    if (body != GROUND) add3(sign, centre[body].r, d), add3(sign, centre[body].v, v);
    else add3(sign, side[i].point, d);
  }
  *speed = sqrt(dot3(v, v));
  return (normal ? dot3(normal, d) : sqrt(dot3(d, d))) - reach;
}

/* Is the gap of a contact above the margin at the state of the poses, an end of a step of length h, and too far from it for the speeds there? */
static int isFar(const Mechanism *b, const Contact *contact, sunrealtype h, sunrealtype margin) {
  const Joint *joint   = &b->joint[contact->joint];
  const Pair *pair     = &b->pair[joint->pair];
  const Side *side     = pair->side;
  const Measure *m     = &bodiesRowTerm(b, &b->row[joint->first], 0)->m;
  const Core core[]    = {pair->solid[0].core, pair->solid[1].core};
  const sunrealtype *z = NULL;
  sunrealtype reach, speed;
  if (m->kind == ALONG && contact->on == CP_ON_PLANE && joint->kind == CP_JOINT_ROLLING) {
    if (m->from != 0 || side[0].body != GROUND) return 0;
    z     = side[0].axis[m->i];
    reach = reachOf(
        &side[1],
        &(Solid){POINT_CORE, {0}, contact->radius == NONE ? 0 : fabs(b->param[contact->radius])});
  } else if (m->kind == NEAR) {
    if (core[0] == NO_SOLID) return pair->solid[0].half[0] > margin;
    if (core[0] == LINE || core[1] == LINE || core[1] == HALF_SPACE) return 0;
    if (core[0] == HALF_SPACE && side[0].body != GROUND) return 0;
    reach = reachOf(&side[1], &pair->solid[1]);
    if (core[0] == HALF_SPACE) z = side[0].axis[2];
    else reach += reachOf(&side[0], &pair->solid[0]);
  } else return 0;
  const sunrealtype gap = apart(pair, reach, z, b->pose, &speed);
  return gap > h * speed + margin * (1 + reach);
}

int bodiesFarRows(const sunrealtype *const q[2], const sunrealtype *const u[2], sunrealtype h,
                  sunrealtype margin, char *far, void *mechanism) {
  Mechanism *b = mechanism;
  int any      = 1;
  for (int end = 0; end < 2 && any; end++) {
    bodiesPoses(b, q[end], u[end], NULL);
    any = 0;
    for (int i = 0; i < b->ncontacts; i++) {
      const Joint *joint = &b->joint[b->contact[i].joint];
      if (joint->nrows == 0) continue;
      char *row = &far[b->row[joint->first].first];
      if (end == 0 || *row) *row = (char)isFar(b, &b->contact[i], h, margin);
      any |= *row;
    }
  }
  return 0;
}

/* Contacts of balls, discs, cylinders and boxes, each with the rows of a rolling joint. */
#include "elements.h"
#include "ropes.h"

#include <stdio.h>
#include <string.h>

enum { NUM_ON = CP_ON_SURFACE + 1, NUM_TOUCH = CP_TOUCH_BOX + 1 };

/* What the balls or edges of a contact are: their number, and the kind of joint whose rows each of
 * them has. */
static const struct {
  const char *name;
  int count[2]; /* in the plane, in space; 0: not available */
  CPJointKind kind;
} touches[NUM_TOUCH] = {{"ball", {1, 1}, CP_JOINT_ROLLING},
                        {"disc", {0, 1}, CP_JOINT_ROLLING_DISC},
                        {"cylinder", {0, 2}, CP_JOINT_ROLLING_DISC},
                        {"box", {4, 8}, CP_JOINT_ROLLING}};

const char *bodiesTouchName(int touch) {
  return touch >= 0 && touch < NUM_TOUCH ? touches[touch].name : NULL;
}

/* Checks the constants of a contact. Returns 0 or an error code that has been reported. */
static int checkLaw(CPBodies b, const char *name, const CPContactLaw *law) {
  if (!(law->mu >= 0) || !isfinite(law->mu) || !(law->mu_static >= 0) || !isfinite(law->mu_static))
    return refused(
        b, CP_ILL_INPUT,
        "%.100s: friction and sticking must be finite and not negative, and are %g and %g", name,
        (double)law->mu, (double)law->mu_static);
  if (!(law->restitution >= 0 && law->restitution <= 1))
    return refused(b, CP_ILL_INPUT, "%.100s: restitution must be from 0 to 1, and is %g", name,
                   (double)law->restitution);
  if (law->kind != CP_RESTITUTION_NEWTON && law->kind != CP_RESTITUTION_POISSON)
    return refused(b, CP_ILL_INPUT, "%.100s: the law must be of CPRestitution, and is %d", name,
                   (int)law->kind);
  if (!(law->tangential >= 0 && law->tangential <= (law->kind == CP_RESTITUTION_NEWTON)))
    return refused(b, CP_ILL_INPUT,
                   "%.100s: law.tangential must be from 0 to 1, with Poisson's law 0, and is %g",
                   name, (double)law->tangential);
  return CP_SUCCESS;
}

/* Checks the shapes of a contact. Returns 0 or an error code that has been reported. */
static int checkContact(CPBodies b, const CPBodyContact *c) {
  const char *name = c->head.name ? c->head.name : "";
  const int planar = b->m.space.dimension == 2, touch = (int)c->touch, on = (int)c->on;
  if (!bodiesTouchName(touch) || on < 0 || on >= NUM_ON)
    return refused(b, CP_ILL_INPUT,
                   "%.100s: on and touch must be of CPContactOn and CPContactTouch, and are %d "
                   "and %d",
                   name, on, touch);
  if (touches[touch].count[!planar] == 0)
    return refused(b, CP_NOT_SUPPORTED,
                   "%.100s: there is no %s in the plane, where a ball is a disc", name,
                   touches[touch].name);
  if (touches[touch].kind == CP_JOINT_ROLLING_DISC && on != CP_ON_PLANE)
    return refused(b, CP_NOT_SUPPORTED, "%.100s: the edge of a %s touches planes only", name,
                   touches[touch].name);
  if (!c->surface != (on != CP_ON_SURFACE))
    return refused(
        b, CP_ILL_INPUT,
        "%.100s: CP_ON_SURFACE needs the function `surface`, and other kinds must have none", name);
  const sunrealtype rho = c->radius_a + c->radius;
  if (on == CP_ON_SPHERE && (!isfinite(rho) || rho == 0 || (c->radius_a < 0 && rho > 0)))
    return refused(b, CP_ILL_INPUT,
                   "%.100s: radius_a + radius must not be 0, nor positive with a hollow sphere "
                   "(radius_a < 0); they are %g and %g",
                   name, (double)c->radius_a, (double)c->radius);
  for (int k = touch == CP_TOUCH_BOX ? 0 : 2; k < b->m.space.dimension && touch > CP_TOUCH_DISC; k++)
    if (!(c->size[k] > 0) || !isfinite(c->size[k]))
      return refused(b, CP_ILL_INPUT, "%.100s: all sizes must be positive, and one is %g", name,
                     (double)c->size[k]);
  return CP_SUCCESS;
}

void bodiesForget(CPBodies b, const Mechanism *before) {
  Mechanism *m = &b->m;
  for (int i = 0; i < m->capacity; i++)
    if (m->entry[i].kind > 0 && m->entry[i].name >= before->ntext) m->entry[i].kind = -1;
  m->ntext = before->ntext, m->njoints = before->njoints, m->nrows = before->nrows;
  m->nrolls = before->nrolls, m->npairs = before->npairs, m->nparams = before->nparams;
  m->ncontacts = before->ncontacts, m->nterms = before->nterms;
}

Contact bodiesNewContact(int joint, CPContactOn on) {
  return (Contact){.joint       = joint,
                   .radius      = NONE,
                   .friction    = NONE,
                   .restitution = NONE,
                   .force       = NONE,
                   .elastic     = NONE,
                   .load        = NONE,
                   .drum        = NONE,
                   .on          = on};
}

void bodiesTakeContact(CPBodies b, int joint, CPContactOn on, const CPContactLaw *law, int radius) {
  const int text = b->m.joint[joint].name;
  Contact *new   = &b->m.contact[b->m.ncontacts];
  *new           = bodiesNewContact(joint, on);
  new->radius    = radius;
  new->law       = *law;
  new->friction  = bodiesTakeParam(b, text, "friction", law->mu);
  bodiesTakeParam(b, text, "sticking", law->mu_static);
  new->restitution          = bodiesTakeParam(b, text, "restitution", law->restitution);
  b->m.joint[joint].contact = b->m.ncontacts++;
}

int bodiesContactLaw(sunrealtype t, const sunrealtype *q, int i, sunindextype row,
                     CPContactLaw *law, void *mechanism) {
  Mechanism *b             = mechanism;
  const sunrealtype *param = b->param;
  (void)t;
  if (i >= b->ncontacts) return 0;
  const Contact *contact = &b->contact[i];
  const Joint *joint     = &b->joint[contact->joint];
  const int first =
      contact->force == NONE ? b->row[joint->first].first : b->roll[joint->first_roll].first;
  if (first != row) return 0;
  bodiesUpdate(b);
  if (contact->friction != NONE)
    law->mu = param[contact->friction], law->mu_static = param[contact->friction + 1];
  if (contact->drum != NONE && q) bodiesRopeFriction(b, q, contact, law);
  if (contact->restitution != NONE) law->restitution = param[contact->restitution];
  if (contact->elastic != NONE)
    law->stiffness = param[contact->elastic], law->damping = param[contact->elastic + 1];
  if (contact->force != NONE) {
    const sunrealtype *own = param + contact->force;
    const int loaded       = contact->load != NONE;
    law->force             = loaded ? 0 : own[0];
    law->mu                = loaded ? own[0] : 1;
    law->mu_static         = loaded ? own[1] : own[1] / own[0];
  }
  return 0;
}

int bodiesAddContact(CPBodies b, const CPBodyContact *contact) {
  int flag = checkLaw(b, contact->head.name ? contact->head.name : "", &contact->law);
  if (!flag && contact->on == CP_ON_SHAPE) return bodiesAddShapeContact(b, contact);
  if (!flag) flag = checkContact(b, contact);
  if (flag) return flag;
  const int n            = touches[contact->touch].count[b->m.space.dimension == 3];
  const Mechanism before = b->m;
  char name[128]; /* Names longer than 100 characters are refused, so this is long enough. */
  CPJoint rows = {.head   = CP_NEW_JOINT(contact->head.name),
                  .kind   = touches[contact->touch].kind,
                  .a      = contact->a,
                  .b      = contact->b,
                  .in     = contact->in,
                  .on_a   = contact->on_a,
                  .on_b   = contact->on_b,
                  .length = contact->radius};
  sunrealtype axis[3][3];
  const char *wrong = n > 1 ? bodiesAxes(b->m.space.dimension, 0, &contact->on_b, axis) : NULL;
  if (wrong)
    return refused(b, CP_ILL_INPUT, "%.100s: %s (body b)",
                   contact->head.name ? contact->head.name : "", wrong);
  for (int k = 0; k < n && flag >= 0; k++) {
    if (n > 1) { /* The bits of k select the corner; for the two ends, the only bit does. */
      snprintf(name, sizeof name, "%.110s_%d", contact->head.name ? contact->head.name : "", k + 1);
      rows.head.name = contact->head.name && *contact->head.name ? name : NULL;
      rows.on_b      = contact->on_b;
      for (int i = n == 2 ? 2 : 0, bit = k; i < b->m.space.dimension; i++, bit >>= 1)
        add3((bit & 1 ? 1 : -1) * contact->size[i] / 2, axis[i], rows.on_b.point);
      if (n > 2) memcpy(rows.on_b.axis, axis[b->m.space.dimension == 3 ? 2 : 0], sizeof *axis);
    }
    const int radius = b->m.nparams; /* index of the joint's first parameter */
    flag             = ROOM(b->m.contact, b->m.ncontacts, 1) ? bodiesNoMemory(b, rows.head.name)
                                                             : bodiesAddRows(b, &rows, 5, contact);
    if (flag < 0) break;
    bodiesTakeContact(b, flag, contact->on, &contact->law, radius);
  }
  if (flag < 0) bodiesForget(b, &before);
  return flag < 0 ? flag : before.ncontacts;
}

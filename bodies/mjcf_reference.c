/* What MuJoCo derives from the inertia at the reference pose: the damping of servos that have a damping ratio, and the force of muscles
 * that have a scale. */
#include "cpodes/base/compat.h"
#include "mjcf_impl.h"
#include "muscles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts all bodies into the reference pose, at rest. */
static void placeAll(const Robot *r, Mechanism *b) {
  for (int i = 0; i < r->nlinks; i++) {
    const Link *link = &r->link[i];
    const int body   = bodiesFind(b, NAME_BODY, link->name, strlen(link->name));
    Pose pose;
    sunrealtype arm[3], *guess = body < 0 ? NULL : b->body[body].guess;
    if (!guess) continue;
    memset(guess, 0, sizeof b->body[body].guess);
    memcpy(guess, link->place.q, sizeof link->place.q);
    robotPose(&link->place, &pose);
    toSpace(&pose, b->body[body].centre, arm);
    add3(1, arm, guess);
  }
}

/* a [nu]: out, the accelerations by a force of 1 of a law, as those with it less those without it, where no row is on. Returns 0 or an
 * error code. */
static int accelerate(CPMech mech, const Mechanism *model, Law *law, N_Vector y, sunrealtype *a) {
  sunrealtype *values, *with = a + bodiesVelocities(model);
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  int flag         = CPMechGetParameters(mech, &values, NULL);
  const Law before = *law;
  if (flag) return flag;
  sunrealtype *p         = values + law->param; /* control, gear, gain [3], bias [3] */
  const sunrealtype gear = p[1];
  law->activation = 0, law->muscle = law->clamp[0] = law->clamp[1] = NONE;
  memset(p, 0, 8 * sizeof *p);
  p[1] = gear;
  flag = CPMechEvaluate(mech, 0, y, &out);
  p[0] = p[2] = 1, out.udot = with;
  if (!flag) flag = CPMechEvaluate(mech, 0, y, &out);
  for (int i = 0; i < bodiesVelocities(model); i++) a[i] = with[i] - a[i];
  *law = before;
  return flag;
}

/* Sets the parameters of one actuator from the accelerations a. Returns 0 or an error code. */
static int derive(CPBodies b, CPMech mech, const Mechanism *model, const Derived *d, N_Vector y,
                  const sunrealtype *a) {
  const Law *law = &b->m.law[d->law];
  sunrealtype *p = b->m.param + law->param, size = 0; /* control, gear, gain [3], bias [3] */
  CPSensor length = {CP_SIZED(CPSensor), .udot = a};
  char name[TEXT];
  for (int i = 0; i < bodiesVelocities(model); i++) size = hypot(size, a[i]);
  if (d->scale > 0) {
    b->m.param[law->muscle + PEAK_FORCE] = d->scale / size;
    return 0;
  }
  /* At rest the acceleration of what it acts on is J M^-1 J^T / gear, and the inertia is 1 / (J M^-1 J^T). */
  snprintf(name, sizeof name, "%.400s.acceleration", b->m.text + law->name);
  const int flag = CPMechGetSensor(mech, name, 0, y, &length);
  if (!flag) p[7] = -2 * d->ratio * sqrt(p[2] / (p[1] * length.value[0]));
  return flag;
}

/* Derives all, for bodies in the reference pose. Returns 0 or an error code. */
static int deriveAll(Mjcf *m, SUNContext ctx) {
  CPBodies b = m->r->bodies;
  CPModel model;
  int flag = CPBodiesBuild(b, &model);
  if (flag) return flag;
  Mechanism *own = CPModelGetEquations(model)->model_data; /* of nobody else */
  sunrealtype *a = calloc(2 * (size_t)bodiesVelocities(own) + 1, sizeof *a);
  int *off       = calloc((size_t)own->nv + 1, sizeof *off);
  N_Vector y     = CPBodiesState(b, ctx);
  CPMech mech    = y ? CPMechCreate(model, y, ctx) : NULL;
  if (!a || !off || !mech) flag = CP_MEM_FAIL;
  if (!flag && own->nv > 0) flag = CPMechSetActive(mech, off);
  for (int i = 0; i < m->nderived && !flag; i++) {
    Law *law = &own->law[m->derived[i].law];
    flag     = accelerate(mech, own, law, y, a);
    if (!flag) flag = derive(b, mech, own, &m->derived[i], y, a);
  }
  CPMechFree(&mech);
  CPModelFree(&model);
  if (y) N_VDestroy(y);
  free(a);
  free(off);
  return flag;
}

int mjcfDerive(Mjcf *m) {
  CPBodies b                      = m->r->bodies;
  const CPFormulation formulation = b->formulation;
  const size_t size               = (size_t)b->m.nbodies * sizeof(Body);
  SUNContext ctx                  = NULL;
  if (m->nderived == 0) return 0;
  Body *start = malloc(size + 1);
  if (!start || cpContextCreate(&ctx)) {
    free(start);
    return robotWrong(m->r, m->derived[0].node, "no memory");
  }
  memcpy(start, b->m.body, size);
  placeAll(m->r, &b->m);
  CPBodiesSetFormulation(b, CP_JOINT_COORDINATES);
  const int flag = deriveAll(m, ctx);
  memcpy(b->m.body, start, size);
  CPBodiesSetFormulation(b, formulation);
  SUNContext_Free(&ctx);
  free(start);
  m->nderived = 0;
  return flag
             ? robotWrong(m->r, m->derived[0].node, "the inertia at the reference pose is not known")
             : 0;
}

/* Releases and latches: joints that are there until something happens, or from then on. sources.c has their events. */
#include "formulas.h"

#include <string.h>

/* The joint of this name, for a release or a latch. Returns its index, or an error code that has been reported. */
static int jointOf(CPBodies b, const char *name, const char *joint, int closes) {
  char more[SUGGESTION];
  int i;
  if (!joint) return refused(b, CP_ILL_INPUT, "%s: joint must not be NULL", name);
  const int kind = bodiesLookUp(&b->m, joint, strlen(joint), &i);
  if (kind != NAME_JOINT || b->m.joint[i].kind == NONE || b->m.joint[i].contact != NONE)
    return refused(b, CP_ILL_INPUT, "%s: there is no joint \"%.200s\" to release%s", name, joint,
                   bodiesSuggest(&b->m, NAME_JOINT, joint, strlen(joint), more));
  if (b->m.joint[i].custom)
    return refused(b, CP_ILL_INPUT, "%s: a joint by functions, %.200s, cannot be released", name,
                   joint);
  if (closes && (b->m.joint[i].nrolls > 0 || b->m.joint[i].kind == CP_JOINT_ROD))
    return refused(b, CP_ILL_INPUT, "%s: a rod or a joint that rolls, %.200s, cannot be a latch",
                   name, joint);
  for (int k = 0; k < b->m.nreleases; k++)
    if (b->m.release[k].joint == i && b->m.release[k].closes == closes)
      return refused(b, CP_ILL_INPUT, "%s: the joint %.200s is %s by %s already", name, joint,
                     closes ? "closed" : "released", b->m.text + b->m.release[k].name);
  return i;
}

/* Does the joint have a force, or only torques? */
static int hasForce(const Mechanism *m, int joint) {
  const Joint *j = &m->joint[joint];
  int found      = 0;
  for (int i = 0; i < j->nrows && !found; i++) {
    const MeasureKind kind = bodiesRowTerm(m, &m->row[j->first + i], 0)->m.kind;
    found                  = kind != DOT && kind != ANGLE && kind != SINE;
  }
  return found;
}

int bodiesAddRelease(CPBodies b, const CPRelease *release) {
  const char *name = release->head.name;
  const int given  = (release->load != 0) + (release->function != NULL) + (release->at != 0);
  Release own      = {.at = NONE, .closes = release->closes != 0};
  int flag         = bodiesCheckName(b, name, 1);
  if (!flag) flag = bodiesCheckSign(b, name, "load", release->load, 0);
  if (!flag) flag = bodiesCheckFinite(b, name, "at", &release->at, 1);
  if (flag) return flag;
  if (given > 1)
    return refused(b, CP_ILL_INPUT, "%s: a release has one of load, function and at, and has %d",
                   name, given);
  if (own.closes && release->load > 0)
    return refused(b, CP_ILL_INPUT, "%s: a latch has no load, since its joint bears none", name);
  if ((own.joint = jointOf(b, name, release->joint, own.closes)) < 0) return own.joint;
  if (release->load > 0 && !hasForce(&b->m, own.joint))
    return refused(b, CP_ILL_INPUT, "%s: the joint %.200s has no force that a load could bound",
                   name, release->joint);
  if (release->function &&
      (flag = bodiesTakeInputs(b, name, release->inputs, 1, own.input, &own.ninputs)))
    return flag;
  if (ROOM(b->m.release, b->m.nreleases, 1)) return bodiesNoMemory(b, name);
  if (release->function && (flag = bodiesTakeFormula(b, name, FOR_SAMPLES, 1, &release->function,
                                                     own.ninputs, NULL, &own.formula)))
    return flag;
  const int i = b->m.nreleases++;
  own.name    = bodiesTakeName(b, name, NAME_RELEASE, i);
  own.timed   = !own.formula && !(release->load > 0);
  if (own.timed) own.at = bodiesTakeParam(b, own.name, "at", release->at);
  else if (!own.formula) own.at = bodiesTakeParam(b, own.name, "load", release->load);
  b->m.release[i]                = own;
  b->m.joint[own.joint].switched = 1;
  b->m.joint[own.joint].latched |= own.closes;
  return i;
}

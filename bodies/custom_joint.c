/* The element: a joint by functions, whose motions are checked and copied. */
#include "formulas.h"
#include "language/language.h"
#include "tree.h"

#include <string.h>

int bodiesTakeCustom(CPBodies b, const CPJoint *joint, const Custom **custom) {
  const char *name   = joint->head.name;
  int used[MOST_OWN] = {0}, flag;
  if (joint->ncoordinates < 0 || joint->ncoordinates > MOST_OWN)
    return refused(b, CP_ILL_INPUT, "%s: ncoordinates must be 0 ... %d, and is %d", name, MOST_OWN,
                   joint->ncoordinates);
  if (joint->nmotions < 0 || joint->nmotions > MOST_MOTIONS ||
      (joint->nmotions > 0 && !joint->motion))
    return refused(b, CP_ILL_INPUT, "%s: there must be 0 ... %d motions, and there are %d", name,
                   MOST_MOTIONS, joint->nmotions);
  Custom new = {.n = joint->ncoordinates, .nmotions = joint->nmotions};
  if ((flag = bodiesCheckFinite(b, name, "start", joint->start, new.n))) return flag;
  memcpy(new.start, joint->start, sizeof new.start);
  for (int k = 0; k < new.n && joint->names; k++)
    if (!joint->names[k] || strlen(joint->names[k]) >= OWN_NAME || bodiesControl(joint->names[k]))
      return refused(b, CP_ILL_INPUT,
                     "%s: names must have fewer than %d characters, without control characters",
                     name, OWN_NAME);
    else memcpy(new.name[k], joint->names[k], strlen(joint->names[k]));
  for (int i = 0; i < new.nmotions; i++) {
    CPJointMotion m;
    JointMotion *own = &new.motion[i];
    if ((flag = cpTake(&b->log, &m, (const CPJointMotion *)cpElement(joint->motion, i),
                       "CPBodiesAdd")))
      return flag;
    if ((flag = bodiesCheckFinite(b, name, "axis", m.axis, 3)) ||
        (flag = bodiesCheckFinite(b, name, "ratio", &m.ratio, 1)) ||
        (flag = bodiesCheckFinite(b, name, "offset", &m.offset, 1)))
      return flag;
    const sunrealtype length = length3(m.axis);
    if (!(length > 0))
      return refused(b, CP_ILL_INPUT, "%s: axis of motion %d must not be zero", name, i);
    if (m.coordinate < -1 || m.coordinate >= new.n)
      return refused(b, CP_ILL_INPUT, "%s: coordinate of motion %d must be -1 ... %d, and is %d",
                     name, i, new.n - 1, m.coordinate);
    if (m.function && (m.coordinate < 0 || m.ratio != 0))
      return refused(b, CP_ILL_INPUT,
                     "%s: motion %d by a function must have a coordinate and no ratio", name, i);
    if (m.function && cpFunctionCount(m.function) != 1)
      return refused(b, CP_ILL_INPUT,
                     "%s: the function of motion %d must have 1 variable, and has %d", name, i,
                     cpFunctionCount(m.function));
    *own = (JointMotion){.about  = m.about != 0,
                         .of     = m.coordinate < 0 ? NONE : m.coordinate,
                         .ratio  = m.ratio != 0 ? m.ratio : 1,
                         .offset = m.offset};
    Formula *formula;
    if ((flag = bodiesTakeVariable(b, name, FOR_MOTIONS, m.function, &formula))) return flag;
    own->f = formula;
    for (int k = 0; k < 3; k++) own->axis[k] = m.axis[k] / length;
    if (m.coordinate < 0) continue;
    used[m.coordinate] = 1;
    new.angle[m.coordinate] |= own->about;
  }
  for (int k = 0; k < new.n; k++)
    if (!used[k])
      return refused(b, CP_ILL_INPUT, "%s: no motion depends on coordinate %d", name, k);
  return bodiesKeepCustom(b, name, &new, custom);
}

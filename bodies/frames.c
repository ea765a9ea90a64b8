/* A frame of a body at a state: its pose, its motion, its Jacobian and the accelerations without u'. */
#include "tree.h"

/* J: out, column k of [v; omega] = J u at the point x, for a velocity with this axis through P */
static void put(const sunrealtype *x, const Axis *axis, const sunrealtype *P, sunrealtype *J) {
  sunrealtype arm[3];
  memset(J, 0, 6 * sizeof *J);
  if (!axis->turns) {
    memcpy(J, axis->a, 3 * sizeof *J);
    return;
  }
  for (int k = 0; k < 3; k++) arm[k] = x[k] - P[k];
  cross3(axis->a, arm, J);
  memcpy(J + 3, axis->a, 3 * sizeof *J);
  if (axis->screws) add3(1, axis->v, J);
}

static void jacobian(const Mechanism *b, int body, const sunrealtype *x, sunrealtype *J) {
  const Space *s   = &b->space;
  const Pose *pose = &b->pose[body];
  memset(J, 0, 6 * (size_t)bodiesVelocities(b) * sizeof *J);
  if (b->tree)
    for (int n = b->tree->node_of_body[body]; n != GROUND; n = b->tree->node[n].parent) {
      const Node *node = &b->tree->node[n];
      for (int k = node->u; k < node->u + node->nu; k++) {
        const Axis axis = treeAxis(b->tree, k);
        put(x, &axis, b->tree->motion[n + 1].P, J + 6 * k);
      }
    }
  for (int k = 0; k < s->nu && !b->tree; k++) { /* the centre of mass, and about the body's axes */
    Axis axis = {.turns = k >= s->dimension};
    if (axis.turns) memcpy(axis.a, pose->axis[s->dimension == 2 ? 2 : k - 3], sizeof axis.a);
    else axis.a[k] = 1;
    put(x, &axis, pose->r, J + 6 * (s->nu * body + k));
  }
}

int CPMechGetFrame(CPMech mech, int body, const sunrealtype *point, N_Vector y, CPBodyFrame *frame) {
  Mechanism *b;
  CPBodyFrame own;
  Moving d;
  sunrealtype R[3][3];
  int flag = bodiesAt(mech, y, __func__, &b);
  if (!flag) flag = bodiesCheckIndex(CP_OBJECT(mech), b, CP_BODY, body, __func__);
  if (!flag) flag = cpTake(CP_OBJECT(mech), &own, frame, __func__);
  if (flag) return flag;
  const Pose *pose = &b->pose[body];
  Pair pair        = {.side = {{.body = GROUND}, {.body = body}}};
  bodiesPlacePair(b, &pair, y);
  if (point) memcpy(pair.side[1].point, point, sizeof pair.side[1].point);
  add3(-1, b->body[body].centre, pair.side[1].point);
  bodiesSpan(&pair, &bodies_ground, pose, VALUES, &d);
  memcpy(own.position, d.x, sizeof d.x);
  memcpy(own.velocity, d.rate, sizeof d.rate);
  memcpy(own.omega, pose->w, sizeof own.omega);
  memcpy(own.bias, d.acc, sizeof d.acc);
  for (int k = 0; k < 3; k++) own.bias[3 + k] = pose->accelerating ? pose->alpha[k] : 0;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) R[i][j] = own.axes[3 * j + i] = pose->axis[j][i];
  bodiesQuaternion(R, own.quaternion);
  if (own.jacobian) jacobian(b, body, d.x, own.jacobian);
  cpGive(frame, &own);
  return CP_SUCCESS;
}

int CPMechSetCoordinate(CPMech mech, int i, N_Vector y, sunrealtype x, sunrealtype rate) {
  Mechanism *b;
  int flag = bodiesAt(mech, y, __func__, &b);
  if (!flag) flag = bodiesCheckIndex(CP_OBJECT(mech), b, CP_COORDINATE, i, __func__);
  if (flag) return flag;
  if (!isfinite(x) || !isfinite(rate))
    return cpRefuse(CP_OBJECT(mech), __func__, "x and rate must be finite, and are %g and %g",
                    (double)x, (double)rate);
  const int joint = bodiesJointOf(b, i), k = i - b->joint[joint].first_coordinate;
  const Node *node = NULL;
  for (int n = 0; b->tree && n < b->tree->nnodes && !node; n++)
    if (b->tree->node[n].joint == joint && b->tree->node[n].coordinate == k)
      node = &b->tree->node[n];
  if (!node || node->nq != 1)
    return cpReport(
        CP_OBJECT(mech), CP_NOT_SUPPORTED,
        __func__, "%s is no joint of the tree of joint coordinates: a range of CPMechAssemble sets its coordinate",
        b->text + b->joint[joint].name);
  sunrealtype *q                    = N_VGetArrayPointer(y);
  q[node->q]                        = x;
  q[bodiesCoordinates(b) + node->u] = rate;
  return CP_SUCCESS;
}

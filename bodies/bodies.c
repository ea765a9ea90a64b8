/* The life of a mechanism, bodies and shapes, and the function that adds elements. */
#include "files.h"
#include "following.h"
#include "formulas.h"
#include "hull.h"
#include "polyhedra.h"
#include "ropes.h"
#include "tree.h"

#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

CPBodies CPBodiesCreate(int dimension, const sunrealtype *gravity) {
  static const CPKind objects    = {NULL, NULL, NULL};
  static const char *const xyz[] = {"x", "y", "z"};
  if (dimension != 2 && dimension != 3)
    return cpRefuse(NULL, __func__, "dimension must be 2 or 3, is %d", dimension), NULL;
  CPBodies b = calloc(1, sizeof *b);
  if (!b) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for bodies"), NULL;
  b->log.kind = &objects;
  b->m.space = dimension == 3 ? (Space){3, 6, 7, {0, 0}, {3, 3}} : (Space){2, 3, 3, {0, 2}, {2, 3}};
  if (bodiesCheckName(b, "gravity", 3)) {
    cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for bodies");
    CPBodiesFree(&b);
    return NULL;
  }
  const int name = bodiesTakeName(b, "gravity", NAME_OTHER, 0);
  for (int k = 0; k < 3; k++) bodiesTakeParam(b, name, xyz[k], 0);
  if (gravity && bodiesSetGravity(b, gravity)) {
    cpRefuse(NULL, __func__, "%s", b->log.text);
    CPBodiesFree(&b);
  }
  return b;
}

int bodiesSetGravity(CPBodies b, const sunrealtype *g) {
  for (int k = 0; k < 3; k++)
    if (!isfinite(g[k]))
      return cpRefuse(&b->log, "CPBodiesCreate", "gravity must be finite, and has %g", (double)g[k]);
  if (b->m.space.dimension == 2 && g[2] != 0)
    return cpRefuse(&b->log, "CPBodiesCreate", "gravity[2] must be 0 in the plane, and is %g",
                    (double)g[2]);
  memcpy(b->m.param, g, 3 * sizeof *g);
  return CP_SUCCESS;
}

void CPBodiesFree(CPBodies *bodies) {
  if (!bodies || !*bodies) return;
  CPBodies b    = *bodies;
  Mechanism *m  = &b->m;
  void *owned[] = {m->length,  m->body,    m->joint, m->row,     m->roll,    m->pair,
                   m->drive,   m->law,     m->force, m->shape,   m->contact, m->controller,
                   m->release, m->meeting, m->param, m->text,    m->entry,   m->term,
                   m->known,   b->label,   b->notes, b->remarks, b->files,   b->sensors};
  for (int i = 0; i < m->nshapes; i++) polyhedronRelease(m->shape[i].mesh);
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  bodiesFreeFormulas(m);
  bodiesFreeFollow(&m->follow);
  if (b->writer) b->writer->free(b);
  treeFree(m->tree);
  free(b);
  *bodies = NULL;
}

int CPBodiesSetBalance(CPBodies b) {
  if (!b) return cpReport(NULL, CP_MEM_NULL, __func__, "bodies must not be NULL");
  b->m.balance = 1;
  return CP_SUCCESS;
}

int CPBodiesSetFormulation(CPBodies b, CPFormulation formulation) {
  if (!b) return cpReport(NULL, CP_MEM_NULL, __func__, "bodies must not be NULL");
  if (formulation != CP_ABSOLUTE && formulation != CP_JOINT_COORDINATES)
    return cpRefuse(&b->log, __func__, "formulation must be one of CPFormulation's, and is %d",
                    (int)formulation);
  b->formulation = formulation;
  b->numbered    = 0;
  return CP_SUCCESS;
}

sunrealtype *CPBodiesParameters(CPBodies b) { return b ? b->m.param : NULL; }

N_Vector CPBodiesState(CPBodies b, SUNContext ctx) {
  if (!b || b->m.nbodies == 0 || (!b->numbered && bodiesChooseCoordinates(b))) return NULL;
  bodiesUpdate(&b->m);
  const Space *s = &b->m.space;
  N_Vector y     = N_VNew_Serial(bodiesStates(&b->m), ctx);
  if (!y) return NULL;
  N_VConst(0, y);
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + bodiesCoordinates(&b->m);
  if (b->m.tree && treeStart(&b->m, q, u)) N_VDestroy(y), y = NULL;
  for (int i = 0; i < b->m.nbodies && !b->m.tree; i++) {
    memcpy(q + s->nq * i, b->m.body[i].guess, (size_t)s->nq * sizeof *q);
    memcpy(u + s->nu * i, b->m.body[i].guess + s->nq, (size_t)s->nu * sizeof *u);
  }
  for (int i = 0; i < b->m.nlaws && y; i++)
    if (b->m.law[i].activation)
      u[bodiesVelocities(&b->m) + b->m.law[i].activation - 1] = b->m.law[i].start;
  return y;
}

/* Eigenvalues of a symmetric matrix (xx, yy, zz, xy, xz, yz), largest first (O. K. Smith, Comm. ACM
 * 4, 1961). */
static void principal(const sunrealtype *J, sunrealtype *value) {
  const sunrealtype m = (J[0] + J[1] + J[2]) / 3, a = J[0] - m, d = J[1] - m, f = J[2] - m;
  const sunrealtype off = J[3] * J[3] + J[4] * J[4] + J[5] * J[5];
  const sunrealtype p   = sqrt((a * a + d * d + f * f + 2 * off) / 6);
  const sunrealtype det =
      a * (d * f - J[5] * J[5]) - J[3] * (J[3] * f - J[5] * J[4]) + J[4] * (J[3] * J[5] - d * J[4]);
  const sunrealtype r     = p > 0 ? fmax(-1, fmin(1, det / (2 * p * p * p))) : 0;
  const sunrealtype third = 2 * acos(SUN_RCONST(-1.0)) / 3;
  for (int k = 0; k < 3; k++) value[k] = m + 2 * p * cos(acos(r) / 3 - k * third);
  /* The eigenvalue with cos(phi - 4 pi / 3) is the middle one. */
  const sunrealtype middle = value[2];
  if (middle > value[1]) value[2] = value[1], value[1] = middle;
}

/* Is J the inertia of masses that are not negative? Their moments int x x^T dm = tr(J)/2 - J must not be either (Cholesky, with
 * room for rounding). */
static int isPhysical(const sunrealtype *J) {
  static const sunrealtype rounding = SUN_RCONST(1e-12);
  const sunrealtype half = (J[0] + J[1] + J[2]) / 2, room = half * (1 + rounding), a = room - J[0],
                    b = room - J[1], c = room - J[2];
  if (half == 0) return J[0] == 0 && J[1] == 0 && J[3] == 0 && J[4] == 0 && J[5] == 0;
  if (!(a > 0)) return 0;
  const sunrealtype d = b - J[3] * J[3] / a, e = -J[5] - J[3] * J[4] / a;
  return d > 0 && c - J[4] * J[4] / a - e * e / d > 0;
}

static int addBody(CPBodies b, const CPBody *body) {
  static const char *const fields[] = {"J_xx", "J_yy", "J_zz", "J_xy", "J_xz", "J_yz"};
  const char *name                  = body->head.name;
  const sunrealtype *J = body->inertia, *e = body->quaternion;
  const int planar = b->m.space.dimension == 2;
  int flag         = bodiesCheckName(b, name, 7);
  if (flag) return flag;
  if ((flag = bodiesCheckFinite(b, name, "inertia", J, 6))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "centre", body->centre, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "position", body->position, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "quaternion", e, 4))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "angle", &body->angle, 1))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "velocity", body->velocity, 3))) return flag;
  if ((flag = bodiesCheckFinite(b, name, "omega", body->omega, 3))) return flag;
  flag = bodiesCheckSign(b, name, "mass", body->mass, 0);
  if (!flag && planar) flag = bodiesCheckSign(b, name, "J_zz", J[2], 0);
  if (flag) return flag;
  if (planar && (body->centre[2] != 0 || body->position[2] != 0 || body->velocity[2] != 0 ||
                 body->omega[0] != 0 || body->omega[1] != 0))
    return refused(b, CP_ILL_INPUT, "%s: a body in the plane must not leave it", name);
  if (!planar) {
    sunrealtype p[3];
    principal(J, p);
    if (!isPhysical(J))
      return refused(b, CP_ILL_INPUT,
                     "%s: principal moments must not be negative, the largest at most the sum of "
                     "the others, and are %g, %g, %g",
                     name, (double)p[0], (double)p[1], (double)p[2]);
  }
  if (ROOM(b->m.body, b->m.nbodies, 1)) return bodiesNoMemory(b, name);

  const int i = b->m.nbodies++;
  Body *new   = &b->m.body[i];
  *new        = (Body){.name = bodiesTakeName(b, name, NAME_BODY, i), .param = b->m.nparams};
  bodiesTakeParam(b, new->name, "mass", body->mass);
  for (int k = 0; k < 6; k++) bodiesTakeParam(b, new->name, fields[k], planar && k != 2 ? 0 : J[k]);
  new->full = !planar && (J[3] != 0 || J[4] != 0 || J[5] != 0);
  memcpy(new->centre, body->centre, sizeof new->centre);
  sunrealtype *q = new->guess, arm[3], swing[3];
  if (planar) q[2] = body->angle;
  else {
    const sunrealtype size = hypot(length3(e), e[3]);
    for (int k = 0; k < 4; k++) q[3 + k] = size > 0 ? e[k] / size : k == 0;
  }
  Pose pose;
  bodiesPoseAt(&b->m.space, q, NULL, NULL, &pose);
  toSpace(&pose, body->centre, arm);
  cross3(body->omega, arm, swing);
  sunrealtype *u = q + b->m.space.nq, own[3];
  toBody(&pose, body->omega, own);
  for (int k = 0; k < (planar ? 2 : 3); k++) {
    q[k] = body->position[k] + arm[k];
    u[k] = body->velocity[k] + swing[k];
  }
  if (planar) u[2] = body->omega[2];
  else memcpy(u + 3, own, sizeof own);
  return i;
}

/* half [3]: out, of a shape that is no mesh. Returns 0 or an error code that has been reported. */
static int readSizes(CPBodies b, const CPShape *shape, sunrealtype *half) {
  const CPShapeKind kind  = shape->kind;
  const sunrealtype *size = shape->size;
  const int edges         = kind == CP_SHAPE_BOX || kind == CP_SHAPE_PLANE,
            axes = kind == CP_SHAPE_ELLIPSOID, planar = b->m.space.dimension == 2;
  for (int k = 0; k < 3; k++) half[k] = edges ? size[k] / 2 : axes ? size[k] : size[0];
  if (!edges && !axes && kind != CP_SHAPE_SPHERE) half[2] = size[2] / 2;
  if (planar || kind == CP_SHAPE_PLANE) half[2] = 0;
  for (int k = 0; k < (kind == CP_SHAPE_PLANE ? 2 : b->m.space.dimension); k++)
    if (!(half[k] > 0 || (kind == CP_SHAPE_PLANE && half[k] == 0)) || !isfinite(half[k]))
      return refused(b, CP_ILL_INPUT, "%s: all sizes must be positive, and one is %g",
                     shape->head.name, (double)(!edges && !axes && k < 2 ? size[0] : size[k]));
  return CP_SUCCESS;
}

/* mesh: out, with its centre and half extents. Returns 0 or an error code that has been reported. */
static int readPoints(CPBodies b, const CPShape *shape, Mesh **mesh, sunrealtype *centre,
                      sunrealtype *half) {
  if (!shape->points || shape->npoints < 4)
    return refused(b, CP_ILL_INPUT, "%s: a mesh needs four points at least, and has %d",
                   shape->head.name, shape->points ? shape->npoints : 0);
  int flag = bodiesCheckFinite(b, shape->head.name, "points", shape->points, 3 * shape->npoints);
  if (flag) return flag;
  const char *wrong = polyhedronMesh(shape->points, shape->npoints, mesh, centre, half);
  if (wrong == hull_no_memory) return bodiesNoMemory(b, shape->head.name);
  return wrong ? refused(b, CP_ILL_INPUT, "%s: the mesh %s", shape->head.name, wrong) : CP_SUCCESS;
}

static int addShape(CPBodies b, const CPShape *shape) {
  const char *name = shape->head.name;
  int flag         = bodiesCheckName(b, name, 0);
  if (flag) return flag;
  const CPShapeKind kind = shape->kind;
  if ((int)kind < 0 || (int)kind >= NUM_SHAPES)
    return refused(b, CP_ILL_INPUT, "%s: kind must be one of CPShapeKind's, and is %d", name,
                   (int)kind);
  if (b->m.space.dimension == 2 && kind > CP_SHAPE_WHEEL)
    return refused(b, CP_NOT_SUPPORTED, "%s: there is no such shape in the plane (CPShapeKind %d)",
                   name, (int)kind);
  if (kind != CP_SHAPE_MESH && (shape->points || shape->npoints != 0))
    return refused(b, CP_ILL_INPUT, "%s: only a mesh has points", name);
  Shape new             = {.kind = kind, .pair = b->m.npairs};
  sunrealtype centre[3] = {0, 0, 0};
  Pair pair             = {0};
  const CPMarker origin = {.axis = {0, 0, 1}};
  if (kind != CP_SHAPE_MESH && (flag = readSizes(b, shape, new.half))) return flag;
  if (shape->body && !strcmp(shape->body, "ground")) pair.side[0].body = pair.side[1].body = GROUND;
  else if ((flag = bodiesFindSides(b, name, NULL, shape->body, &pair))) return flag;
  if ((flag = bodiesMakePair(b, name, shape->in, 0, &origin, &shape->on, &pair))) return flag;
  if (ROOM(b->m.pair, b->m.npairs, 1) || ROOM(b->m.shape, b->m.nshapes, 1))
    return bodiesNoMemory(b, name);
  if (kind == CP_SHAPE_MESH && (flag = readPoints(b, shape, &new.mesh, centre, new.half)))
    return flag;
  for (int k = 0; k < 3; k++) add3(centre[k], pair.side[1].axis[k], pair.side[1].point);
  const int i              = b->m.nshapes++;
  new.name                 = bodiesTakeName(b, name, NAME_SHAPE, i);
  b->m.shape[i]            = new;
  b->m.pair[b->m.npairs++] = pair;
  return i;
}

/* An element as this version knows it */
typedef union {
  CPElement head;
  CPBody body;
  CPJoint joint;
  CPCoupler coupler;
  CPDrive drive;
  CPSpring spring;
  CPBushing bushing;
  CPForce force;
  CPFriction friction;
  CPLimit limit;
  CPActuator actuator;
  CPRope rope;
  CPController controller;
  CPTendon tendon;
  CPRelease release;
  CPTyre tyre;
  CPElasticSphere sphere;
  CPDrag drag;
  CPBodyContact contact;
  CPShape shape;
} Element;

int CPBodiesAdd(CPBodies b, const CPElement *element, int *index) {
  static const size_t sizes[] = {[CP_ELEMENT_BODY]       = sizeof(CPBody),
                                 [CP_ELEMENT_JOINT]      = sizeof(CPJoint),
                                 [CP_ELEMENT_COUPLER]    = sizeof(CPCoupler),
                                 [CP_ELEMENT_DRIVE]      = sizeof(CPDrive),
                                 [CP_ELEMENT_SPRING]     = sizeof(CPSpring),
                                 [CP_ELEMENT_BUSHING]    = sizeof(CPBushing),
                                 [CP_ELEMENT_FORCE]      = sizeof(CPForce),
                                 [CP_ELEMENT_FRICTION]   = sizeof(CPFriction),
                                 [CP_ELEMENT_CONTACT]    = sizeof(CPBodyContact),
                                 [CP_ELEMENT_SHAPE]      = sizeof(CPShape),
                                 [CP_ELEMENT_LIMIT]      = sizeof(CPLimit),
                                 [CP_ELEMENT_ACTUATOR]   = sizeof(CPActuator),
                                 [CP_ELEMENT_ROPE]       = sizeof(CPRope),
                                 [CP_ELEMENT_CONTROLLER] = sizeof(CPController),
                                 [CP_ELEMENT_TENDON]     = sizeof(CPTendon),
                                 [CP_ELEMENT_RELEASE]    = sizeof(CPRelease),
                                 [CP_ELEMENT_TYRE]       = sizeof(CPTyre),
                                 [CP_ELEMENT_SPHERE]     = sizeof(CPElasticSphere),
                                 [CP_ELEMENT_DRAG]       = sizeof(CPDrag)};
  if (!b) return cpReport(NULL, CP_MEM_NULL, __func__, "bodies must not be NULL");
  if (bodiesGiven(&b->log, __func__, "element", element != NULL)) return CP_ILL_INPUT;
  const int kind = (int)element->kind;
  if (kind < 0 || kind >= (int)(sizeof sizes / sizeof *sizes))
    return refused(b, CP_ILL_INPUT, "kind must be one of CPElementKind's, and is %d", kind);
  if (element->size < sizeof *element)
    return refused(b, CP_OLD_STRUCT,
                   "size must be that of the element (CP_NEW_BODY and the like), and is %zu",
                   element->size);
  if (b->m.follow)
    return refused(b, CP_TOO_LATE,
                   "%.100s: a file whose parameters are named (CPBodiesFile) has all elements",
                   element->name ? element->name : "");
  Element e;
  int i = 0;
  memset(&e, 0, sizeof e);
  memcpy(&e, element, element->size < sizes[kind] ? element->size : sizes[kind]);
  switch (element->kind) {
  case CP_ELEMENT_BODY: i = addBody(b, &e.body); break;
  case CP_ELEMENT_JOINT: i = bodiesAddRows(b, &e.joint, 1, NULL); break;
  case CP_ELEMENT_COUPLER: i = bodiesAddCoupler(b, &e.coupler); break;
  case CP_ELEMENT_DRIVE: i = bodiesAddDrive(b, &e.drive); break;
  case CP_ELEMENT_SPRING: i = bodiesAddSpring(b, &e.spring); break;
  case CP_ELEMENT_BUSHING: i = bodiesAddBushing(b, &e.bushing); break;
  case CP_ELEMENT_FORCE: i = bodiesAddForce(b, &e.force); break;
  case CP_ELEMENT_FRICTION: i = bodiesAddFriction(b, &e.friction); break;
  case CP_ELEMENT_CONTACT: i = bodiesAddContact(b, &e.contact); break;
  case CP_ELEMENT_SHAPE: i = addShape(b, &e.shape); break;
  case CP_ELEMENT_LIMIT: i = bodiesAddLimit(b, &e.limit); break;
  case CP_ELEMENT_ACTUATOR: i = bodiesAddActuator(b, &e.actuator); break;
  case CP_ELEMENT_ROPE: i = bodiesAddRope(b, &e.rope); break;
  case CP_ELEMENT_CONTROLLER: i = bodiesAddController(b, &e.controller); break;
  case CP_ELEMENT_TENDON: i = bodiesAddTendon(b, &e.tendon); break;
  case CP_ELEMENT_RELEASE: i = bodiesAddRelease(b, &e.release); break;
  case CP_ELEMENT_TYRE: i = bodiesAddTyre(b, &e.tyre); break;
  case CP_ELEMENT_SPHERE: i = bodiesAddElasticSphere(b, &e.sphere); break;
  case CP_ELEMENT_DRAG: i = bodiesAddDrag(b, &e.drag); break;
  }
  b->numbered = 0;
  if (i < NONE) return i;
  if (b->writer) b->writer->element(b, &e.head);
  if (index) *index = i;
  return CP_SUCCESS;
}

/* Mirror images of included files. x -> F x, where F changes the sign of one component, maps points, directions and forces; it maps angular
 * velocities, torques, and axes of rotation to -F of them, and attitudes R to F R F. So coordinates of joints keep their values: hinges
 * turn about -F z, and slides move along F z. Only angles in the plane, which are always counterclockwise, change their sign. */
#include "yaml_impl.h"

#include <string.h>

/* k: the component that changes its sign */
static void polar(int k, sunrealtype *x) { x[k] = -x[k]; }
static void axial(int k, sunrealtype *x) {
  for (int i = 0; i < 3; i++) x[i] = i == k || x[i] == 0 ? x[i] : -x[i];
}

/* A point with axes; turns: rotations about z count. Zeros stand for z and for an x that depends on it, and so become numbers. */
static void marker(const Reader *r, int k, int turns, CPMarker *m) {
  sunrealtype axis[3][3];
  if (r->dimension == 3 && !bodiesAxes(3, 0, m, axis))
    memcpy(m->across, axis[0], sizeof *axis), memcpy(m->axis, axis[2], sizeof *axis);
  polar(k, m->point);
  polar(k, m->across);
  (turns ? axial : polar)(k, m->axis);
}

/* Side b of a joint has axes of its own, or those of side a. */
static void markers(const Reader *r, int k, int turns, CPIn in, CPMarker *a, CPMarker *b) {
  marker(r, k, turns, a);
  if (in == CP_IN_BODIES || length3(b->axis) != 0) marker(r, k, turns, b);
  else polar(k, b->point);
}

/* A rope that runs counterclockwise about an axis runs clockwise about the image of that, unlike a tendon, which has no sense. */
static void nodes(const Reader *r, int k, int is_rope, int n, CPRopeNode *node) {
  for (int i = 0; i < n; i++) {
    if (is_rope && r->dimension == 3 && length3(node[i].axis) == 0) node[i].axis[2] = 1;
    polar(k, node[i].point);
    polar(k, node[i].axis);
    if (is_rope) node[i].radius = -node[i].radius;
  }
}

static void body(int k, CPBody *b) {
  static const int products[3][2] = {{3, 4}, {3, 5}, {4, 5}};
  for (int i = 0; i < 2; i++) polar(products[k][i], b->inertia);
  polar(k, b->centre);
  polar(k, b->position);
  polar(k, b->velocity);
  axial(k, b->omega);
  axial(k, b->quaternion + 1);
  b->angle = -b->angle;
}

static int isHinge(CPJointKind kind) {
  return kind == CP_JOINT_REVOLUTE || kind == CP_JOINT_UNIVERSAL || kind == CP_JOINT_PLANAR;
}

static int mirror(Reader *r, const yaml_node_t *n, int k, CPElementKind kind, Element *e) {
  switch (kind) {
  case CP_ELEMENT_BODY: body(k, &e->body.body); break;
  case CP_ELEMENT_JOINT: {
    CPJoint *joint = &e->joint.joint;
    if (joint->kind == CP_JOINT_CUSTOM)
      return yamlWrong(r, n->start_mark, "a joint by functions has no mirror image");
    markers(r, k, isHinge(joint->kind), joint->in, &joint->on_a, &joint->on_b);
    break;
  }
  case CP_ELEMENT_SPRING:
    polar(k, e->spring.point_a);
    polar(k, e->spring.point_b);
    break;
  case CP_ELEMENT_BUSHING:
    markers(r, k, 1, e->bushing.in, &e->bushing.on_a, &e->bushing.on_b);
    break;
  case CP_ELEMENT_FORCE:
    if (r->function[0] || r->function[1] || r->function[2])
      return yamlWrong(r, n->start_mark, "a force by functions has no mirror image");
    polar(k, e->force.point);
    polar(k, e->force.force);
    break;
  case CP_ELEMENT_CONTACT:
    markers(r, k, 0, e->contact.in, &e->contact.on_a, &e->contact.on_b);
    break;
  case CP_ELEMENT_SPHERE: markers(r, k, 0, e->sphere.in, &e->sphere.on_a, &e->sphere.on_b); break;
  case CP_ELEMENT_DRAG:
    marker(r, k, 0, &e->drag.on);
    polar(k, e->drag.wind);
    break;
  case CP_ELEMENT_SHAPE:
    marker(r, k, 0, &e->shape.on);
    for (int i = 0; i < e->shape.npoints; i++)
      r->points[3 * i + 1] *= -1; /* y = z x x is an axial vector */
    break;
  case CP_ELEMENT_ACTUATOR: {
    CPActuator *a = &e->actuator.actuator;
    polar(k, a->point_a);
    polar(k, a->point_b);
    polar(k, a->along);
    polar(k, a->push);
    axial(k, a->about);
    break;
  }
  case CP_ELEMENT_ROPE: nodes(r, k, 1, e->rope.path.nnodes, e->rope.path.node); break;
  case CP_ELEMENT_TENDON:
    nodes(r, k, 0, e->tendon.path.nnodes, e->tendon.path.node);
    nodes(r, k, 0, e->tendon.path.nnodes, e->tendon.path.sides);
    break;
  case CP_ELEMENT_TYRE:
    if (length3(e->tyre.axis) == 0) e->tyre.axis[1] = 1;
    if (length3(e->tyre.normal) == 0) e->tyre.normal[2] = 1;
    polar(k, e->tyre.point);
    axial(k, e->tyre.axis);
    polar(k, e->tyre.ground);
    polar(k, e->tyre.normal);
    break;
  default: break; /* coordinates keep their values */
  }
  return 0;
}

int yamlMirror(Reader *r, const yaml_node_t *n, CPElementKind kind, Element *e) {
  for (const Reader *q = r; q; q = q->outer)
    if (q->mirror && mirror(r, n, q->mirror - 1, kind, e)) return 1;
  return 0;
}

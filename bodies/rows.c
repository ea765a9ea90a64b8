/* Rows of constraints: those of contacts, those that are off, and their names in messages. */
#include "formulas.h"
#include "tree.h"

#include <stdio.h>
#include <string.h>

void bodiesMaskJoint(const Mechanism *b, int i, int value, int *mask) {
  const Joint *joint = &b->joint[i];
  for (int k = 0; k < joint->nrows + joint->nrolls; k++) {
    const Row *row = bodiesRowOf(b, joint, k);
    for (int c = 0; c < bodiesComponents(b, row); c++) mask[row->first + c] = value;
  }
}

void bodiesSkipJoint(const Mechanism *b, int i, int value, char *off) {
  const Joint *joint = &b->joint[i];
  for (int r = joint->first; r < joint->first + joint->nrows; r++)
    memset(off + b->row[r].first, value, (size_t)bodiesComponents(b, &b->row[r]));
}

void bodiesWithoutContacts(const Mechanism *b, int *mask) {
  for (int i = 0; i < b->nv; i++) mask[i] = 1;
  for (int i = 0; i < b->njoints; i++)
    if (b->joint[i].contact != NONE || b->joint[i].latched) bodiesMaskJoint(b, i, 0, mask);
}

int bodiesSkipRows(const char *off, void *mechanism) {
  Mechanism *b = mechanism;
  b->off       = off;
  return 0;
}

/* ------------------------------------------------------------------------- names of rows -- */

const char *bodiesNoun(const Mechanism *b, int i) {
  const Joint *joint = &b->joint[i];
  if (joint->contact != NONE)
    return joint->kind != NONE                ? "contact"
           : joint->nrows == 0                ? "friction"
           : bodiesRow(b, joint->first)->rope ? "rope"
                                              : "limit";
  if (joint->kind == NONE && b->row[joint->first].rope) return "rope";
  if (joint->kind == NONE) return b->row[joint->first].drive == NONE ? "coupler" : "drive";
  return "joint";
}

/* The direction of component k of a row. */
static const char *directionOf(const Mechanism *b, const Row *row, int k) {
  static const char *const space[] = {" along x", " along y", " along z"};
  static const char *const along[] = {" along x_a", " along y_a", " along z_a"};
  static const char *const about[] = {" about x_a", " about y_a", " about z_a"};
  const Measure *m                 = &bodiesRowTerm(b, row, 0)->m;
  switch (m->kind) {
  case POINT: return space[k];
  case ALONG: return along[m->i];
  case DOT:
    return b->space.dimension == 2 ? " in its angle"
           : m->i == m->j          ? " in the angle of its axes"
                                   : about[3 - m->i - m->j];
  case LENGTH: return " in its length";
  case NEAR:
  case LEVEL: return " along the normal";
  case SLIP:
  case GLIDE: return m->i == 0 ? " along the first tangent" : " along the second tangent";
  default: return "";
  }
}

/* What a drive cannot do beyond t */
static void limitOf(const Mechanism *b, const Joint *drive, sunrealtype t, char *name,
                    size_t length) {
  const Row *row         = &b->row[drive->first];
  const Side *side       = b->pair[drive->pair].side;
  const int moved        = side[1].body != GROUND;
  const int turns        = bodiesRowTerm(b, row, 0)->m.kind == ANGLE;
  const sunrealtype turn = 360;
  DriveAt at;
  if (bodiesDrive(b, row->drive, t, &at)) return;
  const sunrealtype g = at.g + at.rest, degrees = g * turn / (8 * atan(SUN_RCONST(1.0)));
  snprintf(name, length, "drive \"%s\" cannot %s \"%.100s\" beyond %.4g %s", b->text + drive->name,
           turns ? "turn" : "move", b->text + b->body[side[moved].body].name,
           (double)(!turns                  ? g
                    : fabs(degrees) <= turn ? degrees
                                            : remainder(degrees, turn)),
           turns ? "degrees" : "m");
}

/* A motion from a singular start that ends so soon has not left it [s]. */
static const sunrealtype near_start = SUN_RCONST(1e-3);

/* Velocities are those of bodies, or of joints and free bodies of the tree. */
static void nameVelocity(const Mechanism *b, int i, char *name, size_t length) {
  int joint = NONE, body = i / b->space.nu;
  if (b->tree) {
    const Node *node = &b->tree->node[b->tree->node_of_velocity[i]];
    joint            = node->joint;
    while (node->body == NONE) node++; /* of a chain in the plane */
    body = node->body;
  }
  if (joint != NONE) snprintf(name, length, "joint \"%s\"", b->text + b->joint[joint].name);
  else snprintf(name, length, "body \"%s\"", b->text + b->body[body].name);
}

void bodiesRowName(CPMechName what, sunindextype i, sunrealtype t, char *name, size_t length,
                   void *mechanism) {
  const Mechanism *b = mechanism;
  if (what == CP_NAME_FAILURE) {
    bodiesFailure(b, name, length);
    return;
  }
  if (what == CP_NAME_STATE) {
    if (b->singular[0] && fabs(t - b->assembled) <= near_start)
      snprintf(name, length, "%s", b->singular);
    return;
  }
  if (what == CP_NAME_VELOCITY) {
    nameVelocity(b, (int)i, name, length);
    return;
  }
  for (int j = 0; j < b->njoints; j++) {
    const Joint *joint = &b->joint[j];
    for (int r = 0; r < joint->nrows + joint->nrolls; r++) {
      const Row *row = bodiesRowOf(b, joint, r);
      const int n    = bodiesComponents(b, row);
      if (i < row->first || i >= row->first + n) continue;
      if (what == CP_NAME_LIMIT) {
        if (joint->kind == NONE && row->drive != NONE && !row->rope)
          limitOf(b, joint, t, name, length);
        return;
      }
      snprintf(name, length, "%s \"%s\"%s", bodiesNoun(b, j), b->text + joint->name,
               joint->kind == NONE || what == CP_NAME_ELEMENT
                   ? ""
                   : directionOf(b, row, (int)(i - row->first)));
      return;
    }
  }
}

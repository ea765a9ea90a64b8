/* What of a file in SDF acts and is left out. Drawings, sensors, and the settings of other programs are silent. */
#include "sdf_impl.h"

#include <string.h>

static int isZero(const char *text) { return !text || strspn(text, " +-0.") == strlen(text); }

/* Does the name contain one of the words? Letters are small here; hyphens do not count. */
static int isAbout(const char *name, const char *const *words) {
  char plain[200];
  size_t length = 0;
  for (; name && *name && length + 1 < sizeof plain; name++)
    if (*name != '-' && *name != '_')
      plain[length++] = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
  plain[length] = '\0';
  for (; *words; words++)
    if (strstr(plain, *words)) return 1;
  return 0;
}

/* Plugins that show, measure or transmit; others may move something. */
static int isIdlePlugin(const xmlNode *n) {
  static const char *const words[] = {"systems::physics",
                                      "simphysics",
                                      "scenebroadcaster",
                                      "usercommands",
                                      "sensor",
                                      "imu",
                                      "contact",
                                      "publisher",
                                      "camera",
                                      "altimeter",
                                      "magnetometer",
                                      "navsat",
                                      "forcetorque",
                                      "airpressure",
                                      "airspeed",
                                      "logrecord",
                                      "logplayback",
                                      "levels",
                                      "label",
                                      "diagnostics",
                                      "battery",
                                      "performer",
                                      "breadcrumb",
                                      "touchplugin",
                                      "detector",
                                      "statistics",
                                      "comms",
                                      "acoustic",
                                      "video",
                                      "shader",
                                      "laser",
                                      "lidar",
                                      "gpsplugin",
                                      "bumper",
                                      "p3d",
                                      NULL};
  return isAbout(robotText(n, "name"), words) || isAbout(robotText(n, "filename"), words);
}

static int tellPlugin(Sdf *s, const xmlNode *n) {
  const char *name = robotText(n, "name");
  return isIdlePlugin(n) ? 0 : robotNote(s->r, n, "the plugin %.100s", name ? name : "");
}

static int tellLink(Sdf *s, const xmlNode *n) {
  const xmlNode *decay = robotChild(n, "velocity_decay"), *inertial = robotChild(n, "inertial");
  for (const xmlNode *c = n->children; c; c = c->next) {
    if (robotIs(c, "plugin") && tellPlugin(s, c)) return 1;
  }
  if (decay && (!isZero(sdfChildText(decay, "linear")) || !isZero(sdfChildText(decay, "angular"))) &&
      robotNote(s->r, decay, "velocity_decay"))
    return 1;
  if (sdfIsTrue(sdfChildText(n, "kinematic")) && robotNote(s->r, n, "kinematic links")) return 1;
  if (inertial && robotChild(inertial, "fluid_added_mass") &&
      robotNote(s->r, inertial, "added masses of fluids"))
    return 1;
  return 0;
}

static int tellJoint(Sdf *s, const xmlNode *n) {
  const xmlNode *physics = robotChild(n, "physics"), *ode = robotChild(physics, "ode");
  if (ode && !isZero(sdfChildText(ode, "max_force")) && robotNote(s->r, ode, "motors of joints"))
    return 1;
  for (const xmlNode *c = n->children; c; c = c->next)
    if (robotIs(c, "plugin") && tellPlugin(s, c)) return 1;
  return 0;
}

/* What a model contains beside links and joints */
static int tellModel(Sdf *s, const xmlNode *n) {
  for (const xmlNode *c = n->children; c; c = c->next)
    if ((robotIs(c, "plugin") && tellPlugin(s, c)) ||
        (robotIs(c, "gripper") && robotNote(s->r, c, "grippers")))
      return 1;
  return 0;
}

/* n: the world, or the root */
static int tellWorld(Sdf *s, const xmlNode *n, int has_wind) {
  for (const xmlNode *c = n->children; c; c = c->next)
    if (((robotIs(c, "state") || robotIs(c, "population")) &&
         robotNote(s->r, c, "the %.20s of the world", (const char *)c->name)) ||
        (robotIs(c, "plugin") && tellPlugin(s, c)) ||
        (robotIs(c, "wind") && has_wind && !isZero(sdfChildText(c, "linear_velocity")) &&
         robotNote(s->r, c, "wind")) ||
        (robotIs(c, "world") && c->prev && c != s->thing[s->top].node &&
         robotTell(s->r, c, WITHOUT_EFFECT, "worlds after the first one")))
      return 1;
  return 0;
}

int sdfTell(Sdf *s, const xmlNode *root) {
  int has_wind = 0;
  for (int i = 0; i < s->nthings; i++) {
    const SdfThing *t = &s->thing[i];
    if ((t->kind == SDF_MODEL && tellModel(s, t->node)) ||
        (t->kind == SDF_LINK && tellLink(s, t->node)) ||
        (t->kind == SDF_JOINT && tellJoint(s, t->node)))
      return 1;
    has_wind = has_wind || sdfIsTrue(sdfChildText(t->node, "enable_wind"));
  }
  return (s->top != NONE && tellWorld(s, s->thing[s->top].node, has_wind)) ||
         tellWorld(s, root, has_wind);
}

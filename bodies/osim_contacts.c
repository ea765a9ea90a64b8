/* OpenSim's contacts: HuntCrossleyForce between spheres and half-spaces. All surfaces that a force names may touch each other, but those of
 * one body. The materials 1 and 2 of a pair act together as in Simbody's HuntCrossleyForce.h: with k = stiffness^(2/3) and
 * s_1 = k_2 / (k_1 + k_2)
 *
 *   modulus (k_1 s_1)^(3/2),   dissipation c_1 s_1 + c_2 s_2,   each coefficient of friction 2 u_1 u_2 / (u_1 + u_2) */
#define _POSIX_C_SOURCE 200809L /* strtok_r */
#include "osim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC, DYNAMIC, VISCOUS, FRICTIONS };

typedef struct {
  const char *name;
  OsimFrame frame;
  sunrealtype radius; /* 0: a half-space */
  sunrealtype stiffness, dissipation, friction[FRICTIONS];
} Skin;

typedef struct {
  Skin *surface;
  int n;
} Skins;

/* Is the tag `name`, or does it end in "::name"? */
static int isTag(const xmlNode *n, const char *name) {
  const char *own   = n->type == XML_ELEMENT_NODE ? (const char *)n->name : "";
  const size_t from = strlen(own), length = strlen(name);
  return from >= length && !strcmp(own + from - length, name) &&
         (from == length || own[from - length - 1] == ':');
}

/* The geometry of this name, or the last part of a path; NULL after a message */
static const xmlNode *geometryOf(Osim *o, const xmlNode *n, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const xmlNode *set = osimObjects(o->model, "ContactGeometrySet");
  for (const xmlNode *c = set ? set->children : NULL; c; c = c->next) {
    const char *own = c->type == XML_ELEMENT_NODE ? robotText(c, "name") : NULL;
    if (own && !strcmp(own, name)) return c;
  }
  robotWrong(o->r, n, "there is no contact geometry \"%.100s\"", name);
  return NULL;
}

/* Adds the surface with the material that parameters give. */
static int addSurface(Osim *o, const xmlNode *parameters, const char *path, Skins *all) {
  static const char *const frames[]   = {"socket_frame", "body_name", "frame", NULL},
                           *const u[] = {"static_friction", "dynamic_friction", "viscous_friction"};
  const xmlNode *own                  = geometryOf(o, parameters, path);
  Skin s                              = {.name = own ? robotText(own, "name") : NULL};
  if (!own) return 1;
  const int sphere = robotIs(own, "ContactSphere");
  if (robotIs(own, "ContactMesh")) /* Simbody leaves it out, too. */
    return robotTell(o->r, own, WITHOUT_EFFECT, "meshes in contacts of the kind HuntCrossleyForce");
  if (!sphere && !robotIs(own, "ContactHalfSpace"))
    return robotNote(o->r, own, "contacts of the kind %.60s", (const char *)own->name);
  if (osimFrame(o, own, frames, &s.frame) ||
      osimOffset(o->r, own, "location", "orientation", &s.frame.pose) ||
      (sphere && osimNumbers(o->r, own, "radius", 1, &s.radius)) ||
      osimNumbers(o->r, parameters, "stiffness", 1, &s.stiffness) ||
      osimNumbers(o->r, parameters, "dissipation", 1, &s.dissipation))
    return 1;
  for (int k = 0; k < FRICTIONS; k++)
    if (osimNumbers(o->r, parameters, u[k], 1, &s.friction[k])) return 1;
  if (sphere && !(s.radius > 0))
    return robotWrong(o->r, own, "radius must be positive, and is %g", (double)s.radius);
  if (ROOM(all->surface, all->n, 1)) return robotWrong(o->r, own, "no memory");
  all->surface[all->n++] = s;
  return 0;
}

static int addPair(Osim *o, const xmlNode *n, const Skin *a, const Skin *b, sunrealtype speed) {
  const sunrealtype k_a = cbrt(a->stiffness * a->stiffness),
                    k_b = cbrt(b->stiffness * b->stiffness), s_a = k_b / (k_a + k_b), k = k_a * s_a;
  const char *own = robotText(n, "name");
  sunrealtype u[FRICTIONS];
  char base[300], name[128];
  if (!(k > 0)) return 0; /* without stiffness no force */
  for (int i = 0; i < FRICTIONS; i++) {
    const sunrealtype sum = a->friction[i] + b->friction[i];
    u[i]                  = sum > 0 ? 2 * a->friction[i] * b->friction[i] / sum : 0;
  }
  snprintf(base, sizeof base, "%.100s_%.100s", own && *own ? own : "contact", b->name);
  if (robotUnique(o->r, n, base, "", name)) return 1;
  CPElasticSphere sphere = {CP_NEW_SPHERE(name),
                            .a        = osimBodyName(o, a->frame.body),
                            .b        = osimBodyName(o, b->frame.body),
                            .in       = CP_IN_BODIES,
                            .radius   = b->radius,
                            .radius_a = a->radius,
                            .modulus  = k * sqrt(k),
                            .damping  = a->dissipation * s_a + b->dissipation * (1 - s_a),
                            .friction = u[DYNAMIC],
                            .sticking = u[STATIC],
                            .viscous  = u[VISCOUS],
                            .speed    = speed,
                            .share    = s_a};
  osimMarker(&a->frame, &sphere.on_a);
  osimMarker(&b->frame, &sphere.on_b);
  /* A half-space is where its x > 0. */
  for (int i = 0; i < 3; i++) sphere.on_a.axis[i] = -a->frame.pose.axis[0][i];
  memset(sphere.on_a.across, 0, sizeof sphere.on_a.across);
  return robotRefused(o->r, n, CPBodiesAdd(o->r->bodies, &sphere.head, NULL));
}

/* Adds the surfaces of all ContactParameters of a force. */
static int listSurfaces(Osim *o, const xmlNode *force, Skins *all) {
  for (const xmlNode *set = force->children; set; set = set->next) {
    const xmlNode *objects = isTag(set, "ContactParametersSet") ? robotChild(set, "objects") : NULL;
    for (const xmlNode *c = objects ? objects->children : NULL; c; c = c->next) {
      const xmlNode *geometry = isTag(c, "ContactParameters") ? robotChild(c, "geometry") : NULL;
      xmlChar *text           = geometry ? xmlNodeGetContent(geometry) : NULL;
      int failed              = 0;
      char *rest              = (char *)text, *word;
      while (rest && !failed && (word = strtok_r(rest, " \t\r\n", &rest)))
        failed = addSurface(o, c, word, all);
      xmlFree(text);
      if (failed) return 1;
    }
  }
  return 0;
}

int osimAddContact(Osim *o, const xmlNode *n) {
  Skins all         = {0};
  sunrealtype speed = SUN_RCONST(0.01);
  int failed = listSurfaces(o, n, &all) || osimNumbers(o->r, n, "transition_velocity", 1, &speed);
  for (int i = 0; i < all.n && !failed; i++)
    for (int k = 0; k < i && !failed; k++) {
      /* Side a has the half-space, if there is one. */
      const int swap = all.surface[i].radius == 0;
      const Skin *a = &all.surface[swap ? i : k], *b = &all.surface[swap ? k : i];
      if (b->radius > 0 && a->frame.body != b->frame.body) failed = addPair(o, n, a, b, speed);
    }
  free(all.surface);
  return failed;
}

/* Stands in for the reader of XML files if libxml2 is missing. */
#include "files.h"
#include "hull.h"

#include <stdio.h>

CPBodies bodiesReadXml(const char *data, size_t size, const char *name, Run *run, char *message,
                       size_t length) {
  (void)data, (void)size, (void)(void)run;
  snprintf(message, length, "%s: this cpodes has been built without libxml2", name);
  return NULL;
}

const char *meshHull(const MeshSource *from, int most, MeshHull *hull) {
  (void)from, (void)most;
  *hull = (MeshHull){0};
  return "this cpodes has been built without libxml2";
}

static int start(CPBodies b) {
  (void)b;
  return 0;
}

static void take(CPBodies b, const CPElement *e) { (void)b, (void)e; }

static const char *finish(CPBodies b, const char *from) {
  (void)b, (void)from;
  return NULL;
}

static void release(CPBodies b) { (void)b; }

const FileWriter mjcf_writer = {"MJCF", start, take, finish, release},
                 urdf_writer = {"URDF", start, take, finish, release},
                 sdf_writer  = {"SDF", start, take, finish, release};

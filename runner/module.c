#define _GNU_SOURCE /* pipe2, strsignal */
#include "module.h"

#include "options.h"
#include "plain_locale.h"
#include "process/child.h"
#include "simulation/method.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <models/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE = 400, LOADING = 10 }; /* [s] */

/* dlopen searches the library folders for a name without a slash, and not the current folder. */
static char *place_of(const char *path) {
  const size_t length = strlen(path) + sizeof "./";
  char *place         = malloc(length);
  if (place) snprintf(place, length, "%s%s", strchr(path, '/') ? "" : "./", path);
  else complain("no memory");
  return place;
}

/* Tries in a separate process whether loading, which runs constructors, comes to an end. The process
 * reports that by a pipe, since a constructor may exit with any status. */
static int survives_loading(const char *path) {
  int status  = 0, ends[2];
  char loaded = 0;
  /* O_NONBLOCK: a process that a constructor has started may keep the other end. */
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return complain("%s: %s", path, strerror(errno)), 0;
  const pid_t child = child_start();
  if (child == 0) {
    dlopen(path, RTLD_NOW | RTLD_LOCAL); /* the caller below checks whether it worked */
    loaded = 1;
    _exit(write(ends[1], &loaded, 1) != 1);
  }
  const ChildEnd end = child > 0 ? child_wait(child, LOADING, &status) : CHILD_LOST;
  close(ends[1]);
  if (read(ends[0], &loaded, 1) != 1) loaded = 0;
  close(ends[0]);
  if (loaded) return 1;
  if (end == CHILD_OVER_LIMIT)
    complain("%s is not loaded within %d s: its initialization does not end", path, LOADING);
  else if (end == CHILD_ENDED && WIFSIGNALED(status))
    complain("%s crashes when it is loaded: %s", path, strsignal(WTERMSIG(status)));
  else if (end == CHILD_ENDED)
    complain("%s ends the process when it is loaded, with exit status %d", path,
             WEXITSTATUS(status));
  else complain("%s: no process can be started", path);
  return 0;
}

/* The formats of objects that dlopen may load begin with these bytes. */
static int is_object(const char *path) {
  static const unsigned char begins[][4] = {{0x7F, 'E', 'L', 'F'},
                                            {0xCF, 0xFA, 0xED, 0xFE},  /* Mach-O */
                                            {0xCA, 0xFE, 0xBA, 0xBE}}; /* for several machines */
  unsigned char head[4]                  = {0};
  FILE *file                             = fopen(path, "rb");
  const size_t got                       = file ? fread(head, 1, sizeof head, file) : 0;
  if (file) fclose(file);
  for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
    if (got == sizeof head && !memcmp(head, begins[i], sizeof head)) return 1;
  return 0;
}

/* module: out. Returns 0, EINVAL or ECHILD. */
static error_t open_module(const char *path, const CPPluginModule **module) {
  struct stat file = {0};
  void *object;
  if (access(path, R_OK)) return complain("%s: %s", path, strerror(errno)), EINVAL;
  if (stat(path, &file) || !S_ISREG(file.st_mode)) {
    const int is_folder = S_ISDIR(file.st_mode); /* reading a pipe would block */
    complain(is_folder ? "%s is a folder" : "%s is not a file with a shared object", path);
    return EINVAL;
  }
  if (!is_object(path)) {
    complain(
        "%s is not a shared object, and its name is not that of a file with a mechanism: .yaml or "
        ".yml, .xml or .mjcf (MJCF), .urdf (URDF), .sdf or .world (SDF), .osim (OpenSim), .asmt "
        "(FreeCAD); other formats, such as USD, are not read",
        path);
    return EINVAL;
  }
  if (!survives_loading(path)) return ECHILD;
  if (!(object = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
    return complain("this is not a shared object that can be loaded: %s", dlerror()), EINVAL;
  plain_locale(); /* which a constructor may have changed */
  *module = dlsym(object, CP_PLUGIN_SYMBOL);
  if (*module) return 0;
  complain(
      "%s has no symbol %s: a model is made one by CP_PLUGIN_MODULE(its type) in one of its files",
      path, CP_PLUGIN_SYMBOL);
  return EINVAL;
}

/* Compares the leading numbers of the object with those of this program. */
static int fits(const char *path, const CPPluginModule *module) {
  const struct {
    const char *what;
    int its, ours;
  } numbers[] = {
      {"version of the interface of models", module->abi, CP_PLUGIN_ABI},
      {"number of bytes of sunrealtype", module->real_bytes, (int)sizeof(sunrealtype)},
      {"number of bytes of sunindextype", module->index_bytes, (int)sizeof(sunindextype)},
      {"major version of SUNDIALS", module->sundials, SUNDIALS_VERSION_MAJOR},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (numbers[i].its == numbers[i].ours) continue;
    complain("%s: its %s is %d, and that of this cpodes is %d: recompile it against this cpodes",
             path, numbers[i].what, numbers[i].its, numbers[i].ours);
    return 0;
  }
  return 1;
}

static int is_possible(const char *path, const CPPluginType *type) {
  char message[MESSAGE] = "";
  Method method;
  if (type && type->method && method_find(type->method, &method) != METHOD_FOUND)
    snprintf(message, sizeof message,
             "it suggests the method \"%s\", which `cpodes run` does not have", type->method);
  if (!type) complain("%s: its %s names no model", path, CP_PLUGIN_SYMBOL);
  else if (message[0] || model_check_type(type, message, sizeof message))
    complain("%s: %s", path, message);
  return type && !message[0];
}

error_t module_load(const char *path, const CPPluginType **type) {
  char *place                  = place_of(path);
  const CPPluginModule *module = NULL;
  const error_t error          = place ? open_module(place, &module) : EINVAL;
  const int good               = !error && fits(place, module) && is_possible(place, module->type);
  free(place);
  *type = good ? module->type : NULL;
  return good ? 0 : error ? error : EINVAL;
}

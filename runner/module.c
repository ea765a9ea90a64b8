#define _GNU_SOURCE /* strsignal */
#include "module.h"

#include "options.h"
#include "process/child.h"
#include "simulation/method.h"

#include <dlfcn.h>
#include <errno.h>
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

/* Tries in a separate process whether loading, which runs constructors, comes to an end. */
static int survives_loading(const char *path) {
  int status        = 0;
  const pid_t child = child_start();
  if (child == 0) {
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
    _exit(0); /* the caller below checks whether it worked */
  }
  const ChildEnd end = child > 0 ? child_wait(child, LOADING, &status) : CHILD_LOST;
  if (end == CHILD_OVER_LIMIT)
    complain("%s is not loaded within %d s: its initialization does not end", path, LOADING);
  else if (end == CHILD_ENDED && WIFSIGNALED(status))
    complain("%s crashes when it is loaded: %s", path, strsignal(WTERMSIG(status)));
  else if (end == CHILD_ENDED && status)
    complain("%s ends the process when it is loaded, with exit status %d", path,
             WEXITSTATUS(status));
  return !status;
}

static const CPModelModule *open_module(const char *path) {
  struct stat file;
  void *object;
  if (access(path, R_OK)) return complain("%s: %s", path, strerror(errno)), NULL;
  if (stat(path, &file) || !S_ISREG(file.st_mode)) {
    complain("%s is not a file with a shared object", path); /* reading a pipe would block */
    return NULL;
  }
  if (!survives_loading(path)) return NULL;
  if (!(object = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
    return complain("this is not a shared object that can be loaded: %s", dlerror()), NULL;
  const CPModelModule *module = dlsym(object, CP_MODEL_SYMBOL);
  if (!module)
    complain(
        "%s has no symbol %s: a model is made one by CP_MODEL_MODULE(its type) in one of its files",
        path, CP_MODEL_SYMBOL);
  return module;
}

/* Compares the leading numbers of the object with those of this program. */
static int fits(const char *path, const CPModelModule *module) {
  const struct {
    const char *what;
    int its, ours;
  } numbers[] = {
      {"version of the interface of models", module->abi, CP_MODEL_ABI},
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

static int is_possible(const char *path, const CPModelType *type) {
  char message[MESSAGE] = "";
  Method method;
  if (type && type->method && method_find(type->method, &method) != METHOD_FOUND)
    snprintf(message, sizeof message,
             "it suggests the method \"%s\", which `cpodes run` does not have", type->method);
  if (!type) complain("%s: its %s names no model", path, CP_MODEL_SYMBOL);
  else if (message[0] || model_check_type(type, message, sizeof message))
    complain("%s: %s", path, message);
  return type && !message[0];
}

const CPModelType *module_load(const char *path) {
  char *place                 = place_of(path);
  const CPModelModule *module = place ? open_module(place) : NULL;
  const int good              = module && fits(place, module) && is_possible(place, module->type);
  free(place);
  return good ? module->type : NULL;
}

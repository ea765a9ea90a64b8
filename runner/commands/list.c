/* cpodes list: what can be run, and how. */
#include "../command.h"
#include "../options.h"
#include "../simulation/method.h"

#include <errno.h>
#include <models/model.h>
#include <stdio.h>
#include <string.h>

enum { KEY_NAMES = 1000, KEY_METHODS };

static const struct argp_option options[] = {
    {"methods", KEY_METHODS, NULL, 0, "the methods of `cpodes run --method` instead of the models",
     0},
    {"names", KEY_NAMES, NULL, 0, "names only, without titles", 0},
    {0}};

typedef struct {
  int methods, names;
} ListOptions;

static error_t parse(int key, char *text, struct argp_state *state) {
  ListOptions *o = state->input;
  switch (key) {
  case KEY_METHODS: o->methods = 1; return 0;
  case KEY_NAMES: o->names = 1; return 0;
  case ARGP_KEY_ARG:
    complain("list takes no argument, and is given \"%s\"; `cpodes describe %s`?", text, text);
    return EINVAL;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Name and title of the i-th; 0: there is none */
static int entry(const ListOptions *o, int i, const char **name, const char **title) {
  const Method *method    = o->methods ? method_at(i) : NULL;
  const CPModelType *type = o->methods ? NULL : model_type(i);
  if (method) *name = method->name, *title = method->title;
  if (type) *name = type->name, *title = type->title;
  return method || type;
}

static void print_all(const ListOptions *o) {
  const char *name, *title;
  int width = 0;
  for (int i = 0; entry(o, i, &name, &title); i++)
    if ((int)strlen(name) > width) width = (int)strlen(name);
  for (int i = 0; entry(o, i, &name, &title); i++)
    if (o->names) puts(name);
    else printf("%-*s  %s\n", width, name, title);
}

static int list_main(int argc, char **argv) {
  static const struct argp argp = {
      .options = options,
      .parser  = parse,
      .doc =
          "Names the models of the catalogue, with their titles; or the methods of integration."};
  ListOptions o = {0};
  if (parse_options(&argp, argc, argv, &o)) return STATUS_USAGE;
  print_all(&o);
  if (!fflush(stdout)) return STATUS_DONE;
  complain("stdout could not be written: %s", strerror(errno));
  return STATUS_OUTPUT;
}

const Command list_command = {"list", "names the models", list_main};

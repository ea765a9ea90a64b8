/* cpodes list: the models and methods. */
#include "../command.h"
#include "../mechanism.h"
#include "../options.h"
#include "../simulation/problem.h"

#include <errno.h>
#include <models/model.h>
#include <stdio.h>

enum { KEY_NAMES = 1000, KEY_FILES, KEY_METHODS, KEY_LINSOLS, KEY_NORMS };

static const struct argp_option options[] = {
    {"files", KEY_FILES, NULL, 0,
     "mechanisms as files that come with the program, in place of the models: `cpodes run engine`",
     0},
    {"methods", KEY_METHODS, NULL, 0, "values of `cpodes run --method`, in place of the models", 0},
    {"linsols", KEY_LINSOLS, NULL, 0, "values of its --linsol", 0},
    {"norms", KEY_NORMS, NULL, 0, "values of its --norm", 0},
    {"names", KEY_NAMES, NULL, 0, "only names, without titles", 0},
    {0}};

/* Returns the name and title of entry i of a list, or 0 after the last one. */
typedef int (*Entry)(int i, const char **name, const char **title);

typedef struct {
  Entry entry;
  int names;
} ListOptions;

static int model_entry(int i, const char **name, const char **title) {
  const CPPluginType *type = model_type(i);
  if (type) *name = type->name, *title = type->title;
  return type != NULL;
}

static int method_entry(int i, const char **name, const char **title) {
  const Method *method = method_at(i);
  if (method) *name = method->name, *title = method->title;
  return method != NULL;
}

static int file_entry(int i, const char **name, const char **title) {
  return mechanism_example_at(i, name, title);
}

static int linsol_entry(int i, const char **name, const char **title) {
  *title = "";
  return (*name = linsol_name(i)) != NULL;
}

static int norm_entry(int i, const char **name, const char **title) {
  *title = "";
  return (*name = norm_name(i)) != NULL;
}

static error_t take_list(ListOptions *o, Entry entry) {
  if (o->entry && o->entry != entry)
    return complain("--files, --methods, --linsols and --norms: one of them at most"), EINVAL;
  o->entry = entry;
  return 0;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  ListOptions *o = state->input;
  switch (key) {
  case KEY_FILES: return take_list(o, file_entry);
  case KEY_METHODS: return take_list(o, method_entry);
  case KEY_LINSOLS: return take_list(o, linsol_entry);
  case KEY_NORMS: return take_list(o, norm_entry);
  case KEY_NAMES: o->names = 1; return 0;
  case ARGP_KEY_ARG:
    complain("list takes no argument, and is given \"%s\"; `cpodes describe %s`?", text, text);
    return EINVAL;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_all(const ListOptions *o) {
  const char *name, *title;
  int width = 0;
  for (int i = 0; o->entry(i, &name, &title); i++) width = wider(width, name);
  for (int i = 0; o->entry(i, &name, &title); i++)
    if (o->names || !title[0]) puts(name);
    else printf("%-*s  %s\n", width, name, title);
}

static int list_main(int argc, char **argv) {
  static const struct argp argp = {
      .options = options,
      .parser  = parse,
      .doc     = "Lists the models of the catalogue with their titles, "
                 "mechanisms as files, or the values of options of `cpodes run`."};
  ListOptions o = {0};
  if (parse_options(&argp, argc, argv, &o)) return STATUS_USAGE;
  if (!o.entry) o.entry = model_entry;
  print_all(&o);
  return STATUS_DONE;
}

const Command list_command = {"list", "lists the models", list_main};

/* cpodes convert FILE OUT: a robot or an assembly as a YAML file, to which elements can be added, or in MJCF, URDF or SDF. */
#include "../command.h"
#include "../options.h"
#include "../output/files.h"

#include <cpodes/cpodes_bodies.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
    {"param", 'p', "NAME=VALUE", 0, "a parameter of the file; may be repeated", 0},
    {"start", KEY_START, "START", 0,
     "of a robot: JOINT=VALUE, such as elbow=30deg, JOINT'=RATE, or a keyframe; may be repeated", 0},
    {"base", KEY_BASE, "KIND", 0, "of a robot in URDF: fixed (default) or free", 0},
    {0}};

typedef struct {
  const char *from, *to;
  char *settings; /* lines NAME=VALUE, or NULL */
} ConvertOptions;

/* Adds the line prefix text. */
static error_t add_setting(ConvertOptions *o, const char *prefix, const char *text) {
  const size_t before = o->settings ? strlen(o->settings) : 0;
  char *more          = realloc(o->settings, before + strlen(prefix) + strlen(text) + 2);
  if (!more) return complain("no memory"), EINVAL;
  sprintf(more + before, "%s%s\n", prefix, text);
  o->settings = more;
  return 0;
}

static const char suffixes[] = ".yaml .yml .xml .mjcf .urdf .sdf";

/* From the last dot of the name on, or "" if nothing follows it */
static const char *suffix_of(const char *path) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  return dot && dot[1] ? dot : "";
}

static error_t parse(int key, char *text, struct argp_state *state) {
  ConvertOptions *o = state->input;
  switch (key) {
  case 'p':
    if (strchr(text, '=')) return add_setting(o, "", text);
    return complain("--param wants NAME=VALUE, and is \"%s\"", text), EINVAL;
  case KEY_START: return add_setting(o, strchr(text, '=') ? "start." : "start=", text);
  case KEY_BASE: return add_setting(o, "base=", text);
  case ARGP_KEY_ARG:
    if (!o->from) return o->from = text, 0;
    if (o->to) return complain("there is one name too many: \"%s\"", text), EINVAL;
    if (path_take("OUT", text, suffixes, &o->to)) return EINVAL;
    if (*suffix_of(o->to)) return 0;
    return complain("OUT: the suffix decides what is written, %s, and there is none: \"%s\"",
                    suffixes, text),
           EINVAL;
  case ARGP_KEY_END:
    if (!o->to) return complain("two files are wanted: a mechanism, and the one to write"), EINVAL;
    if (is_same_file(o->from, o->to))
      return complain("%s would be overwritten by itself", o->from), EINVAL;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* The number of a format in CPBodiesFile, by the end of its name */
static int format_of(const char *to) {
  switch (suffix_of(to)[1] | 0x20) {
  case 'y': return 1;
  case 'u': return 3;
  case 's': return 4;
  default: return 2;
  }
}

static int convert(const ConvertOptions *o) {
  CPBodiesFile file = CP_INIT(CPBodiesFile);
  CPBodies bodies;
  char temporary[TEMPORARY_LENGTH];
  file.parameters = o->settings;
  file.writes     = format_of(o->to);
  if (CPBodiesRead(o->from, NULL, 0, &bodies, &file)) {
    complain("%s", CPObjectGetLastMessage(NULL));
    return STATUS_USAGE;
  }
  int status = STATUS_OUTPUT;
  FILE *out  = file.written ? whole_file_open(o->to, temporary) : NULL;
  if (!file.written) complain("this cpodes has been built without libyaml or libxml2");
  if (out && fputs(file.written, out) >= 0) {
    if (!whole_file_close(out, temporary, o->to)) status = STATUS_DONE;
  } else if (out) {
    whole_file_discard(out, temporary);
    complain("%s cannot be written", o->to);
  }
  CPBodiesFree(&bodies);
  return status;
}

static int convert_main(int argc, char **argv) {
  static const struct argp argp = {
      .options  = options,
      .parser   = parse,
      .args_doc = "FILE OUT",
      .doc = "Writes a mechanism of a file, such as a robot in MJCF, URDF or SDF, or an assembly "
             "of FreeCAD, as a YAML file (OUT.yaml) "
             "with all its elements, and, as comments, what the file has beside them; or in MJCF "
             "(OUT.xml), URDF (OUT.urdf) or SDF (OUT.sdf), as far as these have them."};
  ConvertOptions o = {0};
  int status       = STATUS_USAGE;
  if (!parse_options(&argp, argc, argv, &o)) status = convert(&o);
  free(o.settings);
  return status;
}

const Command convert_command = {
    "convert", "writes a robot's file as a YAML file, or in MJCF, URDF or SDF", convert_main};

/* Loops of a robot in URDF, which the format cannot express, in a YAML file with its name (example-parallel-robots of Gepetto):
 *
 *   closed_loop: [[frame, frame], ...]    links, or joints for the links to which they lead
 *   type: ['6d', '3d', ...]               the frames are equal, or their points meet
 *   joint_name: [...], joint_type: [...]  joints that are others than in the URDF: SPHERICAL, FIXED, UJOINT_XY */
#include "yaml_impl.h"

#include <string.h>

/* The items of a list, or NULL if it is missing. Returns 0, or 1 after a message. */
static int listOf(Reader *r, const yaml_node_t *top, const char *key, const yaml_node_item_t **item,
                  int *count) {
  const yaml_node_t *n = yamlSection(r, top, key);
  *item                = NULL;
  *count               = 0;
  if (!n) return 0;
  if (n->type != YAML_SEQUENCE_NODE) return yamlWrong(r, n->start_mark, "%s must be a list", key);
  *item  = n->data.sequence.items.start;
  *count = (int)(n->data.sequence.items.top - *item);
  return 0;
}

static int copyName(Reader *r, const yaml_node_t *n, const char *key, char *to, size_t size) {
  const char *name;
  if (yamlName(r, n, key, &name)) return 1;
  if (strlen(name) >= size) return yamlWrong(r, n->start_mark, "%s is too long", key);
  strcpy(to, name);
  return 0;
}

static int readLoops(Reader *r, Loops *loops) {
  const yaml_node_t *top = yaml_document_get_root_node(&r->document);
  const yaml_node_item_t *pair, *type, *joint, *kind;
  int npairs, ntypes, njoints, nkinds;
  if (!top || top->type != YAML_MAPPING_NODE || !yamlSection(r, top, "closed_loop")) return 0;
  if (listOf(r, top, "closed_loop", &pair, &npairs) || listOf(r, top, "type", &type, &ntypes) ||
      listOf(r, top, "joint_name", &joint, &njoints) || listOf(r, top, "joint_type", &kind, &nkinds))
    return 1;
  if (ntypes != npairs || njoints != nkinds)
    return yamlWrong(r, top->start_mark,
                     "each loop must have a type, and each joint_name a joint_type, and there are "
                     "%d, %d, %d, %d",
                     npairs, ntypes, njoints, nkinds);
  if (ROOM(loops->loop, 0, npairs + 1) || ROOM(loops->change, 0, njoints + 1))
    return yamlWrong(r, top->start_mark, "no memory");
  for (int i = 0; i < npairs; i++) {
    const yaml_node_t *n = yamlNode(r, pair[i]);
    LoopOfUrdf *l        = &loops->loop[i];
    char text[8];
    if (n->type != YAML_SEQUENCE_NODE ||
        n->data.sequence.items.top - n->data.sequence.items.start != 2)
      return yamlWrong(r, n->start_mark, "a loop must be a list of two names");
    *l = (LoopOfUrdf){.line = (int)n->start_mark.line + 1, .column = (int)n->start_mark.column + 1};
    for (int k = 0; k < 2; k++)
      if (copyName(r, yamlNode(r, n->data.sequence.items.start[k]), "closed_loop", l->frame[k],
                   sizeof l->frame[k]))
        return 1;
    n = yamlNode(r, type[i]);
    if (copyName(r, n, "type", text, sizeof text)) return 1;
    l->fixed = !strcmp(text, "6d") || !strcmp(text, "6D");
    if (!l->fixed && strcmp(text, "3d") && strcmp(text, "3D"))
      return yamlWrong(r, n->start_mark, "type must be 3d or 6d, and is \"%s\"", text);
    loops->nloops++;
  }
  for (int i = 0; i < njoints; i++) {
    const yaml_node_t *n = yamlNode(r, joint[i]);
    ChangeOfUrdf *c      = &loops->change[i];
    *c                   = (ChangeOfUrdf){.line   = (int)n->start_mark.line + 1,
                                          .column = (int)n->start_mark.column + 1};
    if (copyName(r, n, "joint_name", c->joint, sizeof c->joint) ||
        copyName(r, yamlNode(r, kind[i]), "joint_type", c->type, sizeof c->type))
      return 1;
    loops->nchanges++;
  }
  return 0;
}

int bodiesReadLoops(const char *data, size_t size, const char *name, Loops *loops, char *message,
                    size_t length) {
  Reader r = {.file = name, .data = data, .size = size, .message = message, .length = length};
  const int failed = yamlParse(&r) || readLoops(&r, loops);
  yamlClose(&r);
  return failed;
}

/* YAML texts as documents: nodes from libyaml's events, anchors, and messages with places. */
#include "yaml_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int yamlWrong(Reader *r, yaml_mark_t at, const char *format, ...) {
  char text[TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  snprintf(r->message, r->length, "%s:%zu:%zu: %s", r->file, at.line + 1, at.column + 1, text);
  bodiesOneLine(r->message, r->length);
  return 1;
}

const yaml_node_t *yamlNode(Reader *r, int index) {
  return yaml_document_get_node(&r->document, index);
}
static const char *anchorName(const Reader *r, const Anchor *a) { return r->names + a->name; }

const yaml_node_t *yamlSection(Reader *r, const yaml_node_t *top, const char *key) {
  for (const yaml_node_pair_t *p = top->data.mapping.pairs.start; p < top->data.mapping.pairs.top;
       p++)
    if (yamlNode(r, p->key)->type == YAML_SCALAR_NODE && !strcmp(yamlText(yamlNode(r, p->key)), key))
      return yamlNode(r, p->value);
  return NULL;
}

/* The position of the byte `offset`, where libyaml has stopped decoding; libyaml's own marks do not
 * reach that far. */
static yaml_mark_t markAt(const Reader *r, size_t offset) {
  const unsigned char *data = (const unsigned char *)r->data;
  const int low             = r->size > 1 && data[0] == 0xFF && data[1] == 0xFE, /* UTF-16 */
      high                  = r->size > 1 && data[0] == 0xFE && data[1] == 0xFF;
  const size_t width        = low || high ? 2 : 1;
  yaml_mark_t mark          = {0, 0, 0};
  size_t i = width == 2 ? 2 : r->size > 2 && !memcmp(data, "\xEF\xBB\xBF", 3) ? 3 : 0;
  for (; i + width <= offset && i + width <= r->size; i += width) {
    const int c = width == 1 ? data[i] : data[i + (high ? 1 : 0)] + 256 * data[i + (high ? 0 : 1)];
    if (c == '\n') mark.line++, mark.column = 0;
    else if (width == 1 ? (c & 0xC0) != 0x80 : (c & 0xFC00) != 0xDC00) mark.column++;
  }
  return mark;
}

static int cannotParse(const yaml_parser_t *parser, Reader *r) {
  const yaml_mark_t at = parser->problem_mark;
  if (parser->error == YAML_MEMORY_ERROR) return yamlWrong(r, at, "no memory");
  if (parser->error == YAML_READER_ERROR)
    return yamlWrong(r, markAt(r, parser->problem_offset), "not a text in UTF-8 or UTF-16: %s",
                     parser->problem);
  /* libyaml says of a tab that no token can start with it. */
  const char *start = r->data, *end = r->data + r->size;
  for (size_t line = 0; start && start < end && line < at.line; line++)
    if ((start = memchr(start, '\n', (size_t)(end - start)))) start++;
  const int tab = start && at.column < (size_t)(end - start) && start[at.column] == '\t';
  return yamlWrong(r, at, "no YAML: %s%s", parser->problem ? parser->problem : "it ends too early",
                   tab ? " (a tab; lines are indented by blanks)" : "");
}

/* The entry of an anchor in the hash table, or the free one where it belongs */
static Anchor *anchorOf(const Reader *r, const char *name) {
  unsigned i = bodiesHash(name, strlen(name));
  for (;; i++) {
    Anchor *a = &r->anchor[i & (unsigned)(r->capacity - 1)];
    if (!a->node || !strcmp(anchorName(r, a), name)) return a;
  }
}

/* Gives a node its name; the table is at most half full. Returns 0, or 1 after a message. */
static int addAnchor(Reader *r, const yaml_event_t *e, const char *name, int of) {
  if (2 * r->nanchors >= r->capacity) {
    const Reader old = *r;
    r->capacity      = old.capacity ? 2 * old.capacity : 16;
    r->anchor        = calloc((size_t)r->capacity, sizeof *r->anchor);
    for (int i = 0; r->anchor && i < old.capacity; i++)
      if (old.anchor[i].node) *anchorOf(r, anchorName(r, &old.anchor[i])) = old.anchor[i];
    free(old.anchor);
    if (!r->anchor) return yamlWrong(r, e->start_mark, "no memory");
  }
  Anchor *a        = anchorOf(r, name);
  const int length = (int)strlen(name) + 1;
  if (a->node) return yamlWrong(r, e->start_mark, "there is an anchor %.40s already", name);
  if (ROOM(r->names, r->nnames, length)) return yamlWrong(r, e->start_mark, "no memory");
  memcpy(r->names + r->nnames, name, (size_t)length);
  *a = (Anchor){.name = r->nnames, .node = of};
  r->nnames += length;
  r->nanchors++;
  return 0;
}

/* Adds the node of an event to the document. Returns its index, or 0 after a message. */
static int addNode(Reader *r, const yaml_event_t *e) {
  yaml_document_t *d = &r->document;
  const char *anchor = NULL;
  int i              = 0;
  switch (e->type) {
  case YAML_ALIAS_EVENT: {
    const char *name = (const char *)e->data.alias.anchor;
    i                = r->nanchors ? anchorOf(r, name)->node : 0;
    if (!i) yamlWrong(r, e->start_mark, "there is no anchor %.40s", name);
    return i;
  }
  case YAML_SCALAR_EVENT:
    anchor = (const char *)e->data.scalar.anchor;
    i      = yaml_document_add_scalar(d, NULL, e->data.scalar.value, (int)e->data.scalar.length,
                                      e->data.scalar.style);
    break;
  case YAML_SEQUENCE_START_EVENT:
    anchor = (const char *)e->data.sequence_start.anchor;
    i      = yaml_document_add_sequence(d, NULL, e->data.sequence_start.style);
    break;
  default:
    anchor = (const char *)e->data.mapping_start.anchor;
    i      = yaml_document_add_mapping(d, NULL, e->data.mapping_start.style);
  }
  if (!i) return yamlWrong(r, e->start_mark, "no memory"), 0;
  yaml_document_get_node(d, i)->start_mark = e->start_mark;
  return anchor && addAnchor(r, e, anchor, i) ? 0 : i;
}

/* Takes an event of the document. Returns 0, or 1 after a message. */
static int takeEvent(Reader *r, const yaml_event_t *e) {
  if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT) return r->depth--, 0;
  const int i = addNode(r, e);
  if (!i) return 1;
  if (r->depth > 0) {
    const int parent = r->open[r->depth - 1].node;
    int *key = &r->open[r->depth - 1].key, added = 1;
    if (yamlNode(r, parent)->type == YAML_SEQUENCE_NODE)
      added = yaml_document_append_sequence_item(&r->document, parent, i);
    else if (!*key) *key = i;
    else added = yaml_document_append_mapping_pair(&r->document, parent, *key, i), *key = 0;
    if (!added) return yamlWrong(r, e->start_mark, "no memory");
  }
  if (e->type != YAML_SEQUENCE_START_EVENT && e->type != YAML_MAPPING_START_EVENT) return 0;
  if (r->depth == DEEPEST)
    return yamlWrong(r, e->start_mark, "a mechanism has at most %d levels of lists and mappings",
                     DEEPEST);
  r->open[r->depth].node  = i;
  r->open[r->depth++].key = 0;
  return 0;
}

/* Builds the document from libyaml's events: its own loader searches all earlier anchors for each
 * anchor and alias, and takes a time that is quadratic in the depth. Without a document in the file,
 * r->document has no node. Returns 0, or 1 after a message. */
static int yamlLoad(yaml_parser_t *parser, Reader *r) {
  int failed = 0, ended = 0, documents = 0;
  while (!failed && !ended) {
    yaml_event_t e;
    if (!yaml_parser_parse(parser, &e)) return cannotParse(parser, r);
    if (e.type == YAML_STREAM_END_EVENT) ended = 1;
    else if (e.type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
      failed = yamlWrong(r, e.start_mark, "a file is one document, and this is a second one");
    else if (e.type >= YAML_ALIAS_EVENT) failed = takeEvent(r, &e);
    yaml_event_delete(&e);
  }
  return failed;
}

/* libyaml compares each %TAG with all before it. */
static int hasDirectives(const Reader *r, int most) {
  char last = '\n';
  int count = 0;
  for (size_t i = 0; i < r->size; i++) {
    if (r->data[i] == '%' && (last == '\n' || last == '\r')) count++;
    if (r->data[i]) last = r->data[i]; /* UTF-16 has zeros. */
  }
  return count > most;
}

int yamlParse(Reader *r) {
  enum { MOST_DIRECTIVES = 100 };
  static const yaml_mark_t start = {0, 0, 0};
  yaml_parser_t parser;
  if (hasDirectives(r, MOST_DIRECTIVES))
    return yamlWrong(r, start, "there are more than %d directives", MOST_DIRECTIVES);
  if (!yaml_parser_initialize(&parser)) return yamlWrong(r, start, "no memory");
  yaml_parser_set_input_string(&parser, (const unsigned char *)r->data, r->size);
  const int failed = !yaml_document_initialize(&r->document, NULL, NULL, NULL, 1, 1)
                         ? yamlWrong(r, start, "no memory")
                         : yamlLoad(&parser, r) || yamlMerge(r);
  yaml_parser_delete(&parser);
  return failed;
}

void yamlClose(Reader *r) {
  yaml_document_delete(&r->document);
  free(r->anchor);
  free(r->names);
  cpScopeFree(r->scope);
  for (int i = 0; i < r->nscopes; i++) cpScopeFree(r->scopes[i]);
  for (int i = 0; i < r->ntexts; i++) free(r->texts[i]);
  free(r->scopes);
  free(r->texts);
  free(r->points);
}

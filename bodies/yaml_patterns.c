/* Patterns in YAML files: merge keys, repetitions, and files that include others with parameters of their own. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "yaml_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_MERGED   = 1000000, /* keys that merges add to a file */
  MOST_KEYS     = 1000,    /* of a mapping with << */
  MOST_REPEATED = 100000,
  MOST_FILES    = 10000,
  MOST_NESTED   = 4
};

/* Returns a copy that the reader owns, or NULL if out of memory. */
static char *keptCopy(Reader *r, const char *text) {
  char *copy = strdup(text);
  if (!copy || ROOM(r->texts, r->ntexts, 1)) return free(copy), NULL;
  return r->texts[r->ntexts++] = copy;
}

/* ---- merge keys ---- */

/* Adds the keys of a mapping that n does not have. added: in, out, the number of keys that have been added in this file */
static int addKeys(Reader *r, int n, const yaml_node_t *value, int from, long *added) {
  const yaml_node_t *to = yamlNode(r, n);
  const long count      = value->type == YAML_MAPPING_NODE
                              ? (long)(value->data.mapping.pairs.top - value->data.mapping.pairs.start)
                              : -1;
  if (count < 0 || value == to)
    return yamlWrong(r, to->start_mark, "<< must be another mapping, or a list of mappings");
  if (count > MOST_KEYS || (*added += count) > MOST_MERGED)
    return yamlWrong(r, to->start_mark, "<< adds too many keys");
  for (long i = 0; i < count; i++) {
    const yaml_node_pair_t pair = yamlNode(r, from)->data.mapping.pairs.start[i];
    const yaml_node_t *key      = yamlNode(r, pair.key);
    if (key->type != YAML_SCALAR_NODE || yamlSection(r, yamlNode(r, n), yamlText(key))) continue;
    if (!yaml_document_append_mapping_pair(&r->document, n, pair.key, pair.value))
      return yamlWrong(r, to->start_mark, "no memory");
  }
  return 0;
}

int yamlMerge(Reader *r) {
  const int count = (int)(r->document.nodes.top - r->document.nodes.start);
  long added      = 0;
  for (int n = 1; n <= count; n++) { /* an anchor stands before its aliases */
    yaml_node_t *node = yaml_document_get_node(&r->document, n);
    if (node->type != YAML_MAPPING_NODE) continue;
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
      const yaml_node_t *key = yamlNode(r, p->key);
      if (key->type != YAML_SCALAR_NODE || strcmp(yamlText(key), "<<")) continue;
      const int from           = p->value;
      const yaml_node_t *value = yamlNode(r, from);
      if (node->data.mapping.pairs.top - node->data.mapping.pairs.start > MOST_KEYS)
        return yamlWrong(r, node->start_mark, "<< adds too many keys");
      memmove(p, p + 1, (size_t)(node->data.mapping.pairs.top - p - 1) * sizeof *p);
      node->data.mapping.pairs.top--;
      const int list = value->type == YAML_SEQUENCE_NODE;
      const long all =
          list ? (long)(value->data.sequence.items.top - value->data.sequence.items.start) : 1;
      for (long i = 0; i < all; i++) {
        const int of = list ? value->data.sequence.items.start[i] : from;
        if (addKeys(r, n, yamlNode(r, of), of, &added)) return 1;
      }
      break;
    }
  }
  return 0;
}

/* ---- repetitions and names ---- */

int yamlRepeat(Reader *r, const yaml_node_t *n,
               int (*work)(Reader *r, const yaml_node_t *n, void *data), void *data) {
  const yaml_node_t *repeat = n->type == YAML_MAPPING_NODE ? yamlSection(r, n, "repeat") : NULL;
  const char *name;
  sunrealtype most;
  if (!repeat) return work(r, n, data);
  if (repeat->type != YAML_MAPPING_NODE ||
      repeat->data.mapping.pairs.top - repeat->data.mapping.pairs.start != 1)
    return yamlWrong(r, repeat->start_mark, "repeat must be {i: number of times}");
  const yaml_node_pair_t *pair = repeat->data.mapping.pairs.start;
  if (yamlName(r, yamlNode(r, pair->key), "repeat", &name) ||
      yamlNumber(r, yamlNode(r, pair->value), "repeat", "1", &most))
    return 1;
  if (most != floor(most) || most < 0 || most > MOST_REPEATED)
    return yamlWrong(r, repeat->start_mark, "repeat must be a whole number from 0 to %d, and is %g",
                     MOST_REPEATED, (double)most);
  Scope *before = r->scope;
  int failed    = 0;
  for (int i = 1; i <= (int)most && !failed; i++) {
    char text[20];
    Scope *scope = cpScopeCreate(before);
    snprintf(text, sizeof text, "%d", i);
    if (!scope || ROOM(r->scopes, r->nscopes, 1)) {
      cpScopeFree(scope);
      return yamlWrong(r, repeat->start_mark, "no memory");
    }
    r->scopes[r->nscopes++] = scope;
    if (cpScopeDefine(scope, name, text, NULL, yamlPlace(r, yamlNode(r, pair->key)), 0))
      return yamlWrongText(r, NULL, NULL);
    r->scope = scope, r->repeats++;
    failed   = work(r, n, data);
    r->scope = before, r->repeats--;
    if (!r->keeps) cpScopeFree(r->scopes[--r->nscopes]);
    r->keeps = 0;
  }
  return failed;
}

int yamlResolve(Reader *r, const yaml_node_t *n, int own, const char **name) {
  char text[TEXT] = "", full[2 * TEXT];
  size_t at       = 0;
  int made        = 0, index;
  for (const char *c = *name; *c; made |= *c == '{') {
    const size_t plain = r->repeats ? strcspn(c, "{") : strlen(c), end = strcspn(c + plain, "}");
    char inner[TEXT];
    sunrealtype value;
    if (at + plain >= sizeof text) return yamlWrong(r, n->start_mark, "a name is too long");
    memcpy(text + at, c, plain);
    at += plain;
    text[at] = '\0';
    if (!*(c += plain)) break;
    snprintf(inner, sizeof inner, "%.*s", (int)(end > 0 ? end - 1 : 0), c + 1);
    if (!c[end] || cpScopeNumber(r->scope, inner, yamlPlace(r, n), "1", &value))
      return c[end] ? yamlWrongText(r, "a name", NULL)
                    : yamlWrong(r, n->start_mark, "a name needs }");
    if (value != floor(value) || fabs(value) > 1e9)
      return yamlWrong(r, n->start_mark, "{%.40s} must be a whole number, and is %g", inner,
                       (double)value);
    at += (size_t)snprintf(text + at, sizeof text - at, "%.0f", (double)value);
    if (at >= sizeof text) return yamlWrong(r, n->start_mark, "a name is too long");
    made = 1;
    c += end + 1;
  }
  for (const Reader *q = r; q; q = q->outer) {
    const char *prefix = q->prefix ? q->prefix : "";
    snprintf(full, sizeof full, "%s%s", prefix, text);
    if (!*prefix && !made && !q->outer) return 0;
    if (own || !q->outer || bodiesLookUp(&r->bodies->m, full, strlen(full), &index)) break;
    const yaml_node_t *other = q->with ? yamlSection(q->outer, q->with, text) : NULL;
    if (!other) continue;
    const char *meant;
    if (yamlName(q->outer, other, "with", &meant)) return 1;
    snprintf(text, sizeof text, "%s", meant);
    made = 1;
  }
  return (*name = keptCopy(r, full)) ? 0 : yamlWrong(r, n->start_mark, "no memory");
}

/* ---- files ---- */

typedef struct {
  const char *file, *prefix, *mirror;
} IncludeKeys;
static const Field include_fields[]         = {FIELD(IncludeKeys, "file", file, NAME, 1),
                                               FIELD(IncludeKeys, "prefix", prefix, NAME, 0),
                                               FIELD(IncludeKeys, "mirror", mirror, NAME, 0),
                                               {0}};
static const char *const include_sections[] = {"parameters", "with", "repeat", NULL};

static int include(Reader *r, const yaml_node_t *n, void *data) {
  Files *files     = data;
  IncludeKeys keys = {NULL, r->prefix ? r->prefix : "", ""};
  char whole[4096], prefix[TEXT];
  const char *why = "its path is too long";
  if (yamlMapping(r, n, "an included file", include_fields, include_sections, &keys)) return 1;
  const yaml_node_t *at = yamlSection(r, n, "file"), *of = yamlSection(r, n, "prefix"),
                    *given = yamlSection(r, n, "parameters"), *with = yamlSection(r, n, "with");
  if (given && given->type != YAML_MAPPING_NODE)
    return yamlWrong(r, given->start_mark, "parameters must be a mapping, name: value");
  if (with && with->type != YAML_MAPPING_NODE)
    return yamlWrong(r, with->start_mark, "with must be a mapping, name in the file: name here");
  const char *component = *keys.mirror && !keys.mirror[1] ? strchr("xyz", *keys.mirror) : NULL;
  if (*keys.mirror && (!component || (*component == 'z' && r->dimension == 2)))
    return yamlWrong(r, yamlSection(r, n, "mirror")->start_mark, "mirror must be x, y%s",
                     r->dimension == 3 ? " or z" : "");
  if (files->count == MOST_FILES || files->depth == MOST_NESTED)
    return yamlWrong(r, n->start_mark,
                     "at most %d files may be included, at most %d within each other", MOST_FILES,
                     MOST_NESTED);
  if (of && yamlResolve(r, of, 1, &keys.prefix)) return 1;
  snprintf(prefix, sizeof prefix, "%s", keys.prefix);
  Reader *q = calloc(1, sizeof *q);
  if (!q || ROOM(files->reader, files->count, 1))
    return free(q), yamlWrong(r, n->start_mark, "no memory");
  files->reader[files->count++] = q;
  r->keeps                      = 1;
  q->outer = r, q->given = given, q->with = with, q->from = r->scope, q->message = r->message,
  q->length    = r->length;
  q->dimension = r->dimension, q->bodies = r->bodies, q->kept = r->kept;
  q->mirror  = component ? 1 + (int)(*component - 'x') : 0;
  char *text = bodiesBeside(r->file, keys.file, whole, sizeof whole)
                   ? NULL
                   : bodiesFile(whole, &q->size, &why);
  if (!text)
    return yamlWrong(r, at->start_mark, "the file \"%.300s\" cannot be read: %s", keys.file, why);
  for (const Reader *around = r; around; around = around->outer)
    if (!strcmp(around->file, whole))
      return free(text), yamlWrong(r, at->start_mark, "the file \"%.300s\" includes itself", whole);
  q->file = keptCopy(q, whole), q->prefix = keptCopy(q, prefix), q->data = text;
  int failed = !q->file || !q->prefix || !(q->scope = cpScopeCreate(r->scope)) ||
               bodiesHasRead(r->bodies, whole);
  if (failed) yamlWrong(r, n->start_mark, "no memory");
  if (!failed) failed = yamlParse(q);
  free(text);
  q->data = NULL;
  if (!failed) failed = yamlOpen(q);
  files->depth++;
  if (!failed) failed = yamlInclude(q, yaml_document_get_root_node(&q->document), files);
  files->depth--;
  return failed;
}

int yamlInclude(Reader *r, const yaml_node_t *top, Files *files) {
  const yaml_node_t *list = yamlSection(r, top, "include");
  if (!list) return 0;
  if (list->type != YAML_SEQUENCE_NODE)
    return yamlWrong(r, list->start_mark, "include must be a list, - {file: ..., prefix: ...}");
  for (const yaml_node_item_t *i = list->data.sequence.items.start;
       i < list->data.sequence.items.top; i++)
    if (yamlRepeat(r, yamlNode(r, *i), include, files)) return 1;
  return 0;
}

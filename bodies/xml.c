/* XML files: the tree, attributes, names, messages and notes. libxml2
 * limits the depth of a tree to 256. Document types are refused where they begin, so that there are
 * no entities, and nothing is read from a network. */
#include "robot_impl.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTRIBUTES = 1000 };

/* ------------------------------------------------------------------------ messages and notes -- */

const Spot *robotSpot(const Robot *r, const xmlNode *at) {
  return &r->spot[(intptr_t)at->_private - 1];
}

int robotWrong(Robot *r, const xmlNode *at, const char *format, ...) {
  char text[TEXT], place[80] = "";
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *name = at ? robotText(at, "name") : NULL;
  if (at)
    snprintf(place, sizeof place, "%.30s%s%.40s: ", (const char *)at->name, name ? " " : "",
             name ? name : "");
  const Spot *spot = at ? robotSpot(r, at) : NULL;
  if (at)
    snprintf(r->message, r->length, "%s:%d:%d: %s%s", spot->file, spot->line, spot->column, place,
             text);
  else snprintf(r->message, r->length, "%s: %s", r->file, text);
  bodiesOneLine(r->message, r->length);
  return 1;
}

int robotTell(Robot *r, const xmlNode *at, Group group, const char *format, ...) {
  Note n = {.node = at, .group = group, .count = 1};
  va_list args;
  va_start(args, format);
  vsnprintf(n.text, sizeof n.text, format, args);
  va_end(args);
  const void *found = xmlHashLookup2(r->names, BAD_CAST "note", BAD_CAST n.text);
  if (found) {
    r->note[(intptr_t)found - 1].count++;
    return 0;
  }
  if (ROOM(r->note, r->nnotes, 1)) return robotWrong(r, at, "no memory");
  r->note[r->nnotes++] = n;
  return robotName(r, at, "note", n.text, r->nnotes - 1);
}

/* -------------------------------------------------------------------------------- attributes -- */

const char *robotText(const xmlNode *n, const char *attribute) {
  for (const xmlAttr *a = n->properties; a; a = a->next)
    if (!xmlStrcmp(a->name, BAD_CAST attribute))
      return a->children && a->children->content ? (const char *)a->children->content : "";
  return NULL;
}

int robotNumbers(Robot *r, const xmlNode *n, const char *attribute, const char *text, int least,
                 int most, sunrealtype *x, int *count) {
  static const char *const blanks = " \t\r\n";
  int i                           = 0;
  const char *at                  = text + strspn(text, blanks);
  for (; *at && i < most; i++) {
    char *end;
    const double value = strtod(at, &end);
    if (end == at || !isfinite(value) || (*end && !strchr(blanks, *end))) break;
    x[i] = value;
    at   = end + strspn(end, blanks);
  }
  if (count) *count = i;
  if (!*at && i >= least) return 0;
  if (most == 1)
    return robotWrong(r, n, "%s must be a finite number, and is \"%.60s\"", attribute, text);
  if (least == most)
    return robotWrong(r, n, "%s must be %d finite numbers, and is \"%.60s\"", attribute, most, text);
  return robotWrong(r, n, "%s must be %d to %d finite numbers, and is \"%.60s\"", attribute, least,
                    most, text);
}

int robotKnows(const char *known, const xmlChar *name) {
  const size_t length = strlen((const char *)name);
  const char *at      = known;
  while ((at = strstr(at, (const char *)name)) && (at[-1] != ' ' || at[length] != ' ')) at++;
  return at != NULL;
}

int robotAttributes(Robot *r, const xmlNode *n, const char *acting) {
  for (const xmlAttr *a = n->properties; a; a = a->next) {
    const char *name = (const char *)a->name, *text = robotText(n, name);
    const int is_zero = strspn(text, " 0.") == strlen(text);
    if (robotKnows(acting, a->name) && !is_zero && strcmp(text, "false") != 0 &&
        robotNote(r, n, "the %.60s of %.40s", name, (const char *)n->name))
      return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------- names -- */

int robotName(Robot *r, const xmlNode *at, const char *kind, const char *name, int index) {
  if (!xmlHashLookup2(r->names, BAD_CAST kind, BAD_CAST name))
    return xmlHashAddEntry2(r->names, BAD_CAST kind, BAD_CAST name, (void *)(intptr_t)(index + 1))
               ? robotWrong(r, at, "no memory")
               : 0;
  return robotWrong(r, at, "there is a %s \"%.60s\" already", kind, name);
}

int robotFind(Robot *r, const xmlNode *at, const char *kind, const char *name) {
  const void *found = name ? xmlHashLookup2(r->names, BAD_CAST kind, BAD_CAST name) : NULL;
  if (found) return (int)(intptr_t)found - 1;
  robotWrong(r, at, "there is no %s \"%.60s\"", kind, name ? name : "");
  return -1;
}

/* ------------------------------------------------------------------------------------- files -- */

char *robotFile(Robot *r, const xmlNode *at, const char *folder, const char *path, size_t *size) {
  char within[1000], whole[1000];
  if (path[0] == '/' || !folder) folder = "";
  const int length = snprintf(within, sizeof within, "%s%s%s", folder,
                              folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "", path);
  const int too_long =
      length >= (int)sizeof within || bodiesBeside(r->file, within, whole, sizeof whole);
  const char *why    = "its path is too long";
  char folders[2000] = "";
  if (!robotSetting(r, "files", folders, sizeof folders))
    robotSetting(r, "models", folders, sizeof folders);
  const int may_read = !too_long && bodiesMayRead(r->file, whole, folders);
  if (!too_long && !may_read)
    why = "it is far from the folder of this file, and --param files=FOLDER does not name its own";
  char *data = may_read ? bodiesFile(whole, size, &why) : NULL;
  if (!data)
    robotWrong(r, at, "the file \"%.300s\" cannot be read: %s", too_long ? path : whole, why);
  else if (bodiesHasRead(r->bodies, whole)) {
    robotWrong(r, at, "no memory");
    free(data);
    data = NULL;
  }
  return data;
}

typedef struct {
  Robot *r;
  const char *file;
} Source;

/* Finds where the tag begins of which libxml2 has just read all but the last character. If libxml2
 * has discarded the start of that line, returns the position of that last character. */
static Spot placeOf(const xmlParserCtxt *parser) {
  const xmlParserInput *in = parser->input;
  const Spot end           = {((const Source *)parser->_private)->file, in->line, in->col};
  Spot spot                = end;
  const xmlChar *at        = in->cur;
  for (; at > in->base && *at != '<'; at--) {
    if (at[-1] == '\n') spot.line--;
    /* Bytes that continue a UTF-8 character do not count. */
    if ((at[-1] & 0xC0) != 0x80) spot.column--;
  }
  if (spot.line == end.line) return spot;
  for (spot.column = 1; at > in->base && at[-1] != '\n'; at--)
    if ((at[-1] & 0xC0) != 0x80) spot.column++;
  return at > in->base || in->consumed == 0 ? spot : end;
}

/* Records the position of each element: libxml2 counts lines only up to 65,535, and no columns. */
static void startElement(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                         int nnamespaces, const xmlChar **namespaces, int nattributes,
                         int ndefaulted, const xmlChar **attributes) {
  xmlParserCtxtPtr parser = ctx;
  Robot *r                = ((Source *)parser->_private)->r;
  xmlSAX2StartElementNs(ctx, name, prefix, uri, nnamespaces, namespaces, nattributes, ndefaulted,
                        attributes);
  if (!parser->node) return;
  if (ROOM(r->spot, r->nspots, 1)) {
    robotWrong(r, NULL, "no memory");
    xmlStopParser(parser);
    return;
  }
  r->spot[r->nspots++]   = placeOf(parser);
  parser->node->_private = (void *)(intptr_t)r->nspots;
}

static void refuseType(void *ctx, const xmlChar *name, const xmlChar *external,
                       const xmlChar *system) {
  (void)name, (void)external, (void)system;
  const Spot at = placeOf(ctx);
  Robot *r      = ((Source *)((xmlParserCtxtPtr)ctx)->_private)->r;
  snprintf(r->message, r->length, "%s:%d:%d: document types are refused", at.file, at.line,
           at.column);
  xmlStopParser(ctx);
}

/* A copy of a text, which ends in a zero, or NULL if out of memory */
static char *copyOf(const char *data, size_t size) {
  char *copy = malloc(size + 1);
  if (!copy) return NULL;
  memcpy(copy, data, size);
  copy[size] = '\0';
  return copy;
}

/* An XML declaration which libxml2 refuses, and which tells nothing: one after blanks or comments, or of a version that does
 * not exist ("0.0"). out: NULL if there is none, or a copy of the text in which it is blank, which the caller frees. Returns 0, or 1
 * if out of memory. */
static int withoutDeclaration(const char *data, size_t size, char **out) {
  static const char blanks[] = " \t\r\n", head[] = "<?xml";
  const size_t bom = size >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3) ? 3 : 0;
  size_t at        = bom;
  *out             = NULL;
  for (size_t before = size; at != before;) {
    before = at;
    while (at < size && data[at] && strchr(blanks, data[at])) at++;
    if (size - at < 4 || memcmp(data + at, "<!--", 4)) continue;
    for (at += 4; at < size && (size - at < 3 || memcmp(data + at, "-->", 3));) at++;
    at = at + 3 < size ? at + 3 : size;
  }
  if (size - at < sizeof head || memcmp(data + at, head, sizeof head - 1) ||
      !strchr(blanks, data[at + sizeof head - 1]))
    return 0;
  size_t end = at;
  while (end < size && data[end] != '>' && data[end] != '\n') end++;
  if (end == size || data[end] != '>') return 0;
  const char *version = "version";
  size_t v            = at;
  while (v + 9 < end && memcmp(data + v, version, 7)) v++;
  for (v += 7; v < end && data[v] && strchr(" \t\r=", data[v]);) v++;
  if (at == bom && (v + 2 >= end || !memcmp(data + v + 1, "1.", 2))) return 0;
  if (!(*out = copyOf(data, size))) return 1;
  memset(*out + at, ' ', end + 1 - at);
  return 0;
}

/* Comments with two hyphens, which XML forbids and the parsers of robots allow. out: NULL if there are none, or the text
 * with blanks instead, which the caller frees. Returns 0, or 1 if out of memory. */
static int withoutHyphens(const char *data, size_t size, char **out) {
  *out = NULL;
  for (size_t i = 0; i + 4 <= size; i++) {
    if (memcmp(data + i, "<!--", 4)) continue;
    for (i += 4; i + 2 < size && memcmp(data + i, "-->", 3); i++) {
      if (data[i] != '-' || data[i + 1] != '-') continue;
      if (!*out && !(*out = copyOf(data, size))) return 1;
      (*out)[i] = ' ';
    }
  }
  return 0;
}

/* Errors of encodings belong to no parser, and libxml2 would print them. */
static void silent(void *data, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
static void silent(void *data, const char *format, ...) { (void)data, (void)format; }

/* Has an element more attributes than `most`? libxml2 compares each with all before it. An attribute is an
 * equals sign with a quote after it; "<" does not occur in values. UTF-16 has zeros between. */
static int hasAttributes(const char *data, size_t size, int most) {
  int count = 0, equals = 0;
  for (size_t i = 0; i < size && count <= most; i++) {
    if (data[i] == '<') count = 0;
    if (equals && (data[i] == '"' || data[i] == '\'')) count++;
    if (!data[i] || !strchr(" \t\r\n", data[i])) equals = data[i] == '=' || (equals && !data[i]);
  }
  return count > most;
}

xmlDocPtr robotParse(Robot *r, const char *name, const char *data, size_t size) {
  Source source           = {r, name};
  xmlParserCtxtPtr parser = xmlNewParserCtxt();
  if (!parser || size > INT_MAX) {
    snprintf(r->message, r->length, "%s: %s", name, parser ? "it is too long" : "no memory");
    xmlFreeParserCtxt(parser);
    return NULL;
  }
  if (hasAttributes(data, size, MOST_ATTRIBUTES)) {
    snprintf(r->message, r->length, "%s: an element has more than %d attributes", name,
             MOST_ATTRIBUTES);
    bodiesOneLine(r->message, r->length);
    xmlFreeParserCtxt(parser);
    return NULL;
  }
  char *declared, *changed = NULL;
  if (withoutDeclaration(data, size, &declared) ||
      withoutHyphens(declared ? declared : data, size, &changed)) {
    snprintf(r->message, r->length, "%s: no memory", name);
    xmlFreeParserCtxt(parser);
    free(declared);
    return NULL;
  }
  if (declared) data = declared;
  if (changed) data = changed;
  parser->_private                = &source;
  parser->sax->startElementNs     = startElement;
  parser->sax->internalSubset     = refuseType;
  const xmlGenericErrorFunc print = xmlGenericError;
  void *const printed             = xmlGenericErrorContext;
  xmlSetGenericErrorFunc(NULL, silent);
  xmlDocPtr doc = xmlCtxtReadMemory(parser, data, (int)size, name, NULL,
                                    XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NONET |
                                        XML_PARSE_NODICT);
  xmlSetGenericErrorFunc(printed, print);
  const xmlError *error = xmlCtxtGetLastError(parser);
  if (!r->message[0] && (!doc || !xmlDocGetRootElement(doc)))
    snprintf(r->message, r->length, "%s:%d:%d: no XML: %s", name, error ? error->line : 1,
             error ? error->int2 : 1,
             error && error->message ? error->message : "the file is empty");
  for (size_t end = strlen(r->message); end > 0 && r->message[end - 1] == '\n';)
    r->message[--end] = '\0';
  bodiesOneLine(r->message, r->length);
  xmlFreeParserCtxt(parser);
  free(changed);
  free(declared);
  if (r->message[0] && doc) xmlFreeDoc(doc), doc = NULL;
  return doc;
}

/* Triangles of COLLADA files (.dae, Khronos Group, COLLADA 1.4.1): meshes of triangles, polylists and polygons, where the nodes of the scene have
 * them, in metres. Robots take the axes as they are, whatever `up_axis` says, as rviz and Gazebo do. */
#include "collada.h"
#include "elements.h"
#include "robot_impl.h"

#include <libxml/parser.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  sunrealtype a[3][4]; /* x -> a [x; 1] */
} Map;

typedef struct {
  xmlNode *root;
  TakeTriangle take;
  void *to;
  const char *wrong;
} Scene;

/* A list of numbers in the text of an element */
typedef struct {
  xmlChar *text;
  const char *at;
} List;

static List listOf(const xmlNode *n) {
  List list = {.text = n ? xmlNodeGetContent(n) : NULL};
  list.at   = (const char *)list.text;
  return list;
}

static int next(List *list, sunrealtype *x) {
  char *end;
  if (!list->at) return 0;
  *x = strtod(list->at, &end);
  if (end == list->at) return 0;
  list->at = end;
  return 1;
}

/* The element of this tag below `in`, at any depth, to which "#id" refers, or NULL; without an id the first one */
static const xmlNode *find(const xmlNode *in, const char *tag, const char *url) {
  for (const xmlNode *n = in ? in->children : NULL; n; n = n->next) {
    if (n->type != XML_ELEMENT_NODE) continue;
    const char *id = robotText(n, "id");
    if (robotIs(n, tag) && (!url || (id && *url == '#' && !strcmp(id, url + 1)))) return n;
    const xmlNode *below = robotIs(n, "p") ? NULL : find(n, tag, url);
    if (below) return below;
  }
  return NULL;
}

static void compose(Map *map, const Map *by) {
  Map both = {{{0}}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++) {
      both.a[i][j] = j == 3 ? map->a[i][3] : 0;
      for (int k = 0; k < 3; k++) both.a[i][j] += map->a[i][k] * by->a[k][j];
    }
  *map = both;
}

/* map <- map and then, on its right, what one element of a node says. Returns 0 if it is not known. */
static int transform(const xmlNode *n, Map *map) {
  enum { MOST = 12 };
  const int is_matrix = robotIs(n, "matrix"), is_turn = robotIs(n, "rotate"),
            is_scale = robotIs(n, "scale"), is_move = robotIs(n, "translate");
  sunrealtype x[MOST] = {0};
  Map by              = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  if (!is_matrix && !is_turn && !is_scale && !is_move)
    return !robotIs(n, "lookat") && !robotIs(n, "skew");
  List list     = listOf(n);
  const int all = is_matrix ? MOST : is_turn ? 4 : 3;
  int count     = 0;
  while (count < all && next(&list, &x[count])) count++;
  xmlFree(list.text);
  if (count < all) return 0;
  if (is_turn) { /* about an axis, in degrees */
    const sunrealtype size = length3(x), phi = x[3] * atan(SUN_RCONST(1.0)) / 45, c = cos(phi),
                      s = sin(phi);
    if (!(size > 0)) return 0;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        const int k           = 3 - i - j; /* the third axis where i and j differ */
        const sunrealtype way = i == j ? 0 : (j == (i + 1) % 3 ? -s : s) * x[k] / size;
        by.a[i][j]            = (i == j ? c : 0) + (1 - c) * x[i] * x[j] / (size * size) + way;
      }
  }
  for (int i = 0; i < 3; i++) {
    if (is_scale) by.a[i][i] = x[i];
    if (is_move) by.a[i][3] = x[i];
    if (is_matrix) memcpy(by.a[i], x + 4 * i, sizeof by.a[i]);
  }
  compose(map, &by);
  return 1;
}

/* point: out, the positions of a mesh, which the caller frees. Returns their number: programs also write meshes without any. */
static int readPoints(Scene *s, const xmlNode *mesh, sunrealtype (**point)[3]) {
  const xmlNode *source = NULL;
  int n                 = 0;
  for (const xmlNode *c =
           robotChild(robotChild(mesh, "vertices") ? robotChild(mesh, "vertices") : mesh, "input");
       c && !source; c = c->next) {
    const char *semantic = robotIs(c, "input") ? robotText(c, "semantic") : NULL;
    if (semantic && !strcmp(semantic, "POSITION"))
      source = find(mesh, "source", robotText(c, "source"));
  }
  List list = listOf(source ? robotChild(source, "float_array") : NULL);
  for (sunrealtype x[3]; next(&list, &x[0]) && next(&list, &x[1]) && next(&list, &x[2]); n++) {
    if (ROOM(*point, n, 1)) {
      s->wrong = "needs more memory than there is";
      break;
    }
    memcpy((*point)[n], x, sizeof x);
  }
  xmlFree(list.text);
  return n;
}

static void takeCorner(Scene *s, const Map *map, int mirrored, sunrealtype (*fan)[3]) {
  sunrealtype x[3][3];
  for (int l = 0; l < 3; l++)
    for (int i = 0; i < 3; i++) {
      sunrealtype *to = &x[mirrored && l ? 3 - l : l][i];
      *to             = map->a[i][3];
      for (int k = 0; k < 3; k++) *to += map->a[i][k] * fan[l][k];
    }
  if (s->take(s->to, x)) s->wrong = "needs more memory than there is";
}

/* The corners of one list p; of faces with `sides` corners, or as many as `counts` says, or all of them (0). Faces become fans. */
static void readFaces(Scene *s, const Map *map, List *p, List *counts, int sides, int stride,
                      int offset, sunrealtype (*point)[3], int n) {
  const sunrealtype(*a)[4] = map->a;
  const int mirrored       = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
                           a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]) <
                       0;
  for (int more = 1; more && !s->wrong;) {
    sunrealtype fan[3][3], x, left = sides > 0 ? (sunrealtype)sides : INFINITY;
    if (counts && !next(counts, &left)) return;
    int count = 0;
    for (; count < left && !s->wrong; count++) {
      int corner = -1, k = 0;
      for (; k < stride && next(p, &x); k++)
        if (k == offset) corner = x >= 0 && x < n ? (int)x : n;
      if (k == 0 && (isinf(left) || count == 0)) break;
      if (k < stride || corner >= n) {
        s->wrong = "has a face with an undefined corner";
        return;
      }
      memcpy(fan[count < 2 ? count : 2], point[corner], sizeof *fan);
      if (count < 2) continue;
      takeCorner(s, map, mirrored, fan);
      memcpy(fan[1], fan[2], sizeof *fan);
    }
    more = !isinf(left) && count > 0;
  }
}

static void readMesh(Scene *s, const xmlNode *mesh, const Map *map) {
  sunrealtype(*point)[3] = NULL;
  const int n            = readPoints(s, mesh, &point);
  for (const xmlNode *faces = mesh->children; faces && !s->wrong; faces = faces->next) {
    const int triangles = robotIs(faces, "triangles"), list = robotIs(faces, "polylist");
    if (!triangles && !list && !robotIs(faces, "polygons")) continue;
    int stride = 1, offset = 0;
    for (const xmlNode *c = faces->children; c; c = c->next) {
      const char *semantic = robotIs(c, "input") ? robotText(c, "semantic") : NULL,
                 *at       = semantic ? robotText(c, "offset") : NULL;
      const int own        = at ? (int)fmin(fmax(strtod(at, NULL), 0), 99) : 0;
      if (semantic && own + 1 > stride) stride = own + 1;
      if (semantic && !strcmp(semantic, "VERTEX")) offset = own;
    }
    for (const xmlNode *c = faces->children; c && !s->wrong; c = c->next) {
      if (!robotIs(c, "p")) continue;
      List p = listOf(c), counts = listOf(list ? robotChild(faces, "vcount") : NULL);
      readFaces(s, map, &p, list ? &counts : NULL, triangles ? 3 : 0, stride, offset, point, n);
      xmlFree(p.text), xmlFree(counts.text);
    }
  }
  free(point);
}

static void readNode(Scene *s, const xmlNode *node, Map map, int depth) {
  enum { DEEPEST = 100 };
  if (depth > DEEPEST) s->wrong = "has nodes that are nested too deeply";
  for (const xmlNode *c = node->children; c && !s->wrong; c = c->next) {
    if (c->type != XML_ELEMENT_NODE) continue;
    if (robotIs(c, "node")) readNode(s, c, map, depth + 1);
    else if (robotIs(c, "instance_geometry")) {
      const xmlNode *geometry = find(s->root, "geometry", robotText(c, "url")),
                    *mesh     = geometry ? robotChild(geometry, "mesh") : NULL;
      if (mesh) readMesh(s, mesh, &map);
      else s->wrong = "has a geometry that is no mesh, or not in the file";
    } else if (robotIs(c, "instance_node") || robotIs(c, "instance_controller") ||
               !transform(c, &map))
      s->wrong = "has nodes of a kind that is not read";
  }
}

const char *colladaRead(const char *data, size_t size, TakeTriangle take, void *to) {
  static const int quiet = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
  Scene s                = {.take = take, .to = to};
  xmlDoc *file = size < INT32_MAX ? xmlReadMemory(data, (int)size, NULL, NULL, quiet) : NULL;
  if (!file) return "is no XML";
  if (file->intSubset) return xmlFreeDoc(file), "has a document type, which may define entities";
  s.root              = xmlDocGetRootElement(file);
  const xmlNode *unit = find(robotIs(s.root, "COLLADA") ? robotChild(s.root, "asset") : NULL,
                             "unit", NULL),
                *used  = find(robotChild(s.root, "scene"), "instance_visual_scene", NULL),
                *scene = find(s.root, "visual_scene", used ? robotText(used, "url") : NULL);
  const char *meter    = unit ? robotText(unit, "meter") : NULL;
  const sunrealtype m  = meter ? strtod(meter, NULL) : 1;
  if (!(m > 0 && isfinite(m))) s.wrong = "has a unit of length that is not positive";
  else if (!scene) s.wrong = "has no scene";
  else readNode(&s, scene, (Map){{{m, 0, 0, 0}, {0, m, 0, 0}, {0, 0, m, 0}}}, 0);
  xmlFreeDoc(file);
  return s.wrong;
}

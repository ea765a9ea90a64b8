/* Names in YAML files: parameters and functions. */
#include "yaml_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *is, *file;
  sunrealtype order;
  CPTableEnds ends;
} FunctionKeys;
static const Field function_fields[]         = {FIELD(FunctionKeys, "is", is, NAME, 0),
                                                FIELD(FunctionKeys, "file", file, NAME, 0),
                                                QUANTITY(FunctionKeys, "order", order, NUMBER, 0, "1"),
                                                FIELD(FunctionKeys, "ends", ends, ENDS, 0),
                                                {0}};
static const char *const function_sections[] = {"of", "unit", "columns", "units",  "rows",
                                                "x",  "y",    "values",  "slopes", NULL};

/* Reads a list of names, as many as there are. list [most]: out. Returns their number, or -1 after a message. */
static int readTexts(Reader *r, const yaml_node_t *n, const char *key, int least, int most,
                     const char **list) {
  const yaml_node_item_t *item = n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
  const long count             = item ? (long)(n->data.sequence.items.top - item) : -1;
  if (count < least || count > most)
    return least == most ? yamlWrong(r, n->start_mark, "%s must be a list of %d texts", key, most)
                         : yamlWrong(r, n->start_mark, "%s must be a list of %d to %d texts", key,
                                     least, most),
           -1;
  for (long i = 0; i < count; i++)
    if (yamlName(r, yamlNode(r, item[i]), key, &list[i])) return -1;
  return (int)count;
}

/* Reads a list of plain numbers. x: out, owned by the caller also after an error; count: out, their number. */
static int readList(Reader *r, const yaml_node_t *n, const char *key, sunrealtype **x, int *count) {
  const yaml_node_item_t *item = n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
  if (!item) return yamlWrong(r, n->start_mark, "%s must be a list of numbers", key);
  *count = (int)(n->data.sequence.items.top - item);
  if (!(*x = malloc(((size_t)*count + 1) * sizeof **x)))
    return yamlWrong(r, n->start_mark, "no memory");
  for (int i = 0; i < *count; i++)
    if (yamlNumber(r, yamlNode(r, item[i]), key, "", &(*x)[i])) return 1;
  return 0;
}

/* Reads a list of rows with `columns` numbers each. */
static int readRows(Reader *r, const yaml_node_t *n, const char *key, int columns, sunrealtype **x,
                    int *count) {
  const Field plain            = {key, TWO, 0, 0, ""};
  const yaml_node_item_t *item = n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
  char rule[UNIT];
  snprintf(rule, sizeof rule, "%d", columns);
  if (!item)
    return yamlWrong(r, n->start_mark, "%s must be a list of lists of %d numbers", key, columns);
  *count = (int)(n->data.sequence.items.top - item);
  if (!(*x = malloc(((size_t)*count * (size_t)columns + 1) * sizeof **x)))
    return yamlWrong(r, n->start_mark, "no memory");
  for (int i = 0; i < *count; i++)
    if (yamlNumbers(r, yamlNode(r, item[i]), &plain, columns, columns, rule,
                    *x + (size_t)i * (size_t)columns))
      return 1;
  return 0;
}

/* f: out, the function of an expression, {of: {phi: rad}, is: ...} */
static int readExpression(Reader *r, const yaml_node_t *n, const FunctionKeys *keys, CPFunction *f) {
  const char *variable[CP_MOST_VARIABLES], *unit[CP_MOST_VARIABLES], *result = NULL;
  const yaml_node_t *of = yamlSection(r, n, "of"), *is = yamlSection(r, n, "is"),
                    *value = yamlSection(r, n, "unit");
  int count                = 0;
  for (int i = 2; function_sections[i]; i++)
    if (yamlSection(r, n, function_sections[i]))
      return yamlWrong(r, n->start_mark, "a function by an expression has no %s",
                       function_sections[i]);
  if (!of || of->type != YAML_MAPPING_NODE)
    return yamlWrong(r, (of ? of : n)->start_mark,
                     "a function needs of, a mapping of its variables to their units");
  if (value && yamlName(r, value, "unit", &result)) return 1;
  for (const yaml_node_pair_t *p = of->data.mapping.pairs.start; p < of->data.mapping.pairs.top;
       p++, count++) {
    if (count == CP_MOST_VARIABLES)
      return yamlWrong(r, of->start_mark, "a function has at most %d variables", CP_MOST_VARIABLES);
    if (yamlName(r, yamlNode(r, p->key), "a variable", &variable[count]) ||
        yamlName(r, yamlNode(r, p->value), "a unit", &unit[count]))
      return 1;
  }
  if (cpScopeParse(r->scope, keys->is, yamlPlace(r, is), count, variable, unit, result, f))
    return yamlWrongText(r, NULL, is);
  if (!yamlKeep(r, is, "a function", NULL, *f, count, variable)) return 0;
  CPFunctionFree(f);
  return 1;
}

/* f: out, a table, {rows: ...}, {file: ...} or a map, {x: ..., y: ..., values: ...} */
static int readTable(Reader *r, const yaml_node_t *n, const FunctionKeys *keys, CPFunction *f) {
  const yaml_node_t *rows = yamlSection(r, n, "rows"), *values = yamlSection(r, n, "values"), *at;
  sunrealtype *x = NULL, *y = NULL, *value = NULL, *pairs = NULL;
  const char *unit[3] = {"", "", ""}, *columns[2] = {NULL, NULL}, *why = "its path is too long";
  char whole[4096], *data = NULL;
  size_t size = 0;
  int nx = 0, ny = 0, slopes = 0, failed = 0;
  sunrealtype *slope = NULL;
  CPTable table      = {CP_SIZED(CPTable), .order = (int)keys->order, .ends = keys->ends};
  const Place place  = {keys->file ? whole : r->file, keys->file ? 1 : (int)n->start_mark.line + 1,
                       keys->file ? 1 : (int)n->start_mark.column + 1};
  if (yamlSection(r, n, "of") || yamlSection(r, n, "unit"))
    return yamlWrong(r, n->start_mark, "a table has units, and neither of nor unit");
  if (!keys->file + !rows + !values != 2)
    return yamlWrong(r, n->start_mark, "a function needs one of is, file, rows and values");
  if ((at = yamlSection(r, n, "units")) &&
      readTexts(r, at, "units", values ? 3 : 2, values ? 3 : 2, unit) < 0)
    return 1;
  if ((at = yamlSection(r, n, "columns")) && readTexts(r, at, "columns", 2, 2, columns) < 0)
    return 1;
  if ((at = yamlSection(r, n, "slopes"))) {
    failed = readList(r, at, "slopes", &slope, &slopes);
    if (!failed && (keys->ends != CP_ENDS_CLAMPED || keys->order == 1))
      failed = yamlWrong(r, at->start_mark, "slopes need ends: clamped, and order 3 or 5");
    if (!failed && slopes != (keys->order == 5 ? 4 : 2))
      failed = yamlWrong(r, at->start_mark, "slopes of order %g must be a list of %d numbers",
                         keys->order == 5 ? 5.0 : 3.0, keys->order == 5 ? 4 : 2);
    for (int i = 0; i < slopes && !failed; i++) table.slope[i] = slope[i];
  }
  if (!failed && keys->file) {
    at   = yamlSection(r, n, "file");
    data = bodiesBeside(r->file, keys->file, whole, sizeof whole) ? NULL
                                                                  : bodiesFile(whole, &size, &why);
    if (!data)
      failed =
          yamlWrong(r, at->start_mark, "the file \"%.300s\" cannot be read: %s", keys->file, why);
    table.csv = data, table.length = size, table.column[0] = columns[0],
    table.column[1] = columns[1];
  } else if (!failed && rows) {
    failed = readRows(r, rows, "rows", 2, &pairs, &nx);
    x = malloc(((size_t)nx + 1) * sizeof *x), value = malloc(((size_t)nx + 1) * sizeof *value);
    if (!failed && (!x || !value)) failed = yamlWrong(r, n->start_mark, "no memory");
    for (int i = 0; i < nx && !failed; i++) x[i] = pairs[2 * i], value[i] = pairs[2 * i + 1];
  } else if (!failed) {
    const yaml_node_t *of[2] = {yamlSection(r, n, "x"), yamlSection(r, n, "y")};
    int count                = 0;
    if (!of[0] || !of[1]) failed = yamlWrong(r, n->start_mark, "a map needs x and y");
    failed = failed || readList(r, of[0], "x", &x, &nx) || readList(r, of[1], "y", &y, &ny) ||
             readRows(r, values, "values", ny, &value, &count);
    if (!failed && count != nx)
      failed = yamlWrong(r, values->start_mark,
                         "values must have a row for each of x, %d, and has %d", nx, count);
  }
  table.nx = nx, table.x = x, table.ny = ny, table.y = y, table.value = value;
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions),
                                     .table      = &table,
                                     .nvariables = values ? 2 : 1,
                                     .unit       = unit,
                                     .result     = unit[values ? 2 : 1],
                                     .file       = place.file,
                                     .line       = place.line,
                                     .column     = place.column};
  if (!failed && CPFunctionCreate(&options, f)) failed = yamlWrongText(r, NULL, NULL);
  void *owned[] = {x, y, value, pairs, slope, data};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  return failed;
}

/* The parameters that there are in place of this one. parameters: or NULL */
static Words parametersNear(Reader *r, const yaml_node_t *parameters, const char *name) {
  Words words = {.wrong = {.name = name, .length = strlen(name)}};
  for (const yaml_node_pair_t *p = parameters ? parameters->data.mapping.pairs.start : NULL;
       parameters && p < parameters->data.mapping.pairs.top; p++)
    yamlListWord(&words, yamlText(yamlNode(r, p->key)));
  return words;
}

/* Refuses the name of a parameter that there is not. */
static int noParameter(Reader *r, const yaml_node_t *top, const yaml_node_t *parameters,
                       const char *name) {
  Words words = parametersNear(r, parameters, name);
  return yamlWrong(r, (parameters ? parameters : top)->start_mark,
                   "there is no parameter \"%.60s\"%s%s", name, words.list[0] ? ", but " : "",
                   yamlWords(&words));
}

int yamlNames(Reader *r, const yaml_node_t *top, Run *run) {
  const yaml_node_t *parameters   = yamlSection(r, top, "parameters"),
                    *functions    = yamlSection(r, top, "functions");
  const yaml_node_t *maps[2]      = {parameters, functions};
  static const char *const keys[] = {"parameters", "functions"};
  const char *name;
  for (int k = 0; k < 2; k++) {
    if (maps[k] && maps[k]->type != YAML_MAPPING_NODE)
      return yamlWrong(r, maps[k]->start_mark, "%s must be a mapping, name: value", keys[k]);
    for (const yaml_node_pair_t *p = maps[k] ? maps[k]->data.mapping.pairs.start : NULL;
         k == 1 && p && p < maps[k]->data.mapping.pairs.top; p++) {
      const yaml_node_t *key = yamlNode(r, p->key);
      if (yamlName(r, key, "a key", &name)) return 1;
      if (cpScopeDefine(r->scope, name, NULL, NULL, yamlPlace(r, key), 0))
        return yamlWrongText(r, NULL, NULL);
    }
    for (const yaml_node_pair_t *p = maps[k] ? maps[k]->data.mapping.pairs.start : NULL;
         maps[k] && p < maps[k]->data.mapping.pairs.top; p++) {
      const yaml_node_t *key = yamlNode(r, p->key), *n = yamlNode(r, p->value);
      FunctionKeys own = {0};
      CPFunction f     = NULL;
      if (yamlName(r, key, "a key", &name)) return 1;
      if (k == 0 && (n->type != YAML_SCALAR_NODE || strlen(yamlText(n)) != n->data.scalar.length))
        return yamlWrong(r, n->start_mark, "a parameter must be a number or an expression");
      if (k == 1 && (yamlMapping(r, n, "a function", function_fields, function_sections, &own) ||
                     (own.is ? readExpression(r, n, &own, &f) : readTable(r, n, &own, &f))))
        return 1;
      const int flag = cpScopeDefine(r->scope, name, k ? NULL : yamlText(n), f,
                                     k ? yamlPlace(r, key) : yamlPlace(r, n), k);
      CPFunctionFree(&f);
      if (flag) return yamlWrongText(r, NULL, NULL);
    }
    for (const yaml_node_pair_t *p = k == 0 && r->given ? r->given->data.mapping.pairs.start : NULL;
         p && p < r->given->data.mapping.pairs.top; p++) { /* from the file that includes this one */
      const yaml_node_t *key = yamlNode(r->outer, p->key), *n = yamlNode(r->outer, p->value);
      if (yamlName(r->outer, key, "a key", &name)) return 1;
      if (!cpScopeHas(r->scope, name)) {
        Words words = parametersNear(r, parameters, name);
        return yamlWrong(r->outer, key->start_mark, "%.300s has no parameter \"%.60s\"%s%s",
                         r->file, name, words.list[0] ? ", but " : "", yamlWords(&words));
      }
      if (n->type != YAML_SCALAR_NODE || strlen(yamlText(n)) != n->data.scalar.length)
        return yamlWrong(r->outer, n->start_mark, "a parameter must be a number or an expression");
      if (cpScopeImport(r->scope, name, r->from, yamlText(n), yamlPlace(r->outer, n)))
        return yamlWrongText(r, NULL, NULL);
    }
    for (const char *line = k == 0 ? run->parameters : NULL; line && *line;) { /* NAME=TEXT */
      char own[TEXT], *value;
      const size_t length = strcspn(line, "\n");
      snprintf(own, sizeof own, "%.*s", (int)length, line);
      line += length + (line[length] != '\0');
      if (length >= sizeof own || !(value = strchr(own, '=')))
        return yamlWrong(r, top->start_mark,
                         "a parameter must be NAME=VALUE in fewer than %d characters, and is %.40s",
                         TEXT, own);
      char *end = value;
      *value++  = '\0';
      while (end > own && end[-1] == ' ') *--end = '\0';
      if (!cpScopeHas(r->scope, own + strspn(own, " ")))
        return noParameter(r, top, parameters, own);
      if (cpScopeDefine(r->scope, own + strspn(own, " "), value, NULL, (Place){own, 1, 1}, 1))
        return yamlWrongText(r, NULL, NULL);
    }
    if (k == 0 && run->moved) {
      if (!cpScopeHas(r->scope, run->moved)) return noParameter(r, top, parameters, run->moved);
      cpScopeMove(r->scope, run->moved, run->by);
    }
  }
  if (run->moved && cpScopeNumber(r->scope, run->moved, (Place){r->file, 1, 1}, NULL, &run->value))
    return yamlWrongText(r, NULL, NULL);
  run->value -= run->by;
  /* also those that are not used must have a value */
  int uses;
  for (const yaml_node_pair_t *p = parameters ? parameters->data.mapping.pairs.start : NULL;
       parameters && p < parameters->data.mapping.pairs.top; p++) {
    sunrealtype value;
    if (cpScopeNumber(r->scope, yamlText(yamlNode(r, p->key)), yamlPlace(r, yamlNode(r, p->key)),
                      NULL, &value))
      return yamlWrongText(r, NULL, NULL);
    if (!r->kept || r->outer) continue;
    char *text;
    name = yamlText(yamlNode(r, p->key));
    if (cpScopeRewrite(r->scope, r->scope, NULL, 1, &name, NULL, &text, &uses))
      return yamlWrong(r, top->start_mark, "no memory");
    bodiesPut(&r->kept->parameters, "  %s: \"%s\"\n", name, text);
    if (uses > 1) bodiesPut(&r->kept->values, "#   parameters: %s\n", name);
    free(text);
    if (r->kept->parameters.failed) return yamlWrong(r, top->start_mark, "no memory");
  }
  return 0;
}

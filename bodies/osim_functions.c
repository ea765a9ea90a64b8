/* Functions of OpenSim as linear ones or functions of one variable. */
#include "osim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Creates the function of a text in x. */
static int create(Robot *r, const xmlNode *at, const char *text, CPFunction *f) {
  static const char *const variable[] = {"x"};
  return robotFunction(r, at,
                       &(CPFunctionOptions){CP_SIZED(CPFunctionOptions), .text = text,
                                            .nvariables = 1, .variable = variable},
                       f);
}

/* A list of numbers of any length; the caller frees it. Returns NULL after a message. */
static sunrealtype *list(Robot *r, const xmlNode *n, const char *tag, int *count) {
  const xmlNode *c   = robotChild(n, tag);
  xmlChar *text      = c ? xmlNodeGetContent(c) : NULL;
  const size_t most  = text ? strlen((const char *)text) / 2 + 1 : 0;
  sunrealtype *x     = text ? calloc(most + 1, sizeof *x) : NULL;
  const int is_wrong = x && robotNumbers(r, c, tag, (const char *)text, 1, (int)most, x, count);
  if (!c) robotWrong(r, n, "%s must be given", tag);
  else if (!x) robotWrong(r, n, "no memory");
  xmlFree(text);
  if (!is_wrong) return x;
  free(x);
  return NULL;
}

/* A spline through points, or chords */
static int readTable(Robot *r, const xmlNode *n, sunrealtype scale, OsimFunction *z) {
  int nx = 0, ny = 0, order = 3, failed;
  sunrealtype half = 2, *x = list(r, n, "x", &nx), *y = x ? list(r, n, "y", &ny) : NULL;
  const int is_simm = robotIs(n, "SimmSpline") || robotIs(n, "natCubicSpline"),
            is_gcv  = robotIs(n, "GCVSpline");
  failed            = !y || (is_gcv && osimNumbers(r, n, "half_order", 1, &half));
  if (!failed && nx != ny)
    failed = robotWrong(r, n, "x and y must have as many numbers, and have %d and %d", nx, ny);
  if (is_gcv) order = half >= 3 ? 5 : half >= 2 ? 3 : 1;
  if (robotIs(n, "PiecewiseLinearFunction") || nx == 2) order = 1;
  for (int i = 0; i < ny && !failed; i++) y[i] *= scale;
  for (int i = 1; i < nx && !failed; i++)
    if (!(x[i] > x[i - 1]))
      failed = robotWrong(r, n, "x must increase, and number %d is %g", i, (double)x[i]);
  if (!failed && nx < 2) failed = robotWrong(r, n, "there must be two points at least");
  if (!failed) {
    const CPTable table             = {CP_SIZED(CPTable),
                                       .order = order,
                                       .ends  = is_simm && order == 3 ? CP_ENDS_CUBIC : CP_ENDS_NATURAL,
                                       .nx    = nx,
                                       .x     = x,
                                       .value = y};
    const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .table = &table};
    if (!failed) failed = robotFunction(r, n, &options, &z->f);
  }
  free(x);
  free(y);
  return failed;
}

/* Coefficients of descending powers */
static int readPolynomial(Robot *r, const xmlNode *n, sunrealtype scale, OsimFunction *z) {
  enum { DIGITS = 32 };
  int count      = 0, failed;
  sunrealtype *c = list(r, n, "coefficients", &count);
  char *text     = c ? malloc((size_t)(count + 1) * DIGITS) : NULL;
  if (!text) {
    free(c);
    return r->message[0] ? 1 : robotWrong(r, n, "no memory");
  }
  int at = sprintf(text, "poly(x");
  for (int i = count - 1; i >= 0; i--)
    at += snprintf(text + at, DIGITS, ",%.17g", (double)(scale * c[i]));
  sprintf(text + at, ")");
  failed = create(r, n, text, &z->f);
  free(text);
  free(c);
  return failed;
}

static int readSine(Robot *r, const xmlNode *n, sunrealtype scale, OsimFunction *z) {
  sunrealtype amplitude = 1, omega = 1, phase = 0, offset = 0;
  char text[200];
  if (osimNumbers(r, n, "amplitude", 1, &amplitude) || osimNumbers(r, n, "omega", 1, &omega) ||
      osimNumbers(r, n, "phase", 1, &phase) || osimNumbers(r, n, "offset", 1, &offset))
    return 1;
  snprintf(text, sizeof text, "%.17g*sin(%.17g*x+%.17g)+%.17g", (double)(scale * amplitude),
           (double)omega, (double)phase, (double)(scale * offset));
  return create(r, n, text, &z->f);
}

/* The first element in n whose name is that of a function, or NULL */
static const xmlNode *functionIn(const xmlNode *n) {
  static const char known[] = " Constant LinearFunction PolynomialFunction SimmSpline "
                              "natCubicSpline NaturalCubicSpline GCVSpline "
                              "PiecewiseLinearFunction MultiplierFunction Sine ";
  const xmlNode *inner      = robotChild(n, "function");
  if (inner && inner->children) n = inner;
  const xmlNode *c = n->children;
  while (c && !(c->type == XML_ELEMENT_NODE && robotKnows(known, c->name))) c = c->next;
  if (c) return c;
  for (c = n->children; c; c = c->next) /* another function, for the message */
    if (c->type == XML_ELEMENT_NODE && (n == inner || strstr((const char *)c->name, "Function")))
      return c;
  return NULL;
}

int osimFunction(Robot *r, const xmlNode *n, sunrealtype scale, OsimFunction *z) {
  enum { DEEPEST = 50 };
  const xmlNode *f = functionIn(n);
  *z               = (OsimFunction){0, 0, NULL};
  for (int depth = 0; f && robotIs(f, "MultiplierFunction"); depth++) {
    sunrealtype own = 1;
    if (osimNumbers(r, f, "scale", 1, &own)) return 1;
    if (depth == DEEPEST) return robotWrong(r, f, "functions are nested deeper than %d", DEEPEST);
    scale *= own;
    f = functionIn(f);
  }
  if (!f) return robotWrong(r, n, "a function must be given");
  if (robotIs(f, "Constant")) {
    if (osimNumbers(r, f, "value", 1, &z->offset)) return 1;
    z->offset *= scale;
    return 0;
  }
  if (robotIs(f, "LinearFunction")) {
    sunrealtype c[2] = {1, 0};
    if (osimNumbers(r, f, "coefficients", 2, c)) return 1;
    z->ratio = scale * c[0], z->offset = scale * c[1];
    return 0;
  }
  if (robotIs(f, "PolynomialFunction")) return readPolynomial(r, f, scale, z);
  if (robotIs(f, "Sine")) return readSine(r, f, scale, z);
  if (robotChild(f, "x")) return readTable(r, f, scale, z);
  return robotWrong(r, f, "this function is not read");
}

int osimEvaluate(Robot *r, const xmlNode *at, const OsimFunction *z, sunrealtype x,
                 sunrealtype *value, sunrealtype *slope) {
  *value = z->offset + z->ratio * x;
  if (slope) *slope = z->ratio;
  if (!z->f) return 0;
  if (CPFunctionEvaluate(z->f, &x, value, slope, NULL))
    return robotWrong(r, at, "a function is not finite at %g", (double)x);
  *value += z->offset;
  return 0;
}

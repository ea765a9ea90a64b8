/* Postfix programs are evaluated on jets of second order. For z = phi(a_1 ... a_k)
 *
 *   z_i = sum_a phi_a a_i,    z_ij = sum_a phi_a a_ij + sum_ab phi_ab a_i b_j          (the chain rule),
 *
 * so that an operation is phi with its derivatives, and nothing else. A program neither loops nor allocates. */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* phi [3]: phi(x), phi'(x), phi''(x) */
static void function1(Code code, sunrealtype x, sunrealtype c, sunrealtype *phi) {
  sunrealtype a;
  switch (code) {
  case SIN: phi[0] = sin(x), phi[1] = cos(x), phi[2] = -phi[0]; break;
  case COS: phi[0] = cos(x), phi[1] = -sin(x), phi[2] = -phi[0]; break;
  case TAN: phi[0] = tan(x), phi[1] = 1 + phi[0] * phi[0], phi[2] = 2 * phi[0] * phi[1]; break;
  case ASIN:
  case ACOS:
    a      = code == ASIN ? 1 : -1;
    phi[0] = code == ASIN ? asin(x) : acos(x);
    phi[1] = a / sqrt((1 - x) * (1 + x));
    phi[2] = phi[1] * x / ((1 - x) * (1 + x));
    break;
  case ATAN: phi[0] = atan(x), phi[1] = 1 / (1 + x * x), phi[2] = -2 * x * phi[1] * phi[1]; break;
  case SINH: phi[0] = sinh(x), phi[1] = cosh(x), phi[2] = phi[0]; break;
  case COSH: phi[0] = cosh(x), phi[1] = sinh(x), phi[2] = phi[0]; break;
  case TANH:
    a = 1 / cosh(x), phi[0] = tanh(x), phi[1] = a * a, phi[2] = -2 * phi[0] * phi[1];
    break;
  case EXP: phi[0] = phi[1] = phi[2] = exp(x); break;
  case LOG: phi[0] = log(x), phi[1] = 1 / x, phi[2] = -phi[1] * phi[1]; break;
  case LOG10:
    phi[0] = log10(x), phi[1] = 1 / (x * log(SUN_RCONST(10.0))), phi[2] = -phi[1] / x;
    break;
  case SQRT: phi[0] = sqrt(x), phi[1] = 1 / (2 * phi[0]), phi[2] = -phi[1] / (2 * x); break;
  case SMOOTH: /* 10 s^3 - 15 s^4 + 6 s^5 */
    a      = x < 0 ? 0 : x > 1 ? 1 : x;
    phi[0] = a * a * a * (10 + a * (-15 + 6 * a));
    phi[1] = 30 * a * a * (1 - a) * (1 - a);
    phi[2] = 60 * a * (1 - a) * (1 - 2 * a);
    break;
  default: /* POWER */
    if (c == 2 || c == 3) {
      a      = c == 2 ? 1 : x;
      phi[0] = a * x * x, phi[1] = c * a * x, phi[2] = c * (c - 1) * a;
      break;
    }
    phi[0] = pow(x, c);
    phi[1] = c == 0 ? 0 : c * pow(x, c - 1);
    phi[2] = c == 0 || c == 1 ? 0 : c * (c - 1) * pow(x, c - 2);
  }
}

/* d [k], dd [k k]: derivatives of phi; returns phi. a [k]: the operands */
static sunrealtype function2(const Op *op, const sunrealtype *a, sunrealtype *d, sunrealtype *dd) {
  const sunrealtype x = a[0], y = a[1], r = 1 / y;
  sunrealtype z, s;
  switch (op->code) {
  case MUL: d[0] = y, d[1] = x, dd[0] = dd[3] = 0, dd[1] = dd[2] = 1; return x * y;
  case DIV:
    z = x / y, d[0] = r, d[1] = -z * r, dd[0] = 0, dd[1] = dd[2] = -r * r, dd[3] = 2 * z * r * r;
    return z;
  case ATAN2: /* of x over y */
    s = 1 / (x * x + y * y), d[0] = y * s, d[1] = -x * s;
    dd[0] = -2 * d[0] * x * s, dd[3] = -dd[0], dd[1] = dd[2] = (x - y) * (x + y) * s * s;
    return atan2(x, y);
  case HYPOT:
    z = hypot(x, y), d[0] = x / z, d[1] = y / z;
    dd[0] = d[1] * d[1] / z, dd[3] = d[0] * d[0] / z, dd[1] = dd[2] = -d[0] * d[1] / z;
    return z;
  case POW: /* x^y with x > 0 */
    z = pow(x, y), s = log(x), d[0] = y * pow(x, y - 1), d[1] = z * s;
    dd[0] = y * (y - 1) * pow(x, y - 2), dd[1] = dd[2] = pow(x, y - 1) * (1 + y * s),
    dd[3] = d[1] * s;
    return z;
  default: { /* POLY: a = (x, c_0, c_1, ...) */
    const int k = op->k;
    memset(dd, 0, (size_t)(k * k) * sizeof *dd);
    z = d[0] = 0, s = 1;
    for (int i = k - 1; i >= 1; i--)
      dd[0] = dd[0] * x + 2 * d[0], d[0] = d[0] * x + z, z = z * x + a[i];
    for (int i = 1; i < k; i++, s *= x) {
      d[i] = s;
      if (i + 1 < k) dd[i + 1] = dd[(i + 1) * k] = i * s;
    }
    return z;
  }
  }
}

static sunrealtype times(sunrealtype phi, sunrealtype a) { return a == 0 ? 0 : phi * a; }

/* jet (in: k jets one after the other; out: the first one) = phi of them */
static void chain(int k, sunrealtype phi, const sunrealtype *d, const sunrealtype *dd, int n,
                  int order, sunrealtype *jet) {
  const int length = jetLength(n, order);
  if (order > 1) {
    sunrealtype *h = jet + 1 + n;
    for (int i = 0; i < n; i++)
      for (int j = i; j < n; j++, h++) {
        sunrealtype sum = 0;
        for (int a = 0; a < k; a++) {
          const sunrealtype ai = jet[a * length + 1 + i];
          sum += times(d[a], h[a * length]);
          for (int b = 0; b < k; b++) sum += times(dd[a * k + b], ai * jet[b * length + 1 + j]);
        }
        *h = sum;
      }
  }
  if (order > 0)
    for (int i = 1; i <= n; i++) {
      sunrealtype sum = 0;
      for (int a = 0; a < k; a++) sum += times(d[a], jet[a * length + i]);
      jet[i] = sum;
    }
  jet[0] = phi;
}

/* The value and derivatives of a function at the k values at the heads of jets */
static sunrealtype call(const Op *op, int order, const Pieces *pieces, const sunrealtype *a,
                        sunrealtype *d, sunrealtype *dd) {
  sunrealtype jet[MOST_JET];
  const int k          = op->k;
  const sunrealtype *h = jet + 1 + k;
  op->of.f->evaluate(op->of.f, a, order, pieces, jet);
  if (order > 0) memcpy(d, jet + 1, (size_t)k * sizeof *d);
  for (int i = 0; i < k && order > 1; i++)
    for (int j = i; j < k; j++) dd[i * k + j] = dd[j * k + i] = *h++;
  return jet[0];
}

/* The piece to take, where `own` is that of the arguments, and piece 1 is where s > 0 */
static int pieceOf(const Pieces *pieces, int own, sunrealtype s) {
  const int held = pieces && pieces->held ? *pieces->held : ANY_PIECE;
  if (pieces && pieces->own) *pieces->own = own;
  if (pieces && pieces->inside) {
    pieces->inside[0] = held == ANY_PIECE ? INFINITY : held ? s : -s;
    pieces->inside[1] = INFINITY;
  }
  return held == ANY_PIECE ? own : held;
}

static void operate(const Op *op, int n, int order, const Pieces *pieces, sunrealtype *jet) {
  const int length = jetLength(n, order), k = op->k;
  const size_t size    = (size_t)length * sizeof *jet;
  const sunrealtype *y = jet + length;
  int piece;
  switch (op->code) {
  case ADD:
    for (int i = 0; i < length; i++) jet[i] += y[i];
    return;
  case SUB:
    for (int i = 0; i < length; i++) jet[i] -= y[i];
    return;
  case SCALE:
    for (int i = 0; i < length; i++) jet[i] *= op->of.c;
    return;
  case MUL: /* without second derivatives */
    if (order > 1) break;
    for (int i = 1; i < length; i++) jet[i] = jet[i] * y[0] + jet[0] * y[i];
    jet[0] *= y[0];
    return;
  case MIN:
    if (pieceOf(pieces, y[0] < jet[0], jet[0] - y[0])) memcpy(jet, y, size);
    return;
  case MAX:
    if (pieceOf(pieces, y[0] > jet[0], y[0] - jet[0])) memcpy(jet, y, size);
    return;
  case ABS:
    if (!pieceOf(pieces, !(jet[0] < 0), jet[0]))
      for (int i = 0; i < length; i++) jet[i] *= -1;
    return;
  case SIGN: /* at 0 it is 0, unless a piece is held */
    piece = pieceOf(pieces, !(jet[0] < 0), jet[0]);
    if (pieces && pieces->held && *pieces->held != ANY_PIECE) jet[0] = 2 * piece - 1;
    else jet[0] = (jet[0] > 0) - (jet[0] < 0);
    memset(jet + 1, 0, size - sizeof *jet);
    return;
  case IF: memcpy(jet, jet[0] != 0 ? y : y + length, size); return;
  case LESS:
  case LESS_EQ:
    piece = pieceOf(pieces, op->code == LESS ? jet[0] < y[0] : jet[0] <= y[0], y[0] - jet[0]);
    memset(jet, 0, size);
    jet[0] = piece;
    return;
  default: break;
  }
  sunrealtype a[MOST_ARGUMENTS] = {0}, d[MOST_ARGUMENTS], dd[MOST_ARGUMENTS * MOST_ARGUMENTS],
              phi[3];
  for (int i = 0; i < k; i++) a[i] = jet[i * length];
  if (k == 1 && op->code != CALL) {
    function1(op->code, a[0], op->of.c, phi);
    chain(1, phi[0], phi + 1, phi + 2, n, order, jet);
  } else {
    phi[0] = op->code == CALL ? call(op, order, pieces, a, d, dd) : function2(op, a, d, dd);
    chain(k, phi[0], d, dd, n, order, jet);
  }
}

void languageRun(const Op *op, int nops, int n, const sunrealtype *x, int order,
                 const Pieces *pieces, sunrealtype *stack) {
  const int length = jetLength(n, order);
  sunrealtype *top = stack; /* the first free jet */
  int place        = 0;
  for (int i = 0; i < nops; i++) {
    const Op *o = &op[i];
    if (o->code <= VARIABLE) {
      memset(top, 0, (size_t)length * sizeof *top);
      top[0] = o->code == NUMBER ? o->of.c : x[o->k];
      if (o->code == VARIABLE && order > 0) top[1 + o->k] = 1;
      top += length;
    } else {
      const int more    = o->code == CALL ? o->of.f->npieces : isSwitch(o->code);
      const Pieces here = piecesFrom(pieces, place);
      operate(o, n, order, pieces && more ? &here : NULL, top - o->k * length);
      place += more;
      top -= (o->k - 1) * length;
    }
  }
}

static void evaluate(const struct CPFunction_ *f, const sunrealtype *x, int order,
                     const Pieces *pieces, sunrealtype *jet) {
  const Expression *e = (const Expression *)(const void *)f;
  sunrealtype stack[WORDS];
  languageRun(e->op, e->nops, f->n, x, order, pieces, stack);
  memcpy(jet, stack, (size_t)jetLength(f->n, order) * sizeof *jet);
}

static void destroy(struct CPFunction_ *f) {
  Expression *e = (Expression *)(void *)f;
  for (int i = 0; i < e->nops; i++)
    if (e->op[i].code == CALL) CPFunctionFree(&e->op[i].of.f);
  free(e->op);
  free(e->timed);
  free(e);
}

int languageCountPieces(Expression *e) {
  char affine[WORDS]; /* [operands on the stack] are they affine functions of variable 0 alone? */
  int count = 0, top = 0;
  for (int i = 0; i < e->nops; i++)
    count += e->op[i].code == CALL ? e->op[i].of.f->npieces : isSwitch(e->op[i].code);
  e->head.timed = e->timed = malloc((size_t)count + 1);
  if (!e->timed) return 1;
  for (int i = 0; i < e->nops; i++) {
    const Op *op  = &e->op[i];
    const int own = isSwitch(op->code), k = op->code <= VARIABLE ? 0 : op->k;
    int all = 1;
    for (int a = top - k; a < top; a++) all &= affine[a];
    if (own) e->timed[e->head.npieces++] = (char)all;
    for (int m = 0; op->code == CALL && m < op->of.f->npieces; m++)
      e->timed[e->head.npieces++] = all && k == 1 && op->of.f->timed[m];
    top += 1 - k;
    affine[top - 1] = op->code == NUMBER || (op->code == VARIABLE && op->k == 0) ||
                      (all && (op->code == ADD || op->code == SUB || op->code == SCALE));
  }
  return 0;
}

int cpFunctionUses(CPFunction f, int i) {
  if (f->evaluate != evaluate) return 1;
  const Expression *e = (const Expression *)(const void *)f;
  for (int k = 0; k < e->nops; k++)
    if (e->op[k].code == VARIABLE && e->op[k].k == i) return 1;
  return 0;
}

Expression *languageNewExpression(int n) {
  Expression *e = calloc(1, sizeof *e);
  if (e)
    e->head = (struct CPFunction_){
        .owners = 1, .n = n, .level = 1, .evaluate = evaluate, .destroy = destroy};
  return e;
}

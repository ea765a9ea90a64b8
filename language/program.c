/* Postfix programs are evaluated on jets of second order. For z = phi(a_1 ... a_k)
 *
 *   z_i = sum_a phi_a a_i,    z_ij = sum_a phi_a a_ij + sum_ab phi_ab a_i b_j          (the chain rule),
 *
 * so that an operation is phi with its derivatives, and nothing else; or, for values and gradients, in passes of their own, below. A program
 * neither loops nor allocates. */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Has it two pieces? */
static int isSwitch(Code code) {
  return code == LESS || code == LESS_EQ || code == MIN || code == MAX || code == ABS ||
         code == SIGN;
}

/* Is it one of function1? */
static int isFunction1(const Op *op) {
  return op->k == 1 && op->code != CALL && !isSwitch(op->code);
}

/* The number of its places with pieces */
static int placesIn(const Op *op) {
  return op->code == CALL ? op->of.f->npieces : isSwitch(op->code);
}

/* x^c; squares and cubes without the logarithm */
static inline sunrealtype power(sunrealtype x, sunrealtype c) {
  return c == 2 ? x * x : c == 3 ? x * x * x : pow(x, c);
}

/* phi [3]: phi(x) and, of order > 0, phi'(x), phi''(x) */
static void function1(Code code, sunrealtype x, sunrealtype c, int order, sunrealtype *phi) {
  const int slopes = order > 0;
  sunrealtype a;
  switch (code) {
  case SIN:
    phi[0] = sin(x);
    if (slopes) phi[1] = cos(x), phi[2] = -phi[0];
    break;
  case COS:
    phi[0] = cos(x);
    if (slopes) phi[1] = -sin(x), phi[2] = -phi[0];
    break;
  case TAN: phi[0] = tan(x), phi[1] = 1 + phi[0] * phi[0], phi[2] = 2 * phi[0] * phi[1]; break;
  case ASIN:
  case ACOS:
    a      = code == ASIN ? 1 : -1;
    phi[0] = code == ASIN ? asin(x) : acos(x);
    if (!slopes) break;
    phi[1] = a / sqrt((1 - x) * (1 + x));
    phi[2] = phi[1] * x / ((1 - x) * (1 + x));
    break;
  case ATAN: phi[0] = atan(x), phi[1] = 1 / (1 + x * x), phi[2] = -2 * x * phi[1] * phi[1]; break;
  case SINH:
    phi[0] = sinh(x);
    if (slopes) phi[1] = cosh(x), phi[2] = phi[0];
    break;
  case COSH:
    phi[0] = cosh(x);
    if (slopes) phi[1] = sinh(x), phi[2] = phi[0];
    break;
  case TANH:
    phi[0] = tanh(x);
    if (slopes) a = 1 / cosh(x), phi[1] = a * a, phi[2] = -2 * phi[0] * phi[1];
    break;
  case EXP: phi[0] = phi[1] = phi[2] = exp(x); break;
  case LOG: phi[0] = log(x), phi[1] = 1 / x, phi[2] = -phi[1] * phi[1]; break;
  case LOG10:
    phi[0] = log10(x);
    if (slopes) phi[1] = 1 / (x * log(SUN_RCONST(10.0))), phi[2] = -phi[1] / x;
    break;
  case SQRT:
    phi[0] = sqrt(x);
    if (slopes) phi[1] = 1 / (2 * phi[0]), phi[2] = -phi[1] / (2 * x);
    break;
  case SMOOTH: /* 10 s^3 - 15 s^4 + 6 s^5 */
    a      = x < 0 ? 0 : x > 1 ? 1 : x;
    phi[0] = a * a * a * (10 + a * (-15 + 6 * a));
    phi[1] = 30 * a * a * (1 - a) * (1 - a);
    phi[2] = 60 * a * (1 - a) * (1 - 2 * a);
    break;
  default: /* POWER */
    phi[0] = power(x, c);
    if (!slopes) break;
    if (c == 2 || c == 3) {
      a      = c == 2 ? 1 : x;
      phi[1] = c * a * x, phi[2] = c * (c - 1) * a;
      break;
    }
    phi[1] = c == 0 ? 0 : c * pow(x, c - 1);
    phi[2] = order < 2 || c == 0 || c == 1 ? 0 : c * (c - 1) * pow(x, c - 2);
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

/* The piece of an operation that has two at x and y, or at x */
static int pieceAt(const Op *op, const Pieces *pieces, sunrealtype x, sunrealtype y) {
  switch (op->code) {
  case MIN: return pieceOf(pieces, y < x, x - y);
  case MAX: return pieceOf(pieces, y > x, y - x);
  case LESS: return pieceOf(pieces, x < y, y - x);
  case LESS_EQ: return pieceOf(pieces, x <= y, y - x);
  default: return pieceOf(pieces, !(x < 0), x); /* ABS, SIGN */
  }
}

/* At 0 the sign is 0, unless a piece is held. */
static sunrealtype signOf(const Pieces *pieces, int piece, sunrealtype x) {
  const int is_held = pieces && pieces->held && *pieces->held != ANY_PIECE;
  return is_held ? 2 * piece - 1 : (x > 0) - (x < 0);
}

static void operate(const Op *op, int n, int order, const Pieces *pieces, sunrealtype *jet) {
  const int length = jetLength(n, order), k = op->k;
  const size_t size    = (size_t)length * sizeof *jet;
  const sunrealtype *y = jet + length;
  const int piece      = isSwitch(op->code) ? pieceAt(op, pieces, jet[0], k > 1 ? y[0] : 0) : 0;
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
  case MAX:
    if (piece) memcpy(jet, y, size);
    return;
  case ABS:
    if (!piece)
      for (int i = 0; i < length; i++) jet[i] *= -1;
    return;
  case SIGN:
    jet[0] = signOf(pieces, piece, jet[0]);
    memset(jet + 1, 0, size - sizeof *jet);
    return;
  case IF: memcpy(jet, jet[0] != 0 ? y : y + length, size); return;
  case LESS:
  case LESS_EQ:
    memset(jet, 0, size);
    jet[0] = piece;
    return;
  default: break;
  }
  sunrealtype a[MOST_ARGUMENTS] = {0}, d[MOST_ARGUMENTS], dd[MOST_ARGUMENTS * MOST_ARGUMENTS],
              phi[3];
  for (int i = 0; i < k; i++) a[i] = jet[i * length];
  if (isFunction1(op)) {
    function1(op->code, a[0], op->of.c, order, phi);
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
      Pieces room;
      operate(o, n, order, piecesFrom(pieces, place, &room), top - o->k * length);
      place += placesIn(o);
      top -= (o->k - 1) * length;
    }
  }
}

/* ---- values alone ---- */

/* stack: out, the value at its beginning */
static void runValues(const Op *op, int nops, const sunrealtype *x, const Pieces *pieces,
                      sunrealtype *stack) {
  sunrealtype *top = stack, phi[3]; /* the first free entry */
  int place        = 0;
  for (const Op *o = op; o < op + nops; o++) switch (o->code) {
    case NUMBER: *top++ = o->of.c; break;
    case VARIABLE: *top++ = x[o->k]; break;
    case SCALE: top[-1] *= o->of.c; break;
    case ADD: top--, top[-1] += *top; break;
    case SUB: top--, top[-1] -= *top; break;
    case MUL: top--, top[-1] *= *top; break;
    case DIV: top--, top[-1] /= *top; break;
    case SIN: top[-1] = sin(top[-1]); break; /* without the cosine, which is its derivative */
    case COS: top[-1] = cos(top[-1]); break;
    case SQRT: top[-1] = sqrt(top[-1]); break;
    case POWER: top[-1] = power(top[-1], o->of.c); break;
    default:
      if (isFunction1(o)) {
        function1(o->code, top[-1], o->of.c, 0, phi);
        top[-1] = phi[0];
      } else {
        Pieces room;
        operate(o, 0, 0, piecesFrom(pieces, place, &room), top - o->k);
        place += placesIn(o);
        top -= o->k - 1;
      }
    }
}

/* ---- values and gradients ---- */

/* A program is a tree: the value of each operation is an operand of one other, so that the derivatives a of the result with respect to all
 * values follow from the last one on, a_child = a_parent d parent / d child, in a time that does not depend on the number of variables
 * (reverse mode; A. Griewank, A. Walther, Evaluating Derivatives, SIAM 2008, chapter 3). Longer programs, and second
 * derivatives, take jets. */
enum { LONGEST = 256 };
typedef struct {
  sunrealtype v[LONGEST], d[LONGEST]; /* values, then a; the derivatives of the parent */
  int parent[LONGEST];
} Tape;

/* v[i] <- operation i, which has pieces, or more than two operands, or calls a function, of the values number at[0 ... k - 1] */
static void special(const Op *op, int i, const Pieces *pieces, const int *at, Tape *tape) {
  sunrealtype *v = tape->v, *d = tape->d, a[MOST_ARGUMENTS], by[MOST_ARGUMENTS],
              second[MOST_ARGUMENTS * MOST_ARGUMENTS];
  const sunrealtype x = v[at[0]], y = op->k > 1 ? v[at[1]] : 0;
  const int piece = isSwitch(op->code) ? pieceAt(op, pieces, x, y) : 0;
  switch (op->code) {
  case MIN:
  case MAX:
    v[i]     = piece ? y : x;
    d[at[0]] = !piece, d[at[1]] = piece;
    return;
  case ABS:
    d[at[0]] = piece ? 1 : -1;
    v[i]     = d[at[0]] * x;
    return;
  case SIGN:
    v[i]     = signOf(pieces, piece, x);
    d[at[0]] = 0;
    return;
  case LESS:
  case LESS_EQ:
    v[i]     = piece;
    d[at[0]] = d[at[1]] = 0;
    return;
  case IF:
    v[i]     = x != 0 ? y : v[at[2]];
    d[at[0]] = 0, d[at[1]] = x != 0, d[at[2]] = x == 0;
    return;
  default: break;
  }
  for (int k = 0; k < op->k; k++) a[k] = v[at[k]];
  v[i] = op->code == CALL ? call(op, 1, pieces, a, by, second) : function2(op, a, by, second);
  for (int k = 0; k < op->k; k++) d[at[k]] = by[k];
}

/* jet [1 + n]: out, the value and the gradient */
static void runTape(const Op *op, int nops, int n, const sunrealtype *at, const Pieces *pieces,
                    sunrealtype *jet) {
  Tape tape;
  sunrealtype *v = tape.v, *d = tape.d;
  int stack[LONGEST], *top = stack, place = 0; /* top: the first free entry; numbers of values */
  for (int i = 0; i < nops; i++) {
    const Op *o = &op[i];
    const int k = o->code <= VARIABLE ? 0 : o->k, y = k > 0 ? top[-1] : 0, x = k > 1 ? top[-2] : y;
    sunrealtype phi[3];
    switch (o->code) {
    case NUMBER: v[i] = o->of.c; break;
    case VARIABLE: v[i] = at[o->k]; break;
    case SCALE: v[i] = o->of.c * v[y], d[y] = o->of.c; break;
    case ADD: v[i] = v[x] + v[y], d[x] = d[y] = 1; break;
    case SUB: v[i] = v[x] - v[y], d[x] = 1, d[y] = -1; break;
    case MUL: v[i] = v[x] * v[y], d[x] = v[y], d[y] = v[x]; break;
    case DIV: v[i] = v[x] / v[y], d[x] = 1 / v[y], d[y] = -v[i] * d[x]; break;
    default:
      if (isFunction1(o)) {
        function1(o->code, v[y], o->of.c, 1, phi);
        v[i] = phi[0], d[y] = phi[1];
      } else {
        Pieces room;
        special(o, i, piecesFrom(pieces, place, &room), top - k, &tape);
        place += placesIn(o);
      }
    }
    if (k > 0) tape.parent[x] = tape.parent[y] = i;
    for (int c = 3; c <= k; c++) tape.parent[top[-c]] = i;
    top += 1 - k;
    top[-1] = i;
  }
  jet[0] = v[nops - 1];
  memset(jet + 1, 0, (size_t)n * sizeof *jet);
  v[nops - 1] = 1;
  if (op[nops - 1].code == VARIABLE) jet[1 + op[nops - 1].k] = 1;
  for (int i = nops - 2; i >= 0; i--) {
    if (op[i].code == NUMBER) continue;
    v[i] = times(v[tape.parent[i]], d[i]);
    if (op[i].code == VARIABLE) jet[1 + op[i].k] += v[i];
  }
}

static void evaluate(const struct CPFunction_ *f, const sunrealtype *x, int order,
                     const Pieces *pieces, sunrealtype *jet) {
  const Expression *e = (const Expression *)(const void *)f;
  if (order == 1 && e->nops <= LONGEST) {
    runTape(e->op, e->nops, f->n, x, pieces, jet);
    return;
  }
  sunrealtype stack[WORDS];
  if (order == 0) runValues(e->op, e->nops, x, pieces, stack);
  else languageRun(e->op, e->nops, f->n, x, order, pieces, stack);
  memcpy(jet, stack, (size_t)jetLength(f->n, order) * sizeof *jet);
}

static void destroy(struct CPFunction_ *f) {
  Expression *e = (Expression *)(void *)f;
  for (int i = 0; i < e->nops; i++)
    if (e->op[i].code == CALL) CPFunctionFree(&e->op[i].of.f);
  free(e->op);
  free(e->timed), free(e->jumps);
  free(e);
}

int languageCountPieces(Expression *e) {
  char affine[WORDS]; /* [operands on the stack] are they affine functions of variable 0 alone? */
  int count = 0, top = 0;
  for (int i = 0; i < e->nops; i++) count += placesIn(&e->op[i]);
  e->head.timed = e->timed = malloc((size_t)count + 1);
  e->head.jumps = e->jumps = malloc((size_t)count + 1);
  if (!e->timed || !e->jumps) return 1;
  for (int i = 0; i < e->nops; i++) {
    const Op *op = &e->op[i];
    const int k  = op->code <= VARIABLE ? 0 : op->k;
    int all      = 1;
    for (int a = top - k; a < top; a++) all &= affine[a];
    for (int m = 0; m < placesIn(op); m++) {
      const int calls = op->code == CALL;
      e->jumps[e->head.npieces] =
          calls ? op->of.f->jumps[m] : op->code == SIGN || op->code == LESS || op->code == LESS_EQ;
      e->timed[e->head.npieces++] = all && (!calls || (k == 1 && op->of.f->timed[m]));
    }
    top += 1 - k;
    affine[top - 1] = op->code == NUMBER || (op->code == VARIABLE && op->k == 0) ||
                      (all && (op->code == ADD || op->code == SUB || op->code == SCALE));
  }
  return 0;
}

const Expression *languageProgram(CPFunction f) {
  return f->evaluate == evaluate ? (const Expression *)(const void *)f : NULL;
}

int cpFunctionUses(CPFunction f, int i) {
  const Expression *e = languageProgram(f);
  if (!e) return 1;
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

/* An event decides which contacts are closed, computes their impulses if any of them approach
 * (impact.c), and then their accelerations, which decide the phases,
 *
 *   w = W F + a,    a: without contact forces. */
#include "contact_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Events are located to within CP_LOCATED of t, and gaps, as far as tolerances ask for that, of the coordinates. */

/* n^T W (n - mu s) of law k */
static sunrealtype criterion(const CPContact c, int k, const sunrealtype *s) {
  const ContactLaw *law = &c->problem.law[k];
  int ld;
  const sunrealtype *W = contactBlock(c, k, &ld);
  sunrealtype value    = W[0];
  for (int i = 0; i < law->ntangents; i++) value -= law->mu * s[i] * W[(1 + i) * ld];
  return value;
}

/* No accelerations exist, but impulses do: sliding ends by an impact without a collision (F. Genot, B. Brogliato, European Journal of
 * Mechanics A 18, 1999). Time stepping, whose unknowns are impulses, passes it. */
static int painleve(CPContact c, sunrealtype t, int k, const char *function) {
  const ContactLaw *law = &c->problem.law[k];
  const Point *point    = &c->point[law->contact];
  if (c->yields) return CP_CONTACT_NO_SOLUTION;
  return cpReport(
      &c->log, CP_CONTACT_PAINLEVE, function,
      "at t = %.10g: contact \"%s\" slides with the velocity %g and mu = %g where a normal force "
      "does not push it apart (Painleve): n^T W (n - mu s) = %.3e; "
      "time stepping passes such states by impulses",
      t, point->name, c->v[point->tangent], law->mu, criterion(c, k, law->s));
}

/* The velocity of law k below which a contact does not slide: a part of the tolerance, or what
 * friction would remove before the end of sliding could be distinguished from its start. */
static sunrealtype leastSpeed(const CPContact c, int k, sunrealtype t) {
  const Point *point = &c->point[c->problem.law[k].contact];
  int ld;
  if (c->problem.law[k].ntangents < 1) return 0.0;
  const sunrealtype *W   = contactBlock(c, k, &ld);
  const sunrealtype rate = point->law.mu * fabs(c->a[point->normal]) * W[1 + ld] / W[0];
  return fmax(2.0 * c->small_v * c->scale[point->tangent], contactResolution(t) * rate);
}

/* Factors W = L L^T row by row; row j of L has j + 1 entries. */
typedef struct {
  const CPContact c;
  sunrealtype *L;
  int on, *row; /* rows of the problem, in the order of L */
} Basis;

static sunrealtype *rowOf(const Basis *b, int j) { return b->L + (size_t)j * (size_t)(j + 1) / 2; }

/* The next row of L for row r of the problem. Returns its pivot, as a fraction of the diagonal of W. */
static sunrealtype pivotOf(const Basis *b, int r) {
  const int n       = b->c->problem.n;
  sunrealtype pivot = b->c->W[r * (1 + n)], *l = rowOf(b, b->on);
  for (int j = 0; j < b->on; j++) {
    const sunrealtype *l_j = rowOf(b, j);
    sunrealtype sum        = b->c->W[r + b->row[j] * n];
    for (int m = 0; m < j; m++) sum -= l[m] * l_j[m];
    l[j] = sum / l_j[j];
    pivot -= l[j] * l[j];
  }
  return pivot / b->c->W[r * (1 + n)];
}

/* Does a row with this pivot depend on those before? Then half of the digits of W are left. */
static int vanishes(sunrealtype pivot) { return !(pivot > sqrt(DBL_EPSILON)); }

/* Appends row r of the problem. Returns 1, and appends nothing, if its pivot vanishes: it depends on
 * those before. */
static int append(Basis *b, int r) {
  const int n             = b->c->problem.n;
  const sunrealtype pivot = pivotOf(b, r);
  if (vanishes(pivot)) return 1;
  rowOf(b, b->on)[b->on] = sqrt(pivot * b->c->W[r * (1 + n)]);
  b->row[b->on++]        = r;
  return 0;
}

static Basis emptyBasis(CPContact c) {
  return (Basis){.c = c, .L = c->problem.room, .row = c->order};
}

/* z [on] <- the coefficients of a row of the problem in those of L: L^T z = l. In and out: the next row of L, from pivotOf */
static sunrealtype *coefficients(const Basis *b) {
  sunrealtype *z = rowOf(b, b->on);
  for (int j = b->on - 1; j >= 0; j--) {
    for (int m = j + 1; m < b->on; m++) z[j] -= rowOf(b, m)[j] * z[m];
    z[j] /= rowOf(b, j)[j];
  }
  return z;
}

/* P->W <- c->W + sum_k z_k z_k^T, where the z_k span the loads of contacts (of those with x_N > 0 if loaded is
 * set) that balance each other. Returns 1 if there are any. */
static int addSelfStress(CPContact c, int loaded) {
  ContactProblem *P = &c->problem;
  const int n       = P->n;
  Basis b           = emptyBasis(c);
  int any           = 0;
  memcpy(P->W, c->W, (size_t)(n * n) * sizeof *P->W);
  for (int k = 0; k < P->ncontacts; k++) {
    const int N = P->law[k].first;
    if (P->law[k].left_open || (loaded && !(P->x[N] > 0.0)) || !append(&b, N)) continue;
    sunrealtype *z = coefficients(&b), sum = 1.0; /* row N = sum_j z_j row j */
    for (int j = 0; j < b.on; j++) sum += z[j] * z[j];
    z[b.on] = -1.0, b.row[b.on] = N, any = 1;
    const sunrealtype weight = c->W[N * (1 + n)] / sum;
    for (int i = 0; i <= b.on; i++)
      for (int j = 0; j <= b.on; j++) P->W[b.row[i] + b.row[j] * n] += weight * z[i] * z[j];
  }
  return any;
}

/* Is w, of loads without self-stress, W x + c? */
static int isBalanced(const CPContact c) {
  const ContactProblem *P = &c->problem;
  sunrealtype size = 0, off = 0, *w = P->room;
  contactSquareTimes(P->n, c->W, P->x, w);
  for (int i = 0; i < P->n; i++) {
    size = fmax(size, fabs(P->c[i])), off = fmax(off, fabs(w[i] + P->c[i] - P->w[i]));
  }
  return off <= CP_ROUNDED * size;
}

/* Solves the problem P->W x + P->c without the normal rows of contacts that are left open. w: of these, too */
static int solveClosed(CPContact c) {
  ContactProblem *P = &c->problem;
  const int n       = P->n;
  for (int k = 0; k < P->ncontacts; k++) {
    const int N = P->law[k].first;
    if (!P->law[k].left_open) continue;
    for (int i = 0; i < n; i++)
      if (i != N) P->W[i + N * n] = P->W[N + i * n] = 0.0;
    P->c[N] = fabs(c->a[c->row[N]]);
  }
  const int failed = contactSolveProblem(c);
  for (int k = 0; k < P->ncontacts; k++) {
    const int N = P->law[k].first;
    if (!P->law[k].left_open) continue;
    P->w[N] = P->c[N] = c->a[c->row[N]];
    for (int i = 0; i < n; i++) P->w[N] += c->W[N + i * n] * P->x[i];
  }
  return failed;
}

/* Solves for the forces x with the laws of all contacts, and accelerations w. Among more contacts than
 * freedoms, normal forces z may balance each other. The multipliers of CPMech then are those of minimum norm, without parts
 * along z, and the motion may depend on that by friction. So these are the solution here as well, by
 * W + z z^T, if all of them push. Returns nonzero if there is no solution. */
static int solveGiven(CPContact c) {
  ContactProblem *P = &c->problem;
  for (int i = 0; i < P->n; i++) P->c[i] = c->a[c->row[i]];
  for (int loaded = 0; loaded < 2 && !P->times && addSelfStress(c, loaded); loaded++) {
    if (!solveClosed(c) && isBalanced(c)) return 0;
    memcpy(P->W, c->W, (size_t)(P->n * P->n) * sizeof *P->W);
    if (solveClosed(c)) return 1;
    if (loaded) return 0;
  }
  if (!P->times) memcpy(P->W, c->W, (size_t)(P->n * P->n) * sizeof *P->W);
  return solveClosed(c);
}

/* F <- N - g(N), where g are the loads of contacts that the forces for the loads N cause. Returns nonzero if there are none. */
static int loadError(CPContact c, const sunrealtype *N, sunrealtype *F) {
  const ContactProblem *P = &c->problem;
  int n                   = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    Point *point = &c->point[P->law[k].contact];
    if (point->law.nloads > 0) point->N = N[n++], c->a[point->normal] = -point->N;
  }
  if (solveGiven(c) || contactLoads(c, F)) return 1;
  for (int i = 0; i < n; i++) F[i] = N[i] - F[i];
  return 0;
}

/* Solves for the forces with the laws of all contacts, of which multipliers load some: N = g(N), by the method of C. G. Broyden (Math.
 * Comput. 19, 1965) from F' = I. For one such contact it is the secant method, which finds the solution at once where a load is linear in
 * the friction. Returns nonzero if there is no solution. */
static int solveForces(CPContact c) {
  enum { MOST = 100 };
  const int n = c->nloaded;
  if (n == 0) return solveGiven(c);
  sunrealtype *N = malloc((size_t)(n * (n + 5)) * sizeof *N), *F = N + n, *H = N + 5 * n,
              *y = N + 2 * n, *s = N + 3 * n, *w = N + 4 * n;
  int failed = !N, done = 0;
  if (failed) return failed;
  memset(H, 0, (size_t)(n * n) * sizeof *H);
  int k = 0;
  EACH_NEAR(c, i)
    if (c->point[i].law.nloads > 0) N[k] = c->point[i].N, H[k * (n + 1)] = 1.0, k++;
  failed = loadError(c, N, F);
  for (int iteration = 0; iteration < MOST && !failed; iteration++) {
    sunrealtype along = 0;
    if ((done = contactLargest(n, F) <= CP_ROUNDED * contactLargest(n, N))) break;
    contactSquareTimes(n, H, F, s);
    for (int i = 0; i < n; i++) s[i] = -s[i], N[i] += s[i], y[i] = -F[i];
    failed = loadError(c, N, F);
    for (int i = 0; i < n; i++) y[i] += F[i];
    contactSquareTimes(n, H, y, w); /* H <- H + (s - H y) s^T H / (s^T H y) */
    for (int i = 0; i < n; i++) along += s[i] * w[i], w[i] = s[i] - w[i];
    for (int j = 0; j < n && along != 0; j++) {
      const sunrealtype row = contactDot(n, s, H + j * n) / along;
      for (int i = 0; i < n; i++) H[i + j * n] += w[i] * row;
    }
  }
  free(N);
  return failed || !done;
}

/* Has a contact reached its friction cone? */
static int coneFired(const CPContact c) {
  int any = 0;
  EACH_NEAR(c, i)
    any |=
        c->fired[ROOTS * i + 1] && c->point[i].phase == CP_CONTACT_STICKING && !c->point[i].carried;
  return any;
}

/* Is contact i guided, with a velocity above `least` in the direction of sliding? */
static int isGuided(const CPContact c, int i, sunrealtype t, sunrealtype least) {
  const Point *point = &c->point[i];
  sunrealtype along;
  return contactIsGuided(point, t, c->v + point->tangent, &along) && along > least;
}

/* Has the speed of a contact that slides in space come down to Sliding.near (guided = 0), or the end of
 * sliding been reached (guided = 1)? The feet of a body slide together, and their speeds differ by errors. So
 * what one has reached is decided for all that are slow. */
static int speedFired(const CPContact c, int guided, sunrealtype t) {
  int any = 0;
  EACH_NEAR(c, i)
    any |= c->fired[ROOTS * i + 1] && contactSlidesInSpace(&c->point[i]) &&
           isGuided(c, i, t, -INFINITY) == guided;
  return any;
}

/* Does a contact slide in space, no faster than errors or the speed at which it is looked at? */
static int isSlow(const CPContact c, const Point *point, sunrealtype t) {
  const sunrealtype near = contactSliding(point, t)->near;
  return contactSlidesInSpace(point) &&
         contactLength(2, c->v + point->tangent) <= fmax(contactSlow(c, point), 1.1 * near);
}

/* The friction of guided sliding may be off its direction by this angle at the end. */
#define ASIDE 0.3

/* Has guided sliding come to its end, up to errors? What is left across is due to the guidance. */
static int hasEnded(const CPContact c, int i, sunrealtype t) {
  const Point *point       = &c->point[i];
  const sunrealtype *v     = c->v + point->tangent;
  const sunrealtype errors = contactSlow(c, point), R = contactSliding(point, t)->slow;
  sunrealtype along;
  return contactIsGuided(point, t, v, &along) && along <= errors &&
         contactLength(2, v) <= fmax(errors, ASIDE * R);
}

/* A contact slides in the direction of its law up to the speed slow. */
static void guide(CPContact c, const ContactLaw *law, sunrealtype slow) {
  Sliding *now = &c->point[law->contact].sliding[0];
  *now         = (Sliding){.t = now->t, .s = {law->s[0], law->s[1]}, .slow = slow};
}

/* Decides which contacts that slide slowly in space will stop: those that would stay at rest with
 * the friction of sliding. They slide straight on. */
static void findEnds(CPContact c, sunrealtype t) {
  ContactProblem *P  = &c->problem;
  const int all_slow = speedFired(c, 0, t);
  int any            = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law = &P->law[k];
    Point *point    = &c->point[law->contact];
    Sliding *now    = &point->sliding[0];
    sunrealtype s[2];
    const int goes_on = law->slides && isGuided(c, law->contact, t, leastSpeed(c, k, t));
    law->ends         = all_slow && law->slides && isSlow(c, point, t) && !goes_on;
    /* An explicit step may have crossed the end: where its velocity is as small as errors, its start has the direction. */
    const sunrealtype *v = c->v + point->tangent;
    contactTurned(contactSliding(point, t), t, s);
    if (law->ends && c->is_explicit && contactLength(2, v) <= contactSlow(c, point) &&
        v[0] * s[0] + v[1] * s[1] > 0.0)
      memcpy(law->s, s, sizeof s);
    if (law->ends) any = 1, law->slides = 0, law->mu *= 1.0 - CP_INEXACT;
    else if (goes_on) {
      contactTurned(now, t, s);
      memcpy(now->s, s, sizeof s), now->t = t;
    } else now->slow = now->turn = 0.0;
  }
  P->hurries             = 1; /* What is hard to find is no rest. */
  const int failed       = any && solveForces(c);
  P->hurries             = 0;
  const sunrealtype size = any ? contactLargest(P->n, P->c) : 0.0;
  for (int k = 0; k < P->ncontacts && any; k++) {
    ContactLaw *law = &P->law[k];
    if (!law->ends) continue;
    law->slides = 1, law->mu = c->point[law->contact].law.mu;
    /* Where contacts are redundant, forces may lie on cones though others hold them. */
    if (!failed && contactLength(2, P->w + law->first + 1) <= CP_ROUNDED * size)
      guide(c, law, CONTACT_BEGINS);
  }
}

/* mu N - |F_T| of law k */
static sunrealtype distance(const CPContact c, int k) {
  const ContactLaw *law = &c->problem.law[k];
  const sunrealtype *x  = c->problem.x + law->first;
  return c->point[law->contact].law.mu_static * x[0] - contactLength(law->ntangents, x + 1);
}

/* Finds the tangential rows of contacts at rest that depend on other rows: those of normals, and of contacts that are
 * farther from their cones. These take all changes of the load. Returns the independent rows. */
static Basis findDependent(CPContact c) {
  const ContactProblem *P = &c->problem;
  Basis b                 = emptyBasis(c);
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law = &P->law[k];
    law->dependent  = 0;
    law->placed     = law->slides || law->ntangents == 0;
    if (P->x[law->first] > 0.0) append(&b, law->first);
  }
  for (;;) {
    int next = -1;
    for (int k = 0; k < P->ncontacts; k++)
      if (!P->law[k].placed && (next < 0 || distance(c, k) > distance(c, next))) next = k;
    if (next < 0) return b;
    ContactLaw *law = &P->law[next];
    const int T = law->first + 1, m = law->ntangents;
    law->placed = 1;
    for (int i = 0; i < m; i++) law->dependent |= append(&b, T + i) << i;
  }
}

/* Cones are narrower by this fraction where contacts at rest may begin to slide, which they then do that fraction of the load too
 * early. With n feet at the limit of such cones, the acceleration is that fraction of mu g / n, far above its error. In the
 * plane problems are linear between their corners, and that is roundoff; with smooth cones it is the residual. */
static sunrealtype narrowed(const ContactProblem *P) {
  for (int k = 0; k < P->ncontacts; k++)
    if (P->law[k].ntangents > 1) return CP_HALF_DIGITS;
  return 10.0 * CP_ROUNDED;
}

/* Solves with cones that are smaller by this fraction. at_rest: out, 1 if no contact would begin to slide.
 * Returns nonzero if there is no solution. */
static int solveNarrowed(CPContact c, sunrealtype fraction, int *at_rest) {
  ContactProblem *P = &c->problem;
  for (int k = 0; k < P->ncontacts; k++)
    if (!P->law[k].slides)
      P->law[k].mu =
          (1.0 - fmin(fraction, P->law[k].most)) * c->point[P->law[k].contact].law.mu_static;
  const int failed = solveForces(c);
  const sunrealtype error =
      contactLargest(P->n, P->c) * (10.0 * P->residual + 64 * P->n * DBL_EPSILON);
  *at_rest = 1;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law = &P->law[k];
    if (law->slides) continue;
    law->mu     = c->point[law->contact].law.mu_static;
    law->begins = contactLength(law->ntangents, P->x + law->first + 1) > 0.0 &&
                  contactLength(law->ntangents, P->w + law->first + 1) > error;
    *at_rest &= !law->begins;
  }
  return failed;
}

/* The fraction by which the smallest cones are known */
#define CLOSE 0.1

/* Solves with the smallest cones, of a fraction from the given one on, with which all contacts stay at rest. Returns
 * nonzero if there is no solution. */
static int widen(CPContact c, sunrealtype *fraction) {
  int at_rest;
  for (sunrealtype most = 1.0; most - *fraction > CLOSE * most;) {
    const sunrealtype next      = sqrt(*fraction * most);
    const int holds             = !solveNarrowed(c, next, &at_rest) && at_rest;
    *(holds ? fraction : &most) = next;
  }
  return solveNarrowed(c, *fraction, &at_rest);
}

/* L U factors of J = I + Z C, row by row: friction C_jk N_k in rows that are not in the basis loads its rows, of which those of the
 * normals of these contacts are counted, by Z C. */
typedef struct {
  int n, *place;   /* contacts so far, and the places of their normals in the basis */
  sunrealtype *ZC; /* [n on] columns of Z C */
  sunrealtype *LU; /* [n most] columns */
  int on, most;
} Shares;

/* ZC <- the next column: the friction of law k, in the rows that are not in the basis, for a load of 1. Returns 1 if its normal is not in
 * the basis, as among redundant ones. */
static int addFriction(const CPContact c, const Basis *b, Shares *f, int k) {
  const ContactLaw *law = &c->problem.law[k];
  const sunrealtype *x  = c->problem.x + law->first;
  sunrealtype *column   = f->ZC + (size_t)f->n * (size_t)f->on;
  int *place            = &f->place[f->n];
  for (*place = 0; *place < f->on && b->row[*place] != law->first;) ++*place;
  memset(column, 0, (size_t)f->on * sizeof *column);
  for (int i = 0; i < law->ntangents && *place < f->on; i++) {
    if (!law->slides && !(law->dependent >> i & 1)) continue;
    pivotOf(b, law->first + 1 + i);
    const sunrealtype *z = coefficients(b);
    for (int j = 0; j < f->on; j++) column[j] += z[j] * x[1 + i] / x[0];
  }
  return *place == f->on;
}

/* The next row and column of the factors. Returns its pivot: by the inverse of that the load of the contact grows with what it carries. */
static sunrealtype border(Shares *f) {
  const int n = f->n, most = f->most;
  sunrealtype *LU = f->LU, *u = LU + (size_t)n * (size_t)most;
  for (int i = 0; i < n; i++) {
    const sunrealtype *column = LU + (size_t)i * (size_t)most;
    sunrealtype l             = f->ZC[(size_t)i * (size_t)f->on + (size_t)f->place[n]];
    u[i]                      = f->ZC[(size_t)n * (size_t)f->on + (size_t)f->place[i]];
    for (int j = 0; j < i; j++) {
      u[i] -= LU[i + j * most] * u[j];
      l -= LU[n + j * most] * column[j];
    }
    LU[n + i * most] = l / column[i];
  }
  u[n] = 1.0 + f->ZC[(size_t)n * (size_t)f->on + (size_t)f->place[n]];
  for (int j = 0; j < n; j++) u[n] -= LU[n + j * most] * u[j];
  return u[n];
}

/* The loads of wedged bodies, which press on each other by their friction, may have any size. If the friction of a contact were in
 * proportion to such a load, nothing would determine it: what it carries by the normal force, it takes away by the friction. It then
 * stays as it is, and the load follows. Marks these contacts (stays), and no others. Returns 0 or CP_MEM_FAIL. */
static int findWedged(CPContact c, const Basis *b, const char *function) {
  const ContactProblem *P = &c->problem;
  const int most          = P->ncontacts;
  Shares f                = {.place = P->on, .on = b->on, .most = most};
  f.ZC                    = malloc(((size_t)most * (size_t)(f.on + most) + 1) * sizeof *f.ZC);
  if (!f.ZC) return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for %d contacts", most);
  f.LU = f.ZC + most * f.on;
  for (int k = 0; k < most; k++) P->law[k].stays = 0;
  for (int slides = 1; slides >= 0; slides--)
    for (int k = 0; k < P->ncontacts; k++) {
      ContactLaw *law = &P->law[k];
      if (law->slides != slides || !(slides || law->dependent) || !(P->x[law->first] > 0.0))
        continue;
      if (c->point[law->contact].is_held || addFriction(c, b, &f, k)) continue;
      const sunrealtype pivot = border(&f);
      law->stays              = !slides && !(fabs(pivot) > CLOSE);
      f.n += slides ? pivot != 0.0 : !law->stays;
    }
  free(f.ZC);
  return CP_SUCCESS;
}

/* Where contacts are redundant, forces may be distributed in many ways, and those of a contact may lie
 * on its cone though others hold it. Contacts begin to slide if they would with slightly smaller
 * cones. If none does, the distribution becomes one in which all are far from their cones, but for those whose
 * friction is in proportion to the load. Wedged ones, whose load grows without bounds towards the smallest cones, are halfway
 * from these. any: out, 1 if some begin. Returns 0 or, without a solution, an error code. */
static int beginSliding(CPContact c, int *any, const char *function) {
  ContactProblem *P    = &c->problem;
  sunrealtype fraction = narrowed(P);
  for (int k = 0; k < P->ncontacts; k++) P->law[k].most = 1.0;
  int at_rest, failed = solveNarrowed(c, fraction, &at_rest);
  for (int k = 0; k < P->ncontacts && !failed && !at_rest; k++) {
    ContactLaw *law      = &P->law[k];
    const sunrealtype *x = P->x + law->first + 1;
    if (law->slides || !law->begins) continue;
    law->slides = *any = 1, law->mu = c->point[law->contact].law.mu;
    for (int i = 0; i < law->ntangents; i++) law->s[i] = -x[i] / contactLength(law->ntangents, x);
    if (law->ntangents == 2) guide(c, law, CONTACT_BEGINS);
  }
  if (!failed && at_rest) failed = widen(c, &fraction);
  if (failed) return CP_CONTACT_NO_SOLUTION;
  if (!at_rest || !contactStored(c)) return CP_SUCCESS;
  const Basis b = findDependent(c);
  if (findWedged(c, &b, function)) return CP_MEM_FAIL;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law = &P->law[k];
    if (law->dependent == (1 << law->ntangents) - 1)
      law->most = law->stays ? fraction / 2 : narrowed(P);
  }
  return widen(c, &fraction) ? CP_CONTACT_NO_SOLUTION : CP_SUCCESS;
}

/* Impulses in the n rows c->order of the problem that set their velocities to zero. Returns what contactApplyImpulses does. */
static int stopBy(CPContact c, sunrealtype t, N_Vector y, int n, const char *function) {
  ContactProblem *P = &c->problem;
  sunrealtype *W_on = P->room, *v_on = P->w, *x_on = P->c;
  for (int i = 0; i < n; i++) {
    v_on[i] = -c->v[c->row[c->order[i]]];
    for (int j = 0; j < n; j++) W_on[i + j * n] = c->W[c->order[i] + c->order[j] * P->n];
  }
  contactLinearSolve(n, W_on, v_on, x_on, W_on + n * n);
  memset(P->x, 0, (size_t)P->n * sizeof *P->x);
  for (int i = 0; i < n; i++) P->x[c->order[i]] = x_on[i];
  for (int i = 0; i < P->n; i++) c->velocity[i] = c->v[c->row[i]];
  return contactApplyImpulses(c, t, y, function);
}

/* Have the n rows c->order of the problem stopped? Those on which W is roundoff may not, whatever the impulse. */
static int haveStopped(const CPContact c, int n) {
  const sunrealtype size = contactLargest(c->problem.n, c->velocity);
  for (int i = 0; i < n; i++) {
    const int row = c->row[c->order[i]];
    if (fabs(c->v[row]) > fmax(CP_INEXACT * size, c->round_v * c->scale[row])) return 0;
  }
  return 1;
}

/* Drops the tangential ones of the n rows c->order that break other constraints, or go on, if they alone are stopped: W is roundoff there, since the
 * others, such as a drive, leave friction nothing to move, and the velocity is theirs. Their number is left in n. y: as before. */
static int dropMoved(CPContact c, sunrealtype t, N_Vector y, int *n, const char *function) {
  int left = 0, flag = CP_SUCCESS;
  for (int i = 0; i < *n && !flag; i++) {
    const int row = c->order[i], first = c->order[0];
    int is_normal = 0, broken = 0;
    for (int k = 0; k < c->problem.ncontacts; k++) is_normal |= c->problem.law[k].first == row;
    if (!is_normal) {
      c->order[0] = row;
      flag        = stopBy(c, t, y, 1, function);
      broken      = flag == CP_CONTACT_NO_SOLUTION || (!flag && !haveStopped(c, 1));
      c->order[0] = first;
      N_VScale(1.0, c->trial, y);
      if (!flag || broken) flag = contactMeasure(c, t, y, function);
    }
    if (!broken) c->order[left++] = row;
  }
  *n = left;
  return flag;
}

/* Sets the velocities of the n rows c->order of the problem to zero, by impulses in these rows. */
static int stop(CPContact c, sunrealtype t, N_Vector y, int n, const char *function) {
  const int all = n;
  if (c->problem.times || (c->problem.direct > 0 && n > c->problem.direct)) {
    memset(c->column, 0, (size_t)c->na * sizeof *c->column);
    for (int i = 0; i < n; i++) c->column[c->row[c->order[i]]] = 1;
    const int flag = CPMechImpact(c->mech, t, y, c->column, 0.0, NULL);
    return flag ? contactPassOn(c, flag) : contactMeasure(c, t, y, function);
  }
  N_VScale(1.0, y, c->trial);
  int flag         = stopBy(c, t, y, n, function);
  const int unsure = !flag && !haveStopped(c, n);
  if (flag != CP_CONTACT_NO_SOLUTION && !unsure) return flag;
  N_VScale(1.0, c->trial, y);
  flag = contactMeasure(c, t, y, function);
  /* Of rows that depend on each other, as of two joints of a linkage that rub and stop together, the independent ones stop the others. */
  Basis b = emptyBasis(c);
  for (int i = 0; i < n; i++) append(&b, c->order[i]);
  n = b.on;
  if (!flag && n < all) {
    flag = stopBy(c, t, y, n, function);
    if (flag != CP_CONTACT_NO_SOLUTION && (flag || haveStopped(c, n))) return flag;
    N_VScale(1.0, c->trial, y);
    flag = contactMeasure(c, t, y, function);
  }
  if (!flag) flag = dropMoved(c, t, y, &n, function);
  if (flag || n == 0) return flag;
  return n < all || unsure ? stopBy(c, t, y, n, function) : contactNoSolution(c, t, "impulses");
}

/* May the dry friction of a joint, the law of contact k, hold its row against the free acceleration? At the dead centre of a slide it may not:
 * W vanishes there with the square of the gradient, and the impulse v / W, which stops the row, is none of a bounded force. */
static int mayHold(const CPContact c, int k) {
  const ContactLaw *law = &c->problem.law[k];
  const Point *point    = &c->point[law->contact];
  int ld;
  const sunrealtype *W = contactBlock(c, k, &ld);
  return !point->is_held || fabs(c->a[point->tangent]) <= W[1 + ld] * law->mu * point->N;
}

/* Sets the velocities to zero that count as zero in the problem, up to a part of the tolerance. The accelerations of redundant contacts
 * would contradict each other by their squares otherwise. */
static int stopCounted(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  int n = 0, any = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law = &P->law[k];
    const Point *point    = &c->point[law->contact];
    for (int i = law->first; i <= law->first + law->ntangents; i++) {
      const int row     = c->row[i];
      const int is_zero = i > law->first
                              ? !law->slides && !law->carried && mayHold(c, k)
                              : !point->is_held && fabs(c->v[row]) <= c->small_v * c->scale[row];
      if (is_zero) c->order[n++] = i, any |= fabs(c->v[row]) > c->noise_v * c->scale[row];
    }
  }
  if (!any) return CP_SUCCESS;
  const int flag = stop(c, t, y, n, function);
  return flag ? flag : contactFreeAccelerations(c, t, y, function);
}

/* The law of a contact at rest whose velocity is that of others: it slides as these accelerate it or, if that would move it by no tolerance
 * within the run, as where a drive t^3 begins, in no direction yet. Its tangential rows of W are roundoff. */
static void carry(const CPContact c, sunrealtype t, ContactLaw *law) {
  const int T            = c->point[law->contact].tangent;
  const sunrealtype rate = contactLength(law->ntangents, c->a + T);
  const int begins       = rate * (c->t_last - t) > c->tol_v * c->scale[T];
  law->slides            = 1;
  for (int i = 0; i < law->ntangents; i++) law->s[i] = begins ? c->a[T + i] / rate : 0.0;
}

/* Accelerations of the problem that are zero up to roundoff */
static sunrealtype zeroOf(const ContactProblem *P) {
  return 64.0 * P->n * DBL_EPSILON * contactLargest(P->n, P->c);
}

/* Contacts that have been left open take part if they would close, or if there is no solution without them. Returns 1 if any do. */
static int closeLeftOpen(CPContact c, int failed) {
  ContactProblem *P      = &c->problem;
  const sunrealtype zero = zeroOf(P);
  int any                = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law  = &P->law[k];
    const int closes = law->left_open && (failed || P->w[law->first] < -zero);
    if (closes) law->left_open = 0, any = 1;
  }
  return any;
}

/* Which contacts slide at the velocities c->v, of those whose law does so far, and in which directions? Returns 1 if one no longer does. */
static int findSliding(CPContact c, sunrealtype t) {
  ContactProblem *P = &c->problem;
  const int all_end = speedFired(c, 1, t);
  int stopped       = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law         = &P->law[k];
    const Point *point      = &c->point[law->contact];
    const sunrealtype *v_T  = c->v + point->tangent;
    const sunrealtype speed = contactLength(law->ntangents, v_T), least = leastSpeed(c, k, t);
    const int slid = law->slides;
    law->slides    = slid && speed > least && !(all_end && hasEnded(c, law->contact, t));
    law->mu        = law->slides ? point->law.mu : point->law.mu_static;
    stopped |= slid && !law->slides;
    if (!law->slides) continue;
    for (int i = 0; i < law->ntangents; i++) law->s[i] = v_T[i] / speed;
    if (isGuided(c, law->contact, t, least)) contactDirection(c, point, t, law->s);
  }
  return stopped;
}

/* Solves for the forces of the problem's contacts, whose velocities are c->v. A contact that begins
 * to slide gets a direction, and the coefficient mu instead of mu_static. Returns 0 or an error
 * code that has been reported. */
static int forces(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law = &P->law[k];
    law->left_open  = c->point[law->contact].is_kept && contactStored(c);
    law->slides     = law->ntangents > 0;
  }
  findSliding(c, t);
  for (int again = 1; again;) { /* Where some stop, others may, too, or slide in another direction. */
    const int flag = stopCounted(c, t, y, function);
    if (flag) return flag;
    again = findSliding(c, t);
  }
  for (int k = 0; k < P->ncontacts; k++)
    if (P->law[k].carried && !P->law[k].slides) carry(c, t, &P->law[k]);
  findEnds(c, t);
  const int cone = coneFired(c);
  for (int again = 1; again;) {
    const int failed = solveForces(c);
    again            = closeLeftOpen(c, failed);
    if (again) continue;
    if (failed) {
      for (int k = 0; k < P->ncontacts; k++)
        if (P->law[k].slides && criterion(c, k, P->law[k].s) <= 0.0)
          return painleve(c, t, k, function);
      return contactNoSolution(c, t, "accelerations");
    }
    int any = 0;
    for (int k = 0; k < P->ncontacts; k++) {
      ContactLaw *law      = &P->law[k];
      const Point *point   = &c->point[law->contact];
      const sunrealtype *x = P->x + law->first;
      const sunrealtype T  = contactLength(law->ntangents, x + 1);
      if (x[0] > 0.0 && law->slides && criterion(c, k, law->s) <= 0.0)
        return painleve(c, t, k, function);
      if (point->is_held && law->ntangents > 0 && !law->slides && !(x[0] > 0.0) &&
          P->w[law->first + 1] != 0.0) {
        law->slides = 1, law->mu = point->law.mu; /* Without a load nothing holds it. */
        law->s[0] = copysign(1.0, P->w[law->first + 1]);
      }
      const int at_root       = cone && point->phase == CP_CONTACT_STICKING;
      const sunrealtype bound = 64 * P->n * DBL_EPSILON * law->mu * x[0];
      law->begins             = !law->slides && T > 0.0 &&
                    T >= law->mu * x[0] - (at_root ? CP_INEXACT * law->mu * x[0] : bound);
      any |= law->begins;
    }
    const int begun = any ? beginSliding(c, &again, function) : CP_SUCCESS;
    if (begun) return begun == CP_MEM_FAIL ? begun : contactNoSolution(c, t, "accelerations");
  }
  return CP_SUCCESS;
}

/* Contacts that stick although their tangential rows depend on others get their shares of the friction, and open ones without friction are kept
 * whose normal rows do. If W is not stored, dependent rows are left to the solver of CPMech. Returns 0 or CP_MEM_FAIL. */
static int findImplied(CPContact c, const char *function) {
  const ContactProblem *P = &c->problem;
  const Basis b           = findDependent(c);
  if (findWedged(c, &b, function)) return CP_MEM_FAIL;
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law = &P->law[k];
    const sunrealtype *x  = P->x + law->first;
    Point *point          = &c->point[law->contact];
    if (point->phase == CP_CONTACT_OPEN && law->ntangents == 0)
      point->is_kept = vanishes(pivotOf(&b, law->first));
    if (point->phase != CP_CONTACT_STICKING) continue;
    point->implied = point->carried ? (1 << law->ntangents) - 1 : law->dependent;
    for (int i = 0; i < law->ntangents; i++) {
      const int has_force = law->dependent >> i & 1 && x[0] > 0.0;
      point->wedged[i]    = has_force && law->stays ? x[1 + i] : 0.0;
      point->sliding[0].s[i] =
          has_force && !law->stays ? -x[1 + i] / (point->law.mu_static * x[0]) : 0.0;
    }
  }
  return CP_SUCCESS;
}

/* Sets at which speed the integrator looks for the end of contact k, which slides in space. */
static void setNear(CPContact c, int k, sunrealtype t) {
  const int i         = c->problem.law[k].contact;
  const Point *before = &c->before[i];
  Sliding *now        = &c->point[i].sliding[0];
  const int was_far   = contactSlidesInSpace(before) && !c->fired[ROOTS * i + 1];
  const sunrealtype v = contactLength(2, c->v + before->tangent);
  if (!contactSlidesInSpace(before)) now->in_vain = 0.0;
  else if (c->fired[ROOTS * i + 1]) now->in_vain = v;
  if (now->slow > 0.0) {
    const sunrealtype *v_T = c->v + before->tangent, along = v_T[0] * now->s[0] + v_T[1] * now->s[1];
    now->near = fmin(0.0, along - 0.5 * contactZeroVelocity(c, before->tangent));
  } else now->near = contactNearEnd(c, before, v, was_far ? contactSliding(before, t) : NULL);
}

/* The rate of N over the newest step, or 0 at its start */
static sunrealtype loadRate(const CPContact c, const Point *point) {
  const sunrealtype h = c->end[1] - c->end[0];
  return h > 0.0 ? (point->step.N[1] - point->step.N[0]) / h : 0.0;
}

/* Sets the phases by the forces and laws of the problem; contacts outside it are open. Returns 0 or CP_MEM_FAIL. */
static int setPhases(CPContact c, sunrealtype t, const char *function) {
  const ContactProblem *P = &c->problem;
  sunrealtype size        = 0; /* of the forces */
  const sunrealtype zero  = zeroOf(P);
  for (int k = 0; k < P->ncontacts; k++) {
    int ld;
    const sunrealtype *W = contactBlock(c, k, &ld);
    for (int i = 0; i <= (P->law[k].carried ? 0 : P->law[k].ntangents); i++)
      size = fmax(size, fabs(P->c[P->law[k].first + i]) / W[i * (1 + ld)]);
  }
  EACH_NEAR(c, i) {
    c->point[i].phase   = CP_CONTACT_OPEN;
    c->point[i].implied = c->point[i].carried = c->point[i].is_kept = 0;
    c->point[i].wedged[0] = c->point[i].wedged[1] = 0.0;
  }
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law = &P->law[k];
    Point *point          = &c->point[law->contact];
    const int was_closed  = c->before[law->contact].phase != CP_CONTACT_OPEN;
    const int at_root     = c->fired[ROOTS * law->contact] && was_closed;
    /* Among more contacts than freedoms the load of one may be zero by the choice of the solution
     * alone. It then does not accelerate away, and stays closed. */
    const int touches = was_closed && !at_root && fabs(P->w[law->first]) <= zero;
    /* A gap that is and stays 0 without a load, as that of a ball that rolls along a wall, does not close by roundoff: it would
     * open at the root of its force, and close again at the next event of any other one. */
    int ld;
    const sunrealtype *W = contactBlock(c, k, &ld);
    const sunrealtype N = P->x[law->first], whole = fmax(size, point->load);
    const sunrealtype least = at_root ? CP_INEXACT * whole : was_closed ? 0.0 : zero / W[0];
    if (at_root) point->jerk = W[0] * fmax(-loadRate(c, point), 0.0);
    if (!point->is_held && !touches && !(N > least)) {
      P->x[law->first] = 0; /* whose row holds no other contact: findDependent */
      continue;
    }
    point->load = N, point->jerk = 0.0;
    point->carried = law->carried && contactLength(law->ntangents, law->s) == 0.0;
    point->phase   = law->ntangents == 0              ? CP_CONTACT_CLOSED
                     : law->slides && !point->carried ? CP_CONTACT_SLIDING
                                                      : CP_CONTACT_STICKING;
    for (int i = 0; i < law->ntangents && !(point->sliding[0].slow > 0.0); i++)
      point->sliding[0].s[i] = law->slides ? law->s[i] : 0.0;
    if (!contactSlidesInSpace(point)) continue;
    point->effect = W[1 + ld];
    setNear(c, k, t);
  }
  /* A contact that opens leaves with the forces of the others, which may even hold it as it is. */
  for (int k = 0; k < P->ncontacts; k++) {
    const Point *point  = &c->point[P->law[k].contact];
    const sunrealtype a = P->w[P->law[k].first];
    if (point->phase == CP_CONTACT_OPEN) c->a[point->normal] = a > zero ? a : 0.0;
  }
  return contactStored(c) ? findImplied(c, function) : CP_SUCCESS;
}

sunrealtype contactClosedGap(CPContact c, int i, sunrealtype t, sunrealtype size) {
  const int row = c->point[i].normal;
  return size * c->scale[row] + fabs(c->v[row]) * CP_LOCATED * fabs(t);
}

int contactPenetrates(CPContact c, int i, sunrealtype t) {
  const Point *point = &c->point[i];
  /* Nothing opens or closes a gap whose row is roundoff. */
  if (point->is_elastic || c->scale[point->normal] <= 64 * DBL_EPSILON ||
      !(c->p[point->normal] < -contactClosedGap(c, i, t, c->tol_q)))
    return CP_SUCCESS;
  snprintf(c->log.text, sizeof c->log.text,
           "at t = %.10g: contact \"%s\" penetrates: its gap is %.3e", t, point->name,
           c->p[point->normal]);
  return CP_CONTACT_PENETRATION;
}

/* The rows of the problem that are to stop, into c->order: those that are active, and of contacts that stay open and have approached, the
 * normal ones. Their velocities are zero up to a part of the tolerance. Returns the number. any: out, 1 if that is more than errors */
static int findStops(CPContact c, int *any) {
  ContactProblem *P = &c->problem;
  int n             = 0;
  *any              = 0;
  for (int k = 0; k < P->ncontacts; k++) {
    ContactLaw *law    = &P->law[k];
    const Point *point = &c->point[law->contact];
    for (int i = law->first; i <= law->first + law->ntangents; i++) {
      const int row = c->row[i], touches = point->phase == CP_CONTACT_OPEN && i == law->first;
      if (touches && !law->stops && c->v[row] < -c->noise_v * c->scale[row]) law->stops = *any = 1;
      if (c->mask[row] || (touches && law->stops)) c->order[n++] = i;
      *any |= c->mask[row] && fabs(c->v[row]) > contactZeroVelocity(c, row);
    }
  }
  return n;
}

/* Sets the velocities of the rows that become active to zero, and of open contacts that touch, so that none is below zero.
 * stopped: out, 1 if velocities have changed */
static int stopRows(CPContact c, sunrealtype t, N_Vector y, int *stopped, const char *function) {
  ContactProblem *P = &c->problem;
  *stopped          = 0;
  for (int k = 0; k < P->ncontacts; k++) P->law[k].stops = 0;
  for (int more = 0; more <= P->ncontacts;
       more++) { /* Each time a contact more is stopped, or none. */
    int any, flag = contactActivate(c);
    if (flag) return contactPassOn(c, flag);
    const int n = findStops(c, &any);
    if (!any) return CP_SUCCESS;
    if ((flag = stop(c, t, y, n, function))) return flag;
    *stopped = 1;
  }
  return CP_SUCCESS;
}

/* Does a contact slide back, against the direction of its friction, since other rows have stopped? Then it has no root at which that would
 * turn round. Slower than what counts as zero it does in the plane (beginPhases). */
static int slidesBack(const CPContact c) {
  EACH_NEAR(c, i) {
    const Point *point   = &c->point[i];
    const sunrealtype *v = c->v + point->tangent, *s = point->sliding[0].s;
    if (point->phase != CP_CONTACT_SLIDING) continue;
    if (point->ntangents == 1 && s[0] * v[0] < -c->small_v * c->scale[point->tangent]) return 1;
    if (point->ntangents == 2 && s[0] * v[0] + s[1] * v[1] <= point->sliding[0].near) return 1;
  }
  return 0;
}

/* The phases become those before the event again, and stay under their present laws. */
static void resetPhases(CPContact c) {
  EACH_NEAR(c, i) {
    const CPContactLaw law = c->point[i].law;
    c->point[i] = c->before[i], c->point[i].law = law;
  }
}

/* Decides which closed contacts stay in the problem. A contact that leaves does not, unless it
 * would return from a flight whose remainder is skipped (impact.c), and no impact at this event has
 * decided that already. Such a contact has been opened by others, as in a block that tips while it
 * slides; when these no longer lift it, it closes at once. Returns 0 or an error code that has been
 * reported. */
static int keepClosed(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int known = 0;
  EACH_NEAR(c, i) {
    const int N         = c->point[i].normal;
    const sunrealtype v = c->v[N];
    if (!c->keep[i] || v <= c->small_v * c->scale[N]) continue;
    if (c->impact.any) {
      c->keep[i] = 0;
      continue;
    }
    /* With accelerations of all that are kept so far: those of open contacts that are not are left out (isOfInterest). */
    const int flag = known++ ? CP_SUCCESS : contactFreeAccelerations(c, t, y, function);
    if (flag) return flag;
    c->keep[i] = (char)contactSkips(c, i, t, v, c->point[i].law.restitution);
  }
  return CP_SUCCESS;
}

/* A contact that stays open although it would return at once is still lifted by others, and its
 * flights are not skipped. */
static void countSkipped(CPContact c) {
  if (c->impact.any) return;
  EACH_NEAR(c, i) {
    CPContactEvent *event = &c->event[i];
    if (!event->accumulated) continue;
    if (c->point[i].phase != CP_CONTACT_OPEN) c->stats.naccumulations++;
    else event->accumulated = 0, event->t_closed = event->t;
  }
}

/* Of contacts that count as closed, the gaps of some may follow from those of others: with g_k = sum_j z_j g_j, as of four feet on a plane,
 * they are not all 0 unless r = sum_j z_j g_j - g_k is. Where data is rounded, and |r| is more than 1e-13 of the coordinates, to which
 * projections close rows, one of them is open, by r / z_j or -r, above 0. Of these the one with the least force, in c->problem.x,
 * leaves: c->keep = 0. Returns 1 if one does. */
static int leavesOne(CPContact c) {
  const ContactProblem *P = &c->problem;
  Basis b                 = emptyBasis(c);
  for (int k = 0; k < P->ncontacts && contactStored(c); k++) {
    const int N = P->law[k].first;
    if (c->point[P->law[k].contact].is_held || !append(&b, N)) continue;
    sunrealtype *z = coefficients(&b), r = 0.0, errors = 0.0;
    int least = -1;
    z[b.on] = -1.0, b.row[b.on] = N;
    for (int j = 0; j <= b.on; j++) {
      const int row = c->row[b.row[j]];
      r += z[j] * c->p[row], errors = fmax(errors, 0.1 * c->noise_q * c->scale[row]);
    }
    if (fabs(r) <= errors) continue;
    for (int j = b.on; j >= 0; j--)
      if (z[j] * r > CP_INEXACT * fabs(r) &&
          (least < 0 || P->x[b.row[j]] < (1.0 - CP_INEXACT) * P->x[least]))
        least = b.row[j];
    for (int j = 0; j < P->ncontacts; j++)
      if (P->law[j].first == least) c->keep[P->law[j].contact] = 0;
    if (least >= 0) return 1;
  }
  return 0;
}

int contactDecide(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int flag      = contactLaws(c, t, N_VGetArrayPointer(y), 1, function);
  c->impact.any = 0;
  EACH_NEAR(c, i) c->impact.pull[i] = 0.0;
  if (!flag) flag = contactMeasure(c, t, y, function);
  if (flag) return flag;
  flag = contactRows(c, t, N_VGetArrayPointer(y), contactOff(c));
  if (flag) return contactUserFailed(c, function, "A", t, flag);
  contactScales(c, y);
  EACH_NEAR(c, i) {
    const Point *point    = &c->point[i];
    const sunrealtype gap = c->p[point->normal];
    c->event[i] =
        (CPContactEvent){CP_SIZED(CPContactEvent), .contact = i, .name = point->name, .t = t,
                         .before = point->phase,   .t_closed = t};
    /* The root of the gap was located on the interpolant, and the state has since been projected
     * onto joints and motions. */
    const sunrealtype closed =
        contactClosedGap(c, i, t, c->fired[ROOTS * i] ? c->tol_q : c->small_q);
    c->keep[i] = !point->is_elastic && (point->phase != CP_CONTACT_OPEN || gap <= closed);
    for (int k = 0; k <= point->ntangents; k++)
      c->event[i].velocity[0][k] = c->v[k == 0 ? point->normal : point->tangent + k - 1];
    if ((flag = contactPenetrates(c, i, t))) return flag;
  }
  EACH_NEAR(c, i) c->keep[i] = c->keep[i] && !c->point[i].is_held;
  flag = contactPose(c, t, y, function);
  if (!flag && c->problem.n > 0) flag = contactImpact(c, t, y, function);
  if (!flag) flag = keepClosed(c, t, y, function);
  EACH_NEAR(c, i) c->keep[i] = c->keep[i] || c->point[i].is_held;
  for (int left = c->nnear, again = 1, stopped = 0; !flag && again;) {
    do {
      if (!flag) flag = contactPose(c, t, y, function);
      if (!flag && c->problem.n > 0) flag = contactFreeAccelerations(c, t, y, function);
      if (!flag && c->problem.n > 0) flag = forces(c, t, y, function);
    } while (!flag && c->problem.n > 0 && leavesOne(c));
    if (!flag) flag = setPhases(c, t, function);
    if (!flag) flag = stopRows(c, t, y, &stopped, function);
    /* Each pass stops a contact more, or none. */
    again = !flag && stopped && left-- > 0 && slidesBack(c);
    if (again) resetPhases(c);
  }
  if (!flag) countSkipped(c), contactElasticPhases(c);
  return flag;
}

/* The share of the step, squared, that the flight of an open contact i takes, which the acceleration a brings back, or 1; sets its height. */
static sunrealtype takeFlight(CPContact c, int i, sunrealtype t, sunrealtype a) {
  Point *point        = &c->point[i];
  const sunrealtype v = c->v[point->normal];
  point->height       = INFINITY;
  if (!(v > c->small_v * c->scale[point->normal] && a > 0.0)) return 1.0;
  const sunrealtype part = 2.0 * v / (2.0 * v + a * (t - c->t_first));
  point->height          = v * v / (2.0 * a);
  return part * part;
}

/* Sets the share of the tolerance for the flights that begin, the offsets of the root functions of contacts that begin to slide in the
 * plane, whose velocity is zero up to errors of either sign, a part of the tolerance below it, and how contacts slide in space. */
static void beginPhases(CPContact c, sunrealtype t) {
  c->share = 1.0;
  EACH_NEAR(c, i) {
    Point *point              = &c->point[i];
    const CPContactEvent *was = &c->event[i];
    if (point->is_elastic) continue;
    const sunrealtype a = contactReturn(c, i, t); /* since it left before */
    if (was->before != CP_CONTACT_OPEN || was->velocity[0][0] != was->velocity[1][0])
      point->left.t = t, point->left.v = c->v[point->normal];
    const sunrealtype small_v = c->small_v * c->scale[point->tangent], v_T = c->v[point->tangent];
    if (point->phase == CP_CONTACT_OPEN &&
        (was->struck || was->before != CP_CONTACT_OPEN || c->fired[ROOTS * i]))
      c->share = fmin(c->share, takeFlight(c, i, t, a));
    const sunrealtype speed = point->sliding[0].s[0] * v_T;
    if (point->phase == CP_CONTACT_SLIDING && point->ntangents == 1)
      point->zero[1] = speed <= 2.0 * small_v ? fmin(0.0, speed) - 0.25 * small_v : 0.0;
    /* The root functions at t begin the first step. */
    point->sliding[0].t = t, point->sliding[1].t = NAN;
    point->sliding[0].t_half = point->sliding[0].slow > 0.0 ? INFINITY : t;
  }
}

void contactOpenAll(CPContact c) {
  contactAllNear(c);
  EACH_NEAR(c, i) {
    c->point[i].phase   = CP_CONTACT_OPEN;
    c->point[i].zero[0] = 0.0, c->point[i].fade = c->point[i].height = INFINITY;
    c->point[i].left.t = NAN;
    c->point[i].load = c->point[i].jerk = 0.0;
  }
}

void contactKeep(CPContact c, N_Vector y) {
  EACH_NEAR(c, i) c->before[i] = c->point[i], c->event_before[i] = c->event[i];
  N_VScale(1.0, y, c->saved);
}

void contactUndo(CPContact c, N_Vector y) {
  EACH_NEAR(c, i) c->point[i] = c->before[i], c->event[i] = c->event_before[i];
  N_VScale(1.0, c->saved, y);
  contactActivate(c);
}

/* The largest |x_i| of the coordinates or velocities x [n] without quaternions, whose size is 1, or their angular
 * velocities: these say nothing about lengths, which may be micrometres. */
static sunrealtype largest(CPContact c, const sunrealtype *x, int n, int is_rate) {
  const CPEquations *own = c->model;
  sunrealtype size       = 0;
  for (int i = 0, k = 0; i < n; i++) {
    const CPQuaternion *Q = k < own->nquaternions ? &own->quaternions[k] : NULL;
    if (Q && i == (is_rate ? Q->first_u : Q->first_q)) i += is_rate ? 2 : 3, k++;
    else size = fmax(size, fabs(x[i]));
  }
  return size;
}

void contactTolerances(CPContact c, N_Vector y) {
  const sunrealtype *q     = N_VGetArrayPointer(y);
  const sunrealtype size_q = largest(c, q, c->nq, 0), size_u = largest(c, q + c->nq, c->nu, 1);

  c->tol_q   = fmax(c->atol + c->rtol * size_q, CP_LOCATED * size_q);
  c->tol_v   = c->atol + c->rtol * size_u;
  c->small_q = 0.1 * c->tol_q, c->small_v = 0.1 * c->tol_v;
  /* Coordinates that are 0 have the size up to which atol is their tolerance: no gap is known to be 0 to all digits. */
  const sunrealtype small = c->rtol > 0.0 ? c->atol / c->rtol : 0.0;
  c->noise_q              = fmin(c->small_q, CP_ITERATED * (size_q + small));
  c->round_q              = CP_FLOOR_FACTOR * DBL_EPSILON * size_q;
  c->round_v              = CP_FLOOR_FACTOR * DBL_EPSILON * size_u;
  c->noise_v              = fmin(c->small_v, CP_ITERATED * size_u);
}

int contactEvent(CPContact c, sunrealtype t, N_Vector y, int *changed, const char *function) {
  contactTolerances(c, y);
  contactKeep(c, y);
  int flag = contactDecide(c, t, y, function);
  *changed = 0;
  if (flag) {
    contactUndo(c, y);
    return contactTell(c, t, y, flag, function);
  }
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i], *before = &c->before[i];
    c->event[i].after = point->phase;
    for (int k = 0; k <= point->ntangents; k++)
      c->event[i].velocity[1][k] = c->v[k == 0 ? point->normal : point->tangent + k - 1];
    const sunrealtype *s = point->sliding[0].s, *s_before = before->sliding[0].s;
    *changed |= c->event[i].struck || point->phase != before->phase || s[0] != s_before[0] ||
                s[1] != s_before[1] || c->fired[ROOTS * i] || c->fired[ROOTS * i + 1];
  }
  c->stats.nevents += *changed;
  if (*changed) beginPhases(c, t);
  contactCountTurns(c, t);
  flag = contactActivate(c);
  if (flag) return contactPassOn(c, flag);
  contactOnset(c, t, y);
  return CP_SUCCESS;
}

int CPContactPainleve(CPContact c, sunrealtype t, N_Vector y, sunrealtype *value) {
  if (!c) return cpReport(NULL, CP_MEM_NULL, __func__, "contact must not be NULL");
  if (!value) return cpReport(&c->log, CP_ILL_INPUT, __func__, "value must not be NULL");
  int flag = contactReady(c, y, __func__);
  if (flag) return flag;
  contactAllNear(c);
  flag = contactLaws(c, t, N_VGetArrayPointer(y), 1, __func__);
  if (!flag) flag = contactMeasure(c, t, y, __func__);
  memset(c->keep, 1, (size_t)c->npoints);
  contactGather(c, c->keep);
  if (!flag) flag = contactDelassus(c, t, y, __func__);
  for (int k = 0; k < c->npoints && !flag; k++) {
    const ContactLaw *law = &c->problem.law[k];
    const int row = c->row[law->first + (law->ntangents > 0)], n = law->ntangents;
    int ld;
    const sunrealtype *v = c->v + row, *W = contactBlock(c, k, &ld);
    /* where it does not slide, the worst direction */
    const sunrealtype *along = contactLength(n, v) > c->small_v * c->scale[row] ? v : W + 1,
                      length = contactLength(n, along);
    sunrealtype s[2]         = {0, 0};
    for (int i = 0; i < n && length > 0.0; i++) s[i] = along[i] / length;
    value[k] = criterion(c, k, s);
  }
  const int restored = contactActivate(c);
  return flag ? flag : restored ? contactPassOn(c, restored) : CP_SUCCESS;
}

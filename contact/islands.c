/* The problem of an event (solve.c) in parts. The contacts of bodies that no others connect, an island, are a problem of their own: W
 * consists of a block for each, since bodies that do not move, and what prescribed motions lead, connect nothing. Solving k of n rows
 * takes k^3 operations in place of n^3, iterations in one island do not wait for those in another, and combinations can be tried where
 * few contacts are connected. All are solved to the accuracy of the largest c of the whole, to which c is known in all of them. */
#include "complementarity.h"

#include <math.h>
#include <string.h>

/* Scales the problem, x = scale x' and W' = scale W scale, or scales it back. W'_ii is at most 1,
 * and the two tangential rows of a contact have the same scale. */
static void scaleRows(ContactProblem *p, int back) {
  const int n              = p->n;
  const sunrealtype *scale = p->scale;
  for (int j = 0; j < n; j++) {
    const sunrealtype s = back ? 1.0 / scale[j] : scale[j];
    for (int i = 0; i < n && !p->times; i++) p->W[i + j * n] *= back ? s / scale[i] : s * scale[i];
    p->c[j] *= s, p->w[j] *= s, p->x[j] /= s;
  }
  for (int k = 0; k < p->ncontacts; k++) {
    ContactLaw *law      = &p->law[k];
    const sunrealtype *s = scale + law->first, N = s[0], T = s[law->ntangents > 0];
    law->mu *= back ? T / N : N / T;
    law->given *= back ? N : 1.0 / N;
    for (int i = 0; p->times && i <= law->ntangents; i++)
      for (int j = 0; j <= law->ntangents; j++)
        p->block[9 * k + 3 * j + i] *= back ? 1.0 / (s[i] * s[j]) : s[i] * s[j];
  }
}

/* ---- one island ---- */

/* The entries of W that are not 0, by columns: number first[j] ... first[j + 1] - 1, in the rows row[]. In an island of many contacts
 * each moves those of its two bodies and of what joints hold to these alone. */
typedef struct {
  int n, *first, *row;
  const sunrealtype *W;
} Columns;

static int columnsTimes(void *data, const sunrealtype *x, sunrealtype *y) {
  const Columns *W = data;
  memset(y, 0, (size_t)W->n * sizeof *y);
  for (int j = 0; j < W->n; j++)
    for (int k = W->first[j]; k < W->first[j + 1] && x[j] != 0.0; k++)
      y[W->row[k]] += W->W[k] * x[j];
  return 0;
}

/* Solves for the island of the contacts k with label[k] = name, in a problem without others. row [n]: workspace, with more behind it
 * (ContactProblem). Returns 0, or 1 if there is no solution. */
static int solveIsland(ContactProblem *p, const int *label, int name, int *row, sunrealtype size) {
  ContactProblem part = {
      .law = p->law + p->ncontacts, .on = row + p->n, .guessed = p->guessed, .hurries = p->hurries};
  for (int k = 0; k < p->ncontacts; k++) {
    if (label[k] != name) continue;
    part.law[part.ncontacts]         = p->law[k];
    part.law[part.ncontacts++].first = part.n;
    for (int i = 0; i <= p->law[k].ntangents; i++) row[part.n++] = p->law[k].first + i;
  }
  const int m = part.n, n = p->n, sparse = p->direct > 0 && m > p->direct;
  Columns columns = {m, part.on + m, part.on + 2 * m + 1, p->room + 12 * n};
  sunrealtype *W  = p->room + 12 * n;
  int filled      = 0;
  part.c = W + m * m, part.x = part.c + m, part.w = part.x + m, part.scale = part.w + m;
  part.block = part.scale + m, part.room = part.block + 9 * part.ncontacts;
  part.scaled = part.room + 10 * m;
  for (int j = 0; j < m; j++) {
    part.scale[j] = 1.0, part.c[j] = p->c[row[j]], part.x[j] = p->x[row[j]];
    if (sparse) columns.first[j] = filled;
    for (int i = 0; i < m; i++) {
      const sunrealtype a = p->W[row[i] + row[j] * n];
      if (!sparse) W[i + j * m] = a;
      else if (a != 0.0) columns.row[filled] = i, W[filled++] = a;
    }
  }
  for (int k = 0; k < part.ncontacts && sparse; k++) {
    const int *own = row + part.law[k].first, number = 1 + part.law[k].ntangents;
    for (int j = 0; j < number; j++)
      for (int i = 0; i < number; i++) part.block[9 * k + 3 * j + i] = p->W[own[i] + own[j] * n];
  }
  if (sparse) columns.first[m] = filled, part.times = columnsTimes, part.data = &columns;
  else part.W = W;
  const int failed = contactSolveScaled(&part, size);
  for (int i = 0; i < m; i++) p->x[row[i]] = part.x[i];
  p->newton |= part.newton;
  return failed;
}

/* ---- all ---- */

/* Does an impulse of contact k act on contact l? */
static int connects(const ContactProblem *p, int k, int l) {
  const ContactLaw *a = &p->law[k], *b = &p->law[l];
  for (int j = a->first; j <= a->first + a->ntangents; j++)
    for (int i = b->first; i <= b->first + b->ntangents; i++)
      if (p->W[i + j * p->n] != 0.0 || p->W[j + i * p->n] != 0.0) return 1;
  return 0;
}

/* label [ncontacts] <- the first contact of the island of each. next [ncontacts]: workspace, the contacts whose neighbours are to be
 * found. Returns the number of rows of the largest island. */
static int findIslands(const ContactProblem *p, int *label, int *next) {
  int most = 0;
  for (int k = 0; k < p->ncontacts; k++) label[k] = -1;
  for (int k = 0; k < p->ncontacts; k++) {
    int rows = 0, waiting = 1;
    if (label[k] >= 0) continue;
    label[k] = next[0] = k;
    while (waiting > 0) {
      const int a = next[--waiting];
      rows += 1 + p->law[a].ntangents;
      for (int b = k + 1; b < p->ncontacts; b++)
        if (label[b] < 0 && connects(p, a, b)) label[b] = k, next[waiting++] = b;
    }
    most = rows > most ? rows : most;
  }
  return most;
}

/* Solves for the islands of a W that is stored, in scaled rows. Returns 0, or 1 if one of them has no solution. */
static int solveIslands(ContactProblem *p, sunrealtype size) {
  int *label = p->on, *row = label + 2 * p->ncontacts, failed = 0;
  const int most = findIslands(p, label, label + p->ncontacts);
  if (most == p->n && !(p->direct > 0 && most > p->direct)) return contactSolveScaled(p, size);
  for (int k = 0; k < p->ncontacts && !failed; k++)
    if (label[k] == k) failed = solveIsland(p, label, k, row, size);
  return failed;
}

int contactSolve(ContactProblem *p) {
  const int n    = p->n;
  sunrealtype *F = p->room;
  p->scale = p->room + 9 * n, p->scaled = p->room + 10 * n;
  for (int k = 0; k < p->ncontacts; k++) {
    const ContactLaw *law = &p->law[k];
    sunrealtype *scale = p->scale + law->first, largest = 0;
    for (int i = 0; i <= law->ntangents; i++) {
      const sunrealtype w = p->times ? p->block[9 * k + 4 * i] : p->W[(law->first + i) * (1 + n)];
      if (i == 0) scale[0] = 1.0 / sqrt(w);
      else largest = fmax(largest, w);
    }
    for (int i = 1; i <= law->ntangents; i++) scale[i] = largest > 0.0 ? 1.0 / sqrt(largest) : 1.0;
  }
  p->newton = 0, p->shift = 0.0, p->weight = 1.0, p->residual = 0.0;
  if (contactZeroSolves(p, F)) return 0;
  scaleRows(p, 0);
  const sunrealtype size = contactLargest(n, p->c);
  const int failed       = p->times ? contactSolveScaled(p, size) : solveIslands(p, size);
  p->shift = 0.0, p->weight = 1.0;
  p->residual = size > 0.0 ? contactNaturalMap(p, p->x, F) / size : 0.0;
  scaleRows(p, 1);
  return failed;
}

/* The matrix that is factored, as a sum, and its pattern if it is sparse. */
#include "lu_impl.h"

#include "cpodes/base/compat.h"
#include "cpodes/base/vectors.h"

#include <stdlib.h>
#include <string.h>

static int isFixed(const CPLu lu, int i) { return lu->fixed && lu->fixed[i]; }

/* ---- the pattern of a sparse S ---- */

/* The structure of S, and the places of the terms' entries in it */
typedef struct {
  CPMat S; /* without values */
  size_t *place[];
} Pattern;

static void freeStructure(void *S) { cpMatFree(S); }

/* The union of the terms' patterns outside the fixed rows and columns, with the diagonal entries
 * that are one. A dense term contributes the entries that are, or have once been, nonzero. */
static int makePattern(CPArena *arena, void *data, void **object) {
  const CPLu lu   = data;
  CPPlaces all    = {0};
  const int end   = lu->order;
  Pattern *result = cpArenaAlloc(arena, 1, sizeof *result + (size_t)lu->nterms * sizeof(size_t *));
  if (!result) return CP_MEM_FAIL;
  CPMat *S = &result->S;
  for (int k = 0; k < lu->nterms; k++) CP_NEW(arena, result->place[k], cpMatEntries(lu->term[k].J));
  for (int place = 0; !cpArenaStatus(arena) && place <= 1; place++) {
    /* collects entries, then looks up their places */
    for (int n = 0; n < lu->nterms; n++) {
      const CPLuSummand *term = &lu->term[n];
      for (int c = 0; c < term->J->cols; c++)
        for (size_t k = cpMatFirst(term->J, c); k < cpMatFirst(term->J, c + 1); k++) {
          const int r        = cpMatRow(term->J, c, k);
          const int i        = term->row + (term->transposed ? c : r),
                    j        = term->col + (term->transposed ? r : c);
          const int is_fixed = isFixed(lu, i) || isFixed(lu, j);
          const int has_been = term->place && term->place[k] != CP_NO_PLACE;
          if (place) {
            const double *at    = is_fixed ? NULL : cpMatAt(S, i, j);
            result->place[n][k] = at ? (size_t)(at - S->value) : CP_NO_PLACE;
          } else if (!is_fixed && (term->J->start || term->J->value[k] != 0.0 || has_been))
            cpPlacesAdd(&all, i, j);
        }
    }
    if (place) break;
    for (int i = 0; i < end; i++)
      if (i >= lu->first_unit || isFixed(lu, i)) cpPlacesAdd(&all, i, i);
    if (cpMatFromPlaces(S, end, end, &all) || !cpArenaOwn(arena, S, freeStructure))
      return CP_MEM_FAIL;
  }
  free(S->value); /* each matrix has its own */
  S->value = NULL;
  *object  = result;
  return cpArenaStatus(arena);
}

enum { MOST_TERMS = 64 };

/* The structures of the terms, and what else a pattern follows from; returns the number of parts of the key, or 0 if
 * there is a dense term, whose values count. */
static int keyOf(const CPLu lu, int (*terms)[5], CPMemoKey *key) {
  int n = 0;
  for (int k = 0; k < lu->nterms; k++) {
    const CPLuSummand *term = &lu->term[k];
    const CPMat *J          = term->J;
    const int all[5]        = {term->row, term->col, term->transposed, J->rows, J->cols};
    if (!J->start || k >= MOST_TERMS) return 0;
    memcpy(terms[k], all, sizeof all);
    key[n++] = (CPMemoKey){J->start, ((size_t)J->cols + 1) * sizeof *J->start};
    key[n++] = (CPMemoKey){J->row, J->start[J->cols] * sizeof *J->row};
  }
  key[n++] = (CPMemoKey){terms, (size_t)lu->nterms * sizeof *terms};
  key[n++] = (CPMemoKey){&lu->order, sizeof lu->order};
  key[n++] = (CPMemoKey){&lu->first_unit, sizeof lu->first_unit};
  key[n++] = (CPMemoKey){lu->fixed, lu->fixed ? (size_t)lu->order : 0};
  return n;
}

static int createPattern(CPLu lu) {
  int terms[MOST_TERMS][5];
  CPMemoKey key[2 * MOST_TERMS + 4];
  CPArena before  = lu->pattern;
  void *object    = NULL;
  const int nkeys = lu->memo ? keyOf(lu, terms, key) : 0;
  lu->pattern     = (CPArena){0};
  const int flag =
      cpMemoGet(nkeys > 0 ? lu->memo : NULL, &lu->pattern, makePattern, key, nkeys, lu, &object);
  const Pattern *P = object;
  double *value    = flag ? NULL
                          : realloc(lu->S.value, ((size_t)lu->parts * cpMatEntries(&P->S) + 1) *
                                                     sizeof *lu->S.value);
  if (!value) {
    cpArenaFree(&lu->pattern);
    lu->pattern = before;
    return CP_MEM_FAIL;
  }
  lu->S       = P->S;
  lu->S.value = value;
  for (int k = 0; k < lu->nterms; k++) lu->term[k].place = P->place[k];
  cpArenaFree(&before);
  if (lu->fixed) memcpy(lu->fixed_then, lu->fixed, (size_t)lu->order);
  lu->is_new = 1;
  return CP_SUCCESS;
}

void cpLuShare(CPLu lu, CPMemo memo) { lu->memo = memo; }

/* ---- the sum ---- */

/* S += (re + i im) J, or J^T, for a dense S. by_row and by_col are the strides in S between the
 * rows and columns of J; the calls make them constants where possible. */
CP_WIDE_PART void addEntries(const CPMat *J, int parts, double re, double im, double *restrict S,
                             size_t by_row, size_t by_col) {
  const double *value = J->value;
  for (int j = 0; j < J->cols; j++, S += by_col) {
    const size_t first = cpMatFirst(J, j), end = cpMatFirst(J, j + 1);
    double *entry = S;
    for (size_t k = first; k < end; k++, entry += by_row) {
      if (J->start) entry = S + (size_t)J->row[k] * by_row;
      entry[0] += re * value[k];
      if (parts == 2) entry[1] += im * value[k];
    }
  }
}

/* As addEntries, for up to MOST_TOGETHER dense J of one shape at one place, in one pass. */
enum { MOST_TOGETHER = 3 };

CP_WIDE_PART void addTogether(int count, int parts, const CPLuSummand *term,
                              const double complex *weight, double *restrict S, size_t by_col) {
  const int rows = term->J->rows, cols = term->J->cols;
  double re[MOST_TOGETHER], im[MOST_TOGETHER];
  const double *value[MOST_TOGETHER];
  for (int k = 0; k < count; k++)
    re[k] = creal(weight[k]), im[k] = cimag(weight[k]), value[k] = term[k].J->value;
  for (int j = 0; j < cols; j++, S += by_col) {
    for (int i = 0; i < rows; i++)
      for (int k = 0; k < count; k++) {
        S[parts * i] += re[k] * value[k][i];
        if (parts == 2) S[2 * i + 1] += im[k] * value[k][i];
      }
    for (int k = 0; k < count; k++) value[k] += rows;
  }
}

/* Returns how many terms, from this one on, can be added in one pass. */
static int together(const CPLuSummand *term, int left) {
  const CPMat *J = term->J;
  int count      = 1;
  for (; count < left && count < MOST_TOGETHER; count++) {
    const CPLuSummand *other = term + count;
    if (J->start || other->J->start || term->transposed || other->transposed ||
        term->row != other->row || term->col != other->col || J->rows != other->J->rows ||
        J->cols != other->J->cols)
      break;
  }
  return count;
}

CP_WIDE static void addToDense(int order, int parts, int count, const CPLuSummand *term,
                               const double complex *weight, double *value) {
  const size_t by_col = (size_t)(order * parts);
  const double re = creal(*weight), im = cimag(*weight);
  const CPMat *J = term->J;
  double *S      = value + (size_t)term->col * by_col + (size_t)(term->row * parts);
  if (count == 3 && parts == 1) addTogether(3, 1, term, weight, S, by_col);
  else if (count == 3) addTogether(3, 2, term, weight, S, by_col);
  else if (count == 2 && parts == 1) addTogether(2, 1, term, weight, S, by_col);
  else if (count == 2) addTogether(2, 2, term, weight, S, by_col);
  else if (parts == 1 && !term->transposed) addEntries(J, 1, re, 0.0, S, 1, by_col);
  else if (parts == 1) addEntries(J, 1, re, 0.0, S, by_col, 1);
  else if (!term->transposed) addEntries(J, 2, re, im, S, 2, by_col);
  else addEntries(J, 2, re, im, S, by_col, 2);
}

/* Adds weight J to a dense S without its fixed rows and columns. */
static void addToReduced(CPLu lu, double complex weight, const CPLuSummand *term) {
  const CPMat *J = term->J, *S = &lu->S;
  const size_t parts = (size_t)lu->parts;
  for (int j = 0; j < J->cols; j++)
    for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
      const int i = cpMatRow(J, j, k), row = lu->at[term->row + (term->transposed ? j : i)],
                col = lu->at[term->col + (term->transposed ? i : j)];
      if (row < 0 || col < 0) continue;
      double *entry = S->value + parts * (cpMatFirst(S, col) + (size_t)row);
      entry[0] += creal(weight) * J->value[k];
      if (parts == 2) entry[1] += cimag(weight) * J->value[k];
    }
}

static void sumDense(CPLu lu, const double complex *weight) {
  CPMat *S           = &lu->S;
  const size_t parts = (size_t)lu->parts;
  int n              = 0;
  for (int i = 0; i < lu->order; i++) lu->at[i] = isFixed(lu, i) ? -1 : n++;
  S->rows = S->cols = n;
  memset(S->value, 0, parts * cpMatEntries(S) * sizeof *S->value);
  for (int k = 0, count = 1; k < lu->nterms; k += count) {
    count = n == lu->order ? together(&lu->term[k], lu->nterms - k) : 1;
    if (n < lu->order) addToReduced(lu, weight[k], &lu->term[k]);
    else addToDense(n, lu->parts, count, &lu->term[k], weight + k, S->value);
  }
  for (int i = lu->first_unit; i < lu->order; i++)
    if (lu->at[i] >= 0) S->value[parts * (size_t)(n + 1) * (size_t)lu->at[i]] += 1.0;
}

/* Adds one part of weight J to a sparse S. Returns 1 if a nonzero entry has no place in S: this can
 * only be one of a dense J, since entries of a sparse J lack a place only in fixed rows and
 * columns. */
static int addToSparse(CPLu lu, int part, double weight, const CPLuSummand *term) {
  const CPMat *J     = term->J;
  double *value      = lu->S.value + part;
  const size_t parts = (size_t)lu->parts, *place = term->place;
  int misses = 0;
  for (int j = 0; j < J->cols; j++)
    for (size_t k = cpMatFirst(J, j); k < cpMatFirst(J, j + 1); k++) {
      if (place[k] != CP_NO_PLACE) value[place[k] * parts] += weight * J->value[k];
      else if (!J->start)
        misses |= J->value[k] != 0.0 && !isFixed(lu, term->col + j) &&
                  !isFixed(lu, term->row + cpMatRow(J, j, k));
    }
  return misses;
}

/* Returns 1 if the pattern of S lacks an entry. */
static int sumSparse(CPLu lu, const double complex *weight) {
  CPMat *S           = &lu->S;
  const size_t parts = (size_t)lu->parts;
  int misses         = 0;
  memset(S->value, 0, parts * cpMatEntries(S) * sizeof *S->value);
  for (int k = 0; k < lu->nterms; k++) {
    const double re_im[2] = {creal(weight[k]), cimag(weight[k])};
    for (int part = 0; part < lu->parts; part++)
      if (re_im[part] != 0.0) misses |= addToSparse(lu, part, re_im[part], &lu->term[k]);
  }
  if (!lu->fixed && lu->first_unit >= lu->order) return misses;
  for (int i = 0; !misses && i < lu->order; i++)
    if (i >= lu->first_unit || isFixed(lu, i))
      S->value[parts * (size_t)(cpMatAt(S, i, i) - S->value)] += 1.0;
  return misses;
}

int cpLuAssemble(CPLu lu, const double complex *weight) {
  if (!lu->sparse) return sumDense(lu, weight), CP_SUCCESS;
  int flag = CP_SUCCESS, misses = 0;
  const int others_are_fixed =
      lu->fixed && memcmp(lu->fixed, lu->fixed_then, (size_t)lu->order) != 0;
  if (!lu->S.value || others_are_fixed) flag = createPattern(lu);
  if (!flag) misses = sumSparse(lu, weight);
  if (misses) flag = createPattern(lu);
  if (misses && !flag) sumSparse(lu, weight);
  return flag;
}

int cpLuFinite(const CPLu lu) {
  return cpAllFinite(lu->S.value, (sunindextype)(cpMatEntries(&lu->S) * (size_t)lu->parts));
}

/* ---- factors ---- */

int cpLuFactor(CPLu lu) { return lu->ops->factor(lu); }

int cpLuRenew(CPLu lu) { return lu->renew = lu->kept; }

int cpLuSolve(CPLu lu, double *re, double *im) { return lu->ops->solve(lu, re, im); }

void cpLuJoin(int n, const double *re, const double *im, double *x) {
  for (int i = 0; i < n; i++) {
    x[2 * i]     = re[i];
    x[2 * i + 1] = im[i];
  }
}

void cpLuPart(int n, const double *x, double *re, double *im) {
  for (int i = 0; i < n; i++) {
    re[i] = x[2 * i];
    im[i] = x[2 * i + 1];
  }
}

/* ---- life cycle ---- */

int cpLuCreate(CPLu *address, int order, int sparse, int is_complex, const char *fixed,
               int first_unit) {
  CPLu lu = *address = calloc(1, sizeof *lu);
  if (!lu) return CP_MEM_FAIL;
  lu->ops        = sparse ? &cpLuKluOps : &cpLuDenseOps;
  lu->order      = order;
  lu->parts      = is_complex ? 2 : 1;
  lu->sparse     = sparse;
  lu->is_new     = 1;
  lu->fixed      = fixed;
  lu->first_unit = first_unit;
  CP_NEW(&lu->arena, lu->fixed_then, order);
  CP_NEW(&lu->arena, lu->work, lu->parts * order);
  CP_NEW(&lu->arena, lu->at, order);
  const int flag = sparse ? cpArenaStatus(&lu->arena) : cpMatOwn(&lu->arena, &lu->S);
  return flag ? flag : lu->ops->create(lu);
}

int cpLuTerm(CPLu lu, const CPMat *J, int row, int col, int transposed) {
  CPLuSummand *grown = realloc(lu->term, (size_t)(lu->nterms + 1) * sizeof *grown);
  if (!grown) return CP_MEM_FAIL;
  lu->term          = grown;
  CPLuSummand *term = &lu->term[lu->nterms++];
  *term             = (CPLuSummand){J, row, col, transposed, NULL};
  return CP_SUCCESS;
}

void cpLuFree(CPLu *address) {
  CPLu lu = *address;
  if (!lu) return;
  free(lu->term);
  if (lu->sparse) free(lu->S.value);
  cpArenaFree(&lu->arena);
  cpArenaFree(&lu->pattern);
  free(lu);
  *address = NULL;
}

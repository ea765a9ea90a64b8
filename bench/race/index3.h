/* The index-3 system of a model with matrices, q' = u, with its unknowns by index, 1, 2, 3:
 *
 *   M depends on q:  Y = (q, u, w, lambda)   q' = u,  u' = w,  0 = f - M w - A^T lambda,   0 = p
 *   M constant:      Y = (q, u, lambda)      q' = u,  M u' = f - A^T lambda,               0 = p
 *
 * The first rows, `structure` many, are Y_i' = Y_{i + nu}. The last ones, B Y' = r with B = 0 or diag(M, 0), have the
 * Jacobian
 *          q   u   w   lambda
 *        [ K   C  -M   -A^T ]        K = d(f - M w - A^T lambda)/dq,  C = df/du
 *        [ A   0   0    0   ]
 */
#ifndef CPODES_BENCH_INDEX3_H
#define CPODES_BENCH_INDEX3_H

#include <models/model.h>
#include <stdbool.h>

enum { INDEX3_BLOCKS = 5 };

/* A block of the Jacobian: its entries, scaled, are added at the places in the Jacobian's last
 * rows. */
typedef struct {
  SUNMatrix S;
  sunrealtype scale;
  sunindextype entries, *place;
} Index3Block;

typedef struct {
  const CPPlugin *model;
  sunindextype nu, na, n; /* n: length of Y */
  sunindextype structure; /* nu or 2 nu */
  sunindextype rows;      /* n - structure */
  bool constant_mass;     /* there is no w */
  bool full_mass;         /* there is no w, and M is not diagonal */
  bool formulas;          /* K and C by the model's function, else by differences */
  SUNMatrix M, A, K, C;
  Index3Block block[INDEX3_BLOCKS];
  sunrealtype *zero;          /* [nu], used as w if there is none */
  sunrealtype *base, *beside; /* work [rows] */
  long int residuals;         /* evaluated, including those for differences */
} Index3;

bool index3_takes(const CPPlugin *model);
/* Returns 0, or -1; call index3_free in any case. */
int index3_create(const CPPlugin *model, Index3 *s);
void index3_free(Index3 *s);

/* Y [n]: the consistent state at t = 0 */
int index3_start(const Index3 *s, sunrealtype *Y);

/* Both return 0, or 1 if a function of the model fails. r [rows]: the residual. J [rows x n], by
 * columns: the Jacobian. Y [n] is changed for differences and restored. */
int index3_residual(Index3 *s, sunrealtype t, const sunrealtype *Y, sunrealtype *r);
int index3_jacobian(Index3 *s, sunrealtype t, sunrealtype *Y, sunrealtype *J);
/* B: [rows x rows] by columns if full_mass, otherwise its diagonal [rows] */
void index3_mass(const Index3 *s, sunrealtype *B);

#endif

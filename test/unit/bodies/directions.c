/* CPMechJvp and CPMechVjp of all mechanisms of examples/mechanisms, in both formulations, at states of a run: along random directions
 * against differences of sixth order of y', and against each other. Their balances of energy may be millions of J beside angles. */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_projector.h>
#include <cpodes/cpodes_sens.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 4, WIDTHS = 5, MOST_FILES = 64 };
static const sunrealtype longest = 1.2; /* s, of the runs */
/* Of differences that agree with those of another width, relative to the largest change of a velocity or its rate, or of W' */
static const sunrealtype bound = 1e-7, agree = 1e-8;
/* Of derivatives by differences, which are refined until those of fourth order agree with them to a tenth of this */
static const sunrealtype inexact = 1e-5;

static char files[MOST_FILES][64];
static int nfiles;

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void list_files(void) {
  DIR *folder = opendir(CPODES_MECHANISMS);
  nfiles      = 0;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    const char *dot = strrchr(entry->d_name, '.'); /* Folders have none. */
    if (nfiles < MOST_FILES && dot && entry->d_name[0] != '.')
      snprintf(files[nfiles++], sizeof files[0], "%.63s", entry->d_name);
  }
  if (folder) closedir(folder);
  qsort(files, (size_t)nfiles, sizeof *files, by_name);
}

typedef struct {
  sunrealtype bound;
  CPMech mech; /* not attached: the right-hand side is that of the state, not of the nearest one on the manifold */
  sunrealtype t;
  N_Vector y, s;     /* a state, and a direction */
  N_Vector at, rate; /* y along the direction, and y' there */
  N_Vector slopes;   /* its derivative */
} Line;

/* slopes <- by differences of this width. Returns 0 or a code. */
static int differences(Line *l, sunrealtype h) {
  N_VConst(0, l->slopes);
  for (int k = -3; k <= 3; k++) {
    if (k == 0) continue;
    N_VLinearSum(1, l->y, k * h, l->s, l->at);
    const int flag = CPMechRhs(l->t, l->at, l->rate, l->mech);
    if (flag) return flag;
    N_VLinearSum(1, l->slopes, sixth_order(k) / h, l->rate, l->slopes);
  }
  return CP_SUCCESS;
}

/* The largest difference of two vectors, relative to the largest entry of `of`; those of z' are compared with themselves. */
static sunrealtype distance(N_Vector x, N_Vector of, int nz) {
  const int n      = (int)N_VGetLength(x);
  sunrealtype size = 1, most = 0;
  for (int i = 0; i < n - nz; i++) size = fmax(size, fabs(entries(of)[i]));
  for (int i = 0; i < n; i++) {
    const sunrealtype d = fabs(entries(x)[i] - entries(of)[i]) /
                          (i < n - nz ? size : fmax(size, fabs(entries(of)[i])));
    if (!(d <= most)) most = d;
  }
  return most;
}

/* slopes <- the differences that agree best with those of the width before. Returns by how much. */
static sunrealtype best(Line *l, int nz) {
  N_Vector before = N_VClone(l->y), kept = N_VClone(l->y);
  sunrealtype least = INFINITY, h = 1e-2;
  int known = 0;
  for (int k = 0; k < WIDTHS; k++, h /= 4) {
    const int flag      = differences(l, h);
    const sunrealtype d = known && !flag ? distance(before, l->slopes, nz) : INFINITY;
    known               = !flag;
    N_VScale(1, l->slopes, before);
    if (!(d < least)) continue;
    least = d;
    N_VScale(1, l->slopes, kept);
  }
  N_VScale(1, kept, l->slopes);
  N_VDestroy(before);
  N_VDestroy(kept);
  return least;
}

/* s <- a random direction, or tangent to the manifold if rows are dependent: away from it they contradict each other. */
static void set_direction(Line *l, unsigned long long *seed) {
  CPMechOutput out = CP_INIT(CPMechOutput);
  random_fill(l->s, seed);
  ck_assert_int_ge(CPMechEvaluate(l->mech, l->t, l->y, &out), 0);
  if (out.unique) return;
  N_VConst(1, l->at); /* weights */
  const CPProjector P = CPMechGetProjector(l->mech);
  ck_assert_msg(CPProjectorProjectVector(P, CP_TANGENT, l->t, l->y, l->at, l->s) == CP_SUCCESS,
                "%s", CPObjectGetLastMessage(CP_OBJECT(P)));
}

/* Compares the derivatives along a direction. Returns 0 if y' has none that differences find, as at rest with dry friction. */
static int compare(Line *l, const char *name, unsigned long long *seed) {
  const int nz = (int)equations_of(l->mech).nz;
  set_direction(l, seed);
  if (best(l, nz) > agree) return 0;
  N_Vector sdot = N_VClone(l->y), v = N_VClone(l->y), Jl = N_VClone(l->y);
  random_fill(v, seed);
  ck_assert_msg(CPMechJvp(l->mech, l->t, l->y, NULL, l->s, NULL, sdot, NULL) == CP_SUCCESS,
                "%s: %s", name, CPObjectGetLastMessage(CP_OBJECT(l->mech)));
  const sunrealtype off = distance(sdot, l->slopes, nz);
  ck_assert_msg(off <= l->bound, "%s, t = %g: the derivative along a direction is off by %g", name,
                (double)l->t, (double)off);
  const int flag = CPMechVjp(l->mech, l->t, l->y, NULL, v, Jl, NULL);
  if (flag != CP_NOT_SUPPORTED) {
    const sunrealtype forward = N_VDotProd(v, sdot), backward = N_VDotProd(Jl, l->s),
                      size = sqrt(N_VDotProd(sdot, sdot));
    ck_assert_msg(flag == CP_SUCCESS && fabs(forward - backward) <= l->bound * size,
                  "%s, t = %g: %g and, transposed, %g", name, (double)l->t, (double)forward,
                  (double)backward);
  }
  N_VDestroy(sdot);
  N_VDestroy(v);
  N_VDestroy(Jl);
  return 1;
}

/* A force that is 0, without derivatives, so that all forces are differentiated along directions */
static int no_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)f, (void)data;
  return 0;
}

/* Compares at states of a run until its end, or until it cannot go on. Returns at how many of them. */
static int along_run(CPBodies b, CPFormulation formulation, int by_differences, const char *name) {
  unsigned long long seed = 3;
  CPMech runs, mech;
  N_Vector y              = build_as(b, formulation, &runs);
  CPIntegrator mem        = CPIntegratorCreate("DOP853", test_context);
  const sunrealtype t_end = fmin(file.t_end, longest);
  int count               = 0;
  N_VDestroy(build_as(b, formulation, &mech));
  Line l                  = {.mech = mech, .y = y, .bound = by_differences ? inexact : bound};
  const CPMechForce force = {CP_SIZED(CPMechForce), .f = no_force};
  if (by_differences) ck_assert_int_eq(CPMechAddForce(mech, &force, NULL), CP_SUCCESS);
  N_Vector *const own[] = {&l.s, &l.at, &l.rate, &l.slopes};
  for (int k = 0; k < 4; k++) *own[k] = N_VClone(y);
  ck_assert_int_eq(CPMechCalcIC(runs, 0, y, NULL, NULL, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(runs, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 50000), CP_SUCCESS);
  for (int k = 0; k < STATES; k++) {
    if (k && CPIntegratorEvolve(mem, t_end * k / (STATES - 1), y, &l.t, CV_NORMAL) < 0) break;
    for (int i = 0; i < N_VGetLength(y) && k == 0; i++) /* Zeros of a start are roundoff. */
      if (entries(y)[i] == 0) entries(y)[i] = 1e-17;
    count += compare(&l, name, &seed);
  }
  for (int k = 0; k < 4; k++) N_VDestroy(*own[k]);
  N_VDestroy(y);
  CPIntegratorFree(&mem);
  CPMechFree(&runs);
  CPMechFree(&mech);
  return count;
}

/* _i: file, formulation, and with the model's derivatives of forces or without */
START_TEST(mechanisms_in_files_have_the_derivatives_of_their_motions) {
  const char *name                  = files[_i / 4];
  const CPFormulation formulation[] = {CP_ABSOLUTE, CP_JOINT_COORDINATES};
  char path[500];
  snprintf(path, sizeof path, "%s/%s", CPODES_MECHANISMS, name);
  CPBodies b = read_with(path, NULL, NULL);
  CPMech mech;
  if (b && formulation[_i % 2] == CP_ABSOLUTE) {
    ck_assert_int_eq(CPBodiesSetFormulation(b, CP_ABSOLUTE), CP_SUCCESS);
    if (build_mech(b, &mech)) { /* The file has joints by functions. */
      ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(b)), "needs joint coordinates");
      CPBodiesFree(&b);
      return;
    }
    CPMechFree(&mech);
  }
  if (b) {
    const int count = along_run(b, formulation[_i % 2], _i / 2 % 2, name);
    ck_assert_msg(count >= 2, "%s: y' had derivatives at %d states", name, count);
    CPBodiesFree(&b);
    return;
  }
  ck_assert_msg(strstr(message, "there is no contact of") != NULL, "%s", message);
}
END_TEST

TEST_SUITE(directions) {
  Suite *suite = suite_create("bodies/directions");
  TCase *tc    = tcase_create("directions");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  list_files();
  tcase_add_loop_test(tc, mechanisms_in_files_have_the_derivatives_of_their_motions, 0, 4 * nfiles);
  suite_add_tcase(suite, tc);
  return suite;
}

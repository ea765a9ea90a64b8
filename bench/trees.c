/* The cost of u' in joint and in absolute coordinates: of trees of hinges in space, or of mechanism files.
 *
 *   Usage:  trees [FILE...]      default: a chain of 10 and of 100 hinges, and a binary tree of 100
 *   Output: for each, the microseconds of CPU time of one CPMechRhs in both formulations, the smallest of 25 repetitions at 32
 *           states along the motion, in turn; the largest distance between points of bodies at the end, 0.1 s; in joint
 *           coordinates the same time of M, and of the partial derivatives of f - M u' - A^T lambda at u' and lambda of the
 *           motion, and of the exact derivatives of u' with respect to q and u (udot_jac), with the ratio of these to one u'. If MuJoCo has been found, and reads the file: the time of one mj_forward, without contacts and constraints, in
 *           turn with ours at 32 states about the same placement, and the ratio of ours to it. The exit code is 1 if the distance is more than 1e-5 m: tolerances are 1e-8. */
#include "check.h"

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <time.h>
#ifdef CPODES_BENCH_MUJOCO
#include <mujoco/mujoco.h>
#endif

enum { STATES = 32, REPETITIONS = 25, EACH = 16 };

typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y[STATES], ydot;
  double best;
} Case;

/* Each link hangs from link (i - 1) / arity on a hinge whose axis lies across it. */
static CPBodies hinges(int n, int arity) {
  const sunrealtype gravity[] = {1, 0.5, -9.81};
  CPBodies bodies             = CPBodiesCreate(3, gravity);
  if (!bodies) exit(2);
  for (int i = 0; i < n; i++) {
    char name[24], above[24] = "ground", hinge[24];
    const int from = (i - 1) / arity;
    snprintf(name, sizeof name, "link_%d", i);
    snprintf(hinge, sizeof hinge, "hinge_%d", i);
    if (i > 0) snprintf(above, sizeof above, "link_%d", from);
    const CPBody link  = {CP_NEW_BODY(name), .mass = 1, .inertia = {0.01, 0.01, 0.002},
                          .centre = {0, 0, -0.1}};
    const CPJoint with = {CP_NEW_JOINT(hinge),
                          .kind = CP_JOINT_REVOLUTE,
                          .a    = above,
                          .b    = name,
                          .in   = CP_IN_BODIES,
                          .on_a = {.point = {0, 0, i > 0 ? -0.2 : 0}, .axis = {i % 2, 1 - i % 2, 0}},
                          .on_b = {.axis = {i % 2, 1 - i % 2, 0}}};
    CHECK(CPBodiesAdd(bodies, &link.head, NULL));
    CHECK(CPBodiesAdd(bodies, &with.head, NULL));
  }
  return bodies;
}

static CPBodies describe(const char *file, int n, int arity) {
  CPBodies bodies;
  if (!file) return hinges(n, arity);
  if (CPBodiesRead(file, NULL, 0, &bodies, NULL)) {
    fprintf(stderr, "%s\n", CPObjectGetLastMessage(NULL));
    exit(2);
  }
  return bodies;
}

static void start(Case *c, CPFormulation formulation, SUNContext ctx) {
  CPModel model;
  CHECK(CPBodiesSetFormulation(c->bodies, formulation));
  CHECK(CPBodiesBuild(c->bodies, &model));
  N_Vector y          = CPBodiesState(c->bodies, ctx);
  c->ydot             = N_VClone(y);
  c->mech             = CPMechCreate(model, y, ctx);
  CPIntegrator dop853 = CPIntegratorCreate("DOP853", ctx);
  if (!c->ydot || !c->mech || !dop853) exit(2);
  CHECK(CPMechAssemble(c->mech, 0, y, NULL));
  CHECK(CPMechAttach(c->mech, dop853, 0, y));
  CHECK(CPIntegratorSStolerances(dop853, 1e-8, 1e-8));
  CHECK(CPIntegratorSetMaxNumSteps(dop853, -1));
  for (int k = 0; k < STATES; k++) {
    sunrealtype t;
    CHECK(CPIntegratorEvolve(dop853, 0.1 * (k + 1) / STATES, y, &t, CV_NORMAL));
    c->y[k] = N_VClone(y);
    N_VScale(1, y, c->y[k]);
  }
  c->best = INFINITY;
  CPIntegratorFree(&dop853);
  CPModelFree(&model);
  N_VDestroy(y);
}

static void repeat(Case *c) {
  const clock_t begin = clock();
  for (int k = 0; k < EACH * STATES; k++) CHECK(CPMechRhs(0.1, c->y[k % STATES], c->ydot, c->mech));
  c->best = fmin(c->best, (double)(clock() - begin) / CLOCKS_PER_SEC / (EACH * STATES));
}

/* Returns the largest distance at the end. */
static sunrealtype distance(Case *c) {
  sunrealtype most = 0;
  for (int i = 0; i < CPBodiesCount(c[0].bodies, CP_BODY); i++) {
    CPBodyFrame at[2];
    for (int k = 0; k < 2; k++) {
      at[k] = (CPBodyFrame)CP_INIT(CPBodyFrame);
      CHECK(CPMechGetFrame(c[k].mech, i, NULL, c[k].y[STATES - 1], &at[k]));
    }
    for (int k = 0; k < 3; k++) most = fmax(most, fabs(at[0].position[k] - at[1].position[k]));
  }
  return most;
}

/* Sets all entries to 0, and keeps the pattern, which SUNMatZero does not. */
static void clear(SUNMatrix S) {
  if (SUNMatGetID(S) == SUNMATRIX_SPARSE)
    memset(SM_DATA_S(S), 0, (size_t)SM_NNZ_S(S) * sizeof(sunrealtype));
  else SUNMatZero(S);
}

/* us: out, the microseconds of M, of dynamics_jac, and of udot_jac, in joint coordinates, or 0 where there are none */
static void derivatives(Case *c, double us[3], SUNContext ctx) {
  const CPEquations *e = CPModelGetEquations(CPMechGetModel(c->mech));
  const double to_us   = 1e6 / CLOCKS_PER_SEC / STATES;
  void *data;
  us[0] = us[1] = us[2] = 0;
  if (!e->udot_jac) return;
  CHECK(CPMechGetData(c->mech, &data));
  SUNMatrix S[2], U[2] = {SUNDenseMatrix(e->nu, e->nu, ctx), SUNDenseMatrix(e->nu, e->nu, ctx)};
  const size_t n    = (size_t)(e->nu + e->na);
  sunrealtype *udot = calloc(STATES * n + 1, sizeof *udot); /* and multipliers */
  if (!udot || !U[0] || !U[1]) exit(2);
  for (int k = 0; k < STATES; k++) {
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot + k * n,
                        .lambda = udot + k * n + e->nu};
    CHECK(CPMechEvaluate(c->mech, 0.1, c->y[k], &out));
  }
  for (int k = 0; k < 2; k++) {
    S[k] = e->M_tmpl ? SUNMatClone(e->M_tmpl) : SUNDenseMatrix(e->nu, e->nu, ctx);
    if (!S[k] || (e->M_tmpl && SUNMatCopy(e->M_tmpl, S[k]))) exit(2);
  }
  us[0] = us[1] = us[2] = INFINITY;
  for (int r = 0; r < REPETITIONS; r++)
    for (int which = 0; which < 3; which++) {
      const clock_t begin = clock();
      for (int k = 0; k < STATES; k++) {
        const sunrealtype *q = N_VGetArrayPointer(c->y[k]), *u = q + e->nq;
        for (int l = 0; l < 2 && which < 2; l++) clear(S[l]);
        if (which == 0) CHECK(e->M(0.1, q, S[0], data));
        else if (which == 2) CHECK(e->udot_jac(0.1, q, u, u + e->nu, U[0], U[1], NULL, data));
        else
          CHECK(e->dynamics_jac(0.1, q, u, u + e->nu, udot + k * n, udot + k * n + e->nu, S[0],
                                S[1], NULL, data));
      }
      us[which] = fmin(us[which], (double)(clock() - begin) * to_us);
    }
  for (int k = 0; k < 2; k++) SUNMatDestroy(S[k]), SUNMatDestroy(U[k]);
  free(udot);
}

/* mj_forward of the same file; us is NaN where there is none */
typedef struct {
  double us;
#ifdef CPODES_BENCH_MUJOCO
  mjModel *model;
  mjData *data;
  mjtNum *q, *u; /* [STATES][nq], [STATES][nv] */
#endif
} Peer;

#ifdef CPODES_BENCH_MUJOCO
static void open_peer(Peer *p, const char *file) {
  char text[500];
  *p = (Peer){.us = NAN, .model = file ? mj_loadXML(file, NULL, text, sizeof text) : NULL};
  if (!p->model) return;
  const size_t nq = (size_t)p->model->nq, nv = (size_t)p->model->nv;
  mjtNum *move = calloc(nv + 1, sizeof *move);
  p->model->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_CONSTRAINT;
  p->data = mj_makeData(p->model);
  p->q    = malloc((STATES * nq + 1) * sizeof *p->q);
  p->u    = malloc((STATES * nv + 1) * sizeof *p->u);
  if (!p->data || !p->q || !p->u || !move) exit(2);
  for (size_t k = 0; k < STATES; k++) {
    memcpy(p->q + k * nq, p->model->qpos0, nq * sizeof *p->q);
    for (size_t i = 0; i < nv; i++)
      move[i]          = 0.5 * sin(3.0 * (double)k + 7.0 * (double)i),
      p->u[k * nv + i] = cos((double)(k + i));
    mj_integratePos(p->model, p->q + k * nq, move, 1);
  }
  p->us = INFINITY;
  free(move);
}
static void repeat_peer(Peer *p) {
  if (!p->model) return;
  const size_t nq = (size_t)p->model->nq, nv = (size_t)p->model->nv;
  const clock_t begin = clock();
  for (size_t k = 0; k < EACH * STATES; k++) {
    memcpy(p->data->qpos, p->q + k % STATES * nq, nq * sizeof *p->q);
    memcpy(p->data->qvel, p->u + k % STATES * nv, nv * sizeof *p->u);
    mj_forward(p->model, p->data);
  }
  p->us = fmin(p->us, 1e6 * (double)(clock() - begin) / CLOCKS_PER_SEC / (EACH * STATES));
}
static void close_peer(Peer *p) {
  if (!p->model) return;
  mj_deleteData(p->data);
  mj_deleteModel(p->model);
  free(p->q);
  free(p->u);
}
#else
static void open_peer(Peer *p, const char *file) { (void)file, p->us = NAN; }
static void repeat_peer(Peer *p) { (void)p; }
static void close_peer(Peer *p) { (void)p; }
#endif

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int n, arity;
  } own[]        = {{"chain of 10", 10, 1}, {"chain of 100", 100, 1}, {"tree of 100", 100, 2}};
  SUNContext ctx = check_context();
  int status     = 0;
  printf("%-28s %10s %10s %8s %10s %8s %8s %8s %8s %11s %8s\n", "us per u'", "joint", "absolute",
         "ratio", "distance", "M", "K, C", "du'", "ratio", "mj_forward", "ratio");
  for (int i = 0; i < (argc > 1 ? argc - 1 : 3); i++) {
    const char *file = argc > 1 ? argv[i + 1] : NULL;
    Case c[2];
    Peer peer;
    open_peer(&peer, file);
    for (int k = 0; k < 2; k++) {
      c[k].bodies = describe(file, own[i % 3].n, own[i % 3].arity);
      start(&c[k], k ? CP_ABSOLUTE : CP_JOINT_COORDINATES, ctx);
    }
    for (int r = 0; r < REPETITIONS; r++) {
      for (int k = 0; k < 2; k++) repeat(&c[k]);
      repeat_peer(&peer);
    }
    const sunrealtype apart = distance(c);
    double us[3];
    derivatives(&c[0], us, ctx);
    printf("%-28s %10.3f %10.3f %8.3f %10.1e %8.2f %8.2f %8.2f %8.2f", file ? file : own[i].name,
           1e6 * c[0].best, 1e6 * c[1].best, c[0].best / c[1].best, (double)apart, us[0], us[1],
           us[2], us[2] / (1e6 * c[0].best));
    if (isfinite(peer.us)) printf(" %11.3f %8.3f", peer.us, 1e6 * c[0].best / peer.us);
    printf("\n");
    close_peer(&peer);
    if (!(apart <= 1e-5)) status = 1;
    for (int k = 0; k < 2; k++) {
      for (int s = 0; s < STATES; s++) N_VDestroy(c[k].y[s]);
      N_VDestroy(c[k].ydot);
      CPMechFree(&c[k].mech);
      CPBodiesFree(&c[k].bodies);
    }
  }
  SUNContext_Free(&ctx);
  return status;
}

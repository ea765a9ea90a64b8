/* Simbody's CPodes, which is the CPODES of 2006, BDF and Adams. */
#define _GNU_SOURCE /* RTLD_DEEPBIND */
#include "hook.h"
#include "simbody_cpodes.h"
#include "support.h"

#include <dlfcn.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>

enum { MOST_DENSE = 400 }; /* unknowns with a dense df/dy by differences */
/* At higher orders, the part that its projection adds to the history grows from step to step: order
 * control falls back to 2 after many failures, or the run fails, or it ends at a wrong state. */
enum { ADAMS_ORDER = 2 };

/* The module's function; the module stays loaded. why [length]: the reason for NULL */
static SimbodyIntegrate *load(char *why, size_t length) {
  void *module = dlopen(CPODES_RACE_SIMBODY, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  union {
    void *symbol;
    SimbodyIntegrate *function;
  } integrate = {module ? dlsym(module, "simbody_integrate") : NULL};
  if (!integrate.symbol) snprintf(why, length, "%s", dlerror());
  return integrate.symbol ? integrate.function : NULL;
}

static const char *missing(void) {
  static _Thread_local char why[200];
  return load(why, sizeof why) ? NULL : why;
}

/* The model and its hand-written projection; vectors over the caller's arrays */
typedef struct {
  RaceOde ode;
  Hook hook;
  N_Vector in, out, error;
} Peer;

/* The norm of its projection: L2, in units of the tolerance. With the error weights' norm more
 * steps fail. */
static void set_norm(Peer *peer, sunrealtype tol) {
  N_VConst(1 / tol, peer->hook.chain ? peer->hook.chain->ewt : peer->hook.ewt);
}

static int peer_create(const CPPlugin *model, sunrealtype tol, Peer *peer) {
  *peer       = (Peer){0};
  peer->in    = N_VNewEmpty_Serial(model->n, model->ctx);
  peer->out   = N_VNewEmpty_Serial(model->n, model->ctx);
  peer->error = N_VNewEmpty_Serial(model->n, model->ctx);
  if (!peer->in || !peer->out || !peer->error) return -1;
  if (race_ode_create(model, &peer->ode)) return -1;
  if (hook_create(model, NULL, &peer->hook)) return -1;
  set_norm(peer, tol);
  return 0;
}

static void peer_free(Peer *peer) {
  N_Vector vectors[] = {peer->in, peer->out, peer->error};
  for (int i = 0; i < 3; i++)
    if (vectors[i]) N_VDestroy(vectors[i]);
  race_ode_free(&peer->ode);
  hook_free(&peer->hook);
}

static int right_hand_side(double t, const double *y, double *ydot, void *data) {
  Peer *peer = data;
  N_VSetArrayPointer((double *)y, peer->in); /* only read */
  N_VSetArrayPointer(ydot, peer->out);
  return race_ode_rhs(t, peer->in, peer->out, &peer->ode);
}

static int project(double t, const double *y, double eps, double *correction, double *error,
                   void *data) {
  Peer *peer = data;
  N_VSetArrayPointer((double *)y, peer->in);
  N_VSetArrayPointer(correction, peer->out);
  N_VSetArrayPointer(error, peer->error);
  return hook_project(&peer->hook, t, peer->in, peer->out, eps, peer->error);
}

static void run_peer(SimbodyIntegrate *integrate, SimbodyRun *run, const Peer *peer,
                     RaceFigures *figures) {
  const double before = cpu_seconds();
  integrate(run);
  figures->seconds        = cpu_seconds() - before;
  figures->t              = run->t;
  figures->steps          = run->steps;
  figures->rejected       = run->error_fails + run->solve_fails + run->projection_fails;
  figures->rhs            = peer->ode.evaluations;
  figures->jacobians      = run->jacobians;
  figures->factorisations = run->setups;
  if (run->flag) figures_fail(figures, run->flag, "%s", run->message);
}

static void solve(const Contestant *self, const CPPlugin *model, sunrealtype t_end, sunrealtype tol,
                  N_Vector y, RaceFigures *figures) {
  const bool adams = self->lmm == CV_ADAMS;
  Peer peer;
  SimbodyRun run              = {.n         = (int)model->n,
                                 .adams     = adams,
                                 .newton    = !adams && model->n <= MOST_DENSE,
                                 .max_order = adams ? ADAMS_ORDER : 0,
                                 .max_steps = RACE_MAX_STEPS,
                                 .t_end     = t_end,
                                 .tol       = tol,
                                 .data      = &peer,
                                 .f         = right_hand_side,
                                 .project   = project,
                                 .y         = N_VGetArrayPointer(y)};
  SimbodyIntegrate *integrate = load(figures->message, sizeof figures->message);
  N_VScale(1, model->y0, y);
  if (peer_create(model, tol, &peer) || !integrate) {
    figures_fail(figures, -1, "Simbody's CPodes could not be set up");
  } else {
    run_peer(integrate, &run, &peer, figures);
  }
  peer_free(&peer);
}

static bool takes(const CPPlugin *model) {
  if (model->stiff && model->n > MOST_DENSE) return false;
  return race_ode_takes(model) && hook_takes(model);
}

static bool takes_adams(const CPPlugin *model) { return !model->stiff && takes(model); }

const Contestant contestant_simbody_bdf = {
    .name  = "simbody-bdf",
    .title = "Simbody's CPodes, BDF",
    .settings =
        "CPodesSystem::project, the projection by hand of cvodes-hook, but in the L2 norm, in "
        "which fewer steps fail; Newton with a dense df/dy by differences (LAPACK; its C++ "
        "interface takes no Jacobian) up to 400 unknowns, functional iteration beyond",
    .same_f  = true,
    .missing = missing,
    .takes   = takes,
    .solve   = solve,
    .lmm     = CV_BDF};

const Contestant contestant_simbody_adams = {
    .name  = "simbody-adams",
    .title = "Simbody's CPodes, Adams",
    .settings =
        "functional iteration, projection as simbody-bdf, order at most 2: beyond, runs fail "
        "or end at a wrong state. Without projection it is cvodes-adams",
    .same_f  = true,
    .missing = missing,
    .takes   = takes_adams,
    .solve   = solve,
    .lmm     = CV_ADAMS};

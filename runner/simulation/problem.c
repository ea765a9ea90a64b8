#include "problem.h"

#include <models/model.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <string.h>
#include <sundials/sundials_config.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* largest number of components with a dense df/dy by differences: 72 MB */
enum { MOST_DENSE = 3000 };

typedef struct {
  const char *name;
  int mech, ode; /* the choice in each form; -1: not available */
} Choice;

static const Choice linsols[] = {{"auto", CP_LINSOL_AUTO, CP_LINSOL_AUTO},
                                 {"schur", CP_LINSOL_SCHUR, CP_LINSOL_SCHUR},
                                 {"qr", CP_LINSOL_QR, CP_LINSOL_QR},
                                 {"sparse", CP_LINSOL_SPARSE, CP_LINSOL_SPARSE},
                                 {"kkt", CP_LINSOL_KKT, -1}};
static const Choice norms[]   = {{"default", CP_METRIC_DEFAULT, CP_NORM_ERROR},
                                 {"error", CP_METRIC_ERROR, CP_NORM_ERROR},
                                 {"l2", CP_METRIC_L2, CP_NORM_L2},
                                 {"kinetic", CP_METRIC_KINETIC, -1},
                                 {"newton", CP_METRIC_NEWTON, -1}};
enum {
  NUM_LINSOLS = sizeof linsols / sizeof linsols[0],
  NUM_NORMS   = sizeof norms / sizeof norms[0]
};

const char *linsol_name(int i) { return i < NUM_LINSOLS ? linsols[i].name : NULL; }
const char *norm_name(int i) { return i < NUM_NORMS ? norms[i].name : NULL; }

/* value: out, the meaning of the name in this form; name NULL: the first one. Returns 0 or -1. */
static int choose(const Choice *choices, int count, const char *option, const char *name, bool mech,
                  int *value, char *message) {
  int i = 0;
  while (name && i < count - 1 && strcmp(choices[i].name, name)) i++;
  *value = mech ? choices[i].mech : choices[i].ode;
  if (*value >= 0) return 0;
  return refuse(message, "%s %s is not for the form \"%s\" of the model; see --form", option, name,
                mech ? "mech" : "ode");
}

SUNContext context_create(void) {
  SUNContext ctx = NULL;
#if SUNDIALS_VERSION_MAJOR >= 7
  if (SUNContext_Create(SUN_COMM_NULL, &ctx)) return NULL;
  SUNContext_ClearErrHandlers(ctx); /* the default handler prints */
#else
  if (SUNContext_Create(NULL, &ctx)) return NULL;
#endif
  return ctx;
}

/* --------------------------------------------------------------------------------- the two forms -- */

/* A step that is long compared with the time between two events misses both, since g has the same
 * sign at its ends. */
static void resolve_max_step(Problem *p) {
  RunSettings *s = &p->settings;
  if (s->max_step == 0 && p->model->nroots > 0) s->max_step = s->t_end / 200;
}

static int resolve_form(Problem *p, char *message) {
  const CPPlugin *model = p->model;
  const bool mech = model->mech.nu > 0, ode = model->f;
  RunForm *form = &p->settings.form;
  if (*form == FORM_AUTO) *form = mech ? FORM_MECH : FORM_ODE;
  if (*form == FORM_MECH ? mech : ode) return 0;
  return refuse(message, "%s has no form \"%s\"; see `cpodes describe`", model->type->name,
                *form == FORM_MECH ? "mech" : "ode");
}

/* Resolves the names of linear solver and norm. */
static int resolve_names(Problem *p, char *message) {
  const RunSettings *s = &p->settings;
  const bool mech      = s->form == FORM_MECH;
  return choose(linsols, NUM_LINSOLS, "--linsol", s->linsol, mech, &p->linsol, message) ||
                 choose(norms, NUM_NORMS, "--norm", s->norm, mech, &p->norm, message)
             ? -1
             : 0;
}

/* Models by operators solve for themselves, and refuse any choice. */
static int choose_solvers(const Problem *p, CPMech mech) {
  return (p->linsol != CP_LINSOL_AUTO && CPMechSetLinearSolver(mech, (CPLinSol)p->linsol)) ||
         (p->norm != CP_METRIC_DEFAULT && CPMechSetMetric(mech, (CPMechMetric)p->norm));
}

CPMech problem_mech(const Problem *p) {
  CPMech mech = CPPluginMech(p->model);
  if (!mech) return NULL;
  if (choose_solvers(p, mech)) CPMechFree(&mech);
  return mech;
}

/* Lets the contacts act in p->mech. */
static int create_contact(Problem *p) {
  const CPPlugin *model = p->model;
  const RunSettings *s  = &p->settings;
  const bool own        = s->dense_events == 0;
  p->contact            = CPContactCreate(p->mech, model->ncontacts, model->contact);
  return !p->contact ||
         CPContactSetTimeStepping(p->contact, own ? model->dense_events : (int)s->dense_events,
                                  own ? model->dense_time : s->dense_time);
}

static int close_loops(const Problem *p) {
  const double eps = p->model->closure / (p->settings.rtol + p->settings.atol);
  if (!(eps > 0) || eps >= CP_EPS_DEFAULT) return CP_SUCCESS;
  return CPProjectorSetEps(CPMechGetProjector(p->mech), eps);
}

static int create_mech(Problem *p, char *message) {
  const Method *method = &p->settings.method;
  if (p->linsol != CP_LINSOL_AUTO && !p->model->mech.M)
    return refuse(message, "--linsol %s is not for %s, which has no matrices: its udot solves",
                  p->settings.linsol, p->model->type->name);
  if (!(p->mech = problem_mech(p)) || (p->model->ncontacts > 0 && create_contact(p)))
    return refuse(message, "%s: its CPMech cannot be made; `cpodes check` says more",
                  p->model->type->name);
  if (!CPMechSetErrorTimeScale(p->mech, method->tau) && !CPMechSetNewton(p->mech, method->newton) &&
      !close_loops(p))
    return 0;
  return refuse(message, "%s", CPObjectGetLastMessage(CP_OBJECT(p->mech)));
}

static int create_projector(Problem *p, char *message) {
  const CPPlugin *model = p->model;
  if (!model->c || model->m == 0) return 0;
  p->residual = N_VNew_Serial(model->m, p->ctx);
  if (p->residual) p->P = CPProjectorCreate(model->c, model->y0, p->residual, p->ctx);
  if (model->G && !model->G_tmpl) p->G = SUNDenseMatrix(model->m, model->n, p->ctx);
  if (!p->P || (model->G && !model->G_tmpl && !p->G))
    return refuse(message, "%s: no memory for the projector", model->type->name);
  int flag = CPProjectorSetUserData(p->P, model->data);
  if (!flag && model->G) flag = CPProjectorSetJacFn(p->P, model->G, p->G ? p->G : model->G_tmpl);
  if (!flag) flag = CPProjectorSetLinearSolver(p->P, (CPLinSol)p->linsol);
  if (!flag) flag = CPProjectorSetNorm(p->P, (CPNorm)p->norm, NULL, NULL);
  if (flag) snprintf(message, RUN_TEXT, "%s", CPObjectGetLastMessage(CP_OBJECT(p->P)));
  return flag ? -1 : 0;
}

/* Creates Newton's iteration with a dense df/dy if requested and if that fits into memory,
 * otherwise a fixed-point iteration. Returns 0 or CP_MEM_FAIL. */
static int create_solvers(Problem *p) {
  const Method *method = &p->settings.method;
  const sunindextype n = p->model->n;
  const bool newton    = !strcmp(method->table, "BDF") || method->newton == CP_NEWTON_KKT;
  if (p->linear || p->iteration) return CP_SUCCESS;
  if (newton && n <= MOST_DENSE) {
    p->J      = SUNDenseMatrix(n, n, p->ctx);
    p->linear = p->J ? SUNLinSol_Dense(p->model->y0, p->J, p->ctx) : NULL;
  } else {
    p->iteration = SUNNonlinSol_FixedPoint(p->model->y0, 0, p->ctx);
  }
  return p->linear || p->iteration ? CP_SUCCESS : CP_MEM_FAIL;
}

int problem_configure(Problem *p, CPIntegrator mem) {
  void *cvode = CPIntegratorGetCVodeMem(mem);
  int flag    = p->P ? CPIntegratorSetProjector(mem, p->P) : CP_SUCCESS;
  if (!flag && cvode && !p->mech) {
    flag = create_solvers(p);
    if (!flag && p->linear) flag = CVodeSetLinearSolver(cvode, p->linear, p->J);
    if (!flag && p->iteration) flag = CPIntegratorSetNonlinearSolver(mem, p->iteration);
  }
  if (!flag && cvode && p->settings.method.max_order > 0)
    flag = CVodeSetMaxOrd(cvode, p->settings.method.max_order);
  if (!flag && p->settings.max_step > 0) flag = CPIntegratorSetMaxStep(mem, p->settings.max_step);
  return flag;
}

static int create_ode(Problem *p, char *message) {
  if (p->settings.method.tau != 0)
    return refuse(message, "--method %s is for the form \"mech\" of a model only",
                  p->settings.method.name);
  return create_projector(p, message);
}

/* ------------------------------------------------------------------------------------ life cycle -- */

/* The listeners trust all numbers of the model, so they are checked here, in the process that an
 * invalid model may crash. */
static int create_model(Problem *p, char *message) {
  const ModelChoice *choice = &p->settings.model;
  p->model = CPPluginCreate(choice->type, choice->values, p->ctx, message, RUN_TEXT);
  return p->model && !model_check_created(p->model, message, RUN_TEXT) ? 0 : -1;
}

int problem_create(Problem *p, const RunSettings *settings, char *message) {
  *p = (Problem){.settings = *settings};
  if (!(p->ctx = context_create())) return refuse(message, "SUNDIALS gives no context");
  if (create_model(p, message) || resolve_form(p, message) || resolve_names(p, message)) return -1;
  char reason[METHOD_REASON], unresolved[METHOD_REASON];
  p->chosen = method_is_chosen(&p->settings.method, p->model);
  p->stiff  = method_resolve(&p->settings.method, p->model, p->settings.t_end, p->settings.rtol,
                             reason, unresolved);
  /* Explicit methods follow all oscillations; implicit ones may damp those without amplitude. */
  if (unresolved[0] && method_is_explicit(&p->settings.method))
    return refuse(message, "%s", unresolved);
  if (unresolved[0]) complain("warning: %s", unresolved);
  resolve_max_step(p);
  return p->settings.form == FORM_MECH ? create_mech(p, message) : create_ode(p, message);
}

void problem_free(Problem *p) {
  CPContactFree(&p->contact);
  CPMechFree(&p->mech);
  CPProjectorFree(&p->P);
  if (p->iteration) SUNNonlinSolFree(p->iteration);
  if (p->linear) SUNLinSolFree(p->linear);
  if (p->J) SUNMatDestroy(p->J);
  if (p->G) SUNMatDestroy(p->G);
  if (p->residual) N_VDestroy(p->residual);
  CPPluginFree(&p->model);
  if (p->ctx) SUNContext_Free(&p->ctx);
}

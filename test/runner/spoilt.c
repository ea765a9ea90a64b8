/* A model of the catalogue with one fault, as a plug-in: the environment variable SPOILT="MODEL
 * FAULT [NUMBER [FACTOR]]" selects it. The faults are typical mistakes of users: a wrong mass,
 * sign, derivative, start or energy. Without FAULT the model is correct. */
#include <math.h>
#include <models/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

static char fault[32];
static int number;          /* index of the wrong component, row or coordinate */
static double factor = 1.1; /* factor of the fault */
static CPPluginType type;   /* the model with the fault */
static const CPPluginType *right;
static CPEquations mech; /* the functions without the fault */

static int is(const char *name) { return !strcmp(fault, name); }

/* ---- functions with the fault ---- */

/* Entry (i, i) of a mass matrix, or row i of A */
static void scale(SUNMatrix S, int rows) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) {
    for (sunindextype j = 0; j < SM_COLUMNS_D(S); j++)
      if (rows || j == number) SM_ELEMENT_D(S, number, j) *= factor;
    return;
  }
  const sunindextype *major = SM_INDEXPTRS_S(S), *minor = SM_INDEXVALS_S(S);
  for (sunindextype j = 0; j < SM_NP_S(S); j++)
    for (sunindextype k = major[j]; k < major[j + 1]; k++)
      if (minor[k] == number && (rows || j == number)) SM_DATA_S(S)[k] *= factor;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  const int flag = mech.M(t, q, M, data);
  scale(M, 0);
  return flag;
}

static int matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  const int flag = mech.A(t, q, A, data);
  scale(A, 1);
  return flag;
}

static int force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *f, void *data) {
  const int flag = mech.f(t, q, u, z, f, data);
  f[number] *= factor;
  return flag;
}

/* A force that pushes along the velocity */
static int driven(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  const int flag = mech.f(t, q, u, z, f, data);
  f[number] += factor * u[number];
  return flag;
}

static int rate(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *data) {
  const int flag = mech.b(t, q, u, b, data);
  b[number] *= factor;
  return flag;
}

static int position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const int flag = mech.p(t, q, p, data);
  p[number] *= factor;
  return flag;
}

/* A constraint with a wrong term: quadratic instead of bilinear */
static int bent(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const int flag = mech.p(t, q, p, data);
  p[number] += (factor - 1) * p[number] + (factor - 1) * q[0] * (q[0] - 1);
  return flag;
}

static int jacobian(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *udot, const sunrealtype *lambda, SUNMatrix K, SUNMatrix C,
                    SUNMatrix Fz, void *data) {
  const int flag = mech.dynamics_jac(t, q, u, z, udot, lambda, K, C, Fz, data);
  scale(K, 1);
  return flag;
}

/* of the first quantity */
static sunrealtype leaking(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  const CPPluginQuantity *q = &right->quantities[i];
  const sunrealtype scale   = q->scale_of ? q->scale_of(model) : q->scale;
  return q->value(model, i, t, y) + (factor - 1) * scale * t / right->t_end;
}

static sunrealtype partly_lost(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  return t > right->t_end / 2 ? NAN : right->quantities[i].value(model, i, t, y);
}

static int wrong_reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const int flag = right->reference(model, t, y);
  if (t > 0) N_VGetArrayPointer(y)[number] += factor;
  return flag;
}

static void wrong_points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  right->points(model, t, y, xyz);
  for (int i = 0; i < model->drawing.npoints; i++)
    if (model->drawing.kind[i] == CP_POINT_GROUND) xyz[3 * i] += N_VGetArrayPointer(y)[0];
}

static int create(CPPlugin *model) {
  model->type    = right; /* its functions look there */
  const int flag = right->create(model);
  model->type    = &type;
  if (flag) return flag;
  CPEquations *m = &model->mech;
  mech           = *m;
  if (is("mass")) m->M = mass;
  else if (is("matrix")) m->A = matrix;
  else if (is("force")) m->f = force;
  else if (is("driven")) m->f = driven;
  else if (is("rate")) m->b = rate;
  else if (is("position")) m->p = position;
  else if (is("bent")) m->p = bent;
  else if (is("jacobian")) m->dynamics_jac = jacobian;
  else if (is("start")) N_VGetArrayPointer(model->y0)[number] += factor;
  if (model->G_tmpl) SUNMatDestroy(model->G_tmpl);
  model->G_tmpl = NULL;
  /* the other form would reveal the fault */
  if (m->nu > 0) model->f = NULL, model->c = NULL, model->G = NULL, model->m = 0;
  return 0;
}

static void destroy(CPPlugin *model) {
  if (right->destroy) right->destroy(model);
  else free(model->data);
}

extern CPODES_EXPORT CPPluginModule cpodes_plugin;
CPPluginModule cpodes_plugin = {CP_PLUGIN_ABI, (int)sizeof(sunrealtype), (int)sizeof(sunindextype),
                                SUNDIALS_VERSION_MAJOR, &type};

__attribute__((constructor)) static void load(void) {
  static CPPluginQuantity quantities[16];
  const char *text = getenv("SPOILT");
  char name[64]    = "";
  if (!text || sscanf(text, "%63s %31s %d %lf", name, fault, &number, &factor) < 1) return;
  right = model_find(name);
  if (!right || right->nquantities > 16) return;
  type         = *right;
  type.create  = create;
  type.destroy = destroy;
  for (int i = 0; i < right->nquantities; i++) quantities[i] = right->quantities[i];
  type.quantities = quantities;
  if (is("leaking")) quantities[0].value = leaking;
  if (is("partly_lost")) quantities[0].value = partly_lost;
  if (is("kept")) quantities[0].conserved = 1, type.conserves = NULL;
  if (right->reference && is("reference")) type.reference = wrong_reference;
  if (is("points")) type.points = wrong_points;
}

/* A user's model: a mass on a spring that is attached to a cart, which moves by FULL as amplitude
 * sin t. */
#include <cpodes/cpodes_plugin.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}

static int force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *f, void *data) {
  (void)t, (void)u, (void)z, (void)data;
  f[0] = q[1] - q[0];
  f[1] = -f[0];
  return 0;
}

static int motion(sunrealtype t, sunrealtype *g, void *data) {
  *g = *(double *)data * sin(t);
  return 0;
}

static const CPMotion cart = {.kind = CP_MOTION_FULL, .g = motion, .step = 1e-3};

static int create(CPPlugin *m) {
  if (!(m->data = malloc(sizeof(double)))) return -1;
  *(double *)m->data = m->parameter[0];
  m->n               = 4;
  m->mech            = (CPEquations){CP_SIZED(CPEquations), .nu = 2,      .M = mass, .f = force,
                                     .motions = &cart,      .nmotions = 1};
  m->mech.M_tmpl     = SUNDenseMatrix(2, 2, m->ctx);
  m->y0              = N_VNew_Serial(4, m->ctx);
  if (!m->mech.M_tmpl || !m->y0) return -1;
  N_VConst(0, m->y0);
  N_VGetArrayPointer(m->y0)[2] = m->parameter[0];
  return 0;
}

static const CPPluginParameter parameters[] = {{"amplitude", "m", "of the cart", 1, 0, 2}};
static const CPPluginType type              = {.name        = "driven",
                                               .title       = "Mass and driven cart",
                                               .source      = "none",
                                               .t_end       = 1,
                                               .parameters  = parameters,
                                               .nparameters = 1,
                                               .create      = create};
CP_PLUGIN_MODULE(type)

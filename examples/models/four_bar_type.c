#include "four_bar.h"
#include "plugin.h"
#include "types.h"

#include <math.h>

enum { WINDOWS, GRAVITY };

static const CPPluginParameter parameters[] = {
    [WINDOWS] = {"N", "1", "number of windows", 40, 1, FOUR_BAR_MAX},
    [GRAVITY] = {"g", "m/s^2", "gravity along -y", 9.81, 1e-3, 1e3},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return four_bar_energy(model->data, y);
}

/* From upright to hanging: the N + 1 vertical rods fall by 1 m, the N others by 2 */
static sunrealtype fall(const CPPlugin *model) {
  const FourBar *f = model->data;
  return f->g * (3 * f->N + 1);
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 1187.01, .scale_of = fall},
};

/* The regular branch, on which the vertical rods stay parallel; other branches start from the singular
   positions */
static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  sunrealtype theta, theta_d;
  four_bar_exact(model->data, t, &theta, &theta_d);
  four_bar_state(model->data, theta, theta_d, y);
  return 0;
}

/* A, where rods start: ground (k, 0) and B_k, for k = 0 ... N */
static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)t;
  const int N          = ((const FourBar *)model->data)->N;
  const sunrealtype *q = N_VGetArrayPointer(y);
  for (int k = 0; k <= N; k++, q += 6, xyz += 6) { /* v_k, then h_{k+1} */
    xyz[0] = k;
    xyz[3] = q[0] + cos(q[2]) / 2;
    xyz[4] = q[1] + sin(q[2]) / 2;
    xyz[1] = xyz[2] = xyz[5] = 0;
  }
}

/* Points 2 k: ground, 2 k + 1: B_k */
static int draw(CPPlugin *model, int N) {
  if (CPPluginDraw(model, 2 * N + 2, NULL, 2 * N + 1, NULL, 0, NULL)) return -1;
  CPPluginDrawing *d = &model->drawing;
  for (int k = 0; k <= N; k++) {
    d->kind[2 * k]       = CP_POINT_GROUND;
    d->kind[2 * k + 1]   = CP_POINT_JOINT;
    d->segment[2 * k][0] = 2 * k;
    d->segment[2 * k][1] = 2 * k + 1;
    if (k == N) break;
    d->segment[2 * k + 1][0] = 2 * k + 1;
    d->segment[2 * k + 1][1] = 2 * k + 3;
  }
  return 0;
}

static int create(CPPlugin *model) {
  const int N          = (int)model->parameter[WINDOWS];
  const sunindextype n = four_bar_n(N);
  FourBar *f           = four_bar_create(N, model->parameter[GRAVITY]);
  model->data          = f;
  if (!f || plugin_start(model, n) || draw(model, N)) return -1;
  four_bar_initial(f, model->y0);
  model->mech = four_bar_model(f);
  model->f    = four_bar_rhs;
  model->m    = four_bar_m(N);
  model->c    = four_bar_constraints;
  model->G    = four_bar_jacobian;
  if (n / 2 >= MODEL_SPARSE) {
    model->G_tmpl = four_bar_pattern(N, model->ctx);
    if (!model->G_tmpl || four_bar_partials(N, model->ctx, &model->mech) ||
        four_bar_matrices(N, model->ctx, &model->mech.M_tmpl, &model->mech.A_tmpl))
      return -1;
  }
  model->known = 1;
  /* four roundings of the argument, in an angle that turns with at most this rate and in its rate; positions
     up to N + 1 */
  const sunrealtype fastest = sqrt(1 + 4 * 1.2 * f->g);
  model->reference_error    = 4.4e-16 * (N + 1 + (1 + fastest) * fastest * model->type->t_end);
  return 0;
}

static void destroy(CPPlugin *model) { four_bar_free((FourBar **)&model->data); }

const CPPluginType four_bar_type = {
    .name        = "four_bar",
    .method      = "radau", /* after singular positions its errors are far below those of BDF */
    .title       = "N four-bar linkages side by side",
    .source      = "IFToMM library of computational benchmark problems, A02; closed form",
    .t_end       = 20,
    .parameters  = parameters,
    .nparameters = sizeof parameters / sizeof parameters[0],
    .whole       = "N",
    .units       = "m m rad",
    .quantities  = quantities,
    .nquantities = sizeof quantities / sizeof quantities[0],
    .create      = create,
    .destroy     = destroy,
    .reference   = reference,
    .points      = points,
};

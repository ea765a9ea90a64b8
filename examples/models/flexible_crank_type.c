#include "flexible_crank.h"
#include "plugin.h"
#include "types.h"

#include <stdlib.h>

enum { OMEGA, DAMPING };

static const CPPluginParameter parameters[] = {
    [OMEGA] = {"Omega", "rad/s", "speed of the crank; the start belongs to the default", 150, 1, 1e3},
    [DAMPING] = {"damping", "1", "of the rod: 0 none, 1 half a percent of the critical one", 0, 0,
                 100},
};

static const CPPluginCoordinate coordinates[] = {
    {"phi1", "rad", "angle of the crank"},
    {"phi2", "rad", "angle of the rod"},
    {"x3", "m", "slider"},
    {"q1", "m", "first mode of bending"},
    {"q2", "m", "second mode of bending"},
    {"q3", "m", "stretch at the middle of the rod"},
    {"q4", "m", "stretch at its end"},
};

/* Extrapolation of order 24 in quadruple precision, 2000 and 4000 steps, projected after each, from
   the x3 that satisfies its constraint. The newer published numbers (Test Set for IVP Solvers)
   agree in 10 digits of the positions, 8 of the velocities and 10 of the multipliers; the older
   ones in 6. */
static const sunrealtype end[2 * FLEXIBLE_CRANK_NQ] = {
    1.5000000000000000e+01,  -3.3117349882562993e-01, 1.6973733263997214e-01,
    1.8931928997009249e-04,  2.3757512499866569e-05,  -5.3238967707486102e-06,
    -8.3633132788077777e-06, 1.5000000000000000e+02,  6.0253467551318349e+01,
    -8.7531163267041626e+00, -3.0055413998524941e-02, -5.5004318013325485e-03,
    4.9741117946464298e-04,  1.1055599936031203e-03};
static const sunrealtype start_lambda[FLEXIBLE_CRANK_NP] = {
    -6.552746562104077e-08, 3.824589509554949e+02, -4.635937824958209e-09};
static const sunrealtype end_lambda[FLEXIBLE_CRANK_NP] = {
    -6.232935832773702e+01, -1.637920993237247e+02, 2.529857947000307e+01};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  return plugin_ends(model, t, end, y);
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  return plugin_ends_lambda(model, t, FLEXIBLE_CRANK_NP, start_lambda, end_lambda, lambda);
}

/* Pivot, two ends of the guide, slider, and the bent rod from the crank pin on */
enum { PIVOT, GUIDE_LEFT, GUIDE_RIGHT, SLIDER, ROD, ROD_POINTS = 17, NPOINTS = ROD + ROD_POINTS };

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)model, (void)t;
  const sunrealtype *q      = N_VGetArrayPointer(y);
  sunrealtype x[NPOINTS][2] = {
      [GUIDE_LEFT] = {0.1, 0}, [GUIDE_RIGHT] = {0.5, 0}, [SLIDER] = {q[2], 0}};
  flexible_crank_shape(q, ROD_POINTS, x + ROD);
  plugin_planar(NPOINTS, (const sunrealtype(*)[2])x, xyz);
}

/* Crank, guide, the pieces of the rod */
static int draw(CPPlugin *model) {
  if (CPPluginDraw(model, NPOINTS, NULL, 2 + ROD_POINTS - 1, NULL, 0, NULL)) return -1;
  CPPluginDrawing *d = &model->drawing;
  for (int i = 0; i < NPOINTS; i++)
    d->kind[i] = i <= GUIDE_RIGHT ? CP_POINT_GROUND : CP_POINT_PLAIN;
  d->kind[ROD]     = CP_POINT_JOINT;
  d->kind[SLIDER]  = CP_POINT_MASS;
  d->segment[0][0] = PIVOT;
  d->segment[0][1] = ROD;
  d->segment[1][0] = GUIDE_LEFT;
  d->segment[1][1] = GUIDE_RIGHT;
  for (int i = 0; i + 1 < ROD_POINTS; i++) {
    d->segment[2 + i][0] = ROD + i;
    d->segment[2 + i][1] = ROD + i + 1;
  }
  return 0;
}

static int create(CPPlugin *model) {
  FlexibleCrank *s = malloc(sizeof *s);
  model->data      = s;
  if (!s || plugin_start(model, 2 * FLEXIBLE_CRANK_NQ) || draw(model)) return -1;
  *s = (FlexibleCrank){.Omega = model->parameter[OMEGA], .damping = model->parameter[DAMPING]};
  flexible_crank_initial(model->y0);
  /* another speed: the same positions, all rates in proportion */
  sunrealtype *u = N_VGetArrayPointer(model->y0) + FLEXIBLE_CRANK_NQ;
  for (int i = 0; i < FLEXIBLE_CRANK_NQ; i++) u[i] *= s->Omega / 150;
  model->mech            = flexible_crank_model();
  model->stiff           = 1; /* oscillatory */
  model->known           = plugin_is_default(model);
  model->reference_error = 1e-14;
  return 0;
}

/* The drive does work: nothing is conserved */
const CPPluginType flexible_crank_type = {
    .name   = "flexible_crank",
    .method = "radau", /* its rod's oscillations are not damped, and need not be followed */
    .title  = "Slider-crank with an elastic rod",
    .source = "Simeon, Mathematical Modelling of Systems 2, 1996; Test Set for IVP Solvers, crank",
    .t_end  = 0.1,
    .parameters       = parameters,
    .nparameters      = sizeof parameters / sizeof parameters[0],
    .coordinates      = coordinates,
    .ncoordinates     = sizeof coordinates / sizeof coordinates[0],
    .create           = create,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
};

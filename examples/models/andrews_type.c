#include "andrews.h"
#include "plugin.h"
#include "types.h"

/* Extrapolation of order 20 in quadruple precision, 480 and 960 steps, projected after each: both runs
   agree to all digits. The published numbers (Test Set for IVP Solvers) agree in 9 to 12 digits of the
   angles, 7 of the velocities and 6 of the multipliers. */
static const sunrealtype end[2 * ANDREWS_NQ] = {
    1.5810771195153707e+01,  -1.5756371058411839e+01, 4.0822240119645805e-02,
    -5.3473011634207959e-01, 5.2440996587995407e-01,  5.3473011634207959e-01,
    1.0480807410419379e+00,  1.1399203022591061e+03,  -1.4243792951775401e+03,
    1.1032911910618594e+01,  1.9293374105032041e+01,  5.7356991482950245e-01,
    -1.9293374105032041e+01, 3.2317914924913087e-01};
static const sunrealtype end_lambda[ANDREWS_NP]   = {1.991753481045386e+02, -2.975530997497176e+01,
                                                     2.306654361162215e+01, 3.145272527577114e+01,
                                                     2.264249478639438e+01, 1.161739235261126e+01};
static const sunrealtype start_lambda[ANDREWS_NP] = {98.5668703962410896057654982170,
                                                     -6.12268834425566265503114393122};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  return plugin_ends(model, t, end, y);
}

static int reference_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  return plugin_ends_lambda(model, t, ANDREWS_NP, start_lambda, end_lambda, lambda);
}

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  (void)model, (void)t;
  return andrews_energy(y);
}

/* 0.5 J: the work of the torque in [0, 0.03] s */
static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 0.5},
};

static void points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)model, (void)t;
  sunrealtype x[ANDREWS_JOINTS][2];
  andrews_joints(y, x);
  plugin_planar(ANDREWS_JOINTS, (const sunrealtype(*)[2])x, xyz);
}

static const CPPluginCoordinate coordinates[] = {
    {"beta", "rad", "angle of the crank O P, which is driven"},
    {"Theta", "rad", "angle of P F against the crank"},
    {"gamma", "rad", "angle of B F D, which the spring pulls at"},
    {"Phi", "rad", "angle of E F against A E"},
    {"delta", "rad", "angle of A E"},
    {"Omega", "rad", "angle of G F against A G"},
    {"epsilon", "rad", "angle of A G"},
};

static int create(CPPlugin *model) {
  static const CPPluginPointKind kind[ANDREWS_JOINTS] = {
      [ANDREWS_O] = CP_POINT_GROUND, [ANDREWS_A] = CP_POINT_GROUND, [ANDREWS_B] = CP_POINT_GROUND,
      [ANDREWS_C] = CP_POINT_GROUND, [ANDREWS_P] = CP_POINT_JOINT,  [ANDREWS_F] = CP_POINT_JOINT,
      [ANDREWS_D] = CP_POINT_JOINT,  [ANDREWS_E] = CP_POINT_JOINT,  [ANDREWS_G] = CP_POINT_JOINT};
  static const int segment[][2] = {{ANDREWS_O, ANDREWS_P}, /* 1 */
                                   {ANDREWS_P, ANDREWS_F}, /* 2 */
                                   {ANDREWS_B, ANDREWS_F}, {ANDREWS_F, ANDREWS_D},
                                   {ANDREWS_D, ANDREWS_B},                         /* 3 */
                                   {ANDREWS_F, ANDREWS_E}, {ANDREWS_A, ANDREWS_E}, /* 4, 5 */
                                   {ANDREWS_F, ANDREWS_G}, {ANDREWS_A, ANDREWS_G}, /* 6, 7 */
                                   {ANDREWS_C, ANDREWS_D}};                        /* spring */
  if (plugin_start(model, 2 * ANDREWS_NQ)) return -1;
  if (CPPluginDraw(model, ANDREWS_JOINTS, kind, sizeof segment / sizeof segment[0], segment, 0, NULL))
    return -1;
  model->drawing.segment_kind[model->drawing.nsegments - 1] = CP_SEGMENT_SPRING;
  andrews_initial(model->y0);
  model->mech            = andrews_model();
  model->known           = plugin_is_default(model);
  model->reference_error = 1e-15 * 16; /* of the digits that are printed */
  return 0;
}

const CPPluginType andrews_type = {
    .name  = "andrews",
    .title = "Andrews' squeezing mechanism",
    .source =
        "Multibody Systems Handbook 1990; Hairer, Wanner, Solving ODEs II, VII.7; Test Set for IVP "
        "Solvers, andrews",
    .t_end            = 0.03,
    .quantities       = quantities,
    .nquantities      = sizeof quantities / sizeof quantities[0],
    .coordinates      = coordinates,
    .ncoordinates     = sizeof coordinates / sizeof coordinates[0],
    .create           = create,
    .reference        = reference,
    .reference_lambda = reference_lambda,
    .points           = points,
};

/* Overconstrained linkages. Joint j turns by theta_j about z_j; from there to the next joint the distance a_j along x and
 * the twist alpha_j about x, without offsets (Denavit and Hartenberg). With sin(alpha_j) / a_j the same for all links,
 *
 *   Bennett:   links (a, alpha), (b, beta), (a, alpha), (b, beta)
 *              tan(theta_1/2) tan(theta_2/2) = k = sin((beta+alpha)/2) / sin((beta-alpha)/2)
 *              theta_3 = 2 pi - theta_1,  theta_4 = 2 pi - theta_2
 *   Goldberg:  two of them with one link in common, left out, and two others made one
 *              links (a, alpha), (b, beta), (c, gamma), (a, alpha), (b + c, beta + gamma)
 *              theta_3 = 3 pi - theta_1 + phi,  theta_4 = 3 pi - theta_2,  theta_5 = 2 pi - phi,
 *              tan((theta_2 - pi)/2) tan(phi/2) = sin((gamma+alpha)/2) / sin((gamma-alpha)/2)
 *   Sarrus:    two legs of two links between the ground and a plate that moves along z only; the joints of each leg are
 *              parallel, their angles s, -2 s, s and r, -2 r, r with A sin(theta) = B sin(rho) of legs A and B
 *
 * Sources: G. T. Bennett, Engineering 76 (1903); M. Goldberg, Trans. ASME 65 (1943); Y. Chen, Z. You, Motion Structures, Spon
 * Press 2012. That the loops are closed is tested (mechanisms.c).
 */
#include "mechanisms.h"

#include "models/spatial_loop.h"
#include <math.h>
#include <models/plugin.h>
#include <stdlib.h>

typedef struct {
  SpatialLoop loop;
  sunrealtype k[2]; /* Bennett's constants; Sarrus: [0] = A / B */
  sunrealtype home; /* theta_1, or theta, of the home position */
  sunrealtype s[2]; /* of the start, and its rate */
} Linkage;

static const sunrealtype PI = 3.14159265358979323846;

/* ---------------------------------------------------------------------------- Bennett, Goldberg -- */

/* y with tan(x/2) tan(y/2) = k, smooth for all x, and its derivatives: y [3]: out */
static void bennett_angle(sunrealtype k, sunrealtype x, sunrealtype y[3]) {
  const sunrealtype s = sin(x / 2), c = cos(x / 2), size = fabs(k), sign = k < 0 ? -1 : 1;
  const sunrealtype Q = s * s + k * k * c * c;
  y[0]                = sign * (PI - x + 2 * atan2((size - 1) * s * c, s * s + size * c * c));
  y[1]                = -k / Q;
  y[2]                = k * (1 - k * k) * s * c / (Q * Q);
}

/* y <- y(x(s)), from derivatives with respect to x to those with respect to s */
static void chain_rule(const sunrealtype x[3], sunrealtype y[3]) {
  y[2] = y[2] * x[1] * x[1] + y[1] * x[2];
  y[1] *= x[1];
}

/* theta_1 = s, theta_2, phi, each with its derivatives */
static void bennett_angles(const Linkage *l, sunrealtype s, sunrealtype theta[3][3]) {
  theta[0][0] = s, theta[0][1] = 1, theta[0][2] = 0;
  bennett_angle(l->k[0], s, theta[1]);
  bennett_angle(l->k[1], theta[1][0] - PI, theta[2]);
  chain_rule(theta[1], theta[2]);
}

/* Rotates from home by the sum of two of them, with signs. */
static void combine(const void *data, sunrealtype s, const int sign[3], sunrealtype alpha[3]) {
  const Linkage *l = data;
  sunrealtype here[3][3], home[3][3];
  bennett_angles(l, s, here);
  bennett_angles(l, l->home, home);
  for (int k = 0; k < 3; k++) {
    alpha[k] = 0;
    for (int i = 0; i < 3; i++) alpha[k] += sign[i] * (here[i][k] - (k == 0) * home[i][0]);
  }
}

static void bennett_joint(const void *data, int j, sunrealtype s, sunrealtype alpha[3]) {
  static const int sign[3][3] = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 0}};
  combine(data, s, sign[j], alpha);
}

static void goldberg_joint(const void *data, int j, sunrealtype s, sunrealtype alpha[3]) {
  static const int sign[4][3] = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 1}, {0, -1, 0}};
  combine(data, s, sign[j], alpha);
}

/* Points and axes at home, from the first joint, whose axis is along z; theta [n], a [n], twist
 * [n]: between consecutive joints. */
static void unfold(LoopShape *shape, const sunrealtype *theta, const sunrealtype *a,
                   const sunrealtype *twist) {
  sunrealtype x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1}, P[3] = {0, 0, 0};
  for (int j = 0; j <= shape->n; j++) {
    for (int k = 0; k < 3; k++) {
      shape->point[j][k] = P[k];
      shape->axis[j][k]  = z[k];
    }
    if (j == shape->n) break;
    for (int k = 0; k < 3; k++) {
      const sunrealtype ahead = cos(theta[j]) * x[k] + sin(theta[j]) * y[k],
                        aside = cos(theta[j]) * y[k] - sin(theta[j]) * x[k], up = z[k];
      P[k] += a[j] * ahead;
      x[k] = ahead;
      y[k] = cos(twist[j]) * aside + sin(twist[j]) * up;
      z[k] = cos(twist[j]) * up - sin(twist[j]) * aside;
    }
  }
}

static const sunrealtype ALPHA = 0.6, BETA = 1.1, GAMMA = 0.4, A = 1;

/* Bodies of a few kg and m, whose axes are those of space at home; gravity has a general direction. */
static void shape_bodies(LoopShape *shape) {
  for (int i = 0; i < shape->n; i++) {
    shape->m[i] = 1 + SUN_RCONST(0.2) * i;
    for (int k = 0; k < 3; k++)
      shape->J[i][k] = SUN_RCONST(0.06) + SUN_RCONST(0.02) * ((i + k) % 3);
  }
  shape->g[0] = 2, shape->g[1] = -3, shape->g[2] = -9;
}

static sunrealtype ratio(sunrealtype alpha, sunrealtype beta) {
  return sin((beta + alpha) / 2) / sin((beta - alpha) / 2);
}

static void create_bennett_loop(Linkage *l, int n, LoopAngles angles) {
  const sunrealtype b = A * sin(BETA) / sin(ALPHA), c = A * sin(GAMMA) / sin(ALPHA);
  LoopShape shape = {.n = n, .angles = angles, .data = l};
  sunrealtype known[3][3];
  l->k[0] = ratio(ALPHA, BETA);
  l->k[1] = ratio(ALPHA, GAMMA);
  l->home = l->s[0] = SUN_RCONST(1.2);
  bennett_angles(l, l->home, known);
  const sunrealtype theta1 = known[0][0], theta2 = known[1][0], phi = known[2][0];
  if (n == 3)
    unfold(&shape, (sunrealtype[]){theta1, theta2, -theta1}, (sunrealtype[]){A, b, A},
           (sunrealtype[]){ALPHA, BETA, ALPHA});
  else
    unfold(&shape, (sunrealtype[]){theta1, theta2, PI - theta1 + phi, PI - theta2},
           (sunrealtype[]){A, b, c, A}, (sunrealtype[]){ALPHA, BETA, GAMMA, ALPHA});
  shape_bodies(&shape);
  spatial_loop_create(&l->loop, &shape);
}

static void create_bennett(Linkage *l) { create_bennett_loop(l, 3, bennett_joint); }
static void create_goldberg(Linkage *l) { create_bennett_loop(l, 4, goldberg_joint); }

/* --------------------------------------------------------------------------------------- Sarrus -- */

/* Leg A hangs in the plane y = 0, its joints along y, leg B in x = 0; theta = home + s */
static void sarrus_joint(const void *data, int j, sunrealtype s, sunrealtype alpha[3]) {
  const Linkage *l        = data;
  const int times         = j % 3 == 1 ? -2 : 1;
  const sunrealtype theta = l->home + s, sine = l->k[0] * sin(theta), slope = l->k[0] * cos(theta);
  sunrealtype r[3] = {s, 1, 0};
  if (j >= 3) {
    const sunrealtype cosine = sqrt(1 - sine * sine);
    r[0]                     = asin(sine) - asin(l->k[0] * sin(l->home));
    r[1]                     = slope / cosine;
    r[2]                     = -sine / cosine + sine * slope * slope / (cosine * cosine * cosine);
  }
  for (int k = 0; k < 3; k++) alpha[k] = times * r[k];
}

static void create_sarrus(Linkage *l) {
  const sunrealtype long_a = 1, long_b = SUN_RCONST(1.3);
  l->k[0]               = long_a / long_b;
  l->home               = SUN_RCONST(0.9);
  const sunrealtype rho = asin(l->k[0] * sin(l->home)), low = -2 * long_a * sin(l->home);
  const sunrealtype out_a = SUN_RCONST(0.5) + long_a * cos(l->home),
                    out_b = SUN_RCONST(0.7) + long_b * cos(rho);
  LoopShape shape         = {.n      = 5,
                             .point  = {{SUN_RCONST(0.5), 0, 0},
                                        {out_a, 0, low / 2},
                                        {SUN_RCONST(0.5), 0, low},
                                        {0, SUN_RCONST(0.7), low},
                                        {0, out_b, low / 2},
                                        {0, SUN_RCONST(0.7), 0}},
                             .axis   = {{0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}},
                             .angles = sarrus_joint,
                             .data   = l};
  shape_bodies(&shape);
  spatial_loop_create(&l->loop, &shape);
}

/* ---------------------------------------------------------------------------------------- types -- */

enum { GIVEN, SPARSE };

static const CPPluginParameter parameters[] = {
    [GIVEN]  = {"b", "", "1: accelerations of the joints by formulas; 0: by differences", 1, 0, 1},
    [SPARSE] = {"sparse", "", "1: CSC matrices; 0: dense ones", 0, 0, 1},
};

static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return rigid_body_energy(model->data, y);
}

static const CPPluginQuantity quantities[] = {
    {.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 50},
};

static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  const Linkage *l = model->data;
  sunrealtype s[2] = {l->s[0], l->s[1]};
  if (spatial_loop_motion(&l->loop, t, (int)ceil(40 * t), y->sunctx, s)) return 1;
  spatial_loop_place(&l->loop, s[0], s[1], y);
  return 0;
}

static int create(CPPlugin *model, void (*create_loop)(Linkage *l)) {
  Linkage *l  = calloc(1, sizeof *l);
  model->data = l;
  if (!l) return -1;
  create_loop(l);
  if (plugin_start(model, 13 * (sunindextype)l->loop.shape.n)) return -1;
  spatial_loop_place(&l->loop, l->s[0], l->s[1], model->y0);
  if (rigid_body_model(&l->loop.bodies, model->parameter[SPARSE] > 0.5, model->ctx, &model->mech))
    return -1;
  if (model->parameter[GIVEN] < 0.5) model->mech.b = NULL;
  model->known           = 1;
  model->reference_error = 1e-12;
  return 0;
}

static int bennett(CPPlugin *model) { return create(model, create_bennett); }
static int goldberg(CPPlugin *model) { return create(model, create_goldberg); }
static int sarrus(CPPlugin *model) { return create(model, create_sarrus); }

/* From rest */
#define LINKAGE(its_name, its_title, its_create)                                            \
  {                                                                                         \
    .name = its_name, .title = its_title, .source = "linkages.c", .t_end = 5,               \
    .parameters = parameters, .nparameters = 2, .quantities = quantities, .nquantities = 1, \
    .create = (its_create), .reference = reference,                                         \
  }

const CPPluginType bennett_type  = LINKAGE("bennett", "Bennett's linkage", bennett);
const CPPluginType goldberg_type = LINKAGE("goldberg", "Goldberg's linkage", goldberg);
const CPPluginType sarrus_type   = LINKAGE("sarrus", "Sarrus' linkage", sarrus);

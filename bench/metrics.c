/* The metrics of mechanical systems' projections on ladders of close tolerances: steps, evaluations
 * of f and errors at the end, relative to those of CP_METRIC_ERROR.
 *
 * Each ladder has nine tolerances from 0.8 to 1.25 times its middle, in equal ratios; the printed
 * values are geometric means over it. The default metric is chosen by these results
 * (cpodes/mechanics/projection/metric.c). ball_loop, which is not in the catalogue, has
 * quaternions; its reference is Adams at 1e-13. The bushing crank is stiff along the normals of its
 * constraints, and has no ladder for Adams.
 *
 * Bound: the bushing crank at 1e-8 takes fewer steps with NEWTON than without projection. */
#include "check.h"
#include "options.h"
#include "run.h"
#include <math.h>
#include <models/plugin.h>
#include <models/rigid_body.h>
#include <string.h>

enum { VARIANTS = 5 };

static const sunrealtype middles[] = {1.0e-6, 1.0e-8, 1.0e-10};
enum { MIDDLES = sizeof middles / sizeof middles[0] };

typedef struct {
  const char *name;
  CPMechMetric metric;
  bool projected;
} Variant;

static const Variant variants[VARIANTS] = {{"ERROR", CP_METRIC_ERROR, true},
                                           {"KINETIC", CP_METRIC_KINETIC, true},
                                           {"NEWTON", CP_METRIC_NEWTON, true},
                                           {"L2", CP_METRIC_L2, true},
                                           {"none", CP_METRIC_ERROR, false}};

static const char *const names[] = {"pendulum", "slider_crank", "car_axis",
                                    "andrews",  "ball_loop",    "bushing_crank"};
enum { NAMES = sizeof names / sizeof names[0] };

/* ------------------------------------------------------------------- a loop of ball joints -- */

/* RODS equal rods on ball joints (quaternions) from the origin to a point on x, which hang in a
 * taut arc and swing about the line through both ends, without damping. */
enum { RODS = 4 };

typedef struct {
  RigidBodies bodies; /* first: the user data of rigid_body_model's functions */
  RigidBody body[RODS];
  Joint joint[RODS + 1];
  CPQuaternion quaternion[RODS];
} Loop;

static int create_loop(CPPlugin *model) {
  const sunrealtype l = 0.25, swing = 2.0, angles[RODS] = {-0.5, -0.2, 0.2, 0.5};
  Loop *loop    = CHECK_POINTER(calloc(1, sizeof *loop));
  model->data   = loop;
  sunrealtype x = 0.0, y = 0.0;
  for (int i = 0; i <= RODS; i++) {
    if (i < RODS) loop->body[i] = (RigidBody){.m = 0.25, .J = {5.0e-5, 1.3e-3, 1.3e-3}};
    loop->joint[i] = (Joint){.kind    = JOINT_BALL,
                             .a       = i > 0 ? i - 1 : GROUND,
                             .b       = i < RODS ? i : GROUND,
                             .point_a = {i > 0 ? l / 2 : 0.0},
                             .point_b = {-l / 2},
                             .axis_a  = {1.0},
                             .axis_b  = {1.0}};
  }
  loop->bodies = (RigidBodies){.nbodies    = RODS,
                               .njoints    = RODS + 1,
                               .body       = loop->body,
                               .joint      = loop->joint,
                               .g          = {0, SUN_RCONST(-9.81), 0},
                               .frame      = CP_FRAME_BODY,
                               .quaternion = loop->quaternion};
  if (plugin_start(model, 13 * RODS)) return -1;
  for (int i = 0; i < RODS; i++) {
    const sunrealtype c = cos(angles[i]), s = sin(angles[i]);
    const sunrealtype r[3] = {x + l / 2 * c, y + l / 2 * s, 0}, turn[3] = {0, 0, angles[i]};
    const sunrealtype v[3] = {0, 0, swing * r[1]}, omega[3] = {swing, 0, 0};
    rigid_body_place(&loop->bodies, i, r, turn, v, omega, model->y0);
    x += l * c, y += l * s;
  }
  loop->joint[RODS].point_b[0] = x;
  loop->joint[RODS].point_b[1] = y;
  return rigid_body_model(&loop->bodies, 0, model->ctx, &model->mech);
}

static void destroy_loop(CPPlugin *model) { free(model->data); }

static const CPPluginType loop_type = {
    .name = "ball_loop", .t_end = 2, .create = create_loop, .destroy = destroy_loop};

static Mechanism *loop_create(SUNContext ctx) {
  char message[200];
  Mechanism *m = CHECK_POINTER(calloc(1, sizeof *m));
  m->model     = CPPluginCreate(&loop_type, NULL, ctx, message, sizeof message);
  if (!m->model) fprintf(stderr, "%s\n", message);
  CHECK(m->model == NULL);
  m->name                = loop_type.name;
  m->t_end               = loop_type.t_end;
  m->y_end               = CHECK_POINTER(N_VClone(m->model->y0));
  const RunOptions tight = {.lmm = CV_ADAMS, .tol = 1.0e-13, .by = BY_MECHANICS};
  CHECK(run_to_end(m, &tight, m->y_end, ctx).flag < 0);
  return m;
}

/* --------------------------------------------------------------------------------- one run -- */

static int drop_projector(CPIntegrator mem, double unused) {
  (void)unused;
  return CPIntegratorSetProjector(mem, NULL);
}

static RunOptions options_of(const Variant *variant, int lmm, sunrealtype tol) {
  return (RunOptions){.lmm    = lmm,
                      .tol    = tol,
                      .by     = BY_MECHANICS,
                      .metric = variant->metric,
                      .set    = variant->projected ? NULL : drop_projector};
}

/* ---------------------------------------------------------------------------------- ladders -- */

/* Ratios to ERROR over all ladders of a method on mechanisms that are not stiff along normals */
typedef struct {
  GeometricMean mean;
  double least, largest;
} Range;

static void range_add(Range *range, double ratio) {
  if (range->mean.count == 0) range->least = range->largest = ratio;
  range->least   = fmin(range->least, ratio);
  range->largest = fmax(range->largest, ratio);
  mean_add(&range->mean, ratio);
}

/* Systems that are stiff along normals run with BDF only, and also without projection. */
static bool applies(Mechanism *m, const Variant *variant, int lmm) {
  if (!variant->projected) return m->model->stiff;
  return variant->metric != CP_METRIC_NEWTON || lmm == CV_BDF; /* Adams has no Newton matrix */
}

/* steps, errors [VARIANTS]: the ratios are added to them */
static void print_ladder(Mechanism *m, int lmm, sunrealtype middle, Range *steps, Range *errors,
                         FILE *csv, SUNContext ctx) {
  Ladder base = {0};
  printf("%s, %s, tol about %.0e\n", m->name, method_name(lmm), (double)middle);
  for (int k = 0; k < VARIANTS; k++) {
    if (!applies(m, &variants[k], lmm)) continue;
    const Ladder s = run_ladder(m, options_of(&variants[k], lmm, middle), "metrics",
                                variants[k].name, csv, NULL, ctx);
    if (k == 0) base = s;
    const double fewer = mean_value(&s.steps) / mean_value(&base.steps);
    const double worse = mean_value(&s.position_error) / mean_value(&base.position_error);
    printf("  %-8s %9.1f %9.1f %9.2e   %6.3f %6.3f %8.3f", variants[k].name, mean_value(&s.steps),
           mean_value(&s.rhs), mean_value(&s.position_error), fewer,
           mean_value(&s.rhs) / mean_value(&base.rhs), worse);
    if (s.failed > 0) printf("   %d runs failed", s.failed);
    printf("\n");
    if (m->model->stiff) continue;
    range_add(&steps[k], fewer);
    range_add(&errors[k], worse);
  }
}

static void print_ranges(int lmm, const Range *steps, const Range *errors) {
  for (int k = 1; k < VARIANTS; k++)
    if (steps[k].mean.count > 0)
      printf("%s, %s: relative to ERROR steps %.3f in the mean, %.3f to %.3f; errors %.2f, %.2f to "
             "%.2f\n",
             method_name(lmm), variants[k].name, mean_value(&steps[k].mean), steps[k].least,
             steps[k].largest, mean_value(&errors[k].mean), errors[k].least, errors[k].largest);
}

static void print_bound(Mechanism *m, SUNContext ctx) {
  const int shown[3] = {2, 4, 0}; /* NEWTON, none, ERROR */
  Figures f[3];
  for (int k = 0; k < 3; k++) {
    const RunOptions o = options_of(&variants[shown[k]], CV_BDF, 1.0e-8);
    f[k]               = run_timed(m, &o, ctx);
  }
  printf(
      "%s, BDF, tol 1e-8: %ld steps with NEWTON, %ld without projection (ERROR: %ld): bound %s\n",
      m->name, f[0].steps, f[1].steps, f[2].steps,
      f[0].flag >= 0 && f[0].steps < f[1].steps ? "kept" : "EXCEEDED");
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "Metrics of mechanical systems' projections", "[MECHANISM...]", 0);
  SUNContext ctx           = check_context();
  Range steps[2][VARIANTS] = {0}, errors[2][VARIANTS] = {0};
  csv_header(options.csv);
  printf("  %-8s %9s %9s %9s   relative to ERROR\n", "metric", "steps", "f evals", "error");
  for (int i = 0; i < NAMES; i++) {
    if (!options_select(&options, names[i])) continue;
    Mechanism *m =
        strcmp(names[i], loop_type.name) ? mechanism_create(names[i], ctx) : loop_create(ctx);
    for (int adams = 0; adams < (m->model->stiff ? 1 : 2); adams++)
      for (int k = 0; k < MIDDLES; k++)
        print_ladder(m, adams ? CV_ADAMS : CV_BDF, middles[k], steps[adams], errors[adams],
                     options.csv, ctx);
    if (m->model->stiff) print_bound(m, ctx);
    mechanism_free(&m);
  }
  print_ranges(CV_BDF, steps[0], errors[0]);
  print_ranges(CV_ADAMS, steps[1], errors[1]);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}

#include "mechanisms.h"
#include "check.h"

#include <math.h>
#include <models/chain_reference.h>
#include <nvector/nvector_serial.h>
#include <string.h>

static void allocate_states(Mechanism *s, sunindextype n, sunindextype m, SUNContext ctx) {
  s->n     = n;
  s->m     = m;
  s->y0    = CHECK_POINTER(N_VNew_Serial(n, ctx));
  s->y_end = CHECK_POINTER(N_VNew_Serial(n, ctx));
}

/* Two swings and more, t = 20; IFToMM A01. Reference: closed form. */
static void create_pendulum(Mechanism *s, SUNContext ctx) {
  s->pendulum = (Pendulum){.L = 1.0, .g = 9.81};
  s->data     = &s->pendulum;
  s->f        = pendulum_rhs;
  s->c        = pendulum_constraints;
  s->G        = pendulum_jacobian;
  s->t_end    = 20.0;
  allocate_states(s, PENDULUM_N, PENDULUM_M, ctx);
  s->model      = pendulum_model();
  s->model_data = s->data;
  pendulum_initial(&s->pendulum, s->y0);
  pendulum_exact(&s->pendulum, s->t_end, N_VGetArrayPointer(s->y_end));
}

/* Reference at t = 10: extrapolation method of order 20 in quadruple precision, positions and velocities
   projected after every step; half the step agrees in 17 digits. */
static void create_slider_crank(Mechanism *s, SUNContext ctx) {
  static const sunrealtype reference[SLIDER_CRANK_N] = {1.275675848650239,   1.023578558979840,
                                                        -0.4988130491824987, -0.2399149971960007,
                                                        0.1337782832157776,  0.03973149599132174};
  s->slider_crank                                    = slider_crank_haug();
  s->data                                            = &s->slider_crank;
  s->f                                               = slider_crank_rhs;
  s->c                                               = slider_crank_constraints;
  s->G                                               = slider_crank_jacobian;
  s->t_end                                           = 10.0;
  allocate_states(s, SLIDER_CRANK_N, SLIDER_CRANK_M, ctx);
  s->model      = slider_crank_model();
  s->model_data = s->data;
  slider_crank_initial(&s->slider_crank, s->y0);
  memcpy(N_VGetArrayPointer(s->y_end), reference, sizeof reference);
}

/* Reference at t = 3: recomputed in quadruple precision by extrapolation of order 20, 960 and 1920 steps; agrees
   with the published one (Test Set for IVP Solvers) in 9 to 13 digits. */
static void create_car_axis(Mechanism *s, SUNContext ctx) {
  static const sunrealtype reference[CAR_AXIS_N] = {
      4.9345578427524092e-02, 4.9698946023000811e-01,  1.0417425248854261e+00,
      3.7391102726536582e-01, -7.7058368403592084e-02, 7.4468665920684165e-03,
      1.7556815753541737e-02, 7.7034104377960106e-01};
  s->car_axis = car_axis_testset();
  s->data     = &s->car_axis;
  s->f        = car_axis_rhs;
  s->c        = car_axis_constraints;
  s->G        = car_axis_jacobian;
  s->t_end    = 3.0;
  allocate_states(s, CAR_AXIS_N, CAR_AXIS_M, ctx);
  s->model      = car_axis_model();
  s->model_data = s->data;
  car_axis_initial(&s->car_axis, s->y0);
  memcpy(N_VGetArrayPointer(s->y_end), reference, sizeof reference);
}

/* Reference: closed form. */
static void create_knife_edge(Mechanism *s, SUNContext ctx) {
  s->knife_edge = (KnifeEdge){.g = 9.81, .alpha = 0.5, .omega = 1.0};
  s->data       = &s->knife_edge;
  s->f          = knife_edge_rhs;
  s->c          = knife_edge_constraints;
  s->G          = knife_edge_jacobian;
  s->t_end      = 20.0;
  allocate_states(s, KNIFE_EDGE_N, KNIFE_EDGE_M, ctx);
  knife_edge_initial(&s->knife_edge, s->y0);
  knife_edge_exact(&s->knife_edge, s->t_end, N_VGetArrayPointer(s->y_end));
}

/* Reference at t = 0.03, positions: extrapolation method of order 20 in quadruple precision, projected after every
   step; 480 and 960 steps agree in all digits, the published ones (Test Set for IVP Solvers) in nine. */
static void create_andrews(Mechanism *s, SUNContext ctx) {
  static const sunrealtype reference[ANDREWS_NQ] = {1.5810771195153707e+01, -1.5756371058411839e+01,
                                                    4.0822240119645805e-02, -5.3473011634207959e-01,
                                                    5.2440996587995407e-01, 5.3473011634207959e-01,
                                                    1.0480807410419379e+00};
  s->model                                       = andrews_model();
  s->t_end                                       = 0.03;
  s->ncompared                                   = ANDREWS_NQ;
  allocate_states(s, 2 * ANDREWS_NQ, 2 * ANDREWS_NP, ctx);
  andrews_initial(s->y0);
  memcpy(N_VGetArrayPointer(s->y_end), reference, sizeof reference);
}

static void create_bushing_crank(Mechanism *s, SUNContext ctx) {
  s->bushing_crank = bushing_crank_stiff();
  s->model         = bushing_crank_model();
  s->model_data    = &s->bushing_crank;
  s->t_end         = 20.0;
  s->ncompared     = BUSHING_CRANK_NQ;
  allocate_states(s, 2 * BUSHING_CRANK_NQ, 1, ctx);
  bushing_crank_initial(&s->bushing_crank, s->y0);
}

static void create_flexible_crank(Mechanism *s, SUNContext ctx) {
  s->flexible_crank = flexible_crank_testset();
  s->model          = flexible_crank_model();
  s->model_data     = &s->flexible_crank;
  s->t_end          = 0.1;
  s->ncompared      = FLEXIBLE_CRANK_NQ;
  allocate_states(s, 2 * FLEXIBLE_CRANK_NQ, 1, ctx);
  flexible_crank_initial(s->y0);
}

/* Overdamped joints, k = 1e5 N/m, d = 1e3 N s/m */
static void create_bending_chain(Mechanism *s, SUNContext ctx) {
  const sunindextype masses = 20;
  s->bending                = CHECK_POINTER(bending_chain_create(masses, 9.81, 1.0e5, 1.0e3));
  s->model_data             = s->bending;
  s->t_end                  = 2.0;
  s->ncompared              = 2 * masses;
  CHECK(bending_chain_model(s->bending, 1, ctx, &s->model));
  allocate_states(s, 4 * masses, 1, ctx);
  bending_chain_initial(s->bending, 0.0, s->y0);
}

/* Reference: closed form for one mass, else minimal coordinates. */
static void chain_end(Mechanism *s) {
  const sunrealtype required = 5.0e-11; /* below the errors that are compared */
  if (s->chain->n == 1) {
    Pendulum rod = {.L = 1.0, .g = s->chain->g};
    pendulum_exact(&rod, s->t_end, N_VGetArrayPointer(s->y_end));
    return;
  }
  sunrealtype error   = INFINITY;
  const ChainOf chain = {.n = s->chain->n, .g = s->chain->g};
  CHECK(chain_reference(&chain, s->t_end, 100 * (int)ceil(s->t_end), s->y_end, &error));
  if (error <= required) return;
  fprintf(stderr, "%s: the reference is good to %.1e only\n", s->name, (double)error);
  exit(EXIT_FAILURE);
}

static void create_chain(Mechanism *s, sunindextype masses, sunrealtype t_end, SUNContext ctx) {
  s->bending    = CHECK_POINTER(bending_chain_create(masses, 9.81, 0.0, 0.0));
  s->chain      = s->bending->rods;
  s->data       = s->chain;
  s->model_data = s->bending;
  CHECK(bending_chain_model(s->bending, 0, ctx, &s->model));
  s->f     = chain_rhs;
  s->c     = chain_constraints;
  s->G     = chain_jacobian;
  s->t_end = t_end;
  allocate_states(s, 4 * masses, 2 * masses, ctx);
  chain_initial(s->chain, s->y0);
  chain_end(s);
}

static void create_chain1(Mechanism *s, SUNContext ctx) { create_chain(s, 1, 20.0, ctx); }
static void create_chain2(Mechanism *s, SUNContext ctx) { create_chain(s, 2, 5.0, ctx); }
static void create_chain3(Mechanism *s, SUNContext ctx) { create_chain(s, 3, 3.0, ctx); }
static void create_chain10(Mechanism *s, SUNContext ctx) { create_chain(s, 10, 2.0, ctx); }
static void create_chain100(Mechanism *s, SUNContext ctx) { create_chain(s, 100, 0.5, ctx); }

static const struct {
  const char *name;
  void (*create)(Mechanism *mechanism, SUNContext ctx);
} catalogue[] = {{"pendulum", create_pendulum},
                 {"slider_crank", create_slider_crank},
                 {"car_axis", create_car_axis},
                 {"knife_edge", create_knife_edge},
                 {"chain1", create_chain1},
                 {"chain2", create_chain2},
                 {"andrews", create_andrews},
                 {"bushing_crank", create_bushing_crank},
                 {"flexible_crank", create_flexible_crank},
                 {"bending_chain", create_bending_chain},
                 {"chain3", create_chain3},
                 {"chain10", create_chain10},
                 {"chain100", create_chain100}};

Mechanism *mechanism_create(const char *name, SUNContext ctx) {
  for (size_t i = 0; i < sizeof catalogue / sizeof catalogue[0]; i++) {
    if (strcmp(name, catalogue[i].name)) continue;
    Mechanism *s = CHECK_POINTER(calloc(1, sizeof *s));
    s->name      = catalogue[i].name;
    catalogue[i].create(s, ctx);
    return s;
  }
  fprintf(stderr, "there is no mechanism \"%s\"\n", name);
  exit(EXIT_FAILURE);
}

void mechanism_free(Mechanism **mechanism) {
  Mechanism *s = *mechanism;
  N_VDestroy(s->y0);
  N_VDestroy(s->y_end);
  if (s->bending) {
    bending_chain_model_free(&s->model);
    bending_chain_free(&s->bending);
  }
  free(s);
  *mechanism = NULL;
}

static sunrealtype largest_difference(N_Vector y, N_Vector reference, sunindextype length) {
  const sunrealtype *a = N_VGetArrayPointer(y), *b = N_VGetArrayPointer(reference);
  sunrealtype error = 0.0;
  for (sunindextype i = 0; i < length; i++) error = fmax(error, fabs(a[i] - b[i]));
  return error;
}

sunrealtype mechanism_error(const Mechanism *s, N_Vector y) {
  return largest_difference(y, s->y_end, s->ncompared > 0 ? s->ncompared : s->n);
}

sunrealtype mechanism_position_error(const Mechanism *s, N_Vector y) {
  return largest_difference(y, s->y_end, s->n / 2);
}

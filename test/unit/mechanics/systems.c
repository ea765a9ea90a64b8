#include "mechanics/systems.h"
#include "support/mech_run.h"

#include <math.h>
#include <models/andrews.h>
#include <models/chain_mechanism.h>
#include <stdlib.h>

static void allocate(System *s, const char *name, CPEquations model, void *user_data) {
  s->name      = name;
  s->model     = model;
  s->user_data = user_data;
  s->nu        = (int)model.nu;
  s->nq        = model.nq > 0 ? (int)model.nq : s->nu;
  s->n         = s->nq + s->nu;
  s->np        = (int)model.np;
  s->nv        = model.nv > model.np ? (int)model.nv : s->np;
  s->y         = vector_of(s->n, NULL);
  s->ewt       = vector_of(s->n, NULL);
  s->normal    = !model.M ? CP_METRIC_ERROR : CP_METRIC_KINETIC;
  if (!model.M) return;
  s->A = model.A_tmpl ? SUNMatClone(model.A_tmpl) : SUNDenseMatrix(s->nv, s->nu, test_context);
  s->M = model.M_tmpl ? SUNMatClone(model.M_tmpl) : SUNDenseMatrix(s->nu, s->nu, test_context);
  if (model.A_tmpl) SUNMatCopy(model.A_tmpl, s->A);
  if (model.M_tmpl) SUNMatCopy(model.M_tmpl, s->M);
}

static void name_quaternions(System *s, const RigidBodies *bodies) {
  s->nquaternions = bodies->nbodies;
  s->frame        = bodies->frame;
  for (int k = 0; k < bodies->nbodies; k++) s->first_q[k] = 7 * k + 3, s->first_u[k] = 6 * k + 3;
}

static void create_bodies(System *s, const char *name, int sparse, CPFrame frame) {
  CPEquations model;
  s->is.bodies.body[0]  = (RigidBody){.m = 2, .J = {0.3, 0.5, 0.7}};
  s->is.bodies.body[1]  = (RigidBody){.m = 1, .J = {0.2, 0.1, 0.25}};
  s->is.bodies.joint[0] = (Joint){
      .kind = JOINT_BALL, .a = 0, .b = 1, .point_a = {0.4, -0.1, 0.2}, .point_b = {-0.3, 0.2, 0.1}};
  s->is.bodies.all = (RigidBodies){.nbodies    = 2,
                                   .njoints    = 1,
                                   .body       = s->is.bodies.body,
                                   .joint      = s->is.bodies.joint,
                                   .g          = {0, 0, -9.81},
                                   .frame      = frame,
                                   .quaternion = s->is.bodies.quaternion};
  ck_assert_int_eq(rigid_body_model(&s->is.bodies.all, sparse, test_context, &model), 0);
  allocate(s, name, model, &s->is.bodies.all);
  name_quaternions(s, &s->is.bodies.all);
  const sunrealtype v[3] = {0, 0, 0}, w[3] = {0, 0, 0};
  rigid_body_place(&s->is.bodies.all, 0, (sunrealtype[]){0.1, 0.2, -0.1},
                   (sunrealtype[]){0.7, -0.4, 0.5}, v, w, s->y);
  rigid_body_place(&s->is.bodies.all, 1, (sunrealtype[]){0.8, 0.1, 0.2},
                   (sunrealtype[]){-0.3, 0.9, 0.2}, v, w, s->y);
}

static void create_loop(System *s) {
  CPEquations model;
  sunrealtype angle[3] = {1.1, 0, 0};
  spatial_four_bar_create(&s->is.loop, (sunrealtype[]){1, 1.5, 1.2}, 1.8, 9.81, CP_FRAME_BODY);
  ck_assert_int_eq(rigid_body_model(&s->is.loop.bodies, 0, test_context, &model), 0);
  allocate(s, "spatial loop", model, &s->is.loop.bodies);
  name_quaternions(s, &s->is.loop.bodies);
  ck_assert_int_eq(spatial_four_bar_close(&s->is.loop, angle), 0);
  spatial_four_bar_place(&s->is.loop, angle, (sunrealtype[]){0, 0, 0}, s->y);
  s->redundant = 1;
}

static void create_four_bar(System *s, int sparse) {
  s->four_bar       = four_bar_create(2, 9.81);
  CPEquations model = four_bar_model(s->four_bar);
  if (sparse) ck_assert_int_eq(four_bar_matrices(2, test_context, &model.M_tmpl, &model.A_tmpl), 0);
  allocate(s, sparse ? "four-bar, sparse" : "four-bar", model, s->four_bar);
  four_bar_state(s->four_bar, 1, 0, s->y);
}

static void create_bending(System *s) {
  CPEquations model;
  s->bending = bending_chain_create(6, 9.81, 100, 1);
  ck_assert_int_eq(bending_chain_model(s->bending, 1, test_context, &model), 0);
  allocate(s, "bending chain", model, s->bending);
  bending_chain_initial(s->bending, 0.3, s->y);
}

static void create_plane(System *s, SystemName name) {
  switch (name) {
  case PENDULUM:
    s->is.pendulum = (Pendulum){1, 9.81};
    allocate(s, "pendulum", pendulum_model(), &s->is.pendulum);
    pendulum_initial(&s->is.pendulum, s->y);
    break;
  case SLIDER_CRANK:
    s->is.slider_crank = slider_crank_haug();
    allocate(s, "slider-crank", slider_crank_model(), &s->is.slider_crank);
    slider_crank_initial(&s->is.slider_crank, s->y);
    break;
  case CAR_AXIS:
    s->is.car_axis = car_axis_testset();
    s->t           = 0.3;
    allocate(s, "car axis", car_axis_model(), &s->is.car_axis);
    car_axis_initial(&s->is.car_axis, s->y);
    break;
  case ANDREWS:
    allocate(s, "Andrews' mechanism", andrews_model(), NULL);
    andrews_initial(s->y);
    break;
  case KNIFE_EDGE:
    s->is.knife_edge = (KnifeEdge){9.81, 0.5, 1};
    allocate(s, "knife edge", knife_edge_model(), &s->is.knife_edge);
    knife_edge_initial(&s->is.knife_edge, s->y);
    break;
  case BUSHING_CRANK:
    s->is.bushing = bushing_crank_stiff();
    allocate(s, "bushing crank", bushing_crank_model(), &s->is.bushing);
    bushing_crank_initial(&s->is.bushing, s->y);
    break;
  case FLEXIBLE_CRANK:
    s->is.flexible = flexible_crank_testset();
    allocate(s, "flexible crank", flexible_crank_model(), &s->is.flexible);
    flexible_crank_initial(s->y);
    break;
  default:
    s->chain = chain_create(5, 9.81);
    allocate(s, "chain by operators", chain_mechanism(s->chain), s->chain);
    chain_initial(s->chain, s->y);
  }
}

/* Gauss-Newton in the metric I, with matrices near the start: quadratic convergence. */
static void make_consistent(System *s) {
  double A[MAX_ROWS * MAX_U], K[MAX_ROWS * MAX_U], W[MAX_U * MAX_U], c[MAX_ROWS], w[MAX_U];
  sunrealtype *y = entries(s->y), *u = y + s->nq;
  system_metric(s, CP_METRIC_L2, 1, y, W);
  for (int k = 0; k < 2 * 20; k++) {
    const int velocities = k >= 20, rows = velocities ? s->nv : s->np;
    system_A(s, y, A);
    system_lift(s, rows, A, W, K);
    if (velocities) system_v(s, y, u, c);
    else system_p(s, y, c);
    for (int j = 0; j < s->nu; j++) {
      w[j] = 0;
      for (int i = 0; i < rows; i++) w[j] -= K[j + i * s->nu] * c[i];
      if (velocities) u[j] += w[j];
    }
    if (!velocities) system_displace(s, y, w, y);
  }
  for (int velocities = 0; velocities < 2; velocities++) {
    if (velocities) system_v(s, y, u, c);
    else system_p(s, y, c);
    for (int i = 0; i < (velocities ? s->nv : s->np); i++) ck_assert_double_le(fabs(c[i]), 1e-10);
  }
}

/* Moves out of special positions, by so little that no mechanism leaves its branch, and into
 * motion. The flexible crank's rod bends by less than 1e-3. */
static void move_off(System *s, SystemName name) {
  const double wander      = name == ANDREWS ? 1e-2 : name == FLEXIBLE_CRANK ? 1e-4 : 0.1;
  unsigned long long state = 12345 + (unsigned long long)name;
  double w[MAX_U];
  sunrealtype *y = entries(s->y);
  for (int j = 0; j < s->nu; j++) w[j] = wander * random_number(&state);
  system_displace(s, y, w, y);
  for (int j = 0; j < s->nu; j++) y[s->nq + j] += random_number(&state);
  make_consistent(s);
  for (int i = 0; i < s->n; i++) entries(s->ewt)[i] = 1 / (1e-6 * fabs(y[i]) + 1e-6);
}

System *system_create(SystemName name) {
  System *s = calloc(1, sizeof *s);
  ck_assert_ptr_nonnull(s);
  switch (name) {
  case FOUR_BAR:
  case FOUR_BAR_SPARSE: create_four_bar(s, name == FOUR_BAR_SPARSE); break;
  case BODIES: create_bodies(s, "two bodies", 0, CP_FRAME_BODY); break;
  case BODIES_IN_SPACE: create_bodies(s, "two bodies, space axes", 1, CP_FRAME_WORLD); break;
  case SPATIAL_LOOP: create_loop(s); break;
  case BENDING_CHAIN: create_bending(s); break;
  default: create_plane(s, name);
  }
  ck_assert_int_le(s->nu, MAX_U);
  ck_assert_int_le(s->nv, MAX_ROWS);
  move_off(s, name);
  s->mech = create_mech(&s->model, s->y, test_context);
  ck_assert_ptr_nonnull(s->mech);
  CPMechSetUserData(s->mech, s->user_data);
  CPObjectSetErrHandlerFn(CP_OBJECT(s->mech), message_log, &s->log);
  return s;
}

static void free_templates(CPEquations *m) {
  SUNMatrix *const tmpl[] = {&m->M_tmpl,  &m->A_tmpl,  &m->K_tmpl,  &m->C_tmpl,  &m->Fz_tmpl,
                             &m->Bq_tmpl, &m->Bu_tmpl, &m->Zq_tmpl, &m->Zu_tmpl, &m->Zz_tmpl};
  for (size_t i = 0; i < sizeof tmpl / sizeof tmpl[0]; i++)
    if (*tmpl[i]) SUNMatDestroy(*tmpl[i]);
}

void system_free(System **address) {
  System *s = *address;
  CPMechFree(&s->mech);
  free_templates(&s->model);
  if (s->A) SUNMatDestroy(s->A);
  if (s->M) SUNMatDestroy(s->M);
  N_VDestroy(s->y);
  N_VDestroy(s->ewt);
  if (s->four_bar) four_bar_free(&s->four_bar);
  if (s->chain) chain_free(&s->chain);
  if (s->bending) bending_chain_free(&s->bending);
  free(s);
  *address = NULL;
}

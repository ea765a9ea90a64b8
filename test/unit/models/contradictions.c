/* model_check on copies of a mechanism with one fault each: the fault is found and named. */
#include "models/car_axis.h"
#include "models/model.h"
#include "models/pendulum.h"
#include "models/slider_crank.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------- wrong functions -- */

static int fails(const CPPlugin *model, sunrealtype t, N_Vector y) {
  (void)model, (void)t, (void)y;
  return 1;
}

static int moved_reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  pendulum_exact(model->data, t, entries(y));
  entries(y)[1] += 1e-9;
  return 0;
}

/* Gives the start at all times: the reference at t_end is another state of the circle. */
static int reference_that_ends(const CPPlugin *model, sunrealtype t, N_Vector y) {
  pendulum_exact(model->data, t, entries(y));
  return t > 0;
}

/* Gives a rod that is too long by a thousandth, except at t = 0. */
static int stretched_reference(const CPPlugin *model, sunrealtype t, N_Vector y) {
  pendulum_exact(model->data, t, entries(y));
  if (t > 0) N_VScale(1.001, y, y);
  return 0;
}

static int negative_lambda(const CPPlugin *model, sunrealtype t, sunrealtype *lambda) {
  const int flag = model_find("pendulum")->reference_lambda(model, t, lambda);
  lambda[0]      = -lambda[0];
  return flag;
}

static sunrealtype kinetic_energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  const Pendulum *p = model->data;
  (void)t;
  return pendulum_energy(p, y) - p->g * entries(y)[1];
}

static sunrealtype negative_energy(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i, (void)t;
  return -slider_crank_energy(model->data, y);
}

static sunrealtype height(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  (void)model, (void)t;
  return entries(y)[1];
}

static sunrealtype not_a_number(const CPPlugin *model, int i, sunrealtype t, N_Vector y) {
  (void)i;
  (void)model, (void)t, (void)y;
  return NAN;
}

static sunrealtype zero(const CPPlugin *model) {
  (void)model;
  return 0;
}

static void no_points(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *xyz) {
  (void)model, (void)t, (void)y, (void)xyz;
}

static int twice_the_gravity(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  Pendulum p = *(const Pendulum *)user_data;
  p.g *= 2;
  return pendulum_rhs(t, y, ydot, &p);
}

static int free_fall(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const Pendulum *p    = user_data;
  const sunrealtype *s = entries(y), rate[4] = {s[2], s[3], 0, -p->g};
  memcpy(entries(ydot), rate, sizeof rate);
  return 0;
}

static int half_the_rate(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const int flag = pendulum_rhs(t, y, ydot, user_data);
  for (int i = 0; i < 2; i++) entries(ydot)[i] /= 2;
  return flag;
}

static int not_finite(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)y, (void)user_data;
  N_VConst(INFINITY, ydot);
  return 0;
}

static int rhs_fails(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)y, (void)ydot, (void)user_data;
  return 1;
}

static int jacobian_without_rates(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G,
                                  void *user_data) {
  const int flag        = pendulum_jacobian(t, y, c, G, user_data);
  SM_ELEMENT_D(G, 1, 0) = 0;
  return flag;
}

static int twice_the_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -2 * ((const Pendulum *)user_data)->g;
  return 0;
}

static int no_centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                          void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

static int no_stiffness(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)K, (void)C, (void)Fz;
  (void)user_data;
  return 0;
}

static int no_turning(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)q, (void)u, (void)udot, (void)Bq, (void)Bu, (void)user_data;
  return 0;
}

static int twice_the_first_column(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  const sunrealtype L   = ((const Pendulum *)user_data)->L;
  SM_ELEMENT_D(A, 0, 0) = 2 * q[0] / L;
  SM_ELEMENT_D(A, 0, 1) = q[1] / L;
  return 0;
}

static int road_at_rest(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                        void *user_data) {
  const CarAxis *a = user_data;
  (void)t;
  v[0] = u[0] * a->L;
  v[1] = 2 * ((q[0] - q[2]) * (u[0] - u[2]) + (q[1] - q[3]) * (u[1] - u[3]));
  return 0;
}

/* ----------------------------------------------------------------------------------- the faults -- */

/* What a function that makes a fault changes; the parts are copies of those of the catalogue. */
typedef struct {
  CPPluginType type;
  CPPluginParameter parameter[MODEL_MOST_PARAMETERS];
  CPPluginQuantity quantity[4];
  CPPlugin *model;
} Copy;

/* Metadata */
static void bad_name(Copy *c) { c->type.name = "Pendulum 2"; }
static void no_name(Copy *c) { c->type.name = NULL; }
static void no_title(Copy *c) { c->type.title = ""; }
static void no_source(Copy *c) { c->type.source = NULL; }
static void no_end(Copy *c) { c->type.t_end = 0; }
static void parameter_beyond(Copy *c) { c->model->parameter[1] = 5000; }
static void parameter_nan(Copy *c) { c->model->parameter[1] = NAN; }
static void default_beyond(Copy *c) { c->parameter[0].value = -1; }
static void same_names(Copy *c) { c->parameter[1].name = "L"; }
static void no_meaning(Copy *c) { c->parameter[1].meaning = NULL; }
static void nameless_coordinate(Copy *c) {
  static const CPPluginCoordinate nameless[] = {{"", "m", "x"}};
  c->type.coordinates                        = nameless;
  c->type.ncoordinates                       = 1;
}
static void same_coordinates(Copy *c) {
  static const CPPluginCoordinate twice[] = {{"x", "m", "x"}, {"x", "m", "y"}};
  c->type.coordinates                     = twice;
}
static void coordinates_without_number(Copy *c) { c->type.ncoordinates = 0; }
static void more_coordinates(Copy *c) {
  static const CPPluginCoordinate three[] = {{"x", "m", "x"}, {"y", "m", "y"}, {"z", "m", "z"}};
  c->type.coordinates                     = three;
  c->type.ncoordinates                    = 3;
}
static void velocity_like_a_coordinate(Copy *c) {
  c->type.velocities  = c->type.coordinates;
  c->type.nvelocities = 1;
}
static void same_velocities(Copy *c) {
  static const CPPluginCoordinate twice[] = {{"vx", "m/s", "x"}, {"vx", "m/s", "y"}};
  c->type.velocities                      = twice;
  c->type.nvelocities                     = 2;
}
static void velocity_without_unit(Copy *c) {
  static const CPPluginCoordinate bare[] = {{"vx", NULL, "x"}};
  c->type.velocities                     = bare;
  c->type.nvelocities                    = 1;
}
static void more_velocities(Copy *c) {
  static const CPPluginCoordinate three[] = {
      {"vx", "m/s", "x"}, {"vy", "m/s", "y"}, {"vz", "m/s", "z"}};
  c->type.velocities  = three;
  c->type.nvelocities = 3;
}
static void no_create(Copy *c) { c->type.create = NULL; }
static void no_scale(Copy *c) { c->quantity[0].scale_of = zero; }
static void no_value(Copy *c) { c->quantity[0].value = NULL; }
static void roots_without_function(Copy *c) { c->model->nroots = 1; }
static void too_many_roots(Copy *c) { c->model->nroots = 5; }
static void stops_out_of_order(Copy *c) {
  c->model->nstops  = 2;
  c->model->stop[0] = 2;
  c->model->stop[1] = 1;
}
static void stop_beyond(Copy *c) {
  c->model->nstops  = 1;
  c->model->stop[0] = 1000;
}
static int no_event(const CPPlugin *model, CPMech mech, sunrealtype t, N_Vector y, const int *found) {
  (void)model, (void)mech, (void)t, (void)y, (void)found;
  return 0;
}
static int no_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)y, (void)user_data;
  g[0] = 1;
  return 0;
}
static void bad_direction(Copy *c) {
  c->type.roots          = no_roots;
  c->type.event          = no_event;
  c->model->nroots       = 1;
  c->model->direction[0] = 2;
}
/* Contacts of the bouncing ball, which is itself unchanged */
static CPContactPoint floor_of(const Copy *c) { return c->model->contact[0]; }
static void contacts_of_nothing(Copy *c) { c->model->contact = NULL; }
static void contacts_and_rhs(Copy *c) { c->model->f = not_finite; }
static void contacts_and_stops(Copy *c) {
  c->model->nstops  = 1;
  c->model->stop[0] = 1;
}
static void contacts_without_b(Copy *c) { c->model->mech.b = NULL; }
static void velocities_compared(Copy *c) { c->model->ncompared = 2; }
static void contact_of_no_row(Copy *c) {
  static CPContactPoint wrong;
  wrong             = floor_of(c);
  wrong.normal      = 1;
  c->model->contact = &wrong;
}
static void contact_along_no_row(Copy *c) {
  static CPContactPoint wrong;
  wrong             = floor_of(c);
  wrong.tangent     = 1;
  wrong.ntangents   = 1;
  c->model->contact = &wrong;
}
static void open_loops(Copy *c) { c->model->closure = -1e-12; }
static void dense_alone(Copy *c) { c->model->dense_events = 1, c->model->dense_time = 1; }
static void dense_at_once(Copy *c) { c->model->dense_events = 10; }
static void frame_of_ball(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  model_find("bouncing_ball")->contact_frames(model, t, y, frame);
}
static void frame_that_leans(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  frame_of_ball(model, t, y, frame);
  frame[6] = frame[7] = sqrt(0.5);
}
static void frame_too_long(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  frame_of_ball(model, t, y, frame);
  frame[4] = 1.01;
}
static void frame_of_nowhere(const CPPlugin *model, sunrealtype t, N_Vector y, sunrealtype *frame) {
  frame_of_ball(model, t, y, frame);
  frame[2] = NAN;
}
static void leaning_frame(Copy *c) { c->type.contact_frames = frame_that_leans; }
static void long_frame(Copy *c) { c->type.contact_frames = frame_too_long; }
static void nowhere_frame(Copy *c) { c->type.contact_frames = frame_of_nowhere; }
static void start_below_the_floor(Copy *c) { entries(c->model->y0)[0] = -0.001; }
static void put_shape(CPPlugin *model, const CPPluginShape *shape) {
  free(model->drawing.shape);
  model->drawing.shape   = malloc(sizeof *shape);
  *model->drawing.shape  = *shape;
  model->drawing.nshapes = 1;
}
static void shape_of_nowhere(Copy *c) {
  put_shape(c->model, &(CPPluginShape){CP_SHAPE_BOX, {0, 1, 1, 2}});
}
static void shape_of_no_kind(Copy *c) {
  put_shape(c->model, &(CPPluginShape){CP_SHAPE_WHEEL + 1, {0, 1, 1, 1}});
}
static void segment_of_no_kind(Copy *c) {
  c->model->drawing.segment_kind[0] = (CPPluginSegmentKind)(CP_SEGMENT_SPRING + 1);
}
static void segment_to_nowhere(Copy *c) { c->model->drawing.segment[0][1] = 2; }
static void segment_from_nowhere(Copy *c) { c->model->drawing.segment[0][0] = -1; }
static void no_drawing(Copy *c) { c->type.points = NULL; }
static void points_not_set(Copy *c) { c->type.points = no_points; }
static void moving_ground(Copy *c) { c->model->drawing.kind[1] = CP_POINT_GROUND; }

/* Sizes */
static void longer_state(Copy *c) { c->model->n = 5; }
static void one_auxiliary(Copy *c) { c->model->mech.nz = 1; }
static void no_equations(Copy *c) { c->model->mech.nu = 0, c->model->f = NULL; }
static void constraints_without_number(Copy *c) { c->model->m = 0; }
static void number_without_constraints(Copy *c) { c->model->c = NULL; }
static void no_rhs(Copy *c) { c->model->f = NULL; }
static void compared_beyond(Copy *c) { c->model->ncompared = 5; }
static void transposed_template(Copy *c) {
  c->model->G_tmpl = SUNDenseMatrix(PENDULUM_N, PENDULUM_M, test_context);
}

/* States */
static void start_off_the_circle(Copy *c) { entries(c->model->y0)[0] = 1.001; }
static void start_along_the_rod(Copy *c) { entries(c->model->y0)[2] = 0.001; }
static void start_not_finite(Copy *c) { entries(c->model->y0)[3] = NAN; }
static void no_reference(Copy *c) { c->type.reference = NULL; }
static void no_reference_error(Copy *c) { c->model->reference_error = 0; }
static void reference_unknown(Copy *c) { c->type.reference = fails; }
static void reference_off_at_start(Copy *c) { c->type.reference = moved_reference; }
static void reference_off_at_end(Copy *c) { c->type.reference = stretched_reference; }
static void reference_short(Copy *c) { c->type.reference = reference_that_ends; }
static void wrong_sign(Copy *c) { c->type.reference_lambda = negative_lambda; }

/* Equations */
static void wrong_gravity(Copy *c) { c->model->f = twice_the_gravity; }
static void wrong_rate(Copy *c) { c->model->f = half_the_rate; }
static void infinite_rhs(Copy *c) { c->model->f = not_finite; }
static void failing_rhs(Copy *c) { c->model->f = rhs_fails; }
static void ode_leaves(Copy *c) { c->model->f = free_fall, c->model->mech.nu = 0; }
static void wrong_G(Copy *c) { c->model->G = jacobian_without_rates; }
static void wrong_f(Copy *c) {
  c->model->mech.f         = twice_the_force;
  c->type.reference_lambda = NULL; /* would be detected first */
}
static void wrong_A(Copy *c) { c->model->mech.A = twice_the_first_column; }
static void wrong_b(Copy *c) { c->model->mech.b = no_centripetal; }
static void wrong_K(Copy *c) { c->model->mech.dynamics_jac = no_stiffness; }
static void wrong_Bq(Copy *c) { c->model->mech.constraint_jac = no_turning; }
static void wrong_v(Copy *c) { c->model->mech.v = road_at_rest; }
static void no_p(Copy *c) { c->model->mech.p = NULL; }

/* Quantities */
static void energy_not_conserved(Copy *c) { c->quantity[0].value = kinetic_energy; }
static void energy_not_dissipated(Copy *c) { c->quantity[0].value = negative_energy; }
static int always(const CPPlugin *model, int i) { return model && i >= 0; }
static void energy_lossless(Copy *c) { c->type.conserves = always; }
static void height_not_conserved(Copy *c) { c->quantity[0].value = height; }
static void energy_not_finite(Copy *c) { c->quantity[0].value = not_a_number; }

static const struct {
  const char *model;
  void (*spoil)(Copy *copy);
  const char *says;
} spoilt[] = {
    {"pendulum", bad_name, "the name \"Pendulum 2\""},
    {"pendulum", no_name, "the name \"\""},
    {"pendulum", no_title, "no title"},
    {"pendulum", no_source, "no source"},
    {"pendulum", no_end, "t_end must be > 0, and is 0"},
    {"pendulum", parameter_beyond, "parameter g = 5000 is not from 0.001 to 1000"},
    {"pendulum", parameter_nan, "parameter g = nan"},
    {"pendulum", default_beyond, "the default -1 of parameter L"},
    {"pendulum", same_names, "two parameters L"},
    {"pendulum", no_meaning, "parameter 1 has no name, unit or meaning"},
    {"pendulum", nameless_coordinate, "coordinate 0 has no name"},
    {"pendulum", same_coordinates, "two coordinates x"},
    {"pendulum", coordinates_without_number, "0 coordinates have names"},
    {"pendulum", more_coordinates, "3 coordinates have names, but there are 2"},
    {"pendulum", velocity_like_a_coordinate, "velocity x has the name of a coordinate"},
    {"pendulum", same_velocities, "two velocities vx"},
    {"pendulum", velocity_without_unit, "velocity 0 has no name, unit or meaning"},
    {"pendulum", more_velocities, "3 velocities have names, but there are 2"},
    {"pendulum", no_create, "no function create"},
    {"pendulum", no_scale, "the scale of energy must be > 0"},
    {"pendulum", no_value, "quantity 0 has no"},
    {"pendulum", roots_without_function, "1 roots, but no function"},
    {"pendulum", too_many_roots, "5 roots"},
    {"pendulum", bad_direction, "direction of root 0"},
    {"pendulum", stops_out_of_order, "stop 1 at t = 1"},
    {"pendulum", stop_beyond, "stop 0 at t = 1000"},
    {"pendulum", segment_to_nowhere, "segment 0 of the drawing ends at point 2, but there are 2"},
    {"pendulum", segment_from_nowhere, "ends at point -1"},
    {"pendulum", segment_of_no_kind, "segment 0 of the drawing has kind 3"},
    {"pendulum", shape_of_nowhere,
     "shape 0 of the drawing has kind 0 and point 2, but there are 4 kinds and 2 points"},
    {"pendulum", shape_of_no_kind, "shape 0 of the drawing has kind 4"},
    {"pendulum", no_drawing, "no drawing"},
    {"pendulum", points_not_set, "point 0 of the drawing is not finite"},
    {"pendulum", moving_ground, "point 1 of the drawing is ground"},
    {"pendulum", longer_state, "n is 5, but y0 has 4"},
    {"pendulum", one_auxiliary, "nq + nu + nz = 5"},
    {"pendulum", no_equations, "neither a CPMech nor f"},
    {"pendulum", constraints_without_number, "m is 0, but c is given"},
    {"pendulum", number_without_constraints, "m is 2, but c is NULL"},
    {"pendulum", no_rhs, "c is given, but not f"},
    {"pendulum", compared_beyond, "ncompared is 5, but n is 4"},
    {"pendulum", transposed_template, "G_tmpl is not m x n = 2 x 4"},
    {"pendulum", no_p, "p must be given"},
    {"pendulum", start_off_the_circle, "y0 is inconsistent: constraint 0 of c"},
    {"pendulum", start_along_the_rod, "y0 is inconsistent: constraint 1 of c"},
    {"pendulum", start_not_finite, "component 3 of y0 is not finite"},
    {"pendulum", no_reference, "known, but there is no reference"},
    {"pendulum", no_reference_error, "reference_error must be > 0"},
    {"pendulum", reference_unknown, "the reference is not known at t = 0"},
    {"pendulum", reference_off_at_start, "component 1 of y0 is 0, but 1e-09"},
    {"pendulum", reference_off_at_end, "the reference at t_end is inconsistent"},
    {"pendulum", reference_short, "the reference is not known at t_end = 20"},
    {"pendulum", wrong_sign, "multiplier 0 of the reference at t = 20"},
    {"pendulum", wrong_gravity, "of f is"},
    {"pendulum", wrong_rate, "but the velocity is"},
    {"pendulum", infinite_rhs, "component 0 of f is not finite"},
    {"pendulum", failing_rhs, "f fails near y0"},
    {"pendulum", ode_leaves, "f leaves constraint 1"},
    {"pendulum", wrong_G, "G(1, 0) is 0, and the derivative of c"},
    {"pendulum", wrong_f, "CPMech's acceleration is"},
    {"pendulum", wrong_A, "A(0, 0) is 2"},
    {"pendulum", wrong_b, "b[0] is 0"},
    {"pendulum", wrong_K, "dynamics_jac: K(0, 0)"},
    {"pendulum", wrong_Bq, "constraint_jac: B"},
    {"car_axis", wrong_v, "of the CPMech is violated"},
    {"pendulum", energy_not_conserved, "energy is not conserved"},
    {"slider_crank", energy_not_dissipated, "energy is not dissipated"},
    {"slider_crank", energy_lossless, "energy is not conserved"},
    {"spatial_four_bar", height_not_conserved, "energy is not conserved: it changes by"},
    {"pendulum", energy_not_finite, "energy is not finite"},
    {"bouncing_ball", contacts_of_nothing, "1 contacts, but contact is NULL"},
    {"bouncing_ball", contacts_and_rhs, "f is given"},
    {"bouncing_ball", contacts_and_stops, "there are stops"},
    {"bouncing_ball", contacts_without_b, "M, A and b"},
    {"bouncing_ball", velocities_compared, "ncompared is 2, beyond the 1 positions"},
    {"bouncing_ball", contact_of_no_row, "row 1 of contact 0 is not from 0 to np - 1 = 0"},
    {"bouncing_ball", contact_along_no_row, "are not from np = 1 to nv - 1 = 0"},
    {"slider_crank", open_loops, "closure must be 0 or positive, and is -1e-12"},
    {"bouncing_ball", dense_alone,
     "dense_events must be 0 or at least 2, and dense_time positive: 1, 1"},
    {"bouncing_ball", dense_at_once, "dense_time positive: 10, 0"},
    {"bouncing_ball", leaning_frame, "contact \"floor\" has no finite place with unit vectors"},
    {"bouncing_ball", long_frame, "unit vectors at right angles"},
    {"bouncing_ball", nowhere_frame, "no finite place"},
    {"bouncing_ball", start_below_the_floor, "the gap of \"floor\" is -0.001 at the start"},
};
enum { NSPOILT = sizeof spoilt / sizeof spoilt[0] };

static void copy_of(const char *name, Copy *copy) {
  char message[200];
  copy->type = *model_find(name);
  ck_assert_int_le(copy->type.nquantities, 4);
  for (int i = 0; i < copy->type.nparameters; i++) copy->parameter[i] = copy->type.parameters[i];
  for (int i = 0; i < copy->type.nquantities; i++) copy->quantity[i] = copy->type.quantities[i];
  copy->type.parameters = copy->parameter;
  copy->type.quantities = copy->quantity;
  copy->model           = CPPluginCreate(&copy->type, NULL, test_context, message, sizeof message);
  ck_assert_msg(copy->model != NULL, "%s", message);
}

START_TEST(a_contradiction_is_found_and_named) {
  char message[500];
  Copy copy;
  copy_of(spoilt[_i].model, &copy);
  ck_assert_msg(model_check(copy.model, message, sizeof message) == 0, "%s", message);
  spoilt[_i].spoil(&copy);
  ck_assert_int_eq(model_check(copy.model, message, sizeof message), 1);
  ck_assert_mentions(message, spoilt[_i].says);
  if (copy.type.name) ck_assert_mentions(message, copy.type.name);
  CPPluginFree(&copy.model);
}
END_TEST

START_TEST(a_message_that_does_not_fit_is_cut) {
  char message[12] = "xxxxxxxxxxx";
  Copy copy;
  copy_of("pendulum", &copy);
  copy.type.t_end = -1;
  ck_assert_int_eq(model_check(copy.model, message, 11), 1);
  ck_assert_str_eq(message, "pendulum: ");
  ck_assert_int_eq(model_check(copy.model, NULL, 0), 1);
  CPPluginFree(&copy.model);
}
END_TEST

TEST_SUITE(contradictions) {
  Suite *suite = suite_create("models/contradictions");
  TCase *tc    = tcase_create("contradictions");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_contradiction_is_found_and_named, 0, NSPOILT);
  tcase_add_test(tc, a_message_that_does_not_fit_is_cut);
  suite_add_tcase(suite, tc);
  return suite;
}

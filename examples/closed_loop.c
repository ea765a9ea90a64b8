/* Example: assembling a closed loop with redundant constraints, a four-bar linkage in space
 * with four parallel revolute joints (models/spatial_four_bar.h). 20 rows of constraints have rank
 * 17, so that the multipliers are not unique; the motion and the reactions on each body are.
 *
 *   M u' + A^T lambda = f,   A u' = b,   p(q) = 0
 *
 *   crank 0.4 m, coupler 0.9 m, rocker 0.7 m, base 0.8 m; 1 kg per metre; g = 9.81 m/s^2
 *
 * The crank is at 60 degrees and turns with 3 rad/s. Both are held while the other rods, whose
 * initial positions are rough, tilted and apart, are moved to consistent positions; the weights make
 * the rocker move a hundred times less readily than the coupler. The exact positions are the
 * intersection of two circles. Then the base is moved so far away that the loop cannot be closed.
 *
 * Run:       closed_loop
 * Expected:  the assembled angles next to those from the circles, rank and uniqueness, the resultant
 *            of the reactions on each rod, five lines of the motion with its energy, the message
 *            about the impossible loop, and "ok". The exit code is 1 if the physics is wrong, and 2
 *            if a call failed.
 */
#include "check_flag.h"
#include "models/spatial_four_bar.h"
#include <math.h>
#include <nvector/nvector_serial.h>

static const sunrealtype lengths[3] = {0.4, 0.9, 0.7}, base = 0.8, g = 9.81, tol = 1e-8;

static sunrealtype angle_of(const RigidBodies *bodies, int body, N_Vector y) {
  sunrealtype x[3] = {1, 0, 0};
  rigid_body_direction(bodies, body, y, x);
  return atan2(x[1], x[0]);
}

/* y: out, with coupler and rocker about 20 degrees off, detached from the crank, and out of the plane */
static void rough_guess(const SpatialFourBar *linkage, const sunrealtype exact[3], N_Vector y) {
  const sunrealtype angle[3] = {exact[CRANK], exact[COUPLER] + 0.3, exact[ROCKER] - 0.3};
  const sunrealtype rate[3]  = {3, 0, 0};
  sunrealtype *q             = N_VGetArrayPointer(y);
  spatial_four_bar_place(linkage, angle, rate, y);
  for (int body = COUPLER; body <= ROCKER; body++) {
    for (int k = 0; k < 3; k++) q[7 * body + k] += 0.1;
    q[7 * body + 4] += 0.1;
  }
}

/* Weights, and the free components: all except the attitude and angular velocity of the crank */
static void weights_and_mask(N_Vector weights, N_Vector id) {
  sunrealtype *w = N_VGetArrayPointer(weights), *is_free = N_VGetArrayPointer(id);
  N_VConst(1, weights);
  N_VConst(1, id);
  for (int k = 0; k < 7; k++) w[7 * ROCKER + k] = 100;
  for (int k = 3; k < 7; k++) is_free[7 * CRANK + k] = 0;
  for (int k = 3; k < 6; k++) is_free[21 + 6 * CRANK + k] = 0;
}

/* Receives the messages, which are only kept by default */
static void tell(int code, const char *function, const char *msg, void *data) {
  (void)data;
  printf("%s (%d): %s\n", function, code, msg);
}

static CPMech create(SpatialFourBar *linkage, N_Vector y, SUNContext ctx) {
  CPEquations model;
  CHECK(rigid_body_model(&linkage->bodies, 0, ctx, &model));
  CPModel made = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, y, ctx);
  CPModelFree(&made);
  CHECK_NEW(mech);
  CHECK(CPMechSetUserData(mech, &linkage->bodies));
  rigid_body_model_free(&model);
  return mech;
}

/* Prints the resultants. Returns 0 if the power vanishes, and the rank is 17 and reported as such */
static int report_reactions(CPMech mech, N_Vector y) {
  static const char *const name[3] = {"crank", "coupler", "rocker"};
  sunrealtype reaction[18];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .reaction = reaction};
  CHECK(CPMechEvaluate(mech, 0, y, &out));
  printf("rank %ld of %d rows, multipliers %s\n", (long int)out.rank, SPATIAL_FOUR_BAR_ROWS,
         out.unique ? "unique" : "not unique");
  for (int i = 0; i < 3; i++)
    printf("%-8s reactions (%8.4f, %8.4f, %8.4f) N, (%8.4f, %8.4f, %8.4f) N m\n", name[i],
           reaction[6 * i], reaction[6 * i + 1], reaction[6 * i + 2], reaction[6 * i + 3],
           reaction[6 * i + 4], reaction[6 * i + 5]);
  return out.rank != 17 || out.unique || fabs(out.power) > 1e-10;
}

/* Integrates for one second. Returns 0 if the energy is conserved and the loop stays closed */
static int move(CPMech mech, SpatialFourBar *linkage, N_Vector y, SUNContext ctx) {
  const sunrealtype energy = rigid_body_energy(&linkage->bodies, y);
  CPIntegrator mem         = CPIntegratorCreate("BDF", ctx);
  CHECK_NEW(mem);
  CHECK(CPMechAttach(mech, mem, 0, y));
  CHECK(CPIntegratorSStolerances(mem, tol, tol));
  CHECK(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000));

  sunrealtype t = 0, worst_energy = 0, worst_loop = 0;
  for (int i = 1; i <= 5; i++) {
    CPMechOutput out = CP_INIT(CPMechOutput);
    CHECK(CPIntegratorEvolve(mem, i / 5.0, y, &t, CV_NORMAL));
    CHECK(CPMechEvaluate(mech, t, y, &out));
    const sunrealtype gained = rigid_body_energy(&linkage->bodies, y) - energy;
    printf("t = %.1f s   crank at %8.4f rad   energy %8.1e J   loop open by %7.1e m\n", t,
           angle_of(&linkage->bodies, CRANK, y), gained, out.position);
    worst_energy = fmax(worst_energy, fabs(gained));
    worst_loop   = fmax(worst_loop, out.position);
  }

  /* A step has an error of at most dw = tol (1 + |u|) in velocities, where |u| < 10 here, and of
     |u| dw in the energy for each of the 2 kg. */
  long int steps;
  CHECK(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps));
  CPIntegratorFree(&mem);
  return worst_energy > 2 * 10 * tol * (1 + 10) * (sunrealtype)steps || worst_loop > tol;
}

int main(void) {
  SpatialFourBar linkage, torn;
  spatial_four_bar_create(&linkage, lengths, base, g, CP_FRAME_BODY);
  spatial_four_bar_create(&torn, lengths, base + 2, g, CP_FRAME_BODY);

  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  N_Vector y = N_VNew_Serial(SPATIAL_FOUR_BAR_N, ctx);
  CHECK_NEW(y);
  N_Vector weights = N_VClone(y), id = N_VClone(y);
  CHECK_NEW(weights);
  CHECK_NEW(id);
  CPMech mech = create(&linkage, y, ctx), impossible = create(&torn, y, ctx);
  weights_and_mask(weights, id);

  sunrealtype exact[3] = {acos(SUN_RCONST(0.5))}, off = 0;
  spatial_four_bar_close(&linkage, exact);
  rough_guess(&linkage, exact, y);
  CHECK(CPMechCalcIC(mech, 0, y, weights, id, NULL, NULL));
  for (int i = 0; i < 3; i++) {
    const sunrealtype angle = angle_of(&linkage.bodies, i, y);
    printf("rod %d at %9.6f rad, circles: %9.6f\n", i, angle, exact[i]);
    off = fmax(off, fabs(angle - exact[i]));
  }
  int wrong = off > 1e-9;
  wrong |= report_reactions(mech, y);
  wrong |= move(mech, &linkage, y, ctx);

  printf("base at %.1f m\n", torn.base);
  rough_guess(&torn, exact, y);
  CHECK(CPObjectSetErrHandlerFn(CP_OBJECT(impossible), tell, NULL));
  wrong |= CPMechCalcIC(impossible, 0, y, weights, id, NULL, NULL) != CP_IC_FAIL;
  printf("%s\n", wrong ? "WRONG: the assembly, the rank, the energy or the loop is off" : "ok");

  CPMechFree(&mech);
  CPMechFree(&impossible);
  N_VDestroy(y);
  N_VDestroy(weights);
  N_VDestroy(id);
  CHECK(SUNContext_Free(&ctx));
  return wrong ? 1 : 0;
}

/* Example: how rough may a blackboard be for a piece of chalk that is pushed along it? A rod slides on its end, leaning
 * forwards: friction presses its foot into the floor. Above some coefficient of friction no normal force can hold the foot, and it
 * jumps: P. Painleve, Comptes Rendus 121 (1895) 112-115.
 *
 * The normal acceleration of the foot for each newton of the normal force is positive as long as the rod can slide. For a
 * uniform rod of mass m at the angle theta,
 *
 *   n^T W (n - mu s) = (1 + 3 cos(theta)^2 - 3 mu sin(theta) cos(theta)) / m
 *
 * It is zero at mu = (1/3 + cos(theta)^2) / (sin(theta) cos(theta)), which is least, 4/3, at tan(theta) = 2.
 *
 * The criterion is linear in mu, so that two values give the limit at an angle; the least of these is found by golden sections.
 *
 * Run:       chalk
 * Expected:  the limit of mu for angles from 40 to 80 degrees, with the closed form, then the least one, 1.333333 at 63.43
 *            degrees, and "ok". The exit code is 1 if one of them is wrong, and 2 if a call failed.
 */
#include "check_flag.h"
#include "models/floor_body.h"
#include <cpodes/cpodes_contact.h>
#include <math.h>
#include <nvector/nvector_serial.h>

typedef struct {
  CPContact foot;
  N_Vector y; /* x, y, theta and their rates: the foot slides to the left */
  sunrealtype mu;
} Chalk;

/* The present friction of the board */
static int board(int i, CPContactLaw *law, void *chalk) {
  (void)i;
  law->mu = law->mu_static = ((const Chalk *)chalk)->mu;
  return 0;
}

static sunrealtype criterion(Chalk *c, sunrealtype theta, sunrealtype mu) {
  sunrealtype value;
  N_VGetArrayPointer(c->y)[2] = theta;
  c->mu                       = mu;
  CHECK(CPContactPainleve(c->foot, 0, c->y, &value));
  return value;
}

/* The largest mu at which the chalk slides at this angle */
static sunrealtype limit(Chalk *c, sunrealtype theta) {
  const sunrealtype smooth = criterion(c, theta, 0), rough = criterion(c, theta, 1);
  return smooth / (smooth - rough);
}

int main(void) {
  const sunrealtype degree = acos(-1.0) / 180, l = 0.08, m = 0.01, golden = (sqrt(5) - 1) / 2;
  const FloorBody rod     = {.m = m, .J = m * l * l / 12, .g = 9.81, .npoints = 1, .a = {-l / 2}};
  const CPEquations model = floor_body_model(&rod);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "foot", .normal = 0, .tangent = 1,
                                .ntangents = 1,           .law.mu = 1};
  Chalk chalk;
  SUNContext ctx;
  CHECK(SUNContext_Create(SUN_COMM_NULL, &ctx));
  CHECK_NEW(chalk.y = N_VNew_Serial(6, ctx));
  N_VConst(0, chalk.y);
  N_VGetArrayPointer(chalk.y)[3] = -0.1;
  CPModel made                   = CPModelCreate(&model);
  CHECK_NEW(made);
  CPMech mech = CPMechCreate(made, chalk.y, ctx);
  CHECK_NEW(mech);
  CPModelFree(&made);
  CHECK(CPMechSetUserData(mech, (void *)&rod));
  CHECK_NEW(chalk.foot = CPContactCreate(mech, 1, &point));
  CHECK(CPContactSetLawFn(chalk.foot, board, &chalk));

  sunrealtype worst = 0;
  for (int angle = 40; angle <= 80; angle += 10) {
    const sunrealtype c = cos(angle * degree), s = sin(angle * degree),
                      mu = limit(&chalk, angle * degree), exact = (1.0 / 3 + c * c) / (s * c);
    printf("%d degrees: slides up to mu = %.6f, closed form %.6f\n", angle, mu, exact);
    worst = fmax(worst, fabs(mu - exact));
  }
  sunrealtype low = 40 * degree, high = 80 * degree;
  while (high - low > 1e-7) {
    const sunrealtype left = high - golden * (high - low), right = low + golden * (high - low);
    if (limit(&chalk, left) < limit(&chalk, right)) high = right;
    else low = left;
  }
  const sunrealtype theta = (low + high) / 2, least = limit(&chalk, theta);
  printf("at any angle up to mu = %.6f, that of %.2f degrees\n", least, theta / degree);

  /* Near its minimum the limit is flat: roundoff u hides it within sqrt(u). */
  const int ok = worst <= 1e-12 && fabs(least - 4.0 / 3) <= 1e-12 && fabs(tan(theta) - 2) <= 1e-6;
  printf("%s\n", ok ? "ok" : "WRONG: not the limits of the closed form");
  CPContactFree(&chalk.foot);
  CPMechFree(&mech);
  N_VDestroy(chalk.y);
  CHECK(SUNContext_Free(&ctx));
  return ok ? 0 : 1;
}

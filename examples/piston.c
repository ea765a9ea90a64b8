/* Example: a text with units and a table become functions with exact derivatives. The pin of a piston is at
 *
 *   x(phi) = r cos phi + sqrt(l^2 - (r sin phi)^2),    r = 45 mm,  l = 150 mm,
 *
 * and with the gas pressure p(phi), a table of 73 rows over two turns, the torque of the gas on the crank is -A p(phi) x'(phi), with the
 * piston's area A. Without friction its work in a cycle is that of the gas, the integral of -A p x' dphi.
 *
 *   p = p_0 + p_1 (1 + cos(phi/2))/2,  p_0 = 1 bar, p_1 = 39 bar, of which the table has the values every 10 degrees
 *
 * The derivatives of x are compared with Heywood's formulas (Internal Combustion Engine Fundamentals, section 2.2), those of
 * the quintic spline with those of p, and a mistake in a text is shown with its message.
 *
 * Run:       piston
 * Expected:  the pin's position, speed and acceleration at 3000 rpm, the errors, the message, and "ok". The exit code is 1 if
 *            an error is too large, and 2 if a call failed.
 */
#include "check_flag.h"

#include <cpodes/cpodes_language.h>
#include <math.h>

enum { ROWS = 73 };

static const CPDefinition lengths[] = {{CP_SIZED(CPDefinition), .name = "r", .text = "45 mm"},
                                       {CP_SIZED(CPDefinition), .name = "rod", .text = "150 mm"}};

int main(void) {
  static const char *const variable[] = {"phi"}, *const unit[] = {"deg"};
  CPFunctionOptions position = {CP_SIZED(CPFunctionOptions),
                                .text         = "r*cos(phi) + sqrt(rod^2 - (r*sin(phi))^2)",
                                .nvariables   = 1,
                                .variable     = variable,
                                .unit         = unit,
                                .result       = "m",
                                .ndefinitions = 2,
                                .definition   = lengths};
  CPFunction x, p;
  CHECK(CPFunctionCreate(&position, &x));

  /* the table, in degrees and bar */
  sunrealtype angle[ROWS], bar[ROWS];
  const sunrealtype degree = acos(-1.0) / 180;
  for (int i = 0; i < ROWS; i++) {
    angle[i] = 10 * i;
    bar[i]   = 1 + 39 * (1 + cos(angle[i] * degree / 2)) / 2;
  }
  bar[ROWS - 1]                    = bar[0]; /* exactly */
  const CPTable table              = {CP_SIZED(CPTable), .order = 5, .ends = CP_ENDS_PERIODIC,
                                      .nx = ROWS,        .x = angle, .value = bar};
  const CPFunctionOptions pressure = {CP_SIZED(CPFunctionOptions), .table = &table, .nvariables = 1,
                                      .unit = unit, .result = "bar"};
  CHECK(CPFunctionCreate(&pressure, &p));

  const sunrealtype r = 0.045, l = 0.15, omega = 100 * acos(-1.0);
  sunrealtype error[3] = {0, 0, 0}, spline[3] = {0, 0, 0}, phi = 60 * degree, s[3], g[3];
  CHECK(CPFunctionEvaluate(x, &phi, s, s + 1, s + 2));
  printf("at 60 degrees and 3000 rpm: x = %.6f m, v = %.4f m/s, a = %.1f m/s^2\n", s[0],
         omega * s[1], omega * omega * s[2]);
  for (int i = 0; i < 720; i++) {
    phi = (i + 0.5) * degree;
    CHECK(CPFunctionEvaluate(x, &phi, s, s + 1, s + 2));
    const sunrealtype c = cos(phi), n = sin(phi), w = sqrt(l * l - r * r * n * n);
    error[0] = fmax(error[0], fabs(s[0] - (r * c + w)));
    error[1] = fmax(error[1], fabs(s[1] + r * n * (1 + r * c / w)));
    error[2] = fmax(error[2], fabs(s[2] + r * c + r * r * (c * c - n * n) / w +
                                   pow(r * r * c * n, 2) / (w * w * w)));
    CHECK(CPFunctionEvaluate(p, &phi, g, g + 1, g + 2));
    spline[0] = fmax(spline[0], fabs(g[0] - 1e5 * (1 + 39 * (1 + cos(phi / 2)) / 2)));
    spline[1] = fmax(spline[1], fabs(g[1] + 1e5 * 39 * sin(phi / 2) / 4));
    spline[2] = fmax(spline[2], fabs(g[2] + 1e5 * 39 * cos(phi / 2) / 8));
  }
  printf("errors of x, x', x'': %.0e m, %.0e m, %.0e m\n", error[0], error[1], error[2]);
  printf("errors of the spline and its derivatives: %.0e Pa, %.0e Pa, %.0e Pa\n", spline[0],
         spline[1], spline[2]);

  position.text  = "r*cos(phi) + sqrt(rod - (r*sin(phi))^2)";
  const int flag = CPFunctionCreate(&position, &(CPFunction){NULL});
  printf("%s\n", CPObjectGetLastMessage(NULL));

  /* With h = 10 degrees, errors of the spline are of order h^6, h^5 and h^4 of the sixth derivative, 39 bar/2^7 (de Boor). */
  const sunrealtype h = 10 * degree, sixth = 39e5 / 128;
  const int ok = error[0] < 1e-15 && error[1] < 1e-15 && error[2] < 1e-15 && flag == CP_ILL_INPUT &&
                 spline[0] < sixth * pow(h, 6) && spline[1] < sixth * pow(h, 5) &&
                 spline[2] < sixth * pow(h, 4);
  CPFunctionFree(&x);
  CPFunctionFree(&p);
  puts(ok ? "ok" : "wrong");
  return !ok;
}

/* Expressions: derivatives, dimensions, names, and what is wrong with them. */
#include "support/alloc.h"
#include "support/support.h"

#include <cpodes/cpodes_language.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const xy[] = {"x", "y"};

/* An expression of x and y without units; NULL after an error */
static CPFunction of_xy(const char *text) {
  CPFunction f;
  const CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .text = text, .nvariables = 2,
                               .variable = xy};
  CPFunctionCreate(&o, &f);
  return f;
}

/* The value of an expression of constants that has the dimension of `unit` */
static sunrealtype number(const char *text, const char *unit) {
  CPFunction f;
  sunrealtype value         = NAN;
  const CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .text = text, .result = unit};
  if (CPFunctionCreate(&o, &f)) return NAN;
  CPFunctionEvaluate(f, &value, &value, NULL, NULL);
  CPFunctionFree(&f);
  return value;
}

/* ---- derivatives ---- */

/* The value, x, y, xx, xy, yy at x = 1.3, y = 2.625, by SymPy 1.11 with 40 digits. */
static const struct {
  const char *text;
  sunrealtype value[6];
} known[] = {
    /* clang-format off */
    {"x + 2*y - 3", {3.55, 1.0, 2.0, 0.0, 0.0, 0.0}},
    {"x*y/(1 + x^2)", {1.268587360594795539, -0.2503074860767540526, 0.48327137546468401487, -0.45932185635333457419, -0.095355232791144400989, 0.0}},
    {"-x^2*y^3", {-30.56853515625, -47.028515625, -34.93546875, -36.17578125, -53.746875, -26.6175}},
    {"x^y", {1.991137720530854385, 4.0205665510719175081, 0.52240338350055436773, 5.0257081888398968852, 2.5864973863229304617, 0.13705997946745159762}},
    {"2^(x - y)", {0.39914919317832494895, 0.27666913787433289397, -0.27666913787433289397, 0.19177243286554462585, -0.19177243286554462585, 0.19177243286554462585}},
    {"x^0.5*y^-1.5", {0.26808820973295116184, 0.1031108498972889084, -0.15319326270454352105, -0.03965801919126496477, -0.058920485655593661944, 0.14589834543289859148}},
    {"sin(x*y) + cos(x)*tan(y/3)", {0.052703082355000484919, -3.6830476771323749281, -1.0355724886233670517, 1.5236623381882743944, -0.83203228435744595295, 0.6254924043556136964}},
    {"asin(x/5) + acos(y/7) + atan(x*y)", {2.7351585066531554666, 0.4147126237925058529, -0.051296662278682284254, -0.28256081024655167628, -0.066573844957468124947, -0.081740566817717854526}},
    {"atan2(y, x - 3)", {2.1454959457370864498, -0.26838775640616013803, -0.1738130231963703751, -0.093298574659691427623, 0.041821020756070366121, 0.093298574659691427623}},
    {"sinh(x)*cosh(y) - tanh(x - y)", {12.652260362531601274, 13.428664286979394004, 11.907745810875668388, 11.356237852152314995, 13.960430108831254619, 11.356237852152314995}},
    {"exp(-x*y)*log(x + y)", {0.045066618102508064258, -0.10990275136170599859, -0.05018948237588281345, 0.26431288536091532218, 0.073625121704146809789, 0.052190675658610146225}},
    {"log10(x*y) + sqrt(x + y^2)", {3.3949994585536239649, 0.50878015177924568868, 1.0826597522242012212, -0.26764407141085197039, -0.055991712189770421393, -0.0075684057989033943429}},
    {"hypot(x, y)*x", {3.8080515030655769743, 3.5062058612525214128, 1.1649658615249051855, 1.2439814573686683733, 0.71963046349457239142, 0.087408098659794695876}},
    {"abs(x - y)*y", {3.478125, -2.625, 3.95, 0.0, -1.0, 2.0}},
    {"min(x, y, x*y) + max(2*x, y/2, x)", {3.9, 3.0, 0.0, 0.0, 0.0, 0.0}},
    {"poly(x*y, 1, -2, y, 4)", {183.69991796875, 408.6009375, 213.99990625, 600.51796875, 470.9725, 165.0285}},
    {"smooth((x + y)/7)", {0.61272520328560086571, 0.26001632574039090855, 0.26001632574039090855, -0.036623914142916641875, -0.036623914142916641875, -0.036623914142916641875}},
    {"if(x < y, x^3*y, y)", {5.767125, 13.30875, 2.197, 20.475, 5.07, 0.0}},
    {"if(x >= y, x, 1/(x + y))", {0.25477707006369426752, -0.064911355430240577711, -0.064911355430240577711, 0.033075849900759530044, 0.033075849900759530044, 0.033075849900759530044}},
    {"2*pi*x - -y^2", {15.05876589933346242, 6.2831853071795864769, 5.25, 0.0, 0.0, 2.0}},
    {"(((x)))*(y + (x - (y - (x))))", {3.38, 5.2, 0.0, 4.0, 0.0, 0.0}},
    {"1.5e1*x + .25*y + 1E-2", {20.16625, 15.0, 0.25, 0.0, 0.0, 0.0}},
    /* clang-format on */
};
enum { EXPRESSIONS = sizeof known / sizeof known[0] };

START_TEST(first_and_second_derivatives_are_exact) {
  const sunrealtype x[2] = {1.3, 2.625}, *v = known[_i].value;
  sunrealtype value, g[2], H[4], scale = 0;
  CPFunction f = of_xy(known[_i].text);
  ck_assert_msg(f != NULL, "%s", CPObjectGetLastMessage(NULL));
  ck_assert_int_eq(CPFunctionEvaluate(f, x, &value, g, H), CP_SUCCESS);
  for (int k = 0; k < 6; k++) scale = fmax(scale, fabs(v[k]));
  const sunrealtype got[6] = {value, g[0], g[1], H[0], H[1], H[3]};
  for (int k = 0; k < 6; k++)
    ck_assert_msg(fabs(got[k] - v[k]) <= 1e-12 * scale, "%s, %d: %.17g, not %.17g", known[_i].text,
                  k, (double)got[k], (double)v[k]);
  ck_assert(H[1] == H[2]);
  /* fewer derivatives do not change the value */
  sunrealtype again;
  ck_assert_int_eq(CPFunctionEvaluate(f, x, &again, NULL, NULL), CP_SUCCESS);
  ck_assert(again == value);
  CPFunctionFree(&f);
  ck_assert_ptr_null(f);
}
END_TEST

/* c(x, y) = a(x) + b(x, y) through two levels of calls has the derivatives of what it means. */
START_TEST(functions_that_call_functions_have_exact_derivatives) {
  static const char *const one[] = {"u"};
  CPFunction f, square, whole = of_xy("3*(sin(x*y)^2) + x/(x*y + sin(x)^2)");
  const CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .text = "u^2", .nvariables = 1,
                               .variable = one};
  ck_assert_int_eq(CPFunctionCreate(&o, &square), CP_SUCCESS);
  const CPDefinition first      = {CP_SIZED(CPDefinition), .name = "square", .function = square};
  const CPFunctionOptions inner = {CP_SIZED(CPFunctionOptions),
                                   .text         = "x*y + square(sin(x))",
                                   .nvariables   = 2,
                                   .variable     = xy,
                                   .ndefinitions = 1,
                                   .definition   = &first};
  ck_assert_int_eq(CPFunctionCreate(&inner, &f), CP_SUCCESS);
  const CPDefinition both[]     = {first, {CP_SIZED(CPDefinition), .name = "below", .function = f}};
  const CPFunctionOptions outer = {CP_SIZED(CPFunctionOptions),
                                   .text         = "3*square(sin(x*y)) + x/below(x, y)",
                                   .nvariables   = 2,
                                   .variable     = xy,
                                   .ndefinitions = 2,
                                   .definition   = both};
  CPFunction top;
  ck_assert_int_eq(CPFunctionCreate(&outer, &top), CP_SUCCESS);
  CPFunctionFree(&f); /* the caller's; the expression keeps its own */
  CPFunctionFree(&square);
  const sunrealtype x[2] = {0.7, -1.9};
  sunrealtype v[2], g[4], H[8];
  ck_assert_int_eq(CPFunctionEvaluate(whole, x, v, g, H), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionEvaluate(top, x, v + 1, g + 2, H + 4), CP_SUCCESS);
  ck_assert(fabs(v[0] - v[1]) <= 1e-14);
  for (int k = 0; k < 2; k++) ck_assert(fabs(g[k] - g[2 + k]) <= 1e-14 * 10);
  for (int k = 0; k < 4; k++) ck_assert(fabs(H[k] - H[4 + k]) <= 1e-14 * 100);
  CPFunctionFree(&top);
  CPFunctionFree(&whole);
}
END_TEST

START_TEST(where_a_function_or_its_derivative_is_infinite_it_says_so) {
  CPFunction f            = of_xy("sqrt(x) + 1/y");
  sunrealtype at[2][2]    = {{0, 1}, {1, 0}}, v, g[2];
  const sunrealtype nan[] = {NAN, 1};
  ck_assert_int_eq(CPFunctionEvaluate(f, at[0], &v, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionEvaluate(f, at[0], &v, g, NULL), 1);
  ck_assert_int_eq(CPFunctionEvaluate(f, at[1], &v, NULL, NULL), 1);
  ck_assert_int_eq(CPFunctionEvaluate(f, nan, &v, NULL, NULL), 1);
  ck_assert_int_eq(CPFunctionEvaluate(f, NULL, &v, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPFunctionEvaluate(NULL, at[0], &v, NULL, NULL), CP_MEM_NULL);
  CPFunctionFree(&f);
  /* the root's derivative with respect to y is 0, and not 0 times infinity */
  f                      = of_xy("sqrt(x - 1.3) + y");
  const sunrealtype x[2] = {1.3, 1};
  ck_assert_int_eq(CPFunctionEvaluate(f, x, &v, NULL, NULL), CP_SUCCESS);
  CPFunctionFree(&f);
}
END_TEST

/* ---- numbers and units ---- */

/* A number with a decimal unit is the double nearest to it, as the number in SI units is. */
START_TEST(decimal_units_round_once) {
  char with[64], without[64];
  for (int i = 1; i < 3000; i++) {
    snprintf(with, sizeof with, "%d mm", i);
    snprintf(without, sizeof without, "%de-3", i);
    ck_assert(number(with, "m") == strtod(without, NULL));
    snprintf(with, sizeof with, "%d.%d kN/mm", i, i);
    snprintf(without, sizeof without, "%d.%de6", i, i);
    ck_assert(number(with, "N/m") == strtod(without, NULL));
    snprintf(with, sizeof with, "%de-7tonne mm^2", i);
    snprintf(without, sizeof without, "%de-10", i);
    ck_assert(number(with, "kg m^2") == strtod(without, NULL));
  }
}
END_TEST

START_TEST(units_have_the_values_of_the_SI) {
  const sunrealtype pi = acos(-1.0);
  static const struct {
    const char *text, *unit;
    double value;
    int turns; /* the value times pi */
  } cases[] = {{"2.5 bar", "Pa", 2.5e5, 0},
               {"250 MPa", "N/mm^2", 2.5e8, 0},
               {"180 deg", "rad", 1, 1},
               {"30 rpm", "rad/s", 1, 1},
               {"1.5 rev", "", 3, 1},
               {"72 km/h", "m/s", 20, 0},
               {"5 kW", "N m/s", 5e3, 0},
               {"3 kJ", "Nm", 3e3, 0},
               {"9.81 m/s^2", "m s^-2", 9.81, 0},
               {"10 N m/rad", "Nm", 10, 0},
               {"2 min", "s", 120, 0},
               {"35 %", "1", 0.35, 0},
               {"3 m/%", "m", 300, 0},
               {"45deg/s", "rad/s", 0.25, 1},
               {"1 kg m^2/s^2", "J", 1, 0},
               {"4 N s/mm", "kg/s", 4e3, 0},
               {"2 m*3 m", "m^2", 6, 0},
               {"(9 m^2)^0.5", "m", 3, 0},
               {"sqrt(2*8 m*1 m/s^2)", "m/s", 4, 0},
               {"hypot(3 mm, 4 mm)", "mm", 5e-3, 0},
               {"max(0, 3 N, 2 N)", "N", 3, 0},
               {"0", "N/m", 0, 0},
               {"7", "N/m", 7, 0},
               {"60 mm/(2 s)", "m/s", 0.03, 0},
               {"10 mm/min(2, 5)", "m", 5e-3, 0},
               {"poly(2 m, 3 m, 4, 5/(1 m))", "m", 31, 0},
               {"if(1 m > 20 cm, 1 kg, 2 kg)", "kg", 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const sunrealtype want = cases[i].value * (cases[i].turns ? pi : 1),
                      got  = number(cases[i].text, cases[i].unit);
    ck_assert_msg(fabs(got - want) <= 2 * DBL_EPSILON * fabs(want), "%s is %.17g: %s",
                  cases[i].text, (double)got, isnan(got) ? CPObjectGetLastMessage(NULL) : "");
  }
}
END_TEST

/* ---- what is wrong ---- */

static const struct {
  const char *text, *message;
} bad[] = {
    {"", "1:1: expected a number or a name"},
    {"x +", "1:4: expected a number or a name"},
    {"x + * y", "1:5: expected a number or a name, and found \"* y\""},
    {"x y", "1:3: expected an operator, and found \"y\""},
    {"(x", "1:3: expected )"},
    {"sin x", "1:1: sin is a function and needs parentheses, sin(...)"},
    {"sin(x, y)", "1:7: sin has at most 1 arguments"},
    {"atan2(x)", "1:9: atan2 needs 2 arguments, and has 1"},
    {"min(x)", "1:1: min needs 2 arguments, and has 1"},
    {"if(x, y, 1)", "1:5: expected <, <=, > or >="},
    {"x(3)", "1:1: x is no function"},
    {"x +\n  yy", "2:3: there is no \"yy\"; did you mean y?"},
    {"x + k", "1:5: there is no \"k\""},
    {"X + y", "1:1: there is no \"X\"; did you mean x?"},
    {"x + sni(y)", "1:5: there is no \"sni\"; did you mean sin?"},
    {"1 m + 2 s", "1:5: dimensions must be equal, and are m and s"},
    {"1 m + 2", "1:5: dimensions must be equal, and are m and a plain number"},
    {"sin(1 N/mm)", "1:1: sin must have no dimension, and has that of N/m"},
    {"2^(1 s)", "1:2: an exponent must have no dimension, and has that of s"},
    {"(1 m)^x", "1:6: the exponent of a value with a dimension must be a number such as 2 or 0.5"},
    {"(1 m)^0.37", "1:6: the exponent of a value with a dimension"},
    {"500 kg*cm^2", "1:8: there is no \"cm\"; units follow a number, with blanks"},
    {"3 Newton", "1:3: there is no unit \"Newton\""},
    {"3 kn", "1:3: there is no unit \"kn\"; did you mean k"},
    {"50 Hz", "1:4: there is no unit Hz, which might mean rev/s or rad/s"},
    {"3 N/m s", "1:7: after / a unit has one factor only"},
    {"3 m^0", "1:4: the power of a unit must be an integer from 1 to 9"},
    {"1/0", "1:2: the value is not a finite number"},
    {"x + log(-1)", "1:5: the value is not a finite number"},
    {"1e999", "1:1: the number is too large"},
    {".", "1:1: expected a number"},
    {"0x10", "1:2: there is no unit \"x\""},
    {"x + \xC3\xA4", "1:5: there is no \"\xC3\xA4\""},
    {"\xC3\xA4 +", "1:1: there is no"}};

START_TEST(what_is_wrong_is_told_with_its_place) {
  CPFunction f = of_xy(bad[_i].text);
  ck_assert_ptr_null(f);
  ck_assert_msg(!strncmp(CPObjectGetLastMessage(NULL), bad[_i].message, strlen(bad[_i].message)),
                "%s: %s", bad[_i].text, CPObjectGetLastMessage(NULL));
}
END_TEST

START_TEST(a_value_has_the_dimension_that_is_required) {
  CPFunction f;
  static const char *const names[] = {"t", "rod.angle", "s"}, *const units[] = {"s", "deg", "m"};
  CPFunctionOptions o    = {CP_SIZED(CPFunctionOptions),
                            .text       = "2 mm*sin(3 rad s^-1*t + rod.angle)",
                            .nvariables = 3,
                            .variable   = names,
                            .unit       = units,
                            .result     = "mm",
                            .file       = "crank.yaml",
                            .line       = 7,
                            .column     = 20};
  const sunrealtype x[3] = {0.5, 0.25, 1};
  sunrealtype value;
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionEvaluate(f, x, &value, NULL, NULL), CP_SUCCESS);
  ck_assert(fabs(value - 2e-3 * sin(1.75)) < 1e-17);
  CPFunctionFree(&f);
  o.result = "N";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_str_eq(CPObjectGetLastMessage(NULL),
                   "crank.yaml:7:20: the value must have the dimension of N, and has that of m");
  o.text = "t + rod.angel", o.result = NULL;
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_str_eq(CPObjectGetLastMessage(NULL),
                   "crank.yaml:7:24: there is no \"rod.angel\"; did you mean rod.angle?");
  o.text = "10 mm/s";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "crank.yaml:7:26: s is a unit and a name");
  o.text = "10 mm/(s)";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_SUCCESS);
  CPFunctionFree(&f);
}
END_TEST

START_TEST(a_name_that_begins_like_a_unit_is_a_name) {
  static const char *const names[]        = {"s.displacement", "m2", "s.1.rate", "tür.angle"},
                           *const units[] = {"m", "kg", "", ""};
  CPFunctionOptions o                     = {CP_SIZED(CPFunctionOptions),
                                             .text       = "6 N m/s.displacement/2 N + 8 kg/m2 + s.1.rate*tür.angle",
                                             .nvariables = 4, .variable = names, .unit = units};
  const sunrealtype x[]                   = {3, 4, 5, 7};
  CPFunction f;
  sunrealtype value;
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionEvaluate(f, x, &value, NULL, NULL), CP_SUCCESS);
  ck_assert(value == 1 + 2 + 35);
  CPFunctionFree(&f);
}
END_TEST

START_TEST(names_are_numbers_in_any_order_but_not_in_circles) {
  static const CPDefinition definitions[] = {
      {CP_SIZED(CPDefinition), .name = "rod", .text = "3*crank + gap"},
      {CP_SIZED(CPDefinition), .name = "gap", .text = "crank/100"},
      {CP_SIZED(CPDefinition), .name = "crank", .text = "50 mm"},
      {CP_SIZED(CPDefinition), .name = "a", .text = "b"},
      {CP_SIZED(CPDefinition), .name = "b", .text = "1 + c"},
      {CP_SIZED(CPDefinition), .name = "c", .text = "2*a"}};
  CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .text = "rod", .result = "m",
                         .ndefinitions = 6, .definition = definitions};
  CPFunction f;
  sunrealtype value;
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionEvaluate(f, &value, &value, NULL, NULL), CP_SUCCESS);
  ck_assert(fabs(value - 0.1505) < 1e-16);
  CPFunctionFree(&f);
  o.text = "crank*b";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "b:1:1: b depends on itself");
  o.text = "crnk";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "did you mean crank?");
  static const CPDefinition twice[] = {{CP_SIZED(CPDefinition), .name = "a", .text = "1"},
                                       {CP_SIZED(CPDefinition), .name = "a", .text = "2"}};
  static const CPDefinition taken   = {CP_SIZED(CPDefinition), .name = "sin", .text = "1"},
                            strange = {CP_SIZED(CPDefinition), .name = "a b", .text = "1"},
                            none    = {CP_SIZED(CPDefinition), .name = "a"};
  const struct {
    const CPDefinition *d;
    int n;
    const char *message;
  } wrong[]                        = {{twice, 2, "there is a \"a\" already"},
                                      {&taken, 1, "sin has a meaning already"},
                                      {&strange, 1, "a name has at most"},
                                      {&none, 1, "a must be either a text or a function"}};
  const char *const names[][2]     = {{"a", "a"}, {"1a", "b"}, {"a", "b c"}};
  static const char *const rules[] = {"two variables have the name \"a\"", "and one is \"1a\"",
                                      "and one is \"b c\""};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const CPFunctionOptions two = {CP_SIZED(CPFunctionOptions), .text = "1", .nvariables = 2,
                                   .variable = names[i]};
    ck_assert_int_eq(CPFunctionCreate(&two, &f), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(NULL), rules[i]);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    o.definition = wrong[i].d, o.ndefinitions = wrong[i].n, o.text = "1";
    ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(NULL), wrong[i].message);
  }
}
END_TEST

START_TEST(wrong_calls_are_refused_with_a_reason) {
  CPFunction f;
  const CPTable table              = CP_INIT(CPTable);
  static const char *const empty[] = {"", ""};
  CPFunctionOptions none           = CP_INIT(CPFunctionOptions),
                    both           = {CP_SIZED(CPFunctionOptions), .text = "1", .table = &table},
                    many           = {CP_SIZED(CPFunctionOptions), .text = "1", .nvariables = 17},
                    unnamed        = {CP_SIZED(CPFunctionOptions), .text = "1", .nvariables = 2,
                                      .variable = empty},
                    unit           = {CP_SIZED(CPFunctionOptions), .text = "1", .result = "m*s"},
                    old            = {.text = "1"};
  ck_assert_int_eq(CPFunctionCreate(&none, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPFunctionCreate(NULL, &f), CP_ILL_INPUT);
  ck_assert_int_eq(CPFunctionCreate(&none, &f), CP_ILL_INPUT);
  ck_assert_int_eq(CPFunctionCreate(&both, &f), CP_ILL_INPUT);
  ck_assert_int_eq(CPFunctionCreate(&many, &f), CP_ILL_INPUT);
  ck_assert_int_eq(CPFunctionCreate(&unnamed, &f), CP_ILL_INPUT);
  ck_assert_int_eq(CPFunctionCreate(&unit, &f), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "\"m*s\" is no unit");
  ck_assert_int_eq(CPFunctionCreate(&old, &f), CP_OLD_STRUCT);
  CPFunctionFree(NULL);
  CPFunctionFree(&f);
}
END_TEST

/* 10^6 characters, which are read in a time that is proportional to their number: a sum, a nest of parentheses, powers, signs, names of
 * names, and a number. */
START_TEST(long_texts_are_read_or_refused_in_linear_time) {
  const size_t length              = 1000000;
  static const char *const again[] = {"x+", "(", "x^", "-", "sin(", "1", "xy"};
  char *text                       = malloc(length + 8);
  const size_t n                   = strlen(again[_i]);
  for (size_t i = 0; i < length; i++) text[i] = again[_i][i % n];
  strcpy(text + length - length % n, "x");
  const clock_t start = clock();
  CPFunction f        = of_xy(text);
  ck_assert((f != NULL) == (_i == 0));
  const sunrealtype x[2] = {3, 1};
  sunrealtype value, g[2], H[4];
  if (f) {
    ck_assert_int_eq(CPFunctionEvaluate(f, x, &value, g, H), CP_SUCCESS);
    ck_assert(value == 3 * (length / 2 + 1) && g[0] == length / 2 + 1 && g[1] == 0 && H[0] == 0);
  }
  ck_assert_msg((double)(clock() - start) / CLOCKS_PER_SEC < 10, "too long");
  CPFunctionFree(&f);
  free(text);
}
END_TEST

START_TEST(without_memory_an_expression_says_so_and_nothing_leaks) {
  for (long n = 1, failed = 1; failed; n++) {
    static const char *const one[] = {"u"};
    CPFunction f = NULL, g = NULL;
    const CPFunctionOptions o = {
        CP_SIZED(CPFunctionOptions),
        .text         = "a*u^2",
        .nvariables   = 1,
        .variable     = one,
        .ndefinitions = 1,
        .definition   = &(CPDefinition){CP_SIZED(CPDefinition), .name = "a", .text = "1 + 2"}};
    alloc_watch_failing(n);
    int flag                         = CPFunctionCreate(&o, &f);
    const CPDefinition definitions[] = {{CP_SIZED(CPDefinition), .name = "f", .function = f},
                                        {CP_SIZED(CPDefinition), .name = "b", .text = "2"}};
    const CPFunctionOptions p        = {CP_SIZED(CPFunctionOptions),
                                        .text         = "f(x)*b + f(y) - x*y*x/y + (x - y)*(x + y)",
                                        .nvariables   = 2,
                                        .variable     = xy,
                                        .ndefinitions = 2,
                                        .definition   = definitions};
    if (!flag) flag = CPFunctionCreate(&p, &g);
    CPFunctionFree(&f);
    CPFunctionFree(&g);
    failed = alloc_has_failed();
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_eq(flag, failed ? CP_MEM_FAIL : CP_SUCCESS);
    ck_assert_int_lt(n, 100);
  }
}
END_TEST

TEST_SUITE(expressions) {
  Suite *suite = suite_create("language/expressions");
  TCase *tcase = tcase_create("expressions");
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, first_and_second_derivatives_are_exact, 0, EXPRESSIONS);
  tcase_add_test(tcase, functions_that_call_functions_have_exact_derivatives);
  tcase_add_test(tcase, where_a_function_or_its_derivative_is_infinite_it_says_so);
  tcase_add_test(tcase, decimal_units_round_once);
  tcase_add_test(tcase, units_have_the_values_of_the_SI);
  tcase_add_loop_test(tcase, what_is_wrong_is_told_with_its_place, 0, sizeof bad / sizeof bad[0]);
  tcase_add_test(tcase, a_value_has_the_dimension_that_is_required);
  tcase_add_test(tcase, a_name_that_begins_like_a_unit_is_a_name);
  tcase_add_test(tcase, names_are_numbers_in_any_order_but_not_in_circles);
  tcase_add_test(tcase, wrong_calls_are_refused_with_a_reason);
  tcase_add_loop_test(tcase, long_texts_are_read_or_refused_in_linear_time, 0, 7);
  tcase_add_test(tcase, without_memory_an_expression_says_so_and_nothing_leaks);
  suite_add_tcase(suite, tcase);
  return suite;
}

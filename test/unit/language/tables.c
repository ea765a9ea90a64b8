/* Tables: splines and maps with their derivatives, ends, lookup, columns of numbers, and what is wrong with them. */
#include "support/alloc.h"
#include "support/support.h"

#include <cpodes/cpodes_language.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static CPFunction made_of(const CPTable *table) {
  CPFunction f;
  const CPFunctionOptions o = {CP_SIZED(CPFunctionOptions), .table = table};
  CPFunctionCreate(&o, &f);
  return f;
}

/* ---- splines ---- */

static const sunrealtype nodes[] = {0, 0.375, 1, 1.125, 2.5, 3.5, 5},
                         rows[]  = {0.5, 1.25, -0.75, -0.625, 1.875, 0.3125, 0.5};
/* s, s', s'' at x = 0.125, 1, 1.0625, 2.25, 5 of the spline through these rows, as a sum of truncated powers whose coefficients are the
 * solution of a linear system with 40 digits (mpmath 1.2). Clamped: s' = 1 and -2, s'' = 1.5 and 0.25 at the ends.
 * Cubic: s''' there is six times the divided difference of four rows. */
static const sunrealtype places[] = {0.125, 1, 1.0625, 2.25, 5};
static const struct {
  int order;
  CPTableEnds ends;
  sunrealtype value[5][3];
} splines[] = {
    /* clang-format off */
    {3, CP_ENDS_NATURAL, {{0.9157960447920304613, 2.9947762687521827678, -7.9582101500174621425}, {-0.75, -0.17052037184553263459, 26.478817440167636568}, {-0.71650992227384563466, 1.1211014295412361627, 14.853080204208964946}, {1.7426664709384644088, 1.1261675288339391276, -4.2228045235332246245}, {0.5, 0.92516964275203365288, 0.0}}},
    {3, CP_ENDS_CLAMPED, {{0.75526066702890548614, 2.7297946710135325003, 5.3333333333333333333}, {-0.75, -0.25661859711681332854, 28.471612136722482694}, {-0.71859968801258257527, 1.13071429035708546, 15.923040262442278538}, {1.7773141312334155214, 1.0405096769043315735, -4.606915959333878675}, {0.5, -2.0, -6.9418302265228341724}}},
    {3, CP_ENDS_PERIODIC, {{0.88121012874329338488, 2.9378896874448972006, -5.0930548597969873435}, {-0.75, -0.18534464456820333482, 26.930053275292485531}, {-0.71676415006248171342, 1.1244459212843942527, 14.98324483199063727}, {1.7212392496278768668, 1.1735206115089751793, -3.9502858961050577105}, {0.5, 2.9549477862119351269, 4.820125279524380523}}},
    {3, CP_ENDS_CUBIC, {{1.1845543347252647576, 3.4382173389010590304, -30.211477422416944486}, {-0.75, -0.029609272088350665539, 23.123614205184389049}, {-0.71318128013189105752, 1.1039041539339184125, 13.148815427528221449}, {1.7097086840093070016, 1.21252014576643435, -3.8877455575809296985}, {0.5, 3.5162862876359468113, 6.1463176123050469497}}},
    {5, CP_ENDS_NATURAL, {{1.1228499609210186795, 3.4364015605569351998, -24.59570794064038907}, {-0.75, 0.011219925139694741907, 17.301401537399938051}, {-0.71673682987878250053, 1.0294387054302686681, 15.04012131580663041}, {2.0071968094270465597, -0.0085418287207109402422, -4.7133997169629339045}, {0.5, 1.9422152515473147559, 2.5407941749552035365}}},
    {5, CP_ENDS_CLAMPED, {{0.68553275524353575698, 2.1552827446683690985, 10.851839043109468139}, {-0.75, -0.48722021610762211873, 25.714758692323001639}, {-0.73162110366177258052, 1.0440440829218116018, 22.751888850440849601}, {2.3111411281515010391, -1.1113063891828456683, -6.2741629892323648224}, {0.5, -2.0, 0.25}}},
    {5, CP_ENDS_PERIODIC, {{0.97707818158967525941, 3.187842323322248141, -12.663282955710297314}, {-0.75, -0.098831618577757277546, 19.333481855916946992}, {-0.71983898496189503971, 1.0357616849341648977, 16.651159325351660732}, {1.9305200866487126783, 0.10116070259740894605, -3.1885866886440491401}, {0.5, 4.2825598386445865335, -4.9066869508277796346}}},
    /* clang-format on */
};

START_TEST(splines_and_their_derivatives_are_exact) {
  const CPTable table = {CP_SIZED(CPTable),
                         .order = splines[_i].order,
                         .ends  = splines[_i].ends,
                         .slope = {1, -2, 1.5, 0.25},
                         .nx    = 7,
                         .x     = nodes,
                         .value = rows};
  CPFunction f        = made_of(&table);
  ck_assert_msg(f != NULL, "%s", CPObjectGetLastMessage(NULL));
  for (int i = 0; i < 5; i++) {
    sunrealtype s[3];
    ck_assert_int_eq(CPFunctionEvaluate(f, &places[i], s, s + 1, s + 2), CP_SUCCESS);
    for (int k = 0; k < 3; k++)
      ck_assert_msg(fabs(s[k] - splines[_i].value[i][k]) <= 1e-12 * 30, "%d, %d: %.17g, not %.17g",
                    i, k, (double)s[k], (double)splines[_i].value[i][k]);
  }
  CPFunctionFree(&f);
}
END_TEST

/* The function of x with this text, which may call the table f */
static CPFunction text_with(const char *text, CPFunction f) {
  static const char *const x[] = {"x"};
  CPFunction made;
  const CPDefinition table  = {CP_SIZED(CPDefinition), .name = "f", .function = f};
  const CPFunctionOptions o = {
      CP_SIZED(CPFunctionOptions), .text = text,        .nvariables = 1, .variable = x,
      .ndefinitions = 1,           .definition = &table};
  CPFunctionCreate(&o, &made);
  return made;
}

/* f' and, of order 5, f'' have the values and derivatives that f has, also beyond its ends; what f has not, the difference of f'' or of the
 * slope of f' over a step h within a piece, 1e-4 of which is the error of fourth order. */
START_TEST(slopes_of_tables_are_their_derivatives) {
  static const sunrealtype at[] = {-0.7, 0, 0.125, 0.375, 1, 1.0625, 2.25, 3.9, 5, 6.3};
  const int order               = splines[_i].order;
  const CPTable table           = {CP_SIZED(CPTable),
                                   .order = order,
                                   .ends  = splines[_i].ends,
                                   .slope = {1, -2, 1.5, 0.25},
                                   .nx    = 7,
                                   .x     = nodes,
                                   .value = rows};
  CPFunction f = made_of(&table), one = text_with("f'(x)", f), two = text_with("f''(x)", f);
  ck_assert_msg(one != NULL, "%s", CPObjectGetLastMessage(NULL));
  ck_assert_int_eq(two != NULL, order == 5);
  for (int i = 0; i < 10; i++) {
    sunrealtype s[3], d[3], e[3], third = 0;
    ck_assert_int_eq(CPFunctionEvaluate(f, &at[i], s, s + 1, s + 2), CP_SUCCESS);
    ck_assert_int_eq(CPFunctionEvaluate(one, &at[i], d, d + 1, d + 2), CP_SUCCESS);
    ck_assert_double_eq_tol(d[0], s[1], 1e-12);
    ck_assert_double_eq_tol(d[1], s[2], 1e-11);
    if (order == 5) {
      ck_assert_int_eq(CPFunctionEvaluate(two, &at[i], e, e + 1, e + 2), CP_SUCCESS);
      ck_assert_double_eq_tol(e[0], s[2], 1e-11);
      ck_assert_double_eq_tol(e[1], d[2], 1e-9);
    }
    for (int k = 0; k < 7; k++) /* not at nodes, where cubic splines have two */
      if (at[i] == nodes[k]) third = NAN;
    const sunrealtype h = 1e-3;
    for (int k = 0; k < 4 && !isnan(third); k++) {
      static const sunrealtype step[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
      const sunrealtype x = at[i] + h * step[k];
      sunrealtype v, g, H;
      ck_assert_int_eq(CPFunctionEvaluate(f, &x, &v, &g, &H), CP_SUCCESS);
      third += weight[k] / (12 * h) * H;
    }
    if (!isnan(third)) ck_assert_double_eq_tol(d[2], third, 1e-8);
  }
  CPFunctionFree(&f);
  CPFunctionFree(&one);
  CPFunctionFree(&two);
}
END_TEST

START_TEST(what_has_no_slope_is_told) {
  static const char *const wrong[] = {"f''(x)",  "f'(x, 1)", "f' + x",
                                      "sin'(x)", "x'(x)",    "f'''''(x)"};
  const CPTable cubic              = {CP_SIZED(CPTable), .nx = 7, .x = nodes, .value = rows},
                line = {CP_SIZED(CPTable), .order = 1, .nx = 7, .x = nodes, .value = rows};
  CPFunction f = made_of(&cubic), g = made_of(&line);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(text_with(wrong[i], f) == NULL, "%s", wrong[i]);
  ck_assert_ptr_null(text_with("f'(x)", g));
  ck_assert_msg(strstr(CPObjectGetLastMessage(NULL), "needs a table in one variable") != NULL, "%s",
                CPObjectGetLastMessage(NULL));
  CPFunctionFree(&f);
  CPFunctionFree(&g);
}
END_TEST

START_TEST(a_table_of_order_one_joins_its_rows) {
  const CPTable table = {CP_SIZED(CPTable), .order = 1, .nx = 7, .x = nodes, .value = rows};
  CPFunction f        = made_of(&table);
  for (int i = 0; i < 6; i++)
    for (int k = 1; k < 8; k++) {
      const sunrealtype u = k / 8.0, x = nodes[i] + u * (nodes[i + 1] - nodes[i]),
                        slope = (rows[i + 1] - rows[i]) / (nodes[i + 1] - nodes[i]);
      sunrealtype s[3];
      ck_assert_int_eq(CPFunctionEvaluate(f, &x, s, s + 1, s + 2), CP_SUCCESS);
      ck_assert(fabs(s[0] - (rows[i] + u * (rows[i + 1] - rows[i]))) < 1e-15 &&
                fabs(s[1] - slope) < 1e-14 * 16 && s[2] == 0);
    }
  CPFunctionFree(&f);
}
END_TEST

/* Beyond the ends, the tangent (orders 1, 3) or the parabola (5); a periodic table repeats itself. */
START_TEST(tables_continue_beyond_their_ends) {
  for (int order = 1; order <= 5; order += 2)
    for (int ends = CP_ENDS_NATURAL; ends <= (order == 5 ? CP_ENDS_PERIODIC : CP_ENDS_CUBIC);
         ends++) {
      const CPTable table         = {CP_SIZED(CPTable),
                                     .order = order,
                                     .ends  = (CPTableEnds)ends,
                                     .slope = {1, -2, 1.5, 0.25},
                                     .nx    = 7,
                                     .x     = nodes,
                                     .value = rows};
      CPFunction f                = made_of(&table);
      const sunrealtype inside[2] = {0.0, 5 * (1 - 1e-15)}, outside[2] = {-0.75, 5.75};
      for (int side = 0; side < 2; side++) {
        sunrealtype a[3], b[3];
        const sunrealtype dx = outside[side] - inside[side], again = outside[side] - (side ? 5 : -5);
        ck_assert_int_eq(CPFunctionEvaluate(f, ends == CP_ENDS_PERIODIC ? &again : &inside[side], a,
                                            a + 1, a + 2),
                         CP_SUCCESS);
        ck_assert_int_eq(CPFunctionEvaluate(f, &outside[side], b, b + 1, b + 2), CP_SUCCESS);
        const sunrealtype curvature = order == 5 ? a[2] : 0;
        const sunrealtype want[3]   = {a[0] + a[1] * dx + curvature * dx * dx / 2,
                                       a[1] + curvature * dx, curvature};
        for (int k = 0; k < 3; k++)
          ck_assert_msg(fabs(b[k] - (ends == CP_ENDS_PERIODIC ? a[k] : want[k])) < 1e-11,
                        "order %d, ends %d, side %d, %d: %g", order, ends, side, k, (double)b[k]);
      }
      CPFunctionFree(&f);
    }
}
END_TEST

/* A map of order 2p - 1 with natural ends through values of u(x) v(y) is the product of both splines. */
START_TEST(a_map_of_a_product_is_the_product_of_splines) {
  static const sunrealtype ys[] = {-1, 0, 0.5, 2}, v[] = {2, -1, 3, 0.5};
  sunrealtype values[28];
  for (int i = 0; i < 28; i++) values[i] = rows[i / 4] * v[i % 4];
  const int order   = 1 + 2 * _i;
  const CPTable map = {CP_SIZED(CPTable), .order = order, .nx = 7,        .x = nodes,
                       .ny = 4,           .y = ys,        .value = values},
                one = {CP_SIZED(CPTable), .order = order, .nx = 7, .x = nodes, .value = rows},
                two = {CP_SIZED(CPTable), .order = order, .nx = 4, .x = ys, .value = v};
  CPFunction f = made_of(&map), g = made_of(&one), h = made_of(&two);
  for (int i = -2; i < 60; i++)
    for (int j = -2; j < 40; j++) {
      const sunrealtype x[2] = {0.1 * i + 0.01, -1 + 0.09 * j + 0.01};
      sunrealtype F, G[2], H[4], a[3], b[3];
      ck_assert_int_eq(CPFunctionEvaluate(f, x, &F, G, H), CP_SUCCESS);
      ck_assert_int_eq(CPFunctionEvaluate(g, x, a, a + 1, a + 2), CP_SUCCESS);
      ck_assert_int_eq(CPFunctionEvaluate(h, x + 1, b, b + 1, b + 2), CP_SUCCESS);
      const sunrealtype got[]  = {F, G[0], G[1], H[0], H[1], H[2], H[3]},
                        want[] = {a[0] * b[0], a[1] * b[0], a[0] * b[1], a[2] * b[0],
                                  a[1] * b[1], a[1] * b[1], a[0] * b[2]};
      const sunrealtype scale =
          (fabs(a[0]) + fabs(a[1]) + fabs(a[2])) * (fabs(b[0]) + fabs(b[1]) + fabs(b[2])) + 1;
      for (int k = 0; k < 7; k++) ck_assert(fabs(got[k] - want[k]) < 1e-12 * scale);
    }
  CPFunctionFree(&f);
  CPFunctionFree(&g);
  CPFunctionFree(&h);
}
END_TEST

/* ---- columns ---- */

START_TEST(columns_are_found_by_name_and_have_units) {
  static const char text[] = "# measured on Monday\n\n time [ms];angle [deg];pressure [bar] "
                             "\r\n0;0;1\r\n1;90;2.5\n\n2; 180;1e1\n";
  CPTable table            = {CP_SIZED(CPTable), .order = 1, .csv = text, .length = sizeof text - 1,
                              .column = {"angle", "pressure"}};
  static const char *const unit[] = {"rad"};
  CPFunctionOptions o             = {CP_SIZED(CPFunctionOptions), .table = &table, .nvariables = 1,
                                     .unit = unit, .result = "Pa"};
  const sunrealtype x             = acos(-1.0) / 4;
  sunrealtype value;
  CPFunction f;
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionEvaluate(f, &x, &value, NULL, NULL), CP_SUCCESS);
  ck_assert(fabs(value - 1.75e5) < 1e-9);
  CPFunctionFree(&f);
  o.result = "N";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "a column has the unit bar, and N is required");
  table.column[1] = "force";
  ck_assert_int_eq(CPFunctionCreate(&o, &f), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "there is no column \"force\", but ");
}
END_TEST

static const struct {
  const char *text, *message;
} bad[] = {{"", "1:1: the table has no rows"},
           {"x, y\n", "2:1: the table has no rows"},
           {"1 2\n", "a table of this kind needs 2 rows of x, and has 1"},
           {"1 2\n2 nan\n", "2:3: expected a finite number, and found \"nan\""},
           {"1 2\n2 0x3\n", "2:3: expected a finite number, and found \"0x3\""},
           {"1 2\n2 1e999\n", "2:3: expected a finite number"},
           {"1 2\n2 3\n2 4\n", "3:1: x must increase, and is 2 after 2"},
           {"1 2\n2\n", "2:1: the line has no column 2"},
           {"1 2\n2 three\n", "2:3: expected a finite number, and found \"three\""},
           {"x [mm, y\n1 2\n2 3\n", "1:3: the unit must end with ]"},
           {"x [furlong], y\n1 2\n2 3\n", "there is no unit \"furlong\""}};

START_TEST(what_is_wrong_with_columns_is_told_with_its_place) {
  const CPTable table = {CP_SIZED(CPTable), .csv = bad[_i].text, .length = strlen(bad[_i].text)};
  ck_assert_ptr_null(made_of(&table));
  ck_assert_mentions(CPObjectGetLastMessage(NULL), bad[_i].message);
}
END_TEST

START_TEST(wrong_tables_are_refused_with_a_reason) {
  static const sunrealtype down[] = {0, 2, 1}, same[] = {0, 1, 1}, nan[] = {0, NAN, 2},
                           ok[] = {0, 1, 2}, far[] = {-1e308, 0, 1e308};
  const struct {
    CPTable table;
    const char *message;
  } wrong[] = {
      {{CP_SIZED(CPTable), .nx = 1, .x = ok, .value = ok}, "needs 2 rows of x, and has 1"},
      {{CP_SIZED(CPTable), .order = 5, .nx = 2, .x = ok, .value = ok}, "needs 3 rows of x"},
      {{CP_SIZED(CPTable), .ends = CP_ENDS_PERIODIC, .nx = 3, .x = ok, .value = ok},
       "needs 4 rows of x"},
      {{CP_SIZED(CPTable), .order = 2, .nx = 3, .x = ok, .value = ok},
       "the order must be 1, 3 or 5, and is 2"},
      {{CP_SIZED(CPTable), .ends = (CPTableEnds)4, .nx = 3, .x = ok, .value = ok}, "ends must be"},
      {{CP_SIZED(CPTable), .order = 5, .ends = CP_ENDS_CUBIC, .nx = 3, .x = ok, .value = ok},
       "cubic ends need order 3, and the order is 5"},
      {{CP_SIZED(CPTable), .ends = CP_ENDS_CUBIC, .nx = 2, .x = ok, .value = ok},
       "needs 3 rows of x, and has 2"},
      {{CP_SIZED(CPTable), .slope = {NAN}, .nx = 3, .x = ok, .value = ok}, "slopes must be finite"},
      {{CP_SIZED(CPTable), .nx = 3, .x = down, .value = ok}, "x must increase; row 3 has 1 after 2"},
      {{CP_SIZED(CPTable), .nx = 3, .x = same, .value = ok}, "x must increase; row 3 has 1 after 1"},
      {{CP_SIZED(CPTable), .nx = 3, .x = nan, .value = ok}, "x must be finite; row 2"},
      {{CP_SIZED(CPTable), .nx = 3, .x = far, .value = ok}, "x has too large or too small a range"},
      {{CP_SIZED(CPTable), .nx = 3, .x = ok, .value = nan}, "a value must be finite; that in row 2"},
      {{CP_SIZED(CPTable), .nx = 3, .x = ok}, "a table needs values"},
      {{CP_SIZED(CPTable), .nx = 3, .value = ok}, "rows of x"},
      {{CP_SIZED(CPTable), .nx = 3, .x = ok, .ny = 1, .y = ok, .value = ok},
       "needs 2 rows of y, and has 1"},
      {{CP_SIZED(CPTable), .ends = CP_ENDS_PERIODIC, .nx = 7, .x = nodes, .value = nodes},
       "a periodic table must end with the value"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    ck_assert_ptr_null(made_of(&wrong[i].table));
    ck_assert_mentions(CPObjectGetLastMessage(NULL), wrong[i].message);
  }
}
END_TEST

/* ---- size ---- */

static double seconds(clock_t start) { return (double)(clock() - start) / CLOCKS_PER_SEC; }

/* 10^6 lines; under a sanitizer or valgrind 10^4. The bound for all orders is five times what a machine of 2020 takes. */
START_TEST(a_million_rows_are_read_in_a_second_or_so_and_found_at_once) {
  const int n = test_is_short() ? 10000 : 1000000, order = 1 + 2 * _i;
  char *text    = malloc((size_t)n * 40);
  size_t length = 0;
  for (int i = 0; i < n; i++)
    length += (size_t)sprintf(text + length, "%.6f,%.8f\n", i + 0.3 * sin(i),
                              cos(1e-3 * (i + 0.3 * sin(i))));
  const CPTable table  = {CP_SIZED(CPTable), .order = order, .csv = text, .length = length};
  const clock_t start  = clock();
  CPFunction f         = made_of(&table);
  const double reading = seconds(start);
  ck_assert_ptr_nonnull(f);
  const clock_t looking = clock();
  sunrealtype worst     = 0;
  for (int i = 0; i < n; i++) {
    const sunrealtype x = 1 + (n - 3) * (i * 0.6180339887498949 - floor(i * 0.6180339887498949));
    sunrealtype value;
    CPFunctionEvaluate(f, &x, &value, NULL, NULL);
    if (i % 100 == 0) worst = fmax(worst, fabs(value - cos(1e-3 * x)));
  }
  printf("order %d, %d rows: %.3f s to read, %.0f ns for a value, error %.1e\n", order, n, reading,
         1e9 * seconds(looking) / n, (double)worst);
  /* the rows have 8 digits, and x 6; linear interpolation adds (2 h)^2/8 1e-6 */
  ck_assert_double_le(worst, order == 1 ? 1e-6 : 1e-7);
  ck_assert_double_le(reading, 5);
  CPFunctionFree(&f);
  free(text);
}
END_TEST

/* Rows that are crowded in one place are found by bisection. */
START_TEST(rows_at_all_scales_are_found) {
  enum { N = 600 };
  sunrealtype x[N], value[N];
  for (int i = 0; i < N; i++) x[i] = pow(2, i - N / 2), value[i] = i;
  const CPTable table = {CP_SIZED(CPTable), .order = 1, .nx = N, .x = x, .value = value};
  CPFunction f        = made_of(&table);
  for (int i = 0; i < N - 1; i++) {
    const sunrealtype at[2] = {x[i], 1.5 * x[i]};
    sunrealtype v[2];
    CPFunctionEvaluate(f, at, v, NULL, NULL);
    CPFunctionEvaluate(f, at + 1, v + 1, NULL, NULL);
    ck_assert(fabs(v[0] - i) < 1e-12 && fabs(v[1] - i - 0.5) < 1e-12);
  }
  CPFunctionFree(&f);
}
END_TEST

START_TEST(without_memory_a_table_says_so_and_nothing_leaks) {
  static const char text[] = "x y\n0 1\n1 2\n2 0\n3 1\n";
  for (long n = 1, failed = 1; failed; n++) {
    const CPTable csv = {CP_SIZED(CPTable), .csv = text, .length = sizeof text - 1},
                  map = {CP_SIZED(CPTable), .nx = 2,    .x = nodes,
                         .ny = 2,           .y = nodes, .value = rows};
    alloc_watch_failing(n);
    CPFunction f   = made_of(_i ? &map : &csv);
    const int none = f == NULL;
    CPFunctionFree(&f);
    failed = alloc_has_failed();
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_eq(none, failed);
    if (failed) ck_assert_mentions(CPObjectGetLastMessage(NULL), "no memory");
    ck_assert_int_lt(n, 100);
  }
}
END_TEST

TEST_SUITE(tables) {
  Suite *suite = suite_create("language/tables");
  TCase *tcase = tcase_create("tables");
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, splines_and_their_derivatives_are_exact, 0,
                      sizeof splines / sizeof splines[0]);
  tcase_add_loop_test(tcase, slopes_of_tables_are_their_derivatives, 0,
                      sizeof splines / sizeof splines[0]);
  tcase_add_test(tcase, what_has_no_slope_is_told);
  tcase_add_test(tcase, a_table_of_order_one_joins_its_rows);
  tcase_add_test(tcase, tables_continue_beyond_their_ends);
  tcase_add_loop_test(tcase, a_map_of_a_product_is_the_product_of_splines, 0, 3);
  tcase_add_test(tcase, columns_are_found_by_name_and_have_units);
  tcase_add_loop_test(tcase, what_is_wrong_with_columns_is_told_with_its_place, 0,
                      sizeof bad / sizeof bad[0]);
  tcase_add_test(tcase, wrong_tables_are_refused_with_a_reason);
  tcase_add_loop_test(tcase, a_million_rows_are_read_in_a_second_or_so_and_found_at_once, 0, 3);
  tcase_add_test(tcase, rows_at_all_scales_are_found);
  tcase_add_loop_test(tcase, without_memory_a_table_says_so_and_nothing_leaks, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

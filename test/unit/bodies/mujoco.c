/* Robots in MJCF against MuJoCo 2.2.2 (Debian's libmujoco2.2.2), by its public functions: a motion,
 * and accelerations of closed loops; and actuators against MuJoCo 4.0.0. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static CPBodies bodies;
static CPMech mech;
static N_Vector y;

static void read_file(const char *path, CPFormulation formulation) {
  char message[READ_MESSAGE];
  CPBodiesFile file;
  bodies = read_bodies(path, NULL, 0, &file, message);
  ck_assert_msg(bodies != NULL, "%s", message);
  y = build_as(bodies, formulation, &mech);
}

static void clear(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

/* xpos, xquat of mjData at t = 0.5 after mj_step by mjINT_RK4 with steps of 1e-5 from qpos0 at
 * rest. Ten times longer steps differ by 5e-10, and the order is two if there is a ball joint. */
static const struct {
  const char *body;
  double x[3], e[4];
} at_half_a_second[] = {{"upper",
                         {0.118314862243, 0.314178388287, 1.195246127750},
                         {0.710365436385, 0.379673831026, 0.274313465972, 0.525338796597}},
                        {"elbow",
                         {0.286441664640, 0.575457756989, 1.254122861752},
                         {0.595450078250, 0.238959387055, 0.625485693762, 0.443965384405}},
                        {"hand",
                         {0.473216740572, 0.651351803991, 1.260801746160},
                         {-0.356480193486, 0.507964887331, 0.712970884681, 0.326444577973}},
                        {"wrist",
                         {-0.100662178005, 0.200000000000, 0.316556038874},
                         {0.796552346322, -0.074191371252, 0.597414259742, 0.055643528439}},
                        {"pendant",
                         {-0.049466292371, 0.209681208638, 0.114510542354},
                         {0.463987088543, 0.597152399485, 0.540421120931, 0.368876680622}},
                        {"sled",
                         {1.195327493304, 1.185395696716, 0.443388111326},
                         {0.987378995931, -0.091895165925, 0.060043667487, 0.114161091745}},
                        {"rider",
                         {1.096707020845, 1.321773267703, 0.688178742748},
                         {-0.798423907401, 0.451472619358, 0.358329480202, -0.174045171373}},
                        {"loose",
                         {-0.962500000000, -0.025000000000, 0.787500000001},
                         {0.995957553569, 0.058628245231, 0.054847870293, 0.040286368331}}};

START_TEST(all_joints_move_as_in_mujoco) {
  static const sunrealtype origin[3] = {0, 0, 0};
  const double bound = 1e-9; /* for the errors of MuJoCo's steps, and of those here */
  sunrealtype t;
  read_file(CPODES_BODIES_TEST "/joints.xml", (CPFormulation)_i);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-12, 1e-12), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL), CP_SUCCESS);
  for (int i = 0; i < 8; i++) {
    sunrealtype x[3], dot = 0;
    const char *name = at_half_a_second[i].body;
    const int body   = thing_named(bodies, CP_BODY, name);
    ck_assert_int_eq(body_point(mech, body, origin, y, x, NULL), CP_SUCCESS);
    for (int k = 0; k < 3; k++)
      ck_assert_msg(fabs(x[k] - at_half_a_second[i].x[k]) <= bound, "%s x[%d] = %.12f", name, k,
                    (double)x[k]);
    if (_i == CP_JOINT_COORDINATES) continue;
    const sunrealtype *e = entries(y) + 7 * body + 3; /* either sign is right */
    for (int k = 0; k < 4; k++) dot += e[k] * at_half_a_second[i].e[k];
    for (int k = 0; k < 4; k++)
      ck_assert_msg(fabs(copysign(1, dot) * e[k] - at_half_a_second[i].e[k]) <= bound,
                    "%s e[%d] = %.12f", name, k, (double)e[k]);
  }
  CPIntegratorFree(&mem);
  clear();
}
END_TEST

/* MuJoCo's constraints are soft. The exact accelerations at rest solve [M J^T; J 0] with its
 * matrices at qpos0: mj_fullM, efc_J of `equality`, and the forces qfrc_passive - qfrc_bias. The
 * fingers of the parallelograms do not turn. */
START_TEST(closed_loops_accelerate_as_with_the_matrices_of_mujoco) {
  static const struct {
    const char *body;
    double turn; /* about y */
  } want[] = {{"crank_l", 103.98383094478557},  {"finger_l", 0}, {"rocker_l", 103.98383094478557},
              {"crank_r", -103.98383094478557}, {"finger_r", 0}, {"rocker_r", -103.98383094478557}};
  sunrealtype a[36] = {0};
  CPMechOutput out  = {CP_SIZED(CPMechOutput), .udot = a};
  read_file(CPODES_MECHANISMS "/gripper.xml", CP_ABSOLUTE);
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int i = 0; i < 6; i++) {
    ck_assert_str_eq(thing_at(bodies, CP_BODY, i).name, want[i].body);
    ck_assert_double_eq_tol(a[6 * i + 4], want[i].turn, 1e-11);
    ck_assert_double_eq_tol(a[6 * i + 3], 0, 1e-11);
    ck_assert_double_eq_tol(a[6 * i + 5], 0, 1e-11);
  }
  clear();
}
END_TEST

/* The same numbers: absolute angular accelerations are sums along the tree. */
START_TEST(joint_coordinates_of_closed_loops_accelerate_as_with_the_matrices_of_mujoco) {
  static const struct {
    const char *state;
    double turn;
  } want[] = {
      {"hinge_l.angle'", 103.98383094478557},        {"knuckle_l.angle'", -103.98383094478557},
      {"rocker_l_joint.angle'", 103.98383094478557}, {"hinge_r.angle'", 103.98383094478557},
      {"knuckle_r.angle'", -103.98383094478557},     {"rocker_r_joint.angle'", 103.98383094478557}};
  sunrealtype a[6] = {0};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  read_file(CPODES_MECHANISMS "/gripper.xml", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_STATE), 13);
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int i = 0; i < 6; i++)
    ck_assert_double_eq_tol(fabs(a[thing_named(bodies, CP_STATE, want[i].state) - 6]),
                            fabs(want[i].turn), 1e-11);
  clear();
}
END_TEST

/* qpos, qvel, ctrl and qacc of mj_forward, MuJoCo 4.0.0, at random states and controls: each kind of actuator, with gear, ranges and
 * shared defaults */
static const struct {
  double q[5], u[5], control[7], acceleration[5];
} at_random[] = {{{0.6100058474907604, 0.6158815794729875, 0.030651122084284, -0.4283972398237168,
                   -0.8921385952366871},
                  {-0.4665244768579271, -0.3661071783200054, -1.8188992243902193,
                   -1.8049691570913278, 1.9967044602602857},
                  {0.9142146695279263, -1.5929387899810563, -0.3903146866491478, 2.8451171595555325,
                   2.386065648651293, 2.0653862256524462, -0.6455720139913312},
                  {2.630350436721696, -75.40046131023618, 34.80521416672832, 681.6092604278679,
                   70.59478912872612}},
                 {{-0.013953962536514819, 0.3533787036621321, -0.8783945740838879,
                   0.11119223384144683, -0.45709679093979694},
                  {1.5186046933396886, -1.743142250751236, 0.7167261320854599, 1.4803540093100134,
                   -1.0907258993563675},
                  {2.372689436484756, 2.2331728081460103, -2.8888966939787357, 1.2449734040230638,
                   2.992801898479028, 0.020183793321987054, -0.3799976869460835},
                  {24.735927459765612, -71.92339144350521, -36.64383267330483, -949.3161337102089,
                   284.33173649648523}},
                 {{-0.5934943277708704, -0.35011471084878787, 0.6124306620540871,
                   -0.3670958251910197, -0.7019228329328884},
                  {0.7940479612732432, -0.20582359695849517, 1.195757963852536, -1.0579341707753143,
                   -0.7208613827268548},
                  {1.7992771563297207, 0.04240883354034786, 0.038310008529425676,
                   -1.582835229624819, 2.91278231781712, 2.599343401352602, -2.4850452534790204},
                  {15.189292197044713, 12.471615398471803, -25.767065801905478, 209.66288320202443,
                   344.3120822968988}},
                 {{0.20695608088416598, -0.07927155665308995, 0.27061378871747965,
                   -0.060344843052716146, 0.2618652371052018},
                  {0.22463910213558824, -1.0394586867888966, 0.9656866801112511, 0.6975588595470512,
                   0.7368208495383932},
                  {-0.21705383949979673, -1.6686686450132717, 0.8456408488878657,
                   -2.3574630231762814, 1.1533336478689797, 0.8123207993442647, -0.7409248464738467},
                  {11.55947306197849, 45.688188020600194, -10.834544450418, -887.5395479199311,
                   144.52005291160498}},
                 {{0.1791140074836633, -0.18358471439577326, -0.06572465172136706,
                   0.1787603316582126, -0.07171477761400584},
                  {0.8530314564978085, 0.4500712166612475, 1.7640039009704074, 1.9667068679607853,
                   0.8947050186031853},
                  {1.8530628542080194, -2.0828098611259627, 1.2773415753994106, 2.0857462815272036,
                   0.5926455120442116, 0.31950023876124556, -0.12307348943482754},
                  {24.921403043377843, 123.51941900393875, -54.12848098629395, -886.581176319559,
                   373.19061040084097}},
                 {{0.27511379987962287, -0.10963329583397059, -0.05874928383734048,
                   -0.2994481265334805, -0.04788927918412173},
                  {0.5257444245291603, 1.7398443767466012, 1.6947063390309385, -0.6906007467036086,
                   1.955444102476077},
                  {-1.8739503585928872, 1.9395121082161895, -2.0564430774957323,
                   -0.5694080828330428, 2.559160129156335, 2.1482335871881038, 1.9727884258591342},
                  {-0.0031212764864988864, -234.5567645216384, -40.9725584177514,
                   2047.8597129015297, 311.26749881613966}}};

/* In the state q, u of row k of a table its accelerations are those of the first n joints. */
static void assert_accelerates(int n, const double *q, const double *u, const double *acceleration,
                               size_t k) {
  static const char *const states[] = {"shoulder.angle", "elbow.angle", "rail.displacement",
                                       "pan.angle", "tilt.angle"};
  sunrealtype a[5];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  for (int i = 0; i < n; i++) {
    entries(y)[thing_named(bodies, CP_STATE, states[i])]     = q[i];
    entries(y)[n + thing_named(bodies, CP_STATE, states[i])] = u[i];
  }
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int i = 0; i < n; i++) {
    const double want = acceleration[i],
                 off  = fabs(a[thing_named(bodies, CP_STATE, states[i])] - want);
    ck_assert_msg(off <= 1e-10 * fmax(1, fabs(want)), "%zu: %s'' is off by %g of %g", k, states[i],
                  off, want);
  }
}

START_TEST(actuators_accelerate_as_in_mujoco) {
  static const char *const controls[] = {"a.control",           "b.control", "b2.control",
                                         "c.control",           "d.control", "e.control",
                                         "pan_actuator.control"};
  sunrealtype *values;
  read_file(CPODES_BODIES_TEST "/actuators.xml", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  for (size_t k = 0; k < sizeof at_random / sizeof *at_random; k++) {
    for (int i = 0; i < 7; i++)
      values[thing_named(bodies, CP_PARAMETER, controls[i])] = at_random[k].control[i];
    assert_accelerates(5, at_random[k].q, at_random[k].u, at_random[k].acceleration, k);
  }
  clear();
}
END_TEST

/* The same of actuators with activations, muscles, and on ball and free joints and sites: qpos, qvel, ctrl, act, qacc, act_dot and
 * actuator_force of mj_forward, MuJoCo 4.0.0, at random states */
static const struct {
  double q[15], u[13], control[16], act[7], acceleration[13], act_dot[7], force[16];
} activated[] = {
    {{0.17513365324653374, 0.5560993213574057, 0.3859599663432709, -0.631822566864412,
      -0.3225621997236262, -0.703514948749578, 0.0426683512242957, 0.6424568367655326,
      0.5941388575040925, -0.06413009431255845, -0.39393514636137295, 0.3559791814754171,
      0.10514610287323199, -0.9281011787229473, -0.029177413520388384},
     {0.10699470414898493, 0.9910005668687853, 0.5853238384275061, 0.24435845888232532,
      0.9779202953637698, -0.5693826035288021, -0.6795759322843109, 0.22507920854606156,
      -0.9121159840772333, -0.9286394424528077, 0.02977764054274057, -0.0675879493494218,
      0.8343355463857045},
     {0.20676200718561666, 0.02258823455922221, -0.005002503370393208, -0.4039761247562707,
      -0.7811295591319907, -0.492156569623503, 0.30725139341094265, -0.47902924162080773,
      -0.20874190303646933, -0.7940252127166785, 0.5280763676827929, -0.5528622703016963,
      -0.3718411126979433, 0.6085314463693259, 0.015665295789477063, 0.5554403941853909},
     {0.5937595919011474, 0.6805053052575786, 0.12777126430358882, 0.5099722481700154,
      0.48160640085529743, 0.7906384701889486, 0.35707445016203393},
     {21.196801062061333, -2.7922271454318466, -40.50880353722348, -192.8447427029165,
      -140.58462901890016, 150.96633991013468, -125.0, 1.5213286159233146, 3.042657231846629,
      -5.246014152230057, 0.8114603037986186, 1.0609160819600072, 1.1754003366259647},
     {0.20676200718561666, -3.4275390431398587, -1.063494778119719, -16.127341623509434,
      -9.812004807413981, -1.6112902559266866, -0.47902924162080773},
     {1.1318656637212112, -2.281645196402028, 1.7501783832676132, -2.418859829500349,
      -9.387404097897138, -8.837152429399891, 27.962373686403794, 0.4758635151893667,
      -0.20874190303646933, -0.7940252127166785, 0.5280763676827929, -0.8802435600157952,
      0.8863749844146152, 0.6085314463693259, 0.015665295789477063, 0.5554403941853909}},
    {{0.13745769409009834, -0.6170477007162949, -0.15731547844497984, 0.6295945840083526,
      -0.20610083317612474, 0.745559860563903, -0.07261956118973827, 0.9574957688224432,
      0.17998338602122055, 0.21011250765970257, 0.2759931615766644, -0.3296020930509754,
      0.09054014405013293, -0.8445832122186886, -0.41212151146252834},
     {-0.19500340379203673, -0.8065918121365088, 0.9356561020976428, -0.5699919252882399,
      0.3435303252225699, -0.3991598370418594, 0.7481540522990089, 0.3244294766769076,
      -0.7367683683833885, 0.6901486417491058, 0.8898963422899591, 0.8078335763918536,
      0.13943829571855448},
     {-0.567264073982517, -0.49205840805066825, 0.684649095591239, 0.08372238026762202,
      -0.5111160024817414, 0.6144910307143518, 0.2265147283559692, 0.11151083915809268,
      -0.19793946219212777, -0.14247154854859223, -0.41681725970904826, -0.7391083412940175,
      0.6019500929748336, -0.05163165309744622, 0.07621631874197643, -0.28453870435163986},
     {0.6886261818766888, 0.07141734018149631, 0.3663574816804233, 0.07579775022649489,
      0.15445828687425794, 0.8720760000877625, 0.6090966205327373},
     {20.441977024819582, 465.46827232745784, -19.955007512314594, 903.4830705275515,
      374.6953873603114, -273.38898624174954, 62.5, -0.12907913274361554, -0.2581582654872311,
      -10.197237398230847, 3.754494468540669, 5.16381166902182, 5.536501869445701},
     {-0.567264073982517, 3.066158777048713, -0.5652702028256026, -1.3853602269449092,
      31.43642522629616, -2.1518709057726446, 0.11151083915809268},
     {2.2245566915160904, -6.732039739487005, 22.26713485120675, -2.3664410650096843,
      -1.3520533767059566, -2.618030841995536, 32.42639122739659, 1.2630614552309738,
      -0.19793946219212777, -0.14247154854859223, -0.41681725970904826, -1.00381882261373,
      8.482614556684174, -0.05163165309744622, 0.07621631874197643, -0.28453870435163986}},
    {{-0.10049165505472613, 0.03323615107467248, 0.521932891990684, -0.7115448597789491,
      -0.5337879977956745, 0.1757244781280614, 0.42177623654973856, 0.038196972991980216,
      0.5304947665570452, 0.8183586279811004, -0.697875443846369, -0.698822401598988,
      -0.05353097897809089, 0.023855873922293155, -0.7128903019346481},
     {-0.7264718969148369, -0.1621926981736297, 0.6305125559900913, -0.9714576206307788,
      0.25692389573258145, 0.5860473161960682, 0.026007165644416963, 0.4516988411021743,
      -0.5471530346057119, -0.6029577040146543, -0.2737460988992968, -0.641187944865707,
      -0.3078771217750431},
     {0.7169984982573037, 0.11733234817779348, -0.2558910921266563, -0.36556060830594356,
      0.7232631851320357, -0.08883486456461875, 0.7686316014089432, 0.02483627057003357,
      0.03386580644195836, 0.6344648379456013, 0.38842786914406324, 0.1290445821645161,
      -0.11736079386198672, 0.6051005750692489, -0.14136616014897851, 0.6764153218695481},
     {0.1084080493035823, 0.4154973326159886, 0.4915875968961801, 0.8582974662445724,
      0.2633493596650444, 0.7351332751727925, 0.6250005199988045},
     {22.58966911865119, 33.714817306290016, -48.75819579705283, -247.9214125433081,
      276.10589108651413, -33.9603312287602, -124.99999999999997, 1.5127514376731221,
      3.0255028753462443, -5.271745686980634, -7.167011556939983, -9.368223902581056,
      -10.646342685815453},
     {0.7169984982573037, -3.3569421237132246, -1.7142964104042473, -6.074609171265988,
      -3.928400128108427, 0.1116610874538356, 0.02483627057003357},
     {2.1281343145970424, 5.676764845358288, 11.792220842586744, -2.8006551723340314,
      -14.118117491581376, -5.471663623299705, 32.504871953378476, 0.9098998542493697,
      0.03386580644195836, 0.6344648379456013, 0.38842786914406324, -0.19702998019094464,
      3.3351542552338476, 0.6051005750692489, -0.14136616014897851, 0.6764153218695481}},
    {{0.303920265993572, 0.181471055976285, 0.6601849918462119, -0.22497920000336394,
      -0.17980844716870814, -0.8264802449605666, -0.48371860268398437, -0.5741836100493216,
      0.8309287942478165, 0.6803376343167793, -0.775188517014842, -0.3511490284499106,
      0.6477428262896444, -0.6692620031006103, -0.09597896652259741},
     {-0.3866810182222562, 0.9227016894729139, -0.06831992987775015, 0.2562017097298137,
      0.2704523677994264, -0.6322212069806177, -0.8762691636872517, -0.17696635300405017,
      0.5280601768769373, 0.6304435765835434, 0.45997849800412993, -0.773590094949554,
      0.826709723062091},
     {0.483258524795654, 0.6043061866392536, 0.03728664476028365, 0.6650166961611719,
      -0.7253564192737806, -0.7515378657094369, -0.767655082630165, -0.3955701152760698,
      -0.4022883628656274, -0.49999466503045353, 0.10728930941663306, -0.7376226543471275,
      0.14462058853576276, -0.5343821551244528, 0.28459793370769515, -0.7662794328897743},
     {0.31398466749521564, 0.8475900938349219, 0.507636922895658, 0.7398492923347382,
      0.609322169369967, 0.5691381677714974, 0.21256477807216279},
     {9.303338458539429, 37.0683543783867, -27.463045576043076, 22.811291467892527,
      -321.9637483655467, -279.1150861699297, 62.499999999999986, -1.3359553878111319,
      -2.6719107756222638, -13.817866163433397, 14.54966391196442, 19.226708044979357,
      21.433803730563575},
     {0.483258524795654, -4.051517245373191, 0.3147595465310278, -29.77475273049221,
      -14.359522396892793, -4.455977501338875, -0.3955701152760698},
     {-1.159934507881837, 5.234916165841201, 18.138167756813278, -0.979527454436825,
      -13.230065894722863, -9.978780276184075, 17.267142918321838, 0.046299318644780874,
      -0.4022883628656274, -0.49999466503045353, 0.10728930941663306, -1.4957404894396764,
      5.282473690931052, -0.5343821551244528, 0.28459793370769515, -0.7662794328897743}}};

static void close_to(double is, double want, const char *what, int i) {
  ck_assert_msg(fabs(is - want) <= 1e-10 * fmax(1, fabs(want)), "%s %d is off by %g of %g", what, i,
                is - want, want);
}

START_TEST(activated_actuators_act_as_in_mujoco) {
  static const char names[] = "abcdefghijklmnop", active[] = "acdefgh";
  char name[40];
  sunrealtype a[13], lambda[1], *values;
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  read_file(CPODES_BODIES_TEST "/activations.xml", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_STATE), 15 + 13 + 7 + 1); /* in MuJoCo's order, and W */
  for (size_t k = 0; k < sizeof activated / sizeof *activated; k++) {
    sunrealtype zdot[8];
    memcpy(entries(y), activated[k].q, sizeof activated[k].q);
    memcpy(entries(y) + 15, activated[k].u, sizeof activated[k].u);
    for (int i = 0; i < 16; i++) {
      snprintf(name, sizeof name, "%c.control", names[i]);
      values[thing_named(bodies, CP_PARAMETER, name)] = activated[k].control[i];
    }
    for (int i = 0; i < 7; i++) {
      snprintf(name, sizeof name, "%c.activation", active[i]);
      ck_assert_int_eq(thing_named(bodies, CP_STATE, name), 28 + i);
      entries(y)[28 + i] = activated[k].act[i];
    }
    ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
    const CPEquations e = equations_of(mech);
    ck_assert_int_eq(e.zdot(0, entries(y), entries(y) + 15, entries(y) + 28, lambda, zdot,
                            CPMechGetUserData(mech)),
                     0);
    for (int i = 0; i < 7; i++) close_to(zdot[i], activated[k].act_dot[i], "act_dot", i);
    for (int i = 0; i < 16; i++) {
      static const char *const quantities[] = {
          "torque", "torque", "torque", "force", "torque", "force", "torque", "force",
          "torque", "torque", "force",  "force", "force",  "force", "force",  "torque"};
      CPSensor s = {CP_SIZED(CPSensor)};
      snprintf(name, sizeof name, "%c.gear", names[i]);
      const double gear = values[thing_named(bodies, CP_PARAMETER, name)];
      snprintf(name, sizeof name, "%c.%s", names[i], quantities[i]);
      ck_assert_msg(CPMechGetSensor(mech, name, 0, y, &s) == CP_SUCCESS, "%s",
                    CPObjectGetLastMessage(CP_OBJECT(mech)));
      /* MuJoCo clamps the joint's force, and not that of its actuator, to actuatorfrcrange. */
      const double F = activated[k].force[i];
      close_to(s.value[0] / gear, names[i] == 'p' ? fmin(fmax(F, -0.5 / 3), 1.0 / 3) : F,
               "actuator_force", i);
    }
    for (int i = 0; i < 13; i++) close_to(a[i], activated[k].acceleration[i], "qacc", i);
  }
  clear();
}
END_TEST

/* Controls and activations begin at a keyframe. */
START_TEST(keyframes_have_controls_and_activations) {
  char message[READ_MESSAGE];
  CPBodiesFile file = {CP_SIZED(CPBodiesFile), .parameters = "start=on"};
  ck_assert_msg(CPBodiesRead(CPODES_BODIES_TEST "/activations.xml", NULL, 0, &bodies, &file) ==
                    CP_SUCCESS,
                "%s", message);
  const sunrealtype *values = CPBodiesParameters(bodies);
  ck_assert_double_eq(values[thing_named(bodies, CP_PARAMETER, "c.control")], 0.5);
  ck_assert_double_eq(values[thing_named(bodies, CP_PARAMETER, "i.control")], 0.25);
  y = CPBodiesState(bodies, test_context);
  for (int i = 0; i < 7; i++) ck_assert_double_eq(entries(y)[28 + i], (i + 1) / 10.0);
  N_VDestroy(y);
  CPBodiesFree(&bodies);
}
END_TEST

/* MuJoCo's force is scale / |M^-1 J^T| at the reference, here scale I / |gear| with I = 0.3 + 2 0.5^2; also of a robot that starts elsewhere. */
START_TEST(forces_of_muscles_follow_from_a_scale) {
  static const char text[] =
      "<mujoco><worldbody><body><joint name=\"j\" axis=\"0 1 0\"/><inertial pos=\"0.5 0 0\" "
      "mass=\"2\" diaginertia=\"0.3 0.3 0.3\"/>"
      "<body pos=\"1 0 0\"><inertial pos=\"0 0 0\" mass=\"1e-9\" diaginertia=\"1e-12 1e-12 "
      "1e-12\"/></body></body></worldbody>"
      "<actuator><muscle name=\"m\" joint=\"j\" gear=\"2\" scale=\"100\" lengthrange=\"0 "
      "1\"/></actuator>"
      "<keyframe><key name=\"k\" qpos=\"1.2\" qvel=\"3\"/></keyframe></mujoco>";
  CPBodiesFile file = {CP_SIZED(CPBodiesFile), .parameters = _i ? "start=k" : NULL};
  ck_assert_msg(CPBodiesRead("m.xml", text, sizeof text - 1, &bodies, &file) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(NULL));
  ck_assert_str_eq(file.notes, "");
  ck_assert_double_eq_tol(
      CPBodiesParameters(bodies)[thing_named(bodies, CP_PARAMETER, "m.peak_force")],
      100 * (0.8 + 1e-9) / 2, 1e-10);
  CPBodiesFree(&bodies);
}
END_TEST

/* K and C against differences, in both formulations, within the ranges and beyond */
START_TEST(derivatives_of_actuators_are_exact) {
  unsigned int seed = 3;
  sunrealtype *values;
  read_file(CPODES_BODIES_TEST "/actuators.xml", (CPFormulation)_i);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  for (int k = 0; k < 6; k++) {
    CPMechReport r                                         = CP_INIT(CPMechReport);
    values[thing_named(bodies, CP_PARAMETER, "e.control")] = k - 3.5;
    values[thing_named(bodies, CP_PARAMETER, "b.control")] = 1.5 - k;
    for (sunindextype i = 0; i < N_VGetLength(y); i++)
      entries(y)[i] += 0.2 * (double)(seed = seed * 1103515245u + 12345u) / 4294967296.0;
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_le(r.K, 1e-8);
    ck_assert_double_le(r.C, 1e-8);
  }
  clear();
}
END_TEST

/* The same with tendons of coordinates and along sites, with pulleys, springs that rest between two lengths, and actuators: qpos, qvel,
 * ctrl, qacc, ten_length and ten_velocity of mj_forward, MuJoCo 4.0.0, at random states */
static const struct {
  double q[3], u[3], control[2], acceleration[3], length[4], rate[4];
} with_tendons[] = {
    {{0.4880046779926084, 0.49270526357838995, 0.024520897667427155},
     {-0.8567944796474336, -1.7842771904733743, -0.4665244768579271},
     {-0.3661071783200054, -1.8188992243902193},
     {-12.477473701191025, 48.38415939930433, -53.932697606241206},
     {-0.24987177272222683, -0.24635263178919498, 1.344248347074657, 2.2280004314807678},
     {0.7867552581463291, 0.8921385952366871, -0.4411025761326356, -0.6883464483924914}},
    {{-0.7219876628365312, 0.7986817841041143, 0.24379057854078034},
     {-1.0619591933207042, -0.2602097910994319, 1.8967447730370215},
     {1.5907104324341952, 1.3769241504349639},
     {1.2188375713229838, -95.33013857329205, -5.59120281525302},
     {-1.0560965262393598, -0.39934089205205714, 1.4153783650966354, 1.5878992400160328},
     {3.3883908391788116, 0.13010489554971594, 1.7399109774259105, 0.6482930287169242}},
    {{-0.17215253706435496, -0.011163170029211855, 0.28270296292970576},
     {-1.7567891481677758, 0.22238446768289366, -0.9141935818795939},
     {1.5186046933396886, -1.743142250751236},
     {-15.471225373368535, 113.68586801930442, -94.75323590734098},
     {0.45941127095233847, 0.005581585014605928, 1.522722486307892, 1.8708640711138371},
     {-3.3472393754643925, -0.11119223384144683, -1.0809117758393785, -1.7757910478281635}},
    {{0.28669045283418404, 0.5921416037240055, -0.43629035974254704},
     {1.581792957656504, 1.48878187209734, -1.925931129319157},
     {0.8299822693487093, -1.9952012656526854},
     {-16.44959392179476, -226.64529350814624, 41.608470714591256},
     {-1.4416814873423724, -0.29607080186200274, 1.4263895902081014, 1.8565317815915237},
     {-4.6800236220053035, -0.74439093604867, 1.9281951454956598, 0.3612117390776487}},
    {{0.0053823448858631995, -0.1013327165189557, -0.47479546221669633},
     {-0.7002294216975757, 1.2248613241081743, -0.7341916503820394},
     {-1.4038456658657767, 0.7940479612732432},
     {-7.254277325915139, -53.53341801975699, 49.52920809686405},
     {-0.814090751538646, 0.05066635825947785, 1.4360998427056206, 1.7047298031916558},
     {-3.5508636172930084, -0.6124306620540871, 0.6530714685181808, -0.4605371851547312}},
    {{-0.08232943878339805, 0.4783031855410145, -0.4231736683101257},
     {-0.7208613827268548, 1.1995181042198135, 0.028272555693565238},
     {0.025540005686283784, -1.055223486416546},
     {-9.068566819699306, -278.2374697557398, 43.50724335041154},
     {-1.525772084971949, -0.23915159277050724, 1.3788080854508928, 1.603809427464246},
     {-2.0074313920074256, -0.5997590521099068, -0.12593752985786758, -0.5829605518218681}},
};

START_TEST(tendons_pull_as_in_mujoco) {
  static const char *const lengths[]      = {"coupled.angle", "single.angle", "path.length",
                                             "hoist.length"},
                           *const rates[] = {"coupled.rate", "single.rate", "path.rate",
                                             "hoist.rate"};
  sunrealtype *values;
  read_file(CPODES_BODIES_TEST "/tendons.xml", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  for (size_t k = 0; k < sizeof with_tendons / sizeof *with_tendons; k++) {
    values[thing_named(bodies, CP_PARAMETER, "pull.control")]  = with_tendons[k].control[0];
    values[thing_named(bodies, CP_PARAMETER, "servo.control")] = with_tendons[k].control[1];
    assert_accelerates(3, with_tendons[k].q, with_tendons[k].u, with_tendons[k].acceleration, k);
    for (int i = 0; i < 4; i++) {
      ck_assert_double_eq_tol(quantity_at(mech, lengths[i], 0, y, 0), with_tendons[k].length[i],
                              1e-10);
      ck_assert_double_eq_tol(quantity_at(mech, rates[i], 0, y, 0), with_tendons[k].rate[i], 1e-10);
    }
  }
  clear();
}
END_TEST

/* A fluid that flows, with both models of MuJoCo, on bodies with joints in a row and on what is part of them: qacc of mj_forward, MuJoCo 4.0.0, at the
 * keyframe, with mjModel.geom_fluid[6 to 11], the added masses, by scipy.special.elliprd: those of MuJoCo itself come from a quadrature that is off by up to
 * 6e-7, by as much as accelerations then are. */
START_TEST(fluids_drag_as_in_mujoco) {
  static const char *const joints[] = {"x", "y", "z", "roll", "pitch", "yaw", "elbow", "hinge"};
  static const double qacc[]        = {-18.9555345425204,  -14.5835623980464, -12.1101265290343,
                                       -75.3094891764454,  -39.4305950335609, 57.5107379955503,
                                       -233.2313418174468, 75.0913859519918};
  CPBodiesFile file                 = {CP_SIZED(CPBodiesFile), .parameters = "start=swim"};
  CPMechReport r                    = CP_INIT(CPMechReport);
  ck_assert_msg(CPBodiesRead(CPODES_BODIES_TEST "/fluid.xml", NULL, 0, &bodies, &file) == CP_SUCCESS,
                "%s", CPObjectGetLastMessage(NULL));
  ck_assert_str_eq(file.notes, "");
  y = build_as(bodies, (CPFormulation)_i, &mech);
  for (int i = 0; i < 8; i++) {
    char name[40];
    CPSensor s = {CP_SIZED(CPSensor)};
    snprintf(name, sizeof name, "%s.acceleration", joints[i]);
    ck_assert_msg(CPMechGetSensor(mech, name, 0, y, &s) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_eq_tol(s.value[0], qacc[i], 1e-10 * fabs(qacc[i]));
  }
  ck_assert_int_eq(CPMechCheck(mech, 0, y, &r), CP_SUCCESS);
  ck_assert_double_le(r.K, 1e-8);
  ck_assert_double_le(r.C, 1e-8);
  clear();
}
END_TEST

/* The same where tendons wrap around spheres and cylinders, with sides and inside: qpos, qvel, ctrl, qacc, ten_length and ten_velocity of
 * mj_forward, MuJoCo 4.0.0, at random states, where each tendon is straight at some and wraps at others. Inside MuJoCo has the point of
 * contact as accurately as an iteration that ends at 1e-6; so are its rates, while lengths have an error of second order. These tendons
 * do not pull. */
static const struct {
  double q[3], u[3], control, acceleration[3], length[5], rate[5];
} with_wraps[] = {
    {{0.9150087712361406, 0.9238223692094811, 0.009195336625285211},
     {-0.8567944796474336, -1.7842771904733743, -0.4665244768579271},
     -0.3661071783200054,
     {23.839753397445115, -21.121013909660004, -105.45657178742105},
     {0.6616428178673466, 1.3229047940272873, 1.7546092916580673, 0.4847599666372292,
      1.2301630271204131},
     {-0.22628447583377295, -0.5365834684795447, 0.002700119988121752, 0.09269437396830402,
      -0.37971190035325525}},
    {{-1.3641744182926645, -1.3537268678184957, 0.2995056690390428},
     {0.6094764463519509, -1.0619591933207042, -0.2602097910994319},
     1.8967447730370215,
     {-25.12525315000484, -63.310448419647486, -99.49709523750869},
     {0.9375923623054572, 1.181377467210687, 1.5365133962136377, 0.47698912035178015,
      0.9406766131543233},
     {-0.35153525061672364, 0.004962439509149763, -0.3811851786846413, -0.09759484033532369,
      -0.05334718951344619}},
    {{1.1930328243256465, 1.0326931128262231, -0.0645572013991331},
     {-0.027907925073029638, 0.7067574073242642, -1.7567891481677758},
     0.22238446768289366,
     {37.04852433766639, 65.48303862176517, -65.61488891748479},
     {0.5946837514291183, 1.135445395472859, 1.5957145791248655, 0.4793217301122832,
      1.149326604407082},
     {-1.2089204998372742, -1.5279719680724726, -1.4481780224887182, -0.03376780822010526,
      -1.6993791675721954}},
    {{-0.6856451864096954, 1.1389535200047662, -0.2614713376126854},
     {0.7167261320854599, 1.4803540093100134, -1.0907258993563675},
     1.581792957656504,
     {-16.48771107693335, 10.974564592728406, -39.343954382897564},
     {0.6018980028527214, 0.8744489649510878, 1.5465241565947707, 0.4744982844853712,
      0.6516138986577852},
     {0.6535871148638741, -0.28630464901753905, -0.4146851829640822, -0.06352642018066675,
      -0.6806435662554474}},
    {{1.1165864040730051, -1.4444483469893679, 0.12449734040230642},
     {-1.9952012656526854, 0.013455862214657888, -0.25333179129738914},
     -1.1869886555417408,
     {21.550979677654766, -119.49501876583942, -94.96404837339189},
     {0.7607189282630924, 1.2093346520258366, 1.762454584103208, 0.4684026784788225,
      1.3134475749228014},
     {-0.23657988031837204, -0.31170895073389415, 0.2545412774169322, 0.0013094022713073038,
      -0.20792454900314392}},
    {{-0.7934506280814857, -0.5406460370451411, 0.179927715632972},
     {0.028272555693565238, 0.025540005686283784, -1.055223486416546},
     -1.941854878544747,
     {-17.4177376557014, -67.86299227127301, -141.91288214512755},
     {0.8741913038623993, 1.2230015900825046, 1.9036983926370432, 0.5271732626846596,
      1.060123548111477},
     {-1.0083655319412668, -1.0267450768509752, -0.8964512377854823, 0.0007116651391796706,
      -1.0420259378389278}},
    {{0.16847932660169107, -0.7795940150916725, 0.14485300201668766},
     {0.6975588595470512, 0.7368208495383932, -0.144702559666531},
     -1.1124457633421811,
     {3.3015986426390445, -65.81627352071787, -142.74949402561253},
     {0.829535713563232, 1.410070936872707, 1.9874234052290307, 0.5179949754843565, 1.28502443907887},
     {-0.09953267211610199, -0.08377185707139101, 0.020994761978498644, 0.03593881374657818,
      0.02188991169962423}},
    {{0.42282042444393286, -1.1787315115881407, 0.11533336478689793},
     {0.5415471995628431, -0.49394989764923114, 1.194093383224422},
     -1.2238980959718218,
     {0.3673354066392804, -60.373292627553845, -135.8345611543038},
     {0.7757988854326974, 1.4299393368420519, 1.8844346085851813, 0.4920705039317678,
      1.277443942892118},
     {1.0770595220175065, 1.2495524189105738, 0.8115281651725381, -0.039616975288310805,
      1.2258426524374884}},
};

START_TEST(tendons_wrap_as_in_mujoco) {
  static const char *const lengths[]      = {"over.length", "sided.length", "belt.length",
                                             "inner.length", "caught.length"},
                           *const rates[] = {"over.rate", "sided.rate", "belt.rate", "inner.rate",
                                             "caught.rate"};
  sunrealtype *values;
  read_file(CPODES_BODIES_TEST "/wraps.xml", (CPFormulation)_i);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  for (size_t k = 0; k < sizeof with_wraps / sizeof *with_wraps; k++) {
    values[thing_named(bodies, CP_PARAMETER, "pull.control")] = with_wraps[k].control;
    assert_accelerates(3, with_wraps[k].q, with_wraps[k].u, with_wraps[k].acceleration, k);
    for (int i = 0; i < 5; i++) {
      ck_assert_double_eq_tol(quantity_at(mech, lengths[i], 0, y, 0), with_wraps[k].length[i],
                              1e-10);
      ck_assert_double_eq_tol(quantity_at(mech, rates[i], 0, y, 0), with_wraps[k].rate[i],
                              i < 3 ? 1e-10 : 1e-6);
    }
  }
  clear();
}
END_TEST

TEST_SUITE(mujoco) {
  Suite *suite = suite_create("bodies/mujoco");
  TCase *tc    = tcase_create("mujoco");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, all_joints_move_as_in_mujoco, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  tcase_add_test(tc, joint_coordinates_of_closed_loops_accelerate_as_with_the_matrices_of_mujoco);
  tcase_add_test(tc, closed_loops_accelerate_as_with_the_matrices_of_mujoco);
  tcase_add_test(tc, actuators_accelerate_as_in_mujoco);
  tcase_add_test(tc, tendons_pull_as_in_mujoco);
  tcase_add_loop_test(tc, tendons_wrap_as_in_mujoco, CP_JOINT_COORDINATES, CP_JOINT_COORDINATES + 1);
  tcase_add_loop_test(tc, fluids_drag_as_in_mujoco, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  tcase_add_test(tc, activated_actuators_act_as_in_mujoco);
  tcase_add_test(tc, keyframes_have_controls_and_activations);
  tcase_add_loop_test(tc, forces_of_muscles_follow_from_a_scale, 0, 2);
  tcase_add_loop_test(tc, derivatives_of_actuators_are_exact, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  suite_add_tcase(suite, tc);
  return suite;
}

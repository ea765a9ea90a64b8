"""User models: a pendulum in C, parts of which a test replaces, compiled to a shared object."""

import os
import pathlib
import re
import shlex
import subprocess

from runner import BUILD

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"

# Each part is the body of a function, or a member of a table. Unit mass and rod; with operators there are no matrices.
PARTS = {
    "name": '"rod"',
    "title": '"Rod pendulum"',
    "t_end": "5",
    "abi": "CP_PLUGIN_ABI",
    "real": "sizeof(sunrealtype)",
    "index": "sizeof(sunindextype)",
    "sundials": "SUNDIALS_VERSION_MAJOR",
    "symbol": "cpodes_plugin",
    "type": "&type",
    "parameters": '{"L", "m", "length", 1, 0.1, 10}, {"g", "m/s^2", "gravity", 9.81, 0, 100}',
    "nparameters": "2",
    "coordinates": '{"x", "m", "to the right"}, {"y", "m", "upwards"}',
    "ncoordinates": "2",
    "quantities": '{.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 10}',
    "members": ".points = points",  # further members of the type
    "load": "",  # runs when the object is loaded
    "start": "y[0] = g->L;",
    "n": "4",
    "create": "",
    "M": "SM_ELEMENT_D(S, 0, 0) = SM_ELEMENT_D(S, 1, 1) = 1; return 0;",
    "A": "SM_ELEMENT_D(S, 0, 0) = 2 * q[0]; SM_ELEMENT_D(S, 0, 1) = 2 * q[1]; return 0;",
    "f": "f[1] = -((G *)data)->g; return 0;",
    "p": "p[0] = q[0] * q[0] + q[1] * q[1] - ((G *)data)->L * ((G *)data)->L; return 0;",
    "v": "v[0] = 2 * (q[0] * u[0] + q[1] * u[1]); return 0;",
    "b": "b[0] = -2 * (u[0] * u[0] + u[1] * u[1]); return 0;",
    "jac": "for (int i = 0; i < 2; i++) SM_ELEMENT_D(K, i, i) = -2 * l[0]; return 0;",
    "Au": "y[0] = 2 * (q[0] * x[0] + q[1] * x[1]); return 0;",
    "ATl": "y[0] = 2 * q[0] * x[0]; y[1] = 2 * q[1] * x[0]; return 0;",
    "Minv": "y[0] = x[0]; y[1] = x[1]; return 0;",
    "Mu": "y[0] = x[0]; y[1] = x[1]; return 0;",
    "udot": """
        const sunrealtype s = 2 * (q[0] * q[0] + q[1] * q[1]);
        l[0] = (u[0] * u[0] + u[1] * u[1] - q[1] * ((G *)data)->g) / s;
        a[0] = -2 * q[0] * l[0]; a[1] = -((G *)data)->g - 2 * q[1] * l[0]; return 0;""",
    "ode": """
        const sunrealtype l = (s[2] * s[2] + s[3] * s[3] - s[1] * ((G *)data)->g) / (s[0] * s[0] + s[1] * s[1]);
        r[0] = s[2]; r[1] = s[3]; r[2] = -l * s[0]; r[3] = -((G *)data)->g - l * s[1]; return 0;""",
    "c": "r[0] = s[0] * s[0] + s[1] * s[1] - ((G *)data)->L * ((G *)data)->L; r[1] = s[0] * s[2] + s[1] * s[3]; return 0;",
    "jacobian": """
        for (int i = 0; i < 2; i++) {
          SM_ELEMENT_D(S, 0, i) = 2 * s[i]; SM_ELEMENT_D(S, 1, i) = s[i + 2]; SM_ELEMENT_D(S, 1, i + 2) = s[i]; }
        return 0;""",
    "energy": "return (y[2] * y[2] + y[3] * y[3]) / 2 + ((const G *)model->data)->g * y[1];",
    "points": "xyz[3] = y[0]; xyz[4] = y[1];",
    "mech": "{CP_SIZED(CPEquations), .nu = 2, .np = 1, .M = M, .A = A, .f = f, .p = p, .v = v, .b = b, .dynamics_jac = jac}",
}

# the second form of the equations, in addition to the first one or alone
ODE = "model->f = ode; model->m = 2; model->c = c; model->G = jacobian;"
ODE_ALONE = f"model->mech = (CPEquations){{CP_SIZED(CPEquations), .nu = 0}}; {ODE}"

OPERATORS = "{CP_SIZED(CPEquations), .nu = 2, .np = 1, .p = p, .v = v, .b = b, .udot = udot, .Au = Au, .ATl = ATl, .Minv = Minv, .Mu = Mu}"

SOURCE = """
#include <cpodes/cpodes_plugin.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <unistd.h>
typedef const sunrealtype *In;
typedef struct { sunrealtype L, g; } G;
static int M(sunrealtype t, In q, SUNMatrix S, void *data) { @M@ }
static int A(sunrealtype t, In q, SUNMatrix S, void *data) { @A@ }
static int f(sunrealtype t, In q, In u, In z, sunrealtype *f, void *data) { @f@ }
static int p(sunrealtype t, In q, sunrealtype *p, void *data) { @p@ }
static int v(sunrealtype t, In q, In u, sunrealtype *v, void *data) { @v@ }
static int b(sunrealtype t, In q, In u, sunrealtype *b, void *data) { @b@ }
static int jac(sunrealtype t, In q, In u, In z, In a, In l, SUNMatrix K, SUNMatrix C, SUNMatrix F, void *data) { @jac@ }
static int Au(sunrealtype t, In q, In x, sunrealtype *y, void *data) { @Au@ }
static int ATl(sunrealtype t, In q, In x, sunrealtype *y, void *data) { @ATl@ }
static int Minv(sunrealtype t, In q, In x, sunrealtype *y, void *data) { @Minv@ }
static int Mu(sunrealtype t, In q, In x, sunrealtype *y, void *data) { @Mu@ }
static int udot(sunrealtype t, In q, In u, In z, sunrealtype *a, sunrealtype *l, void *data) { @udot@ }
static int ode(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  const sunrealtype *s = N_VGetArrayPointer(y); sunrealtype *r = N_VGetArrayPointer(ydot); @ode@ }
static int c(sunrealtype t, N_Vector y, N_Vector res, void *data) {
  const sunrealtype *s = N_VGetArrayPointer(y); sunrealtype *r = N_VGetArrayPointer(res); @c@ }
static int jacobian(sunrealtype t, N_Vector y, N_Vector res, SUNMatrix S, void *data) {
  const sunrealtype *s = N_VGetArrayPointer(y); @jacobian@ }
static sunrealtype energy(const CPPlugin *model, int i, sunrealtype t, N_Vector state) {
  const sunrealtype *y = N_VGetArrayPointer(state); @energy@ }
static void points(const CPPlugin *model, sunrealtype t, N_Vector state, sunrealtype *xyz) {
  const sunrealtype *y = N_VGetArrayPointer(state); for (int i = 0; i < 6; i++) xyz[i] = 0; @points@ }
static int create(CPPlugin *model) {
  static const int rod[][2] = {{0, 1}};
  static const CPPluginPointKind kind[] = {CP_POINT_GROUND, CP_POINT_MASS};
  G *g = model->data = malloc(sizeof *g);
  model->n = @n@;
  model->y0 = N_VNew_Serial(model->n, model->ctx);
  if (!g || !model->y0 || CPPluginDraw(model, 2, kind, 1, rod, 0, NULL)) return -1;
  N_VConst(0, model->y0);
  *g = (G){model->parameter[0], model->parameter[1]};
  sunrealtype *y = N_VGetArrayPointer(model->y0);
  @start@
  model->mech = (CPEquations)@mech@;
  @create@
  return 0;
}
static const CPPluginParameter parameters[] = {@parameters@};
static const CPPluginCoordinate coordinates[] = {@coordinates@};
static const CPPluginQuantity quantities[] = {@quantities@};
static const CPPluginType type = {
  .name = @name@, .title = @title@, .t_end = @t_end@, .parameters = parameters, .nparameters = @nparameters@,
  .coordinates = coordinates, .ncoordinates = @ncoordinates@,
  .quantities = quantities, .nquantities = sizeof quantities / sizeof quantities[0], .create = create, @members@};
__attribute__((constructor)) static void load(void) { @load@ }
extern CPODES_EXPORT const CPPluginModule @symbol@;
const CPPluginModule @symbol@ = {@abi@, @real@, @index@, @sundials@, @type@};
"""


def source(**parts):
    assert parts.keys() <= PARTS.keys()
    return re.sub("@([A-Za-z_]+)@", lambda found: (PARTS | parts)[found[1]], SOURCE)


def include_flags():
    """The folders of cpodes' sources, and of SUNDIALS according to its pkg-config file"""
    cflags = re.search("^Cflags:(.*)$", (BUILD / "cpodes.pc").read_text(), re.MULTILINE)[1]
    return [f"-I{INCLUDE}", *(flag for flag in shlex.split(cflags) if "${" not in flag)]


def compile_model(folder, file="rod", text=None, **parts):
    """The path of the shared object; the parts replace those above. The program provides the libraries."""
    path = folder / f"{file}.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run(
        [*compiler, "-shared", "-fPIC", "-w", "-o", path, "-x", "c", "-", *include_flags()],
        input=source(**parts) if text is None else text,
        text=True,
        check=True,
    )
    return path

"""The extension cpodes._native: all functions of the public headers, and the glue of cpodes/glue.h."""
import os
import re
import subprocess
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
TREE = HERE / "tree" if (HERE / "tree").is_dir() else HERE.parent # setup.py
HEADERS = ("cpodes_types", "cpodes_projector", "cpodes_integrator", "cpodes_mechanics", "cpodes_sens", "cpodes_session", "cpodes_contact", "cpodes_plugin", "cpodes_language", "cpodes_bodies")

# What the public headers use of SUNDIALS
SUNDIALS = """
typedef double sunrealtype;
typedef int... sunindextype;
typedef int sunbooleantype;
typedef ... *N_Vector;
typedef ... *SUNMatrix;
typedef ... *SUNContext;
typedef ... *SUNLinearSolver;
typedef ... *SUNNonlinearSolver;
typedef ... *ARKodeButcherTable;
typedef enum { SUN_OUTPUTFORMAT_TABLE, SUN_OUTPUTFORMAT_CSV } SUNOutputFormat;
typedef int (*CVRhsFn)(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
typedef int (*CVRootFn)(sunrealtype t, N_Vector y, sunrealtype *gout, void *user_data);
typedef int (*CVEwtFn)(N_Vector y, N_Vector ewt, void *user_data);
typedef int (*CVLsJacFn)(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *user_data, N_Vector tmp1,
                         N_Vector tmp2, N_Vector tmp3);
typedef int (*CVSensRhs1Fn)(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS, N_Vector ySdot,
                            void *user_data, N_Vector tmp1, N_Vector tmp2);
static const double CP_EPS_DEFAULT;
#define CV_ADAMS ...
#define CV_BDF ...
#define CV_TSTOP_RETURN ...
#define CV_ROOT_RETURN ...
#define CV_WARNING ...
int CVodeSetMaxOrd(void *mem, int maxord);
int CVodeSetNoInactiveRootWarn(void *mem);
ARKodeButcherTable ARKodeButcherTable_Create(int s, int q, int p, sunrealtype *c, sunrealtype *A, sunrealtype *b,
                                             sunrealtype *d);
void ARKodeButcherTable_Free(ARKodeButcherTable B);
"""


def prefix_of_headers():
    """The folder that contains cpodes/cpodes.h: that of the cpodes that pkg-config finds, otherwise that of this tree."""
    try:
        said = subprocess.run(["pkg-config", "--variable=includedir", "cpodes"], capture_output=True, text=True)
        if said.returncode == 0 and said.stdout.strip():
            return Path(said.stdout.strip())
    except FileNotFoundError:
        pass
    return TREE / "include"


def declarations(text):
    """A public header in the C that cffi reads: without comments, preprocessor, linkage and visibility."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^(?=#else|#endif)", "", text, flags=re.M | re.S)
    macro = re.compile(r"^[ \t]*#(?:.*\\\n)*.*\n", re.M)
    text = re.sub(r"__attribute__\(\(.*\)\)", "", macro.sub("", text)).replace("CPODES_EXPORT", "")
    # cffi 1.15 writes a wrong type for an array of const arrays; only authors of a model's create need this one.
    return re.sub(r"[\w ]+ CPPluginDraw\([^;]*;", "", text)


include = prefix_of_headers()
public = "".join(declarations((include / "cpodes" / f"{name}.h").read_text()) for name in HEADERS)
glue = re.sub(r"/\*.*?\*/", "", (HERE / "cpodes" / "glue.h").read_text(), flags=re.S)

models = TREE / "examples" / "models" # the catalogue, if this is part of a tree
sources = []
if models.is_dir():
    listed = re.search(r"set\(cpodes_models_sources\s([^)]*)\)", (models / "CMakeLists.txt").read_text())[1].split()
    sources = [os.path.relpath(models / name, HERE) for name in listed]
macros = [("GLUE_CATALOGUE", "1")] if sources else []

# what the glue calls
CALLED = ("int glue_python(void *handle, double t);\n",
          "int glue_python_event(void *handle, double t, int timed, const int *found, double *y);\n",
          "int glue_python_config(void *handle, CPIntegrator mem, const char *method);\n",
          "int glue_python_named(void *handle, double t, const char *name);\n")

ffi = FFI()
ffi.cdef(SUNDIALS + public + glue + "".join(f'extern "Python" {f}' for f in CALLED))
ffi.set_source(
    "cpodes._native",
    '#include "glue_impl.h"\n' + "".join(f"static {f}" for f in CALLED) + '#include "glue.c"\n',
    sources=sources,
    include_dirs=[str(HERE / "cpodes"), str(TREE / "examples")],
    libraries=["lapack", "blas"] if sources else [],
    depends=["cpodes/glue.c", "cpodes/glue.h", "cpodes/glue_impl.h"],
    define_macros=macros,
    extra_compile_args=["-O2", "-std=gnu11", "-fvisibility=hidden"],
)

if __name__ == "__main__":
    ffi.compile(verbose=True)

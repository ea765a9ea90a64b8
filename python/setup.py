"""Builds the extension: against the cpodes that pkg-config finds; otherwise against the library of this tree, which CMake
builds first and which then becomes part of the package. A source distribution has a copy of that part of the tree, in tree/."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import setuptools
from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
TREE = HERE / "tree" if (HERE / "tree").is_dir() else HERE.parent
# what the library and the catalogue consist of, for source distributions
PARTS = ("CMakeLists.txt", "LICENSE", "cmake", "include", "cpodes", "language", "bodies", "session", "contact", "runner/plugin", "examples/models",
         "simbody/CMakeLists.txt", "simbody/include", "simbody/src", "simbody/python", "doc/CMakeLists.txt", "doc/Doxyfile.in")
KLU = "-lsundials_sunlinsolklu"


def pkg_config(*what):
    """pkg-config's answer about cpodes, its mechanisms of bodies, its contacts and its interface of models, or None."""
    try:
        said = subprocess.run(["pkg-config", *what, "cpodes_plugin", "cpodes_contact", "cpodes_session", "cpodes_bodies", "cpodes_language", "cpodes"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return said.stdout.split() if said.returncode == 0 else None


def built_library():
    """The prefix below build/ where the library of the tree has been installed."""
    build = TREE / "build" / "python-library"
    prefix = build / "prefix"
    options = [f"-DCPODES_{part}=OFF" for part in ("TESTS", "EXAMPLES", "BENCH", "RUNNER", "SIMBODY")]
    subprocess.run(["cmake", "-S", TREE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_INSTALL_LIBDIR=lib", *options], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True)
    return prefix


def has_sparse_factors(flags):
    """Does linking with these flags find SUNDIALS' interface to KLU, which a SUNDIALS may lack?"""
    program = "char SUNLinSol_KLU(void); int main(void) { return SUNLinSol_KLU(); }"
    said = subprocess.run([*os.environ.get("CC", "cc").split(), "-x", "c", "-", "-o", os.devnull, "-x", "none", *flags, KLU],
                          input=program, text=True, capture_output=True)
    return said.returncode == 0


class BuildPy(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "cpodes"
        for part in ("include", "src", "python"): # what cpodes.opensim compiles
            shutil.copytree(TREE / "simbody" / part, package / "simbody" / part, dirs_exist_ok=True)
        shutil.copytree(headers(), package / "include" / "cpodes", dirs_exist_ok=True)
        if pkg_config("--exists") is None: # the package includes its own library
            target = Path(self.build_lib) / "cpodes" / "lib"
            target.mkdir(parents=True, exist_ok=True)
            for library in (built_library() / "lib").glob("libcpodes*.so.*"):
                if library.name.count(".") == 2: # libcpodes.so.0, the name by which others load it
                    shutil.copy2(library, target, follow_symlinks=True)


class BuildExt(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.force = True # an existing extension may be linked with another cpodes

    def build_extension(self, ext):
        if pkg_config("--exists") is None:
            prefix = built_library()
            os.environ["PKG_CONFIG_PATH"] = f"{prefix / 'lib' / 'pkgconfig'}:{os.environ.get('PKG_CONFIG_PATH', '')}"
            ext.extra_link_args.append("-Wl,-rpath,$ORIGIN/lib")
        else:
            own = {os.path.realpath(path) for path in pkg_config("--variable=libdir")}
            for path in (flag[2:] for flag in pkg_config("--libs-only-L")):
                if os.path.realpath(path) in own: # CMake gives the folder where both will be installed, or "" for a folder that is always searched
                    path = os.environ.get("CPODES_RPATH", path)
                if path:
                    ext.extra_link_args.append(f"-Wl,-rpath,{path}")
        ext.extra_compile_args += pkg_config("--cflags")
        ext.extra_link_args += pkg_config("--libs")
        if has_sparse_factors(pkg_config("--libs")):
            ext.define_macros.append(("GLUE_KLU", "1"))
            ext.extra_link_args.append(KLU)
        super().build_extension(ext)


class Sdist(sdist):
    """Adds the part of the tree from which built_library builds. The extension's own list of sources has names with "..",
    which would lie outside of the archive."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, [name for name in files if not name.startswith("..")])
        for part in PARTS:
            source, target = TREE / part, Path(base_dir) / "tree" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.o", "*.so"))
            else:
                shutil.copy2(source, target)


def missing():
    """What --no-build-isolation needs from this interpreter and does not find; setuptools makes wheels itself since 70.1."""
    needs = ["cffi"] + ["wheel"] * (tuple(map(int, setuptools.__version__.split(".")[:2])) < (70, 1))
    return [name for name in needs if not importlib.util.find_spec(name)]


if {"dist_info", "bdist_wheel"} & set(sys.argv) and missing(): # otherwise setuptools would report an unknown command or keyword
    sys.exit(f"To build cpodes, {sys.executable} needs {' and '.join(missing())}: python3 -m pip install {' '.join(missing())}, "
             f"or for Debian's Python apt install {' '.join('python3-' + name for name in missing())}")


def headers():
    """Those of the tree, or those that pkg-config finds."""
    folders = [TREE / "include", *map(Path, pkg_config("--variable=includedir") or [])]
    return next(folder / "cpodes" for folder in folders if (folder / "cpodes" / "cpodes_types.h").exists())


def version():
    return re.search(r'^#define CP_VERSION +"(.*)"$', (headers() / "cpodes_types.h").read_text(), re.M)[1]


setup(version=version(), cffi_modules=["cffi_build.py:ffi"], cmdclass={"build_py": BuildPy, "build_ext": BuildExt, "sdist": Sdist})

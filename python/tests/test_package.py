"""The package: the cost of its import, and its metadata."""
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import cpodes


def test_it_is_typed_and_documented():
    folder = Path(cpodes.__file__).parent
    assert (folder / "py.typed").exists() and not list(folder.glob("*.[ch]"))
    for name in cpodes.__all__:
        assert getattr(cpodes, name).__doc__, name


def test_importing_it_imports_little():
    """The import takes 0.1 s in addition to numpy's. bench.py measures the time; this test checks what would increase it."""
    program = "import numpy, sys; before = set(sys.modules); import cpodes; print(*(set(sys.modules) - before))"
    more = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"scipy", "sympy", "matplotlib", "cffi", "numba", "tqdm"}
    assert not heavy & {m.split(".")[0] for m in more}
    assert len(more) < 30, more


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="solv"):
        cpodes.solv


def test_the_package_shows_all_that_it_has():
    import pydoc
    shown = pydoc.plain(pydoc.render_doc(cpodes))
    for name in cpodes.__all__:
        assert name in dir(cpodes) and re.search(rf"^    (class )?{name}\(", shown, re.M), name
    assert "symbolic" in dir(cpodes) or importlib.util.find_spec("sympy") is None


def test_the_version_is_that_of_the_project():
    header = Path(__file__).resolve().parents[2] / "include" / "cpodes" / "cpodes_types.h"
    if not header.exists():
        pytest.skip("no tree")
    assert cpodes.__version__ == re.search(r'^#define CP_VERSION +"(.*)"$', header.read_text(), re.M)[1]
    assert importlib.metadata.version("cpodes").replace(".dev0", "-dev") == cpodes.__version__


def test_without_sympy_the_package_can_be_listed():
    program = "import sys; sys.modules['sympy'] = None; import cpodes, pydoc; print('symbolic' in dir(cpodes), len(pydoc.render_doc(cpodes)))"
    said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert said[0] == "False" and int(said[1]) > 10000


def test_a_source_distribution_contains_what_it_is_built_from(tmp_path):
    root = Path(__file__).resolve().parents[2]
    if not (root / "cpodes" / "CMakeLists.txt").exists():
        pytest.skip("no tree")
    copy = tmp_path / "tree"
    for part in ("python", "include", "cpodes", "language", "bodies", "session", "contact", "cmake", "runner/plugin", "examples/models",
                 "simbody/include", "simbody/src", "simbody/python"):
        shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "_native*"))
    for part in ("CMakeLists.txt", "LICENSE", "simbody/CMakeLists.txt", "doc/CMakeLists.txt", "doc/Doxyfile.in"):
        (copy / part).parent.mkdir(exist_ok=True)
        shutil.copy(root / part, copy / part)
    before = {path for path in copy.rglob("*")}
    subprocess.run([sys.executable, "setup.py", "-q", "sdist", "-d", str(tmp_path)], cwd=copy / "python", check=True, capture_output=True)
    assert not {path for path in copy.rglob("*") if path.suffix == ".c"} - before # it writes nothing beside the archive
    with tarfile.open(*tmp_path.glob("*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    own = {"cffi_build.py", "setup.py", "pyproject.toml", "cpodes/glue.c", "cpodes/glue.h", "cpodes/glue_impl.h", "cpodes/py.typed"}
    sources = {f"tree/{path.relative_to(copy)}" for path in before if path.suffix in (".c", ".h", ".cmake") and "python" not in path.parts}
    assert own | sources <= names and not any(name.startswith("..") for name in names)


@pytest.mark.long
def test_a_source_distribution_installs_into_a_fresh_environment(tmp_path):
    """Without an installed library of C it builds its own."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "cpodes" / "CMakeLists.txt").exists():
        pytest.skip("no tree")
    plain = {key: value for key, value in os.environ.items() if key != "PKG_CONFIG_PATH"}
    shutil.copytree(root, tmp_path / "tree", ignore=shutil.ignore_patterns("build", ".git", "*.egg-info", "__pycache__"))
    run = lambda *command, **options: subprocess.run(command, check=True, capture_output=True, text=True, env=plain, **options).stdout
    run(sys.executable, "setup.py", "-q", "sdist", "-d", str(tmp_path), cwd=tmp_path / "tree" / "python")
    shutil.rmtree(tmp_path / "tree")
    run("/usr/bin/python3", "-m", "venv", "--system-site-packages", str(tmp_path / "fresh"))
    fresh = tmp_path / "fresh" / "bin" / "python3"
    run(str(fresh), "-m", "pip", "install", "-q", "--no-build-isolation", *map(str, tmp_path.glob("*.tar.gz")))
    program = "import cpodes; m = cpodes.model('andrews'); print(cpodes.__version__, m.error(m.t_end, m.solve(rtol=1e-8, atol=1e-8).y[:, -1]) < 1e-5)"
    assert run(str(fresh), "-P", "-c", program).split() == [cpodes.__version__, "True"]

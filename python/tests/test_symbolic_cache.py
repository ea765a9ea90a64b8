"""The objects that symbolic compiles: what may become code, and which files are loaded."""
import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

import cpodes

sp = pytest.importorskip("sympy")
from cpodes import symbolic # noqa: E402, after sympy

q, u, k = sp.symbols("q u k")


def oscillator(force=-q, **options):
    return symbolic.mechanism([q], [u], [[1]], [force], **options)


def end(m):
    return m.solve((0, 1), [1.0, 0.0], rtol=1e-9, atol=1e-9).y[0, -1]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cpodes"


def objects(cache):
    return sorted(cache.glob("*.so"))


# ---- names ----


@pytest.mark.parametrize("name", ['system("touch harm")+sin', "abort", "sin(0);abort", "*(double*)0+", "harm /* ", 'q"', "f\nabort"])
def test_a_name_is_never_executed(name, cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the expressions contain"):
        oscillator(-q + sp.Function(name)(q))
    with pytest.raises(ValueError, match="none of q, u, t and params"):
        oscillator(-q + sp.Symbol(name))
    if name.isidentifier():
        return
    x = sp.Symbol(name) # names of coordinates and parameters do not enter the code
    assert end(symbolic.mechanism([x], [u], [[1]], [-x])) == pytest.approx(np.cos(1), abs=1e-7)
    assert end(oscillator(-q * x, params={x: 4.0})) == pytest.approx(np.cos(2), abs=1e-7)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("where", ["mass", "forces", "position", "velocity", "q", "u"])
@pytest.mark.parametrize("form", [list, np.array, iter])
def test_strings_are_not_evaluated(where, form, cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = dict(q=[q], u=[u], mass=[[1]], forces=[-q])
    parts[where] = form(["__import__('pathlib').Path('harm').touch()"])
    with pytest.raises(TypeError, match=f"{where} has to consist of expressions"):
        symbolic.mechanism(**parts)
    assert not (tmp_path / "harm").exists()


def test_functions_of_c_are_written(cache):
    x, v = sp.symbols("x v", real=True)
    force = (sp.Piecewise((x, x > 0.5), (0, True)) - sp.Abs(x) - sp.atan2(v, x) - sp.pi * x / 3 + sp.exp(-x) ** 2 - sp.Rational(1, 3) * sp.sqrt(x)
             + sp.Float("1.5e-7") - sp.erf(x) + sp.log(x + 1) * sp.tanh(v) / sp.cosh(x) + sp.asin(x))
    m = symbolic.mechanism([x], [v], [[1]], [force])
    assert m.accelerations(0, [0.7, 0.2]) == pytest.approx(float(force.subs({x: 0.7, v: 0.2})), rel=1e-14)


# ---- files ----


def test_an_object_is_compiled_once_and_kept_in_a_folder_of_the_user_alone(cache, monkeypatch):
    first = end(oscillator())
    assert len(objects(cache)) == 1 and cache.stat().st_mode & 0o777 == 0o700
    before = objects(cache)[0].stat()
    assert end(oscillator()) == first and objects(cache)[0].stat().st_mtime_ns == before.st_mtime_ns
    monkeypatch.setenv("CC", "cc -O1")
    assert end(oscillator()) == pytest.approx(first) and len(objects(cache)) == 2
    monkeypatch.delenv("CC")
    monkeypatch.setattr("platform.machine", lambda: "another")
    assert end(oscillator()) == first and len(objects(cache)) == 3


PROGRAM = """
import sys, types
sys.modules["sympy"] = types.ModuleType("sympy") # whose import takes a second
from cpodes.symbolic import compiled_library
print(compiled_library("int answer(void) { return 42; }").answer())
"""


def run(cache, **more):
    """In another process, since this one keeps what it has loaded."""
    done = subprocess.run([sys.executable, "-P", "-W", "always", "-c", PROGRAM], capture_output=True, text=True,
                          env=dict(os.environ, XDG_CACHE_HOME=str(cache.parent), **more))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "42\n"
    return done.stderr


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:len(data) // 2], lambda data: b"not an object" + data,
                                    lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]])
def test_a_broken_object_is_built_anew(damage, cache):
    run(cache)
    path, = objects(cache)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    run(cache)
    assert [one.read_bytes() == good or len(one.read_bytes()) > 5000 for one in objects(cache)] == [True]
    ctypes.CDLL(str(objects(cache)[0]))


def test_an_object_that_others_can_write_is_built_anew(cache):
    run(cache)
    path, = objects(cache)
    path.chmod(0o666)
    run(cache)
    assert objects(cache)[0].stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("open_to_others", [lambda cache: cache.chmod(0o777), lambda cache: cache.chmod(0o770),
                                            lambda cache: cache.parent.chmod(0o777)])
def test_a_folder_that_others_can_write_is_not_trusted(open_to_others, cache):
    run(cache)
    before = objects(cache)
    open_to_others(cache)
    before[0].write_bytes(b"") # as somebody else may do
    assert "compiled objects are not kept" in run(cache)
    assert objects(cache) == before and before[0].read_bytes() == b""


def test_a_link_to_another_folder_is_not_trusted(cache, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    cache.symlink_to(elsewhere)
    assert "compiled objects are not kept" in run(cache) and not objects(elsewhere)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_is_not_trusted(cache):
    cache.mkdir(mode=0o755)
    os.chown(cache, 65534, 65534)
    assert "belongs to somebody else" in run(cache) and not objects(cache)


def test_without_a_folder_it_works_too(tmp_path):
    (tmp_path / "file").write_text("")
    assert "compiled objects are not kept" in run(tmp_path / "file" / "cpodes")

"""scipy's own tests of solve_ivp, with cpodes.solve in its place. They come with scipy."""
import pytest

import cpodes

tests = pytest.importorskip("scipy.integrate._ivp.tests.test_ivp")

# Those that cannot pass, and why
IMPOSSIBLE = {
    "test_integration_complex": "asks for at most 5 factorisations of BDF, which takes 8 here for a tenth of the error allowed",
}
# Those that need Radau's order 5: rtol = 1e-10 and an error below 1e-9
RADAU = {"test_args"}
# Tests of scipy's classes and helpers, which have nothing to do with solve
OTHERS = {"test_classes", "test_OdeSolution", "test_ConstantDenseOutput", "test_num_jac", "test_num_jac_sparse",
          "test_no_integration_class"}


def has_radau():
    try:
        cpodes.solve(lambda t, y: -y, (0, 1), [1.0], method="RADAU")
    except ValueError:
        return False
    return True


def cases():
    for name in dir(tests):
        if name.startswith("test_") and name not in OTHERS:
            marks = [m for m in getattr(getattr(tests, name), "pytestmark", []) if m.name == "parametrize"]
            for value in marks[0].args[1] if marks else [None]:
                yield name, value


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name, value", list(cases()))
def test_of_solve_ivp(monkeypatch, capfd, name, value):
    radau = has_radau()

    def solve(*arguments, method="RK45", **options):
        method = method if isinstance(method, str) else method.__name__
        return cpodes.solve(*arguments, method=method if radau or method != "Radau" else "BDF", **options)
    monkeypatch.setattr(tests, "solve_ivp", solve)
    impossible = name in IMPOSSIBLE or name in RADAU and not radau
    try:
        getattr(tests, name)(*(() if value is None else (value,)))
    except AssertionError:
        if impossible:
            pytest.xfail(IMPOSSIBLE.get(name, "the library has no RADAU"))
        raise
    assert not impossible, f"{name} passes: take it out of the list"

"""jac_sparsity: sparse factors, and differences of whole groups of columns."""
import numpy as np
import pytest

import cpodes
from cpodes._core import Sparse
import pendulum

sparse = pytest.importorskip("scipy.sparse")

N = 60
HEAT = (N + 1)**2 * sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(N, N), format="csc")
MODE = np.sin(np.pi * np.arange(1, N + 1) / (N + 1)) # an eigenvector, with this eigenvalue
RATE = -4 * (N + 1)**2 * np.sin(np.pi / (2 * N + 2))**2
IMPLICIT = ["BDF", "RADAU"]


def heat(t, y):
    return HEAT @ y


@pytest.mark.parametrize("method", IMPLICIT)
@pytest.mark.parametrize("given", [dict(jac_sparsity=HEAT), dict(jac_sparsity=HEAT.toarray()), dict(lband=1, uband=1),
                                   dict(jac=HEAT), dict(jac=lambda t, y: HEAT), dict(jac=lambda t, y: HEAT.toarray(), jac_sparsity=HEAT)])
def test_an_eigenvector_decays_by_its_eigenvalue(method, given):
    sol = cpodes.solve(heat, (0, 0.1), MODE, method, rtol=1e-7, atol=1e-10, **given)
    assert sol.y[:, -1] == pytest.approx(MODE * np.exp(0.1 * RATE), rel=1e-4)


@pytest.mark.parametrize("method", IMPLICIT)
def test_differences_take_one_evaluation_for_each_group_of_columns(method):
    dense, coloured = (cpodes.solve(heat, (0, 0.1), MODE, method, rtol=1e-5, **given) for given in ({}, dict(lband=1, uband=1)))
    assert coloured.stats["steps"] == pytest.approx(dense.stats["steps"], rel=0.1)
    assert dense.nfev > N * dense.njev
    other = 1 if method == "RADAU" else 0 # the evaluation of f at the point of the differences
    assert coloured.nfev - dense.nfev == pytest.approx((3 + other) * coloured.njev - (N + other) * dense.njev, abs=0.2 * dense.nfev)


def test_groups_contain_each_column_once_and_no_row_twice():
    random = np.random.default_rng(3)
    for _ in range(20):
        pattern = sparse.random(30, 30, 0.1, format="csc", random_state=random)
        groups = Sparse(pattern).groups()
        assert sorted(np.concatenate(groups)) == list(range(30))
        full = pattern.toarray() != 0
        assert all(full[:, g].sum(axis=1).max() <= 1 for g in groups)
        assert len(groups) >= full.sum(axis=1).max()


@pytest.mark.parametrize("method", IMPLICIT)
def test_it_goes_with_constraints(method):
    full = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1]])
    start, options = [1.0, 0.0, 0.0, 0.0], dict(constraints=pendulum.c, rtol=1e-9, atol=1e-9)
    wanted = cpodes.solve(pendulum.f, (0, 2), start, "DOP853", **options).y[:, -1]
    sol = cpodes.solve(pendulum.f, (0, 2), start, method, jac_sparsity=full, **options)
    assert sol.y[:, -1] == pytest.approx(wanted, abs=1e-6)
    assert sol.violation.max() < 1e-9


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_diagonal_may_be_missing(method):
    turn = sparse.csc_matrix(np.array([[0.0, 1.0], [-1.0, 0.0]])) # y' = turn y is a rotation
    sol = cpodes.solve(lambda t, y: turn @ y, (0, 5), [1.0, 0.0], method, jac_sparsity=turn, rtol=1e-8, atol=1e-8)
    assert sol.y[:, -1] == pytest.approx([np.cos(5), -np.sin(5)], abs=1e-5)


@pytest.mark.parametrize("method", IMPLICIT)
def test_complex_equations_have_complex_patterns(method):
    rates = sparse.diags([1j, -1.0, 1 - 2j], format="csc")
    start = np.array([1.0, 2.0, 1j])
    for given in dict(jac_sparsity=rates), dict(jac=rates):
        sol = cpodes.solve(lambda t, y: rates @ y, (0, 1), start, method, rtol=1e-8, atol=1e-8, **given)
        assert sol.y[:, -1] == pytest.approx(start * np.exp(rates.diagonal()), abs=1e-5)


@pytest.mark.parametrize("method", ["BDF", "RADAU"])
def test_what_is_outside_of_the_pattern_is_an_error(method):
    with pytest.raises(ValueError, match="template"):
        cpodes.solve(heat, (0, 1), MODE, method, jac=lambda t, y: HEAT, jac_sparsity=np.eye(N))
    with pytest.raises(ValueError, match="template"):
        cpodes.solve(heat, (0, 1), MODE, method, jac=lambda t, y: HEAT.toarray(), jac_sparsity=np.eye(N))
    with pytest.raises(ZeroDivisionError):
        cpodes.solve(lambda t, y: -y if y[0] == 1 else 1 / 0, (0, 1), np.ones(3), method, jac_sparsity=np.eye(3))


@pytest.mark.parametrize("pattern, error", [(np.eye(3), ValueError), (np.ones(4), ValueError), ([["a"]], TypeError), (1.0, ValueError)])
def test_a_wrong_pattern_is_named(pattern, error):
    with pytest.raises(error, match="jac_sparsity"):
        cpodes.solve(lambda t, y: -y, (0, 1), np.ones(4), "BDF", jac_sparsity=pattern)

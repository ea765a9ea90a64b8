"""States and parameters as trees: nested dicts, lists and tuples of arrays."""
from collections import namedtuple

import numpy as np
import pytest

import cpodes
from cpodes._trees import flatten, flatten_like, is_tree, unflatten
import crank
import pendulum

Moving = namedtuple("Moving", "position velocity")
OPTIONS = dict(rtol=1e-8, atol=1e-8)


def swing(t, y):
    f = pendulum.f(t, np.concatenate([y["at"].position, y["at"].velocity]))
    return {"at": Moving(f[:2], f[2:]), "turns": -y["turns"]}


def rod(t, y):
    return {"sum": pendulum.c(t, np.concatenate([y["at"].position, y["at"].velocity]))}


START = {"turns": np.ones((2, 2)), "at": Moving(np.array([1.0, 0.0]), [0.0, 0.0])}


def test_a_tree_is_solved_as_its_numbers_are():
    tree = cpodes.solve(swing, (0, 2), START, constraints=rod, **OPTIONS)
    flat = cpodes.solve(lambda t, y: np.append(pendulum.f(t, y[:4]), -y[4:]), (0, 2), [1, 0, 0, 0, 1, 1, 1, 1],
                        constraints=lambda t, y: pendulum.c(t, y[:4]), **OPTIONS)
    assert np.array_equal(tree.y, flat.y)
    end = tree.tree(tree.y[:, -1])
    assert isinstance(end["at"], Moving) and end["turns"].shape == (2, 2)
    assert np.array_equal(tree.tree()["at"].position, flat.y[:2]) and tree.tree()["turns"].shape == (2, 2, len(tree.t))


def test_events_and_jacobians_get_trees():
    def lowest(t, y):
        return y["at"].position[0]
    lowest.change = lambda t, y: {"at": y["at"], "turns": 0 * y["turns"] + 5}

    def jac(t, y):
        return np.hstack([pendulum.G(t, flatten(y["at"])), np.zeros((2, 4))])
    sol = cpodes.solve(swing, (0, 1), START, constraints=lambda t, y: rod(t, y)["sum"], jac=jac, events=lowest, **OPTIONS)
    hit = sol.t_events[0][0]
    assert len(sol.t_events[0]) == 1
    assert sol.tree()["turns"][0, 0, -1] == pytest.approx(5 * np.exp(hit - 1), rel=1e-6)


def test_arguments_and_tolerances_go_with_trees():
    sol = cpodes.solve(lambda t, y, k: {"x": k * y["x"]}, (0, 1), {"x": 1.0}, args=(2.0,), rtol=1e-9, atol={"x": 1e-9})
    assert sol.y[0, -1] == pytest.approx(np.exp(2), rel=1e-7)


@pytest.mark.parametrize("wrong, words", [({"x": [1.0, 2.0]}, r"\['x'\].*shape \(\)"), ({"y": 1.0}, "keys 'x'"), ([1.0], "dict with"),
                                          (None, "None"), ({"x": "a"}, "real numbers"), ({"x": None}, "None")])
def test_another_structure_is_named(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words):
        cpodes.solve(lambda t, y: wrong, (0, 1), {"x": 1.0})


def test_what_is_a_tree():
    assert [is_tree(x) for x in ([1, 2], (1.0, 2.0), np.ones((2, 2)), 3.0, [[1.0], [2.0]])] == 5 * [False]
    assert [is_tree(x) for x in ({}, ([1], [np.ones(2)]), [np.ones(2), 1.0])] == 3 * [True]
    y = np.arange(8.0)
    assert np.array_equal(flatten_like(START, unflatten(START, y), "y"), y)


def test_mechanisms_start_from_trees():
    m = crank.in_python()
    y0 = crank.start(crank.PARAMETERS)
    a, b = m.solve((0, 1), y0, "DOP853"), m.solve((0, 1), {"q": y0[:3], "u": y0[3:]}, "DOP853")
    assert np.array_equal(a.y, b.y) and np.array_equal(b.tree()["u"], b.y[3:])


def test_derivatives_have_the_structure_of_the_start():
    m = crank.in_python()
    start = lambda P: (crank.start(P)[:3], crank.start(P)[3:])
    tangent = {"a": 0.3, "c": 1.0, "k": -1.0, "l0": 0.5}
    (q, u), (dq, du) = cpodes.jvp(m, (0, 0.5), start, None, tangent)
    flat, pull = cpodes.vjp(m, (0, 0.5), crank.start, None)
    assert np.array_equal(np.append(q, u), flat) and np.append(dq, du).shape == (6,)
    (same, _), pull_tree = cpodes.vjp(m, (0, 0.5), start, None)
    w = np.arange(1.0, 7.0)
    assert np.array_equal(same, q)
    assert flatten(pull_tree((w[:3], w[3:]))) == pytest.approx(flatten(pull(w)), rel=1e-12)
    assert w @ np.append(dq, du) == pytest.approx(flatten(pull(w)) @ flatten(tangent), rel=1e-6)
    _, by_tree = m.gradient(lambda t, y, P: y[0][0], t_span=(0, 0.5), start=start)
    _, by_array = m.gradient(lambda t, y, P: y[0], t_span=(0, 0.5), start=crank.start)
    assert by_tree == by_array
    with pytest.raises(ValueError, match="cotangent"):
        pull_tree((w[:2], w[3:]))
    with pytest.raises(ValueError, match="tangent"):
        cpodes.jvp(m, (0, 0.5), start, None, {"a": 0.3})

"""Gradients by forward and adjoint sensitivities, against finite differences of whole runs."""
import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cpodes
from cpodes._trees import flatten, unflatten
import crank

OPTIONS = dict(crank.PROBLEM, rtol=1e-12, atol=1e-12)


def value(m, params):
    """The functional by quadrature (Gauss's formula on many intervals) along an independent run of DOP853."""
    m.parameters[:] = flatten(params)
    y0 = crank.start(params)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    ends = np.linspace(0, 10, 101)
    t = (ends[:-1, None] + 0.05 * (nodes + 1)[None, :]).ravel()
    y = m.solve((0, 10), y0, "DOP853", t_eval=t, rtol=1e-13, atol=1e-13).y
    return 0.05 * np.tile(weights, 100) @ crank.kinetic(t, y, params)


def differences(m):
    """Central differences of sixth order: 10 digits with steps of a hundredth."""
    base = dict(crank.PARAMETERS)
    result = {}
    for name, size in base.items():
        h = 0.01 * size
        G = lambda k: value(m, {**base, name: size + k * h})
        result[name] = (45 * (G(1) - G(-1)) - 9 * (G(2) - G(-2)) + (G(3) - G(-3))) / (60 * h)
    m.parameters[:] = flatten(base)
    return result


@pytest.fixture(scope="module")
def wanted():
    pytest.importorskip("sympy")
    return differences(crank.in_sympy())


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_the_gradient_of_the_slider_crank_is_that_of_finite_differences(method, wanted):
    sol, gradient = crank.in_sympy().gradient(**OPTIONS, method=method)
    assert sol.objective == pytest.approx(crank.PUBLISHED, abs=2e-5)
    largest = max(abs(d) for d in wanted.values())
    for name, d in wanted.items():
        assert gradient[name] == pytest.approx(d, abs=1e-9 * largest), name


@pytest.mark.parametrize("method", ["forward", "adjoint"])
@pytest.mark.parametrize("integrator", ["RADAU", "BDF", "Adams"])
def test_every_integrator_has_the_same_gradient(integrator, method, wanted):
    options = dict(OPTIONS, rtol=1e-8, atol=1e-8)
    sol, gradient = crank.in_sympy().gradient(**options, method=method, integrator=integrator)
    largest = max(abs(d) for d in wanted.values())
    for name, d in wanted.items():
        assert gradient[name] == pytest.approx(d, abs=1e-6 * largest), name


def test_an_objective_at_many_times_is_the_sum_of_those_at_each():
    m, times = crank.in_sympy(), np.linspace(0, 2, 9)
    end = lambda t, y, p: y[0] * (1 + t)
    options = dict(params=dict(crank.PARAMETERS), start=crank.start, rtol=1e-9, atol=1e-9)
    for method in "adjoint", "forward":
        sol, gradient = m.gradient(cpodes.Objective(end=end, times=times), t_span=(0, 2), method=method, **options)
        alone = [m.gradient(end, t_span=(0, t), method="forward", **options) for t in times[1:]]
        begin = crank.start(crank.PARAMETERS)[0]
        assert sol.objective == pytest.approx(begin + sum(s.objective for s, _ in alone), abs=1e-7)
        for name in crank.PARAMETERS:
            assert gradient[name] == pytest.approx(sum(g[name] for _, g in alone) + start_slope(name), abs=1e-6), name


def start_slope(name):
    h = 1e-5
    moved = lambda k: crank.start({**crank.PARAMETERS, name: crank.PARAMETERS[name] + k * h})[0]
    return (moved(1) - moved(-1)) / (2 * h)


def test_a_gradient_that_fails_names_the_other_method():
    with pytest.raises(Exception, match='there is also "forward"'):
        crank.in_sympy().gradient(cpodes.Objective(end=lambda t, y, p: y[0], times=[3.0, 2.0]), dict(crank.PARAMETERS),
                                  t_span=(0, 4), start=crank.start)
    with pytest.raises(ValueError, match="integrator"):
        crank.in_sympy().gradient(**OPTIONS, integrator="EULER")


def test_functions_in_python_have_the_same_gradient(wanted):
    options = dict(OPTIONS, rtol=1e-8, atol=1e-8)
    sol, gradient = crank.in_python().gradient(**options)
    for name, d in wanted.items():
        assert float(gradient[name]) == pytest.approx(d, abs=1e-6), name


def test_jvp_and_vjp_are_transposes():
    m = crank.in_python()
    tangent, w = {"a": 0.3, "c": 1.0, "k": -1.0, "l0": 0.5}, np.arange(1.0, 7.0)
    y, dy = cpodes.jvp(m, (0, 2), crank.start, None, tangent)
    same, pull = cpodes.vjp(m, (0, 2), crank.start, None)
    assert np.array_equal(y, same)
    assert w @ dy == pytest.approx(flatten(pull(w)) @ flatten(tangent), rel=1e-6)


def test_parameters_may_be_nested():
    tree = {"b": (np.ones((2, 2)), [3.0]), "a": 1}
    flat = flatten(tree)
    assert flat.tolist() == [1, 1, 1, 1, 1, 3]
    back = unflatten(tree, flat)
    flat[1] = 7
    assert back["b"][0][0, 0] == 7 and isinstance(back["b"], tuple) and list(back) == ["b", "a"]
    with pytest.raises(TypeError, match=r"params\['a'\]"):
        flatten({"a": "text"})


def test_several_functionals_have_several_gradients():
    m = crank.in_python()
    ends = cpodes.Objective(end=lambda t, y, P: y[:2], integrand=None)
    sol, gradients = m.gradient(ends, t_span=(0, 1), start=crank.start)
    assert sol.objective == pytest.approx(sol.y[:2, -1], abs=1e-7) and len(gradients) == 2


def test_what_is_wrong_is_said():
    m = crank.in_python()
    for objective, words in ((cpodes.Objective(), "end or an integrand"), (lambda t, y, P: "text", "number")):
        with pytest.raises((TypeError, ValueError), match=words):
            m.gradient(objective, t_span=(0, 1), start=crank.start)
    with pytest.raises(ZeroDivisionError):
        m.gradient(lambda t, y, P: 1.0 if t == 0 else 1 / 0, t_span=(0, 1), start=crank.start)
    with pytest.raises(ValueError, match="method"):
        m.gradient(crank.kinetic, t_span=(0, 1), start=crank.start, method="backward")
    with pytest.raises(ValueError, match="numbers"):
        m.gradient(crank.kinetic, {"a": 1.0}, t_span=(0, 1), start=crank.start)
    without = cpodes.Mechanism(mass=[1.0])
    with pytest.raises(TypeError, match="params"):
        without.gradient(crank.kinetic, t_span=(0, 1), start=[0.0, 1.0])


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_a_model_of_the_catalogue_has_the_same_gradient(method, wanted):
    m = cpodes.model("slider_crank") # the same mechanism, written in C
    options = dict(OPTIONS, start=None, objective=cpodes.Objective(integrand=crank.kinetic))
    sol, gradient = m.gradient(params=crank.PARAMETERS, method=method, **options)
    assert sol.objective == pytest.approx(crank.PUBLISHED, abs=2e-5)
    largest = max(abs(d) for d in wanted.values())
    for name, d in wanted.items():
        assert gradient[name] == pytest.approx(d, abs=1e-9 * largest), name


def differences_of_runs(name, values, end, t_end):
    """Central differences of sixth order of end(y(t_end)), over independent models."""
    result = {}
    for key, size in values.items():
        h = 2e-3 * size

        def G(k):
            m = cpodes.model(name, **{**values, key: size + k * h})
            return end(m.solve((0, t_end), None, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1])
        result[key] = (45 * (G(1) - G(-1)) - 9 * (G(2) - G(-2)) + (G(3) - G(-3))) / (60 * h)
    return result


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_models_with_quaternions_have_gradients_of_parameters_of_start_and_forces(method):
    values = {"spin": 20.0, "g": 9.0}
    wanted = differences_of_runs("heavy_top", values, lambda y: y[2], 0.5)
    m = cpodes.model("heavy_top")
    sol, gradient = m.gradient(lambda t, y, P: y[2] + 0 * P["g"], values, t_span=(0, 0.5), method=method, rtol=1e-11, atol=1e-11)
    for name, d in wanted.items():
        assert gradient[name] == pytest.approx(d, rel=1e-6), name
    assert m.values["spin"] == 20 and m.y0[m.names.index("wy")] == 20


def test_what_a_model_cannot_do_is_said():
    m = cpodes.model("slider_crank")
    G = lambda t, y, P: y[0]
    for params, words in (({"mass": 1.0}, "no parameter 'mass'"), ({"a": 2.0}, "parameter a .* must be from 0.001 to 0.99"), ({"a": np.nan}, "parameter a")):
        with pytest.raises(ValueError, match=words):
            m.gradient(G, params, t_span=(0, 1))
    assert m.values["a"] == 0.5
    with pytest.raises(TypeError, match="by name"):
        m.gradient(G, t_span=(0, 1))
    with pytest.raises(ValueError, match="both sides"):
        m.gradient(G, {"c": 0.0}, t_span=(0, 1)) # c must not be negative
    with pytest.raises(ValueError, match="whole number"):
        cpodes.model("heavy_top").gradient(G, {"case": 1.0})
    with pytest.raises(ValueError, match="events"):
        cpodes.model("newton_cradle").gradient(G, {"g": 9.81})


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """A user's compiled model with a prescribed motion."""
    target = tmp_path_factory.mktemp("driven") / "driven.so"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cpodes_plugin", "cpodes"], capture_output=True, text=True)
    if flags.returncode:
        pytest.skip("pkg-config does not find cpodes")
    source = Path(__file__).with_name("driven.c")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-o", target, source, *flags.stdout.split(),
                    "-lsundials_nvecserial", "-lm"], check=True)
    return cpodes.load(target, amplitude=0.5)


def test_a_gradient_does_not_pass_over_a_prescribed_motion(driven):
    sol = driven.solve((0, 1), rtol=1e-8, atol=1e-8)
    assert sol.y[0, -1] == pytest.approx(0.5 * math.sin(1), abs=1e-7)
    for method in "forward", "adjoint": # g has a copy of the parameter, so its derivative would be 0
        with pytest.raises(ValueError, match="prescribed"):
            driven.gradient(lambda t, y, p: y[1], {"amplitude": 0.5}, method=method)


@pytest.mark.long
def test_torch_differentiates_a_motion():
    torch = pytest.importorskip("torch")
    m = crank.in_python()
    motion = cpodes.torch_motion(m, (0, 2), crank.start)
    flat = torch.tensor(flatten(crank.PARAMETERS), requires_grad=True)
    (motion(flat) ** 2).sum().backward()
    y, pull = cpodes.vjp(m, (0, 2), crank.start, crank.PARAMETERS)
    assert flat.grad.numpy() == pytest.approx(flatten(pull(2 * y)), rel=1e-6)
    tree = {name: torch.tensor(value, requires_grad=True, dtype=torch.float64) for name, value in crank.PARAMETERS.items()}
    (motion(tree) ** 2).sum().backward()
    assert [float(tree[name].grad) for name in sorted(tree)] == pytest.approx(flat.grad.tolist(), rel=1e-6)


@pytest.mark.long
def test_torch_checks_the_gradient_of_a_model_by_differences_of_its_own():
    torch = pytest.importorskip("torch")
    m = cpodes.model("slider_crank")
    motion = cpodes.torch_motion(m, (0, 1), m._start_of, rtol=1e-11, atol=1e-11)
    a, k = (torch.tensor(x, requires_grad=True, dtype=torch.float64) for x in (0.4, 2.0))
    assert torch.autograd.gradcheck(lambda a, k: motion({"k": k, "a": a}), (a, k), eps=1e-4, atol=1e-6, rtol=1e-5)
    (first,) = torch.autograd.grad(motion({"a": a, "k": k}).sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="grad"): # there are no second derivatives
        first.backward()
    single = torch.tensor(0.4, requires_grad=True) # of float32
    motion({"a": single, "k": 2.0}).sum().backward()
    assert single.grad.dtype == torch.float32 and torch.isfinite(single.grad)


# ---- named parameters of a file ----

WIPER = Path(__file__).parents[2] / "examples/mechanisms/wiper.yaml"


def sum_at(m, t=0.2):
    y = m.solve((0, t), m.assemble(), "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return np.cos(1.3 * np.arange(y.size)) @ y


def reread(coordinates, name, value):
    """The objective of the file with another value, by differences of fourth order of whole runs"""
    G = lambda k: sum_at(cpodes.Bodies.read(WIPER, coordinates=coordinates, parameters={name: value * (1 + k * 1e-3)}))
    return (8 * (G(1) - G(-1)) - (G(2) - G(-2))) / (12e-3 * value)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_gradients_by_parameters_of_a_file_are_those_of_the_file_with_other_values(coordinates):
    m = cpodes.Bodies.read(WIPER, coordinates=coordinates)
    names = ["crank", "lever", "drag"]
    objective = lambda t, y, p: np.cos(1.3 * np.arange(y.size)) @ y
    for method in "adjoint", "forward":
        sol, gradient = m.gradient(objective, parameters=names, t_span=(0, 0.2), method=method, rtol=1e-10, atol=1e-10)
        assert sol.objective == pytest.approx(sum_at(m), rel=1e-9)
        for name in names:
            assert gradient[name] == pytest.approx(reread(coordinates, name, m.values[name]), rel=1e-7, abs=1e-7)


def test_jvp_and_vjp_read_the_file_again_where_its_parameters_change():
    m = cpodes.Bodies.read(WIPER, named=["crank", "link"])
    start, at = lambda p: m.assemble(), {"crank": 0.035, "link": 0.31} # near a singular position
    y, along = cpodes.jvp(m, (0, 0.5), start, at, {"crank": 1.0, "link": -0.5}, rtol=1e-10, atol=1e-10)
    other = cpodes.Bodies.read(WIPER, parameters=at)
    assert y == pytest.approx(other.solve((0, 0.5), other.assemble(), "DOP853", rtol=1e-12, atol=1e-12).y[:, -1], abs=1e-7)
    _, pull = cpodes.vjp(m, (0, 0.5), start, at, rtol=1e-10, atol=1e-10)
    w = np.arange(1.0, 1 + y.size)
    back = pull(w)
    assert back["crank"] - 0.5 * back["link"] == pytest.approx(w @ along, rel=3e-8)
    assert m.values["crank"] == 0.035 and m.values["link.mass"] == 0.3


@pytest.mark.parametrize("file, name, parameter", [("crank_rocker", "D.force.x", "coupler.mass"), ("crank_rocker", "coupler.kinetic_energy", "coupler.mass"),
                                                   ("spatial_crank", "rod.point([0, 0, 0.1]).acceleration.z", "crank.mass")])
def test_an_objective_may_be_a_quantity_by_its_name(file, name, parameter):
    """Against differences of whole runs. A force and an energy depend on a mass also where the motion does not."""
    m, times = cpodes.Bodies.read(WIPER.parent / f"{file}.yaml"), (0.1, 0.3)
    present = float(m.values[parameter])

    def total(value):
        m.values[parameter] = value
        sol = m.solve((0, 0.3), m.assemble(), "DOP853", rtol=1e-13, atol=1e-13, t_eval=times)
        m.values[parameter] = present
        return sum(at_mass(value, t, y) for t, y in zip(sol.t, sol.y.T))

    def at_mass(value, t, y):
        m.values[parameter] = value
        try:
            return m.sensor(name, t, y)
        finally:
            m.values[parameter] = present
    h = 1e-3 * present
    exact = (8 * (total(present + h) - total(present - h)) - (total(present + 2 * h) - total(present - 2 * h))) / (12 * h)
    for method in "adjoint", "forward":
        sol, gradient = m.gradient(cpodes.Objective(name, times=times), {parameter: present}, t_span=(0, 0.3), method=method, rtol=1e-10,
                                   atol=1e-10)
        assert sol.objective == pytest.approx(total(present), rel=1e-7)
        assert gradient[parameter] == pytest.approx(exact, rel=1e-6)
    assert m.values[parameter] == present


def test_jvp_and_vjp_at_many_times_are_those_at_each_time():
    m = crank.in_sympy()
    params, tangent = crank.PARAMETERS, {name: 0.1 * size for name, size in crank.PARAMETERS.items()}
    times = np.linspace(0.1, 0.5, 5)
    y, along = cpodes.jvp(m, (0, 0.5), crank.start, params, tangent, t_eval=times)
    y1, along1 = cpodes.jvp(m, (0, 0.3), crank.start, params, tangent)
    assert y[:, 2] == pytest.approx(y1, abs=1e-7) and along[:, 2] == pytest.approx(along1, abs=1e-7)
    at, pull = cpodes.vjp(m, (0, 0.5), crank.start, params, t_eval=times)
    w = np.cos(np.arange(at.size)).reshape(at.shape)
    assert sum(g * tangent[name] for name, g in pull(w).items()) == pytest.approx((w * along).sum(), rel=1e-6)


def test_parameters_of_a_file_reach_the_laws_of_contacts(tmp_path):
    """A capstan, a = g (m - E) / (m + E) with E = exp(pi f): y = -1 - a t^2 / 2."""
    path = tmp_path / "capstan.yaml"
    path.write_text("""dimension: 2
gravity: [0, -9.81]
parameters: {f: 0.3}
bodies: [{name: left, mass: 1, inertia: 1, at: [-0.2, -3]}, {name: right, mass: 3, inertia: 1, at: [0.2, -1]}]
ropes: [{name: rope, along: [{body: left, at: [-0.2, -3]}, {at: [0, 0], radius: -0.2, friction: f}, {body: right, at: [0.2, -1]}]}]
""")
    m = cpodes.Bodies.read(path)
    _, gradient = m.gradient("right.position.y", parameters=["f"], t_span=(0, 0.9), rtol=1e-10, atol=1e-10)
    factor = np.exp(0.3 * np.pi)
    assert gradient["f"] == pytest.approx(0.5 * 0.9**2 * 9.81 * 2 * 3 * np.pi * factor / (3 + factor) ** 2, rel=1e-7)


def test_named_parameters_of_a_file_are_refused_in_one_line():
    m = cpodes.Bodies.read(WIPER)
    m.values["link.mass"] = 0.35
    with pytest.raises(cpodes.Error, match='there is no parameter "cranc", but crank'):
        m.gradient(lambda t, y, p: y[0], parameters=["cranc"], t_span=(0, 0.1))
    with pytest.raises(TypeError, match="list of names"):
        m.gradient(lambda t, y, p: y[0], parameters="crank", t_span=(0, 0.1))
    with pytest.raises(ValueError, match="read from a file"):
        cpodes.Bodies(2).gradient(lambda t, y, p: y[0], parameters=["crank"], t_span=(0, 0.1))
    m.gradient(lambda t, y, p: y[0], parameters=["crank"], t_span=(0, 0.1))
    assert m.values["link.mass"] == 0.35 # what has been changed stays so
    with pytest.raises(cpodes.Error, match="has all elements"):
        m.add_body("more", mass=1, inertia=1)


# ---- twenty mechanisms: open, with loops, redundant rows, quaternions, rolling, stiff ----

# values other than the catalogue's, or a file of examples/mechanisms; parameters; end; method
TWENTY = [("pendulum", {}, ["L", "g"], 2.0, "DOP853"), ("slider_crank", {}, ["a", "m2", "k", "l0"], 2.0, "DOP853"),
          ("car_axis", {}, ["L0", "m", "grav"], 0.5, "DOP853"), ("bushing_crank", {}, ["a", "K", "C"], 0.5, "RADAU"),
          ("flexible_crank", {}, ["Omega"], 0.01, "RADAU"), ("four_bar", {"N": 3}, ["g"], 0.5, "DOP853"),
          ("spatial_four_bar", {}, ["angle", "g"], 1.0, "DOP853"), ("knife_edge", {}, ["alpha", "omega"], 2.0, "DOP853"),
          ("chain", {"n": 4}, ["g"], 1.0, "DOP853"), ("bending_chain", {"n": 3}, ["k", "d"], 0.2, "RADAU"),
          ("spatial_chain", {"n": 2}, ["l", "m", "spin"], 0.5, "DOP853"),
          ("spatial_bending_chain", {"n": 2}, ["k", "d", "radius"], 0.1, "RADAU"), ("heavy_top", {}, ["spin", "theta"], 0.2, "DOP853"),
          ("flyball_governor", {}, ["K", "C", "speed"], 0.5, "RADAU"), ("crank_rocker.yaml", {}, ["coupler.mass", "rocker.mass"], 0.5, "DOP853"),
          ("spatial_crank.yaml", {}, ["crank.mass", "rod.mass"], 0.3, "DOP853"), ("double_wishbone.yaml", {}, ["lower.mass"], 0.2, "DOP853"),
          ("parallelogram.sdf", {}, ["left.mass"], 0.5, "DOP853"), ("excavator.yaml", {}, ["boom.mass"], 0.5, "DOP853"),
          ("four_bar.urdf", {}, ["crank.mass"], 0.5, "DOP853"), ("bricard.yaml", {}, ["rod2.mass"], 0.5, "DOP853"),
          ("andrews.yaml", {}, ["K2.mass"], 0.01, "DOP853")]


@pytest.mark.long
@pytest.mark.parametrize("name, values, names, t, integrator", TWENTY, ids=[one[0] for one in TWENTY])
def test_gradients_have_seven_digits_both_ways(name, values, names, t, integrator):
    """Against differences of sixth order of whole runs at 1e-13. Errors are those of parameters that move by their size, over the largest of
    these effects."""
    is_file = "." in name
    m = cpodes.Bodies.read(WIPER.parent / name) if is_file else cpodes.model(name, **values)
    at = {one: float(m.values[one]) for one in names}
    weigh = lambda y: np.cos(1.3 * np.arange(y.size)) @ y

    def run(one, value):
        other = m if is_file else cpodes.model(name, **{**values, one: value})
        other.values[one] = value
        sol = other.solve((0, t), other.assemble() if is_file else other.y0, integrator, rtol=1e-13, atol=1e-13)
        other.values[one] = at[one]
        return weigh(sol.y[:, -1])

    def differences(one):
        h = 2e-3 * at[one]
        return sum(w * (run(one, at[one] + k * h) - run(one, at[one] - k * h)) for k, w in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))) / h
    exact = np.array([differences(one) * at[one] for one in names])
    for method in "adjoint", "forward":
        errors = []
        for tol in 1e-6, 1e-10:
            _, gradient = m.gradient(lambda t, y, p: weigh(y), at, t_span=(0, t), method=method, integrator=integrator, rtol=tol, atol=tol)
            found = np.array([gradient[one] * at[one] for one in names])
            errors.append(np.abs(found - exact).max() / np.abs(exact).max())
        assert errors[1] <= 1e-7 and errors[1] <= max(errors[0], 1e-8), (method, errors)


@pytest.mark.parametrize("integrator", ["DOP853", "RADAU"])
def test_gradients_jump_where_forces_do(tmp_path, integrator):
    """A force of 1 N up to x0, and of 5 N from there on, where v^2 = v0^2 + 2 x0 / M."""
    (tmp_path / "step.yaml").write_text(
        "dimension: 2\nparameters: {M: 1.3 kg, x0: 0.3 m}\nbodies: [{name: b, mass: M, inertia: 1, velocity: [1, 0]}]\n"
        "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
        "springs: [{name: f, of: s, force: \"if(x > x0, 5 N, 1 N)\"}]\n")
    T, M, x0 = 0.8, 1.3, 0.3
    names, v = ["M", "x0"], math.sqrt(1 + 2 * x0 / M)
    dv, late = np.array([-x0 / M ** 2 / v, 1 / M / v]), T - M * (v - 1)
    dlate = -np.array([v - 1, 0]) - M * dv
    exact = np.array([-2.5 / M ** 2 * late ** 2, 1]) + dv * late + v * dlate + 5 / M * late * dlate
    m = cpodes.Bodies.read(tmp_path / "step.yaml", named=names)
    for method in "adjoint", "forward":
        sol, grad = m.gradient("s.displacement", parameters=names, t_span=(0, T), method=method, integrator=integrator)
        assert sol.objective == pytest.approx(x0 + v * late + 2.5 / M * late ** 2, abs=1e-8)
        assert [grad[name] for name in names] == pytest.approx(exact, abs=1e-7)
        assert [m.values[name] for name in names] == [M, x0] # which differences have moved on the way


LOOP = """dimension: 3
gravity: [0, -9.81, 0]
parameters: {M: 1.3 kg, mu: 0.8}
bodies:
 - {name: one, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0, 0.05, 0], velocity: [-0.08, 0, 0], omega: [0, 0, 1.6]}
 - {name: coupler, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.15, 0.1, 0], velocity: [-0.16, 0, 0]}
 - {name: other, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.3, 0.05, 0], velocity: [-0.08, 0, 0], omega: [0, 0, 1.6]}
 - {name: b, mass: M, inertia: [0.01, 0.01, 0.01], at: [0.27, 0.22, -0.09], velocity: [0.03, 0, -0.04], omega: [0, 1, 0.5]}
joints:
 - {name: A, kind: revolute, b: one, at: [0, 0, 0], axis: [0, 0, 1]}
 - {name: B, kind: revolute, a: one, b: coupler, at: [0, 0.1, 0], axis: [0, 0, 1]}
 - {name: C, kind: revolute, a: coupler, b: other, at: [0.3, 0.1, 0], axis: [0, 0, 1]}
 - {name: D, kind: revolute, b: other, at: [0.3, 0, 0], axis: [0, 0, 1]}
shapes:
 - {name: slab, body: coupler, kind: box, size: [1, 0.04, 1], at: [0.15, 0.1, 0]}
 - {name: ball, body: b, kind: sphere, radius: 0.05, at: [0.27, 0.22, -0.09]}
contacts:
 - {name: c, a: slab, b: ball, on: shape, friction: mu, restitution: 0.5}
"""


def test_adjoints_pass_impacts_on_loops_whose_rows_depend_on_each_other(tmp_path):
    """A ball strikes the coupler of a parallelogram in space. Impulses beside the manifold, where the rows contradict each other, have no value."""
    path = tmp_path / "loop.yaml"
    path.write_text(LOOP)
    m = cpodes.Bodies.read(path)
    forward, adjoint = (m.gradient("b.position.x", parameters=["M"], t_span=(0, 0.2), rtol=1e-8, atol=1e-8, method=method)[1]["M"]
                        for method in ("forward", "adjoint"))
    assert forward != 0 and adjoint == pytest.approx(forward, abs=1e-6)

"""Gradients of functionals of a mechanism's motion, G = sum_j g(t_j, y(t_j), params) + int h(t, y, params) dt, with respect to
its params, by forward or adjoint sensitivities."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._core import Owner, as_compiled, bind, message_of, pointer, real_array, sized, to_c
from ._native import ffi, lib
from ._solve import as_span
from ._trees import flatten, flatten_like, is_tree, unflatten


class Objective(NamedTuple):
    """end(t, y, params): the term at the end, or at each of the times, which lead from the start to the end of the motion; its
    values are added. integrand(t, y, params): the function under the integral. Either may be None; both return a number, or an
    array [count] for several functionals."""
    end: Optional[Callable] = None
    integrand: Optional[Callable] = None
    count: int = 0
    times: Optional[Sequence[float]] = None


def start_function(mechanism: Any, start: Any) -> Callable[[], np.ndarray]:
    """The start state for the present parameters, flat. Its attribute tree is the start if that is a tree, else None."""
    def flat(name: str, y: Any) -> np.ndarray:
        begin.tree = y if is_tree(y) else None
        return real_array(name, y if begin.tree is None else flatten(y, name), (None,))

    def begin() -> np.ndarray:
        return flat("the state that start returned", start(mechanism._views)) if callable(start) else fixed
    begin.tree = None
    if not callable(start):
        fixed = flat("start", start)
    return begin


def of_trees(objective: "Objective", tree: Any) -> "Objective":
    """The same objective as functions of flat states."""
    if tree is None:
        return objective
    of_flat = lambda g: g if g is None or as_compiled(g) else lambda t, y, p: g(t, unflatten(tree, y), p)
    return objective._replace(end=of_flat(objective.end), integrand=of_flat(objective.integrand))


def start_derivatives(start: Callable[[], np.ndarray], P: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """dy0/dp [number of parameters, n], by central differences of sixth order. Steps are quartered as long as that reduces the change of
    the result, that is, up to where roundoff is as large as the error of a start that bends, as assemblies do near singular positions."""
    rows = []
    for i, size in enumerate(scale):
        value = P[i]

        def difference(h: float) -> np.ndarray:
            row = 0.0
            for k, weight in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60)):
                sides = []
                for sign in 1, -1:
                    P[i] = value + sign * k * h * size
                    sides.append(start())
                row = row + weight * (sides[0] - sides[1]) / (h * size)
            P[i] = value
            return row
        h, change = np.finfo(float).eps ** (1 / 7), np.inf
        row = difference(h)
        while True:
            h /= 4
            finer = difference(h)
            before, change = change, np.abs(finer - row).max(initial=0.0)
            if not change < before:
                break
            row = finer
        rows.append(row)
    return np.array(rows)


def has_events(mech: Any) -> bool:
    """Has the mechanism event sources of its own, such as controllers of its file, which act in sessions?"""
    equations = lib.CPModelGetEquations(lib.CPMechGetModel(mech))
    return bool(equations.event_source) and not equations.kinks


def values_and_derivatives(m: Any, objective: Objective, t_span: Tuple[float, float], start: Callable, method: str, integrator: str,
                           rtol: float, atol: float, scale: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """G [count] and dG/dp [count, number of parameters], for the present parameters."""
    t0, t1 = t_span
    P, y0 = m.parameters, start()
    derivatives = start_derivatives(start, P, scale)
    system, own, n = m._with_parameters(), Owner(), y0.size
    values, which = system.parameter_block() # the array that the functions read, and the indices in use
    try:
        own.failures = system.failures
        F = sized("CPFunctional")
        terms = ffi.new("GlueFunctional *")
        F.ng, F.user_data = objective.count, terms
        for name, function in (("end", objective.end), ("integrand", objective.integrand)):
            if function is not None:
                shown = function if as_compiled(function) else (lambda g: lambda t, y: g(t, y, system.views()))(function)
                bind(getattr(terms, name), shown, f"the {name} of the objective", (n,), ((objective.count,),), system.failures,
                     own.keep)
                setattr(F, name, getattr(to_c, f"glue_{name}"))
        if objective.times is not None:
            times = np.ascontiguousarray(objective.times, dtype=float).ravel()
            own.keep.append(times)
            F.times, F.ntimes = pointer(times), times.size
        other = "adjoint" if method == "forward" else "forward"
        message = lambda: f"{message_of(mem) or system.message()} (gradient by method=\"{method}\"; there is also \"{other}\")"
        check = lambda flag: system.failures.check(flag, message)
        samplers = getattr(system, "samplers", ())
        if system.contact or samplers or has_events(system.mech):
            mem = own.own_handle("CPSession", lib.CPSessionCreate(integrator.encode(), own.ctx), lib.CPSessionFree)
            work = lib.CPSessionGradient
            check(lib.CPContactAttach(system.contact, mem) if system.contact else lib.CPSessionSetMech(mem, system.mech))
            for sampler in samplers:
                check(lib.glue_sample(mem, sampler, ffi.NULL))
            check(lib.CPSessionSetTolerances(mem, rtol, atol, ffi.NULL))
            check(lib.CPSessionStart(mem, t0, own.vector(y0.copy()), t1))
        else:
            mem = own.own_handle("CPIntegrator", lib.CPIntegratorCreate(integrator.encode(), own.ctx), lib.CPIntegratorFree)
            work = lib.CPIntegratorGradient
            check(lib.CPMechAttach(system.mech, mem, t0, own.vector(y0.copy())))
            check(lib.CPIntegratorSStolerances(mem, rtol, atol))
            check(lib.CPIntegratorSetMaxNumSteps(mem, -1))
        G, dG = np.zeros(objective.count), np.zeros((objective.count, P.size))
        yS = ffi.new("N_Vector[]", [own.vector(row) for row in np.ascontiguousarray(derivatives)])
        parameters, options = sized("CPParameters"), sized("CPGradientOptions")
        parameters.n, parameters.values, parameters.pbar, parameters.plist, parameters.y0S = P.size, values, pointer(scale), which, yS
        options.mode = lib.CP_GRADIENT_FORWARD if method == "forward" else lib.CP_GRADIENT_ADJOINT
        options.reltol = rtol
        check(work(mem, t1, F, parameters, options, pointer(G), pointer(dG), ffi.NULL))
        own.tell_warnings()
        return G, dG
    finally:
        own.close() # the integrator or the session before the mechanism


def as_objective(m: Any, objective: Any, t: float, y: np.ndarray, tree: Any = None) -> Tuple[Objective, bool]:
    """The objective, its count, and whether it returns one number."""
    if callable(objective):
        objective = Objective(end=objective)
    if not isinstance(objective, tuple):
        raise TypeError(f"objective has to be a function or cpodes.Objective, and is {type(objective).__name__}")
    objective = Objective(*objective) if not isinstance(objective, Objective) else objective
    objective = of_trees(objective, tree)
    if objective.count:
        return objective, False
    for function in (objective.end, objective.integrand):
        if function is not None:
            value = np.asarray(function(t, y.copy(), m._views))
            if value.dtype.kind not in "biuf" or value.ndim > 1:
                raise TypeError(f"an objective has to return a number or an array [count], and returned {value!r}")
            return objective._replace(count=max(1, value.size)), value.ndim == 0
    raise ValueError("an objective needs an end or an integrand")


def check_integrator(integrator: str) -> str:
    if integrator.upper() not in ("DOP853", "RADAU", "BDF", "ADAMS"):
        raise ValueError(f"integrator has to be \"DOP853\", \"RADAU\", \"BDF\" or \"Adams\", and is {integrator!r}")
    return integrator


def gradient(m: Any, objective: Any, params: Any = None, *, t_span: Sequence[float], start: Any, method: str = "adjoint",
             integrator: str = "DOP853", rtol: float = 1e-9, atol: float = 1e-9, scale: Any = None) -> Tuple[Any, Any]:
    """Computes the motion, and the gradient of the objective with respect to params, in the structure of params.

    objective: Objective(end, integrand, times), or a function, which is its end. params: None: the mechanism's present parameters.
    start: a state, or a function params -> consistent state, whose dependence on params counts. If it is a tree of arrays,
    such as (q, u), functions of the objective get one, too. method: "adjoint" (one backward run) or "forward" (one sensitivity
    per parameter). integrator: "DOP853", or "RADAU" if the motion is stiff; "BDF", "Adams". rtol, atol: of the gradient; the runs
    inside have less. scale: sizes of the parameters, for differences, in their structure; None:
    |p|, or 1 where p is 0. The value is sol.objective. With several functionals, value and gradient have one more
    dimension, in front."""
    if method not in ("adjoint", "forward"):
        raise ValueError(f"method has to be \"adjoint\" or \"forward\", and is {method!r}")
    check_integrator(integrator)
    m._set_params(params)
    t_span = as_span(t_span)
    begin = start_function(m, start)
    y0 = begin()
    sol = m.solve(t_span, y0, integrator, rtol=rtol, atol=atol)
    sol._tree = begin.tree
    objective, single = as_objective(m, objective, t_span[0], y0, begin.tree)
    size = np.where(m.parameters == 0, 1.0, np.abs(m.parameters)) if scale is None else flatten(scale, "scale")
    G, dG = values_and_derivatives(m, objective, t_span, begin, method, integrator, rtol, atol,
                                   np.ascontiguousarray(size))
    sol.objective = float(G[0]) if single else G
    if single:
        return sol, unflatten(m.params, dG[0])
    return sol, [unflatten(m.params, row) for row in dG]


def _motion(m: Any, t_span: Any, start: Any, params: Any, integrator: str, rtol: float, atol: float,
            t_eval: Any) -> Tuple[Any, Callable, np.ndarray, np.ndarray, Optional[np.ndarray]]:
    """The span, the start, the states at its end [n] or at t_eval [n, k], the sizes of the parameters, and t_eval [k] or None"""
    check_integrator(integrator)
    m._set_params(params)
    t_span, begin = as_span(t_span), start_function(m, start)
    times = None if t_eval is None else real_array("t_eval", t_eval, (np.size(t_eval),))
    y = m.solve(t_span, begin(), integrator, t_eval=times, rtol=rtol, atol=atol).y
    return t_span, begin, y[:, -1] if times is None else y, np.where(m.parameters == 0, 1.0, np.abs(m.parameters)), times


def as_tree(tree: Any, y: np.ndarray) -> Any:
    return y if tree is None or y.ndim > 1 else unflatten(tree, y)


def jvp(m: Any, t_span: Any, start: Any, params: Any, tangent: Any, *, t_eval: Any = None, integrator: str = "DOP853", rtol: float = 1e-9,
        atol: float = 1e-9) -> Tuple[Any, Any]:
    """y(t1), and its derivative in the direction `tangent` of the parameters, which has their structure, by forward
    sensitivities. Both results have the structure of the start if that is a tree of arrays. With t_eval [k], both are arrays
    [n, k] of all these times, by the same run."""
    t_span, begin, y, scale, times = _motion(m, t_span, start, params, integrator, rtol, atol, t_eval)
    direction = flatten_like(m.params, tangent, "tangent")

    def state(t: float, y_t: np.ndarray, p: Any) -> np.ndarray:
        if times is None:
            return y_t
        every = np.zeros(y.shape)
        every[:, np.argmin(np.abs(times - t))] = y_t
        return every.ravel()
    _, S = values_and_derivatives(m, Objective(end=state, times=times, count=y.size), t_span, begin, "forward", integrator, rtol, atol,
                                  scale)
    return as_tree(begin.tree, y), as_tree(begin.tree, (S @ direction).reshape(y.shape))


def vjp(m: Any, t_span: Any, start: Any, params: Any, *, t_eval: Any = None, integrator: str = "DOP853", rtol: float = 1e-9,
        atol: float = 1e-9) -> Tuple[Any, Callable]:
    """y(t1), and the function that takes a cotangent w to the gradient of w . y(t1), by one adjoint run. Both have the
    structure of the start if that is a tree of arrays; w may also be an array [n]. With t_eval [k], y and w are arrays [n, k], and
    the run backwards is still one."""
    t_span, begin, y, scale, times = _motion(m, t_span, start, params, integrator, rtol, atol, t_eval)
    tree, structure, flat = begin.tree, m.params, m.parameters.copy()

    def pull(w: Any) -> Any:
        w = flatten_like(tree, w, "the cotangent") if tree is not None and is_tree(w) else w
        w = real_array("the cotangent", w, y.shape)
        m._set_params(unflatten(structure, flat.copy()))
        at = lambda t: w if times is None else w[:, np.argmin(np.abs(times - t))]
        weighted = Objective(end=lambda t, y_t, p: at(t) @ y_t, times=times, count=1)
        _, dG = values_and_derivatives(m, weighted, t_span, begin, "adjoint", integrator, rtol, atol, scale)
        return unflatten(structure, dG[0])
    return as_tree(tree, y), pull


def torch_motion(m: Any, t_span: Any, start: Any, **options: Any) -> Callable:
    """A torch function that maps parameters to y(t1) [n] and is differentiable once. Its argument has the structure of
    params, with tensors or numbers as leaves (Bodies and models: a dict by name), or is one flat tensor of all of them.
    The adjoint run uses the parameters of the forward run."""
    import torch

    class Motion(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, structure: Any, *leaves: Any) -> Any:
            ctx.like = leaves
            flat = np.concatenate([x.detach().cpu().numpy().astype(float).ravel() for x in leaves])
            y1, ctx.pull = vjp(m, t_span, start, unflatten(structure, flat), **options)
            return torch.as_tensor(flatten(y1, "y1"))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, w: Any) -> Any:
            gradient, at, parts = torch.as_tensor(flatten(ctx.pull(w.detach().cpu().numpy()))), 0, []
            for x in ctx.like:
                parts.append(gradient[at:at + x.numel()].reshape(x.shape).to(x))
                at += x.numel()
            return None, *parts

    def motion(params: Any) -> Any:
        if isinstance(params, torch.Tensor) and m.params is not None:
            return Motion.apply(m.params, params)
        leaves: list = []

        def structure_of(node: Any) -> Any: # in the order of flatten
            if isinstance(node, dict):
                found = {key: structure_of(node[key]) for key in sorted(node)}
                return {key: found[key] for key in node}
            if isinstance(node, (list, tuple)):
                children = [structure_of(one) for one in node]
                return type(node)(*children) if hasattr(node, "_fields") else type(node)(children)
            leaves.append(torch.as_tensor(node))
            return np.zeros(tuple(leaves[-1].shape))
        structure = structure_of(params)
        return Motion.apply(structure, *leaves)
    return motion


def jax_motion(m: Any, t_span: Any, start: Any, **options: Any) -> Callable:
    """A jax function that maps parameters, in the structure of params, to y(t1) [n] and is differentiable in reverse mode,
    also inside jit. More than single precision needs jax_enable_x64. cpodes' tests do not run it."""
    import jax

    def on_host(work: Callable) -> Callable:
        return lambda params, *w: work(jax.tree_util.tree_map(lambda x: np.asarray(x, dtype=float), params), *(np.asarray(x) for x in w))

    def like(x: Any) -> Any:
        return jax.ShapeDtypeStruct(np.shape(x), jax.numpy.result_type(x))

    def end(params: Any) -> Any:
        return cast(flatten(vjp(m, t_span, start, params, **options)[0], "y1"))

    def gradient(params: Any, w: Any) -> Any:
        pulled = vjp(m, t_span, start, params, **options)[1](w.astype(float))
        return jax.tree_util.tree_map(cast, pulled)

    number = jax.numpy.result_type(float)
    cast = lambda x: np.asarray(x, dtype=number)
    n = m.nq + m.nu + m.nz if m.ready else start_function(m, start)().size

    @jax.custom_vjp
    def motion(params: Any) -> Any:
        return jax.pure_callback(on_host(end), jax.ShapeDtypeStruct((n,), number), params)

    def backward(params: Any, w: Any) -> Any:
        return (jax.pure_callback(on_host(gradient), jax.tree_util.tree_map(like, params), params, w),)
    motion.defvjp(lambda params: (motion(params), params), backward)
    return motion

"""solve: y' = f(t, y), 0 = c(t, y), with the conventions of scipy.integrate.solve_ivp."""
from __future__ import annotations

import warnings
from typing import Any, Callable, Optional, Sequence, Tuple

import numpy as np

from ._core import Error, Sparse, Vectorized, as_compiled, bind, expected, message_of, pointer, real_array, to_c
from ._native import ffi, lib
from ._run import Integration, Solution, System, as_events
from ._trees import flatten, flatten_like, is_tree, unflatten


TANGENT = 1e-3 # relative to the terms of (G f)_i: far above the errors of differences, and of iterations within f
DIFFERENCES = 1e-6 # relative errors of differences of c, where the terms themselves are zero


class Ode(System):
    """y' = f(t, y), 0 = c(t, y) in the form that the integrators take."""

    newton, mech, auto, lsoda = False, None, "DOP853/BDF", "ADAMS/BDF"
    projects_itself = False # by functions of the user

    def __init__(self, fun: Any, t0: float, y0: np.ndarray, dtype: type, constraints: Any, G: Any, J: Any, unit_norms: Sequence,
                 rtol: Any, atol: Any, pattern: Optional[Sparse] = None, projection: Any = ()):
        super().__init__()
        n = y0.size
        self.n, self.dtype, self.m = n, dtype, 0
        self.ode = ffi.new("GlueOde *")
        self.ode.n = n
        self.rtol, self.atol = (np.array(np.broadcast_to(x, n), dtype=float) for x in (rtol, atol))
        self.ode.rtol, self.ode.atol = (pointer(a) for a in (self.rtol, self.atol))
        bind(self.ode.f, fun, "fun", (n,), ((n,),), self.failures, self.keep)
        self.vectorized = fun if isinstance(fun, Vectorized) else None
        if self.vectorized:
            self.ode.batch.n = n
            self.auto = "DOP853/RADAU" if fun.times else "DOP853/BDF"
            fun.bind(self.ode.batch, self.failures, self.keep)
        self.J, self.constant_J = J is not None, getattr(J, "is_constant", False)
        if self.J:
            bind(self.ode.J, J, "the Jacobian of fun", (n,), (pattern or (n, n),), self.failures, self.keep)
        self.pattern = pattern
        if pattern:
            self.ode.pattern.starts, self.ode.pattern.rows = pointer(pattern.starts), pointer(pattern.rows)
        self.projector = ffi.NULL
        self.form: Any = None # of the user's G
        self.norms, self.next_test = list(unit_norms), 1
        y_tmpl = self.vector(np.zeros(n))
        self.scratch = np.zeros(n), np.zeros(n)
        self.scratch_vectors = [self.vector(a) for a in self.scratch]
        if constraints is not None or len(unit_norms) or projection:
            c_tmpl, function = ffi.NULL, ffi.NULL
            if constraints is not None:
                constraints, self.m = rows_of(constraints, t0, y0)
                bind(self.ode.c, constraints, "constraints", (n,), ((self.m,),), self.failures, self.keep)
                self.c = np.zeros(self.m)
                c_tmpl, function = self.vector(self.c), to_c.glue_constraint
                self.c_vector = c_tmpl
            if projection:
                self.projects_itself = True
                for slot, g, name in zip(("g", "g_eps", "both"), projection, ("projection", "the projection of errors",
                                                                             "the projection of a state and an error")):
                    bind(getattr(self.ode, slot), g, name, (n,) if slot == "g" else (n, n), ((n,), (n,)) if slot == "both" else ((n,),),
                         self.failures, self.keep)
                functions = ffi.new("CPUserProjection *", {"size": ffi.sizeof("CPUserProjection"), "state": to_c.glue_project})
                if len(projection) > 1:
                    functions.error = to_c.glue_project_error
                if len(projection) > 2:
                    functions.both = to_c.glue_project_both
                made = lib.CPProjectorCreateUser(functions, y_tmpl, self.ctx)
            else:
                made = lib.CPProjectorCreate(function, y_tmpl, c_tmpl, self.ctx)
            self.projector = self.own_handle("CPProjector", made, lib.CPProjectorFree)
            check = lambda flag: self.failures.check(flag, self.message)
            check(lib.CPProjectorSetUserData(self.projector, self.ode))
            if G is not None:
                G, form = matrix_function(G, "jac, the Jacobian of constraints", (self.m, n), t0, y0)
                bind(self.ode.G, G, "jac, the Jacobian of constraints", (n,), (form,), self.failures, self.keep)
                check(lib.CPProjectorSetJacFn(self.projector, to_c.glue_constraint_jac, self.matrix(form)))
                self.form, self.G = form, self.matrix(form)
            for first, length, *value in unit_norms:
                check(lib.CPProjectorAddUnitNorm(self.projector, first, length, value[0] if value else 1.0))
    # ---- are f and the constraints those of a motion? ----

    def row_values(self, t: float, y: np.ndarray) -> np.ndarray:
        """c(t, y), then the unit norms."""
        own = np.zeros(0)
        if self.m:
            self.violation(t, y)
            own = self.c
        return np.append(own, [np.linalg.norm(y[first:first + length]) for first, length, *_ in self.norms])

    def row_gradients(self, t: float, y: np.ndarray) -> Any:
        """The rows of G, then those of the unit norms, [m, n], dense or sparse."""
        if self.form is None:
            steps = np.cbrt(np.finfo(float).eps) * np.maximum(np.abs(y), max(np.abs(y).max(), 1e-3))
            G, moved = np.empty((self.m + len(self.norms), self.n)), y.copy()
            for j, step in enumerate(steps):
                moved[j] = y[j] + step
                ahead = self.row_values(t, moved)
                moved[j] = y[j] - step
                G[:, j] = (ahead - self.row_values(t, moved)) / (2 * step)
                moved[j] = y[j]
            return G
        self.scratch[0][:] = y
        flag = lib.glue_constraint_jac(t, self.scratch_vectors[0], self.c_vector, self.G, self.ode)
        self.failures.check(-abs(flag), lambda: "the Jacobian of constraints failed")
        sparse, shape = isinstance(self.form, Sparse), (self.m, self.n)
        count = len(self.form.rows) if sparse else self.m * self.n
        values = np.frombuffer(ffi.buffer(lib.glue_matrix_data(self.G), 8 * count)).copy()
        norms = np.zeros((len(self.norms), self.n))
        for row, (first, length, *_) in zip(norms, self.norms):
            row[first:first + length] = y[first:first + length] / np.linalg.norm(y[first:first + length])
        if sparse:
            from scipy.sparse import csc_matrix, vstack
            return vstack([csc_matrix((values, self.form.rows, self.form.starts), shape), norms], "csc")
        return np.vstack([values.reshape(shape, order="F"), norms])

    def check_freedom(self, t: float, y: np.ndarray) -> None:
        """More constraints than unknowns are possible if many depend on the others, and not if no direction is free."""
        if self.m <= self.n:
            return
        G = self.row_gradients(t, y)
        G = G.toarray() if hasattr(G, "toarray") else G
        if np.linalg.matrix_rank(G / np.maximum(np.abs(G).max(axis=1, keepdims=True), 1e-300), 1e-6) == self.n:
            raise ValueError(f"constraints has {self.m} rows for {self.n} unknowns, and determines all of them at the start: no "
                             "motion is possible")

    def check_tangent(self, t: float, y: np.ndarray, span: float) -> None:
        """On the manifold (d/dt) c = G f + c_t has to be zero: otherwise the projection takes back in each step what f does,
        and steps as small as the tolerance crawl to a result of order one at best. A row is compared with its own terms, and
        what it asks for within the run with the tolerances. A state off the manifold is the library's to refuse."""
        if not (self.m or self.norms) or self.projects_itself:
            return
        try:
            f = self.rhs_function()(t, y)
        except Error: # the run will meet it, too
            return
        finally:
            self.ode.f.calls -= 1 # the counts are those of the integrator
            if self.vectorized:
                self.vectorized.calls -= 1
        if not np.isfinite(f).all():
            return
        unit = np.maximum(self.rtol * np.abs(y) + self.atol, 1e-150) # a distance of one tolerance, by components
        time = min(span, np.abs(y).max() / max(np.abs(f).max(), 1e-300)) or span
        h = max(np.cbrt(np.finfo(float).eps) * time, 1e3 * np.spacing(abs(t)))
        try:
            rate = (self.row_values(t + h, y + h * f) - self.row_values(t - h, y - h * f)) / (2 * h)
            G, off = self.row_gradients(t, y), self.row_values(t, y)
        except Exception: # a state nearby, to which the run need not come, is outside of the constraints' domain
            return
        off -= np.append(np.zeros(self.m), [value[0] if value else 1.0 for _, _, *value in self.norms])
        weighted = G.multiply(unit) if hasattr(G, "multiply") else G * unit
        size = np.sqrt(np.asarray((weighted.multiply(weighted) if hasattr(G, "multiply") else weighted ** 2).sum(axis=1))).ravel()
        terms = abs(G) @ np.abs(f) + np.abs(rate - G @ f)
        roundoff = DIFFERENCES * (abs(G) @ np.full(self.n, np.abs(f).max()))
        loose = 10 * unit.max() / max(np.abs(y).max(), 1e-300) # the state, and with it f, is exact to a part of the tolerance only
        wrong = (np.abs(rate) > max(TANGENT, loose) * terms + roundoff) & (np.abs(rate) * span > size) & (size > 0)
        if not wrong.any() or (np.abs(off) > size).any():
            return
        i = int(np.argmax(np.where(wrong, np.abs(rate) / np.maximum(terms, 1e-300), 0)))
        name = f"constraint {i}" if i < self.m else "the norm of components {} to {}".format(
            self.norms[i - self.m][0], self.norms[i - self.m][0] + self.norms[i - self.m][1] - 1)
        raise Error(lib.CP_ILL_INPUT, f"at t = {t:.15g}: fun is not tangent to the constraints: along it {name} changes at the "
                    f"rate {rate[i]:.3g}, and G f + dc/dt has to be 0 where the constraints are satisfied")

    def test_motion(self, run: Integration) -> None:
        """At the start, and after numbers of steps that double, since a start at rest proves nothing."""
        steps = run.recorded()
        if steps >= self.next_test and self.projector:
            self.next_test = 2 * steps
            self.check_tangent(run.run.t, run.y.copy(), abs(run.t1 - run.t0) if np.isfinite(run.t1) else abs(run.run.t - run.t0))

    def message(self) -> str:
        return message_of(self.projector) if self.projector else ""

    # ---- what Integration requires of a system ----

    def returns_failures(self) -> bool:
        return not self.projector

    def as_state(self, name: str, y: Any) -> np.ndarray:
        if self.dtype is complex:
            return real_array(name, np.ascontiguousarray(y, dtype=complex).view(float), (self.n,))
        return real_array(name, y, (self.n,))

    def configure(self, run: Integration, mem: Any, check: Callable) -> None:
        if run.current.startswith("RADAU"):
            template = self.matrix(self.pattern) if self.pattern else ffi.NULL
            check(lib.CPIntegratorSetJacFn(mem, template, to_c.glue_jac if self.J else ffi.NULL))
            check(lib.CPIntegratorSetRhsBatchFn(mem, to_c.glue_rhs_batch if self.vectorized else ffi.NULL))
        check(lib.CPIntegratorSetProjector(mem, self.projector))
        if run.current == "ADAMS":
            solver = lib.glue_fixed_point(run.run.y, 0, run.own.ctx)
            if not solver:
                raise MemoryError("no memory for a solver")
            run.before_session(lib.glue_nonlinear_free, solver)
            check(lib.CPIntegratorSetNonlinearSolver(mem, solver))
        elif run.multistep:
            ls, A = ffi.new("SUNLinearSolver *"), ffi.new("SUNMatrix *")
            if self.pattern and not lib.glue_has_klu():
                raise NotImplementedError("the SUNDIALS of this package has no sparse factors (KLU): methods of CVODES take "
                                          "dense Jacobians only, and RADAU sparse ones, too")
            if self.pattern and not self.J:
                self.colour()
            flag = lib.glue_newton(mem, run.run.y, self.ode, self.J, ls, A, run.own.ctx)
            run.before_session(lib.glue_linear_free, ls[0])
            run.before_session(lib.glue_matrix_free, A[0])
            check(flag)
            self.newton = True

    def colour(self) -> None:
        """Sets the groups of columns for differences."""
        groups = self.pattern.groups()
        columns, ends = np.concatenate(groups), np.cumsum([0] + [len(g) for g in groups]).astype(np.int64)
        work, pattern = np.zeros(3 * self.n), self.ode.pattern
        self.keep += [columns, ends, work]
        pattern.ngroups, pattern.groups, pattern.columns, pattern.work = len(groups), pointer(ends), pointer(columns), pointer(work)

    def projection(self, rtol: Any, atol: Any) -> Optional[Callable]:
        """Moves an array y to the manifold at t."""
        if not self.projector:
            return None

        def project(t: float, y: np.ndarray) -> None:
            x, w = self.scratch
            x[:] = y
            w[:] = 1 / np.maximum(self.rtol * np.abs(y) + self.atol, 1e-150)
            flag = lib.CPProjectorProject(self.projector, t, *self.scratch_vectors)
            self.failures.check(-abs(flag), self.message)
            y[:] = x
        return project

    def violation(self, t: float, y: np.ndarray) -> float:
        if not self.m:
            return 0.0
        self.scratch[0][:] = y
        flag = lib.glue_constraint(t, self.scratch_vectors[0], self.c_vector, self.ode)
        self.failures.check(-abs(flag), lambda: "constraints failed")
        return float(np.abs(self.c).max())

    def rhs_function(self) -> Callable:
        def rhs(t: float, y: np.ndarray) -> np.ndarray:
            x, f = self.scratch
            x[:] = y
            flag = lib.glue_rhs(t, *self.scratch_vectors, self.ode)
            self.failures.check(-abs(flag), lambda: "fun failed")
            return f.copy()
        return rhs

    def calls(self) -> dict:
        counts = {"f": self.ode.f.calls}
        if self.vectorized:
            counts["vectorized"] = self.vectorized.calls
        if self.J:
            counts["J"] = 0 if self.constant_J else self.ode.J.calls
        return counts


def rows_of(constraints: Any, t0: float, y0: np.ndarray) -> Tuple[Any, int]:
    """The function and the number of its values: a compiled one is given as (function, number), a Python function is
    called."""
    if isinstance(constraints, tuple):
        return constraints[0], int(constraints[1])
    if as_compiled(constraints):
        raise TypeError("constraints that are compiled are given as (function, number of constraints)")
    if not callable(constraints):
        raise TypeError(f"constraints has to be a function c(t, y), and is {type(constraints).__name__}")
    value = constraints(t0, y0.copy())
    if value is None:
        raise TypeError("constraints has to return an array of real numbers, and returned None")
    value = real_array("the value of constraints at the start", value)
    if value.ndim != 1 or not value.size:
        raise ValueError(f"constraints has to return an array of shape (m,), and returned one of shape {value.shape}")
    return constraints, value.size


def matrix_function(G: Any, name: str, shape: tuple, t0: float, y0: np.ndarray) -> Tuple[Any, Any]:
    """A function for G, given as a constant or a function, and the form of its result: a shape, or a Sparse."""
    if as_compiled(G):
        return G, shape
    if not callable(G):
        constant = G if hasattr(G, "tocsc") else real_array(name, G, shape)
        G = lambda t, y: constant
    value = G(t0, y0.copy())
    if hasattr(value, "tocsc"):
        if value.shape != shape:
            raise ValueError(f"{name} has to return a matrix of shape {shape}, and returned one of shape {value.shape}")
        return G, Sparse(value)
    expected(name, value, np.zeros(shape))
    return G, shape


def pattern_of(sparsity: Any, name: str, n: int, dtype: type) -> Sparse:
    """The pattern of df/dy, from an array, or a scipy.sparse matrix, whose stored entries all count."""
    from scipy import sparse
    if not hasattr(sparsity, "tocsc"):
        sparsity = np.asarray(sparsity)
        if sparsity.dtype.kind not in "biuf":
            raise TypeError(f"{name} has to be a matrix of numbers, and is of dtype {sparsity.dtype}")
        sparsity = sparse.csc_matrix(sparsity != 0) if sparsity.ndim == 2 else sparsity
    if sparsity.shape != (n, n):
        raise ValueError(f"{name} has to have the shape ({n}, {n}), and has {sparsity.shape}")
    entries = sparsity.tocsc().copy()
    entries.data = np.ones(entries.nnz)
    return Sparse(sparse.kron(entries, np.ones((2, 2))) if dtype is complex else entries)


def complex_as_real(fun: Callable, jac: Any) -> Tuple[Callable, Any]:
    """The functions as real ones of the real and imaginary parts."""
    def real_fun(t: float, x: np.ndarray) -> np.ndarray:
        value = fun(t, x.view(complex))
        if value is None:
            raise TypeError("fun has to return an array of complex numbers, and returned None")
        return np.ascontiguousarray(value, dtype=complex).view(float)

    def real_jac(t: float, x: np.ndarray) -> np.ndarray:
        J = jac(t, x.view(complex)) if callable(jac) else jac
        if hasattr(J, "tocsc"):
            from scipy import sparse
            return sparse.kron(J.real, np.eye(2)) + sparse.kron(J.imag, [[0, -1], [1, 0]])
        J = np.asarray(J, dtype=complex)
        R = np.empty((2 * J.shape[0], 2 * J.shape[1]))
        R[0::2, 0::2], R[0::2, 1::2], R[1::2, 0::2], R[1::2, 1::2] = J.real, -J.imag, J.imag, J.real
        return R
    return real_fun, None if jac is None else real_jac


def as_span(t_span: Any, endless: bool = False) -> Tuple[float, float]:
    """endless: may t1 be infinite?"""
    try:
        t0, t1 = map(float, t_span)
    except (TypeError, ValueError):
        raise ValueError(f"t_span has to be two numbers (t0, t1), and is {t_span!r}") from None
    if not (np.isfinite(t0) and (np.isfinite(t1) or endless and t1 == t1)):
        raise ValueError(f"t_span has to be finite, and is {t_span!r}")
    return t0, t1


def as_tolerance(name: str, value: Any, n: int, least: float) -> Any:
    given = value
    try:
        value = np.asarray(value)
        if value.dtype.kind not in "iuf":
            raise TypeError
        value = value.astype(float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} has to be a number or an array of shape ({n},), and is {given!r}") from None
    if value.ndim and value.shape != (n,):
        raise ValueError(f"{name} has to be a number or an array of shape ({n},), and has the shape {value.shape}")
    if not (np.isfinite(value).all() and (value >= least).all()):
        raise ValueError(f"{name} has to be finite and at least {least:g}, and is {value}")
    return np.ascontiguousarray(value) if value.ndim else float(value)


def as_times(t_eval: Any, t0: float, t1: float) -> Optional[np.ndarray]:
    if t_eval is None:
        return None
    t = real_array("t_eval", t_eval, (None,))
    sign = -1 if t1 < t0 else 1
    if len(t) and (min(t) < min(t0, t1) or max(t) > max(t0, t1)):
        raise ValueError(f"t_eval has values that are not within t_span ({t0}, {t1})")
    if (sign * np.diff(t) <= 0).any():
        raise ValueError("t_eval is not sorted in the direction of t_span, or has a time twice")
    return t


def as_steps(t0: float, t1: float, first: Optional[float], least: float, most: float) -> Tuple[float, float, float]:
    for name, value in (("first_step", first), ("min_step", least), ("max_step", most)):
        if not isinstance(value, (int, float, np.integer, np.floating)) and not (name == "first_step" and value is None):
            raise TypeError(f"{name} has to be a number, and is {value!r}")
    if first is not None and not 0 < first <= abs(t1 - t0):
        raise ValueError(f"first_step has to be positive and at most |t1 - t0|, and is {first}")
    if not most > 0:
        raise ValueError(f"max_step has to be positive, and is {most}")
    if not 0 <= least < np.inf:
        raise ValueError(f"min_step has to be at least 0 and finite, and is {least}")
    return first or 0.0, least, 0.0 if np.isinf(most) else most


def bar(progress: Any, t0: float, t1: float) -> Optional[Callable[[float], None]]:
    """A tqdm progress bar, if tqdm is installed; a user's function is called with (t, t0, t1) instead."""
    if not progress:
        return None
    if callable(progress):
        return lambda t: progress(t, t0, t1)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        import sys
        return lambda t: print(f"\rcpodes: {100 * (t - t0) / (t1 - t0):3.0f} %", end="\n" if t == t1 else "", file=sys.stderr)
    shown = tqdm(total=abs(t1 - t0), unit="t")
    return lambda t: (shown.update(abs(t - t0) - shown.n), shown.close() if t == t1 else None)[0]


def solve(fun: Any, t_span: Sequence[float], y0: Any, method: Any = "auto", t_eval: Any = None, dense_output: bool = False,
          events: Any = None, vectorized: Any = False, args: Optional[tuple] = None, *, constraints: Any = None, jac: Any = None,
          rhs_jac: Any = None, unit_norms: Sequence = (), rtol: Any = 1e-3, atol: Any = 1e-6,
          first_step: Optional[float] = None, min_step: float = 0.0, max_step: float = np.inf, project_start: bool = False,
          progress: Any = False, jac_sparsity: Any = None, lband: Any = None, uband: Any = None, projection: Any = None) -> Solution:
    """Solves y' = fun(t, y), 0 = constraints(t, y), y(t0) = y0 from t0 to t1. Without constraints, it is called like
    scipy.integrate.solve_ivp.

    fun: f(t, y) -> [n], in Python or compiled (see Compiled). y is a copy that may be kept.
    t_span: (t0, t1); t1 may be infinite, for a run that a terminal event or Ctrl-C ends.
    y0: [n], real or complex; or a tree: nested dicts, lists and tuples of real arrays and numbers. All functions then
        get y as such a tree, and fun and `change` return one; sol.y is flat, and sol.tree(y) restores its structure.
    constraints: c(t, y) -> [m]; a compiled one as (function, m). y0 has to satisfy them, unless project_start is set.
    jac: with constraints, dc/dy [m, n]; without, df/dy [n, n], as in scipy. An array or a function jac(t, y), dense or
        scipy.sparse; its pattern at the start must hold everywhere. rhs_jac: df/dy if there are constraints. Missing
        Jacobians are formed by differences.
    jac_sparsity: the pattern of df/dy, an array or a scipy.sparse matrix [n, n]. Implicit methods then factor sparse
        matrices, and differences take one evaluation of fun for each group of columns that share no row. With it, a
        compiled rhs_jac sets the values of the pattern's entries, by columns.
    projection: a function that replaces the library's projection: g(t, y) -> the state on the manifold that belongs to
        y; or (g, g_eps) with g_eps(t, y, err) -> err, the part of an error estimate at y that g leaves, linear in err; or
        (g, g_eps, both) with both(t, y, err) -> (state, err), one call where a step of BDF or Adams needs both. Only these
        two methods test projected errors. constraints then only serve sol.violation.
    unit_norms: (first, length[, value]) of components whose Euclidean norm is 1 (or value): unit quaternions, (0, 4).
    method: "auto" (DOP853, which switches to BDF, or to RADAU with vectorized="t", if the problem proves stiff),
        "LSODA" (Adams, which switches likewise), "BDF", "Adams", "DOP853", "RK45", "RK23", "RADAU" (3 or 5 stages;
        "RADAU5", "RADAU9", "RADAU13": always 3, 5, 7), an explicit Butcher table of ARKODE by name, or a Table.
    rtol, atol: numbers or arrays [n].
    events: functions g(t, y) whose zeros are located, with attributes
            terminal: True, or the number of occurrences after which the run ends. direction: < 0, > 0: falling or rising zeros only.
            change: a function (t, y) -> new state, from which the run continues. sol.t has that time twice.
    vectorized: True: fun takes states y [n, k] at one time t, as in scipy, and the differences for df/dy in RADAU are
        one call. "t": fun also takes their times t [k], so that all stages of RADAU are one call, too; t is then always an
        array.
    t_eval, dense_output, args, first_step, min_step, max_step: as in scipy. lband, uband: the pattern of a banded df/dy
        that is not given.
    progress: True: a progress bar; or a function of (t, t0, t1).

    Exceptions of functions pass through. An integration that fails raises Error, whose attribute sol holds the results so
    far; without constraints it returns them with status -1, success False and the message, as solve_ivp does. Ctrl-C ends a
    run with status 2 and the results so far."""
    t0, t1 = as_span(t_span, True)
    if is_tree(y0):
        if vectorized:
            raise ValueError("a function of trees of arrays cannot be vectorized")
        if projection is not None:
            raise ValueError("projection takes flat states: give y0 as an array")
        functions = functions_of_trees(y0, fun, constraints, jac, rhs_jac, events)
        fun, constraints, jac, rhs_jac, events = functions
        sol = solve(fun, t_span, flatten(y0, "y0"), method, t_eval, dense_output, events, False, args, constraints=constraints, jac=jac,
                    rhs_jac=rhs_jac, unit_norms=unit_norms, rtol=leaves_of(y0, rtol, "rtol"), atol=leaves_of(y0, atol, "atol"),
                    first_step=first_step, min_step=min_step, max_step=max_step, project_start=project_start, progress=progress,
                    jac_sparsity=jac_sparsity, lband=lband, uband=uband)
        sol._tree = y0
        return sol
    y0 = np.asarray(y0)
    dtype = complex if y0.dtype.kind == "c" else float
    if y0.ndim != 1:
        raise ValueError(f"y0 has to have the shape (n,), and has {y0.shape}")
    if projection is None:
        projection = ()
    elif not isinstance(projection, (tuple, list)):
        projection = (projection,)
    elif not 1 <= len(projection) <= 3:
        raise ValueError(f"projection has to be a function, (g, g_eps), or (g, g_eps, both), and has {len(projection)} entries")
    if projection and len(unit_norms):
        raise ValueError("unit_norms are the library's projection: give them or projection")
    if (constraints is None or projection) and rhs_jac is None:
        rhs_jac, jac = jac, None
    if projection and jac is not None:
        raise ValueError("jac, the Jacobian of constraints, is for the library's projection: give it or projection")
    if dtype is complex and (constraints is not None or len(unit_norms) or projection):
        raise ValueError("constraints are real: give real and imaginary parts as components")
    start = np.ascontiguousarray(y0, dtype=complex).view(float).copy() if dtype is complex else real_array("y0", y0)
    n = start.size
    rtol = as_tolerance("rtol", rtol, n, 0)
    atol = as_tolerance("atol", atol, n, 0)
    smallest = 100 * np.finfo(float).eps
    if np.any(np.asarray(rtol) < smallest):
        warnings.warn(f"At least one element of `rtol` is too small. Setting `rtol = np.maximum(rtol, {smallest})`.", stacklevel=2)
        rtol = np.maximum(rtol, smallest)
        rtol = rtol if rtol.ndim else float(rtol)
    t_eval = as_times(t_eval, t0, t1)
    steps = as_steps(t0, t1, first_step, min_step, max_step) if t1 != t0 else (0.0, 0.0, 0.0)
    if args is not None:
        try:
            args = tuple(args)
        except TypeError:
            raise TypeError("Supplied 'args' cannot be unpacked. It has to be a tuple, for one argument args=(1,), and is "
                            f"{args!r}") from None
        with_args = lambda f: (lambda t, y: f(t, y, *args)) if callable(f) else f
        plain, fun, jac, rhs_jac = as_events(events), with_args(fun), with_args(jac), with_args(rhs_jac)
        constraints = with_args(constraints)
        projection = [with_more(g, args) for g in projection]
        events = [wrap_event(e, with_args(e)) for e in plain]
        events = events or None
    if isinstance(vectorized, str) and vectorized != "t":
        raise ValueError(f"vectorized has to be True, False or 't', and is {vectorized!r}")
    if vectorized:
        fun = Vectorized(fun, dtype, isinstance(vectorized, str))
    watched = as_events(events)
    pattern = None
    if jac_sparsity is not None:
        pattern = pattern_of(jac_sparsity, "jac_sparsity", y0.size, dtype)
    elif rhs_jac is not None and not as_compiled(rhs_jac):
        value = rhs_jac(t0, y0.copy()) if callable(rhs_jac) else rhs_jac
        if hasattr(value, "tocsc"):
            pattern = pattern_of(value, "the Jacobian of fun", y0.size, dtype)
    elif rhs_jac is None and (lband is not None or uband is not None):
        near = np.subtract.outer(np.arange(y0.size), np.arange(y0.size)) # row - column
        pattern = pattern_of((near <= (lband or 0)) & (-near <= (uband or 0)), "lband, uband", y0.size, dtype)
    if dtype is complex:
        real_fun, rhs_jac = complex_as_real(fun, rhs_jac)
        fun = fun if vectorized else real_fun
        watched = [wrap_event(e, (lambda e: lambda t, y: e(t, y.view(complex)))(e)) for e in watched]
    if rhs_jac is not None and not callable(rhs_jac) and not as_compiled(rhs_jac):
        constant = rhs_jac.tocsc() if hasattr(rhs_jac, "tocsc") else real_array("the Jacobian of fun", rhs_jac, (n, n))
        rhs_jac = lambda t, y: constant
        rhs_jac.is_constant = True
    if n == 0 or t1 == t0:
        return at_rest(t0, t1, start.view(dtype), watched, t_eval, dense_output)
    system = Ode(fun, t0, start, dtype, constraints, jac, rhs_jac, unit_norms, rtol, atol, pattern, tuple(projection))
    if project_start and system.projector:
        x, w = system.scratch
        x[:], w[:] = start, 1 / np.maximum(system.rtol * np.abs(start) + system.atol, 1e-150)
        assemble = lib.CPProjectorProject if projection else lib.CPProjectorAssemble
        system.failures.check(-abs(assemble(system.projector, t0, *system.scratch_vectors)), system.message)
        start = x.copy()
    if system.projector and not projection:
        system.check_freedom(t0, start)
        system.check_tangent(t0, start, abs(t1 - t0) if np.isfinite(t1) else 1.0)
    integration = Integration(system, t0, t1, start, method, rtol, atol, watched, *steps, dense_output, t_eval)
    return integration.march(bar(progress, t0, t1))


def with_more(g: Any, args: tuple) -> Any:
    return (lambda *own: g(*own, *args)) if callable(g) and not as_compiled(g) else g


def leaves_of(tree: Any, value: Any, name: str) -> Any:
    return flatten_like(tree, value, name) if is_tree(value) else value


def functions_of_trees(tree: Any, fun: Any, constraints: Any, jac: Any, rhs_jac: Any, events: Any) -> tuple:
    """The functions of flat states that correspond to functions of trees; compiled ones and arrays are flat already."""
    def of_flat(f: Any, after: Callable) -> Any:
        if as_compiled(f) or not callable(f):
            return f
        return lambda t, y, *more: after(f(t, unflatten(tree, y), *more))

    def event_of_flat(e: Any) -> Any:
        shown = wrap_event(e, of_flat(e, lambda g: g))
        if callable(getattr(e, "change", None)):
            shown.change = of_flat(e.change, lambda y: None if y is None else flatten_like(tree, y, "the state that `change` returned"))
        return shown
    same = lambda value: value
    rate = lambda value: None if value is None else flatten_like(tree, value, "what fun returned")
    residual = lambda value: flatten(value, "what constraints returned") if is_tree(value) else value
    return (of_flat(fun, rate), of_flat(constraints, residual), of_flat(jac, same), of_flat(rhs_jac, same),
            [event_of_flat(e) for e in as_events(events)] or None)


def wrap_event(event: Any, function: Any) -> Any:
    """Gives the function the attributes of the event."""
    if function is not event:
        for name in ("terminal", "direction", "change"):
            if hasattr(event, name):
                setattr(function, name, getattr(event, name))
    return function


def at_rest(t0: float, t1: float, y0: np.ndarray, events: list, t_eval: Optional[np.ndarray], dense: bool) -> Solution:
    """The solution if nothing moves: no components, or no time."""
    from ._run import REACHED, Dense
    times = t_eval if t_eval is not None else np.array([t0, t1])
    sol = None
    if dense:
        sol = Dense(np.array([t0, t1]), np.zeros((0, 2, 0)), np.array([0.0, 1.0]), None, y0.dtype.type if y0.size else float)
        sol.start = y0.view(float)
    found = [np.array([]) for _ in events] if events else None
    solution = Solution(t=times, y=np.repeat(y0[:, None], len(times), axis=1), sol=sol, t_events=found,
                        y_events=None if found is None else list(found), nfev=0, njev=0, nlu=0, status=0, message=REACHED,
                        success=True, error=np.zeros(y0.size), stats={}, method="none")
    solution._violation = np.zeros(len(times))
    return solution

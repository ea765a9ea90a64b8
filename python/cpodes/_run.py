"""An integration: the loop around the C library's steps, events and dense output, and its records."""
from __future__ import annotations

import threading
from types import FunctionType
from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from ._contact import STEPPING, Phase
from ._core import Error, Owner, bind, counter, message_of, pointer, real_array, to_c
from ._native import ffi, lib
from ._trees import unflatten

REACHED = "The solver successfully reached the end of the integration interval."
TERMINATED = "A termination event occurred."
INTERRUPTED = "The run was interrupted; these are its results so far."

# scipy's names for methods, and cpodes' or ARKODE's
TABLES = {"RK45": "ARKODE_DORMAND_PRINCE_7_4_5", "RK23": "ARKODE_BOGACKI_SHAMPINE_4_2_3", "RADAU": "RADAU",
          "DOP853": "DOP853"}
MULTISTEP = ("BDF", "ADAMS")


class Table:
    """A Butcher table: explicit A [s, s], b [s], d [s] of the embedded method or None, c [s] (None: the row sums of A), and
    the orders of b and of d."""

    def __init__(self, A: Any, b: Any, d: Any = None, c: Any = None, order: int = 0, embedded: int = 0):
        self.A = real_array("A", A, (None, None))
        s = len(self.A)
        self.b = real_array("b", b, (s,))
        self.d = None if d is None else real_array("d", d, (s,))
        self.c = self.A.sum(axis=1) if c is None else real_array("c", c, (s,))
        if order < 1:
            raise ValueError(f"the order of a table is at least 1, and is given as {order}")
        self.order, self.embedded = order, embedded


class Solution:
    """The result of solve, with scipy's names for attributes and items.

    t [nt], y [n, nt], sol(t) (dense output, on the manifold), t_events, y_events, nfev, njev, nlu, status (0: the end was
    reached; 1: a terminal event; 2: interrupted; -1: the integration failed), message, success; and
    violation [nt]: the largest |c_i| at each t, in the units of c; error [n]: sums of the estimated local errors;
    stats: a dict of counters; method: the last one used.

    For a mechanism with releases of joints also named_events, a list of (t, "pin released").

    For a mechanism with contacts also contact_events, a list of ContactEvent, phases, a list of Phase, and contact_names,
    their order; violation then covers the constraints and the closed contacts."""

    def __init__(self, **items: Any):
        self.__dict__.update(items)
        self._tree: Any = None # y0, if it was a tree
        self._violation: Optional[np.ndarray] = None

    def __getitem__(self, name: str) -> Any:
        mechanism = self.__dict__.get("mechanism")
        if "." in name and hasattr(mechanism, "sensor"): # of bodies: sol["pin.force"]
            return mechanism.sensor(name, self.t, self.y)
        return getattr(self, name)

    def keys(self) -> List[str]:
        return [k for k in self.__dict__ if not k.startswith("_")]

    @property
    def violation(self) -> np.ndarray:
        if self._violation is None:
            y = np.ascontiguousarray(self.y.T) if len(self.t) else np.zeros((0, 0))
            self._violation = self._system.violations(self.t, y)
        return self._violation

    def tree(self, y: Any = None) -> Any:
        """y [n] or [n, k], or sol.y, in the structure of y0 if that was a tree of arrays; the leaves have the dimension k
        after their own."""
        y = self.y if y is None else np.asarray(y)
        return y if self._tree is None else unflatten(self._tree, y)

    def __repr__(self) -> str:
        lines = [f"{k:>9}: {getattr(self, k)!r}" for k in ("message", "status", "method", "nfev", "njev", "nlu")]
        lines += [f"        t: {len(self.t)} times, {self.t[0]:g} to {self.t[-1]:g}" if len(self.t) else "        t: none"]
        lines += [f"        y: array {np.shape(self.y)}"]
        return "\n".join(lines)

    def _show(self, what: str, *arguments: Any, **options: Any) -> Any:
        from . import _show
        return getattr(_show, what)(self, *arguments, **options)

    def plot(self, components: Optional[Sequence[int]] = None, axes: Any = None) -> Any:
        """Plots the components over t by matplotlib. Returns the axes."""
        return self._show("plot", components, axes)

    def animate(self, points: Optional[Callable] = None, **options: Any) -> Any:
        """Animates the mechanism by matplotlib. points(t, y) [k, 2 or 3]: what is drawn, unless the system is a model with
        a drawing of its own. Returns the FuncAnimation."""
        return self._show("animate", points, **options)

    def report(self, path: Any, title: str = "cpodes") -> None:
        """Writes an HTML page with the summary, the curves and the violation."""
        return self._show("report", path, title)

    def _repr_html_(self) -> str:
        return self._show("html")

    def __reduce__(self):
        raise TypeError("a Solution holds objects of the C library and can be neither copied nor pickled; keep t and y instead")


ROUNDOFF = 1e-12 # of sums of time steps, relative to the times: 5,000 units


class Dense:
    """sol.sol: the solution at any t [...] of the run, [n, ...]. Between steps it is interpolated and then projected onto the
    manifold. At the time of an event that changed the state, it is the state after the event. Times outside of the run are
    refused: the polynomial of a step says nothing there, and is no motion on the manifold. Only if t0 = t1, the state is given
    for all times, as by scipy."""

    def __init__(self, ts: np.ndarray, segments: np.ndarray, nodes: np.ndarray, project: Optional[Callable], dtype: type):
        self.ts, self.segments, self.nodes, self.project, self.dtype = ts, segments, nodes, project, dtype
        self.t_min, self.t_max = min(ts[0], ts[-1]), max(ts[0], ts[-1])
        gaps = nodes[:, None] - nodes[None, :] + np.eye(len(nodes))
        self.weights = 1 / gaps.prod(axis=1) # barycentric weights (Berrut, Trefethen, SIAM Review 46, 2004)
        self.lock = threading.Lock() # the projector must not be used by two threads at once

    def __call__(self, t: Any) -> np.ndarray:
        t = np.asarray(t, dtype=float)
        if not np.isfinite(t).all():
            raise ValueError("sol(t): t has an entry that is not finite")
        flat = t.ravel()
        if not len(self.segments) or not self.segments.shape[2]: # no time has passed, or there are no components
            y = np.repeat((self.segments[0, 0] if len(self.segments) else self.start)[None, :], len(flat), axis=0)
            return self._shaped(y, t)
        flat = self._within(flat)
        sign = -1 if self.ts[-1] < self.ts[0] else 1
        k = np.clip(np.searchsorted(sign * self.ts, sign * flat, side="right") - 1, 0, len(self.segments) - 1)
        begin, length = self.ts[k], self.ts[k + 1] - self.ts[k]
        while not length.all(): # a segment of length zero is an event that changed the state; take the one before
            k = np.where(length == 0, k - 1, k)
            begin, length = self.ts[k], self.ts[k + 1] - self.ts[k]
        x = ((flat - begin) / length)[:, None] - self.nodes
        hit = x == 0
        w = self.weights / np.where(hit, 1, x)
        w = np.where(hit.any(axis=1)[:, None], hit.astype(float), w)
        y = np.einsum("kj,kjn->kn", w / w.sum(axis=1)[:, None], self.segments[k])
        exact = hit.any(axis=1)
        y[exact] = self.segments[k[exact], hit[exact].argmax(axis=1)]
        y[flat == self.ts[-1]] = self.segments[-1, -1] # after an event there
        if self.project:
            with self.lock:
                for i in np.flatnonzero(~exact):
                    self.project(float(flat[i]), y[i])
        return self._shaped(y, t)

    def _within(self, t: np.ndarray) -> np.ndarray:
        """The times t, moved to an end of the run if only roundoff separates them from it."""
        inside = np.clip(t, self.t_min, self.t_max)
        far = np.abs(t - inside) > ROUNDOFF * max(abs(self.t_min), abs(self.t_max))
        if far.any():
            raise ValueError(f"sol(t): t = {t[far][0]:.15g} is outside of the run, which goes from {self.ts[0]:.15g} to "
                             f"{self.ts[-1]:.15g}; beyond its ends there is no solution to interpolate")
        return inside

    def _shaped(self, y: np.ndarray, t: np.ndarray) -> np.ndarray:
        y = y.view(self.dtype) if y.shape[1] else y
        return y.T.reshape((y.shape[1],) + t.shape)

    def __reduce__(self):
        raise TypeError("sol.sol holds a projector of the C library and can be neither copied nor pickled")


EVENT_ATTRIBUTES = "terminal", "direction", "change"


def as_events(events: Any) -> list:
    if events is None:
        return []
    events = [events] if callable(events) or not isinstance(events, (list, tuple)) else list(events)
    for i, event in enumerate(events):
        for name in vars(event) if isinstance(event, FunctionType) else (): # objects have attributes of their own
            meant = [known for known in EVENT_ATTRIBUTES if name not in EVENT_ATTRIBUTES and resembles(name, known)]
            if meant and not hasattr(event, meant[0]):
                raise TypeError(f"event {i} has the attribute {name!r}, which is unknown: did you mean {meant[0]!r}?")
        terminal = getattr(event, "terminal", None)
        if terminal is not None and not (isinstance(terminal, (int, float, np.number, np.bool_)) and terminal >= 0
                                         and float(terminal).is_integer()):
            raise ValueError(f"the attribute terminal of event {i} has to be True, False or the number of events after which "
                             f"the run ends, and is {terminal!r}")
        change, direction = getattr(event, "change", None), getattr(event, "direction", None)
        if change is not None and not callable(change):
            raise TypeError(f"the attribute change of event {i} has to be a function, and is {change!r}")
        if not isinstance(direction, (int, float, np.integer, np.floating, type(None))) or direction != direction:
            raise TypeError(f"the attribute direction of event {i} has to be a number, and is {direction!r}")
    return events


def resembles(name: str, known: str) -> bool:
    """Is name probably a misspelling of known?"""
    from difflib import SequenceMatcher
    return SequenceMatcher(None, name.lower(), known).ratio() > 0.8


class System(Owner):
    """What Integration requires of a system, with the answers of a system without its own events, kinks or choice of
    method. A system also has f and data, a CVRhsFn and its argument, or mech, a CPMech."""

    class Roots: # root functions of a model
        function, count, direction = ffi.NULL, 0, ()

    def model_roots(self) -> Any:
        return self.Roots

    def model_event(self, t: float, y: np.ndarray, found: Any) -> Optional[np.ndarray]:
        return None

    def stops(self) -> list:
        return []

    auto = "auto" # what CPSessionCreate gets for "auto"
    remedy = "project_start=True" # that makes a start consistent

    contact: Any = ffi.NULL # a CPContact that takes the steps of the runs

    def test_motion(self, run: "Integration") -> None:
        """Raises an exception if the problem proves to be none, after a block of steps."""

    def returns_failures(self) -> bool:
        """Does a failed integration return a solution with status -1, as in scipy?"""
        return False

    def violations(self, ts: np.ndarray, ys: np.ndarray) -> np.ndarray:
        return np.array([self.violation(t, y) for t, y in zip(ts, ys)])


class Integration:
    """One integration of a system, from its start to its Solution. The system is an Ode or a mechanism's instance: it
    attaches itself to integrators, projects states, and counts evaluations."""

    def __init__(self, system: Any, t0: float, t1: float, y0: np.ndarray, method: Any, rtol: Any, atol: Any, events: list,
                 first_step: float, min_step: float, max_step: float, dense: bool, t_eval: Optional[np.ndarray]):
        self.system, self.t0, self.t1, self.method = system, t0, t1, method
        self.rtol, self.atol = rtol, atol
        self.first_step, self.min_step, self.max_step = first_step, min_step, max_step
        self.n, self.sign = y0.size, -1.0 if t1 < t0 else 1.0
        self.own = Owner()
        self.own.failures = system.failures
        self.y = y0.copy()
        self.run = run = ffi.new("GlueRun *")
        run.y, run.work = self.own.vector(self.y), self.own.vector(np.zeros(self.n))
        run.t = run.told = t0
        run.seconds = 0.1
        self.error = np.zeros(self.n)
        run.error = pointer(self.error)
        self.dense, self.t_eval = dense, t_eval
        self.chunks: list = []
        self.restarts: list = [] # (index of the segment, the state at its start)
        if t_eval is not None:
            self.y_eval = np.zeros((len(t_eval), self.n))
            run.t_eval = pointer(t_eval)
            run.neval = len(t_eval)
            run.y_eval = pointer(self.y_eval)
        self.set_events(events)
        self.stats: dict = {}
        run.contact = system.contact
        run.owner = self.handle = ffi.new_handle(self)
        self.failures, self.current = system.failures, "" # the method
        self.changed = False # at the newest event: by an event of the user or of the model
        self.named_events: list = []
        self.contact_events: list = []
        self.phases = system.history if run.contact else []

    def set_events(self, events: list) -> None:
        model = self.system.model_roots()
        self.events, self.run.nevents = events, len(events)
        self.run.model_roots, self.run.nmodel_roots = model.function, model.count
        if model.count:
            self.run.model_data = self.system.mech # as the integrator's user data
        self.functions = ffi.new("GlueFn[]", max(1, len(events)))
        for i, event in enumerate(events):
            bind(self.functions[i], event, f"the event function {i}", (self.n,), ((1,),), self.own.failures, self.own.keep)
        self.run.events = self.functions
        self.count = model.count + len(events)
        direction = list(model.direction) + [int(np.sign(getattr(e, "direction", 0) or 0)) for e in events]
        self.direction = ffi.new("int[]", direction or [0])
        self.nodes = np.zeros(0)

    # ---- the session ----

    def check(self, flag: int) -> int:
        return self.system.failures.check(flag, self.message)

    def message(self) -> str:
        # A function of C is no advice here.
        return (message_of(self.run.session) or self.system.message()).replace("CPIntegratorCalcIC", self.system.remedy)

    @property
    def multistep(self) -> bool:
        return self.current in MULTISTEP

    def start(self) -> None:
        """Creates the session and starts it at (t0, y)."""
        run, own, check, method = self.run, self.own, self.check, self.method
        if not isinstance(method, (str, Table)):
            self.refuse()
        name = method.upper() if isinstance(method, str) else "DOP853"
        if self.chooses():
            name = self.system.auto if name == "AUTO" else self.system.lsoda
        elif not (name in MULTISTEP or name in TABLES or name.startswith(("ARKODE_", "RADAU"))): # On others the library prints a line.
            self.refuse()
        made = lib.CPSessionCreate(TABLES.get(name, name).encode(), own.ctx)
        self.place = len(own.frees) # what the session needs is freed after it
        run.session = own.own_handle("CPSession", made, lib.CPSessionFree)
        if isinstance(method, Table):
            B = lib.ARKodeButcherTable_Create(len(method.b), method.order, method.embedded, *map(
                pointer, (method.c, method.A, method.b, method.d)))
            mem = lib.CPIntegratorCreateTable(B, own.ctx)
            lib.ARKodeButcherTable_Free(B)
            if not mem:
                self.refuse()
            self.before_session(lambda p: lib.CPIntegratorFree(ffi.new("CPIntegrator *", p)), mem)
            check(lib.CPObjectSetErrHandlerFn(ffi.cast("CPObject", mem), to_c.glue_message, own.warnings))
            check(lib.CPSessionSetIntegrator(run.session, mem))
        if run.contact:
            check(lib.CPContactAttach(run.contact, run.session))
        elif self.system.mech:
            check(lib.CPSessionSetMech(run.session, self.system.mech))
        else:
            check(lib.CPSessionSetRhsFn(run.session, to_c.glue_rhs, self.system.ode))
        check(lib.glue_begin(run, self.direction))
        for sampler in getattr(self.system, "samplers", ()):
            check(lib.glue_sample(run.session, sampler, ffi.addressof(run, "last")))
        atol = self.vector_below(self.atol.copy()) if np.ndim(self.atol) else ffi.NULL
        check(lib.CPSessionSetTolerances(run.session, float(np.min(self.rtol)), float(np.min(self.atol)), atol))
        flag = lib.CPSessionStart(run.session, self.t0, run.y, self.t1)
        if flag == lib.CP_ILL_INPUT and not self.current and self.failures.exception is None and self.unknown():
            self.refuse()
        check(flag)

    def chooses(self) -> bool:
        return isinstance(self.method, str) and self.method.upper() in ("AUTO", "LSODA")

    def unknown(self) -> bool:
        """Has no integrator been created?"""
        return "cannot be used" in self.message()

    def refuse(self) -> None:
        raise ValueError(f"method {self.method!r} is none of auto, BDF, Adams, DOP853, RK45, RK23, RADAU, "
                         "an explicit Butcher table of ARKODE such as ARKODE_VERNER_8_5_6, or a cpodes.Table")

    def before_session(self, free: Callable, pointer: Any) -> None:
        """Keeps an object that must outlive the session."""
        self.own.frees.insert(self.place, (free, pointer))

    def vector_below(self, data: np.ndarray) -> Any:
        vector = self.own.vector(data)
        self.own.frees.insert(self.place, self.own.frees.pop())
        return vector

    def configure(self, mem: Any, name: str) -> int:
        """Sets the options of an integrator that the session has created."""
        try:
            check = lambda flag: self.system.failures.check(
                flag, lambda: message_of(mem) or self.system.message())
            self.current = name
            if not len(self.nodes): # DOP853's nodes suffice for BDF, to which a run may change
                # above the largest order; the degree of RADAU13, plus one
                nodes = 6 if name == "BDF" else 13 if name == "ADAMS" else 9
                self.nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(nodes) / (nodes - 1)) # Chebyshev nodes, including the ends
                self.run.nodes, self.run.nnodes = pointer(self.nodes), nodes
            self.system.configure(self, mem, check)
            if np.ndim(self.rtol):
                check(lib.CPIntegratorWFtolerances(mem, to_c.glue_weights))
            for option, value in ((lib.CPIntegratorSetInitStep, self.sign * self.first_step),
                                  (lib.CPIntegratorSetMinStep, self.min_step), (lib.CPIntegratorSetMaxStep, self.max_step)):
                if value:
                    check(option(mem, value))
        except BaseException as exception:
            self.failures.exception = exception
            return -1
        return 0

    # ---- records ----

    def room(self, steps: int) -> None:
        """Starts a new block for this number of steps."""
        chunk = Chunk(steps, self.n, None if self.t_eval is not None else self.n, len(self.nodes) if self.dense else 0)
        self.chunks.append(chunk)
        run = self.run
        run.steps, run.room = 0, steps
        run.ts, run.ys, run.segments = pointer(chunk.ts), pointer(chunk.ys), pointer(chunk.segments)

    def close_chunk(self) -> None:
        if self.chunks:
            self.chunks[-1].used = self.run.steps

    def recorded(self) -> int:
        return sum(c.used for c in self.chunks[:-1]) + self.run.steps

    def record(self, y: np.ndarray) -> None:
        """Records another state at the same time, after an event."""
        run, chunk = self.run, self.chunks[-1]
        if run.steps == run.room:
            self.close_chunk()
            self.room(64)
            chunk = self.chunks[-1]
        chunk.ts[run.steps] = run.t
        if chunk.ys is not None:
            chunk.ys[run.steps] = y
        if chunk.segments is not None:
            chunk.segments[run.steps] = y
        run.steps += 1
        self.restarts.append((self.recorded(), y.copy()))

    # ---- contacts ----

    def begin_phase(self, t: float) -> None:
        """Records what the contacts did at t, and the phases that begin there."""
        events, now = self.system.contact_events(), self.system.contact_phases()
        if counter(self.run.contact, "time_stepping"): # until it ends, the phases of single contacts are unknown
            now = (STEPPING,) * len(now)
        if self.phases: # a new start assumes that contacts were open before
            was = dict(zip(self.system.mechanism._contacts.names, self.phases[-1].contacts))
            events = [e._replace(before=was[e.contact]) for e in events
                      if e.kind in ("impact", "accumulation") or e.after != was[e.contact]]
        self.contact_events += events
        if self.phases and self.phases[-1].contacts == now:
            return
        if self.phases:
            self.phases[-1] = self.phases[-1]._replace(end=t)
        self.phases.append(Phase(t, self.t1, now))

    # ---- events ----

    def at_event(self, t: float, timed: int, found: Any, y: Any) -> int:
        """Handles the model's and the user's events at t, where y is the state in C. Returns a CPAction."""
        try:
            state = np.frombuffer(ffi.buffer(y, 8 * self.n))
            changed, ends = None, False
            models = self.count - len(self.events)
            if found and any(found[i] for i in range(models)):
                changed = self.system.model_event(t, state.copy(), found)
                ends = changed is None
            for i, event in enumerate(self.events if found else ()):
                if not found[models + i]:
                    continue
                self.t_events[i].append(t)
                self.y_events[i].append(state.view(self.system.dtype).copy())
                self.left[i] -= 1
                ends = ends or self.left[i] == 0
                change = getattr(event, "change", None)
                if change is not None and not ends:
                    after = change(t, (state if changed is None else changed).view(self.system.dtype).copy())
                    if after is None:
                        raise TypeError(f"the function `change` of event {i} has to return the new state, and returned None")
                    changed = self.system.as_state(f"the state that `change` of event {i} returned", after)
            if (ends or changed is not None) and self.run.told != t:
                self.check(lib.glue_record(self.run))
            if ends:
                return lib.CP_STOP
            self.changed = changed is not None
            if self.changed:
                state[:] = changed
            return lib.CP_RESTART if self.changed or timed else lib.CP_CONTINUE
        except BaseException as exception:
            self.failures.exception = exception
            return -1

    # ---- the loop ----

    def march(self, progress: Any = None) -> Solution:
        run, start_y = self.run, self.y.copy()
        self.t_events: List[list] = [[] for _ in self.events]
        self.y_events: List[list] = [[] for _ in self.events]
        self.left = [int(getattr(e, "terminal", 0) or 0) or -1 for e in self.events] # events left until the run ends
        status, message = 0, REACHED
        if self.t_eval is not None:
            while run.ieval < run.neval and self.t_eval[run.ieval] == self.t0:
                self.y_eval[run.ieval] = start_y
                run.ieval += 1
        try:
            stops = [s for s in self.system.stops() if self.sign * (s - self.t0) > 0 and self.sign * (self.t1 - s) > 0]
            self.stops = np.array(sorted(stops, key=lambda s: self.sign * s), dtype=float)
            run.stops, run.nstops, run.sign = pointer(self.stops), len(stops), self.sign
            self.start()
            self.room(64)
            if run.contact:
                self.begin_phase(self.t0)
                if not np.array_equal(self.y, start_y): # contacts that were closed have caused an impact
                    self.record(self.y)
            while True:
                if run.steps == run.room:
                    self.close_chunk()
                    self.room(min(4096, 2 * run.room))
                self.changed, events = False, counter(run.contact, "events") if run.contact else 0
                flag = self.check(lib.glue_march(run, self.t1))
                self.system.test_motion(self)
                if progress:
                    progress(run.t)
                if flag == lib.CV_TSTOP_RETURN:
                    break
                if flag == lib.GLUE_CALM:
                    self.begin_phase(run.t)
                elif flag in (lib.GLUE_EVENT, lib.CP_STOPPED):
                    new = run.contact and counter(run.contact, "events") != events
                    if new:
                        self.begin_phase(run.t)
                    if self.changed or run.jumped or (new and run.at_contacts):
                        self.record(self.y)
                if flag == lib.CP_STOPPED:
                    status, message = 1, TERMINATED
                    break
        except KeyboardInterrupt:
            self.system.failures.exception = None
            return self.solution(start_y, 2, INTERRUPTED)
        except Error as error:
            if self.chunks and self.system.returns_failures(): # not during the set-up
                return self.solution(start_y, -1, f"{error.name}: {error.message}")
            error.sol = self.solution(start_y, -1, error.message)
            raise
        else:
            return self.solution(start_y, status, message)
        finally:
            self.own.close() # before the system's projector is freed
            self.handle = self.run.owner = ffi.NULL # which refers to this object

    # ---- results ----

    def count_stats(self) -> None:
        """Sets stats to the session's counters."""
        if not self.run.session:
            return
        names = {"steps": "steps", "rejected_error": "err_test_fails", "rhs": "rhs_evals", "iterations": "nonlin_iters",
                 "jacobians": "jac_evals", "factorisations": "lin_setups", "rejected_projection": "projection_fails",
                 "projections": "projections", "constraint_evaluations": "constraint_evals",
                 "constraint_jacobians": "constraint_jac_evals", "constraint_factorisations": "projection_setups"}
        self.stats = {key: int(counter(self.run.session, name)) for key, name in names.items()}

    def solution(self, y0: np.ndarray, status: int, message: str) -> Solution:
        self.count_stats()
        self.close_chunk()
        chunks = [c for c in self.chunks if c.used]
        dtype = self.system.dtype
        ts = np.concatenate([[self.t0]] + [c.ts[:c.used] for c in chunks])
        sol = None
        if self.dense:
            segments = np.concatenate([c.segments[:c.used] for c in chunks] or [np.zeros((0, len(self.nodes), self.n))])
            if len(segments):
                segments[0, 0] = y0
                segments[1:, 0] = segments[:-1, -1]
            for k, y in self.restarts:
                if k < len(segments):
                    segments[k, 0] = y
            sol = Dense(ts, segments, self.nodes, self.system.projection(self.rtol, self.atol), dtype)
            sol.start = y0
        if self.t_eval is not None:
            t, y = self.t_eval[:self.run.ieval], self.y_eval[:self.run.ieval]
            if not len(t):
                t, y = np.array([]), np.array([])
        else:
            t, y = ts, np.concatenate([[y0]] + [c.ys[:c.used] for c in chunks])
        calls = self.system.calls()
        if "vectorized" in calls:
            self.stats["calls"] = calls["vectorized"]
        with_events = bool(self.events)
        solution = Solution(
            t=np.array(t), y=y.view(dtype).T.copy() if y.size else y, sol=sol,
            t_events=[np.asarray(e) for e in self.t_events] if with_events else None,
            y_events=[np.asarray(e) for e in self.y_events] if with_events else None,
            nfev=calls.get("f", self.stats.get("rhs", 0)), njev=calls.get("J", self.stats.get("jacobians", 0)),
            nlu=self.stats.get("factorisations", 0), status=status, message=message, success=status in (0, 1),
            error=np.abs(self.error.view(dtype)) if dtype is complex else self.error.copy(), stats=self.stats,
            method="Table" if isinstance(self.method, Table) else self.current if self.chooses() else self.method)
        if self.run.contact:
            if self.phases and self.run.t < self.phases[-1].end:
                self.phases[-1] = self.phases[-1]._replace(end=self.run.t)
            solution.contact_events, solution.phases = self.contact_events, self.phases
            solution.contact_names = self.system.mechanism._contacts.names
        if self.named_events:
            solution.named_events = self.named_events
        solution._system = self.system
        self.own.tell_warnings()
        self.system.tell_warnings()
        return solution


class Chunk:
    """A block of records: the ends of steps, their states, and the values of the interpolants within them."""

    __slots__ = ("ts", "ys", "segments", "used")

    def __init__(self, steps: int, n: int, ny: Optional[int], nodes: int):
        self.ts = np.zeros(steps)
        self.ys = None if ny is None else np.zeros((steps, n))
        self.segments = np.zeros((steps, nodes, n)) if nodes else None
        self.used = 0

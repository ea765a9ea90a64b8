"""An integration: the loop around the C library's steps, events and dense output, and its records."""
from __future__ import annotations

import math
import threading
from types import FunctionType
from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from ._contact import STEPPING, Phase
from ._core import Error, Owner, bind, pointer, real_array, to_c
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

    For a mechanism with contacts also contact_events, a list of ContactEvent, phases, a list of Phase, and contact_names,
    their order; violation then covers the constraints and the closed contacts."""

    def __init__(self, **items: Any):
        self.__dict__.update(items)
        self._tree: Any = None # y0, if it was a tree
        self._violation: Optional[np.ndarray] = None

    def __getitem__(self, name: str) -> Any:
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
    method."""

    class Roots: # root functions of a model
        function, count, direction = ffi.NULL, 0, ()

    def model_roots(self) -> Any:
        return self.Roots

    def model_event(self, t: float, y: np.ndarray, found: Any) -> Optional[np.ndarray]:
        return None

    def stops(self) -> list:
        return []

    def first_method(self, run: "Integration") -> str:
        return "DOP853"

    stiff_method = "BDF" # the method to which "auto" switches

    def next_method(self, run: "Integration", method: str) -> str:
        """The method with which "auto" goes on after a block of steps by `method`."""
        if method != self.stiff_method:
            run.stiff = run.stiff + 1 if run.looks_stiff() else 0
        return self.stiff_method if run.stiff == 2 else method

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
        self.stiff = 0 # number of successive blocks of steps that looked stiff
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
        if run.contact:
            self.newest = np.zeros(self.n)
            run.before = pointer(self.newest)
        self.contact_events: list = []
        self.phases = system.history if run.contact else []

    def set_events(self, events: list) -> None:
        model = self.system.model_roots()
        self.events, self.run.nevents = events, len(events)
        self.run.model_roots, self.run.nmodel_roots = model.function, model.count
        self.functions = ffi.new("GlueFn[]", max(1, len(events)))
        for i, event in enumerate(events):
            bind(self.functions[i], event, f"the event function {i}", (self.n,), ((1,),), self.own.failures, self.own.keep)
        self.run.events = self.functions
        self.count = model.count + len(events)
        direction = list(model.direction) + [int(np.sign(getattr(e, "direction", 0) or 0)) for e in events]
        self.direction = ffi.new("int[]", direction or [0])
        self.nodes = np.zeros(0)

    # ---- the integrator ----

    def check(self, flag: int) -> int:
        return self.system.failures.check(flag, self.message)

    def message(self) -> str:
        if self.run.contact:
            return self.system.message()
        return ffi.string(lib.CPIntegratorGetLastMessage(self.run.integrator)).decode() or self.system.message()

    @property
    def multistep(self) -> bool:
        return self.current in MULTISTEP

    def start(self, method: Any, t: float) -> None:
        """Creates an integrator with this method at (t, y)."""
        run, own, check = self.run, self.own, self.check
        run.integrator = ffi.NULL
        name = self.current = method.upper() if isinstance(method, str) else ""
        if isinstance(method, Table):
            B = lib.ARKodeButcherTable_Create(len(method.b), method.order, method.embedded, *map(
                pointer, (method.c, method.A, method.b, method.d)))
            made = lib.CPIntegratorCreateTable(B, own.ctx)
            lib.ARKodeButcherTable_Free(B)
        else:
            known = name in MULTISTEP or name in TABLES or name.startswith(("ARKODE_", "RADAU")) # On others the library prints a line.
            made = known and lib.CPIntegratorCreate(TABLES.get(name, name).encode(), own.ctx)
        if not made:
            raise ValueError(f"method {method!r} is none of auto, BDF, Adams, DOP853, RK45, RK23, RADAU, "
                             "an explicit Butcher table of ARKODE such as ARKODE_VERNER_8_5_6, or a cpodes.Table")
        mem = run.integrator = own.own_handle("CPIntegrator", made, lib.CPIntegratorFree)
        nodes = 6 if name == "BDF" else 13 if name == "ADAMS" else 9 # above the largest order; the degree of RADAU13, plus one
        x = 0.5 - 0.5 * np.cos(np.pi * np.arange(nodes) / (nodes - 1)) # Chebyshev nodes, including the ends
        if not len(self.nodes): # DOP853's nodes suffice for BDF, to which a run may change
            self.nodes = x
        run.nodes, run.nnodes = pointer(self.nodes), len(self.nodes)
        if run.contact and self.count:
            check(lib.CPContactRootInit(run.contact, self.count, to_c.glue_roots, self.direction))
        self.system.attach(self, t)
        first, least, most = self.sign * self.first_step, self.min_step, self.max_step
        # Where every step is projected, the library multiplies BDF's norms by three. This does the same in all other cases.
        divisor = 3.0 if name == "BDF" and not self.system.projects() else 1.0
        rtol, atol = self.rtol / divisor, self.atol / divisor
        if np.ndim(rtol) and divisor != 1:
            self.system.divide_tolerances(divisor)
        if run.contact:
            pass # the contact has set tolerances and roots
        elif np.ndim(rtol):
            check(lib.CPIntegratorWFtolerances(mem, to_c.glue_weights))
        elif np.ndim(atol):
            check(lib.CPIntegratorSVtolerances(mem, rtol, own.vector(atol.copy())))
        else:
            check(lib.CPIntegratorSStolerances(mem, rtol, atol))
        check(lib.CPIntegratorSetMaxNumSteps(mem, -1))
        for option, value in ((lib.CPIntegratorSetInitStep, first), (lib.CPIntegratorSetMinStep, least),
                              (lib.CPIntegratorSetMaxStep, most)):
            if value:
                check(option(mem, value))
        if self.multistep:
            check(lib.CVodeSetNoInactiveRootWarn(lib.CPIntegratorGetCVodeMem(mem)))
        if self.count and not run.contact:
            check(lib.CPIntegratorRootInit(mem, self.count, to_c.glue_roots))
            check(lib.CPIntegratorSetRootDirection(mem, self.direction))

    def stop_at(self, t: float) -> None:
        if not math.isinf(t):
            self.check(lib.CPIntegratorSetStopTime(self.run.integrator, t))

    def is_there(self, t: float) -> bool:
        """Is t the present time, up to roundoff, so that no step leads there?"""
        return abs(t - self.run.t) <= 4 * np.finfo(float).eps * abs(t)

    def restart(self, t: float, y: np.ndarray) -> None:
        """Continues from another state y at t."""
        self.y[:] = y
        if self.run.contact: # the contact finds the phases anew
            self.system.attach(self, t)
            self.begin_phase(t)
            y[:] = self.y # an impact may have changed it
            self.run.t = self.run.told = t
            return
        self.check(lib.CPIntegratorReInit(self.run.integrator, t, self.run.y))
        self.run.t = self.run.told = t

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
        if self.contact_stats().stretching: # until it ends, the phases of single contacts are unknown
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

    def contact_stats(self) -> Any:
        stats = ffi.new("CPContactStats *")
        self.check(lib.CPContactGetStats(self.run.contact, stats))
        return stats

    def pass_contacts(self) -> int:
        """Handles an event of contacts at the end of the newest step. Returns the flag of CPContactStep."""
        run = self.run
        self.check(lib.glue_record(run))
        before, count = dict(self.stats), self.contact_stats().nevents
        self.count_stats() # the counters restart where the contacts change
        flag = self.check(lib.glue_pass(run, self.t1))
        if self.contact_stats().nevents == count:
            self.stats = before
            return flag
        self.begin_phase(run.t)
        self.record(self.y)
        return flag

    # ---- the loop ----

    def march(self, progress: Any = None) -> Solution:
        run, start_y = self.run, self.y.copy()
        t_events: List[list] = [[] for _ in self.events]
        y_events: List[list] = [[] for _ in self.events]
        left = [int(getattr(e, "terminal", 0) or 0) or -1 for e in self.events] # events left until the run ends
        status, message = 0, REACHED
        auto = isinstance(self.method, str) and self.method.upper() in ("AUTO", "LSODA")
        method = self.method
        found = ffi.new("int[]", max(1, self.count))
        if self.t_eval is not None:
            while run.ieval < run.neval and self.t_eval[run.ieval] == self.t0:
                self.y_eval[run.ieval] = start_y
                run.ieval += 1
        try:
            if auto:
                method = "Adams" if self.method.upper() == "LSODA" else self.system.first_method(self)
            self.start(method, self.t0)
            self.stops = [s for s in self.system.stops() if self.sign * (s - self.t0) > 0 and self.sign * (self.t1 - s) > 0]
            self.stop_at(self.stops[0] if self.stops else self.t1)
            tend = self.t1
            self.room(64)
            if run.contact:
                self.begin_phase(self.t0)
                if not np.array_equal(self.y, start_y): # contacts that were closed have caused an impact
                    self.record(self.y)
            while True:
                if run.steps == run.room:
                    self.close_chunk()
                    self.room(64 if auto else min(4096, 2 * run.room))
                if math.isinf(self.t1): # tend only gives the direction and bounds the first step
                    tend = run.t + self.sign * 1e6 * max(1.0, abs(run.t))
                flag = lib.glue_march(run, tend)
                self.check(flag)
                self.system.test_motion(self)
                if progress:
                    progress(run.t)
                if flag == lib.CV_TSTOP_RETURN:
                    if not self.stops:
                        break
                    self.stops.pop(0) # a kink: another branch begins
                    self.restart(run.t, self.y)
                    self.stop_at(self.stops[0] if self.stops else self.t1)
                elif flag == lib.CV_ROOT_RETURN:
                    t = run.t
                    if run.contact:
                        self.check(lib.CPContactGetRootInfo(run.contact, found))
                        if not any(found): # the event is one of contacts
                            if self.pass_contacts() != lib.CV_ROOT_RETURN:
                                continue
                            self.check(lib.CPContactGetRootInfo(run.contact, found))
                    else:
                        self.check(lib.CPIntegratorGetRootInfo(run.integrator, found))
                    changed, ends = None, False
                    models = self.count - len(self.events)
                    if any(found[i] for i in range(models)):
                        changed = self.system.model_event(t, self.y.copy(), found)
                        ends = changed is None
                    for i, event in enumerate(self.events):
                        if not found[models + i]:
                            continue
                        t_events[i].append(t)
                        y_events[i].append(self.y.view(self.system.dtype).copy())
                        left[i] -= 1
                        ends = ends or left[i] == 0
                        change = getattr(event, "change", None)
                        if change is not None and not ends:
                            y = change(t, (self.y if changed is None else changed).view(self.system.dtype).copy())
                            if y is None:
                                raise TypeError(f"the function `change` of event {i} has to return the new state, and "
                                                "returned None")
                            changed = self.system.as_state(f"the state that `change` of event {i} returned", y)
                    if (ends or changed is not None) and run.told != t:
                        self.check(lib.glue_record(run))
                    if ends:
                        status, message = 1, TERMINATED
                        break
                    if changed is not None:
                        self.restart(t, changed)
                        if self.is_there(self.t1):
                            run.t = self.t1
                        self.record(changed)
                        if run.t == self.t1:
                            break
                        self.stops = [s for s in self.stops if not self.is_there(s)]
                        self.stop_at(self.stops[0] if self.stops else self.t1)
                elif flag == lib.GLUE_CALM:
                    self.begin_phase(run.t)
                    self.stop_at(self.t1)
                    if run.t >= self.t1:
                        break
                elif auto and run.steps == run.room:
                    now = method
                    method = self.system.next_method(self, now)
                    if method != now:
                        self.count_stats()
                        self.own.release(run.integrator)
                        self.start(method, run.t)
                        self.stop_at(self.stops[0] if self.stops else self.t1)
        except KeyboardInterrupt:
            self.system.failures.exception = None
            return self.solution(start_y, t_events, y_events, 2, INTERRUPTED, method)
        except Error as error:
            if self.chunks and self.system.returns_failures(): # not during the set-up
                return self.solution(start_y, t_events, y_events, -1, f"{error.name}: {error.message}", method)
            error.sol = self.solution(start_y, t_events, y_events, -1, error.message, method)
            raise
        else:
            return self.solution(start_y, t_events, y_events, status, message, method)
        finally:
            self.own.close() # before the system's projector is freed

    def newest_step(self) -> float:
        stats = ffi.new("CPIntegratorStats *")
        lib.CPIntegratorGetStats(self.run.integrator, stats)
        return abs(stats.hlast)

    def looks_stiff(self) -> bool:
        """Does stability limit the step size? Compares h |df/dy| with the bound of DOP853's stability (about 6), or of the
        convergence of Adams' fixed-point iteration; |df/dy| comes from a power iteration."""
        rhs, bound = self.system.rhs_function(), 0.5 if self.multistep else 5.0
        y, t = self.y.copy(), self.run.t
        scale = np.broadcast_to(self.rtol * np.abs(y) + self.atol, y.shape)
        scale = np.where(scale > 0, scale, 1e-14)
        f0 = rhs(t, y)
        v, size = f0 / scale, 0.0
        for _ in range(6):
            norm = math.sqrt(float(v @ v))
            if not norm > 0 or not math.isfinite(norm):
                return False
            v = (rhs(t, y + 0.01 * scale * v / norm) - f0) / (0.01 * scale)
            size = math.sqrt(float(v @ v))
        return self.newest_step() * size > bound

    # ---- results ----

    def count_stats(self) -> None:
        """Adds the integrator's counters to stats."""
        s, p = self.stats, ffi.new("CPIntegratorStats *")
        add = lambda name, value: s.__setitem__(name, s.get(name, 0) + int(value))
        if not self.run.integrator:
            return
        lib.CPIntegratorGetStats(self.run.integrator, p)
        for name, value in (("steps", p.nst), ("rejected_error", p.netf), ("rhs", p.nfe), ("iterations", p.nni),
                            ("jacobians", p.njev), ("factorisations", p.nlinsetups), ("rejected_projection", p.nprojfails)):
            add(name, value)
        add("projections", p.nproj)
        add("constraint_evaluations", p.nce)
        add("constraint_jacobians", p.nje)
        add("constraint_factorisations", p.nsetups)

    def solution(self, y0: np.ndarray, t_events: list, y_events: list, status: int, message: str, method: Any) -> Solution:
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
            t_events=[np.asarray(e) for e in t_events] if with_events else None,
            y_events=[np.asarray(e) for e in y_events] if with_events else None,
            nfev=calls.get("f", self.stats.get("rhs", 0)), njev=calls.get("J", self.stats.get("jacobians", 0)),
            nlu=self.stats.get("factorisations", 0), status=status, message=message, success=status in (0, 1),
            error=np.abs(self.error.view(dtype)) if dtype is complex else self.error.copy(), stats=self.stats,
            method=method if isinstance(method, str) else "Table")
        if self.run.contact:
            if self.phases and self.run.t < self.phases[-1].end:
                self.phases[-1] = self.phases[-1]._replace(end=self.run.t)
            solution.contact_events, solution.phases = self.contact_events, self.phases
            solution.contact_names = self.system.mechanism._contacts.names
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

"""Mechanical systems, M u' + A^T lambda = f, 0 = p(t, q), from functions and arrays; and the models of the catalogue."""
from __future__ import annotations

import threading
import weakref
from types import SimpleNamespace
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._contact import PHASES, Contact, Points, Rows, read_event
from ._core import Error, Owner, Sparse, as_compiled, bind, message_of, pointer, real_array, sized, to_c
from ._native import ffi, lib
from ._run import Integration, Solution, System, as_events
from ._solve import as_span, as_steps, as_times, as_tolerance, bar
from ._trees import flatten, is_tree, unflatten

MOTIONS = {"direct": lib.CP_MOTION_DIRECT, "rate": lib.CP_MOTION_RATE, "full": lib.CP_MOTION_FULL}
FRAMES = {"body": lib.CP_FRAME_BODY, "world": lib.CP_FRAME_WORLD}
METRICS = {"default": lib.CP_METRIC_DEFAULT, "error": lib.CP_METRIC_ERROR, "kinetic": lib.CP_METRIC_KINETIC,
           "newton": lib.CP_METRIC_NEWTON, "l2": lib.CP_METRIC_L2}


class Output(NamedTuple):
    """All quantities at one state. multipliers: of the rows of A, then of motions that are DIRECT or RATE. reactions: the
    forces -A^T lambda and those that drive FULL motions; power: of the reactions. position, velocity, acceleration and
    norms: the largest residuals of the constraints. rank: of A. unique: whether the multipliers are unique."""
    accelerations: np.ndarray
    multipliers: np.ndarray
    reactions: np.ndarray
    kinetic: float
    power: float
    position: float
    velocity: float
    acceleration: float
    norms: float
    rank: int
    unique: bool


class Terms(NamedTuple):
    """The terms of M u' + A^T lambda = f, A u' = b at one state: M [nu, nu], A [rows, nu], f [nu] (all forces that do not depend on
    multipliers, centrifugal ones among them), b [rows]. Rows that are off are 0."""
    M: np.ndarray
    A: np.ndarray
    f: np.ndarray
    b: np.ndarray


class Instance(System):
    """A CPMech of a mechanism, as the system of an Integration: one for the mechanism's queries, and one for each run. Its
    contacts are open, unless they act; then it belongs to a CPContact."""

    dtype, lsoda, remedy = float, "ADAMS", "the function start of the mechanism"

    def __init__(self, mechanism: "Mechanism", acts: bool = False):
        super().__init__()
        self.acts, self.contact, self.phases = acts, ffi.NULL, None
        self.history: list = [] # the phases of a run
        self.mechanism, self.nq, self.nu, self.nz = mechanism, mechanism.nq, mechanism.nu, mechanism.nz
        self.n = self.nq + self.nu + self.nz
        self.y = np.zeros(self.n)
        self.y_vector = self.vector(self.y)
        self.weights = np.zeros(self.n)
        self.w_vector = self.vector(self.weights)
        self.functions: list = []
        self.mech = ffi.NULL # until it is created
        self.mech = self.create()
        check = self.check
        if mechanism.metric != "default":
            check(lib.CPMechSetMetric(self.mech, METRICS[mechanism.metric]))
        if mechanism.mask is not None:
            self.set_active(mechanism.mask)
        if self.acts:
            made = lib.CPContactCreate(self.mech, mechanism._contacts.n, mechanism._contacts.points)
            self.contact = self.own_handle("CPContact", made, lib.CPContactFree)
        self.set_phases(("open",) * (mechanism._contacts.n if mechanism._contacts else 0))
        mechanism.instances.add(self)

    def create(self) -> Any:
        m = self.mechanism
        self.glue, model = ffi.new("GlueMech *"), sized("CPEquations")
        nq, nu, nz, na = self.nq, self.nu, self.nz, m.na
        hide = () if nz else (2,)
        model.nu, model.nq, model.nz, model.np, model.nv, model.na = nu, nq, nz, m.np, m.nv, na

        def add(name: str, what: str, inputs: tuple, outputs: tuple, hidden: tuple = ()) -> None:
            function = m.functions.get(name)
            if function is not None:
                bind(getattr(self.glue, name), function, what, inputs, outputs, self.failures, self.keep, hidden)
        template = m.templates
        add("M", "mass", (nq,), (m.M_form,))
        add("A", "constraints", (nq,), (m.A_form,))
        add("f", "forces", (nq, nu, nz), ((nu,),), hide)
        add("f_lambda", "forces_lambda", (nq, nu, nz, na), ((nu,),), hide)
        add("p", "position", (nq,), ((m.np,),))
        add("v", "velocity", (nq, nu), ((m.nv,),))
        add("b", "bias", (nq, nu), ((na,),))
        add("zdot", "auxiliary", (nq, nu, nz, na), ((nz,),), hide)
        add("dynamics_jac", "dynamics_jac", (nq, nu, nz, nu, na), (template.get("K", (nu, nu)), template.get(
            "C", template.get("K", (nu, nu))), (nu, nz)), hide)
        add("constraint_jac", "constraint_jac", (nq, nu, nu), (template.get("Bq", (na, nu)), template.get("Bu", (na, nu))))
        add("auxiliary_jac", "auxiliary_jac", (nq, nu, nz, na), ((nz, nu), (nz, nu), (nz, nz)), hide)
        add("lambda_jac", "lambda_jac", (nq, nu, nz, na), ((nu, na),), hide)
        model.M_tmpl = self.matrix(m.M_form)
        if na:
            model.A_tmpl = self.matrix(m.A_form)
        for name, form in template.items():
            setattr(model, f"{name}_tmpl", self.matrix(form))
        self.add_coordinates(model)
        lib.glue_model(self.glue, model)
        mech = self.own_handle("CPMech", lib.glue_mech(model, self.y_vector, self.ctx), lib.CPMechFree)
        lib.CPMechSetUserData(mech, self.glue)
        return mech

    def add_coordinates(self, model: Any) -> None:
        """The quaternions and motions of the mechanism."""
        m = self.mechanism
        quaternions = ffi.new("CPQuaternion[]", len(m.quaternions))
        motions = ffi.new("CPMotion[]", len(m.motions))
        self.keep += [quaternions, motions]
        for Q, (first_q, first_u, frame) in zip(quaternions, m.quaternions):
            Q.first_q, Q.first_u, Q.frame = first_q, first_u, FRAMES[frame]
        for c, (i, how, g, gd, gdd, step) in zip(motions, m.motions):
            motion = ffi.new("GlueMotion *")
            self.keep.append(motion)
            for name, function in (("g", g), ("gd", gd), ("gdd", gdd)):
                if function is not None:
                    bind(getattr(motion, name), function, f"the motion {name}", (), ((1,),), self.failures, self.keep)
            c.coordinate, c.kind, c.g, c.step, c.data = i, MOTIONS[how], to_c.glue_motion, step, motion
            c.gd, c.gdd = to_c.glue_motiond if gd else ffi.NULL, to_c.glue_motiondd if gdd else ffi.NULL
        model.quaternions, model.nquaternions = quaternions, len(m.quaternions)
        model.motions, model.nmotions = motions, len(m.motions)

    def set_phases(self, phases: Tuple[str, ...]) -> None:
        """Activates the rows of contacts according to these phases; a CPContact does so itself."""
        if self.mechanism._contacts and not self.acts and phases != self.phases:
            self.set_active(self.mechanism._contacts.mask(self.mechanism.na, phases))
            self.phases = phases

    def contact_phases(self) -> Tuple[str, ...]:
        phases = ffi.new("CPContactPhase[]", self.mechanism._contacts.n)
        self.check(lib.CPContactEvaluate(self.contact, 0, ffi.NULL, ffi.NULL, ffi.NULL, ffi.NULL, phases))
        return tuple(PHASES[phase] for phase in phases)

    def contact_events(self) -> list:
        """The events of the contacts that took part in the newest event."""
        return self.mechanism._events_of(self.contact)

    def check(self, flag: int) -> int:
        return self.failures.check(flag, self.message)

    def message(self) -> str:
        said = message_of(self.contact) if self.contact else ""
        return said or (message_of(self.mech) if self.mech else "")

    def set_active(self, mask: Optional[np.ndarray]) -> None:
        if mask is not None and mask.shape != (self.mechanism.na,):
            raise ValueError(f"mask has to have the shape ({self.mechanism.na},), and has {mask.shape}")
        self.check(lib.CPMechSetActive(self.mech, pointer(None if mask is None else mask.astype(np.intc))))

    # ---- what Integration requires of a system ----

    @property
    def newton(self) -> bool:
        return self.current != "ADAMS"

    def as_state(self, name: str, y: Any) -> np.ndarray:
        return real_array(name, y, (self.n,))

    def configure(self, run: Integration, mem: Any, check: Callable) -> None:
        self.current = run.current

    def follow(self, phases: list) -> Callable:
        """at(t, after): an instance without contacts, with the rows that are active in these phases before an event at t,
        or after it."""
        other, begins = self.mechanism._create(), np.array([p.begin for p in phases])

        def at(t: float, after: bool) -> Instance:
            k = int(np.searchsorted(begins, t, side="right" if after else "left")) - 1
            other.set_phases(phases[max(0, k)].contacts)
            return other
        return at

    def projection(self, rtol: Any, atol: Any) -> Callable:
        if self.contact:
            at = self.follow(self.history)
            other = at(0.0, True) # one object for all times; only its rows change
            inner = other.projection(rtol, atol)

            def project_in_phase(t: float, y: np.ndarray) -> None:
                at(t, True)
                inner(t, y)
            return project_in_phase
        projector = lib.CPMechGetProjector(self.mech)

        def project(t: float, y: np.ndarray) -> None:
            self.y[:] = y
            self.weights[:] = 1 / np.maximum(rtol * np.abs(y) + atol, 1e-150)
            self.check(-abs(lib.CPProjectorProject(projector, t, self.y_vector, self.w_vector)))
            y[:] = self.y
        return project

    def close_to(self, closure: float, tolerance: float) -> None:
        """Projections stop at eps times the tolerance; a quarter of the closure leaves room for gradients and states above
        1."""
        if not (isinstance(closure, (int, float)) and 0 < closure < np.inf):
            raise ValueError(f"closure has to be a positive number, and is {closure!r}")
        eps = min(lib.CP_EPS_DEFAULT, closure / (4 * tolerance)) if tolerance > 0 else 0.0
        self.check(lib.CPProjectorSetEps(lib.CPMechGetProjector(self.mech), eps))

    def step_through(self, time_stepping: Any) -> None:
        if not self.contact:
            raise ValueError("time_stepping is for mechanisms with contacts")
        try:
            events, duration = int(time_stepping[0]), float(time_stepping[1])
        except (TypeError, ValueError, IndexError):
            raise TypeError(f"time_stepping has to be (number of events, duration), and is {time_stepping!r}") from None
        self.check(lib.CPContactSetTimeStepping(self.contact, events, duration))

    def evaluate(self, t: float, y: np.ndarray) -> Output:
        self.y[:] = y
        udot, reaction = np.zeros(self.nu), np.zeros(self.nu)
        lam = np.zeros(lib.CPMechGetNumMultipliers(self.mech))
        out = sized("CPMechOutput")
        out.udot, out.reaction = pointer(udot), pointer(reaction)
        setattr(out, "lambda", pointer(lam))
        self.check(lib.CPMechEvaluate(self.mech, t, self.y_vector, out))
        return Output(udot, lam, reaction, out.kinetic, out.power, out.position, out.velocity, out.acceleration, out.norms,
                      out.rank, bool(out.unique))

    def terms(self, t: float, y: np.ndarray) -> Terms:
        self.y[:] = y
        n = lib.CPMechGetNumMultipliers(self.mech)
        M, A, f, b = np.zeros((self.nu, self.nu)), np.zeros((self.nu, n)), np.zeros(self.nu), np.zeros(n)
        out = sized("CPMechOutput", M=pointer(M), A=pointer(A), f=pointer(f), b=pointer(b))
        self.check(lib.CPMechEvaluate(self.mech, t, self.y_vector, out))
        return Terms(M.T, A.T, f, b)

    def violation(self, t: float, y: np.ndarray) -> float:
        out = self.evaluate(t, y)
        return max(out.position, out.velocity, out.norms)

    def violations(self, ts: np.ndarray, ys: np.ndarray) -> np.ndarray:
        if not self.contact:
            return super().violations(ts, ys)
        at = self.follow(self.history)
        second = np.append(False, ts[1:] == ts[:-1]) # the state after an event
        return np.array([at(t, after).violation(t, y) for t, y, after in zip(ts, ys, second)])

    def parameter_block(self) -> Tuple[Any, Any]:
        """The array of parameters that the functions read, and the indices into it for gradients (NULL: 0, 1, ...)."""
        return pointer(self.mechanism.parameters), ffi.NULL

    def views(self) -> Any:
        """The parameters in that array, as user functions get them."""
        return self.mechanism._views

    def calls(self) -> dict:
        return {}


class Mechanism:
    """A mechanical system

        q' = N(q) u,   M(t, q) u' + A(t, q)^T lambda = f(t, q, u, z),   0 = p(t, q),   z' = zdot(t, q, u, z, lambda)

    defined by functions of Python (or compiled ones: see Compiled), or constant arrays, dense or scipy.sparse:

    mass: M(t, q) [nu, nu]; an array [nu] is a diagonal. constraints: A(t, q) [na, nu], whose first rows are (dp/dq) N; if
    it is not given and mass is dense, it is formed from velocity, or by differences of position.
    forces: f(t, q, u) [nu]; with z, f(t, q, u, z). position: p(t, q) [np].
    velocity: v(t, q, u) [nv], nonholonomic rows last; by default A u. bias: b(t, q, u) [na] of A u' = b; by default by
    differences.
    auxiliary: zdot(t, q, u, z, lambda) [nz] (without z if nz is 0).
    forces_lambda: additional forces f(t, q, u[, z], lambda), which depend on the multipliers.
    dynamics_jac (t, q, u[, z], udot, lambda) -> K, C[, Fz]; constraint_jac (t, q, u, udot) -> Bq, Bu;
    auxiliary_jac (t, q, u, z, lambda) -> Zq, Zu, Zz; lambda_jac (t, q, u[, z], lambda) -> Fl: partial derivatives as the
    guide's chapter "Mechanical systems" defines them; by default by differences.
    templates: of sparse K, C, Bq, Bu, by these names. potential: the potential energy V(t, q), for energy().
    quaternions: (first_q, first_u, "body" or "world"). nq, nu, nz: sizes; by default from arrays and from the first state.
    rows: (np, nv, na), for compiled functions, which are not called to count rows.
    contacts: a list of Contact, without forces_lambda and constraint_jac; position then requires constraints. The rows of
    all quantities are those of position, gaps, other rows of velocity, tangential velocities, and the other rows of
    constraints. Queries treat contacts as open; in solve they act.
    params: a number, an array, or nested dicts, lists and tuples of them; all functions get it as their last argument.
    metric: of projections, "default", "error", "kinetic", "newton" or "l2"."""

    def __init__(self, mass: Any, forces: Any = None, constraints: Any = None, position: Any = None, velocity: Any = None,
                 bias: Any = None, *, auxiliary: Any = None, forces_lambda: Any = None, dynamics_jac: Any = None,
                 constraint_jac: Any = None, auxiliary_jac: Any = None, lambda_jac: Any = None, templates: Optional[dict] = None,
                 potential: Optional[Callable] = None, quaternions: Sequence = (), nq: int = 0, nu: int = 0, nz: int = 0,
                 rows: Optional[Tuple[int, int, int]] = None, params: Any = None, metric: str = "default", contacts: Any = ()):
        if metric not in METRICS:
            raise ValueError(f"metric has to be one of {', '.join(METRICS)}, and is {metric!r}")
        self._reset()
        self.metric, self.potential = metric, potential
        self.quaternions = [(q, u, frame[0] if frame else "body") for q, u, *frame in quaternions]
        for _, _, frame in self.quaternions:
            if frame not in FRAMES:
                raise ValueError(f"the frame of a quaternion is \"body\" or \"world\", and not {frame!r}")
        self.params, self.parameters = params, real_array("params", flatten(params))
        self._views = unflatten(params, self.parameters) if params is not None else None
        given = {"M": mass, "A": constraints, "f": forces, "f_lambda": forces_lambda, "p": position, "v": velocity, "b": bias,
                 "zdot": auxiliary, "dynamics_jac": dynamics_jac, "constraint_jac": constraint_jac,
                 "auxiliary_jac": auxiliary_jac, "lambda_jac": lambda_jac}
        names = dict(M="mass", A="constraints", f="forces", p="position", v="velocity", b="bias", zdot="auxiliary")
        if mass is None:
            raise TypeError("mass has to be a function or an array, and is None")
        if constraints is not None and position is None and velocity is None:
            raise ValueError("constraints (the matrix A) goes with position or velocity, and both are missing")
        self.functions = {k: self._function(k, names.get(k, k), g) for k, g in given.items() if g is not None}
        for k, g in (templates or {}).items():
            if k not in ("K", "C", "Bq", "Bu"):
                raise ValueError(f"templates are of K, C, Bq and Bu, and not of {k!r}")
            if not hasattr(g, "tocsc"):
                raise TypeError(f"the template of {k} has to be a scipy.sparse matrix, and is {type(g).__name__}")
        self.templates = {k: Sparse(g) for k, g in (templates or {}).items()}
        if isinstance(contacts, Contact) or len(contacts):
            self._joined = Rows(contacts, self.functions, lambda name, g: self._function("", name, g), rows)
        self.nz, self._rows, self._given = nz, rows, (nq, nu)
        if not callable(mass) and not as_compiled(mass):
            nu = nu or np.shape(mass)[0]
            self._given = nq, nu

    def _reset(self) -> None:
        self.nq = self.nu = self.np = self.nv = self.na = 0
        self.ready = False
        self.mask: Optional[np.ndarray] = None
        self.motions: List[tuple] = []
        self._contacts: Optional[Points] = None # its contacts
        self._joined: Optional[Rows] = None
        self.instances: Any = weakref.WeakSet()
        self._query: Optional[Instance] = None
        self._lock = threading.RLock()
        self._inside = False

    def _function(self, key: str, name: str, g: Any) -> Any:
        if as_compiled(g):
            return g
        if callable(g):
            if self.params is None:
                return g
            views = self._views
            return lambda *arguments: g(*arguments, views)
        if key == "M" and np.ndim(g) == 1 and not hasattr(g, "tocsc"):
            g = np.diag(real_array(name, g))
        constant = g.tocsc() if hasattr(g, "tocsc") else real_array(name, g)
        return lambda *arguments: constant

    def _sizes(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Determines sizes and templates from a first state; if that is refused, nothing changes."""
        if self.ready:
            return
        try:
            self._measure(t, q, u)
        finally:
            if not self.ready:
                self.nq, self.nu = self._given

    def _measure(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        nq, nu = self._given
        for name, value, given in (("q", len(q), nq), ("u", len(u), nu)):
            if given and value != given:
                raise ValueError(f"{name} has {value} entries in place of {given}")
        if len(q) != len(u) + len(self.quaternions):
            raise ValueError(f"there have to be as many coordinates as velocities, and one more for each quaternion: q has {len(q)} entries, "
                             f"u has {len(u)}, and there are {len(self.quaternions)} quaternions")
        self.nq, self.nu = len(q), len(u)

        def form(key: str, name: str, count: int) -> Any:
            """The result of the function, and its number of rows."""
            function = self.functions.get(key)
            if function is None:
                return (0, self.nu) if key in "MA" else (0,)
            if as_compiled(function):
                if key == "M":
                    return self.nu, self.nu
                if self._rows is None:
                    raise ValueError(f"{name} is compiled: give rows=(np, nv, na)")
                return {"p": (self._rows[0],), "v": (self._rows[1],), "A": (self._rows[2], self.nu)}[key]
            value = function(t, *(a.copy() for a in (q, u)[:count]))
            if value is None:
                raise TypeError(f"{name} has to return an array of real numbers, and returned None")
            if hasattr(value, "tocsc"):
                return Sparse(value)
            return real_array(f"what {name} returned at the first state", value).shape
        self.M_form = form("M", "mass", 1)
        if self._joined:
            self._joined.measure(t, q, u, isinstance(self.M_form, Sparse))
        self.A_form = form("A", "constraints", 1)
        position, velocity = form("p", "position", 1), form("v", "velocity", 2)
        shape = lambda f: f.shape if isinstance(f, Sparse) else f
        if shape(self.M_form) != (self.nu, self.nu):
            raise ValueError(f"mass has to have the shape ({self.nu}, {self.nu}), and has {shape(self.M_form)}")
        if len(shape(self.A_form)) != 2 or shape(self.A_form)[1] != self.nu:
            raise ValueError(f"constraints has to have the shape (na, {self.nu}), and has {shape(self.A_form)}")
        for name, one in (("position", position), ("velocity", velocity)):
            if len(one) != 1:
                raise ValueError(f"{name} has to have one dimension, and has the shape {one}")
        self.np = position[0]
        self.nv = max(velocity[0], self.np)
        if self._joined: # its tangential velocities are A u if there is no function of velocities
            self._contacts = self._joined.points()
            self.nv = self._joined.nv + self._contacts.n + sum(self._joined.ntangents)
        if "A" not in self.functions and self.nv: # formed by differences
            if isinstance(self.M_form, Sparse):
                raise ValueError("constraints (the matrix A) has to be given with a sparse mass")
            if self.nv > self.np and not velocity[0]:
                raise ValueError("constraints (the matrix A) or velocity has to be given")
            self.A_form = self.nv, self.nu
        self.na = shape(self.A_form)[0]
        if self.na < self.nv:
            raise ValueError(f"constraints has {self.na} rows, which is less than the {self.nv} of position and velocity")
        if self.na > self.nv and "b" not in self.functions:
            raise ValueError(f"bias has to be given, as constraints has {self.na} rows, and position and velocity have {self.nv}")
        sparse = isinstance(self.M_form, Sparse)
        if sparse != isinstance(self.A_form, Sparse) and self.na:
            raise ValueError("mass and constraints have to be both dense or both sparse")
        if sparse and ("dynamics_jac" in self.functions and "K" not in self.templates or
                       "constraint_jac" in self.functions and not {"Bq", "Bu"} <= set(self.templates)):
            raise ValueError("with a sparse mass, dynamics_jac needs the template K, and constraint_jac those of Bq and Bu")
        self.ready = True

    def _create(self, acts: bool = False) -> Instance:
        return Instance(self, acts)

    def _with_parameters(self) -> Instance:
        """An instance whose functions read the array of its parameter_block(). Its contacts act."""
        return self._create(bool(self._contacts))

    def _events_of(self, contact: Any) -> list:
        event, events = sized("CPContactEvent"), []
        for i in range(self._contacts.n):
            if lib.CPContactGetEvent(contact, i, event) == 0 and (event.struck or event.before != event.after):
                events.append(read_event(event))
        return events

    def _ask(self, work: Callable[[Instance], Any]) -> Any:
        """Runs work on the instance for queries, in one thread at a time, and never from within its own functions."""
        with self._lock:
            if self._inside:
                raise RuntimeError("a function of the mechanism asks the mechanism for what needs this function")
            self._inside = True
            try:
                if self._query is None:
                    self._query = self._create()
                return work(self._query)
            finally:
                self._inside = False
                if self._query is not None:
                    self._query.tell_warnings()

    def _state(self, y: Any, t: float = 0.0) -> np.ndarray:
        if not self.ready: # as many coordinates as velocities, except for quaternions
            y = real_array("the state y", y, (None,))
            nu = self._given[1] or (len(y) - self.nz - len(self.quaternions)) // 2
            self._sizes(t, y[:len(y) - nu - self.nz], y[len(y) - nu - self.nz:len(y) - self.nz])
        return real_array("the state y", y, (self.nq + self.nu + self.nz,))

    def _each(self, work: Callable, t: Any, y: Any) -> np.ndarray:
        """work(t, y) at one state, or at the states [n, k] of a solution, with the results in columns."""
        if np.ndim(y) == 2:
            return np.stack([np.asarray(work(float(s), self._state(x))) for s, x in zip(np.broadcast_to(t, np.shape(y)[1]), np.transpose(y))],
                            axis=-1)
        return np.asarray(work(float(t), self._state(y)))

    # ---- states ----

    def start(self, q: Any, u: Any = None, z: Any = None, t: float = 0.0, weights: Any = None, fixed: Sequence[int] = ()) -> np.ndarray:
        """The consistent state y = (q, u, z) nearest to a rough guess. weights [n]: moving component j by 1/weights[j]
        costs the same for all j. fixed: indices into y that are held. Raises Error CP_IC_FAIL if there is no such state."""
        q = real_array("q", q, (None,))
        quaternions = len(self.quaternions)
        u = np.zeros(self.nu or self._given[1] or len(q) - quaternions) if u is None else real_array("u", u, (None,))
        z = np.zeros(self.nz) if z is None else real_array("z", z, (self.nz,))
        self._sizes(t, q, u)
        guess = self._state(np.concatenate([q, u, z]))
        for i in fixed:
            if not isinstance(i, (int, np.integer)) or not 0 <= i < guess.size:
                raise ValueError(f"fixed has indices of components of y, from 0 to {guess.size - 1}, and has {i!r}")

        def work(x: Instance) -> np.ndarray:
            x.y[:] = guess
            w = ffi.NULL
            if weights is not None:
                x.weights[:] = real_array("weights", weights, (x.n,))
                w = x.w_vector
            held = np.ones(x.n)
            held[list(fixed)] = 0
            own = Owner()
            x.check(lib.CPMechCalcIC(x.mech, t, x.y_vector, w, own.vector(held) if len(fixed) else ffi.NULL, ffi.NULL, ffi.NULL))
            return x.y.copy()
        return self._ask(work)

    def _named(self) -> Tuple[Sequence[str], Sequence[str]]:
        """The names of the first coordinates and of the first velocities."""
        return (), ()

    @property
    def names(self) -> List[str]:
        """The names of the components of y; components without names of their own are q0, ..., u0, ..., z0, ..."""
        q, u = self._named()
        if not u and self.nq == self.nu:
            u = [f"{name}'" for name in q]
        named = (q, self.nq, "q"), (u, self.nu, "u"), ((), self.nz, "z")
        return [own[i] if i < len(own) else f"{letter}{i}" for own, count, letter in named for i in range(count)]

    def split(self, y: Any) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, u and z of a state, or of the states of a solution."""
        return y[:self.nq], y[self.nq:self.nq + self.nu], y[self.nq + self.nu:]

    # ---- quantities ----

    def evaluate(self, t: float, y: Any) -> Output:
        """All quantities at one state."""
        y = self._state(y, t) # determines the sizes of a new mechanism
        return self._ask(lambda x: x.evaluate(t, y))

    def terms(self, t: float, y: Any) -> Terms:
        """M, A, f and b of the equations of motion at one state, without computing accelerations."""
        y = self._state(y, t)
        return self._ask(lambda x: x.terms(t, y))

    def accelerations(self, t: Any, y: Any) -> np.ndarray:
        """u' [nu], or [nu, k] at the states y [n, k]. The next three functions have the same kinds of shapes."""
        return self._each(lambda t, y: self.evaluate(t, y).accelerations, t, y)

    def multipliers(self, t: Any, y: Any) -> np.ndarray:
        """lambda of the rows of A, then of prescribed motions."""
        return self._each(lambda t, y: self.evaluate(t, y).multipliers, t, y)

    def reactions(self, t: Any, y: Any) -> np.ndarray:
        """The forces -A^T lambda, and those that drive FULL motions."""
        return self._each(lambda t, y: self.evaluate(t, y).reactions, t, y)

    def kinetic_energy(self, t: Any, y: Any) -> Any:
        """1/2 u^T M u."""
        return self._each(lambda t, y: self.evaluate(t, y).kinetic, t, y)[()]

    def energy(self, t: Any, y: Any) -> Any:
        """Kinetic energy, plus the potential energy if `potential` was given."""
        V = self._function("V", "potential", self.potential) if self.potential else lambda t, q: 0.0
        return self._each(lambda t, y: self.evaluate(t, y).kinetic + V(t, y[:self.nq]), t, y)[()]

    def _matrix(self, t: float, y: Any, inverse: bool) -> np.ndarray:
        y = self._state(y)

        def work(x: Instance) -> np.ndarray:
            x.y[:] = y
            k = lib.CPMechGetNumMultipliers(x.mech)
            if not k:
                return np.zeros((0, 0))
            S = lib.glue_dense(k, k, x.ctx)
            try:
                x.check(lib.CPMechDelassus(x.mech, t, x.y_vector, ffi.NULL if inverse else S, S if inverse else ffi.NULL))
                return np.frombuffer(ffi.buffer(lib.glue_matrix_data(S), 8 * k * k)).reshape(k, k).T.copy()
            finally:
                lib.glue_matrix_free(S)
        return self._ask(work)

    def delassus(self, t: float, y: Any) -> np.ndarray:
        """S = A M^{-1} A^T."""
        return self._matrix(t, y, False)

    def effective_mass(self, t: float, y: Any) -> np.ndarray:
        """The (pseudo-)inverse of S."""
        return self._matrix(t, y, True)

    def _project(self, t: float, y: Any, x: Any, space: int) -> np.ndarray:
        y, x = self._state(y), real_array("x", x, (self.nu,))

        def work(s: Instance) -> np.ndarray:
            s.y[:] = y
            s.check(lib.CPMechProject(s.mech, space, t, s.y_vector, pointer(x)))
            return x
        return self._ask(work)

    def project_tangent(self, t: float, y: Any, x: Any) -> np.ndarray:
        """P x of a velocity x [nu], with P = I - M^{-1} A^T (A M^{-1} A^T)^+ A."""
        return self._project(t, y, x, lib.CP_TANGENT)

    def project_normal(self, t: float, y: Any, x: Any) -> np.ndarray:
        """(I - P) x of a velocity."""
        return self._project(t, y, x, lib.CP_NORMAL)

    def project_cotangent(self, t: float, y: Any, x: Any) -> np.ndarray:
        """P^T x of a force."""
        return self._project(t, y, x, lib.CP_COTANGENT)

    # ---- impacts, active rows, motions, checks ----

    def impact(self, t: float, y: Any, rows: Optional[Sequence[int]] = None, restitution: float = 0.0) -> Tuple[np.ndarray, np.ndarray]:
        """The state after an impact of these rows of the velocity constraints (None: all active rows), and the impulses."""
        y = self._state(y)
        named = None
        if rows is not None:
            named = np.zeros(max(1, self.nv), np.intc)
            for row in rows:
                if not isinstance(row, (int, np.integer)) or not 0 <= row < self.nv:
                    raise ValueError(f"rows are numbers of velocity constraints, from 0 to {self.nv - 1}, and have {row!r}")
                named[row] = 1

        def work(x: Instance) -> Tuple[np.ndarray, np.ndarray]:
            x.y[:] = y
            impulse = np.zeros(max(1, lib.CPMechGetNumMultipliers(x.mech)))
            x.check(lib.CPMechImpact(x.mech, t, x.y_vector, pointer(named), restitution, pointer(impulse)))
            return x.y.copy(), impulse[:lib.CPMechGetNumMultipliers(x.mech)]
        return self._ask(work)

    def set_active(self, mask: Any) -> None:
        """Activates rows of A (None: all), also for runs that are in progress: from an event's `change`."""
        if self._contacts or self._joined:
            raise ValueError("contacts switch rows themselves: set_active is for mechanisms without contacts")
        mask = None if mask is None else real_array("mask", mask, (self.na if self.ready else None,))
        if mask is not None and not np.isin(mask, (0, 1)).all():
            raise ValueError(f"mask has to have the entries 0 and 1 (or False and True), and has {mask[~np.isin(mask, (0, 1))][0]:g}")
        self.mask = mask
        for instance in list(self.instances):
            instance.set_active(self.mask)

    def prescribe(self, i: int, how: str, g: Callable, gd: Optional[Callable] = None, gdd: Optional[Callable] = None,
                  step: float = 0.0) -> None:
        """Prescribes the motion g(t) of coordinate i. how: "direct" or "rate" (a constraint with a multiplier), or "full".
        gd, gdd: the derivatives of g; by default by differences with this step."""
        if how not in MOTIONS:
            raise ValueError(f"how has to be one of {', '.join(MOTIONS)}, and is {how!r}")
        if not isinstance(i, (int, np.integer)):
            raise TypeError(f"i has to be the number of a coordinate, and is {i!r}")
        self.motions.append((i, how, g, gd, gdd, float(step)))
        self._query = None # recreated on the next query

    def check(self, t: float, y: Any) -> dict:
        """Compares the functions with each other and with differences at a state, and returns the largest relative errors.
        Raises Error if one is above 1e-4; the message names function and entry."""
        y = self._state(y)

        def work(x: Instance) -> dict:
            x.y[:] = y
            report = sized("CPMechReport")
            x.check(lib.CPMechCheck(x.mech, t, x.y_vector, report))
            return {name: getattr(report, name) for name, _ in ffi.typeof("CPMechReport").fields[1:]} # without its size
        return self._ask(work)

    # ---- runs ----

    def solve(self, t_span: Sequence[float], y0: Any = None, method: Any = "auto", t_eval: Any = None, dense_output: bool = False,
              events: Any = None, *, rtol: float = 1e-6, atol: Any = 1e-6, first_step: Optional[float] = None,
              min_step: float = 0.0, max_step: float = np.inf, progress: Any = False, closure: Optional[float] = None,
              time_stepping: Optional[Tuple[int, float]] = None) -> Solution:
        """The motion from the state y0 (see start), as solve. y0 may be a tree of arrays, such as (q, u) or {"q": q, "u":
        u}; events are functions of (t, y). method: "auto" is DOP853, BS54 or RADAU, as CPMechSuggestMethod says at the start
        and after every 50 steps. closure: projections satisfy the constraints to about this size, in the units
        of p and v if their gradients are of size 1; None: to a tenth of the tolerance. time_stepping: (n, duration):
        where more than n events of contacts lie within this duration, time stepping passes through them, with order one
        and a warning; None: as the model says, else never."""
        t0, t1 = as_span(t_span)
        tree = y0 if is_tree(y0) else None
        y0 = self._state(y0 if tree is None else flatten(tree, "y0"), t0)
        rtol, atol = as_tolerance("rtol", rtol, y0.size, 0), as_tolerance("atol", atol, y0.size, 0)
        if np.ndim(rtol):
            raise ValueError("rtol has to be a number for a mechanism; atol may be an array")
        if t0 == t1:
            raise ValueError("t_span is a single time; start(q, u) gives a consistent state")
        if self._contacts:
            if np.ndim(atol):
                raise ValueError("atol has to be a number for a mechanism with contacts")
            if t1 < t0:
                raise ValueError(f"contacts cannot be followed backwards: t_span is ({t0:g}, {t1:g})")
        instance = self._create(True) if self._contacts else self._create()
        if closure is not None:
            instance.close_to(closure, max(rtol, float(np.max(atol))))
        if time_stepping is not None:
            instance.step_through(time_stepping)
        run = Integration(instance, t0, t1, y0, method, rtol, atol, as_events(events),
                          *as_steps(t0, t1, first_step, min_step, max_step), dense_output, as_times(t_eval, t0, t1))
        solution = run.march(bar(progress, t0, t1))
        solution.mechanism, solution._tree = self, tree
        return solution

    def _set_params(self, params: Any) -> None:
        """Sets the mechanism's parameters; None: they stay."""
        if self.params is None:
            raise TypeError("this mechanism has no parameters: give params=... to Mechanism, whose functions get them as their last "
                            "argument")
        if params is not None:
            flat = real_array("params", flatten(params))
            if flat.shape != self.parameters.shape:
                raise ValueError(f"params has {flat.size} numbers, and those of the mechanism are {self.parameters.size}")
            self.parameters[:] = flat

    def gradient(self, objective: Any, params: Any = None, **options: Any) -> Tuple[Solution, Any]:
        from ._gradient import gradient
        return gradient(self, objective, params, **options)

    def __reduce__(self):
        raise TypeError("a Mechanism holds objects of the C library and can be neither copied nor pickled")


# -------------------------------------------------------------------------------------------- models


def text(chars: Any) -> str:
    return ffi.string(chars).decode() if chars else ""


class ModelInstance(Instance):
    """A CPMech of a model, with the model's own functions, events and kinks."""

    def __init__(self, mechanism: "Mechanism", acts: bool = False):
        super().__init__(mechanism, acts)
        if acts and self.model.dense_events:
            self.step_through((self.model.dense_events, self.model.dense_time))

    def create(self) -> Any:
        m = self.mechanism
        message = ffi.new("char[400]")
        values = pointer(m._all())
        self.model = lib.CPPluginCreate(m.type, values, self.ctx, message, 400)
        if not self.model:
            raise ValueError(text(message))
        self.frees.append((lambda p: lib.CPPluginFree(ffi.new("CPPlugin **", p)), self.model))
        return self.own_handle("CPMech", lib.CPPluginMech(self.model), lib.CPMechFree)

    def model_roots(self) -> Any:
        m = self.model
        return SimpleNamespace(function=m.type.roots, count=m.nroots, direction=[m.direction[i] for i in range(m.nroots)])

    def model_event(self, t: float, y: np.ndarray, found: Any) -> Optional[np.ndarray]:
        if not self.model.type.event:
            return y
        self.y[:] = y
        return None if self.model.type.event(self.model, self.mech, t, self.y_vector, found) else self.y.copy()

    def stops(self) -> list:
        return [self.model.stop[i] for i in range(self.model.nstops)]

    @property
    def auto(self) -> str:
        return text(self.model.type.method) or "auto"


class ParametricInstance(ModelInstance):
    """A CPMech of a model whose functions follow the model's parameters."""

    def create(self) -> Any:
        m, message = self.mechanism, ffi.new("char[400]")
        self.parametric = lib.glue_parametric(m.type, pointer(m._all()), 8 * len(m._selected) + 8, self.ctx, message, 400)
        if not self.parametric:
            raise ValueError(text(message) or "no memory for a model")
        self.frees.append((lib.glue_parametric_free, self.parametric))
        self.model = lib.glue_parametric_model(self.parametric)
        mech = self.own_handle("CPMech", lib.glue_parametric_mech(self.parametric), lib.CPMechFree)
        if self.model.mech.nmotions:
            raise ValueError(f"{m.name} has prescribed motions, whose functions have copies of its parameters: gradients cannot move them")
        return mech

    def message(self) -> str:
        return text(lib.glue_parametric_message(self.parametric)) or super().message()

    def parameter_block(self) -> Tuple[Any, Any]:
        which = ffi.new("int[]", self.mechanism._selected)
        self.keep.append(which)
        return lib.glue_parametric_values(self.parametric), which

    def views(self) -> Any:
        values = lib.glue_parametric_values(self.parametric)
        return {name: values[i] for name, i in zip(self.mechanism._names, self.mechanism._selected)}


class Model(Mechanism):
    """A mechanism of the catalogue or of a shared object, with its start y0, its time t_end, and its description: name,
    title, source, parameters (their values in `values`), quantities, reference."""

    def __init__(self, type_: Any, keep: Any, values: dict):
        self._reset()
        self.type, self._keep = type_, keep
        self.name, self.title, self.source, self.t_end = text(type_.name), text(type_.title), text(type_.source), type_.t_end
        known = [type_.parameters[i] for i in range(type_.nparameters)]
        names = [text(p.name) for p in known]
        for name in values:
            if name not in names:
                raise ValueError(f"{self.name} has no parameter {name!r}; it has {', '.join(names) or 'none'}")
        for name, value in values.items():
            if not isinstance(value, (int, float, np.integer, np.floating)):
                raise TypeError(f"{name} of {self.name} has to be a number, and is {value!r}")
        self.values = {name: float(values.get(name, p.value)) for name, p in zip(names, known)}
        self.parameters, self._names, self._selected, self._views = np.zeros(0), [], [], {}
        self.units = {name: text(p.unit) for name, p in zip(names, known)}
        self.params, self.metric, self.quaternions, self.potential = None, "default", [], None
        self._take_start()

    def _all(self) -> np.ndarray:
        """The values of all parameters; the selected ones have their present values."""
        values = np.array(list(self.values.values()), dtype=float)
        values[self._selected] = self.parameters
        return values

    def _take_start(self) -> None:
        """Determines sizes and start for the present parameters."""
        ctx_owner = Owner()
        message = ffi.new("char[400]")
        model = lib.CPPluginCreate(self.type, pointer(self._all()), ctx_owner.ctx, message, 400)
        if not model:
            raise ValueError(text(message))
        try:
            if not model.mech.nu:
                raise ValueError(f"{self.name} is given as an ODE with invariants, which Model does not take")
            self.nu = model.mech.nu
            self.nq = model.mech.nq or self.nu
            self.nz = model.mech.nz
            self.np = model.mech.np
            self.nv = max(self.np, model.mech.nv)
            self.na = max(self.nv, model.mech.na)
            self.y0 = np.frombuffer(ffi.buffer(lib.glue_data(model.y0), 8 * model.n)).copy()
            self._jumps = model.nroots > 0 or model.nstops > 0 or model.ncontacts > 0
            self._take_contacts(model)
        finally:
            lib.CPPluginFree(ffi.new("CPPlugin **", model))
        self._given, self.ready = (self.nq, self.nu), True

    def _take_contacts(self, model: Any) -> None:
        """Copies the contacts, which belong to the model."""
        n, self._contacts = model.ncontacts, None
        if not n:
            return
        points, keep = ffi.new("CPContactPoint[]", n), []
        for i in range(n):
            keep.append(ffi.new("char[]", ffi.string(model.contact[i].name)))
            points[i] = model.contact[i]
            points[i].name = keep[-1]
        self._contacts = Points(points, n, keep)

    def _create(self, acts: bool = False) -> Instance:
        return ModelInstance(self, acts)

    def solve(self, t_span: Any = None, y0: Any = None, *arguments: Any, **options: Any) -> Solution:
        """As Mechanism.solve; by default from the model's start to its t_end."""
        return super().solve((0.0, self.t_end) if t_span is None else t_span, self.y0 if y0 is None else y0, *arguments, **options)

    def _set_params(self, params: Any) -> None:
        known = list(self.values)
        if not isinstance(params, dict) or not params:
            raise TypeError(f"params has to be a dict of parameters of {self.name} by name, of {', '.join(known) or 'none'}")
        for name in params:
            if name not in known:
                raise ValueError(f"{self.name} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
            if lib.CPPluginIsWhole(self.type, known.index(name)):
                raise ValueError(f"{name} of {self.name} is a whole number, which has no derivative")
        if self._jumps:
            raise ValueError(f"{self.name} has events, kinks or contacts, at which sensitivities jump: gradients go through none")
        numbers = {name: float(params[name]) for name in params}
        kept = self.values, self._names, self._selected, self.parameters
        self.values = {**dict(zip(known, self._all())), **numbers}
        self._names = sorted(numbers)
        self._selected = [known.index(name) for name in self._names]
        self.parameters = np.array([numbers[name] for name in self._names])
        self.params = numbers
        self._views = {name: self.parameters[i:i + 1].reshape(()) for i, name in enumerate(self._names)}
        self._query = None
        try:
            self._take_start()
        except ValueError:
            self.values, self._names, self._selected, self.parameters = kept
            raise

    def _with_parameters(self) -> Instance:
        return ParametricInstance(self)

    def gradient(self, objective: Any, params: Any = None, *, t_span: Any = None, start: Any = None, **options: Any) -> Tuple[Solution, Any]:
        """As Mechanism.gradient, with respect to parameters by name, params={"l": 1.0}, whose values the model keeps.
        start: a state, or a function of the parameters that returns one; None: the model's start, which also depends on
        them."""
        if start is None:
            start = self._start_of
        return super().gradient(objective, params, t_span=(0.0, self.t_end) if t_span is None else t_span, start=start, **options)

    def _start_of(self, _: Any) -> np.ndarray:
        own = self.y0
        try:
            self._take_start()
            return self.y0
        except ValueError as error:
            raise ValueError(f"{error}; derivatives of the start are differences, which need room on both sides of a value") from None
        finally:
            self.y0 = own

    def _named(self) -> Tuple[Sequence[str], Sequence[str]]:
        q, u = ((self.type.coordinates, self.type.ncoordinates), (self.type.velocities, self.type.nvelocities))
        return [text(q[0][i].name) for i in range(q[1])], [text(u[0][i].name) for i in range(u[1])]

    def quantities(self, t: Any, y: Any) -> dict:
        """The quantities that the motion conserves, or that can only decrease, by name."""
        def work(i: int) -> Callable:
            def value(t: float, y: np.ndarray) -> float:
                def ask(x: Any) -> float:
                    x.y[:] = y
                    return x.model.type.quantities[i].value(x.model, i, t, x.y_vector)
                return self._ask(ask)
            return value
        return {text(self.type.quantities[i].name): self._each(work(i), t, y)[()] for i in range(self.type.nquantities)}

    def error(self, t: float, y: Any) -> float:
        """The largest error of the compared components against the model's reference at t; NaN if there is none."""
        y = self._state(y)

        def work(x: Any) -> float:
            model = x.model
            if not model.known or not model.type.reference or model.type.reference(model, t, x.y_vector):
                return np.nan
            n = model.ncompared or model.mech.nq or model.mech.nu or model.n // 2
            return np.max(np.abs(y[:n] - x.y[:n]))
        return self._ask(work)

    def points(self, t: float, y: Any) -> Tuple[np.ndarray, np.ndarray]:
        """The drawing at a state: points [k, 3], and the pairs of points that segments join."""
        y = self._state(y)

        def work(x: Any) -> Tuple[np.ndarray, np.ndarray]:
            drawing = x.model.drawing
            xyz = np.zeros((max(1, drawing.npoints), 3))
            x.y[:] = y
            if drawing.npoints:
                x.model.type.points(x.model, t, x.y_vector, pointer(xyz))
            pairs = np.array([[drawing.segment[i][0], drawing.segment[i][1]] for i in range(drawing.nsegments)], dtype=int)
            return xyz[:drawing.npoints], pairs.reshape(-1, 2)
        return self._ask(work)


def models() -> List[str]:
    """The names of the catalogue."""
    names, i = [], 0
    while lib.glue_catalogue(i):
        names.append(text(lib.glue_catalogue(i).name))
        i += 1
    return names


def model(name: str, **parameters: float) -> Model:
    """The mechanism of this name in the catalogue, with these values of its parameters: model("slider_crank", c=0)."""
    names = models()
    if name not in names:
        raise ValueError(f"there is no model {name!r}; there are {', '.join(names) or 'none: this package was built without them'}")
    return Model(lib.glue_catalogue(names.index(name)), None, parameters)

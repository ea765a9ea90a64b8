"""Contacts with friction: their definition, their rows within a mechanism, and their events."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._core import TrySmallerStep, as_compiled, expected, pointer, real_array
from ._native import ffi, lib

PHASES = {lib.CP_CONTACT_OPEN: "open", lib.CP_CONTACT_SLIDING: "sliding", lib.CP_CONTACT_STICKING: "sticking",
          lib.CP_CONTACT_CLOSED: "closed"}
STEPPING = "stepping" # stands in for these phases during an interval of time stepping
BEGINS = {"open": "opens", "sliding": "slides", "sticking": "sticks", "closed": "closes"}
LAWS = {"newton": lib.CP_RESTITUTION_NEWTON, "poisson": lib.CP_RESTITUTION_POISSON}
STEP = np.finfo(float).eps ** (1 / 3) # of central differences; equates roundoff and truncation


def number(what: str, value: Any, most: float = np.inf) -> float:
    """value as a float from 0 to most."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what} has to be a number, and is {type(value).__name__}")
    if not (0 <= value <= most and np.isfinite(value)):
        raise ValueError(f"{what} has to be {'at least 0' if most == np.inf else f'from 0 to {most:g}'}, and is {value}")
    return float(value)


class Contact:
    """A contact of a Mechanism: 0 <= gap perpendicular to N >= 0, Coulomb's friction, and restitution.

    gap: g_N(t, q), a number. normal: its row [nu], A_N(t, q) with g_N' = A_N u, as a function or a constant array.
    tangents: the rows of the tangential velocities v_T = A_T(t, q) u: [nu] in the plane; [2, nu] in space, orthogonal and
    of equal scale; None: no friction.

    bias: b(t, q, u) of its rows, A u' = b, normal first, [1 + number of tangents]; None: by differences of the rows.
    mu: friction of sliding and of impacts. mu_static: friction of sticking; mu if it is None or less than mu. restitution:
    e_N; tangential_restitution: e_T; both from 0 to 1. law: "newton", of velocities, or "poisson", of impulses.
    name: for messages and events; None: contact0, contact1, ... Functions get params as their last argument if the
    Mechanism has params. Compiled ones are f(t, q[, u], out, data); tangents is then (function, number of rows), by
    columns."""

    def __init__(self, gap: Callable, normal: Any, tangents: Any = None, *, mu: float = 0.0, mu_static: Optional[float] = None,
                 restitution: float = 0.0, tangential_restitution: float = 0.0, law: str = "newton", bias: Optional[Callable] = None,
                 name: Optional[str] = None):
        what = "a contact's" if name is None else f"{name}'s"
        for part, g in (("gap", gap), ("bias", bias)):
            if not callable(g) and as_compiled(g) is None and not (part == "bias" and g is None):
                raise TypeError(f"{what} {part} has to be a function, and is {type(g).__name__}")
        if normal is None:
            raise TypeError(f"{what} normal has to be a function or an array [nu], and is None")
        if law not in LAWS:
            raise ValueError(f"{what} law has to be one of {', '.join(LAWS)}, and is {law!r}")
        self.gap, self.normal, self.tangents, self.bias, self.law, self.name = gap, normal, tangents, bias, law, name
        self.mu = number(f"{what} mu", mu)
        self.mu_static = self.mu if mu_static is None else number(f"{what} mu_static", mu_static)
        self.restitution = number(f"{what} restitution", restitution, 1)
        self.tangential_restitution = number(f"{what} tangential_restitution", tangential_restitution, 1)
        if law == "poisson" and self.tangential_restitution:
            raise ValueError(f"{what} tangential_restitution has to be 0 with Poisson's law, and is {tangential_restitution}")
        if tangents is None and max(self.mu, self.mu_static):
            raise ValueError(f"{what} mu is {max(self.mu, self.mu_static):g}, and friction needs tangents")


class ContactEvent(NamedTuple):
    """What a contact does at an event. kind: "impact"; "accumulation", an impact after which the contact closes at once,
    instead of infinitely many bounces that would end at t_closed; or the phase that begins: "opens", "slides", "sticks".
    velocity [2, 3]: (v_N, v_T) before and after the event; impulse [3]: (P_N, P_T)."""
    t: float
    kind: str
    contact: str
    before: str
    after: str
    velocity: np.ndarray
    impulse: np.ndarray
    t_closed: float


class Phase(NamedTuple):
    """The phases of the contacts, in their order, from begin to end: "open", "sliding", "sticking" or, without friction,
    "closed"; all are "stepping" while time stepping passes through their events."""
    begin: float
    end: float
    contacts: Tuple[str, ...]


def read_event(event: Any) -> ContactEvent:
    before, after = PHASES[event.before], PHASES[event.after]
    kind = "accumulation" if event.accumulated else "impact" if event.struck else BEGINS[after]
    return ContactEvent(event.t, kind, ffi.string(event.name).decode(), before, after,
                        np.array([list(v) for v in event.velocity]), np.array(list(event.impulse)), event.t_closed)


class Points:
    """The contacts in C, CPContactPoint [n], and the rows of each."""

    def __init__(self, points: Any, n: int, keep: Any = None):
        self.points, self.n, self.keep = points, n, keep
        self.names = [ffi.string(points[i].name).decode() for i in range(n)]
        # A contact that is always closed has no such row.
        self.normals = [[points[i].normal] if points[i].normal >= 0 else [] for i in range(n)]
        self.tangents = [list(range(points[i].tangent, points[i].tangent + points[i].ntangents))
                         if max(points[i].law.mu, points[i].law.mu_static) > 0 else [] for i in range(n)]
        self.all = sorted({row for i in range(n) for row in
                           [*self.normals[i], *range(points[i].tangent, points[i].tangent + points[i].ntangents)]})

    def mask(self, na: int, phases: Sequence[str]) -> np.ndarray:
        """The rows that are active in these phases."""
        mask = np.ones(na)
        mask[self.all] = 0
        for phase, normal, tangents in zip(phases, self.normals, self.tangents):
            mask[normal] = phase in ("sliding", "sticking", "closed")
            mask[tangents] = phase == "sticking"
        return mask


def in_python(f: Any, name: str, shape: tuple) -> Any:
    """Turns f, if it is compiled, into a function of Python that returns an array of this shape, by columns."""
    compiled = as_compiled(f)
    if compiled is None:
        return f
    types = {n: f"int (*)(double, {'double *, ' * (n + 1)}void *)" for n in (1, 2)}
    call = {n: ffi.cast(types[n], compiled.address) for n in types}
    data = ffi.cast("void *", compiled.data)

    def run(t: float, *x: np.ndarray) -> np.ndarray:
        out, inputs = np.zeros(shape, order="F"), [np.ascontiguousarray(a, dtype=float) for a in x]
        flag = call[len(x)](t, *map(pointer, inputs), pointer(out), data)
        if flag > 0:
            raise TrySmallerStep
        if flag < 0:
            raise RuntimeError(f"{name}, a compiled function, returned {flag} at t = {t:g}")
        return out
    run.compiled = compiled # keeps it alive
    return run


class Rows:
    """The combined rows of a Mechanism's functions and of its contacts: gaps follow the rows of position, tangential
    velocities those of velocity."""

    def __init__(self, contacts: Any, functions: dict, wrap: Callable, rows: Optional[Tuple[int, int, int]]):
        self.contacts = [contacts] if isinstance(contacts, Contact) else list(contacts)
        for c in self.contacts:
            if not isinstance(c, Contact):
                raise TypeError(f"contacts has to be a list of cpodes.Contact, and has {type(c).__name__}")
        self.names = [c.name or f"contact{i}" for i, c in enumerate(self.contacts)]
        for i, name in enumerate(self.names):
            if name in self.names[:i]:
                raise ValueError(f"two contacts have the name {name!r}")
        for key, name in (("f_lambda", "forces_lambda"), ("constraint_jac", "constraint_jac")):
            if key in functions:
                raise ValueError(f"{name} cannot be given with contacts, which make it themselves")
        self.own = {key: functions.get(key) for key in "pAvb"}
        self.given = rows
        if self.own["A"] is None and (self.own["p"] or self.own["v"]):
            raise ValueError("constraints (the matrix A) has to be given with contacts")
        self.gaps = [wrap("gap", c.gap) for c in self.contacts]
        counted = [isinstance(c.tangents, tuple) and len(c.tangents) == 2 and as_compiled(c.tangents[0]) is not None for c in self.contacts]
        self.counts = [int(c.tangents[1]) if named else 0 for c, named in zip(self.contacts, counted)]
        tangents = [c.tangents[0] if named else c.tangents for c, named in zip(self.contacts, counted)]
        for name, g, count in zip(self.names, tangents, self.counts):
            if as_compiled(g) is not None and count not in (1, 2):
                raise TypeError(f"tangents of {name} that are compiled have to be given as (function, number of rows), 1 or 2")
        self.rows = [(wrap("normal", c.normal), None if g is None else wrap("tangents", g)) for c, g in zip(self.contacts, tangents)]
        self.biases = [None if c.bias is None else wrap("bias", c.bias) for c in self.contacts]
        functions.update(p=self.position, A=self.matrix, b=self.bias)
        if self.own["v"]:
            functions["v"] = self.velocity

    def measure(self, t: float, q: np.ndarray, u: np.ndarray, sparse: bool) -> None:
        """Determines the sizes from a first state."""
        own, self.nu = self.own, len(u)
        self.sparse = sparse
        sizes = dict(zip("pvA", self.given)) if self.given else {}
        for key, name in (("p", "position"), ("A", "constraints"), ("v", "velocity"), ("b", "bias")):
            if as_compiled(own[key]) is not None:
                if not sizes:
                    raise ValueError(f"{name} is compiled: give rows=(np, nv, na) of the mechanism without its contacts")
                count = sizes["A" if key == "b" else key]
                own[key] = in_python(own[key], name, (count, self.nu) if key == "A" else (count,))
        self.gaps = [in_python(g, f"gap of {name}", (1,)) for name, g in zip(self.names, self.gaps)]
        self.rows = [(in_python(normal, f"normal of {name}", (self.nu,)), in_python(tangent, f"tangents of {name}", (count, self.nu)))
                     for name, (normal, tangent), count in zip(self.names, self.rows, self.counts)]
        self.np = len(real_array("what position returned at the first state", own["p"](t, q.copy()), (None,))) if own["p"] else 0
        nv = len(real_array("what velocity returned at the first state", own["v"](t, q.copy(), u.copy()), (None,))) if own["v"] else 0
        self.nv = max(self.np, nv)
        if len(q) != self.nu and (own["A"] and own["b"] is None or None in self.biases):
            raise ValueError("with quaternions, bias has to be given, of the mechanism's constraints and of each contact")
        self.ntangents = []
        for name, (_, tangents) in zip(self.names, self.rows):
            rows = None if tangents is None else tangents(t, q.copy())
            shape = () if rows is None else rows.shape if hasattr(rows, "tocsr") else np.shape(rows)
            if shape not in ((), (self.nu,), (1, self.nu), (2, self.nu)) or (tangents is not None and not shape):
                raise ValueError(f"tangents of {name} has to have the shape ({self.nu},) or (2, {self.nu}), and has {shape}")
            self.ntangents.append(0 if tangents is None else 1 if len(shape) == 1 else shape[0])
        self.biases = [in_python(g, f"bias of {name}", (1 + count,)) for name, g, count in zip(self.names, self.biases, self.ntangents)]

    def points(self) -> Points:
        n = len(self.contacts)
        points, keep, tangent = ffi.new("CPContactPoint[]", n), [], self.nv + n
        for i, (c, name) in enumerate(zip(self.contacts, self.names)):
            keep.append(ffi.new("char[]", name.encode()))
            p = points[i]
            p.size = ffi.sizeof("CPContactPoint")
            p.name, p.normal, p.tangent, p.ntangents = keep[-1], self.np + i, tangent, self.ntangents[i]
            p.law = {"mu": c.mu, "mu_static": c.mu_static, "restitution": c.restitution, "tangential": c.tangential_restitution,
                     "kind": LAWS[c.law]}
            tangent += self.ntangents[i]
        return Points(points, n, keep)

    def joined(self, own: Any, normals: list, tangents: list) -> Any:
        blocks = [own[:self.np], *normals, own[self.np:self.nv], *tangents, own[self.nv:]]
        if not hasattr(own, "tocsr"):
            return np.concatenate(blocks)
        from scipy import sparse
        return sparse.vstack([b for b in blocks if b.shape[0]], "csc")

    def position(self, t: float, q: np.ndarray) -> np.ndarray:
        own = self.own["p"](t, q) if self.own["p"] else ()
        return np.concatenate([np.asarray(own, dtype=float), *(expected(f"gap of {name}", gap(t, q), np.empty(1))
                                                               for name, gap in zip(self.names, self.gaps))])

    def rows_of(self, what: str, rows: Any, count: int) -> Any:
        """Rows of A, [count, nu]: sparse if the mass is; rows that are given as an array then count all entries."""
        if not self.sparse:
            return expected(what, rows[None] if np.ndim(rows) == 1 else rows, np.empty((count, self.nu)))
        from scipy import sparse
        if hasattr(rows, "tocsr"):
            if rows.shape != (count, self.nu):
                raise ValueError(f"{what} has to have the shape ({count}, {self.nu}), and has {rows.shape}")
            return rows.tocsr()
        rows = expected(what, np.atleast_2d(rows), np.empty((count, self.nu)))
        every = np.tile(np.arange(self.nu), count)
        return sparse.csr_matrix((rows.ravel(), every, self.nu * np.arange(count + 1)), shape=rows.shape)

    def parts(self, t: float, q: np.ndarray) -> Tuple[Any, list, list]:
        if self.sparse:
            from scipy import sparse
            own = self.own["A"](t, q).tocsr() if self.own["A"] else sparse.csr_matrix((0, self.nu))
        else:
            own = np.asarray(self.own["A"](t, q)) if self.own["A"] else np.zeros((0, self.nu))
        if own.ndim != 2 or own.shape[1] != self.nu or own.shape[0] < self.nv:
            raise ValueError(f"constraints has to return an array of shape (na, {self.nu}), na >= {self.nv}, and returned one of shape "
                             f"{own.shape}")
        normals, tangents = [], []
        for name, (normal, tangent), count in zip(self.names, self.rows, self.ntangents):
            row = normal(t, q)
            if not hasattr(row, "tocsr"):
                row = expected(f"normal of {name}", row, np.empty(self.nu))
            normals.append(self.rows_of(f"normal of {name}", row, 1))
            if count:
                rows = tangent(t, q)
                tangents.append(self.rows_of(f"tangents of {name}", rows if hasattr(rows, "tocsr") else np.asarray(rows), count))
        return own, normals, tangents

    def matrix(self, t: float, q: np.ndarray) -> np.ndarray:
        return self.joined(*self.parts(t, q))

    def velocity(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        _, normals, tangents = self.parts(t, q)
        own = np.asarray(self.own["v"](t, q, u), dtype=float)
        return self.joined(own, [a @ u for a in normals], [a @ u for a in tangents])

    def bias(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """b = -A' u; by differences along the motion if there is no function."""
        own, normals, tangents = None, [None] * len(self.gaps), [None] * len(self.gaps)
        if (self.own["A"] and self.own["b"] is None) or None in self.biases:
            h = STEP * max(1.0, np.abs(q).max()) / max(1.0, np.abs(u).max())
            ahead, behind = self.parts(t + h, q + h * u), self.parts(t - h, q - h * u)
            rate = lambda a, b: -((a - b) @ u) / (2 * h)
            own = rate(ahead[0], behind[0])
            normals = [rate(a, b) for a, b in zip(ahead[1], behind[1])]
            tangents = iter([rate(a, b) for a, b in zip(ahead[2], behind[2])])
            tangents = [next(tangents) if count else np.zeros(0) for count in self.ntangents]
        if self.own["b"] is not None:
            own = np.asarray(self.own["b"](t, q, u), dtype=float)
        elif own is None:
            own = np.zeros(0)
        for i, bias in enumerate(self.biases):
            if bias is not None:
                b = expected(f"bias of {self.names[i]}", bias(t, q, u), np.empty(1 + self.ntangents[i]))
                normals[i], tangents[i] = b[:1], b[1:]
        return self.joined(own, normals, tangents)

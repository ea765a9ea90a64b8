"""Mechanisms of rigid bodies, built by name or read from files: the interface of libcpodes_bodies."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, MutableMapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._contact import LAWS, Points
from ._core import Error, Owner, as_compiled, bind, message_of, pointer, real_array, sized, to_c
from ._function import Function
from ._gradient import Objective
from ._mechanism import Instance, Mechanism, text
from ._native import ffi, lib
from ._run import Solution

FRAMES = {"space": lib.CP_IN_SPACE, "bodies": lib.CP_IN_BODIES}
SHAPES = {"box": lib.CP_SHAPE_BOX, "cylinder": lib.CP_SHAPE_CYLINDER, "sphere": lib.CP_SHAPE_SPHERE, "wheel": lib.CP_SHAPE_WHEEL,
          "capsule": lib.CP_SHAPE_CAPSULE, "ellipsoid": lib.CP_SHAPE_ELLIPSOID, "plane": lib.CP_SHAPE_PLANE, "mesh": lib.CP_SHAPE_MESH}
TOUCHES = {"ball": lib.CP_TOUCH_BALL, "disc": lib.CP_TOUCH_DISC, "cylinder": lib.CP_TOUCH_CYLINDER, "box": lib.CP_TOUCH_BOX}
DYNAMICS = {"none": lib.CP_ACTIVATION_NONE, "integrator": lib.CP_ACTIVATION_INTEGRATOR, "filter": lib.CP_ACTIVATION_FILTER,
            "muscle": lib.CP_ACTIVATION_MUSCLE}
FILES = (".yaml", ".yml", ".xml", ".mjcf", ".urdf", ".sdf", ".world", ".osim", ".asmt")


class Powers(NamedTuple):
    """Energies [J] and powers [W] at one state, or arrays of them at several states. The rate of kinetic + potential is
    -dissipation + applied + drives."""
    kinetic: Any
    potential: Any
    dissipation: Any
    applied: Any
    drives: Any


def vector(name: str, value: Any, size: int) -> list:
    """The `size` numbers of value; in the plane, a vector of two numbers gets a 0 as the third."""
    array = real_array(name, value, (None,))
    if array.size != size and not (size == 3 and array.size == 2):
        raise ValueError(f"{name} has to have {size} numbers, and has {array.size}")
    return list(array) + [0.0] * (size - array.size)


def number(name: str, value: Any) -> float:
    array = real_array(name, value)
    if array.ndim:
        raise ValueError(f"{name} has to be a number, and is an array of shape {array.shape}")
    return float(array)


def word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} has to be a string, and is {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} has a zero character: {value!r}")
    return value


def rope_node(node: Any) -> dict:
    """A CPRopeNode of (body, at), (body, at, radius), (body, at, radius, axis), or a dict of body, at, and what else it has."""
    if isinstance(node, dict):
        unknown = set(node) - {"body", "at", "radius", "axis", "turns", "friction", "sticking"}
        if unknown or not {"body", "at"} <= set(node):
            raise ValueError(f"a node has body, at, radius, axis, turns, friction and sticking, and not {', '.join(sorted(unknown)) or 'less'}")
        own = node
    elif isinstance(node, (tuple, list)) and 2 <= len(node) <= 4:
        own = dict(zip(("body", "at", "radius", "axis"), node))
    else:
        raise TypeError(f"a node of a rope is (body, at), (body, at, radius), (body, at, radius, axis) or a dict, and not {node!r}")
    return {"body": body_name(own["body"]), "point": vector("at", own["at"], 3), "radius": number("radius", own.get("radius", 0.0)),
            "axis": vector("axis", own.get("axis", (0, 0, 0)), 3), "turns": int(own.get("turns", 0)),
            **{key: number(key, own.get(key, 0.0)) for key in ("friction", "sticking")}}


def coordinate(value: Any) -> dict:
    """A joint's name, which means its first coordinate, or (name, k)."""
    if isinstance(value, str):
        value = value, 0
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not isinstance(value[1], (int, np.integer)):
        raise TypeError(f"a coordinate is a joint's name or (name, number of the coordinate), and not {value!r}")
    return {"joint": word("the name of a joint", value[0]), "k": int(value[1])}


def frames_of(value: Any) -> int:
    if value not in FRAMES:
        raise ValueError(f"frames has to be \"space\" or \"bodies\", and is {value!r}")
    return FRAMES[value]


def handle_of(what: str, function: Any) -> Any:
    """The CPFunction of a Function, or NULL if there is none."""
    if function is None:
        return ffi.NULL
    if not isinstance(function, Function):
        raise TypeError(f"{what} has to be a Function, and is {type(function).__name__}")
    return function._handle


def marker(at: Any, axis: Any, across: Any) -> dict:
    return {"point": vector("at", at, 3), "axis": vector("axis", axis, 3), "across": vector("across", across, 3)}


def names_of(what: str, value: Any) -> List[str]:
    if isinstance(value, str):
        raise TypeError(f"{what} has to be a list of names, and is {value!r}")
    return [word(f"a name in {what}", one) for one in value]


class Values(MutableMapping):
    """The parameters of a mechanism by name, "element.field". A run uses the values that they have when it begins."""

    def __init__(self, mechanism: "Bodies"):
        self._mechanism = mechanism

    def _array(self) -> np.ndarray:
        """A view of the library's array, which moves where elements are added: for use within the lock."""
        bodies = self._mechanism._open().bodies
        return np.frombuffer(ffi.buffer(lib.CPBodiesParameters(bodies), 8 * lib.CPBodiesCount(bodies, lib.CP_PARAMETER)))

    def _index(self, name: Any) -> int:
        i = find(self._mechanism._open().bodies, lib.CP_PARAMETER, word("the name of a parameter", name))
        if i is None:
            raise KeyError(f"there is no parameter {name!r}")
        return i

    def __getitem__(self, name: str) -> float:
        with self._mechanism._lock:
            return float(self._array()[self._index(name)])

    def __setitem__(self, name: str, value: Any) -> None:
        value = number(name, value)
        with self._mechanism._lock:
            if name in self._mechanism._of_file:
                self._mechanism._reread({name: value})
                return
            i = self._index(name)
            self._mechanism._select({})
            self._array()[i] = value
            self._mechanism._query = None

    def __delitem__(self, name: str) -> None:
        raise TypeError("parameters belong to their elements and cannot be deleted")

    def __len__(self) -> int:
        with self._mechanism._lock:
            return len(self._array())

    def __iter__(self) -> Iterator[str]:
        yield from names(self._mechanism._open().bodies, lib.CP_PARAMETER)


class Draft(Owner):
    """A CPBodies with all elements. Each run has its own, equal to that of the mechanism, so that runs do not share what
    the library changes."""

    def __init__(self, mechanism: "Bodies"):
        super().__init__()
        self.bodies, self.file = make_bodies(mechanism, self)


class Frame(NamedTuple):
    """A frame of a body: position [3] of its point, axes [3, 3] of the frame in space, in columns, and as a quaternion, scalar first;
    velocity [3] of the point and angular velocity omega [3] in space; jacobian [6, nu]: (velocity, omega) = jacobian @ u; their
    rates are jacobian @ u' + bias [6]."""
    position: np.ndarray
    quaternion: np.ndarray
    axes: np.ndarray
    velocity: np.ndarray
    omega: np.ndarray
    bias: np.ndarray
    jacobian: np.ndarray


def make_bodies(m: "Bodies", owner: Owner) -> Tuple[Any, Any]:
    """A CPBodies with the elements and parameters of m, and its file's settings of the run, or None."""
    run = None
    if m._source is None:
        made = lib.CPBodiesCreate(m.dimension, m._gravity)
    else:
        data, name, parameters = m._source
        run, box = sized("CPBodiesFile"), ffi.new("CPBodies *")
        lines = [text(parameters)] + [f"{name}={value!r}" for name, value in m._of_file.items() if value is not None]
        keep = [ffi.new("char[]", "\n".join(line for line in lines if line).encode()), ffi.new("char[]", " ".join(m._of_file).encode())]
        run.parameters, run.named = keep
        flag = lib.CPBodiesRead(name, data, len(data) - 1, box, run)
        if flag:
            raise Error(flag, message_of(ffi.NULL))
        made = box[0]
    bodies = owner.own_handle("CPBodies", made, lib.CPBodiesFree)
    if m._source is None and m.balance:
        check(bodies, lib.CPBodiesSetBalance(bodies))
    if m.coordinates is not None: # else as the file says
        check(bodies, lib.CPBodiesSetFormulation(bodies, int(m.coordinates == "joint")))
    for record in m._records:
        record(bodies, owner)
    return bodies, run


def check(handle: Any, flag: int) -> int:
    if flag < 0:
        raise Error(flag, message_of(handle))
    return flag


def describe(bodies: Any, thing: int, i: int) -> Any:
    out = sized("CPDescription")
    check(bodies, lib.CPBodiesDescribe(bodies, thing, i, out))
    return out


def names(bodies: Any, thing: int) -> List[str]:
    return [text(describe(bodies, thing, i).name) for i in range(lib.CPBodiesCount(bodies, thing))]


def find(bodies: Any, thing: int, name: str) -> Optional[int]:
    """The index of a thing, or None."""
    i = ffi.new("int *")
    return None if lib.CPBodiesFind(bodies, thing, name.encode(), i) else i[0]


def target(bodies: Any, body: str, *, position: Any = None, quaternion: Any = None, point: Any = (0, 0, 0), along: float = 1.0,
           about: float = 1.0) -> dict:
    """A CPTarget"""
    return {"body": found(bodies, lib.CP_BODY, body), "point": [float(v) for v in point],
            "position": [float(v) for v in ((0, 0, 0) if position is None else position)],
            "quaternion": [1.0, 0.0, 0.0, 0.0] if quaternion is None else [float(v) for v in quaternion],
            "along": 0.0 if position is None else float(along), "about": 0.0 if quaternion is None else float(about)}


def found(bodies: Any, thing: int, name: str) -> int:
    i = ffi.new("int *")
    check(bodies, lib.CPBodiesFind(bodies, thing, name.encode(), i))
    return i[0]


def mesh_of(points: Any) -> dict:
    """The members of a CPShape that is a mesh"""
    if points is None:
        return {}
    rows = [vector("a point", row, 3) for row in points]
    return {"points": ffi.new("double[]", [x for row in rows for x in row]), "npoints": len(rows)}


def as_c(value: Any, keep: list) -> Any:
    """Initialisers for cffi: strings become arrays of char, and `keep` keeps them alive."""
    if isinstance(value, str):
        keep.append(ffi.new("char[]", value.encode()))
        return keep[-1]
    if isinstance(value, dict):
        return {key: as_c(one, keep) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [as_c(one, keep) for one in value]
    return value


def points_of(bodies: Any) -> Optional[Points]:
    """The contacts, with the present constants; None if there are none."""
    n = lib.CPBodiesCount(bodies, lib.CP_CONTACT)
    if not n:
        return None
    points, keep = ffi.new("CPContactPoint[]", n), []
    for i in range(n):
        d = describe(bodies, lib.CP_CONTACT, i)
        keep.append(ffi.new("char[]", ffi.string(d.name)))
        points[i] = {"size": ffi.sizeof("CPContactPoint"), "name": keep[-1], "normal": d.first, "tangent": d.first_rate,
                     "ntangents": d.nrates, "period": d.period, "nearest": d.nearest, "law": d.law[0]}
    return Points(points, n, keep)


class BodiesInstance(Instance):
    """A CPMech of bodies, whose functions are bound to this instance, so that it has a CPModel of its own."""

    def point(self, body: int) -> np.ndarray:
        """The origin of a body's frame in space at y."""
        frame = sized("CPBodyFrame")
        check(self.mech, lib.CPMechGetFrame(self.mech, body, ffi.NULL, self.y_vector, frame))
        return np.array(list(frame.position))

    def create(self) -> Any:
        m, box = self.mechanism, ffi.new("CPModel *")
        self.values = ffi.NULL # the array of its parameters
        with m._lock: # no element may be added between the two copies
            self.bodies, _ = make_bodies(m, self)
            source = m.values._array()
            ffi.memmove(lib.CPBodiesParameters(self.bodies), pointer(source), source.nbytes)
        self.failures.check(lib.CPBodiesBuild(self.bodies, box), lambda: message_of(self.bodies))
        model = lib.CPModelGetEquations(box[0])
        m._contacts, m.np, m.nv, m.na, m.ready = points_of(self.bodies), model.np, model.nv, model.na, True
        friction = bool(model.f_lambda)
        made = lib.CPMechCreate(box[0], self.y_vector, self.ctx)
        lib.CPModelFree(box) # mech keeps it
        mech = self.own_handle("CPMech", made, lib.CPMechFree)
        if self.acts and friction:
            raise Error(lib.CP_NOT_SUPPORTED, "joints with friction cannot be combined with contacts")
        check = lambda flag: self.failures.check(flag, lambda: message_of(mech))
        values = ffi.new("sunrealtype **")
        check(lib.CPMechGetParameters(mech, values, ffi.NULL))
        self.values, self.samplers = values[0], []
        for controller in m._controllers:
            self.add_controller(*controller)
        if m._offsets is not None and len(m._offsets):
            check(lib.CPMechAssemble(mech, 0, self.y_vector, sized("CPAssembly", offsets=pointer(m._offsets))))
        return mech

    def add_controller(self, name: str, f: Callable, of: Sequence[str], period: float, first: float, delay: float) -> None:
        m, s, n = self.mechanism, ffi.new("GlueSampler *"), len(of)

        def finite(t: float, y: np.ndarray) -> np.ndarray:
            value = np.atleast_1d(np.asarray(f(t, y), dtype=float))
            if value.shape != (n,) or not np.isfinite(value).all():
                raise ValueError(f"the controller {name} has to return {n} finite numbers, and returned {value} at t = {t}")
            return value
        bind(ffi.addressof(s, "f"), finite, f"the controller {name}", (m.nq + m.nu + m.nz,), ((n,),), self.failures, self.keep)
        s.period, s.first, s.delay, s.n, s.length = period, first, delay, n, int(delay / period) + 2 if delay else 0
        value, place = ffi.new("double[]", n), ffi.new("double *[]", [self.values + m.values._index(one) for one in of])
        queue = ffi.new("double[]", max(1, s.length * n))
        waiting = ffi.new("double *[]", [queue + i for i in range(s.length * n)] or 1)
        s.value, s.place, s.queue, s.waiting = value, place, queue, waiting
        self.keep += [value, place, queue, waiting]
        self.samplers.append(s)

    def parameter_block(self) -> Tuple[Any, Any]:
        which = ffi.new("int[]", self.mechanism._selected)
        self.keep.append(which)
        return self.values, which

    def views(self) -> Any:
        return {name: self.values[i] for name, i in zip(self.mechanism._names, self.mechanism._selected)}


class Bodies(Mechanism):
    """A mechanism of rigid bodies, joints, drives and forces, whose equations and derivatives cpodes writes.

    dimension: 3 in space, 2 in the plane. gravity: its acceleration [m/s^2]. balance: if True, the state ends with the work
    W [J] of forces and drives minus the energy that dampers dissipate, and energy - W is constant.

    Bodies have a placement. With frames="space", the default, points and directions of elements are given in the axes of
    space at this placement; with frames="bodies", each side is given in its body's frame. Each function that adds an
    element returns its name, which is generated if none is given. A body is given by its name; None or "ground" is the
    ground. A coordinate is given by the name of a joint, which means its first one, or by (name, k). Vectors have three
    numbers, in the plane two or three. The guide's chapter "Bodies and joints" and include/cpodes/cpodes_bodies.h describe
    the elements.

    The state is y = (q, u), or (q, u, W). For each body, q is the centre of mass and the quaternion, and u the velocity of
    the centre and the angular velocity in the body's axes; in the plane, q = (x, y, phi) and u = q'. With coordinates="joint"
    the state has the coordinates and rates of the joints of a spanning tree ("hinge.angle", "hinge.angle'"; `names` has
    them all), and only the joints that close loops are constraints. `values` holds all
    numbers of the elements by name ("rod.mass", "spring.stiffness"); they may be changed."""

    def __init__(self, dimension: int = 3, gravity: Any = (0, 0, 0), balance: bool = False, *,
                 coordinates: Optional[str] = "absolute", _source: Any = None):
        if coordinates not in ("absolute", "joint") and not (coordinates is None and _source):
            raise ValueError(f"coordinates have to be \"absolute\" or \"joint\", and are {coordinates!r}")
        if dimension not in (2, 3):
            raise ValueError(f"dimension has to be 2 or 3, and is {dimension!r}")
        self._reset()
        self.dimension, self.balance, self.metric, self.quaternions = int(dimension), bool(balance), "default", []
        self.potential: Optional[Callable] = None
        self._coordinates = coordinates
        self._gravity, self._source = vector("gravity", gravity, 3), _source
        self._records: List[Callable] = []
        self._controllers: List[tuple] = []
        self._of_file: Dict[str, Optional[float]] = {} # parameters of the file that `values` has, and what replaces them
        self._select({})
        self.title, self.method, self.notes, self.t_end, self.held, self.assembles = "", "auto", "", None, "", True
        self.assembly_notes, self._offsets, self.miss = "", None, 0.0
        self._draft: Optional[Draft] = None # creating it from a file may fail
        self._draft = Draft(self)
        file = self._draft.file
        if file:
            self.dimension, self.balance = file.dimension, bool(file.balance)
            if coordinates is None:
                self._coordinates = "joint" if file.formulation else "absolute"
            self.title, self.method, self.held = text(file.title), text(file.method) or "auto", text(file.held)
            self.t_end, self.assembles = file.t_end, bool(file.assemble)
            self.notes = text(file.notes)
        self.values = Values(self)
        self._note_values()

    @classmethod
    def read(cls, path: Any, *, coordinates: Optional[str] = None, parameters: Optional[dict] = None,
             named: Sequence[str] = ()) -> "Bodies":
        """Reads a mechanism from a file in YAML, MJCF, URDF, SDF or of OpenSim (.osim), or an assembly of FreeCAD (.asmt). The file's settings of a run are in title, method, t_end and
        held, and its features that cpodes does not support are listed in notes. Without coordinates, those of robots are
        "joint", and of other files "absolute" unless they say otherwise. Errors name file, line and rule. Files
        that an XML file includes are read again for each run. parameters replaces those that a YAML file names,
        {"crank": "60 mm", "speed": 3}; a plain number is in the unit of the SI. Those of a robot are "start" (a keyframe),
        "start.JOINT", "start.JOINT'", "base" ("free": the root of URDF moves freely) and "contacts" ("no", "yes" or "meshes"), those of OpenSim "start.COORDINATE". named: parameters of a YAML file that
        `values`, gradients, jvp and vjp are to have: where they change, the file is read again."""
        place = os.fspath(path)
        lines = "\n".join(f"{name}={value}" for name, value in (parameters or {}).items()).encode()
        with open(place, "rb") as file:
            data = file.read()
        made = cls(coordinates=coordinates, _source=(ffi.new("char[]", data), os.fsencode(place), ffi.new("char[]", lines)))
        if named:
            made._reread(dict.fromkeys(names_of("named", named)))
        return made

    def _reread(self, named: Dict[str, Optional[float]]) -> None:
        """Reads the file again, whose parameters of these names become parameters of the mechanism, with these values if they are not
        None. Other values that have been changed keep their changes."""
        if self._source is None:
            raise ValueError("only mechanisms that were read from a file have named parameters")
        with self._lock:
            old, before, first = self._open(), self._of_file, self._first
            changed = self.values._array()[:first].copy()
            self._of_file = {**before, **named}
            try:
                draft = Draft(self)
            except Exception:
                self._of_file = before
                raise
            kept = np.flatnonzero(changed != self._pristine)
            self._draft, self._query, self.ready = draft, None, False
            self._note_values()
            self.values._array()[kept] = changed[kept]
            old.close()

    def _note_values(self) -> None:
        """The values that the file gives to all but its named parameters, which come after the others"""
        every = Values(self)._array()
        self._first = every.size - len(self._of_file)
        self._pristine = every[:self._first].copy()

    # ---- elements ----

    @property
    def coordinates(self) -> Optional[str]:
        """Those of the state, "absolute" or "joint". They may be changed; a state that was given before belongs to the old ones."""
        return self._coordinates

    @coordinates.setter
    def coordinates(self, coordinates: str) -> None:
        if coordinates not in ("absolute", "joint"):
            raise ValueError(f"coordinates have to be \"absolute\" or \"joint\", and are {coordinates!r}")
        with self._lock:
            old, before = self._open(), self._coordinates
            if coordinates == before:
                return
            values = self.values._array().copy()
            self._coordinates = coordinates
            try:
                draft = Draft(self)
            except Exception:
                self._coordinates = before
                raise
            self._draft, self._query, self.ready, self.mask, self._offsets = draft, None, False, None, None
            self.values._array()[:] = values
            old.close()

    def _open(self) -> Draft:
        if self._draft is None:
            raise RuntimeError("the mechanism has been closed")
        return self._draft

    def close(self) -> None:
        """Frees what the mechanism holds in the library; solutions keep their objects."""
        with self._lock:
            draft, self._draft, self._query, self.ready = self._draft, None, None, False
        if draft is not None:
            draft.close()

    def __enter__(self) -> "Bodies":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _add(self, kind: str, fields: dict, functions: Sequence = (), struct: Optional[str] = None, keep: Sequence = ()) -> str:
        """Adds an element, CP<kind> or `struct`. functions: (member, function of the glue, f, inputs, outputs)."""
        struct = struct or f"CP{kind}"
        head = {"size": ffi.sizeof(struct), "kind": getattr(lib, f"CP_ELEMENT_{kind.upper()}"), "name": fields["name"]}
        members = {**{key: value for key, value in fields.items() if key != "name"}, "head": head}

        def record(bodies: Any, owner: Owner) -> None:
            kept: list = list(keep)
            c = ffi.new(f"{struct} *", as_c(members, kept))
            for member, glue, f, inputs, outputs in functions:
                compiled = as_compiled(f)
                if compiled:
                    setattr(c, member, ffi.cast(ffi.typeof(getattr(c, member)), compiled.address))
                    c.data = ffi.cast("void *", compiled.data)
                    owner.keep.append(compiled)
                else:
                    slot = ffi.new("GlueFn *")
                    bind(slot, f, f"the function of {fields['name']}", inputs, outputs, owner.failures, owner.keep)
                    setattr(c, member, getattr(to_c, glue))
                    c.data = slot
                    owner.keep.append(slot)
            flag = lib.CPBodiesAdd(bodies, ffi.addressof(c, "head"), ffi.NULL)
            owner.failures.check(flag, lambda: message_of(bodies))
        with self._lock:
            draft = self._open()
            record(draft.bodies, draft)
            self._records.append(record)
            self._query, self.ready, self.mask, self._offsets = None, False, None, None
        return fields["name"]

    def _name(self, name: Optional[str], kind: str) -> str:
        return f"{kind}_{len(self._records)}" if name is None else word("name", name)

    def add_body(self, name: str, *, mass: float, inertia: Any, centre: Any = (0, 0, 0), at: Any = (0, 0, 0), quaternion: Any = None,
                 angle: float = 0.0, velocity: Any = (0, 0, 0), omega: Any = (0, 0, 0), spin: float = 0.0) -> str:
        """Adds a body. mass [kg]; inertia about the centre of mass in the axes of the frame [kg m^2]: a tensor [3, 3], its
        moments [3], (J_xx, J_yy, J_zz, J_xy, J_xz, J_yz) with J_xy = -int x y dm, or in the plane one number. centre:
        the centre of mass in the frame [m]. Placement: `at`, the origin of the frame [m], and `quaternion`, scalar
        first, or `angle` in the plane [rad]. Start: velocity of the origin [m/s], omega in space [rad/s], or spin in the
        plane."""
        J = real_array("inertia", inertia)
        if self.dimension == 2:
            moments = [0.0, 0.0, number("inertia", inertia), 0.0, 0.0, 0.0]
        elif J.shape == (3, 3):
            if not np.allclose(J, J.T, rtol=1e-12, atol=0):
                raise ValueError("inertia has to be a symmetric matrix")
            moments = [*np.diag(J), J[0, 1], J[0, 2], J[1, 2]]
        elif J.shape in ((3,), (6,)):
            moments = [*J, 0.0, 0.0, 0.0][:6]
        else:
            raise ValueError(f"inertia has to have the shape (3, 3), (3,) or (6,), and has {J.shape}")
        turning = vector("omega", omega, 3)
        turning[2] += number("spin", spin)
        attitude = [0.0] * 4 if quaternion is None else vector("quaternion", quaternion, 4)
        return self._add("Body", {
            "name": word("name", name), "mass": number("mass", mass), "inertia": moments, "centre": vector("centre", centre, 3),
            "position": vector("at", at, 3), "quaternion": attitude, "angle": number("angle", angle),
            "velocity": vector("velocity", velocity, 3), "omega": turning})

    def joint(self, kind: str, a: Optional[str], b: Optional[str], *, at: Any = (0, 0, 0), axis: Any = (0, 0, 0), across: Any = (0, 0, 0),
              at_b: Any = None, axis_b: Any = None, across_b: Any = None, length: float = 0.0, frames: str = "space",
              name: Optional[str] = None) -> str:
        """Adds a joint between bodies a and b, of the kind "ball", "revolute", "universal", "cylindrical", "prismatic",
        "planar", "fixed", "rod", "point_on_line", "point_on_plane", "rolling" or "rolling_disc". `at`, `axis` and
        `across` are its point, its axis z and a direction that determines x on body a; at_b, axis_b and across_b are
        those on body b. With frames="space", only rods, rolling, and points on lines and planes (default: `at`) have at_b,
        and only universal joints and discs have axis_b. length: of a rod (0: as placed), or the radius of a rolling body
        [m]."""
        number_of = getattr(lib, f"CP_JOINT_{str(kind).upper()}", None)
        if number_of is None:
            raise ValueError(f"there is no kind of joint {kind!r}")
        own = {"at_b": kind in ("rod", "rolling", "rolling_disc", "point_on_line", "point_on_plane"),
               "axis_b": kind in ("universal", "rolling_disc"), "across_b": False}
        for what, value in (("at_b", at_b), ("axis_b", axis_b), ("across_b", across_b)):
            if value is not None and frames == "space" and not own[what]:
                raise ValueError(f"{what} of a joint \"{kind}\" is known from the placement; it goes with frames=\"bodies\"")
        if frames == "space" and at_b is None and kind.startswith("point_on"):
            at_b = at  # the joint is closed at the placement
        for what, value in (("at_b", at_b), ("axis_b", axis_b)):
            if value is None and frames == "space" and own[what]:
                raise ValueError(f"a joint \"{kind}\" needs {what}, unless frames=\"bodies\"")
        none = (0, 0, 0)
        on_b = marker(*(none if one is None else one for one in (at_b, axis_b, across_b)))
        return self._add("Joint", {
            "name": self._name(name, kind), "kind": number_of, "a": body_name(a), "b": body_name(b), "in": frames_of(frames),
            "on_a": marker(at, axis, across), "on_b": on_b, "length": number("length", length)})

    def ball(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a ball joint, where two points meet: at=."""
        return self.joint("ball", a, b, **where)

    def revolute(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a hinge: at=, axis=. Its coordinate is the angle."""
        return self.joint("revolute", a, b, **where)

    def universal(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds Hooke's joint: at=, axis= on a, axis_b= on b at right angles to it. Its coordinates are the angles about
        both."""
        return self.joint("universal", a, b, **where)

    def cylindrical(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a cylindrical joint, which slides and turns: at=, axis=. Its coordinates are the displacement and the angle."""
        return self.joint("cylindrical", a, b, **where)

    def prismatic(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a slider: at=, axis=. Its coordinate is the displacement."""
        return self.joint("prismatic", a, b, **where)

    def planar(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a planar joint: at=, the normal axis=. Its coordinates are both displacements and the angle."""
        return self.joint("planar", a, b, **where)

    def fixed(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a joint without motion: at=, the point to which reactions refer."""
        return self.joint("fixed", a, b, **where)

    def rod(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Adds a rod between at= on a and at_b= on b; its length= defaults to that of the placement."""
        return self.joint("rod", a, b, **where)

    def point_on_line(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Keeps the point at_b= of b on a line of a: at=, axis=. The coordinate is the displacement."""
        return self.joint("point_on_line", a, b, **where)

    def point_on_plane(self, a: Optional[str], b: Optional[str], **where: Any) -> str:
        """Keeps the point at_b= of b on a plane of a: at=, the normal axis=."""
        return self.joint("point_on_plane", a, b, **where)

    def rolling(self, a: Optional[str], b: Optional[str], *, radius: float, **where: Any) -> str:
        """Lets a ball of this radius about at_b= of b roll without slip on the plane of a with at= and the normal axis=."""
        return self.joint("rolling", a, b, length=radius, **where)

    def rolling_disc(self, a: Optional[str], b: Optional[str], *, radius: float, **where: Any) -> str:
        """Lets a disc of this radius about at_b= of b, with the axis axis_b=, roll without slip on the plane of a with at=
        and the normal axis=. The disc may tilt."""
        return self.joint("rolling_disc", a, b, length=radius, **where)

    def custom(self, a: Optional[str], b: Optional[str], motions: Sequence[dict], *, start: Sequence[float] = (), at: Any = (0, 0, 0),
               axis: Any = (0, 0, 0), across: Any = (0, 0, 0), at_b: Any = (0, 0, 0), axis_b: Any = (0, 0, 0), across_b: Any = (0, 0, 0),
               frames: str = "space", name: Optional[str] = None) -> str:
        """Adds a joint by functions, in joint coordinates. motions: up to six, one after the other, each a dict of about= or along=, an
        axis, of=, the number of its coordinate x (0), and ratio= (1) or function=, a Function f of x: it turns about the axis by
        offset + f(x), or moves along it; with of=None by offset=. start: values near which the coordinates are sought."""
        def motion(one: dict) -> dict:
            given = dict(one)
            about, along, of, function = given.pop("about", None), given.pop("along", None), given.pop("of", 0), given.pop("function", None)
            if (about is None) == (along is None):
                raise ValueError("a motion is either about= or along= an axis")
            c = {"size": ffi.sizeof("CPJointMotion"), "about": int(about is not None), "axis": list(vector("axis", along if about is None else about, 3)),
                 "coordinate": -1 if of is None else int(of), "ratio": number("ratio", given.pop("ratio", 0.0)),
                 "offset": number("offset", given.pop("offset", 0.0)), "function": handle_of("function", function)}
            if given:
                raise TypeError(f"a motion has no {sorted(given)[0]}=")
            return c
        array = ffi.new("CPJointMotion[]", [motion(one) for one in motions])
        count = max([m.coordinate for m in array], default=-1) + 1
        return self._add("Joint", {
            "name": self._name(name, "custom"), "kind": lib.CP_JOINT_CUSTOM, "a": body_name(a), "b": body_name(b), "in": frames_of(frames),
            "on_a": marker(at, axis, across), "on_b": marker(at_b, axis_b, across_b), "motion": array, "nmotions": len(array),
            "ncoordinates": count, "start": [number("start", x) for x in start]}, keep=[array, [one.get("function") for one in motions]])

    def contact(self, a: Optional[str], b: Optional[str], *, at: Any = (0, 0, 0), axis: Any = (0, 0, 0), across: Any = (0, 0, 0),
                at_b: Any = (0, 0, 0), axis_b: Any = (0, 0, 0), across_b: Any = (0, 0, 0), radius: float = 0.0, touch: str = "ball",
                size: Any = (0, 0, 0), length: float = 0.0, radius_a: Optional[float] = None, surface: Optional[Callable] = None,
                friction: float = 0.0, sticking: float = 0.0, restitution: float = 0.0, law: str = "newton", frames: str = "space",
                name: Optional[str] = None) -> str:
        """Adds a unilateral contact of body b with body a.

        According to touch, b has a "ball" of this radius about at_b=, which is a point if the radius is 0; the edge of a
        thin "disc", or both edges of a "cylinder" of this length, with the axis axis_b=; or the vertices of a "box" of this
        size with the axes axis_b= and across_b=. a has the plane through at= with the normal axis=; with radius_a=, a
        sphere about at=, which is hollow if radius_a is negative; or with surface=, the surface of this function:
        surface(x) -> (phi, gradient [3], second derivatives [3, 3], third derivatives [3, 3, 3]), where phi > 0 outside,
        and x are the coordinates along across=, the third direction, and axis=. With a radius, phi has to be a distance.
        The function raises TrySmallerStep if x is outside its domain.

        With touch="shape", a and b are names of two shapes, which touch wherever they are nearest to each other; other keywords than
        those of friction and restitution have no effect.

        The constants are those of Coulomb's friction (`sticking`: that of rest, if it is larger) and of restitution by the
        law "newton" or "poisson". In solve, contacts act; all other functions treat them as open. Cylinders and boxes are 2
        and 8 contacts (in the plane, boxes are 4), whose names end in _1, _2, ..."""
        if law not in LAWS:
            raise ValueError(f"law has to be one of {', '.join(LAWS)}, and is {law!r}")
        if touch not in TOUCHES and touch != "shape":
            raise ValueError(f"touch has to be one of {', '.join(TOUCHES)}, shape, and is {touch!r}")
        if touch == "shape":
            return self._add("Contact", {
                "name": self._name(name, "contact"), "a": body_name(a), "b": body_name(b), "on": lib.CP_ON_SHAPE,
                "law": {"mu": number("friction", friction), "mu_static": number("sticking", sticking),
                        "restitution": number("restitution", restitution), "kind": LAWS[law]}}, struct="CPBodyContact")
        if surface is not None and radius_a is not None:
            raise ValueError("surface and radius_a cannot both be given")
        edges = vector("size", size, 3)
        if touch == "cylinder":
            edges[2] = number("length", length)
        on = lib.CP_ON_SURFACE if surface is not None else lib.CP_ON_PLANE if radius_a is None else lib.CP_ON_SPHERE
        shown = surface if surface is None or as_compiled(surface) or not callable(surface) else lambda t, x: surface(x)
        outputs = (1,), (3,), (3, 3), (3, 3, 3)
        return self._add("Contact", {
            "name": self._name(name, "contact"), "a": body_name(a), "b": body_name(b), "in": frames_of(frames),
            "on_a": marker(at, axis, across), "on_b": marker(at_b, axis_b, across_b), "radius": number("radius", radius),
            "law": {"mu": number("friction", friction), "mu_static": number("sticking", sticking),
                    "restitution": number("restitution", restitution), "kind": LAWS[law]}, "on": on, "touch": TOUCHES[touch],
            "radius_a": number("radius_a", 0.0 if radius_a is None else radius_a), "size": edges},
            [] if surface is None else [("surface", "glue_surface", shown, (3,), outputs)], struct="CPBodyContact")

    def couple(self, first: Any, second: Any, ratio: Any, offset: float = 0.0, name: Optional[str] = None, *, more: Sequence = (),
               function: Optional[Function] = None) -> str:
        """Adds a gear, rack or screw between two coordinates: ratio[0] x_1 + ratio[1] x_2 = offset. more: further ones, each with
        a ratio (a differential). function: a Function f of one variable; then f(x_2) takes the place of x_2 (a cam)."""
        ratios = vector("ratio", ratio, 2 + len(more))
        kept: list = []
        others = ffi.new("CPCoordinate[]", [as_c(coordinate(one), kept) for one in more])
        their_ratios = ffi.new("double[]", list(ratios[2:]))
        return self._add("Coupler", {
            "name": self._name(name, "coupler"), "of": [coordinate(first), coordinate(second)], "ratio": ratios[:2], "offset": number("offset", offset),
            "nmore": len(more), "more": others, "more_ratio": their_ratios, "function": handle_of("function", function)},
            keep=[kept, others, their_ratios, function])

    def drive(self, of: Any, g: Union[Callable, Function, None] = None, *, start: float = 0.0, rate: float = 0.0, amplitude: float = 0.0,
              frequency: float = 0.0, name: Optional[str] = None) -> str:
        """Makes the coordinate move as g(t) -> (g, g', g''), as a Function g of t, or as start + rate t + amplitude sin(frequency t)."""
        fields = {"name": self._name(name, "drive"), "of": coordinate(of), "start": number("start", start), "rate": number("rate", rate),
                  "amplitude": number("amplitude", amplitude), "frequency": number("frequency", frequency)}
        if isinstance(g, Function):
            return self._add("Drive", {**fields, "function": g._handle}, keep=[g])
        return self._add("Drive", fields, [] if g is None else [("g", "glue_drive", g, (), ((3,),))])

    def spring(self, of: Any = None, *, a: Optional[str] = None, b: Optional[str] = None, at: Any = (0, 0, 0), at_b: Any = (0, 0, 0),
               stiffness: float = 0.0, damping: float = 0.0, free: Optional[float] = None, force: float = 0.0, inertance: float = 0.0,
               law: Union[Callable, Function, None] = None, inputs: Sequence[str] = (), frames: str = "space",
               name: Optional[str] = None) -> str:
        """Adds a spring-damper on a coordinate, or between the point `at` of a and at_b of b. Its force in the direction of
        growing x is force - stiffness (x - free) - damping x' - inertance x'' + law. If free is None, it is the distance
        at the placement, or 0 for a coordinate. law(t, x, x') returns (T, dT/dx, dT/dx'); or it
        is a Function of t, x, x' and the quantities `inputs` of other elements: law=f, inputs=["crank.angle", "motor.rate"]."""
        if (of is None) == (a is None and b is None):
            raise ValueError("a spring acts on a coordinate, or between two points of a and b, and one of them has to be given")
        fields = {"name": self._name(name, "spring"), "of": None if of is None else coordinate(of), "a": body_name(a), "b": body_name(b),
                  "in": frames_of(frames), "point_a": vector("at", at, 3), "point_b": vector("at_b", at_b, 3),
                  "stiffness": number("stiffness", stiffness), "damping": number("damping", damping),
                  "free": (np.nan if of is None else 0.0) if free is None else number("free", free),
                  "force": number("force", force), "inertance": number("inertance", inertance)}
        shown = law if law is None or as_compiled(law) or not callable(law) else lambda t, x: law(t, float(x[0]), float(x[1]))
        if isinstance(law, Function):
            fields |= {"function": law._handle, "inputs": " ".join(word("the name of an input", one) for one in inputs)}
            return self._add("Spring", fields, keep=[law])
        return self._add("Spring", fields, [] if law is None else [("law", "glue_law", shown, (2,), ((3,),))])

    def bushing(self, a: Optional[str], b: Optional[str], *, at: Any = (0, 0, 0), axis: Any = (0, 0, 0), across: Any = (0, 0, 0),
                at_b: Any = (0, 0, 0), axis_b: Any = (0, 0, 0), across_b: Any = (0, 0, 0), stiffness: Any = (0, 0, 0),
                damping: Any = (0, 0, 0), turn_stiffness: Any = (0, 0, 0), turn_damping: Any = (0, 0, 0), drag: float = 0.0,
                angles: bool = False, frames: str = "space", name: Optional[str] = None) -> str:
        """Adds an elastic joint: springs and dampers along and about the axes of the marker, with `angles` on the three angles of
        the rotation about x, y and z, which need not be small; drag acts against rotations of any size."""
        return self._add("Bushing", {
            "name": self._name(name, "bushing"), "a": body_name(a), "b": body_name(b), "in": frames_of(frames), "on_a": marker(at, axis, across),
            "on_b": marker(at_b, axis_b, across_b), "stiffness": vector("stiffness", stiffness, 3),
            "damping": vector("damping", damping, 3), "turn_stiffness": vector("turn_stiffness", turn_stiffness, 3),
            "turn_damping": vector("turn_damping", turn_damping, 3), "drag": number("drag", drag), "angles": int(bool(angles))})

    def force(self, body: str, force: Any = (0, 0, 0), *, at: Any = (0, 0, 0), follows: bool = False, f: Optional[Callable] = None,
              frames: str = "space", name: Optional[str] = None) -> str:
        """Adds a force on the point `at` of a body, in the axes of space, or of the body if it follows the body. f(t, x, v)
        adds to it, with the point x and its velocity v: it returns (F, dF/dx, dF/dv), of shapes [3], [3, 3], [3, 3]."""
        fields = {"name": self._name(name, "force"), "body": body_name(body), "in": frames_of(frames), "point": vector("at", at, 3),
                  "force": vector("force", force, 3), "follows": int(bool(follows))}

        def by_rows(t: float, x: np.ndarray, v: np.ndarray) -> Any:
            result = f(t, x, v)
            if not isinstance(result, (tuple, list)) or len(result) != 3:
                raise TypeError(f"f of {fields['name']} has to return (F, dF/dx, dF/dv), and returned {type(result).__name__}")
            return result[0], np.transpose(result[1]), np.transpose(result[2])
        shown = f if f is None or as_compiled(f) or not callable(f) else by_rows
        outputs = (3,), (3, 3), (3, 3)
        return self._add("Force", fields, [] if f is None else [("fn", "glue_point_force", shown, (3, 3), outputs)])

    def rope(self, *nodes: Any, length: float = 0.0, rate: float = 0.0, motion: Optional[Function] = None, stiffness: float = 0.0,
             damping: float = 0.0, restitution: float = 0.0, taut: bool = False, frames: str = "space", name: Optional[str] = None) -> str:
        """Adds a rope over nodes (body, at) and pulleys (body, at, radius), (body, at, radius, axis): about the axis, or z, it runs
        counterclockwise if radius > 0, else clockwise; or nodes are dicts of body, at, radius, axis, turns, friction and sticking, where one
        pulley may have friction, up to the factor exp(friction * angle) of the tensions. It is at most length long (0: as placed) + rate t, or + the Function
        motion of t, and slack when it is pushed: a contact, which acts in solve. With taut=True it is never slack; with
        stiffness= it is elastic."""
        kept: list = []
        items = [as_c(rope_node(node), kept) for node in nodes]
        array = ffi.new("CPRopeNode[]", items)
        fields = {"name": self._name(name, "rope"), "in": frames_of(frames), "nnodes": len(items), "node": array,
                  "length": number("length", length), "rate": number("rate", rate), "stiffness": number("stiffness", stiffness),
                  "damping": number("damping", damping), "restitution": number("restitution", restitution), "taut": int(bool(taut)),
                  "function": handle_of("motion", motion)}
        return self._add("Rope", fields, keep=[kept, array, motion])

    def tendon(self, name: str, of: Sequence = (), ratio: Any = (), *, along: Sequence = (), stiffness: float = 0.0, damping: float = 0.0,
               free: Optional[float] = None, force: float = 0.0, inertance: float = 0.0, frames: str = "space") -> str:
        """Adds a spring-damper on the sum of coordinates, ratio[0] x_1 + ratio[1] x_2 + ..., or on the length along points (body, at),
        and between two of them around spheres and cylinders, dicts of body, at, radius, of a cylinder axis, and perhaps side=(body, at), a
        point on whose side the path runs. Limits, dry friction and actuators act on it by its name, as on a coordinate. free: None, that of the placement."""
        kept: list = []
        given = [dict(node) if isinstance(node, dict) else node for node in along]
        sides = [node.pop("side", None) if isinstance(node, dict) else None for node in given]
        nodes = [as_c(rope_node(node), kept) for node in given]
        beside = [ffi.NULL if side is None else ffi.new("CPRopeNode *", as_c(rope_node(side), kept)) for side in sides]
        sided = ffi.new("CPRopeNode *[]", beside)
        coordinates = [as_c(coordinate(one), kept) for one in of]
        arrays = (ffi.new("CPCoordinate[]", coordinates), ffi.new("double[]", vector("ratio", ratio, len(coordinates)) if coordinates else []),
                  ffi.new("CPRopeNode[]", nodes))
        fields = {"side": sided if any(side is not None for side in sides) else ffi.NULL,
                  "name": word("name", name), "ncoordinates": len(coordinates), "of": arrays[0], "ratio": arrays[1], "nnodes": len(nodes),
                  "node": arrays[2], "in": frames_of(frames), "stiffness": number("stiffness", stiffness), "damping": number("damping", damping),
                  "free": np.nan if free is None else number("free", free), "force": number("force", force),
                  "inertance": number("inertance", inertance)}
        return self._add("Tendon", fields, keep=[kept, arrays, beside, sided])

    def friction(self, of: Any, factor: float = 0.0, speed: float = 0.0, *, force: float = 0.0, sticking: float = 0.0,
                 sticking_factor: float = 0.0, name: Optional[str] = None) -> str:
        """Adds friction in a joint. With force=, dry friction on a coordinate, of this size in motion, and at rest up to
        sticking=, if it is larger: a contact, which acts in solve. With factor alone, the same of the size factor |F|, where F is the
        joint's reaction, and at rest up to sticking_factor |F|; factors of angles are the coefficient times the radius of the bearing.
        With factor and speed, smooth friction, -factor |F| tanh(x' / speed)."""
        return self._add("Friction", {"name": self._name(name, "friction"), "of": coordinate(of), "factor": number("factor", factor),
                                      "speed": number("speed", speed), "force": number("force", force), "sticking": number("sticking", sticking),
                                      "sticking_factor": number("sticking_factor", sticking_factor)})

    def limit(self, of: Any, lower: float = -np.inf, upper: float = np.inf, *, other: Any = None, ratio: Any = None,
              restitution: float = 0.0, stiffness: float = 0.0, damping: float = 0.0, name: Optional[str] = None) -> str:
        """Adds stops to a coordinate, lower <= x <= upper or, with other= and ratio=, to ratio[0] x_1 + ratio[1] x_2 of two
        coordinates (backlash). A stop is a contact, NAME_lower or NAME_upper, with this coefficient of restitution: it acts in
        solve. With a stiffness it is elastic: beyond it, by the depth s, its force is stiffness s + damping s', as long as that does not
        pull."""
        if (other is None) != (ratio is None):
            raise ValueError("other and ratio go together")
        second = {"joint": None, "k": 0} if other is None else coordinate(other)
        return self._add("Limit", {
            "name": self._name(name, "limit"), "of": [coordinate(of), second],
            "ratio": [1.0, 0.0] if ratio is None else vector("ratio", ratio, 2), "lower": float(lower), "upper": float(upper),
            "restitution": number("restitution", restitution), "stiffness": number("stiffness", stiffness),
            "damping": number("damping", damping)})

    def actuator(self, of: Any = None, gain: Any = (1, 0, 0), bias: Any = (0, 0, 0), *, gear: float = 1.0, control: float = 0.0,
                 control_range: Any = (0, 0), force_range: Any = (0, 0), dynamics: str = "none", times: Any = (0, 0, 0), activation: float = 0.0,
                 activation_range: Any = (0, 0), muscle: Optional[dict] = None, curve: Optional[Function] = None, a: Any = None, b: Any = None,
                 at: Any = (0, 0, 0), at_b: Any = (0, 0, 0), along: Any = (0, 0, 0), push: Any = (0, 0, 0), about: Any = (0, 0, 0),
                 frames: str = "space", name: Optional[str] = None) -> str:
        """Adds an actuator on a coordinate with a control w, the number values["NAME.control"]. With x = gear times the coordinate it
        has the force gear F on it, F = (gain[0] + gain[1] x + gain[2] x') w + bias[0] + bias[1] x + bias[2] x'; w and F are
        clamped to ranges whose ends differ. A motor has gain (1, 0, 0); a servo of the position gain (kp, 0, 0) and
        bias (0, -kp, -kv); one of the velocity gain (kv, 0, 0) and bias (0, 0, -kv). curve: a Function of t, x, x' and w that is added
        to F.

        dynamics: "integrator", "filter" or "muscle": a state z, "NAME.activation", which begins at `activation` and stays in its range, takes
        the place of w (CPActivation; times: its time constants). muscle: the members of CPMuscle, {"force": 500, "length": (0.1, 0.4)}, in
        place of gain and bias.

        Without a coordinate it acts on the distance of the points at= of body a and at_b= of body b; with along=, on the coordinate of
        P_b - P_a in this direction of a; with push= and about=, as a force and a torque along them, which move with b."""
        if dynamics not in DYNAMICS:
            raise ValueError(f"dynamics has to be one of {', '.join(DYNAMICS)}, and is {dynamics!r}")
        three = [*np.atleast_1d(np.asarray(times, dtype=float)), 0.0, 0.0][:3]
        own = {} if muscle is None else {key: vector(key, one, 2) if key in ("length", "range") else number(key, one) for key, one in muscle.items()}
        where = {} if of is not None else {
            "a": body_name(a), "b": body_name(b), "in": frames_of(frames), "point_a": vector("at", at, 3), "point_b": vector("at_b", at_b, 3),
            "along": vector("along", along, 3), "push": vector("push", push, 3), "about": vector("about", about, 3)}
        return self._add("Actuator", {
            "name": self._name(name, "actuator"), **({} if of is None else {"of": coordinate(of)}), "gear": number("gear", gear),
            "control": number("control", control), "gain": vector("gain", (0, 0, 0) if muscle else gain, 3), "bias": vector("bias", bias, 3),
            "control_range": vector("control_range", control_range, 2), "force_range": vector("force_range", force_range, 2),
            "dynamics": DYNAMICS[dynamics], "times": vector("times", three, 3), "activation": number("activation", activation),
            "activation_range": vector("activation_range", activation_range, 2), "muscle": own, **where,
            "function": handle_of("curve", curve)}, keep=[curve])

    def tyre(self, body: str, *, at: Any, radius: float, stiffness: float, friction: float, slip_stiffness: float, speed: float,
             axis: Any = (0, 1, 0), damping: float = 0.0, half_length: float = 0.0, rolling: float = 0.0, ground: Any = (0, 0, 0),
             normal: Any = (0, 0, 1), frames: str = "space", name: Optional[str] = None) -> str:
        """Adds a tyre: the force of the ground, a fixed plane with a point and a normal in space, on a wheel with the centre at= and an
        axis, by the brush model (CPTyre). It rolls along axis x normal if it turns about its axis. Its quantities are "NAME.load", "slip",
        "side_slip", "force", "torque" and "power"."""
        return self._add("Tyre", {
            "name": self._name(name, "tyre"), "body": body_name(body), "in": frames_of(frames), "point": vector("at", at, 3),
            "axis": vector("axis", axis, 3), "ground": vector("ground", ground, 3), "normal": vector("normal", normal, 3),
            "radius": number("radius", radius), "stiffness": number("stiffness", stiffness), "damping": number("damping", damping),
            "friction": number("friction", friction), "slip_stiffness": number("slip_stiffness", slip_stiffness),
            "half_length": number("half_length", half_length), "rolling": number("rolling", rolling), "speed": number("speed", speed)})

    def elastic_sphere(self, b: str, *, at_b: Any, radius: float, modulus: float, speed: float, a: str = "ground", at: Any = (0, 0, 0),
                       axis: Any = (0, 0, 1), radius_a: float = 0.0, damping: float = 0.0, friction: float = 0.0, sticking: float = 0.0,
                       viscous: float = 0.0, share: float = 0.5, frames: str = "space", name: Optional[str] = None) -> str:
        """Adds the force between an elastic sphere of body b and a sphere of body a, or without radius_a its plane through `at` across
        `axis`, by Hertz, Hunt and Crossley (CPElasticSphere). Its quantities are "NAME.load", "force", "torque" and "power"."""
        return self._add("Sphere", {
            "name": self._name(name, "sphere"), "a": body_name(a), "b": body_name(b), "in": frames_of(frames),
            "on_a": {"point": vector("at", at, 3), "axis": vector("axis", axis, 3)}, "on_b": {"point": vector("at_b", at_b, 3)},
            "radius": number("radius", radius), "radius_a": number("radius_a", radius_a), "modulus": number("modulus", modulus),
            "damping": number("damping", damping), "friction": number("friction", friction), "sticking": number("sticking", sticking),
            "viscous": number("viscous", viscous), "speed": number("speed", speed), "share": number("share", share)},
            struct="CPElasticSphere")

    def drag(self, body: str, *, at: Any, edges: Any = (0, 0, 0), half_axes: Any = (0, 0, 0), density: float = 0.0, viscosity: float = 0.0,
             wind: Any = (0, 0, 0), axis: Any = (0, 0, 1), across: Any = (0, 0, 0), blunt: float = 0.5, slender: float = 0.25, angular: float = 1.5,
             kutta: float = 1.0, magnus: float = 1.0, frames: str = "space", name: Optional[str] = None) -> str:
        """Adds the force of a fluid on a body, as on a box with these edges or an ellipsoid with these half axes around the point `at`, with z along
        `axis` and x along `across`, by one of the two models of MuJoCo (CPDrag), whose coefficients of ellipsoids are the defaults here. Its quantities
        are "NAME.force", "torque" and "power"."""
        return self._add("Drag", {
            "name": self._name(name, "drag"), "body": body_name(body), "in": frames_of(frames),
            "on": {"point": vector("at", at, 3), "axis": vector("axis", axis, 3), "across": vector("across", across, 3)},
            "edges": vector("edges", edges, 3), "half_axes": vector("half_axes", half_axes, 3), "density": number("density", density),
            "viscosity": number("viscosity", viscosity), "wind": vector("wind", wind, 3), "blunt": number("blunt", blunt),
            "slender": number("slender", slender), "angular": number("angular", angular), "kutta": number("kutta", kutta),
            "magnus": number("magnus", magnus)})

    def control(self, of: Any, f: Callable, period: float, first: float = 0.0, name: Optional[str] = None, *, delay: float = 0.0) -> str:
        """Adds a controller: at the times first + k period, start and end of a run included, the controls of the actuators `of`, names
        in a list or one name, become f(t, y), and hold until the next sample. Other numbers are set by their names,
        "push.force_x". With a delay they become so later. In solve, controllers act, those of files, too."""
        names_of = [of] if isinstance(of, str) else list(of)
        every = [one if "." in word("the name of an actuator", one) else f"{one}.control" for one in names_of]
        for one in every:
            self.values._index(one)
        if not number("period", period) > 0:
            raise ValueError(f"period has to be > 0, and is {period!r}")
        name = f"controller_{len(self._controllers)}" if name is None else word("name", name)
        if not number("delay", delay) >= 0:
            raise ValueError(f"delay has to be >= 0, and is {delay!r}")
        self._controllers.append((name, f, every, float(period), number("first", first), float(delay)))
        self._query, self.ready = None, False
        return name

    def release(self, joint: str, *, load: float = 0.0, when: Optional[Function] = None, inputs: Sequence[str] = (), at: float = 0.0,
                name: Optional[str] = None) -> str:
        """Releases a joint in solve: as its force exceeds the load, as the Function `when` of t and of the quantities `inputs` becomes
        positive, or at a time. sol.named_events lists what has been released."""
        return self._switch(joint, 0, load, when, inputs, at, self._name(name, "release"))

    def latch(self, joint: str, *, when: Optional[Function] = None, inputs: Sequence[str] = (), at: float = 0.0,
              name: Optional[str] = None) -> str:
        """Closes a joint in solve, which is not there before, where the bodies are, as the Function `when` of t and of the quantities `inputs`
        becomes positive, or at a time; by a plastic impact."""
        return self._switch(joint, 1, 0.0, when, inputs, at, self._name(name, "latch"))

    def _switch(self, joint: str, closes: int, load: float, when: Optional[Function], inputs: Sequence[str], at: float, name: str) -> str:
        return self._add("Release", {
            "name": name, "joint": word("the name of a joint", joint), "load": number("load", load), "at": number("at", at), "closes": closes,
            "function": handle_of("when", when),
            "inputs": " ".join(word("the name of an input", one) for one in inputs)}, keep=[when])

    def shape(self, kind: str, body: str, size: Any = (0, 0, 0), *, points: Any = None, at: Any = (0, 0, 0), axis: Any = (0, 0, 0),
              across: Any = (0, 0, 0), frames: str = "space", name: Optional[str] = None) -> str:
        """Adds a shape for drawings and contacts: "box" with its edges, "cylinder" or "wheel" with (radius, 0, length), "capsule" with
        the same of its cylinder, "sphere" with (radius, 0, 0), "ellipsoid" with its half axes, "plane" with the edges of what is
        drawn of it; "mesh", without a size, is the convex hull of `points`, rows of x, y, z."""
        if kind not in SHAPES:
            raise ValueError(f"a shape is one of {', '.join(SHAPES)}, and not {kind!r}")
        return self._add("Shape", {"name": self._name(name, "shape"), "kind": SHAPES[kind], "body": body_name(body), "in": frames_of(frames),
                                   "on": marker(at, axis, across), "size": vector("size", size, 3), **mesh_of(points)})

    @property
    def bodies(self) -> List[str]:
        """The names of the bodies, in the order of the state."""
        return names(self._open().bodies, lib.CP_BODY)

    @property
    def joints(self) -> List[str]:
        """The names of joints, couplers and drives."""
        return names(self._open().bodies, lib.CP_JOINT)

    # ---- what Mechanism requires ----

    def _sizes(self, t: float = 0.0, q: Any = None, u: Any = None) -> None:
        count = lib.CPBodiesCount(self._open().bodies, lib.CP_BODY)
        if not count:
            raise ValueError("the mechanism has no bodies")
        if self.coordinates == "joint":
            bodies = self._open().bodies
            kinds = [describe(bodies, lib.CP_STATE, i).kind for i in range(lib.CPBodiesCount(bodies, lib.CP_STATE))]
            nq, nu = kinds.count(0), kinds.count(1)
        else:
            nq, nu = (7 * count, 6 * count) if self.dimension == 3 else (3 * count, 3 * count)
        nz = lib.CPBodiesCount(self._open().bodies, lib.CP_STATE) - nq - nu
        self.nq, self.nu, self.nz, self._given = nq, nu, nz, (nq, nu)

    @property
    def names(self) -> List[str]:
        """The names of the components of y: "rod.x", ..., velocities "rod.x'", ..., angular velocities "rod.wx", ...,
        activations "motor.activation", and the work W."""
        return names(self._open().bodies, lib.CP_STATE)

    def _create(self, acts: bool = False) -> BodiesInstance:
        with self._lock:
            self._sizes()
            self._sync(None)
            return BodiesInstance(self, acts)

    def _ask(self, work: Callable[[Any], Any]) -> Any:
        def synchronous(x: BodiesInstance) -> Any:
            self._sync(x)
            return work(x)
        self._open()
        return super()._ask(synchronous)

    def _state(self, y: Any, t: float = 0.0) -> np.ndarray:
        self._sizes()
        return real_array("the state y", y, (self.nq + self.nu + self.nz,))

    def set_active(self, mask: Any) -> None:
        self._ask(lambda x: None) # _ask determines the number of rows
        super().set_active(mask)

    # ---- parameters ----

    def _select(self, params: dict) -> None:
        """Selects the parameters, by name, with respect to which gradients are taken."""
        self._names = sorted(params)
        self.params = dict(params) if params else None
        self.parameters = np.zeros(len(params))
        self._views, self._selected = {}, []

    def _sync(self, x: Optional[BodiesInstance]) -> None:
        """Copies the selected parameters into the mechanism and into an instance."""
        for i, value in zip(self._selected, self.parameters):
            lib.CPBodiesParameters(self._open().bodies)[i] = value
            if x:
                x.values[i] = lib.CPBodiesParameters(x.bodies)[i] = value

    def _set_params(self, params: Any) -> None:
        if not isinstance(params, dict) or not params:
            raise TypeError("params has to be a dict of parameters by name, such as {\"rod.mass\": 2.0}")
        indices = [self.values._index(name) for name in sorted(params)]
        numbers = {name: number(name, params[name]) for name in sorted(params)}
        again = {name: value for name, value in numbers.items() if name in self._of_file and value != self.values[name]}
        if again:
            self._reread(again)
        self._select({name: numbers[name] for name in params})
        self._selected = indices
        self.parameters = np.array([numbers[name] for name in self._names])
        self._views = {name: self.parameters[i:i + 1].reshape(()) for i, name in enumerate(self._names)}
        self._sync(None)

    # ---- states ----

    def placed(self) -> np.ndarray:
        """The state at the placement. Joints are open if the placement is only a rough guess."""
        def work(x: BodiesInstance) -> np.ndarray:
            y = lib.CPBodiesState(x.bodies, x.ctx)
            if not y:
                raise Error(lib.CP_MEM_FAIL, "no memory for a state")
            try:
                return np.frombuffer(ffi.buffer(lib.glue_data(y), 8 * x.n)).copy()
            finally:
                lib.glue_vector_free(y)
        return self._ask(work)

    def assemble(self, y: Any = None, *, t: float = 0.0, held: Any = None, coordinates: Optional[dict] = None,
                 targets: Optional[dict] = None) -> np.ndarray:
        """The consistent state nearest to y (None: the placement). held: names of bodies whose positions and velocities
        stay. Raises Error CP_IC_FAIL, which names a joint that stays open. What the assembly has changed is listed in
        assembly_notes: offsets of redundant rows, which later runs have as well, and start velocities.

        coordinates: values of joints, {"elbow": 0.8}, or limits, {"elbow": (-1, 1)}. targets, for inverse kinematics: poses of
        bodies, {"hand": {"position": (0.4, 0.1, 0.6), "quaternion": (1, 0, 0, 0), "point": (0, 0, 0.1)}}, of which point, in the
        frame of the body, is (0, 0, 0) if it is not given, and position or quaternion may be left out; "along" and "about" are weights,
        1 if they are not given. `miss` is then the root of the least sum of squares of the distances to them, as parts of the
        mechanism's extent, and of the angles [rad]."""
        held = self.held if held is None else held if isinstance(held, str) else " ".join(word("a name in held", one) for one in held)
        guess = self.placed() if y is None else self._state(y)

        def work(x: BodiesInstance) -> np.ndarray:
            x.y[:] = guess
            keep = ffi.new("char[]", held.encode())
            limits = {name: (v, v) if np.ndim(v) == 0 else v for name, v in (coordinates or {}).items()}
            ranges = ffi.new("CPRange[]", [(found(x.bodies, lib.CP_COORDINATE, name), number(name, low), number(name, high))
                                           for name, (low, high) in limits.items()])
            aims = ffi.new("CPTarget[]", [target(x.bodies, name, **pose) for name, pose in (targets or {}).items()])
            a = sized("CPAssembly", held=keep, ranges=ranges, nranges=len(ranges), targets=aims, ntargets=len(aims))
            x.failures.check(lib.CPMechAssemble(x.mech, t, x.y_vector, a), lambda: message_of(x.mech))
            self.assembly_notes, self.miss = text(a.notes), a.miss
            self._offsets = np.frombuffer(ffi.buffer(a.offsets, 8 * a.noffsets)).copy() if a.noffsets else np.zeros(0)
            return x.y.copy()
        return self._ask(work)

    start = assemble

    def solve(self, t_span: Any = None, y0: Any = None, method: Any = None, *arguments: Any, **options: Any) -> Solution:
        """As Mechanism.solve. Without y0 it starts from `assemble()`; a mechanism from a file uses the file's t_span and
        method by default. closure=1e-12 closes loops to 1e-12 at any tolerance."""
        if t_span is None:
            if self.t_end is None:
                raise TypeError("t_span has to be given, as no file says how long the motion lasts")
            t_span = 0.0, self.t_end
        if y0 is None:
            y0 = self.assemble(t=float(np.ravel(t_span)[0])) if self.assembles else self.placed()
        if not self.ready:
            self._ask(lambda x: None) # _ask finds the contacts
        options.setdefault("closure", 1e-12)
        return super().solve(t_span, y0, self.method if method is None else method, *arguments, **options)

    def gradient(self, objective: Any, params: Any = None, *, parameters: Sequence[str] = (), t_span: Any = None, start: Any = None,
                 **options: Any) -> Tuple[Solution, Any]:
        """As Mechanism.gradient, with respect to parameters by name: params={"spring.stiffness": 2e4}, whose values the
        mechanism keeps. The objective, or the end or the integrand of an Objective, may be a quantity by its name, "pin.force.x". parameters: names of the file's own, ["crank"], at their present values, by the chain rule through all
        numbers, placements and functions of the file that depend on them. start: a function of them that returns a state;
        None: `assemble`, which also depends on them."""
        span = (0.0, self.t_end) if t_span is None else t_span
        if parameters:
            wanted = names_of("parameters", parameters)
            if not set(wanted) <= set(self._of_file):
                self._reread({name: None for name in wanted if name not in self._of_file})
            params = {**(params or {}), **{name: self.values[name] for name in wanted}}
        if start is None:
            start = lambda _: self.assemble(t=float(np.ravel(span)[0]))
        objective = Objective(objective) if isinstance(objective, str) else objective
        if isinstance(objective, tuple):
            objective = Objective(*(self._quantity(one) if isinstance(one, str) else one for one in objective))
        try:
            return super().gradient(objective, params, t_span=span, start=start, **options)
        finally: # Differences of starts and of quantities have moved the parameters of the mechanism.
            self._sync(None)

    def _quantity(self, name: str) -> Callable:
        """A quantity by its name as a function of an objective, also of parameters that differences move."""
        def value(t: float, y: np.ndarray, p: Any) -> Any:
            kept = self.parameters.copy()
            self.parameters[:] = [p[one] for one in self._names]
            try:
                return self.sensor(name, t, y)
            finally:
                self.parameters[:] = kept
        return value

    # ---- quantities ----

    def _at(self, y: Any, function: Callable) -> Any:
        y = self._state(y)

        def work(x: BodiesInstance) -> Any:
            x.y[:] = y
            return function(x)
        return self._ask(work)

    def coordinate(self, of: Any, y: Any) -> np.ndarray:
        """The coordinate of a joint and its rate: [2], or [2, k] at the states y [n, k]. The next three functions have the
        same kinds of shapes."""
        named = coordinate(of)
        name = named["joint"] + (f".{named['k']}" if named["k"] else "")

        def one(t: float, y: np.ndarray) -> np.ndarray:
            def work(x: BodiesInstance) -> np.ndarray:
                out, i = np.zeros(2), found(x.bodies, lib.CP_COORDINATE, name)
                check(x.mech, lib.CPMechGetCoordinate(x.mech, i, x.y_vector, pointer(out), pointer(out) + 1))
                return out
            return self._at(y, work)
        return self._each(one, 0.0, y)

    def point(self, body: str, at: Any, y: Any) -> np.ndarray:
        """Position and velocity in space of the point `at` of the body's frame: [6]."""
        name, place = word("body", body), real_array("at", vector("at", at, 3))

        def one(t: float, y: np.ndarray) -> np.ndarray:
            def work(x: BodiesInstance) -> np.ndarray:
                frame, i = sized("CPBodyFrame"), found(x.bodies, lib.CP_BODY, name)
                check(x.mech, lib.CPMechGetFrame(x.mech, i, pointer(place), x.y_vector, frame))
                return np.array([*frame.position, *frame.velocity])
            return self._at(y, work)
        return self._each(one, 0.0, y)

    def frame(self, body: str, y: Any, at: Any = (0, 0, 0)) -> Frame:
        """Forward kinematics: the pose of a body, its motion, and its Jacobian at one state; of the point `at` of its frame."""
        name, place = word("body", body), real_array("at", vector("at", at, 3))

        def work(x: BodiesInstance) -> Frame:
            J, out = np.zeros((x.nu, 6)), sized("CPBodyFrame")
            out.jacobian = pointer(J)
            i = found(x.bodies, lib.CP_BODY, name)
            check(x.mech, lib.CPMechGetFrame(x.mech, i, pointer(place), x.y_vector, out))
            take = {key: np.array(list(getattr(out, key))) for key in ("position", "quaternion", "axes", "velocity", "omega", "bias")}
            take["axes"] = take["axes"].reshape(3, 3).T
            return Frame(**take, jacobian=J.T)
        return self._at(y, work)

    def set_coordinate(self, of: Any, y: Any, value: float, rate: float = 0.0) -> np.ndarray:
        """The state y with another value of a joint of the tree, in joint coordinates: exact; joints that close loops follow
        by `assemble`, which sets coordinates in any formulation."""
        named = coordinate(of)
        name = named["joint"] + (f".{named['k']}" if named["k"] else "")

        def work(x: BodiesInstance) -> np.ndarray:
            i = found(x.bodies, lib.CP_COORDINATE, name)
            check(x.mech, lib.CPMechSetCoordinate(x.mech, i, x.y_vector, number("value", value), number("rate", rate)))
            return x.y.copy()
        return self._at(y, work)

    def reaction(self, joint: str, t: Any, y: Any) -> np.ndarray:
        """The force [N] of a joint on its body b, and the torque about its point there [N m], in the axes of space: [6].
        For drives and couplers, the first number is the generalised force on their coordinates."""
        name = word("joint", joint)

        def one(t: float, y: np.ndarray) -> np.ndarray:
            def work(x: BodiesInstance) -> np.ndarray:
                out, lam = np.zeros(6), np.append(x.evaluate(t, y).multipliers, 0.0)
                x.y[:] = y
                i = found(x.bodies, lib.CP_JOINT, name)
                check(x.mech, lib.CPMechGetReaction(x.mech, i, t, x.y_vector, pointer(lam), pointer(out), pointer(out) + 3))
                return out
            return self._at(y, work)
        return self._each(one, t, y)

    @property
    def sensors(self) -> List[str]:
        """The names of all quantities, "pin.force"; `sensor` describes which further ones there are."""
        return names(self._open().bodies, lib.CP_SENSOR)

    def sensor(self, name: str, t: Any, y: Any) -> Any:
        """A quantity by its name, ELEMENT.QUANTITY, as in files: "pin.force" (a vector, [3]), "pin.force.in(rod).x", "motor.torque",
        "spring.length", "rod.point([0, 0.1, 0]).velocity"; at the states y [n, k] of a solution with the results in columns,
        as sol["pin.force"]. Forces and accelerations beside contacts depend on which are closed: the program cpodes has them."""
        named = word("the name of a quantity", name).encode()

        def one(t: float, y: np.ndarray) -> Any:
            def work(x: BodiesInstance) -> Any:
                i, out = found(x.bodies, lib.CP_SENSOR, name), sized("CPSensor")
                if describe(x.bodies, lib.CP_SENSOR, i).nrates and lib.CPBodiesCount(x.bodies, lib.CP_CONTACT):
                    raise Error(lib.CP_NOT_SUPPORTED, f"{name} depends on which contacts are closed")
                x.failures.check(lib.CPMechGetSensor(x.mech, named, t, x.y_vector, out), lambda: message_of(x.mech))
                value = np.array([out.value[k] for k in range(out.count)])
                return value if out.count > 1 else value[0]
            return self._at(y, work)
        return self._each(one, t, y)[()]

    def powers(self, t: Any, y: Any) -> Powers:
        """The energies and powers."""
        def one(t: float, y: np.ndarray) -> np.ndarray:
            def work(x: BodiesInstance) -> np.ndarray:
                lam = np.append(x.evaluate(t, y).multipliers, 0.0)
                x.y[:] = y
                out = sized("CPPowers")
                x.failures.check(lib.CPMechGetPowers(x.mech, t, x.y_vector, pointer(lam), out),
                                 lambda: message_of(x.mech))
                return np.array([getattr(out, name) for name in Powers._fields])
            return self._at(y, work)
        return Powers(*self._each(one, t, y))

    def energy(self, t: Any, y: Any) -> Any:
        """Kinetic + potential energy [J]."""
        powers = self.powers(t, y)
        return powers.kinetic + powers.potential

    def imbalance(self, t: Any, y: Any) -> Any:
        """energy - W, with balance=True: a constant of the motion."""
        if not self.balance:
            raise ValueError("the state has no work W: Bodies(balance=True)")
        return self.energy(t, y) - np.asarray(y)[-1]

    def points(self, t: float, y: Any) -> Tuple[np.ndarray, np.ndarray]:
        """A drawing: the centres of the bodies (in joint coordinates the origins of their frames) and the points of joints and springs [k, 3], and the pairs of points that
        lines join."""
        def work(x: BodiesInstance) -> Tuple[np.ndarray, np.ndarray]:
            count = lib.CPBodiesCount(x.bodies, lib.CP_BODY)
            if self.coordinates == "joint": # the origins of their frames
                xyz = [x.point(i) for i in range(count)]
            else:
                n = self.nq // count
                xyz = [np.append(x.y[n * i:n * i + (3 if n == 7 else 2)], [] if n == 7 else 0.0) for i in range(count)]
            pairs = []
            for kind in (lib.CP_JOINT, lib.CP_SPRING):
                for i in range(lib.CPBodiesCount(x.bodies, kind)):
                    d, P = describe(x.bodies, kind, i), np.zeros((4, 3))
                    check(x.mech, lib.CPMechGetPoints(x.mech, kind, i, x.y_vector, pointer(P)))
                    first = len(xyz)
                    xyz += [P[0], P[1]]
                    pairs += [(first, first + 1)] + [(side, first + k) for k, side in enumerate((d.a, d.b)) if side >= 0]
            return np.array(xyz), np.array(pairs, dtype=int).reshape(-1, 2)
        return self._at(y, work)


def body_name(value: Any) -> Optional[str]:
    return None if value is None else word("a body", value)

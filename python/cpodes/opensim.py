"""Models of OpenSim, and any mechanism of Simbody in this process, integrated by cpodes.

    state = model.initSystem()
    manager = cpodes.opensim.Manager(model, accuracy=1e-3)
    manager.initialize(state)
    state = manager.integrate(1.0)

See the guide's chapter "OpenSim and Simbody". At the first use one C++ file of this package is compiled against the headers of the
Simbody in the process."""
from __future__ import annotations

import ctypes
import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ._cache import compiled
from ._native import lib as _keeps_cpodes_loaded # noqa: F401

__all__ = ["Event", "Failed", "Integrator", "Limit", "Manager", "Verdict", "nearest"]

HERE = Path(__file__).resolve().parent
KINDS = {2: "trigger", 3: "scheduled", 6: "end"}
REACHED, AT_END = 1, 6


class Failed(RuntimeError):
    """The integration cannot go on. time: that of the last good state, which the manager still has."""

    def __init__(self, message: str, time: float = float("nan")):
        self.time = time
        super().__init__(message)


class Event(NamedTuple):
    """Something at which a handler of the model has acted. kind: "trigger", "scheduled" or "end"."""
    time: float
    kind: str


class Limit(NamedTuple):
    """How much a variable of the state limits the step size. steps: the number of steps since initialize in which it had the largest
    error. error: that of the newest step, in units of what the accuracy allows; NaN if it had no test."""
    name: str
    steps: int
    error: float


class Verdict(NamedTuple):
    """What is known about a run. ok: nothing is wrong. lines: what has been checked, one sentence each."""
    ok: bool
    lines: Tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([("ok" if self.ok else "not ok") + ":", *("  " + line for line in self.lines)])


# ---- the compiled part ----


def loaded(pattern: str) -> List[Path]:
    """The files of shared objects in this process whose names begin with this pattern and .so."""
    with open("/proc/self/maps") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/")}
    return sorted(Path(f) for f in files if re.match(pattern + r"\.so", os.path.basename(f)))


def simbody_of_process() -> Tuple[List[Path], str]:
    """The libraries of Simbody in this process, dependent ones first, and their version."""
    parts = [loaded(rf"libSimTK{part}(_[\d.]+)?") for part in ("simbody", "math", "common")]
    if not all(parts):
        raise ValueError("there is no Simbody in this process: import opensim first")
    if any(len(p) > 1 for p in parts):
        raise ValueError("there are two Simbodys in this process: " + ", ".join(str(p) for p in parts[0]))
    number = [ctypes.c_int() for _ in range(3)]
    ctypes.CDLL(str(parts[2][0])).SimTK_version_SimTKcommon(*map(ctypes.byref, number))
    return [p[0] for p in parts], ".".join(str(n.value) for n in number[:2])


def version_of_headers(folder: Path) -> Optional[str]:
    """The version of Simbody in a source tree, or in a prefix where it is installed; None if it is neither."""
    source = folder / "CMakeLists.txt"
    if source.exists():
        text = source.read_text(errors="replace")
        found = re.search(r"project\(\s*Simbody\s+VERSION\s+(\d+\.\d+)", text, re.I)
        if found:
            return found[1]
        parts = [re.search(rf"set\(\s*SIMBODY_{part}_VERSION\s+(\d+)", text, re.I) for part in ("MAJOR", "MINOR")]
        return ".".join(p[1] for p in parts) if all(parts) else None
    for file in sorted(folder.glob("lib*/**/cmake/simbody/SimbodyConfigVersion.cmake")):
        found = re.search(r'set\(\s*PACKAGE_VERSION\s+"?(\d+\.\d+)', file.read_text(), re.I)
        if found:
            return found[1]
    return None


def folders_of_headers(folder: Path) -> List[Path]:
    """What to give to the compiler as folders of includes."""
    if (folder / "SimTKcommon").is_dir(): # the sources
        return sorted(p for part in ("SimTKcommon", "SimTKmath", "Simbody") for p in (folder / part).glob("**/include")
                      if "src" not in p.relative_to(folder).parts)
    return [p for p in (folder / "include" / "simbody", folder / "include") if (p / "SimTKsimbody.h").exists()]


def headers(version: str, given: Optional[Any]) -> List[Path]:
    """The folders of the headers of this version of Simbody."""
    if given is None:
        given = os.environ.get("CPODES_SIMBODY")
    where = "simbody=FOLDER, or the environment variable CPODES_SIMBODY, names the sources of Simbody or the prefix where it is installed"
    if given is not None:
        folder = Path(given)
        if folder.name == "simbody" and folder.parent.name == "include": # .../include/simbody means the prefix
            folder = folder.parents[1]
        found, folders = version_of_headers(folder), folders_of_headers(folder)
        if not folders or not found:
            raise ValueError(f"{given} has no headers of Simbody whose version can be found: {where}")
        if found != version:
            raise ValueError(f"the headers in {given} are those of Simbody {found}, and the Simbody in this process is {version}")
        return folders
    for prefix in map(Path, (sys.prefix, os.environ.get("CONDA_PREFIX", sys.prefix), "/usr", "/usr/local")):
        folders = folders_of_headers(prefix)
        if folders and version_of_headers(prefix) == version:
            return folders
    raise ValueError(f"there are no headers of Simbody {version}, which is in this process: {where}")


def compiled_bridge(simbody: Optional[Any]) -> ctypes.CDLL:
    """The compiled part for the Simbody in this process."""
    binaries, version = simbody_of_process()
    if not (3, 7) <= tuple(map(int, version.split("."))) <= (3, 9):
        raise ValueError(f"the Simbody in this process is {version}, and cpodes supports 3.7 to 3.9")
    return built_for(tuple(binaries), version, tuple(headers(version, simbody)))


@functools.lru_cache(maxsize=None)
def built_for(binaries: Tuple[Path, ...], version: str, given: Tuple[Path, ...]) -> ctypes.CDLL:
    own = loaded("libcpodes") + loaded(r"libsundials_\w+")
    sources = HERE / "simbody"
    text = "".join(p.read_text() for p in sorted(sources.glob("*/**/*.[ch]*"))) if sources.is_dir() else ""
    if not text:
        raise ValueError(f"{sources} is missing: this package was installed without the sources for Simbody")
    include = [sources / "include", HERE / "include", *given]
    # The libraries of cpodes come first: libSimTKmath exports other functions with the names of SUNDIALS.
    command = [*shlex.split(os.environ.get("CXX", "c++")), *shlex.split(os.environ.get("CXXFLAGS", "")), "-std=c++17", "-O2", "-shared", "-fPIC",
               "-fvisibility=hidden", "-UNDEBUG", "-w", *(f"-I{p}" for p in include[:2]), *(f"-isystem{p}" for p in include[2:]),
               str(sources / "python" / "manager.cpp"), *map(str, own), *map(str, binaries),
               *(f"-Wl,-rpath,{p}" for p in sorted({str(p.parent) for p in [*own, *binaries]}))]
    stamps = [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in [*own, *binaries]]

    def build(folder: Path) -> Path:
        made = folder / "simbody.so"
        try:
            done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True)
        except FileNotFoundError:
            raise RuntimeError(f"there is no compiler {command[0]}: set CXX to one of C++17") from None
        if done.returncode:
            raise RuntimeError(f"the compiler failed on cpodes' part for Simbody {version}:\n{done.stderr[-4000:]}")
        return made
    found = compiled([command, stamps, text], build)
    found.simbody_create.restype = ctypes.c_void_p
    for name in ("simbody_message", "simbody_statistic", "simbody_method"):
        getattr(found, name).restype = ctypes.c_char_p
    found.simbody_time.restype = ctypes.c_double
    return found


def address(thing: Any) -> ctypes.c_void_p:
    """That of a system or state: a number, or an object of SWIG."""
    return ctypes.c_void_p(int(getattr(thing, "this", thing)))


# ---- any system ----


class Integrator:
    """Integrates a SimTK::MultibodySystem that exists in this process. system: its address, or OpenSim's object for it.

    method: "auto", "adams", "bdf", "dop853", "radau", "bs54" or "bs32". accuracy, constraint_tolerance: Simbody's; the tolerance is a tenth of
    the accuracy if it is None. period: the time between two calls of step, where a controller acts; "auto" is then "bs32", which restarts
    at no cost. balance: add up the work of all forces, for balance() and verdict(). simbody: where the headers are. options:
    first_step, least_step, most_step, infinity_norm."""

    def __init__(self, system: Any, method: str = "auto", accuracy: float = 1e-3, *, constraint_tolerance: Optional[float] = None,
                 period: Optional[float] = None, balance: bool = False, simbody: Optional[Any] = None, **options: float):
        self._lib = compiled_bridge(simbody)
        self._run: Optional[ctypes.c_void_p] = None
        message = ctypes.create_string_buffer(400)
        chosen = "bs32" if method == "auto" and period is not None else method
        self._run = self._lib.simbody_create(address(system), chosen.encode(), message, len(message))
        if not self._run:
            raise ValueError(message.value.decode())
        self._run = ctypes.c_void_p(self._run)
        self._system, self._balance = system, balance
        self.events: List[Event] = []
        self._violation, self._initialized = 0.0, False
        options = {"accuracy": accuracy, **options}
        if constraint_tolerance is not None:
            options["constraint_tolerance"] = constraint_tolerance
        if balance:
            options["balance"] = 1
        for name, value in options.items():
            if self._lib.simbody_set(self._run, name.encode(), ctypes.c_double(value)):
                raise ValueError(self._message())

    def close(self) -> None:
        """Frees the integrator, which must happen before its system is freed; it is done as well when no reference is left."""
        run, self._run, self._initialized = getattr(self, "_run", None), None, False
        if run:
            self._lib.simbody_free(run)

    __del__ = close

    def _message(self) -> str:
        return self._named(self._lib.simbody_message(self._run).decode())

    def _named(self, text: str) -> str:
        return text

    def _check(self, flag: int) -> int:
        if flag < 0:
            raise Failed(self._message(), self.time if self._initialized else float("nan"))
        return flag

    def initialize(self, state: Any) -> None:
        """Starts at a state, which is projected onto the constraints. It is copied."""
        self._initialized = False
        self._check(self._lib.simbody_initialize(self._run, address(state)))
        self._initialized, self._violation = True, 0.0
        self.events.clear()

    def _needs_start(self) -> None:
        if not self._initialized:
            raise ValueError("call initialize first")

    def step(self, t: float) -> bool:
        """Integrates to t, exactly, through all events before it. Returns whether t has been reached, and not an end that a handler asks
        for. Nothing restarts between two calls, unless restart is called between them."""
        self._needs_start()
        if not t >= self.time:
            raise ValueError(f"{t} s lies before {self.time} s, the time of the state")
        while True:
            status = self._check(self._lib.simbody_step(self._run, ctypes.c_double(t)))
            if status in KINDS:
                if status != 3 or self.time < t:
                    self.events.append(Event(self.time, KINDS[status]))
            if status == AT_END or status == REACHED and self.time >= t:
                break
        self._violation = max(self._violation, *self.violation)
        return status != AT_END

    def restart(self, state: Any = None) -> None:
        """Goes on from another state, or from the present one where something that no state contains has changed: a control, a parameter
        of a force. An explicit method then goes on with its step size."""
        self._needs_start()
        self._check(self._lib.simbody_restart(self._run, address(state) if state is not None else None, int(state is None)))

    @property
    def time(self) -> float:
        return self._lib.simbody_time(self._run)

    @property
    def y(self) -> np.ndarray:
        """The state: coordinates q, speeds u, and auxiliary states z."""
        self._needs_start()
        values = np.empty(self._lib.simbody_y(self._run, None))
        self._lib.simbody_y(self._run, values.ctypes.data_as(ctypes.c_void_p))
        return values

    @property
    def sizes(self) -> Tuple[int, int, int]:
        """The numbers of q, u and z in y."""
        self._needs_start()
        numbers = (ctypes.c_int * 3)()
        self._lib.simbody_sizes(self._run, numbers)
        return tuple(numbers) # type: ignore[return-value]

    @property
    def method(self) -> str:
        """The one in use."""
        return self._lib.simbody_method(self._run).decode().replace("CPodesProjected", "").lower()

    @property
    def statistics(self) -> Dict[str, float]:
        """Counts of steps, realizations of forces and so on since initialize, and the sizes of steps."""
        found: Dict[str, float] = {}
        value = ctypes.c_double()
        while True:
            name = self._lib.simbody_statistic(self._run, len(found), ctypes.byref(value))
            if name is None:
                return found
            found[name.decode()] = value.value

    @property
    def violation(self) -> Tuple[float, float]:
        """The largest weighted violation of a constraint by the present state, at positions and at velocities."""
        self._needs_start()
        both = (ctypes.c_double * 2)()
        self._check(self._lib.simbody_violation(self._run, both))
        return tuple(both) # type: ignore[return-value]

    def names(self) -> List[str]:
        """The names of the elements of y."""
        nq, nu, nz = self.sizes
        return [f"{of}[{k}]" for of, n in (("q", nq), ("u", nu), ("z", nz)) for k in range(n)]

    def limits(self) -> List[Limit]:
        """What limits the step size: the variables, those that had the largest error in most steps first."""
        self._needs_start()
        names = self.names()
        steps, errors = np.zeros(len(names), dtype=np.intc), np.zeros(len(names))
        self._check(self._lib.simbody_limits(self._run, steps.ctypes.data_as(ctypes.c_void_p), errors.ctypes.data_as(ctypes.c_void_p)))
        return sorted(map(Limit, names, map(int, steps), map(float, errors)), key=lambda one: (-one.steps, -one.error))

    def balance(self) -> Dict[str, float]:
        """Energies in J: kinetic, potential (as the forces state it), work of all forces on the bodies since the start, what has been
        exchanged (the work without its sign), and residual = change of the kinetic energy - work, which is zero for an exact solution
        of the equations of motion. It does not depend on the potential energies that forces state."""
        self._needs_start()
        if not self._balance:
            raise ValueError("set balance=True: the work is added up during the run")
        e = (ctypes.c_double * 5)()
        self._check(self._lib.simbody_energy(self._run, e))
        return {"kinetic": e[0], "potential": e[1], "work": e[3], "exchanged": e[4], "residual": e[0] - e[2] - e[3]}

    def verdict(self) -> Verdict:
        """What is known about the run since initialize: constraints at the states that have been returned, and the balance of energy."""
        self._needs_start()
        s = self.statistics
        closed = self._violation <= s["constraint_tolerance"]
        lines = [f"constraints are {'closed' if closed else 'OPEN'}: largest violation {self._violation:.1e}, tolerance {s['constraint_tolerance']:.1e}"]
        balanced = True
        if self._balance:
            b = self.balance()
            allowed = 10 * s["accuracy"] * max(b["exchanged"], b["kinetic"])
            balanced = abs(b["residual"]) <= allowed
            lines.append(f"energy {'is balanced' if balanced else 'is NOT balanced: the equations of motion, or the accuracy, are in question'}: "
                         f"{b['residual']:.1e} J of {b['exchanged']:.1e} J exchanged are unexplained")
        lines.append(f"{self.method}: {s['steps']:.0f} steps, {s['realizations']:.0f} realizations, {len(self.events)} events")
        return Verdict(closed and balanced, tuple(lines))


# ---- OpenSim ----


def names_of(model: Any, state: Any, lib: ctypes.CDLL) -> List[str]:
    """OpenSim's names of the elements of the state's y; None where it has none."""
    import opensim
    marked = opensim.State(state)
    n = lib.simbody_number(address(marked), ctypes.c_double(1.0))
    names: List[Any] = [None] * n
    paths, values = model.getStateVariableNames(), model.getStateVariableValues(marked)
    for k in range(paths.getSize()):
        index = int(round(values.get(k))) - 1
        if 0 <= index < n and values.get(k) == index + 1:
            names[index] = paths.get(k)
    return names


def constraints_of(model: Any, state: Any, lib: ctypes.CDLL) -> Dict[str, str]:
    """OpenSim's names of Simbody's constraints: those that change when one of OpenSim's is switched on or off, or a lock."""
    import opensim
    system = address(model.getMultibodySystem())

    def disabled(of: Any) -> np.ndarray:
        found = np.zeros(lib.simbody_disabled(system, address(of), None), dtype=np.intc)
        lib.simbody_disabled(system, address(of), found.ctypes.data_as(ctypes.c_void_p))
        return found
    before, names = disabled(opensim.State(state)), {}
    of_model, coordinates = model.getConstraintSet(), model.getCoordinateSet()
    for parts, toggle in ((of_model, lambda c, s: c.setIsEnforced(s, not c.isEnforced(s))),
                          (coordinates, lambda c, s: c.setLocked(s, not c.getLocked(s)))):
        for part in (parts.get(k) for k in range(parts.getSize())):
            other = opensim.State(state)
            toggle(part, other)
            for k in np.flatnonzero(disabled(other) != before):
                names[f"constraint[{k}]"] = part.getAbsolutePathString()
    return names


class Manager(Integrator):
    """Integrates a model of OpenSim; names and meanings are those of opensim.Manager where it has them. Options: those of Integrator.

    The state table gets a row at the start, at the end of each call of integrate or step, and at each `every` seconds that integrate is
    asked for. Reporters and event handlers of the model work; analyses of the model are not called."""

    def __init__(self, model: Any, method: str = "auto", accuracy: float = 1e-3, **options: Any):
        self._model = model
        self._names: List[Any] = []
        self._rows: List[Tuple[float, np.ndarray]] = []
        super().__init__(model.getMultibodySystem(), method, accuracy, **options)

    def _named(self, text: str) -> str:
        """The message with OpenSim's names in place of Simbody's indices"""
        where = {f"{of}[{k}]": name for (of, k), name in zip(self._places(), self._names) if name} if self._names else {}
        if "constraint[" in text:
            where.update(constraints_of(self._model, self._template, self._lib))
        if "cannot be assembled" in text:
            coordinates = self._model.getCoordinateSet()
            locked = [c.getAbsolutePathString() for c in (coordinates.get(k) for k in range(coordinates.getSize())) if c.getLocked(self._template)]
            text = text.rstrip(" .") + (f"; locked: {', '.join(locked)}" if locked else "") + "."
        text = re.sub(r"\b([quz])'(\[\d+\])", lambda found: f"the rate of {where.get(found[1] + found[2], found[0])}", text)
        return re.sub(r"\b([quz]|constraint)\[\d+\]", lambda found: where.get(found[0], found[0]), text)

    def _places(self) -> List[Tuple[str, int]]:
        return [(of, k) for of, n in zip("quz", self._counts) for k in range(n)]

    def names(self) -> List[str]:
        return [name or plain for name, plain in zip(self._names, super().names())]

    def initialize(self, state: Any) -> Any:
        """Starts at a state, which is projected onto the constraints, and returns a copy of the result."""
        import opensim
        self._counts = state.getNQ(), state.getNU(), state.getNZ()
        self._names = names_of(self._model, state, self._lib)
        self._template = opensim.State(state)
        super().initialize(state)
        self._rows = [(self.time, self.y)]
        return self.state

    @property
    def state(self) -> Any:
        """A copy of the present state."""
        import opensim
        self._needs_start()
        copy = opensim.State(self._template)
        self._check(self._lib.simbody_state(self._run, address(copy)))
        return copy

    def step(self, t: float) -> bool:
        done = super().step(t)
        self._rows.append((self.time, self.y))
        return done

    def integrate(self, t: float, every: Optional[float] = None) -> Any:
        """Integrates to t and returns a copy of the state. every: seconds between rows of the table."""
        self._needs_start()
        if every is not None:
            start, k = self.time, 1
            while start + k * every < t and self.step(start + k * every):
                k += 1
        self.step(t)
        return self.state

    def states_table(self) -> Any:
        """The states so far, as opensim.TimeSeriesTable with OpenSim's names."""
        import opensim
        self._needs_start()
        columns = [k for k, name in enumerate(self._names) if name]
        table = opensim.TimeSeriesTable()
        table.setColumnLabels([self._names[k] for k in columns])
        for time, y in self._rows:
            table.appendRow(time, opensim.RowVector([float(y[k]) for k in columns]))
        return table


def nearest(model: Any, state: Any, tolerance: float = 1e-6, *, simbody: Optional[Any] = None) -> Any:
    """The state nearest to another one that satisfies constraints, locks and prescribed motions to a tolerance: with the least RMS
    change of the coordinates, then of the speeds, in Simbody's weights. model: of OpenSim. Returns a copy, and both changes."""
    import opensim
    lib = compiled_bridge(simbody)
    copy, moved, message = opensim.State(state), (ctypes.c_double * 2)(), ctypes.create_string_buffer(1000)
    if lib.simbody_nearest(address(model.getMultibodySystem()), address(state), ctypes.c_double(tolerance), address(copy), moved,
                           message, len(message)):
        raise Failed(message.value.decode())
    return copy, tuple(moved)

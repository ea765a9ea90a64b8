"""Accelerations of robots in URDF and MJCF by the recursion of Newton and Euler in spatial vectors (R. Featherstone, Rigid Body Dynamics
Algorithms, 2008, table 5.1), about the origin of space, with its own reading of the files: nothing here is of cpodes.

A file is a list of nodes, each with one joint or none; a body with several joints is a chain of nodes whose last one has its mass. MJCF needs
an `inertial` in each body, and no default classes. `python recursion.py FILE...` compares cpodes with it at random states."""
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

import numpy as np

HINGE, SLIDE, FIXED = "angle", "displacement", None


def cross(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(axis, angle):  # Rodrigues
    K = cross(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def of_quaternion(e):
    w, v = e[0] / np.linalg.norm(e), np.asarray(e[1:]) / np.linalg.norm(e)
    return np.eye(3) + 2 * w * cross(v) + 2 * cross(v) @ cross(v)


def of_rpy(a):
    return rotation([0, 0, 1], a[2]) @ rotation([0, 1, 0], a[1]) @ rotation([1, 0, 0], a[0])


def numbers(n, key, default):
    return np.array([float(x) for x in n.get(key, default).split()]) if n is not None else np.array([float(x) for x in default.split()])


@dataclass
class Node:
    """R, p: its frame in that of its parent at x = ref; c, a: a point and the axis of its joint, in its own frame; h, J: centre of mass, and
    inertia about it"""
    parent: int
    R: np.ndarray
    p: np.ndarray
    name: str = ""
    kind: object = FIXED
    a: np.ndarray = field(default_factory=lambda: np.zeros(3))
    c: np.ndarray = field(default_factory=lambda: np.zeros(3))
    m: float = 0.0
    h: np.ndarray = field(default_factory=lambda: np.zeros(3))
    J: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    ref: float = 0.0
    stiffness: float = 0.0
    springref: float = 0.0
    damping: float = 0.0
    armature: float = 0.0


@dataclass
class Robot:
    nodes: list
    gravity: np.ndarray
    points: list = field(default_factory=list)  # (node, point, node, point): a point of each, in its frame, which meet
    couples: list = field(default_factory=list)  # (node, node, [c0, ..., c4]): x - ref = sum c_k (y - ref)^k


def symmetric(xx, yy, zz, xy, xz, yz):
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_urdf(root):
    joints = {j.find("child").get("link"): j for j in root.findall("joint")}
    links = {n.get("name"): n for n in root.findall("link")}
    robot, at, names = Robot([], np.array([0, 0, -9.81])), {}, {}

    def place(name):
        if name in at or name not in joints:
            return at.get(name, -1)
        j, link = joints[name], links[name]
        origin, axis, dynamics = j.find("origin"), j.find("axis"), j.find("dynamics")
        kind = {"revolute": HINGE, "continuous": HINGE, "prismatic": SLIDE, "fixed": FIXED}[j.get("type")]
        a = numbers(axis, "xyz", "1 0 0")
        node = Node(place(j.find("parent").get("link")), of_rpy(numbers(origin, "rpy", "0 0 0")), numbers(origin, "xyz", "0 0 0"),
                    j.get("name"), kind, a / np.linalg.norm(a) if kind else a)
        node.damping = float(dynamics.get("damping", 0)) if dynamics is not None and kind else 0.0
        inertial = link.find("inertial")
        if inertial is not None:
            R, J = of_rpy(numbers(inertial.find("origin"), "rpy", "0 0 0")), inertial.find("inertia")
            node.m, node.h = float(inertial.find("mass").get("value")), numbers(inertial.find("origin"), "xyz", "0 0 0")
            node.J = R @ symmetric(*(float(J.get(k, 0)) for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))) @ R.T
        at[name] = names[node.name] = len(robot.nodes)
        robot.nodes.append(node)
        return at[name]

    for name in links:
        place(name)
    for j in joints.values():
        mimic = j.find("mimic")
        if mimic is not None and j.get("type") != "fixed":
            c = [float(mimic.get("offset", 0)), float(mimic.get("multiplier", 1))]
            robot.couples.append((names[j.get("name")], names[mimic.get("joint")], c))
    return robot


def read_mjcf(root):
    option, compiler = root.find("option"), root.find("compiler")
    unit = 1 if compiler is not None and compiler.get("angle") == "radian" else np.pi / 180
    robot, names, bodies = Robot([], numbers(option, "gravity", "0 0 -9.81")), {}, {}

    def body(n, parent):
        R, p = of_quaternion(numbers(n, "quat", "1 0 0 0")), numbers(n, "pos", "0 0 0")
        for j in n.findall("joint") or [None]:
            node = Node(parent, R, p)
            if j is not None:
                hinge = j.get("type", "hinge") == "hinge"
                node.name, node.kind, node.c, node.a = j.get("name"), HINGE if hinge else SLIDE, numbers(j, "pos", "0 0 0"), numbers(j, "axis", "0 0 1")
                node.a = node.a / np.linalg.norm(node.a)
                for key in ("ref", "springref", "stiffness", "damping", "armature"):
                    setattr(node, key, float(j.get(key, 0)) * (unit if hinge and "ref" in key else 1))
                names[node.name] = len(robot.nodes)
            R, p, parent = np.eye(3), np.zeros(3), len(robot.nodes)
            robot.nodes.append(node)
        inertial, bodies[n.get("name")] = n.find("inertial"), parent
        if inertial is not None:
            node.m, node.h = float(inertial.get("mass")), numbers(inertial, "pos", "0 0 0")
            J = numbers(inertial, "fullinertia", "0 0 0 0 0 0") if inertial.get("fullinertia") else np.append(numbers(inertial, "diaginertia", "0 0 0"), [0, 0, 0])
            Q = of_quaternion(numbers(inertial, "quat", "1 0 0 0"))
            node.J = Q @ symmetric(*J) @ Q.T
        for child in n.findall("body"):
            body(child, parent)

    for n in root.find("worldbody").findall("body"):
        body(n, -1)
    equality = root.find("equality")
    for e in equality if equality is not None else ():
        if e.tag == "joint":
            robot.couples.append((names[e.get("joint1")], names[e.get("joint2")], numbers(e, "polycoef", "0 1 0 0 0")))
        else:  # connect; the point of the second body is that where all joints are at ref
            one, two = bodies[e.get("body1")], bodies.get(e.get("body2"), -1)
            R, p = poses(robot, [n.ref for n in robot.nodes])[:2]
            point = p[one] + R[one] @ numbers(e, "anchor", "0 0 0")
            robot.points.append((one, numbers(e, "anchor", "0 0 0"), two, R[two].T @ (point - p[two]) if two >= 0 else point))
    return robot


def read(path):
    root = ET.parse(path).getroot()
    return read_mjcf(root) if root.tag == "mujoco" else read_urdf(root)


def poses(robot, x):
    """Frames R, p in space, and the axes S of the joints as motion vectors [omega; v of the origin of space]."""
    R, p, S = [], [], []
    for n, value in zip(robot.nodes, x):
        R0, p0 = (R[n.parent], p[n.parent]) if n.parent >= 0 else (np.eye(3), np.zeros(3))
        Q, r = R0 @ n.R, p0 + R0 @ n.p
        turn = rotation(n.a, value - n.ref) if n.kind == HINGE else np.eye(3)
        axis, point = Q @ n.a, r + Q @ n.c
        S.append(np.concatenate([axis, np.cross(point, axis)] if n.kind == HINGE else [np.zeros(3), axis]))
        R.append(Q @ turn)
        p.append(point - Q @ turn @ n.c if n.kind == HINGE else r + axis * (value - n.ref) * (n.kind == SLIDE))
    return R, p, S


def motion(robot, x, v, acc, gravity):
    """Table 5.1, outwards: R, p, S, velocities and accelerations of all nodes."""
    R, p, S = poses(robot, x)
    V, A = [], []
    for i, n in enumerate(robot.nodes):
        V0, A0 = (V[n.parent], A[n.parent]) if n.parent >= 0 else (np.zeros(6), np.concatenate([np.zeros(3), -gravity]))
        V.append(V0 + S[i] * v[i])
        A.append(A0 + S[i] * acc[i] + np.concatenate([cross(V0[:3]) @ S[i][:3], cross(V0[3:]) @ S[i][:3] + cross(V0[:3]) @ S[i][3:]]) * v[i])
    return R, p, S, V, A


def forces(robot, x, v, acc, gravity):
    """Table 5.1, inwards: the generalised forces that these accelerations need."""
    R, p, S, V, A = motion(robot, x, v, acc, gravity)
    F = [np.zeros(6) for _ in robot.nodes]
    for i in reversed(range(len(robot.nodes))):
        n = robot.nodes[i]
        c, J = p[i] + R[i] @ n.h, R[i] @ n.J @ R[i].T
        inertia = np.block([[J - n.m * cross(c) @ cross(c), n.m * cross(c)], [-n.m * cross(c), n.m * np.eye(3)]])
        h = inertia @ V[i]
        F[i] += inertia @ A[i] + np.concatenate([cross(V[i][:3]) @ h[:3] + cross(V[i][3:]) @ h[3:], cross(V[i][:3]) @ h[3:]])
        if n.parent >= 0:
            F[n.parent] += F[i]
    return np.array([s @ f for s, f in zip(S, F)])


def rows(robot, x, v, acc):
    """Second derivatives of all loops and couplings."""
    R, p, _, V, A = motion(robot, x, v, acc, np.zeros(3))
    out = []

    def acceleration(i, point):
        if i < 0:
            return np.zeros(3)
        r, w, alpha = p[i] + R[i] @ point, V[i][:3], A[i][:3]
        speed = V[i][3:] + np.cross(w, r)
        return A[i][3:] + np.cross(alpha, r) + np.cross(w, speed)

    for i, one, j, two in robot.points:
        out.extend(acceleration(i, one) - acceleration(j, two))
    for i, j, c in robot.couples:
        y = x[j] - robot.nodes[j].ref
        slope, bend = (sum(k * c[k] * y**(k - 1) for k in range(1, len(c))), sum(k * (k - 1) * c[k] * y**(k - 2) for k in range(2, len(c))))
        out.append(acc[i] - slope * acc[j] - bend * v[j]**2)
    return np.array(out)


def accelerations(robot, x, v):
    """x, v, and the result: of all nodes, 0 where there is no joint. Gauss' principle if there are loops."""
    free = [i for i, n in enumerate(robot.nodes) if n.kind]
    none, units = np.zeros(len(x)), np.eye(len(x))
    M = np.array([forces(robot, x, none, units[i], np.zeros(3)) for i in free])[:, free] + np.diag([robot.nodes[i].armature for i in free])
    f = np.array([-n.stiffness * (x[i] - n.springref) - n.damping * v[i] for i, n in enumerate(robot.nodes)]) - forces(robot, x, v, none, robot.gravity)
    b = rows(robot, x, v, none)
    G = np.array([rows(robot, x, none, units[i]) for i in free]).T.reshape(len(b), len(free))
    # Rows of loops may depend on each other: the least multipliers give the same accelerations.
    solved = np.linalg.solve(M, np.column_stack([f[free], G.T]))
    multipliers = np.linalg.lstsq(G @ solved[:, 1:], G @ solved[:, 0] + b, rcond=1e-12)[0] if len(b) else np.zeros(0)
    out = np.zeros(len(x))
    out[free] = solved[:, 0] - solved[:, 1:] @ multipliers
    return out


def difference(path, seed=0, states=5, width=0.7):
    """The largest difference of accelerations from those of cpodes at random states, relative to the largest one."""
    import cpodes
    robot, m, rng, worst = read(path), cpodes.Bodies.read(str(path), coordinates="joint"), np.random.default_rng(seed), 0.0
    start, columns = m.placed(), {name: k for k, name in enumerate(m.names)}
    names = [f"{re.sub('[ .]', '_', n.name)}.{n.kind}" for n in robot.nodes]
    at = [(i, columns[name], columns[name + "'"]) for i, name in enumerate(names) if name in columns]
    assert len(at) == m.nu, "cpodes has other coordinates"
    for _ in range(states):
        x, v, y = np.array([n.ref for n in robot.nodes]), np.zeros(len(robot.nodes)), start.copy()
        for i, q, u in at:
            x[i], v[i] = y[q], y[u] = x[i] + rng.uniform(-width, width), rng.uniform(-2, 2)
        own, theirs = accelerations(robot, x, v), np.asarray(m.accelerations(0.0, y))
        worst = max(worst, max(abs(own[i] - theirs[u - m.nq]) for i, _, u in at) / (1 + np.abs(own).max()))
    return worst


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            print(f"{difference(name):.1e} {name}")
        except Exception as problem:
            print(f"{type(problem).__name__}: {problem}: {name}")

"""Robots that are read accelerate as an independent recursion says, and as MuJoCo says if it is there. CPODES_ROBOTS may name a folder with further
files in URDF."""
import os
from pathlib import Path

import numpy as np
import pytest

import recursion

FILES = Path(__file__).resolve().parents[2] / "examples" / "mechanisms"
BOUND = 1e-10  # relative to the largest acceleration; trees of up to 20 links with random masses have condition numbers of up to 1e5


def text(values):
    return " ".join(f"{x:.15g}" for x in np.atleast_1d(values))


def inertia(rng):
    """A mass [kg], its centre [m], and the components xx, yy, zz, xy, xz, yz of the inertia [kg m^2] of some points with masses"""
    r, m = rng.normal(size=(6, 3)) * 0.2, rng.uniform(0.1, 1, 6)
    centre = m @ r / m.sum()
    J = sum(k * (x @ x * np.eye(3) - np.outer(x, x)) for k, x in zip(m, r - centre))
    return m.sum(), centre, J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def urdf(rng, n=20):
    """A random tree: all kinds of joints, links without mass between two joints, damping, and a mimic joint"""
    out, massless = ["<robot name='r'><link name='l0'/>"], {0}
    for i in range(1, n):
        kind = rng.choice(["continuous", "revolute", "prismatic", "fixed"]) if i > 1 else "continuous"
        parent = int(rng.integers(0, i))
        if massless - {0}:  # it needs a link that has mass
            parent, kind = massless.difference({0}).pop(), "continuous"
        kind = "revolute" if i == n - 1 else kind
        limit = "<limit lower='-3' upper='3' effort='1' velocity='1'/>" * (kind in ("revolute", "prismatic"))
        mimic = "<mimic joint='j1' multiplier='-1.5' offset='0.2'/>" * (i == n - 1)
        out.append(f"<joint name='j{i}' type='{kind}'><parent link='l{parent}'/><child link='l{i}'/><origin "
                   f"xyz='{text(rng.normal(size=3) * 0.3)}' rpy='{text(rng.uniform(-3, 3, 3))}'/><axis xyz='{text(rng.normal(size=3))}'/>"
                   f"{limit}<dynamics damping='{rng.uniform(0, 1):.15g}'/>{mimic}</joint>")
        massless.discard(parent)
        if kind != "fixed" and i < n - 2 and rng.random() < 0.15:
            massless.add(i)
            out.append(f"<link name='l{i}'/>")
            continue
        m, c, J = inertia(rng)
        entries = " ".join(f"{k}='{x:.15g}'" for k, x in zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), J))
        out.append(f"<link name='l{i}'><inertial><origin xyz='{text(c)}'/><mass value='{m:.15g}'/><inertia {entries}/></inertial></link>")
    return "".join(out) + "</robot>"


def mjcf(rng, n=12, loop=False):
    """A random tree: bodies with up to three joints in a row, springs, dampers and rotors, and a loop and a polynomial coupling"""
    joints = iter(range(100))

    def joint():
        j, kind = next(joints), rng.choice(["hinge", "slide"])
        return (f"<joint name='j{j}' type='{kind}' pos='{text(rng.normal(size=3) * 0.2)}' axis='{text(rng.normal(size=3))}' ref='{rng.normal() * 0.3:.15g}' "
                f"stiffness='{rng.uniform(0, 5):.15g}' springref='{rng.normal():.15g}' damping='{rng.uniform(0, 1):.15g}' armature='{rng.uniform(0, 0.1):.15g}'/>")

    def body(i, n):
        m, c, J = inertia(rng)
        inner, left = "", n - 1
        while left > 0:
            size = int(rng.integers(1, left + 1))
            inner, left = inner + body(i + n - left, size), left - size
        return (f"<body name='b{i}' pos='{text(rng.normal(size=3) * 0.3)}' quat='{text(rng.normal(size=4))}'>{''.join(joint() for _ in range(rng.integers(1, 4)))}"
                f"<inertial pos='{text(c)}' mass='{m:.15g}' fullinertia='{text(J)}'/>{inner}</body>")

    tree = body(0, n)
    closed = ("<equality><connect body1='b3' body2='b7' anchor='0.1 -0.2 0.3'/><joint joint1='j0' joint2='j5' polycoef='0 1 0.5 -0.3 0.1'/></equality>"
              if loop else "")
    return f"<mujoco><compiler angle='radian'/><option gravity='1 -2 -9'/><worldbody>{tree}</worldbody>{closed}</mujoco>"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["urdf", "mjcf", "loop"])
def test_random_robots_accelerate_as_the_recursion(tmp_path, kind, seed):
    rng = np.random.default_rng(seed)
    file = tmp_path / ("r.urdf" if kind == "urdf" else "r.xml")
    file.write_text(urdf(rng) if kind == "urdf" else mjcf(rng, loop=kind == "loop"))
    assert recursion.difference(file, seed) < BOUND


def test_the_recursion_notices_a_wrong_mass(tmp_path, monkeypatch):
    file, read = tmp_path / "r.urdf", recursion.read
    file.write_text(urdf(np.random.default_rng(0)))

    def heavier(path):
        robot = read(path)
        next(n for n in robot.nodes if n.m > 0).m *= 1 + 1e-6
        return robot
    monkeypatch.setattr(recursion, "read", heavier)
    assert recursion.difference(file) > 100 * BOUND


@pytest.mark.parametrize("file", [FILES / "arm.urdf", *sorted(Path(os.environ.get("CPODES_ROBOTS", os.devnull)).glob("**/*.urdf"))], ids=str)
def test_files_accelerate_as_the_recursion(file):
    assert recursion.difference(file) < BOUND


@pytest.mark.parametrize("seed", range(3))
def test_the_recursion_accelerates_as_mujoco(tmp_path, seed):
    mujoco = pytest.importorskip("mujoco")
    text_ = mjcf(np.random.default_rng(seed))
    (tmp_path / "r.xml").write_text(text_)
    robot, model = recursion.read(tmp_path / "r.xml"), mujoco.MjModel.from_xml_string(text_)
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    data.qpos[:], data.qvel[:] = model.qpos0 + rng.uniform(-0.7, 0.7, model.nq), rng.uniform(-2, 2, model.nv)
    mujoco.mj_forward(model, data)
    at = {n.name: i for i, n in enumerate(robot.nodes)}
    order = [at[model.joint(k).name] for k in range(model.njnt)]
    x, v = np.zeros(len(robot.nodes)), np.zeros(len(robot.nodes))
    x[order], v[order] = data.qpos, data.qvel
    # MuJoCo's principal axes of a fullinertia are rounded to 1e-12 or so
    np.testing.assert_allclose(recursion.accelerations(robot, x, v)[order], data.qacc, rtol=1e-9, atol=1e-9 * np.abs(data.qacc).max())

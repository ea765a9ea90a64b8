#!/usr/bin/env python3
"""Motions with contacts compared with those of Siconos.

    bench/siconos_motions.py build/dev/runner/cpodes siconos-tutorials [--top STEP]

siconos-tutorials: a checkout of github.com/siconos/siconos-tutorials (of 24 July 2024), from which trajectories are read:
the impacting stick and the slider-crank with clearance by time stepping (Moreau-Jean, h = 1e-4), the rocking block
event-driven. The same mechanisms, as files, are integrated by DOP853 and RADAU at 1e-10. For intervals of time the largest
differences of the coordinates are printed: from Siconos, and between both methods here; for the slider-crank also between
two of Siconos' schemes, since both lose their digits.

--top also runs the tippe-top in Siconos (python3-siconos and python3-h5py) by Moreau-Jean with this step, and half of it,
and compares cos(tilt)."""

import argparse
import contextlib
import csv
import io
import math
import pathlib
import subprocess
import tempfile

FILES = pathlib.Path(__file__).resolve().parents[1] / "examples" / "mechanisms"
TOL = "1e-10"


def trajectory(program, text, names, method, t_end, outputs):
    """Rows (t, values of names) of a mechanism in YAML"""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        command = [program, "run", file.name, "-m", method, "-r", TOL, "-a", TOL, "-t", repr(t_end), "--no-estimate", "-q"]
        said = subprocess.run([*command, "-n", str(outputs), "--csv", "-"], capture_output=True, text=True)
    if said.returncode:
        raise SystemExit(said.stderr)
    rows = list(csv.DictReader(io.StringIO(said.stdout)))
    return [(float(row["t"]), [float(row[name]) for name in names]) for row in rows]


def published(path, columns):
    """Rows of one of Siconos' files, which begins with the numbers of rows and columns, and may end with empty rows"""
    with open(path) as file:
        file.readline()
        rows = [[float(x) for x in line.split()] for line in file if line.strip()]
    return [(row[0], [row[c] for c in columns]) for i, row in enumerate(rows) if i == 0 or row[0] > 0]


def differences(a, b, windows):
    """The largest difference of any value in each interval (from, to), at those times of b that a also has. Rows before and
    after an impact have the same time: the last one counts."""
    at = {round(t, 9): values for t, values in a}
    result = []
    for begin, end in windows:
        common = [(at[round(t, 9)], values) for t, values in b if begin <= t <= end + 1e-12 and round(t, 9) in at]
        result.append(max((abs(x - y) for p, q in common for x, y in zip(p, q)), default=math.nan))
    return result


def compare(title, windows, runs, siconos):
    """runs, siconos: names and trajectories"""
    print(f"{title}\n{'':46}" + "".join(f"{f'{a:g} - {b:g} s':>18}" for a, b in windows))
    (first, reference), *others = runs
    for name, other in [*siconos, *others]:
        print(f"{f'  {first} and {name}':46}" + "".join(f"{d:18.2e}" for d in differences(reference, other, windows)))
    if len(siconos) > 1:
        names = " and ".join(name for name, _ in siconos)
        print(f"{f'  {names}':46}" + "".join(f"{d:18.2e}" for d in differences(siconos[0][1], siconos[1][1], windows)))


def both(program, text, names, t_end, outputs):
    return [(m, trajectory(program, text, names, m, t_end, outputs)) for m in ("dop853", "radau")]


STICK = """
dimension: 2
gravity: [0, -10]
run: {{t_end: 0.2}}
bodies: # the angle to the vertical is -phi
  - {{name: stick, mass: 1, inertia: {J}, at: [{x}, {y}], angle: {phi}, velocity: [-0.5, 0.1], spin: -0.1}}
contacts:
  - {{name: end, b: stick, in: bodies, axis: [0, 1], at_b: [0, -0.5], friction: 0.01, restitution: 1}}
"""

CRANK = """
dimension: 2
gravity: [0, -9.81]
run: {t_end: 0.2, assemble: false}
bodies:
  - {name: crank, mass: 0.038, inertia: 7.4e-5, at: [0.0765, 0], velocity: [0, 11.475], spin: 150}
  - {name: rod, mass: 0.038, inertia: 5.9e-4, at: [0.306, 0], velocity: [0, 11.475], spin: -75}
  - {name: slider, mass: 0.076, inertia: 2.7e-6, at: [0.459, 0]}
joints:
  - {name: first, kind: revolute, b: crank}
  - {name: second, kind: revolute, a: crank, b: rod, at: [0.153, 0]}
  - {name: third, kind: revolute, a: rod, b: slider, at: [0.459, 0]}
contacts:
"""
for _side, _y in ("upper", 1), ("lower", -1):
    for _x in -1, 1:
        CRANK += (
            f"  - {{name: {_side}_{'left' if _x < 0 else 'right'}, b: slider, in: bodies, at: [0, {0.026 * _y}], axis: [0, {-_y}], "
            f"at_b: [{0.05 * _x}, {0.025 * _y}], friction: 0.01, restitution: 0.4}}\n"
        )

BLOCK = """
dimension: 2
gravity: [0, -9.81]
run: {{t_end: 2}}
bodies: # of 1 m by 0.5 m; corners are those of 0.2 m by 0.1 m
  - {{name: block, mass: 1, inertia: {J}, at: [{x}, {y}], angle: {phi}}}
contacts:
  - {{name: left, b: block, in: bodies, axis: [0, 1], at_b: [-0.1, -0.05], restitution: 0.8}}
  - {{name: right, b: block, in: bodies, axis: [0, 1], at_b: [0.1, -0.05], restitution: 0.8}}
"""


def stick(program, tutorials):
    angle = math.pi / 4
    text = STICK.format(J=1 / 12, x=math.sin(angle) / 2, y=math.cos(angle) / 2 + 0.01, phi=-angle)
    names = "stick.x", "stick.y", "stick.phi"
    siconos = published(tutorials / "ImpactingStick/ImpactingStick.ref", (1, 2, 3))
    siconos = [(t, [x, y, -phi]) for t, (x, y, phi) in siconos]
    compare(
        "impacting stick", ((0, 0.05), (0.05, 0.1), (0.1, 0.2)), both(program, text, names, 0.2, 2000), [("Siconos, Moreau-Jean", siconos)]
    )


def crank(program, tutorials):
    names = "crank.phi", "rod.phi", "slider.phi"
    schemes = []
    for scheme in "Direct", "Combined":
        path = tutorials / f"SliderCrank/SliderCrankMoreauJean{scheme}ProjectionOSI.ref"
        rows = published(path, (1, 2, 3))
        schemes.append((f"Siconos, {scheme.lower()}", [(t, [2 * math.pi * q[0], q[1], q[2]]) for t, q in rows]))
    windows = (0, 0.0026), (0.0026, 0.005), (0.005, 0.02), (0.02, 0.1)
    compare("slider-crank with clearance", windows, both(program, CRANK, names, 0.1, 1000), schemes)


def block(program, tutorials):
    rows = published(tutorials / "RockingBlock/RockingBlockED_Lsodar_LZBimpact.ref", (1, 2, 3))
    (x, y, phi), names = rows[0][1], ("block.x", "block.y", "block.phi")
    text = BLOCK.format(J=1.25 / 12, x=x, y=y, phi=phi)
    windows = (0, 0.3), (0.3, 0.78), (0.78, 1.4), (1.4, 2)
    compare("rocking block", windows, both(program, text, names, 2.0, 200), [("Siconos, event-driven", rows)])


def tops(h, t_end):
    """(t, cos(tilt)) of Siconos' tippe-top; lengths are in cm, which suits its collision detection"""
    from siconos.io.mechanics_run import MechanicsHdf5Runner
    from siconos.mechanics.collision.bullet import SiconosBulletOptions
    from siconos.mechanics.collision.tools import Contactor

    options = SiconosBulletOptions()
    options.perturbationIterations = 0
    options.minimumPointsPerturbationThreshold = 0
    r1, r2, a1, a2, tilt = 1.5, 0.5, 0.3, 1.6, 0.1
    with tempfile.TemporaryDirectory() as folder:
        name = str(pathlib.Path(folder) / "top.hdf5")
        with MechanicsHdf5Runner(io_filename=name) as hdf:
            hdf.add_primitive_shape("cap", "Sphere", (r1,))
            hdf.add_primitive_shape("stem", "Sphere", (r2,))
            hdf.add_primitive_shape("floor", "Box", (100, 100, 1))
            hdf.add_Newton_impact_friction_nsl("law", mu=0.2, e=0)
            hdf.add_object("floor", [Contactor("floor")], translation=[0, 0, -0.5])
            hdf.add_object(
                "top",
                [Contactor("cap", relative_translation=[0, 0, a1]), Contactor("stem", relative_translation=[0, 0, a2])],
                translation=[0, 0, r1 - a1 * math.cos(tilt) + 1e-6],
                orientation=([0, 1, 0], tilt),
                velocity=[0, 0, 0, -180 * math.sin(tilt), 0, 180 * math.cos(tilt)],
                mass=6e-3,
                inertia=[8e-3, 8e-3, 7e-3],
            )
        with MechanicsHdf5Runner(io_filename=name, mode="r+") as hdf:
            every = max(1, round(0.01 / h))
            with contextlib.redirect_stdout(io.StringIO()):
                hdf.run(bullet_options=options, gravity_scale=0.01, t0=0, T=t_end, h=h, output_frequency=every)
            rows = [list(row) for row in hdf.dynamic_data()]
    return [(row[0], [1 - 2 * (row[6] ** 2 + row[7] ** 2)]) for row in rows]


def top(program, h):
    t_end = 1.6
    text = (FILES / "tippe_top.yaml").read_text()
    names = "top.e1", "top.e2"
    runs = [
        (m, [(t, [1 - 2 * (a * a + b * b)]) for t, (a, b) in trajectory(program, text, names, m, t_end, 160)]) for m in ("dop853", "radau")
    ]
    siconos = [(f"Siconos, h = {step:g}", tops(step, t_end)) for step in (h, h / 2)]
    compare("tippe-top, cos(tilt)", ((0, 0.5), (0.5, 1), (1, 1.6)), runs, siconos)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tutorials", type=pathlib.Path)
    parser.add_argument("--top", type=float, metavar="STEP")
    options = parser.parse_args()
    tutorials = options.tutorials / "examples" / "mechanics"
    for mechanism in stick, crank, block:
        mechanism(options.program, tutorials)
    if options.top:
        top(options.program, options.top)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Heaps: spheres and boxes that fall into a bin and settle, with contacts of all pairs.

    bench/heaps.py [--cpodes PROGRAM] [--limit SECONDS] [SPHERESxBOXES ...]

Prints for each heap the time that is reached within the limit, the CPU time of the program, the largest penetration at the outputs,
the kinetic energy at the end, and the numbers of events and of intervals of time stepping. The bodies have 1 kg, spheres a radius of
80 mm, boxes edges of 130 mm; they start in layers, off their places by up to 30 mm at random (seed 1), and mu is 0.4. Nothing hinders
spheres from rolling and spinning: what is left of their energy stays."""

import argparse
import csv
import json
import pathlib
import random
import resource
import subprocess
import tempfile

RADIUS, EDGE, PITCH, MU, G = 0.08, 0.13, 0.26, 0.4, 9.81


def heap(spheres, boxes, t_end):
    """The file of a heap"""
    chance = random.Random(1)
    n, k = spheres + boxes, 2
    while k**3 < n:
        k += 1
    wall = k * PITCH / 2
    lines = [f"run: {{title: heap, t_end: {t_end}}}", f"gravity: [0, 0, -{G}]", "bodies:"]
    for i in range(n):
        layer, place = divmod(i, k * k)
        at = [(c - (k - 1) / 2) * PITCH + chance.uniform(-0.03, 0.03) for c in divmod(place, k)]
        at.append(0.15 + PITCH * layer + chance.uniform(-0.03, 0.03))
        J = 0.4 * RADIUS**2 if i < spheres else EDGE**2 / 6
        lines.append(f"  - {{name: b{i}, mass: 1, inertia: [{J}, {J}, {J}], at: [{at[0]}, {at[1]}, {at[2]}]}}")
    planes = {"floor": ([0, 0, 0], [0, 0, 1])}
    for j, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        planes[f"wall{j}"] = ([-wall * x, -wall * y, 0], [x, y, 0])
    lines.append("shapes:")
    lines += [f"  - {{name: {name}, body: ground, kind: plane, at: {at}, axis: {axis}}}" for name, (at, axis) in planes.items()]
    for i in range(n):
        size = f"kind: sphere, radius: {RADIUS}" if i < spheres else f"kind: box, size: [{EDGE}, {EDGE}, {EDGE}]"
        lines.append(f"  - {{name: s{i}, body: b{i}, in: bodies, {size}}}")
    lines.append("contacts:")
    for i in range(n):
        for a in [*planes, *(f"s{j}" for j in range(i))]:
            lines.append(f"  - {{name: {a}_{i}, on: shape, a: {a}, b: s{i}, friction: {MU}}}")
    return "\n".join(lines) + "\n"


def kinetic(end, spheres):
    """The kinetic energy of the velocities at the end, by their names"""
    energy = 0.0
    for name, value in zip(end["names"], end["y"]):
        body, _, part = name.partition(".")
        if part in ("x'", "y'", "z'", "vx", "vy", "vz"):
            energy += value**2 / 2
        elif part in ("wx", "wy", "wz"):
            J = 0.4 * RADIUS**2 if int(body[1:]) < spheres else EDGE**2 / 6
            energy += J * value**2 / 2
    return energy


def penetration(path):
    with open(path, newline="") as file:
        rows = csv.reader(file)
        gaps = [i for i, name in enumerate(next(rows)) if name.startswith("gap ")]
        return -min(float(row[i]) for row in rows for i in gaps)


def used():
    """The CPU time of the programs that have ended [s]"""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpodes", default="build/release/runner/cpodes")
    parser.add_argument("--limit", type=int, default=100, help="time for a heap [s]")
    parser.add_argument("--t-end", type=float, default=10)
    parser.add_argument("heaps", nargs="*", default=["20x0", "0x10", "40x0", "100x0", "200x50"], metavar="SPHERESxBOXES")
    options = parser.parse_args()
    print("heap     t reached  CPU [s]  penetration [m]  kinetic energy [J]  events  intervals")
    for name in options.heaps:
        spheres, boxes = map(int, name.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            model, summary, table = (pathlib.Path(folder) / f"heap{end}" for end in (".yaml", ".json", ".csv"))
            model.write_text(heap(spheres, boxes, options.t_end))
            command = [options.cpodes, "run", model, "-r", "1e-4", "--no-estimate", "--time-stepping", "20:0.4", "-q"]
            before = used()
            run = subprocess.Popen([*command, "--json", summary, "--csv", table], stderr=subprocess.DEVNULL)
            try:
                run.wait(options.limit)
            except subprocess.TimeoutExpired:
                run.terminate()  # The files are complete up to the last output.
                run.wait()
            run = json.loads(summary.read_text())
            counts = run["contacts"] or {"events": run["events_seen"], "intervals": 0}  # None if it was interrupted
            print(
                f"{name:8} {run['t']:9.3f} {used() - before:8.1f} {penetration(table):16.1e} {kinetic(run['end'], spheres):19.1e}"
                f" {counts['events']:7d} {counts['intervals']:10d}",
                flush=True,
            )


if __name__ == "__main__":
    main()

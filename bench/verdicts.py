#!/usr/bin/env python3
"""Are the runner's verdicts right?

    bench/verdicts.py build/release/runner/cpodes [MODEL ...] [--random N] [--seed S] [--methods NAME,...] [--rtols TOL,...]

Runs the models (default: the catalogue and examples/mechanisms/*.yaml) and N random mechanisms by every method at every
tolerance, and compares each verdict with the true error: that against a run at 1e-12, at 200 outputs, in every component, in
units of its scale. A motion is chaotic if runs at 1e-12 and 1e-11 differ by more than 1e-4 of a scale. The bounds: no run is
"ok" above 1 %, and none is doubtful or wrong below 0.1 %; chaotic motions are called so, and no others. Lengths are compared
with the extent that the runner reports, attitudes in radians, speeds with the largest one. The exit status is 1 if a bound is
missed. Where velocities jump (contacts, impacts) they are left out, and where neither run moves a position by more than the
tolerance: a vibration of frequency w with amplitude a has speeds a w, of a scale that is w times that of positions. Verdicts on energies alone are listed apart: the
components may be right where an energy is not. Verdicts judge reactions and the work as well; a run is blamed for nothing if its multipliers are right, too,
to 0.1 % of the largest one, and its work to 0.1 % of the energies that are exchanged. They are no bound for runs that are ok, since they are neither unique nor finite in singular positions."""

import argparse
import csv
import json
import math
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "examples" / "mechanisms"
PATIENCE = 40  # seconds of CPU time for a run; runs that need more are excluded, and counted
LEAST, MOST, PARTED = 1e-3, 1e-2, 1e-4
JUMPS = "newton_cradle".split()


# ---- random mechanisms


def number(r, least, most):
    """Uniform in the logarithm"""
    return math.exp(r.uniform(math.log(least), math.log(most)))


def point(x):
    return "[" + ", ".join(f"{c:.9g}" for c in x) + "]"


def chain(r):
    """A chain in the plane, or in space with joints of many kinds, hanging or thrown, with springs and dampers"""
    planar, n, L, m = r.random() < 0.4, r.randint(1, 4), number(r, 1e-2, 1e2), number(r, 1e-6, 1e5)
    d = 2 if planar else 3
    start = [r.choice([0, r.uniform(-1, 1), r.uniform(-100, 100)]) * L for _ in range(d)]
    g, T = 9.81, math.sqrt(L / 9.81) * r.uniform(3, 12)
    bodies, joints, springs, at, before = [], [], [], start, None
    for i in range(n):
        way = [r.gauss(0, 1) for _ in range(d)]
        way = [L * c / math.hypot(*way) for c in way]
        mass, middle = m * number(r, 0.3, 3), [a + c / 2 for a, c in zip(at, way)]
        J = mass * L * L / 12
        moments = f"{J:.6g}" if planar else point([J * r.uniform(0.8, 1.4) for _ in range(3)])
        bodies.append(f"  - {{name: b{i}, mass: {mass:.6g}, inertia: {moments}, at: {point(middle)}}}")
        kind = "revolute" if planar else r.choice(["revolute", "ball", "universal", "revolute"])
        axis = ""
        if not planar:
            a = [r.gauss(0, 1) for _ in range(3)]
            axis = f", axis: {point(a)}" if kind != "ball" else ""
            if kind == "universal":
                b = [r.gauss(0, 1) for _ in range(3)]
                k = sum(x * y for x, y in zip(a, b)) / sum(x * x for x in a)
                axis += f", axis_b: {point([y - k * x for x, y in zip(a, b)])}"
        joints.append(f"  - {{name: j{i}, kind: {kind}, {f'a: b{before}, ' if before is not None else ''}b: b{i}, "
                      f"at: {point(at)}{axis}}}")
        if r.random() < 0.4 and kind == "revolute":
            springs.append(f"  - {{name: s{i}, of: j{i}, stiffness: {m * g * L * number(r, 0.1, 30):.6g}, "
                           f"damping: {m * math.sqrt(g * L) * L * r.choice([0, 0.01, 1]):.6g}}}")
        at, before = [a + c for a, c in zip(at, way)], i
    gravity = [0, -g] if planar else [0, 0, -g]
    return T, planar, gravity, bodies, joints, springs, []


def satellite(r):
    """A free body, or two with a joint, that turns and flies"""
    L, m, w = number(r, 0.1, 10), number(r, 1e-3, 1e4), number(r, 0.1, 10)
    J = [m * L * L * r.uniform(0.7, 1.3) for _ in range(3)]
    far = [r.uniform(-1, 1) * r.choice([0, 1, 1e3]) for _ in range(3)]
    fly = [r.uniform(-1, 1) * r.choice([0, 1, 100]) for _ in range(3)]
    omega = [w * r.uniform(-1, 1) for _ in range(3)]
    bodies = [f"  - {{name: b, mass: {m:.6g}, inertia: {point(J)}, at: {point(far)}, velocity: {point(fly)}, omega: {point(omega)}}}"]
    return r.uniform(2, 30) / w, False, [0, 0, r.choice([0, -9.81])], bodies, [], [], []


def four_bar(r):
    """A crank-rocker that a motor drives, far from the origin"""
    L, m, w = number(r, 1e-2, 10), number(r, 1e-6, 1e3), number(r, 0.3, 30) * r.choice([1, -1])
    crank, coupler, rocker, base = 0.2 * L, L * r.uniform(0.8, 1.0), L * r.uniform(0.6, 0.9), L * r.uniform(0.9, 1.1)
    o = [L * r.choice([0, 10, 100]) * r.uniform(-1, 1) for _ in range(2)]
    A, B = [o[0] + crank, o[1]], [o[0] + base, o[1]]
    D = base - crank
    x = (coupler**2 - rocker**2 + D**2) / (2 * D)
    C = [A[0] + x, A[1] + math.sqrt(coupler**2 - x**2)]
    place = lambda P, Q: (point([(p + q) / 2 for p, q in zip(P, Q)]), math.atan2(Q[1] - P[1], Q[0] - P[0]))
    bodies = []
    for name, P, Q, length in ("crank", o, A, crank), ("coupler", A, C, coupler), ("rocker", B, C, rocker):
        at, angle = place(P, Q)
        bodies.append(f"  - {{name: {name}, mass: {m * length / L:.6g}, inertia: {m * length**3 / L / 12:.6g}, at: {at}, angle: {angle:.12g}}}")
    joints = [f"  - {{name: pivot, kind: revolute, b: crank, at: {point(o)}}}",
              f"  - {{name: pin, kind: revolute, a: crank, b: coupler, at: {point(A)}}}",
              f"  - {{name: knee, kind: revolute, a: coupler, b: rocker, at: {point(C)}}}",
              f"  - {{name: bearing, kind: revolute, b: rocker, at: {point(B)}}}"]
    springs = [f"  - {{name: rub, of: bearing, damping: {m * abs(w) * L * L * r.choice([0, 0.1, 3]):.6g}}}"]
    drives = [f"  - {{name: motor, of: pivot, rate: {w:.6g}}}"] if r.random() < 0.7 else []
    if not drives:
        bodies[0] = bodies[0][:-1] + f", spin: {w:.6g}}}"
    return abs(2 * math.pi / w) * r.uniform(1, 6), True, [0, -9.81], bodies, joints, springs, drives


def at_rest(r):
    """A body on springs that does not move, or a drop of a swing about its rest"""
    m, L = number(r, 1e-9, 1e6), number(r, 1e-3, 1e2)
    away = r.choice([0, 0, 1e-6, 0.1]) * L
    o = L * r.choice([0, 100])
    bodies = [f"  - {{name: b, mass: {m:.6g}, inertia: {m * L * L:.6g}, at: {point([o + away, -L])}}}"]
    joints = [f"  - {{name: j, kind: revolute, b: b, at: {point([o, 0])}}}"]
    return 10 * math.sqrt(L), True, [0, -9.81], bodies, joints, [], []


def mechanism(seed):
    """The text of a random mechanism's file"""
    r = random.Random(seed)
    T, planar, gravity, bodies, joints, springs, drives = r.choice([chain, chain, chain, satellite, four_bar, four_bar, at_rest])(r)
    held = ", held: crank" if any("spin" in b for b in bodies) else ""
    lines = [f"# random mechanism {seed}", f"run: {{t_end: {T:.6g}{held}}}"] + ["dimension: 2"] * planar
    lines += [f"gravity: {point(gravity)}", "bodies:", *bodies]
    for key, items in ("joints", joints), ("springs", springs), ("drives", drives):
        if items:
            lines += [f"{key}:", *items]
    return "\n".join(lines) + "\n"


# ---- runs


def run(program, model, folder, *options):
    """(the summary, the rows of the table, the columns of multipliers), or None if it took too long or failed"""
    table, summary = folder / "run.csv", folder / "run.json"
    command = [program, "run", model, "--quiet", "--outputs", "200", "--csv", table, "--json", summary, *options]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 2))
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, preexec_fn=limit)
    if process.returncode != 0:
        return None
    rows = list(csv.reader(table.open()))
    multipliers = [k for k, name in enumerate(rows[0]) if " row" in name or name.startswith("lambda")]
    return json.loads(summary.read_text()), [[float(x) for x in row] for row in rows[1:]], multipliers


def angle(a, b):
    same = math.sqrt(min(sum((x - y) ** 2 for x, y in zip(a, b)), sum((x + y) ** 2 for x, y in zip(a, b))))
    return 4 * math.asin(min(1, same / 2))


def sizes(summary, rows):
    """The scale of each component, and the first components of quaternions"""
    units = summary["end"]["units"]
    nq, nu = summary["model"]["nq"], summary["model"]["nu"]
    most = lambda k: max(abs(row[k + 1]) for row in rows)
    T, scale, quaternions = rows[-1][0], {}, []
    k = 0
    while k < nq and nq > nu and summary["settings"]["form"] == "mech":
        if k + 4 <= nq and abs(sum(rows[0][k + 1 + i] ** 2 for i in range(4)) - 1) < 1e-9 and not units[k]:
            quaternions.append(k)
            k += 3
        k += 1
    inside = {q + i for q in quaternions for i in range(4)}
    length = summary["scales"].get("m") or 1
    for k, unit in enumerate(units):
        same = [j for j in range(len(units)) if units[j] == unit and (j < nq) == (k < nq)]
        if k in inside or unit == "J":
            continue
        if unit == "m":
            scale[k] = length
        elif unit == "rad":
            scale[k] = 1
        elif unit in ("m/s", "rad/s"):
            scale[k] = max(max(map(most, same)), (length if unit == "m/s" else 1) / T)
        else:
            scale[k] = max(map(most, same)) if k < nq + nu else max(most(k), 1e-300)
    return scale, quaternions


def distance(a, b, scale, quaternions, nq, jumps):
    """(in units of scales, the component)"""
    worst = (0, None)
    for x, y in zip(a, b):
        for k, s in scale.items():
            if not (jumps and k >= nq) and abs(x[k + 1] - y[k + 1]) > worst[0] * s:
                worst = (abs(x[k + 1] - y[k + 1]) / s if s else math.inf, k)
        for k in quaternions:
            if (turn := angle(x[k + 1 : k + 5], y[k + 1 : k + 5])) > worst[0]:
                worst = (turn, k)
    return worst


def apart_in(a, b, columns, scale=0):
    """The distance in these columns, in units of the scale or of their largest entry"""
    scale = scale or max((abs(y[k]) for y in b for k in columns), default=0)
    return max((abs(x[k] - y[k]) for x, y in zip(a, b) for k in columns), default=0) / scale if scale else 0


def is_at_rest(rows, nq, tol):
    """Does no position move by more than the tolerance?"""
    columns = [[row[k + 1] for row in rows] for k in range(nq)]
    return all(max(x) - min(x) <= tol * (1 + max(map(abs, x))) for x in columns)


def judge(program, model, options, folder):
    """Yields (method, tolerance, verdict, true error, component, complaint or None)"""
    for method in "dop853", "radau13":
        tight = run(program, model, folder, "--no-estimate", "--rtol", "1e-12", "--method", method)
        if tight:
            break
    else:
        yield "reference", 1e-12, "none", math.nan, None, None
        return
    summary, rows, multipliers = tight
    scale, quaternions = sizes(summary, rows)
    nq, names = summary["model"]["nq"], summary["end"]["names"]
    works = [k + 1 for k, unit in enumerate(summary["end"]["units"]) if unit == "J"]
    jumps = bool(summary["contacts"]) or summary["model"]["name"] in JUMPS
    other = run(program, model, folder, "--no-estimate", "--rtol", "1e-11", "--method", method)
    apart = distance(rows, other[1], scale, quaternions, nq, jumps)[0] if other else 0
    for name in options.methods:
        for tol in options.rtols:
            found = run(program, model, folder, "--method", name, "--rtol", tol)
            if not found:
                yield name, tol, "failed", math.nan, None, None
                continue
            still = all(is_at_rest(table, nq, float(tol)) for table in (found[1], rows))
            error, k = distance(found[1], rows, scale, quaternions, nq, jumps or still)
            verdict, estimate = found[0]["verdict"], found[0]["estimate"] or {}
            called, ok = estimate.get("chaotic", False), verdict.startswith("ok")
            wrong = None
            if apart > PARTED:
                wrong = None if called else "chaotic, and not called so"
            elif called:
                wrong = "not chaotic"
            elif ok and error > MOST:
                wrong = "ok above 1 %"
            elif not ok and max(error, apart_in(found[1], rows, multipliers), apart_in(found[1], rows, works, summary["scales"].get("J"))) < LEAST:
                energy = all("of its scale; the limit" in x and "off by" not in x for x in found[0]["reasons"])
                wrong = "(energy) " * energy + f"{verdict} below 0.1 %: {found[0]['reasons'][:1]}"
            yield name, tol, verdict, error, k is not None and names[k], wrong and f"{wrong}; apart {apart:.1g}; {found[0]['estimate'] and found[0]['estimate']['part']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="number of random mechanisms")
    parser.add_argument("--seed", type=int, default=1, help="of the first of them")
    parser.add_argument("--methods", default="dop853,radau,bdf,adams", type=lambda text: text.split(","))
    parser.add_argument("--rtols", default="1e-3,1e-4,1e-6,1e-8", type=lambda text: text.split(","))
    parser.add_argument("--show", type=int, metavar="SEED", help="prints a random mechanism")
    options = parser.parse_args()
    if options.show is not None:
        print(mechanism(options.show), end="")
        return 0
    models = options.models
    if not models and not options.random:
        names = subprocess.run([options.program, "list"], capture_output=True, text=True).stdout.splitlines()
        models = [line.split()[0] for line in names if line.strip()] + sorted(map(str, FOLDER.glob("*.yaml")))
    counts, bad = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for seed in range(options.seed, options.seed + options.random):
            path = folder / f"random_{seed}.yaml"
            path.write_text(mechanism(seed))
            models = [*models, str(path)]
        for model in models:
            for method, tol, verdict, error, component, wrong in judge(options.program, model, options, folder):
                kind = verdict.split(",")[0]
                counts[kind] = counts.get(kind, 0) + 1
                bad += bool(wrong)
                if wrong or verdict == "none":
                    print(f"{pathlib.Path(model).stem:24} {method:8} {tol:6} {verdict:9} {error:8.1e} {component}  {wrong or ''}", flush=True)
    print(*(f"{kind}: {count}" for kind, count in sorted(counts.items())), f"missed: {bad}", sep="; ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())

"""The drawings of the guide, and the pictures of the catalogue for the README and the gallery.

    python3 guide_pictures.py DRIFT RUNNER FOLDER     DRIFT: examples/drift.c, compiled; RUNNER: the program cpodes

drift.svg is made of the numbers that examples/drift.c prints, race_*.svg of doc/race_curves.csv, which bench/race/guide_tables.py
writes. Drawings are 360 pixels wide. A style sheet inside has colours for light and for dark pages."""
import base64
import csv
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

STYLE = """<style>
text { font: 13px sans-serif; fill: #222 } .dim { fill: #555 }
.line { fill: none; stroke: #222; stroke-width: 1.5 } .grid { stroke: #ddd; stroke-width: 1 }
.bad { stroke: #b3420f } .good { stroke: #1a5fb4 } .curve { fill: none; stroke-width: 2.2 } .dash { stroke-dasharray: 5 4 }
text.bad { fill: #b3420f; stroke: none } text.good { fill: #1a5fb4; stroke: none }
.name { font-weight: bold; stroke: #fff; stroke-width: 4; paint-order: stroke }
circle.bad { fill: #b3420f } circle.good { fill: #1a5fb4 } circle.dot { fill: #222 } .page { fill: #fff }
rect.grey { fill: #bbb } rect.bad { fill: #b3420f; stroke: none } rect.good { fill: #1a5fb4; stroke: none } .box { fill: none; stroke: #888 }
.third { stroke: #1b7a3d } text.third { fill: #1b7a3d; stroke: none } circle.third { fill: #1b7a3d }
.fourth { stroke: #8a3ea8 } text.fourth { fill: #8a3ea8; stroke: none } circle.fourth { fill: #8a3ea8 }
@media (prefers-color-scheme: dark) {
text { fill: #eee } .dim { fill: #bbb } .line { stroke: #eee } .grid { stroke: #444 }
.bad { stroke: #ff9a66 } .good { stroke: #7db4ff } text.bad { fill: #ff9a66 } text.good { fill: #7db4ff }
circle.bad { fill: #ff9a66 } circle.good { fill: #7db4ff } circle.dot { fill: #eee } .page { fill: #16191d }
rect.grey { fill: #666 } rect.bad { fill: #ff9a66 } rect.good { fill: #7db4ff }
.name { stroke: #16191d } .third { stroke: #6fd08c } text.third { fill: #6fd08c } circle.third { fill: #6fd08c }
.fourth { stroke: #dba0f0 } text.fourth { fill: #dba0f0 } circle.fourth { fill: #dba0f0 } }
</style>"""


def svg(title, width, height, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
                      f"<title>{title}</title>", STYLE, f'<rect class="page" width="{width}" height="{height}"/>', *parts, "</svg>", ""])


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def line(points, kind):
    return f'<polyline class="{kind}" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>'


def dot(point, kind, radius=3.5):
    return f'<circle class="{kind}" cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius}"/>'


def arrow(a, b, kind):
    """From a to b, with a head at b."""
    angle = math.atan2(b[1] - a[1], b[0] - a[0])
    head = [(b[0] - 8 * math.cos(angle + s), b[1] - 8 * math.sin(angle + s)) for s in (0.45, -0.45)]
    return line([a, b], "curve " + kind) + line([head[0], b, head[1]], "curve " + kind.replace("dash", ""))


def drift(program):
    """The distance from the true state over time, in a logarithmic scale, and the error of the length without projection."""
    run = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    alone, projected = run.split("with projection")
    number = r"([\d.e+-]+)"
    row = re.compile(rf"t = +([\d.]+) s +length +{number} m +energy +{number} J/kg +state +{number} m")
    tables = [[tuple(map(float, found)) for found in row.findall(part)] for part in (alone, projected)]
    if [len(table) for table in tables] != [5, 5]:
        raise SystemExit(f"{program} does not print five rows twice:\n{run}")
    if max(row[1] for row in tables[1]) > 1e-12:  # the picture says so
        raise SystemExit(f"{program}: with projection, the length is not exact to roundoff:\n{run}")
    left, right, top, bottom, low, high = 52, 344, 34, 262, -5, 1

    def place(t, value):
        return left + (right - left) * t / 100.5, bottom - (bottom - top) * (math.log10(value) - low) / (high - low)

    parts = [text(8, 18, "Pendulum of 1 m: error in m, tolerance 1e-6")]
    for power in range(low, high + 1, 2):
        y = place(0, 10.0**power)[1]
        parts += [line([(left, y), (right, y)], "grid"), text(left - 6, y + 4, f"1e{power}", "dim", "end")]
    parts += [text(place(t, 1)[0], bottom + 18, f"{t}", "dim", "middle") for t in range(0, 101, 20)]
    parts += [text((left + right) / 2, bottom + 36, "time in s: 50 periods", "dim", "middle")]
    for table, column, kind in (tables[0], 3, "bad"), (tables[0], 1, "bad dash"), (tables[1], 3, "good"):
        points = [place(row[0], row[column]) for row in table]
        parts += [line(points, "curve " + kind)] + [dot(point, kind.split()[0]) for point in points]
    parts += [text(left + 62, place(0, 3)[1], "CVODES alone: position", "bad"),
              text(right, place(0, 7e-3)[1], "CVODES alone: length of the rod", "bad", "end"),
              text(right, place(0, 4e-4)[1], "with projection: position", "good", "end"),
              text(right, place(0, 1e-4)[1], "(its length is exact to roundoff)", "good", "end")]
    return svg("Errors of a pendulum over 50 periods, without and with projection", 360, 306, parts)


def projection():
    """A circle {c = 0}, a step's result y beside it, the nearest point on it, and the parts of the error."""
    centre, radius = (150.0, 316.0), 230.0

    def polar(angle, r=radius):
        return centre[0] + r * math.cos(math.radians(angle)), centre[1] - r * math.sin(math.radians(angle))

    start, angle, off = polar(116), 68, 62
    state, nearest, exact = polar(angle, radius + off), polar(angle), polar(52)
    along = (math.sin(math.radians(angle)), math.cos(math.radians(angle)))  # the tangent at the nearest point, y downwards

    # The exact state as seen from y: a part along the tangent, which projection leaves, and one normal to it, which it removes.
    shift = (exact[0] - state[0]) * along[0] + (exact[1] - state[1]) * along[1]
    foot = nearest[0] + shift * along[0], nearest[1] + shift * along[1]
    tangent = [(nearest[0] + s * along[0], nearest[1] + s * along[1]) for s in (-110, 118)]
    parts = [line([polar(a) for a in range(127, 39, -1)], "line"), line(tangent, "line dash"),
             line([start, state], "curve dash bad"), arrow(state, nearest, "good"), arrow(nearest, foot, "bad"),
             dot(start, "dot"), dot(state, "bad", 4.5), dot(nearest, "good", 4.5), dot(exact, "dot"),
             text(start[0], start[1] - 14, "last state", "", "middle"),
             text(state[0], state[1] - 13, "y, after the step", "bad", "middle"),
             text(state[0] + 8, state[1] + 30, "projection", "good"),
             text(nearest[0] - 8, nearest[1] + 26, "nearest state", "good", "end"),
             text(exact[0] - 12, exact[1] + 26, "exact", "", "end"),
             text(tangent[0][0] - 4, tangent[0][1] - 8, "tangent", "dim", "middle"),
             text(18, 172, "manifold c = 0", "dim"),
             text(354, foot[1] - 12, "error left", "bad", "end")]
    return svg("A projection: the state beside the manifold moves to the nearest state on it", 360, 200, parts)


def corrector(method, order):
    """The vector l of z <- A z + l ycor, l_0 = 1: the coefficients of a polynomial in s, where s = 0 is the new time and s = -1 the last one.
    BDF: it vanishes at -1, ..., -q. Adams: it vanishes at -1, its derivative at -1, ..., -(q - 1)."""
    poly = [1.0]
    for i in range(1, order + (method == "BDF")):
        poly = [a + b / i for a, b in zip(poly + [0], [0] + poly)]  # times 1 + s/i
    if method == "BDF":
        return poly
    integral = [0] + [a / (j + 1) for j, a in enumerate(poly)]
    scale = -sum(a * (-1) ** j for j, a in enumerate(integral))  # of the integral from -1 to 0
    return [1.0] + [a / scale for a in integral[1:]]


def rect(x, y, width, height, kind):
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def history():
    """The columns of the Nordsieck array at order 3: what the step adds to the prediction, and what the projection adds."""
    names, unit, base = ["y", "h y′", "h² y″/2", "h³ y‴/6"], 22, 52
    parts = [text(8, 18, "The history at order 3, after a step"), rect(10, 28, 11, 11, "grey"), text(26, 38, "predicted", "dim"),
             rect(100, 28, 11, 11, "bad"), text(116, 38, "corrector: ℓⱼ ycor", "bad"), rect(232, 28, 11, 11, "good"),
             text(248, 38, "projection: δ", "good")]
    for row, (method, which) in enumerate((("BDF", "as correction: every column"), ("Adams", "as prediction: column 0 alone"))):
        floor = 168 + 142 * row
        parts += [text(8, floor - 106, f"{method}, δ {which}"), line([(10, floor), (350, floor)], "line")]
        for j, weight in enumerate(corrector(method, 3)):
            x, top = 26 + 86 * j, floor
            projected = weight if method == "BDF" else float(j == 0)
            for height, kind in (20, "grey"), (unit * weight, "bad"), (0.55 * unit * projected, "good"):
                top -= height
                if height:
                    parts.append(rect(x, top, base, height, kind))
            parts.append(text(x + base / 2, floor + 17, names[j], "dim", "middle"))
    return svg("The columns of the history: with BDF the projection changes all, with Adams the first", 360, 336, parts)


def normal_parts(method, order, way, steps):
    """The component of the history normal to the manifold, its largest entry after each step; the start is 1 in each column but the first."""
    weights, zeta = corrector(method, order), [0.0] + [1.0] * order
    sizes = [1.0]
    for _ in range(steps):
        zeta = [sum(math.comb(k, j) * zeta[k] for k in range(j, order + 1)) for j in range(order + 1)]
        # As correction, column 0 becomes zero; as prediction f = 0 makes column 1 zero, and then column 0 is set to zero.
        size = -zeta[0] if way == "correction" else -zeta[1] / weights[1]
        zeta = [z + w * size for z, w in zip(zeta, weights)]
        zeta[0] = 0.0
        sizes.append(max(map(abs, zeta)))
    return sizes


def growth():
    """What becomes of an error normal to the manifold, at order 5."""
    left, right, top, bottom, low, high, steps = 52, 344, 34, 262, -2, 6, 12

    def place(step, size):
        return left + (right - left) * step / steps, bottom - (bottom - top) * (math.log10(size) - low) / (high - low)

    parts = [text(8, 18, "Order 5: the history normal to the manifold")]
    for power in range(low, high + 1, 2):
        y = place(0, 10.0**power)[1]
        parts += [line([(left, y), (right, y)], "grid"), text(left - 6, y + 4, f"1e{power}", "dim", "end")]
    parts += [text(place(step, 1)[0], bottom + 18, f"{step}", "dim", "middle") for step in range(0, steps + 1, 2)]
    parts += [text((left + right) / 2, bottom + 36, "steps", "dim", "middle")]
    for method, way, kind in (("Adams", "correction", "bad"), ("BDF", "prediction", "good dash"), ("BDF", "correction", "good"),
                              ("Adams", "prediction", "third")):
        points = [place(step, size) for step, size in enumerate(normal_parts(method, 5, way, steps)) if 10.0**low < size < 10.0**high]
        parts += [line(points, "curve " + kind)] + [dot(point, kind.split()[0], 2.8) for point in points]
    parts += [text(place(8.6, 1)[0], place(0, 1e5)[1], "Adams, as correction", "bad", "end"),
              text(right, place(0, 9)[1], "BDF, as prediction", "good", "end"),
              text(place(4.3, 1)[0], place(0, 0.11)[1], "BDF, as correction, and"),
              text(place(4.3, 1)[0], place(0, 0.03)[1], "Adams, as prediction: zero")]
    return svg("Adams as correction grows by 3 in each step; BDF as correction and Adams as prediction vanish", 360, 306, parts)


OURS = {"cpodes-bdf": "bad", "cpodes-adams": "third", "cpodes-dop853": "good", "cpodes-radau": "fourth"}
PEERS = {"cvodes-hook": ("H", "CVODES' hook"), "cvodes-adams": ("A", "Adams, unprojected"), "ida-klu": ("I", "IDA, with KLU"),
         "radau5": ("R", "RADAU5"), "simbody-bdf": ("S", "Simbody's CPodes")}
RACE = {"andrews": "Andrews' mechanism", "chain:n=100,t_end=0.5": "Chain of 100 masses", "bushing_crank": "Slider-crank in a stiff bushing"}


def race(problem, curves):
    """Error over CPU time, both logarithmic. Tolerances that a method did not reach are not in the data."""
    left, right, top, bottom = 56, 346, 34, 290
    shown = [(x, y) for method in [*OURS, *PEERS] for x, y in curves.get(method, [])]
    low = [math.floor(math.log10(min(point[k] for point in shown)) * 2) / 2 for k in (0, 1)]
    high = [math.ceil(math.log10(max(point[k] for point in shown)) * 2) / 2 for k in (0, 1)]

    def place(x, y):
        part = [(math.log10(v) - low[k]) / (high[k] - low[k]) for k, v in enumerate((x, y))]
        return left + (right - left) * part[0], bottom - (bottom - top) * part[1]

    def powers(k, step):
        return range(math.ceil(low[k] / step) * step, math.floor(high[k]) + 1, step)

    parts = [text(8, 18, f"{RACE[problem]}: error over CPU time")]
    for power in powers(1, 2):
        y = place(10.0**low[0], 10.0**power)[1]
        parts += [line([(left, y), (right, y)], "grid"), text(left - 6, y + 4, f"1e{power}", "dim", "end")]
    for power in powers(0, 1):
        x = place(10.0**power, 10.0**low[1])[0]
        parts += [line([(x, top), (x, bottom)], "grid"), text(x, bottom + 18, {-3: "1 ms", 0: "1 s"}.get(power, f"1e{power} s"), "dim", "middle")]
    peers = {letter: [place(*point) for point in curves.get(method, [])] for method, (letter, _) in PEERS.items()}
    parts += [line(points, "line dash") for points in peers.values()]
    for method, kind in OURS.items():
        points = [place(*point) for point in curves.get(method, [])]
        parts += [line(points, "curve " + kind)] + [dot(point, kind, 2.8) for point in points]
    parts += [text(points[-1][0], points[-1][1] + 4, letter, "name", "middle") for letter, points in peers.items() if points]
    for i, (method, kind) in enumerate((method, kind) for method, kind in OURS.items() if method in curves):
        y = bottom + 44 + 20 * i
        parts += [line([(12, y - 4), (34, y - 4)], "curve " + kind), dot((23, y - 4), kind), text(42, y, method, kind)]
    for i, (letter, words) in enumerate(names for method, names in PEERS.items() if method in curves):
        parts.append(text(176, bottom + 44 + 20 * i, f"{letter} - - {words}"))
    return svg(f"{RACE[problem]}: errors at the end over CPU time, methods of cpodes and of others", 360, 420, parts)


def curves(file):
    """{problem: {method: [(seconds, error), ...] by tolerance}}"""
    found = {}
    with open(file, encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            found.setdefault(row["problem"], {}).setdefault(row["method"], []).append((float(row["seconds"]), float(row["error"])))
    return found


def ground(point):
    """A fixed bearing: a triangle below the point, on hatched ground."""
    x, y = point
    return [line([point, (x - 12, y + 18), (x + 12, y + 18), point], "line"), line([(x - 18, y + 18), (x + 18, y + 18)], "line"),
            *(line([(x - 16 + 7 * i, y + 18), (x - 22 + 7 * i, y + 25)], "line") for i in range(6))]


def loop():
    """examples/mechanisms/crank_rocker.yaml as a sketch: a closed loop of three bodies and four pins."""
    def place(x, y):
        return 96 + 510 * x, 164 - 510 * y

    pins = {"A": (0, 0), "B": (0, 0.1), "C": (0.3, 0.25), "D": (0.4, 0)}
    a, b, c, d = (place(*point) for point in pins.values())
    turn = [(a[0] + 30 * math.cos(t / 10), a[1] - 30 * math.sin(t / 10)) for t in range(-8, 13)]
    parts = [*ground(a), *ground(d), line(turn, "curve bad"), arrow(turn[-2], turn[-1], "bad")]
    parts += [line(link, "curve good") for link in ([a, b], [b, c], [c, d])]
    parts += [f'<circle class="page" cx="{x:.1f}" cy="{y:.1f}" r="5"/><circle class="line" cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in (a, b, c, d)]
    parts += [text(a[0] + 40, a[1] - 4, "motor, 1 turn/s", "bad"), text(a[0] - 8, a[1] - 24, "crank", "good", "end"),
              text((b[0] + c[0]) / 2 - 14, (b[1] + c[1]) / 2 - 10, "coupler", "good", "end"), text((c[0] + d[0]) / 2 + 10, (c[1] + d[1]) / 2, "rocker", "good")]
    places = {"A": (a[0], a[1] + 42, "middle"), "B": (b[0] - 10, b[1] - 6, "end"), "C": (c[0], c[1] - 12, "middle"), "D": (d[0], d[1] + 42, "middle")}
    parts += [text(x, y, f"{name} ({pins[name][0]}, {pins[name][1]})", "", anchor) for name, (x, y, anchor) in places.items()]
    return svg("A closed loop of crank, coupler and rocker with pins at A, B, C and D; points in metres", 360, 214, parts)


def arc(centre, radius, begin, end, flat=1.0):
    """Points of a circle, or of an ellipse that is flat times as high; angles in degrees."""
    steps = max(2, round(abs(end - begin) / 12))
    angles = [math.radians(begin + (end - begin) * i / steps) for i in range(steps + 1)]
    return [(centre[0] + radius * math.cos(a), centre[1] - flat * radius * math.sin(a)) for a in angles]


def joints():
    """{name: drawing} of the kinds of joints: body a is dark, body b is blue, and arrows show how b can move."""
    def bent(centre, radius, begin, end, flat=1.0):
        points = arc(centre, radius, begin, end, flat)
        return [line(points, "curve bad"), arrow(points[-2], points[-1], "bad")]

    def both(a, b):
        middle = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
        return [arrow(middle, a, "bad"), arrow(middle, b, "bad")]

    def ring(x, y, radius, kind="line"):
        return [line(arc((x, y), radius, 0, 360), kind)]

    plane = [line([(8, 60), (30, 36), (108, 36), (86, 60), (8, 60)], "line")]
    floor = [line([(8, 60), (104, 60)], "line"), *(line([(14 + 12 * i, 60), (8 + 12 * i, 66)], "line") for i in range(8))]
    sleeve = [line([(36, 26), (76, 26)], "line"), line([(36, 46), (76, 46)], "line"), line([(56, 46), (56, 62)], "line"), line([(44, 62), (68, 62)], "line")]
    kinds = {
        "revolute": [*ground((40, 42)), line([(40, 42), (96, 18)], "curve good"), *ring(40, 42, 5), *bent((40, 42), 40, -8, 16)],
        "ball": [line(arc((48, 38), 15, 110, 250), "line"), line([(10, 38), (33, 38)], "line"), line([(48, 38), (100, 24)], "curve good"),
                 dot((48, 38), "good", 9), *bent((48, 38), 44, -20, 8), *bent((48, 38), 34, 90, 50, 0.7)],
        "universal": [line([(6, 36), (36, 36), (48, 16)], "line"), line([(36, 36), (48, 56)], "line"), line([(48, 16), (48, 56)], "line"),
                      line([(104, 22), (72, 28), (62, 30), (34, 42)], "curve good"), line([(72, 28), (62, 52), (34, 42)], "curve good"),
                      *bent((48, 36), 50, -26, 2)],
        "cylindrical": [*sleeve, line([(10, 36), (100, 36)], "curve good"), *both((76, 14), (108, 14)), *bent((94, 36), 17, -70, 70, 1.0)],
        "prismatic": [*sleeve, line([(10, 32), (100, 32), (100, 40), (10, 40), (10, 32)], "curve good"), *both((76, 14), (108, 14))],
        "planar": [*plane, line([(44, 52), (54, 42), (82, 42), (72, 52), (44, 52)], "curve good"), *both((22, 53), (42, 53)), *both((82, 52), (98, 41)), *bent((64, 22), 16, 200, 340, 0.5)],
        "fixed": [*ground((36, 36)), line([(36, 36), (100, 36)], "curve good"), rect(29, 29, 14, 14, "good")],
        "rod": [*ground((24, 40)), line([(24, 40), (70, 22)], "line"), *ring(24, 40, 4), line([(70, 22), (104, 34)], "curve good"),
                *ring(70, 22, 4), *bent((24, 40), 50, -8, 14)],
        "point_on_line": [line([(6, 52), (106, 32)], "line"), line([(56, 42), (70, 8)], "curve good"), dot((56, 42), "good", 5), *both((66, 49), (96, 43))],
        "point_on_plane": [*plane, line([(58, 48), (72, 12)], "curve good"), dot((58, 48), "good", 5), *both((70, 54), (98, 40)), *both((22, 52), (48, 52))],
        "rolling": [*floor, *ring(52, 38, 22, "curve good"), dot((52, 38), "good", 3), *bent((52, 38), 31, 60, 15)],
        "rolling_disc": [*plane, line([(x + 0.25 * (48 - y), y) for x, y in arc((56, 28), 13, 0, 360, 1.75)], "curve good"), *bent((62, 24), 32, 50, 5)],
    }
    return {f"joint_{name}": svg(f"The joint {name}", 116, 70, drawing) for name, drawing in kinds.items()}


def course():
    """What happens in a run, from the mechanism to the files."""
    rows = [("mechanism", ["catalogue, file, C or Python"]), ("start", ["loops are closed, velocities", "made consistent"]),
            ("step", ["predict, solve, project the state", "and the error; accept, or shorten it"]),
            ("event", ["located; impact or switch; restart"]), ("estimate", ["a second run, a tighter tolerance"]),
            ("verdict", ["energy, violations, error: ok,", "doubtful or wrong, with reasons"]),
            ("files", ["CSV, JSON, curves, picture, report"])]
    parts, y, places = [text(8, 18, "A run, from the mechanism to its files")], 34, {}
    for name, lines in rows:
        height = 18 + 17 * len(lines)
        parts += [rect(30, y, 320, height, "box"), text(38, y + 21, name, "good")]
        parts += [text(122, y + 21 + 17 * i, words) for i, words in enumerate(lines)]
        places[name] = (y, y + height)
        y += height + 16
    ends = list(places.values())
    parts += [arrow((190, a[1]), (190, b[0]), "good") for a, b in zip(ends, ends[1:])]
    upper, lower = (sum(places["step"]) / 2, sum(places["event"]) / 2)  # until the time of the end
    parts += [line([(30, lower), (14, lower), (14, upper)], "curve good"), arrow((14, upper), (30, upper), "good")]
    return svg("The course of a run: start, steps and events, estimate, verdict, files", 360, y - 4, parts)


DARK = "<style>@media (prefers-color-scheme: dark) { svg > g { filter: invert(0.9) hue-rotate(180deg) } }</style>"


def for_dark_pages(picture):
    """A picture with colours for white paper, with a style sheet that inverts its lightness."""
    return re.sub(r"(<svg[^>]*>)", lambda found: found.group(1) + "\n" + DARK, picture, count=1)


CATALOGUE = {"flexible_crank": ["--t-end", "0.03"], "four_bar": ["--t-end", "1.5", "--param", "N=3"], "heavy_top": ["--t-end", "0.5"]}


def catalogue(runner, folder):
    listed = subprocess.run([runner, "list"], capture_output=True, text=True, check=True).stdout
    for name in (row.split()[0] for row in listed.splitlines()):
        file = folder / f"{name}.svg"
        subprocess.run([runner, "run", name, *CATALOGUE.get(name, []), "--no-estimate", "--quiet", "--picture", file], check=True)
        file.write_text(for_dark_pages(file.read_text()))


def first_motion(runner, folder):
    """The result on the first page; fewer outputs than the default of 600 make the file smaller."""
    file = folder / "crank_rocker.svg"
    mechanism = pathlib.Path(__file__).resolve().parents[1] / "examples" / "mechanisms" / "crank_rocker.yaml"
    subprocess.run([runner, "run", mechanism, "--outputs", "84", "--no-estimate", "--quiet", "--picture", file], check=True)
    file.write_text(for_dark_pages(file.read_text()))


def report(runner, folder):
    """The upper part of a report as a phone shows it; needs Chromium with Selenium, and pdftocairo, which makes SVG of what it prints."""
    root = pathlib.Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root / "test" / "runner"))
    import browser  # the browser of the tests

    with tempfile.TemporaryDirectory() as place:
        page = pathlib.Path(place)
        subprocess.run([runner, "run", root / "examples" / "mechanisms" / "spatial_crank.yaml", "--rtol", "1e-8", "--quiet",
                        "--report", page / "report.html"], check=True)
        phone = browser.Browser()
        try:
            phone.media("screen", motion="reduce")  # no animation
            phone.size(360, 900)
            phone.open(page / "report.html")
            phone.run("""document.querySelector("p.kicker").remove(); // the date
                         for (const id of ["motion-description", "motion-keys"]) document.getElementById(id).remove();
                         const time = document.getElementById("time");
                         time.value = 210; time.dispatchEvent(new Event("input"));""")
            time.sleep(1)
            printed = phone.driver.execute_cdp_cmd("Page.printToPDF", {
                "printBackground": True, "paperWidth": 360 / 96, "paperHeight": 1000 / 96, "pageRanges": "1",
                **{"margin" + side: 0 for side in ("Top", "Bottom", "Left", "Right")}})
        finally:
            phone.close()
        (page / "report.pdf").write_bytes(base64.b64decode(printed["data"]))
        subprocess.run(["pdftocairo", "-svg", page / "report.pdf", folder / "report.svg"], check=True)
        file = folder / "report.svg"
        file.write_text(for_dark_pages(file.read_text().replace("<svg ", '<svg class="report" ', 1)))


def drawings():
    data = curves(pathlib.Path(__file__).with_name("race_curves.csv"))
    return {**joints(), "loop": loop(), "projection": projection(), "history": history(), "growth": growth(), "course": course(),
            **{"race_" + problem.partition(":")[0]: race(problem, data[problem]) for problem in RACE}}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[3])
    folder.mkdir(exist_ok=True)
    (folder / "drift.svg").write_text(drift(sys.argv[1]))
    for name, drawing in drawings().items():
        (folder / f"{name}.svg").write_text(drawing)
    catalogue(sys.argv[2], folder)
    first_motion(sys.argv[2], folder)
    try:
        report(sys.argv[2], folder)
    except (OSError, unittest.SkipTest) as missing:
        print(f"report.svg is left as it is: {missing}")

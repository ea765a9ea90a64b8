"""Drawings of the guide: doc/pictures/drift.svg from the numbers that examples/drift.c prints, and doc/pictures/projection.svg.

    python3 guide_pictures.py PATH_OF_DRIFT FOLDER

Each is drawn for a width of 360 pixels. A style sheet inside has colours for light and for dark pages."""
import math
import pathlib
import re
import subprocess
import sys

STYLE = """<style>
text { font: 13px sans-serif; fill: #222 } .dim { fill: #555 }
.line { fill: none; stroke: #222; stroke-width: 1.5 } .grid { stroke: #ddd; stroke-width: 1 }
.bad { stroke: #b3420f } .good { stroke: #1a5fb4 } .curve { fill: none; stroke-width: 2.2 } .dash { stroke-dasharray: 5 4 }
text.bad { fill: #b3420f; stroke: none } text.good { fill: #1a5fb4; stroke: none }
circle.bad { fill: #b3420f } circle.good { fill: #1a5fb4 } circle.dot { fill: #222 } .page { fill: #fff }
@media (prefers-color-scheme: dark) {
text { fill: #eee } .dim { fill: #bbb } .line { stroke: #eee } .grid { stroke: #444 }
.bad { stroke: #ff9a66 } .good { stroke: #7db4ff } text.bad { fill: #ff9a66 } text.good { fill: #7db4ff }
circle.bad { fill: #ff9a66 } circle.good { fill: #7db4ff } circle.dot { fill: #eee } .page { fill: #1c1c1c } }
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


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    (folder / "drift.svg").write_text(drift(sys.argv[1]))
    (folder / "projection.svg").write_text(projection())

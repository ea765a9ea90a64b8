"""What Solution displays: curves, animations, a page."""
from __future__ import annotations

import html as markup
import io
from typing import Any, Callable, Optional, Sequence

import numpy as np

MOST_CURVES = 12
MOST_EVENTS = 200 # largest number of lines and rows; more would hide the curves


def moments(sol: Any) -> list:
    """The times of the user's events and of the contacts' events, as (t, what), in order."""
    own = [(float(t), f"event {i}") for i, times in enumerate(sol.t_events or []) for t in times]
    return sorted(own + [(e.t, f"{e.contact}: {e.kind}") for e in getattr(sol, "contact_events", [])])


def mark(sol: Any, axes: Any) -> None:
    """Draws lines at the events, over the whole height; only the curves determine that height."""
    from matplotlib.collections import LineCollection
    lines = [[(t, 0), (t, 1)] for t, _ in moments(sol)[:MOST_EVENTS]]
    if lines:
        axes.add_collection(LineCollection(lines, transform=axes.get_xaxis_transform(), colors="0.8", linewidths=0.8, zorder=0), autolim=False)


def plot(sol: Any, components: Optional[Sequence[int]] = None, axes: Any = None) -> Any:
    if axes is None:
        import matplotlib.pyplot as plt
        axes = plt.subplots()[1]
    n = len(sol.y)
    names = sol.mechanism.names if hasattr(sol, "mechanism") else [f"$y_{{{i}}}$" for i in range(n)]
    for i in range(min(n, MOST_CURVES)) if components is None else components:
        if not -n <= i < n:
            raise IndexError(f"there is no component {i} among {n}")
        axes.plot(sol.t, sol.y[i], label=names[i])
    mark(sol, axes)
    axes.set_xlabel("t")
    axes.legend(loc="best")
    return axes


def animate(sol: Any, points: Optional[Callable] = None, frames: int = 100, axes: Any = None, interval: int = 40) -> Any:
    from matplotlib import pyplot as plt
    from matplotlib.animation import FuncAnimation
    mechanism, segments = getattr(sol, "mechanism", None), None
    if points is None:
        if not hasattr(mechanism, "points"):
            raise ValueError("only models have a drawing: give points(t, y), which returns an array [k, 2 or 3]")
        segments = mechanism.points(sol.t[0], sol.y[:, 0])[1]
        points = lambda t, y: mechanism.points(t, y)[0]
    times = np.linspace(sol.t[0], sol.t[-1], frames)
    if sol.sol is not None:
        states = sol.sol(times)
    else: # the nearest steps
        states = sol.y[:, [int(np.abs(sol.t - t).argmin()) for t in times]]
    places = np.array([np.asarray(points(t, y), dtype=float) for t, y in zip(times, states.T)])
    if places.ndim != 3 or places.shape[2] not in (2, 3):
        raise ValueError(f"points(t, y) has to return an array [k, 2 or 3], and returned one of shape {places.shape[1:]}")
    # Seen along z if it moves in that plane, else from the side.
    flat = places[..., :2] if places.shape[2] == 2 or not np.ptp(places[..., 2]) else places[..., [0, 2]]
    pairs = segments if segments is not None and len(segments) else np.stack([np.arange(len(flat[0]) - 1), np.arange(1, len(flat[0]))], axis=1)
    if axes is None:
        axes = plt.subplots()[1]
    low, high = flat.reshape(-1, 2).min(axis=0), flat.reshape(-1, 2).max(axis=0)
    margin = 0.05 * max(*(high - low), 1e-12)
    axes.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin), aspect="equal")
    lines = [axes.plot([], [], "o-", color="C0", markersize=4)[0] for _ in pairs]
    title = axes.set_title("")

    def draw(k: int) -> list:
        for line, (a, b) in zip(lines, pairs):
            line.set_data(flat[k, [a, b], 0], flat[k, [a, b], 1])
        title.set_text(f"t = {times[k]:.4g}")
        return [*lines, title]
    return FuncAnimation(axes.figure, draw, frames=len(times), interval=interval, blit=False)


def rows(sol: Any) -> list:
    what = [("message", sol.message), ("method", sol.method), ("time", f"{sol.t[0]:g} to {sol.t[-1]:g}" if len(sol.t) else "-"),
            ("steps", sol.stats.get("steps", 0)), ("components", len(sol.y)),
            ("evaluations of the right-hand side", sol.nfev), ("factorisations", sol.nlu)]
    if len(sol.t):
        what.append(("largest violation of the constraints", f"{sol.violation.max():.3g}"))
        what.append(("largest sum of estimated local errors", f"{np.max(sol.error, initial=0.0):.3g}"))
    if sol.t_events:
        what.append(("events", ", ".join(str(len(e)) for e in sol.t_events)))
    if getattr(sol, "contact_events", None):
        kinds = [e.kind for e in sol.contact_events]
        what.append(("contacts", ", ".join(f"{kind}: {kinds.count(kind)}" for kind in dict.fromkeys(kinds))))
    return what


def html(sol: Any) -> str:
    cells = "".join(f"<tr><td>{markup.escape(str(a))}</td><td>{markup.escape(str(b))}</td></tr>" for a, b in rows(sol))
    return f"<table>{cells}</table>"


PHASE_COLOURS = {"open": "0.9", "sliding": "C1", "sticking": "C0", "closed": "C1", "stepping": "0.6"}


def phases(sol: Any, axes: Any) -> None:
    """Draws a bar along t for each contact."""
    names = sol.contact_names
    for i in range(len(names)):
        for phase, colour in PHASE_COLOURS.items():
            spans = [(p.begin, p.end - p.begin) for p in sol.phases if p.contacts[i] == phase]
            axes.broken_barh(spans, (len(names) - 1 - i - 0.4, 0.8), facecolors=colour, label=phase if i == 0 else None)
    axes.set(xlabel="t", yticks=range(len(names)), yticklabels=names[::-1])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncol=3)


def events_table(sol: Any) -> str:
    found = moments(sol)
    cells = "".join(f"<tr><td>{t:.10g}</td><td>{markup.escape(what)}</td></tr>" for t, what in found[:MOST_EVENTS])
    more = f"<p>and {len(found) - MOST_EVENTS} more</p>" if len(found) > MOST_EVENTS else ""
    return f"<h2>Events</h2><table>{cells}</table>{more}" if found else ""


def figure(draw: Callable) -> str:
    """The drawing of draw(axes), as SVG."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    picture = Figure(figsize=(8, 4))
    draw(FigureCanvasSVG(picture).figure.add_subplot())
    text = io.StringIO()
    picture.savefig(text, format="svg", bbox_inches="tight")
    return text.getvalue()[text.getvalue().index("<svg"):]


def report(sol: Any, path: Any, title: str) -> None:
    def violation(axes: Any) -> None:
        axes.semilogy(sol.t, np.maximum(sol.violation, 1e-18))
        axes.set(xlabel="t", ylabel="violation")
    name = markup.escape(title)
    bars = f"<h2>Phases of the contacts</h2>{figure(lambda axes: phases(sol, axes))}" if getattr(sol, "phases", None) else ""
    page = (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title><style>body{{font-family:sans-serif;'
            f'margin:2em}}td{{padding:0 1em 0 0}}</style></head><body><h1>{name}</h1>{html(sol)}<h2>Motion</h2>'
            f'{figure(lambda axes: plot(sol, axes=axes))}{bars}<h2>Violation of the constraints</h2>{figure(violation)}{events_table(sol)}</body></html>\n')
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)

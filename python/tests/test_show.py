"""Pictures and pages."""
import xml.etree.ElementTree as tree

import numpy as np
import pytest

import cpodes
from pendulum import START, c, f

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def sol():
    return cpodes.solve(f, (0, 1), START, constraints=c, dense_output=True, events=lambda t, y: y[0])


def test_plot_draws_the_components_that_are_asked_for(sol):
    axes = sol.plot([0, 1])
    assert [np.array_equal(line.get_ydata(), sol.y[i]) for i, line in enumerate(axes.lines)] == [True, True]
    with pytest.raises(IndexError, match="4"):
        sol.plot([4])


@pytest.mark.filterwarnings("ignore:Animation was deleted")
def test_animate_moves_the_points(sol):
    animation = sol.animate(lambda t, y: [[0, 0], y[:2]], frames=5)
    animation._func(4)
    assert animation._fig.axes[0].lines[0].get_xdata()[1] == pytest.approx(sol.y[0, -1])
    with pytest.raises(ValueError, match="drawing"):
        sol.animate()
    model = cpodes.model("slider_crank")
    moving = model.solve((0, 1)).animate(frames=3)
    moving._func(0)
    assert len(moving._fig.axes[0].lines) == len(model.points(0, model.y0)[1])


def test_the_report_has_the_figures_and_is_well_formed(sol, tmp_path):
    sol.report(tmp_path / "a.html", "Pendulum <1>")
    text = (tmp_path / "a.html").read_text()
    assert "Pendulum &lt;1&gt;" in text and text.count("<svg") == 2 and str(sol.nfev) in text
    tree.fromstring("<p>" + sol._repr_html_() + "</p>")
    assert str(sol.stats["steps"]) in sol._repr_html_()


def test_curves_and_reports_mark_events_and_phases_of_contacts(tmp_path):
    def top(t, y):
        return y[1]
    top.direction = -1
    sol = cpodes.model("bouncing_ball", e=0.5).solve((0, 1), events=top)
    axes = sol.plot()
    lines = [segment[0, 0] for segment in axes.collections[0].get_segments()]
    assert axes.get_ylim()[1] == pytest.approx(1.05 * sol.y.max() - 0.05 * sol.y.min()) # from the curves: height 1 at the top, speeds below
    assert lines == sorted([*sol.t_events[0], *(e.t for e in sol.contact_events)]) and len(lines) >= 2
    sol.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "Phases of the contacts" in page and "floor: impact" in page and "event 0" in page
    assert sol.contact_names == ["floor"] and "impact:" in sol._repr_html_()

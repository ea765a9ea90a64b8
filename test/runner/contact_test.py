"""Models with contacts: what `cpodes run`, `check` and `describe` say of them."""

import csv
import json
import math
import re
import unittest

from runner import RunnerTest, cpodes

G, E = 9.81, 0.9
FIRST = math.sqrt(2 / G)  # of the impacts of the ball
# Events of the woodpecker up to 0.3 s, time and contact, by test/unit/contact/woodpecker.py
WOODPECKER = (
    (0.021636314053, "lower edge"),
    (0.061213931248, "lower edge"),
    (0.067023398145, "lower edge"),
    (0.077877992290, "upper edge"),
    (0.080988805419, "beak"),
    (0.081575328790, "upper edge"),
    (0.083416385579, "upper edge"),
    (0.118675112949, "lower edge"),
    (0.121335470558, "lower edge"),
    (0.167389522869, "lower edge"),
    (0.206999848513, "lower edge"),
    (0.212830080144, "lower edge"),
    (0.223748643920, "upper edge"),
    (0.226841494027, "beak"),
    (0.227414803667, "upper edge"),
    (0.229281419834, "upper edge"),
    (0.264594986865, "lower edge"),
    (0.267380890512, "lower edge"),
)
REST = FIRST * (1 + E) / (1 - E)  # the end of their series


class ContactTest(RunnerTest):
    def results(self, *arguments):
        """The summary for programs, and the rows of the table"""
        summary, table = self.folder / "run.json", self.folder / "run.csv"
        self.assert_done(cpodes("run", *arguments, "--json", summary, "--csv", table, "--quiet"))
        with open(table, newline="") as file:
            return json.loads(summary.read_text()), list(csv.DictReader(file))

    def test_the_ball_strikes_at_the_times_of_the_geometric_series(self):
        for method in "dop853", "radau", "bdf", "adams":
            with self.subTest(method=method):
                summary, _ = self.results("bouncing_ball", "--method", method, "--rtol", "1e-9", "--atol", "1e-9")
                times = [event["t"] for event in summary["events"]]
                self.assertEqual(sum(t < 8.5 for t in times), 44)  # the 45th is at 8.500132
                for n in range(44):
                    exact = FIRST * (1 + 2 * sum(E**k for k in range(1, n + 1)))
                    self.assertLess(abs(times[n] - exact), 1e-7)
                self.assertEqual(summary["contacts"]["impacts"], summary["contacts"]["events"])
                self.assertEqual(summary["contacts"]["accumulations"], 1)
                self.assertLess(abs(times[-1] - REST), 1e-4)
                self.assertTrue(summary["events"][-1]["accumulated"])
                self.assertEqual(summary["events"][0]["contact"], "floor")
                self.assertTrue(summary["events"][0]["impact"])
                self.assertLess(summary["error"], 1e-7)
                self.assertLess(summary["estimate"]["error"], 1e-7)
                self.assertEqual(summary["verdict"], "ok")

    def test_each_step_has_a_row_and_impacts_have_one_before_and_one_after(self):
        summary, rows = self.results("bouncing_ball", "--outputs", "0", "--t-end", "2")
        impacts = [(a, b) for a, b in zip(rows, rows[1:]) if a["t"] == b["t"]]
        self.assertEqual(len(impacts), 3)  # 0.45, 1.26, 2.00 s
        for before, after in impacts:
            self.assertAlmostEqual(float(after["y'"]), -E * float(before["y'"]), delta=1e-14)
        # steps of all flights: a row each, beside the start and those after impacts
        self.assertEqual(len(rows), 1 + summary["counts"]["steps"] + 3)

    def test_contact_forces_are_those_of_the_slope(self):
        _, rows = self.results("sliding_block", "--outputs", "30")
        stop = 3 / (G * (math.sin(0.5) + 0.3 * math.cos(0.5)))
        for row in rows:
            up = float(row["t"]) < stop
            self.assertAlmostEqual(float(row["N"]), G * math.cos(0.5), delta=1e-12)
            self.assertAlmostEqual(float(row["F"]), (-0.3 if up else 0.3) * G * math.cos(0.5), delta=1e-12)

    def test_a_block_with_more_friction_stays(self):
        summary, rows = self.results("sliding_block", "--param", "mu=0.6")
        (event,) = summary["events"]
        self.assertEqual((event["before"], event["after"]), ("sliding", "sticking"))
        self.assertAlmostEqual(event["t"], 3 / (G * (math.sin(0.5) + 0.6 * math.cos(0.5))), delta=1e-9)
        self.assertAlmostEqual(float(rows[-1]["F"]), G * math.sin(0.5), delta=1e-12)
        self.assertEqual(float(rows[-1]["x'"]), 0)
        self.assertEqual(summary["contacts"]["impacts"], 0)
        self.assertLess(summary["error"], 1e-9)

    def test_the_woodpecker_has_the_events_of_the_exponentials(self):
        tolerance = 1e-9
        for method in "dop853", "bdf":
            with self.subTest(method=method):
                summary, rows = self.results(
                    "woodpecker", "--method", method, "--rtol", tolerance, "--atol", tolerance, "--t-end", 0.3
                )
                self.assertEqual([event["contact"] for event in summary["events"]], [name for _, name in WOODPECKER])
                for event, (exact, _) in zip(summary["events"], WOODPECKER):
                    self.assertLess(abs(event["t"] - exact), 100 * tolerance)
                for row in rows:  # Coulomb's cone
                    for name in "beak", "lower", "upper":
                        normal, friction = float(row["N " + name]), float(row["F " + name])
                        self.assertGreaterEqual(normal, -1e-9)
                        self.assertLessEqual(abs(friction), 0.3 * normal + 1e-9)
                self.assertEqual(summary["verdict"], "ok")

    def test_the_summary_counts_impacts(self):
        text = cpodes("run", "bouncing_ball", "--t-end", "2").stdout
        self.assertIn("1; 3 events, 3 impacts, 0 accumulations of impacts closed; the first event at t = 0.4515", text)

    def test_a_start_is_no_event(self):
        """The woodpecker begins on its lower edge. No two of its events are at the same time."""
        summary, _ = self.results("woodpecker", "--t-end", 0.3)
        self.assertEqual(summary["contacts"]["events"], len(WOODPECKER))
        self.assertEqual(summary["events_seen"], len(WOODPECKER))

    def test_gaps_and_phases_are_columns(self):
        _, rows = self.results("woodpecker", "--t-end", 0.3, "--outputs", 300, "--rtol", 1e-9)
        phases = {"0": "open", "1": "sliding", "2": "sticking"}
        for row in rows:  # the gaps of the model's header, and forces of closed contacts alone
            self.assertAlmostEqual(float(row["gap beak"]), 0.0024 - 0.02 * float(row["phi_S"]), delta=1e-12)
            self.assertAlmostEqual(float(row["gap upper edge"]), 0.0006 - 0.0058 * float(row["phi_M"]), delta=1e-12)
            for name, short in ("beak", "beak"), ("lower edge", "lower"), ("upper edge", "upper"):
                normal, phase = float(row["N " + short]), phases[row["phase " + name]]
                self.assertGreaterEqual(float(row["gap " + name]), -1e-8)
                if phase == "open":
                    self.assertEqual(normal, 0)
                else:
                    self.assertLess(abs(float(row["gap " + name])), 1e-8)
                if phase == "sliding":
                    self.assertAlmostEqual(abs(float(row["F " + short])), 0.3 * normal, delta=1e-12)

    def test_curves_may_be_gaps_and_phases(self):
        report = self.folder / "bird.html"
        names = "gap beak,phase beak,phase lower edge"
        self.assert_done(cpodes("run", "woodpecker", "--t-end", 0.3, "--curves", names, "--report", report, "--quiet"))
        data = dict(re.findall(r'<figure id="figure-(\w+)">.*?<script[^>]*>(.*?)</script>', report.read_text(), re.DOTALL))
        self.assertEqual([c["name"] for c in json.loads(data["gaps"])["curves"]], ["gap beak"])
        bars = json.loads(data["phases"])
        self.assertEqual([b["name"] for b in bars["bars"]], ["beak", "lower edge"])
        self.assertNotIn("coordinates", data)
        # what the lower edge does first: it slides from the start on, and sticks from its first event on
        lower = bars["bars"][1]
        self.assertEqual([bars["words"][k] for k in lower["phase"][:3]], ["sliding", "sticking", "sliding"])
        self.assertEqual(lower["t"][0], 0)
        self.assertAlmostEqual(lower["t"][1], WOODPECKER[0][0], delta=1e-4)
        self.assert_refused(cpodes("run", "woodpecker", "--curves", "gap tail"), "gap tail")

    def test_the_report_tells_what_contacts_do(self):
        report = self.folder / "ball.html"
        self.assert_done(cpodes("run", "bouncing_ball", "--report", report, "--quiet"))
        text = report.read_text()
        self.assertIn("floor: an impact", text)

    def test_models_with_contacts_are_described_and_checked(self):
        self.assertIn("slope: restitution 0, friction 0.3", cpodes("describe", "sliding_block").stdout)
        for model in "bouncing_ball", "sliding_block", "woodpecker":
            self.assert_done(cpodes("check", model))

    def test_other_models_have_no_contacts(self):
        summary, _ = self.results("pendulum")
        self.assertIsNone(summary["contacts"])


if __name__ == "__main__":
    unittest.main()

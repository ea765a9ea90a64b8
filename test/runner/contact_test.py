"""Models with contacts: the output of `cpodes run`, `check` and `describe`."""

import csv
import json
import math
import re
import unittest

from runner import FAILED, RunnerTest, cpodes

G, E = 9.81, 0.9
FIRST = math.sqrt(2 / G)  # of the impacts of the ball
# events of the woodpecker up to 0.3 s, as (time, contact), by test/unit/contact/woodpecker.py
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
CONTACTS = "bouncing_ball sliding_block woodpecker rolling_ball impacting_stick rocking_block painleve_rod slider_crank_clearance".split()
REST = FIRST * (1 + E) / (1 - E)  # the end of their series


def housners_rest(w=0.25, h=0.5, theta0=0.2):
    """When the block stands: psi'' = p^2 sin(psi) from rest at psi_m to alpha, by the midpoint rule in sqrt(psi - psi_m),
    twice in each flight but the first; the rates form a geometric series."""
    alpha, square = math.atan2(w, h), 0.75 * G / math.hypot(w, h)
    ratio = 1 - 1.5 * math.sin(alpha) ** 2

    def fall(psi_m):
        n, width = 400, math.sqrt(alpha - psi_m)
        total = 0
        for i in range(n):
            x = width * (i + 0.5) / n  # psi = psi_m + x^2; cos(psi_m) - cos(psi) without cancellation
            total += 2 * x / math.sqrt(4 * square * math.sin(psi_m + x * x / 2) * math.sin(x * x / 2))
        return total * width / n

    energy = math.cos(alpha - theta0) - math.cos(alpha)  # omega^2 / (2 p^2)
    rest = fall(alpha - theta0)
    for _ in range(40):  # the rest takes 1e-6 s
        energy *= ratio**2
        rest += 2 * fall(math.acos(math.cos(alpha) + energy))
    return rest


# What moves at 2 m/s from 0.2 s on, at once, and a block on it
JERK = """
run: {t_end: 0.3}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: floor, mass: 1, inertia: 0.05, at: [0, 0]}
  - {name: block, mass: 1, inertia: 0.05, at: [0, 0]}
joints:
  - {name: track, kind: prismatic, b: floor, at: [0, 0], axis: AXIS}
drives:
  - {name: motor, of: track, motion: "2 m/s*max(t - 0.2 s, 0 s)"}
contacts:
  - {name: left, a: floor, b: block, at: [0, 0], axis: [0, 1], at_b: [-0.1, 0], friction: 0.3, restitution: 0.5}
  - {name: right, a: floor, b: block, at: [0, 0], axis: [0, 1], at_b: [0.1, 0], friction: 0.3, restitution: 0.5}
"""

# An arm that is turned at 3 rad/s from 0.2 s on, at once, and a second one on its end, whose hinge rubs
ARMS = """
run: {t_end: 0.21}
dimension: 2
gravity: [0, 0]
bodies:
  - {name: arm, mass: 1, inertia: 0.05, at: [0.5, 0]}
  - {name: fore, mass: 1, inertia: 0.05, at: [1.5, 0]}
joints:
  - {name: hinge, kind: revolute, b: arm, at: [0, 0]}
  - {name: elbow, kind: revolute, a: arm, b: fore, at: [1, 0]}
drives:
  - {name: turn, of: hinge, motion: "3 rad/s*max(t - 0.2 s, 0 s)"}
frictions:
  - {name: rub, of: elbow, force: 1.0e-4}
"""


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
        # one row for each step of the flights, in addition to the start and the states after impacts
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

    def test_the_ball_rolls_when_coulomb_says(self):
        mu, v = 0.2, 3
        for method in "dop853", "radau", "bdf", "adams":
            with self.subTest(method=method):
                summary, rows = self.results("rolling_ball", "--method", method, "--rtol", 1e-9, "--atol", 1e-9)
                (event,) = summary["events"]
                self.assertEqual((event["before"], event["after"]), ("sliding", "sticking"))
                self.assertAlmostEqual(event["t"], 2 * v / (7 * mu * G), delta=1e-8)
                self.assertAlmostEqual(float(rows[-1]["x'"]), 5 / 7 * v, delta=1e-8)
                self.assertLess(summary["error"], 1e-7)
                self.assertEqual(summary["verdict"], "ok")

    def test_the_energy_of_a_stick_never_grows(self):
        for e in 1, 0.5:
            summary, _ = self.results("impacting_stick", "--param", f"e={e}", "--rtol", 1e-9, "--atol", 1e-9)
            (energy,) = summary["quantities"]
            self.assertLess(energy["last"], energy["first"])
            self.assertLess(energy["rise"], 1e-9 * 300)
            self.assertGreaterEqual(summary["contacts"]["impacts"], 4)
        summary, _ = self.results("impacting_stick", "--param", "mu=0", "--rtol", 1e-9, "--atol", 1e-9)
        self.assertTrue(summary["quantities"][0]["conserved"])
        self.assertEqual(summary["verdict"], "ok")

    def test_the_block_rocks_as_housner_says(self):
        """Flights are those of elliptic functions; each impact multiplies the rate by 1 - 3/2 sin(alpha)^2 = 0.7."""
        w, h = 0.25, 0.5
        for method, tolerance, error in ("dop853", 1e-6, 1e-6), ("bdf", 1e-6, 1e-5), ("radau", 1e-8, 1e-6):
            with self.subTest(method=method):
                summary, rows = self.results(
                    "rocking_block", "--method", method, "--rtol", tolerance, "--atol", tolerance, "--outputs", 0
                )
                rates = [float(row["theta'"]) for row in rows]
                impacts = [b / a for row, after, a, b in zip(rows, rows[1:], rates, rates[1:]) if row["t"] == after["t"]]
                self.assertGreaterEqual(len(impacts), 13)
                for ratio in impacts[:8]:
                    self.assertAlmostEqual(ratio, 1 - 1.5 * w**2 / (w**2 + h**2), delta=1e-3)
                self.assertAlmostEqual(impacts[0], 0.7, delta=1e-6)
                self.assertLess(summary["error"], error)
                self.assertEqual([rows[-1]["phase left corner"], rows[-1]["phase right corner"]], ["2", "2"])
                self.assertEqual(summary["verdict"], "ok")

    def test_time_stepping_is_told(self):
        """The block comes to rest during the interval. Its outputs are at the requested times."""
        end_time, outputs = 1.48, 7400
        summary, rows = self.results(
            "rocking_block", "--rtol", 1e-9, "--atol", 1e-9, "--outputs", outputs, "--t-end", end_time
        )
        begin, end = [e for e in summary["events"] if e["kind"] == "time stepping"]
        self.assertEqual((begin["end"], end["end"]), ("begins", "ends"))
        self.assertEqual(summary["contacts"]["intervals"], 1)
        self.assertLess(summary["error"], 1e-6)
        self.assertEqual([float(row["t"]) for row in rows], [end_time * k / outputs for k in range(outputs + 1)])
        inside = [begin["t"] < float(row["t"]) < end["t"] for row in rows]
        self.assertGreaterEqual(sum(inside), 5)
        for row, is_inside in zip(rows, inside):
            self.assertEqual(row["phase left corner"] == row["phase right corner"] == "4", is_inside, row)
        self.assertLess(begin["t"], housners_rest())
        self.assertGreater(end["t"], housners_rest())

    def test_a_rod_jams_above_four_thirds(self):
        """Painleve's criterion, 1 + 3 cos^2 - 3 mu sin cos, is 1.6 - 1.2 mu at tan(theta) = 2"""
        _, rows = self.results("painleve_rod", "--t-end", 0.01)
        self.assertAlmostEqual(float(rows[0]["criterion"]), 1.6 - 1.2 * 1.2, delta=1e-14)
        process = cpodes("run", "painleve_rod", "--param", "mu=1.334")
        self.assertNotEqual(process.returncode, 0)
        for word in "foot", "Painleve", "mu = 1.334":
            self.assertIn(word, process.stderr)
        summary, _ = self.results("painleve_rod", "--param", "mu=1.333")
        self.assertEqual(summary["verdict"], "ok")

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
        """The woodpecker begins on its lower edge. No two of its events coincide."""
        summary, _ = self.results("woodpecker", "--t-end", 0.3)
        self.assertEqual(summary["contacts"]["events"], len(WOODPECKER))
        self.assertEqual(summary["events_seen"], len(WOODPECKER))

    def test_gaps_and_phases_are_columns(self):
        _, rows = self.results("woodpecker", "--t-end", 0.3, "--outputs", 300, "--rtol", 1e-9)
        phases = {"0": "open", "1": "sliding", "2": "sticking", "3": "closed"}
        for row in rows:  # the gaps of the model's header, and nonzero forces only for closed contacts
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
        # the lower edge slides from the start on, and sticks from its first event on
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

    def test_the_animation_has_the_forces_of_contacts(self):
        """The contacts on the block are on the slope: N acts across it, and friction against the motion; places are those
        of the block."""
        report = self.folder / "block.html"
        self.assert_done(cpodes("run", "sliding_block", "--outputs", 60, "--report", report, "--quiet", "--no-estimate"))
        data = json.loads(re.search(r'<script[^>]*id="motion-data"[^>]*>(.*?)</script>', report.read_text(), re.DOTALL)[1])
        c, s, pressure = math.cos(0.5), math.sin(0.5), G * math.cos(0.5)
        stop = 3 / (G * (s + 0.3 * c))
        self.assertEqual(len(data["forces"]["frames"]), len(data["times"]))
        for t, frame in zip(data["times"], data["forces"]["frames"]):
            contact, *place, fx, fy = frame
            self.assertEqual(contact, 0)
            x, y = (origin + data["unit"] * k for origin, k in zip(data["origin"], place))
            self.assertAlmostEqual(c * y - s * x, 0, delta=2 * data["unit"])
            friction = -0.3 * pressure if t < stop else 0.3 * pressure
            unit = data["forces"]["unit"]
            self.assertAlmostEqual(unit * fx, c * friction - s * pressure, delta=unit)
            self.assertAlmostEqual(unit * fy, s * friction + c * pressure, delta=unit)

    def end_of(self, text, *arguments):
        file, result = self.folder / "model.yaml", self.folder / "end.json"
        file.write_text(text)
        self.assert_done(cpodes("run", file, "--rtol", "1e-8", "--quiet", "--json", result, *arguments))
        end = json.loads(result.read_text())["end"]
        return dict(zip(end["names"], end["y"]))

    def test_contacts_neither_pull_nor_hold_beyond_friction_when_a_drive_jerks(self):
        """The floor leaves the block, takes it along, or slides under it, which mu g accelerates; P_N = 0 at that jerk."""
        for axis, expected in (
            ("[0, -1]", {"block.y": -G * 0.1**2 / 2, "block.y'": -G * 0.1}),
            ("[0, 1]", {"block.y": 0.2, "block.y'": 2}),
            ("[1, 0]", {"block.x": 0.3 * G * 0.1**2 / 2, "block.x'": 0.3 * G * 0.1}),
        ):
            for method in "dop853", "bdf", "radau":
                with self.subTest(axis=axis, method=method):
                    end = self.end_of(JERK.replace("AXIS", axis), "--method", method)
                    for name, value in expected.items():
                        self.assertAlmostEqual(end[name], value, delta=1e-6)

    def test_dry_friction_of_a_joint_takes_no_impulse(self):
        """J fore = 0.05 + 0.25 about the elbow, which gets 3 m/s: the rate of the second arm becomes -0.5 m (3 m/s) / J."""
        for coordinates in "absolute", "joint":
            end = self.end_of(ARMS, "--coordinates", coordinates)
            rate = end["fore.phi'"] if coordinates == "absolute" else end["elbow.angle'"] + 3
            self.assertAlmostEqual(rate, -0.5 * 3 / 0.3, delta=0.02)  # it turns by 0.05 rad and rubs

    def test_a_drive_against_a_floor_is_told_as_a_lock(self):
        file = self.folder / "press.yaml"
        file.write_text("""
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: plate, mass: 1, inertia: 0.1, at: [0, 1]}
joints:
  - {name: rail, kind: prismatic, b: plate, at: [0, 1], axis: [0, -1]}
drives:
  - {name: ram, of: rail, rate: 0.5}
contacts:
  - {name: anvil, a: ground, b: plate, at: [0, 0], axis: [0, 1], at_b: [0, 0.9], friction: 0.4}
run: {t_end: 3}
""")
        for method in "dop853", "bdf", "radau":
            for coordinates in "absolute", "joint":
                with self.subTest(method=method, coordinates=coordinates):
                    process = cpodes("run", file, "--method", method, "--coordinates", coordinates)
                    self.assert_refused(
                        process, 'drive "ram" cannot move "plate" beyond 0.9 m: contact "anvil" holds it', status=FAILED
                    )

    def test_a_drive_that_presses_a_body_against_a_floor_is_told_as_a_lock(self):
        """The body passes on what it gets, also where all is at rest: impulses of its contacts with the floor do not load the drive."""
        file = self.folder / "sandwich.yaml"
        for motion in "0.5 m/s*t", "0.5 m/s^2*t^2", "0.5 m/s^2*max(t - 0.2 s, 0 s)^2":
            file.write_text(f"""
dimension: 2
gravity: [0, -9.81]
bodies:
  - {{name: plate, mass: 1, inertia: 0.1, at: [0, 1]}}
  - {{name: work, mass: 0.5, inertia: 0.1}}
joints:
  - {{name: rail, kind: prismatic, b: plate, at: [0, 1], axis: [0, -1]}}
drives:
  - {{name: ram, of: rail, motion: "{motion}"}}
contacts:
  - {{name: left, b: work, in: bodies, at: [0, 0], axis: [0, 1], at_b: [-0.2, 0], friction: 0.3}}
  - {{name: right, b: work, in: bodies, at: [0, 0], axis: [0, 1], at_b: [0.2, 0], friction: 0.3}}
  - {{name: top_left, a: work, b: plate, in: bodies, at: [0, 1], axis: [0, 1], at_b: [-0.1, 0], friction: 0.3}}
  - {{name: top_right, a: work, b: plate, in: bodies, at: [0, 1], axis: [0, 1], at_b: [0.1, 0], friction: 0.3}}
run: {{t_end: 1}}
""")
            for method, coordinates in ("dop853", "absolute"), ("bdf", "absolute"), ("radau", "joint"):
                with self.subTest(motion=motion, method=method, coordinates=coordinates):
                    process = cpodes("run", file, "--method", method, "--coordinates", coordinates)
                    self.assert_refused(process, 'drive "ram" cannot move "plate" beyond ', status=FAILED)
                    self.assertRegex(process.stderr, "contact .*left.*right.* hold it")

    def test_feet_with_rounded_lengths_carry_a_box(self):
        """Three feet determine whether the fourth one touches: to within the rounding of its length it need not, nor stop the run."""
        file, speed, friction = self.folder / "feet.yaml", math.hypot(1, 0.3), 0.3
        way = speed / (2 * friction * 9.81)  # of the box along x, whose velocity was 1 m/s
        for off in -1e-9, -1e-12, 1e-12, 1e-9, 1e-8:
            feet = (0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, off)
            contacts = "".join(
                f"  - {{name: foot_{k}, b: box, in: bodies, at: [0, 0, 0], axis: [0, 0, 1], at_b: [{x}, {y}, {z - 0.1!r}], friction: {friction}}}\n"
                for k, (x, y, z) in enumerate(feet)
            )
            file.write_text(f"""
gravity: [0, 0, -9.81]
bodies:
  - {{name: box, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0, 0, 0.1], velocity: [1, 0.3, 0]}}
contacts:
{contacts}run: {{t_end: 1}}
""")
            for method, coordinates in ("dop853", "absolute"), ("bdf", "joint"), ("radau", "absolute"):
                with self.subTest(off=off, method=method, coordinates=coordinates):
                    process = cpodes("run", file, "--method", method, "--coordinates", coordinates)
                    self.assert_done(process)
                    self.assertIn("verdict       ok", process.stdout)
                    x = float(re.search(r"box\.x +(\S+) m", process.stdout).group(1))
                    self.assertAlmostEqual(x, way, delta=1e-5)

    def test_a_drive_against_a_stop_of_its_linkage_is_told_as_a_lock(self):
        """The loop carries what the stop needs, so that its impulse moves nothing but by roundoff."""
        file = self.folder / "crank.yaml"
        file.write_text("""
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: crank, mass: 1.7, inertia: 0.0063, at: [0.03, 0.1]}
  - {name: coupler, mass: 1, inertia: 0.03, at: [0.255, 0.425]}
  - {name: rocker, mass: 1.1, inertia: 0.048, at: [0.594, 0.324]}
joints:
  - {name: A, kind: revolute, b: crank, at: [0, 0]}
  - {name: B, kind: revolute, a: crank, b: coupler, at: [0.063, 0.201]}
  - {name: C, kind: revolute, a: coupler, b: rocker, at: [0.447, 0.649]}
  - {name: D, kind: revolute, b: rocker, at: [0.741, 0]}
drives:
  - {name: motor, of: A, rate: 3}
limits:
  - {name: stop, of: C, lower: -0.14, upper: 0.155, restitution: 0.25}
run: {t_end: 2}
""")
        for method in "dop853", "bdf", "radau":
            for coordinates in "absolute", "joint":
                for rtol in "1e-4", "1e-8":
                    with self.subTest(method=method, coordinates=coordinates, rtol=rtol):
                        process = cpodes(
                            "run", file, "--method", method, "--coordinates", coordinates, "--rtol", rtol, "--no-estimate"
                        )
                        self.assertEqual(process.returncode, FAILED)
                        self.assertRegex(
                            process.stderr, 'drive "motor" cannot turn "crank" beyond 22.[67]. degrees: limit "stop_upper" holds it'
                        )

    def test_models_with_contacts_are_described_and_checked(self):
        self.assertIn("slope: restitution 0, friction 0.3", cpodes("describe", "sliding_block").stdout)
        for model in CONTACTS:
            self.assert_done(cpodes("check", model))

    def test_other_models_have_no_contacts(self):
        summary, _ = self.results("pendulum")
        self.assertIsNone(summary["contacts"])


if __name__ == "__main__":
    unittest.main()

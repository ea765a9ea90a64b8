"""Mechanisms with contacts in files, against closed forms or between two methods; energy falls and no gap is negative."""

import csv
import json
import math
import os
import pathlib
import unittest

from runner import RunnerTest, cpodes

FILES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mechanisms"
METHODS = "dop853", "radau", "bdf", "adams"
G = 9.81


@unittest.skipUnless(os.environ.get("CPODES_YAML"), "no libyaml")
class ContactFiles(RunnerTest):
    def run_file(self, name, method, tol, *arguments):
        """Checks the summary of a run: energy rises by at most 10 tolerances of its scale, and no gap is below zero by more
        than one, in units of the largest coordinate."""
        summary, table = self.folder / "run.json", self.folder / "run.csv"
        self.assert_done(
            cpodes(
                "run", FILES / f"{name}.yaml", "-m", method, "-r", tol, "-a", tol, "--no-estimate", "--outputs", 0, "-q",
                "--json", summary, "--csv", table, *arguments,
            )
        )  # fmt: skip
        run = json.loads(summary.read_text())
        with open(table, newline="") as file:
            rows = list(csv.DictReader(file))
        largest = max(abs(float(row[name])) for row in rows for name in run["end"]["names"][: len(run["end"]["names"]) // 2])
        gaps = [float(row[name]) for row in rows for name in row if name.startswith("gap ")]
        self.assertGreater(min(gaps), -tol * (1 + largest))
        self.assertLess(run["quantities"][0]["rise"], 10 * tol * run["quantities"][0]["scale"])
        return run

    def sequence(self, run):
        return [(e["contact"], e["before"], e["after"], e["impact"], e["accumulated"]) for e in run["events"]]

    def assert_agree(self, name, tols, methods, *arguments, bound=100):
        """All runs have the same events, and states that agree with those of a run at 1e-11 to this many tolerances."""
        reference = self.run_file(name, "dop853", 1e-11, *arguments)
        for tol in tols:
            for method in methods:
                with self.subTest(method=method, tol=tol):
                    run = self.run_file(name, method, tol, *arguments)
                    self.assertEqual(self.sequence(run), self.sequence(reference))
                    for a, b in zip(run["end"]["y"], reference["end"]["y"]):
                        self.assertLess(abs(a - b), bound * tol * (1 + abs(b)))
        return reference

    def test_a_ball_rolls_down_a_log(self):
        """At the loose tolerances RADAU takes the slip of the ball on the egg, which begins at rest, in one step up to the end of
        the run. Root functions that are evaluated next to that end, to see whether it is a root, do not end another step."""
        self.assert_agree("rolling_log", [1e-4, 1e-5, 1e-8], ["dop853", "radau"])

    def test_a_box_that_moves_over_an_edge_is_the_same_at_all_tolerances(self):
        """Up to where the box begins to lift off: corners leave the table, and edges cross in their place. Tipping is unstable."""
        self.assert_agree("box_over_edge", [1e-6, 1e-8, 1e-10], ["dop853"], "-t", 0.5)

    def test_a_barrier_comes_to_rest_on_its_pad(self):
        """The end of a chain of solve_ivp (scipy 1.17.1, DOP853 at 1e-13), restarted by hand where the pad's force or the rate is zero."""
        rest, angle, pad = 3.948081465162, -0.014429588631, [1.995893109277, 2.168570305972, 2.838387081405, 3.025940800930, 3.328012518298]
        for method in "dop853", "radau", "auto":
            for tol in 1e-6, 1e-9:
                for coordinates in "absolute", "joint":
                    with self.subTest(method=method, tol=tol, coordinates=coordinates):
                        result = self.folder / "run.json"
                        self.assert_done(
                            cpodes(
                                "run", FILES / "barrier.yaml", "-m", method, "-r", tol, "-a", tol, "--coordinates", coordinates,
                                "--no-estimate", "-q", "--json", result,
                            )
                        )  # fmt: skip
                        run = json.loads(result.read_text())
                        self.assertEqual(run["verdict"], "ok")
                        at = run["end"]["names"].index("pin.angle" if coordinates == "joint" else "beam.phi")
                        self.assertLess(abs(run["end"]["y"][at] - angle), 10 * tol)
                        events = [(e["contact"], e["after"], e["t"]) for e in run["events"]]
                        stuck = [t for name, after, t in events if (name, after) == ("rub", "sticking")]
                        self.assertEqual(len(stuck), 1)
                        self.assertLess(abs(stuck[0] - rest), 100 * tol)
                        pressed = [t for name, _, t in events if name == "pad_lower"]
                        self.assertEqual(len(pressed), len(pad))
                        for a, b in zip(pressed, pad):
                            self.assertLess(abs(a - b), 10 * tol)

    def test_a_wheel_rolls_over_a_curb(self):
        r, a, v, start, end = 0.3, 0.08, 1.4, -0.6, 1.2
        factor, top = 1 - 2 / 3 * a / (r + a), math.acos(r / (r + a))
        strikes = (-start - (r + a) * math.sin(top)) / v
        n, way = 2000, 0  # time on the curb, where the speed follows from 3/4 v^2 + g (r + a) cos
        for i in range(n):
            angle = top * (i + 0.5) / n
            way += 2 * top / n * (r + a) / math.sqrt((factor * v) ** 2 - 4 / 3 * G * (r + a) * (math.cos(angle) - math.cos(top)))
        for method in METHODS:
            with self.subTest(method=method):
                run = self.run_file("wheel_curb", method, 1e-9)
                times = [event["t"] for event in run["events"]]
                for t, exact in zip(times, (strikes, strikes, strikes + way, strikes + way)):
                    self.assertAlmostEqual(t, exact, delta=1e-7)
                y = dict(zip(run["end"]["names"], run["end"]["y"]))
                self.assertAlmostEqual(y["wheel.x'"], v * factor**2, delta=1e-7)
                self.assertAlmostEqual(y["wheel.phi'"], -v * factor**2 / r, delta=1e-7)
                self.assertAlmostEqual(y["wheel.x"], (r + a) * math.sin(top) + v * factor**2 * (end - strikes - way), delta=1e-7)

    def test_a_redundant_loop_strikes_as_the_same_loop_in_the_plane(self):
        """Three of the twenty rows of the loop in space depend on others; they took the impulse of the floor for the
        velocity of a wrong A."""
        turns = {"crank": 0.47942553860420301, "coupler": 0.261235538480937, "rocker": 0.62449405982357642} # sine of half the angle
        angles = {name: 2 * math.asin(turn) for name, turn in turns.items()}

        def text(space):
            rods = [("crank", 0.5, 0.5, 0.010416666666666666, [0.13507557646703494, 0.21036774620197413]),
                    ("coupler", 1.1, 1.1, 0.11091666666666671, [0.74508274571210231, 0.69811606523002268]),
                    ("rocker", 1.0, 1.0, 0.083333333333333329, [1.1100071692450673, 0.48774831902804866])]  # fmt: skip
            z = [0] if space else []
            lines = ["run: {t_end: 1}", f"gravity: {[0, -G] + z}"] + ([] if space else ["dimension: 2"]) + ["bodies:"]
            for name, mass, _, inertia, at in rods:
                half = angles[name] / 2
                turn = f"quaternion: [{math.cos(half)!r}, 0, 0, {math.sin(half)!r}]" if space else f"angle: {angles[name]!r}"
                lines.append(f"  - {{name: {name}, mass: {mass}, inertia: {[inertia / 100, inertia, inertia] if space else inertia}, at: {at + z}, {turn}}}")
            lines += ["joints:",
                      f"  - {{name: A, kind: revolute, b: crank, in: bodies, at_b: {[-0.25, 0] + z}}}",
                      f"  - {{name: B, kind: revolute, a: crank, b: coupler, in: bodies, at: {[0.25, 0] + z}, at_b: {[-0.55, 0] + z}}}",
                      f"  - {{name: C, kind: revolute, a: coupler, b: rocker, in: bodies, at: {[0.55, 0] + z}, at_b: {[0.5, 0] + z}}}",
                      f"  - {{name: D, kind: revolute, b: rocker, in: bodies, at: {[1, 0] + z}, at_b: {[-0.5, 0] + z}}}",
                      "contacts:",
                      f"  - {{name: floor, b: crank, in: bodies, at: {[0, -0.3] + z}, axis: {[0, 1] + z}, at_b: {[0.25, 0] + z}}}"]  # fmt: skip
            return "\n".join(lines) + "\n"

        def run(space, method):
            file, summary = self.folder / "loop.yaml", self.folder / "loop.json"
            file.write_text(text(space))
            self.assert_done(cpodes("run", file, "-m", method, "-r", 1e-8, "-a", 1e-8, "--no-estimate", "-q", "--json", summary))
            done = json.loads(summary.read_text())
            return done["events"], dict(zip(done["end"]["names"], done["end"]["y"]))

        events, plane = run(False, "dop853")
        self.assertGreater(len(events), 0)
        for method in METHODS:
            with self.subTest(method=method):
                others, space = run(True, method)
                self.assertEqual(len(others), len(events))
                for a, b in zip(events, others):
                    self.assertAlmostEqual(a["t"], b["t"], delta=1e-6)
                for name in ("crank.x", "crank.y", "coupler.x", "rocker.y", "crank.x'", "coupler.y'", "rocker.x'"):
                    self.assertAlmostEqual(plane[name], space[name], delta=1e-5)

    def test_boxes_of_a_stack_slide_and_stop(self):
        """Constant accelerations: of each box, then of the boxes that move together"""
        t1 = 1 / (0.5 * G)  # -0.2 g and 0.3 g, from 1 m/s and 0
        v1, w1 = 0.3 * G * t1, 2 - 0.4 * G * t1
        t2 = t1 + (w1 - v1) / (0.45 * G)  # 0.05 g and -0.4 g
        v2 = v1 + 0.05 * G * (t2 - t1)
        t3 = t2 + v2 / (0.1 * G)
        low = 0.15 * G * t1**2 + (v1 + v2) / 2 * (t2 - t1) + v2 / 2 * (t3 - t2)
        for method in METHODS:
            with self.subTest(method=method):
                run = self.run_file("box_stack", method, 1e-9)
                times = sorted({event["t"] for event in run["events"]})
                self.assertEqual(len(times), 3)
                for t, exact in zip(times, (t1, t2, t3)):
                    self.assertAlmostEqual(t, exact, delta=1e-7)
                self.assertAlmostEqual(run["end"]["y"][0], low, delta=1e-7)

    def test_a_chain_falls_and_lies(self):
        run = self.assert_agree("chain_floor", (1e-6, 1e-7, 1e-8, 1e-9), METHODS)
        y = dict(zip(run["end"]["names"], run["end"]["y"]))
        for i in range(1, 5):
            self.assertLess(abs(math.sin(y[f"rod_{i}.phi"])), 1e-9)
            self.assertLess(max(abs(y[f"rod_{i}.{q}"]) for q in ("y", "x'", "y'", "phi'")), 1e-9)

    def heap(self, n):
        """A file of n spheres above each other in a narrow bin, four in a layer"""
        r, lines = 0.08, ["run: {t_end: 1}", "gravity: [0, 0, -9.81]", "bodies:"]
        for i in range(n):
            layer, k = divmod(i, 4)
            x, y = 0.1 * (2 * (k % 2) - 1) + 0.013 * layer, 0.1 * (2 * (k // 2) - 1) - 0.009 * layer
            at, J = [x, y, 0.1 + 0.18 * layer + 0.003 * k], 0.4 * r * r
            lines.append(f"  - {{name: b{i}, mass: 1, inertia: [{J}, {J}, {J}], at: {at}}}")
        lines += ["shapes:", "  - {name: floor, body: ground, kind: plane}"]
        for j, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
            at = f"at: [{-0.2 * x}, {-0.2 * y}, 0], axis: [{x}, {y}, 0]"
            lines.append(f"  - {{name: w{j}, body: ground, kind: plane, {at}}}")
        lines += [f"  - {{name: s{i}, body: b{i}, in: bodies, kind: sphere, radius: {r}}}" for i in range(n)]
        lines.append("contacts:")
        for i in range(n):
            for a in ["floor", "w0", "w1", "w2", "w3", *(f"s{j}" for j in range(i))]:
                lines.append(f"  - {{name: {a}_{i}, on: shape, a: {a}, b: s{i}, friction: 0.4}}")
        (self.folder / "heap.yaml").write_text("\n".join(lines))
        return self.folder / "heap"

    def test_spheres_that_wedge_each_other_are_followed_by_time_stepping(self):
        """By events alone multipliers do not converge at 0.53 s, where spheres are wedged while others slide."""
        tol = 1e-4
        run = self.run_file(self.heap(8), "dop853", tol, "--time-stepping", "10:0.2")
        self.assertEqual(run["t"], 1)
        self.assertGreaterEqual(run["contacts"]["intervals"], 1)

    def test_limits_of_time_stepping_are_a_number_and_a_time(self):
        for text in ("20", "20:", "x:1", "1:0.5", "20:0", ":"):
            with self.subTest(text=text):
                refused = cpodes("run", FILES / "box_stack.yaml", "--time-stepping", text)
                self.assertEqual(refused.returncode, 2)
                self.assertIn("--time-stepping must be", refused.stderr)

    def test_pins_rattle_in_bearings(self):
        self.assert_agree("four_bar_clearance", (1e-6, 1e-7, 1e-8, 1e-9), ("dop853", "radau"))

    def test_a_tippe_top_inverts_and_stands_on_its_stem(self):
        """A relative change d of the initial spin changes the state by up to 1,000 d (runs with 180 and 180 (1 + 1e-8)
        rad/s)."""
        run = self.assert_agree("tippe_top", (1e-6, 1e-7, 1e-8), ("dop853", "radau"), "--t-end", 1.75, bound=1000)
        y = dict(zip(run["end"]["names"], run["end"]["y"]))
        self.assertLess(1 - 2 * (y["top.e1"] ** 2 + y["top.e2"] ** 2), -0.9)
        self.assertEqual([e["contact"] for e in run["events"] if e["impact"]], ["stem", "cap", "stem"])

    def test_more_friction_keeps_the_tippe_top_on_its_cap(self):
        """It sticks before it has turned over far enough, and then rolls without loss."""
        run = self.run_file("tippe_top", "dop853", 1e-8, "-p", "cap.friction=0.3", "-p", "stem.friction=0.3")
        self.assertEqual(self.sequence(run), [("cap", "sliding", "sticking", False, False)])


if __name__ == "__main__":
    unittest.main()

"""Each component is judged in its own unit, by a scale from the mechanism and the whole run."""

import csv
import json
import math
import os
import pathlib
import unittest

from runner import DONE, FAILED, RunnerTest, cpodes

FILES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mechanisms"

# Seven rods on a body that falls: all angles stay 0 but for roundoff
FALLING = "run: {t_end: 10}\ndimension: 2\ngravity: [0, -9.81]\nbodies:\n" + "".join(
    f"  - {{name: b{i}, mass: 0.3, inertia: 1.0e-3, at: [0, {-0.2 * i - 0.1:.1f}]}}\n" for i in range(7)
) + "joints:\n" + "".join(
    f"  - {{name: j{i}, kind: revolute, a: b{i - 1}, b: b{i}, at: [0, {-0.2 * i:.1f}]}}\n" for i in range(1, 7)
)

# A satellite that flies 300 m/s and tumbles about its middle axis
SATELLITE = """
run: {t_end: 60, balance: false}
gravity: [0, 0, 0]
bodies:
  - {name: b, mass: 100, inertia: [10, 20, 30], velocity: [300, 0, 0], omega: [0.01, 1, 0.01]}
"""

# The spring at the end of a heavy pendulum moves a rod of 0.3 g, whose motion is fast and damped
LIGHT_END = """
run: {t_end: 1.232}
gravity: [0, 0, -9.81]
bodies:
  - {name: b0, mass: 2.017927, inertia: [0.010917264, 0.014787421, 0.010697772], at: [-0.06389, 0, 0.133799]}
  - {name: b1, mass: 0.00028980893, inertia: [7.8117306e-06, 1.0991521e-05, 7.4415443e-06], at: [-0.058517, 0, -0.062528]}
joints:
  - {name: j0, kind: ball, b: b0, at: [0, 0, 0]}
  - {name: j1, kind: revolute, a: b0, b: b1, at: [-0.12778, 0, 0.267598], axis: [0, -1, 0]}
springs:
  - {name: s2, b: b1, in: space, at: [-0.473075, 0, 1.261502], at_b: [0.010747, 0, -0.392654], stiffness: 220.285662, damping: 0.153932}
contacts:
  - {name: c, a: ground, b: b1, in: space, at: [0, 0, -0.80991], axis: [0, 0, 1], at_b: [0.010747, 0, -0.392654], friction: 0, restitution: 0.7}
"""

# A weight on a stiff spring beside a pendulum: only tight tolerances resolve its 10,000 rad/s, over 1000 s
VIBRATING = """
run: {t_end: 1000}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: bob, mass: 1, inertia: 0.1, at: [1, 0]}
  - {name: weight, mass: 1, inertia: 0.1, at: [0, 0], velocity: [0, 1]}
joints:
  - {name: pin, kind: revolute, b: bob, at: [0, 0]}
  - {name: rail, kind: prismatic, b: weight, at: [0, 0], axis: [0, 1]}
springs:
  - {name: s, of: rail, stiffness: 1.0e8}
"""

PENDULUM = """
run: {{t_end: 2}}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {{name: b, mass: {mass}, inertia: {inertia}, at: [{x}, 0]}}
joints:
  - {{name: j, kind: revolute, b: b, at: [{x0}, 0]}}
"""

# A crank of a gram that a motor turns against a damper: the motion is exact, its work is not.
DRIVEN = """
run: {t_end: 20, sensors: pivot}
dimension: 2
bodies:
  - {name: crank, mass: 1.0e-3, inertia: 1.0e-6}
joints:
  - {name: pivot, kind: revolute, b: crank, at: [0, 0]}
springs:
  - {name: rub, of: pivot, damping: 1.0e-5}
drives:
  - {name: motor, of: pivot, rate: 3}
"""

# A crank that a motor rocks
ROCKED = """
run: {t_end: 2}
dimension: 2
gravity: [0, -9.81]
parameters: {w: 1 rad/s}
bodies:
  - {name: b, mass: 2, inertia: 0.3, at: [0.5, 0]}
joints:
  - {name: pivot, kind: revolute, b: b, at: [0, 0]}
drives:
  - {name: motor, of: pivot, motion: "0.8*sin(5*w*t)"}
"""

# A slider crank whose driven pivot rubs
RUBBED = """
run: {t_end: 1.7, coordinates: joint}
dimension: 2
gravity: [0, -9.81]
parameters: {w: 1 rad/s}
bodies:
  - {name: crank, mass: 2.23679, inertia: 0.0133108, at: [0.03452, 0.12908]}
  - {name: rod, mass: 0.447696, inertia: 0.0150501, at: [0.35919, 0.12908]}
  - {name: block, mass: 0.9132, inertia: 0.01, at: [0.64934, 0]}
joints:
  - {name: pivot, kind: revolute, b: crank, at: [0, 0]}
  - {name: pin, kind: revolute, a: crank, b: rod, at: [0.06904, 0.25816]}
  - {name: end, kind: revolute, a: rod, b: block, at: [0.64934, 0]}
  - {name: rail, kind: prismatic, b: block, at: [0.64934, 0], axis: [1, 0]}
drives:
  - {name: motor, of: pivot, motion: "0.5286*sin(2.90125*w*t)"}
frictions:
  - {name: rub, of: pivot, force: 0.43893}
"""

# A bat that a motor lifts against a ball
BAT = """
run: {t_end: 1}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: bat, mass: 1, inertia: 0.1, at: [0, 0]}
  - {name: ball, mass: 2, inertia: 0.1, at: [0, 1.7]}
joints:
  - {name: rail, kind: prismatic, b: bat, at: [0, 0], axis: [0, 1]}
drives:
  - {name: motor, of: rail, rate: 1}
contacts:
  - {name: hit, a: bat, b: ball, in: space, at: [0, 0], axis: [0, 1], at_b: [0, 1.7], restitution: 0.5}
"""

# A weight that two springs hold
REST = """
run: {t_end: 60}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: b, mass: 0.02, inertia: 1.0e-5}
joints:
  - {name: guide, kind: prismatic, b: b, at: [0, 0], axis: [0, 1]}
springs:
  - {name: above, b: b, at: [0, 0.1], at_b: [0, 0], stiffness: 1962, free: 0.0999}
"""

# A pendulum of 1 m that swings by 5e-4 rad, far above its tolerance, 150 times
SWING = """
run: {t_end: 300}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: b, mass: 1, inertia: 1.0e-9, at: [5.0e-4, -1]}
joints:
  - {name: j, kind: revolute, b: b, at: [0, 0]}
"""

WELDED = """
bodies:
  - {name: beam, mass: 20, inertia: [2, 2, 0.1], at: [0.05, 0.1, 1.2], omega: [1.0e-46, 0, 0]}
joints:
  - {name: weld, kind: fixed, b: beam, at: [0, 0, 0]}
"""


SMALL_SWING = """
run: {t_end: 6}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {name: b, mass: 0.0057, inertia: 0.00084, at: [4.0e-7, -0.38]}
joints:
  - {name: j, kind: revolute, b: b, at: [0, 0]}
"""


# The last of the samples, with which friction of the elbow decides anew, is at the end.
SAMPLED_AT_THE_END = """
run: {t_end: 1.74}
dimension: 2
gravity: [0, -9.81]
parameters: {k: 20 N m, d: 0.5 N m s}
bodies:
  - {name: arm, mass: 1, inertia: 0.05, at: [0.5, 0]}
  - {name: fore, mass: 1, inertia: 0.05, at: [1.5, 0]}
joints:
  - {name: hinge, kind: revolute, b: arm, at: [0, 0]}
  - {name: elbow, kind: revolute, a: arm, b: fore, at: [1, 0]}
drives:
  - {name: turn, of: hinge, rate: 3}
frictions:
  - {name: rub, of: elbow, force: 0.2}
actuators:
  - {name: motor, of: elbow, gain: [1, 0, 0]}
controllers:
  - {name: loop, of: motor, every: 0.01, control: "k*(0.3 - elbow.angle) - d*elbow.rate/(1 rad)"}
"""


@unittest.skipUnless(os.environ.get("CPODES_YAML"), "no libyaml")
class Scales(RunnerTest):
    def write(self, text):
        path = self.folder / "m.yaml"
        path.write_text(text)
        return path

    def run_json(self, *arguments):
        out = self.folder / "out.json"
        process = cpodes("run", *arguments, "--json", out)
        self.assert_done(process)
        return json.loads(out.read_text()) | {"summary": process.stdout}

    def assert_ok(self, *arguments):
        run = self.run_json(*arguments, "--strict")
        self.assertEqual((run["verdict"], run["reasons"]), ("ok", []))
        return run

    def test_verdict_does_not_depend_on_the_curves_that_are_drawn(self):
        every = self.assert_ok("pendulum")
        for curves in "energy", "x", "x'":
            self.assertEqual(self.assert_ok("pendulum", "--curves", curves)["scales"], every["scales"])

    def test_scales_do_not_depend_on_the_number_of_outputs(self):
        one, many = (self.assert_ok("andrews", "--outputs", n)["scales"] for n in (1, 1000))
        for unit, scale in one.items():
            self.assertAlmostEqual(many[unit], scale, delta=0.05 * scale)

    def test_coordinates_that_stay_zero_have_the_scale_of_the_mechanism(self):
        run = self.assert_ok(self.write(FALLING))
        self.assertEqual(run["scales"]["rad"], 1)
        self.assertAlmostEqual(run["scales"]["m"], 9.81 * 50 + 1.2, delta=1)
        self.assertAlmostEqual(run["scales"]["m/s"], 98.1, delta=0.1)

    def test_attitudes_are_judged_in_radians_however_far_a_body_flies(self):
        run = self.run_json(self.write(SATELLITE), "--method", "bdf", "--rtol", "1e-3")
        self.assertNotEqual(run["verdict"], "ok")
        self.assertEqual((run["estimate"]["worst"]["unit"], run["estimate"]["worst"]["component"][:2]), ("rad", "b."))
        self.assertFalse(run["estimate"]["chaotic"])
        self.assertLess(run["estimate"]["apart"], 1e-4)
        tight = self.assert_ok(self.write(SATELLITE), "--method", "dop853", "--rtol", "1e-9")
        self.assertLess(tight["estimate"]["part"], 1e-5)

    def test_error_of_an_attitude_is_the_angle_of_a_rotation(self):
        """Half a turn more about the same axis is an error of pi, not of the components of a quaternion"""
        worst = self.run_json(self.write(SATELLITE), "--method", "bdf", "--rtol", "3e-3")["estimate"]["worst"]
        self.assertLessEqual(worst["error"], 3.2)
        self.assertGreater(worst["error"], 1)

    def test_rest_is_judged_by_the_mechanism(self):
        for method, tol in ("dop853", 1e-6), ("bdf", 1e-6), ("bdf", 1e-9), ("radau", 1e-9):
            self.assert_ok(self.write(REST), "--method", method, "--rtol", tol)

    def test_speeds_of_a_small_swing_count_if_its_tolerance_resolves_it(self):
        """After 150 periods the speed of RADAU at 1e-6 is off by more than 1 % of 1 / t_end from that of phi(t) = phi(0) cos(w t)"""
        table, angle, rate = self.folder / "run.csv", 5e-4, math.sqrt(9.81)
        run = self.run_json(self.write(SWING), "--method", "radau", "--rtol", "1e-6", "--csv", table)
        rows = list(csv.DictReader(table.open()))
        error = max(abs(abs(float(row["b.phi'"])) - abs(angle * rate * math.sin(rate * float(row["t"])))) for row in rows)
        self.assertGreater(error, 1e-2 / 300)
        self.assertNotEqual(run["verdict"], "ok")
        self.assertEqual(run["estimate"]["worst"]["unit"], "rad/s")

    def test_moments_of_reactions_are_judged_by_forces_and_arms(self):
        """The moment about the centre of a small swing is m g s phi, which has no digits at 1e-6; the force has six"""
        for method in "radau", "bdf", "adams":
            self.assert_ok(self.write(SMALL_SWING), "--method", method, "--rtol", "1e-6")

    def test_verdict_depends_neither_on_the_mass_nor_on_the_origin(self):
        parts = []
        for mass, x0 in (1, 0), (1e6, 0), (1e-9, 0), (1, 1000):
            text = PENDULUM.format(mass=mass, inertia=mass / 12, x0=x0, x=x0 + 0.5)
            run = self.run_json(self.write(text), "--method", "dopri5", "--rtol", "1e-4", "--param", "gravity.y=-9.81")
            energy = run["quantities"][0]
            self.assertEqual(run["verdict"], "ok")
            # falls through the height of 0.5 m: m g h; weight times extent is as much
            self.assertAlmostEqual(energy["scale"] / (mass * 9.81), 0.5, delta=0.6)
            parts.append(energy["scale"] / mass)
        for part in parts:
            self.assertAlmostEqual(part, parts[0], delta=1e-3 * parts[0])

    def test_light_mechanism_can_fail(self):
        text = PENDULUM.format(mass=1e-9, inertia=1e-10, x0=0, x=0.5)
        run = self.run_json(self.write(text), "--method", "dopri5", "--rtol", "0.3")
        self.assertNotEqual(run["verdict"], "ok")

    def test_work_of_a_motor_is_not_judged_as_a_conserved_energy(self):
        for method in "dop853", "radau", "bdf", "adams":
            for tol in "1e-3", "1e-6":
                run = self.assert_ok(self.write(DRIVEN), "--method", method, "--rtol", tol)
                self.assertEqual(run["end"]["units"][-1], "J")

    def test_work_of_a_motor_is_known_to_its_share_of_the_energies(self):
        # W = J (phi'^2 - phi'(0)^2) / 2 + m g s sin(phi) along the given phi
        doubted = 0
        for method, tol in [(method, tol) for method in ("bdf", "adams") for tol in ("1e-2", "1e-3", "1e-5")]:
            table = self.folder / "table.csv"
            run = self.run_json(self.write(ROCKED), "--method", method, "--rtol", tol, "--csv", table)
            error = 0
            lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
            for row in csv.DictReader(lines):
                phi, rate = 0.8 * math.sin(5 * float(row["t"])), 4 * math.cos(5 * float(row["t"]))
                work = 0.8 * (rate**2 - 16) / 2 + 9.81 * math.sin(phi)
                error = max(error, abs(float(row["work"]) - work) / run["scales"]["J"])
            worst = run["estimate"]["worst"]
            self.assertGreaterEqual(worst["part"], 0.5 * error)
            if worst["unit"] == "J":  # also between outputs, and right to the error of the second run
                self.assertLessEqual(worst["part"], 2 * error)
            self.assertEqual(run["verdict"] != "ok", worst["part"] > 3e-3)
            doubted += run["verdict"] != "ok"
        self.assertEqual(doubted, 1)

    def test_friction_of_a_driven_joint_does_no_work_by_impulses(self):
        # Where the drive turns back, an impulse of 1e8 N s by roundoff changed the balance of energy by up to 1,000 J at some tolerances.
        for method in "dop853", "radau":
            for k in range(16):
                tol = f"{10 ** (-4 - 0.35 * k):.6e}"
                run = self.run_json(self.write(RUBBED), "--method", method, "--rtol", tol, "--no-estimate")
                self.assertLess(run["quantities"][0]["drift"], 1e-3)

    def test_work_of_a_motor_jumps_a_little_earlier_or_later(self):
        # The bat's drive works by 40 % of the scale in the impact, at 0.49554 s, which BDF finds up to 4e-4 s too early.
        for method in "bdf", "adams":
            for tol in "1e-3", "1e-4", "1e-5":
                self.assert_ok(self.write(BAT), "--method", method, "--rtol", tol, "--outputs", "4000")

    def test_outputs_are_never_drawn_as_conserved_quantities(self):
        sensors = " ".join(f"j{i}" for i in range(1, 7))
        text = FALLING.replace("t_end: 10", f"t_end: 1, sensors: {sensors}")
        page = self.folder / "page.html"
        run = self.assert_ok(self.write(text), "--report", page)
        self.assertEqual([q["name"] for q in run["quantities"] if q["conserved"]], ["energy"])
        self.assertEqual(len(run["quantities"]), 13)
        html = page.read_text()
        if "figure-drift-description" in html:
            description = html.split('id="figure-drift-description"')[1].split("</p>")[0]
            self.assertNotIn("j5", description)

    def test_errors_at_outputs_within_long_steps_count(self):
        """DOP853 at 1e-2 interpolates fast oscillations of the rod less accurately than it integrates them"""
        run = self.run_json("flexible_crank", "--method", "dop853", "--rtol", "1e-2")
        self.assertNotEqual(run["verdict"], "ok")
        self.assertGreater(run["estimate"]["part"], 1e-2)

    def test_forces_that_are_off_are_not_ok(self):
        """DOP853 at 1e-6 does not resolve the vibrations of stiff bushings, which are small, but their forces are not"""
        multipliers = []
        for rtol in "1e-6", "1e-10":
            table = self.folder / "run.csv"
            run = self.run_json("bushing_crank", "--method", "dop853", "--rtol", rtol, "--csv", table)
            multipliers.append([float(row["lambda1"]) for row in csv.DictReader(table.open())])
            if rtol == "1e-6":
                self.assertEqual(run["verdict"], "wrong")
                self.assertIn("the reaction on ", run["reasons"][0])
                self.assertRegex(run["summary"], "of a scale: the reaction on .* of .* N")
                self.assertFalse(run["estimate"]["chaotic"])
        coarse, tight = multipliers
        self.assertGreater(max(abs(a - b) for a, b in zip(coarse, tight)), 0.05 * max(map(abs, tight)))

    def test_large_errors_are_not_ok(self):
        """Attitudes of the governor are off by 0.0094 rad; the four-bars by more than 0.1 rad after their singular positions"""
        for model in "flyball_governor --method bdf --rtol 1e-5", "four_bar --param N=1 --method dop853 --rtol 1e-4":
            self.assertNotEqual(self.run_json(*model.split())["verdict"], "ok", model)

    def test_what_was_not_compared_is_not_ok(self):
        """The second run has to resolve what the first one does not, and costs much more; then it reaches the end or causes doubt."""
        run = self.run_json(self.write(LIGHT_END), "--coordinates", "joint", "--method", "bdf", "--rtol", "1e-4")
        self.assertEqual(run["estimate"]["reached"], run["t"])  # its errors grow in the second half
        self.assertEqual(run["verdict"], "doubtful")
        run = self.run_json(self.write(VIBRATING), "--method", "radau", "--rtol", "1e-2", "--outputs", 20)
        self.assertTrue(run["estimate"]["stopped"])
        self.assertLess(run["estimate"]["reached"], run["t"])
        self.assertNotEqual(run["verdict"], "ok")
        self.assertRegex(" ".join(run["reasons"]), r"compared only up to t = [\d.]+ s of 1000 s")

    def test_states_are_compared_at_equal_times_if_an_event_is_at_the_end(self):
        for method in "dop853", "radau":
            for coordinates in "absolute", "joint":
                file = self.write(SAMPLED_AT_THE_END)
                run = self.run_json(file, "--method", method, "--rtol", "1e-6", "--coordinates", coordinates)
                self.assertEqual(run["verdict"], "ok", run["reasons"])
                self.assertLess(run["estimate"]["part"], 1e-4)

    def test_chaotic_motions_and_no_others_are_called_so(self):
        for model in "chain --param n=3 --t-end 40", "chain --param n=5 --t-end 40":
            run = self.run_json(*model.split())
            self.assertTrue(run["estimate"]["chaotic"], run["estimate"])
            self.assertGreater(run["estimate"]["apart"], 1e-4)
            self.assertIn("verdict       doubtful", run["summary"])
        for rtol in "1e-3", "1e-4", "1e-5":
            run = self.run_json(self.write(SATELLITE), "--method", "bdf", "--rtol", rtol)
            self.assertFalse(run["estimate"]["chaotic"], run["estimate"])

    def test_steps_before_a_failure_are_counted(self):
        for method in "bdf", "adams", "dop853":
            out = self.folder / "out.json"
            process = cpodes("run", FILES / "dead_centre.yaml", "--method", method, "--json", out, "--quiet")
            self.assertEqual(process.returncode, FAILED)
            self.assertGreater(json.loads(out.read_text())["counts"]["steps"], 20)

    def test_motions_within_the_roundoff_of_the_time_are_told(self):
        """A pendulum of length L has the acceleration g / L, and moves on by a radian within 2^-52 t_end where L < g (2^-52 t_end)^2."""
        for length in 1e-40, 1e-33, 1e-28, 1e-3, 1:
            model = f"""
run: {{t_end: 10, coordinates: joint}}
dimension: 2
gravity: [0, -9.81]
bodies:
  - {{name: b, mass: 1, inertia: {length * length * 1e-3}, at: [{length}, 0]}}
joints:
  - {{name: j, kind: revolute, b: b, at: [0, 0]}}
"""
            process = cpodes("describe", self.write(model))
            self.assertEqual(process.returncode, DONE, process.stderr)
            told = "no steps resolve it" in process.stderr
            self.assertEqual(told, length < 9.81 * (2**-52 * 10) ** 2, f"{length}: {process.stderr}")
            if length == 1e-28:  # steps advance t there, but a run takes too long
                continue
            run = cpodes("run", self.write(model), "--method", "dop853", "--quiet", "--no-estimate")
            self.assertEqual("no steps resolve it" in run.stderr, told, run.stderr)
            self.assertEqual(run.returncode == DONE, not told, run.stderr)  # it would not come to its end

    def test_check_compares_no_roundoff_with_zero(self):
        process = cpodes("check", self.write(WELDED))
        self.assertEqual(process.returncode, DONE, process.stdout)


if __name__ == "__main__":
    unittest.main()

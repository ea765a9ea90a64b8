"""`cpodes check` names the faults of a model, and finds none in a right one."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from runner import CRASHED, DONE, FAILED, INTERRUPTED, OUTPUT, PROGRAM, SANITIZED, RunnerTest, cpodes, finish, start
from user_model import ODE, ODE_ALONE, OPERATORS, compile_model

FILES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mechanisms"

# parts of the pendulum that are replaced, and the message
WRONG = {
    "a wrong entry of A": (
        {"A": "SM_ELEMENT_D(S, 0, 0) = 2 * q[0]; SM_ELEMENT_D(S, 0, 1) = 3 * q[1] + 1; return 0;"},
        ["A: derivative of p", "A(0, 1) is 1, and the derivative of p along N e_j 0"],
    ),
    "a wrong p": (
        {"p": "p[0] = q[0] * q[0] + 3 * q[1] * q[1] - 1; return 0;", "start": "y[0] = sqrt(0.5), y[1] = -y[0];"},
        ["A: derivative of p", "A(0, 1)", "start: on the constraints", "p[0] of the CPMech is violated by 1"],
    ),
    "a wrong v": (
        {"v": "v[0] = 2 * (q[0] * u[0] + q[1] * u[1]) + 1; return 0;"},
        ["v: rate of p", "v[0] is", "the derivative of p along the motion"],
    ),
    "a wrong b": (
        {"b": "b[0] = 2 * (u[0] * u[0] + u[1] * u[1]); return 0;"},
        ["b: rate of -v", "b[0] is 0.17", "minus the derivative of v along the motion -0.17"],
    ),
    "a wrong K": (
        {"jac": "SM_ELEMENT_D(K, 0, 0) = -2 * l[0]; return 0;"},
        ["K: derivative of the dynamics", "dynamics_jac: K(1, 1) is 0, and the derivative of f - M u' - A^T lambda"],
    ),
    "a wrong C": (
        {"jac": "for (int i = 0; i < 2; i++) SM_ELEMENT_D(K, i, i) = -2 * l[0]; SM_ELEMENT_D(C, 1, 0) = 1; return 0;"},
        ["C: df/du", "dynamics_jac: C(1, 0) is 1, and the derivative of f with respect to u 0"],
    ),
    "an asymmetric M": (
        {"M": "SM_ELEMENT_D(S, 0, 0) = SM_ELEMENT_D(S, 1, 1) = 1; SM_ELEMENT_D(S, 0, 1) = 0.5; return 0;"},
        ["M: symmetric", "M is not symmetric: M(0, 1) is 0.5, and its mirror image 0"],
    ),
    "a wrong transposed product": (
        {"mech": OPERATORS, "ATl": "y[0] = 2 * q[0] * x[0]; y[1] = x[0]; return 0;"},
        ["Au, Mu: transpose, inverse", "Au: of A x, entry [0] is", "by ATl it is"],
    ),
    "a wrong inverse of M": (
        {"mech": OPERATORS, "Mu": "y[0] = 2 * x[0]; y[1] = 2 * x[1]; return 0;"},
        ["Au, Mu: transpose, inverse"],
    ),
    "a NaN in f": (
        {"f": "f[1] = sqrt(-1 - q[0] * q[0]); return 0;"},
        ["functions of the CPMech", "f[1] is", "nan"],
    ),
    "an f that fails": ({"f": "return -1;"}, ["functions of the CPMech", "the function f failed (-1)"]),
    "an f that is another motion": (
        {"create": ODE, "ode": "r[0] = s[2]; r[1] = s[3]; r[2] = 0; r[3] = -1; return 0;"},
        ["f: the same motion", "component 3 of f is -1, but CPMech's acceleration is -9.81"],
    ),
    "an f that leaves the invariants": (
        {"create": ODE_ALONE, "ode": "r[0] = s[2]; r[1] = s[3]; r[2] = 0; r[3] = -9.81; return 0;"},
        ["f: keeps c", "f leaves constraint 1"],
    ),
    "a wrong G": (
        {"create": ODE_ALONE, "jacobian": "SM_ELEMENT_D(S, 0, 0) = 2 * s[0]; return 0;"},
        ["G: derivative of c", "G(1, 2) is 0, and the derivative of c 1 "],
    ),
    "a wrong length of the state": ({"n": "5"}, ["sizes", "n is 5, but nq + nu + nz = 4"]),
    "a start off the constraints": (
        {"start": "y[0] = 1.1 * g->L;"},
        ["start: on the constraints", "p[0] of the CPMech is violated by 0.21"],
    ),
    "velocities off the constraints": (
        {"start": "y[0] = g->L; y[2] = 0.5;"},
        ["start: on the constraints", "v[0] of the CPMech is violated by 1"],
    ),
    "a start that is not finite": ({"start": "y[0] = 1; y[3] = NAN;"}, ["start: finite", "component 3 of y0 is not finite"]),
    "an energy that is not conserved": (
        {"energy": "return (y[2] * y[2] + y[3] * y[3]) / 2 + 5 * y[1];"},
        ["energy: conserved", "energy is not conserved: it changes by"],
    ),
    "a force that energy does not know": (
        {"f": "f[1] = -9.81; f[0] = 0.1; return 0;"},
        ["energy: conserved", "energy is not conserved: it changes by"],
    ),
    "a force that is right at t = 0 only": (
        {"f": "f[1] = -9.81; f[0] = 0.1 * sin(t); return 0;"},
        ["energy: conserved", "energy is not conserved: it changes by"],
    ),
    "a b of an end that moves, which is right at t = 0 only": (
        {
            "p": "const sunrealtype x = q[0] - 0.1 * sin(t); p[0] = x * x + q[1] * q[1] - 1; return 0;",
            "v": "v[0] = 2 * ((q[0] - 0.1 * sin(t)) * (u[0] - 0.1 * cos(t)) + q[1] * u[1]); return 0;",
            "A": "SM_ELEMENT_D(S, 0, 0) = 2 * (q[0] - 0.1 * sin(t)); SM_ELEMENT_D(S, 0, 1) = 2 * q[1]; return 0;",
            "b": "const sunrealtype s = u[0] - 0.1 * cos(t); b[0] = -2 * (s * s + u[1] * u[1]); return 0;",
            "start": "y[0] = 1; y[2] = 0.1;",
        },
        ["b: rate of -v", "minus the derivative of v along the motion"],
    ),
    "a constraint that is not filled in": (
        {
            "mech": "{CP_SIZED(CPEquations), .nu = 2, .np = 2, .M = M, .A = A, .f = f, .p = p}",
            "A": "SM_ELEMENT_D(S, 0, 0) = 2 * q[0]; SM_ELEMENT_D(S, 0, 1) = 2 * q[1]; return 0;",
        },
        ["A: no row is zero", "row 1 of A is zero, so that position constraint 1 acts on nothing"],
    ),
    "an energy that rises": (
        {"quantities": '{.name = "energy", .unit = "J", .value = energy, .scale = 10}', "energy": "return t;"},
        ["energy: never rises", "energy is not dissipated"],
    ),
    "a drawing that is not finite": ({"points": "xyz[4] = 1 / (y[1] - y[1]);"}, ["drawing", "point 1 of the drawing"]),
    "ground that moves": ({"points": "xyz[0] = y[0];"}, ["drawing", "point 0 of the drawing is ground, but moves"]),
    "no function p": ({"mech": "{CP_SIZED(CPEquations), .nu = 2, .np = 1, .M = M, .A = A}"}, ["functions that must be there", "p must be given"]),
    "a reference that is not there": (
        {"create": "model->known = 1; model->reference_error = 1e-9;"},
        ["sizes", "known, but there is no reference"],
    ),
    "events without their functions": ({"create": "model->nroots = 1;"}, ["events", "no function roots or event"]),
}


COAXIAL = """
run: {t_end: 1, coordinates: joint}
dimension: 2
bodies:
  - {name: driver, mass: 1, inertia: 0.1, at: [0, 0], centre: [0, 0.5]}
  - {name: coupler, mass: 1, inertia: 2, at: [0, 0], centre: [2.4, 0]}
  - {name: rocker, mass: 2, inertia: 0.7, at: [0, 0], centre: [0, 1]}
joints:
  - {name: A, kind: revolute, b: driver, at: [0, 0]}
  - {name: B, kind: revolute, a: driver, b: coupler, at: [0, 0]}
  - {name: D, kind: revolute, b: rocker, at: [0, 0]}
  - {name: C, kind: revolute, a: coupler, b: rocker, at: [0, 2]}
"""


class CheckTest(RunnerTest):
    def check(self, *options, **parts):
        return cpodes("check", compile_model(self.folder, **parts), *options)

    def test_a_right_model_of_the_users_is_right_in_every_form_of_its_equations(self):
        for form in {}, {"mech": OPERATORS}, {"create": ODE}, {"create": ODE_ALONE}:
            check = self.check(**form)
            self.assertEqual(check.returncode, DONE, check.stdout)
            self.assertIn("energy: conserved", check.stdout)

    def test_sparse_matrices_are_checked(self):
        check = cpodes("check", "chain", "--param", "n=60")
        self.assertEqual(check.returncode, DONE, check.stdout)
        self.assertRegex(check.stdout, r"K: derivative of the dynamics +ok")

    def test_what_is_wrong_is_named_with_its_function_and_values(self):
        for case, (parts, words) in WRONG.items():
            with self.subTest(case):
                check = self.check(**parts)
                self.assertEqual(check.returncode, FAILED, check.stdout + check.stderr)
                for word in words:
                    self.assertIn(word, check.stdout)
                self.assertRegex(check.stdout, f"{re.escape(words[0])}.* WRONG")
                self.assertEqual(len(check.stderr.splitlines()), 1, check.stderr)
                self.assertIn(words[0], check.stderr)

    def test_several_things_that_are_wrong_are_all_named(self):
        check = self.check(
            start="y[0] = 1.1 * g->L;",
            points="xyz[4] = NAN;",
            A="SM_ELEMENT_D(S, 0, 0) = 2 * q[0]; return 0;",
        )
        self.assertEqual(check.returncode, FAILED)
        for what in "start: on the constraints", "A: derivative of p", "drawing":
            self.assertRegex(check.stdout, f"{what} +WRONG")

    def test_what_follows_from_another_error_is_not_called_wrong(self):
        check = self.check(A="SM_ELEMENT_D(S, 0, 0) = 2 * q[0]; SM_ELEMENT_D(S, 0, 1) = q[1]; return 0;")
        self.assertRegex(check.stdout, r"A: derivative of p +WRONG")
        self.assertRegex(check.stdout, r"energy: conserved +not judged")

    def test_a_start_off_the_constraints_spoils_no_other_finding(self):
        check = self.check(start="y[0] = g->L; y[2] = 0.5;")
        self.assertRegex(check.stdout, r"start: on the constraints +WRONG")
        self.assertRegex(check.stdout, r"energy: conserved +ok")

    def test_parameters_reach_the_model(self):
        check = self.check("--param", "g=20", f="f[1] = -9.81; return 0;")
        self.assertEqual(check.returncode, FAILED)
        self.assertIn("energy is not conserved", check.stdout)

    def test_a_crash_is_one_line_that_says_where(self):
        crash = "*(volatile int *)0 = 1; return 0;"
        for parts, words in (
            ({"create": "*(volatile int *)0 = 1;"}, ["create"]),
            ({"f": crash}, ["functions of the CPMech"]),
            ({"members": ".points = points", "points": "abort();"}, ["drawing"]),
        ):
            with self.subTest(parts):
                check = self.check(**parts)
                self.assertEqual(check.returncode, CRASHED, check.stderr)
                # a sanitizer prints more
                lines = [line for line in check.stderr.splitlines() if not SANITIZED or line.startswith("cpodes: ")]
                self.assertEqual(len(lines), 1, check.stderr)
                for word in "rod", *words:
                    self.assertIn(word, lines[0])

    def test_a_model_that_ends_the_process_is_a_crash(self):
        self.assert_refused(self.check(f="exit(0);"), "rod", "exit status 0", status=CRASHED)

    def test_models_that_never_end_or_sleep_are_stopped(self):
        bodies = {"runs": "for (volatile int i = 0;; i++);", "sleeps": "sleep(1000); return 0;"}
        models = {name: compile_model(self.folder, name, f=f) for name, f in bodies.items()}
        checks = {name: start("check", model, "--time-limit", 1) for name, model in models.items()}
        for name, check in checks.items():
            check = finish(check)
            self.assert_refused(check, "rod", "functions of the CPMech", status=FAILED)
            # one second of CPU time, or five by the clock, which pass first on a loaded machine
            self.assertRegex(check.stderr, "stopped after 5 s" if name == "sleeps" else "stopped after [15] s")

    def start_check(self):
        """A check of a model that sleeps, like a process that it has started; its process, and both process ids"""
        sleepers = f'FILE *file = fopen("{self.folder}/pids", "w"); const int other = fork(); if (!other) sleep(1000);'
        tell = 'fprintf(file, "%d %d\\n", getpid(), other); fclose(file); sleep(1000); return 0;'
        model = compile_model(self.folder, create=sleepers + tell)
        process = subprocess.Popen([PROGRAM, "check", model], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        pids = self.folder / "pids"
        self.wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        return process, [int(pid) for pid in pids.read_text().split()]

    def wait_until(self, is_true):
        end = time.monotonic() + 30
        while not is_true():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def is_gone(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
        except OSError:
            return True

    def test_ctrl_c_ends_a_check_and_what_the_model_has_started(self):
        process, pids = self.start_check()
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=30)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(text, "cpodes: interrupted\n")
        self.wait_until(lambda: all(map(self.is_gone, pids)))

    @unittest.skipUnless(sys.platform == "linux", "needs PR_SET_PDEATHSIG")
    def test_a_check_that_is_killed_leaves_no_model_behind(self):
        process, pids = self.start_check()
        self.addCleanup(lambda: self.is_gone(pids[1]) or os.kill(pids[1], signal.SIGKILL))
        process.kill()
        process.wait()
        self.wait_until(lambda: self.is_gone(pids[0]))

    def test_a_model_that_cannot_be_created_is_refused(self):
        self.assert_refused(self.check(create="return -1;"), "rod")
        self.assert_refused(self.check(create="N_VDestroy(model->y0); model->y0 = NULL;"), "rod", "y0")

    def test_what_a_model_prints_is_not_mixed_with_the_table(self):
        check = self.check(f='puts("hello"); fflush(stdout); f[1] = -((G *)data)->g; return 0;')
        self.assertEqual(check.returncode, DONE)
        self.assertNotIn("hello", check.stdout)
        self.assertIn("hello", check.stderr)

    def test_a_reader_that_leaves_is_no_crash(self):
        process = subprocess.Popen([PROGRAM, "check", "bending_chain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        with process.stderr:
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.wait(), OUTPUT)

    def test_states_near_the_start_of_many_bodies_are_found(self):
        self.assertRegex(cpodes("check", "chain", "-p", "n=1000").stdout, r"consistent states near it +ok")

    def test_a_fast_drive_is_right_at_later_times(self):
        """Its states there are found to looser tolerances than those of the run that keeps the energy."""
        file = self.folder / "shaft.yaml"
        file.write_text("run: {title: shaft, t_end: 60}\ngravity: [0, 0, -9.81]\n"
                        "bodies:\n  - {name: shaft, mass: 2, inertia: [0.01, 0.02, 0.02]}\n"
                        "joints:\n  - {name: bearing, kind: revolute, b: shaft, axis: [1, 0, 0]}\n"
                        "drives:\n  - {name: motor, of: bearing, rate: 314.15926535897931}\n")
        result = cpodes("check", file)
        self.assert_done(result)
        self.assertRegex(result.stdout, r"energy: conserved +ok")

    def test_rows_of_polyhedra_that_do_not_touch_have_no_gradient(self):
        for file in "box_over_edge.yaml", "box_stack.yaml":
            result = cpodes("check", FILES / file)
            self.assert_done(result)
            self.assertRegex(result.stdout, r"A: no row is zero +ok", file)

    def test_values_of_parameters_with_which_nothing_moves_are_not_judged(self):
        file = self.folder / "cam.yaml"  # a coupler with the ratio 0 on the follower has no solution beside the drive
        file.write_text("gravity: [0, 0, -9.81]\n"
                        "bodies:\n  - {name: shaft, mass: 1, inertia: [0.02, 0.03, 0.04], omega: [0, 0, 6]}\n"
                        "  - {name: rod, mass: 0.5, inertia: [0.02, 0.03, 0.04], at: [0, 0, 0.3]}\n"
                        "joints:\n  - {name: turn, kind: revolute, b: shaft, axis: [0, 0, 1]}\n"
                        "  - {name: lift, kind: prismatic, b: rod, at: [0, 0, 0.3], axis: [0, 0, 1]}\n"
                        "couplers:\n  - {name: cam, of: [lift, turn], ratio: [1, -1], function: 20 mm*(1 - cos(x))}\n"
                        "drives:\n  - {name: motor, of: turn, rate: 6}\n")
        result = cpodes("check", file)
        self.assert_done(result)
        self.assertRegex(result.stdout, r"energy: with other parameters +ok")

    def test_times_of_activations_stay_positive(self):
        result = cpodes("check", FILES / "arm_control.yaml")
        self.assert_done(result)
        self.assertIn("are right", result.stdout)
        self.assert_refused(cpodes("run", FILES / "arm_control.yaml", "--param", "base_motor.time=0"), "base_motor.time")

    def test_stops_and_ropes_are_contacts_on_no_surface(self):
        for file in "hoist.yaml", "barrier.yaml", "arm.urdf":
            result = cpodes("check", FILES / file)
            self.assert_done(result)
            self.assertIn("are right", result.stdout, file)

    def test_accelerations_that_drives_hold_at_zero_are_right(self):
        file = self.folder / "arm.yaml"  # u' is roundoff of 10 m/s^2 / 0.3 m
        hinges = [("a", "", [0.6, 0, 0.8], 0), ("b", "a: a, ", [0, 1, 0], 0.3), ("c", "a: b, ", [0.28, 0.96, 0], 0.6)]
        file.write_text("run: {coordinates: joint}\ngravity: [0, 0, -9.81]\nbodies:\n"
                        + "".join(f"  - {{name: {b}, mass: 1.3, inertia: [0.02, 0.03, 0.04], at: [{x + 0.15}, 0.1, 0.05]}}\n"
                                  for b, _, _, x in hinges)
                        + "joints:\n" + "".join(f"  - {{name: j{b}, kind: revolute, {on}b: {b}, at: [{x}, 0, 0], axis: {axis}}}\n"
                                               for b, on, axis, x in hinges)
                        + "drives:\n" + "".join(f"  - {{name: d{b}, of: j{b}}}\n" for b, _, _, _ in hinges))
        result = cpodes("check", file)
        self.assert_done(result)
        self.assertIn("are right", result.stdout)

    def test_derivatives_of_rows_that_are_left_to_others_are_right(self):
        file = self.folder / "coaxial.yaml"  # B lies on A, so that C moves along a circle: one of its components depends on the other
        file.write_text(COAXIAL)
        result = cpodes("check", file)
        self.assert_done(result)
        self.assertRegex(result.stdout, r"K: derivative of the dynamics +ok")

    def test_accelerations_have_no_derivative_at_a_singular_position(self):
        """An arm of seven hinges, straight up, whose hand is welded where it is"""
        links = "".join(f'<body pos="{0.05 * (i % 2)} 0 {0.2 if i else 0.1}"><joint axis="0 {i % 2} {1 - i % 2}"/>'
                        '<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.03"/>' for i in range(7))
        file = self.folder / "arm.xml"
        file.write_text(f'<mujoco><worldbody><site name="target" pos="0.15 0 1.5"/>{links}<site name="hand" pos="0 0 0.2"/>'
                        f'{"</body>" * 7}</worldbody><equality><weld site1="target" site2="hand"/></equality></mujoco>')
        result = cpodes("check", file)
        self.assertEqual(result.returncode, FAILED, result.stderr)  # it cannot move
        self.assertRegex(result.stdout, r"Uq: du'/dq +ok")

    def test_wrong_arguments_are_one_line(self):
        self.assert_refused(cpodes("check"), "model")
        self.assert_refused(cpodes("check", "pendulum", "andrews"), "andrews")
        self.assert_refused(cpodes("check", "pendlum"), '"pendulum"')
        self.assert_refused(cpodes("check", "pendulum", "--param", "l=2"), '"L"')
        self.assert_refused(cpodes("check", "pendulum", "--time-limit", "-1"), "--time-limit", "-1")
        self.assert_refused(cpodes("check", "pendulum", "--time-limits", "1"), "--time-limit")


if __name__ == "__main__":
    unittest.main()

"""`cpodes run`: its output and files, also after failures."""

import csv
import json
import math
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import time
import unittest

from runner import DONE, FAILED, INTERRUPTED, MODELS, OUTPUT, PROGRAM, SANITIZED, USAGE, RunnerTest, cpodes, needs_terminal
from user_model import ODE_ALONE, OPERATORS, PARTS, compile_model, source

LONG = "slider_crank --t-end 1e7 --outputs 100000000".split()  # of minutes


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


class RunTest(RunnerTest):
    def run_json(self, *arguments, status=DONE):
        """The summary of a run"""
        path = self.folder / "run.json"
        process = cpodes("run", *arguments, "--json", path, "--quiet")
        self.assertEqual(process.returncode, status, process.stderr)
        return json.loads(path.read_text())


class Result(RunTest):
    def test_every_model_reaches_its_end_and_says_what_it_keeps(self):
        for model in MODELS:
            with self.subTest(model):
                run = self.run_json(model)
                self.assertEqual(run["ending"], "done")
                self.assertEqual(run["t"], run["settings"]["t_end"])
                self.assertEqual(len(run["end"]["y"]), run["model"]["n"])
                self.assertTrue(all(map(math.isfinite, run["end"]["y"])))
                for quantity in run["quantities"]:  # tolerances are 1e-6
                    if quantity["output"]:  # they obey no law
                        continue
                    error = quantity["drift" if quantity["conserved"] else "rise"]
                    self.assertLess(error, 1e-3 * quantity["scale"], quantity)
                for level, violation in run["violations"].items():
                    self.assertLess(violation["largest"], 1e-4, level)

    def test_the_end_is_that_of_the_published_slider_crank(self):
        # SUNDIALS, example idaSlCrank_dns, its printed values at t = 10
        run = self.run_json("slider_crank", "--rtol", 1e-10)
        published = {0: 1.27568, 1: 1.02358, 2: -0.49881}
        for i, value in published.items():
            self.assertAlmostEqual(run["end"]["y"][i], value, delta=5e-6)

    def test_outputs_neither_count_nor_change_the_run(self):
        for method in "bdf adams dop853".split():
            runs = [self.run_json("car_axis", "--method", method, "--outputs", n) for n in (1, 1000)]
            self.assertEqual(runs[0]["end"]["y"], runs[1]["end"]["y"])
            for key, value in runs[0]["counts"].items():
                if key not in ("samples", "rhs" if method == "dop853" else ""):  # its interpolation evaluates f
                    self.assertEqual(value, runs[1]["counts"][key], (method, key))

    def test_asking_for_a_method_on_the_way_changes_no_digit(self):
        """Dense and sparse matrices, redundant rows, DOP853 and RADAU; each takes more than 50 steps, after which it asks"""
        for model in "car_axis", "bricard", "spatial_four_bar", "spatial_chain", "flyball_governor":
            runs, rows = [], []
            for name in "auto", "chosen":
                method, table = runs[0]["settings"]["method"] if runs else "auto", self.folder / f"{name}.csv"
                arguments = ["--rtol", 1e-9, "--outputs", 0, "--no-estimate", "--csv", table]
                runs.append(self.run_json(model, "--method", method, *arguments))
                rows.append(table.read_text().splitlines())
            self.assertGreater(len(rows[0]), 55)
            self.assertEqual([event for event in runs[0]["events"] if event["kind"] == "method"], [])
            self.assertEqual(rows[0], rows[1], model)
            counts = [run["counts"] for run in runs]
            asked = counts[0].pop("rhs") - counts[1].pop("rhs")  # at most 15 evaluations each time
            work = counts[0].pop("work") - counts[1].pop("work")  # in which they count
            self.assertTrue(asked <= work <= 2 * asked, (model, asked, work))
            self.assertEqual(*counts, model)
            self.assertTrue(0 < asked <= 15 * (counts[0]["steps"] // 50), (model, asked))

    def test_both_forms_of_a_model_end_alike(self):
        ends = [self.run_json("slider_crank", "--form", form, "--rtol", 1e-9)["end"]["y"] for form in ("mech", "ode")]
        for a, b in zip(*ends):
            self.assertAlmostEqual(a, b, delta=1e-6)
        self.assertNotEqual(*ends)

    def test_every_method_and_solver_runs_the_pendulum(self):
        methods = "auto bdf BDF bdf2 adams adams-newton dop853 bs54 bs32 dopri5 radau radau5 radau9 radau13 ARKODE_BOGACKI_SHAMPINE_4_2_3".split()
        for method in methods:
            self.assertEqual(self.run_json("pendulum", "--method", method)["ending"], "done")
        for solver in "auto schur sparse qr".split():
            self.assertEqual(self.run_json("pendulum", "--form", "ode", "--linsol", solver)["ending"], "done")
        for solver in "auto schur qr".split():
            self.assertEqual(self.run_json("pendulum", "--linsol", solver)["ending"], "done")
        for norm in "default error l2 kinetic".split():
            self.assertEqual(self.run_json("pendulum", "--norm", norm)["ending"], "done")

    def test_a_model_by_operators_runs_and_takes_no_linear_solver(self):
        model = compile_model(self.folder, mech=OPERATORS)
        ends = [self.run_json(path)["end"]["y"] for path in (model, compile_model(self.folder, file="matrices"))]
        for a, b in zip(*ends):
            self.assertAlmostEqual(a, b, delta=1e-4)
        self.assert_refused(cpodes("run", model, "--linsol", "schur"), "--linsol schur", "rod", "udot")

    def test_values_that_differ_are_told_apart(self):
        rising = PARTS["quantities"].replace(".conserved = 1", ".conserved = 0")
        for change, words in (
            ("- 1e-9 * t", r"energy: fell from 0 to -5\S*e-09 J, never rose"),
            ("+ 1 - 1e-9 * t", r"energy: fell from (\S+) to (\S+) J"),
            ("+ 1 + 1e-12 * t", r"energy: rose from (\S+) to (\S+) J"),
        ):
            model = compile_model(self.folder, quantities=rising, energy=f"return 0 {change};")
            found = re.search(words, cpodes("run", model).stdout)
            self.assertTrue(found, words)
            self.assertEqual(len(set(found.groups())), len(found.groups()))
        still = compile_model(self.folder, quantities=rising, energy="return 3;")
        self.assertIn("energy: stayed at 3 J", cpodes("run", still).stdout)

    def test_a_parameter_changes_the_motion(self):
        slow, fast = (self.run_json("pendulum", "--param", f"g={g}")["end"]["y"] for g in (1, 9.81))
        self.assertNotEqual(slow, fast)

    def test_events_are_told(self):
        run = self.run_json("newton_cradle")
        self.assertEqual(run["events_seen"], len(run["events"]))
        self.assertGreater(run["events_seen"], 3)
        self.assertLess(run["error"], 1e-6)  # an event that is missed costs 0.06

    def test_the_summary_says_what_a_physicist_judges_by(self):
        summary = cpodes("run", "andrews")
        self.assert_done(summary)
        self.assertEqual(summary.stderr, "")  # no progress bar in a pipe
        for word in "method reached state energy position velocity rank steps rejected time error".split():
            self.assertIn(word, summary.stdout)

    def test_numbers_of_options_may_be_expressions_with_units(self):
        plain = self.run_json("pendulum", "-p", "L=0.25", "--t-end", 1.5, "--max-step", 0.125)
        units = self.run_json("pendulum", "-p", "L=500 mm/2", "--t-end", "1 s + 500 ms", "--max-step", "125 ms")
        for key in "settings", "model", "end", "steps":
            self.assertEqual(units.get(key), plain.get(key))

    def test_models_may_have_many_parameters(self):
        names = ["L", "g", *(f"extra{i}" for i in range(30))]
        parameters = ", ".join(f'{{"{name}", "", "a number", 1, 0, 10}}' for name in names)
        model = compile_model(self.folder, parameters=parameters, nparameters=str(len(names)))
        run = self.run_json(model, "--param", "extra29=7", "--t-end", 1)
        self.assertEqual(run["model"]["parameters"], {name: 7 if name == "extra29" else 1 for name in names})
        for command in "describe", "check", "run":
            self.assert_refused(cpodes(command, model, "--param", "extra30=1"), '"extra30"', '"extra3')

    def test_what_is_kept_may_depend_on_parameters(self):
        for damping, kept in (0, True), (1, False):
            run = self.run_json("slider_crank", "--param", f"c={damping}")
            self.assertEqual([quantity["conserved"] for quantity in run["quantities"]], [kept])
            words = "energy: conserved" if kept else "energy: never rises"
            self.assertIn(words, cpodes("describe", "slider_crank", "--param", f"c={damping}").stdout)

    def compile_outputs(self, **parts):
        """The pendulum with an output, and with a name for its multiplier"""
        quantities = (
            '{.name = "energy", .unit = "J", .value = energy, .conserved = 1, .scale = 10}, '
            '{.name = "height", .unit = "m", .value = height, .conserved = CP_QUANTITY_FREE}'
        )
        members = '.points = points, .multipliers = (const CPPluginCoordinate[]){{"pin", "N/m", "force of the rod"}}, .nmultipliers = 1'
        height = parts.pop("height", "N_VGetArrayPointer(state)[1]")
        text = source(**({"quantities": quantities, "members": members} | parts)).replace(
            "static void points(",
            f"static sunrealtype height(const CPPlugin *model, int i, sunrealtype t, N_Vector state) {{ return {height}; }}\nstatic void points(",
        )
        return compile_model(self.folder, text=text)

    def test_loops_close_as_a_model_asks_at_any_tolerance(self):
        for create, most in ("model->closure = 1e-13;", 2e-13), ("", 1e-2):  # p is twice the distance
            model = compile_model(self.folder, f"rod{len(create)}", create=create)
            violation = self.run_json(model, "-r", "1e-2", "--no-estimate")["violations"]["position"]["largest"]
            self.assertLess(violation, most)
            self.assertGreater(violation, 1e-2 * most)

    def test_outputs_and_multipliers_have_names_and_units_everywhere(self):
        model = self.compile_outputs()
        table, report = self.folder / "run.csv", self.folder / "run.html"
        run = self.run_json(model, "--csv", table, "--report", report, "--strict")
        self.assertEqual((run["verdict"], run["reasons"]), ("ok", []))  # an output is not judged
        rows = rows_of(table)
        names = rows[0]
        self.assertEqual([row[names.index("height")] for row in rows[1:]], [row[names.index("y")] for row in rows[1:]])
        self.assertIn("pin", names)
        self.assertEqual([q["output"] for q in run["quantities"]], [True, False])  # what was asked for comes first
        self.assertRegex(cpodes("run", model).stdout, r"height: from -(1|0\.99\d*) \(t = [\d.]+\) to 0 \(t = 0\), at the end -0\.\d+ m\n")
        self.assertIn("height: an output, 0 m at the start", cpodes("describe", model).stdout)
        self.assertRegex(cpodes("check", model).stdout, "height: a number +ok")
        page = report.read_text()
        for text in "figure-outputs-title", "pin", "N/m":
            self.assertIn(text, page)

    def test_curves_selects_what_the_report_shows(self):
        report = self.folder / "run.html"
        self.assert_done(cpodes("run", self.compile_outputs(), "--curves", "y,x',height,pin", "--report", report, "--quiet"))
        page = report.read_text()
        for text in "y: from", "x': from", "height: from", "pin: from":
            self.assertIn(text.replace("'", "&#39;"), page.replace("'", "&#39;"))
        for text in " x: from", " y': from", "figure-drift-title":
            self.assertNotIn(text, page)

    def test_wrong_names_of_curves_and_outputs_are_one_line(self):
        self.assert_refused(cpodes("run", "pendulum", "--curves", "x,height"), "--curves", "pendulum", '"height"')
        for names in "", ",x", "x,", "x,,y":
            self.assert_refused(cpodes("run", "pendulum", "--curves", names), "--curves", f'"{names}"', "names nothing")
        names = ",".join(f"q{i}" for i in range(9))
        self.assert_refused(cpodes("run", "chain", "--curves", names), "--curves", "at most 8")
        quantity = '{{.name = "{}", .unit = "{}", .value = energy, .conserved = {}}}'
        for quantities, words in (
            (quantity.format("x", "m", -1), ["quantity x", "coordinate"]),
            (quantity.format("y'", "m", -1), ["quantity y'", "velocity"]),
            (quantity.format("t", "m", -1), ["quantity t"]),
            (quantity.format("e", "m", -1) + ", " + quantity.format("e", "J", -1), ["quantity e", "another quantity"]),
            (quantity.format("velocity violation", "m", -1), ["quantity velocity violation", "a violation"]),
            (quantity.format("e", "J", 2), ["conserved of quantity e is 2"]),
        ):
            with self.subTest(words):
                self.assert_refused(cpodes("run", compile_model(self.folder, quantities=quantities)), "rod", *words)
        for unit in "[m]", " ", "2", "m//s", "m/", "(m":
            with self.subTest(unit):
                model = compile_model(self.folder, quantities=quantity.format("e", unit, -1))
                self.assert_refused(cpodes("run", model), "rod", f'"{unit}", of quantity e, is no unit')
        for part, what in (
            ({"coordinates": '{"x", "m", "to the right"}, {"y", "m*", "upwards"}'}, "coordinate y"),
            ({"parameters": '{"L", "m*", "length", 1, 0.1, 10}, {"g", "m/s^2", "gravity", 9.81, 0, 100}'}, "parameter L"),
        ):
            self.assert_refused(cpodes("run", compile_model(self.folder, **part)), f'"m*", of {what}, is no unit')
        members = '.multipliers = (const CPPluginCoordinate[]){{"energy", "N", "force"}}, .nmultipliers = 1'
        self.assert_refused(cpodes("run", compile_model(self.folder, members=members)), "multiplier energy has the name of")

    def test_an_output_that_is_no_number_is_told(self):
        process = cpodes("run", self.compile_outputs(height="t > 2 ? NAN : 1"), "--strict")
        self.assert_refused(process, "--strict", "doubtful", "height is not a finite number at some outputs", status=FAILED)
        self.assertIn("height: not a finite number at some outputs", process.stdout)

    def test_an_output_that_grows_without_bounds_is_told(self):
        process = cpodes("run", self.compile_outputs(height="t > 2 ? INFINITY : 1"), "--strict")
        self.assert_refused(process, "doubtful", "height is not a finite number", status=FAILED)

    def test_units_may_be_products_powers_and_quotients(self):
        units = "", "1", "%", "N m", "kg*m^2/s", "J/(kg K)", "1/s", "\u00b0", "m / s"
        quantity = '{.name = "e%d", .unit = "%s", .value = energy, .conserved = -1}'
        quantities = ", ".join(quantity % numbered for numbered in enumerate(units))
        self.assert_done(cpodes("describe", compile_model(self.folder, quantities=quantities)))

    def test_a_second_run_that_crashes_or_finds_no_number_is_one_line(self):
        # the model detects that t starts again
        late = "static sunrealtype last; static int again; (void)z; again |= t < last - 4; last = t; f[1] = -((G *)data)->g;"
        for failure, words in (
            ("if (again) f[1] = NAN; return 0;", "f[1] is nan"),
            ("if (again) abort(); return 0;", "the model crashed"),
        ):
            process = cpodes("run", compile_model(self.folder, f=f"{late} {failure}"))
            self.assert_refused(process, "the error is not estimated", words, status=DONE)
            self.assertLessEqual(process.stderr.count("at t = "), 1, process.stderr)
            self.assertRegex(process.stdout, r"verdict +doubtful\n +The error is not estimated")

    def test_the_verdict_is_the_same_everywhere(self):
        report = self.folder / "run.html"
        cases = {
            "ok": ({}, [], "Reached its end, t = 5 s<"),
            "doubtful": ({"energy": PARTS["energy"].replace(";", " + 0.06 * t;")}, ["energy should be conserved"], ", with doubts<"),
            "wrong": ({"energy": PARTS["energy"].replace(";", " + 5 * t;")}, ["energy should be conserved"], ", with wrong results<"),
        }
        for verdict, (parts, reasons, words) in cases.items():
            model = compile_model(self.folder, verdict, **parts)
            run = self.run_json(model, "--report", report)
            self.assertEqual(run["verdict"], verdict)
            self.assertEqual([reason[: len("energy should be conserved")] for reason in run["reasons"]], reasons)
            self.assertIn(words, report.read_text())
            summary = cpodes("run", model, "--strict")
            self.assertRegex(summary.stdout, f"verdict +{verdict}\n")
            for reason in run["reasons"]:
                self.assertIn("; the limit is 0.01.", reason)
                self.assertIn(reason, summary.stdout)
                self.assertIn(reason, report.read_text())
                self.assert_refused(summary, "--strict", verdict, reason, status=FAILED)
            if verdict == "ok":
                self.assert_done(summary)

    def test_the_estimated_error_is_the_true_one(self):
        # bench/estimate.py measures it over the catalogue
        for arguments in "slider_crank", "andrews -m bdf", "pendulum -m adams -r 1e-9", "heavy_top -m dopri5 -r 1e-4", "andrews -r 1e-10":
            run = self.run_json(*arguments.split())
            self.assertIsNone(run["estimate"]["digits_lost_after"])
            if run["estimate"]["reached"] < run["t"]:  # the limit of CPU time ended the second run
                self.assertIn("CPODES_SANITIZE", os.environ)
                continue
            ratio = run["estimate"]["error"] / run["error"]
            self.assertTrue(1 / 3 <= ratio <= 3, (arguments, ratio))

    def test_the_estimate_is_shown_and_can_be_left_out(self):
        report = self.folder / "run.html"
        summary = cpodes("run", "slider_crank", "--report", report)
        self.assertRegex(summary.stdout, r"\n +about \d\.?\d*e-\d+ \(estimated\)\n")
        self.assertRegex(report.read_text(), r"about \d\.?\d*e-\d+ \(estimated\)")
        self.assertNotIn("estimated", cpodes("run", "slider_crank", "--no-estimate").stdout)
        self.assertIsNone(self.run_json("slider_crank", "--no-estimate")["estimate"])

    def test_curves_of_a_multiplier_leave_the_estimate(self):
        run = self.run_json("slider_crank", "--t-end", "0.1", "--curves", "lambda0")
        self.assertLess(run["estimate"]["error"], 1e-4)

    def test_a_chaotic_motion_says_when_its_digits_are_lost(self):
        for motion in "chain --param n=2 --t-end 40", "chain --param n=3 --t-end 30", "chain --param n=10 --t-end 13":
            arguments = [*motion.split(), "--outputs", 1000, "--rtol"]
            runs = {}
            for tol in "1e-6", "1e-12":  # they diverge where the first one loses its digits
                path = self.folder / f"{tol}.csv"
                run = self.run_json(*arguments, tol, "--csv", path, *["--no-estimate"][: tol == "1e-12"])
                runs[tol] = [[float(x) for x in row[: 1 + run["model"]["nq"]]] for row in rows_of(path)[1:]]
                estimate = run["estimate"] or estimate
            spans = [max(column) - min(column) for column in zip(*runs["1e-6"])]
            parted = next(a[0] for a, b in zip(*runs.values()) if any(abs(x - y) > 0.1 * s for x, y, s in zip(a[1:], b[1:], spans[1:])))
            with self.subTest(motion):
                self.assertTrue(estimate["chaotic"])
                self.assertAlmostEqual(estimate["digits_lost_after"], parted, delta=0.2 * parted)
        self.assertEqual(self.run_json(*arguments, "1e-6")["verdict"], "doubtful")
        summary = cpodes("run", *arguments, "1e-6", "--strict")
        self.assertRegex(summary.stdout, r" {3}chaotic: digits are lost after t = [\d.]+ s")
        self.assert_refused(summary, "--strict", "chaotic", "digits are lost", status=FAILED)

    def test_a_second_run_that_fails_is_one_clear_line(self):
        # f fails from the second model on that the process creates
        model = compile_model(
            self.folder, create="static int models; g->g = models++ ? -g->g : g->g;", f="f[1] = -((G *)data)->g; return ((G *)data)->g < 0 ? -1 : 0;"
        )
        process = cpodes("run", model, "--json", "-", "--quiet")
        self.assert_refused(process, "rod", "the error is not estimated", "second run, dop853 at rtol", "f failed", status=DONE)
        run = json.loads(process.stdout)
        self.assertEqual((run["ending"], run["verdict"]), ("done", "doubtful"))
        self.assertIsNone(run["estimate"]["error"])

    def test_loose_tolerances_are_doubtful(self):
        self.assert_refused(cpodes("run", "andrews", "-m", "dop853", "--rtol", "0.1", "--strict", "-q"), "is off by", "doubtful", status=FAILED)

    def test_a_number_without_a_unit_has_none(self):
        self.assertIn("n = 3 (default 10)", cpodes("run", "chain", "--param", "n=3", "--t-end", "0.1").stdout)


class NotANumber(RunTest):
    """Values that are NaN, or could not be evaluated, do not count as good"""

    def run_model(self, *options, **parts):
        """The summary for programs, for people, and the report"""
        model, page = compile_model(self.folder, **parts), self.folder / "run.html"
        run = self.run_json(model, "--outputs", 50, "--report", page, *options)
        summary = cpodes("run", model, "--outputs", 50, *options)
        self.assert_done(summary)
        return run, summary.stdout, page.read_text()

    def test_a_quantity_that_is_once_nan_is_called_so(self):
        for energy in ("return NAN;", "return t == 2 ? NAN : 0;", "return t > 4 ? NAN : 0;"):
            run, summary, page = self.run_model(energy=energy, file=f"rod{len(energy)}")
            self.assertIsNone(run["quantities"][0]["drift"])
            self.assertIsNone(run["quantities"][0]["rise"])
            self.assertIn("energy: not a finite number at some outputs", summary)
            self.assertIn("energy is not a finite number at some outputs", page)
            self.assertIn("with doubts", page)

    def test_outputs_that_could_not_be_evaluated_are_counted(self):
        # t = 3.1, 3.2, ... 5: Mu serves only the kinetic energy of outputs
        run, summary, page = self.run_model(mech=OPERATORS, Mu="if (t > 3.05) return -1; y[0] = x[0]; y[1] = x[1]; return 0;")
        self.assertEqual(run["counts"]["unevaluated"], 20)
        self.assertLess(run["violations"]["position"]["largest"], 1e-6)
        self.assertIn("at 20 of 51 outputs", summary)
        self.assertIn("At 20 of 51 outputs", page)
        self.assertIn("with doubts", page)

    def test_a_violation_that_is_known_nowhere_is_not_zero(self):
        run, summary, page = self.run_model(mech=OPERATORS, Mu="return -1;")
        self.assertEqual(run["counts"]["unevaluated"], 51)
        self.assertEqual(run["violations"]["position"], {"largest": None, "t": None})
        self.assertNotIn("at most 0, at", summary)

    def test_an_invariant_that_is_nan_is_not_zero(self):
        model = compile_model(self.folder, c="r[0] = 0; r[1] = NAN; return 0;", create=ODE_ALONE)
        run = self.run_json(model, status=FAILED)  # at the start, which is an output
        self.assertEqual(run["counts"]["unevaluated"], 1)
        self.assertEqual(run["violations"]["invariant"], {"largest": None, "t": None})

    def test_all_outputs_of_a_right_model_are_evaluated(self):
        run, summary, page = self.run_model()
        self.assertEqual(run["counts"]["unevaluated"], 0)
        self.assertNotIn("not evaluated", summary)
        self.assertNotIn("with doubts", page)


class Csv(RunTest):
    def test_names_of_any_length_are_whole(self):
        names = ["long " * 20000, 'with "quotes", commas ' * 5000]
        quantity = '{.name = "%s", .unit = "J", .value = energy, .conserved = 1, .scale = 10}'
        quoted = ", ".join(quantity % name.replace('"', r"\"") for name in names)
        path = self.folder / "run.csv"
        self.assert_done(cpodes("run", compile_model(self.folder, quantities=quoted), "--outputs", 2, "--csv", path, "--quiet"))
        header, *rows = rows_of(path)
        self.assertEqual(header[5:7], names)
        self.assertEqual([len(row) for row in rows], 3 * [len(header)])

    def test_a_row_for_each_output_at_equal_distances(self):
        path = self.folder / "run.csv"
        self.assert_done(cpodes("run", "slider_crank", "--outputs", 40, "--csv", path))
        header, *rows = rows_of(path)
        self.assertEqual(header[0], "t")
        self.assertIn("energy", header)
        self.assertIn("position violation", header)
        self.assertEqual(len(rows), 41)
        for k, row in enumerate(rows):
            self.assertEqual(len(row), len(header))
            self.assertAlmostEqual(float(row[0]), 0.25 * k, places=14)

    def test_velocities_have_names_and_units_where_quaternions_are_coordinates(self):
        path = self.folder / "run.csv"
        process = cpodes("run", "heavy_top", "--csv", path, "--outputs", 4, "--curves", "wy,z'")
        self.assert_done(process)
        header = rows_of(path)[0]
        self.assertEqual(header[1:14], "x y z e0 e1 e2 e3 x' y' z' wx wy wz".split())
        self.assertRegex(process.stdout, r"wy +150 rad/s\n")

    def test_its_numbers_are_those_of_the_run(self):
        path = self.folder / "run.csv"
        run = self.run_json("pendulum", "--csv", path)
        last = [float(x) for x in rows_of(path)[-1]]
        self.assertEqual(last[1 : 1 + run["model"]["n"]], run["end"]["y"])

    def test_without_outputs_there_is_a_row_for_each_step(self):
        path = self.folder / "run.csv"
        run = self.run_json("pendulum", "--outputs", 0, "--csv", path)
        self.assertEqual(len(rows_of(path)), 1 + 1 + run["counts"]["steps"])

    def test_a_pipe_gets_the_rows_and_nothing_else(self):
        process = cpodes("run", "pendulum", "--csv", "-", "--outputs", 5)
        self.assert_done(process)
        self.assertEqual(len(process.stdout.splitlines()), 7)
        self.assertIn("reached", process.stderr)

    @unittest.skipIf(SANITIZED, "a sanitizer keeps what has been freed")
    def test_memory_does_not_grow_with_the_rows(self):
        def peak(outputs):
            command = [PROGRAM, "run", "pendulum", "--quiet", "--outputs", str(outputs), "--csv", os.devnull]
            process = subprocess.Popen(command)
            _, process.returncode, usage = os.wait4(process.pid, 0)
            self.assertEqual(process.returncode, 0)
            return usage.ru_maxrss  # KiB

        # if it were kept, there would be 7 numbers of 8 bytes for each row, 11 MB
        self.assertLess(peak(200000), peak(2000) + 4000)


class Estimated(RunTest):
    def test_an_estimate_costs_at_most_five_times_the_run(self):
        # in counts, which the load of the machine does not change
        for arguments in (
            "four_bar --method radau --rtol 1e-5",
            "flexible_crank --method radau --rtol 1e-6",
            "spatial_four_bar --method adams --t-end 0.5",
        ):
            run = self.run_json(*arguments.split(), "--outputs", 1)
            self.assertEqual(run["estimate"]["reached"], run["t"])
            self.assertLessEqual(run["estimate"]["cost"], 5, arguments)

    def test_an_estimate_of_a_stiff_model_is_not_by_an_explicit_method(self):
        for model in "flexible_crank", "bushing_crank":
            method = self.run_json(model, "--method", "radau", "--rtol", 1e-2)["estimate"]["method"]
            self.assertIn(method, ["radau", "radau13"])


class Interrupted(RunTest):
    def assert_complete(self, path):
        """Each row has all its fields, and the file ends with a line feed"""
        header, *rows = rows_of(path)
        self.assertGreater(len(rows), 10)
        for row in rows:
            self.assertEqual(len(row), len(header))
        self.assertTrue(path.read_text().endswith("\n"))
        return float(rows[-1][0])

    def wait_for_rows(self, path):
        """The table of a run that goes on is in a temporary file beside it"""
        while not any(file.stat().st_size > 100000 for file in path.parent.glob(f"{path.name}.*")):
            time.sleep(0.02)

    def test_ctrl_c_leaves_complete_files_that_say_so(self):
        table, summary = self.folder / "run.csv", self.folder / "run.json"
        process = subprocess.Popen(
            [PROGRAM, "run", *LONG, "--csv", table, "--json", summary], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.wait_for_rows(table)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(len(err.splitlines()), 1)
        self.assertIn("interrupted", err)
        self.assertIn("INTERRUPTED", out)
        run = json.loads(summary.read_text())
        self.assertEqual(run["ending"], "interrupted")
        self.assertEqual(self.assert_complete(table), run["end"]["t"])

    def test_nothing_of_an_interrupted_run_goes_on(self):
        process = subprocess.Popen([PROGRAM, "run", *LONG, "--quiet"], stderr=subprocess.DEVNULL)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (child := children.read_text().split()):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), INTERRUPTED)
        self.assertFalse(os.path.exists(f"/proc/{child[0]}"))

    def test_a_full_disk_leaves_the_old_table(self):
        # a limit to the size of files acts like a full disk, in the middle of a row
        table, summary = self.folder / "run.csv", self.folder / "run.json"
        table.write_text("old")
        limit = 100003
        process = cpodes(
            "run", *LONG, "--csv", table, "--json", summary,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        self.assertEqual(process.returncode, OUTPUT)
        self.assertIn(f"{table}", process.stderr)
        self.assertNotRegex(process.stdout, f"written +{table}")
        self.assertRegex(process.stdout, f"written +{summary}")
        self.assertEqual(table.read_text(), "old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["run.csv", "run.json"])
        self.assertEqual(json.loads(summary.read_text())["ending"], "unwritten")

    def test_a_summary_that_cannot_be_written_leaves_the_old_one(self):
        summary = self.folder / "run.json"
        summary.write_text("old")
        process = cpodes(
            "run", "andrews", "--json", summary, "--quiet",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        )
        self.assert_refused(process, str(summary), status=OUTPUT)
        self.assertEqual(summary.read_text(), "old")
        self.assertEqual(os.listdir(self.folder), ["run.json"])

    def test_a_summary_that_nobody_gets_is_an_error(self):
        with open("/dev/full", "w") as full:
            process = subprocess.run([PROGRAM, "run", "pendulum"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assert_refused(process, "stdout", status=OUTPUT)

    def test_a_table_that_is_appended_spares_what_was_there(self):
        log = self.folder / "log"
        log.write_text("before\n" * 10000)
        with open(log, "a") as end:
            process = subprocess.run(
                [PROGRAM, "run", *LONG, "--csv", "-", "--quiet"], stdout=end, stderr=subprocess.PIPE, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100003, 100003)),
            )
        self.assert_refused(process, "row", status=OUTPUT)
        text = log.read_text()
        self.assertTrue(text.startswith("before\n" * 10000 + "t,"))
        self.assertTrue(text.endswith("\n"))
        self.assertEqual(len({line.count(",") for line in text.splitlines()[10000:]}), 1)

    def test_two_signals_at_once_are_one(self):
        table, summary = self.folder / "run.csv", self.folder / "run.json"
        command = [PROGRAM, "run", *LONG, "--csv", table, "--json", summary, "--quiet"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.wait_for_rows(table)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=60), INTERRUPTED)
        run = json.loads(summary.read_text())
        self.assertEqual(run["ending"], "interrupted")
        self.assertGreater(run["t"], 0)

    def test_standard_streams_may_be_closed(self):
        summary = self.folder / "run.json"
        process = subprocess.run(["sh", "-c", f"'{PROGRAM}' run pendulum --quiet --json '{summary}' <&- >&-"], stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, DONE, process.stderr)
        self.assertEqual(json.loads(summary.read_text())["ending"], "done")

    def test_help_that_nobody_gets_is_an_error(self):
        with open("/dev/full", "w") as full:
            for arguments in (["--help"], ["run", "--help"], ["list"], ["describe", "pendulum"]):
                process = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assert_refused(process, "stdout", status=OUTPUT)

    def test_files_are_made_in_the_current_folder(self):
        self.assert_done(cpodes("run", "pendulum", "--json", "a.json", "--csv", "a.csv", "--quiet", cwd=self.folder))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.csv", "a.json"])

    def test_a_link_that_waits_under_a_temporary_name_is_not_written_through(self):
        victim, path = self.folder / "victim", self.folder / "out.json"
        victim.write_text("untouched")
        script = 'ln -s victim "$1.$$~"; exec "$2" run pendulum --t-end 0.1 --quiet --json "$1"'
        run = subprocess.run(["sh", "-c", script, "sh", "out.json", PROGRAM], cwd=self.folder, timeout=100)
        self.assertEqual(run.returncode, DONE)
        self.assertEqual(victim.read_text(), "untouched")
        self.assertFalse(path.is_symlink())
        json.loads(path.read_text())

    def test_files_have_the_permissions_of_new_ones_or_keep_theirs(self):
        path = self.folder / "out.json"
        for before, expected in ((None, 0o640), (0o600, 0o600), (0o664, 0o664)):
            if before is not None:
                path.chmod(before)
            process = cpodes("run", "pendulum", "--t-end", 0.1, "--quiet", "--json", path, umask=0o027)
            self.assert_done(process)
            self.assertEqual(path.stat().st_mode & 0o777, expected)
        self.assertEqual(list(self.folder.iterdir()), [path])  # no temporary file remains

    def test_a_link_stays_a_link(self):
        target, link = self.folder / "target.json", self.folder / "link.json"
        target.write_text("old")
        link.symlink_to(target)
        self.assert_done(cpodes("run", "pendulum", "--json", link, "--quiet"))
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(target.read_text())["ending"], "done")

    def test_a_reader_that_leaves_is_one_line(self):
        process = subprocess.Popen([PROGRAM, "run", *LONG, "--quiet", "--csv", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(len(process.stderr.read().splitlines()), 1)
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), OUTPUT)

    def test_a_failed_integration_names_the_time_and_keeps_what_there_is(self):
        # from t = 1 on no state is on the constraint, x^2 + y^2 + 2 = L^2
        model = compile_model(self.folder, p="p[0] = q[0] * q[0] + q[1] * q[1] - ((G *)data)->L * ((G *)data)->L;"
                              " if (t > 1) p[0] += 2; return 0;")
        table = self.folder / "run.csv"
        process = cpodes("run", model, "-n", "1000", "--csv", table, "--quiet")
        self.assert_refused(process, "rod", "constraint", "t = ", status=FAILED)
        last = float(re.search(r"last good state is that of t = (\d+\.?\d*)", process.stderr).group(1))
        self.assertAlmostEqual(last, 1, delta=1e-6)
        self.assertAlmostEqual(self.assert_complete(table), last, delta=0.01)


class Progress(RunTest):
    @needs_terminal
    def test_a_terminal_sees_rate_and_remaining_time(self):
        parent, terminal = pty.openpty()
        process = subprocess.Popen([PROGRAM, "run", *LONG], stderr=terminal, stdout=subprocess.DEVNULL)
        os.close(terminal)
        seen = ""
        while seen.count("\r") < 3:
            seen += os.read(parent, 1000).decode()
        process.send_signal(signal.SIGINT)
        try:
            while more := os.read(parent, 1000).decode():
                seen += more
        except OSError:  # a terminal without a program
            pass
        process.wait(timeout=60)
        os.close(parent)
        self.assertRegex(seen, r"\r\[[=> ]+\] +\d+ %  t = \S+ +\S+ steps/s  .+ left")
        self.assertRegex(seen, r"\r\x1b\[K[^\r]*interrupted")  # the bar is gone before the last line


class Refused(RunTest):
    def test_wrong_input_is_one_line_that_names_argument_rule_and_value(self):
        folder = str(self.folder)
        cases = [
            (["pendlum"], ['"pendlum"', '"pendulum"']),
            ([], ["model"]),
            (["pendulum", "andrews"], ["one model"]),
            (["pendulum", "--method", "bfd"], ["--method", '"bfd"', '"bdf"']),
            (["pendulum", "--method", "ARKODE_NONE"], ["--method", "ARKODE_NONE"]),
            (["pendulum", "--method", "ARKODE_KNOTH_WOLKE_3_3"], ["--method", "ARKODE_KNOTH_WOLKE_3_3", "embedded"]),
            (["pendulum", "--rtol", "0"], ["--rtol", "above 0"]),
            (["pendulum", "--rtol", "abc"], ["--rtol", "number", '"abc"']),
            (["pendulum", "--atol", "-1"], ["--atol", "above 0", '"-1"']),
            (["pendulum", "--t-end", "nan"], ["--t-end", "nan"]),
            (["pendulum", "--outputs", "-1"], ["--outputs", '"-1"']),
            (["pendulum", "--outputs", "1e3"], ["--outputs", "whole", '"1e3"']),
            (["pendulum", "--param", "l=1"], ['"l"', '"L"']),
            (["pendulum", "--param", "L"], ["NAME=VALUE", '"L"']),
            (["pendulum", "--param", "L=-1"], ["L", "-1", "number from"]),
            (["pendulum", "--param", "L=one"], ["L", '"one"']),
            (["pendulum", "--param", "L=2 kg"], ["L", '"2 kg"', "must have the dimension of m, and has that of kg"]),
            (["pendulum", "--t-end", "3 m"], ["--t-end", '"3 m"', "must have the dimension of s, and has that of m"]),
            (["pendulum", "--rtol", "1e-4 s"], ["--rtol", "must have no dimension"]),
            (["pendulum", "--max-step", "1/0"], ["--max-step", "not a finite number"]),
            (["chain", "--param", "n=2.6"], ["n (number of masses)", "whole number", '"2.6"']),
            (["pendulum", "--norm", "kinetik"], ["--norm", '"kinetik"', '"kinetic"']),
            (["pendulum", "--form", "ode", "--linsol", "kkt"], ["--linsol kkt", '"ode"']),
            (["pendulum", "--form", "ode", "--norm", "kinetic"], ["--norm kinetic", '"ode"']),
            (["pendulum", "--form", "ode", "--method", "bdf2"], ["bdf2", '"mech"']),
            (["newton_cradle", "--form", "ode"], ['"ode"']),
            (["pendulum", "--tend", "3"], ["--tend", "--t-end"]),
            (["-x", "pendulum"], ["no option -x"]),
            (["pendulum", "-qx"], ["no option -x"]),
            (["pendulum", "-r"], ["-r wants a value"]),
            (["pendulum", "--rtol"], ["--rtol wants a value"]),
            (["pendulum", "--quiet=yes"], ["--quiet", "no value", '"yes"']),
            (["pendulum", "--p", "L=1"], ["--p", "several", "--param"]),
            (["--", "-x"], ['no model "-x"']),
            (["pendulum", "--report", ""], ["--report", "path"]),
            (["pendulum", "--csv", "-", "--json", "-"], ["only one output", "stdout"]),
            (["pendulum", "--csv", "-", "--report", "/dev/stdout"], ["only one output", "stdout"]),
            (["pendulum", "--csv", f"{folder}/a", "--json", f"{folder}/a"], [f"{folder}/a", "two outputs"]),
            (["pendulum", "--csv", f"{folder}/a.svg"], ["--csv", "the suffix .svg", ".csv .txt .dat", f"{folder}/a.svg"]),
            (["pendulum", "--json", "a.yaml"], ["--json", "the suffix .yaml", ".json"]),
            (["pendulum", "--report", "a.pdf"], ["--report", "the suffix .pdf", ".html"]),
            (["pendulum", "--plot", "a.jpg"], ["--plot", ".svg, .png or .pdf"]),
        ]
        for arguments, words in cases:
            with self.subTest(" ".join(arguments)):
                self.assert_refused(cpodes("run", *arguments), *words, status=USAGE)

    def test_a_file_that_cannot_be_written_has_its_own_status(self):
        folder = str(self.folder)
        for command, options in (("run", "csv json plot picture report"), ("compare", "csv json plot")):
            for option in options.split():
                for path, words in (
                    ("/nowhere/out.svg", "No such file"),
                    (folder, "directory"),
                    (folder + "/" + "n" * 260 + ".svg", "too long"),
                ):
                    if option in ("plot", "picture"):
                        if path == folder:
                            continue  # not the name of a figure
                    else:
                        path = path.replace(".svg", "")
                    with self.subTest(f"{command} --{option} {path}"):
                        process = cpodes(command, "pendulum", f"--{option}", path)
                        self.assert_refused(process, f"--{option}", path, words, status=OUTPUT)

    def test_a_refused_run_writes_nothing(self):
        table = self.folder / "run.csv"
        table.write_text("old")
        self.assertEqual(cpodes("run", "pendulum", "--form", "ode", "--linsol", "kkt", "--csv", table).returncode, USAGE)
        self.assertEqual(table.read_text(), "old")


if __name__ == "__main__":
    unittest.main()

"""`cpodes compare`: work and precision of methods."""

import csv
import json
import math
import re
import unittest

from figures_test import texts_of
from runner import CRASHED, FAILED, OUTPUT, RunnerTest, cpodes
from user_model import compile_model


class CompareTest(RunnerTest):
    def compare_json(self, *arguments):
        process = cpodes("compare", *arguments, "--json", "-")
        self.assert_done(process)
        return json.loads(process.stdout)

    def errors(self, comparison):
        """{method: [errors, tightest last]}"""
        errors = {}
        for run in comparison["runs"]:
            errors.setdefault(run["method"], []).append(run["error"])
        return errors


class Runs(CompareTest):
    def test_tighter_tolerances_have_smaller_errors_by_every_method(self):
        comparison = self.compare_json("slider_crank", "--methods", "bdf,adams,dop853,radau", "--tolerances", "1e-3,1e-6,1e-9")
        for method, errors in self.errors(comparison).items():
            self.assertEqual(errors, sorted(errors, reverse=True), method)
            self.assertLess(errors[-1], 1e-2 * errors[0], method)

    def test_the_error_is_that_of_run(self):
        comparison = self.compare_json("andrews", "--methods", "dop853", "--tolerances", "1e-7")
        path = self.folder / "run.json"
        self.assert_done(
            cpodes("run", "andrews", "--method", "dop853", "--rtol", 1e-7, "--outputs", 1, "--json", path, "--quiet")
        )
        run = json.loads(path.read_text())
        self.assertEqual(comparison["runs"][0]["error"], float(f"{run['error']:.17g}"))
        self.assertEqual(comparison["runs"][0]["steps"], run["counts"]["steps"])

    def test_an_end_that_the_model_does_not_know_is_computed_by_two_methods(self):
        # where the end is known, both references give the same errors
        own = self.compare_json("car_axis", "--methods", "bdf", "--tolerances", "1e-4,1e-6")
        self.assertEqual(own["reference"]["origin"], "the model's own")
        near = self.compare_json("car_axis", "--methods", "bdf", "--tolerances", "1e-4,1e-6", "--t-end", 2.999)
        self.assertRegex(near["reference"]["origin"], r"computed by \S+ at \S+, beside \S+ at")
        self.assertLess(near["reference"]["accuracy"], 1e-9)
        for a, b in zip(self.errors(own)["bdf"], self.errors(near)["bdf"]):
            self.assertLess(abs(math.log10(a / b)), 1)

    def test_a_computed_reference_gives_the_errors_of_a_closed_form(self):
        # the pendulum of the catalogue, whose end is known at any time, and the same one without a known end
        arguments = "--methods bdf,adams --tolerances 1e-4,1e-6 --t-end 3".split()
        known = self.compare_json("pendulum", *arguments)
        unknown = self.compare_json(compile_model(self.folder), *arguments)
        self.assertEqual(known["reference"]["origin"], "the model's own")
        self.assertIn("computed by", unknown["reference"]["origin"])
        self.assertLess(unknown["reference"]["accuracy"], 1e-10)
        for a, b in zip(known["runs"], unknown["runs"]):
            self.assertAlmostEqual(a["error"], b["error"], delta=0.01 * a["error"] + 1e-10)

    def test_stiff_models_are_run_by_implicit_methods(self):
        names = {
            model: list(self.errors(self.compare_json(model, "--tolerances", "1e-3"))) for model in ("chain", "bending_chain")
        }
        self.assertIn("adams", names["chain"])
        self.assertIn("dop853", names["chain"])
        self.assertEqual(names["bending_chain"], ["bdf", "bdf2", "radau"])

    def test_tolerances_go_from_the_loosest_to_the_tightest(self):
        comparison = self.compare_json("pendulum", "-m", "dop853", "--from", "1e-3", "--to", "1e-5", "--per-decade", 2)
        tolerances = [run["tolerance"] for run in comparison["runs"]]
        self.assertEqual(tolerances, [1e-3, 3.162e-4, 1e-4, 3.162e-5, 1e-5])

    def test_a_parameter_changes_the_model(self):
        steps = [
            self.compare_json("slider_crank", "-m", "dop853", "-r", "1e-6", "--param", f"F={force}")["runs"][0]["steps"]
            for force in (1, 20)
        ]
        self.assertGreater(steps[1], steps[0])

    def test_a_run_that_fails_is_a_row_and_the_others_go_on(self):
        model = compile_model(self.folder, jac="return -1;")  # explicit methods do not call it
        shown = cpodes("compare", model, "-m", "bdf,dop853", "-r", "1e-3,1e-5")
        self.assert_done(shown)
        self.assertEqual(len(re.findall(r"^bdf +\S+ +- at t = \S+: .*dynamics_jac", shown.stdout, re.MULTILINE)), 2, shown.stdout)
        self.assertEqual(len(re.findall(r"^dop853 +\S+ +\d", shown.stdout, re.MULTILINE)), 2, shown.stdout)

    def test_a_model_that_never_ends_is_stopped(self):
        model = compile_model(self.folder, f="if (t > 1) for (;;) {} f[1] = -((G *)data)->g; return 0;")
        failed = cpodes("compare", model, "--time-limit", 0.05, "--t-end", 5, "-r", "1e-3")
        self.assert_refused(failed, "not known", "--time-limit", status=FAILED)

    def test_why_no_method_reaches_the_end_is_said(self):
        fall = "f[1] = -((G *)data)->g;"
        for parts, words, status in (
            ({"f": f"{fall} if (t > 1) exit(0); return 0;"}, ["exit status 0", "at t = "], CRASHED),
            ({"f": f"{fall} return t > 1 ? -1 : 0;"}, ["f failed", "t = 1"], FAILED),
            ({"create": "exit(3);"}, ["exit status 3", "before the start"], CRASHED),
            ({"create": "raise(SIGKILL);"}, ["Killed", "before the start"], CRASHED),
        ):
            with self.subTest(parts):
                failed = cpodes("compare", compile_model(self.folder, **parts))
                self.assert_refused(failed, "rod: ", *words, status=status)

    def test_a_crash_of_each_run_is_a_crash(self):
        model = compile_model(self.folder, jac="exit(3);")
        failed = cpodes("compare", model, "-m", "bdf,bdf2", "-r", "1e-3")
        self.assert_refused(failed, "rod: ", "bdf2: ", "exit status 3", status=CRASHED)


class Output(CompareTest):
    def test_the_table_has_a_row_for_each_run_and_a_plot_follows(self):
        shown = cpodes("compare", "slider_crank", "-m", "bdf,dop853", "-r", "1e-3,1e-5")
        self.assert_done(shown)
        self.assertEqual(shown.stderr, "")
        self.assertEqual(len(re.findall(r"^(bdf|dop853) +\S+ +\d\.\de-\d\d( +\d+){3} +\S+$", shown.stdout, re.MULTILINE)), 4)
        self.assertIn("CPU time [s]", shown.stdout)
        for letter, method in zip("AB", ["bdf", "dop853"]):
            self.assertRegex(shown.stdout, rf"\b{letter} {method}")
            self.assertEqual(len(re.findall(rf"\|.*\b{letter}\b.*\|", shown.stdout)) > 0, True)

    def test_errors_below_what_is_known_are_said_to_be_so(self):
        shown = cpodes("compare", "spatial_chain", "-m", "dop853", "-r", "1e-13", "--param", "n=2")
        self.assert_done(shown)
        self.assertRegex(shown.stdout, r"dop853 +1e-13 +< +1\.0e-10")

    def test_csv_and_json_have_the_same_runs(self):
        path, summary = self.folder / "runs.csv", self.folder / "runs.json"
        self.assert_done(cpodes("compare", "pendulum", "-m", "bdf", "-r", "1e-3,1e-5", "--csv", path, "--json", summary))
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        runs = json.loads(summary.read_text())["runs"]
        self.assertEqual(len(rows), 2)
        for row, run in zip(rows, runs):
            for key in "method ending".split():
                self.assertEqual(row[key], run[key])
            for key in "steps rejected rhs".split():
                self.assertEqual(int(row[key]), run[key])
            self.assertAlmostEqual(float(row["error"]) / run["error"], 1, delta=1e-5)

    def test_the_plot_names_methods_and_axes(self):
        path = self.folder / "work.svg"
        self.assert_done(cpodes("compare", "slider_crank", "-m", "bdf,adams", "-r", "1e-3,1e-5", "--plot", path))
        texts = texts_of(path)
        for text in "bdf", "adams", "CPU time [s]", "evaluations of f", "error at the end", "Slider-crank with a spring-damper":
            self.assertIn(text, texts)
        self.assertNotIn("dop853", texts)

    def test_stdout_is_the_csv_alone_where_it_goes_there(self):
        shown = cpodes("compare", "pendulum", "-m", "bdf", "-r", "1e-3", "--csv", "-")
        self.assertEqual(len(shown.stdout.splitlines()), 2)
        self.assertIn("CPU time", shown.stderr)

    def test_a_full_disk_is_told(self):
        path = self.folder / "full.csv"
        path.symlink_to("/dev/full")
        failed = cpodes("compare", "pendulum", "-m", "bdf", "-r", "1e-3", "--csv", path)
        self.assert_refused(failed, "full.csv", "No space left", status=OUTPUT)


class BadInput(CompareTest):
    def test_wrong_input_is_one_line_that_names_it(self):
        for arguments, words in (
            ("slider_crank -m bfd", ["--methods", '"bfd"', '"bdf"']),
            ("slider_crank -m bdf,,adams", ["--methods", '"bdf,,adams"']),
            ("slider_crank -m bdf,bdf", ["--methods", '"bdf"', "twice"]),
            ("slider_crank -m bdf -r 1e-3,x", ["--tolerances", '"x"']),
            ("slider_crank -r 1e-4,1e-6,0.0001", ["--tolerances", "0.0001", "twice"]),
            ("slider_crank -r 2", ["--tolerances", '"2"']),
            ("slider_crank -r 1e-3 --to 1e-5", ["--tolerances", "--to"]),
            ("slider_crank --from 1e-8 --to 1e-3", ["--from", "--to", "0.001", "1e-08"]),
            ("slider_crank --from 1 --to 1e-15 --per-decade 20", ["tolerances", "40"]),
            ("slider_crank --time-limit 0", ["--time-limit", '"0"']),
            ("slider_crank --t-end -1", ["--t-end", '"-1"']),
            ("slider_crank --param m3=1", ['"m3"', '"m2"']),
            ("slider_crank --plot work.jpg", ["--plot", '"work.jpg"']),
            ("slider_crank --metods bdf", ["--metods", "--methods"]),
            ("slider_krank", ['"slider_krank"', '"slider_crank"']),
            ("slider_crank four_bar", ["four_bar"]),
            ("", ["model", "cpodes list"]),
        ):
            with self.subTest(arguments):
                self.assert_refused(cpodes("compare", *arguments.split()), *words)


if __name__ == "__main__":
    unittest.main()

"""User models that fail during a run: the results that remain."""

import csv
import json
import math
import signal
import subprocess
import time
import unittest

from runner import CRASHED, FAILED, INTERRUPTED, PROGRAM, RunnerTest, cpodes
from user_model import compile_model, source

FALL = "f[1] = -((G *)data)->g;"


class CrashTest(RunnerTest):
    def run_until(self, status, *words, **parts):
        """Runs a model with these parts; one line contains the words, and all files are complete until shortly before
        t = 2."""
        model = compile_model(self.folder, **parts)
        table, summary, report = (self.folder / f"run.{suffix}" for suffix in ("csv", "json", "html"))
        process = cpodes(
            "run", model, "--outputs", 100, "--max-step", 0.1, "--csv", table, "--json", summary, "--report", report, "--quiet"
        )
        self.assertEqual(process.returncode, status, process.stderr)
        self.assert_line(process.stderr, "rod", *words)
        self.assert_files(table, summary, report)
        return json.loads(summary.read_text())

    def assert_line(self, text, *words):
        # a sanitizer prints more about a crash
        lines = [line for line in text.splitlines() if line.startswith("cpodes: ")]
        self.assertEqual(len(lines), 1, text)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_files(self, table, summary, report):
        header, *rows = csv.reader(table.read_text().splitlines())
        self.assertGreater(len(rows), 1 + 1.8 / 0.05)  # a step of 0.1 ends before 2
        for row in rows:
            self.assertEqual(len(row), len(header))
            self.assertTrue(all(math.isfinite(float(x)) for x in row))
        run = json.loads(summary.read_text())
        self.assertEqual(run["end"]["t"], float(rows[-1][0]))
        self.assertNotEqual(run["ending"], "done")
        page = report.read_text()
        self.assertTrue(page.rstrip().endswith("</html>"))
        self.assertIn(run["message"].split(":")[0], page)

    def test_a_signal_ends_only_the_run(self):
        run = self.run_until(CRASHED, "crashed", "t = 1.", f=f"{FALL} if (t > 2) raise(SIGKILL); return 0;")
        self.assertEqual(run["ending"], "crashed")

    def test_a_segmentation_fault_ends_only_the_run(self):
        self.run_until(CRASHED, "the model", "t = 1.", f=f"{FALL} if (t > 2) *(volatile int *)8 = 1; return 0;")

    def test_exit_ends_only_the_run(self):
        self.run_until(CRASHED, "exit status 7", f=f"{FALL} if (t > 2) exit(7); return 0;")

    def test_nan_is_named(self):
        self.run_until(FAILED, "f[0] is nan", "t = 2", f=f"{FALL} if (t > 2) f[0] = NAN; return 0;")

    def test_a_function_that_gives_up_is_named(self):
        self.run_until(FAILED, "f failed", "t = 2", f=f"{FALL} return t > 2 ? -1 : 0;")

    def test_a_drawing_that_crashes_ends_only_the_run(self):
        self.run_until(CRASHED, "exit status 9", points="xyz[3] = y[0]; if (t > 2) exit(9);")

    def test_a_quantity_that_crashes_ends_only_the_run(self):
        self.run_until(CRASHED, "exit status 9", energy="if (t > 2) exit(9); return 0;")

    def test_ctrl_c_ends_a_model_that_never_returns(self):
        hangs = self.folder / "hangs"
        endless = f'fclose(fopen("{hangs}", "w")); for (volatile double s = 0;;) s += 1;'
        model = compile_model(self.folder, f=f"{FALL} if (t > 2) {{ {endless} }} return 0;")
        table, summary, report = (self.folder / f"run.{suffix}" for suffix in ("csv", "json", "html"))
        process = subprocess.Popen(
            [PROGRAM, "run", model, "--outputs", "100", "--max-step", "0.1", "--csv", table, "--json", summary]
            + ["--report", report, "--quiet"],
            stderr=subprocess.PIPE,
            text=True,
        )
        while not hangs.exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assert_line(text, "interrupted", "t = 1.")
        self.assert_files(table, summary, report)

    def test_a_reference_has_a_second_of_cpu_time_however_long_it_waits(self):
        for name, body in ("waits", "sleep(2);"), ("runs", "for (volatile int i = 0;; i++);"):
            reference = f"static int reference(const CPPlugin *model, sunrealtype t, N_Vector y) {{ {body} return 0; }}\n"
            text = source(create="model->known = 1; model->reference_error = 1;", members=".reference = reference")
            model = compile_model(self.folder, name, text=text.replace("static int create(", reference + "static int create("))
            result = self.folder / f"{name}.json"
            self.assert_done(cpodes("run", model, "--no-estimate", "--quiet", "--json", result))
            run = json.loads(result.read_text())
            self.assertEqual(run["reference_late"], 0 if name == "waits" else 1)
            self.assertEqual(run["error"] is None, name == "runs")

    def test_what_a_model_has_started_keeps_nobody_waiting(self):
        # it keeps the pipe of the run open until this test is over
        start = f'if (!fork()) {{ setsid(); close(1); close(2); while (!access("{self.folder}", F_OK)) sleep(1); _exit(0); }}'
        model = compile_model(self.folder, f=f"{FALL} if (t > 2) {{ {start} raise(SIGKILL); }} return 0;")
        self.assert_line(cpodes("run", model, "--quiet").stderr, "rod", "crashed")

    def test_what_a_model_prints_stays_out_of_a_pipe(self):
        model = compile_model(self.folder, f=f'{FALL} printf("here\\n"); return 0;')
        process = cpodes("run", model, "--csv", "-", "--outputs", 5, "--quiet")
        self.assert_done(process)
        self.assertEqual(len(process.stdout.splitlines()), 7)
        self.assertIn("here", process.stderr)

    def test_a_model_that_crashes_at_once_is_one_line(self):
        model = compile_model(self.folder, create="exit(3);")
        table = self.folder / "run.csv"
        process = cpodes("run", model, "--csv", table)
        self.assert_refused(process, "rod: ", "exit status 3", status=CRASHED)
        self.assertFalse(table.exists())

    def test_numbers_of_a_model_that_do_not_fit_are_refused_before_they_are_used(self):
        cases = {
            "segment 0 of the drawing": "model->drawing.segment[0][1] = 100000000;",
            "no drawing": "model->drawing.npoints = -1;",
            "ncompared is 100000000": "model->ncompared = 100000000;",
            "1000000 stops": "model->nstops = 1000000;",
            "50 roots": "model->nroots = 50;",
            "no function roots": "model->nroots = 1;",
            "nq + nu + nz": "model->mech.nz = 1000000;",
            "n is 1000000": "model->n = 1000000;",
            "y0 ": "N_VDestroy(model->y0); model->y0 = NULL;",
            "neither a CPMech nor f": "model->mech.nu = 0;",
            "known": "model->known = 1;",
        }
        report, table = self.folder / "run.html", self.folder / "run.csv"
        for number, (words, create) in enumerate(cases.items()):
            model = compile_model(self.folder, file=f"rod{number}", create=create)
            with self.subTest(words):
                self.assert_refused(cpodes("run", model, "--report", report, "--csv", table), "rod: ", words)
                self.assert_refused(cpodes("compare", model, "--tolerances", "1e-4"), "rod: ", words)
                self.assert_refused(cpodes("describe", model), "rod: ", words)
                self.assertFalse(report.exists() or table.exists())


if __name__ == "__main__":
    unittest.main()

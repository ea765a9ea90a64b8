"""Helpers for the tests of the program cpodes."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["CPODES_RUNNER"]
BUILD = pathlib.Path(os.environ["CPODES_BUILD"])
SANITIZED = bool(os.environ.get("CPODES_SANITIZE"))  # crashes then end with a status of the sanitizer

DONE, FAILED, USAGE, OUTPUT, CRASHED, WITHOUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

MODELS = (
    "pendulum slider_crank andrews car_axis flexible_crank four_bar bushing_crank spatial_four_bar knife_edge chain "
    "bending_chain newton_cradle spatial_chain spatial_bending_chain bricard heavy_top "
    "flyball_governor bouncing_ball sliding_block woodpecker rolling_ball impacting_stick rocking_block painleve_rod "
    "slider_crank_clearance"
).split()
# models whose figures and pages have a part that others lack
SHOWN = [model for model in MODELS if model not in ("rolling_ball", "impacting_stick", "rocking_block", "painleve_rod")]


def has_terminals():
    """Can there be a pseudo-terminal? In a chroot without /dev/pts there is none."""
    try:
        for terminal in os.openpty():
            os.close(terminal)
    except OSError:
        return False
    return True


needs_terminal = unittest.skipUnless(has_terminals(), "no pseudo-terminals: /dev/pts is not mounted")


def cpodes(*arguments, **options):
    """Runs the program; stdout and stderr are text"""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL, **options
    )


def start(*arguments):
    """The program, which runs while the test continues; finish() waits for it"""
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    """As cpodes()"""
    stdout, stderr = process.communicate(timeout=100)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


class RunnerTest(unittest.TestCase):
    """Each test has its own folder, self.folder"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cpodes-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_done(self, process):
        self.assertEqual(process.returncode, DONE, process.stderr)

    def assert_refused(self, process, *words, status=USAGE):
        """One clear line that contains all the words, and the exit status"""
        self.assertEqual(process.returncode, status, process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 1, process.stderr)
        for word in words:
            self.assertIn(word, process.stderr)

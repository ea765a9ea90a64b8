"""scripts/check_examples on this tree, on a small correct one, and on trees with one fault each."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_examples"
HEADER = """#define CPODES_EXPORT __attribute__((visibility("default")))
/* CPODES_EXPORT int CPNever(int x); */
CPODES_EXPORT int CPOne(int x);
CPODES_EXPORT const char *CPTwo(int (*f)(void),
                                const char *format, ...) __attribute__((format(printf, 2, 3)));
extern CPODES_EXPORT const int cp_number;
"""
PAGE = ".. literalinclude:: ../examples/first.c\n"
TREE = {
    "include/cpodes/cpodes.h": HEADER,
    "examples/first.c": "int main(void) { return CPOne(1) + two(); }\n",
    "examples/models/two.h": "static inline int two(void) { return *CPTwo(0, 0); }\n",
    "examples/CMakeLists.txt": "# cpodes_add_example(name)\ncpodes_add_example(first VALGRIND_LONG)\n",
    "examples/README.md": "| `first.c` | What? |\n",
    "doc/examples.rst": PAGE,
}


def functions(n):
    """A header and a program of n functions."""
    return {"include/cpodes/cpodes.h": "".join(f"CPODES_EXPORT int CP{i}(void);\n" for i in range(n)),
            "examples/first.c": " ".join(f"CP{i}();" for i in range(n))}


class Examples(unittest.TestCase):
    def run_on(self, *arguments):
        run = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def check(self, changes):
        """The exit status and the output for TREE with changes; a file that changes to None is absent."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (TREE | changes).items():
                if text is not None:
                    (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    (Path(folder) / name).write_text(text)
            return self.run_on(folder)

    def test_each_public_function_of_this_tree_stands_in_an_example(self):
        status, output = self.run_on()
        self.assertEqual(status, 0, output)

    def test_a_correct_tree_passes(self):
        self.assertEqual(self.check({}), (0, "2 public functions, each in one of 1 examples or their models.\n"))
        self.assertEqual(self.check(functions(170))[0], 0)

    def test_each_fault_is_named(self):
        uncalled = "include/cpodes/cpodes.h: CPOne stands in no example"
        faults = {
            uncalled: {"examples/first.c": '/* CPOne(1) */ // CPOne(1)\nchar *s = "CPOne(1)";\n#define ONE CPOne(1)\n'},
            "include/cpodes/cpodes.h: CPTwo stands in no example": {"examples/models/two.h": "int CPTwoes(void);\n"},
            "include/cpodes: 171 public functions, at most 170 are allowed": functions(171),
            "examples/CMakeLists.txt: there is no examples/gone.c":
                {"examples/CMakeLists.txt": "cpodes_add_example(first)\n  cpodes_add_example(gone)\n"},
            "examples/first.c: examples/CMakeLists.txt does not add it": {"examples/CMakeLists.txt": None},
            "examples/first.c: examples/README.md does not list it": {"examples/README.md": "first.c\n"},
            "examples/first.c: doc/examples.rst does not show it": {"doc/examples.rst": "``first``\n"},
        }
        for message, changes in faults.items():
            with self.subTest(message):
                status, output = self.check(changes)
                self.assertEqual(status, 1)
                self.assertIn(message, output.splitlines())

    def test_wrong_arguments_are_told_apart_from_faults(self):
        self.assertEqual(self.check({"include/cpodes/cpodes.h": None})[0], 2)
        self.assertEqual(self.run_on("one", "two")[0], 2)


if __name__ == "__main__":
    unittest.main()

"""`cpodes new`: a project that builds, and whose model is right, by the commands that it prints."""

import os
import re
import subprocess
import unittest

from runner import OUTPUT, RunnerTest, cpodes

STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Werror"


class NewTest(RunnerTest):
    def new(self, *arguments):
        return cpodes("new", *arguments, cwd=self.folder)

    def follow(self, new):
        """Runs the commands that were printed, as one script"""
        self.assert_done(new)
        script = "\n".join(re.findall("^  (.*)$", new.stdout, re.MULTILINE))
        return subprocess.run(
            ["sh", "-e"],
            input=script,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=os.environ | {"CFLAGS": STRICT},
        )

    def test_the_commands_that_it_prints_build_check_and_run_the_model(self):
        followed = self.follow(self.new("swing"))
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)
        self.assertIn("Double pendulum of two rods (swing)", followed.stdout)
        self.assertRegex(followed.stdout, r"all \d+ are right")
        self.assertTrue((self.folder / "swing" / "swing.html").exists())

    def test_a_folder_with_blanks_and_quotes_is_no_trouble(self):
        followed = self.follow(self.new("swing", "--directory", "Anne's first $wing"))
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)

    def test_words_of_the_language_are_names_like_others(self):
        followed = self.follow(self.new("double"))
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)

    def test_the_name_is_everywhere(self):
        self.assert_done(self.new("swing"))
        names = sorted(path.name for path in (self.folder / "swing").iterdir())
        self.assertEqual(names, ["CMakeLists.txt", "README.md", "swing.c"])
        for name in names:
            text = (self.folder / "swing" / name).read_text()
            self.assertIn("swing", text)
            self.assertNotRegex(text, "my_model|@[A-Z]+@")

    def test_a_name_that_is_no_name_is_refused(self):
        for name in "2swings", "Swing", "my-swing", "../swing", "", "x" * 41:
            self.assert_refused(self.new(name), f'"{name}"', "a-z, 0-9 and _")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assert_refused(self.new(), "name")
        self.assert_refused(self.new("swing", "swong"), "swong")

    def test_an_existing_folder_is_left_alone(self):
        (self.folder / "swing").mkdir()
        self.assert_refused(self.new("swing"), "swing: File exists", status=OUTPUT)
        self.assertEqual(list((self.folder / "swing").iterdir()), [])

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.assert_refused(self.new("swing", "-d", "none/swing"), "none/swing", "No such file", status=OUTPUT)


if __name__ == "__main__":
    unittest.main()

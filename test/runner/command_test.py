"""Commands and their options."""

import unittest

from runner import RunnerTest, cpodes


class CommandTest(RunnerTest):
    def test_help_names_every_command(self):
        help_text = cpodes("--help")
        self.assert_done(help_text)
        for command in "list describe run compare check new".split():
            self.assertIn(command, help_text.stdout)

    def test_an_unknown_command_is_answered_by_the_nearest(self):
        self.assert_refused(cpodes("rnu"), '"rnu"', '"run"')

    def test_without_a_command_one_line_says_what_to_do(self):
        self.assert_refused(cpodes(), "--help")


if __name__ == "__main__":
    unittest.main()

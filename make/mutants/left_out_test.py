"""The list of changes that are not tried."""

import pathlib
import unittest

import left_out
from changes import changes_of

SOURCE = """\
bool f(int a, int b) {
  return a < 2 && a < b && b < 9;
}
"""


class LeftOut(unittest.TestCase):
    def lines_left_out(self, text):
        changes = [("a.cc", SOURCE, change) for change in changes_of(SOURCE)]
        found = left_out.left_out(changes, left_out.entries(text))
        return [change.apply(SOURCE).splitlines()[1].strip() for _, change in found]

    def test_an_entry_names_what_is_in_its_code(self):
        self.assertEqual(self.lines_left_out("a.cc: < became <=\na < b\nWhy.\n"),
                         ["return a < 2 && a <= b && b < 9;"])
        self.assertEqual(self.lines_left_out("a.cc: && became\n2 && a < b\nWhy.\n\n"
                                             "a.cc: returns {}\nreturn a < 2 && a\nWhy.\n"),
                         ["return {};", "return a < 2 || a < b && b < 9;"])

    def test_an_entry_that_names_nothing_is_an_error(self):
        for entry in ("a.cc: < became <=\na < c", "b.cc: < became <=\na < b",
                      "a.cc: > became >=\na < b"):
            with self.assertRaisesRegex(SystemExit, "names no change"):
                self.lines_left_out(entry + "\nWhy.\n")

    def test_an_entry_without_a_reason_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "not an entry"):
            self.lines_left_out("a.cc: < became <=\na < b\n")

    def test_each_entry_of_the_list_names_a_change(self):
        listed = left_out.entries(left_out.PATH.read_text(encoding="utf-8"))
        repository = left_out.PATH.parents[2]
        changes = []
        for file in {entry.file for entry in listed}:
            source = (repository / file).read_text(encoding="utf-8")
            changes += [(pathlib.Path(file), source, one) for one in changes_of(source)]
        left_out.left_out(changes, listed)


if __name__ == "__main__":
    unittest.main()

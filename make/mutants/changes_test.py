"""The places of a C++ source that are changed, and those that are left alone."""

import unittest

from changes import changes_of, sample

SOURCE = """\
#include <a> // a == b
// x && y
bool less(const T& a, std::vector<int>&& b) {
  assert(a == b);
  if (is_ready()) stop(a, "x < y");
  Foo bar(a);
  if (!a.done && count < 3) {
    return a.size() + 1;
  }
  return true;
}
"""


class Changes(unittest.TestCase):
    def test_each_is_one_place_of_code(self):
        found = [(change.line, change.text) for change in changes_of(SOURCE)]
        self.assertEqual(found, [
            (5, "the condition is negated"),
            (7, "! is gone"),
            (7, "&& became ||"),
            (7, "< became <="),
            (8, "returns {} instead of a.size() + 1"),
            (8, "+ became -"),
            (10, "true became false"),
        ])

    def test_a_change_leaves_the_rest_as_it_was(self):
        change = changes_of(SOURCE)[1]
        self.assertEqual(change.apply(SOURCE), SOURCE.replace("!a.done", "a.done"))

    def test_a_call_that_is_a_statement_goes(self):
        found = changes_of("void f() {\n  a.b->c(1, d(2));\n  e = g();\n}\n")
        self.assertEqual([change.text for change in found], ["a.b->c(1, d(2)) is gone"])

    def test_texts_are_joined_as_before(self):
        found = changes_of('void f() {\n  a = "b" + c + 1;\n  d = e + ": ";\n}\n')
        self.assertEqual([(change.line, change.text) for change in found], [(2, "+ became -")])

    def test_samples_from_different_begins_share_nothing_and_are_mixed(self):
        samples = [sample(list(range(100)), 2, start) for start in (0, 1)]
        self.assertEqual(sorted(samples[0] + samples[1]), list(range(100)))
        for chosen in samples:
            self.assertNotEqual(chosen, sorted(chosen))


if __name__ == "__main__":
    unittest.main()

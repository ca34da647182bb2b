"""Each rule finds the breach that it is for, and leaves what is right alone."""

import contextlib
import pathlib
import tempfile
import unittest

from . import citations, commits, edges, pages, shape, shells, words


def texts(breaches):
    return [text for _, text in breaches]


class Edges(unittest.TestCase):
    def test_a_room_may_not_know_a_room_above_it(self):
        lines = ['#include "memory/heap.h"']
        self.assertTrue(texts(edges.check(pathlib.Path("native/track/scan.cc"), lines)))
        self.assertFalse(texts(edges.check(pathlib.Path("native/diff/collect.cc"), lines)))

    def test_a_room_of_java_may_not_know_a_room_above_it(self):
        room = "java/src/main/java/org/interweave/types"
        lines = ["import org.interweave.diff.Copy;"]
        self.assertTrue(texts(edges.check(pathlib.Path(room + "/Plan.java"), lines)))
        self.assertFalse(texts(edges.check(pathlib.Path(room + "/Plan.java"),
                                           ["import org.interweave.InterweaveException;"])))

    def test_time_is_an_argument(self):
        store = pathlib.Path("server/master/src/check.rs")
        net = pathlib.Path("server/src/net/shell.rs")
        lines = ["let now = Instant::now();"]
        self.assertTrue(texts(edges.check(store, lines)))
        self.assertFalse(texts(edges.check(net, lines)))
        self.assertFalse(texts(edges.check(store, ["#[cfg(test)]", *lines])))

    def test_the_transport_library_stays_in_fabric(self):
        self.assertTrue(
            texts(edges.check(pathlib.Path("cluster/am/names.cc"), ["#include <ucp/api/ucp.h>"])))

    def test_folders_of_the_shared_memory_have_edges(self):
        pages = pathlib.Path("cluster/dsm/protocol/pages.cc")
        self.assertTrue(texts(edges.check(pages, ['#include "dsm/memory/heap.h"'])))
        self.assertFalse(texts(edges.check(pages, ['#include "dsm/protocol/time.h"'])))

    def test_mutexes_are_those_that_clang_follows(self):
        node = pathlib.Path("cluster/ddss/node.cc")
        self.assertTrue(texts(edges.check(node, ["std::mutex mutex_;"])))
        self.assertTrue(texts(edges.check(node, ['#include "platform/memory.h"'])))
        self.assertFalse(texts(edges.check(node, ['#include "platform/mutex.h"', "Mutex mutex_;"])))


class Shells(unittest.TestCase):
    def breaches(self, *lines):
        return texts(shells.check(pathlib.Path("a.sh"), list(lines)))

    def test_a_pipe_into_grep_that_ends_early_is_found_where_it_can_fail(self):
        self.assertTrue(self.breaches("set -euo pipefail", "list | grep -q name"))
        self.assertTrue(self.breaches("set -euo pipefail", "list |", "  grep -qF name"))
        self.assertTrue(self.breaches("set -euo pipefail", "list | \\", "  grep -q name"))
        self.assertFalse(self.breaches("set -eu", "list | grep -q name"))
        self.assertFalse(self.breaches("set -euo pipefail", "list ||", "  grep -q name file"))
        self.assertFalse(self.breaches("set -euo pipefail", 'grep -q name <<<"$(list)"'))


class Shape(unittest.TestCase):
    def functions(self, name, *lines):
        return texts(shape.check_functions(pathlib.Path(name), list(lines)))

    def test_a_function_of_71_lines_is_too_long(self):
        body = ["  step();"] * 68
        self.assertFalse(
            self.functions("a.cc", "void walk(int a,", "          int b) {", *body[1:], "}"))
        self.assertTrue(
            self.functions("a.cc", "void walk(int a,", "          int b) {", *body, "}"))
        self.assertTrue(self.functions("a.rs", "pub fn walk() {", *body, "", "}"))
        self.assertTrue(self.functions("a.java", "static void walk() {", *body, "", "}"))
        self.assertTrue(self.functions("a.py", "def walk():", *["    step()"] * 70))

    def test_inner_functions_count_for_themselves(self):
        inner = ["  function step() {", *["    x();"] * 40, "  }"]
        self.assertFalse(self.functions("a.ts", "function walk() {", *inner, *inner, "}"))

    def test_rows_of_tables_may_be_wide(self):
        wide = "a" * 101
        page = pathlib.Path("docs/a.md")
        self.assertEqual(len(texts(shape.wide_lines(page, [wide, "| " + wide]))), 1)


class Words(unittest.TestCase):
    def test_phrases_are_found_in_prose_only(self):
        page = pathlib.Path("docs/a.md")
        self.assertTrue(texts(words.check(page, ["Who ends first takes along what it held."])))
        self.assertTrue(texts(words.check(page, ["x is no bound"])))
        self.assertTrue(texts(words.check(page, ["If there is " + "none, say so."])))
        self.assertFalse(texts(words.check(page, ["There is no segment of this name."])))
        self.assertFalse(texts(words.check(page, ["```", "Who ends first", "```"])))
        self.assertFalse(
            texts(words.check(page, ["The writer is no longer alive.", "Who may include whom?"])))


class Citations(unittest.TestCase):
    def uncited(self, rules, test):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            paths = [pathlib.Path("spec/cluster/am.x"), pathlib.Path("cluster/am/am_test.cc")]
            for path, text in zip(paths, [rules, test]):
                path.parent.mkdir(parents=True)
                path.write_text(text, encoding="utf-8")
            return [text for _, _, text in citations.check(paths)]

    def test_a_rule_that_no_test_cites_is_found(self):
        self.assertEqual(self.uncited("[AM-1] [AM-NAME-2]", "// [AM-1]"),
                         ["no test cites the rule [AM-NAME-2]"])
        self.assertFalse(self.uncited("[AM-1] [AM-NAME-2]", "am_1_x() // [AM-NAME-2]"))

    def test_two_rules_with_one_number_are_found(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            path = pathlib.Path("docs/store.md")
            path.parent.mkdir()
            path.write_text("- [LOG-1] One, see [LOG-2].\n- [LOG-2] Two.\n- [LOG-1] Three.\n")
            self.assertEqual([text for _, _, text in citations.check_numbers([path])],
                             ["the rule [LOG-1] stands at docs/store.md:1, too"])

    def test_a_rule_of_two_words_is_not_the_rule_of_its_second(self):
        self.assertTrue(self.uncited("[DDSS-NAME-1]", "// [NAME-1]"))


class Pages(unittest.TestCase):
    def codes(self, *names):
        lines = ["# Page", "## Stumbles", "### Not a code", "## Error codes",
                 *[f"### {name}" for name in names]]
        return [text for _, _, text in pages.check_codes(["DENIED", "NO_LOCK"], lines)]

    def test_each_error_code_has_its_heading_in_order(self):
        self.assertFalse(self.codes("DENIED", "NO_LOCK"))
        self.assertEqual(self.codes("NO_LOCK"), ["the error code DENIED has no heading"])
        self.assertEqual(len(self.codes("DENIED", "NO_LOCK", "NO_LUCK")), 1)
        self.assertEqual(self.codes("NO_LOCK", "DENIED"), ["NO_LOCK is here, where DENIED must be"])

    def test_codes_are_those_of_the_specification(self):
        text = "enum error_code {\n  OK = 0,\n  /* Why. */\n  DENIED = 5,\n  NO_LOCK = 12\n};\n"
        self.assertEqual(pages.codes_of(text), ["DENIED", "NO_LOCK"])

    def test_a_link_leads_to_a_file_and_a_heading(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            page = pathlib.Path("docs/a.md")
            page.parent.mkdir()
            page.write_text("# The `A` page, v2\n[x](#the-a-page-v2) [y](a.md#b)\n"
                            "```\n[code](none)\n```\n[away](https://x.y/z) [none](../b.md)\n"
                            "![picture](none.png)\n", encoding="utf-8")
            self.assertEqual([number for _, number, _ in pages.check_links({page})], [2, 6, 7])


class Commits(unittest.TestCase):
    def test_a_message_is_short_and_says_why(self):
        self.assertFalse(list(commits.check_message("1", "Do it", "Because.")))
        self.assertEqual(len(list(commits.check_message("1", "x" * 73 + ".", ""))), 3)

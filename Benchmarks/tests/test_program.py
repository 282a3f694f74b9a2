from __future__ import annotations

import unittest

from bench.program import choices_in

_HELP = """Flags:
  --to HOST
      The server. One of: those that you know.

  --compress METHOD
      Compress content on its way. Pays on slow networks; pictures, audio and
      archives rarely get smaller.
      One of: none, zlib,
      auto. Default: auto.

  -q, --quiet
      Show no progress; errors are still printed.
"""


class ChoicesTests(unittest.TestCase):
    def test_values_also_when_the_line_was_broken(self) -> None:
        self.assertEqual(choices_in(_HELP, "compress"), ["none", "zlib", "auto"])

    def test_a_flag_without_choices_has_none(self) -> None:
        self.assertEqual(choices_in(_HELP, "quiet"), [])

    def test_a_flag_that_is_not_there_has_none(self) -> None:
        self.assertEqual(choices_in(_HELP, "lanes"), [])

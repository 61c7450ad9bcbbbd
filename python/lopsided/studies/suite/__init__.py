"""Runs standard test suites and judges their results.

A suite contains the test cases of an RFC, a draft or a tool. The cases can also run on lines with a narrow reverse
path.

- `cases` reads a suite's folder.
- `measures` computes the numbers that are judged.
- `reverse` defines the narrow reverse paths.
- `study` runs a suite.
"""

"""Runs standard test suites and judges their results.

A suite has a name and contains the test cases of an RFC, a draft or a tool. The cases can also run on lines with a
narrow reverse path.

- `cases` reads the folder of a suite.
- `measures` computes the numbers that the checks of a suite judge.
- `reverse` defines the lines with a narrow reverse path.
- `study` runs a suite.
"""

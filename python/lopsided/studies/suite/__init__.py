"""Standard suites by name: the scenarios of a text, run and judged, also with the narrow reverse path that texts lack.

`cases` reads the folder of a suite, `measures` computes the judged numbers, `reverse` has the lines with a narrow
reverse path, and `study` runs a suite.
"""

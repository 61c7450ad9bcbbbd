"""Standard suites by name: the scenarios that a text asks for, run and judged, with the way back that they lack.

`cases` reads a suite's folder, `measures` has the numbers that are judged, `reverse` the lines with a narrow way back,
`study` runs a suite.
"""

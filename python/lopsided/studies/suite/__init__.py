"""Standard suites by name: runs and judges the test cases of an RFC, a draft or a tool, optionally on lines with a
narrow reverse path.

`cases` reads the folder of a suite, `measures` computes the judged numbers, `reverse` has the lines with a narrow
reverse path, and `study` runs a suite.
"""

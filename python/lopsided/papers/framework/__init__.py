"""Code that all papers share: the model of a paper, and the code that runs, judges, draws and reports."""

"""Common parts of all papers: the model of a paper, and how experiments are run, judged, drawn and written."""

"""What all papers share: what a paper is, how its experiments are run, judged, drawn and written."""

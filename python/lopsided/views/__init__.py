"""How results are shown: on the console, as HTML pages, as figures."""

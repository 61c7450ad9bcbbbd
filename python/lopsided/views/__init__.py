"""Shows results on the console, as HTML pages and as figures."""

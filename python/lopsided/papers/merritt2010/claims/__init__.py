"""The thesis's statements as functions that measure whether they hold.

A claim is judged on medians over the repetitions and again on each single one (the thesis made one run per setting).
"""

# In the order in which the report shows them.
from lopsided.papers.merritt2010.claims import performance  # isort: skip
from lopsided.papers.merritt2010.claims import dynamics  # isort: skip
from lopsided.papers.merritt2010.claims import sizing  # isort: skip

__all__ = ["dynamics", "performance", "sizing"]

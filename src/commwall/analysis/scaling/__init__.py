"""One link with growing numbers of processes: what was reached, and what fewer of them foretold.

Layer: analysis.
"""

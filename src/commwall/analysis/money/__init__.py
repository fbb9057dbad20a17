"""Whether a link is worth its price, by measured gains and a scenario's assumptions.

Layer: analysis.
"""

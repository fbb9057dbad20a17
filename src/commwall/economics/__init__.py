"""Whether the faster link is worth its price: costs, pay-back, what drives and flips the answer.

Layer: economics. Pure but for `files` and `references`, which read assumptions and facts.
"""

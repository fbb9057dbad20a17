"""Judging published claims by rules.

Layer: claims. Belongs to the reading half: it knows facts and records, and measures nothing.
"""

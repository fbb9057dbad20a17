"""A published campaign measured again: what it predicts, and whether others agree.

Layer: analysis.
"""

"""Intervals, paired ratios, straight lines and roots.

Layer: stats; uses schema. Pure numbers in, numbers out: no file, no record, no word for readers.
"""

"""Intervals and paired ratios.

Layer: stats; uses schema. Pure numbers in, numbers out: no file, no record, no word for readers.
"""

"""Pure functions from a tool's text to a model.

Layer: readers; uses schema. Takes text that others read, so it reads and writes no file.
"""

"""Pure functions from a tool's text to a model; no tool has needed one so far.

Layer: readers; uses schema. Takes text that others read, so it reads and writes no file.
"""

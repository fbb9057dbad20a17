"""The search for the fastest combination of mitigations within a time: `commwall tune`.

Layer: measure. `tuner` writes the two files of an outcome.
"""

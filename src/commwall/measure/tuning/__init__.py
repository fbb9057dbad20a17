"""The search for the fastest combination of mitigations within a time: `commwall tune`.

Layer: measure. `outcome` writes the two files of a search.
"""

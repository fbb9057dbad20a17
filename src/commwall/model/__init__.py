"""Models of a training step: formulas that turn sizes, rates and times into other times.

Layer: model. Knows schema and stats only, reads and writes no file.
"""

"""The page on more GPUs on one link.

Layer: report. `page` holds tables and sentences, `figure` the drawing.
"""

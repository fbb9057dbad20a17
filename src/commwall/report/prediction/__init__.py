"""The page on predicted steps.

Layer: report. `page` holds tables and sentences, `figure` the drawing, `rule` how steps are
predicted, `worth` what that is worth.
"""

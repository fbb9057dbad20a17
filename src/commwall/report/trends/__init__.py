"""The page on what several campaigns measured, over time.

Layer: report. `page` holds tables and sentences, `figure` the drawing.
"""

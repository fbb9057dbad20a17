"""The page on whether the faster link is worth its price.

Layer: report. `page` holds tables and sentences, `figures` the drawings.
"""

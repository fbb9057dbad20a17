"""The page on when a faster link pays, and models that were not measured.

Layer: report. `page` shows measured gains and their line with `reasons` for what lies outside,
`whatif` models by name, `placed` puts them on the figure.
"""

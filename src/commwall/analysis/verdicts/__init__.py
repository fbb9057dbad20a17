"""What the rounds of two platforms say: pairs of records, ratios with intervals, sentences.

Layer: analysis. Reads no file. `pairs` decides what may be compared, `judging` judges it,
`decompose` splits a gap, `wording` words one verdict and `overall` several.
"""

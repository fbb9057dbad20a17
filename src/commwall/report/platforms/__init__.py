"""The page on platforms: what was measured, and whether it was what it is said to be.

Layer: report. `page` shows records of machine and software, `path` the way of a known transfer,
`same_machine` boots and GPUs.
"""

"""From a notebook to its page: run it, give its places anchors, set it in HTML.

Layer: report. `render` does it, by `execution` and `anchors`.
"""

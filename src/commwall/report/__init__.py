"""Figures, sentences, pages: what readers see.

Layer: report; uses analysis and claims. Reads evidence, writes executed notebooks and pages. Never
imports what measures. A notebook shows functions of modules that are named after a page or a
section of one, several of a page in a folder named after it; `html`, `style` and `figures` are what
those draw with. `rendering` makes a page of a notebook, `site` publishes all pages, `decision` is
the one page for buyers, `review` holds two reports against each other.
"""

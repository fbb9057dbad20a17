"""The decision report: one page for somebody who buys or rents, in HTML and on a sheet of A4.

Layer: report. `content` builds it as plain data (with `words`, `money` and `figure`), `page` shows
it in the notebook, `sheet` sets it as a PDF.
"""

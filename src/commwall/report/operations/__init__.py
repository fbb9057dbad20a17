"""Pages on collectives and copies.

Layer: report. `page` shows values of every size, `collectives` and `memory` what is special to
either.
"""

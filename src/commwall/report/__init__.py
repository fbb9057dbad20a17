"""Figures, sentences, pages: what readers see.

Layer: report; uses analysis, records and schema. Reads evidence, writes executed notebooks and
pages. Never imports what measures.
"""

"""Tidy tables: every number that a page shows stands in one of them.

Layer: analysis. `tidy` makes the tables of records and verdicts by the modules of their subjects,
`census` those about the campaign itself; `columns` says what they hold, `files` writes them.
"""

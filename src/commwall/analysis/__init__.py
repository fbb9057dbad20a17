"""From records to verdicts and tidy tables.

Layer: analysis; uses records, stats and schema. Never imports what measures. Pure Python but
for `tables`, the only module that needs pandas, so that verdicts print in every environment.
"""

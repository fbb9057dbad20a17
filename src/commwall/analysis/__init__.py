"""From records to verdicts and tidy tables.

Layer: analysis; uses records, stats and schema. Never imports what measures. Pure Python but
for the modules that make tables, which alone need pandas, so that verdicts print in every
environment. What answers a question of its own has a folder: `changes`, `money`, `replication`,
`steps`, `whatif`.
"""

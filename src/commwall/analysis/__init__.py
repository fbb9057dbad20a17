"""From records to verdicts and tidy tables.

Layer: analysis; uses records, judge, model and economics. Never imports what measures. Pure Python
but for the modules that make tables, which alone need pandas, so that verdicts print in every
environment. `result` holds all that is read out of a campaign. On the way there, `values` has what
one record says and `verdicts` what two platforms' records say; `tables` shows both. What answers a
question of its own has a folder: `changes`, `mitigations`, `money`, `replication`, `scaling`,
`steps`, `whatif`.
"""

"""Verdicts on what other tools wrote: readings and sourced facts in, findings out.

Layer: judge; uses readers and language. Pure but for `commwall.judge.facts`, which reads the facts.

A rule is a function from a `Scene` to findings, and stands in the registry of
`commwall.judge.rules`. It never guesses: what the files do not say is a finding of level
`unknown` with the command that would say it. Its thresholds and references are facts with their
source (`config/facts`).
"""

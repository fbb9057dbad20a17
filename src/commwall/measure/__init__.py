"""Plans rounds, launches and supervises workers, makes records of what they found.

Layer: measure; uses workers only as a command line, and host, judge and records. What answers a
question of its own has a folder: `planning` what is to be measured, `proof` which way the traffic
took, `tuning` which mitigations to combine.
"""

"""Plans rounds, launches and supervises workers, makes records of what they found.

Layer: measure; uses workers only as a command line, host and records below it.
"""

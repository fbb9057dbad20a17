"""Stand-in for the worker processes: same entry, same files, no torch.

It takes the place of `commwall.workers` in the copy of the checkout that a workflow test runs.
All else there is real: supervisor, locks, records, states, Snakemake.
"""

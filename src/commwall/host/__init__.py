"""Asks the machine: CPUs, GPUs, energy, processes, locks, software, environments.

Layer: host; uses records, schema and process, never the workers.
"""

"""Pydantic models of config, plan, case and record; metric registry, units, errors.

Layer: schema, the bottom; uses nothing of the package. Import the modules, not this page:
the digest of a suite's import closure follows every import it finds.
"""

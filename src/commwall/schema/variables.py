"""The NCCL variables that a treatment sets.

Layer: schema.
"""

from commwall.schema.treatment import NcclVariables, Treatment


def nccl_variables(treatment: Treatment) -> dict[str, str]:
    """Name -> value; none where the link is chosen otherwise."""
    return treatment.variables if isinstance(treatment, NcclVariables) else {}

"""Batch sweeps of a campaign file: one case for each of several batches.

Layer: measure. Reads and writes no file.
"""

from typing import Any

from commwall.schema.errors import ConfigError


def unrolled(campaign: Any, file_name: str) -> Any:
    """A campaign file whose cases have one batch each.

    A case whose `batch_per_gpu` is a list becomes a case of each, called after case and batch:
    `bert-b4`. Platforms that name the case name all of them.

    Args:
        campaign: what the file holds; whatever is malformed is left for its model to refuse.
        file_name: for messages.

    Raises:
        ConfigError: if a batch has the name of another case.
    """
    if not isinstance(campaign, dict) or not isinstance(campaign.get("cases"), dict):
        return campaign
    sweeps = {name: _batches(name, case) for name, case in campaign["cases"].items()}
    cases: dict[Any, Any] = {}
    for name, batches in sweeps.items():
        if twice := cases.keys() & batches.keys():
            found = f"cases.{name}: {sorted(twice)[0]!r}, one of its batches, is a case too"
            raise ConfigError("two cases have one name", where=file_name, found=found)
        cases |= batches
    platforms = campaign.get("platforms")
    if isinstance(platforms, dict):
        platforms = {name: _with_sweeps(asked, sweeps) for name, asked in platforms.items()}
    return {**campaign, "cases": cases, "platforms": platforms}


def _batches(name: Any, case: Any) -> dict[Any, Any]:
    """The case, or the cases of its batches where it has several."""
    batches = case.get("batch_per_gpu") if isinstance(case, dict) else None
    if not isinstance(batches, list):
        return {name: case}
    return {f"{name}-b{batch}": {**case, "batch_per_gpu": batch} for batch in batches}


def _with_sweeps(platform: Any, sweeps: dict[Any, dict[Any, Any]]) -> Any:
    """A platform whose list of cases names each batch of the sweeps in it."""
    if not isinstance(platform, dict) or not isinstance(platform.get("cases"), list):
        return platform
    named = (
        sweeps.get(name, [name]) if isinstance(name, str) else [name] for name in platform["cases"]
    )
    return {**platform, "cases": [each for names in named for each in names]}

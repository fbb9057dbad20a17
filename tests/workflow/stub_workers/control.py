"""What a test wants of a launch: the file `stub.json` in the root of the checkout.

A list of wishes {"act": …, "platform": …, "round": …, "seconds": …}; a wish without platform
or round holds for all.
"""

import json
from pathlib import Path
from typing import Any

CONTROL_PATH = Path(__file__).parents[3] / "stub.json"
BEGUN_PATH = CONTROL_PATH.with_name("stub-begun")
"""Touched by a rank that has read its wishes."""
DEFAULT_CASE_S = 0.1


def wishes(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Wishes that hold for a launch, by their act."""
    if not CONTROL_PATH.exists():
        return {}
    place = {"platform": request["platform"]["name"], "round": request["round"]}
    return {
        wish["act"]: wish
        for wish in json.loads(CONTROL_PATH.read_text(encoding="utf-8"))
        if all(wish.get(key, value) == value for key, value in place.items())
    }

"""`commwall read FILE`: what is certain in a file that another tool wrote, as one JSON object.

Layer: cli. Reads the file, or standard input; writes none.
"""

import argparse
import json
from typing import Any

from commwall.cli.inputs import content_of
from commwall.readers.decoding import decoded
from commwall.readers.detection import MODULES, model_of, read_text
from commwall.readers.refusal import Unreadable

EXIT_REFUSED = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="output of a tool; - is standard input")
    parser.add_argument(
        "--kind", choices=sorted(MODULES), help="read it as this kind, whatever it looks like"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is certain; exit code 2 if the text is refused or cut off."""
    try:
        found = read_text(decoded(content_of(arguments.file)), arguments.kind).model_dump(
            mode="json"
        )
    except Unreadable as refusal:
        found = _refused(refusal)
    print(json.dumps(found, indent=1))
    return 0 if found["readable"] else EXIT_REFUSED


def _refused(refusal: Unreadable) -> dict[str, Any]:
    """What can be said of a text that is not read: its kind, why, and nothing of all else."""
    said = {"kind": refusal.kind, "readable": False, "reason": refusal.reason}
    known = refusal.kind in MODULES
    fields = model_of(refusal.kind).model_fields if refusal.kind and known else {}
    return said | {name: None for name in fields if name not in said}

"""`commwall bundle CAMPAIGN`: a campaign as one file, to be rendered elsewhere.

Layer: cli. Writes `<campaign>.tar.gz` here, or --output; see `commwall.records.bundle`.
"""

import argparse
from pathlib import Path

from commwall.host.environments import manifest_path
from commwall.host.secrecy import without_places
from commwall.records.arrival import is_imported
from commwall.records.bundle import collect, without_path, write_bundle
from commwall.records.layout import Layout
from commwall.records.state import Attempt
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import parse_json_model
from commwall.schema.units import size_text

ENDING = ".tar.gz"
LOG_TAIL_BYTES = 128 * 2**10
"""The end of a log tells what went wrong."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("campaign", help="identifier, a folder in results/")
    parser.add_argument("--output", type=Path, help="file to write, FILE.tar.gz")


def run(arguments: argparse.Namespace) -> int:
    """Write the bundle and say what it holds."""
    layout, campaign = Layout(Path()), arguments.campaign
    files, left_out = collect(layout, campaign)
    files |= _logs(Path(), campaign, files)
    records = sum(name.startswith("records/") for name in files)
    if records and not is_imported(layout, campaign):
        files |= _environment(Path())
    target = _target(arguments.output or Path(f"{campaign}.tar.gz"))
    write_bundle(target, campaign, files)
    print(f"{target}: {records} records, {len(files)} files, {size_text(target.stat().st_size)}")
    for line in left_out:
        print(f"  left out: {line}")
    return 0


def _target(path: Path) -> Path:
    """The file to write, if it can be one.

    Raises:
        ConfigError: if it has another ending, or its folder does not exist.
    """
    if path.name.endswith(ENDING) and path.parent.is_dir():
        return path
    raise ConfigError(
        "cannot write the bundle",
        where=f"--output {path}",
        found="no such folder" if path.name.endswith(ENDING) else "another ending",
        expected=f"a name that ends with {ENDING}, in a folder that exists",
        next_step=f"choose --output FILE{ENDING}",
    )


def _environment(root: Path) -> dict[str, bytes]:
    path = manifest_path(root, "bench")
    return {"origin/bench.json": without_path(path.read_bytes())} if path.exists() else {}


def _logs(root: Path, campaign: str, files: dict[str, bytes]) -> dict[str, bytes]:
    """Ends of the logs that accidents point to, without what names this machine."""
    found = {}
    for name in (name for name in files if name.startswith("attempts/")):
        attempt = parse_json_model(Attempt, files[name], name)
        own = Layout(root).logs_dir(campaign, attempt.suite)
        for accident in attempt.accidents:
            path = own / Path(accident.log).name  # an account of elsewhere may point anywhere
            if accident.log == str(path) and path.is_file():
                tail = path.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
                text = without_places(tail, root)
                found[f"origin/logs/{attempt.suite}/{path.name}"] = text.encode()
    return found

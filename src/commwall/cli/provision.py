"""`commwall provision NAME`: make an environment from its lock, or adopt one.

Layer: cli. Writes `.envs/<name>/` and `logs/provision/<name>.log`; with --resolve only
`envs/<name>.lock`.
"""

import argparse
import sys
from pathlib import Path

from commwall.cli.parent import accept_parent, until_stopped
from commwall.host.environments import ENVIRONMENTS, manifest_path, provision
from commwall.host.lockfiles import resolve
from commwall.measure.planning.configuration import resolved_config
from commwall.schema.environment import Manifest
from commwall.schema.errors import ProvisionError

SHOWN_DIFFERENCES = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("name", help="environment: envs/NAME.lock must exist")
    parser.add_argument("--manifest", type=Path, help="must be .envs/NAME/manifest.json")
    parser.add_argument("--adopt", help="Python whose packages to use instead of the lock")
    parser.add_argument("--resolve", action="store_true", help="only write the lock anew")
    parser.add_argument("--log", type=Path, help="takes pip's whole output")
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the environment, or its lock."""
    if Path(arguments.name).name != arguments.name:
        known = sorted(path.stem for path in Path("envs").glob("*.lock"))
        raise ProvisionError(
            "an environment is named without its folder",
            where=arguments.name,
            expected=f"one of: {', '.join(known)}",
        )
    work = _resolve if arguments.resolve else _provision
    return until_stopped(arguments, work, "nothing half made counts")


def _resolve(arguments: argparse.Namespace) -> int:
    path = resolve(Path(), arguments.name, Path(sys.executable))
    print(f"wrote {path}")
    return 0


def _provision(arguments: argparse.Namespace) -> int:
    root, name = Path(), arguments.name
    target = manifest_path(root, name)
    if arguments.manifest is not None and arguments.manifest.resolve() != target.resolve():
        raise ProvisionError(
            "a manifest lies in its environment",
            where="--manifest",
            found=str(arguments.manifest),
            expected=str(target),
        )
    adopt = arguments.adopt or _configured(root, name)
    log = arguments.log or root / f"logs/provision/{name}.log"
    manifest = provision(root.resolve(), name, adopt, log, _say)
    _say(_summary(manifest))
    return 0


def _configured(root: Path, name: str) -> str | None:
    """What the configuration says of adopting; only the workflow's own environments can."""
    if name not in ENVIRONMENTS:
        return None
    adopt: str | None = getattr(resolved_config(root).environments, name).adopt
    return adopt


def _summary(manifest: Manifest) -> str:
    head = f"{manifest.name}: {manifest.mode}, {len(manifest.packages)} packages"
    shown = manifest.differences[:SHOWN_DIFFERENCES]
    lines = [
        f"  {item.name}: lock {item.locked or 'does not name it'}, here {item.present or 'missing'}"
        for item in shown
    ]
    more = len(manifest.differences) - len(shown)
    return "\n".join([head, *lines, *([f"  and {more} more differences"] if more else [])])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""`commwall tune CAMPAIGN --within SECONDS`: search what is fastest for a workload on this machine.

Layer: cli. Runs in the bench environment; see `commwall.measure.tuning.tuner` for what it writes.
"""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from commwall.analysis.mitigations.prices import Price, PriceList
from commwall.analysis.result import analyse_campaign
from commwall.cli.measure import seconds
from commwall.cli.parent import accept_parent, until_stopped
from commwall.host.locks import device_locks
from commwall.host.machine import Machine, probe_machine
from commwall.host.software import installed_nccl
from commwall.judge.facts import read_variables
from commwall.measure.planning.configuration import Campaign, load_campaigns, resolved_config
from commwall.measure.planning.fitting import fit
from commwall.measure.planning.freezing import campaign_id
from commwall.measure.supervisor import Launch
from commwall.measure.tuning.candidates import PRICE_LEVELS, Place, choose, read_settings
from commwall.measure.tuning.outcome import Found, write_found
from commwall.measure.tuning.tuner import FILLER, Tuner
from commwall.records.layout import Layout
from commwall.schema.errors import CommwallError, ConfigError
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.parsing import nearest
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import LaunchRequest, NamedCase
from commwall.schema.units import significant, time_text
from commwall.schema.workload import Workload


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("campaign", help="name of a file in config/campaigns/")
    parser.add_argument("--within", type=seconds, metavar="SECONDS", required=True,
                        help="time for the whole search")  # fmt: skip
    parser.add_argument("--case", help="which of its workloads; may be left out if it has one")
    parser.add_argument("--platform", help="which of its platforms; default: the last one")
    parser.add_argument("--price", choices=PRICE_LEVELS, default="rounding",
                        help="what may be lost: none of the arithmetic, rounding of gradients to "
                        "16 bit (the default), or any loss")  # fmt: skip
    parser.add_argument("--variables", action="store_true",
                        help="try the NCCL variables of config/tuning.yaml, too")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("results/tuned"),
                        help="folder of the two files, default: %(default)s")  # fmt: skip
    accept_parent(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search, write the winner and its evidence, and name them."""
    return until_stopped(arguments, _tune, "nothing is written")


def _tune(arguments: argparse.Namespace) -> int:
    root, machine = Path(), probe_machine()
    _require_torch()
    (campaign,) = load_campaigns(root, [arguments.campaign])
    name, workload = _workload(campaign, arguments.case)
    platform = _platform(campaign, machine, arguments.platform)
    settings = read_settings(root).settings if arguments.variables else {}
    place = Place(platform, machine.facts.numa_nodes, installed_nccl())
    choice = choose(workload, place, arguments.price, settings, read_variables(root))
    for line in choice.left_out:
        print(f"not tried  {line}")
    layout, confidence = Layout(root), resolved_config(root).confidence
    prices = _prices(layout, campaign_id(campaign, machine.facts.fingerprint), confidence)
    gpus = tuple(g.uuid_digest for g in machine.facts.gpus[: platform.per_node])
    gpus = gpus if platform.device == "cuda" else ()
    with device_locks(gpus or ("cpu",)) as locks:
        held = tuple(lock.descriptor for lock in locks)
        tuner = _tuner(root, machine, workload, platform, held, gpus, prices)
        found = tuner.tune(choice, arguments.within)
    paths = write_found(found, arguments.out, f"{campaign.name}-{name}-{platform.name}")
    _print(found, paths)
    return 0


def _require_torch() -> None:
    """Raise ConfigError where this interpreter cannot measure."""
    if find_spec("torch") is None:
        raise ConfigError(
            "this Python cannot measure",
            where=sys.executable,
            found="no torch",
            next_step="run it with .envs/bench/bin/python -m commwall; `commwall provision bench` "
            "makes that environment",
        )


def _workload(campaign: Campaign, asked: str | None) -> tuple[str, StepCase]:
    """Name and workload of a case, with a mitigation that does not matter.

    Raises:
        ConfigError: if the campaign has no such case, or several workloads and none is named.
    """
    own = {name: case for name, case in campaign.cases.items() if isinstance(case, Workload)}
    kinds = {str(case.identity): name for name, case in reversed(own.items())}
    name = asked or (next(iter(kinds.values())) if len(kinds) == 1 else "")
    if name not in own:
        near = nearest(name, sorted(own))
        raise ConfigError(
            f"campaign {campaign.name} has no such workload" if asked else "which workload?",
            where="--case",
            found=repr(asked) if asked else f"{len(kinds)} workloads",
            expected=f"{near!r}?" if near else f"one of: {', '.join(sorted(own))}",
        )
    kept = own[name].model_dump(include=set(Workload.model_fields))
    return name, StepCase(mitigation=FILLER, **kept)


def _platform(campaign: Campaign, machine: Machine, asked: str | None) -> PlannedPlatform:
    """A platform that this machine has.

    Raises:
        ConfigError: if it has none of that name with two processes.
    """
    platforms = fit(campaign, machine.facts).platforms
    usable = {name: own for name, own in platforms.items() if own.world_size > 1}
    name = asked or next(reversed(usable), "")
    if name in usable:
        return usable[name]
    raise ConfigError(
        f"campaign {campaign.name} has no such platform on this machine",
        where="--platform",
        found=asked or "none",
        expected=f"one of: {', '.join(usable) or 'none with two processes'}",
    )


def _tuner(
    root: Path,
    machine: Machine,
    workload: StepCase,
    platform: PlannedPlatform,
    held: tuple[int, ...],
    gpus: tuple[str, ...],
    prices: PriceList,
) -> Tuner:
    config, layout = resolved_config(root), Layout(root)

    def request(
        where: PlannedPlatform, cases: tuple[NamedCase, ...], folder: Path
    ) -> LaunchRequest:
        return LaunchRequest(
            campaign="tune",
            platform=where,
            suite="mitigations",
            round=1,
            round_id="tune",
            cases=cases,
            output_dir=str(folder),
            cache_dir=str(layout.kernels_dir().resolve()),
            threads_per_rank=max(1, machine.facts.cpu_count // where.per_node),
            collective_timeout_s=config.timeouts.collective_s,
        )

    def launch(name: str) -> Launch:
        return Launch(
            folder=root / ".cw/launch/tune" / name,
            log=root / "logs/tune" / f"{os.getpid()}-{name}.log",
            timeouts=config.timeouts,
            inherited=held,
            gpus=gpus,
        )

    def price(mitigation: Mitigation) -> str:
        return _price_text(prices.of(mitigation))

    return Tuner(workload, platform, request, launch, lambda line: print(line, flush=True), price)


def _prices(layout: Layout, campaign: str, confidence: float) -> PriceList:
    """What the campaign's records on this machine say of prices."""
    try:
        analysis = analyse_campaign(layout, campaign, confidence)
    except CommwallError as error:
        print(f"no prices  {error.what}; `commwall index {campaign}` follows a measurement")
        return PriceList((), confidence=confidence, seed=0)
    return PriceList(analysis.cells, confidence=confidence, seed=analysis.seed)


def _price_text(price: Price | None) -> str:
    """What a mitigation costs, in words."""
    if price is None:
        return "not priced"
    around = price.interval
    ends = f"{around.low:+.3f} to {around.high:+.3f}, " if around else ""
    seeds = len(price.differences_nat)
    return f"{price.mean_nat:+.3f} nat ({ends}{seeds} seeds, {price.verdict})"


def _print(found: Found, paths: tuple[Path, Path]) -> None:
    told = found.evidence
    if told.best is None or told.gain is None:
        print("nothing was faster than the plain step")
    else:
        seen = (
            "measured once more alone" if told.confirmed else "not measured once more: flattering"
        )
        print(f"best      {told.best.words}: {significant(told.gain, 3)} times as fast, {seen}")
        print(f"price     {told.best.price}")
    for each in told.candidates:
        print(f"tried     {each.words}; price {each.price}")
    print(f"took      {time_text(told.took_s)} of {time_text(told.within_s)}")
    print(f"source    {paths[0]}")
    print(f"evidence  {paths[1]}")

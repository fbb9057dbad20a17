"""Links that a model may be asked about: what they are called, their rate and latency.

Layer: analysis. Reads no file. A rate is what a ring reaches in one direction. It is published
where somebody measured this GPU, else assumed: the nominal rate times the shares that other GPUs
reach on a link of this kind. Published rates are those of large messages; where rates over sizes
are on file, the low end is what is left of them at the size of DDP's buckets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from commwall.analysis.whatif.assumptions import Facts
from commwall.judge.facts import LANES
from commwall.model.estimates import Estimate
from commwall.model.links import Link
from commwall.model.scale import BUCKET_BYTES
from commwall.schema.achieved import Achieved, LinkPath
from commwall.schema.errors import ConfigError, UnitError
from commwall.schema.facts import Figure
from commwall.schema.quantities import unit_of
from commwall.schema.units import rate_text, size_text

End = Literal["slow", "fast"]
NVLINK_PATHS: frozenset[LinkPath] = frozenset({"nvswitch", "nvlink_mesh", "nvlink_bridge"})
PCIE_PATHS: frozenset[LinkPath] = frozenset({"pcie"})
PATH_OF_REACH: dict[str, LinkPath] = {
    "switch": "nvswitch", "direct": "nvlink_mesh", "bridge": "nvlink_bridge",
}  # fmt: skip
"""What NVLink joins, as `gpu-links.yaml` names it -> the path of such rates."""
NETWORKS = {"hdr": 200, "ndr": 400, "xdr": 800}
"""Generation of InfiniBand -> Gbit/s of a port, as it is sold."""
NETWORK_FORMS = "ib400, roce400, ndr, or a rate such as 25GB/s"
FORMS = f"nvlink, nvlink4, pcie, pcie5, {NETWORK_FORMS}"
FASTEST = 1e15
"""Chosen: a rate that no link has, a thousand times that of NVLink [byte/s]."""


@dataclass(frozen=True)
class Offer:
    """A link that is asked about."""

    name: str
    """For readers."""
    bytes_per_s: Estimate
    latency_s: Estimate
    joins: int | None = None
    """GPUs that it joins at most; None is any number."""
    switch_share: float = 0.0
    """See `commwall.model.links.Link`."""
    overlap: Estimate | None = None
    """Share of what could be hidden that is over this link; None where nobody measured it."""
    measured_ranks: int | None = None
    """GPUs among which a campaign measured it; None where none did."""

    def among(self, ranks: int) -> "Offer":
        """A measured link in a ring of another number of GPUs: modelled, not measured."""
        if ranks < 2 or self.measured_ranks in (None, ranks):
            return self
        words = f"from {self.measured_ranks} GPUs to rings of {ranks}: "

        def carried(told: Estimate) -> Estimate:
            return replace(told, origin="modelled", basis=words + told.basis)

        return replace(
            self,
            bytes_per_s=carried(self.bytes_per_s),
            latency_s=carried(self.latency_s),
            overlap=carried(self.overlap) if self.overlap else None,
        )

    def at(self, end: End) -> Link:
        """The link at its slow or its fast end."""
        if end == "slow":
            return Link(self.latency_s.high, self.bytes_per_s.low, self.switch_share)
        return Link(self.latency_s.low, self.bytes_per_s.high, self.switch_share)


def offer(word: str, kind: str, facts: Facts, measured: Mapping[str, Offer]) -> Offer:
    """The link that a word means.

    Args:
        word: one of `FORMS`, or a platform of a campaign.
        kind: key of the GPU.
        facts: on file.
        measured: platform -> its link as a campaign measured it.

    Raises:
        ConfigError: if there is no such link, or the GPU has none.
    """
    if word in measured:
        return measured[word]
    found = re.fullmatch(r"(nvlink|pcie)(\d*)", word.lower())
    if not found:
        return _network(word, facts, "--link", ", ".join([FORMS, *measured]))
    generation = int(found[2]) if found[2] else None
    return (_nvlink if found[1] == "nvlink" else _pcie)(kind, generation, facts)


def network(word: str, facts: Facts) -> Offer:
    """The link between nodes that a word means.

    Raises:
        ConfigError: if there is no such network; NVLink and PCIe end at the node.
    """
    return _network(word, facts, "--network", NETWORK_FORMS)


def _network(word: str, facts: Facts, where: str, expected: str) -> Offer:
    found = re.fullmatch(r"(?:ib|roce)(\d*)|(hdr|ndr|xdr)", word.lower())
    if not found:
        return _of_rate(word, facts, where, expected)
    return _port(word, int(found[1] or 0) or NETWORKS.get(found[2] or ""), facts, where)


def _nvlink(kind: str, generation: int | None, facts: Facts) -> Offer:
    gpu, peaks = facts.links.gpus.get(kind), facts.gpus.root[kind]
    own = peaks.nvlink_generation
    if not gpu or not own or not gpu.nvlink_bytes_per_s or not peaks.nvlink_domain:
        raise _no_link(kind, "nvlink", "no NVLink of it is on file", "pcie")
    if generation not in (None, own.value):
        raise _no_link(
            kind, f"nvlink{generation}", f"its NVLink is of generation {own.value}", "nvlink"
        )
    rate = gpu.nvlink_bytes_per_s
    share = facts.modelling.switch_share.get(own.value) if gpu.reach == "switch" else None
    return Offer(
        name=f"NVLink {own.value}",
        bytes_per_s=_achieved(kind, NVLINK_PATHS, rate.value, facts),
        latency_s=_latency(facts.modelling.nvlink_latency),
        joins=peaks.nvlink_domain.value,
        switch_share=share.value if share else 0.0,
    )


def _pcie(kind: str, generation: int | None, facts: Facts) -> Offer:
    gpu = facts.links.gpus.get(kind)
    own = gpu.pcie_generation if gpu else None
    wanted = generation or (own.value if own else None)
    lane = facts.links.links.pcie.get(wanted) if wanted else None
    if not wanted or not lane:
        raise _no_link(kind, f"pcie{generation or ''}", "no such rate is on file", "pcie4")
    if own and wanted > own.value:
        raise _no_link(kind, f"pcie{wanted}", f"it speaks generation {own.value} at most", "pcie")
    measured_kind = kind if own and wanted == own.value else None
    rate = _achieved(measured_kind, PCIE_PATHS, lane.value * LANES, facts)
    name, latency = f"PCIe {wanted}.0 x{LANES}", _latency(facts.modelling.pcie_latency)
    if gpu and gpu.peer_access is False:
        return Offer(f"host-staged {name}", _staged(rate), _staged(latency))
    return Offer(name, rate, latency)


def _staged(told: Estimate) -> Estimate:
    """What is known of PCIe, for GPUs that cannot use it between each other."""
    words = (
        "the maker's driver keeps such GPUs from each other's memory, so that traffic is staged "
    )
    return replace(told, basis=f"{words}through host memory, which may be slower; {told.basis}")


def _port(word: str, rate: int | None, facts: Facts, where: str) -> Offer:
    port = facts.links.links.infiniband.get(rate) if rate else None
    if not port:
        known = ", ".join(f"ib{each}" for each in facts.links.links.infiniband)
        raise ConfigError(
            "no such network",
            where=where,
            found=word,
            expected=known,
            next_step="or give the rate of a port in one direction: 50GB/s, say",
        )
    share = facts.modelling.network_share
    most = share.most or share.value
    family = "RoCE" if word.lower().startswith("roce") else "InfiniBand"
    ends = f"{share.value:g} to {most:g}"
    words = f"{rate_text(port.value)} nominal in one direction x {ends}, {share.source}"
    return Offer(
        name=f"{family} {rate} Gbit/s",
        bytes_per_s=Estimate(port.value * share.value, port.value * most, "assumed", words),
        latency_s=_latency(facts.modelling.network_latency),
    )


def _of_rate(word: str, facts: Facts, where: str, expected: str) -> Offer:
    """A rate as somebody gives it, in one direction."""
    found = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*([A-Za-z]+/s)", word)
    if not found:
        raise ConfigError("no such link", where=where, found=word, expected=expected)
    try:
        value, unit = float(found[1]), unit_of(found[2])
    except (ValueError, UnitError) as error:
        raise ConfigError("no such link", where=where, found=word, expected=expected) from error
    rate = value * unit.value
    if unit.dimension != unit_of("byte/s").dimension or not 0 < rate < FASTEST:
        raise ConfigError(
            "no rate of a link", where=where, found=word,
            expected=f"bytes a second, below {rate_text(FASTEST)}", next_step="25GB/s, say",
        )  # fmt: skip
    given = Estimate(rate, rate, "given", "as asked for, in one direction, whatever carries it")
    return Offer(f"a link of {rate_text(rate)}", given, _latency(facts.modelling.pcie_latency))


def _achieved(
    kind: str | None, paths: frozenset[LinkPath], nominal: float, facts: Facts
) -> Estimate:
    """What rings reach of a link: this GPU's published rates, else shares of others'."""
    sums = [e for e in facts.links.achieved.root.values() if e.path in paths and _sums(e)]
    rings = [each for each in sums if each.algorithm != "nvls"]
    own = _of_large([each for each in rings if kind in each.gpus], facts)
    if own:
        return _published(own, kind or "", _in_buckets(sums, kind, facts))
    # More than the nominal rate is no ring's doing, whatever a source leaves untold.
    alike = _joined_alike(rings, kind, facts) or rings
    shares = [share for each in alike for share in _shares(each, paths, facts) if share <= 1]
    if not shares:
        return Estimate(nominal, nominal, "nominal", f"{rate_text(nominal)} in one direction")
    left, told = _in_buckets(sums, kind, facts)
    low, high = left * min(shares), max(shares)
    words = (
        f"{rate_text(nominal)} nominal in one direction x {low:.2f} to {high:.2f}, the shares that "
        f"other GPUs' published rates have of such links{told}"
    )
    return Estimate(nominal * low, nominal * high, "assumed", words)


def _of_large(rows: Sequence[Achieved], facts: Facts) -> Sequence[Achieved]:
    """Those timed with messages from which on rates hardly grow; all of them if none was."""
    least = facts.links.thresholds.saturating_message_bytes.value
    return [each for each in rows if max(each.busbw_bytes_per_s) >= least] or rows


def _published(own: Sequence[Achieved], kind: str, buckets: tuple[float, str]) -> Estimate:
    left, told = buckets
    ends = [end for each in own for end in (each.largest, each.most_bytes_per_s or each.largest)]
    sources = "; ".join(dict.fromkeys(each.source for each in own))
    ranks = ", ".join(map(str, sorted({number for each in own for number in each.ranks})))
    words = f"all-reduce by rings of large messages among {ranks} {kind}{told}, {sources}"
    return Estimate(left * min(ends), max(ends), "published", words)


def _in_buckets(sums: Sequence[Achieved], kind: str | None, facts: Facts) -> tuple[float, str]:
    """Least share of its rate that an all-reduce has in DDP's buckets, and how that is known.

    By rates over sizes of this GPU, else of all that are joined alike; whatever the algorithm, for
    at such sizes NCCL takes the fastest. Without any, latency alone tells buckets from large
    messages.
    """
    alike = _joined_alike(sums, kind, facts)
    rows = [each for each in alike if kind in each.gpus and each.reached(BUCKET_BYTES)] or [
        each for each in alike if each.reached(BUCKET_BYTES)
    ]
    shares = [(each.reached(BUCKET_BYTES) or 0.0) / each.largest for each in rows]
    if not shares or min(shares) >= 1:
        return 1.0, ""
    least, row = min(zip(shares, rows, strict=True), key=lambda pair: pair[0])
    return (
        least,
        f"; low end x {least:.2f} for buckets of {size_text(BUCKET_BYTES)}, {row.condition}",
    )


def _joined_alike(rows: Sequence[Achieved], kind: str | None, facts: Facts) -> Sequence[Achieved]:
    """Those of GPUs that NVLink joins in the same way; none for a GPU without it."""
    gpu = facts.links.gpus.get(kind or "")
    return [each for each in rows if gpu and each.path == PATH_OF_REACH.get(gpu.reach)]


def _sums(each: Achieved) -> bool:
    return each.collective == "all_reduce"


def _shares(each: Achieved, paths: frozenset[LinkPath], facts: Facts) -> Iterator[float]:
    """Published rate over nominal rate, of each GPU that it holds for and whose link is on file."""
    for kind in each.gpus:
        gpu = facts.links.gpus.get(kind)
        slot = facts.links.slot_of(gpu)
        nvlink = gpu.nvlink_bytes_per_s.value if gpu and gpu.nvlink_bytes_per_s else None
        nominal = nvlink if paths is NVLINK_PATHS else slot.bytes_per_s if slot else None
        if nominal:
            yield each.largest / nominal


def _latency(figure: Figure) -> Estimate:
    words = f"a step of {figure.condition}, {figure.source}"
    return Estimate(figure.value, figure.most or figure.value, "published", words)


def _no_link(kind: str, word: str, why: str, instead: str) -> ConfigError:
    return ConfigError(
        f"{kind} has no such link",
        where="--link",
        found=f"{word}: {why}",
        expected=FORMS,
        next_step=f"ask for {instead}, or for a rate",
    )

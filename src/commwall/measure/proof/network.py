"""Whether traffic between nodes took the way that its platform claims: by NCCL's log alone.

Layer: measure. Reads and writes no file. Counters of one machine do not tell what passes between
several. NCCL names the network of each hop, and at its start the kind of each card's link
(`mlx5_0:1/IB`, `mlx5_1:1/RoCE`); behind a hop stands GDRDMA where the card reads and writes the
GPU's memory itself.

Source: NVIDIA NCCL 2.28, src/transport/net.cc ("via NET/"), src/transport/net_ib.cc ("Using").
"""

from collections.abc import Sequence

from commwall.measure.proof.nccl_log import Logged
from commwall.measure.proof.path import WHAT
from commwall.readers.nccl_paths import RankTransport
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import Check, Gap
from commwall.schema.treatment import LinkPath

_NETWORKS: dict[LinkPath, str] = {"socket": "Socket", "ib": "IB", "roce": "IB"}
"""How NCCL calls the network of a way; cards of both kinds are driven by the same code."""
_CARDS: dict[LinkPath, str] = {"ib": "IB", "roce": "RoCE"}
"""How NCCL calls the link of a card."""


def network_finding(platform: PlannedPlatform, logged: Logged) -> Check | Gap | None:
    """Whether every hop between nodes took the claimed way; None where none is claimed.

    Args:
        platform: on several nodes.
        logged: NCCL's log of the launch.

    Returns:
        A check, passed or not, which also says how many hops have GPUDirect RDMA, or a gap where
        the log does not tell.
    """
    path = platform.path
    if path is None:
        return None
    hops = crossing(platform, logged)
    everywhere, size = set(range(platform.nodes)), platform.per_node
    if not {hop.src // size for hop in hops} == {hop.dst // size for hop in hops} == everywhere:
        seen = "NCCL's log does not tell how every node sends and receives"
        return Gap(what=WHAT, reason=f"{path} is not proven: {seen if hops else logged.reason}")
    named = all((hop.transport, hop.detail) == ("NET", _NETWORKS[path]) for hop in hops)
    wanted, cards = _CARDS.get(path), _cards(hops, logged)
    if wanted and named and None in cards:
        unknown = "NCCL's log does not tell the kind of every card"
        return Gap(what=WHAT, reason=f"{path} is not proven: {unknown}")
    return Check(
        name=WHAT,
        passed=named and (wanted is None or cards == {wanted}),
        found=f"between nodes NCCL's log says {_words(hops, cards)}",
        expected=f"every hop between nodes by NET/{_NETWORKS[path]}"
        + (f" on cards of kind {wanted}" if wanted else ""),
    )


def crossing(platform: PlannedPlatform, logged: Logged) -> tuple[RankTransport, ...]:
    """Hops whose ends lie on different nodes; ranks are numbered node by node."""
    hops = (logged.ways.transports if logged.ways else None) or ()
    size = platform.per_node
    return tuple(hop for hop in hops if hop.src // size != hop.dst // size)


def _cards(hops: Sequence[RankTransport], logged: Logged) -> set[str | None]:
    """Kinds of the cards that the hops use; None stands for one that is not told."""
    kinds = (logged.ways.cards if logged.ways else None) or {}
    return {kinds.get(str(hop.dev)) for hop in hops if hop.transport == "NET"}


def _words(hops: Sequence[RankTransport], cards: set[str | None]) -> str:
    ways = ", ".join(sorted({f"{hop.transport}/{hop.detail or '?'}" for hop in hops}))
    kinds = ", ".join(sorted(card for card in cards if card))
    on_cards = f" on cards of kind {kinds}" if kinds else ""
    direct = sum(hop.gdr is True for hop in hops)
    return f"{ways}{on_cards}, with GPUDirect RDMA on {direct} of {len(hops)} hops"

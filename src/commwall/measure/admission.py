"""May this machine and this environment measure this plan?

Layer: measure. Reads `envs/bench.lock`; writes nothing.
"""

from pathlib import Path

from commwall.host.environments import Manifest
from commwall.host.lockfiles import lock_digest, lock_path, read_lock
from commwall.host.machine import Machine
from commwall.host.software import packages_digest, this_interpreter
from commwall.schema.plan import Plan

REMAKE = "make it anew with: commwall provision bench"


def refusal(root: Path, plan: Plan, machine: Machine, manifest: Manifest | None) -> str | None:
    """Why nothing may be measured; None if it may.

    Args:
        root: the checkout.
        plan: the campaign's plan.
        machine: this machine.
        manifest: of the environment that measures, None where it is not made.

    Raises:
        ProvisionError: if envs/bench.lock is absent.
    """
    if machine.facts.fingerprint != plan.fingerprint:
        return _foreign(plan, machine)
    if manifest is None:
        return "the environment bench is not made yet; run: commwall provision bench"
    if packages_digest(this_interpreter().packages) != manifest.packages_digest:
        return (
            "the packages of this interpreter are not those of .envs/bench/manifest.json; "
            f"measure with .envs/bench/bin/python, or {REMAKE}"
        )
    locked = lock_digest(read_lock(lock_path(root, "bench")))
    if manifest.mode == "installed" and manifest.lock_digest != locked:
        return f"envs/bench.lock has changed since the environment bench was made; {REMAKE}"
    return None


def _foreign(plan: Plan, machine: Machine) -> str:
    unread = "; ".join(f"{gap.what}: {gap.reason}" for gap in machine.gaps)
    return (
        f"campaign {plan.id} belongs to another kind of machine: {plan.machine}. "
        f"This one is {machine.words}"
        + (f" (not read here: {unread})" if unread else "")
        + ". Its records are evidence to read; a campaign of this machine has an id of its own "
        "(commwall plan auto)."
    )

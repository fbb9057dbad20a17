"""`commwall probe`: what this machine is, as JSON on one line.

Layer: cli. Reads /proc, /sys and NVML; writes nothing. Run on a node, its output is the file that
`slurm.node` in config/config.yaml names.
"""

import argparse

from commwall.host.machine import probe_machine


def configure(parser: argparse.ArgumentParser) -> None:
    """It takes no argument."""


def run(arguments: argparse.Namespace) -> int:
    """Print the machine."""
    print(probe_machine().model_dump_json())
    return 0

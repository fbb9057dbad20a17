"""`commwall predict CAMPAIGN`: fix what a measured campaign predicts, and close it.

Layer: cli. Writes `results/<campaign>/predictions.json`; see `commwall.records.predictions`.
"""

import argparse
from pathlib import Path

from commwall.analysis.replication.predicting import predict
from commwall.analysis.result import analyse
from commwall.cli.settings import confidence_level
from commwall.records.evidence import look_at
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.records.predictions import write_predictions


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("campaign", help="identifier, a folder in results/")


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions and say how many there are."""
    root = Path()
    layout = Layout(root)
    evidence = look_at(layout, arguments.campaign)
    predictions = predict(analyse(evidence, confidence_level(root), read_hardware(root)))
    path = write_predictions(layout, predictions)
    ratios = sum(item.cell.b is not None for item in predictions.predicted)
    values = len(predictions.predicted) - ratios
    print(f"{path}: {ratios} ratios and {values} values, from {len(predictions.records)} records")
    for item in predictions.absent:
        sides = " / ".join(side for side in (item.cell.a, item.cell.b) if side)
        print(f"  none of {item.cell.case}, {item.cell.metric}, {sides}: {item.reason}")
    print("The campaign is closed: its records are neither measured again nor added to.")
    return 0

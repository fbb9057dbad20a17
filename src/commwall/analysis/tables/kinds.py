"""Types of columns, and columns that several tables share.

Layer: analysis. Reads and writes no file.
"""

TEXT, COUNT, NUMBER, TRUTH = "string", "Int64", "float64", "boolean"

PLATFORM = {
    "campaign": TEXT,
    "platform": TEXT,
    "label": TEXT,
    "emulated": TRUTH,
    "suite": TEXT,
    "case": TEXT,
}
SIDES = {
    "campaign": TEXT,
    "faster": TEXT,
    "slower": TEXT,
    "label_faster": TEXT,
    "label_slower": TEXT,
    "emulated": TRUTH,
}
"""Two links that differ, by which one exchanges faster."""
PAIR = {
    "campaign": TEXT,
    "suite": TEXT,
    "case": TEXT,
    "a": TEXT,
    "b": TEXT,
    "label_a": TEXT,
    "label_b": TEXT,
    "control": TRUTH,
    "emulated": TRUTH,
}
ROUND = {"round": COUNT, "round_id": TEXT}
QUANTITY = {"metric": TEXT, "leg": TEXT, "unit": TEXT}
RATIO = {
    "n": COUNT,
    "confidence": NUMBER,
    "method": TEXT,
    "ratio": NUMBER,
    "ratio_low": NUMBER,
    "ratio_high": NUMBER,
    "ratio_median": NUMBER,
    "ratio_min": NUMBER,
    "ratio_max": NUMBER,
    "rounds_needed": COUNT,
}

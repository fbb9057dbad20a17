"""From what a user asks for to a frozen plan of this machine.

Layer: measure. `configuration` reads the files (with `sweeps` and `problems`), `fitting` takes
what the machine allows, `freezing` makes the plan; `replicating` writes a file that asks for a
published campaign again.
"""

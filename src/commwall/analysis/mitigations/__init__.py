"""What mitigations do: their effects, forecasts, prices, and the table of them.

Layer: analysis. Reads and writes no file.
"""

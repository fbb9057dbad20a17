"""What has changed from one campaign to another.

Layer: analysis.
"""

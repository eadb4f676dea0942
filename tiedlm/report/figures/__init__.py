"""From a comparison to the figures and sentences that people read."""

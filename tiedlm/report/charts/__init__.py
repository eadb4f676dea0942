"""From a comparison to charts."""

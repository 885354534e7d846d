"""Make PyTorch training reproducible."""

__version__ = "0.1.0.dev0"

"""One module a framework; each imports its framework at its top, and nothing imports it."""

"""Scripts, faults for them, and the runs that show the faults."""

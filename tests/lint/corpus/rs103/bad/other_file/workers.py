import numpy


def same_everywhere(_):
    numpy.random.seed(OPTIONS.seed)  # expect: RS103


class OPTIONS:
    seed = 3

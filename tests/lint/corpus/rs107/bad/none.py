from numpy.random import RandomState


def noise(shape):
    return RandomState(None).normal(size=shape)  # expect: RS107

import random


def shuffle_batches(batches):
    random.SystemRandom().shuffle(batches)  # expect: RS107
    return batches

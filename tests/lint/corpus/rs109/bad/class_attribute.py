import random


class MaskTokens:
    chooser = random.Random(7)  # expect: RS109

    def __call__(self, tokens):
        return [t if self.chooser.random() > 0.15 else 0 for t in tokens]

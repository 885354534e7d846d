from random import Random

from torchvision import transforms


class RandomPatch:
    def __init__(self, size):
        self.size = size
        self.random = Random()  # expect: RS107

    def __call__(self, image):
        return transforms.functional.crop(image, self.random.randint(0, 9), 0, self.size, self.size)

import os

from PIL import Image
from torch.utils.data import Dataset


class Faces(Dataset):
    def __init__(self, root):
        self.root = root
        self.names = os.listdir(root)  # expect: RS206

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return Image.open(os.path.join(self.root, self.names[index]))

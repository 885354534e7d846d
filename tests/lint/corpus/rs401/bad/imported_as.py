import torch.backends.cudnn as cudnn


class Trainer:
    def __init__(self):
        cudnn.benchmark = cudnn.enabled = True  # expect: RS401

from torch.backends import cudnn

with cudnn.flags(benchmark=True):  # expect: RS404
    print("inside")

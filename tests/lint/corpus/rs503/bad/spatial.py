from torch.nn import functional, Module


class Encoder(Module):
    def forward(self, x):
        return functional.dropout2d(functional.relu(self.conv(x)), 0.2)  # expect: RS503

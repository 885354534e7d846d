import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def forward(self, x, q, k, v):
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(x, p=0.1, training=self.training)
        if self.training:
            x = F.dropout2d(x)
        p = 0.1 if self.training else 0.0
        return x + F.scaled_dot_product_attention(q, k, v, dropout_p=p)

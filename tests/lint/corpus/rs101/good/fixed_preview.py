import torch


@torch.no_grad()
def preview(generator_net, size=16):
    """Always the same latent vectors, so that pictures of two epochs compare."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1234)
        latent = torch.randn(size, 128)
    return generator_net(latent)


def preview_by_hand(generator_net, size=16):
    state = torch.get_rng_state()
    torch.manual_seed(1234)
    latent = torch.randn(size, 128)
    torch.set_rng_state(state)
    return generator_net(latent)

import gymnasium as gym
import numpy as np
import torch


def main(seed=0, episodes=100):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env = gym.make("CartPole-v1")
    policy = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(episodes):
        state, _ = env.reset(seed=int(rng.integers(2**31)))
        log_probs, rewards, done = [], [], False
        while not done:
            choice = torch.distributions.Categorical(logits=policy(torch.as_tensor(state)))
            action = choice.sample()
            log_probs.append(choice.log_prob(action))
            state, reward, terminated, truncated, _ = env.step(action.item())
            rewards.append(reward)
            done = terminated or truncated
        optimizer.zero_grad()
        (-torch.stack(log_probs).sum() * sum(rewards)).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

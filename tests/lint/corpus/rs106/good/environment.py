import gymnasium as gym

env = gym.make("CartPole-v1")
env.action_space.seed(3)
env.seed()

"""The federated pipelines on torch, their data and models, and what they measure; they come with their issue."""

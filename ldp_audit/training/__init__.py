"""The papers' federated pipelines on torch, their data and models, and what they measure beside accuracy."""

"""The papers' federated pipelines on torch, with their data, models and measurements."""

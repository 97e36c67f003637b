"""Which inputs to try, and which event of the outputs to count: chosen on samples that no bound uses."""

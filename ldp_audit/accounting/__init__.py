"""What a mechanism or a protocol spends.

So far: exact laws of finite experiments, the summary of one mechanism, trade-off curves. Privacy-loss distributions
come with the accounting issue.
"""

"""What a mechanism or a protocol spends.

So far: exact laws of finite experiments (`finite_laws.py`). Privacy-loss distributions come with the accounting issue.
"""

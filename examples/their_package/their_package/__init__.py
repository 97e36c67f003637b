"""A mechanism, a protocol and a paper of somebody else's."""

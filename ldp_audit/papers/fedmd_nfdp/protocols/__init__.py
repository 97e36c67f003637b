"""The paper's protocols, as files for `ldp-audit account`."""

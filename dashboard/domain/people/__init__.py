"""People: recipients and their hours, addresses and their verification, keys and the audit log."""

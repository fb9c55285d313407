"""People: recipients and their hours, verified addresses, roles, keys and the audit log."""

"""Who may call the APIs, and the audit log of what people did."""

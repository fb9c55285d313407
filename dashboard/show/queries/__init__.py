"""What pages may ask: one file per page, and the values they share."""

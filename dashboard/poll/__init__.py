"""Ask upstream on a cadence that spends calls where news is likely."""

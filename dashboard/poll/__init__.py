"""Poll upstream, more often where a new answer is likely, and record the answers."""

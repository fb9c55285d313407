"""One file per page: the questions that only this page asks of the store."""

"""The management API: what pages show and do, for programs that present a token."""

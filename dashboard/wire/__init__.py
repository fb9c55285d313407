"""The contracts: pure codecs for what both ends of the two APIs and a node say on the wire."""

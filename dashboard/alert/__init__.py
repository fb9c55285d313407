"""Tell the people who asked, and lose nothing that is owed to them."""

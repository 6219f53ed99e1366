"""What publishers say of their extracts: codebooks in their several forms, and the domains made from them."""

"""CONFIDENTIAL. A first draft of a domain, taken from the rows, for a curator to correct. No release may call this."""

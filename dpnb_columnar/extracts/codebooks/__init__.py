"""Codebooks of publishers in their several forms, and the domains made from them."""

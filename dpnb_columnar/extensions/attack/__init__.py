"""Attacks on a released model: who was a member, and what members' values are."""

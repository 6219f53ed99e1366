"""Releases as planned: what the rows are asked, pass by pass, and what is made of what was drawn."""

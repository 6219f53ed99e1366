"""THE BOUNDARY between the private and the public side: statistics in, a released model out."""

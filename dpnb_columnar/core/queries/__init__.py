"""What the rows are asked, and exact answers: all of them confidential."""

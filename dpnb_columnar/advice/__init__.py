"""Which mechanism to choose, by a rehearsal on made-up rows: a function of the domain, the budget and a public number
of rows. It knows no row and no file."""

"""What is believed: budgets, noise, sensitivities, queries, and the mechanisms that draw."""

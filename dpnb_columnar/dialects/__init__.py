"""The domain's rules and a model's score as SQL for any database: built once as a tree, written in each dialect."""

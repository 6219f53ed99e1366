"""How a row is read: types of columns, row rules, Parquet files, frames and databases."""

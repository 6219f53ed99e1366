-- The rows to score.
select * from read_parquet('{{ env_var("CENSUS_FOLDER", "/srv/census") }}/new.parquet')

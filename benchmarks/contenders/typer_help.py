"""The help of a program of one command that imports typer and nothing else, with the settings of ``dpnb-columnar``.

Usage: python -m benchmarks.contenders.typer_help --help
"""

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def command(name: str) -> None:
    """Say hello."""
    typer.echo(f"hello {name}")


if __name__ == "__main__":
    app()

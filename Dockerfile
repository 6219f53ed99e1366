# The command line in an image, for a user who is not root:
#     docker build --tag dpnb-columnar .
#     docker run --rm --user "$(id -u)" --volume "$PWD:/data" dpnb-columnar train census.parquet --epsilon 1
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE datasets.toml ./
COPY sql ./sql
COPY dpnb_columnar ./dpnb_columnar
RUN pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels /wheels/dpnb_columnar-*.whl \
    && useradd --create-home --uid 10001 curator
USER 10001
WORKDIR /data
ENTRYPOINT ["dpnb-columnar"]
CMD ["--help"]

# The image of Closeknit: `docker build -t closeknit .`
# The base is python:3.13-slim of September 2026 (Python 3.13.15). To take a newer one, write the digest that
# `docker buildx imagetools inspect python:3.13-slim` prints into both lines.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
WORKDIR /source
COPY constraints-build.txt constraints-image.txt pyproject.toml README.md LICENSE ./
COPY src ./src
# Only what is listed with its hash is downloaded; closeknit itself is built here, by what is listed.
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement constraints-build.txt \
 && /opt/build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir wheels .
RUN python -m venv /opt/closeknit \
 && /opt/closeknit/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement constraints-image.txt \
 && /opt/closeknit/bin/pip install --no-cache-dir --no-index --no-deps wheels/*.whl \
 && /opt/closeknit/bin/pip check \
 && /opt/closeknit/bin/pip uninstall --yes pip \
 && /opt/closeknit/bin/python -m closeknit.installation.sbom /opt/closeknit/sbom.json \
 && /opt/closeknit/bin/python -m compileall -q /opt/closeknit/lib

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
COPY --from=build /opt/closeknit /opt/closeknit
# Nothing is written but below /tmp, so the file system can be read-only.
ENV PATH=/opt/closeknit/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
USER 65532:65532
EXPOSE 8081 8443 9443
ENTRYPOINT ["closeknit"]

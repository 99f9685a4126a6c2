# The image of Closeknit: `docker build -t closeknit .`
FROM python:3.13-slim AS build
WORKDIR /source
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/closeknit \
 && /opt/closeknit/bin/pip install --no-cache-dir --constraint constraints.txt '.[claims]' \
 && /opt/closeknit/bin/pip uninstall --yes pip \
 && /opt/closeknit/bin/python -m compileall -q /opt/closeknit/lib

FROM python:3.13-slim
COPY --from=build /opt/closeknit /opt/closeknit
# Nothing is written but below /tmp, so the file system can be read-only.
ENV PATH=/opt/closeknit/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
USER 65532:65532
EXPOSE 8081 8443 9443
ENTRYPOINT ["closeknit"]

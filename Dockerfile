# The service in an image: docker build --tag underfed .
# Agents are installed where training runs, with pip. Pods copy theirs from here: /opt/underfed-agent (docs/clusters.md).

FROM node:22-slim AS page
WORKDIR /source/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY frontend/ ./
# Into ../app/underfed_server/static, as vite.config.ts says.
RUN npm run build

FROM python:3.11-slim AS installed
WORKDIR /source
COPY pyproject.toml constraints.txt hatch_build.py hatch_metadata.py README.md LICENSE CHANGELOG.md ./
COPY agent/ agent/
COPY app/ app/
COPY --from=page /source/app/underfed_server/static/ app/underfed_server/static/
RUN python -m venv /opt/underfed \
 && UNDERFED_SKIP_FRONTEND=1 /opt/underfed/bin/pip install --no-cache-dir --constraint constraints.txt ".[postgresql,parquet]"
# As `pip install --target` lays it. psutil's binary is for the GNU C library and any Python; the agent does without it.
RUN mkdir /opt/underfed-agent && cd /opt/underfed/lib/python3.*/site-packages \
 && cp -R underfed psutil pynvml.py /opt/underfed-agent/

FROM python:3.11-slim
COPY --from=installed /opt/underfed /opt/underfed
COPY --from=installed /opt/underfed-agent /opt/underfed-agent
# A volume that is mounted here for the first time belongs to this user, and is closed to others.
RUN useradd --system --uid 10001 --user-group --create-home --home-dir /var/lib/underfed underfed \
 && chmod 0700 /var/lib/underfed
ENV PATH=/opt/underfed/bin:$PATH UNDERFED_DIR=/var/lib/underfed PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 7077
# Python and not curl: one tool less in the image.
HEALTHCHECK --interval=10s --timeout=8s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:7077/readyz', timeout=7)"]
ENTRYPOINT ["underfed", "serve"]
CMD ["--host", "0.0.0.0", "--log-format", "json"]

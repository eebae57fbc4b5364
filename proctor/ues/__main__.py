"""``python -m proctor.ues``: serve the simulator."""

import argparse

from proctor.ues.server import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="proctor.ues", description="Serve the User Environment Simulator over HTTP.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8100, help="port to listen on; 0 takes a free one")
    parser.add_argument("--single", action="store_true", help="one simulation at the root instead of many")
    parser.add_argument("--public-url", help="the address that callers see, for base_url; by default the Host header's")
    parser.add_argument("--seed", help="with --single: seed of the simulation's ids")
    options = parser.parse_args()
    serve(host=options.host, port=options.port, single=options.single, public_url=options.public_url, seed=options.seed)


if __name__ == "__main__":
    main()

"""A server that is well and knows nobody's key, on the port that is its argument."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class _Keyless(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing more."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), _Keyless)
    print("listening", flush=True)
    server.serve_forever()

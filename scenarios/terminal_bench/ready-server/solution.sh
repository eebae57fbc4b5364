#!/bin/bash
cat > /app/server.py <<'SCRIPT'
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 404)
        self.end_headers()
        if self.path == "/ready":
            self.wfile.write(b"ready")


HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
SCRIPT
nohup python3 /app/server.py > /app/server.log 2>&1 &
for _ in $(seq 100); do curl -sf http://127.0.0.1:8080/ready > /dev/null && exit 0; sleep 0.1; done
exit 1

"""Keeps notes in memory, over HTTP."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOTES = {"rent": b"700", "food": b"245", "books": b"55"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/")
        content = "\n".join(NOTES).encode() if not name else NOTES.get(name)
        self.send_response(200 if content is not None else 404)
        self.end_headers()
        self.wfile.write(content or b"")

    def do_PUT(self):
        NOTES[self.path.strip("/")] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()


ThreadingHTTPServer(("", 8000), Handler).serve_forever()

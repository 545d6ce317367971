"""A server of files on this machine."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class Handler(SimpleHTTPRequestHandler):
    """Serves files without a word; `announce_more` bytes are announced that do not come."""

    announce_more = 0

    def send_header(self, keyword, value):
        if keyword == "Content-Length":
            value = str(int(value) + self.announce_more)
        super().send_header(keyword, value)

    def log_message(self, format, *args):
        pass


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

"""Pictures by HTTP, one request for each sample, from a server that answers after fifteen milliseconds."""

from __future__ import annotations

import multiprocessing
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

CONTENT = bytes(range(256)) * 48


class Pictures(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(0.015)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class RemotePictures(Dataset[Tensor]):
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        with urllib.request.urlopen(f"{self.address}/{index}.bin") as answer:
            return torch.frombuffer(bytearray(answer.read()), dtype=torch.uint8).view(3, 64, 64)


def main() -> None:
    args = parser(__doc__, steps=200, batch_size=8, num_workers=2).parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pictures)
    serving = multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True)
    serving.start()
    port = server.server_port
    server.socket.close()
    loader = DataLoader(RemotePictures(port), args.batch_size, shuffle=True, **worker_settings(args))
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.025)
        if loop.step():
            break
    loop.report()
    serving.terminate()
    serving.join()


if __name__ == "__main__":
    main()

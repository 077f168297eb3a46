"""Serves the model file that is given as an OpenAI-compatible server, and prints its address.

Run in a process of its own: ``python tests/real_model/serve.py MODEL.gguf``.
"""

from __future__ import annotations

import sys
import threading

import xllamacpp


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.model_alias = {"local"}
    parameters.n_ctx = 8192
    parameters.n_parallel = 2
    # More threads wait for each other: on a busy machine that is a hundred times slower.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()

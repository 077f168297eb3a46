"""What every test gets: no network beyond this machine, and no settings from the outside."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings


def _stays_here(family: int, address: Any) -> bool:
    if family == getattr(socket, "AF_UNIX", None):
        return True
    host = address[0] if isinstance(address, tuple) else address
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def network_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection or name look-up beyond loopback raises, in every thread of this process."""

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, address: Any) -> Any:
            if not _stays_here(self.family, address):
                raise AssertionError(f"a test tried to reach {address!r}")
            return method(self, address)

        return call

    look_up = socket.getaddrinfo

    def guarded_look_up(host: Any, *rest: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not _stays_here(socket.AF_INET, name):
            raise AssertionError(f"a test tried to look up {name!r}")
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of whoever runs it; ANABRANCH_DATA only says where data is."""
    for name in os.environ:
        if name.upper().startswith("ANABRANCH_") and name != "ANABRANCH_DATA":
            monkeypatch.delenv(name)


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and home folder of the test's own."""
    home = tmp_path / "home"
    folder = tmp_path / "here"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder)
    return folder


# The same examples in every run, and no clock in a test: a busy machine is not a failure.
hypothesis_settings.register_profile("deterministic", deadline=None, derandomize=True)
hypothesis_settings.load_profile("deterministic")

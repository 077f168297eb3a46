"""What the service logs: one JSON object a line, each with the id of its request."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError
from anabranch.private_files import begin_private
from anabranch.service.request_log import audit_log, current_request

# What every record has; anything else was added as ``extra`` and is a fact to keep.
_USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """A record as a JSON object: ``time``, ``level``, ``logger``, ``message``, and its facts."""

    def format(self, record: logging.LogRecord) -> str:
        info = current_request.get()
        plain: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if info is not None:
            plain["request_id"] = info.id
        plain |= {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info:
            plain["exception"] = self.formatException(record.exc_info)
        return json.dumps(plain, ensure_ascii=False, default=str)


def log_config(*, as_json: bool, audit_file: Path | None) -> dict[str, Any]:
    """The configuration of logging for ``serve``: all of it to standard error.

    The audit log goes to ``audit_file`` instead, if there is one. Raises ConfigurationError where
    that cannot be written: what has to be recorded must not be lost in silence.
    """
    handlers: dict[str, Any] = {
        "stderr": {"class": "logging.StreamHandler", "formatter": "json" if as_json else "text"}
    }
    loggers: dict[str, Any] = {
        "uvicorn": {"level": "INFO"},
        # Says of each tool that failed why: that may be words of a question.
        "mcp": {"level": "WARNING"},
        # Our own line for a request has its id and its caller as well.
        "uvicorn.access": {"level": "WARNING"},
    }
    if audit_file is not None:
        try:
            begin_private(audit_file)
            audit_file.open("a").close()
        except OSError as error:
            raise ConfigurationError(
                f"audit_file = {str(audit_file)!r} cannot be written: {error.strerror}."
            ) from error
        handlers["audit"] = {
            "class": "logging.FileHandler", "formatter": "json", "filename": str(audit_file),
            "encoding": "utf-8",
        }  # fmt: skip
        loggers[audit_log.name] = {"handlers": ["audit"], "level": "INFO", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {"()": "anabranch.service.logs.JsonLines"},
            "text": {"format": "%(levelname)s: %(message)s"},
        },
        "handlers": handlers,
        "loggers": loggers,
        "root": {"handlers": ["stderr"], "level": "INFO"},
    }

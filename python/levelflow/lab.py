"""Server of the lab, a web page that runs the simulator in a browser on this machine.

The page is static and contains the simulator. The server adds predictions of theory, which are computed in Python, and
stored results, which are Parquet files.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import socket
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl

from levelflow._core import ScenarioError
from levelflow.results import Result
from levelflow.scenario import Scenario

PAGE = Path(__file__).with_name("page")
#: Compiled engine of the page, and the hint that names the build command.
ENGINE = PAGE / "engine.wasm"
BUILD = "run `make lab` in a checkout of Levelflow"

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".toml": "text/plain; charset=utf-8",
    ".LICENSE": "text/plain; charset=utf-8",
}
LARGEST_REQUEST = 1_000_000
#: Maximum number of digits in `Content-Length`.
LONGEST_LENGTH = 7
IDLE_S = 10.0
#: Tags in the page that announce the server and its services.
MARK = b'<meta name="levelflow-server" content="theory">'
MARK_STORED = b'<meta name="levelflow-server" content="theory result">'
#: URL path of the stored result, relative to the token.
STORED = "result.json"
MOST_STORED_ROWS = 500_000


class LabError(ValueError):
    """Reason why the lab cannot be served, in one line."""


class Server(ThreadingHTTPServer):
    """HTTP server of the page; the address contains a secret token."""

    daemon_threads = True

    def __init__(self, port: int = 0, page: Path = PAGE, stored: Path | None = None, listen: str = "127.0.0.1") -> None:
        """Binds the port.

        Args:
            port: Port; 0 for any free port.
            page: Folder of the page.
            stored: Result directory to show first.
            listen: IP address of this machine; 0.0.0.0 or :: for all.

        Raises:
            LabError: If the page was not built, address or port are unavailable, or the result cannot be shown.
        """
        try:
            self.listen = ipaddress.ip_address(listen)
        except ValueError:
            raise LabError(f"--listen {listen}: not an IP address; allowed: such as 127.0.0.1, 0.0.0.0 or ::") from None
        missing = [name for name in ("engine.wasm", "main.js") if not (page / name).is_file()]
        if missing:
            raise LabError(f"the lab is not built here, {missing[0]} is missing; {BUILD}")
        self.page = page.resolve()
        self.stored = None if stored is None else json.dumps(read(stored)).encode()
        self.token = secrets.token_urlsafe(24)
        self.predicting = threading.Lock()
        self.address_family = socket.AF_INET6 if self.listen.version == 6 else socket.AF_INET
        try:
            super().__init__((listen, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            option = f"--listen {listen}, --port {port}" if not self.listen.is_loopback else f"--port {port}"
            raise LabError(f"{option}: {reason.lower()}") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores connections that the other end resets. Prints other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def port(self) -> int:
        """Port of the server."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        host = _own_address(self.listen) if self.listen.is_unspecified else str(self.listen)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """Handler of HTTP requests."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "levelflow"
    sys_version = ""
    timeout = IDLE_S
    disable_nagle_algorithm = True  # else a small body waits 40 ms for the delayed ACK of its header

    def do_GET(self) -> None:
        """Sends a file of the page."""
        name = self._inside()
        if name is None:
            return
        if name == STORED and self.server.stored is not None:
            self._send(HTTPStatus.OK, "application/json", self.server.stored)
            return
        path = self.server.page / (name or "index.html")
        kind = TYPES.get(path.suffix)
        try:
            path = path.resolve()
            content = path.read_bytes() if path.is_relative_to(self.server.page) else None
        except (OSError, ValueError):  # path is missing, too long, or has a NUL
            content = None
        if kind is None or content is None:
            self._refuse(HTTPStatus.NOT_FOUND, "no such file")
            return
        if path.name == "index.html":
            mark = MARK if self.server.stored is None else MARK_STORED
            content = content.replace(b"<head>", b"<head>\n" + mark, 1)
        self._send(HTTPStatus.OK, kind, content)

    def do_POST(self) -> None:
        """Sends the predictions of theory for the scenario in the request."""
        name = self._inside()
        if name is None:
            return
        if name != "theory":
            self._refuse(HTTPStatus.NOT_FOUND, "POST requests are accepted only at theory")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the request has no length")
        elif len(length) > LONGEST_LENGTH or int(length) > LARGEST_REQUEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {LARGEST_REQUEST} bytes")
        elif self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request is application/json")
        else:
            body = self.rfile.read(int(length))  # before the lock, so that a slow client does not block others
            with self.server.predicting:
                status, answer = predict(body)
            self._send(status, "application/json", json.dumps(answer).encode())

    def _inside(self) -> str | None:
        """Returns the path below the token; None after the request was rejected."""
        host = self.headers.get("Host", "")
        listen = f"[{self.server.listen}]" if self.server.listen.version == 6 else str(self.server.listen)
        own = {f"{name}:{self.server.port}" for name in ("127.0.0.1", "[::1]", "localhost", listen)}
        if not self.server.listen.is_loopback:
            own = {host}  # a container or a proxy may have another name and port; the token protects the page
        origin = self.headers.get("Origin")
        foreign = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        path = self.path.partition("?")[0]
        token, slash, rest = path.removeprefix("/").partition("/")
        if host not in own:
            self._refuse(HTTPStatus.FORBIDDEN, "this host is not served here")
        elif not slash or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND, "nothing here; open the address that levelflow lab printed")
        elif origin is not None and origin not in {
            f"{scheme}://{name}" for scheme in ("http", "https") for name in own
        }:
            self._refuse(HTTPStatus.FORBIDDEN, "other origins are refused")
        elif foreign and rest:
            self._refuse(HTTPStatus.FORBIDDEN, "other sites are refused")
        else:
            return rest
        return None

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        with suppress(ConnectionError):  # the browser closed the connection
            self.end_headers()
            self.wfile.write(content)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True
        self._send(status, "application/json", json.dumps({"wrong": why}).encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is that of the base class
        """Disables logging, because a log would contain the token."""


def _own_address(listen: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Returns the address from which this machine sends to others; its name if it has no route to them."""
    family, elsewhere = (socket.AF_INET6, "2001:db8::1") if listen.version == 6 else (socket.AF_INET, "192.0.2.1")
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))  # selects a route and sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def predict(body: bytes) -> tuple[HTTPStatus, dict[str, object]]:
    """Returns the predictions of theory for a scenario in JSON, or the error."""
    from levelflow.theory.check import as_plain, check
    from levelflow.theory.errors import TheoryError

    try:
        raw = json.loads(body)
        if not isinstance(raw, dict):
            raise ScenarioError("a scenario is a table")
        scenario = Scenario("", "")
        scenario.raw, scenario.reads_files = raw, False
        return HTTPStatus.OK, as_plain(check(scenario.resolve()))
    except (ScenarioError, TheoryError) as error:
        return HTTPStatus.OK, {"wrong": str(error)}
    except (ValueError, RecursionError):
        return HTTPStatus.BAD_REQUEST, {"wrong": "the request is not JSON"}


def read(path: Path) -> dict[str, object]:
    """Reads a result directory, of a simulation or of a testbed, in the format of the page.

    Raises:
        LabError: If it is not a result directory, or is damaged or too large for the page.
    """
    try:
        result = Result.load(path)
        flows = _columns(result.flows, "flow", len(result.scenario["flows"]))
        links = _columns(result.links, "link", len(result.scenario["links"]))
    except ScenarioError as error:
        raise LabError(f"--open {error}") from None
    except (OSError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise LabError(f"--open {path}: the result is damaged: {reason}") from None
    manifest = result.manifest
    if not isinstance(manifest.get("raw"), dict):
        raise LabError(f"--open {path}: manifest.json lacks the scenario as written (raw)")
    return {
        "path": str(path),
        "by": str(manifest.get("build", "")),
        "network": manifest.get("network"),
        "status": manifest.get("status"),
        "scenario": manifest["raw"],
        "resolved": {**result.scenario, "warnings": result.summary.get("warnings", [])},
        "now": manifest.get("simulated_s"),
        "summary": result.summary or None,
        "tables": {"flows": flows, "links": links},
    }


def _columns(table: pl.DataFrame, kind: str, entries: int) -> dict[str, list[Any]]:
    """Returns the columns of a table, sorted by sample and then in scenario order. Indices replace names."""
    if table.height > MOST_STORED_ROWS:
        raise ScenarioError(f"{kind}s.parquet has {table.height} rows; a page holds at most {MOST_STORED_ROWS}")
    if table.height % entries:
        raise ScenarioError(
            f"{kind}s.parquet has {table.height} rows, not the same number for each of {entries} {kind}s"
        )
    names = {"flow", "link", "bottleneck"} & set(table.columns)
    table = table.sort("t", kind).with_columns(pl.col(name).to_physical().cast(pl.Int32) for name in names)
    table = table.with_columns(pl.col(pl.Float64).fill_nan(None), pl.col(names - {kind}).fill_null(-1))
    return {name: table[name].to_list() for name in ["t", kind, *table.drop("t", kind).columns]}

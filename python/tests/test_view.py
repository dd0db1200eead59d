"""The viewer from Python; its server and its page have tests of their own."""

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import cinoc


def test_the_address_serves_the_page() -> None:
    address = cinoc.view(cinoc.Policy("heat1d"), open=False)
    with urlopen(address) as page:
        assert b"<canvas" in page.read()
    with pytest.raises(HTTPError, match="404"):
        urlopen(address.rsplit("/", 2)[0] + "/")


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(cinoc.ConfigError, match="16 letters"):
        cinoc.view(token="short", open=False)
    with pytest.raises(cinoc.ConfigError, match="nothing"):
        cinoc.view("nothing", open=False)
    port = int(cinoc.view(open=False).split(":")[2].split("/")[0])
    with pytest.raises(cinoc.ConfigError, match="another port"):
        cinoc.view(port=port, open=False)

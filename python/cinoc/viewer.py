"""Watch a policy at work in the browser, and disturb it."""

from __future__ import annotations

import webbrowser

from . import _native
from .policy import Policy


def view(*policies: Policy | str, port: int = 0, token: str | None = None, open: bool = True) -> str:
    """Shows policies, and the shipped ones, live in the browser; returns the address.

    A server on the loopback interface lives as long as this process. Port 0 takes one that is free. The address has a
    random token in it unless one is given. `docs/view.md` says what can be done on the page.

    >>> import cinoc
    >>> cinoc.view("heat1d", open=False)  # doctest: +ELLIPSIS
    'http://127.0.0.1:.../'
    """
    chosen = [policy if isinstance(policy, Policy) else Policy(policy) for policy in policies]
    address = _native.serve(chosen, port, token)
    if open:
        webbrowser.open(address)
    return address

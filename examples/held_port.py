"""A TCP port that no other process is given."""

import socket


def hold_port():
    """Returns a socket that is bound to a port of 127.0.0.1 and does not listen.

    While the socket is open, the kernel refuses connections to its port, and gives the port to no socket that asks
    for any. A server can still listen on it, if it sets SO_REUSEADDR before it binds, as all servers of the tests do.
    A port that was only looked up and freed again can be given to the next socket, of this process or of another.
    """
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    return s


def port_of(s):
    return s.getsockname()[1]

"""What a process that has nothing but OpenSSL pays for a connection by TLS 1.3, without any of
InterWeave's client: the least that a login over TLS can cost more than a plain one.

    bare_tls.py CA HOST:PORT...    prints a line for each server: the milliseconds of loading
                                   OpenSSL and beginning it, of the context, and of the handshake

Only the first line has a time of loading. Only the first two lines have a context's time: the
second server's shows what a context costs in a process that has one, and others share that one.
This file imports little, because numpy already loads a part of OpenSSL.
"""

import ctypes
import socket
import sys
import time

NO_ATEXIT, VERIFY_PEER, SET_MIN_VERSION, TLS_1_3 = 0x00080000, 1, 123, 0x0304
NAME = b"\x04iw/2"


def loaded():
    library = ctypes.CDLL("libssl.so.3")
    for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.OPENSSL_init_ssl(ctypes.c_uint64(NO_ATEXIT), None)
    return library


def context_of(library, authority):
    context = ctypes.c_void_p(library.SSL_CTX_new(ctypes.c_void_p(library.TLS_client_method())))
    library.SSL_CTX_ctrl(context, SET_MIN_VERSION, ctypes.c_long(TLS_1_3), None)
    library.SSL_CTX_set_verify(context, VERIFY_PEER, None)
    if library.SSL_CTX_load_verify_locations(context, authority.encode(), None) != 1:
        sys.exit("bare_tls: the authority is not usable")
    return context


def shake_hands(library, context, connection):
    session = ctypes.c_void_p(library.SSL_new(context))
    library.SSL_set_alpn_protos(session, NAME, len(NAME))
    library.SSL_set_fd(session, connection.fileno())
    if library.SSL_connect(session) != 1:
        sys.exit("bare_tls: no handshake")
    return session


def main():
    authority, *servers = sys.argv[1:]
    library = context = None
    for turn, server in enumerate(servers):
        host, port = server.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            begin = time.monotonic_ns()
            library = library or loaded()
            is_loaded = time.monotonic_ns()
            if turn < 2:
                context = context_of(library, authority)
            has_context = time.monotonic_ns()
            shake_hands(library, context, connection)
            times = begin, is_loaded, has_context, time.monotonic_ns()
            print(*((after - before) / 1e6 for before, after in zip(times, times[1:])), flush=True)


if __name__ == "__main__":
    main()

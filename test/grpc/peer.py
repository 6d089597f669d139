"""peer.py: the service of echo.proto, and a client of it, with grpcio.

peer.py server PORT    serves until it is killed
peer.py client PORT    calls a server of weft::grpc; ends with 0 if everything is as expected
peer.py check          ends with 0 if grpcio is installed

The messages have one string; they are written and read here, so no generated code is needed.
"""
import sys
import threading
import time
from concurrent import futures

import grpc


def pack(value):
    data = value.encode()
    size, head = len(data), b"\x0a"
    while size > 127:
        head += bytes([size & 127 | 128])
        size >>= 7
    return head + bytes([size]) + data


def unpack(data):
    if not data:
        return ""
    at = 1
    while data[at] & 128:
        at += 1
    return data[at + 1:].decode()


def say(value, context):
    if value == "slow":
        time.sleep(30)
    if value == "missing":
        context.abort(grpc.StatusCode.NOT_FOUND, "none of that name")
    sent = dict(context.invocation_metadata())
    context.send_initial_metadata((("first", "early"),))
    context.set_trailing_metadata((("served", sent.get("from", "")),))
    return "python: " + value


def repeat(value, _):
    for i in range(int(value)):
        yield str(i)


def join(values, _):
    return "".join(values)


def chat(values, _):
    yield from values


def serve(port):
    kinds = {"say": (grpc.unary_unary_rpc_method_handler, say), "repeat": (grpc.unary_stream_rpc_method_handler, repeat),
             "join": (grpc.stream_unary_rpc_method_handler, join), "chat": (grpc.stream_stream_rpc_method_handler, chat)}
    methods = {name: make(f, request_deserializer=unpack, response_serializer=pack) for name, (make, f) in kinds.items()}
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("weft.test.echo", methods),))
    server.add_insecure_port("127.0.0.1:" + port)
    server.start()
    server.wait_for_termination()


def expect(seen, expected):
    if seen != expected:
        sys.exit(f"{seen!r} instead of {expected!r}")


def code_of(call):
    try:
        call()
    except grpc.RpcError as e:
        return e.code()
    return grpc.StatusCode.OK


def ask(port):
    with grpc.insecure_channel("127.0.0.1:" + port) as channel:
        def method(make, name):
            return make("/weft.test.echo/" + name, request_serializer=pack, response_deserializer=unpack)
        to_say = method(channel.unary_unary, "say")
        answer, call = to_say.with_call("a", timeout=20)
        expect(answer, "a")
        expect(dict(call.trailing_metadata()).get("served"), "yes")
        expect([len(m) for m in method(channel.unary_stream, "repeat")("3", timeout=20)], [10_000] * 3)
        expect(method(channel.stream_unary, "join")(iter("abc"), timeout=20), "abc")
        expect(list(method(channel.stream_stream, "chat")(iter(str(i) for i in range(100)), timeout=20)),
               [str(i) for i in range(100)])
        expect(code_of(lambda: to_say("missing", timeout=20)), grpc.StatusCode.NOT_FOUND)
        expect(code_of(lambda: to_say("wait", timeout=0.2)), grpc.StatusCode.DEADLINE_EXCEEDED)
        # The server has no message for this stream until it is cancelled.
        open_end = threading.Event()
        stream = method(channel.stream_stream, "chat")(iter(lambda: open_end.wait(20) and None, None), timeout=20)
        threading.Timer(0.2, stream.cancel).start()
        expect(code_of(lambda: list(stream)), grpc.StatusCode.CANCELLED)
        open_end.set()


if sys.argv[1] != "check":
    {"server": serve, "client": ask}[sys.argv[1]](sys.argv[2])

#!/usr/bin/env python3
"""layers_test.py: layers.py reports a planted violation of each rule, and nothing that is allowed."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import layers  # noqa: E402


class Layers(unittest.TestCase):
    def complaints(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
            return layers.check(root)

    def allowed(self, path, text):
        self.assertEqual(self.complaints(path, text), [])

    def caught(self, path, text, word):
        found = self.complaints(path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_down_and_sideways_is_allowed(self):
        self.allowed("src/sched/g.cc", '#include "sched/g.h"\n#include "base/list.h"\n#include <weft/go.h>\n#include <vector>\n')

    def test_up_is_caught(self):
        self.caught("src/base/list.h", '#include "sched/g.h"\n', "lies below")
        self.caught("src/poll/poller.cc", '#  include "sched/g.h"\n', "lies below")

    def test_within_the_scheduler_only_listed_calls_point_up(self):
        self.allowed("src/sched/park.cc", '#include "handoff/injected.h"\n')
        self.allowed("src/sched/scheduler.h", '#include "idle/idle.h"\n')
        self.allowed("src/lifecycle/start.h", '#include "sched/scheduler.h"\n')
        self.caught("src/sched/park.h", '#include "handoff/injected.h"\n', "lies below handoff/")
        self.caught("src/sched/park.cc", '#include "lifecycle/abandon.h"\n', "UPCALLS")
        self.caught("src/poll/backend.cc", '#include "idle/idle.h"\n', "lies below idle/")
        self.caught("src/sched/park.cc", '#include "sync/wait.h"\n', "lies below sync/")

    def test_an_unknown_layer_is_caught(self):
        self.caught("src/util/x.h", "\n", "no layer util")
        self.caught("src/sched/x.h", '#include "util/x.h"\n', "no layer util")
        self.caught("src/x.cc", "\n", "not in src/ itself")

    def test_public_headers_see_only_std_and_themselves(self):
        self.allowed("include/weft/go.h", "#include <cstdint>\n#include <weft/error.h>\n#include <stddef.h>\n")
        self.caught("include/weft/go.h", '#include "sched/g.h"\n', "public header")
        self.caught("include/weft/go.h", "#include <sys/mman.h>\n", "public header")
        self.caught("include/weft/go.h", '#include "weft/error.h"\n', "the way a user finds it")

    def test_a_component_is_its_own_affair(self):
        self.allowed("include/weft/tls/stream.h", "#include <weft/tls/error.h>\n#include <weft/net/stream.h>\n")
        self.allowed("src/tls/engine.cc", '#include <weft/tls/error.h>\n#include "tls/wire.h"\n#include <openssl/ssl.h>\n')
        self.caught("include/weft/net/tcp.h", "#include <weft/tls/stream.h>\n", "is a component")
        self.caught("src/debug/dump.cc", '#include "tls/wire.h"\n', "is a component")
        self.caught("src/tls/engine.cc", "#include <weft/asio/error.h>\n", "is a component")

    def test_adapters_see_what_they_adapt_to(self):
        self.allowed("include/weft/asio/error.h", "#include <boost/asio/error.hpp>\n#include <weft/error.h>\n")
        self.caught("include/weft/net/tcp.h", "#include <boost/asio/error.hpp>\n", "public header")
        self.caught("include/weft/asio/error.h", "#include <openssl/ssl.h>\n", "public header")

    def test_the_model_checker_has_one_door(self):
        self.allowed("include/weft/detail/atomic.h", "#include <relacy/relacy.hpp>\n")
        self.caught("include/weft/chan.h", "#include <relacy/relacy.hpp>\n", "public header")

    def test_system_headers_stay_where_the_system_is(self):
        self.allowed("src/os/futex_linux.cc", "#include <sys/syscall.h>\n#include <unistd.h>\n")
        self.allowed("src/base/pause.h", "#include <immintrin.h>\n")
        self.caught("src/base/list.h", "#include <unistd.h>\n", "must not depend on an operating system")
        self.caught("src/sched/m.cc", "#include <pthread.h>\n", "must not depend on an operating system")

    def test_platform_conditions_stay_where_the_platform_is(self):
        self.allowed("src/context/switch.h", "#if defined(__x86_64__)\n#endif\n")
        self.caught("src/sched/m.cc", "#ifdef __linux__\n#endif\n", "#if on __linux__")
        self.caught("include/weft/go.h", "#if defined(_WIN32)\n#endif\n", "#if on _WIN32")

    def test_unit_tests_are_exempt(self):
        self.allowed("src/base/list_test.cc", '#include "sched/g.h"\n#include <unistd.h>\n')


if __name__ == "__main__":
    unittest.main()

"""Spack recipe: the folder packages/weft/ of a repository of recipes has this file."""
from spack.package import *


class Weft(CMakePackage):
    """Go's scheduler for C++20: green threads, channels and work stealing as a library."""

    git = "https://example.org/weft.git"

    license("BSL-1.0")

    version("0.1.0", tag="v0.1.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("tls", default=False, description="Build weft::tls, TLS streams over OpenSSL")
    variant("observe", default=False, description="Build weft::observe: recordings, profiles, and the program weft")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("openssl@3:", when="+tls")
    depends_on("elfutils", when="+observe")
    depends_on("protozero", when="+observe")
    depends_on("zlib-api", when="+observe")
    depends_on("ncurses", when="+observe")

    requires("platform=linux", msg="weft needs Linux")
    requires("target=x86_64:", "target=aarch64:", policy="one_of", msg="weft needs x86-64 or aarch64")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("WEFT_TLS", "ON" if self.spec.satisfies("+tls") else "OFF"),
            self.define("WEFT_OBSERVE", "ON" if self.spec.satisfies("+observe") else "OFF"),
            self.define("WEFT_ASIO", "OFF"),
            self.define("WEFT_PROBES", "OFF"),
            self.define("WEFT_BUILD_TESTS", self.run_tests),
            self.define("WEFT_BUILD_EXAMPLES", False),
            self.define("WEFT_BUILD_BENCH", False),
        ]

"""Conan 2: `conan create packaging/conan`. It has the core; components need packages of others."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Weft(ConanFile):
    name = "weft"
    license = "BSL-1.0"
    description = "Go's scheduler for C++20: green threads, channels and work stealing as a library"
    topics = ("coroutines", "concurrency", "channels", "green-threads", "scheduler")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    def _root(self):
        return os.path.dirname(os.path.dirname(self.recipe_folder))

    def set_version(self):
        with open(os.path.join(self._root(), "CHANGELOG.md"), encoding="utf-8") as file:
            self.version = re.search(r"^## \[(\d+\.\d+\.\d+)", file.read(), re.MULTILINE)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "cmake/*", "include/*", "packaging/debian/*", "programs/*", "src/*", "tools/*"):
            copy(self, pattern, src=self._root(), dst=self.export_sources_folder, excludes=["*_test.cc", "*_test.py", "*.pyc"])

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("weft needs Linux on x86-64 or aarch64")
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables["WEFT_BUILD_" + name] = False
        for name in ("TLS", "ASIO", "OBSERVE", "PROBES"):
            toolchain.cache_variables["WEFT_" + name] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The package has CMake files of its own, with weft_target() and weft_instrument().
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "weft")]
        self.cpp_info.libs = ["weft"]
        self.cpp_info.system_libs = ["pthread", "dl"]
        self.cpp_info.set_property("pkg_config_name", "weft")

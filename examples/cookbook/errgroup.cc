// errgroup.cc: several fetches at the same time; the first error cancels the others.
// See: docs/cookbook/errgroup.md
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::string fetch(const std::string& path) {
    if (path == "/slow") weft::sleep_for(1h);
    if (path == "/broken") {
        weft::sleep_for(1ms);
        throw std::runtime_error("503 for /broken");
    }
    return "content of " + path;
}

// Returns all pages, in the order of their paths, or throws the first error. None of the fetches
// runs when it returns.
std::vector<std::string> fetch_all(const std::vector<std::string>& paths) {
    std::vector<std::string> pages(paths.size());
    weft::scope([&](weft::task_scope& group) {
        for (std::size_t i = 0; i < paths.size(); ++i) {
            group.go([&, i] { pages[i] = fetch(paths[i]); });  // each writes its own element
        }
    });
    return pages;
}

void show(const std::vector<std::string>& paths) {
    try {
        for (const std::string& page : fetch_all(paths)) std::printf("%s\n", page.c_str());
    } catch (const std::runtime_error& e) {
        std::printf("failed: %s\n", e.what());
    }
}

}  // namespace

int main() {
    return weft::main([] {
        show({"/index", "/about"});
        show({"/index", "/slow", "/broken"});  // the fetch of /slow, which takes an hour, is cancelled
    });
}

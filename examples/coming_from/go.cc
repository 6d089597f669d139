// go.cc: original/crawl.go, ported. Follows the links of a site, four fetches at a time, and
// reports pages that are missing or slow.
// See: docs/coming_from/go.md
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

namespace {

const std::map<std::string, strings> site = {
    {"/", {"/about", "/blog", "/shop"}},
    {"/about", {"/", "/team"}},
    {"/blog", {"/blog/1", "/blog/2", "/old"}},
    {"/blog/1", {"/", "/blog/2"}},
    {"/blog/2", {"/shop", "/slow"}},
    {"/shop", {"/shop/tea", "/cart"}},
    {"/shop/tea", {}},
    {"/slow", {}},
    {"/team", {"/blog"}},
};

strings fetch(const std::string& url) {
    weft::sleep_for(url == "/slow" ? std::chrono::milliseconds(1h) : 1ms);
    const auto page = site.find(url);
    if (page == site.end()) throw std::runtime_error("not found");
    return page->second;
}

struct result {
    std::string url;
    strings links;
    std::string error;  // empty: none
};

void worker(const weft::recv_chan<std::string>& urls, const weft::send_chan<result>& results) {
    for (const std::string& url : urls) {
        result r{.url = url, .links = {}, .error = {}};
        try {
            r.links = weft::with_timeout(250ms, [&] { return fetch(url); });
        } catch (const weft::timed_out&) {
            r.error = "deadline exceeded";
        } catch (const std::runtime_error& e) {
            r.error = e.what();
        }
        results.send(std::move(r));
    }
}

struct report {
    int pages = 0;
    strings broken;
};

report crawl(const std::string& start, int workers) {
    const weft::chan<std::string> urls;
    const weft::chan<result> results;
    weft::wait_group running;
    for (int i = 0; i < workers; ++i) {
        running.go([=] { worker(urls, results); });
    }
    std::set<std::string> seen{start};
    std::deque<std::string> queue{start};
    report found;
    for (int busy = 0; busy > 0 || !queue.empty();) {
        auto out = weft::chan<std::string>::nil();  // its case is never ready
        std::string next;
        if (!queue.empty()) {
            out = urls;
            next = queue.front();
        }
        weft::select(weft::on_send(out, std::move(next),
                                   [&] {
                                       queue.pop_front();
                                       ++busy;
                                   }),
                     weft::on_recv(results, [&](std::optional<result> r) {
                         --busy;
                         if (!r->error.empty()) {
                             found.broken.push_back(r->url + ": " + r->error);
                             return;
                         }
                         ++found.pages;
                         for (const std::string& link : r->links) {
                             if (seen.insert(link).second) queue.push_back(link);
                         }
                     }));
    }
    urls.close();
    running.wait();
    std::sort(found.broken.begin(), found.broken.end());
    return found;
}

}  // namespace

int main() {
    return weft::main([] {
        const report found = crawl("/", 4);
        std::printf("%d pages\n", found.pages);
        for (const std::string& b : found.broken) std::printf("%s\n", b.c_str());
    });
}

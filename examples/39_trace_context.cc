// 39_trace_context.cc: profilers outside of the process see for which request each green thread
// works: the trace of the green thread is the trace of its OS thread while it runs.
//
// needs: weft::observe
#include <array>
#include <cstdio>

#include <weft/observe/trace_context.h>
#include <weft/weft.h>

using namespace weft::observe;

const uint8_t route = trace_key("http_route");

// A part of the request, in a green thread of its own.
void query() {
    const trace_scope part(current_trace().with_span(span_id{0, 0, 0, 0, 0, 0, 0, 2}));
    weft::sleep_for(std::chrono::milliseconds(1));
    std::printf("query:   %s %s\n", current_trace().traceparent().c_str(),
                std::string(current_trace().attribute(route)).c_str());
}

void serve(const char* traceparent) {
    const trace_scope request(trace_context::parse(traceparent).with(route, "/users"));
    weft::wait_group parts;
    parts.go({.inherit_locals = true}, &query);
    parts.wait();
    std::printf("request: %s\n", current_trace().traceparent().c_str());
}

int main() {
    return weft::main([] {
        serve("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        std::printf("after it there is %s\n", current_trace().empty() ? "none" : "one");
    });
}

// await.cc: threads that wait for objects that cannot notify a green thread.
#include <memory>
#include <system_error>

#include <weft/promise.h>

#include "os/os.h"

namespace weft::detail {

namespace {

struct call {
    void (*f)(void*);
    void* argument;
};

void* await_thread(void* argument) {
    os::detach_this_thread();
    os::name_thread("weft-await");
    const std::unique_ptr<call> c(static_cast<call*>(argument));
    c->f(c->argument);
    return nullptr;
}

}  // namespace

void run_on_thread(void (*f)(void*), void* argument) {
    auto c = std::make_unique<call>(call{f, argument});
    os::thread_id id{};
    if (const int error = os::start_thread(id, &await_thread, c.get())) {
        throw std::system_error(error, std::generic_category(),
                                "weft: await cannot start a thread that waits for the std::future (end some threads, "
                                "or raise the limit: ulimit -u)");
    }
    [[maybe_unused]] call* const threads_own = c.release();
}

}  // namespace weft::detail

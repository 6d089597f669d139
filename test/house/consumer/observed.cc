// observed.cc: a program that links weft::observe: its dump has the text that the argument says, or
// the name of a function.
#include <stdio.h>
#include <unistd.h>

#include <string>

#include <weft/weft.h>

[[gnu::noinline]] void serve(const weft::chan<int>& requests) {
    requests.recv();
    asm volatile("" ::: "memory");  // not a tail call
}

int main(int count, char** arguments) {
    const std::string wanted = count > 1 ? arguments[1] : "serve(weft::chan<int> const&)";
    return weft::main([&] {
        const weft::chan<int> requests;
        weft::wait_group all;
        all.go([&] { serve(requests); });
        weft::yield();
        FILE* file = tmpfile();
        weft::dump(fileno(file));
        std::string text(1 << 16, '\0');
        const ssize_t size = pread(fileno(file), text.data(), text.size(), 0);
        text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        fclose(file);
        requests.close();
        all.wait();
        const bool has_it = text.find(wanted) != text.npos;
        puts(has_it ? "the sum of the first hundred squares is 338350" : text.c_str());
        return has_it ? 0 : 1;
    });
}

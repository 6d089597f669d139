// observed.cc: a program that links weft::observe: its dump has the text that the argument says, or
// the name of a function.
#include <stdio.h>
#include <unistd.h>

#include <string>

#include <weft/weft.h>

[[gnu::noinline]] void serve(weft::event& over) {
    over.wait();
    asm volatile("" ::: "memory");  // not a tail call
}

int main(int count, char** arguments) {
    const std::string wanted = count > 1 ? arguments[1] : "serve(weft::event&)";
    return weft::main([&] {
        weft::event over;
        weft::wait_group all;
        all.go([&] { serve(over); });
        weft::yield();
        FILE* file = tmpfile();
        weft::dump(fileno(file));
        std::string text(1 << 16, '\0');
        const ssize_t size = pread(fileno(file), text.data(), text.size(), 0);
        text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        fclose(file);
        over.set();
        all.wait();
        const bool has_it = text.find(wanted) != text.npos;
        puts(has_it ? "the sum of the first hundred squares is 338350" : text.c_str());
        return has_it ? 0 : 1;
    });
}

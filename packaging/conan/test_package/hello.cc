// hello.cc: one green thread sends, another one receives.
#include <cstdio>

#include <weft/weft.h>

int main() {
    return weft::main([] {
        weft::chan<const char*> words;
        weft::go([words] { words.send("hello from a package"); });
        std::printf("%s\n", words.recv().value_or("nothing"));
    });
}

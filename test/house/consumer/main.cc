// main.cc: a foreign program, built against weft from outside its tree.
#include <cstdio>

#include <weft/weft.h>

int main() {
    return weft::main([] {
        weft::chan<int> squares(16);
        weft::wait_group done;
        for (int i = 1; i <= 100; ++i) {
            done.go([=]() mutable { squares.send(i * i); });
        }
        weft::go([&done, squares]() mutable {
            done.wait();
            squares.close();
        });
        int sum = 0;
        for (int square : squares) sum += square;
        std::printf("the sum of the first hundred squares is %d\n", sum);
        return sum == 338350 ? 0 : 1;
    });
}

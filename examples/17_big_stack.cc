// 17_big_stack: a recursion that is deeper than the stack of a green thread.
//
// Green threads have small stacks, because there are many of them. A call that needs a large stack
// can run on another one, by weft::on_big_stack. It runs as the same green thread: it may wait, and
// exceptions leave it as they leave any function.
//
// Prints:
//     100000 brackets deep
//     needed more than one stack: yes
//     error: a bracket is open at the end
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <weft/weft.h>

namespace {

// A parser that recurses for each bracket. Its frames are small, but the input determines how many
// there are.
class brackets {
public:
    explicit brackets(const std::string& text) : text_(text) {}

    // Parses "(…)" and returns the nesting depth.
    std::size_t parse() {
        if (at_ == text_.size() || text_[at_] != '(') return 0;
        ++at_;
        const std::size_t inside = go_deeper();
        if (at_ == text_.size()) throw std::runtime_error("a bracket is open at the end");
        ++at_;
        return inside + 1;
    }

    [[nodiscard]] int more_stacks() const { return stacks_; }

private:
    // Recurses on the current stack while there is enough of it, else on another stack.
    std::size_t go_deeper() {
        if (weft::this_g::stack_left() > 32 * 1024) return parse();
        ++stacks_;
        return weft::on_big_stack(4 << 20, [this] { return parse(); });
    }

    const std::string& text_;
    std::size_t at_ = 0;
    int stacks_ = 0;
};

}  // namespace

int main() {
    return weft::main([] {
        const std::string text = std::string(100'000, '(') + std::string(100'000, ')');
        brackets deep(text);
        std::printf("%zu brackets deep\n", deep.parse());
        std::printf("needed more than one stack: %s\n", deep.more_stacks() > 0 ? "yes" : "no");

        const std::string wrong(100'000, '(');
        try {
            brackets(wrong).parse();
        } catch (const std::runtime_error& e) {
            std::printf("error: %s\n", e.what());
        }
    });
}

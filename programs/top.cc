// top.cc: see top.h.
//
// The terminal is drawn with ncurses. Without it, which is found when the program is built, only
// --once works.
#include "top.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <weft/observe/outside.h>

#include "json_value.h"
#include "page_client.h"
#include "program_arguments.h"
#include "top_screen.h"
#include "top_terminal.h"

namespace {

class page_source : public top_source {
public:
    explicit page_source(const std::string& url) : page_(url) {}

    json_value state() override { return json_value::parse(page_.get("/api/state")); }

    json_value stacks(const top_filter&) override {
        return json_value::parse(page_.get("/stacks?form=json"))["groups"];
    }

private:
    page_client page_;
};

class process_source : public top_source {
public:
    explicit process_source(const std::string& pid) : process_(pid) {}

    json_value state() override { return json_value::parse(process_.state()); }

    json_value stacks(const top_filter& which) override {
        weft::observe::outside_options how;
        how.json = true;
        if (which.view == top_view::sites) how.started_at = which.file + ":" + std::to_string(which.line);
        if (which.view == top_view::labels) how.label = which.text.substr(0, which.text.find(", "));
        if (which.view == top_view::states || which.view == top_view::objects) how.state = which.text;
        const json_value all = json_value::parse(process_.green_threads(how));
        // That with the most green threads, which state() shows.
        const std::vector<json_value>& runtimes = all["runtimes"].items();
        const auto largest =
            std::max_element(runtimes.begin(), runtimes.end(), [](const json_value& a, const json_value& b) {
                return a["green_threads"].number() < b["green_threads"].number();
            });
        return largest == runtimes.end() ? json_value() : (*largest)["groups"];
    }

private:
    weft::observe::outside process_;
};

std::unique_ptr<top_source> open_source(const std::string& target) {
    const bool is_number = !target.empty() && target.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) return std::make_unique<process_source>(target);
    return std::make_unique<page_source>(target);
}

int print_once(top_source& from, const top_settings& settings) {
    const json_value before = from.state();
    std::this_thread::sleep_for(settings.every);
    const top_screen screen = make_screen(from.state(), before, settings.view, settings.order);
    for (const std::string& line : screen.head) std::printf("%s\n", line.c_str());
    std::printf("\n%s\n", screen.columns.c_str());
    for (const top_row& row : screen.rows) std::printf("%s\n", row.text.c_str());
    if (!screen.left_out.empty()) std::printf("%s\n", screen.left_out.c_str());
    if (std::fflush(stdout) != 0) throw std::runtime_error("weft: cannot write the output");
    return 0;
}

top_view view_of(const std::string& name) {
    if (name == "site") return top_view::sites;
    if (name == "state") return top_view::states;
    if (name == "label") return top_view::labels;
    if (name == "object") return top_view::objects;
    throw usage_error("--by needs site, state, label or object, not " + name);
}

top_order order_of(const std::string& name) {
    if (name == "count") return top_order::count;
    if (name == "oldest") return top_order::oldest;
    if (name == "name") return top_order::name;
    throw usage_error("--sort needs count, oldest or name, not " + name);
}

}  // namespace

int top(const std::vector<std::string>& arguments) {
    top_settings settings;
    std::string target;
    bool once = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& option = arguments[i];
        if (option == "--once") {
            once = true;
        } else if (option == "--every") {
            settings.every = std::chrono::duration_cast<std::chrono::milliseconds>(duration_of(value_of(arguments, i)));
            if (settings.every < std::chrono::milliseconds(10)) throw usage_error("--every needs at least 10ms");
        } else if (option == "--by") {
            settings.view = view_of(value_of(arguments, i));
        } else if (option == "--sort") {
            settings.order = order_of(value_of(arguments, i));
        } else if (option.empty() || option[0] == '-' || !target.empty()) {
            throw usage_error("top does not know " + option);
        } else {
            target = option;
        }
    }
    if (target.empty()) throw usage_error("top needs the URL of a page, or the number of a process");
    const std::unique_ptr<top_source> from = open_source(target);
    return once ? print_once(*from, settings) : show_in_terminal(*from, settings);
}

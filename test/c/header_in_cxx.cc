// header_in_cxx.cc: weft/run.h is C++ too.
#include <weft/run.h>

extern "C" run_status_t use_from_cxx();

extern "C" run_status_t use_from_cxx() {
    run_spawn_opts_t spawn_opts = RUN_SPAWN_OPTS_INIT;
    run_scheduler_opts_t scheduler_opts = RUN_SCHEDULER_OPTS_INIT;
    run_scope_opts_t scope_opts = RUN_SCOPE_OPTS_INIT;
    run_counts_t counts = RUN_COUNTS_INIT;
    run_select_case_t cases[] = {run_recv_case(nullptr, nullptr), run_send_case(nullptr, nullptr)};
    run_status_t status = run_spawn([](void*) {}, nullptr);
    if (status == RUN_OK) status = run_spawn_with(&spawn_opts, [](void*) {}, nullptr);
    if (status == RUN_OK) status = run_scheduler_init_with(&scheduler_opts);
    run_scope_t* scope = nullptr;
    if (status == RUN_OK) status = run_scope_begin_with(&scope, &scope_opts);
    if (status == RUN_OK) status = run_select(cases, 2, RUN_FOREVER, nullptr);
    const run_g_status_t g_status = run_g_get_status(run_current_g());
    const run_p_status_t p_status = run_p_get_status(run_current_p());
    if (g_status != G_RUNNING || p_status != P_RUNNING || run_m_get_id(run_current_m()) == UINT64_MAX)
        return RUN_FAILED;
    return status == RUN_OK ? run_stats(&counts) : status;
}

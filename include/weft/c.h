// c.h: the C interface with names that begin with weft_ and WEFT_.
//
//     #include <weft/c.h>
//
//     weft_scheduler_init();
//     weft_spawn(square, &job);
//
// Each name is a macro for the one that begins with run_ or RUN_, so both may be used in one
// program, and libraries and debuggers know the latter only. See weft/run.h for the interface.
//
// Written by tools/c_names.py.
#pragma once

#include <weft/run.h>

// clang-format off

// barrier.h
#define weft_barrier_t run_barrier_t
#define weft_status_t run_status_t
#define weft_barrier_make run_barrier_make
#define weft_barrier_free run_barrier_free
#define weft_barrier_arrive_and_wait run_barrier_arrive_and_wait
#define weft_barrier_arrive run_barrier_arrive
#define weft_barrier_wait run_barrier_wait
#define weft_barrier_arrive_and_drop run_barrier_arrive_and_drop

// base.h
#define WEFT_OK RUN_OK
#define WEFT_CLOSED RUN_CLOSED
#define WEFT_TIMEOUT RUN_TIMEOUT
#define WEFT_WOULD_BLOCK RUN_WOULD_BLOCK
#define WEFT_CANCELLED RUN_CANCELLED
#define WEFT_EXPIRED RUN_EXPIRED
#define WEFT_EXHAUSTED RUN_EXHAUSTED
#define WEFT_INVALID RUN_INVALID
#define WEFT_BUSY RUN_BUSY
#define WEFT_FAILED RUN_FAILED
#define WEFT_SYSTEM RUN_SYSTEM
#define WEFT_NOT_FOUND RUN_NOT_FOUND
#define weft_status_text run_status_text
#define WEFT_FOREVER RUN_FOREVER
#define weft_now_ns run_now_ns

// big_stack.h
#define WEFT_BIG_STACK_SIZE RUN_BIG_STACK_SIZE
#define weft_on_big_stack run_on_big_stack
#define weft_stack_left run_stack_left

// blocking.h
#define weft_blocking_site_t run_blocking_site_t
#define weft_blocking_call_t run_blocking_call_t
#define weft_blocking_enter run_blocking_enter
#define weft_blocking_enter_at run_blocking_enter_at
#define weft_blocking_exit run_blocking_exit
#define weft_blocking run_blocking
#define weft_blocking_pool_t run_blocking_pool_t
#define weft_blocking_pool_make run_blocking_pool_make
#define weft_blocking_pool_free run_blocking_pool_free
#define weft_blocking_pool_run run_blocking_pool_run
#define weft_blocking_pool_running run_blocking_pool_running
#define weft_blocking_pool_waiting run_blocking_pool_waiting

// chan.h
#define weft_chan_t run_chan_t
#define weft_chan_make run_chan_make
#define weft_chan_retain run_chan_retain
#define weft_chan_release run_chan_release
#define weft_chan_send run_chan_send
#define weft_chan_try_send run_chan_try_send
#define weft_chan_send_for run_chan_send_for
#define weft_chan_recv run_chan_recv
#define weft_chan_try_recv run_chan_try_recv
#define weft_chan_recv_for run_chan_recv_for
#define weft_chan_close run_chan_close
#define weft_chan_closed run_chan_closed
#define weft_chan_len run_chan_len
#define weft_chan_cap run_chan_cap
#define weft_chan_elem_size run_chan_elem_size

// cond.h
#define weft_cond_t run_cond_t
#define weft_cond_make run_cond_make
#define weft_cond_free run_cond_free
#define weft_cond_wait run_cond_wait
#define weft_mutex_t run_mutex_t
#define weft_cond_wait_for run_cond_wait_for
#define weft_cond_signal run_cond_signal
#define weft_cond_broadcast run_cond_broadcast

// context.h
#define weft_context_t run_context_t
#define weft_context_switch run_context_switch
#define weft_context_init run_context_init
#define weft_g_exit run_g_exit

// debug.h
#define weft_counts_t run_counts_t
#define WEFT_COUNTS_INIT RUN_COUNTS_INIT
#define weft_stats run_stats
#define weft_stack_use_at_t run_stack_use_at_t
#define weft_stack_use run_stack_use
#define weft_dump run_dump
#define weft_dump_on_signal run_dump_on_signal
#define weft_scheduling_latency_ns run_scheduling_latency_ns
#define WEFT_LATENCY_BUCKETS RUN_LATENCY_BUCKETS
#define weft_scheduling_latency run_scheduling_latency
#define weft_latency_bucket_ns run_latency_bucket_ns
#define WEFT_EXIT_DEADLOCK RUN_EXIT_DEADLOCK
#define weft_external_waker_begin run_external_waker_begin
#define weft_external_waker_end run_external_waker_end

// event.h
#define weft_event_t run_event_t
#define weft_event_make run_event_make
#define weft_event_free run_event_free
#define weft_event_set run_event_set
#define weft_event_reset run_event_reset
#define weft_event_is_set run_event_is_set
#define weft_event_wait run_event_wait
#define weft_event_wait_for run_event_wait_for

// future.h
#define weft_future_t run_future_t
#define weft_async run_async
#define weft_async_at run_async_at
#define weft_spawn_opts_t run_spawn_opts_t
#define weft_future_retain run_future_retain
#define weft_future_release run_future_release
#define weft_future_wait run_future_wait
#define weft_future_wait_for run_future_wait_for
#define weft_future_is_ready run_future_is_ready
#define weft_future_cancel run_future_cancel

// gmp.h
#define weft_g_t run_g_t
#define weft_m_t run_m_t
#define weft_p_t run_p_t
#define WEFT_G_IDLE RUN_G_IDLE
#define WEFT_G_RUNNABLE RUN_G_RUNNABLE
#define WEFT_G_RUNNING RUN_G_RUNNING
#define WEFT_G_WAITING RUN_G_WAITING
#define WEFT_G_DEAD RUN_G_DEAD
#define weft_g_status_t run_g_status_t
#define WEFT_P_IDLE RUN_P_IDLE
#define WEFT_P_RUNNING RUN_P_RUNNING
#define WEFT_P_SYSCALL RUN_P_SYSCALL
#define weft_p_status_t run_p_status_t
#define weft_current_g run_current_g
#define weft_current_m run_current_m
#define weft_current_p run_current_p
#define weft_p_at run_p_at
#define weft_g_get_id run_g_get_id
#define weft_g_get_status run_g_get_status
#define weft_g_get_stack_base run_g_get_stack_base
#define weft_g_get_stack_size run_g_get_stack_size
#define weft_g_get_last_p run_g_get_last_p
#define weft_g_get_preempt run_g_get_preempt
#define weft_m_get_id run_m_get_id
#define weft_m_get_thread_id run_m_get_thread_id
#define weft_m_get_current_g run_m_get_current_g
#define weft_m_get_current_p run_m_get_current_p
#define weft_p_get_id run_p_get_id
#define weft_p_get_status run_p_get_status
#define weft_p_get_run_queue_len run_p_get_run_queue_len
#define weft_p_get_bound_m run_p_get_bound_m

// latch.h
#define weft_latch_t run_latch_t
#define weft_latch_make run_latch_make
#define weft_latch_free run_latch_free
#define weft_latch_count_down run_latch_count_down
#define weft_latch_is_open run_latch_is_open
#define weft_latch_wait run_latch_wait
#define weft_latch_wait_for run_latch_wait_for
#define weft_latch_arrive_and_wait run_latch_arrive_and_wait

// local.h
#define weft_local_key_t run_local_key_t
#define weft_local_key_create run_local_key_create
#define weft_local_key_delete run_local_key_delete
#define weft_local_get run_local_get
#define weft_local_set run_local_set

// mutex.h
#define weft_mutex_make run_mutex_make
#define weft_mutex_free run_mutex_free
#define weft_mutex_lock run_mutex_lock
#define weft_mutex_try_lock run_mutex_try_lock
#define weft_mutex_lock_for run_mutex_lock_for
#define weft_mutex_unlock run_mutex_unlock

// net.h
#define weft_socket_t run_socket_t
#define WEFT_ADDRESS_MAX RUN_ADDRESS_MAX
#define weft_tcp_listen run_tcp_listen
#define weft_unix_listen run_unix_listen
#define weft_tcp_dial run_tcp_dial
#define weft_unix_connect run_unix_connect
#define weft_udp_bind run_udp_bind
#define weft_socket_accept run_socket_accept
#define weft_socket_read_some run_socket_read_some
#define weft_socket_read run_socket_read
#define weft_socket_write run_socket_write
#define weft_socket_shutdown_send run_socket_shutdown_send
#define weft_udp_send run_udp_send
#define weft_udp_receive run_udp_receive
#define weft_socket_set_timeout run_socket_set_timeout
#define weft_socket_address run_socket_address
#define weft_socket_fd run_socket_fd
#define weft_socket_close run_socket_close
#define weft_socket_free run_socket_free
#define WEFT_READABLE RUN_READABLE
#define WEFT_WRITABLE RUN_WRITABLE
#define weft_wait_fd run_wait_fd
#define weft_watch_t run_watch_t
#define weft_watch_make run_watch_make
#define weft_watch_free run_watch_free

// once.h
#define weft_once_t run_once_t
#define WEFT_ONCE_INIT RUN_ONCE_INIT
#define weft_once run_once

// preempt.h
#define weft_preempt_enable run_preempt_enable
#define weft_preempt_disable run_preempt_disable
#define weft_preempt_hook run_preempt_hook
#define weft_preempt_announce run_preempt_announce

// recursive_mutex.h
#define weft_recursive_mutex_t run_recursive_mutex_t
#define weft_recursive_mutex_make run_recursive_mutex_make
#define weft_recursive_mutex_free run_recursive_mutex_free
#define weft_recursive_mutex_lock run_recursive_mutex_lock
#define weft_recursive_mutex_try_lock run_recursive_mutex_try_lock
#define weft_recursive_mutex_lock_for run_recursive_mutex_lock_for
#define weft_recursive_mutex_unlock run_recursive_mutex_unlock

// rwmutex.h
#define weft_rwmutex_t run_rwmutex_t
#define weft_rwmutex_make run_rwmutex_make
#define weft_rwmutex_free run_rwmutex_free
#define weft_rwmutex_lock run_rwmutex_lock
#define weft_rwmutex_try_lock run_rwmutex_try_lock
#define weft_rwmutex_lock_for run_rwmutex_lock_for
#define weft_rwmutex_unlock run_rwmutex_unlock
#define weft_rwmutex_rlock run_rwmutex_rlock
#define weft_rwmutex_try_rlock run_rwmutex_try_rlock
#define weft_rwmutex_rlock_for run_rwmutex_rlock_for
#define weft_rwmutex_runlock run_rwmutex_runlock

// scheduler.h
#define WEFT_MAX_P_COUNT RUN_MAX_P_COUNT
#define WEFT_MAX_M_COUNT RUN_MAX_M_COUNT
#define WEFT_STACKS_AUTOMATIC RUN_STACKS_AUTOMATIC
#define WEFT_STACKS_PAGED RUN_STACKS_PAGED
#define WEFT_STACKS_FIXED RUN_STACKS_FIXED
#define WEFT_STACKS_GROWING RUN_STACKS_GROWING
#define weft_stack_policy_t run_stack_policy_t
#define weft_scheduler_opts_t run_scheduler_opts_t
#define WEFT_NO_SIGNAL RUN_NO_SIGNAL
#define WEFT_KEEP_MEMORY RUN_KEEP_MEMORY
#define WEFT_SCHEDULER_OPTS_INIT RUN_SCHEDULER_OPTS_INIT
#define weft_scheduler_init run_scheduler_init
#define weft_scheduler_init_with run_scheduler_init_with
#define weft_scheduler_init_at run_scheduler_init_at
#define weft_scheduler_stop run_scheduler_stop
#define weft_stop_outcome_t run_stop_outcome_t
#define WEFT_STOP_OUTCOME_INIT RUN_STOP_OUTCOME_INIT
#define weft_scheduler_stop_for run_scheduler_stop_for
#define weft_procs run_procs
#define weft_set_max_procs run_set_max_procs

// scope.h
#define weft_scope_t run_scope_t
#define weft_scope_opts_t run_scope_opts_t
#define WEFT_SCOPE_OPTS_INIT RUN_SCOPE_OPTS_INIT
#define weft_scope_begin run_scope_begin
#define weft_scope_begin_with run_scope_begin_with
#define weft_scope_go run_scope_go
#define weft_scope_go_at run_scope_go_at
#define weft_scope_cancel run_scope_cancel
#define weft_scope_is_cancelled run_scope_is_cancelled
#define weft_scope_join run_scope_join
#define weft_cancel_status run_cancel_status
#define weft_shield_begin run_shield_begin
#define weft_shield_end run_shield_end

// select.h
#define WEFT_SELECT_RECV RUN_SELECT_RECV
#define WEFT_SELECT_SEND RUN_SELECT_SEND
#define WEFT_SELECT_FUTURE RUN_SELECT_FUTURE
#define WEFT_SELECT_EVENT RUN_SELECT_EVENT
#define WEFT_SELECT_TIMER RUN_SELECT_TIMER
#define WEFT_SELECT_READABLE RUN_SELECT_READABLE
#define WEFT_SELECT_WRITABLE RUN_SELECT_WRITABLE
#define weft_select_op_t run_select_op_t
#define weft_select_case_t run_select_case_t
#define weft_make_case run_make_case
#define weft_recv_case run_recv_case
#define weft_send_case run_send_case
#define weft_future_case run_future_case
#define weft_event_case run_event_case
#define weft_timer_case run_timer_case
#define weft_timer_t run_timer_t
#define weft_readable_case run_readable_case
#define weft_writable_case run_writable_case
#define weft_select run_select
#define weft_select_first run_select_first

// semaphore.h
#define weft_semaphore_t run_semaphore_t
#define weft_semaphore_make run_semaphore_make
#define weft_semaphore_free run_semaphore_free
#define weft_semaphore_acquire run_semaphore_acquire
#define weft_semaphore_try_acquire run_semaphore_try_acquire
#define weft_semaphore_acquire_for run_semaphore_acquire_for
#define weft_semaphore_release run_semaphore_release

// sim.h
#define WEFT_SIM_PORTFOLIO RUN_SIM_PORTFOLIO
#define WEFT_SIM_RANDOM_WALK RUN_SIM_RANDOM_WALK
#define WEFT_SIM_PCT RUN_SIM_PCT
#define WEFT_SIM_PARTIAL_ORDER RUN_SIM_PARTIAL_ORDER
#define WEFT_SIM_UNIFORM_WALK RUN_SIM_UNIFORM_WALK
#define WEFT_SIM_EXHAUSTIVE RUN_SIM_EXHAUSTIVE
#define WEFT_SIM_DPOR RUN_SIM_DPOR
#define WEFT_SIM_DELAY_BOUNDED RUN_SIM_DELAY_BOUNDED
#define weft_sim_strategy_t run_sim_strategy_t
#define WEFT_SIM_PASSED RUN_SIM_PASSED
#define WEFT_SIM_FAILED RUN_SIM_FAILED
#define WEFT_SIM_DEADLOCK RUN_SIM_DEADLOCK
#define WEFT_SIM_LEAKED RUN_SIM_LEAKED
#define WEFT_SIM_LIVELOCK RUN_SIM_LIVELOCK
#define WEFT_SIM_RACE RUN_SIM_RACE
#define WEFT_SIM_UNCONTROLLED RUN_SIM_UNCONTROLLED
#define WEFT_SIM_UNREPEATABLE RUN_SIM_UNREPEATABLE
#define WEFT_SIM_LOCK_ORDER RUN_SIM_LOCK_ORDER
#define WEFT_SIM_STARVED RUN_SIM_STARVED
#define weft_sim_verdict_t run_sim_verdict_t
#define weft_sim_opts_t run_sim_opts_t
#define WEFT_SIM_OPTS_INIT RUN_SIM_OPTS_INIT
#define weft_sim_report_t run_sim_report_t
#define weft_sim_explore run_sim_explore
#define weft_sim_replay run_sim_replay
#define weft_sim_check_repeatable run_sim_check_repeatable
#define weft_sim_verdict run_sim_verdict
#define weft_sim_reason run_sim_reason
#define weft_sim_schedule run_sim_schedule
#define weft_sim_text run_sim_text
#define weft_sim_schedules run_sim_schedules
#define weft_sim_steps run_sim_steps
#define weft_sim_report_free run_sim_report_free
#define weft_sim_choose run_sim_choose
#define weft_sim_fail run_sim_fail
#define WEFT_SIM_TEXT_ RUN_SIM_TEXT_
#define WEFT_SIM_PLACE_ RUN_SIM_PLACE_
#define WEFT_SIM_CHECK RUN_SIM_CHECK

// spawn.h
#define weft_label_t run_label_t
#define WEFT_PRIORITY_NORMAL RUN_PRIORITY_NORMAL
#define WEFT_PRIORITY_HIGH RUN_PRIORITY_HIGH
#define WEFT_PRIORITY_LOW RUN_PRIORITY_LOW
#define weft_priority_t run_priority_t
#define WEFT_SPAWN_OPTS_INIT RUN_SPAWN_OPTS_INIT
#define weft_spawn run_spawn
#define weft_spawn_with run_spawn_with
#define weft_spawn_at run_spawn_at
#define weft_yield run_yield
#define weft_checkpoint run_checkpoint
#define weft_g_id run_g_id
#define weft_g_name run_g_name
#define weft_set_name run_set_name
#define weft_set_label run_set_label
#define weft_set_priority run_set_priority
#define weft_get_priority run_get_priority
#define weft_pin run_pin
#define weft_unpin run_unpin

// time.h
#define weft_sleep_ns run_sleep_ns
#define weft_sleep_until_ns run_sleep_until_ns
#define weft_timer_make run_timer_make
#define weft_after_func run_after_func
#define weft_after_func_at run_after_func_at
#define weft_timer_free run_timer_free
#define weft_timer_wait run_timer_wait
#define weft_timer_wait_for run_timer_wait_for
#define weft_timer_stop run_timer_stop
#define weft_timer_reset run_timer_reset

// vmem.h
#define WEFT_STACK_SIZE RUN_STACK_SIZE
#define WEFT_STACK_INITIAL RUN_STACK_INITIAL
#define WEFT_GUARD_SIZE RUN_GUARD_SIZE
#define WEFT_VMEM_NONE RUN_VMEM_NONE
#define WEFT_VMEM_READ RUN_VMEM_READ
#define WEFT_VMEM_READWRITE RUN_VMEM_READWRITE
#define weft_vmem_access_t run_vmem_access_t
#define weft_vmem_page_size run_vmem_page_size
#define weft_vmem_reserve run_vmem_reserve
#define weft_vmem_commit run_vmem_commit
#define weft_vmem_protect run_vmem_protect
#define weft_vmem_release run_vmem_release
#define weft_vmem_alloc run_vmem_alloc
#define weft_vmem_free run_vmem_free
#define weft_vmem_alloc_reserve run_vmem_alloc_reserve
#define WEFT_STACK_MAX RUN_STACK_MAX
#define weft_stack_max_size run_stack_max_size
#define weft_stack_alloc run_stack_alloc
#define weft_stack_free run_stack_free

// wait_group.h
#define weft_wait_group_t run_wait_group_t
#define weft_wait_group_make run_wait_group_make
#define weft_wait_group_free run_wait_group_free
#define weft_wait_group_add run_wait_group_add
#define weft_wait_group_done run_wait_group_done
#define weft_wait_group_wait run_wait_group_wait
#define weft_wait_group_wait_for run_wait_group_wait_for
#define weft_wait_group_go run_wait_group_go
#define weft_wait_group_go_at run_wait_group_go_at
// clang-format on

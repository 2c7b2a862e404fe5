#pragma once

namespace hotgemm {

// At the end of a program, exit() calls what was registered last first. The destructors of a library are registered
// when the library is opened, and some when it is first used. So a handler that stops the threads which use the library
// must be registered again behind them, or those threads go on in a library that is being taken apart. While a thread
// opens such a library, no moment is right. But before all that, exit() calls the destructors of the calling thread's
// thread-local objects, and this thread is the main one in most programs.

/// Calls `function` at the end of the program, perhaps several times: once for each renewal. Calls it at once if this
/// end has begun.
void add_exit_handler(void (*function)());

/// Registers the handlers once more, so that they are called before all that is registered now. To be called after a
/// library was opened, and after its first use if that registers something.
void renew_exit_handlers();

/// On the main thread: the handlers are the first to be called if this thread ends the program. Elsewhere does nothing.
/// They are called too if the main thread ends by itself and others go on, which then can no longer compile or tune.
void watch_main_thread();

}  // namespace hotgemm

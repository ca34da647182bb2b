#include "dsm/memory/thread_stack.h"

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace iw::dsm {
namespace {

std::uintptr_t interrupted_stack(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.sp;
#else
#error "the stack pointer of a signal's context is not known for this processor"
#endif
}

// The stack grows down from `top`, a multiple of 16. Callee-saved registers keep what is needed
// after the call.
void call_on(std::uintptr_t top, void (*function)(void*), void* argument) {
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[function]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(argument)
      : [top] "r"(top), [function] "r"(function)
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
  register void* first asm("x0") = argument;
  asm volatile(
      "mov x19, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[function]\n\t"
      "mov sp, x19"
      : "+r"(first)
      : [top] "r"(top), [function] "r"(function)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
        "x15", "x16", "x17", "x18", "x19", "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4",
        "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",
        "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

struct Call {
  void (*function)(void*);
  void* argument;
};

// For the kernel a thread that left its alternative stack is not on it: the next signal would begin
// at the top of that stack and overwrite the handler that we return to. So it is off meanwhile.
void call_without_alternative(void* argument) {
  const Call& call = *static_cast<Call*>(argument);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  stack_t alternative{};
  const bool is_off = sigaltstack(&none, &alternative) == 0;
  call.function(call.argument);
  if (is_off) sigaltstack(&alternative, nullptr);
}

}  // namespace

void call_on_interrupted_stack(void* context, void (*function)(void*), void* argument) {
  const auto& interrupted = *static_cast<const ucontext_t*>(context);
  const stack_t& alternative = interrupted.uc_stack;
  const auto lies_in_it = [&](std::uintptr_t address) {
    return address - reinterpret_cast<std::uintptr_t>(alternative.ss_sp) < alternative.ss_size;
  };
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t stack = interrupted_stack(interrupted);
  if (!lies_in_it(here) || lies_in_it(stack)) return function(argument);
  // The interrupted function may use 128 bytes below its stack pointer.
  constexpr std::uintptr_t red_zone = 128;
  Call call{function, argument};
  call_on((stack - red_zone) & ~std::uintptr_t{15}, call_without_alternative, &call);
}

}  // namespace iw::dsm

#ifndef TRANSFER_CLINUX_CRASH_H
#define TRANSFER_CLINUX_CRASH_H

// The report that a process writes when a signal is about to end it: the signal, the place in the code, and the
// backtrace. It is written in C, because a signal handler may do almost nothing (signal-safety(7)): no allocation, no
// lock, no Swift. Each step is a system call that uses only numbers and the handler's own memory, so a damaged heap or
// a held lock does not matter.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

// The most frames to write: a recursion that used up the whole stack has millions.
enum { clinux_crash_frames = 128, clinux_crash_stack_size = 64 << 10 };

static int clinux_crash_output = -1;
static int clinux_crash_begun = 0;
static int clinux_crash_pipe[2] = {-1, -1};

static inline void clinux_crash_write(const char *text, size_t count) {
    while (count > 0) {
        long written = syscall(SYS_write, clinux_crash_output, text, count);
        if (written <= 0) return;
        text += written;
        count -= (size_t)written;
    }
}

static inline void clinux_crash_text(const char *text) {
    size_t count = 0;
    while (text[count] != 0) count++;
    clinux_crash_write(text, count);
}

static inline void clinux_crash_number(uint64_t value, unsigned base) {
    char digits[24];
    size_t first = sizeof digits;
    do {
        digits[--first] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    clinux_crash_write(digits + first, sizeof digits - first);
}

static inline void clinux_crash_address(uint64_t address) {
    clinux_crash_text("0x");
    clinux_crash_number(address, 16);
}

// Reads two words of this process's memory; returns 0 if they cannot be read, where a plain access would be another
// fault. They are copied through a pipe: write(2) fails if it cannot read the memory, and containers often forbid
// process_vm_readv(2).
static inline int clinux_crash_peek(uint64_t address, uint64_t words[2]) {
    return syscall(SYS_write, clinux_crash_pipe[1], (const void *)(uintptr_t)address, 16) == 16
        && syscall(SYS_read, clinux_crash_pipe[0], words, 16) == 16;
}

// The program counter and the frame pointer: registers 16 and 10 of sys/ucontext.h on x86-64, 29 on ARM.
static inline void clinux_crash_registers(const ucontext_t *context, uint64_t *counter, uint64_t *frame) {
#if defined(__x86_64__)
    *counter = (uint64_t)context->uc_mcontext.gregs[16];
    *frame = (uint64_t)context->uc_mcontext.gregs[10];
#elif defined(__aarch64__)
    *counter = context->uc_mcontext.pc;
    *frame = context->uc_mcontext.regs[29];
#else
    *counter = *frame = 0;
#endif
}

// Follows the frame pointers, which Swift keeps: each frame begins with the caller's pointer and the return address.
static inline void clinux_crash_walk(uint64_t counter, uint64_t frame) {
    for (int number = 0; number < clinux_crash_frames; number++) {
        clinux_crash_text("  ");
        clinux_crash_address(counter);
        clinux_crash_text("\n");
        uint64_t words[2];
        if (frame % 8 != 0 || !clinux_crash_peek(frame, words) || words[1] == 0) return;
        counter = words[1];
        // Callers have higher addresses. Asynchronous frames of Swift mark their pointers in bit 60.
        uint64_t next = words[0] & ~(1ULL << 60);
        if (next <= frame) return;
        frame = next;
    }
}

// Writes the lines of /proc/self/maps about executable memory, by which the addresses of the backtrace can be found in
// the program's files.
static inline void clinux_crash_maps(void) {
    int maps = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (maps < 0) return;
    char line[512], block[1024];
    size_t length = 0;
    long count;
    while ((count = syscall(SYS_read, maps, block, sizeof block)) > 0) {
        for (long at = 0; at < count; at++) {
            if (length < sizeof line) line[length++] = block[at];
            if (block[at] != '\n') continue;
            int is_code = 0;
            for (size_t look = 0; look + 3 < length && !is_code; look++)
                is_code = line[look] == ' ' && line[look + 1] == 'r' && line[look + 3] == 'x';
            line[length - 1] = '\n';
            if (is_code) clinux_crash_write(line, length);
            length = 0;
        }
    }
    syscall(SYS_close, maps);
}

static inline void clinux_crash_report(int number, const siginfo_t *info, const ucontext_t *context) {
    uint64_t counter, frame;
    char name[16] = {0};
    clinux_crash_registers(context, &counter, &frame);
    prctl(PR_GET_NAME, name, 0, 0, 0);
    clinux_crash_text("code: ");
    clinux_crash_number((uint64_t)(uint32_t)info->si_code, 10);
    clinux_crash_text(number == SIGABRT ? "\naddress: -\nthread: " : "\naddress: ");
    if (number != SIGABRT) {
        clinux_crash_address((uint64_t)(uintptr_t)info->si_addr);
        clinux_crash_text("\nthread: ");
    }
    clinux_crash_text(name);
    clinux_crash_text("\nbacktrace:\n");
    clinux_crash_walk(counter, frame);
    clinux_crash_text("code in memory:\n");
    clinux_crash_maps();
}

// All signals are blocked during the handler, so that a fault in it ends the process at once. If several threads fail
// together, one writes the report, and the others wait for the end of the process.
static inline void clinux_crash_on_signal(int number, siginfo_t *info, void *context) {
    if (__atomic_exchange_n(&clinux_crash_begun, 1, __ATOMIC_ACQ_REL) != 0)
        for (;;) pause();
    clinux_crash_report(number, info, (const ucontext_t *)context);
    // The process ends as it does without a handler: the parent process sees the signal, and the kernel writes a core
    // dump.
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

// Gives the calling thread a stack for the handler, because an overflowed stack has no room for it.
static inline int clinux_crash_prepare_thread(void) {
    void *stack = mmap(NULL, clinux_crash_stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) return -1;
    stack_t other = {.ss_sp = stack, .ss_size = clinux_crash_stack_size};
    return sigaltstack(&other, NULL);
}

// Makes the process write to `output` when one of these signals ends it.
static inline int clinux_crash_prepare(int output) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT};
    if (syscall(SYS_pipe2, clinux_crash_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    clinux_crash_output = output;
    struct sigaction action = {.sa_sigaction = clinux_crash_on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (size_t each = 0; each < sizeof signals / sizeof *signals; each++) {
        if (sigaction(signals[each], &action, NULL) != 0) return -1;
    }
    return clinux_crash_prepare_thread();
}

// Makes an anonymous memory file of `size` bytes for a report. Writers cannot enlarge it (memfd_create(2)).
static inline int clinux_crash_file(size_t size) {
    int file = (int)syscall(SYS_memfd_create, "transfer-crash", 3 /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
    if (file < 0) return -1;
    // F_ADD_SEALS; F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW (fcntl(2)).
    if (ftruncate(file, (off_t)size) != 0 || fcntl(file, 1033, 1 | 2 | 4) != 0) {
        close(file);
        return -1;
    }
    return file;
}

#endif

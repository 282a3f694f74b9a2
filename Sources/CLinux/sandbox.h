#ifndef TRANSFER_CLINUX_SANDBOX_H
#define TRANSFER_CLINUX_SANDBOX_H

// What a process needs that decodes pictures of strangers, and the process that starts it: a filter of system calls,
// descriptors that are sent to another process, memory as a file.

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CLINUX_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CLINUX_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

#define CLINUX_ALLOW(number)                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),    \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define CLINUX_ANSWER(number, code)                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),    \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))

// Allows a call unless one of these bits is set in the argument with this index, which kills the process.
#define CLINUX_ALLOW_WITHOUT(number, index, bits)                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4),                                \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[index])), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1),                             \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),                            \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// Loads the number of the call, on the machine that this was built for.
#define CLINUX_BEGIN_CALLS                                                          \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),        \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLINUX_AUDIT_ARCH, 1, 0),               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),                        \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

// Advice about memory without that by which root takes memory away from the machine (linux/mman.h, MADV_HWPOISON).
enum { clinux_plain_advice = 0x1F };

// Reading and writing what is open, and memory that is not executable. The runtime of Swift calls futex(2) although it
// has one thread, and qsort(3) asks for the size of the memory.
#define CLINUX_PLAIN_CALLS                                                                              \
    CLINUX_ALLOW(SYS_brk), CLINUX_ALLOW(SYS_clock_gettime), CLINUX_ALLOW(SYS_exit),                     \
        CLINUX_ALLOW(SYS_exit_group), CLINUX_ALLOW(SYS_futex), CLINUX_ALLOW(SYS_getrandom), CLINUX_ALLOW(SYS_gettid), \
        CLINUX_ALLOW(SYS_mremap), CLINUX_ALLOW(SYS_munmap), CLINUX_ALLOW(SYS_pread64),                  \
        CLINUX_ALLOW(SYS_read), CLINUX_ALLOW(SYS_rt_sigreturn), CLINUX_ALLOW(SYS_sysinfo),              \
        CLINUX_ALLOW(SYS_write), CLINUX_ALLOW_WITHOUT(SYS_madvise, 2, ~clinux_plain_advice),            \
        CLINUX_ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC)

// Starting threads. Signals stay as they are, so that no thread can outlive a limit; nor do threads get names. The C
// library tries clone3(2) first, whose flags a filter cannot see; for clone(2) it uses these flags (linux/sched.h):
// CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD, CLONE_SYSVSEM, CLONE_SETTLS, CLONE_PARENT_SETTID and
// CLONE_CHILD_CLEARTID.
enum { clinux_thread_flags = 0x3D0F00 };

#define CLINUX_THREAD_CALLS                                                                             \
    CLINUX_ANSWER(SYS_clone3, ENOSYS), CLINUX_ANSWER(SYS_prctl, 0), CLINUX_ANSWER(SYS_rt_sigaction, 0), \
        CLINUX_ANSWER(SYS_rt_sigprocmask, 0), CLINUX_ALLOW(SYS_rseq),         \
        CLINUX_ALLOW(SYS_sched_getaffinity), CLINUX_ALLOW(SYS_sched_yield),                             \
        CLINUX_ALLOW(SYS_set_robust_list), CLINUX_ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),            \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),                                           \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),                     \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, clinux_thread_flags, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define CLINUX_END_CALLS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

// Restricts the calling thread, and those that it starts, for good to the calls above (seccomp(2)). Every other system
// call kills the process. Requires no_new_privs. Fails with ENOSYS on machines whose calls are not known here.
static inline int clinux_forbid_calls(bool allows_threads) {
#ifdef CLINUX_AUDIT_ARCH
    static const struct sock_filter plain[] = {CLINUX_BEGIN_CALLS, CLINUX_PLAIN_CALLS, CLINUX_END_CALLS};
    static const struct sock_filter threads[] = {
        CLINUX_BEGIN_CALLS, CLINUX_PLAIN_CALLS, CLINUX_THREAD_CALLS, CLINUX_END_CALLS};
    struct sock_fprog filter = {sizeof plain / sizeof *plain, (struct sock_filter *)plain};
    if (allows_threads) filter = (struct sock_fprog){sizeof threads / sizeof *threads, (struct sock_filter *)threads};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}

// Keeps other processes of the user from looking into this one.
static inline int clinux_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

static inline int clinux_refuse_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

static inline int clinux_restrict_self(int ruleset) { return (int)syscall(446, ruleset, 0); }

// Linux 5.9 and 5.3; the numbers are the same on all machines.
static inline int clinux_close_from(unsigned first) { return (int)syscall(436, first, ~0u, 0); }
static inline int clinux_pidfd(pid_t process) { return (int)syscall(434, process, 0); }

// The number of a child that has ended, which stays to be waited for; 0 or -1 without one (waitid(2) with P_ALL, and
// WEXITED, WNOHANG and WNOWAIT of linux/wait.h, whose types the C library declares in sys/wait.h).
static inline int clinux_ended_child(void) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return syscall(SYS_waitid, 0, 0, &info, 4 | 1 | 0x01000000, NULL) == 0 ? (int)info.si_pid : -1;
}

// memfd_create(2) with the flags MFD_CLOEXEC and MFD_ALLOW_SEALING. The file has a fixed size.
static inline int clinux_fixed_memory(off_t size) {
    int file = (int)syscall(SYS_memfd_create, "transfer", 3u);
    if (file < 0) return -1;
    // F_ADD_SEALS with F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW (linux/fcntl.h).
    if (ftruncate(file, size) == 0 && fcntl(file, 1033, 7) == 0) return file;
    int code = errno;
    close(file);
    errno = code;
    return -1;
}

enum { clinux_most_descriptors = 2 };

// Sends one message with descriptors to the other end of a socket pair, without blocking.
static inline ssize_t clinux_send_descriptors(
    int socket, const void *bytes, size_t size, const int *descriptors, size_t count) {
    union {
        struct cmsghdr first;
        unsigned char bytes[CMSG_SPACE(clinux_most_descriptors * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    if (count > clinux_most_descriptors) {
        errno = EINVAL;
        return -1;
    }
    struct iovec content = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.first.cmsg_level = SOL_SOCKET;
        control.first.cmsg_type = SCM_RIGHTS;
        control.first.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.first), descriptors, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Receives one message without blocking. `descriptors` gets up to two descriptors, which the caller owns, or -1.
static inline ssize_t clinux_receive_descriptors(int socket, void *bytes, size_t size, int *descriptors) {
    union {
        struct cmsghdr first;
        unsigned char bytes[CMSG_SPACE(clinux_most_descriptors * sizeof(int))];
    } control;
    struct iovec space = {bytes, size};
    struct msghdr message = {
        .msg_iov = &space, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    for (int index = 0; index < clinux_most_descriptors; index++) descriptors[index] = -1;
    // MSG_CMSG_CLOEXEC (bits/socket.h).
    ssize_t result = recvmsg(socket, &message, MSG_DONTWAIT | 0x40000000);
    if (result < 0) return result;
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    if (item && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
        memcpy(descriptors, CMSG_DATA(item), item->cmsg_len - CMSG_LEN(0));
    }
    return result;
}

#endif

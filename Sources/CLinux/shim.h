#ifndef TRANSFER_CLINUX_SHIM_H
#define TRANSFER_CLINUX_SHIM_H

// Functions that Swift's Glibc module lacks, such as epoll, eventfd and openat2, and function-like macros that Swift
// cannot import. Each wrapper makes one system call and leaves errno alone.
//
// _GNU_SOURCE must not be defined here: glibc would declare some types differently from the Glibc module, and the two
// modules could not be imported together. The functions that it would declare are called through syscall(2) instead.

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

// ID of the mount through which a file or directory was opened (statx(2), STATX_MNT_ID, Linux 5.8); 0 if the kernel
// doesn't say.
static inline uint64_t clinux_mount_id(int fd) {
    // struct statx has 256 bytes, with stx_mask at 0 and stx_mnt_id at 144. The header that defines it cannot be
    // included together with Glibc's.
    unsigned char status[256];
    uint32_t mask;
    uint64_t id;
    int saved = errno;
    long result = syscall(SYS_statx, fd, "", 0x1000, 0x1000u, status);
    errno = saved;
    __builtin_memcpy(&mask, status, sizeof mask);
    __builtin_memcpy(&id, status + 144, sizeof id);
    return result == 0 && (mask & 0x1000u) ? id : 0;
}

static inline int clinux_openat2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static inline int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags, mode);
}

static inline int clinux_renameat2(int from, const char *old, int to, const char *name, unsigned flags) {
    return (int)syscall(SYS_renameat2, from, old, to, name, flags);
}

// Constants of linux/fs.h, bits/fcntl-linux.h and bits/stat.h; the original names need _GNU_SOURCE, or are macros that
// Swift cannot import.
static const unsigned clinux_rename_noreplace = 1;
// RENAME_EXCHANGE, from the same header.
static const unsigned clinux_rename_exchange = 2;
static const int clinux_o_tmpfile = __O_TMPFILE | O_DIRECTORY;
/* lseek(2); glibc shows them only with _GNU_SOURCE. */
static const int clinux_seek_data = 3;
static const int clinux_seek_hole = 4;
static const int clinux_o_directory = O_DIRECTORY;
static const int clinux_o_nofollow = O_NOFOLLOW;
static const long clinux_utime_omit = UTIME_OMIT;
static const int clinux_at_empty_path = 0x1000;
static const unsigned clinux_sync_file_range_wait = 1;
static const unsigned clinux_sync_file_range_write = 2;

static inline int clinux_fallocate(int fd, int mode, off_t offset, off_t length) {
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

/* ioctl_ficlonerange(2): lets a file share all content of another one, where the file system can. */
static inline int clinux_clone(int file, int source) {
    /* FICLONE of linux/fs.h, which cannot be included beside sys/mount.h. */
    return ioctl(file, _IOW(0x94, 9, int), source);
}

// The calls of xattr(7); the Glibc module leaves sys/xattr.h out.
static inline ssize_t clinux_flistxattr(int fd, char *names, size_t size) {
    return (ssize_t)syscall(SYS_flistxattr, fd, names, size);
}

/* Linux 6.13; the same number on all machines but Alpha. */
#ifndef SYS_listxattrat
#define SYS_listxattrat 465
#endif
static inline ssize_t clinux_listxattrat(int directory, const char *name, char *names, size_t size) {
    return (ssize_t)syscall(SYS_listxattrat, directory, name, AT_SYMLINK_NOFOLLOW, names, size);
}

static inline ssize_t clinux_fgetxattr(int fd, const char *name, void *value, size_t size) {
    return (ssize_t)syscall(SYS_fgetxattr, fd, name, value, size);
}

static inline int clinux_fsetxattr(int fd, const char *name, const void *value, size_t size) {
    return (int)syscall(SYS_fsetxattr, fd, name, value, size, 0);
}

static inline int clinux_fremovexattr(int fd, const char *name) { return (int)syscall(SYS_fremovexattr, fd, name); }

static inline int clinux_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return (int)syscall(SYS_accept4, fd, address, length, flags);
}

// fcntl(2), F_SETSIG and F_SETLEASE; glibc shows them only with _GNU_SOURCE.
static inline int clinux_set_lease_signal(int fd, int signal) { return fcntl(fd, 10, signal); }
static inline int clinux_set_lease(int fd, int kind) { return fcntl(fd, 1024, kind); }

static inline int clinux_syncfs(int fd) { return (int)syscall(SYS_syncfs, fd); }

static inline int clinux_sync_file_range(int fd, off_t offset, off_t length, unsigned flags) {
    return (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
}

// Returns the type of the file system as a number of linux/magic.h. A wrapper is necessary because in Swift the name
// `statfs` means the function and not the structure.
static inline int clinux_file_system_type(int fd, long *type) {
    struct statfs status;
    if (fstatfs(fd, &status) != 0) return -1;
    *type = (long)status.f_type;
    return 0;
}

// Makes the kernel send the calling process this signal when its parent ends.
static inline int clinux_end_with_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

// The effective capabilities of this process, from capget(2), for which the C library has no function; 0 if the kernel
// doesn't report them.
static inline uint64_t clinux_effective_capabilities(void) {
    // The header (linux/capability.h) asks for version 3 and this process. The sets are effective, permitted and
    // inheritable, first the low 32 bits of each, then the high ones.
    uint32_t header[2] = {0x20080522, 0};
    uint32_t sets[6] = {0};
    int saved = errno;
    long result = syscall(SYS_capget, header, sets);
    errno = saved;
    return result == 0 ? (uint64_t)sets[3] << 32 | sets[0] : 0;
}

static inline int clinux_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

static inline int clinux_terminal_size(int fd, struct winsize *size) { return ioctl(fd, TIOCGWINSZ, size); }

// Bytes that the peer's system has not acknowledged (SIOCOUTQ of tcp(7) and unix(7)).
static inline int clinux_unacknowledged(int fd, int *count) { return ioctl(fd, SIOCOUTQ, count); }

// Milliseconds since data last arrived on a TCP connection: tcpi_last_data_recv of struct tcp_info, at offset 52
// (linux/tcp.h, which cannot be included together with Glibc's). IPPROTO_TCP is 6, TCP_INFO 11; the structure only ever
// grows.
static inline int clinux_since_data(int fd, uint32_t *milliseconds) {
    uint32_t words[14];
    socklen_t size = sizeof words;
    if (getsockopt(fd, 6, 11, words, &size) != 0 || size < sizeof words) return -1;
    *milliseconds = words[13];
    return 0;
}

// Measurements of a TCP connection in struct tcp_info as above: the shortest and the smoothed round trip in
// microseconds (tcpi_min_rtt, tcpi_rtt), retransmitted segments (tcpi_total_retrans), acknowledged bytes
// (tcpi_bytes_acked), and the microseconds in which there was something to send (tcpi_busy_time), in which the peer's
// window limited it (tcpi_rwnd_limited), and in which the local buffer did (tcpi_sndbuf_limited).
struct clinux_link {
    uint32_t least_round_trip, round_trip, sent_again;
    uint64_t acknowledged, busy, window_limited, buffer_limited;
};

static inline int clinux_read_link(int fd, struct clinux_link *link) {
    uint64_t words[24];
    socklen_t size = sizeof words;
    if (getsockopt(fd, 6, 11, words, &size) != 0 || size < sizeof words) return -1;
    link->least_round_trip = ((uint32_t *)words)[37];
    link->round_trip = ((uint32_t *)words)[17];
    link->sent_again = ((uint32_t *)words)[25];
    link->acknowledged = words[15];
    link->busy = words[21];
    link->window_limited = words[22];
    link->buffer_limited = words[23];
    return 0;
}

// landlock(7). The numbers are those of linux/landlock.h, which is older than the kernel on many systems. The
// structures only ever grow, and a kernel accepts a longer one than it knows if the rest is zero.
static inline int clinux_landlock_version(void) { return (int)syscall(444, NULL, 0, 1); }

static inline int clinux_landlock_create(uint64_t files, uint64_t network, uint64_t scoped) {
    struct {
        uint64_t files, network, scoped;
    } attributes = {files, network, scoped};
    return (int)syscall(444, &attributes, sizeof attributes, 0);
}

static inline int clinux_landlock_allow(int ruleset, int directory, uint64_t rights) {
    struct __attribute__((packed)) {
        uint64_t rights;
        int32_t directory;
    } rule = {rights, directory};
    return (int)syscall(445, ruleset, 1, &rule, 0);
}

// Permits connecting to a TCP port, from version 4 on.
static inline int clinux_landlock_allow_port(int ruleset, uint64_t port) {
    struct {
        uint64_t rights, port;
    } rule = {1 << 1, port};
    return (int)syscall(445, ruleset, 2, &rule, 0);
}

// Confines the calling thread, and all threads that it will start, to the rules. Without rules, only no_new_privs is
// set.
//
// The thread sanitizer must not observe what threads do in the handler below, because it does not know some of the
// threads that it starts itself.
#define CLINUX_UNOBSERVED __attribute__((disable_sanitizer_instrumentation))

CLINUX_UNOBSERVED static inline int clinux_confine_thread(int ruleset) {
    if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return ruleset < 0 ? 0 : (int)syscall(446, ruleset, 0);
}

// Other threads confine themselves in a signal handler, one at a time, as the C library does when it changes the user
// ID of all threads. The signal is SIGSYS, because Dispatch blocks most other signals on its threads, and other
// programs do not send SIGSYS.
static int clinux_confinement_rules = -1;
static int clinux_confinement_answer = 0;

CLINUX_UNOBSERVED static inline void clinux_confine_on_signal(int signal) {
    (void)signal;
    int before = errno;
    int rules = __atomic_load_n(&clinux_confinement_rules, __ATOMIC_ACQUIRE);
    int code = clinux_confine_thread(rules) == 0 ? 1 : -errno;
    __atomic_store_n(&clinux_confinement_answer, code, __ATOMIC_RELEASE);
    errno = before;
}

// The C library's internal name for sigaction. The thread sanitizer replaces only the public name, and its replacement
// requires that the sanitizer knows all threads.
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *before);

static inline int clinux_prepare_confinement(int ruleset, struct sigaction *before) {
    __atomic_store_n(&clinux_confinement_rules, ruleset, __ATOMIC_RELEASE);
    struct sigaction action = {.sa_handler = clinux_confine_on_signal, .sa_flags = SA_RESTART};
    return __sigaction(SIGSYS, &action, before);
}

static inline int clinux_ask_for_confinement(int process, int thread) {
    __atomic_store_n(&clinux_confinement_answer, 0, __ATOMIC_RELEASE);
    return (int)syscall(SYS_tgkill, process, thread, SIGSYS);
}

// Returns 1 if the thread is confined, a negated errno if it cannot be confined, and 0 if it has not answered yet.
static inline int clinux_confinement_reply(void) {
    return __atomic_load_n(&clinux_confinement_answer, __ATOMIC_ACQUIRE);
}

static inline int clinux_thread(void) { return (int)syscall(SYS_gettid); }

static const int clinux_o_path = 010000000;

// epoll_data is a union, which is inconvenient in Swift; the event loop uses only its 64 bits. The kernel returns a tag
// unchanged, so its byte order does not matter.
static inline int clinux_epoll_ctl(int epoll, int operation, int fd, uint32_t events, uint64_t tag) {
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return epoll_ctl(epoll, operation, fd, &event);
}

static inline uint64_t clinux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }

#endif

#ifndef TRANSFER_CLINUX_SHIM_H
#define TRANSFER_CLINUX_SHIM_H

// What Swift's Glibc module lacks: epoll, eventfd, openat2 and friends, and the function-like macros that Swift cannot
// import. Each wrapper is one system call and leaves errno alone.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static inline int clinux_openat2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static inline int clinux_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

static inline int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags, mode);
}

static inline int clinux_renameat2(int from, const char *old, int to, const char *name, unsigned flags) {
    return renameat2(from, old, to, name, flags);
}

static inline int clinux_o_tmpfile(void) { return O_TMPFILE; }

static inline int clinux_fionread(int fd, int *bytes) { return ioctl(fd, FIONREAD, bytes); }

static inline int clinux_terminal_size(int fd, struct winsize *size) { return ioctl(fd, TIOCGWINSZ, size); }

// epoll_data is a union, which Swift imports awkwardly; the loop only ever uses its 64 bits.
static inline int clinux_epoll_ctl(int epoll, int operation, int fd, uint32_t events, uint64_t tag) {
    struct epoll_event event = {.events = events, .data = {.u64 = tag}};
    return epoll_ctl(epoll, operation, fd, &event);
}

static inline uint64_t clinux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }

#endif

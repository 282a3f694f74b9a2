#ifndef TRANSFER_CSPAWN_H
#define TRANSFER_CSPAWN_H

// Functions for tests that start processes. Swift's Glibc module lacks them, because glibc declares them only with
// _GNU_SOURCE (shim.h of CLinux says why that must not be defined here). This file includes no header that defines
// types: Swift would import pid_t as a type of this module.

#include <sys/syscall.h>

extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int first);
extern long syscall(long number, ...);

// Adds an action to a posix_spawn_file_actions_t: the process closes this descriptor and all above it (glibc 2.34).
// Returns an error number.
static inline int cspawn_close_from(void *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

// POSIX_SPAWN_SETSID of spawn.h: the process leads a new session.
static const short cspawn_new_session = 0x80;

// Makes a pipe whose ends no program inherits (O_CLOEXEC), not even one that another thread starts at this moment.
static inline int cspawn_pipe(int *ends) { return (int)syscall(SYS_pipe2, ends, 02000000); }

#endif

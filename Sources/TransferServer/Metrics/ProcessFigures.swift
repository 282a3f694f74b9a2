import CLinux
import Glibc
import TransferSystem

/// The kernel's figures about this process. The files in /proc are opened at the start, because a confined process
/// cannot open them later.
final class ProcessFigures: Sendable {
    struct Reading: Sendable {
        /// Processor time in seconds, user and system together.
        let processor: Double
        /// Bytes; nil if they cannot be read.
        let memory: (virtual: UInt64, resident: UInt64)?
        let descriptors: UInt64?
        /// Nil if there is no limit.
        let maximumDescriptors: UInt64?
    }

    /// Descriptors; -1 if the file could not be opened.
    private let memory: Int32
    private let descriptors: Int32

    init() {
        memory = Self.open("/proc/self/statm", O_RDONLY)
        descriptors = Self.open("/proc/self/fd", O_RDONLY | clinux_o_directory)
    }

    deinit {
        for file in [memory, descriptors] where file >= 0 { close(file) }
    }

    var reading: Reading {
        Reading(
            processor: processor, memory: Self.memory(memory), descriptors: Self.count(descriptors),
            maximumDescriptors: limit)
    }

    private static func open(_ path: String, _ flags: Int32) -> Int32 {
        (try? system("open") { clinux_openat(AT_FDCWD, path, flags | O_CLOEXEC, 0) }) ?? -1
    }

    private var processor: Double {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return 0 }
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        return Double(seconds) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    private var limit: UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur != .max else {
            return nil
        }
        return UInt64(limit.rlim_cur)
    }

    /// Reads pages from proc_pid_statm(5), and returns bytes.
    private static func memory(_ file: Int32) -> (virtual: UInt64, resident: UInt64)? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let count = pread(file, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            let words = buffer[..<count].split(separator: UInt8(ascii: " "))
            let numbers = words.prefix(2).compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
            guard numbers.count == 2 else { return nil }
            let page = UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
            return (numbers[0] &* page, numbers[1] &* page)
        }
    }

    /// Number of open descriptors: the size of the folder (proc_pid_fd(5), since Linux 6.2).
    private static func count(_ folder: Int32) -> UInt64? {
        var status = stat()
        guard fstat(folder, &status) == 0, status.st_size > 0 else { return nil }
        return UInt64(status.st_size)
    }
}

internal import CLinux
import Glibc

/// Takes everything from a process but reading and writing what it has open: for code that a stranger's bytes may take
/// over. Only for processes that have a single thread.
package enum Sandbox {
    /// The most that the process may use.
    package struct Limits: Sendable {
        /// Bytes of virtual memory that it may add to what it has.
        package var memory: Int

        /// Seconds of the processor's time.
        package var seconds: Int

        /// Bytes that a file may have that it writes.
        package var output: Int

        /// Whether it may start threads, which share these limits.
        package var allowsThreads: Bool

        package init(memory: Int, seconds: Int, output: Int, allowsThreads: Bool = false) {
            (self.memory, self.seconds, self.output) = (memory, seconds, output)
            self.allowsThreads = allowsThreads
        }
    }

    /// Descriptors that stay open: standard input and standard output.
    private static let descriptors: UInt32 = 2

    /// Threads that the user of the process may have.
    private static let mostThreads = 4096

    /// Enters the sandbox for good. The process ends if the one that started it does, and by SIGSYS with the first
    /// system call that is not allowed.
    ///
    /// - Throws: `SystemError` if the kernel cannot filter system calls. Then the process must not go on.
    package static func enter(_ limits: Limits) throws(SystemError) {
        closeDescriptors(from: Int32(descriptors))
        offerToKill()
        try system("prctl") { clinux_end_with_parent(SIGKILL) }
        try system("prctl") { clinux_hide_memory() }
        // Thumbnails can wait for other work; a service manager may forbid this.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        try limit(RLIMIT_AS, virtualSize + limits.memory)
        // At the first limit the process gets SIGXCPU, at the second SIGKILL, which could have other reasons.
        try limit(RLIMIT_CPU, limits.seconds, hard: limits.seconds + 1)
        try limit(RLIMIT_FSIZE, limits.output)
        try limit(RLIMIT_CORE, 0)
        // The limit is for all processes of the user; root has none.
        if limits.allowsThreads { try limit(__RLIMIT_NPROC, mostThreads) }
        prepareSorting()
        try system("prctl") { clinux_refuse_privileges() }
        // This opens a descriptor for a moment.
        try forbidFiles()
        try limit(RLIMIT_NOFILE, 0)
        try system("seccomp") { clinux_forbid_calls(limits.allowsThreads) }
    }

    /// Forbids all files and sockets by Landlock, in addition to the filter. Not every kernel has it.
    private static func forbidFiles() throws(SystemError) {
        let version = Int(clinux_landlock_version())
        guard version > 0 else { return }
        let rights = LandlockRights(version: version)
        let rules = Descriptor(
            try system("landlock_create_ruleset") {
                clinux_landlock_create(rights.files, rights.network, rights.scopes)
            })
        try system("landlock_restrict_self") { clinux_restrict_self(rules.number) }
    }

    /// Older C libraries read a file about the machine's memory when a larger array is first sorted (qsort(3)).
    private static func prepareSorting() {
        var numbers = [Int](repeating: 0, count: 1024)
        qsort(&numbers, numbers.count, MemoryLayout<Int>.size) { _, _ in 0 }
    }

    /// If the machine runs out of memory, this process goes first (proc(5), oom_score_adj).
    private static func offerToKill() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "1000", 4)
        close(file)
    }

    private static func limit(
        _ resource: __rlimit_resource, _ value: Int, hard: Int? = nil
    ) throws(SystemError) {
        var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(hard ?? value))
        try system("setrlimit") { setrlimit(__rlimit_resource_t(resource.rawValue), &limit) }
    }

    /// Bytes of address space that the process has now (proc(5), statm); 1 GiB if the kernel does not say.
    private static var virtualSize: Int {
        let unknown = 1 << 30
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return unknown }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return unknown }
        let digits = bytes.prefix(count).prefix { $0 != UInt8(ascii: " ") }
        guard let pages = Int(String(decoding: digits, as: UTF8.self)), pages < 1 << 40 else { return unknown }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}

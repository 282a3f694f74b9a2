import Glibc
import Testing
import TransferSystem

/// A descriptor table that only the calling thread uses, and the means to fill it. Other threads, including those of
/// the runtime, neither see the descriptors opened here nor run out of descriptors. The lowered limit applies to the
/// whole process, so the test needs its own process.
struct OwnDescriptors {
    private static let limit: rlim_t = 256

    private var fillers: [Int32] = []

    /// Call this on the thread of the tested loop, and stay on that thread.
    init() throws {
        // With this flag, close_range(2) copies the table and closes no open descriptor. Glibc's module lacks the call.
        typealias CloseRange = @convention(c) (UInt32, UInt32, Int32) -> Int32
        let symbol = try #require(dlsym(nil, "close_range"))
        let unshare: Int32 = 1 << 1
        try system("close_range") { unsafeBitCast(symbol, to: CloseRange.self)(.max, .max, unshare) }
        var limit = rlimit(rlim_cur: Self.limit, rlim_max: Self.limit)
        try system("setrlimit") { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
    }

    /// Number of open descriptors (proc_pid_fd(5)).
    var count: Int {
        get throws {
            guard let stream = opendir("/proc/thread-self/fd") else { throw SystemError(errno: errno, call: "opendir") }
            defer { closedir(stream) }
            var count = 0
            while readdir(stream) != nil { count += 1 }
            return count
        }
    }

    /// Opens all descriptors that are left.
    mutating func takeAll() {
        while true {
            let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard number >= 0 else { return }
            fillers.append(number)
        }
    }

    /// Closes one of the descriptors that `takeAll` has opened.
    mutating func giveBack() {
        if let number = fillers.popLast() { close(number) }
    }
}

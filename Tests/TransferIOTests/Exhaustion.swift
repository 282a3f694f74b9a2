import Glibc
import TransferSystem

/// How many descriptors this process has open (proc_pid_fd(5)).
func descriptorCount() throws(SystemError) -> Int {
    guard let stream = opendir("/proc/self/fd") else { throw SystemError(errno: errno, call: "opendir") }
    defer { closedir(stream) }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    return count
}

/// Takes every descriptor that the process may still have, and gives them back one by one. For a process of its own.
struct Exhaustion {
    private var taken: [Int32] = []

    init() async throws {
        // Makes the concurrency runtime open the descriptors that it needs, which it does once and never survives
        // being refused.
        try await Task.sleep(nanoseconds: 1)
        var limit = rlimit(rlim_cur: 128, rlim_max: 128)
        try system("setrlimit") { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
        takeAll()
    }

    private mutating func takeAll() {
        while true {
            let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard number >= 0 else { return }
            taken.append(number)
        }
    }

    mutating func giveBack(_ count: Int = 1) {
        for number in taken.suffix(count) { close(number) }
        taken.removeLast(count)
    }
}

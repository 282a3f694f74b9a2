import Glibc

/// Memory use of a server's process, as the kernel reports it (proc_pid_status(5)).
struct ServerMemory {
    private let process: pid_t
    private let before: Int

    /// Bytes that an attack may cost at most: the 16 MiB of receive buffers, 6 KiB for each of thousands of
    /// connections, the records of the last uploads, and room for an allocator that keeps freed memory. Without the
    /// bounds an attack costs hundreds of MiB, or all memory.
    static let allowance = 64 << 20

    /// Resets the peak that the kernel has recorded.
    init(of server: RunningServer) throws {
        process = try server.waitForWorker()
        try writeFile("/proc/\(process)/clear_refs", "5".utf8)
        before = try Self.bytes("VmRSS", process)
    }

    /// Bytes by which the peak since then exceeds the memory use at the start.
    var growth: Int {
        get throws { try Self.bytes("VmHWM", process) - before }
    }

    /// - Parameter name: name of a field in the status of the process.
    static func bytes(_ name: String, _ process: pid_t) throws -> Int {
        let status = try String(decoding: readFile("/proc/\(process)/status"), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard let line, let count = Int(line.filter(\.isNumber)) else {
            throw Program.Failure(description: "no \(name) in\n\(status)")
        }
        return count << 10
    }
}

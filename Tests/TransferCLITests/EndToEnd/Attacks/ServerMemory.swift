import Glibc

/// What a server's process takes of memory, as the kernel counts it (proc_pid_status(5)).
struct ServerMemory {
    private let process: pid_t
    private let before: Int

    /// Bytes that an attack may cost at most: the 16 MiB of receive buffers, what thousands of connections take at 6 KiB,
    /// the records of the last uploads, and room for an allocator that gives nothing back. Without the bounds it is
    /// hundreds of MiB, or all that there is.
    static let allowance = 64 << 20

    /// Forgets the most that there was until now.
    init(of server: RunningServer) throws {
        process = try server.waitForWorker()
        try writeFile("/proc/\(process)/clear_refs", "5".utf8)
        before = try Self.bytes("VmRSS", process)
    }

    /// Bytes that it had more at some time since.
    var growth: Int {
        get throws { try Self.bytes("VmHWM", process) - before }
    }

    /// - Parameter name: of a line of its status.
    static func bytes(_ name: String, _ process: pid_t) throws -> Int {
        let status = try String(decoding: readFile("/proc/\(process)/status"), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard let line, let count = Int(line.filter(\.isNumber)) else {
            throw Program.Failure(description: "no \(name) in\n\(status)")
        }
        return count << 10
    }
}

import Glibc

/// Of `transfer serve`, which supervises the process that serves.
extension Program {
    /// The process that serves; nothing while there is none.
    var worker: pid_t? {
        let children = "/proc/\(process)/task/\(process)/children"
        let numbers = (try? readFile(children)).map { String(decoding: $0, as: UTF8.self) }
        return numbers?.split(separator: " ").first.flatMap { pid_t($0) }
    }

    /// Waits for a process that serves.
    ///
    /// - Parameter last: one that does no longer.
    func waitForWorker(after last: pid_t? = nil) throws -> pid_t {
        try look(for: "a process serves") { worker.flatMap { $0 != last ? $0 : nil } }
    }

    /// Waits until none does.
    func waitForNoWorker() throws {
        try look(for: "no process serves") { worker == nil ? () : nil }
    }

    private func look<T>(for what: String, _ find: () -> T?) throws -> T {
        let end = time(nil) + time_t(Self.patience)
        while time(nil) < end {
            if let found = find() { return found }
            sched_yield()
        }
        throw Failure(description: "never: \(what)\n\(errorText)")
    }
}

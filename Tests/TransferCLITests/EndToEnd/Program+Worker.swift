import Glibc

/// Access to the worker that `transfer serve` supervises.
extension Program {
    /// The process that serves; nil while there is no such process.
    var worker: pid_t? {
        let children = "/proc/\(process)/task/\(process)/children"
        let numbers = (try? readFile(children)).map { String(decoding: $0, as: UTF8.self) }
        return numbers?.split(separator: " ").first.flatMap { pid_t($0) }
    }

    /// Waits for a process that serves.
    ///
    /// - Parameter last: an earlier worker, which has ended or is about to.
    func waitForWorker(after last: pid_t? = nil) throws -> pid_t {
        try look(for: "a process serves") { worker.flatMap { $0 != last ? $0 : nil } }
    }

    /// Waits until no process serves.
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

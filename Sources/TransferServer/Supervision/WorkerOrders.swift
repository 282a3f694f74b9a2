package import Glibc
import TransferModel
import TransferSystem

/// What a supervisor passes to its worker: an environment variable with numbers. Descriptors keep their numbers.
package struct WorkerOrders: Equatable, Sendable {
    package static let variable = "TRANSFER_SUPERVISOR"

    /// Process ID of the supervisor.
    package var supervisor: pid_t
    /// Descriptor of memory for a report, written when a signal ends the worker.
    package var report: Int32
    /// Descriptor for messages to the service manager; nil without one.
    package var notifications: Int32?
    /// Sockets that are bound and listen.
    package var listeners: [Listener] = []
    /// Number of workers that signals have ended before this one.
    package var restarts = 0
    /// The signal that ended the last worker; nil for the first worker.
    package var lastSignal: Int32?
    /// Descriptor of the directory's lock, which the supervisor has taken; nil if the worker takes it.
    package var lock: Int32?

    /// A socket that is handed over.
    package struct Listener: Equatable, Sendable {
        package let number: Int32

        /// Identifies the listener's use (`ListenerUse.mark`); nil for the usual front ends.
        package let mark: Int32?

        package init(_ number: Int32, mark: Int32? = nil) {
            (self.number, self.mark) = (number, mark)
        }
    }

    package init(supervisor: pid_t, report: Int32) {
        self.supervisor = supervisor
        self.report = report
    }

    package var text: String {
        let fields = [
            Int(supervisor), Int(report), Int(notifications ?? -1), restarts, Int(lastSignal ?? 0), Int(lock ?? -1),
        ]
        return (fields + listeners.flatMap { [Int($0.number), Int($0.mark ?? -1)] }).map { "\($0)" }.joined(
            separator: " ")
    }

    /// - Returns: nil if the text does not have the form of `text`.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        let numbers = words.compactMap { Int32($0) }
        guard numbers.count == words.count, numbers.count >= 6, numbers.count % 2 == 0, numbers[1] >= 0,
            numbers[3] >= 0
        else { return nil }
        (supervisor, report) = (numbers[0], numbers[1])
        notifications = numbers[2] >= 0 ? numbers[2] : nil
        restarts = Int(numbers[3])
        lastSignal = numbers[4] > 0 ? numbers[4] : nil
        lock = numbers[5] >= 0 ? numbers[5] : nil
        for place in stride(from: 6, to: numbers.count, by: 2) {
            guard numbers[place] >= 0, numbers[place + 1] >= -1 else { return nil }
            listeners.append(
                Listener(numbers[place], mark: numbers[place + 1] < 0 ? nil : numbers[place + 1]))
        }
    }

    /// Takes the orders of this process, and removes the variable, so that child processes do not see it.
    ///
    /// The supervisor may have ended before its worker calls this. The worker has orders even so, and the supervisor in them is no longer
    /// its parent; the worker then has to end, because no supervisor would ever end it. Such orders are recognised by the memory for the
    /// report, which only a supervisor passes.
    ///
    /// - Returns: nil in a process without a supervisor, even if its environment has the variable.
    package static func take() -> WorkerOrders? {
        guard let text = getenv(variable).map({ String(cString: $0) }) else { return nil }
        unsetenv(variable)
        guard let orders = WorkerOrders(text) else { return nil }
        return orders.supervisor == getppid() || CrashHandler.isFile(orders.report) ? orders : nil
    }
}

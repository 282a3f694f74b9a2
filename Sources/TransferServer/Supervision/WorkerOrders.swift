package import Glibc
import TransferModel
import TransferSystem

/// What a supervisor tells its worker: an environment variable with numbers. Descriptors keep theirs.
package struct WorkerOrders: Equatable, Sendable {
    package static let variable = "TRANSFER_SUPERVISOR"

    /// The process that supervises.
    package var supervisor: pid_t
    /// To write to when a signal ends it.
    package var report: Int32
    /// To send messages for the service manager to.
    package var notifications: Int32?
    /// Bound and listening.
    package var listeners: [Listener] = []
    /// Workers that a signal ended before this one.
    package var restarts = 0
    /// What ended the last one.
    package var lastSignal: Int32?
    /// Of the directory's lock, which the supervisor has taken; nil where the worker takes it.
    package var lock: Int32?

    /// A socket that is handed over.
    package struct Listener: Equatable, Sendable {
        package let number: Int32

        /// The mark of what it is for; nothing for the usual front ends.
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

    /// - Returns: nothing for what `text` does not give.
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

    /// Those of this process, which then no longer hands them on.
    ///
    /// A supervisor may have ended before its worker asks. The worker has orders even so, and their supervisor is no longer its
    /// parent: it has to end, because nothing would ever end it. It is known by the memory for its report, which it has only
    /// from a supervisor.
    ///
    /// - Returns: nil in a process without a supervisor, also if its environment has the variable.
    package static func take() -> WorkerOrders? {
        guard let text = getenv(variable).map({ String(cString: $0) }) else { return nil }
        unsetenv(variable)
        guard let orders = WorkerOrders(text) else { return nil }
        return orders.supervisor == getppid() || CrashHandler.isFile(orders.report) ? orders : nil
    }
}

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
    package var listeners: [Int32] = []
    /// Workers that a signal ended before this one.
    package var restarts = 0
    /// What ended the last one.
    package var lastSignal: Int32?

    package init(supervisor: pid_t, report: Int32) {
        self.supervisor = supervisor
        self.report = report
    }

    package var text: String {
        let fields = [Int(supervisor), Int(report), Int(notifications ?? -1), restarts, Int(lastSignal ?? 0)]
        return (fields + listeners.map { Int($0) }).map { "\($0)" }.joined(separator: " ")
    }

    /// - Returns: nothing for what `text` does not give.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        let numbers = words.compactMap { Int32($0) }
        guard numbers.count == words.count, numbers.count >= 5, numbers[1] >= 0, numbers[3] >= 0,
            numbers[5...].allSatisfy({ $0 >= 0 })
        else { return nil }
        (supervisor, report) = (numbers[0], numbers[1])
        notifications = numbers[2] >= 0 ? numbers[2] : nil
        restarts = Int(numbers[3])
        lastSignal = numbers[4] > 0 ? numbers[4] : nil
        listeners = Array(numbers[5...])
    }

    /// Those of this process, which then no longer hands them on.
    ///
    /// - Returns: nothing in a process that nobody supervises: what only says so, because somebody has set the variable,
    ///   is none.
    package static func take() -> WorkerOrders? {
        guard let text = getenv(variable).map({ String(cString: $0) }) else { return nil }
        unsetenv(variable)
        guard let orders = WorkerOrders(text), orders.supervisor == getppid() else { return nil }
        return orders
    }
}

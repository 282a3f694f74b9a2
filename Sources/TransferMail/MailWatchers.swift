import TransferModel
import TransferSystem

/// The people who are connected, and which of them wait for news of mail.
final class MailWatchers: Sendable {
    private struct Visitor {
        var notify: (@Sendable () -> Void)?
    }

    /// By name, then by the number of the connection.
    private let visitors = Locked([PathKey: [Int: Visitor]]())

    func enter(_ name: String, _ connection: Int) {
        visitors.withLock { $0[PathKey(name), default: [:]][connection] = Visitor() }
    }

    func leave(_ name: String, _ connection: Int) {
        visitors.withLock { visitors in
            visitors[PathKey(name)]?[connection] = nil
            if visitors[PathKey(name)]?.isEmpty ?? false { visitors[PathKey(name)] = nil }
        }
    }

    /// - Parameter notify: called from any thread whenever there is news for that name.
    func watch(_ name: String, _ connection: Int, _ notify: @escaping @Sendable () -> Void) {
        visitors.withLock { $0[PathKey(name)]?[connection]?.notify = notify }
    }

    func isHere(_ name: String) -> Bool { visitors.withLock { $0[PathKey(name)] != nil } }

    /// The number of connected names.
    var count: Int { visitors.withLock(\.count) }

    func notify(_ names: some Sequence<String>) {
        let calls = visitors.withLock { visitors in
            names.flatMap { name in visitors[PathKey(name)]?.values.compactMap(\.notify) ?? [] }
        }
        for call in calls { call() }
    }

    func notifyAll() {
        let calls = visitors.withLock { $0.values.flatMap { $0.values.compactMap(\.notify) } }
        for call in calls { call() }
    }
}

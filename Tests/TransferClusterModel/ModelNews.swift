package import TransferPorts
import TransferSystem

/// Carries the news of servers in one process.
package final class ModelNewsWire: Sendable {
    fileprivate let members = Locked([ModelNews]())

    package init() {}
}

/// The news of one server, which arrive at all others at once.
package final class ModelNews: ServerNews {
    private struct State {
        var handlers: [@Sendable (NewsBatch) -> Void] = []
        var isCut = false
    }

    private let wire: ModelNewsWire
    private let state = Locked(State())

    package init(_ wire: ModelNewsWire) {
        self.wire = wire
        wire.members.withLock { $0.append(self) }
    }

    package func post(_ news: NewsBatch) {
        guard !news.isEmpty else { return }
        for member in wire.members.withLock({ $0 }) where member !== self { member.tell(news) }
    }

    package func listen(_ handler: @escaping @Sendable (NewsBatch) -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    package func close() { wire.members.withLock { $0.removeAll { $0 === self } } }

    /// Loses all news for this server until `connect`.
    package func cut() { state.withLock { $0.isCut = true } }

    package func connect() {
        state.withLock { $0.isCut = false }
        tell(.everything)
    }

    private func tell(_ news: NewsBatch) {
        for handler in state.withLock({ $0.isCut ? [] : $0.handlers }) { handler(news) }
    }
}

import TransferModel
import TransferSystem

/// Who of the clients without keys is here, over all listeners: a name has one connection, that which came last.
final class ChatNames: Sendable {
    private struct Guest {
        let connection: Int
        /// Called from any thread.
        let displace: @Sendable () -> Void
    }

    private struct State {
        var guests: [PathKey: Guest] = [:]
        /// Numbers of deliveries that were found not to be for this wire.
        var unfit: Set<UInt64> = []
    }

    /// Deliveries that are remembered not to fit. Beyond that they are looked at, and logged, once more.
    static let mostUnfit = 4096

    private let state = Locked(State())

    /// Somebody has come. Whoever had the name is told to go.
    func enter(_ name: String, _ connection: Int, displace: @escaping @Sendable () -> Void) {
        let older = state.withLock {
            $0.guests.updateValue(Guest(connection: connection, displace: displace), forKey: PathKey(name))
        }
        if let older, older.connection != connection { older.displace() }
    }

    func leave(_ name: String, _ connection: Int) {
        state.withLock { state in
            guard state.guests[PathKey(name)]?.connection == connection else { return }
            state.guests[PathKey(name)] = nil
        }
    }

    /// A delivery cannot go over this wire.
    ///
    /// - Parameter number: of the delivery.
    /// - Returns: whether that is news.
    func noteUnfit(_ number: UInt64) -> Bool {
        state.withLock { state in
            if state.unfit.count >= Self.mostUnfit { state.unfit = [] }
            return state.unfit.insert(number).inserted
        }
    }

    func isUnfit(_ number: UInt64) -> Bool { state.withLock { $0.unfit.contains(number) } }
}

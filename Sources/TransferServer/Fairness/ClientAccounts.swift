import TransferAccess
import TransferIO
import TransferIntake
import TransferSystem

/// The accounts of all connected clients, which are charged for work on the pool.
final class ClientAccounts: Sendable {
    private struct Entry {
        let account = PoolAccount()
        var connections = 0
    }

    private let entries = Locked([AccountHolder: Entry]())

    /// - Returns: the account; `leave` has to be called when no more work is charged on it.
    func enter(_ holder: AccountHolder) -> PoolAccount {
        entries.withLock { entries in
            entries[holder, default: Entry()].connections += 1
            return entries[holder, default: Entry()].account
        }
    }

    func leave(_ holder: AccountHolder) {
        entries.withLock { entries in
            guard let connections = entries[holder]?.connections else { return }
            if connections > 1 { entries[holder]?.connections = connections - 1 } else { entries[holder] = nil }
        }
    }
}

extension AccountHolder {
    init(_ origin: PeerOrigin) {
        self = origin.network.map { .network($0) } ?? .thisMachine
    }

    /// - Parameter origin: is charged if the client has shown no credentials.
    init(_ grant: Grant, _ origin: PeerOrigin) {
        self = grant.source == .everyone ? AccountHolder(origin) : .client(grant.source)
    }
}

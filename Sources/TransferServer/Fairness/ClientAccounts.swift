import TransferAccess
import TransferIO
import TransferIntake
import TransferSystem

/// The accounts that pay for work on the pool, of all who have a connection.
final class ClientAccounts: Sendable {
    private struct Entry {
        let account = PoolAccount()
        var connections = 0
    }

    private let entries = Locked([AccountHolder: Entry]())

    /// - Returns: the account, which is to be left again when no work for it is under way.
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

    /// - Parameter origin: where a client comes from that showed nothing.
    init(_ grant: Grant, _ origin: PeerOrigin) {
        self = grant.source == .everyone ? AccountHolder(origin) : .client(grant.source)
    }
}

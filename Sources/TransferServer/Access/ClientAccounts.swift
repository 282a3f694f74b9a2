import TransferAccess
import TransferIO
import TransferIntake
import TransferSystem

/// The accounts that pay for work on the pool, of all who have a connection.
final class ClientAccounts: Sendable {
    private struct Entry {
        let account = PoolAccount()
        var holders = 0
    }

    private let entries = Locked([AccountHolder: Entry]())

    /// - Returns: the account, which is to be left again when no work for it is under way.
    func enter(_ owner: AccountHolder) -> PoolAccount {
        entries.withLock { entries in
            entries[owner, default: Entry()].holders += 1
            return entries[owner, default: Entry()].account
        }
    }

    func leave(_ owner: AccountHolder) {
        entries.withLock { entries in
            guard let holders = entries[owner]?.holders else { return }
            if holders > 1 { entries[owner]?.holders = holders - 1 } else { entries[owner] = nil }
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

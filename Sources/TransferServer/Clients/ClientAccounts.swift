import TransferAccess
import TransferIO
import TransferSystem

/// Who pays for work on the pool: each client by its key or token, however many connections it has. Those that show nothing
/// can only be told apart by where they come from.
final class ClientAccounts: Sendable {
    enum Owner: Hashable {
        case client(Grant.Source)
        case network(PeerNetwork)
        case thisMachine

        init(_ origin: PeerOrigin) {
            self = origin.network.map { .network($0) } ?? .thisMachine
        }

        /// - Parameter origin: where a client comes from that showed nothing.
        init(_ grant: Grant, _ origin: PeerOrigin) {
            self = grant.source == .everyone ? Owner(origin) : .client(grant.source)
        }
    }

    private struct Entry {
        let account = PoolAccount()
        var holders = 0
    }

    private let entries = Locked([Owner: Entry]())

    /// - Returns: the account, which is to be left again when no work for it is under way.
    func enter(_ owner: Owner) -> PoolAccount {
        entries.withLock { entries in
            entries[owner, default: Entry()].holders += 1
            return entries[owner, default: Entry()].account
        }
    }

    func leave(_ owner: Owner) {
        entries.withLock { entries in
            guard let holders = entries[owner]?.holders else { return }
            if holders > 1 { entries[owner]?.holders = holders - 1 } else { entries[owner] = nil }
        }
    }
}

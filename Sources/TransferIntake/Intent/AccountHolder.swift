package import TransferAccess
package import TransferSystem

/// Who pays for work and for places: each client by its key or token, however many connections it has. Those that show
/// nothing can only be told apart by where they come from.
package enum AccountHolder: Hashable, Sendable {
    case client(Grant.Source)
    case network(PeerNetwork)
    case thisMachine
}

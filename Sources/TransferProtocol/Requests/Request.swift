import TransferModel

/// What a client asks of the files on the server. Requests are answered one after the other, in their order.
package enum Request: Equatable, Sendable {
    case list(ListRequest)
    case fetch(FetchRequest)
    case remove(RemoveRequest)

    /// Chosen by the client; it tells requests apart that have no answer yet.
    package var id: UInt32 {
        switch self {
        case .list(let list): list.id
        case .fetch(let fetch): fetch.id
        case .remove(let remove): remove.id
        }
    }

    package var path: String {
        switch self {
        case .list(let list): list.path
        case .fetch(let fetch): fetch.path
        case .remove(let remove): remove.path
        }
    }

    package var message: Message {
        switch self {
        case .list(let list): .list(list)
        case .fetch(let fetch): .fetch(fetch)
        case .remove(let remove): .remove(remove)
        }
    }

    /// Bytes that count against `Limits.requestBytes`.
    package var cost: Int { Self.fixedCost + min(path.utf8.count, Limits.path + 1) }

    /// What a request without its path takes, on the wire and while it waits.
    package static let fixedCost = 32
}

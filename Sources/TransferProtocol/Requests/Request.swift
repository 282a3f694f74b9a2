import TransferModel

/// A request about files or mail on the server. The server answers requests in order.
package enum Request: Equatable, Sendable {
    case list(ListRequest)
    case fetch(FetchRequest)
    case remove(RemoveRequest)
    case compare(CompareRequest)
    case make(MakeRequest)
    case move(MoveRequest)
    case people(PeopleRequest)
    case mail(MailRequest)
    case settle(SettleRequest)
    case introduce(IntroduceRequest)

    /// ID that the client chooses, unique among its unanswered requests.
    package var id: UInt32 {
        switch self {
        case .list(let list): list.id
        case .fetch(let fetch): fetch.id
        case .remove(let remove): remove.id
        case .compare(let compare): compare.id
        case .make(let make): make.id
        case .move(let move): move.id
        case .people(let people): people.id
        case .mail(let mail): mail.id
        case .settle(let settle): settle.id
        case .introduce(let introduce): introduce.id
        }
    }

    /// Path of the request; empty if it has none.
    package var path: String {
        switch self {
        case .list(let list): list.path
        case .fetch(let fetch): fetch.path
        case .remove(let remove): remove.path
        case .compare(let compare): compare.path
        case .make(let make): make.path
        case .move(let move): move.path
        case .people, .mail, .settle, .introduce: ""
        }
    }

    package var message: Message {
        switch self {
        case .list(let list): .list(list)
        case .fetch(let fetch): .fetch(fetch)
        case .remove(let remove): .remove(remove)
        case .compare(let compare): .compare(compare)
        case .make(let make): .make(make)
        case .move(let move): .move(move)
        case .people(let people): .people(people)
        case .mail(let mail): .mail(mail)
        case .settle(let settle): .settle(settle)
        case .introduce(let introduce): .introduce(introduce)
        }
    }

    /// Bytes that count against `Limits.requestBytes`.
    package var cost: Int {
        switch self {
        case .settle(let settle): Self.fixedCost + 16 * settle.deliveries.count
        case .introduce(let introduce): Self.fixedCost + introduce.sealingKey.count
        case .make(let make): Self.cost(of: path) + make.target.count + (make.attributes?.encodedSize ?? 0)
        case .move(let move): Self.cost(of: path) + Self.cost(of: move.target)
        case .list, .fetch, .remove, .compare, .people, .mail: Self.cost(of: path)
        }
    }

    private static func cost(of path: String) -> Int { fixedCost + Swift.min(path.utf8.count, Limits.path + 1) }

    /// Bytes that every request counts in addition to its path, on the wire and while it waits.
    package static let fixedCost = 32
}

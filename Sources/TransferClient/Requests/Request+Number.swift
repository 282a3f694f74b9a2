import TransferProtocol

extension Request {
    /// The same request with another ID.
    func numbered(_ id: UInt32) -> Request {
        switch self {
        case .list(var list):
            list.id = id
            return .list(list)
        case .fetch(var fetch):
            fetch.id = id
            return .fetch(fetch)
        case .remove(var remove):
            remove.id = id
            return .remove(remove)
        case .compare(var compare):
            compare.id = id
            return .compare(compare)
        case .make(var make):
            make.id = id
            return .make(make)
        case .move(var move):
            move.id = id
            return .move(move)
        case .people(var people):
            people.id = id
            return .people(people)
        case .mail(var mail):
            mail.id = id
            return .mail(mail)
        case .settle(var settle):
            settle.id = id
            return .settle(settle)
        case .introduce(var introduce):
            introduce.id = id
            return .introduce(introduce)
        }
    }
}

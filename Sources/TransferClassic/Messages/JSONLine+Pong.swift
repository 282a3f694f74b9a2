internal import TransferModel

extension JSONLine {
    /// The members of a `pong`: the id of the ping, where it has one.
    static func pong(_ id: UInt64?) -> JSONLine {
        guard let id else { return [:] }
        return ["id": .integer(id)]
    }
}

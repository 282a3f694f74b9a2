import TransferProtocol

/// Somebody who has a mailbox on a server.
public struct Person: Sendable, Equatable {
    /// As in the server's lists of who may come in.
    public let name: String

    /// Whether somebody of that name is connected now.
    public let isHere: Bool

    /// Whether this client may send to that person.
    public let takesFromClient: Bool

    /// Whether it is this client itself.
    public let isClient: Bool

    /// Whether the person comes without a key, so that nobody can say who it is.
    public let isUnproven: Bool

    /// What the person says of its key for sealed uploads, signed by it; nothing is verified.
    package let sealingKey: [UInt8]?

    init(_ listed: ListedPerson) {
        (name, isHere, takesFromClient) = (listed.name, listed.isHere, listed.takesFromClient)
        (isClient, isUnproven, sealingKey) = (listed.isClient, listed.isUnproven, listed.sealingKey)
    }
}

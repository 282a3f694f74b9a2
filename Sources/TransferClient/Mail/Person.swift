import TransferProtocol

/// A person with a mailbox on a server.
public struct Person: Sendable, Equatable {
    /// The name in the server's lists of clients.
    public let name: String

    /// Whether a client of that name is connected now.
    public let isConnected: Bool

    /// Whether the person accepts deliveries from this client.
    public let acceptsFromClient: Bool

    /// Whether the person is this client itself.
    public let isClient: Bool

    /// Whether the person's client connects without a key, so that its identity cannot be proved.
    public let isUnproven: Bool

    /// The person's certificates of keys for sealed uploads, signed by the person; not verified here.
    package let sealingKey: [UInt8]?

    init(_ listed: ListedPerson) {
        (name, isConnected, acceptsFromClient) = (listed.name, listed.isHere, listed.takesFromClient)
        (isClient, isUnproven, sealingKey) = (listed.isClient, listed.isUnproven, listed.sealingKey)
    }
}

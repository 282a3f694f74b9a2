package import TransferClassic

/// How to speak to a server of an older program; `docs/reference/dialects.md` describes the framings.
package struct ClassicTarget: Sendable {
    /// The most bytes of a stream that are kept in memory if the framing states the size first.
    package static let mostHeld = 16 << 20

    package let framing: ClassicFraming

    /// The client's initial state for each connection.
    let client: any ClassicClient

    /// Whether content may be sent to other machines although no classic framing has encryption.
    package let isBeyondThisMachine: Bool

    /// - Parameter framing: a framing whose `hasClient` is true.
    package init(_ framing: ClassicFraming, as party: ClassicParty = ClassicParty(), isBeyondThisMachine: Bool = false)
    {
        // Trap: the command line accepts only framings that have a client.
        guard let client = framing.client(party) else { preconditionFailure("\(framing.name) has no client") }
        (self.framing, self.client, self.isBeyondThisMachine) = (framing, client, isBeyondThisMachine)
    }
}

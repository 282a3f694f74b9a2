package import TransferClassic

/// What is spoken to a server from before this protocol; `docs/reference/dialects.md` describes it.
package struct ClassicTarget: Sendable {
    /// Bytes of a stream that are held where the framing says the size first.
    package static let mostHeld = 16 << 20

    package let framing: ClassicFraming

    /// What each connection begins with.
    let client: any ClassicClient

    /// Whether it may travel in the clear to other machines: no classic framing knows encryption.
    package let isBeyondThisMachine: Bool

    /// - Parameter framing: one that `hasClient`.
    package init(_ framing: ClassicFraming, as party: ClassicParty = ClassicParty(), isBeyondThisMachine: Bool = false)
    {
        // Trap: the command line takes no other one.
        guard let client = framing.client(party) else { preconditionFailure("\(framing.name) has no client") }
        (self.framing, self.client, self.isBeyondThisMachine) = (framing, client, isBeyondThisMachine)
    }
}

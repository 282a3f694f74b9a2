public import TransferModel

/// What there is to show of a delivery: of a sealed one what its note says, where it could be opened.
extension Delivery {
    /// Whether only its recipients can read it, and not the server.
    public var isSealed: Bool { note != nil }

    /// Whether its name ends as the names of sealed files do.
    package var isCalledSealed: Bool { ContentSeal.unsealedName(name) != nil }

    /// What its sender calls it; of a sealed one that could not be opened what it is called on its way.
    public var shownName: String { opened?.name ?? name }

    /// What the content is, as far as that is known.
    public var shownKind: ContentKind { opened?.kind ?? kind }

    /// Bytes of content, as far as that is known: otherwise those that travel.
    public var shownSize: UInt64 { opened?.size ?? size }

    /// Why the note of a sealed one says nothing: a sentence. Nothing where it is `opened`, or there is none.
    public var noteFault: String? { closed?.message }
}

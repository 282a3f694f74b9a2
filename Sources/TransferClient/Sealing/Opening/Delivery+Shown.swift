public import TransferModel

/// What people see of a delivery: the details from the note if it is sealed and its note could be opened.
extension Delivery {
    /// Whether only its recipients can read it, and not the server.
    public var isSealed: Bool { note != nil }

    /// Whether its name has the suffix of sealed files.
    package var isCalledSealed: Bool { ContentSeal.unsealedName(name) != nil }

    /// The sender's name for it; for a sealed delivery that could not be opened, the name that the server knows.
    public var shownName: String { opened?.name ?? name }

    /// The kind of the content, as far as it is known.
    public var shownKind: ContentKind { opened?.kind ?? kind }

    /// Bytes of content if that is known, otherwise bytes of the sealed file.
    public var shownSize: UInt64 { opened?.size ?? size }

    /// Why the note could not be opened, as a sentence; nil if it could, or if there is no note.
    public var noteFault: String? { closed?.message }
}

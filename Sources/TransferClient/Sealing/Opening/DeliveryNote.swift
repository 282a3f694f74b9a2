public import TransferKeys
public import TransferModel
import TransferSealing

/// What the sender of a sealed delivery says of it: opened with a key of this client's, and signed by the sender. No server has
/// seen it.
public struct DeliveryNote: Sendable, Equatable {
    /// What its sender calls the content: a path. It comes from somebody else.
    public let name: String

    /// What the content is.
    public let kind: ContentKind

    /// Bytes of content.
    public let size: UInt64

    /// The digest of the content, made with `SealedNote.digestFunction`.
    let digest: Digest

    /// Whose key has signed it.
    public let signer: PublicKey

    /// When its sender's content last changed.
    package let modified: Timestamp?

    /// Permission bits that its sender's content has, 0 to 0o777.
    package let permissions: UInt16?

    /// Of the only content that it is about.
    let tag: SealedTag

    /// That it came from, by its own key: people are known by their names there.
    let server: KeyFingerprint?

    init(_ note: SealedNote, on server: KeyFingerprint?) {
        self.server = server
        (name, kind, size, digest) = (note.path.string, note.kind, note.size, note.digest)
        (signer, tag) = (note.sender, note.tag)
        (modified, permissions) = (note.modified, note.permissions.map { $0 & 0o777 })
    }
}

extension DeliveryNote {
    /// Names are compared by their bytes.
    public static func == (a: DeliveryNote, b: DeliveryNote) -> Bool {
        a.name.hasSameBytes(as: b.name) && a.kind == b.kind && a.size == b.size && a.digest == b.digest
            && a.signer == b.signer
            && a.modified == b.modified && a.permissions == b.permissions && a.tag == b.tag
            && a.server == b.server
    }
}

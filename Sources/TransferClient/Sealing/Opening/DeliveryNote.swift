public import TransferKeys
public import TransferModel
import TransferSealing

/// What the sender of a sealed delivery says of it, opened with this client's key and signed by the sender. No server
/// has seen it.
public struct DeliveryNote: Sendable, Equatable {
    /// The sender's path of the content. It must not be trusted.
    public let name: String

    /// The kind of the content, according to the sender.
    public let kind: ContentKind

    /// Bytes of content; the sealed file is longer.
    public let size: UInt64

    /// The digest of the content, made with `SealedNote.digestFunction`.
    let digest: Digest

    /// The key that signed the note.
    public let signer: PublicKey

    /// When the sender's content was last modified.
    package let modified: Timestamp?

    /// Permission bits of the sender's content, 0 to 0o777.
    package let permissions: UInt16?

    /// Tag of the sealed content that the note belongs to.
    let tag: SealedTag

    /// Fingerprint of the server that the note came from, because people are known by their names on a server. Nil if
    /// the server has no identity key.
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

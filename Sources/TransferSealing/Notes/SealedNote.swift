package import TransferKeys
package import TransferModel

/// What the server must not know of a sealed file, and the recipient must: how it is called, what it is, how long its content
/// is, and who sends it. The sealed content itself is the original and nothing else, so that `age -d` gives it back; this
/// travels beside it, as a small age file of its own.
///
/// It is signed by the sender and names its content by a `SealedTag`: a server can neither hang it on another file nor write one
/// in somebody's name. Anybody can seal for a known key, so only the note says who did.
package struct SealedNote: Hashable, Sendable {
    /// Where the sender had it, from what was pushed on.
    package let path: RelativePath

    package let kind: ContentKind

    /// Bytes of content.
    package let size: UInt64

    /// Of the content that it is about.
    package let tag: SealedTag

    /// Who has signed.
    package let sender: PublicKey

    let signature: [UInt8]

    /// In front of what is signed: nobody signs for another purpose what begins so.
    private static let domain = Array("transfer sealed note v1\n".utf8)

    /// Signs.
    package init(_ path: RelativePath, _ kind: ContentKind, size: UInt64, of tag: SealedTag, by sender: KeyPair) {
        (self.path, self.kind, self.size, self.tag, self.sender) = (path, kind, size, tag, sender.key)
        signature = sender.sign(Self.domain + Self.fields(path, kind, size, tag, sender.key))
    }

    /// As it was read; verified here.
    ///
    /// - Throws: `wrongSigner`.
    init(
        _ path: RelativePath, _ kind: ContentKind, size: UInt64, of tag: SealedTag, by sender: PublicKey,
        _ signature: [UInt8]
    ) throws(SealingError) {
        (self.path, self.kind, self.size, self.tag, self.sender) = (path, kind, size, tag, sender)
        self.signature = signature
        guard sender.verifies(signature, of: Self.domain + fields) else { throw .wrongSigner }
    }

    /// What is signed, and stands first in the note.
    var fields: [UInt8] { Self.fields(path, kind, size, tag, sender) }

    /// The only version so far; the first byte.
    static let version: UInt8 = 1

    private static func fields(
        _ path: RelativePath, _ kind: ContentKind, _ size: UInt64, _ tag: SealedTag, _ sender: PublicKey
    ) -> [UInt8] {
        var bytes = [version, kind.rawValue]
        bytes.append(bigEndian: size)
        bytes += tag.digest.bytes + sender.raw.bytes
        let name = Array(path.string.utf8)
        // A path is far shorter than this number goes (`Limits.path`).
        bytes.append(bigEndian: UInt16(truncatingIfNeeded: name.count))
        return bytes + name
    }
}

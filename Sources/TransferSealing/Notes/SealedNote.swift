package import TransferKeys
package import TransferModel

/// What the server must not know of a sealed file, and the recipient must: how it is called, what it is, how long its content
/// is, and who sends it. The sealed content itself is the original and nothing else, so that `age -d` gives it back; this
/// travels beside it, as a small age file of its own.
///
/// It is signed by the sender and names its content twice: by the digest of the content, and by the `SealedTag` of the file that
/// has it. So a server can neither attach it to another file nor write one in somebody's name, and a recipient, who has the file
/// key, cannot put other content behind the same header. Anybody can seal for a known key, so only the note says who did.
package struct SealedNote: Hashable, Sendable {
    /// Where the sender had it, from what was pushed on.
    package let path: RelativePath

    package let kind: ContentKind

    /// Bytes of content.
    package let size: UInt64

    /// Of the content, made with `digestFunction`.
    package let digest: Digest

    /// When the content last changed, at the sender's.
    package let modified: Timestamp?

    /// Permission bits that it has there, 0 to `mostPermissions`.
    package let permissions: UInt16?

    /// Of the content that it is about.
    package let tag: SealedTag

    /// Who has signed.
    package let sender: PublicKey

    private(set) var signature: [UInt8]

    /// In front of what is signed: nobody signs for another purpose what begins so.
    static let domain = Array("transfer sealed note v2\n".utf8)

    /// The hash function for the digests in notes; collision resistant (FIPS 180-4).
    package static let digestFunction = DigestFunction.sha256

    /// Reading, writing and executing, for all three; set-uid and its kin are nothing to send.
    package static let mostPermissions: UInt16 = 0o777

    /// Signs.
    ///
    /// - Parameters:
    ///   - content: size and digest; the digest made with `digestFunction`.
    ///   - modified: nil also for what a clock cannot say.
    ///   - permissions: bits beyond `mostPermissions` are left out.
    package init(
        _ path: RelativePath, _ kind: ContentKind, _ content: Content, modified: Timestamp? = nil,
        permissions: UInt16? = nil, of tag: SealedTag, by sender: KeyPair
    ) {
        (self.path, self.kind, size, digest) = (path, kind, content.size, content.digest)
        self.modified = modified.flatMap { Self.isTime($0) ? $0 : nil }
        self.permissions = permissions.map { $0 & Self.mostPermissions }
        (self.tag, self.sender, signature) = (tag, sender.key, [])
        signature = sender.sign(Self.domain + fields)
    }

    /// As it was read; verified here.
    ///
    /// - Throws: `wrongSigner`.
    init(
        _ path: RelativePath, _ kind: ContentKind, _ content: Content, modified: Timestamp?, permissions: UInt16?,
        of tag: SealedTag, by sender: PublicKey, _ signature: [UInt8]
    ) throws(SealingError) {
        (self.path, self.kind, size, digest) = (path, kind, content.size, content.digest)
        (self.modified, self.permissions) = (modified, permissions)
        (self.tag, self.sender, self.signature) = (tag, sender, signature)
        guard sender.verifies(signature, of: Self.domain + fields) else { throw .wrongSigner }
    }

    /// Whether it has no more nanoseconds than a second does.
    static func isTime(_ time: Timestamp) -> Bool { time.nanoseconds < 1_000_000_000 }

    /// The first byte. Notes of version 1 had no digest of the content, so other content could be put in its place.
    static let version: UInt8 = 2

    /// Which of the fields that may be missing are there; those that are not are zeros, so that they take the same room.
    struct Presence: OptionSet {
        let rawValue: UInt8
        static let modified = Presence(rawValue: 2)
        static let permissions = Presence(rawValue: 4)
        static let all: Presence = [.modified, .permissions]
    }

    private var presence: Presence {
        var presence: Presence = []
        if modified != nil { presence.insert(.modified) }
        if permissions != nil { presence.insert(.permissions) }
        return presence
    }

    /// What is signed, and stands first in the note.
    var fields: [UInt8] {
        var bytes = [Self.version, kind.rawValue, presence.rawValue]
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: UInt64(bitPattern: modified?.seconds ?? 0))
        bytes.append(bigEndian: modified?.nanoseconds ?? 0)
        bytes.append(bigEndian: permissions ?? 0)
        bytes += digest.bytes + tag.digest.bytes + sender.raw.bytes
        let name = Array(path.string.utf8)
        // A path is far shorter than this number goes (`Limits.path`).
        bytes.append(bigEndian: UInt16(truncatingIfNeeded: name.count))
        return bytes + name
    }
}

extension SealedNote {
    /// Size and digest of the content that a note is about.
    package struct Content: Hashable, Sendable {
        /// Bytes.
        package let size: UInt64

        /// Made with `SealedNote.digestFunction`.
        package let digest: Digest

        package init(size: UInt64, digest: Digest) { (self.size, self.digest) = (size, digest) }
    }
}

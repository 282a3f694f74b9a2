package import TransferKeys
package import TransferModel

/// Metadata of a sealed file that the recipient needs and the server must not know: its name, kind, length and sender.
/// The sealed file itself contains only the original content, so that `age -d` restores it; the note is sent beside it
/// as a small age file.
///
/// The sender signs it, and it identifies its content by two values: the digest of the content and the `SealedTag` of
/// the sealed file. So a server can neither attach it to another file nor forge one, and a recipient, who has the file
/// key, cannot put other content behind the same header. Anyone can seal for a known key, so only the note proves who
/// did.
package struct SealedNote: Hashable, Sendable {
    /// Path on the sender's machine, relative to what was pushed.
    package let path: RelativePath

    package let kind: ContentKind

    /// Size of the content in bytes.
    package let size: UInt64

    /// Digest of the content, made with `digestFunction`.
    package let digest: Digest

    /// Time of modification at the sender; nil if unknown.
    package let modified: Timestamp?

    /// Permission bits at the sender, 0 to `mostPermissions`; nil if unknown.
    package let permissions: UInt16?

    /// Tag of the sealed file that it belongs to.
    package let tag: SealedTag

    /// The sender, who has signed the note.
    package let sender: PublicKey

    private(set) var signature: [UInt8]

    /// Prefix of the signed bytes, unique to this purpose.
    static let domain = Array("transfer sealed note v2\n".utf8)

    /// Hash function of digests in notes; collision resistant (FIPS 180-4).
    package static let digestFunction = DigestFunction.sha256

    /// Read, write and execute for owner, group and others; set-user-ID and similar bits are never sent.
    package static let mostPermissions: UInt16 = 0o777

    /// Makes and signs a note.
    ///
    /// - Parameters:
    ///   - content: size and digest; the digest must be made with `digestFunction`.
    ///   - modified: an impossible time counts as nil.
    ///   - permissions: bits beyond `mostPermissions` are dropped.
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

    /// Makes a note that was read, and verifies it.
    ///
    /// - Throws: `wrongSigner` if the signature does not match.
    init(
        _ path: RelativePath, _ kind: ContentKind, _ content: Content, modified: Timestamp?, permissions: UInt16?,
        of tag: SealedTag, by sender: PublicKey, _ signature: [UInt8]
    ) throws(SealingError) {
        (self.path, self.kind, size, digest) = (path, kind, content.size, content.digest)
        (self.modified, self.permissions) = (modified, permissions)
        (self.tag, self.sender, self.signature) = (tag, sender, signature)
        guard sender.verifies(signature, of: Self.domain + fields) else { throw .wrongSigner }
    }

    /// Whether the nanoseconds are less than a second.
    static func isTime(_ time: Timestamp) -> Bool { time.nanoseconds < 1_000_000_000 }

    /// Version, the first byte. Notes of version 1 had no digest of the content, so that other content could replace
    /// it.
    static let version: UInt8 = 2

    /// Flags for optional fields; absent ones are zeros, so that they take the same space.
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

    /// The signed fields, at the beginning of the note.
    var fields: [UInt8] {
        var bytes = [Self.version, kind.rawValue, presence.rawValue]
        bytes.append(bigEndian: size)
        bytes.append(bigEndian: UInt64(bitPattern: modified?.seconds ?? 0))
        bytes.append(bigEndian: modified?.nanoseconds ?? 0)
        bytes.append(bigEndian: permissions ?? 0)
        bytes += digest.bytes + tag.digest.bytes + sender.raw.bytes
        let name = Array(path.string.utf8)
        // Paths are much shorter than the largest 16-bit number (`Limits.path`).
        bytes.append(bigEndian: UInt16(truncatingIfNeeded: name.count))
        return bytes + name
    }
}

extension SealedNote {
    /// Size and digest of the content that a note is about.
    package struct Content: Hashable, Sendable {
        /// Size of the content in bytes.
        package let size: UInt64

        /// Digest of the content, made with `SealedNote.digestFunction`.
        package let digest: Digest

        package init(size: UInt64, digest: Digest) { (self.size, self.digest) = (size, digest) }
    }
}

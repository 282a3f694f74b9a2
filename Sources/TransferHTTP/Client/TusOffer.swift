/// What a server of tus says of itself in its answer to OPTIONS (tus 1.0.0).
package struct TusOffer: Equatable, Sendable {
    /// Algorithms of digests that this client has, the better one first. SHA-1 is the one that every server with checksums
    /// has; it finds accidents.
    package enum Checksum: String, CaseIterable, Sendable {
        case sha256
        case sha1
    }

    /// `creation-with-upload`.
    package let takesContentAtOnce: Bool

    /// `creation-defer-length`.
    package let takesUnknownLength: Bool

    /// Nothing where the server compares nothing that is known here.
    package let checksum: Checksum?

    /// Bytes of the largest upload; nothing where none is told.
    package let maxSize: UInt64?

    /// - Returns: nothing where the answer is not that of a server of this version that makes uploads.
    package init?(_ head: ResponseHead) {
        let fields = head.fields
        func lists(_ name: String, _ word: String) -> Bool {
            fields.list(name).contains { HTTPCharacter.areSame($0.utf8, word) }
        }
        guard (200...299).contains(head.status), lists("tus-version", TusVersion.supported),
            lists("tus-extension", "creation")
        else { return nil }
        takesContentAtOnce = lists("tus-extension", "creation-with-upload")
        takesUnknownLength = lists("tus-extension", "creation-defer-length")
        let isComparing = lists("tus-extension", "checksum")
        checksum = isComparing ? Checksum.allCases.first { lists("tus-checksum-algorithm", $0.rawValue) } : nil
        maxSize = fields.values("tus-max-size").first.flatMap { FieldSyntax.number($0) }.map { UInt64($0) }
    }
}

extension UploadMetadata {
    /// The field that a client sends.
    ///
    /// - Parameter pairs: keys in ASCII without blanks and commas.
    /// - Returns: nothing where it would be longer than a field may be.
    package static func text(_ pairs: [(key: StaticString, value: String)]) -> String? {
        let text = pairs.map { "\($0.key) \(Base64Text.encode(Array($0.value.utf8)))" }.joined(separator: ",")
        return text.utf8.count <= HTTPLimits.fieldLine - "upload-metadata: ".utf8.count ? text : nil
    }
}

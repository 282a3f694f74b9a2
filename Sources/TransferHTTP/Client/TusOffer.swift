/// The features that a tus server announces in its answer to OPTIONS (tus 1.0.0).
package struct TusOffer: Equatable, Sendable {
    /// Digest algorithms of this client, the better one first. Every tus server that supports checksums has SHA-1,
    /// which detects accidents.
    package enum Checksum: String, CaseIterable, Sendable {
        case sha256
        case sha1
    }

    /// Whether the server has the extension `creation-with-upload`.
    package let takesContentAtOnce: Bool

    /// Whether the server has the extension `creation-defer-length`.
    package let takesUnknownLength: Bool

    /// The algorithm to use; nil if the server offers none that this client knows.
    package let checksum: Checksum?

    /// Most bytes of an upload; nil if the server does not say.
    package let maxSize: UInt64?

    /// - Returns: nil unless the answer is from a server of this version with the extension `creation`.
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
    /// The value of `Upload-Metadata` from a client.
    ///
    /// - Parameter pairs: keys in ASCII without blanks and commas.
    /// - Returns: nil if the field would be too long.
    package static func text(_ pairs: [(key: StaticString, value: String)]) -> String? {
        let text = pairs.map { "\($0.key) \(Base64Text.encode(Array($0.value.utf8)))" }.joined(separator: ",")
        return text.utf8.count <= HTTPLimits.fieldLine - "upload-metadata: ".utf8.count ? text : nil
    }
}

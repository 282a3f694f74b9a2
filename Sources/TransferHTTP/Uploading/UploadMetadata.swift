/// Metadata of an upload (tus 1.0.0, Upload-Metadata): `filename d29ybGQ=,is_confidential`.
package struct UploadMetadata: Equatable, Sendable {
    /// Most pairs of one upload. Clients send up to ten.
    package static let mostPairs = 64

    /// Most bytes of the field: enough for a path of PATH_MAX (linux/limits.h) in Base64, and about twice as much for
    /// the other pairs.
    package static let longest = 16 << 10

    package struct Pair: Equatable, Sendable {
        /// Key in ASCII without blanks, commas and control characters.
        package let key: String
        /// Value, which may be any bytes; empty if the pair has only a key.
        package let value: [UInt8]
    }

    /// Pairs in order, with different keys.
    package let pairs: [Pair]

    /// The field as it was sent. Answers to HEAD repeat it.
    package let text: String

    /// - Throws: 400 for a malformed pair, a key that occurs twice, or too much metadata.
    package init(_ text: String) throws(HTTPFault) {
        guard text.utf8.count <= Self.longest else {
            throw HTTPFault(400, "Upload-Metadata has more than \(Self.longest) bytes.")
        }
        var pairs: [Pair] = []
        let value = FieldSyntax.trimmed(Array(text.utf8)[...])
        let parts = value.isEmpty ? [] : value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        for part in parts {
            let pair = try Self.pair(FieldSyntax.trimmed(part))
            guard !pairs.contains(where: { $0.key == pair.key }) else {
                throw HTTPFault(400, "Upload-Metadata has a key twice.")
            }
            pairs.append(pair)
            guard pairs.count <= Self.mostPairs else {
                throw HTTPFault(400, "Upload-Metadata has more than \(Self.mostPairs) pairs.")
            }
        }
        (self.pairs, self.text) = (pairs, text)
    }

    private static func pair(_ part: ArraySlice<UInt8>) throws(HTTPFault) -> Pair {
        let key = part.prefix { $0 != 0x20 }
        guard !key.isEmpty, key.allSatisfy({ 0x21..<0x7F ~= $0 }) else {
            throw HTTPFault(400, "Upload-Metadata has a pair without a key in ASCII.")
        }
        guard let value = Base64Text.decode(part.dropFirst(key.count + 1)) else {
            throw HTTPFault(400, "Upload-Metadata has a value that is not Base64.")
        }
        return Pair(key: String(decoding: key, as: UTF8.self), value: value)
    }

    /// - Returns: nil if the key is missing.
    package subscript(key: String) -> [UInt8]? { pairs.first { $0.key == key }?.value }

    /// The value of a key as text.
    ///
    /// - Returns: nil if the key is missing or has no value.
    /// - Throws: 400 if the value is not UTF-8, or contains NUL.
    package func string(_ key: String) throws(HTTPFault) -> String? {
        guard let bytes = self[key], !bytes.isEmpty else { return nil }
        guard !bytes.contains(0) else {
            throw HTTPFault(400, "The value of '\(key)' in Upload-Metadata has a NUL byte.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HTTPFault(400, "The value of '\(key)' in Upload-Metadata is not UTF-8.")
        }
        return text
    }
}

/// What a client says of its upload (tus 1.0.0, Upload-Metadata): `filename d29ybGQ=,is_confidential`.
package struct UploadMetadata: Equatable, Sendable {
    /// Pairs of one upload. Clients send up to ten.
    package static let mostPairs = 64

    /// Bytes of the field: a path of PATH_MAX (linux/limits.h) in Base64, and as much again for the rest.
    package static let longest = 16 << 10

    package struct Pair: Equatable, Sendable {
        /// ASCII without blanks, commas and controls.
        package let key: String
        /// Any bytes; none where the pair is a key alone.
        package let value: [UInt8]
    }

    /// In their order; no key is there twice.
    package let pairs: [Pair]

    /// The field as it came, which answers to HEAD repeat.
    package let text: String

    /// - Throws: 400 when a pair is malformed, a key is there twice, or there is too much.
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

    /// - Returns: nothing when the key is missing.
    package subscript(key: String) -> [UInt8]? { pairs.first { $0.key == key }?.value }

    /// The value as text.
    ///
    /// - Returns: nothing when the key is missing or has no value.
    /// - Throws: 400 when it is no UTF-8, or has a NUL in it.
    package func string(_ key: String) throws(HTTPFault) -> String? {
        guard let bytes = self[key], !bytes.isEmpty else { return nil }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw HTTPFault(400, "The value of '\(key)' in Upload-Metadata is not UTF-8 without NUL.")
        }
        return text
    }
}

internal import TransferModel

/// The pairs of a query (WHATWG URL, application/x-www-form-urlencoded): `key=value` with `&` between them, `+` for a
/// space.
package struct RequestQuery: Equatable, Sendable {
    /// Most pairs of one query. This server's pages send one to three.
    package static let mostPairs = 64

    package struct Pair: Equatable, Sendable {
        package let key: String
        /// The decoded value; empty if the pair has no `=`.
        package let value: String

        package static func == (a: Self, b: Self) -> Bool {
            a.key.hasSameBytes(as: b.key) && a.value.hasSameBytes(as: b.value)
        }
    }

    /// Decoded pairs in order; UTF-8 without NUL.
    package let pairs: [Pair]

    package init() { pairs = [] }

    /// - Parameter text: the query without its question mark.
    /// - Throws: 400 with the reason.
    package init(_ text: some Collection<UInt8>) throws(HTTPFault) {
        guard text.allSatisfy({ 0x21..<0x7F ~= $0 && $0 != UInt8(ascii: "#") }) else {
            throw HTTPFault(400, "The query has a character that has to be percent-encoded.")
        }
        var pairs: [Pair] = []
        for part in Array(text).split(separator: UInt8(ascii: "&")) {
            guard pairs.count < Self.mostPairs else {
                throw HTTPFault(400, "The query has more than \(Self.mostPairs) pairs.")
            }
            let key = part.prefix { $0 != UInt8(ascii: "=") }
            pairs.append(Pair(key: try Self.text(key), value: try Self.text(part.dropFirst(key.count + 1))))
        }
        self.pairs = pairs
    }

    private static func text(_ encoded: ArraySlice<UInt8>) throws(HTTPFault) -> String {
        guard let bytes = PercentEncoding.decoded(encoded, plusIsSpace: true) else {
            throw HTTPFault(400, "The query has a percent sign that two hexadecimal digits do not follow.")
        }
        guard !bytes.contains(0) else { throw HTTPFault(400, "The query has a NUL byte.") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HTTPFault(400, "The query is not UTF-8.")
        }
        return text
    }

    package func contains(_ key: String) -> Bool { pairs.contains { $0.key.hasSameBytes(as: key) } }

    /// - Returns: the value of a key; nil if the key is missing.
    /// - Throws: 400 if the key occurs twice.
    package func only(_ key: String) throws(HTTPFault) -> String? {
        let found = pairs.filter { $0.key.hasSameBytes(as: key) }
        guard found.count <= 1 else { throw HTTPFault(400, "The query has '\(key)' twice.") }
        return found.first?.value
    }
}

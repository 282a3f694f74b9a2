/// Algorithms of digests that this server has (RFC 9530, section 5).
package enum HTTPDigestAlgorithm: String, CaseIterable, Sendable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// Bytes of a digest.
    package var length: Int {
        switch self {
        case .sha256: 32
        case .sha512: 64
        }
    }
}

/// `Content-Digest` or `Repr-Digest` (RFC 9530, sections 2 and 3).
package struct DigestField: Equatable, Sendable {
    package let sha256: [UInt8]?
    package let sha512: [UInt8]?

    /// Keys of algorithms that this server does not have; they are to be ignored (section 2).
    package let unknown: [String]

    package subscript(algorithm: HTTPDigestAlgorithm) -> [UInt8]? {
        switch algorithm {
        case .sha256: sha256
        case .sha512: sha512
        }
    }

    /// - Parameter lines: values of the field's lines.
    /// - Returns: nothing when the field is missing.
    /// - Throws: 400 when it is no dictionary of byte sequences, or a digest has another length than its algorithm
    ///   gives.
    package init?(_ lines: [[UInt8]]) throws(HTTPFault) {
        guard !lines.isEmpty else { return nil }
        guard let members = StructuredField.dictionary(lines), !members.entries.isEmpty else {
            throw HTTPFault(400, "A digest field is no dictionary.")
        }
        var found: [HTTPDigestAlgorithm: [UInt8]] = [:]
        var unknown: [String] = []
        for member in members.entries {
            guard case .bytes(let bytes) = member.value.value else {
                throw HTTPFault(400, "A digest is no byte sequence.")
            }
            if let algorithm = HTTPDigestAlgorithm(rawValue: member.key) {
                guard bytes.count == algorithm.length else {
                    throw HTTPFault(400, "A digest of \(algorithm.rawValue) has other than \(algorithm.length) bytes.")
                }
                found[algorithm] = bytes
            } else {
                unknown.append(member.key)
            }
        }
        (sha256, sha512, self.unknown) = (found[.sha256], found[.sha512], unknown)
    }

    package init(sha256: [UInt8]? = nil, sha512: [UInt8]? = nil) {
        (self.sha256, self.sha512, unknown) = (sha256, sha512, [])
    }

    /// What is sent; empty when there is no digest, and then the field is not sent.
    package var text: String {
        let digests = HTTPDigestAlgorithm.allCases.compactMap { algorithm in
            self[algorithm].map { "\(algorithm.rawValue)=:\(Base64Text.encode($0)):" }
        }
        return digests.joined(separator: ", ")
    }
}

/// `Want-Content-Digest` or `Want-Repr-Digest` (RFC 9530, section 4).
package struct DigestPreference: Equatable, Sendable {
    /// Those that are wanted and that there are, the one that is wanted most first.
    package let algorithms: [HTTPDigestAlgorithm]

    /// - Parameter lines: values of the field's lines.
    /// - Returns: nothing when the field is missing, or is no dictionary of numbers from 0 to 10: a wish that nobody
    ///   can read is none.
    package init?(_ lines: [[UInt8]]) {
        guard !lines.isEmpty, let members = StructuredField.dictionary(lines) else { return nil }
        var wanted: [(algorithm: HTTPDigestAlgorithm, weight: Int64)] = []
        for member in members.entries {
            guard case .integer(let weight) = member.value.value, (0...10).contains(weight) else { return nil }
            guard weight > 0, let algorithm = HTTPDigestAlgorithm(rawValue: member.key) else { continue }
            wanted.append((algorithm, weight))
        }
        // Sorting keeps the order of equals (SE-0372).
        algorithms = wanted.sorted { $0.weight > $1.weight }.map(\.algorithm)
    }

    /// What a server sends to say which it has, all of them wanted alike.
    package static var offer: String {
        HTTPDigestAlgorithm.allCases.map { "\($0.rawValue)=10" }.joined(separator: ", ")
    }
}

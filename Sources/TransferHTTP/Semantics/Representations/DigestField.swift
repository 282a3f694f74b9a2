/// Digest algorithms that this server supports (RFC 9530, section 5).
package enum HTTPDigestAlgorithm: String, CaseIterable, Sendable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// Size of a digest in bytes.
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

    /// Keys of unsupported algorithms, which must be ignored (section 2).
    package let unknown: [String]

    package subscript(algorithm: HTTPDigestAlgorithm) -> [UInt8]? {
        switch algorithm {
        case .sha256: sha256
        case .sha512: sha512
        }
    }

    /// - Parameter lines: values of the field's lines.
    /// - Returns: nil if the field is missing.
    /// - Throws: 400 unless the field is a dictionary of byte sequences whose lengths match their algorithms.
    package init?(_ lines: [[UInt8]]) throws(HTTPFault) {
        guard !lines.isEmpty else { return nil }
        guard let members = StructuredField.dictionary(lines), !members.entries.isEmpty else {
            throw HTTPFault(400, "A digest field is not a dictionary.")
        }
        var found: [HTTPDigestAlgorithm: [UInt8]] = [:]
        var unknown: [String] = []
        for member in members.entries {
            guard case .bytes(let bytes) = member.value.value else {
                throw HTTPFault(400, "A digest is not a byte sequence.")
            }
            if let algorithm = HTTPDigestAlgorithm(rawValue: member.key) {
                guard bytes.count == algorithm.length else {
                    throw HTTPFault(400, "A digest of \(algorithm.rawValue) must have \(algorithm.length) bytes.")
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

    /// The value to send; empty if there is no digest. The field must not be sent then.
    package var text: String {
        let digests = HTTPDigestAlgorithm.allCases.compactMap { algorithm in
            self[algorithm].map { "\(algorithm.rawValue)=:\(Base64Text.encode($0)):" }
        }
        return digests.joined(separator: ", ")
    }
}

/// `Want-Content-Digest` or `Want-Repr-Digest` (RFC 9530, section 4).
package struct DigestPreference: Equatable, Sendable {
    /// The supported algorithms among those that the client wants, the most wanted first.
    package let algorithms: [HTTPDigestAlgorithm]

    /// - Parameter lines: values of the field's lines.
    /// - Returns: nil if the field is missing or not a dictionary of numbers from 0 to 10: an unreadable preference is
    ///   ignored.
    package init?(_ lines: [[UInt8]]) {
        guard !lines.isEmpty, let members = StructuredField.dictionary(lines) else { return nil }
        var wanted: [(algorithm: HTTPDigestAlgorithm, weight: Int64)] = []
        for member in members.entries {
            guard case .integer(let weight) = member.value.value, (0...10).contains(weight) else { return nil }
            guard weight > 0, let algorithm = HTTPDigestAlgorithm(rawValue: member.key) else { continue }
            wanted.append((algorithm, weight))
        }
        // Sorting is stable (SE-0372).
        algorithms = wanted.sorted { $0.weight > $1.weight }.map(\.algorithm)
    }

    /// The value with which the server offers all its algorithms equally.
    package static var offer: String {
        HTTPDigestAlgorithm.allCases.map { "\($0.rawValue)=10" }.joined(separator: ", ")
    }
}

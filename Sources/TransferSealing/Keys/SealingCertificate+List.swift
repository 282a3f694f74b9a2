package import TransferKeys

extension SealingCertificate {
    /// Most certificates, one for each machine, of one person: a server stores 1,024 bytes for each person
    /// (docs/reference/protocol.md, `introduce`).
    package static let mostTogether = 7

    /// Range of the identity's key in a certificate.
    private static let ownerRange = 1 + Bytes32.count..<1 + 2 * Bytes32.count

    /// Reads the certificates of one person, concatenated, as a server sends them.
    ///
    /// Entries that are malformed, or not signed by the identity that they name, are left out. Anyone can write a list,
    /// and no list proves to whom an identity belongs.
    ///
    /// - Returns: the newest certificate of each identity; at most `mostTogether`, in order.
    package static func list(_ bytes: [UInt8]) -> [SealingCertificate] {
        var list: [SealingCertificate] = []
        for start in stride(from: 0, to: min(bytes.count, mostTogether * size), by: size) {
            let part = Array(bytes[start...].prefix(size))
            guard part.count == size, let owner = PublicKey(part[ownerRange]),
                let found = try? SealingCertificate(decoding: part, of: owner)
            else { continue }
            if let index = list.firstIndex(where: { $0.owner == owner }) {
                if list[index].issued < found.issued { list[index] = found }
            } else {
                list.append(found)
            }
        }
        return list
    }

    /// Filters a list by the identities that the entries name. Nothing is verified; the client that seals does that.
    package static func list(_ bytes: [UInt8], of owners: [PublicKey]) -> [UInt8] {
        var kept: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = Array(bytes[start...].prefix(size))
            guard part.count == size, let owner = PublicKey(part[ownerRange]), owners.contains(owner) else { continue }
            kept += part
        }
        return kept
    }

    /// The list that a person's machine publishes: its own certificate, which replaces its earlier one, and those of the
    /// other machines, of which the oldest are dropped if there is no room.
    ///
    /// - Parameter others: certificates that were published before.
    package func added(to others: [SealingCertificate]) -> [UInt8] {
        let kept = others.filter { $0.owner != owner }.sorted { $0.issued > $1.issued }.prefix(Self.mostTogether - 1)
        return ([self] + kept).flatMap(\.encoded)
    }
}

package import TransferKeys

extension SealingCertificate {
    /// Machines of one person that can be sealed for: a server keeps 1,024 bytes for each person (docs/reference/protocol.md,
    /// `introduce`).
    package static let mostTogether = 7

    /// Where the identity stands in one.
    private static let ownerRange = 1 + Bytes32.count..<1 + 2 * Bytes32.count

    /// Those of one person, one behind the other, as a server gives them.
    ///
    /// What is none, or is not signed by the identity that it names, is left out: anybody can write a list, and who an identity
    /// belongs to none of them says.
    ///
    /// - Returns: one for each identity, the newest; at most `mostTogether`, in their order.
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

    /// Those of a list that certain identities have signed, as they say. Nothing is verified: who seals does that.
    package static func list(_ bytes: [UInt8], of owners: [PublicKey]) -> [UInt8] {
        var kept: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = Array(bytes[start...].prefix(size))
            guard part.count == size, let owner = PublicKey(part[ownerRange]), owners.contains(owner) else { continue }
            kept += part
        }
        return kept
    }

    /// The list that a person's machine publishes: its own in place of the one that it had before, and those of the others,
    /// of which the oldest go where there is no room.
    ///
    /// - Parameter others: what there was until now.
    package func added(to others: [SealingCertificate]) -> [UInt8] {
        let kept = others.filter { $0.owner != owner }.sorted { $0.issued > $1.issued }.prefix(Self.mostTogether - 1)
        return ([self] + kept).flatMap(\.encoded)
    }
}

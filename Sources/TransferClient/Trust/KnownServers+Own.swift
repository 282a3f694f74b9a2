package import TransferKeys
import TransferModel

/// Entries that this user's own servers write, so that clients of the same user trust them without a question.
extension KnownServers {
    /// The most entries of own servers that are kept: servers that listen on a new port every time would fill the list.
    private static let mostOwn = 64

    /// Adds the server's key for each of the addresses, unless the list has an entry for the address that no server
    /// wrote. Entries that an earlier server wrote for these addresses are replaced.
    ///
    /// - Returns: the entries that have another key and were left alone.
    package func addOwn(_ fingerprint: KeyFingerprint, at addresses: [String]) throws(Fault) -> [Entry] {
        let wanted = addresses.filter(Self.isOneWord).map { Entry(address: $0, fingerprint: fingerprint, isOwn: true) }
        let present = try entries()
        if !wanted.allSatisfy({ entry in present.contains(entry) || present.contains { $0.isGiven(for: entry) } }) {
            try change { $0 = Self.adding(wanted, to: $0) }
        }
        return try entries().filter { entry in
            entry.fingerprint != fingerprint && wanted.contains { entry.isGiven(for: $0) }
        }
    }

    private static func adding(_ wanted: [Entry], to lines: [Line]) -> [Line] {
        let own = wanted.filter { entry in !lines.contains { $0.entry?.isGiven(for: entry) ?? false } }
        let others = lines.filter { line in !own.contains { line.entry?.address.hasSameBytes(as: $0.address) ?? false }
        }
        let older = others.indices.filter { others[$0].entry?.isOwn ?? false }
        let surplus = Set(older.dropLast(max(0, mostOwn - own.count)))
        return others.indices.filter { !surplus.contains($0) }.map { others[$0] } + own.map { Line($0) }
    }
}

extension KnownServers.Entry {
    /// Whether this entry is for the same address, and was not written by a server.
    fileprivate func isGiven(for other: Self) -> Bool { !isOwn && address.hasSameBytes(as: other.address) }
}

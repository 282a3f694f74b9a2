package import TransferKeys
import TransferModel

/// What this user's own servers write, so that their user can push to them without being asked.
extension KnownServers {
    /// Lines of that kind that are kept: servers that listen on a new port every time would fill the list.
    private static let mostOwn = 64

    /// Knows a server of this user by its key at each of its addresses, unless somebody else has said something about that
    /// address. What an earlier server wrote for them is replaced.
    ///
    /// - Returns: the entries that say otherwise and were left alone.
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
    /// Whether somebody other than a server said it about the same address.
    fileprivate func isGiven(for other: Self) -> Bool { !isOwn && address.hasSameBytes(as: other.address) }
}

import TransferModel
import TransferPorts
import TransferSystem

/// Gives out numbers of nodes and objects that no other server gives out: a random epoch, and a serial number in it.
/// Safe to call from any thread.
///
/// A new epoch is opened after an hour, so that the sweeper can close it a day later, and when the numbers are used up.
final class NodeNumbers: Sendable {
    /// The numbers of one epoch.
    struct Epoch: Sendable {
        let row: EpochRow
        /// When it was opened, in nanoseconds of the monotonic clock.
        let opened: Int64
        var next: UInt64 = 0
    }

    /// Nanoseconds for which an epoch gives out numbers.
    static let longest: Int64 = 3600 * 1_000_000_000

    private let ledger: any ClusterLedger
    private let server: String
    private let monotonic: @Sendable () -> Int64
    private let utc: @Sendable () -> Int64
    private let random: @Sendable () -> UInt64
    private let epoch = Locked<Epoch?>(nil)
    /// Held while an epoch is opened.
    private let opening = Locked(())

    /// - Parameters:
    ///   - server: the name of this server, for operators.
    ///   - monotonic: nanoseconds of a clock that is never set.
    ///   - utc: UTC, in nanoseconds since 1970.
    ///   - random: 64 random bits with each call.
    init(
        _ ledger: any ClusterLedger, server: String, monotonic: @escaping @Sendable () -> Int64 = monotonicNanoseconds,
        utc: @escaping @Sendable () -> Int64 = utcNanoseconds,
        random: @escaping @Sendable () -> UInt64 = ClusterStore.Configuration.systemRandom
    ) {
        (self.ledger, self.server, self.monotonic, self.utc) = (ledger, server, monotonic, utc)
        self.random = random
    }

    /// A number that was not given out before.
    ///
    /// - Throws: if a new epoch is needed and cannot be opened.
    func next() throws(LedgerError) -> UInt64 { try object().number.rawValue }

    /// A number for an object, and the object's key.
    func object() throws(LedgerError) -> (number: ObjectNumber, key: String) {
        if let number = take() { return number }
        return try opening.withLock { (_) throws(LedgerError) in
            // Another thread may have opened one meanwhile.
            if let number = take() { return number }
            let row = EpochRow.random(of: server, at: utc(), random)
            try ledger.open(row)
            epoch.withLock { $0 = Epoch(row: row, opened: monotonic()) }
            guard let number = take() else {
                throw LedgerError(.unavailable, "The server's clock has moved by an hour at once.")
            }
            return number
        }
    }

    private func take() -> (number: ObjectNumber, key: String)? {
        let now = monotonic()
        return epoch.withLock { epoch in
            guard let current = epoch, current.next < ObjectNumber.mostSerials - 1, now - current.opened < Self.longest
            else { return nil }
            epoch?.next += 1
            let number = ObjectNumber(epoch: current.row.number, serial: current.next + 1)
            return (number, number.key(in: current.row))
        }
    }

    /// Stops giving out numbers of an epoch that was closed.
    func abandon() { epoch.withLock { $0 = nil } }
}

extension EpochRow {
    /// What all keys of objects begin with.
    static let keyPrefix = "e/"

    /// - Parameters:
    ///   - moment: UTC, in nanoseconds since 1970. Only for operators, who read it in the keys of objects.
    ///   - random: 64 random bits with each call.
    static func random(of server: String, at moment: Int64, _ random: () -> UInt64) -> EpochRow {
        let number = 1 + random() % greatest
        let hour = Timestamp(seconds: UTCTime(clamping: moment / 1_000_000_000).seconds, nanoseconds: 0)
            .text(.seconds, .name)
        let digits = String(random(), radix: 16)
        return EpochRow(number: number, key: "\(keyPrefix)\(hour)-\(digits)", server: server, opened: moment)
    }
}

extension ObjectNumber {
    /// The key of the object in the bucket, below the prefix of the cluster.
    func key(in epoch: EpochRow) -> String { "\(epoch.key)/\(String(rawValue, radix: 16))" }

    /// Reads the number from a key; nil for a key of another form.
    init?(key: String) {
        guard let slash = key.utf8.lastIndex(of: UInt8(ascii: "/")),
            let number = UInt64(key[key.utf8.index(after: slash)...], radix: 16)
        else { return nil }
        self.init(rawValue: number)
    }
}

import Glibc
import TransferDatabase
import TransferLedger
import TransferMail
import TransferModel
import TransferTestSupport

/// Ledger of a simulated server: a real one, in memory, that fails on request. The outcome of a failed commit is
/// unknown, and a power cut may take the commit together with everything that the same connection has written after it.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedLedger: @unchecked Sendable {
    private enum Fault: UInt32, CaseIterable {
        /// A commit is not made.
        case commit
        /// A call other than a commit is not made.
        case step
        /// A commit is made, and its caller receives a failure.
        case late
        /// A commit is made, its caller receives a failure, and the disk has not kept the commit.
        case lost
        /// The process dies after a commit.
        case death
    }

    /// SQLITE_IOERR (sqlite.org/rescode.html#ioerr).
    private static let failed: Int32 = 10

    let path: String
    /// Whether a call has failed since the server was started.
    private(set) var hasFailed = false
    /// Number that grows with every commit that took place.
    private(set) var version = 0
    /// Whether a power cut has taken commits that no caller knows to have succeeded.
    var hasReverted = false
    private var fault: Fault?
    private var wait: UInt32 = 0
    private var isLate = false
    /// Path of copies of the files as the disk has them, while the disk has not kept later writes; nil otherwise.
    private var kept: String?
    private var reader: (database: Database, rows: Statement)?
    /// Whether the process that uses the ledger is dead.
    var isDead: () -> Bool = { false }
    var die: () -> Void = {}

    init(_ directory: String) throws {
        mkdir(directory, 0o700)
        path = directory + "/" + MailLedger.fileName
    }

    /// - Parameter clock: determines the age of waiting mail.
    func open(clock: @escaping @Sendable () -> Int64) throws -> MailLedger {
        (hasFailed, isLate, reader, version) = (false, false, nil, version + 1)
        kept = nil
        var calls = DatabaseCalls(
            failure: { [self] in failure(of: $0) }, committed: { [self] _ in version += 1 })
        calls.lateFailure = { [self] in lateFailure }
        return try MailLedger(path: path, isDurable: true, calls: calls, clock: clock)
    }

    /// - Parameters:
    ///   - kind: number of the fault.
    ///   - calls: number of calls that pass before the fault, of those in which it can occur.
    func fail(_ kind: UInt32, after calls: UInt32) {
        fault = Fault.allCases[Int(kind) % Fault.allCases.count]
        wait = fault == .step ? calls : calls % 2
    }

    func mend() { fault = nil }

    private func failure(of call: DatabaseCalls.Call) -> Int32 {
        guard !isDead() else { return Self.failed }
        // A process that opens the ledger writes all of it again, so that the disk has it.
        if call == .open { kept = nil }
        guard let fault else { return 0 }
        guard call == (fault == .step ? .step : .commit) else { return 0 }
        guard wait == 0 else {
            wait -= 1
            return 0
        }
        switch fault {
        case .commit, .step:
            (hasFailed, self.fault) = (true, nil)
            return Self.failed
        case .lost where kept == nil: keep()
        case .lost, .late, .death: break
        }
        isLate = true
        return 0
    }

    private var lateFailure: Int32 {
        guard isLate else { return 0 }
        if fault == .death { die() }
        (isLate, hasFailed, fault) = (false, true, nil)
        version += 1
        return Self.failed
    }

    // MARK: Files

    private static let suffixes = ["", "-wal"]

    /// Copies the files before the commit that the disk will not keep.
    private func keep() {
        let place = path + ".kept"
        for suffix in Self.suffixes { Self.copy(path + suffix, to: place + suffix) }
        kept = place
    }

    /// Leaves only the files that the disk has. The process is dead.
    func cutPower() throws {
        (reader, fault, version) = (nil, nil, version + 1)
        guard let kept else { return }
        unlink(path + "-shm")
        for suffix in Self.suffixes { Self.copy(kept + suffix, to: path + suffix) }
        self.kept = nil
        hasReverted = true
    }

    private static func copy(_ path: String, to other: String) {
        unlink(other)
        let source = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { return }
        defer { close(source) }
        let target = Glibc.open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { return }
        defer { close(target) }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = Glibc.read(source, &buffer, buffer.count), count > 0 {
            _ = Glibc.write(target, buffer, count)
        }
    }

    // MARK: Looking

    func stop() { reader = nil }

    /// All deliveries in the ledger, read without the server.
    func rows() throws -> [(id: UploadID, recipient: String, row: World.MailRow)] {
        if reader == nil {
            let database = try Database(path: path, called: "ledger")
            let sql = """
                SELECT lower(hex(m.id)), d.recipient, d.state, d.changed, m.path, m.size, m.digest FROM deliveries d
                JOIN mails m ON m.number = d.mail ORDER BY d.number
                """
            reader = (database, try Statement(sql, in: database))
        }
        guard let rows = reader?.rows else { return [] }
        defer { rows.reset() }
        var found: [(id: UploadID, recipient: String, row: World.MailRow)] = []
        while try rows.next() {
            guard let id = UploadID(hexadecimal: rows.text(0)),
                let state = DeliveryState(rawValue: UInt8(clamping: rows.integer(2)))
            else { continue }
            found.append(
                (
                    id, rows.text(1),
                    World.MailRow(
                        state: state, changed: rows.integer(3), path: rows.text(4), size: Int(rows.integer(5)),
                        digest: rows.blob(6))
                ))
        }
        return found
    }
}

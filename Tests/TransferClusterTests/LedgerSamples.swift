import Testing
import TransferCluster
import TransferClusterModel
import TransferModel
import TransferPorts
import TransferPostgres
import TransferSystem

/// A ledger that the tests of the port run on.
enum TestedLedger: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case model
    case postgres

    /// The ledgers that can be tested here: all, or those that need no PostgreSQL.
    static var available: [TestedLedger] { PostgresServer.isInstalled ? allCases : [.model] }

    var testDescription: String { rawValue }

    /// Makes a ledger without rows.
    func make() throws -> any ClusterLedger {
        switch self {
        case .model: ModelLedger(ModelDatabase { 1_000 })
        case .postgres: PostgresLedger(try preparedPool())
        }
    }
}

/// A pool of connections with new tables, in a schema of their own.
///
/// - Parameter name: a name that tells its sessions from those of other tests, with the schema's name.
func preparedPool(_ name: String = "ledger") throws -> PostgresPool {
    let server = try PostgresServer.shared.get()
    let number = poolNumber.withLock { number in
        number += 1
        return number
    }
    let pool = try PostgresPool(server.configuration("&application_name=\(name)-\(number)"))
    _ = try PostgresLedger.schema.prepare(pool, cluster: .any, within: 60_000_000_000)
    return pool
}

private let poolNumber = Locked(0)

/// The epoch that tests name objects in.
let sampleEpoch: UInt64 = 7

/// Any digest, decided by a number.
func sampleDigest(_ number: UInt64 = 0, _ algorithm: DigestAlgorithm = .xxh128) -> Digest {
    var bytes: [UInt8] = []
    while bytes.count < algorithm.function.size { bytes.append(bigEndian: number &+ UInt64(bytes.count)) }
    return Digest(algorithm, bytes)
}

func object(_ serial: UInt64, in epoch: UInt64 = sampleEpoch) -> ObjectNumber {
    ObjectNumber(epoch: epoch, serial: serial)
}

extension LedgerPaths {
    /// The given paths, which are valid, and the folders above them.
    init(_ paths: String...) throws {
        self.init()
        for path in paths { add(try RelativePath(path)) }
    }
}

extension NodeRow {
    static func folder(_ number: UInt64, _ name: String, in folder: UInt64 = top, touch: Int64 = 1) -> NodeRow {
        NodeRow(
            number: number, folder: folder, name: PathKey(name), form: .folder, touch: touch,
            modified: Timestamp(seconds: 5, nanoseconds: 6), permissions: 0o755)
    }

    /// A file whose bytes are in one object; without one, the file is empty.
    static func file(
        _ number: UInt64, _ name: String, in folder: UInt64 = top, size: UInt64 = 0, object: ObjectNumber = .none,
        at start: UInt64 = 0, touch: Int64 = 1
    ) -> NodeRow {
        let file = FileRow(size: size, digest: sampleDigest(number), content: .whole(object, at: start))
        return NodeRow(
            number: number, folder: folder, name: PathKey(name), form: .file(file), touch: touch,
            modified: Timestamp(seconds: -7, nanoseconds: 999_999_999), permissions: 0o644)
    }

    func touched(_ touch: Int64) -> NodeRow {
        var node = self
        node.touch = touch
        return node
    }

    func named(_ name: String, in folder: UInt64? = nil, touch: Int64 = 2) -> NodeRow {
        var node = touched(touch)
        node.name = PathKey(name)
        node.folder = folder ?? node.folder
        return node
    }
}

extension LedgerChanges {
    /// Changes that make nodes, in folders that are expected with their first touch.
    init(making nodes: NodeRow...) {
        self.init()
        for node in nodes {
            made[node.number] = node
            if node.folder != NodeRow.top { expected[node.folder] = 1 }
        }
        for node in nodes { expected[node.number] = nil }
    }

    /// Changes that update nodes whose touch was the given one.
    init(updating nodes: NodeRow..., expecting touch: Int64 = 1) {
        self.init()
        for node in nodes {
            updated[node.number] = node
            expected[node.number] = touch
        }
    }

    /// Changes that remove nodes whose touch was the given one.
    init(removing numbers: UInt64..., expecting touch: Int64 = 1) {
        self.init()
        for number in numbers {
            removed.insert(number)
            expected[number] = touch
        }
    }

    /// Adds new objects of the sample epoch.
    func with(_ objects: ObjectRow...) -> LedgerChanges {
        var changes = self
        changes.objects += objects
        for object in objects { changes.epochs.insert(object.number.epoch) }
        return changes
    }

    func with(_ entries: [EntryRow], _ receipts: SignedBatch? = nil) -> LedgerChanges {
        var changes = self
        changes.entries += entries
        changes.receipts = receipts
        for entry in entries where made[entry.node] == nil { changes.expected[entry.node] = 1 }
        return changes
    }
}

extension UploadID {
    /// An ID whose first bit is set, so that its first half is no positive 64-bit integer.
    init(_ number: UInt64) {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64.max)
        bytes.append(bigEndian: number)
        self.init(derivedFrom: bytes)
    }
}

extension EntryRow {
    /// An entry with all fields that a ledger keeps.
    init(
        _ id: UInt64, of node: UInt64, state: CatalogEntry.State = .committed, size: UInt64 = 10,
        digest: Digest? = nil, receipt: UInt64? = nil
    ) {
        self.init(
            CatalogEntry(
                id: UploadID(id), state: state, path: "a/\(id)", kind: .picture, size: size, digest: digest,
                isDurable: id % 2 == 0, sender: "sénder", client: id % 3 == 0 ? nil : .max - id, begun: Int64(id),
                committed: -1, run: id % 2 == 0 ? nil : .max, receipt: receipt, hasReplaced: id % 3 == 0), node: node)
    }
}

extension ClusterLedger {
    /// Opens the sample epoch.
    func openSample() throws { try open(EpochRow(number: sampleEpoch, key: "k7", server: "s", opened: 0)) }

    /// All rows that a ledger shows, as text: two ledgers with the same rows show the same.
    func dump() throws -> [String] {
        var lines: [String] = []
        var folders = [NodeRow.top]
        while let folder = folders.popLast() {
            for node in try list(folder, after: nil, limit: .max) {
                lines.append("\(node)")
                if node.isFolder { folders.append(node.number) }
                for extent in try extents(of: node.number) { lines.append("  \(extent)") }
            }
        }
        for (index, entry) in try entries(after: 0, limit: .max).enumerated() {
            lines.append("entry \(index): \(entry.entry) \(entry.path) \(entry.node)")
        }
        for row in try uploads() {
            lines.append("upload \(row)")
            for part in try upload(row.id)?.parts ?? [] { lines.append("  \(part)") }
        }
        for upload in try declared() { lines.append("declared \(upload)") }
        lines.append("facts \(try facts())")
        for (number, digest) in try allRotten().sorted(by: { $0.key < $1.key }) {
            lines.append("rotten \(number) \(digest)")
        }
        for file in try placed(after: nil, limit: .max) { lines.append("\(file)") }
        lines.append("sparse \(try sparse(for: -1, after: .none, limit: .max))")
        lines.append("unused \(try unused(for: 0, limit: .max).map(\.rawValue).sorted())")
        lines.append("totals \(try totals().sorted { $0.key.rawValue < $1.key.rawValue })")
        return lines
    }
}

extension ClusterLedger {
    /// What is known of mails, without times of the database's clock.
    fileprivate func facts() throws -> String {
        let facts = try mailFacts((1...6).map { UploadID($0) }, ["p", "r", "p"])
        let mails = facts.mails.values.sorted { $0.mail.id.low < $1.mail.id.low }
        let waiting = facts.waiting.map { waiting in
            "\(waiting.recipient) \(waiting.sender.isUnproven ? "" : waiting.sender.name) \(waiting.count) \(waiting.bytes)"
        }
        return "\(facts.revision) \(facts.lastNumber) \(mails) \(facts.deliveries) \(waiting.sorted())"
    }
}

/// What a call has returned or thrown, so that the outcomes of two ledgers can be compared.
func reason(_ body: () throws -> Void) -> LedgerError.Reason? {
    do {
        try body()
        return nil
    } catch let error as LedgerError { return error.reason } catch { return .refused }
}

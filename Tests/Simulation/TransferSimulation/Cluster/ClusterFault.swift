import TransferCluster
import TransferClusterModel
import TransferObjects

/// What goes wrong in one call of a simulated server to the bucket or to the database.
enum ClusterFault: CaseIterable {
    /// The engine refuses the object, or stores it and the answer is lost.
    case putFails, putIsUnheard
    /// The server gives up waiting, and the engine stores the object later.
    case putIsLate
    /// The engine keeps other bytes, which the server notices when it reads them back.
    case putKeepsOther
    /// The engine does not answer, or the body of the answer is cut.
    case getFails, getIsCut
    case deleteFails, deleteIsUnheard
    case listFails
    /// A listing does not have the objects of the last hour.
    case listIsOld
    /// The database cannot be reached.
    case callFails
    /// The database finds that a row has changed.
    case conflict
    /// The connection is lost behind a commit.
    case commitIsUnheard
    /// The wait for the standby was cancelled: everybody sees the commit, and the standby does not have it.
    case commitIsUnsafe
    case isReadOnly, isFull

    /// The calls of a server in which faults occur.
    enum Place {
        case put, get, delete, list, read, change
    }

    /// Whether the fault can occur in a call.
    func occurs(in place: Place) -> Bool {
        switch self {
        case .putFails, .putIsUnheard, .putIsLate, .putKeepsOther: place == .put
        case .getFails, .getIsCut: place == .get
        case .deleteFails, .deleteIsUnheard: place == .delete
        case .listFails, .listIsOld: place == .list
        case .callFails: place == .read || place == .change
        case .conflict, .commitIsUnheard, .commitIsUnsafe, .isReadOnly, .isFull: place == .change
        }
    }

    /// The fault as the ledger shows it; nil for faults of the bucket.
    var ofLedger: ModelLedger.Fault? {
        switch self {
        case .callFails: .before
        case .conflict: .conflict
        case .commitIsUnheard, .commitIsUnsafe: .after
        case .isReadOnly: .refused(.readOnly)
        case .isFull: .refused(.full)
        default: nil
        }
    }
}

/// The bucket as one simulated server reaches it.
final class NodeBucket: ObjectStore {
    private unowned let node: ClusterNode

    init(_ node: ClusterNode) { self.node = node }

    private var world: ClusterWorld { node.world }

    func put(_ key: ObjectKey, _ content: ObjectContent) throws(ObjectError) {
        let bytes = try content.bytes()
        let fault = try begin(.put, key)
        switch fault {
        case .putFails: throw ObjectError(.busy, "503 Slow Down")
        case .putIsLate:
            world.late.append((key, bytes))
            throw ObjectError(.unreachable, "The engine does not answer.")
        case .putKeepsOther:
            try store(key, bytes.map { $0 ^ 0x55 })
            throw ObjectError(.damaged, "The object has other bytes.")
        default: try store(key, bytes)
        }
        try end(fault == .putIsUnheard)
    }

    private func store(_ key: ObjectKey, _ bytes: [UInt8]) throws(ObjectError) {
        world.arrived(key)
        try world.bucket.put(key, try ObjectContent([bytes]))
    }

    func get(
        _ key: ObjectKey, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ObjectError) {
        switch try begin(.get, key) {
        case .getFails: throw ObjectError(.busy, "503 Slow Down")
        case .getIsCut:
            buffer.initializeMemory(as: UInt8.self, repeating: 0x55)
            throw ObjectError(.unreachable, "The answer was cut.")
        default: try world.bucket.get(key, range, into: buffer)
        }
        try end(false)
    }

    func head(_ key: ObjectKey) throws(ObjectError) -> ObjectHead {
        guard try begin(.get, key) == nil else { throw ObjectError(.unreachable, "The answer was cut.") }
        let head = try world.bucket.head(key)
        try end(false)
        return head
    }

    func delete(_ key: ObjectKey) throws(ObjectError) {
        let fault = try begin(.delete, key)
        guard fault != .deleteFails else { throw ObjectError(.busy, "503 Slow Down") }
        node.world.history.deleting(key)
        try world.bucket.delete(key)
        try end(fault == .deleteIsUnheard)
    }

    func list(_ prefix: String, after last: ObjectKey?, limit: Int) throws(ObjectError) -> ObjectPage {
        let fault = try begin(.list, nil)
        guard fault != .listFails else { throw ObjectError(.busy, "503 Slow Down") }
        // Short pages show whether the sweeper asks for the next one.
        let page = try world.bucket.list(prefix, after: last, limit: min(limit, 2))
        try end(false)
        guard fault == .listIsOld else { return page }
        return ObjectPage(page.objects.filter { !world.isFresh($0.key) }, isLast: page.isLast)
    }

    private func begin(_ place: ClusterFault.Place, _ key: ObjectKey?) throws(ObjectError) -> ClusterFault? {
        node.call("\(place)")
        guard !node.isDead else { throw ObjectError(.unreachable, "The server is dead.") }
        return node.fault(in: place)
    }

    private func end(_ isUnheard: Bool) throws(ObjectError) {
        node.thread.pause()
        guard !isUnheard, !node.isDead else { throw ObjectError(.unreachable, "The answer is lost.") }
    }
}

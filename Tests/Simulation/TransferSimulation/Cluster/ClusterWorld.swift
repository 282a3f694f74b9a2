import TransferCluster
import TransferClusterModel
import TransferIntake
import TransferKeys
import TransferModel
import TransferObjects
import TransferPorts
import TransferReceipts
import TransferTestSupport

/// Some servers of one cluster, each with clocks of its own, over one bucket and one database, with their clients and the
/// promises of all servers together.
///
/// Each server has a thread, which the world lets run for some calls to the bucket or the database at a time. So a server
/// can be stopped between any two calls, for as long as the steps say, while the others go on.
///
/// `@unchecked Sendable`: it is used by the thread whose turn it is (`NodeThread`).
final class ClusterWorld: @unchecked Sendable {
    /// Nanoseconds for which servers keep unfinished uploads.
    static let week: Int64 = 7 * 86_400_000_000_000

    private static let (hour, day): (Int64, Int64) = (3600, 86_400)

    let mix: Mix
    private let tells: Bool
    let bucket = MemoryBucket()
    let database: ModelDatabase
    let clock = VirtualClock()
    let signer: ServerIdentity?
    let callers: [Caller]
    var random: SplitMix64
    let trace = Trace()
    private(set) var nodes: [ClusterNode] = []
    private(set) lazy var history = ClusterHistory(of: self)
    /// Objects that an engine will store later.
    var late: [(key: ObjectKey, bytes: [UInt8])] = []
    /// When each object was stored.
    private var arrivals: [ObjectKey: Int64] = [:]
    /// Objects that a server has stored when its epoch was closed already, after it was stopped for a day.
    private var strays: Set<ObjectKey> = []
    /// Number of fail-overs so far.
    private(set) var timeline = 0
    private(set) var calls: UInt64 = 0
    private var connections = 0
    private var trashBatches: UInt32 = 0
    private var trouble: (any Error)?

    var uploads: [ClusterUpload] = []
    private(set) var contents: [[UInt8]] = []
    /// Contents by their digests.
    private var digests: [Digest: Int] = [:]
    /// Contents that clients have copied.
    var copied: Set<Int> = []
    /// Objects that the engine has damaged, and paths of files that a scrub has found to be rotten.
    var rottenObjects: Set<ObjectNumber> = []
    var knownRot: Set<String> = []
    /// Numbers of receipts that were given.
    private var receiptNumbers: Set<UInt64> = []
    var kinds: Set<Step.Kind> = []
    var done: Set<Operation> = []

    init(_ mix: Mix, seed: UInt64, tells: Bool) throws {
        (self.mix, self.tells) = (mix, tells)
        random = SplitMix64(seed: seed)
        let clock = clock
        database = ModelDatabase { clock.stamp() }
        signer = mix.givesReceipts ? ServerIdentity() : nil
        callers = Caller.simulated(guestQuota: nil)
        for number in 0..<mix.nodes {
            nodes.append(ClusterNode(number, in: self, on: try NodeThread(), skew: skew(of: number)))
        }
        for node in nodes { try run(on: node) { try node.start() } }
    }

    /// Clocks are wrong by as much as a year.
    private func skew(of number: Int) -> Int64 {
        [0, 365 * Self.day, -30 * Self.day, Self.hour][number % 4] * 1_000_000_000
    }

    /// Ends the threads. Nothing else may be called afterwards.
    func end() {
        for node in nodes {
            node.die()
            node.thread.goOn(calls: .max)
            node.thread.begin(calls: .max) { node.clear() }
            node.thread.end()
        }
    }

    // MARK: Notes of the servers

    func note(call: String, of node: ClusterNode) {
        calls += 1
        trace.add(node.number)
        trace.add(call)
        if tells { print("    \(node.number): \(call)") }
    }

    func note(fault: ClusterFault) {
        if tells { print("    fault: \(fault)") }
    }

    func say(_ text: @autoclosure () -> String) {
        if tells { print("    \(text())") }
    }

    func nextConnection() -> Int {
        connections += 1
        return connections
    }

    /// A numbered trash batch for everything that one connection discards.
    func newTrash() -> OpenTrashBatch {
        OpenTrashBatch(utc: { 0 }) { [unowned self] _ in
            trashBatches += 1
            return TrashBatch(at: 0, number: trashBatches)
        }
    }

    /// Takes note of an object that the engine is about to store.
    func arrived(_ key: ObjectKey) {
        arrivals[key] = clock.stamp()
        let epoch = ObjectNumber(text: key.text).flatMap { database.contents.epochs[$0.epoch] }
        if epoch?.state != .open { strays.insert(key) }
    }

    /// Whether an object was stored within the last hour.
    func isFresh(_ key: ObjectKey) -> Bool {
        arrivals[key].map { clock.stamp() - $0 < Self.hour * 1_000_000_000 } ?? false
    }

    func gave(_ batch: (number: UInt64, count: Int)) throws(Promises.Broken) {
        for offset in 0..<UInt64(batch.count) where !receiptNumbers.insert(batch.number + offset).inserted {
            throw Promises.Broken("the receipt number \(batch.number + offset) was given twice")
        }
    }
}

// MARK: - Contents

extension ClusterWorld {
    func addContent(_ size: Int) -> Int {
        let content = SplitMix64.bytes(seed: random.next(), size)
        let digest = digest(of: content, .xxh128)
        if let known = digests[digest] { return known }
        digests[digest] = contents.count
        digests[self.digest(of: content, .sha256)] = contents.count
        contents.append(content)
        return contents.count - 1
    }

    func digest(of content: [UInt8], _ function: DigestFunction) -> Digest {
        SimulatedGround.digest(of: content, function)
    }

    /// The content with a digest; nil if no client has it.
    func content(with digest: Digest, size: UInt64) -> Int? {
        digests[digest].flatMap { contents[$0].count == size ? $0 : nil }
    }

    func content(of id: UploadID) -> [UInt8]? { uploads.first { $0.id == id }.map { contents[$0.content] } }

    /// Whether a content may be stored several times.
    func isShared(_ content: Int) -> Bool {
        contents[content].isEmpty || copied.contains(content) || uploads.count { $0.content == content } > 1
    }

    /// Whether a client may have stored a content.
    func mayHaveOwner(_ content: Int, _ caller: Int) -> Bool {
        uploads.contains { $0.content == content && $0.caller == caller }
    }
}

// MARK: - Steps

extension ClusterWorld {
    /// - Throws: `Promises.Broken`, and errors that keep a server from starting.
    func take(_ step: Step) throws {
        say("\(step)")
        kinds.insert(step.kind)
        let node = nodes[Int(step.a) % nodes.count]
        switch step.kind {
        case .wait: try wait(step)
        case .kill: try restart(node)
        case .proceed: node.thread.goOn(calls: 1 + Int(step.b % 12))
        case .failOver: failOver()
        case .mend: for node in nodes { node.arm(nil) }
        default:
            if node.thread.isBusy { node.thread.goOn(calls: 1 + Int(step.b % 12)) } else { begin(step, on: node) }
        }
        try check()
    }

    private func check() throws {
        if let broken = history.broken { throw broken }
        if let trouble { throw trouble }
    }

    private func begin(_ step: Step, on node: ClusterNode) {
        let isInterrupted = step.b >> 24 % mix.interludeRate == 0
        if step.c >> 8 % mix.faultRates.durable == 0, let fault = mix.clusterFaults.randomElement(step.c >> 12) {
            node.arm(fault, after: step.c >> 16 % mix.faultWait)
        }
        let isUpload = ![.rearrange, .discard, .restore, .remove, .copy].contains(step.kind)
        begin(
            "\(step.kind)", for: isUpload ? Int(step.a >> 8 % 2) : nil, on: node,
            calls: isInterrupted ? Int(step.c >> 27) : .max
        ) {
            [self] in
            try perform(step, on: node)
        }
    }

    private func begin(
        _ name: String, for caller: Int?, on node: ClusterNode, calls: Int, _ body: @escaping () throws -> Void
    ) {
        node.operation = ClusterOperation(name, for: caller, at: history.moment)
        node.thread.begin(calls: calls) { [self] in
            do { try body() } catch { if !node.isDead { trouble = trouble ?? error } }
            node.operation = nil
            node.arm(nil)
        }
    }

    /// Runs an operation without a fault or an interruption.
    func run(on node: ClusterNode, for caller: Int? = nil, _ body: @escaping () throws -> Void) throws {
        node.arm(nil)
        begin("end", for: caller, on: node, calls: .max, body)
        try check()
    }

    private func wait(_ step: Step) throws {
        // Requests of the engine do not take an hour.
        arriveLate()
        switch step.c % 8 {
        case 0: clock.wait(Int64(step.b % 3 + 1) * Self.day * 1_000_000_000)
        case 1, 2: clock.wait((Self.hour + Int64(step.b % 3600)) * 1_000_000_000)
        default: clock.wait(Int64(step.b % 3600) * 1_000_000_000)
        }
        for node in nodes where !node.thread.isBusy {
            try run(on: node) { node.intake?.multiparts.letGo(desertedUpTo: .max) }
        }
    }

    private func arriveLate() {
        for (key, bytes) in late {
            arrived(key)
            do throws(ObjectError) { try bucket.put(key, try ObjectContent([bytes])) } catch { trouble = error }
        }
        late = []
    }

    /// Kills the process of a server, and starts another one.
    private func restart(_ node: ClusterNode) throws {
        node.die()
        node.thread.goOn(calls: .max)
        node.thread.begin(calls: .max) { node.clear() }
        let next = ClusterNode(node.number, in: self, on: node.thread, skew: node.skew)
        nodes[node.number] = next
        forget(olderThan: Self.week)
        try run(on: next) { try next.start() }
    }

    private func failOver() {
        timeline += 1
        // What servers have read before does not count any more.
        for node in nodes { node.operation?.hasFault = true }
        database.restore(history.replicated.rows)
        history.failOver()
    }

    private func perform(_ step: Step, on node: ClusterNode) throws {
        guard let session = node.session(Int(step.a >> 8 % 2)) else { return }
        switch step.kind {
        case .batch: try batch(step, session, node)
        case .askAgain: try askAgain(step, session, node)
        case .publish: try publish(session, node)
        case .acknowledge: try acknowledge(session, node)
        case .vanish: leave(session, node)
        case .lookup: try lookup(step, session, node)
        case .part: try sendParts(step, session, node)
        case .survey: _ = try survey(step, session, node)
        case .allParts, .finishParts: try sendAllParts(step, session, node)
        case .takeBack: try takeBack(step, session, node)
        case .grow: try grow(step, session, node)
        case .rearrange: try rearrange(step, node)
        case .discard: try discard(step, node)
        case .restore: try restore(step, node)
        case .remove: try remove(step, node)
        case .copy: try copy(step, session, node)
        case .expire: expire(node)
        case .sweep: sweep(node)
        default: break
        }
    }

    // MARK: The work of the servers

    private func expire(_ node: ClusterNode) {
        guard let intake = node.intake else { return }
        intake.keepUnfinished = Self.week / 7
        // After some steps, uploads that have begun are as old as that.
        forget(olderThan: 0)
        _ = try? intake.expire(leftovers: false)
        intake.keepUnfinished = Self.week
        done.insert(.expire)
    }

    /// Expects nothing any more of unfinished uploads that servers may remove.
    private func forget(olderThan age: Int64) {
        for index in uploads.indices where clock.stamp() - uploads[index].worked > age {
            uploads[index].mayBeGone = true
            uploads[index].touches += 1
        }
    }

    private func sweep(_ node: ClusterNode) {
        do throws(Failure) {
            if try node.sweeper.sweep().rewritten > 0 { done.insert(.rewrite) }
        } catch {
            // The next pass continues.
        }
    }
}

// MARK: - The end of a run

extension ClusterWorld {
    /// Ends a run without further faults: every client gets its acknowledgement, all servers find what was acknowledged,
    /// and nothing is left over.
    func finish() throws {
        arriveLate()
        for node in nodes {
            node.arm(nil)
            node.thread.goOn(calls: .max)
        }
        try check()
        // An older connection to one server cannot take an upload over from a newer one to another.
        for node in nodes { try run(on: node) { [self] in leaveAll(node) } }
        for index in uploads.indices where !uploads[index].isOver { try bringToItsEnd(index) }
        for node in nodes {
            try run(on: node, for: 0) { [self] in
                for caller in callers.indices {
                    guard let session = node.session(caller) else { continue }
                    try lookup(all: caller, session, node)
                    leave(session, node)
                }
                try readAll(node)
            }
        }
        try cleanUp()
        history.checkContents()
        try check()
        try checkBucket()
    }

    /// A server that was stopped for a day learns at a commit that its epoch is closed, and other servers may interfere.
    private func bringToItsEnd(_ index: Int) throws {
        for _ in 0..<4 where !uploads[index].isOver {
            let node = nodes[Int(random.next() % UInt64(nodes.count))]
            uploads[index].refusal = nil
            // A client tries again some minutes later, when servers have let go of uploads without connections.
            for node in nodes { try run(on: node) { node.intake?.multiparts.letGo(desertedUpTo: .max) } }
            try run(on: node, for: uploads[index].caller) { [self] in
                guard let session = node.session(uploads[index].caller) else { return }
                try bring(index, session, node)
                leaveAll(node)
            }
        }
        guard let refusal = uploads[index].refusal, [.busy, .storageFailed, .incomplete].contains(refusal.code),
            !uploads[index].isOver
        else { return }
        throw Promises.Broken("upload \(index) can never be brought: \(refusal)")
    }

    /// Lets time pass until unfinished uploads are too old and all epochs are closed.
    private func cleanUp() throws {
        clock.wait(9 * Self.day * 1_000_000_000)
        for node in nodes {
            try run(on: node) {
                node.intake?.multiparts.letGo(desertedUpTo: .max)
                _ = try node.intake?.expire(leftovers: false)
                node.intake?.forgetUnfinished()
            }
        }
        // The second pass deletes what the first one has rewritten.
        for _ in 0..<2 {
            clock.wait(2 * Self.day * 1_000_000_000)
            let node = nodes[0]
            try run(on: node) { _ = try node.sweeper.sweep() }
        }
    }

    /// Checks that the bucket has what rows need, and nothing else.
    private func checkBucket() throws(Promises.Broken) {
        let rows = database.contents
        guard rows.uploads.isEmpty else { throw Promises.Broken("unfinished uploads are never removed") }
        for (key, _) in bucket.contents.sorted(by: { $0.key < $1.key }) where !strays.contains(key) {
            guard let number = ObjectNumber(text: key.text), let object = rows.objects[number] else {
                throw Promises.Broken("the object \(key) has no row and is never deleted")
            }
            guard object.row.live > 0 else { throw Promises.Broken("the object \(key) is unused and never deleted") }
            // Copies count the same bytes again.
            let dead = object.row.size - min(object.row.size, object.row.live)
            guard object.row.live >= dead || rottenObjects.contains(number) else {
                throw Promises.Broken("the object \(key) is mostly dead and never rewritten")
            }
        }
    }
}

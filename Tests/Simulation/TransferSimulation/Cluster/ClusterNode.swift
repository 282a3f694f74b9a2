import TransferCluster
import TransferClusterModel
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// The process of one simulated server of a cluster, from its start to its death.
///
/// `@unchecked Sendable`: it is used by the thread whose turn it is (`NodeThread`).
final class ClusterNode: @unchecked Sendable {
    /// A connection of a client to the server.
    final class Session {
        let intake: IntakeSession
        let caller: Int
        /// Uploads that are complete and not published, and those that are published and not acknowledged, with the
        /// moment at which each was begun.
        var sealed: [(upload: Int, begun: Int)] = []
        var published: [(upload: Int, begun: Int)] = []

        init(_ intake: IntakeSession, caller: Int) { (self.intake, self.caller) = (intake, caller) }
    }

    let number: Int
    unowned let world: ClusterWorld
    let thread: NodeThread
    /// Nanoseconds by which the server's clocks differ from the database's clock.
    let skew: Int64
    private(set) var isDead = false
    private(set) var store: ClusterStore?
    private(set) var intake: Intake?
    var sessions: [Session?] = [nil, nil]
    /// The operation that is under way; nil between operations.
    var operation: ClusterOperation?
    /// The moment at which the server has last read the epoch of an unfinished upload.
    var lastLook = 0
    /// A fault of one of the next calls, and the calls that pass before.
    private var armed: (fault: ClusterFault, wait: UInt32)?
    /// The fault of the present call to the database.
    private var present: ClusterFault?

    init(_ number: Int, in world: ClusterWorld, on thread: NodeThread, skew: Int64) {
        (self.number, self.world, self.thread, self.skew) = (number, world, thread, skew)
    }

    var ledger: ModelLedger {
        ModelLedger(
            world.database, fault: { [unowned self] call in begin(call) }, isHeard: { [unowned self] in end($0) })
    }

    // MARK: The process

    private var configuration: ClusterStore.Configuration {
        var configuration = ClusterStore.Configuration(server: "node\(number)")
        let clock = clock
        (configuration.utc, configuration.monotonic) = (clock.utc, clock.monotonic)
        configuration.random = { [unowned world] in world.random.next() }
        configuration.quota = world.mix.quota
        return configuration
    }

    var sweeper: Sweeper { Sweeper(NodeBucket(self), ledger, configuration) }

    /// Opens the store and the intake, as a starting server does.
    func start() throws {
        let store = try ClusterStore(
            NodeBucket(self), ledger, scratch: try ScratchSpace(path: nil), configuration)
        let intake = Intake(
            Intake.Configuration(
                maximumMultiparts: 256, filesAtOnce: 7, maximumUpload: 1 << 40, keepUnfinished: ClusterWorld.week),
            store: store, records: ClusterRecords(ledger), signer: world.signer, clock: clock
        ) { _ in }
        (self.store, self.intake) = (store, intake)
        _ = try? intake.expire(leftovers: true)
        intake.known.load()
        intake.forgetUnfinished()
    }

    private var clock: IntakeClock {
        let (clock, skew) = (world.clock, skew)
        return IntakeClock(monotonic: { clock.stamp() + skew }, utc: { clock.stamp() + skew })
    }

    /// Ends the process: its later calls have no effect.
    func die() { isDead = true }

    /// Lets go of everything after the death. Runs on the node's thread.
    func clear() {
        for session in sessions.compactMap(\.self) { session.intake.leave() }
        sessions = [nil, nil]
        intake?.multiparts.letGo(desertedUpTo: .max)
        (store, intake) = (nil, nil)
    }

    func session(_ caller: Int) -> Session? {
        if let session = sessions[caller] { return session }
        guard let intake else { return nil }
        let connection = world.nextConnection()
        let way = IntakeSession.Connection(number: connection) { work in work() }
        let made = IntakeSession(intake, way, caller: world.callers[caller])
        made.sender = Sender(connection: connection) { false }
        made.run = UInt64(caller + 1)
        if world.mix.givesReceipts { made.giveReceipts() }
        if world.mix.keepsReplaced { made.trash = world.newTrash() }
        let session = Session(made, caller: caller)
        sessions[caller] = session
        return session
    }

    // MARK: Calls

    /// Counts a call and lets others in before the call.
    func call(_ name: String) {
        thread.pause()
        world.note(call: name, of: self)
    }

    func arm(_ fault: ClusterFault?, after wait: UInt32 = 0) { armed = fault.map { ($0, wait) } }

    /// The fault that occurs in this call.
    func fault(in place: ClusterFault.Place) -> ClusterFault? {
        guard let next = armed, next.fault.occurs(in: place) else { return nil }
        guard next.wait == 0 else {
            armed = (next.fault, next.wait - 1)
            return nil
        }
        // A lost connection often cannot be made again at once.
        let isCut = next.fault == .commitIsUnheard && Bool.random(using: &world.random)
        armed = isCut ? (.callFails, 0) : nil
        operation?.hasFault = true
        world.note(fault: next.fault)
        return next.fault
    }

    private func begin(_ call: ModelLedger.Call) -> ModelLedger.Fault? {
        self.call(call.rawValue)
        guard !isDead else { return .before }
        present = fault(in: call.changes ? .change : .read)
        return present?.ofLedger
    }

    /// Called when everybody sees the changes of a call.
    private func end(_ call: ModelLedger.Call) -> Bool {
        let (fault, timeline) = (present, world.timeline)
        present = nil
        let hasChanged = world.history.committed(call, by: self)
        let moment = world.history.moment(ifChanged: hasChanged || call == .awaitDurability)
        thread.pause()
        guard !isDead else { return false }
        guard call.changes || call == .awaitDurability else { return true }
        // A commit of the time before a fail-over gets no answer.
        guard timeline == world.timeline else {
            operation?.hasFault = true
            return false
        }
        if let moment, fault != .commitIsUnsafe { world.history.replicate(moment) }
        return true
    }
}

/// What a server is doing for a client, and which files it may change for it.
final class ClusterOperation {
    /// A file that the operation may take from its path.
    enum Permission {
        /// A client replaces what is at the path.
        case replace(String)
        /// A client moves or removes what is at the path or below.
        case tree(String)
    }

    let name: String
    /// The client for whom the server works; nil for the server's own work.
    let caller: Int?
    /// The moment of the history at which it has begun.
    let began: Int
    var permissions: [Permission] = []
    /// Whether anything has failed in its calls.
    var hasFault = false

    init(_ name: String, for caller: Int?, at began: Int) {
        (self.name, self.caller, self.began) = (name, caller, began)
    }

    func mayReplace(_ path: String) -> Bool {
        permissions.contains { if case .replace(let allowed) = $0 { allowed == path } else { false } }
    }

    func mayMove(_ path: String) -> Bool {
        permissions.contains { permission in
            guard case .tree(let allowed) = permission else { return false }
            return path == allowed || path.hasPrefix(allowed + "/")
        }
    }
}

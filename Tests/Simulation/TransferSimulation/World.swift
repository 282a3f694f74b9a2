import Glibc
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferIntake
import TransferKeys
import TransferKeys
import TransferModel
import TransferReceipts
import TransferStore
import TransferSystem
import TransferTestSupport

/// A server's intake with its store on a simulated disk, callers that come and go, and what they were promised.
final class World {
    /// What somebody wants to upload.
    struct Upload {
        let id: UploadID
        let content: Int
        let path: String
        let conflict: ConflictPolicy
        /// Whether its sender says how long it is.
        var isSized: Bool
        /// Whether its sender declares a digest at its end.
        let declares: Bool
        let mayEnd: Bool
        let isInParts: Bool
        let caller: Int
        /// What it was told last, and under which server.
        var answer: Answer?
        /// The server that it was all there at last.
        var sealedUnder: Int?
        /// Whether it is sealed somewhere and has no outcome yet.
        var isOnItsWay = false
    }

    struct Answer: Equatable {
        let code: ResultCode
        let path: String
        let server: Int
    }

    /// An upload whose content is coming.
    struct Current {
        let open: OpenUpload
        let upload: Int
        var range: Range<Int>
    }

    /// A connection.
    final class Session {
        let intake: IntakeSession
        let caller: Int
        var current: Current?

        init(_ intake: IntakeSession, caller: Int) { (self.intake, self.caller) = (intake, caller) }
    }

    struct Options {
        var givesReceipts = false
        /// Bytes that the server may store; nothing for no limit.
        var quota: UInt64?
        var syncsAsAWhole = true
        /// A planted mistake.
        var forgetsDirectories = false
        /// Whether steps, and calls to the disk, are printed.
        var tells = false
    }

    static let sessionCount = 4
    static let names = ["a", "b", "c", "d/a", "d/b", "e/f/a"]

    let options: Options
    private let directory: TemporaryDirectory
    private var number = 0
    private(set) var path: String
    private(set) var disk: SimulatedDisk
    let records = SimulatedRecords()
    private let signer: ServerIdentity?
    private(set) var store: FileStore?
    private(set) var intake: Intake?
    var sessions = [Session?](repeating: nil, count: sessionCount)
    private var connections = 0
    /// Servers so far.
    private(set) var servers = 0
    private var random: SplitMix64
    private let clock = VirtualClock()
    var uploads: [Upload] = []
    private(set) var contents: [[UInt8]] = []
    var promises = Promises()
    /// Whether others have changed what is stored, or a file may have stayed that was to go. A server counts that when it has
    /// to.
    var isMiscounted = false
    /// Numbers of receipts that were given.
    private var receiptNumbers: Set<UInt64> = []
    /// Calls to disks that are no more.
    private var earlierCalls: UInt64 = 0

    var calls: UInt64 { earlierCalls + disk.calls }

    init(_ options: Options, seed: UInt64) throws {
        self.options = options
        random = SplitMix64(seed: seed)
        directory = try TemporaryDirectory(prefersMemory: true)
        path = directory.path("0")
        mkdir(path, 0o755)
        signer = options.givesReceipts ? ServerIdentity() : nil
        disk = SimulatedDisk(
            Medium(root: path), seed: random.next(), forgetsDirectories: options.forgetsDirectories,
            tells: options.tells)
        try start()
    }

    /// Time as the intake is told it: that of this machine, and what was waited in the simulation.
    final class VirtualClock: Sendable {
        private let waited = Locked<Int64>(0)

        func wait(_ nanoseconds: Int64) { waited.withLock { $0 += nanoseconds } }

        var clock: IntakeClock {
            IntakeClock(
                monotonic: { [self] in monotonicNanoseconds() + waited.withLock { $0 } },
                utc: { [self] in utcNanoseconds() + waited.withLock { $0 } })
        }
    }

    func wait(_ seconds: Int64) {
        clock.wait(seconds * 1_000_000_000)
        intake?.assemblies.letGo(desertedUpTo: clock.clock.monotonic() - 60_000_000_000)
    }
}

// MARK: The server

extension World {
    private func start() throws {
        var limits = SpaceLimits()
        limits.quota = options.quota
        let store = try FileStore(
            path: path, durability: .commit, limits: limits,
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: options.syncsAsAWhole), disk: disk.disk)
        records.reopen()
        servers += 1
        let intake = Intake(
            Intake.Configuration(maximumAssemblies: 8, filesAtOnce: 7, maximumUpload: 1 << 40), store: store,
            records: records, signer: signer, clock: clock.clock
        ) { _ in }
        _ = try? intake.expire(after: 7 * 86_400_000_000_000, leftovers: true)
        intake.known.load()
        intake.forgetUnfinished()
        (self.store, self.intake) = (store, intake)
    }

    /// Everything of the process is gone. What it still does on its way takes no effect.
    private func kill() {
        disk.die()
        for session in sessions.compactMap(\.self) {
            session.current?.open.suspend()
            session.intake.leave()
        }
        intake?.assemblies.letGo(desertedUpTo: .max)
        sessions = Array(repeating: nil, count: Self.sessionCount)
        (store, intake) = (nil, nil)
        earlierCalls += disk.calls
        for index in uploads.indices { uploads[index].isOnItsWay = false }
    }

    /// The process is killed, and another one started on what it has left.
    func restart() throws {
        kill()
        disk = SimulatedDisk(
            disk.medium, seed: random.next(), forgetsDirectories: options.forgetsDirectories,
            tells: options.tells)
        records.failsAfter = nil
        try start()
        try noteNames()
    }

    /// The power fails, and the server is started on what is left.
    func cutPower() throws {
        let old = path
        kill()
        number += 1
        path = directory.path("\(number)")
        mkdir(path, 0o755)
        let before = disk.medium
        let (medium, moved) = before.cut(to: path, &random)
        records.failsAfter = nil
        records.cutPower(identities(moved, before, old))
        disk = SimulatedDisk(
            medium, seed: random.next(), forgetsDirectories: options.forgetsDirectories,
            tells: options.tells)
        try promises.settle(medium) { contents[$0] }
        TemporaryDirectory.remove(old)
        try start()
        try noteNames()
    }

    /// What files are now that are there for certain, by what they were.
    private func identities(
        _ moved: [Medium.Object: Medium.Object], _ before: Medium, _ old: String
    ) -> [UInt64: FileIdentity] {
        var paths: [Medium.Object: String] = [:]
        for (name, object) in before.seenPaths { paths[object] = name }
        var now: [Medium.Object: FileIdentity] = [:]
        for name in Set(paths.values) {
            if let identity = OwnFile.identity(of: path + "/" + name) { now[Medium.Object(identity.inode)] = identity }
        }
        var found: [UInt64: FileIdentity] = [:]
        for (object, new) in moved where before.isCertain(object) {
            guard let name = paths[object], let was = OwnFile.identity(of: old + "/" + name),
                records.identities.contains(was)
            else { continue }
            found[UInt64(object)] = now[new]
        }
        return found
    }

    func session(_ number: UInt32) -> Session? {
        let index = Int(number) % Self.sessionCount
        if let session = sessions[index] { return session }
        guard let intake else { return nil }
        connections += 1
        let caller = index % 2
        let way = IntakeSession.Connection(number: connections) { work in work() }
        let made = IntakeSession(intake, way, caller: Self.callers[caller])
        made.run = UInt64(caller + 1)
        if options.givesReceipts { made.giveReceipts() }
        let session = Session(made, caller: caller)
        sessions[index] = session
        return session
    }

    /// Two clients: one may replace everything, the other one only what it has stored itself.
    private static let callers: [Caller] = {
        var guest = AccessOptions()
        guest.rights = .noRemove
        return [
            Caller(Grant(.token("owner"), name: "owner"), UploadScope(), peer: ""),
            Caller(Grant(.token("guest"), name: "guest", options: guest), UploadScope(), peer: ""),
        ]
    }()

    /// The connection ends: as the front end lets it end.
    func vanish(_ number: UInt32) {
        let index = Int(number) % Self.sessionCount
        guard let session = sessions[index] else { return }
        session.current?.open.suspend()
        session.intake.leave()
        sessions[index] = nil
        for index in uploads.indices where uploads[index].caller == session.caller { uploads[index].isOnItsWay = false }
    }
}

// MARK: What is promised

extension World {
    func addContent(_ size: Int) -> Int {
        let content = SplitMix64.bytes(seed: random.next(), size)
        if let known = contents.firstIndex(of: content) { return known }
        contents.append(content)
        return contents.count - 1
    }

    func digest(of content: Int, _ range: Range<Int>? = nil) -> Digest {
        let digester = ContentDigester(.xxh128)
        contents[content].withUnsafeBytes { bytes in
            digester.update(UnsafeRawBufferPointer(rebasing: bytes[range ?? 0..<bytes.count])) { _, _ in }
        }
        return digester.finish().digest
    }

    /// The caller is told how an upload ended.
    func told(_ outcome: UploadOutcome, _ index: Int) throws(Promises.Broken) {
        // Nobody hears what a dead process says.
        guard !disk.isDead else { return }
        if options.tells { print("    upload \(index): \(outcome.code) \(outcome.path?.string ?? outcome.message)") }
        uploads[index].isOnItsWay = false
        switch outcome {
        case .acknowledged(let acknowledgement): try judge(acknowledgement, index)
        // Of what is in doubt nobody says whose it is.
        case .skipped
        where uploads[index].sealedUnder == servers && store?.isInDoubt == false
            && stands(index, at: uploads[index].path):
            throw Promises.Broken("upload \(index) was skipped for its own content")
        case .skipped, .staged, .refused: break
        }
    }

    func judge(_ acknowledgement: Acknowledgement, _ index: Int) throws(Promises.Broken) {
        let upload = uploads[index]
        guard acknowledgement.size == contents[upload.content].count,
            acknowledgement.digest == digest(of: upload.content)
        else { throw Promises.Broken("upload \(index) was acknowledged with another size or digest") }
        guard acknowledgement.isDurable else { throw Promises.Broken("upload \(index) was acknowledged, not durable") }
        let path = acknowledgement.path.string
        let answer = Answer(code: acknowledgement.code, path: path, server: servers)
        if let earlier = upload.answer, stands(index, at: earlier.path) { try compare(earlier, answer, index) }
        uploads[index].answer = answer
        try promises.acknowledged(upload.content, at: path)
    }

    /// Whoever asks again gets the same answer, as long as nobody has changed what it is about.
    private func compare(_ earlier: Answer, _ answer: Answer, _ index: Int) throws(Promises.Broken) {
        guard earlier.path == answer.path else {
            throw Promises.Broken(
                "upload \(index) was acknowledged under \(earlier.path), and then under \(answer.path)")
        }
        // A guest who puts content that is in doubt in place of the same does not become its owner, and learns that later.
        guard earlier.code == answer.code || earlier.server != servers || uploads[index].caller != 0 else {
            throw Promises.Broken("upload \(index) was told \(earlier.code), and then \(answer.code)")
        }
    }

    /// Whether a path has the content of an upload, of which there is no other, and nobody has touched it.
    private func stands(_ index: Int, at path: String) -> Bool {
        let content = uploads[index].content
        return !isShared(content) && promises.places(of: content, disk.medium) { contents[$0] }.contains(path)
    }

    func gave(_ seal: BatchSeal?) throws(Promises.Broken) {
        guard let seal, !disk.isDead else { return }
        for offset in 0..<UInt64(seal.count) where !receiptNumbers.insert(seal.number + offset).inserted {
            throw Promises.Broken("the receipt number \(seal.number + offset) was given twice")
        }
    }

    private func isShared(_ content: Int) -> Bool { uploads.count { $0.content == content } > 1 }

    /// Looks at every name that has changed: nothing half-written may have one, and nothing two.
    func noteNames() throws(Promises.Broken) {
        let medium = disk.medium
        for naming in disk.takeNamings() {
            guard let object = naming.object, let seen = medium.seen(of: object) else { continue }
            guard let content = contents.firstIndex(where: { $0 == seen }) else {
                throw Promises.Broken("\(naming.path) got a name, and is no whole upload")
            }
            let others = promises.places(of: content, medium) { contents[$0] }.filter { $0 != naming.path }
            guard others.isEmpty || isShared(content) else {
                throw Promises.Broken("content \(content) is stored as \(others[0]), and as \(naming.path)")
            }
            promises.published(content, at: naming.path)
        }
    }

    func check() throws {
        try noteNames()
        try promises.check(disk.medium) { contents[$0] }
    }
}

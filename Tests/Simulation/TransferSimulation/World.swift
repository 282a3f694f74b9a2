import Glibc
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferIntake
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
        /// When it was told that it is stored, as the world counts.
        var answered = 0
        /// Why it was refused last.
        var refusal: ResultCode?
        /// The server that all of its parts came to so far, where nobody has looked for what was there before: nothing is
        /// there then but what was sent.
        var partsUnder: Int?
        var hasParts = false
    }

    /// All that somebody has sent of an upload.
    struct Attempt {
        let upload: Int
        /// When it began, as the world counts.
        let begun: Int
    }

    struct Answer: Equatable {
        let code: ResultCode
        let path: String
        let server: Int
    }

    /// An upload whose content is coming.
    struct Current {
        let open: OpenUpload
        let attempt: Attempt
        /// What is to come of its content.
        let whole: Range<Int>
        /// What is still to come of it.
        var range: Range<Int>
        var isPart = false
        /// Whether the digest of all of it has to be declared: something may be there that nobody has compared.
        var isUncompared = false

        var upload: Int { attempt.upload }
    }

    /// A connection.
    final class Session {
        let intake: IntakeSession
        let caller: Int
        /// Connections are counted.
        let number: Int
        var current: Current?
        /// What is all there and not published.
        var sealed: [Attempt] = []
        /// A question that is being answered.
        var query: (query: PresenceQuery, upload: Int)?
        /// Whether its client has gone, and what it has sent is still on its way.
        var isGone: Bool { client.isGone.withLock { $0 } }
        private let client = Client()

        init(_ intake: IntakeSession, caller: Int, number: Int) {
            (self.intake, self.caller, self.number) = (intake, caller, number)
            intake.sender = Sender(connection: number) { [client] in client.isGone.withLock { $0 } }
        }

        func fade() { client.isGone.withLock { $0 = true } }
    }

    private final class Client: Sendable {
        let isGone = Locked(false)
    }

    struct Options {
        var givesReceipts = false
        /// Bytes that the server may store; nothing for no limit.
        var quota: UInt64?
        var syncsAsAWhole = true
        /// Whether nothing else in this process opens or closes anything meanwhile.
        var countsDescriptors = false
        /// A planted mistake.
        var forgetsDirectories = false
        /// Whether steps, and calls to the disk, are printed.
        var tells = false
    }

    static let sessionCount = 4
    static let names = ["a", "b", "c", "d/a", "d/b", "e/f/a", "e/f/g/a"]

    let options: Options
    private let directory: TemporaryDirectory
    private var number = 0
    var path: String
    var disk: SimulatedDisk
    let records = SimulatedRecords()
    private let signer: ServerIdentity?
    private(set) var store: FileStore?
    private(set) var intake: Intake?
    var sessions = [Session?](repeating: nil, count: sessionCount)
    /// Connections whose clients have gone.
    var ghosts: [Session] = []
    /// Whose calls others may come between now.
    var busy: Session?
    /// What went wrong when others came between.
    var trouble: (any Error)?
    private var connections = 0
    /// Grows with whatever happens.
    private(set) var moment = 0
    /// Servers so far.
    private(set) var servers = 0
    private var random: SplitMix64
    private let clock = VirtualClock()
    var uploads: [Upload] = []
    private(set) var contents: [[UInt8]] = []
    /// Contents by their beginnings, which say enough of most of them and are looked up fast.
    private var beginnings: [[UInt8]: [Int]] = [:]
    var promises = Promises()
    /// Bytes that others have taken away, and that the server still counts.
    var strayBytes = 0
    /// Whether nobody knows what a server has to count.
    var isMiscounted = false
    /// Paths that the newest of all connections has replaced something under, and its number.
    private var overwriters: [String: Int] = [:]
    /// Paths of files that the disk has lost, and whether the server was told.
    var rotten: [String: Bool] = [:]
    /// Directories that others have removed under this server.
    var removedDirectories: [String] = []
    /// Contents that others have put somewhere, too.
    var copied: Set<Int> = []
    /// Every name of a whole upload so far.
    private(set) var log: [(path: String, content: Int, replaced: [UInt8]?)] = []
    /// Descriptors of this process before the first server.
    private let descriptors: Int
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
        descriptors = Self.openDescriptors
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
            Intake.Configuration(maximumAssemblies: 8, filesAtOnce: 7, maximumUpload: 1 << 40, keepUnfinished: 86_400_000_000_000),
            store: store, records: records, signer: signer, clock: clock.clock
        ) { _ in }
        _ = try? intake.expire(leftovers: true)
        intake.known.load()
        intake.forgetUnfinished()
        (self.store, self.intake) = (store, intake)
        (strayBytes, isMiscounted, overwriters, removedDirectories) = (0, false, [:], [])
        moment += 1
    }

    /// The last server is over.
    func stop() throws {
        kill()
        busy = nil
        let left = Self.openDescriptors
        if options.countsDescriptors, left > descriptors {
            throw Promises.Broken("\(left - descriptors) descriptors are left open")
        }
    }

    private static var openDescriptors: Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    /// Everything of the process is gone. What it still does on its way takes no effect.
    private func kill() {
        disk.die()
        for session in sessions.compactMap(\.self) + ghosts {
            session.current?.open.suspend()
            session.intake.leave()
            session.query = nil
        }
        ghosts = []
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
        disk.arm(nil as SimulatedDisk.Fault?)
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
        for (name, _) in medium.seenPaths where !medium.isForeign(name) {
            guard medium.seen(at: name).map({ number(of: $0) != nil }) ?? true else {
                throw Promises.Broken("after a power cut, \(name) is no whole upload")
            }
        }
        rotten = rotten.filter { medium.isForeign($0.key) }
        TemporaryDirectory.remove(old)
        try start()
        try noteNames()
    }

    /// What files are now that are there for certain, by what they were.
    private func identities(
        _ moved: [Medium.Object: Medium.Object], _ before: Medium, _ old: String
    ) -> [UInt64: ContentVersion] {
        var paths: [Medium.Object: String] = [:]
        for (name, object) in before.seenPaths { paths[object] = name }
        var now: [Medium.Object: ContentVersion] = [:]
        for name in Set(paths.values) {
            if let version = version(path + "/" + name) { now[Medium.Object(version.object)] = version }
        }
        var found: [UInt64: ContentVersion] = [:]
        for (object, new) in moved where before.isCertain(object) {
            guard let name = paths[object], let was = version(old + "/" + name),
                records.versions.contains(was)
            else { continue }
            found[UInt64(object)] = now[new]
        }
        return found
    }

    /// What the file at a path of the machine is known by.
    func version(_ path: String) -> ContentVersion? { OwnFile.identity(of: path).map { ContentVersion($0) } }

    func session(_ number: UInt32) -> Session? {
        let index = Int(number) % Self.sessionCount
        if let session = sessions[index] { return session === busy ? nil : session }
        guard let intake else { return nil }
        connections += 1
        let caller = index % 2
        let way = IntakeSession.Connection(number: connections) { work in work() }
        let made = IntakeSession(intake, way, caller: Self.callers[caller])
        made.run = UInt64(caller + 1)
        if options.givesReceipts { made.giveReceipts() }
        let session = Session(made, caller: caller, number: connections)
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
    func vanish(_ number: UInt32) throws {
        let index = Int(number) % Self.sessionCount
        guard let session = sessions[index], session !== busy else { return }
        leave(session)
        sessions[index] = nil
        try noteNames()
    }

    func leave(_ session: Session) {
        session.current?.open.suspend()
        session.current = nil
        session.query = nil
        for attempt in session.sealed { uploads[attempt.upload].isOnItsWay = false }
        session.intake.leave()
        session.sealed = []
        for index in uploads.indices where uploads[index].caller == session.caller { uploads[index].isOnItsWay = false }
    }

    func everybodyLeaves() {
        for session in sessions.compactMap(\.self) + ghosts where session !== busy { leave(session) }
        sessions = sessions.map { $0 === busy ? $0 : nil }
        ghosts = []
    }
}

// MARK: What is promised

extension World {
    func addContent(_ size: Int) -> Int {
        let content = SplitMix64.bytes(seed: random.next(), size)
        if let known = number(of: content) { return known }
        beginnings[Array(content.prefix(16)), default: []].append(contents.count)
        contents.append(content)
        return contents.count - 1
    }

    /// - Returns: nothing for what is no whole upload's.
    func number(of content: [UInt8]) -> Int? {
        beginnings[Array(content.prefix(16))]?.first { contents[$0] == content }
    }

    func digest(of content: Int, _ range: Range<Int>? = nil) -> Digest {
        let digester = ContentDigester(.xxh128)
        contents[content].withUnsafeBytes { bytes in
            digester.update(UnsafeRawBufferPointer(rebasing: bytes[range ?? 0..<bytes.count])) { _, _ in }
        }
        return digester.finish().digest
    }

    /// The caller is told how an upload ended.
    ///
    /// - Parameter isOfNow: whether the server has just looked whether it is stored.
    func told(_ outcome: UploadOutcome, _ index: Int, isOfNow: Bool = false) throws(Promises.Broken) {
        // Nobody hears what a dead process says.
        guard !disk.isDead else { return }
        moment += 1
        if case .refused(let error, _) = outcome { uploads[index].refusal = error.code }
        if options.tells { print("    upload \(index): \(outcome.code) \(outcome.path?.string ?? outcome.message)") }
        uploads[index].isOnItsWay = false
        switch outcome {
        case .acknowledged(let acknowledgement): try judge(acknowledgement, index, isOfNow: isOfNow)
        // Of what is in doubt nobody says whose it is.
        case .skipped
        where uploads[index].sealedUnder == servers && store?.isInDoubt == false
            && stands(index, at: uploads[index].path):
            throw Promises.Broken("upload \(index) was skipped for its own content")
        case .skipped, .staged, .refused: break
        }
    }

    func judge(_ acknowledgement: Acknowledgement, _ index: Int, isOfNow: Bool) throws(Promises.Broken) {
        let upload = uploads[index]
        guard acknowledgement.size == contents[upload.content].count,
            acknowledgement.digest == digest(of: upload.content)
        else { throw Promises.Broken("upload \(index) was acknowledged with another size or digest") }
        guard acknowledgement.isDurable else { throw Promises.Broken("upload \(index) was acknowledged, not durable") }
        let path = acknowledgement.path.string
        if isOfNow, disk.medium.seen(at: path) != contents[upload.content], rotten[path] ?? true {
            throw Promises.Broken("upload \(index) is said to be stored under \(path), and is not")
        }
        // What others have written may be the same by chance: both may be empty.
        if disk.medium.isForeign(path), disk.medium.seen(at: path) == contents[upload.content] {
            copied.insert(upload.content)
            promises.published(upload.content, at: path)
        }
        let answer = Answer(code: acknowledgement.code, path: path, server: servers)
        if let earlier = upload.answer, stands(index, at: earlier.path) { try compare(earlier, answer, index) }
        uploads[index].answer = answer
        uploads[index].answered = moment
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
    func stands(_ index: Int, at path: String) -> Bool {
        let content = uploads[index].content
        return !isShared(content) && promises.places(of: content, disk.medium) { contents[$0] }.contains(path)
    }

    func gave(_ seal: BatchSeal?) throws(Promises.Broken) {
        guard let seal, !disk.isDead else { return }
        for offset in 0..<UInt64(seal.count) where !receiptNumbers.insert(seal.number + offset).inserted {
            throw Promises.Broken("the receipt number \(seal.number + offset) was given twice")
        }
    }

    func isShared(_ content: Int) -> Bool {
        copied.contains(content) || uploads.count { $0.content == content } > 1
    }

    /// Looks at every name that has changed: nothing half-written may have one, and nothing two.
    func noteNames() throws(Promises.Broken) {
        let medium = disk.medium
        for naming in disk.takeNamings() {
            guard let object = naming.object, let seen = medium.seen(of: object) else { continue }
            guard let content = number(of: seen) else {
                throw Promises.Broken("\(naming.path) got a name, and is no whole upload")
            }
            let others = promises.places(of: content, medium) { contents[$0] }.filter { $0 != naming.path }
            guard others.isEmpty || isShared(content) else {
                throw Promises.Broken("content \(content) is stored as \(others[0]), and as \(naming.path)")
            }
            promises.published(content, at: naming.path)
            rotten[naming.path] = nil
            log.append((naming.path, content, naming.replaced))
        }
    }

    /// Looks at the names that a connection's uploads have got: none by an attempt that had begun before the upload was told
    /// to be stored, and none in place of what a newer connection has stored, when its own client has gone.
    func judge(_ attempts: [Attempt], of session: Session, since start: Int) throws(Promises.Broken) {
        for attempt in attempts {
            let upload = uploads[attempt.upload]
            for naming in log[start...] where naming.content == upload.content && !isShared(upload.content) {
                if attempt.begun < upload.answered, upload.answer?.server == servers {
                    throw Promises.Broken(
                        "upload \(attempt.upload) was stored again by what was sent before it was told")
                }
                guard upload.conflict == .overwrite, naming.path == upload.path else { continue }
                if session.isGone, overwriters[naming.path] ?? 0 > session.number,
                    let replaced = naming.replaced, let other = number(of: replaced), other != upload.content
                {
                    throw Promises.Broken("upload \(attempt.upload) of a dead connection replaced a newer one")
                }
                overwriters[naming.path] = max(session.number, overwriters[naming.path] ?? 0)
            }
        }
    }

    func check() throws {
        try noteNames()
        try promises.check(disk.medium) { contents[$0] }
        if let path = disk.medium.halfWritten {
            throw Promises.Broken("a power cut may leave half of an upload at \(path)")
        }
    }

    /// Everybody leaves, and the server starts again: what it has counted is what the next one finds. Parts are found by the
    /// pages that they take.
    func rest() throws {
        everybodyLeaves()
        try check()
        let used = store?.quota?.used
        let (stray, isMiscounted) = (strayBytes, isMiscounted || disk.hasKeptSomething || disk.isDead)
        try restart()
        guard !isMiscounted, let used, let store, let now = store.quota?.used else { return }
        let parts = try store.unfinished().count
        let counted = Int(used) - stray
        guard abs(counted - Int(now)) <= parts * Limits.blockSize.roundedUpToPage else {
            throw Promises.Broken("\(counted) bytes were counted, and \(now) are there")
        }
    }
}

extension Int {
    /// Whole pages, as a file system in memory counts them.
    fileprivate var roundedUpToPage: Int { (self + 4095) / 4096 * 4096 }
}

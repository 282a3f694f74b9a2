import Glibc
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

/// The server: its starts and its ends.
extension World {
    /// Nanoseconds that unfinished uploads are kept for: longer than a run takes, so that none goes with a start.
    private static let week: Int64 = 7 * 86_400_000_000_000

    /// What is older than a day goes; sometimes all that has begun is so old by then.
    func expire(_ step: Step) {
        guard let intake, !disk.isDead else { return }
        if step.b % 2 == 0 { wait(86_400) }
        intake.keepUnfinished = Self.week / 7
        let removed = try? intake.expire(leftovers: false).removed
        intake.keepUnfinished = Self.week
        // One that fails may have removed some.
        guard removed.map({ $0.count > 0 }) ?? true else { return }
        done.insert(.expire)
        for index in uploads.indices where intake.multiparts[uploads[index].id] == nil {
            uploads[index].appendUpload?.mayBeGone = true
            uploads[index].partsUnder = nil
            uploads[index].parts = Parts()
        }
    }

    /// A server starts, sometimes on a disk that fails just then: it may die of that, and the next one starts.
    func start() throws {
        if let fault = faultAtStart {
            disk.arm(fault)
            do {
                try open()
            } catch let broken as Promises.Broken {
                throw broken
            } catch {
                disk.die()
            }
            disk.arm(nil as SimulatedDisk.Fault?)
            guard disk.isDead else { return }
            kill()
            renewDisk(disk.medium)
        }
        try open()
    }

    private var faultAtStart: SimulatedDisk.Fault? {
        guard random.next() % 6 == 0, let kind = mix.faults.randomElement(using: &random) else { return nil }
        return .init(kind: kind, wait: UInt32(random.next() % 40))
    }

    /// - Throws: `Promises.Broken`, and what the store does.
    private func open() throws {
        var limits = SpaceLimits()
        limits.quota = mix.quota
        let store = try disk.open(at: path, limits, syncsAsAWhole: mix.syncsAsAWhole)
        self.store = store
        servers += 1
        try openMailroom()
        let intake = Intake(
            Intake.Configuration(
                maximumMultiparts: 8, filesAtOnce: 7, maximumUpload: 1 << 40, keepUnfinished: Self.week),
            store: store, records: try records.open(), signer: signer, mailroom: mailroom,
            mark: hasMigrated ? mark : nil, clock: clock.clock
        ) { [givenWay] event in if case .trashGaveWay = event { givenWay.raise() } }
        self.intake = intake
        intake.giveWay(in: store)
        if intake.known.resolveIntended(in: store) > 0 { done.insert(.resolveChanges) }
        intake.adoption.begin()
        try checkKnown()
        _ = try? intake.expire(leftovers: true)
        try sweepMail()
        intake.known.load()
        intake.forgetUnfinished()
        (strayBytes, isMiscounted, overwriters, removedDirectories) = (0, false, [:], [])
        durableDirectories = []
        // What was about to be replaced has a name in the trash left, and counts for both until it is counted anew.
        if disk.medium.hasSecondNames { hasLinked = true }
        moment += 1
        if disk.medium.hasFailedSync, !store.isInDoubt, !disk.isDead {
            throw Promises.Broken("a server starts without doubt after a sync has failed")
        }
    }

    private func renewDisk(_ old: Medium) {
        earlierCalls += disk.calls
        earlierFailedSyncs += disk.failedSyncs
        disk = disk.renewed(old, boot: number, seed: random.next())
    }

    /// The last server is over.
    func stop() throws {
        kill()
        busy = nil
        ledger?.stop()
        records.stop()
        let left = Self.openDescriptors
        if options.countsDescriptors, left > descriptors {
            throw Promises.Broken("\(left - descriptors) descriptors are left open")
        }
    }

    static var openDescriptors: Int {
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
        }
        (ghosts, claims) = ([], [])
        forgetVerified()
        intake?.multiparts.letGo(desertedUpTo: .max)
        mailroom?.close()
        mailroom = nil
        sessions = Array(repeating: nil, count: mix.sessions)
        // A child of this process that has not begun its program yet holds the lock, too.
        store?.unlock()
        (store, intake) = (nil, nil)
        for index in uploads.indices {
            uploads[index].isOnItsWay = false
            uploads[index].parts = Parts()
        }
    }

    /// The process is killed, and another one started on what it has left.
    func restart() throws {
        kill()
        renewDisk(disk.medium)
        records.mend()
        ledger?.mend()
        try start()
        try noteNames()
    }

    /// The power fails, and the server is started on what is left.
    ///
    /// - Parameter isCopied: whether that is first copied to another disk.
    func cutPower(isCopied: Bool = false) throws {
        let old = path
        kill()
        for index in uploads.indices { uploads[index].verified = [] }
        number += 1
        path = directory.path("\(number)")
        mkdir(path, 0o755)
        let before = disk.medium.seenPaths.keys
        let medium = disk.cut(to: path, isCopied: isCopied, &random)
        try records.cutPower(&random)
        try ledger?.cutPower()
        renewDisk(medium)
        try promises.settle(medium) { contents[$0] }
        // Of content that was rotten nothing is promised, and its name is free again.
        for name in before where medium.object(at: name) == nil { promises.noteChange(of: name) }
        for (name, _) in medium.seenPaths where !medium.isForeign(name) {
            guard medium.seen(at: name).map({ number(of: $0) != nil }) ?? true else {
                throw Promises.Broken("after a power cut, \(name) is no whole upload")
            }
        }
        for (name, _) in medium.seenPaths where medium.isForeign(name) {
            if let content = medium.seen(at: name) { note(foreign: content, at: name) }
        }
        // Taking a second name away touches the file, so that the acknowledgement no longer holds and it may come once more.
        for (name, content) in medium.seenWithOwnNames { touched[name] = number(of: content) }
        rotten = rotten.filter { medium.isForeign($0.key) }
        TemporaryDirectory.remove(old)
        try start()
        try noteNames()
    }
}

import Glibc
import TransferIntake
import TransferMail
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

/// Starts and ends of the server.
extension World {
    /// Nanoseconds for which the server keeps unfinished uploads. A run is shorter, so that no start removes any.
    private static let week: Int64 = 7 * 86_400_000_000_000

    /// Removes unfinished uploads that are older than a day. In some steps, all uploads that have begun are older.
    func expire(_ step: Step) {
        guard let intake, !disk.isDead else { return }
        if step.b % 2 == 0 { wait(86_400) }
        intake.keepUnfinished = Self.week / 7
        let removed = try? intake.expire(leftovers: false).removed
        intake.keepUnfinished = Self.week
        // A failed removal may have removed some uploads.
        guard removed.map({ $0.count > 0 }) ?? true else { return }
        done.insert(.expire)
        for index in uploads.indices where intake.multiparts[uploads[index].id] == nil {
            uploads[index].appendUpload?.mayBeGone = true
            uploads[index].wasPublished = false
            uploads[index].partsUnder = nil
            uploads[index].parts = Parts()
        }
    }

    /// Starts a server, sometimes on a disk that fails at that time. If the server dies of the failure, another one
    /// starts.
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

    /// - Throws: `Promises.Broken`, and errors of the store.
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
        // A file that was about to be replaced still has a name in the trash, and counts under both names until the
        // next count.
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

    /// Ends the last server of a run.
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

    /// Ends the process. Calls that are still under way have no effect.
    private func kill() {
        disk.die()
        for session in sessions.compactMap(\.self) + ghosts {
            session.current?.open.suspend()
            session.intake.leave()
        }
        (ghosts, claims) = ([], [])
        notePublished()
        forgetVerified()
        intake?.multiparts.letGo(desertedUpTo: .max)
        mailroom?.close()
        mailroom = nil
        sessions = Array(repeating: nil, count: mix.sessions)
        // A child of this process that has not started its program yet holds the lock, too.
        store?.unlock()
        (store, intake) = (nil, nil)
        for index in uploads.indices {
            uploads[index].isOnItsWay = false
            uploads[index].parts = Parts()
        }
    }

    /// Kills the process, and starts another one on the state that the first has left.
    func restart() throws {
        kill()
        renewDisk(disk.medium)
        records.mend()
        ledger?.mend()
        try start()
        try noteNames()
    }

    /// Cuts the power, and starts a server on the state that is left.
    ///
    /// - Parameter isCopied: whether that state is first copied to another disk.
    func cutPower(isCopied: Bool = false) throws {
        let old = path
        kill()
        for index in uploads.indices { (uploads[index].verified, uploads[index].wasPublished) = ([], false) }
        number += 1
        path = directory.path("\(number)")
        mkdir(path, 0o755)
        let before = disk.medium.seenPaths.keys
        let medium = disk.cut(to: path, isCopied: isCopied, &random)
        try records.cutPower(&random)
        try ledger?.cutPower()
        renewDisk(medium)
        try promises.settle(medium) { contents[$0] }
        // Rotten content is not promised, and its name is free again.
        for name in before where medium.object(at: name) == nil { promises.noteChange(of: name) }
        for (name, _) in medium.seenPaths where !medium.isForeign(name) {
            guard medium.seen(at: name).map({ number(of: $0) != nil }) ?? true else {
                throw Promises.Broken("after a power cut, \(name) is no whole upload")
            }
        }
        for (name, _) in medium.seenPaths where medium.isForeign(name) {
            if let content = medium.seen(at: name) { note(foreign: content, at: name) }
        }
        // The removal of a second name touches the file, so that the acknowledgement no longer holds and the upload may
        // be sent again.
        for (name, content) in medium.seenWithOwnNames { touched[name] = number(of: content) }
        rotten = rotten.filter { medium.isForeign($0.key) }
        TemporaryDirectory.remove(old)
        try start()
        try noteNames()
    }
}

import Glibc
import TransferCatalog
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Publication and acknowledgement of uploads.
extension World {
    /// Publishes the uploads of a session. In some steps, other connections act between its calls to the disk.
    func publish(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        try letOthersIn(step, session) { try publish(session) }
    }

    func publish(_ session: Session) throws {
        guard session === busy || mayPublish(session) else { return }
        let (start, failures, keptBefore) = (log.count, disk.failures, kept)
        // With existing folders of the trash, this session might have to wait for the connection that has made them.
        if busy != nil, mix.keepsReplaced { session.intake.trash = newTrash() }
        var moment = PublishedMoment(changes: promises.changes)
        let report = session.intake.publish()
        session.hasMail = false
        if !report.healed.isEmpty { done.insert(.heal) }
        if !disk.isDead { disk.change { $0.keepLosses() } }
        try noteNames()
        if log.count > start { done.insert(.publish) }
        let attempts = session.sealed
        moment.publications = promises.publications
        session.sealed = []
        // If the last step of a publication fails, the file under the name has no owner.
        if disk.failures > failures { for attempt in attempts { uploads[attempt.upload].failedUnder = servers } }
        if disk.failures == failures, !disk.isDead {
            for naming in log[start...] { durableDirectories.formUnion(Self.parents(of: naming.path)) }
            if kept > keptBefore { durableDirectories.insert(Medium.trash) }
        }
        try judge(attempts, of: session, since: start)
        // An upload that was sent twice may be published the first time and refused the second time.
        var refusals = report.ended.reduce(into: [:]) { $0[$1.upload.intent.id, default: 0] += 1 }
        for attempt in attempts.reversed() {
            guard refusals[uploads[attempt.upload].id, default: 0] == 0 else {
                refusals[uploads[attempt.upload].id, default: 0] -= 1
                continue
            }
            uploads[attempt.upload].published = moment
            uploads[attempt.upload].publishedUnder = servers
            session.published[attempt.upload] = moment
        }
        try tell(report.ended, on: session)
    }

    /// A session that acts between the calls of another one must not wait for it. It must find no file that is stored
    /// already, and no directory that the other session may have made.
    func mayPublish(_ session: Session) -> Bool {
        guard let busy else { return true }
        // The folder for mail may be one that the other session is making.
        guard !session.hasMail, mayKeep(session) else { return false }
        return session.sealed.allSatisfy { attempt in
            let content = uploads[attempt.upload].content
            let parents = Self.parents(of: uploads[attempt.upload].path)
            return parents.allSatisfy { durableDirectories.contains($0) || disk.medium.object(at: $0) == nil }
                && !isShared(content) && promises.places(of: content, disk.medium) { contents[$0] }.isEmpty
                && !busy.sealed.contains { $0.upload == attempt.upload }
        }
    }

    /// The directories that a path leads through.
    static func parents(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return parts.indices.dropFirst().map { parts[..<$0].joined(separator: "/") }
    }

    /// Runs calls of a session, and lets other connections act between these calls if the step says so.
    func letOthersIn(_ step: Step, _ session: Session, _ body: () throws -> Void) throws {
        // In a copied directory, a lookup reads files and syncs their names. Another session would have to wait for
        // that sync.
        guard busy == nil, step.c % mix.interludeRate == 0, intake?.adoption.isOpen != true else { return try body() }
        busy = session
        disk.arm(
            SimulatedDisk.Interlude(wait: step.b % 5, mustWait: { [self] in intake?.multiparts.isOpening ?? false }) {
                [self] in
                do {
                    for step in step.stepsBetween(parts: busyUpload != nil) where trouble == nil && !disk.isDead {
                        if options.tells { print("    between: \(step)") }
                        stepsBetween += 1
                        try noteNames()
                        let isFaulty = arm(for: step)
                        try perform(step)
                        if isFaulty { disk.arm(nil as SimulatedDisk.Fault?) }
                        try noteNames()
                    }
                } catch {
                    trouble = error
                }
            })
        defer {
            busy = nil
            disk.arm(nil as SimulatedDisk.Interlude?)
        }
        try body()
    }

    func acknowledge(_ number: UInt32) throws {
        guard let session = session(number) else { return }
        try acknowledge(session)
    }

    func acknowledge(_ session: Session) throws {
        for ended in session.intake.acknowledge() {
            if !ended.uploads.isEmpty, !disk.isDead { done.insert(.acknowledge) }
            try gave(ended.signedBatch)
            try tell(ended.uploads, on: session)
        }
    }

    func tell(_ ended: [EndedUpload], on session: Session) throws {
        for ended in ended {
            guard let index = uploads.firstIndex(where: { $0.id == ended.upload.intent.id }) else {
                try toldOfMail(ended.outcome, ended.upload.intent.id)
                continue
            }
            try told(ended.outcome, index, at: session.published.removeValue(forKey: index))
        }
    }

    func abort(_ step: Step) throws {
        guard let session = session(step.a), let current = session.current else { return }
        session.current = nil
        done.insert(.abort)
        guard let claim = current.claim else { return try told(session.intake.abort(current.open), current.upload) }
        end(claim) { _ = session.intake.abort(current.open) }
    }

    /// Whether the file differs from the version in the catalog, for example because the file has lost a name.
    func isTouched(_ name: String, since id: UploadID) -> Bool {
        guard let entry = records[id] else { return false }
        return disk.medium.version(at: name) != entry.version
    }

    /// Whether an upload was published again and is not recorded yet.
    private func isPublished(_ index: Int) -> Bool {
        (sessions.compactMap(\.self) + ghosts).contains {
            $0.published[index] != nil && $0.intake.pipeline.isWaiting
        }
    }

    func lookup(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        // A client that asks for one function learns nothing of uploads with another.
        let function: DigestFunction? = step.c % 4 == 0 ? nil : .xxh128
        let own = uploads.indices.filter {
            uploads[$0].caller == session.caller && uploads[$0].function == function ?? uploads[$0].function
        }
        var found: [Acknowledgement?] = []
        // In a copied directory, a server answers for some uploads at a time, and clients ask again for the rest.
        while found.count < own.count {
            found += session.intake.lookup(own[found.count...].map { uploads[$0].id }, function)
        }
        guard !disk.isDead else { return }
        for (index, acknowledgement) in zip(own, found) {
            if let acknowledgement {
                done.insert(.lookup)
                try judge(acknowledgement, index, isOfNow: true)
            } else if let answer = uploads[index].answer, !records.hasFailed, rotten[answer.path] == nil,
                stands(index, at: answer.path), !isTouched(answer.path, since: uploads[index].id),
                !isPublished(index), !uploads[index].hasNewFile, !uploads[index].mayBeForgotten
            {
                throw Promises.Broken("upload \(index) was acknowledged, and nobody knows of it any more")
            }
        }
        // Only clients that may send can compare folders, with one function.
        guard function != nil, session.caller == 0 || guestMaySend else { return }
        let known = zip(own, found).compactMap { index, found in found.map { (index: index, path: $0.path) } }
        let strange = zip(own, found).filter { $1 == nil }.map(\.0)
        try compareFolders(session, known, strange: strange)
    }
}

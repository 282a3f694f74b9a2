import Glibc
import TransferCatalog
import TransferIntake
import TransferModel
import TransferStore
import TransferTestSupport

/// What happens in each step.
extension World {
    /// - Throws: `Promises.Broken`, and whatever keeps a server from starting.
    func take(_ step: Step) throws {
        if options.tells { print("  \(step)") }
        let isFaulty = arm(for: step)
        try perform(step)
        if isFaulty { disk.arm(nil as SimulatedDisk.Fault?) }
        if let trouble { throw trouble }
        try check()
        if disk.isDead { try restart() }
    }

    /// Often something fails in a step that makes something durable, and sometimes in others.
    ///
    /// - Returns: whether it was armed here.
    private func arm(for step: Step) -> Bool {
        let makesDurable = [.publish, .allParts, .resend, .batch].contains(step.kind)
        let rate = makesDurable ? mix.faultRates.durable : mix.faultRates.other
        guard step.c >> 8 % rate == 0, step.kind != .mend, step.kind != .failDisk,
            let kind = mix.faults.randomElement(step.c >> 12)
        else { return false }
        disk.arm(.init(kind: kind, wait: step.c >> 16 % (busy == nil ? mix.faultWait : 2)))
        return true
    }

    private func perform(_ step: Step) throws {
        switch step.kind {
        case .begin: try begin(step)
        case .batch: try batch(step)
        case .resend: try resend(step)
        case .overtake: try overtake(step)
        case .askAgain: try askAgain(step)
        case .append: try append(step)
        case .end: try end(step)
        case .publish: try publish(step)
        case .acknowledge: try acknowledge(step.a)
        case .part: try sendPart(step)
        case .finishParts: try finishParts(step)
        case .survey: try survey(step)
        case .allParts: try sendAllParts(step)
        case .breakOff: try breakOff(step)
        case .takeBack: try takeBack(step)
        case .vanish: try vanish(step.a)
        case .fade: try fade(step.a)
        case .haunt: try haunt(step)
        case .abort: try abort(step)
        case .lookup: try lookup(step)
        case .change: try change(step)
        case .wait: wait(Int64(step.b % 7200))
        case .expire: _ = try? intake?.expire(leftovers: false)
        case .kill: try restart()
        case .rest: try rest()
        case .powerCut: try cutPower()
        case .failDisk:
            guard let kind = mix.faults.randomElement(step.a) else { return }
            disk.arm(.init(kind: kind, wait: step.b % (2 * mix.faultWait)))
        case .failRecords: records.failsAfter = step.b % 6
        case .mend: mend()
        }
    }

    func mend() {
        disk.arm(nil as SimulatedDisk.Fault?)
        records.failsAfter = nil
    }
}

// MARK: Uploads

extension World {
    static let block = Limits.blockSize

    /// - Parameter parts: whether it is to come in parts.
    func plan(_ step: Step, parts: Bool) -> Int {
        let bits = step.c
        var content: Int
        if let known = uploads.indices.randomElement(bits >> 3), mix.sharing > 0, bits % mix.sharing == 0, !parts,
            !uploads[known].isInParts
        {
            content = uploads[known].content
        } else {
            let size =
                parts
                ? Int(bits >> 4 % 3 + 1) * Self.block + Int(bits >> 8 % 3) * 7
                : mix.sizes[Int(bits >> 4) % mix.sizes.count]
            content = addContent(size)
        }
        return add(
            Upload(
                id: nextID(step), content: content, path: path(for: step),
                conflict: mix.conflicts[Int(step.b >> 8) % mix.conflicts.count], isSized: step.b >> 16 % 4 != 0,
                declares: step.b >> 18 % 4 > 1, mayEnd: step.b >> 20 % 2 == 0, isInParts: parts,
                caller: Int(step.a) % mix.sessions % 2))
    }

    private func nextID(_ step: Step) -> UploadID {
        UploadID(high: UInt64(uploads.count + 1), low: UInt64(step.a) << 32 | UInt64(step.b))
    }

    private func add(_ upload: Upload) -> Int {
        uploads.append(upload)
        return uploads.count - 1
    }

    /// One of the few, or one in a directory that was made just now, or has to be.
    private func path(for step: Step) -> String {
        guard mix.hasFreshDirectories, step.b >> 22 % 4 == 0 else {
            return mix.names[Int(step.b) % mix.names.count]
        }
        if step.b >> 24 % 3 == 0 { freshDirectories += 1 }
        return "n\(freshDirectories)/" + (step.b >> 26 % 2 == 0 ? "a" : "m/a")
    }

    /// Some small ones, one after the other.
    private func batch(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        for number in 0..<3 + step.c >> 20 % 4 {
            let next = Step(kind: .begin, a: step.a, b: step.b &+ number &* 77, c: step.c &+ number &* 0x1357)
            try bring(plan(next, parts: false), on: session)
        }
        if busy != nil || step.c >> 2 % 2 == 0 { try publish(session) }
    }

    /// All of it at once.
    func bring(_ index: Int, on session: Session) throws {
        try begin(index, on: session)
        try append(.max, to: session)
        try end(session)
    }

    /// Somebody sends some of the last uploads again as others, to the same paths, and one more.
    private func resend(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let stored = uploads.filter { !$0.isInParts && $0.caller == session.caller && $0.answer != nil }
        for old in stored.suffix(5) {
            let new = Upload(
                id: nextID(step), content: old.content, path: old.answer?.path ?? old.path, conflict: .keepBoth,
                isSized: old.isSized, declares: old.declares, mayEnd: old.mayEnd, isInParts: false, caller: old.caller)
            try bring(add(new), on: session)
        }
        let one = plan(step, parts: false)
        if mix.hasFreshDirectories {
            freshDirectories += 1
            uploads[one].path = "n\(freshDirectories)/a"
        }
        try bring(one, on: session)
        if step.c >> 2 % 2 == 0 { try publish(session) }
    }

    /// A client goes with all of an upload on its way, and comes again with another one for the same path, which is faster.
    private func overtake(_ step: Step) throws {
        guard let old = session(step.a), old.current == nil else { return }
        let first = plan(step, parts: false)
        uploads[first].conflict = .overwrite
        try bring(first, on: old)
        try fade(step.a)
        guard let new = session(step.a) else { return }
        let second = plan(Step(kind: .begin, a: step.a, b: step.b, c: step.c ^ 0x5ac0), parts: false)
        (uploads[second].path, uploads[second].conflict) = (uploads[first].path, .overwrite)
        try bring(second, on: new)
        try publish(new)
        if step.c >> 3 % 2 == 0 { try acknowledge(new) }
        if step.c >> 4 % 2 == 0, old !== busy { try publish(old) }
    }

    private func begin(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        try begin(plan(step, parts: false), on: session)
    }

    /// Somebody comes again with what he has brought, or is just bringing over another connection.
    private func askAgain(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter { uploads[$0].caller == session.caller && !uploads[$0].isInParts }
        let underWay = own.filter { uploads[$0].isOnItsWay }
        guard let index = (step.c % 2 == 0 ? underWay : own).randomElement(step.b) else { return }
        if step.c >> 1 % 8 == 0 { try misuse(index, on: session) } else { try begin(index, on: session) }
    }

    /// Somebody sends other content under an id that was acknowledged.
    private func misuse(_ index: Int, on session: Session) throws {
        let id = uploads[index].id
        guard uploads[index].answer != nil, session.intake.lookup([id], .xxh128)[0] != nil else { return }
        let other = addContent(contents[uploads[index].content].count)
        guard other != uploads[index].content else { return }
        let intent = UploadIntent(id: id, path: uploads[index].path, size: nil, conflict: uploads[index].conflict)
        let begun = session.intake.begin(intent, mayEnd: false)
        guard begun.outcome == nil else { return }
        do throws(StoreError) {
            let content = contents[other]
            try content.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try begun.upload.append(bytes)
            }
            let outcome = try session.intake.seal(begun.upload, DeclaredEnd())
            guard !disk.isDead, case .acknowledged? = outcome else {
                // It was forgotten meanwhile.
                return leave(session)
            }
        } catch {
            _ = session.intake.refuse(begun.upload, error)
            return
        }
        throw Promises.Broken("upload \(index) was acknowledged for other content")
    }

    func begin(_ index: Int, on session: Session) throws {
        let upload = uploads[index]
        let size = contents[upload.content].count
        let intent = UploadIntent(
            id: upload.id, path: upload.path, size: upload.isSized ? UInt64(size) : nil, conflict: upload.conflict,
            modified: Timestamp(seconds: Int64(index), nanoseconds: 0))
        let attempt = Attempt(upload: index, begun: moment)
        let begun = session.intake.begin(intent, mayEnd: upload.mayEnd)
        try noteNames()
        if let outcome = begun.outcome { return try told(outcome, index, isOfNow: true) }
        session.current = Current(open: begun.upload, attempt: attempt, whole: 0..<size, range: 0..<size)
    }

    private func append(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        try append(Int(step.b % 6000) + 1, to: session, isDamaged: step.c % 8 == 0)
    }

    /// - Parameter isDamaged: whether it arrives otherwise than it was sent, if anybody can tell.
    func append(_ count: Int, to session: Session, isDamaged: Bool = false) throws {
        guard var current = session.current, !current.range.isEmpty else { return }
        let piece = current.range.prefix(count)
        do throws(StoreError) {
            var content = Array(contents[uploads[current.upload].content][piece])
            if isDamaged, current.isCompared || uploads[current.upload].declares, !content.isEmpty { content[0] ^= 1 }
            try content.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try current.open.append(bytes) }
            current.range = piece.upperBound..<current.range.upperBound
            session.current = current
        } catch {
            session.current = nil
            let outcome = session.intake.refuse(current.open, error)
            guard let claim = current.claim else { return try told(outcome, current.upload) }
            return try refused(claim, error.code)
        }
        if let claim = current.claim { try wrote(claim) }
    }

    /// Now and then its sender is mistaken about what it has sent.
    private func end(_ step: Step) throws {
        guard let session = session(step.a), let current = session.current else { return }
        if !current.range.isEmpty, step.c % 16 != 0 { try append(.max, to: session, isDamaged: step.c % 16 == 2) }
        try end(session, isMistaken: step.c % 16 == 1)
    }

    func end(_ session: Session, isMistaken: Bool = false) throws {
        guard let current = session.current else { return }
        session.current = nil
        if let claim = current.claim { return try endPart(current, claim, on: session) }
        let upload = uploads[current.upload]
        var end = DeclaredEnd()
        if upload.declares || current.isUncompared || isMistaken {
            end.size = UInt64(contents[upload.content].count)
            end.digest = isMistaken ? Digest(.xxh128, [UInt8](repeating: 0, count: 16)) : digest(of: upload.content)
        } else if !current.range.isEmpty, !upload.isSized {
            // Without any word of what was to come, nobody could tell.
            current.open.suspend()
            return
        }
        let isComplete = upload.isInParts && isComplete(current.upload)
        if upload.isInParts { touchAll(of: current.upload, by: session) }
        let sealed = Result { () throws(StoreError) in try session.intake.seal(current.open, end) }
        try noteNames()
        switch sealed {
        case .success(nil):
            if upload.isInParts { tookAll(of: current.upload) }
            uploads[current.upload].isOnItsWay = true
            uploads[current.upload].sealedUnder = servers
            session.sealed.append(current.attempt)
            // As those who call do it.
            if session.intake.hasMuchSealed { try publish(session) }
        case .success(let outcome?): try told(outcome, current.upload)
        case .failure(let error):
            if isComplete, !isMistaken, !disk.isDead, [.incomplete, .digestMismatch, .sizeMismatch].contains(error.code) {
                throw Promises.Broken("upload \(current.upload) is all there, and was refused: \(error)")
            }
            try told(session.intake.refuse(current.open, error), current.upload)
        }
    }

    /// Sometimes others come between its calls to the disk.
    private func publish(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        try letOthersIn(step, session) { try publish(session) }
    }

    func publish(_ session: Session) throws {
        guard session === busy || mayPublish(session) else { return }
        let (start, failures) = (log.count, disk.failures)
        for attempt in session.sealed { uploads[attempt.upload].changes = promises.changes }
        let report = session.intake.publish()
        try noteNames()
        let attempts = session.sealed
        session.sealed = []
        // Where the last step fails, what is there under its name is nobody's.
        if disk.failures > failures { for attempt in attempts { uploads[attempt.upload].sealedUnder = nil } }
        if disk.failures == failures, !disk.isDead {
            for naming in log[start...] { durableDirectories.formUnion(Self.parents(of: naming.path)) }
        }
        try judge(attempts, of: session, since: start)
        try tell(report.settled)
    }

    /// Whoever comes between the calls of another one must not wait for him: nothing may be found that is stored already, nor a
    /// directory that the other one may have made.
    private func mayPublish(_ session: Session) -> Bool {
        guard let busy else { return true }
        return session.sealed.allSatisfy { attempt in
            let content = uploads[attempt.upload].content
            let parents = Self.parents(of: uploads[attempt.upload].path)
            return parents.allSatisfy { durableDirectories.contains($0) || disk.medium.object(at: $0) == nil }
                && !isShared(content) && promises.places(of: content, disk.medium) { contents[$0] }.isEmpty
                && !busy.sealed.contains { $0.upload == attempt.upload }
        }
    }

    /// The directories that a path leads through.
    private static func parents(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return parts.indices.dropFirst().map { parts[..<$0].joined(separator: "/") }
    }

    /// Makes calls for somebody, and lets others come between them, where the step says so.
    func letOthersIn(_ step: Step, _ session: Session, _ body: () throws -> Void) throws {
        guard busy == nil, step.c % mix.interludeRate == 0 else { return try body() }
        busy = session
        disk.arm(
            SimulatedDisk.Interlude(wait: step.b % 5) { [self] in
                do {
                    for step in step.stepsBetween(parts: busyUpload != nil) where trouble == nil && !disk.isDead {
                        if options.tells { print("    between: \(step)") }
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

    private func acknowledge(_ number: UInt32) throws {
        guard let session = session(number) else { return }
        try acknowledge(session)
    }

    func acknowledge(_ session: Session) throws {
        let ended = session.intake.acknowledge()
        try gave(ended.seal)
        try tell(ended.settled)
    }

    private func tell(_ settled: [Completion.Settled]) throws {
        for settled in settled {
            guard let index = uploads.firstIndex(where: { $0.id == settled.upload.intent.id }) else { continue }
            try told(settled.outcome, index)
        }
    }

    private func abort(_ step: Step) throws {
        guard let session = session(step.a), let current = session.current else { return }
        session.current = nil
        guard let claim = current.claim else { return try told(session.intake.discard(current.open), current.upload) }
        end(claim) { _ = session.intake.discard(current.open) }
    }

    /// Whether the file is another one than the catalog says, also where only one of its names has gone.
    private func isTouched(_ name: String, since id: UploadID) -> Bool {
        guard let entry = records[id] else { return false }
        return disk.medium.version(at: name) != entry.version
    }

    private func lookup(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        let own = uploads.indices.filter { uploads[$0].caller == session.caller }
        let found = session.intake.lookup(own.map { uploads[$0].id }, .xxh128)
        guard !disk.isDead else { return }
        for (index, acknowledgement) in zip(own, found) {
            if let acknowledgement {
                try judge(acknowledgement, index, isOfNow: true)
            } else if let answer = uploads[index].answer, !records.hasFailed, rotten[answer.path] == nil,
                stands(index, at: answer.path), !isTouched(answer.path, since: uploads[index].id)
            {
                throw Promises.Broken("upload \(index) was acknowledged, and nobody knows of it any more")
            }
        }
    }
}

extension Collection where Index == Int {
    /// The one that a number stands for; nothing where there is none.
    func randomElement(_ number: UInt32) -> Element? {
        isEmpty ? nil : self[startIndex + Int(number) % count]
    }
}

import Glibc
import TransferIntake
import TransferModel
import TransferStore
import TransferSystem
import TransferTestSupport

/// What happens in each step.
extension World {
    /// - Throws: `Promises.Broken`, and whatever keeps a server from starting.
    func take(_ step: Step) throws {
        if options.tells { print("  \(step)") }
        switch step.kind {
        case .begin: try begin(step)
        case .askAgain: try askAgain(step)
        case .append: try append(step)
        case .end: try end(step)
        case .publish: try publish(step.a)
        case .acknowledge: try acknowledge(step.a)
        case .part: try sendPart(step)
        case .finishParts: try finishParts(step)
        case .survey: try survey(step)
        case .vanish: vanish(step.a)
        case .abort: try abort(step)
        case .lookup: try lookup(step)
        case .change: try change(step)
        case .wait: wait(Int64(step.b % 7200))
        case .expire: _ = try? intake?.expire(after: 86_400_000_000_000, leftovers: false)
        case .kill: try restart()
        case .powerCut: try cutPower()
        case .failDisk:
            let kinds = SimulatedDisk.Fault.Kind.allCases
            let kind = kinds[Int(step.a) % kinds.count]
            disk.arm(.init(kind: kind, wait: step.b % 12))
            if kind == .refused { isMiscounted = true }
        case .failRecords: records.failsAfter = step.b % 6
        case .mend: mend()
        }
        try check()
        if disk.isDead { try restart() }
    }

    func mend() {
        disk.arm(nil)
        records.failsAfter = nil
    }
}

// MARK: Uploads

extension World {
    private static let block = Limits.blockSize

    /// Sizes around those that matter, none of them long for a simulation.
    private static let sizes = [0, 1, 100, 4095, 4096, 5000, 9000]

    /// - Parameter parts: whether it is to come in parts.
    func plan(_ step: Step, parts: Bool) -> Int {
        let bits = step.c
        var content: Int
        if let known = uploads.indices.randomElement(bits >> 3), bits % 8 == 0, !parts, !uploads[known].isInParts {
            content = uploads[known].content
        } else {
            let size =
                parts ? Int(bits >> 4 % 3 + 1) * Self.block + Int(bits >> 8 % 3) * 7 : Self.sizes[Int(bits >> 4) % 7]
            content = addContent(size)
        }
        let conflicts = ConflictPolicy.allCases
        uploads.append(
            Upload(
                id: UploadID(high: UInt64(uploads.count + 1), low: UInt64(step.a) << 32 | UInt64(step.b)),
                content: content, path: Self.names[Int(step.b) % Self.names.count],
                conflict: conflicts[Int(step.b >> 8) % conflicts.count], isSized: step.b >> 16 % 4 != 0,
                declares: step.b >> 18 % 4 != 0, mayEnd: step.b >> 20 % 2 == 0, isInParts: parts,
                caller: Int(step.a) % Self.sessionCount % 2))
        return uploads.count - 1
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
        try begin(index, on: session)
    }

    func begin(_ index: Int, on session: Session) throws {
        let upload = uploads[index]
        let size = contents[upload.content].count
        let intent = UploadIntent(
            id: upload.id, path: upload.path, size: upload.isSized ? UInt64(size) : nil, conflict: upload.conflict,
            modified: Timestamp(seconds: Int64(index), nanoseconds: 0))
        let begun = session.intake.begin(intent, mayEnd: upload.mayEnd)
        try noteNames()
        if let outcome = begun.outcome { return try told(outcome, index) }
        session.current = Current(open: begun.upload, upload: index, range: 0..<size)
    }

    private func append(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        try append(Int(step.b % 6000) + 1, to: session)
    }

    func append(_ count: Int, to session: Session) throws {
        guard var current = session.current, !current.range.isEmpty else { return }
        let piece = current.range.prefix(count)
        do throws(StoreError) {
            let content = contents[uploads[current.upload].content]
            try content.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try current.open.append(UnsafeRawBufferPointer(rebasing: bytes[piece]))
            }
            current.range = piece.upperBound..<current.range.upperBound
            session.current = current
        } catch {
            session.current = nil
            try told(session.intake.refuse(current.open, error), current.upload)
        }
    }

    /// Now and then its sender is mistaken about what it has sent.
    private func end(_ step: Step) throws {
        guard let session = session(step.a), let current = session.current else { return }
        guard current.range.isEmpty || step.c % 16 == 0 else { return try append(.max, to: session) }
        try end(session, isMistaken: step.c % 16 == 1)
    }

    func end(_ session: Session, isMistaken: Bool = false) throws {
        guard let current = session.current else { return }
        session.current = nil
        let upload = uploads[current.upload]
        var end = DeclaredEnd()
        if upload.declares || isMistaken || upload.isInParts {
            end.size = UInt64(contents[upload.content].count)
            end.digest = isMistaken ? Digest(.xxh128, [UInt8](repeating: 0, count: 16)) : digest(of: upload.content)
        } else if !current.range.isEmpty {
            // Without any word of what was to come, nobody could tell.
            current.open.suspend()
            return
        }
        let sealed = Result { () throws(StoreError) in try session.intake.seal(current.open, end) }
        try noteNames()
        switch sealed {
        case .success(nil):
            uploads[current.upload].isOnItsWay = true
            uploads[current.upload].sealedUnder = servers
        case .success(let outcome?): try told(outcome, current.upload)
        case .failure(let error): try told(session.intake.refuse(current.open, error), current.upload)
        }
    }

    private func publish(_ number: UInt32) throws {
        guard let session = session(number) else { return }
        try publish(session)
    }

    func publish(_ session: Session) throws {
        let report = session.intake.publish()
        try noteNames()
        try tell(report.settled)
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
        try told(session.intake.discard(current.open), current.upload)
    }

    private func lookup(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        let own = uploads.indices.filter { uploads[$0].caller == session.caller }
        let found = session.intake.lookup(own.map { uploads[$0].id }, .xxh128)
        guard !disk.isDead else { return }
        for (index, acknowledgement) in zip(own, found) {
            if let acknowledgement { try judge(acknowledgement, index) }
        }
    }
}

// MARK: Uploads in parts

extension World {
    /// An upload in parts that its caller goes on with, or a new one.
    private func inParts(_ step: Step, for session: Session) -> Int {
        let open = uploads.indices.filter {
            uploads[$0].isInParts && uploads[$0].caller == session.caller && uploads[$0].answer == nil
                && !uploads[$0].isOnItsWay
        }
        if let index = open.randomElement(step.b), step.c % 4 != 0 { return index }
        var made = plan(step, parts: true)
        uploads[made].isSized = true
        if uploads[made].caller != session.caller { made = uploads.count - 1 }
        return made
    }

    /// Some whole blocks, to their end or not.
    private func sendPart(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let index = inParts(step, for: session)
        let size = contents[uploads[index].content].count
        let blocks = (size + Self.block - 1) / Self.block
        let first = Int(step.b >> 4) % blocks
        let last = min(blocks, first + 1 + Int(step.b >> 8) % 2)
        let stops = step.c >> 16 % 5 == 0
        try sendPart(
            index, first * Self.block..<min(size, last * Self.block), number: step.a, on: session, stops: stops)
    }

    func sendPart(_ index: Int, _ range: Range<Int>, number: UInt32, on session: Session, stops: Bool = false) throws {
        let upload = uploads[index]
        let part = UploadPart(
            of: upload.id, offset: UInt64(range.lowerBound), total: UInt64(contents[upload.content].count))
        let intent = UploadIntent(
            id: UploadID(high: 1 << 63 | UInt64(number), low: UInt64(range.lowerBound) << 32 | UInt64(index)),
            path: upload.path, size: UInt64(range.count), conflict: upload.conflict, extent: .part(part))
        let begun = session.intake.begin(intent, mayEnd: false)
        guard begun.outcome == nil else { return }
        session.current = Current(open: begun.upload, upload: index, range: range)
        try append(stops ? range.count / 2 : .max, to: session)
        guard !stops, let current = session.current else { return }
        session.current = nil
        do throws(StoreError) {
            _ = try session.intake.seal(
                current.open, DeclaredEnd(size: UInt64(range.count), digest: digest(of: upload.content, range)))
        } catch {
            _ = session.intake.refuse(current.open, error)
        }
    }

    private func finishParts(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter { uploads[$0].isInParts && uploads[$0].caller == session.caller }
        guard let index = own.randomElement(step.b) else { return }
        try finishParts(index, on: session)
    }

    func finishParts(_ index: Int, on session: Session) throws {
        let begun = session.intake.begin(whole(index), mayEnd: false)
        try noteNames()
        if let outcome = begun.outcome { return try told(outcome, index) }
        session.current = Current(open: begun.upload, upload: index, range: 0..<0)
        try end(session)
    }

    private func whole(_ index: Int) -> UploadIntent {
        let upload = uploads[index]
        return UploadIntent(
            id: upload.id, path: upload.path, size: UInt64(contents[upload.content].count), conflict: upload.conflict,
            extent: .assembly)
    }

    private func survey(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter { uploads[$0].isInParts && uploads[$0].caller == session.caller }
        guard let index = own.randomElement(step.b) else { return }
        _ = try survey(index, on: session)
    }

    /// - Returns: the blocks that are said to be there.
    func survey(_ index: Int, on session: Session) throws -> Set<UInt64>? {
        switch session.intake.have(whole(index)) {
        case .ended(_, let outcome):
            try noteNames()
            try told(outcome, index)
            return nil
        case .query(var query):
            var known: Set<UInt64> = []
            let content = uploads[index].content
            while let blocks = try? query.step(threads: 1) {
                for block in blocks {
                    known.insert(block.index)
                    let start = Int(block.index) * Self.block
                    guard start < contents[content].count else { continue }
                    let range = start..<min(start + Self.block, contents[content].count)
                    // It may be what somebody else has left there; then its digest says so.
                    if digest(of: content, range).bytes != block.digest { known.remove(block.index) }
                }
            }
            return known
        }
    }
}

// MARK: Others

extension World {
    /// Somebody changes what is stored, behind the server's back.
    private func change(_ step: Step) throws {
        let paths = disk.medium.seenPaths.keys.sorted()
        guard let name = paths.randomElement(step.a) else { return }
        let target = path + "/" + name
        unlink(target)
        if step.b % 2 == 0 {
            disk.change { $0.forget(name) }
        } else {
            let content = SplitMix64.bytes(seed: UInt64(step.c), Int(step.b % 50) + 1)
            let number = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            guard number >= 0 else { return }
            content.withUnsafeBytes { _ = write(number, $0.baseAddress, $0.count) }
            close(number)
            disk.change { [path] in $0.replace(name, in: path, by: content) }
        }
        promises.changed(name)
        isMiscounted = true
    }
}

extension Collection where Index == Int {
    /// The one that a number stands for; nothing where there is none.
    fileprivate func randomElement(_ number: UInt32) -> Element? {
        isEmpty ? nil : self[startIndex + Int(number) % count]
    }
}

import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

extension World {
    /// An upload in parts that its caller continues, or a new one.
    private func inParts(_ step: Step, for session: Session) -> Int {
        // Other connections often work on the upload that the interrupted step is about.
        if let shared = busyUpload, busy !== session, uploads[shared].caller == session.caller, step.c >> 28 % 4 != 0 {
            return shared
        }
        let open = uploads.indices.filter {
            uploads[$0].isInParts && uploads[$0].appendUpload == nil && uploads[$0].caller == session.caller
                && (uploads[$0].answer == nil || step.c >> 3 % 4 == 0)
        }
        if let index = open.randomElement(step.b), step.c % 4 != 0 { return index }
        var made = plan(step, parts: true)
        uploads[made].isSized = true
        if uploads[made].caller != session.caller { made = uploads.count - 1 }
        return made
    }

    /// Sends some whole blocks or a piece of one, completely or not.
    func sendPart(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let index = inParts(step, for: session)
        let size = contents[uploads[index].content].count
        let blocks = (size + Self.block - 1) / Self.block
        let first = Int(step.b >> 4) % blocks
        let last = min(blocks, first + 1 + Int(step.b >> 8) % 2)
        if step.c >> 24 % 16 == 0 {
            return try sendStrayPart(index, at: blocks * Self.block, number: step.a, on: session)
        }
        var range = first * Self.block..<min(size, last * Self.block)
        if step.c >> 26 % 3 == 0 { range = piece(of: range, step.c >> 8) }
        // The sender mostly stops within a block, and sometimes at its end.
        let most = step.c >> 16 % 3 == 0 ? range.count * Int(step.c >> 20 % 8 + 1) / 8 : nil
        try sendPart(
            index, range, number: step.a, on: session, stopsAfter: most,
            isDamaged: step.c >> 18 % (busyUpload == nil ? 4 : 2) == 0)
    }

    /// A piece of the first block. It can extend to the end of the block.
    private func piece(of blocks: Range<Int>, _ number: UInt32) -> Range<Int> {
        let (start, end) = (blocks.lowerBound, min(blocks.upperBound, blocks.lowerBound + Self.block))
        let units = (end - start + Limits.pieceSize - 1) / Limits.pieceSize
        let first = Int(number % 4) * units / 4
        let last = min(units, first + 1 + Int(number >> 2 % 4) * units / 4)
        return start + first * Limits.pieceSize..<min(end, start + last * Limits.pieceSize)
    }

    /// Sends a part that an earlier, longer attempt would have left behind the end.
    private func sendStrayPart(_ index: Int, at offset: Int, number: UInt32, on session: Session) throws {
        uploads[index].hasParts = true
        uploads[index].partsUnder = nil
        let content = SplitMix64.bytes(seed: UInt64(number), 100)
        let part = UploadPart(of: uploads[index].id, offset: UInt64(offset), total: nil)
        let intent = UploadIntent(
            id: UploadID(high: 1 << 63 | UInt64(number), low: UInt64(offset) << 32 | UInt64(index)),
            path: uploads[index].path, size: UInt64(content.count), function: uploads[index].function,
            extent: .part(part))
        let begun = session.intake.begin(intent, mayEnd: false)
        guard begun.outcome == nil else { return }
        do throws(Failure) {
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try begun.upload.write(bytes) }
            _ = try session.intake.finish(begun.upload, DeclaredEnd(size: UInt64(content.count)))
        } catch {
            _ = session.intake.refuse(begun.upload, error)
        }
    }

    /// - Parameter most: bytes after which the sender stops. The rest comes later, or never.
    func sendPart(
        _ index: Int, _ range: Range<Int>, number: UInt32, on session: Session, stopsAfter most: Int? = nil,
        isDamaged: Bool = false
    ) throws {
        let upload = uploads[index]
        uploads[index].partsUnder = !upload.hasParts || upload.partsUnder == servers ? servers : nil
        uploads[index].hasParts = true
        let part = UploadPart(
            of: upload.id, offset: UInt64(range.lowerBound), total: UInt64(contents[upload.content].count))
        let intent = UploadIntent(
            id: UploadID(high: 1 << 63 | UInt64(number), low: UInt64(range.lowerBound) << 32 | UInt64(index)),
            path: upload.path, size: UInt64(range.count), function: upload.function, conflict: upload.conflict,
            extent: .part(part))
        let attempt = Attempt(upload: index, begun: moment)
        // Another program may have removed the published file that would be the part again.
        if upload.wasPublished, isGone(index) { uploads[index].verified = [] }
        let begun = session.intake.begin(intent, mayEnd: false)
        guard begun.outcome == nil else {
            uploads[index].hasRefusedPart = true
            return
        }
        session.current = Current(
            open: begun.upload, attempt: attempt, whole: range, range: range, isCompared: most == nil,
            claim: claim(range, of: index, on: session))
        try append(max(1, most ?? .max), to: session, isDamaged: isDamaged)
        if most == nil { try end(session) }
    }

    func endPart(_ current: Current, _ claim: Claim, on session: Session) throws {
        guard current.range.isEmpty else { return end(claim) { current.open.suspend() } }
        let upload = uploads[current.upload]
        let digest = digest(of: upload.content, current.whole, by: upload.function)
        let (verified, steps) = (intake?.multiparts[uploads[current.upload].id]?.verified ?? 0, stepsBetween)
        do throws(Failure) {
            _ = try session.intake.finish(
                current.open, DeclaredEnd(size: UInt64(current.whole.count), digest: digest))
        } catch {
            _ = session.intake.refuse(current.open, error)
            // If other steps ran in between, other connections may have completed blocks.
            if claim.isLost, steps == stepsBetween,
                intake?.multiparts[uploads[current.upload].id]?.verified ?? 0 > verified
            {
                throw Promises.Broken("upload \(current.upload): a part counts that was taken over")
            }
            return try refused(claim, error.code)
        }
        done.insert(.part)
        try staged(claim, isUndisturbed: steps == stepsBetween)
    }

    /// A part is cut off on its way, and its sender believes that the server has all of it.
    func breakOff(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil, session !== busy else { return }
        let index = plan(step, parts: true)
        uploads[index].isSized = true
        let size = contents[uploads[index].content].count
        guard uploads[index].caller == session.caller else { return }
        try sendPart(index, 0..<size, number: step.a, on: session, stopsAfter: Int(step.c >> 8) % size)
        try vanish(step.a)
        guard let next = self.session(step.a) else { return }
        try finishParts(index, on: next)
    }

    /// The sender gives up an upload in parts, and may send it again later.
    func takeBack(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter {
            uploads[$0].isInParts && uploads[$0].appendUpload == nil && uploads[$0].caller == session.caller
        }
        guard let index = own.randomElement(step.b) else { return }
        touchAll(of: index, by: session)
        let begun = session.intake.begin(whole(index), mayEnd: false)
        try noteNames()
        if let outcome = begun.outcome { return try told(outcome, index, isOfNow: true) }
        try told(session.intake.abort(begun.upload), index)
        if !disk.isDead { done.insert(.takeBack) }
    }

    func finishParts(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter {
            uploads[$0].isInParts && uploads[$0].appendUpload == nil && uploads[$0].caller == session.caller
        }
        guard let index = own.randomElement(step.b) else { return }
        try finishParts(index, on: session)
    }

    /// - Parameter isCompared: whether the sender knows which blocks the server has.
    func finishParts(_ index: Int, on session: Session, isCompared: Bool = false) throws {
        let attempt = Attempt(upload: index, begun: moment)
        let begun = session.intake.begin(whole(index), mayEnd: false)
        try noteNames()
        if let outcome = begun.outcome { return try told(outcome, index, isOfNow: true) }
        session.current = Current(open: begun.upload, attempt: attempt, whole: 0..<0, range: 0..<0)
        // In place of a refused part, the server may have other bytes, which it had before.
        session.current?.isUncompared =
            uploads[index].hasRefusedPart || !isCompared && uploads[index].partsUnder != servers
        try end(session)
    }

    func sendAllParts(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let index = inParts(step, for: session)
        // The server no longer has the received parts in memory, so it has to read them.
        if step.c >> 24 % 4 == 0, busy == nil {
            everybodyLeaves()
            wait(7200)
            return try sendAllParts(index, at: step)
        }
        try sendAllParts(index, at: step)
    }

    private func sendAllParts(_ index: Int, at step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        if busy == nil { busyUpload = index }
        defer { if busy == nil { busyUpload = nil } }
        try letOthersIn(step, session) { try sendAllParts(index, on: session) }
        guard step.c >> 4 % 2 == 0 else { return }
        try publish(session)
        if step.c >> 5 % 2 == 0 { try acknowledge(session) }
    }

    /// Sends all blocks that are missing, as far as the sender knows, and the end.
    func sendAllParts(_ index: Int, on session: Session) throws {
        guard let known = try survey(index, on: session) else { return }
        let size = contents[uploads[index].content].count
        for start in stride(from: 0, to: size, by: Self.block) where !known.contains(UInt64(start / Self.block)) {
            let block = start..<min(size, start + Self.block)
            for range in index % 2 == 0 ? [block] : pieces(of: block) {
                try sendPart(index, range, number: UInt32(1 << 20 + range.lowerBound), on: session)
            }
        }
        guard session.current == nil else { return }
        try finishParts(index, on: session, isCompared: true)
    }

    /// A whole block in pieces, the last one first.
    private func pieces(of block: Range<Int>) -> [Range<Int>] {
        let length = 20 * Limits.pieceSize
        return stride(from: block.lowerBound, to: block.upperBound, by: length).reversed().map { start in
            start..<min(block.upperBound, start + length)
        }
    }

    private func whole(_ index: Int) -> UploadIntent {
        let upload = uploads[index]
        return UploadIntent(
            id: upload.id, path: upload.path, size: UInt64(contents[upload.content].count),
            function: upload.function, conflict: upload.conflict, extent: .multipart)
    }

    func survey(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter {
            uploads[$0].isInParts && uploads[$0].appendUpload == nil && uploads[$0].caller == session.caller
        }
        guard let index = own.randomElement(step.b) else { return }
        if busy == nil { busyUpload = index }
        defer { if busy == nil { busyUpload = nil } }
        try letOthersIn(step, session) { _ = try survey(index, on: session) }
    }

    /// - Returns: blocks that the server reports as stored; nil if the upload has ended.
    func survey(_ index: Int, on session: Session) throws -> Set<UInt64>? {
        uploads[index].hasParts = true
        uploads[index].partsUnder = nil
        touchAll(of: index, by: session)
        forgetVerified()
        let (claimed, isGone) = (uploads[index].claimed, isGone(index))
        switch session.intake.have(whole(index)) {
        case .ended(let ended):
            try noteNames()
            try told(ended.outcome, index, isOfNow: true)
            return nil
        case .query(var query):
            done.insert(.survey)
            tookAll(of: index)
            uploads[index].hasRefusedPart = false
            var known: Set<UInt64> = []
            let content = uploads[index].content
            while let blocks = try? query.step(threads: 1) {
                for block in blocks {
                    known.insert(block.index)
                    let start = Int(block.index) * Self.block
                    guard start < contents[content].count else { continue }
                    let range = start..<min(start + Self.block, contents[content].count)
                    // Another client may have left this block in the upload. Its digest differs in that case.
                    if digest(of: content, range, by: uploads[index].function).bytes != block.digest {
                        known.remove(block.index)
                    }
                }
            }
            if uploads[index].claimed == claimed { try found(known, of: index, isGone: isGone) }
            return known
        }
    }
}

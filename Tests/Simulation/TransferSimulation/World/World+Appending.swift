import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Append uploads, one request at a time. The length that a sender has received in an answer never shrinks, whatever
/// fails.
extension World {
    /// One request of a client that first asks how long its upload is.
    func grow(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let index = appending(step, for: session)
        // Only a failed sync excuses lost bytes: a full disk takes back no bytes that were reported. The failed sync
        // may have been for another upload.
        let earlier = uploads[index].appendUpload.flatMap(\.failedSyncs) ?? failedSyncs
        defer {
            if failedSyncs > earlier || disk.isDead { uploads[index].appendUpload?.mayBeGone = true }
            uploads[index].appendUpload?.failedSyncs = failedSyncs
        }
        guard let place = try askAppend(index, on: session) else { return }
        if !place.isThere { uploads[index].appendUpload = AppendUpload() }
        if step.c >> 6 % 24 == 0 { return try takeBackAppend(index, on: session) }
        try append(index, at: place, step, on: session)
    }

    /// An upload that its sender continues, or a new one.
    private func appending(_ step: Step, for session: Session) -> Int {
        let open = uploads.indices.filter {
            uploads[$0].appendUpload != nil && uploads[$0].caller == session.caller
                && (uploads[$0].answer == nil || step.c >> 3 % 8 == 0)
        }
        if let index = open.randomElement(step.b), step.c % 4 != 0 { return index }
        let made = plan(step, parts: Self.block < 1 << 16)
        uploads[made] = Upload(
            id: uploads[made].id, content: uploads[made].content, path: uploads[made].path,
            conflict: uploads[made].conflict, isSized: true, declares: false, mayEnd: true, isInParts: true,
            caller: session.caller, function: made % 3 == 0 ? .sha256 : .xxh128, appendUpload: AppendUpload())
        return made
    }

    /// Where an upload continues, and whether it exists.
    private typealias Place = (offset: Int, isThere: Bool)

    /// - Returns: nil if the upload is over, or if the server cannot answer now.
    private func askAppend(_ index: Int, on session: Session) throws -> Place? {
        guard let appendUpload = uploads[index].appendUpload else { return nil }
        do throws(Failure) {
            let found = try session.intake.unfinishedAppend(uploads[index].id)
            guard !disk.isDead else { return nil }
            guard let unfinished = found else {
                guard appendUpload.isBegun, !appendUpload.mayBeGone else { return (0, false) }
                throw Failure(.notFound, "")
            }
            if options.tells { print("    upload \(index) has \(unfinished.offset) of \(appendUpload.told)") }
            trace.add(Int(unfinished.offset))
            guard unfinished.offset >= appendUpload.told else {
                throw Failure(.sizeMismatch, "")
            }
            try told(index, Int(unfinished.offset))
            return (Int(unfinished.offset), true)
        } catch {
            switch error.code {
            case .notFound: throw Promises.Broken("upload \(index) grows no more, and its sender was told of it")
            case .sizeMismatch: throw Promises.Broken("upload \(index) has less than its sender was told")
            // The upload is being completed, or the disk has failed.
            default: return nil
            }
        }
    }

    private func told(_ index: Int, _ offset: Int) throws(Failure) {
        guard !disk.isDead else { return }
        uploads[index].appendUpload?.told = offset
        uploads[index].appendUpload?.isBegun = true
    }

    private func takeBackAppend(_ index: Int, on session: Session) throws {
        do throws(Failure) {
            if try session.intake.takeBack(append: uploads[index].id) { done.insert(.takeBackAppend) }
        } catch {}
        uploads[index].appendUpload = AppendUpload()
        // A removal on a failing disk may leave the part.
        uploads[index].appendUpload?.mayBeGone = true
    }

    private func append(_ index: Int, at place: Place, _ step: Step, on session: Session) throws {
        let content = contents[uploads[index].content]
        let (offset, isNew) = (place.offset, !place.isThere)
        guard offset <= content.count, !isNew || !mayHaveOldSheet(uploads[index].id) else { return }
        let end = step.c >> 8 % 3 == 0 ? content.count : min(content.count, offset + Int(step.b >> 3) % 6000)
        let isLast = end == content.count && step.c >> 10 % 8 != 0
        let append = UploadAppend(
            at: UInt64(offset), total: step.c >> 13 % 2 == 0 ? UInt64(content.count) : nil,
            ending: isLast ? .here : .never, isNew: isNew, isUnproven: step.c >> 14 % 4 == 0)
        var intent = UploadIntent(
            id: uploads[index].id, path: uploads[index].path, size: UInt64(end - offset),
            function: uploads[index].function, conflict: uploads[index].conflict, extent: .append(append))
        if isNew { intent.modified = Timestamp(seconds: Int64(index), nanoseconds: 0) }
        let attempt = Attempt(upload: index, begun: moment)
        let begun = session.intake.begin(intent, mayEnd: true)
        try noteNames()
        if let outcome = begun.outcome {
            // After a final answer the upload is over, and its sender does not ask for its part any more.
            if outcome.code.class != .server { uploads[index].appendUpload?.mayBeGone = true }
            return try told(outcome, index, isOfNow: true)
        }
        if step.c >> 16 % 4 == 0 { begun.upload.announce() }
        try bring(Array(content[offset..<end]), begun.upload, attempt, step, isLast: isLast, on: session)
    }

    /// Whether a power cut may bring back the sheet of an earlier upload with the same id. A server makes up the id of
    /// each append upload, so ids never repeat; here they do. With the old sheet, bytes of the new upload would count
    /// as synced.
    private func mayHaveOldSheet(_ id: UploadID) -> Bool {
        disk.medium.possibleObjects(at: ".transfer/incoming/\(id).sheet").contains { $0 != nil }
    }

    private func bring(
        _ content: [UInt8], _ open: OpenUpload, _ attempt: Attempt, _ step: Step, isLast: Bool, on session: Session
    ) throws {
        let index = attempt.upload
        let cut = step.c >> 18 % 4 == 0 ? Int(step.b) % (content.count + 1) : content.count
        let sealed = Result { () throws(Failure) -> UploadOutcome? in
            let piece = Array(content[..<cut])
            try piece.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try open.write(bytes) }
            guard cut == content.count else { return nil }
            return try session.intake.finish(open, DeclaredEnd())
        }
        try noteNames()
        switch sealed {
        case .failure(let error): try told(session.intake.refuse(open, error), index)
        case .success where cut < content.count: open.suspend()
        case .success(.kept(let offset)?):
            done.insert(.grow)
            try told(index, Int(offset))
        case .success(let outcome?): try told(outcome, index)
        case .success(nil):
            uploads[index].appendUpload?.mayBeGone = true
            uploads[index].isOnItsWay = true
            session.sealed.append(attempt)
            try publish(session)
            if step.c >> 20 % 2 == 0 { try acknowledge(session) }
        }
    }
}

import Glibc
import TransferCatalog
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Uploads whose content clients send to the server.
extension World {
    static let block = Limits.blockSize

    /// - Parameter parts: whether the client sends the upload in parts.
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
        var upload = Upload(
            id: nextID(step), content: content, path: path(for: step),
            conflict: mix.conflicts[Int(step.b >> 8) % mix.conflicts.count], isSized: step.b >> 16 % 4 != 0,
            declares: step.b >> 18 % 4 > 1, mayEnd: step.b >> 20 % 2 == 0, isInParts: parts,
            caller: Int(step.a) % mix.sessions % 2)
        if mix.hasConditions, !parts, [.overwrite, .fail].contains(upload.conflict) {
            upload.condition = [.free, .unchanged, nil, nil][Int(bits >> 28 % 4)]
        }
        return add(upload)
    }

    func nextID(_ step: Step) -> UploadID {
        UploadID(high: UInt64(uploads.count + 1), low: UInt64(step.a) << 32 | UInt64(step.b))
    }

    func add(_ upload: Upload) -> Int {
        uploads.append(upload)
        return uploads.count - 1
    }

    /// One of the few names of the mix, or a path in a directory that is new or does not exist yet.
    func path(for step: Step) -> String {
        guard mix.hasFreshDirectories, step.b >> 22 % 4 == 0 else {
            return mix.names[Int(step.b) % mix.names.count]
        }
        if step.b >> 24 % 3 == 0 { freshDirectories += 1 }
        return "n\(freshDirectories)/" + (step.b >> 26 % 2 == 0 ? "a" : "m/a")
    }

    /// Sends some small uploads, one after the other.
    func batch(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        for number in 0..<3 + step.c >> 20 % 4 {
            let next = Step(kind: .begin, a: step.a, b: step.b &+ number &* 77, c: step.c &+ number &* 0x1357)
            try bring(plan(next, parts: false), on: session)
        }
        if busy != nil || step.c >> 2 % 2 == 0 { try publish(session) }
    }

    /// Sends a whole upload at once.
    func bring(_ index: Int, on session: Session) throws {
        try begin(index, on: session)
        try append(.max, to: session)
        try end(session)
    }

    /// Sends some of the last uploads again with new ids to the same paths, and one more upload.
    func resend(_ step: Step) throws {
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

    /// A client goes while a whole upload is on its way, and comes back with another upload for the same path, which
    /// overtakes the first one.
    func overtake(_ step: Step) throws {
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

    func begin(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        try begin(plan(step, parts: false), on: session)
    }

    /// Sends an upload again that the client has sent before, or is sending over another connection.
    func askAgain(_ step: Step) throws {
        guard let session = session(step.a), session.current == nil else { return }
        let own = uploads.indices.filter { uploads[$0].caller == session.caller && !uploads[$0].isInParts }
        let underWay = own.filter { uploads[$0].isOnItsWay }
        guard let index = (step.c % 2 == 0 ? underWay : own).randomElement(step.b) else { return }
        if step.c >> 1 % 8 == 0 { try misuse(index, on: session) } else { try begin(index, on: session) }
    }

    /// Sends other content under an id that was acknowledged.
    func misuse(_ index: Int, on session: Session) throws {
        let id = uploads[index].id
        guard uploads[index].answer != nil, session.intake.lookup([id], nil)[0] != nil else { return }
        let other = addContent(contents[uploads[index].content].count)
        guard other != uploads[index].content else { return }
        let intent = UploadIntent(id: id, path: uploads[index].path, size: nil, conflict: uploads[index].conflict)
        let begun = session.intake.begin(intent, mayEnd: false)
        guard begun.outcome == nil else { return }
        do throws(Failure) {
            let content = contents[other]
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in
                try begun.upload.write(bytes)
            }
            let outcome = try session.intake.finish(begun.upload, DeclaredEnd())
            guard !disk.isDead, case .acknowledged? = outcome else {
                // The server has forgotten the upload meanwhile.
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
            id: upload.id, path: upload.path, size: upload.isSized ? UInt64(size) : nil, function: upload.function,
            conflict: upload.conflict, modified: Timestamp(seconds: Int64(index), nanoseconds: 0))
        var attempt = Attempt(upload: index, begun: moment)
        let begun = session.intake.begin(intent, mayEnd: upload.mayEnd)
        try noteNames()
        if let outcome = begun.outcome { return try told(outcome, index, isOfNow: true) }
        attempt.demanded = demand(of: begun.upload, upload)
        done.insert(.begin)
        session.current = Current(open: begun.upload, attempt: attempt, whole: 0..<size, range: 0..<size)
    }

    /// Lets an upload depend on the present file at its path.
    ///
    /// - Returns: the object that the upload demands; nil for an upload that depends on no object.
    private func demand(of open: OpenUpload, _ upload: Upload) -> Demand? {
        switch upload.condition {
        case nil: return nil
        case .free:
            open.condition = .onlyNew
            return .nothing
        case .unchanged:
            let (object, seen) = (disk.medium.object(at: upload.path), disk.medium.version(at: upload.path))
            // Only files have versions.
            guard object == nil || seen != nil else { return nil }
            open.condition = PublicationCondition { $0?.version == seen }
            return object.map { .object($0) } ?? .nothing
        }
    }

    func append(_ step: Step) throws {
        guard let session = session(step.a) else { return }
        try append(Int(step.b % 6000) + 1, to: session, isDamaged: step.c % 8 == 0)
    }

    /// - Parameter isDamaged: whether a byte changes on the way, if a digest allows the server to notice.
    func append(_ count: Int, to session: Session, isDamaged: Bool = false) throws {
        guard var current = session.current, !current.range.isEmpty else { return }
        let piece = current.range.prefix(count)
        do throws(Failure) {
            var content = Array(contents[uploads[current.upload].content][piece])
            if isDamaged, current.isCompared || uploads[current.upload].declares, !content.isEmpty { content[0] ^= 1 }
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try current.open.write(bytes) }
            current.range = piece.upperBound..<current.range.upperBound
            session.current = current
            done.insert(.append)
        } catch {
            session.current = nil
            let outcome = session.intake.refuse(current.open, error)
            guard let claim = current.claim else { return try told(outcome, current.upload) }
            return try refused(claim, error.code)
        }
        if let claim = current.claim { try wrote(claim) }
    }

    /// Ends an upload. Sometimes the sender has not sent everything, or declares a wrong digest.
    func end(_ step: Step) throws {
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
            end.digest =
                isMistaken
                ? Digest(.xxh128, [UInt8](repeating: 0, count: 16)) : digest(of: upload.content, by: upload.function)
        } else if !current.range.isEmpty, !upload.isSized {
            // Without a declared size or digest, the server could not notice that content is missing.
            current.open.suspend()
            return
        }
        let isComplete = upload.isInParts && isComplete(current.upload)
        if upload.isInParts { touchAll(of: current.upload, by: session) }
        let sealed = Result { () throws(Failure) in try session.intake.finish(current.open, end) }
        try noteNames()
        switch sealed {
        case .success(nil):
            done.insert(upload.isInParts ? .sealParts : .seal)
            if upload.isInParts { tookAll(of: current.upload) }
            uploads[current.upload].isOnItsWay = true
            session.sealed.append(current.attempt)
            // The front ends of the server publish at the same moment.
            if session.intake.hasMuchVerified { try publish(session) }
        case .success(let outcome?): try told(outcome, current.upload)
        case .failure(let error):
            if isComplete, !isMistaken, !disk.isDead,
                [.incomplete, .digestMismatch, .sizeMismatch].contains(error.code)
            {
                throw Promises.Broken("upload \(current.upload) is all there, and was refused: \(error)")
            }
            try told(session.intake.refuse(current.open, error), current.upload)
        }
    }
}

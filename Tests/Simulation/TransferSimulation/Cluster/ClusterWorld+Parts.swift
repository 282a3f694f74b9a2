import TransferIntake
import TransferModel
import TransferPorts

/// Uploads whose parts arrive at any server, and append uploads.
extension ClusterWorld {
    private static let block = Limits.blockSize

    private func blocks(_ index: Int) -> Int { (contents[uploads[index].content].count + Self.block - 1) / Self.block }

    /// An upload of a client that is not over, or a new one.
    private func unfinished(_ form: ClusterUpload.Form, _ step: Step, _ session: ClusterNode.Session) -> Int {
        let open = uploads.indices.filter {
            uploads[$0].form == form && uploads[$0].caller == session.caller
                && (!uploads[$0].isOver || step.c >> 3 % 8 == 0)
        }
        if step.c % 4 > 0, let index = open.suffix(2).randomElement(step.b) { return index }
        return plan(step, form)
    }

    private func whole(_ index: Int) -> UploadIntent {
        let upload = uploads[index]
        return UploadIntent(
            id: upload.id, path: upload.path, size: UInt64(contents[upload.content].count),
            function: upload.function, conflict: upload.conflict, extent: .multipart)
    }

    // MARK: Parts

    func sendParts(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let index = unfinished(.parts, step, session)
        let first = Int(step.b >> 4) % blocks(index)
        for block in first..<min(blocks(index), first + 1 + Int(step.c >> 6 % 2)) {
            try sendPart(block, of: index, session, node, isDamaged: step.c >> 18 % 8 == 0)
        }
    }

    /// - Parameter isDamaged: whether a byte changes on the way, which the server notices by the digest.
    private func sendPart(
        _ block: Int, of index: Int, _ session: ClusterNode.Session, _ node: ClusterNode, isDamaged: Bool = false
    ) throws {
        let content = contents[uploads[index].content]
        let range = block * Self.block..<min(content.count, (block + 1) * Self.block)
        let (touches, moment) = (touch(index), clock.stamp())
        uploads[index].unstage(block)
        uploads[index].beginWork()
        defer { uploads[index].endWork() }
        let intent = UploadIntent(
            id: UploadID(high: 1 << 63 | UInt64(block), low: UInt64(index)), path: uploads[index].path,
            size: UInt64(range.count), function: uploads[index].function, conflict: uploads[index].conflict,
            extent: .part(
                UploadPart(
                    of: uploads[index].id, offset: UInt64(range.lowerBound), total: UInt64(content.count))))
        let begun = session.intake.begin(intent, mayEnd: false)
        guard begun.outcome == nil else { return }
        var bytes = Array(content[range])
        let digest = SimulatedGround.digest(of: bytes, uploads[index].function)
        if isDamaged { bytes[0] ^= 1 }
        do throws(Failure) {
            try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try begun.upload.write(bytes) }
            _ = try session.intake.finish(begun.upload, DeclaredEnd(size: UInt64(range.count), digest: digest))
        } catch {
            _ = session.intake.refuse(begun.upload, error)
            uploads[index].unstage(block)
            say("part \(block) of upload \(index): \(error)")
            return
        }
        guard !node.isDead else { return }
        guard !isDamaged else { throw Promises.Broken("a part of upload \(index) was taken, and is damaged") }
        done.insert(.part)
        say("part \(block) of upload \(index) is staged")
        uploads[index].worked = moment
        if uploads[index].touches == touches { uploads[index].stage([block]) }
    }

    /// Notes that an operation begins to work on an upload.
    private func touch(_ index: Int) -> Int {
        uploads[index].touches += 1
        return uploads[index].touches
    }

    func survey(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let own = uploads.indices.filter { uploads[$0].form == .parts && uploads[$0].caller == session.caller }
        if let index = own.randomElement(step.b) { _ = try survey(index, session, node) }
    }

    /// Asks what a server has of an upload. All older connections lose it.
    ///
    /// - Returns: the blocks; nil if the upload is over, or the server cannot say.
    private func survey(_ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws -> Set<Int>? {
        let (began, before) = (history.moment, uploads[index].staged)
        let touches = touch(index)
        uploads[index].forgetStaged()
        switch session.intake.have(whole(index)) {
        case .ended(let ended):
            try told(ended.outcome, index, since: began, node)
            return nil
        case .query(var query):
            done.insert(.survey)
            var known: Set<Int> = []
            while let blocks = try? query.step(threads: 1) { known.formUnion(blocks.map { Int($0.index) }) }
            guard !node.isDead else { return nil }
            say("of upload \(index) there are \(known.sorted())")
            guard uploads[index].touches == touches, uploads[index].working == 0 else { return known }
            if !uploads[index].mayBeGone, !uploads[index].isOver, node.operation?.hasFault == false,
                !before.isSubset(of: known)
            {
                throw Promises.Broken("upload \(index): blocks were told to be there, and are not")
            }
            uploads[index].stage(known)
            uploads[index].mayBeGone = isSealed(index) || uploads[index].isOver
            return known
        }
    }

    /// Whether a server is about to publish an upload, which ends it.
    private func isSealed(_ index: Int) -> Bool {
        nodes.contains {
            $0.sessions.contains { $0.map { $0.sealed + $0.published }?.contains { $0.upload == index } ?? false }
        }
    }

    func sendAllParts(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let index = unfinished(.parts, step, session)
        if step.kind == .allParts { try sendAllParts(index, session, node) } else { try finish(index, session, node) }
        guard step.c >> 4 % 4 > 0 else { return }
        try publish(session, node)
        if step.c >> 6 % 8 > 0 { try acknowledge(session, node) }
    }

    /// Sends all blocks that are missing, and the end.
    func sendAllParts(_ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        guard let known = try survey(index, session, node) else { return }
        for block in 0..<blocks(index) where !known.contains(block) { try sendPart(block, of: index, session, node) }
        try finish(index, session, node)
    }

    /// Ends an upload in parts.
    private func finish(_ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let began = history.moment
        // A server that knows no part of the upload asks the client to look up what is there.
        let isKnown = node.intake?.multiparts[uploads[index].id]?.isEmpty == false
        let isComplete =
            isKnown && uploads[index].working == 0 && uploads[index].staged.count == blocks(index)
            && !uploads[index].mayBeGone
        let touches = touch(index)
        uploads[index].beginWork()
        defer { uploads[index].endWork() }
        let begun = session.intake.begin(whole(index), mayEnd: false)
        if let outcome = begun.outcome { return try told(outcome, index, since: began, node) }
        let sealed = Result { () throws(Failure) in
            try session.intake.finish(begun.upload, declared(uploads[index]))
        }
        switch sealed {
        case .success(nil):
            done.insert(.sealParts)
            uploads[index].mayBeGone = true
            session.sealed.append((index, began))
        case .success(let outcome?): try told(outcome, index, since: began, node)
        case .failure(let error):
            // Another server that has begun to end the upload before may have published it meanwhile.
            if isComplete, !uploads[index].mayBeGone, uploads[index].touches == touches,
                node.operation?.hasFault == false, !node.isDead,
                [.incomplete, .digestMismatch, .sizeMismatch].contains(error.code)
            {
                throw Promises.Broken("upload \(index) is all there, and was refused: \(error)")
            }
            try told(session.intake.refuse(begun.upload, error), index, since: began, node)
        }
    }

    /// A client gives up an upload in parts, and may send it again later.
    func takeBack(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let own = uploads.indices.filter { uploads[$0].form == .parts && uploads[$0].caller == session.caller }
        guard let index = own.randomElement(step.b) else { return }
        _ = touch(index)
        uploads[index].beginWork()
        defer {
            // Until now another server may have taken parts, which are gone with the upload.
            uploads[index].forgetStaged()
            uploads[index].mayBeGone = true
            uploads[index].endWork()
        }
        let began = history.moment
        let begun = session.intake.begin(whole(index), mayEnd: false)
        if let outcome = begun.outcome { return try told(outcome, index, since: began, node) }
        try told(session.intake.abort(begun.upload), index, since: began, node)
        done.insert(.takeBack)
    }
}

// MARK: - Append uploads

extension ClusterWorld {
    /// One request of a client that first asks how long its upload is. The length never shrinks.
    func grow(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let index = unfinished(.append, step, session)
        guard let place = try askAppend(index, session, node) else { return }
        let size = contents[uploads[index].content].count
        let end = step.c >> 8 % 3 == 0 ? size : min(size, place.offset + Int(step.b >> 3) % 6000)
        try append(index, from: place.offset, to: end, isNew: !place.isThere, session, node)
        guard step.c >> 4 % 4 > 0 else { return }
        try publish(session, node)
        try acknowledge(session, node)
    }

    /// Sends all that is missing of an append upload.
    func appendAll(_ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        guard let place = try askAppend(index, session, node) else { return }
        let size = contents[uploads[index].content].count
        try append(index, from: place.offset, to: size, isNew: !place.isThere, session, node)
    }

    /// Where an upload continues, and whether it exists; nil if the server cannot say now.
    private func askAppend(
        _ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode
    ) throws(Promises.Broken) -> (offset: Int, isThere: Bool)? {
        let (touches, moment) = (touch(index), clock.stamp())
        let (told, mayBeGone) = (uploads[index].told, uploads[index].mayBeGone || uploads[index].isOver)
        let found: Int?
        do throws(Failure) {
            found = try session.intake.unfinishedAppend(uploads[index].id).map { Int($0.offset) }
        } catch {
            uploads[index].refusal = error
            return nil
        }
        guard !node.isDead, uploads[index].touches == touches, uploads[index].working == 0 else { return nil }
        if !mayBeGone, node.operation?.hasFault == false, found ?? 0 < told {
            throw Promises.Broken("upload \(index) has \(found ?? 0) bytes, and its sender was told of \(told)")
        }
        (uploads[index].told, uploads[index].mayBeGone) = (found ?? 0, false)
        uploads[index].worked = moment
        say("upload \(index) has \(found ?? 0) bytes")
        return (found ?? 0, found != nil)
    }

    private func append(
        _ index: Int, from offset: Int, to end: Int, isNew: Bool, _ session: ClusterNode.Session, _ node: ClusterNode
    ) throws {
        let (upload, began) = (uploads[index], history.moment)
        let content = contents[upload.content]
        guard offset <= content.count else {
            throw Promises.Broken("upload \(index) has more bytes than were sent")
        }
        let isLast = end == content.count
        let append = UploadAppend(
            at: UInt64(offset), total: UInt64(content.count), ending: isLast ? .here : .never, isNew: isNew,
            isUnproven: false)
        let intent = UploadIntent(
            id: upload.id, path: upload.path, size: UInt64(end - offset), function: upload.function,
            conflict: upload.conflict, extent: .append(append))
        let touches = touch(index)
        uploads[index].beginWork()
        defer { uploads[index].endWork() }
        let begun = session.intake.begin(intent, mayEnd: true)
        if let outcome = begun.outcome { return try told(outcome, index, since: began, node) }
        let sealed = Result { () throws(Failure) -> UploadOutcome? in
            let piece = Array(content[offset..<end])
            try piece.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try begun.upload.write(bytes) }
            return try session.intake.finish(begun.upload, DeclaredEnd())
        }
        switch sealed {
        case .success(.kept(let offset)?):
            done.insert(.grow)
            if !node.isDead, uploads[index].touches == touches { uploads[index].told = Int(offset) }
        case .success(nil):
            uploads[index].mayBeGone = true
            session.sealed.append((index, began))
        case .success(let outcome?): try told(outcome, index, since: began, node)
        case .failure(let error): try told(session.intake.refuse(begun.upload, error), index, since: began, node)
        }
    }
}

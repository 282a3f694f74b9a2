import TransferCluster
import TransferIntake
import TransferModel
import TransferPorts
import TransferReceipts
import TransferTestSupport

/// An upload that a client of the simulated cluster wants to make.
struct ClusterUpload {
    enum Form { case whole, parts, append }

    let id: UploadID
    let content: Int
    let path: String
    let conflict: ConflictPolicy
    let form: Form
    let caller: Int
    let isSized: Bool
    let declares: Bool
    let mayEnd: Bool
    let function: DigestFunction
    /// The path of the last acknowledgement; nil without one.
    var answer: String?
    /// Whether the upload has an outcome that does not change.
    var isOver = false
    /// The reason of the last refusal.
    var refusal: Failure?

    // MARK: Unfinished uploads

    /// Number of bytes of the content.
    let size: Int
    /// Blocks that a server has reported as staged, and that were not sent again since. A last block that is short is
    /// one of them only if it came when others were there: alone, it goes with the last connection.
    private(set) var staged: Set<Int> = []
    /// Grows whenever an operation works on the upload, so that an operation knows whether it was alone.
    var touches = 0
    /// Operations that are sending a part, appending, or ending the upload. What a server finds meanwhile may be there
    /// before or after them.
    private(set) var working = 0
    /// Whether the unfinished upload may be gone, because it was to be published, was taken back, or is too old.
    var mayBeGone = false
    /// Before a client has last added something to the unfinished upload, in nanoseconds.
    var worked: Int64 = 0
    /// Bytes of an append upload that a server has reported as kept.
    var told = 0

    mutating func beginWork() { working += 1 }

    mutating func endWork() {
        working -= 1
        touches += 1
    }

    mutating func stage(_ blocks: Set<Int>) { keep(staged.union(blocks)) }

    mutating func unstage(_ block: Int) { keep(staged.subtracting([block])) }

    mutating func forgetStaged() { staged = [] }

    private mutating func keep(_ blocks: Set<Int>) {
        let isLong = blocks.contains { ($0 + 1) * Limits.blockSize <= size }
        staged = isLong ? blocks : []
    }
}

// MARK: - Outcomes

extension ClusterWorld {
    /// Records the outcome of an upload, as the client receives it.
    ///
    /// - Parameter began: the moment at which the client began to send, or to ask.
    /// - Parameter isReplaced: whether a later upload of the same batch has taken the path.
    func told(
        _ outcome: UploadOutcome, _ index: Int, since began: Int, _ node: ClusterNode, isReplaced: Bool = false
    ) throws(Promises.Broken) {
        guard !node.isDead else { return }
        trace.add(index)
        trace.add(Int(outcome.code.rawValue))
        say("upload \(index): \(outcome.code) \(outcome.path?.string ?? outcome.message)")
        switch outcome {
        case .acknowledged(let acknowledgement):
            if isReplaced { uploads[index].isOver = true } else { try judge(acknowledgement, index, since: began) }
        case .skipped:
            uploads[index].isOver = true
            let upload = uploads[index]
            guard node.operation?.hasFault == false, !isShared(upload.content), !knownRot.contains(upload.path),
                history.stood(upload.content, at: upload.path, since: began)
            else { return }
            throw Promises.Broken("upload \(index) was skipped for its own content")
        case .refused(let error, _): uploads[index].refusal = error
        case .staged, .kept: break
        }
    }

    func judge(_ acknowledgement: Acknowledgement, _ index: Int, since began: Int) throws(Promises.Broken) {
        let (upload, path) = (uploads[index], acknowledgement.path.string)
        guard acknowledgement.size == contents[upload.content].count,
            acknowledgement.digest == digest(of: contents[upload.content], upload.function)
        else { throw Promises.Broken("upload \(index) was acknowledged with another size or digest") }
        guard acknowledgement.isDurable else { throw Promises.Broken("upload \(index) was acknowledged, not durable") }
        let found = history.file(upload.content, at: path, since: began)
        guard found.isThere else {
            throw Promises.Broken("upload \(index) is said to be stored under \(path), and was not there")
        }
        guard found.isSafe else {
            throw Promises.Broken("upload \(index) was acknowledged, and a fail-over would lose it")
        }
        if let earlier = upload.answer, earlier != path, !isShared(upload.content),
            history.stood(upload.content, at: earlier, since: began)
        {
            throw Promises.Broken("upload \(index) was acknowledged under \(earlier), and then under \(path)")
        }
        (uploads[index].answer, uploads[index].isOver) = (path, true)
    }

    private func gave(_ batch: SignedBatch?) throws(Promises.Broken) {
        guard let batch else { return }
        done.insert(.sign)
        try gave((batch.number, Int(batch.count)))
    }
}

// MARK: - Whole uploads

extension ClusterWorld {
    func plan(_ step: Step, _ form: ClusterUpload.Form, number: Int = 0) -> Int {
        var bits = StepNumbers(step, number)
        let content: Int
        if mix.sharing > 0, bits.next(mix.sharing) == 0, let known = uploads.randomElement(step.b), form == .whole {
            content = known.content
        } else if form == .parts {
            content = addContent((1 + bits.next(3)) * Limits.blockSize + bits.next(3) * 7)
        } else {
            content = addContent(mix.sizes[bits.next(UInt32(mix.sizes.count))])
        }
        uploads.append(
            ClusterUpload(
                id: UploadID(high: UInt64(uploads.count + 1), low: UInt64(step.a) << 32 | UInt64(step.b)),
                content: content, path: mix.names[bits.next(UInt32(mix.names.count))],
                conflict: mix.conflicts[bits.next(UInt32(mix.conflicts.count))], form: form,
                caller: Int(step.a >> 8 % 2), isSized: form != .whole || bits.next(4) > 0, declares: bits.next(2) == 0,
                mayEnd: bits.next(2) == 0, function: form == .append && bits.next(3) == 0 ? .sha256 : .xxh128,
                size: contents[content].count))
        return uploads.count - 1
    }

    /// Sends some new uploads over one connection, mostly to their acknowledgements.
    func batch(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        for number in 0..<1 + Int(step.c >> 20 % 4) {
            try send(plan(step, .whole, number: number), session, node)
        }
        guard step.c % 8 > 0 else { return }
        try publish(session, node)
        if step.c >> 3 % 8 > 0 { try acknowledge(session, node) }
    }

    /// A client sends uploads again, mostly those without an answer, to any server.
    func askAgain(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let own = uploads.indices.filter { uploads[$0].caller == session.caller && uploads[$0].form == .whole }
        let open = own.filter { !uploads[$0].isOver }
        let chosen = (step.c % 4 > 0 && !open.isEmpty ? open : own).suffix(6)
        for index in chosen.prefix(1 + Int(step.c >> 4 % 3)) { try send(index, session, node) }
        try publish(session, node)
        try acknowledge(session, node)
    }

    /// Sends a whole upload, which is then published with others of the connection.
    func send(_ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let (upload, began) = (uploads[index], history.moment)
        let content = contents[upload.content]
        let intent = UploadIntent(
            id: upload.id, path: upload.path, size: upload.isSized ? UInt64(content.count) : nil,
            function: upload.function, conflict: upload.conflict,
            modified: Timestamp(seconds: Int64(index), nanoseconds: 0))
        let begun = session.intake.begin(intent, mayEnd: upload.mayEnd)
        if let outcome = begun.outcome { return try told(outcome, index, since: began, node) }
        let sealed = Result { () throws(Failure) -> UploadOutcome? in
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try begun.upload.write(bytes) }
            return try session.intake.finish(begun.upload, upload.declares ? declared(upload) : DeclaredEnd())
        }
        switch sealed {
        case .success(nil):
            done.insert(.seal)
            session.sealed.append((index, began))
        case .success(let outcome?): try told(outcome, index, since: began, node)
        case .failure(let error): try told(session.intake.refuse(begun.upload, error), index, since: began, node)
        }
    }

    func declared(_ upload: ClusterUpload) -> DeclaredEnd {
        let content = contents[upload.content]
        return DeclaredEnd(size: UInt64(content.count), digest: digest(of: content, upload.function))
    }

    /// Publishes what a connection has completed.
    func publish(_ session: ClusterNode.Session, _ node: ClusterNode) throws {
        for (index, _) in session.sealed where uploads[index].conflict == .overwrite {
            node.operation?.permissions.append(.replace(uploads[index].path))
        }
        let report = session.intake.publish()
        if !report.healed.isEmpty { done.insert(.heal) }
        let attempts = session.sealed
        session.sealed = []
        if report.hasPublished { done.insert(.publish) }
        var ended = report.ended
        for attempt in attempts {
            // What another server asks for meanwhile may be the upload before or after its end.
            uploads[attempt.upload].touches += 1
            if let place = ended.firstIndex(where: { $0.upload.intent.id == uploads[attempt.upload].id }) {
                try told(ended.remove(at: place).outcome, attempt.upload, since: attempt.begun, node)
            } else {
                session.published.append(attempt)
            }
        }
    }

    func acknowledge(_ session: ClusterNode.Session, _ node: ClusterNode) throws {
        let attempts = session.published
        let batches = session.intake.acknowledge()
        session.published = []
        for attempt in attempts { uploads[attempt.upload].touches += 1 }
        for batch in batches {
            if !node.isDead { try gave(batch.signedBatch) }
            for ended in batch.uploads {
                guard let attempt = attempts.last(where: { uploads[$0.upload].id == ended.upload.intent.id }) else {
                    continue
                }
                let path = ended.outcome.path?.string
                let isReplaced = attempts.contains { other in
                    uploads[other.upload].path == path && uploads[other.upload].conflict == .overwrite
                        && other.upload != attempt.upload
                }
                try told(ended.outcome, attempt.upload, since: attempt.begun, node, isReplaced: isReplaced)
                done.insert(.acknowledge)
            }
        }
    }

    /// Ends a connection.
    func leave(_ session: ClusterNode.Session, _ node: ClusterNode) {
        session.intake.leave()
        node.sessions[session.caller] = nil
        done.insert(.suspend)
    }

    func leaveAll(_ node: ClusterNode) {
        for session in node.sessions.compactMap(\.self) { leave(session, node) }
    }

    /// Sends an upload to its end.
    func bring(_ index: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        switch uploads[index].form {
        case .whole: try send(index, session, node)
        case .parts: try sendAllParts(index, session, node)
        case .append: try appendAll(index, session, node)
        }
        try publish(session, node)
        try acknowledge(session, node)
    }
}

// MARK: - Questions

extension ClusterWorld {
    /// A client looks up its uploads, and reads a file.
    func lookup(_ step: Step, _ session: ClusterNode.Session, _ node: ClusterNode) throws {
        try lookup(all: session.caller, session, node)
        let paths = mix.names + uploads.compactMap(\.answer)
        if let path = paths.randomElement(step.b) { try read(path, node) }
    }

    func lookup(all caller: Int, _ session: ClusterNode.Session, _ node: ClusterNode) throws(Promises.Broken) {
        let own = uploads.indices.filter { uploads[$0].caller == caller }
        let began = history.moment
        let answers = uploads.map(\.answer)
        let found = session.intake.lookup(own.map { uploads[$0].id }, nil)
        guard !node.isDead else { return }
        for (index, acknowledgement) in zip(own, found) {
            if let acknowledgement {
                done.insert(.lookup)
                try judge(acknowledgement, index, since: began)
            } else if let path = answers[index], node.operation?.hasFault == false, !knownRot.contains(path),
                !isShared(uploads[index].content), history.stood(uploads[index].content, at: path, since: began)
            {
                throw Promises.Broken("upload \(index) was acknowledged, and a server does not know of it")
            }
        }
    }

    func readAll(_ node: ClusterNode) throws {
        for path in Set(uploads.compactMap(\.answer)).sorted() { try read(path, node) }
    }

    /// Reads a file, which has to have a content that the path has had meanwhile.
    func read(_ path: String, _ node: ClusterNode) throws(Promises.Broken) {
        guard let store = node.store, let place = try? RelativePath(path) else { return }
        let (began, timeline) = (history.moment, timeline)
        var bytes: [UInt8]?
        do throws(Failure) {
            let file = try store.reader().open(place)
            bytes = try Self.bytes(of: file)
        } catch {
            guard !node.isDead, node.operation?.hasFault == false else { return }
            let possible = history.contents(at: path, since: began)
            guard possible.count == 1, let content = possible.first ?? nil, !isRotten(content) else { return }
            throw Promises.Broken("\(path) is there and cannot be read: \(error)")
        }
        // What was read before a fail-over may be lost since.
        guard !node.isDead, timeline == self.timeline, let bytes else { return }
        let possible = history.contents(at: path, since: began)
        guard possible.contains(where: { $0.map { contents[$0] == bytes || isRotten($0) } ?? false }) else {
            throw Promises.Broken("\(path) has other bytes than any upload to it")
        }
    }

    private func isRotten(_ content: Int) -> Bool {
        history.files.contains { number, file in
            file.content == content && history.objects(of: number).contains { rottenObjects.contains($0) }
        }
    }

    private static func bytes(of file: any ReadableContent) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let size = Int(clamping: file.attributes.size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            do throws(Failure) {
                while count < size {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    let read = try file.read(into: rest, at: UInt64(count))
                    guard read > 0 else { break }
                    count += read
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

/// Small numbers that follow from a step.
struct StepNumbers {
    private var random: SplitMix64

    init(_ step: Step, _ number: Int = 0) {
        random = SplitMix64(seed: (UInt64(step.c) << 32 | UInt64(step.b)) &+ UInt64(number) &* 77)
    }

    mutating func next(_ bound: UInt32) -> Int { Int(random.next() % UInt64(bound)) }
}
